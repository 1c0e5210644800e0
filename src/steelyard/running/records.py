"""Hears the records of one trial as they come, and turns them into an `Outcome`. What single records may hold
is in systems/protocol.py, and how they must agree in `checks`."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from steelyard import shapes
from steelyard.analysis.concurrent_runs import ALONE, TOGETHER
from steelyard.events import (
    SET_ASIDE,
    CopyProcess,
    Count,
    Group,
    Histogram,
    Load,
    LoadCount,
    Outcome,
    Program,
    Samples,
    Usage,
)
from steelyard.running import checks
from steelyard.running.checks import Heard, must
from steelyard.running.expectation import Expectation
from steelyard.study import tool, turns
from steelyard.study.plan import Trial
from steelyard.systems.protocol import Record, RefusedRequest, cannot_be
from steelyard.text import quoted

_POINTS_MOST = 512  # of a curve: as the load program has them
_PROGRAMS_MOST = 16  # of a trial: likewise
_MEDIAN = "_50"  # a metric of that name is the median of what a histogram may tell of

_Row = TypeVar("_Row", Samples, Usage, Count, Group, Histogram, Load, Program)
_CHECKS: Mapping[str, Callable[[Expectation, Record], None]] = {
    "samples": checks.samples,
    "value": checks.value,
    "group": checks.group,
    "histogram": lambda _, one: checks.histogram(one),
}


@dataclass(frozen=True, slots=True)
class ClockReading:
    """A system's clock and the laboratory's at one moment. The system was asked and answered: its clock
    was read somewhere between, so host_ns is the middle and doubt_ns half of the time between."""

    guest_ns: int
    host_ns: int
    doubt_ns: int


def failed(trial: Trial, boot: int, reason: str, *, status: str = "failed", began: float) -> Outcome:
    """The outcome of a trial whose agent can no longer say it, or was not believed."""
    return Outcome(trial, boot, status, reason, began=began)


def set_aside(trial: Trial, boot: int, reason: str, *, began: float, took_s: float | None = None) -> Outcome:
    """The outcome of a trial that came to nothing through no fault of the system's, after so long."""
    host_ns = None if took_s is None else int(took_s * 1e9)
    return Outcome(trial, boot, SET_ASIDE, reason, began=began, host_ns=host_ns)


