"""Runs a plan on its systems and yields what happened, as it happens: starts, outcomes, looks."""

import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Protocol

from steelyard import accounting, dialogue, records
from steelyard import plan as plans
from steelyard.accounting import Called, Figure
from steelyard.dialogue import Record, Running
from steelyard.errors import SteelyardError, SystemFailed
from steelyard.plan import Plan, Trial
from steelyard.records import Outcome
from steelyard.study import Cell
from steelyard.watch.model import Head, Mark

Pair = tuple[str, Cell]  # a system and a cell

# So many failures running on one system and cell, and it is not tried again.
_FAILURES_MOST = 2

# Trials that count system calls, whose times count for nothing: so many rounds before the first block, while
# there is that share of the budget for them. They need not be long: counts scatter little.
_ACCOUNTING_ROUNDS = 3
_ACCOUNTING_SHARE = 0.2
_ACCOUNTING_LIMIT_S = 10.0
WORK, SETUP = "work", "setup"
_ACCOUNTED = {
    WORK: {"batches": 1, "batch_ns": 5_000_000, "warmup_ns": 0},
    SETUP: {"batches": 1, "operations": 1, "warmup_ns": 0},  # what a trial does besides its operations
}


@dataclass(frozen=True, slots=True)
class Started:
    """A system has come up: its agent's greeting and its fingerprint."""

    system: str
    boot: int
    hello: Record
    fingerprint: Record
    start_s: float


@dataclass(frozen=True, slots=True)
class Watched:
    """A system's processes on this host are accounted for from now on; or why they are not."""

    system: str
    boot: int
    detail: str
    backend: str | None
    missing: tuple[str, ...]  # sentences: what the backend cannot see
    why: str | None  # they are not


@dataclass(frozen=True, slots=True)
class Accounted:
    """An accounting trial: what was counted, and no time."""

    round: int  # from 0
    system: str
    boot: int
    cell: Cell
    purpose: str  # WORK or SETUP
    backend: str
    status: str
    reason: str | None
    operations: tuple[tuple[str, int], ...]  # by metric, of all copies
    costs: tuple[Figure, ...]
    calls: tuple[Called, ...] | None


@dataclass(frozen=True, slots=True)
class Look:
    """So many blocks are done; these pairs were decided by then."""

    blocks: int
    decided: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the run stands, for people."""

    block: int
    trial: Trial
    position: int
    trials: int  # in this block
    open_pairs: int
    spent_s: float
    left_s: float  # at most


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an interrupted run of the same plan left behind."""

    done: frozenset[tuple[int, str, Cell]] = frozenset()
    boots: Mapping[str, int] = field(default_factory=dict)
    looks: tuple[Look, ...] = ()
    hopeless: frozenset[Pair] = frozenset()
    spent_s: float = 0.0
    accounted: frozenset[tuple[int, str, Cell]] = frozenset()  # by round


