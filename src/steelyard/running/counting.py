"""Trials that count the system calls of what surely differs by much, so that a report can explain it.

Their times count for nothing. A round of a cell is two short trials: one that works, and one with next to no
operations, whose costs are the trial's own: process, set-up, agent.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import replace

from steelyard import events
from steelyard.errors import SystemFailed
from steelyard.events import SETUP, WORK, Accounted, Done, Pair, Watched
from steelyard.running import dialogue, host_monitor
from steelyard.running.agenda import Agenda
from steelyard.running.budget import Budget
from steelyard.running.dialogue import AgentLike
from steelyard.running.fleet import Fleet, MonitorLike
from steelyard.study.model import SERVER, Cell
from steelyard.study.plan import Plan, Trial

_ROUNDS = 3  # of each cell that is to be explained
# They begin when so many cells wait for them, or some for so long; and take no more than that share of the
# time.
_CELLS = 8
_EVERY_S = 20.0
_SHARE = 0.15
_LIMIT_S = 10.0
_SERVED_NS = 100_000_000  # of a server's trial: some hundred requests
_SETTINGS = {
    WORK: {"batches": 1, "batch_ns": 5_000_000, "warmup_ns": 0},
    SETUP: {"batches": 1, "operations": 1, "warmup_ns": 0},
}


class Counting:
    """What was counted, what cannot be, and the time that it took."""

    def __init__(
        self,
        agenda: Agenda,
        fleet: Fleet,
        budget: Budget,
        *,
        counted: Collection[tuple[int, str, Cell]],
        clock: Callable[[], float],
    ) -> None:
        self._agenda = agenda
        self._fleet = fleet
        self._budget = budget
        self._clock = clock
        self._pairs = set(counted)
        self._uncountable: set[str] = set()  # systems whose calls cannot be counted
        self._last_s = 0.0  # of the budget, when it was done last
        self._took_s = 0.0

    def perform(self, *, is_over: bool = False) -> Iterator[Watched | Accounted]:
        """Counts the calls of many cells at once, because beginning to count costs as much as they do; or of
        none, until it is worth it. Nothing that goes wrong ends the run."""
        wanted = self._to_explain()
        cells = {cell for _, cell in wanted}
        waited_s = self._budget.spent_s() - self._last_s
        if not cells or not (is_over or len(cells) >= _CELLS or waited_s >= _EVERY_S):
            return
        if self._took_s > _SHARE * self._budget.spent_s() or self._budget.left_s() <= 0:
            return
        begun = self._clock()
        for system in self._agenda.plan.systems:
            agent = self._fleet.agents[system]
            mine = [cell for cell in self._agenda.cells if (system, cell) in wanted]
            if mine and agent is not None and not (yield from self._account(system, agent, mine)):
                self._uncountable.add(system)
        self._took_s += self._clock() - begun
        self._last_s = self._budget.spent_s()

    def _to_explain(self) -> set[Pair]:
        """The systems and cells that lack accounting trials: what is to be explained, and the baseline's.
        Of one system alone, every cell: there its costs are what is asked for."""
        if not self._fleet.is_watched:
            return set()
        baseline, *others = self._agenda.plan.systems
        wanted = {
            pair
            for system, cell in self._agenda.standing.explain
            for pair in ((system, cell), (baseline, cell))
            if system not in self._uncountable
        }
        if not others:
            wanted = {(baseline, cell) for cell, blocks in self._agenda.blocks.items() if blocks}
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
        self._fleet.use(system)
        try:
            agent.resume()
            counting, event = self._fleet.monitor_of(system, agent, events.CALLS)
            yield event
            if counting is None:
                agent.park()
                return False
            try:
                for number in range(_ROUNDS):
                    for cell in cells:
                        if self._budget.left_s() > 0 and (number, system, cell) not in self._pairs:
                            self._pairs.add((number, system, cell))
                            yield from self._trials(number, system, agent, cell, counting)
            finally:
                counting.close()
            agent.park()
        except SystemFailed as error:
            self._fleet.lose(system, str(error))
            return False
        except dialogue.Silent:
            self._fleet.lose(system, "the agent fell silent in an accounting trial")
            return False
        return True

    def _trials(
        self, number: int, system: str, agent: AgentLike, cell: Cell, counting: MonitorLike
    ) -> Iterator[Accounted]:
        """A short trial of the cell, and another one with next to no operations, whose costs are the trial's
        own: process, set-up, agent."""
        has_server = SERVER in dict(cell.parameters)
        for purpose in (WORK, SETUP):
            before = counting.mark()
            counting.exits.clear()
            settings = _SETTINGS[purpose]
            if has_server and purpose == WORK:
                settings = settings | {"batch_ns": _SERVED_NS}
            plan, trial = _shortened(self._agenda.plan, Trial(number, 0, system, cell, 0), settings)
            outcome = dialogue.perform(agent, trial, plan, boot=self._fleet.boots[system], is_timed=False)
            after = counting.mark()
            if before is None or after is None:
                return
            difference = host_monitor.between(before, after)
            calls = difference.calls
            if calls is not None and has_server:
                calls = host_monitor.apart(calls, counting.exits)
            done: dict[str, int] = {}
            for one in outcome.usage:
                done[one.metric] = done.get(one.metric, 0) + one.operations
            yield Accounted(
                number,
                system,
                self._fleet.boots[system],
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


def _shortened(plan: Plan, trial: Trial, settings: Mapping[str, int]) -> tuple[Plan, Trial]:
    """The trial with these settings, whatever the study and the cell say; and no longer than need be."""
    design = plan.study.design
    design = replace(design, trial_limit_s=min(design.trial_limit_s, _LIMIT_S))
    cell = replace(trial.cell, parameters=(*trial.cell.parameters, *settings.items()))
    return replace(plan, study=replace(plan.study, design=design)), replace(trial, cell=cell)
