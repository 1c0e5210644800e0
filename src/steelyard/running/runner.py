"""Runs a plan on its systems and yields what happened, as it happens: starts, outcomes, looks.

Time goes in rounds of some seconds: a round's visits are chosen by what is known (`allocation`), measured,
and judged.
"""

import random
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Protocol

from steelyard.analysis.model import Standing
from steelyard.archive import events
from steelyard.archive.events import (
    SETUP,
    WORK,
    Accounted,
    Done,
    Earlier,
    Event,
    Look,
    Outcome,
    Pair,
    Started,
    Watched,
)
from steelyard.errors import SteelyardError, SystemFailed, UsageError
from steelyard.running import allocation, dialogue, host_monitor, records
from steelyard.running.allocation import Offer
from steelyard.running.dialogue import Running
from steelyard.study import plan as plans
from steelyard.study.model import Cell
from steelyard.study.plan import Plan, Trial
from steelyard.watch.model import Head, Mark

# So many failures running on one system and cell, and it is not tried again.
_FAILURES_MOST = 2

_UNKNOWN_S = 0.05  # what a trial is thought to take before any like it was run
_ROUND_PER_BOOT = 5.0  # a round takes at least so many times what booting for it does
_ROUND_OVERRUN = 1.5
_EARLY_ROUNDS = 2  # so many times shorter while some cells lack their first blocks

