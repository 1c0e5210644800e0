"""Keeps account, for people, of where a run stands: what it is doing, what its time went to, what is new."""

import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Protocol

from steelyard import events
from steelyard.analysis.model import Comparison
from steelyard.analysis.standing import Judge
from steelyard.running import allocation, runner
from steelyard.statistics import verdict
from steelyard.study.plan import Plan

# What a run does, in the order in which it begins to.
STARTING, FIRST, SETTLING, BOOTING, COUNTING = (
    "starting", "first blocks of everything", "settling what is open", "booting", "counting system calls",
)  # fmt: skip


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
    """Where the run stands now."""

    def __init__(self, plan: Plan, judge: Judge, *, clock: Callable[[], float] = time.monotonic) -> None:
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
        self._reports: set[tuple[str, str, str, bool]] = set()

    @property
    def left_s(self) -> float:
        """At most: what is settled before that ends it sooner."""
        return max(0.0, self.budget_s - self.spent_s)

    @property
    def pairs(self) -> int:
        """A cell on a system is one, if there is a baseline to hold it against."""
        return (len(self.plan.systems) - 1) * len(self.plan.cells)

    @property
    def pairs_settled(self) -> int:
        return len(self.judge.standing.decided)

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
        """What a round has taken is known only when it is over."""
        self.spent_s += self._clock() - self._since
        self._turn(self.doing, self.where)

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
        """What the time went to so far, starting left out: it is not counted."""
        for what in (FIRST, SETTLING, BOOTING, COUNTING):
            if self.time_s.get(what):
                yield what, self.time_s[what]


def _far(one: Comparison) -> float:
    """How far from 1 it is, as a multiple."""
    assert one.ratio is not None
    return max(one.ratio.value, 1 / one.ratio.value)
