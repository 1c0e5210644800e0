"""Turns the records of one trial, as an agent sent them, into an `Outcome`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.plan import Trial

# The closed list of how a trial can end. "stopped" is ours; it is never kept.
STATUSES = ("ok", "failed", "unsupported", "timed out", "killed")


@dataclass(frozen=True, slots=True)
class Samples:
    """The timed batches of one copy for one metric."""

    copy: int
    metric: str
    operations: int  # in each batch
    durations_ns: tuple[int, ...]
    point: int | None = None  # of a curve: the size that this is of
    bytes: int | None = None  # that an operation moves, where a bandwidth is measured
    faults_major: int | None = None  # pages that had to be fetched while these batches ran


@dataclass(frozen=True, slots=True)
class Usage:
    """What one copy and its children used in one metric's operations, warm-up included; None: the system does
    not count it."""

    copy: int
    metric: str
    operations: int
    user_ns: int
    system_ns: int
    faults_minor: int | None
    faults_major: int | None
    switches_voluntary: int | None
    switches_involuntary: int | None
    blocks_read: int | None
    blocks_written: int | None


@dataclass(frozen=True, slots=True)
class Process:
    """One copy's life, by the system's own clock; None where it did not come so far."""

    copy: int
    asked_ns: int
    start_ns: int | None
    end_ns: int | None
    status: str
    signal: int | None


@dataclass(frozen=True, slots=True)
class ClockReading:
    """A system's clock and the laboratory's at one moment. The system was asked and answered: its clock
    was read somewhere between, so host_ns is the middle and doubt_ns half of the time between."""

    guest_ns: int
    host_ns: int
    doubt_ns: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial went, and all that it measured."""

    trial: Trial
    boot: int
    status: str
    reason: str | None = None
    signal: int | None = None
    began: float = 0.0  # seconds since 1970, on the laboratory's clock
    host_ns: int | None = None  # from before to after the trial, on the laboratory's clock
    guest_ns: int | None = None  # the same span on the system's clock
    clock_doubt_ns: int | None = None  # how far apart the two may be read to be, for the asking's sake
    pressure: float | None = None  # share of host_ns in which some process waited for a processor
    samples: tuple[Samples, ...] = ()
    usage: tuple[Usage, ...] = ()
    processes: tuple[Process, ...] = ()


def failed(trial: Trial, boot: int, reason: str, *, status: str = "failed", began: float) -> Outcome:
    """The outcome of a trial whose agent can no longer say it."""
    return Outcome(trial, boot, status, reason, began=began)


def outcome(
    trial: Trial,
    boot: int,
    records: Sequence[dict[str, Any]],
    *,
    began: float,
    before: ClockReading,
    after: ClockReading,
    pressure: float | None,
) -> Outcome:
    """The outcome that these records, from begin to end, tell of."""
    end = records[-1]
    return Outcome(
        trial=trial,
        boot=boot,
        status=end["status"],
        reason=end["reason"],
        signal=end["signal"],
        began=began,
        host_ns=after.host_ns - before.host_ns,
        guest_ns=after.guest_ns - before.guest_ns,
        clock_doubt_ns=before.doubt_ns + after.doubt_ns,
        pressure=pressure,
        samples=tuple(
            Samples(
                one["copy"],
                one["metric"],
                one["operations"],
                tuple(one["durations_ns"]),
                one.get("point"),
                one.get("bytes"),
                one.get("faults_major"),
            )
            for one in records
            if one["record"] == "samples"
        ),
        usage=tuple(
            Usage(**{key: value for key, value in one.items() if key != "record"})
            for one in records
            if one["record"] == "usage"
        ),
        processes=tuple(
            Process(**process)
            for one in records
            if one["record"] == "processes"
            for process in one["processes"]
        ),
    )
