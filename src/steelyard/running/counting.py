"""Trials that count the system calls of what surely differs by much, so that a report can explain it.

Their times count for nothing. A round of a cell is two short trials: one that works, and one with next to no
operations, whose costs are the trial's own: process, set-up, agent.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import replace

from steelyard import events, standstill
from steelyard.errors import SystemFailed
from steelyard.events import SETUP, WORK, Accounted, Done, Pair, Watched
from steelyard.running import dialogue, host_monitor
from steelyard.running.budget import Budget
from steelyard.running.dialogue import AgentLike
from steelyard.running.queue import Queue
from steelyard.running.running_systems import MonitorLike, RunningSystems
from steelyard.study.model import SERVER, Cell
from steelyard.study.plan import Plan, Trial

_ROUNDS = 3  # of each cell that is to be explained
# They begin when that many cells wait for them, or some for so long; and take no more than that share of the
# time.
_CELLS = 8
_EVERY_S = 20.0
_SHARE = 0.15
_LIMIT_S, _LIMIT_LEAST_S = 10.0, 0.1
_SERVED_NS = 100_000_000  # of a server's trial: some hundred requests
_SETTINGS = {
    WORK: {"batches": 1, "batch_ns": 5_000_000, "warmup_ns": 0},
    SETUP: {"batches": 1, "operations": 1, "warmup_ns": 0},
}


class Counting:
    """The counts, what could not be counted, and the time that it took."""

    def __init__(
        self,
        queue: Queue,
        running_systems: RunningSystems,
        budget: Budget,
        *,
        counted: Collection[tuple[int, str, Cell]],
        clock: Callable[[], float],
    ) -> None:
        self._queue = queue
        self._running_systems = running_systems
        self._budget = budget
        self._clock = clock
        self._pairs = set(counted)
        self._uncountable: set[str] = set()  # systems whose calls cannot be counted
        self._last_s = 0.0  # of the budget, when it was done last
        self._took_s = 0.0
        self._longest_s = 0.0  # that beginning to count, or one trial, has taken: less time is too little

    def perform(self, *, is_over: bool = False) -> Iterator[Watched | Accounted]:
        """Counts the calls of many cells at once, because beginning to count costs as much as they do; or of
        none, until it is worth it. Nothing that goes wrong ends the run."""
        wanted = self._to_explain()
        cells = {cell for _, cell in wanted}
        waited_s = self._budget.spent_s() - self._last_s
        if not cells or not (is_over or len(cells) >= _CELLS or waited_s >= _EVERY_S):
            return
        if self._took_s > _SHARE * self._budget.spent_s() or self._budget.left_s() <= self._longest_s:
            return
        begun = self._clock()
        for system in self._queue.plan.systems:
            agent = self._running_systems.agents[system]
            mine = [cell for cell in self._queue.cells if (system, cell) in wanted]
            if mine and agent is not None and not (yield from self._account(system, agent, mine)):
                self._uncountable.add(system)
        self._took_s += self._clock() - begun
        self._last_s = self._budget.spent_s()

    def _to_explain(self) -> set[Pair]:
        """The systems and cells that lack accounting trials: what is to be explained, and the baseline's.
        Of one system alone, every cell: there its costs are what is asked for."""
        if not self._running_systems.is_watched:
            return set()
        baseline, *others = self._queue.plan.systems
        wanted = {
            pair
            for system, cell in self._queue.interim.explain
            for pair in ((system, cell), (baseline, cell))
            if system not in self._uncountable
        }
        if not others:
            wanted = {(baseline, cell) for cell, blocks in self._queue.blocks.items() if blocks}
        return {
            (system, cell)
            for system, cell in wanted
            if system not in self._uncountable
            and any((number, system, cell) not in self._pairs for number in range(_ROUNDS))
        }

    def _account(
        self, system: str, agent: AgentLike, cells: Collection[Cell]
    ) -> Generator[Watched | Accounted, None, bool]:
        """Every round of one system; returns whether its calls can be counted at all."""
        self._running_systems.use(system)
        try:
            agent.resume()
            begun = self._clock()
            counting, event = self._running_systems.monitor_of(system, agent, events.CALLS)
            self._longest_s = max(self._longest_s, self._clock() - begun)
            yield event
            if counting is None:
                agent.park()
                return False
            try:
                for number in range(_ROUNDS):
                    for cell in cells:
                        enough = self._budget.left_s() > self._longest_s
                        if enough and (number, system, cell) not in self._pairs:
                            yield from self._trials(number, system, agent, cell, counting)
            finally:
                counting.close()
            agent.park()
        except SystemFailed as error:
            self._running_systems.lose(system, str(error))
            return False
        except dialogue.Silent:
            self._running_systems.lose(
                system, f"the agent stopped answering in an accounting trial{agent.last_words()}"
            )
            return False
        return True

    def _trials(
        self, number: int, system: str, agent: AgentLike, cell: Cell, counting: MonitorLike
    ) -> Iterator[Accounted]:
        """A short trial of the cell, and another one with next to no operations, whose costs are the trial's
        own: process, set-up, agent. Nothing of one that the budget or a standstill of ours ended."""
        has_server = SERVER in dict(cell.parameters)
        for purpose in (WORK, SETUP):
            before = counting.mark()
            counting.exits.clear()
            settings = _SETTINGS[purpose]
            if has_server and purpose == WORK:
                settings = settings | {"batch_ns": _SERVED_NS}
            limit_s = min(_LIMIT_S, self._queue.plan.study.design.trial_limit_s)
            is_cut = self._budget.left_s() < limit_s
            limit_s = max(_LIMIT_LEAST_S, min(limit_s, self._budget.left_s()))
            plan, trial = _shortened(
                self._queue.plan, Trial(number, 0, system, cell, 0), settings, limit_s=limit_s
            )
            stood, begun = len(standstill.all_so_far()), self._clock()
            outcome = dialogue.perform(
                agent, trial, plan, boot=self._running_systems.boots[system], is_timed=False
            )
            after = counting.mark()
            self._longest_s = max(self._longest_s, self._clock() - begun)
            if len(standstill.all_so_far()) > stood or (is_cut and outcome.status == "timed out"):
                return
            self._pairs.add((number, system, cell))
            if before is None or after is None:
                return
            difference = host_monitor.between(before, after)
            if not difference.is_whole:
                return
            calls = difference.calls
            if calls is not None and has_server:
                calls = host_monitor.apart(calls, counting.exits)
            done: dict[str, int] = {}
            for one in outcome.usage:
                done[one.metric] = done.get(one.metric, 0) + one.operations
            yield Accounted(
                number,
                system,
                self._running_systems.boots[system],
                cell,
                purpose,
                counting.head.backend,
                outcome.status,
                outcome.reason,
                tuple(Done(*one) for one in done.items()),
                difference.figures,
                calls,
            )
            if outcome.status != "ok" or sum(done.values()) <= 2 * cell.copies:
                return


def _shortened(
    plan: Plan, trial: Trial, settings: Mapping[str, int], *, limit_s: float
) -> tuple[Plan, Trial]:
    """The trial with these settings, whatever the study and the cell say; and no longer than that."""
    cell = replace(trial.cell, parameters=(*trial.cell.parameters, *settings.items()))
    return plan.limited(cell, limit_s), replace(trial, cell=cell)
