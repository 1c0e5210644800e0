"""Runs a plan on its systems and yields what happened, as it happens: starts, outcomes, looks."""

import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from steelyard import dialogue, records
from steelyard import plan as plans
from steelyard.dialogue import Record, Running
from steelyard.errors import SteelyardError, SystemFailed
from steelyard.plan import Plan, Trial
from steelyard.records import Outcome
from steelyard.study import Cell

Pair = tuple[str, Cell]  # a system and a cell

# So many failures running on one system and cell, and it is not tried again.
_FAILURES_MOST = 2


@dataclass(frozen=True, slots=True)
class Started:
    """A system has come up: its agent's greeting and its fingerprint."""

    system: str
    boot: int
    hello: Record
    fingerprint: Record
    start_s: float


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


Event = Started | Outcome | Look


def run(
    plan: Plan,
    *,
    start: Callable[[str], Running],
    boots_afresh: Collection[str],
    decide: Callable[[int], Collection[Pair]],
    notify: Callable[[Progress], None],
    earlier: Earlier,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[Event, None, None]:
    """Yields every event of the experiment, in order; when it ends, every system has been closed.

    `start` brings a system up; `boots_afresh` are those whose start is a boot; `decide` says, after so
    many blocks, which pairs need no more. Stops when all pairs are decided, at the last look, or before
    a block that the budget would not cover. A system that cannot start at the beginning raises what
    `start` raises; one that dies later yields failed outcomes, and is started again for the next block.
    """
    course = _Course(plan, start, earlier, clock)
    try:
        for system in plan.systems:
            yield course.bring_up(system)
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
        self, plan: Plan, start: Callable[[str], Running], earlier: Earlier, clock: Callable[[], float]
    ) -> None:
        self.plan = plan
        self.agents: dict[str, Running | None] = dict.fromkeys(plan.systems)
        self.looked = {look.blocks for look in earlier.looks}
        self.blocks_done = 0
        self._start = start
        self._clock = clock
        self._done = earlier.done
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
            for system, agent in self.agents.items():
                if agent is not None:
                    stack.callback(agent.close)
                    self.agents[system] = None

    def bring_up(self, system: str) -> Started:
        """Starts the system, again if it was up, and parks it."""
        begun = self._clock()
        old = self.agents[system]
        if old is not None:
            self.agents[system] = None
            old.close()
        agent = self._start(system)
        self.agents[system] = agent
        agent.park()
        self._gone.pop(system, None)
        self._used.discard(system)
        self._boots[system] = self._boots.get(system, 0) + 1
        self._costs[system] = self._clock() - begun
        return Started(system, self._boots[system], agent.hello, agent.fingerprint, self._costs[system])

    def refresh(self, planned: tuple[Trial, ...], boots_afresh: Collection[str]) -> Iterator[Started]:
        """Before a block: boots what is to be booted, and starts again what has died."""
        number = planned[0].block
        for system in {trial.system: None for trial in planned}:
            booted = system in boots_afresh and plans.starts_afresh(self.plan, number)
            if system in self._gone or (booted and system in self._used):
                try:
                    yield self.bring_up(system)
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
            result = dialogue.perform(agent, trial, self.plan, boot=boot)
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

    def _lose(self, system: str, reason: str) -> None:
        agent = self.agents[system]
        self.agents[system] = None
        self._gone[system] = reason
        if agent is not None:
            agent.close()
