"""Turns the records of one trial, as an agent sent them, into an `Outcome`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.archive.events import Count, Group, Outcome, Process, Samples, Usage
from steelyard.study.plan import Trial

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
class ClockReading:
    """A system's clock and the laboratory's at one moment. The system was asked and answered: its clock
    was read somewhere between, so host_ns is the middle and doubt_ns half of the time between."""

    guest_ns: int
    host_ns: int
    doubt_ns: int


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