Event = Started | Watched | Accounted | Outcome | Look


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
    decide: Callable[[int], Collection[Pair]],
    notify: Callable[[Progress], None],
    earlier: Earlier,
    watch: Watch | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[Event, None, None]:
    """Yields every event of the experiment, in order; when it ends, every system has been closed.

    `start` brings a system up; `boots_afresh` are those whose start is a boot; `decide` says, after so
    many blocks, which pairs need no more. Stops when all pairs are decided, at the last look, or before
    a block that the budget would not cover. A system that cannot start at the beginning raises what
    `start` raises; one that dies later yields failed outcomes, and is started again for the next block.
    With `watch` every trial is accounted for, and trials that count system calls go before the first block.
    """
    course = _Course(plan, start, earlier, watch, clock)
    try:
        for system in plan.systems:
            yield from course.bring_up(system)
        yield from course.account_for_calls()
        for trials in plans.blocks(plan):
            number = trials[0].block
            planned = course.left_of(trials)
            if planned and not course.affords(planned):
                break
            if planned:
                yield from course.refresh(planned, boots_afresh)
            for position, trial in enumerate(planned):
                notify(course.progress(trial, position, len(planned)))
                yield course.attempt(trial)
            course.blocks_done = number + 1
            if number + 1 in plan.study.design.looks and number + 1 not in course.looked:
                yield course.look(decide)
            if not course.open_pairs():
                return
        if course.blocks_done not in course.looked and course.blocks_done:
            yield course.look(decide)
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
        self.looked = {look.blocks for look in earlier.looks}
        self.blocks_done = 0
        self._start = start
        self._watch = watch
        self._clock = clock
        self._done = earlier.done
        self._accounted = earlier.accounted
        self._boots = dict(earlier.boots)
        self._decided: set[Pair] = {pair for look in earlier.looks for pair in look.decided}
        self._hopeless: set[Pair] = set(earlier.hopeless)
        self._failures: dict[Pair, int] = {}
        self._used: set[str] = set()  # systems that have run a trial since they came up
        self._gone: dict[str, str] = {}  # systems that are down, and why
        self._begun = clock() - earlier.spent_s
        self._costs: dict[Pair | str, float] = {}  # seconds of the last trial, or of the last start

    def spent_s(self) -> float:
        return self._clock() - self._begun

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
        self._costs[system] = self._clock() - begun
        yield Started(system, self._boots[system], agent.hello, agent.fingerprint, self._costs[system])
        if self._watch is not None:
            found, told = self._watched(system, agent, accounting.LIFE)
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

    def refresh(
        self, planned: tuple[Trial, ...], boots_afresh: Collection[str]
    ) -> Iterator[Started | Watched]:
        """Before a block: boots what is to be booted, and starts again what has died."""
        number = planned[0].block
        for system in {trial.system: None for trial in planned}:
            booted = system in boots_afresh and plans.starts_afresh(self.plan, number)
            if system in self._gone or (booted and system in self._used):
                try:
                    yield from self.bring_up(system)
                except SteelyardError as error:
                    self._gone[system] = str(error)

    def open_pairs(self) -> set[Pair]:
        """The pairs that need more trials: undecided ones, and the baseline's where any is."""
        baseline, *others = self.plan.systems
        undecided = {
            (system, cell)
            for system in others
            for cell in self.plan.cells
            if not {(system, cell), (baseline, cell)} & self._hopeless and (system, cell) not in self._decided
        }
        if not others:
            return {(baseline, cell) for cell in self.plan.cells} - self._hopeless
        return undecided | {(baseline, cell) for _, cell in undecided}

    def left_of(self, trials: tuple[Trial, ...]) -> tuple[Trial, ...]:
        """What of a block is still to be run. Blocks before the last look of an earlier run are over."""
        number = trials[0].block
        if any(number < blocks for blocks in self.looked):
            return ()
        open_trials = plans.remaining(trials, self.open_pairs())
        return tuple(trial for trial in open_trials if (number, trial.system, trial.cell) not in self._done)

    def affords(self, planned: tuple[Trial, ...]) -> bool:
        """Whether the budget covers the block, by what each of its trials cost last time. The first
        block is always afforded: without it there is nothing to show."""
        if not self._done and self.blocks_done == 0:
            return True
        cost = sum(self._costs.get((trial.system, trial.cell), 0.0) for trial in planned)
        cost += sum(
            self._costs.get(system, 0.0)
            for system in {trial.system for trial in planned}
            if self.plan.study.design.blocks_per_boot == 1 and self._boots[system] > 1
        )
        return self.spent_s() + cost <= self.plan.study.design.budget_s

    def progress(self, trial: Trial, position: int, trials: int) -> Progress:
        spent = self.spent_s()
        left = max(0.0, self.plan.study.design.budget_s - spent)
        return Progress(trial.block, trial, position, trials, len(self.open_pairs()), spent, left)

    def look(self, decide: Callable[[int], Collection[Pair]]) -> Look:
        decided = tuple(pair for pair in decide(self.blocks_done) if pair not in self._decided)
        self._decided.update(decided)
        self.looked.add(self.blocks_done)
        return Look(self.blocks_done, decided)

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
        return replace(result, costs=accounting.between(before, after).figures)

    def _lose(self, system: str, reason: str) -> None:
        self._gone[system] = reason
        self._leave(system)

    def account_for_calls(self) -> Iterator[Watched | Accounted]:
        """Accounting trials of every cell on every system that can be watched so closely, round by round
        while the budget's share for them lasts. Nothing that goes wrong in them ends the run."""
        systems = [system for system in self.plan.systems if self._watch is not None]
        for number in range(_ACCOUNTING_ROUNDS):
            for system in list(systems):
                cells = [cell for cell in self.plan.cells if (number, system, cell) not in self._accounted]
                agent = self.agents[system]
                if agent is None or not (yield from self._account(number, system, agent, cells)):
                    systems.remove(system)

    def _account(
        self, number: int, system: str, agent: Running, cells: Collection[Cell]
    ) -> Generator[Watched | Accounted, None, bool]:
        """One round of one system; returns whether there is any sense in another."""
        limit_s = _ACCOUNTING_SHARE * self.plan.study.design.budget_s
        if not cells:
            return True
        if self.spent_s() > limit_s:
            return False
        self._used.add(system)
        try:
            agent.resume()
            counting, told = self._watched(system, agent, accounting.CALLS)
            yield told
            if counting is None:
                agent.park()
                return False
            try:
                for cell in cells:
                    if self.spent_s() > limit_s:
                        break
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
            result = dialogue.perform(agent, trial, plan, boot=self._boots[system])
            after = counting.mark()
            if before is None or after is None:
                return
            found = accounting.between(before, after)
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
                tuple(done.items()),
                found.figures,
                found.calls,
            )
            if result.status != "ok" or sum(done.values()) <= 2 * cell.copies:
                return


def _shortened(plan: Plan, trial: Trial, settings: Mapping[str, int]) -> tuple[Plan, Trial]:
    """The trial with these settings, whatever the study and the cell say; and no longer than need be."""
    design = plan.study.design
    design = replace(design, trial_limit_s=min(design.trial_limit_s, _ACCOUNTING_LIMIT_S))
    cell = replace(trial.cell, parameters=(*trial.cell.parameters, *settings.items()))
    return replace(plan, study=replace(plan.study, design=design)), replace(trial, cell=cell)
