"""Hears the records of one trial as they come, holds them against what was asked for, and turns them into an
`Outcome`. What single records may hold is the door's (systems/door.py)."""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from steelyard.analysis.crowds import ALONE, TOGETHER
from steelyard.events import CopyProcess, Count, Group, Histogram, Outcome, Samples, Usage
from steelyard.programs import built
from steelyard.study.plan import Trial
from steelyard.systems import door
from steelyard.systems.door import Record, Refused, cannot_be
from steelyard.text import quoted

# A system's clock that goes so many times as fast as the laboratory's, or as slow, is none. Less than that is
# kept, and the report says it.
RATE_MOST = 2
_SLACK_NS = 1_000_000  # moments of a system may be out of order by that: its processors may not quite agree
# What no processor does in a nanosecond; a loop whose body is empty, and unrolled, does some 200.
_OPERATIONS_MOST, _BYTES_MOST = 10_000, 1_000_000
_PROCESSORS_MOST = 4096  # of whose time a trial can have used
_POINTS_MOST, _GROUPS_MOST = 512, 1000  # of a curve, and of a copy: as the load program has them

_Row = TypeVar("_Row", Samples, Usage, Count, Group, Histogram)
_MEDIAN = "_50"  # a metric of that name is the median of what a histogram may tell of
_GROUP_TIMES = ("asked_ns", "began_ns", "ended_ns", "reaped_ns")