class TrialParser:
    """The records of one trial so far. Only requested records are kept, so its size is bounded."""

    def __init__(self, expected: Expectation) -> None:
        self.refusal: str | None = None  # of the whole request, in the agent's words
        self._expected = expected
        self._metrics = tuple(metric.name for metric in expected.workload.metrics)
        self._begin: Record = {}
        self._end: Record = {}
        self._processes: list[Record] = []
        self._shared: str | None = None
        self._printed: dict[int, list[str]] = {}  # by each copy's command, in parts
        self._turned: list[int] = []  # how long each batch took, as it was told after its turn
        self._by_place: dict[tuple[Any, ...], Record] = {}  # by kind, copy, metric, and point or batch
        self._alike: dict[
            tuple[Any, ...], int
        ] = {}  # what all copies must have alike, by key, metric and point

    def ends_with(self, record: Record) -> bool:
        """Takes the next record; whether it is the trial's last. Raises Refused."""
        kind = record["record"]
        if kind == "error":
            if record["trial"] is not None:
                self._is_of_this_trial(record)
            self.refusal = record["reason"]
            return True
        if kind == "begin" and self._begin:
            raise RefusedRequest("it sent 'begin' twice")
        if kind != "begin" and not self._begin:
            raise RefusedRequest(f"it sent '{kind}' before 'begin'")
        match kind:
            case "begin":
                self._hear_begin(record)
            case "processes":
                self._hear_processes(record)
            case "end":
                self._is_of_this_trial(record)
                self._end = record
            case "waiting" | "turn":
                self._hear_turn(record)
            case "program":
                self._hear_program(record)
            case "shared":
                self._hear_shared(record)
            case "printed":
                self._hear_printed(record)
            case "load":
                self._hear_load(record)
            case "samples" | "value" | "usage" | "group" | "histogram" | "told":
                self._hear_of_copy(record)
            case _:
                raise RefusedRequest(f"it sent '{kind}' during a trial")
        return bool(self._end)

    def _is_of_this_trial(self, record: Record) -> None:
        must(record, "trial", record["trial"] == self._expected.trial.name, f"'{self._expected.trial.name}'")

    def _hear_begin(self, begin: Record) -> None:
        self._is_of_this_trial(begin)
        name = self._expected.workload.name
        must(begin, "workload", begin["workload"] == name, f"'{name}'")
        for name, value in self._expected.settings.items():
            used = begin["parameters"].get(name, _as_said(value))
            if used != _as_said(value):
                raise cannot_be("begin", f"parameters.{name}", used, f"{quoted(value)}, as asked")
        self._begin = begin

    def _hear_processes(self, record: Record) -> None:
        self._is_of_this_trial(record)
        copies = list(range(self._expected.trial.cell.copies))
        numbers = [one["copy"] for one in record["processes"]]
        if self._processes or numbers != copies[: len(numbers)]:
            raise cannot_be("processes", "the list of copies", numbers, f"{quoted(copies)}, once")
        self._processes = record["processes"]

    def _hear_turn(self, record: Record) -> None:
        self._is_of_this_trial(record)
        if not self._expected.settings.get(turns.PARAMETER):
            raise RefusedRequest(f"it sent '{record['record']}' in a trial without turns")
        self._turned += record.get("durations_ns", ())

    def _hear_program(self, record: Record) -> None:
        key = ("program", record["copy"], record["name"], record["path"])
        if key in self._by_place:
            raise RefusedRequest(f"its record 'program' of '{record['name']}' came twice")
        if len(self._all("program")) == _PROGRAMS_MOST:
            raise RefusedRequest(f"it sent more than {_PROGRAMS_MOST} programs")
        self._by_place[key] = record

    def _hear_shared(self, record: Record) -> None:
        if "server" not in self._expected.settings:
            raise cannot_be("shared", "server", record["server"], "of a workload that starts one")
        if self._shared is not None:
            raise RefusedRequest("its record 'shared' came twice")
        self._shared = f"{record['server']}: {record['why']}"

    def _hear_printed(self, record: Record) -> None:
        if not self._expected.settings.get(tool.PARAMETER):
            raise RefusedRequest("it sent 'printed' in a trial that did not ask for it")
        copy, copies = record["copy"], self._expected.trial.cell.copies
        must(record, "copy", copy < copies, f"less than {copies}")
        parts = self._printed.setdefault(copy, [])
        must(record, "part", record["part"] == len(parts), f"{len(parts)}, the next")
        parts.append(record["text"])

    def _hear_load(self, record: Record) -> None:
        key, copies = ("load", record["copy"]), self._expected.trial.cell.copies
        if not checks.LOADS & self._expected.initial.keys():
            raise RefusedRequest("it sent 'load' in a trial that loads no server for a while")
        must(record, "copy", record["copy"] < copies, f"less than {copies}")
        if key in self._by_place:
            raise RefusedRequest(f"its record 'load' of copy {record['copy']} came twice")
        checks.load(self._expected, record)
        self._by_place[key] = record

    def printed(self) -> dict[int, str]:
        """What each copy's command printed."""
        return {copy: shapes.of_bytes("".join(parts)) for copy, parts in self._printed.items()}

    def _hear_of_copy(self, one: Record) -> None:
        """Take a record of one copy and one metric, only once."""
        kind, copies, workload = one["record"], self._expected.trial.cell.copies, self._expected.workload
        must(one, "copy", one["copy"] < copies, f"less than {copies}")
        part = one.get("point") if kind == "samples" else one.get("batch")
        key = (kind, one["copy"], one["metric"], part)
        if key in self._by_place:
            where = f"of copy {one['copy']} and metric '{one['metric']}'"
            raise RefusedRequest(f"its record '{kind}' {where} came twice")
        metrics = self._metrics
        if kind == "group":
            metrics = (ALONE, TOGETHER) if workload.groups else ()
        if kind == "histogram":
            metrics = tuple(name.removesuffix(_MEDIAN) for name in self._metrics if name.endswith(_MEDIAN))
        if kind == ("value" if workload.measure != "count" else "samples"):
            metrics = ()
        if kind != "told" and one["metric"] not in metrics:
            allowed = f"one of {', '.join(metrics)}" if metrics else "of another workload"
            raise cannot_be(kind, "metric", one["metric"], allowed)
        if kind == "samples":
            self._check_alike(one)
        if kind in _CHECKS:
            _CHECKS[kind](self._expected, one)
        self._by_place[key] = one

    def _check_alike(self, one: Record) -> None:
        """Check that copies do the same: operations as requested, or as the others, and equal bytes in
        each.
        """
        asked = self._expected.operations(one["metric"])
        for key, wanted in (("operations", asked), ("bytes", None)):
            if one[key] is not None:
                same = self._alike.setdefault((key, one["metric"], one["point"]), wanted or one[key])
                must(one, key, one[key] == same, f"{same}, as {'asked' if wanted else 'others'}")
        if len(self._alike) > 2 * _POINTS_MOST * len(self._metrics):
            raise cannot_be("samples", "point", one["point"], f"one of at most {_POINTS_MOST}")

    def outcome(
        self,
        boot: int,
        *,
        began: float,
        before: ClockReading,
        after: ClockReading,
    ) -> Outcome:
        """The outcome of the trial, which is over. Raises Refused."""
        begin, end = self._begin, self._end
        if end["status"] == "stopped":
            raise cannot_be("end", "status", "stopped", "another one: it was not stopped")
        self._check(before, after)
        return Outcome(
            trial=self._expected.trial,
            boot=boot,
            status=end["status"],
            reason=end["reason"],
            signal=end["signal"],
            code_sha256=begin["code_sha256"],
            began=began,
            host_ns=after.host_ns - before.host_ns,
            guest_ns=after.guest_ns - before.guest_ns,
            clock_doubt_ns=before.doubt_ns + after.doubt_ns,
            samples=tuple(_row_of(Samples, one) for one in self._all("samples")),
            usage=tuple(_row_of(Usage, one) for one in self._all("usage")),
            processes=tuple(CopyProcess(**one) for one in self._processes),
            programs=tuple(_row_of(Program, one) for one in self._all("program")) or None,
            shared=self._shared,
            groups=tuple(_group(one) for one in self._all("group")),
            histograms=tuple(_row_of(Histogram, one) for one in self._all("histogram")),
            loads=tuple(_load(one) for one in self._all("load")) or None,
            counts=tuple(_row_of(Count, one) for one in self._all("value", "told")),
        )

    def _all(self, *kinds: str) -> list[Record]:
        return [one for one in self._by_place.values() if one["record"] in kinds]

    def _check(self, before: ClockReading, after: ClockReading) -> None:
        begin_ns, end_ns = self._begin["clock_ns"], self._end["clock_ns"]
        host_ns = after.host_ns - before.host_ns
        kinds = ("samples", "usage", "group", "histogram", "load", "value", "told")
        heard = Heard(
            self._begin,
            self._end,
            self._processes,
            {kind: self._all(kind) for kind in kinds},
            trial_ns=end_ns - begin_ns + checks.SLACK_NS,
            host_ns=host_ns,
        )
        checks.clocks(heard, before.guest_ns, after.guest_ns)
        _check_rate(before, after)
        checks.bounds(self._expected, heard)
        if self._end["status"] == "ok":
            checks.turns(self._expected, heard, self._turned)
            checks.completeness(self._expected, heard)
            checks.figures(self._expected, heard)


