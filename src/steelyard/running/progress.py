"""Keeps account, for people, of where a run stands: what it is doing, what its time went to, what is new."""

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Protocol

from steelyard import events, standstill
from steelyard.analysis import conditions
from steelyard.analysis.conditions import Seen
from steelyard.analysis.interim import Judge
from steelyard.analysis.model import Comparison, MachineState
from steelyard.events import Outcome
from steelyard.running import allocation, runner
from steelyard.statistics import verdict
from steelyard.study.plan import Plan

# What a run does, in the order in which it begins to.
STARTING, FIRST, SETTLING, BOOTING, COUNTING = (
    "starting", "first blocks of everything", "settling open metrics", "booting", "counting system calls",
)  # fmt: skip


_STATE_TRIALS, _STATE_NS = (
    3,
    500_000_000,
)  # that say something of the machine: what is counted has steps of 10 ms


class Onlooker(Protocol):
    """Shows how a run gets on. It is a context that lasts as long as the run, and is called between trials
    only: nothing is measured while it works."""

    def __enter__(self) -> "Onlooker": ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def begins(self, what: str, system: str) -> None:
        """BOOTING or COUNTING begins."""

    def progress(self, now: runner.Progress) -> None:
        """A trial begins."""

    def event(self, event: events.Event) -> None:
        """The event is in the archive."""


MakeOnlooker = Callable[[Plan, Judge], Onlooker]


class RunState:
    """The current state of the run."""

    def __init__(self, plan: Plan, judge: Judge, *, clock: Callable[[], float] = standstill.clock) -> None:
        self.plan = plan
        self.judge = judge
        self.budget_s = plan.study.design.budget_s
        self.spent_s = 0.0
        self.doing = STARTING
        self.where = ""  # the system that boots, or what is measured
        self.time_s: dict[str, float] = {}  # by what was done
        self._clock = clock
        self._since = clock()
        self.boots = 0  # of machines
        self.absent: set[str] = set()  # systems that could not start
        self._reports: set[tuple[str, str, str, bool]] = set()
        self._seen: list[Seen] = []  # what trials of this run say of the machine around them

    @property
    def left_s(self) -> float:
        """The maximum time left: settled metrics end the run sooner."""
        return max(0.0, self.budget_s - self.spent_s)

    @property
    def pairs(self) -> int:
        """A cell on a system is one, if there is a baseline to hold it against."""
        return (len(self.plan.systems) - len(self.absent) - 1) * len(self.plan.cells)

    @property
    def pairs_settled(self) -> int:
        return len(self.judge.interim.decided)

    def begins(self, what: str, system: str) -> None:
        self._turn(what, system)

    def progress(self, now: runner.Progress) -> None:
        self.spent_s = now.spent_s
        is_first = now.trial.block < allocation.FIRST_BLOCKS
        self._turn(FIRST if is_first else SETTLING, f"{now.trial.system}: {now.trial.cell.label}")

    def _turn(self, what: str, where: str) -> None:
        now = self._clock()
        self.time_s[self.doing] = self.time_s.get(self.doing, 0.0) + now - self._since
        self._since, self.doing, self.where = now, what, where

    def look(self) -> None:
        """A look. The duration of a round is known only when it is over."""
        self.spent_s += self._clock() - self._since
        self._turn(self.doing, self.where)

    def ended(self, outcome: Outcome) -> None:
        """A trial is over."""
        seen = conditions.seen_of(outcome, self.judge.experiment.header)
        if seen is not None:
            self._seen.append(seen)

    @property
    def trials(self) -> int:
        """The trials of this run, on this machine."""
        return len(self._seen)

    def state(self) -> MachineState | None:
        """The state of the machine in the trials of this run; None before there are enough of them."""
        long_enough = sum(one.span_ns for one in self._seen) >= _STATE_NS
        if len(self._seen) < _STATE_TRIALS or not long_enough:
            return None
        return conditions.state_of(self._seen, self.judge.experiment.header)

    def news(self) -> list[Comparison]:
        """The differences that are claimed now and were not reported before, the largest first. Each is
        reported once, and again if its direction changes."""
        news = []
        for one in self.judge.comparisons:
            if one.ratio is None or one.verdict not in verdict.CLAIMED:
                continue
            what = (one.system, one.cell, one.metric, one.ratio.value > 1)
            if what not in self._reports:
                self._reports.add(what)
                news.append(one)
        return sorted(news, key=_far, reverse=True)

    def spent_on(self) -> Iterable[tuple[str, float]]:
        """The use of the time so far."""
        for what in (STARTING, FIRST, SETTLING, BOOTING, COUNTING):
            if self.time_s.get(what):
                yield what, self.time_s[what]


def _far(one: Comparison) -> float:
    """The distance from 1, as a multiple."""
    assert one.ratio is not None
    return max(one.ratio.value, 1 / one.ratio.value)
