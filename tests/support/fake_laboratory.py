"""A laboratory of fake agents with a fake clock, for tests of the runner."""

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import trial_records

from steelyard.analysis.model import Interim
from steelyard.archive import relations
from steelyard.errors import SystemFailed
from steelyard.events import Earlier, Event
from steelyard.last_words import Said
from steelyard.programs import built
from steelyard.running import runner
from steelyard.running.runner import Progress
from steelyard.running.running_systems import Terms
from steelyard.study.plan import Plan

Record = dict[str, Any]


class Laboratory:
    """All that the fake agents do, in order, and what they are to do.

    `behave` says how the n-th trial (from 1) that a system is asked for goes: ok, failed, unsupported,
    dies, silent, or an exception to be raised. `starts` says what a system's n-th start raises.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.trial_s: dict[str, float] = {}  # by system; 1 s otherwise
        self.times: dict[str, float] = {}  # by workload: that many times as long; once otherwise
        self.start_s: dict[str, float] = {}  # by system; nothing otherwise
        self.behave: Callable[[str, str, int], str | BaseException] = lambda system, workload, number: "ok"
        self.starts: Callable[[str, int], BaseException | None] = lambda system, number: None
        self.log: list[str] = []
        self.ran: list[tuple[str, str]] = []  # the trial's name and its system
        self.requests: list[str] = []
        self.asked: dict[str, int] = {}
        self.started: dict[str, int] = {}
        self.agents: list[FakeAgent] = []
        self.active_with_others: list[str] = []

    def clock(self) -> float:
        return self.now

    def start(self, system: str, terms: Terms) -> "FakeAgent":
        self.started[system] = self.started.get(system, 0) + 1
        self.log.append(f"start {system}")
        self.now += self.start_s.get(system, 0.0)
        error = self.starts(system, self.started[system])
        if error is not None:
            raise error
        agent = FakeAgent(self, system, terms)
        self.agents.append(agent)
        return agent

    def up(self) -> list[str]:
        return [agent.system for agent in self.agents if not agent.closed]


class FakeAgent:
    """An agent that measures nothing, and does as the laboratory says."""

    def __init__(self, laboratory: Laboratory, system: str, terms: Terms) -> None:
        self.terms = terms
        self.words = ""  # what it has said besides records
        self.laboratory = laboratory
        self.system = system
        self.parked = False
        self.closed = 0
        self.hello: Record = trial_records.HELLO
        self.fingerprint: Record = {"record": "system", "kernel": system}
        self._said: deque[Record | BaseException] = deque()

    @property
    def process(self) -> int | None:
        return None  # nothing of it is on this machine

    def send(self, request: str) -> None:
        assert not self.closed
        assert not self.parked
        if request == "clock":
            self._said.append({"record": "clock", "clock_ns": time.monotonic_ns()})
        elif not request.startswith("stop "):
            self._trial(request)

    def _trial(self, request: str) -> None:
        laboratory = self.laboratory
        _, name, workload, *_ = request.split()
        others = [one for one in laboratory.agents if one is not self and not one.closed]
        laboratory.active_with_others += [one.system for one in others if not one.parked]
        took_s = laboratory.trial_s.get(self.system, 1.0) * laboratory.times.get(workload, 1.0)
        limit_s = next(int(word[9:]) for word in request.split() if word.startswith("limit_ms=")) / 1000
        laboratory.now += min(took_s, limit_s)
        laboratory.ran.append((name, self.system))
        laboratory.requests.append(request)
        laboratory.log.append(f"trial {self.system}")
        number = laboratory.asked[self.system] = laboratory.asked.get(self.system, 0) + 1
        told = laboratory.behave(self.system, workload, number)
        if told == "ok" and took_s > limit_s:
            told = "timed out"
        if isinstance(told, BaseException):
            self._said.append(told)
        elif told == "dies":
            self._said.append(SystemFailed(f"system '{self.system}' has ended"))
        elif told == "error":
            self._said.append({"record": "error", "trial": None, "reason": "no such workload"})
        elif told != "silent":
            self._said += _records(request, told)

    def records(self, deadline: float) -> Iterator[Record]:
        while self._said:
            one = self._said.popleft()
            if isinstance(one, BaseException):
                raise one
            yield one

    @contextmanager
    def on(self, processor: int) -> Iterator[None]:
        self.laboratory.log.append(f"bind {self.system} to {processor}")
        yield
        self.laboratory.log.append(f"free {self.system}")

    def park(self) -> None:
        self.parked = True

    def resume(self) -> None:
        self.parked = False

    def step_aside(self) -> None:
        """It has nothing to do between its turns."""

    def step_back(self) -> None:
        """Nor was it anywhere else."""

    def last_words(self) -> str:
        return self.words and f"; its last output: {self.words}"

    def close(self) -> None:
        self.closed += 1
        self.terms.hear(Said(), Said(self.words))
        self.laboratory.log.append(f"close {self.system}")


def _sizes(request: str, workload: built.Workload) -> list[int]:
    """The sizes of the curve, as far as any system goes."""
    asked = {one.name: one.initial for one in workload.parameters} | trial_records.settings_of(request)
    numbers = {name: value for name, value in asked.items() if isinstance(value, int)}
    return relations.sizes(
        from_=numbers["from"],
        to=numbers["to"] or 65536,
        steps=numbers["steps"],
        grain=workload.sweep_grain,
    )


def _records(request: str, status: str) -> Iterable[Record]:
    workload = built.catalogue().find(request.split()[2])
    return trial_records.trial(
        request,
        clock=time.monotonic_ns,
        durations_ns=lambda operations: (701, 702),
        operations=7,
        metrics=[one.name for one in workload.metrics],
        points=(_sizes(request, workload) if workload.sweeps else (None,)),
        moved=64 if workload.measure == "bandwidth" else None,
        status=status,
        reason=None if status == "ok" else f"it is {status}",
    )


def _run(
    laboratory: Laboratory,
    plan: Plan,
    *,
    boots_afresh: Collection[str] = (),
    judge: Callable[[], Interim] = Interim,
    notify: Callable[[Progress], None] = lambda progress: None,
    earlier: Earlier = Earlier(),  # noqa: B008 -- frozen
    **others: Any,
) -> Iterator[Event]:
    return runner.run(
        plan,
        start=laboratory.start,
        boots_afresh=boots_afresh,
        judge=judge,
        notify=notify,
        earlier=earlier,
        clock=laboratory.clock,
        **others,
    )