# Trials that count system calls, whose times count for nothing: so many rounds of each cell that is to be
# explained.
# They begin when so many cells wait for them, or some for so long; and take no more than that share of the
# time.
_ACCOUNTING_ROUNDS = 3
_ACCOUNTING_CELLS = 8
_ACCOUNTING_EVERY_S = 20.0
_ACCOUNTING_SHARE = 0.15
_ACCOUNTING_LIMIT_S = 10.0
_ACCOUNTED = {
    WORK: {"batches": 1, "batch_ns": 5_000_000, "warmup_ns": 0},
    SETUP: {"batches": 1, "operations": 1, "warmup_ns": 0},  # what a trial does besides its operations
}


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the run stands, for people."""

    round: int  # from 0
    trial: Trial
    position: int
    trials: int  # in this round
    open_pairs: int
    pairs: int  # that can be decided at all
    spent_s: float
    left_s: float  # at most


class TooShort(UsageError):
    """The budget was over before two trials had been paired."""


class Watching(Protocol):
    """What the runner needs of a monitor; `accounting.Accountant` is the real one."""

    head: Head

    def mark(self) -> Mark | None: ...
    def close(self) -> None: ...


Watch = Callable[[str, Running, str], Watching]  # a system, its agent, a detail; raises SteelyardError


def run(
    plan: Plan,
    *,
    start: Callable[[str], Running],
    boots_afresh: Collection[str],
    judge: Callable[[], Standing],
    notify: Callable[[Progress], None],
    earlier: Earlier,
    watch: Watch | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[Event, None, None]:
    """Yields every event of the experiment, in order; when it ends, every system has been closed.

    `start` brings a system up; `boots_afresh` are those whose start is a boot; `judge` says what is known by
    now, and is asked after each round. Stops when all pairs are decided or have the most blocks, or when the
    budget, counted from the first trial on, would not cover another visit. A system that cannot start at the
    beginning raises what `start` raises; one that dies later yields failed outcomes, and is started again
    for the next round. Raises TooShort if the budget does not cover even one pair. With `watch` every trial
    is accounted for, and what differs much for sure gets trials that count system calls.
    """
    course = _Course(plan, start, earlier, watch, clock)
    try:
        for system in plan.systems:
            yield from course.bring_up(system)
        course.learn(judge())
        while visits := course.next_round(boots_afresh):
            yield from course.refresh(visits, boots_afresh)
            yield from course.measure(visits, notify)
            yield course.look(judge)
            yield from course.account_for_calls()
        yield from course.account_for_calls(is_over=True)
        course.check()
    finally:
        course.close()


class _Course:
    """The state of one run: agents that are up, what is decided, what time is spent."""

    def __init__(
        self,
        plan: Plan,
        start: Callable[[str], Running],
        earlier: Earlier,
        watch: Watch | None,
        clock: Callable[[], float],
    ) -> None:
        self.plan = plan
        self.agents: dict[str, Running | None] = dict.fromkeys(plan.systems)
        self.watching: dict[str, Watching] = {}
        self._start = start
        self._watch = watch
        self._clock = clock
        self._cells = plans.lightest_first(plan)
        self._chance = random.Random(f"steelyard rounds {plan.seed} {earlier.rounds}")
        self._done = set(earlier.done)
        self._blocks = {cell: self._first_open_block(cell) for cell in self._cells}
        self._round = earlier.rounds
        self._accounted = set(earlier.accounted)
        self._accounted_at = 0.0
        self._accounting_s = 0.0
        self._uncountable: set[str] = set()  # systems whose calls cannot be counted
        self._boots = dict(earlier.boots)
        self._standing = Standing()
        self._hopeless: set[Pair] = set(earlier.hopeless)
        self._failures: dict[Pair, int] = {}
        self._used: set[str] = set()  # systems that have run a trial since they came up
        self._gone: dict[str, str] = {}  # systems that are down, and why
        # What an interruption left without a pair is begun as if nothing had been spent: it is to have one.
        self._spent_before_s = earlier.spent_s if any(self._blocks.values()) else 0.0
        self._begun: float | None = None  # when the first trial began
        self._costs: dict[Pair, float] = {}  # seconds of the last trial
        self._boot_costs: dict[str, float] = {}

    def _first_open_block(self, cell: Cell) -> int:
        """The cell's last block if some system has not done it, else the next. Where a system lacks earlier
        ones it did not need them, and would now run them without its partners."""
        last = max((number for number, _, one in self._done if one == cell), default=0)
        is_whole = all((last, system, cell) in self._done for system in self.plan.systems)
        return last + is_whole

    def spent_s(self) -> float:
        """From the first trial on; what was spent before an interruption, too, if that left a pair."""
        return self._spent_before_s + (self._clock() - self._begun if self._begun is not None else 0.0)

    def left_s(self) -> float:
        return self.plan.study.design.budget_s - self.spent_s()

    def close(self) -> None:
        """Closes every agent, also when closing one of them is interrupted."""
        with ExitStack() as stack:
            for system in list(self.watching):
                stack.callback(self.watching.pop(system).close)
            for system, agent in self.agents.items():
                if agent is not None:
                    stack.callback(agent.close)
                    self.agents[system] = None

    def bring_up(self, system: str) -> Iterator[Started | Watched]:
        """Starts the system, again if it was up, and parks it; then begins to account for it."""
        begun = self._clock()
        self._leave(system)
        agent = self._start(system)
        self.agents[system] = agent
        agent.park()
        self._gone.pop(system, None)
        self._used.discard(system)
        self._boots[system] = self._boots.get(system, 0) + 1
        self._boot_costs[system] = self._clock() - begun
        yield Started(system, self._boots[system], agent.hello, agent.fingerprint, self._boot_costs[system])
        if self._watch is not None:
            found, told = self._watched(system, agent, events.LIFE)
            yield told
            if found is not None:
                self.watching[system] = found

    def _watched(self, system: str, agent: Running, detail: str) -> tuple[Watching | None, Watched]:
        """A monitor of the system's processes, and what it is; or None, and why there is none."""
        assert self._watch is not None
        boot = self._boots[system]
        try:
            found = self._watch(system, agent, detail)
        except SteelyardError as error:
            return None, Watched(system, boot, detail, None, (), str(error))
        return found, Watched(system, boot, detail, found.head.backend, found.head.missing, None)

    def _leave(self, system: str) -> None:
        """Ends the system, and what watches it."""
        watching = self.watching.pop(system, None)
        if watching is not None:
            watching.close()
        agent = self.agents[system]
        self.agents[system] = None
        if agent is not None:
            agent.close()

    def next_round(self, boots_afresh: Collection[str]) -> list[Offer]:
        """The visits of the next round; none when the run is over, or when booting for it would end it."""
        offers = [
            Offer(cell, self._blocks[cell], self._cost_of(cell), self._standing.needed.get(cell))
            for cell in self._cells
            if self._systems_of(cell) and self._affords(self._cost_of(cell))
        ]
        if not offers or self.left_s() <= 0:
            return []
        boots = sum(self._boot_costs.values()) if self.plan.study.design.blocks_per_boot == 1 else 0.0
        # A cell comes once a round, so that the first verdicts wait for the first few of them.
        early = any(one.blocks < allocation.FIRST_BLOCKS for one in offers)
        seconds = max(allocation.ROUND_S, _ROUND_PER_BOOT * boots) / (_EARLY_ROUNDS if early else 1)
        visits = allocation.chosen(offers, seconds=min(seconds, self.left_s()), chance=self._chance)
        booting_s = sum(self._boot_costs[system] for system in self._to_boot(visits, boots_afresh))
        return visits if booting_s < self.left_s() else []

    def _systems_of(self, cell: Cell) -> tuple[str, ...]:
        """The systems that the cell needs more trials of, in the plan's order."""
        if self._blocks[cell] >= self.plan.study.design.blocks:
            return ()
        baseline, *others = self.plan.systems
        if (baseline, cell) in self._hopeless:
            return ()
        if not others:
            return (baseline,)
        closed = self._standing.decided | self._hopeless
        undecided = tuple(system for system in others if (system, cell) not in closed)
        return (baseline, *undecided) if undecided else ()

    def _cost_of(self, cell: Cell) -> float:
        """What a visit of the cell is thought to cost: what it did last time, or what lighter ones did."""
        systems = self._systems_of(cell)
        known = [self._costs.get((system, cell)) for system in systems]
        if known and None not in known:
            return sum(cost for cost in known if cost is not None)
        return max((self._guess(system, cell) for system in systems), default=0.0) * len(systems)

    def _guess(self, system: str, cell: Cell) -> float:
        """What the cell's first trial is thought to cost: at least what lighter cells of its workload did."""
        like = [
            cost
            for (name, other), cost in self._costs.items()
            if name == system and other.workload == cell.workload
        ]
        return max(like, default=_UNKNOWN_S)

    def _affords(self, cost_s: float) -> bool:
        """Whether the budget covers it. The first visit is tried in any case: else nothing is known."""
        return not self._costs or cost_s <= self.left_s()

    def open_pairs(self) -> int:
        return sum(max(1, len(systems) - 1) for cell in self._cells if (systems := self._systems_of(cell)))

    def refresh(self, visits: Sequence[Offer], boots_afresh: Collection[str]) -> Iterator[Started | Watched]:
        """Before a round: boots what is to be booted, and starts again what has died."""
        for system in self._to_boot(visits, boots_afresh):
            try:
                yield from self.bring_up(system)
            except SteelyardError as error:
                self._gone[system] = str(error)

    def _to_boot(self, visits: Sequence[Offer], boots_afresh: Collection[str]) -> list[str]:
        """The systems that must be started before these visits, in the plan's order."""
        needed = {system for one in visits for system in self._systems_of(one.cell)}
        afresh = boots_afresh if plans.starts_afresh(self.plan, self._round) else ()
        return [
            system
            for system in self.plan.systems
            if system in needed and (system in self._gone or (system in afresh and system in self._used))
        ]

    def measure(self, visits: Sequence[Offer], notify: Callable[[Progress], None]) -> Iterator[Outcome]:
        """The trials of a round, visit by visit. A round that takes much longer than was thought is cut
        short: what it would have held comes in the next one, if it is still wanted by then."""
        meant_s = sum(one.cost_s for one in visits)
        until_s = self.spent_s() + max(_ROUND_OVERRUN * meant_s, allocation.ROUND_S / _EARLY_ROUNDS)
        position, trials = 0, sum(len(self._systems_of(one.cell)) for one in visits)
        for one in visits:
            planned = self._trials_of(one.cell)
            if self.spent_s() > until_s or not self._affords(self._cost_of(one.cell)):
                position += len(planned)
                continue
            for trial in planned:
                if self._is_over():
                    return
                self._begun = self._clock() if self._begun is None else self._begun
                notify(self._progress(trial, position, trials))
                yield self.attempt(trial)
                self._done.add((trial.block, trial.system, trial.cell))
                position += 1
            self._blocks[one.cell] += 1

    def _is_over(self) -> bool:
        """Whether the budget is spent: no trial is begun after that."""
        return bool(self._costs) and self.left_s() <= 0

    def _trials_of(self, cell: Cell) -> list[Trial]:
        """What is left of the cell's next block, of the systems that need it."""
        trials = plans.remaining(plans.visit(self.plan, cell, self._blocks[cell]), self._systems_of(cell))
        return [trial for trial in trials if (trial.block, trial.system, trial.cell) not in self._done]

    def _progress(self, trial: Trial, position: int, trials: int) -> Progress:
        pairs = max(1, len(self.plan.systems) - 1) * len(self.plan.cells)
        left = max(0.0, self.left_s())
        return Progress(self._round, trial, position, trials, self.open_pairs(), pairs, self.spent_s(), left)

    def look(self, judge: Callable[[], Standing]) -> Look:
        """What the round has settled, and what it has opened again."""
        before = self._standing.decided
        self._round += 1
        self.learn(judge())
        after = self._standing.decided
        return Look(self._round, _sorted(after - before), _sorted(before - after))

    def learn(self, standing: Standing) -> None:
        self._standing = standing

    def check(self) -> None:
        """Raises TooShort unless some visit was completed, or failed for another reason than time."""
        if any(self._blocks.values()) or not self._costs or self._hopeless:
            return
        (system, cell), seconds = next(iter(self._costs.items()))
        budget, pair = self.plan.study.design.budget_s, seconds * len(self.plan.systems)
        raise TooShort(
            f"the budget of {budget:g} s was over before anything could be compared: one trial of "
            f"{cell.label} on {system} took {seconds:.2g} s; a first pair takes some {pair:.2g} s, and two "
            f"pairs of each of the {len(self.plan.cells)} cells are the least that makes an interval"
        )

    def attempt(self, trial: Trial) -> Outcome:
        """Runs one trial, whatever comes of it."""
        pair = (trial.system, trial.cell)
        begun = self._clock()
        result = self._attempt(trial)
        self._costs[pair] = self._clock() - begun
        self._failures[pair] = 0 if result.status == "ok" else self._failures.get(pair, 0) + 1
        if result.status == "unsupported" or self._failures[pair] >= _FAILURES_MOST:
            self._hopeless.add(pair)
        return result

    def _attempt(self, trial: Trial) -> Outcome:
        agent = self.agents[trial.system]
        boot = self._boots[trial.system]
        began = time.time()
        if agent is None:
            return records.failed(trial, boot, self._gone[trial.system], began=began)
        self._used.add(trial.system)
        try:
            agent.resume()
            result = self._perform(agent, trial, boot)
            agent.park()
        except SystemFailed as error:
            self._lose(trial.system, str(error))
            return records.failed(trial, boot, str(error), began=began)
        except dialogue.Silent:
            reason = (
                f"the agent fell silent for {self.plan.study.design.trial_limit_s + dialogue.GRACE_S:g} s"
            )
            self._lose(trial.system, reason)
            return records.failed(trial, boot, reason, status="timed out", began=began)
        return result

    def _perform(self, agent: Running, trial: Trial, boot: int) -> Outcome:
        """The trial's outcome, with what it cost this host if that is watched: from before the clocks are
        read to after they are read again, so that no mark is within what is timed."""
        watching = self.watching.get(trial.system)
        before = watching.mark() if watching else None
        result = dialogue.perform(agent, trial, self.plan, boot=boot)
        after = watching.mark() if watching and before else None
        if before is None or after is None:
            return result
        return replace(result, costs=host_monitor.between(before, after).figures)

    def _lose(self, system: str, reason: str) -> None:
        self._gone[system] = reason
        self._leave(system)

    def account_for_calls(self, *, is_over: bool = False) -> Iterator[Watched | Accounted]:
        """Accounting trials of what differs much for sure, so that a report can say what goes along with it;
        many cells at once, because beginning to count costs as much as they do. Nothing that goes wrong in
        them ends the run."""
        wanted = self._to_explain()
        cells = {cell for _, cell in wanted}
        waited_s = self.spent_s() - self._accounted_at
        if not cells or not (is_over or len(cells) >= _ACCOUNTING_CELLS or waited_s >= _ACCOUNTING_EVERY_S):
            return
        if self._accounting_s > _ACCOUNTING_SHARE * self.spent_s() or self.left_s() <= 0:
            return
        begun = self._clock()
        for system in self.plan.systems:
            agent = self.agents[system]
            mine = [cell for cell in self._cells if (system, cell) in wanted]
            if mine and agent is not None and not (yield from self._account(system, agent, mine)):
                self._uncountable.add(system)
        self._accounting_s += self._clock() - begun
        self._accounted_at = self.spent_s()

    def _to_explain(self) -> set[Pair]:
        """The systems and cells that lack accounting trials: what is to be explained, and the baseline's.
        Of one system alone, every cell: there its costs are what is asked for."""
        if self._watch is None:
            return set()
        baseline, *others = self.plan.systems
        wanted = {
            pair
            for system, cell in self._standing.explain
            for pair in ((system, cell), (baseline, cell))
            if system not in self._uncountable
        }
        if not others:
            wanted = {(baseline, cell) for cell, blocks in self._blocks.items() if blocks}
        return {
            (system, cell)
            for system, cell in wanted
            if system not in self._uncountable
            and any((number, system, cell) not in self._accounted for number in range(_ACCOUNTING_ROUNDS))
        }

    def _account(
        self, system: str, agent: Running, cells: Collection[Cell]
    ) -> Generator[Watched | Accounted, None, bool]:
        """Every round of one system; returns whether its calls can be counted at all."""
        self._used.add(system)
        try:
            agent.resume()
            counting, told = self._watched(system, agent, events.CALLS)
            yield told
            if counting is None:
                agent.park()
                return False
            try:
                for number in range(_ACCOUNTING_ROUNDS):
                    for cell in cells:
                        if self.left_s() > 0 and (number, system, cell) not in self._accounted:
                            self._accounted.add((number, system, cell))
                            yield from self._accounting_trials(number, system, agent, cell, counting)
            finally:
                counting.close()
            agent.park()
        except SystemFailed as error:
            self._lose(system, str(error))
            return False
        except dialogue.Silent:
            self._lose(system, "the agent fell silent in an accounting trial")
            return False
        return True

    def _accounting_trials(
        self, number: int, system: str, agent: Running, cell: Cell, counting: Watching
    ) -> Iterator[Accounted]:
        """A short trial of the cell, and another one with next to no operations, whose costs are the trial's
        own: process, set-up, agent."""
        for purpose in (WORK, SETUP):
            before = counting.mark()
            plan, trial = _shortened(self.plan, Trial(number, 0, system, cell, 0), _ACCOUNTED[purpose])
            result = dialogue.perform(agent, trial, plan, boot=self._boots[system], is_timed=False)
            after = counting.mark()
            if before is None or after is None:
                return
            found = host_monitor.between(before, after)
            done: dict[str, int] = {}
            for one in result.usage:
                done[one.metric] = done.get(one.metric, 0) + one.operations
            yield Accounted(
                number,
                system,
                self._boots[system],
                cell,
                purpose,
                counting.head.backend,
                result.status,
                result.reason,
                tuple(Done(*one) for one in done.items()),
                found.figures,
                found.calls,
            )
            if result.status != "ok" or sum(done.values()) <= 2 * cell.copies:
                return


def _sorted(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    return tuple(sorted(pairs, key=lambda pair: (pair[0], pair[1].label)))


def _shortened(plan: Plan, trial: Trial, settings: Mapping[str, int]) -> tuple[Plan, Trial]:
    """The trial with these settings, whatever the study and the cell say; and no longer than need be."""
    design = plan.study.design
    design = replace(design, trial_limit_s=min(design.trial_limit_s, _ACCOUNTING_LIMIT_S))
    cell = replace(trial.cell, parameters=(*trial.cell.parameters, *settings.items()))
    return replace(plan, study=replace(plan.study, design=design)), replace(trial, cell=cell)