@dataclass(frozen=True, slots=True)
class ClockReading:
    """A system's clock and the laboratory's at one moment. The system was asked and answered: its clock
    was read somewhere between, so host_ns is the middle and doubt_ns half of the time between."""

    guest_ns: int
    host_ns: int
    doubt_ns: int


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a trial was asked for, from which follows what it will say."""

    trial: Trial
    workload: built.Workload
    settings: Mapping[str, int | str]  # as the request has them
    initial: Mapping[str, int | str]  # what the load program takes for those that it has not
    resolution_ns: int  # of the system's clock, as it says
    is_timed: bool = True  # else its durations count for nothing

    def number(self, name: str) -> int:
        value = self.settings.get(name, self.initial.get(name, 0))
        assert isinstance(value, int)
        return value

    def batches(self, metric: str) -> tuple[int, int]:
        """How many there will be, at least and at most."""
        if self.is_reported(metric):
            return 1, 1
        if self.workload.performances and "batches" not in self.settings:
            return (self.workload.performances,) * 2
        most = self.number("batches")
        return (most if self.number("operations") else 1), most

    def operations(self, metric: str) -> int:
        """The operations in each batch; 0: the system finds out."""
        is_one = (self.workload.performances and not self.workload.passes) or self.is_reported(metric)
        return 1 if is_one else self.number("operations")

    def is_reported(self, metric: str) -> bool:
        return any(one.name == metric and one.reported for one in self.workload.metrics)

    def unit(self, metric: str) -> str:
        return next(one.unit for one in self.workload.metrics if one.name == metric)

    def shortest_ns(self, metric: str) -> int:
        """What a batch must take. One that the system has sized lasts many steps of its clock."""
        if not self.is_timed or self.unit(metric) != "ns":
            return 0
        return 1 if self.operations(metric) else max(1, self.resolution_ns)


def failed(trial: Trial, boot: int, reason: str, *, status: str = "failed", began: float) -> Outcome:
    """The outcome of a trial whose agent can no longer say it, or was not believed."""
    return Outcome(trial, boot, status, reason, began=began)


class Hearing:
    """One trial's records so far. Nothing is kept that was not asked for: so there is a bound to it."""

    def __init__(self, expected: Expectation) -> None:
        self.refusal: str | None = None  # of the whole request, in the agent's words
        self._expected = expected
        self._metrics = tuple(metric.name for metric in expected.workload.metrics)
        self._begin: Record = {}
        self._end: Record = {}
        self._processes: list[Record] = []
        self._by_place: dict[tuple[Any, ...], Record] = {}  # by kind, copy, metric, and point or batch
        self._operations: dict[tuple[Any, ...], int] = {}  # by metric and point

    def ends_with(self, record: Record) -> bool:
        """Takes the next record; whether it is the trial's last. Raises Refused."""
        kind = record["record"]
        if kind == "error":
            if record["trial"] is not None:
                self._is_of_this_trial(record)
            self.refusal = record["reason"]
            return True
        if kind == "begin" and self._begin:
            raise Refused("it said 'begin' twice")
        if kind != "begin" and not self._begin:
            raise Refused(f"it said '{kind}' before 'begin'")
        match kind:
            case "begin":
                self._hear_begin(record)
            case "processes":
                self._hear_processes(record)
            case "end":
                self._is_of_this_trial(record)
                self._end = record
            case "samples" | "value" | "usage" | "group" | "histogram" | "told":
                self._hear_of_copy(record)
            case _:
                raise Refused(f"it said '{kind}' in the midst of a trial")
        return bool(self._end)

    def _is_of_this_trial(self, record: Record) -> None:
        _must(record, "trial", record["trial"] == self._expected.trial.name, f"'{self._expected.trial.name}'")

    def _hear_begin(self, begin: Record) -> None:
        self._is_of_this_trial(begin)
        name = self._expected.workload.name
        _must(begin, "workload", begin["workload"] == name, f"'{name}'")
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

    def _hear_of_copy(self, one: Record) -> None:
        """What is said of one copy and one metric, and only once."""
        kind, copies, workload = one["record"], self._expected.trial.cell.copies, self._expected.workload
        _must(one, "copy", one["copy"] < copies, f"less than {copies}")
        part = one.get("point") if kind == "samples" else one.get("batch")
        key = (kind, one["copy"], one["metric"], part)
        if key in self._by_place:
            where = f"of copy {one['copy']} and metric '{one['metric']}'"
            raise Refused(f"its record '{kind}' {where} came twice")
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
            self._check_samples(one)
        elif kind == "group":
            self._check_group(one)
        elif kind == "histogram":
            _check_histogram(one)
        elif kind == "value":
            _must(one, "unit", one["unit"] == workload.counts, f"'{workload.counts}'")
            _must(one, "value", one["value"] > 0, "more than 0")
        self._by_place[key] = one

    def _check_samples(self, one: Record) -> None:
        request = self._expected
        is_curve, is_time = request.workload.sweeps is not None, request.unit(one["metric"]) == "ns"
        moves = request.workload.measure == "bandwidth" and not request.is_reported(one["metric"])
        _must(one, "unit", one["unit"] == request.unit(one["metric"]), f"'{request.unit(one['metric'])}'")
        most = (is_curve and request.number("to")) or door.WHOLE_MOST
        _must(one, "point", (one["point"] is not None) == is_curve, "a size" if is_curve else "null")
        _must(one, "point", not is_curve or one["point"] <= most, f"at most {most}")
        _must(one, "bytes", (one["bytes"] is not None) == moves, "a size" if moves else "null")
        operations, durations = one["operations"], one["durations_ns"]
        wanted, shortest_ns = request.operations(one["metric"]), request.shortest_ns(one["metric"])
        same = self._operations.setdefault((one["metric"], one["point"]), wanted or operations)
        _must(one, "operations", operations == same, f"{same}, as {'asked' if wanted else 'others'}")
        if len(self._operations) > _POINTS_MOST * len(self._metrics):
            raise cannot_be("samples", "point", one["point"], f"one of at most {_POINTS_MOST}")
        least, most = request.batches(one["metric"])
        if not least <= len(durations) <= most:
            raise cannot_be("samples", "the number of durations_ns", len(durations), f"{least} to {most}")
        for number, duration in enumerate(durations):
            if duration < shortest_ns:
                why = f"at least {shortest_ns}: the clock's resolution"
                raise cannot_be("samples", f"durations_ns[{number}]", duration, why)
        if request.is_timed and is_time:
            most = sum(durations) * _OPERATIONS_MOST // len(durations)
            _must(one, "operations", operations <= most, f"at most {most} in such a time")
            most = sum(durations) * _BYTES_MOST // (len(durations) * operations)
            _must(one, "bytes", (one["bytes"] or 0) <= most, f"at most {most} in such a time")

    def _check_group(self, one: Record) -> None:
        is_alone, iterations = one["metric"] == ALONE, self._expected.number("iterations")
        members = 1 if is_alone else self._expected.number("processes")
        batches = _GROUPS_MOST if is_alone else self._expected.batches(TOGETHER)[1]
        _must(one, "batch", one["batch"] <= batches, f"at most {batches}")
        _must(one, "members", one["members"] == members, f"{members}")
        _must(one, "iterations", one["iterations"] == iterations, f"{iterations}, as asked")
        _must(one, "created", one["created"] <= members, f"at most {members}")
        _must(one, "finished", one["finished"] <= one["created"], f"at most {one['created']}")
        for key in (*_GROUP_TIMES, "marks_ns"):
            if len(one[key]) != members:
                raise cannot_be("group", f"the length of {key}", len(one[key]), f"{members}")
        for member in range(members):
            _check_life(one, member)
        failures = [each["member"] for each in one["failures"]]
        is_right = len(set(failures)) == len(failures) and max(failures, default=0) < members
        _must(one, "failures", is_right, f"of each of {members} members at most one")

    def outcome(
        self,
        boot: int,
        *,
        began: float,
        before: ClockReading,
        after: ClockReading,
        pressure: float | None,
    ) -> Outcome:
        """What came of the trial, which is over. Raises Refused."""
        begin, end = self._begin, self._end
        if end["status"] == "stopped":
            raise cannot_be("end", "status", "stopped", "another: nobody stopped it")
        self._check_clocks(before, after)
        if end["status"] == "ok":
            self._check_completeness()
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
            pressure=pressure,
            samples=tuple(_row_of(Samples, one) for one in self._all("samples")),
            usage=tuple(_row_of(Usage, one) for one in self._all("usage")),
            processes=tuple(CopyProcess(**one) for one in self._processes),
            groups=tuple(_group(one) for one in self._all("group")),
            histograms=tuple(_row_of(Histogram, one) for one in self._all("histogram")),
            counts=tuple(_row_of(Count, one) for one in self._all("value", "told")),
        )

    def _all(self, *kinds: str) -> list[Record]:
        return [one for one in self._by_place.values() if one["record"] in kinds]

    def _check_clocks(self, before: ClockReading, after: ClockReading) -> None:
        """That moments of the system's clock follow upon one another, and go on about as ours do; that
        nothing took longer than the trial."""
        begin_ns, end_ns = self._begin["clock_ns"], self._end["clock_ns"]
        _follows("begin", "clock_ns", begin_ns, before.guest_ns)
        for number, one in enumerate(self._processes):
            last = begin_ns
            for key in ("asked_ns", "start_ns", "end_ns"):
                if one[key] is not None:
                    _follows("processes", f"processes[{number}].{key}", one[key], last)
                    last = one[key]
            _follows("end", "clock_ns", end_ns, last)
        _follows("end", "clock_ns", end_ns, begin_ns)
        _follows("clock", "clock_ns", after.guest_ns, end_ns)
        guest_ns, host_ns = after.guest_ns - before.guest_ns, after.host_ns - before.host_ns
        doubt_ns = before.doubt_ns + after.doubt_ns + _SLACK_NS
        if guest_ns > RATE_MOST * host_ns + doubt_ns or RATE_MOST * (guest_ns + doubt_ns) < host_ns:
            raise Refused(
                f"its clock cannot be right: it went on by {guest_ns:,} ns while this machine's went on by "
                f"{host_ns:,} ns"
            )
        self._check_times(end_ns - begin_ns + _SLACK_NS, host_ns)

    def _check_times(self, most_ns: int, host_ns: int) -> None:
        spent: dict[int, int] = defaultdict(int)
        for one in self._all("samples"):
            if self._expected.is_reported(one["metric"]):
                if one["unit"] == "ns":
                    self._check_reported(one, most_ns)
                continue
            spent[one["copy"]] += sum(one["durations_ns"])
            if spent[one["copy"]] > most_ns:
                what = f"the sum of durations_ns of copy {one['copy']}"
                raise cannot_be("samples", what, spent[one["copy"]], f"at most {most_ns}, as its trial took")
        for one in self._all("group"):
            _follows("group", "zero_ns", one["zero_ns"], self._begin["clock_ns"])
            within_ns = self._end["clock_ns"] - one["zero_ns"] + _SLACK_NS
            columns = [*(one[key] for key in _GROUP_TIMES), *one["marks_ns"]]
            latest = max((moment or 0 for column in columns for moment in column), default=0)
            if latest > within_ns:
                raise cannot_be("group", "a moment", latest, f"at most {within_ns}, when its trial ended")
        for one in self._all("histogram"):
            if one["values_ns"][-1] > most_ns:
                what = f"at most {most_ns}, as its trial took"
                raise cannot_be("histogram", "values_ns", one["values_ns"][-1], what)
        for one in self._all("usage"):
            used_ns = one["user_ns"] + one["system_ns"]
            if used_ns > _PROCESSORS_MOST * (RATE_MOST * host_ns + _SLACK_NS):
                raise cannot_be("usage", "user_ns + system_ns", used_ns, "less, in a trial so short")

    def _check_reported(self, samples: Record, trial_ns: int) -> None:
        """Checks that what the workload itself reports can be: a latency is no longer than its trial; others
        may be processor time, of several processors, and what is for each second no trial bounds."""
        metric = next(one for one in self._expected.workload.metrics if one.name == samples["metric"])
        if metric.per == "second":
            most_ns, why = _PROCESSORS_MOST * 10**9, "processors have in a second"
        elif metric.name.startswith("latency"):
            most_ns, why = trial_ns, "its trial took"
        else:
            most_ns, why = _PROCESSORS_MOST * trial_ns, "processors had in its trial"
        if max(samples["durations_ns"]) > most_ns:
            longest = max(samples["durations_ns"])
            raise cannot_be("samples", "durations_ns", longest, f"at most {most_ns}, as {why}")

    def _check_completeness(self) -> None:
        """Checks that a trial that claims to have gone well has sent everything that was asked for."""
        request = self._expected
        copies, is_count = request.trial.cell.copies, request.workload.measure == "count"
        came: dict[tuple[str, int, str], set[Any]] = defaultdict(set)
        for kind, copy, metric, part in self._by_place:
            came[kind, copy, metric].add(part)
        wanted = ["value" if is_count else "samples", "usage"]
        for kind, copy, metric in (
            *((kind, copy, metric) for kind in wanted for copy in range(copies) for metric in self._metrics),
            *(("group", copy, TOGETHER) for copy in range(copies) if request.workload.groups),
        ):
            if kind == "samples" and request.is_reported(metric) and not came[kind, copy, metric]:
                continue  # the system does not say it
            if not came[kind, copy, metric]:
                raise Refused(f"no record '{kind}' of copy {copy} and metric '{metric}' came")
            if kind == "samples" and came[kind, copy, metric] != came[kind, 0, self._metrics[0]]:
                raise Refused(f"'{metric}' was not measured at the same points as '{self._metrics[0]}'")
        if len(self._processes) != copies:
            raise Refused(f"its record 'processes' tells of {len(self._processes)} copies, not of {copies}")
        for one in self._processes:
            if one["status"] != "ok" or None in (one["start_ns"], one["end_ns"]):
                raise cannot_be("end", "status", "ok", f"as that of copy {one['copy']}: {one['status']}")
        for one in self._all("group"):
            if one["failures"] or None in one["ended_ns"]:
                raise cannot_be("end", "status", "ok", "that of its processes, not all of which ended well")
        done: dict[tuple[int, str], int] = defaultdict(int)
        for one in self._all("samples"):
            done[one["copy"], one["metric"]] += one["operations"] * len(one["durations_ns"])
        for one in self._all("usage"):
            least = done[one["copy"], one["metric"]]
            _must(one, "operations", one["operations"] >= least, f"at least {least}, as its samples say")


