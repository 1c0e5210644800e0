"""Turns the records of one trial, as an agent sent them, into an `Outcome`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.accounting import Figure
from steelyard.plan import Trial

# The closed list of how a trial can end. "stopped" is ours; it is never kept.
STATUSES = ("ok", "failed", "unsupported", "timed out", "killed")


_GROUP_NUMBERS = (
    "copy",
    "metric",
    "batch",
    "processors",
    "members",
    "created",
    "finished",
    "iterations",
    "code_sha256",
    "zero_ns",
)
_GROUP_TIMES = ("asked_ns", "began_ns", "ended_ns", "reaped_ns")


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
class Group:
    """Many processes started one after another: a column for each thing known of every one of them, in the
    order in which they were asked for. Times are ns since `zero_ns` on the system's clock, None where it did
    not come so far; `marks_ns` are the moments when 1/16, 2/16, ... of its iterations were done."""

    copy: int
    metric: str
    batch: int  # from 1
    processors: int  # that they could use
    members: int
    created: int
    finished: int
    iterations: int
    code_sha256: str
    zero_ns: int
    asked_ns: tuple[int | None, ...]
    began_ns: tuple[int | None, ...]
    ended_ns: tuple[int | None, ...]
    reaped_ns: tuple[int | None, ...]  # when its starter saw that it had ended
    marks_ns: tuple[tuple[int | None, ...], ...]
    statuses: tuple[str, ...]  # "ok", "failed", "killed", "not created", "not asked for"
    signals: tuple[int | None, ...]
    reasons: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """What one copy counted, where that is the workload's result."""

    copy: int
    metric: str
    unit: str
    value: int


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
    code_sha256: str | None = None  # of the machine code that it ran, where that is the same everywhere
    began: float = 0.0  # seconds since 1970, on the laboratory's clock
    host_ns: int | None = None  # from before to after the trial, on the laboratory's clock
    guest_ns: int | None = None  # the same span on the system's clock
    clock_doubt_ns: int | None = None  # how far apart the two may be read to be, for the asking's sake
    pressure: float | None = None  # share of host_ns in which some process waited for a processor
    samples: tuple[Samples, ...] = ()
    usage: tuple[Usage, ...] = ()
    processes: tuple[Process, ...] = ()
    groups: tuple[Group, ...] = ()
    counts: tuple[Count, ...] = ()
    costs: tuple[
        Figure, ...
    ] = ()  # what the system's processes on this host cost meanwhile; () if not watched


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
    begin, end = records[0], records[-1]
    return Outcome(
        trial=trial,
        boot=boot,
        status=end["status"],
        reason=end["reason"],
        signal=end["signal"],
        code_sha256=begin.get("code_sha256"),
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
        groups=tuple(_group(one) for one in records if one["record"] == "group"),
        counts=tuple(
            Count(one["copy"], one["metric"], one["unit"], one["value"])
            for one in records
            if one["record"] == "value"
        ),
    )


def _group(record: dict[str, Any]) -> Group:
    """The record's failures, which are few, become a column like the others."""
    told = {one["member"]: one for one in record["failures"]}
    columns: list[tuple[str, int | None, str | None]] = []
    for member in range(record["members"]):
        one = told.get(member)
        if one is not None:
            columns.append((one["status"], one["signal"], one["reason"]))
        else:
            columns.append(("ok" if record["asked_ns"][member] is not None else "not asked for", None, None))
    statuses, signals, reasons = zip(*columns, strict=True)
    known: dict[str, Any] = {key: record[key] for key in _GROUP_NUMBERS}
    times: dict[str, Any] = {key: tuple(record[key]) for key in _GROUP_TIMES}
    return Group(
        **known,
        **times,
        marks_ns=tuple(tuple(marks) for marks in record["marks_ns"]),
        statuses=statuses,
        signals=signals,
        reasons=reasons,
    )
