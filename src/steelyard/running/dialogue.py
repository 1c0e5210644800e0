"""Leads one trial on a running agent: asks, listens, reads both clocks, and says how it went."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol

from steelyard import standstill
from steelyard.errors import SystemFailed
from steelyard.events import RUN, Figure, Outcome, Surroundings
from steelyard.programs import built
from steelyard.running import machine_state, printed, records
from steelyard.running.expectation import Expectation
from steelyard.running.records import ClockReading, TrialParser
from steelyard.study.plan import Plan, Trial
from steelyard.systems.protocol import Record, RefusedRequest

_STARTED_ELSEWHERE = 0.1  # a trial's processes use more than this share of the reported use
GRACE_S = 5.0  # a trial's agent ends it at its limit; one that has not by then is itself lost


class AgentLike(Protocol):
    """The runner's view of an agent; `systems.agent.Agent` is the real one."""

    hello: Record
    fingerprint: Record

    @property
    def process(self) -> int | None: ...

    def send(self, request: str) -> None: ...
    def records(self, deadline: float) -> Iterator[Record]: ...
    def park(self) -> None: ...
    def resume(self) -> None: ...
    def on(self, processor: int) -> AbstractContextManager[None]: ...
    def step_aside(self) -> None: ...
    def step_back(self) -> None: ...
    def last_words(self) -> str: ...
    def close(self) -> None: ...


def request(trial: Trial, wanted: Mapping[str, int | str]) -> str:
    """The request line for a trial with these settings. Of a text all but plain bytes are written as %xx."""
    return " ".join(["trial", trial.name, trial.cell.workload, *setting_words(wanted)])


def setting_words(wanted: Mapping[str, int | str]) -> list[str]:
    """The settings as the load program takes them."""
    return [f"{name}={_percent_encoding(value)}" for name, value in wanted.items()]


def _percent_encoding(value: int | str) -> str:
    if isinstance(value, int):
        return str(value)
    return "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02x}" for byte in value.encode()
    )


def perform(
    agent: AgentLike,
    trial: Trial,
    plan: Plan,
    *,
    boot: int,
    is_timed: bool = True,
    is_watched: bool = False,
) -> Outcome:
    """The outcome of the trial as the agent tells it; failed, where that cannot be right. Raises
    SystemFailed, or Silent if it tells nothing."""
    led = Led(agent, trial, plan, boot=boot, is_timed=is_timed)
    state = State([agent], is_watched=is_watched)
    try:
        led.ask()
        led.listen()
        return state.added_to([led.outcome()])[0]
    except RefusedRequest as refusal:
        return led.refused(refusal)


