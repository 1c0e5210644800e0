"""Leads one trial on a running agent: asks, listens, reads both clocks, and says how it went."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from steelyard.errors import SystemFailed
from steelyard.events import Outcome
from steelyard.programs import built
from steelyard.running import records
from steelyard.running.records import ClockReading, Expectation, Hearing
from steelyard.study.plan import Plan, Trial
from steelyard.systems.door import Record, Refused
from steelyard.text import of_file

GRACE_S = 5.0  # a trial's agent ends it at its limit; one that has not by then is itself lost
_PRESSURE = Path("/proc/pressure/cpu")


class AgentLike(Protocol):
    """What the runner needs of an agent; `systems.agent.Agent` is the real one."""

    hello: Record
    fingerprint: Record

    @property
    def process(self) -> int | None: ...

    def send(self, request: str) -> None: ...
    def records(self, deadline: float) -> Iterator[Record]: ...
    def park(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


def request(trial: Trial, wanted: Mapping[str, int | str]) -> str:
    """The request line for a trial with these settings. Of a text all but plain bytes are written as %xx."""
    words = [f"{name}={_percent_encoding(value)}" for name, value in wanted.items()]
    return " ".join(["trial", trial.name, trial.cell.workload, *words])


def _percent_encoding(value: int | str) -> str:
    if isinstance(value, int):
        return str(value)
    return "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02x}" for byte in value.encode()
    )


def perform(agent: AgentLike, trial: Trial, plan: Plan, *, boot: int, is_timed: bool = True) -> Outcome:
    """The outcome of the trial as the agent tells it; failed, where that cannot be right. Raises
    SystemFailed, or Silent if it tells nothing.

    Both clocks are read before and after, when nothing runs: then the answer comes at once, and what the
    two clocks differ by over the trial is not the asking's fault.
    """
    began = time.time()
    wanted = plan.settings(trial)
    hearing = Hearing(_expectation(agent, trial, wanted, is_timed=is_timed))
    deadline = time.monotonic() + plan.study.design.trial_limit_s + GRACE_S
    try:
        for record in agent.records(0.0):
            raise Refused(f"it said '{record['record']}' before anything was asked")
        before = _read_clocks(agent, deadline)
        waited_before = _pressure_us()
        agent.send(request(trial, wanted))
        if not any(hearing.ends_with(record) for record in agent.records(deadline)):
            raise Silent
        if hearing.refusal is not None:
            return records.failed(trial, boot, hearing.refusal, began=began)
        waited_after = _pressure_us()
        after = _read_clocks(agent, deadline)
        pressure = None
        if waited_before is not None and waited_after is not None:
            pressure = (waited_after - waited_before) * 1000 / (after.host_ns - before.host_ns)
        return hearing.outcome(boot, began=began, before=before, after=after, pressure=pressure)
    except Refused as refusal:
        _come_to_rest(agent, trial, refusal)
        return records.failed(trial, boot, str(refusal), began=began)


def _expectation(
    agent: AgentLike, trial: Trial, wanted: Mapping[str, int | str], *, is_timed: bool
) -> Expectation:
    catalogue = built.catalogue()
    workload = catalogue.find(trial.cell.workload)
    initial = {one.name: one.initial for one in (*catalogue.parameters, *workload.parameters)}
    return Expectation(trial, workload, wanted, initial, agent.hello["clock_resolution_ns"], is_timed)


def _come_to_rest(agent: AgentLike, trial: Trial, refusal: Refused) -> None:
    """Ends the trial and lets go of all that is still said of it, so that the next one hears its own records
    alone. Raises SystemFailed where that takes too long."""
    deadline = time.monotonic() + GRACE_S
    agent.send(f"stop {trial.name}")
    agent.send("describe")  # which nothing else asks for now: its answer is none that is still on its way
    while time.monotonic() < deadline:
        try:
            if any(record["record"] == "system" for record in agent.records(deadline)):
                return
        except Refused:
            continue
    raise SystemFailed(f"{refusal}; and for {GRACE_S:g} s after that it did not come to rest")


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
            raise Refused(f"it said '{astray}' when it was asked for its clock")
        else:
            heard = time.monotonic_ns()
            return ClockReading(record["clock_ns"], (begin + heard) // 2, (heard - begin) // 2)
    raise Silent


def _pressure_us() -> int | None:
    """Microseconds since the start in which some process waited for a processor; None if unknown."""
    try:
        return int(of_file(_PRESSURE).split("total=", 1)[1].split(maxsplit=1)[0])
    except (OSError, IndexError, ValueError):
        return None