def _must(record: Record, key: str, is_right: bool, allowed: str) -> None:
    if not is_right:
        raise cannot_be(record["record"], key, record[key], allowed)


def _check_histogram(one: Record) -> None:
    values = one["values_ns"]
    if len(one["counts"]) != len(values):
        raise cannot_be("histogram", "the length of counts", len(one["counts"]), f"{len(values)}")
    for number, (lower, upper) in enumerate(pairwise(values), start=1):
        if upper <= lower:
            raise cannot_be("histogram", f"values_ns[{number}]", upper, f"more than {lower}, the one before")


def _check_life(group: Record, member: int) -> None:
    """That the moments of one process of a group follow upon one another; of one that ended there are all."""
    asked, began, ended, reaped = (group[key][member] for key in _GROUP_TIMES)
    moments = (asked, began, *group["marks_ns"][member], ended, reaped)
    known = [moment for moment in moments if moment is not None]
    if any(later < earlier - _SLACK_NS for earlier, later in pairwise(known)):
        raise cannot_be("group", f"the life of member {member}", known, "moments in order")
    if ended is not None and (None in moments[:-1] or ended <= began):
        raise cannot_be("group", f"the life of member {member}", moments, "of some length, without gaps")


def _follows(kind: str, key: str, moment_ns: int, earlier_ns: int) -> None:
    if moment_ns < earlier_ns - _SLACK_NS:
        raise cannot_be(kind, key, moment_ns, f"not before {earlier_ns}, the moment before it")


def _as_said(value: int | str) -> int | str:
    """A setting as the record `begin` has it: of a text, each byte is a character."""
    if isinstance(value, int):
        return value
    said: str = door.prose(value.encode().decode("latin-1"))
    return said


def _row_of(kind: type[_Row], record: Record) -> _Row:
    """The object that holds what is kept of the record: all that its type has."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        value = record[field.name]
        values[field.name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


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