class State:
    """The state of this machine while trials run, from when it is made; of nothing if one runs elsewhere."""

    def __init__(self, agents: Sequence[AgentLike], *, is_watched: bool) -> None:
        active = [one.process for one in agents]
        self._active = [one for one in active if one is not None]
        self._is_here = len(self._active) == len(active)
        self._is_watched = is_watched
        self._before = self._read(is_before=True) if self._is_here else None

    def _read(self, *, is_before: bool) -> machine_state.StateReading:
        return machine_state.read(is_before=is_before, active=self._active, with_active=not self._is_watched)

    def added_to(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """The outcomes of all these trials, with what became of the machine meanwhile."""
        if self._before is None:
            return list(outcomes)
        after = self._read(is_before=False)
        state = machine_state.between(self._before, after)
        if not self._is_watched:
            state = _with_used(state, outcomes)
        pressure = machine_state.waited(self._before, after, "cpu")
        return [replace(one, pressure=pressure, surroundings=state) for one in outcomes]


class Led:
    """A trial on its agent, from the request to the outcome. What cannot be right raises RefusedRequest; an
    agent that ends SystemFailed; one that tells nothing in time Silent.

    Both clocks are read before and after, when nothing runs: then the answer comes at once, and what the
    two clocks differ by over the trial is not the asking's fault.
    """

    def __init__(
        self,
        agent: AgentLike,
        trial: Trial,
        plan: Plan,
        *,
        boot: int,
        is_timed: bool = True,
    ) -> None:
        self.agent, self.trial, self._boot = agent, trial, boot
        self._began = time.time()
        self._wanted = plan.settings(trial)
        self._tool = plan.tool_of(trial.cell)
        self._parser = TrialParser(_expectation(agent, trial, self._wanted, is_timed=is_timed))
        self._deadline = standstill.clock() + plan.limit_s(trial.cell) + GRACE_S
        self._before: ClockReading | None = None
        self.is_over = False  # its last record has come

    def ask(self) -> None:
        """Send the request."""
        for record in self.agent.records(0.0):
            raise RefusedRequest(f"it sent '{record['record']}' before any request")
        self._before = _read_clocks(self.agent, self._deadline)
        self.agent.send(request(self.trial, self._wanted))

    def listen(self, kind: str | None = None) -> Record | None:
        """Hear its records, until one of that kind comes, which is returned; or the last of all."""
        if not self.is_over:
            for record in self.agent.records(self._deadline):
                self.is_over = self._parser.ends_with(record)
                if self.is_over:
                    break
                if record["record"] == kind:
                    return record
            else:
                raise Silent
        return None

    def outcome(self) -> Outcome:
        """What came of it, when it is over."""
        assert self._before is not None
        if self._parser.refusal is not None:
            return records.failed(self.trial, self._boot, self._parser.refusal, began=self._began)
        after = _read_clocks(self.agent, self._deadline)
        found = self._parser.outcome(self._boot, began=self._began, before=self._before, after=after)
        return printed.with_figures(found, self._tool, self._parser.printed())

    def refused(self, refusal: RefusedRequest) -> Outcome:
        """End it, for that reason. Raises SystemFailed if it does not end."""
        _come_to_rest(self.agent, self.trial, refusal)
        return records.failed(self.trial, self._boot, str(refusal), began=self._began)


def with_costs(outcomes: Sequence[Outcome], costs: Sequence[tuple[Figure, ...]]) -> list[Outcome]:
    """The outcomes of watched trials that ran together with what a monitor saw of each, also in what the
    surroundings say of us."""
    states = [one.surroundings for one in outcomes if one.surroundings is not None]
    used = [next((one.value for one in each if one.figure == RUN), None) for each in costs]
    known = [one for one in used if one is not None]
    state = states[0] if states else None
    if state is not None and state.own_ns is not None:
        own_ns = state.own_ns + sum(known) if len(known) == len(used) else None
        state = _with_used(replace(state, own_ns=own_ns), outcomes)
    return [replace(one, costs=each, surroundings=state) for one, each in zip(outcomes, costs, strict=True)]


def with_server(outcome: Outcome) -> Outcome:
    """The outcome of a trial whose server runs by itself: nothing tells its processor time from other work's,
    so all that was used counts as the trial's."""
    state = outcome.surroundings
    return outcome if state is None else replace(outcome, surroundings=replace(state, own_ns=state.busy_ns))


def _expectation(
    agent: AgentLike, trial: Trial, wanted: Mapping[str, int | str], *, is_timed: bool
) -> Expectation:
    catalogue = built.catalogue()
    workload = catalogue.find(trial.cell.workload)
    initial = {one.name: one.initial for one in (*catalogue.parameters, *workload.parameters)}
    return Expectation(
        trial,
        workload,
        wanted,
        initial,
        agent.hello["clock_resolution_ns"],
        is_timed,
        agent.fingerprint.get("cpu_online") or agent.fingerprint.get("cpu_count"),
    )


def _come_to_rest(agent: AgentLike, trial: Trial, refusal: RefusedRequest) -> None:
    """End the trial and discard its remaining records, so that the next trial reads only its own. Raises
    SystemFailed if that takes too long.
    """
    deadline = standstill.clock() + GRACE_S
    agent.send(f"stop {trial.name}")
    agent.send("describe")  # which nothing else asks for now: its answer is none that is still on its way
    while standstill.clock() < deadline:
        try:
            if any(record["record"] == "system" for record in agent.records(deadline)):
                return
        except RefusedRequest:
            continue
    raise SystemFailed(f"{refusal}, and it was still busy {GRACE_S:g} s later")


class Silent(Exception):
    """The agent said nothing until its time was over."""


def _read_clocks(agent: AgentLike, deadline: float) -> ClockReading:
    begin = time.monotonic_ns()
    agent.send("clock")
    astray: str | None = None
    for record in agent.records(deadline):
        if record["record"] != "clock":
            astray = record["record"]
        elif astray is not None:
            raise RefusedRequest(f"it sent '{astray}' in answer to a request for its clock")
        else:
            heard = time.monotonic_ns()
            return ClockReading(record["clock_ns"], (begin + heard) // 2, (heard - begin) // 2)
    raise Silent


def _with_used(state: Surroundings, outcomes: Sequence[Outcome]) -> Surroundings:
    """The same; where next to nothing of the trial's work descends from this process, because a daemon
    started it, with what the trial says that it used. Else a guest calls used what others took from it."""
    if state.own_ns is None:
        return state
    told_ns = sum(one.user_ns + one.system_ns for outcome in outcomes for one in outcome.usage)
    return replace(state, own_ns=told_ns) if state.own_ns < _STARTED_ELSEWHERE * told_ns else state
