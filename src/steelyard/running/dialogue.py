"""Leads one trial on a running agent: asks, listens, reads both clocks, and says how it went."""

import shlex
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from steelyard.archive.events import Outcome, Record
from steelyard.running import records
from steelyard.running.records import ClockReading
from steelyard.study.plan import Plan, Trial
from steelyard.text import of_file

GRACE_S = 5.0  # a trial's agent ends it at its limit; one that has not by then is itself lost
_PRESSURE = Path("/proc/pressure/cpu")


class Running(Protocol):
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


def request(trial: Trial, parameters: Mapping[str, int | str]) -> str:
    """The request line for a trial, with these parameters besides the cell's own. A text is a command
    line: it goes as its words, a newline between two, with all but plain bytes written as %xx."""
    settings = dict(parameters) | {"pad": trial.pad, "seed": trial.seed} | dict(trial.cell.parameters)
    words = [f"{name}={_written(value)}" for name, value in settings.items()]
    return " ".join(["trial", trial.name, trial.cell.workload, *words])


def _written(value: int | str) -> str:
    if isinstance(value, int):
        return str(value)
    return "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02x}"
        for byte in "\n".join(shlex.split(value)).encode()
    )


def perform(agent: Running, trial: Trial, plan: Plan, *, boot: int) -> Outcome:
    """The outcome of the trial as the agent tells it. Raises SystemFailed, or Silent if it tells nothing.

    Both clocks are read before and after, when nothing runs: then the answer comes at once, and what the
    two clocks differ by over the trial is not the asking's fault.
    """
    began = time.time()
    limit_s = plan.study.design.trial_limit_s
    deadline = time.monotonic() + limit_s + GRACE_S
    parameters = dict(plan.study.trial) | {"limit_ms": int(limit_s * 1000)}
    before = _read_clocks(agent, deadline)
    waited_before = _pressure_us()
    agent.send(request(trial, parameters))
    heard = []
    for record in agent.records(deadline):
        heard.append(record)
        if record["record"] == "error":
            return records.failed(trial, boot, str(record["reason"]), began=began)
        if record["record"] == "end":
            break
    else:
        raise Silent
    waited_after = _pressure_us()
    after = _read_clocks(agent, deadline)
    pressure = None
    if waited_before is not None and waited_after is not None:
        pressure = (waited_after - waited_before) * 1000 / (after.host_ns - before.host_ns)
    return records.outcome(trial, boot, heard, began=began, before=before, after=after, pressure=pressure)


class Silent(Exception):
    """The agent said nothing until its time was over."""


def _read_clocks(agent: Running, deadline: float) -> ClockReading:
    asked = time.monotonic_ns()
    agent.send("clock")
    for record in agent.records(deadline):
        if record["record"] == "clock":
            heard = time.monotonic_ns()
            return ClockReading(record["clock_ns"], (asked + heard) // 2, (heard - asked) // 2)
    raise Silent


def _pressure_us() -> int | None:
    """Microseconds since the start in which some process waited for a processor; None if unknown."""
    try:
        return int(of_file(_PRESSURE).split("total=", 1)[1].split(maxsplit=1)[0])
    except (OSError, IndexError, ValueError):
        return None