def _check_rate(before: ClockReading, after: ClockReading) -> None:
    """Check that the system's clock runs about as fast as ours."""
    guest_ns, host_ns = after.guest_ns - before.guest_ns, after.host_ns - before.host_ns
    doubt_ns = before.doubt_ns + after.doubt_ns + checks.SLACK_NS
    most = checks.RATE_MOST
    if guest_ns > most * host_ns + doubt_ns or most * (guest_ns + doubt_ns) < host_ns:
        raise RefusedRequest(
            f"its clock cannot be right: it advanced by {guest_ns:,} ns while this machine's advanced by "
            f"{host_ns:,} ns"
        )


def _as_said(value: int | str) -> int | str:
    """A setting in the form of the record `begin`: in a text, each byte is a character."""
    if isinstance(value, int):
        return value
    said: str = shapes.prose(value.encode().decode("latin-1"))
    return said


def _row_of(kind: type[_Row], record: Record) -> _Row:
    """The object that holds the kept fields of the record: all fields of its type."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        value = record[field.name]
        values[field.name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


def _load(record: Record) -> Load:
    """The numbers by their kind become a list."""
    counted = {
        name: None
        if record[name] is None
        else tuple(LoadCount(kind, number) for kind, number in record[name].items())
        for name in ("failures", "own_limits", "steps")
    }
    return _row_of(Load, record | counted)


def _group(record: Record) -> Group:
    """The record's failures, which are few, become a column like the others."""
    failures = {one["member"]: one for one in record["failures"]}
    columns: list[tuple[str, int | None, str | None]] = []
    for member in range(record["members"]):
        one = failures.get(member)
        if one is not None:
            columns.append((one["status"], one["signal"], one["reason"]))
        else:
            columns.append(("ok" if record["asked_ns"][member] is not None else "not asked for", None, None))
    statuses, signals, reasons = zip(*columns, strict=True)
    marks = tuple(tuple(moments) for moments in record["marks_ns"])
    added = {"marks_ns": marks, "statuses": statuses, "signals": signals, "reasons": reasons}
    return _row_of(Group, record | added)
