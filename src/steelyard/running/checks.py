"""Holds the records of one trial against what was asked, and against each other; what cannot be is Refused.

records.md lists these rules for people. What a record may hold by itself is in systems/protocol.py;
relations among a workload's figures are in archive/relations.py, for older archives too.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from steelyard import shapes
from steelyard.allowance import PROCESSORS_LIKELY_MOST
from steelyard.analysis.concurrent_runs import ALONE, TOGETHER
from steelyard.archive import relations
from steelyard.running.expectation import Expectation
from steelyard.systems.protocol import Record, RefusedRequest, cannot_be

# A system's clock that is this factor faster or slower than the laboratory's is broken. Less than that is
# kept, and the report says it.
RATE_MOST = 2
LOADS = frozenset(("window_ms", "step_ms"))  # parameters of workloads that are a load for a while
SLACK_NS = 1_000_000  # moments of a system may be out of order by that: its processors may not quite agree
# What no processor does in a nanosecond; a loop whose body is empty, and unrolled, does some 200.
_OPERATIONS_MOST, _BYTES_MOST = 10_000, 1_000_000
_EVENTS_MOST = 100  # in a nanosecond, on all processors: faults, switches, blocks, segments
# Of whose time a trial can have used. The processors that there are would be too few: some systems (gVisor)
# count the time of threads that wait for a processor.
_PROCESSORS_MOST = PROCESSORS_LIKELY_MOST
_GROUPS_MOST = 1000  # of a copy: as the load program has them
_TICK_NS = 10_000_000
_PAGE_MOST = 1 << 16  # what is resident comes in pages
_EVENTS = ("faults_minor", "faults_major", "switches_voluntary", "switches_involuntary",
           "blocks_read", "blocks_written")  # fmt: skip
_GROUP_TIMES = ("asked_ns", "began_ns", "ended_ns", "reaped_ns")
_PROCESSOR_TIMES = ("server", "client", "processor", "machine", "demand", "near", "far", "rest")
_WITHIN_TRIAL = ("latency_mean", "round_trip", "connecting", "longest_wait")
_HUNDREDTHS = 10_000  # of a percent


@dataclass(frozen=True, slots=True)
class Heard:
    """All records of a trial, by kind."""

    begin: Record
    end: Record
    processes: Sequence[Record]
    of_copies: Mapping[str, Sequence[Record]]
    trial_ns: int  # how long it can have taken, by the system's clock
    host_ns: int  # and by the laboratory's

    def of(self, kind: str) -> Sequence[Record]:
        return self.of_copies.get(kind, ())


def must(record: Record, key: str, is_right: bool, allowed: str) -> None:
    """Refuses the record for that key unless it is right."""
    if not is_right:
        raise cannot_be(record["record"], key, record[key], allowed)


def follows(kind: str, key: str, moment_ns: int, earlier_ns: int) -> None:
    """Refuses a moment that is before the one that came before it."""
    if moment_ns < earlier_ns - SLACK_NS:
        raise cannot_be(kind, key, moment_ns, f"not before {earlier_ns}, the moment before it")


# One record


def samples(request: Expectation, one: Record) -> None:
    """Check one record of samples by itself."""
    is_curve, unit = request.workload.sweeps is not None, request.unit(one["metric"])
    moves = request.workload.measure == "bandwidth" and not request.is_reported(one["metric"])
    must(one, "unit", one["unit"] == unit, f"'{unit}'")
    most = (is_curve and request.number("to")) or shapes.WHOLE_MOST
    must(one, "point", (one["point"] is not None) == is_curve, "a size" if is_curve else "null")
    must(one, "point", not is_curve or one["point"] <= most, f"at most {most}")
    must(one, "bytes", (one["bytes"] is not None) == moves, "a size" if moves else "null")
    operations, durations = one["operations"], one["durations_ns"]
    least, most = request.batches(one["metric"])
    if not least <= len(durations) <= most:
        raise cannot_be("samples", "the number of durations_ns", len(durations), f"{least} to {most}")
    shortest_ns = request.shortest_ns(one["metric"])
    for number, duration in enumerate(durations):
        if duration < shortest_ns:
            why = f"at least {shortest_ns}: the clock's resolution"
            raise cannot_be("samples", f"durations_ns[{number}]", duration, why)
    if request.is_timed and unit == "ns":
        most = sum(durations) * _OPERATIONS_MOST // len(durations)
        must(one, "operations", operations <= most, f"at most {most} in this time")
        most = sum(durations) * _BYTES_MOST // (len(durations) * operations)
        must(one, "bytes", (one["bytes"] or 0) <= most, f"at most {most} in this time")


def turns(request: Expectation, heard: Heard, told: Sequence[int]) -> None:
    """Check that the batches of a trial with turns took as long as was told after each."""
    for one in heard.of("samples") if told else ():
        if not request.is_reported(one["metric"]):
            must(one, "durations_ns", list(one["durations_ns"]) == list(told), "as after each turn")


def value(request: Expectation, one: Record) -> None:
    """Check a workload's count: at most the requested limit, if there is one."""
    must(one, "unit", one["unit"] == request.workload.counts, f"'{request.workload.counts}'")
    must(one, "value", one["value"] > 0, "more than 0")
    if "most" in request.initial:
        must(
            one,
            "value",
            one["value"] <= request.number("most"),
            f"at most {request.number('most')}, as asked",
        )


def group(request: Expectation, one: Record) -> None:
    """Many processes: as many as asked, in an order that can be, and as many failures as it counts."""
    is_alone, iterations = one["metric"] == ALONE, request.number("iterations")
    members = 1 if is_alone else request.number("processes")
    batches = _GROUPS_MOST if is_alone else request.batches(TOGETHER)[1]
    must(one, "batch", one["batch"] <= batches, f"at most {batches}")
    must(one, "members", one["members"] == members, f"{members}")
    must(one, "iterations", one["iterations"] == iterations, f"{iterations}, as asked")
    processors = request.processors_most()
    must(
        one,
        "processors",
        not processors or one["processors"] <= processors,
        f"at most {processors}, as asked",
    )
    for key in (*_GROUP_TIMES, "marks_ns"):
        if len(one[key]) != members:
            raise cannot_be("group", f"the length of {key}", len(one[key]), f"{members}")
    for member in range(members):
        _life(one, member)
    _group_counts(one)


def _group_counts(one: Record) -> None:
    """Check that the created are those requested that did not fail then, and the finished those that did not
    fail.
    """
    members, failed = one["members"], [each["member"] for each in one["failures"]]
    is_right = len(set(failed)) == len(failed) and max(failed, default=0) < members
    must(one, "failures", is_right, f"at most one of each of the {members} members")
    not_created = {each["member"] for each in one["failures"] if each["status"] == "not created"}
    asked = [moment is not None for moment in one["asked_ns"]]
    created = sum(is_asked and number not in not_created for number, is_asked in enumerate(asked))
    must(one, "created", one["created"] == created, f"{created}, the number of members with a start")
    finished = created - (len(failed) - len(not_created))
    must(one, "finished", one["finished"] == finished, f"{finished}, the number of members that did not fail")
    starts = [moment for moment in one["asked_ns"] if moment is not None]
    in_turn = all(later >= earlier - SLACK_NS for earlier, later in pairwise(starts))
    must(
        one,
        "asked_ns",
        in_turn and asked == sorted(asked, reverse=True),
        "moments in order, from the first member",
    )


def _life(one: Record, member: int) -> None:
    """Check that the moments of one process of a group are in order; a finished one has all of them."""
    asked, began, ended, reaped = (one[key][member] for key in _GROUP_TIMES)
    moments = (asked, began, *one["marks_ns"][member], ended, reaped)
    known = [moment for moment in moments if moment is not None]
    if any(later < earlier - SLACK_NS for earlier, later in pairwise(known)):
        raise cannot_be("group", f"the life of member {member}", known, "moments in order")
    if ended is not None and (None in moments[:-1] or ended <= began):
        raise cannot_be("group", f"the life of member {member}", moments, "of some length, without gaps")


def histogram(one: Record) -> None:
    """Buckets as the load program has them, ascending."""
    values = one["values_ns"]
    if len(one["counts"]) != len(values):
        raise cannot_be("histogram", "the length of counts", len(one["counts"]), f"{len(values)}")
    for number, (lower, upper) in enumerate(pairwise(values), start=1):
        if upper <= lower:
            raise cannot_be("histogram", f"values_ns[{number}]", upper, f"more than {lower}, the one before")
    for number, each in enumerate(values):
        width = relations.bucket_width(each)
        if each % width:
            raise cannot_be(
                "histogram", f"values_ns[{number}]", each, f"a multiple of {width}, as buckets begin"
            )


def load(request: Expectation, one: Record) -> None:
    """Check that a load is of the window that was asked for, and that its parts are not more than their
    whole."""
    window_ns = 1_000_000 * request.number("step_ms" if "step_ms" in request.initial else "window_ms")
    must(one, "window_ns", one["window_ns"] == window_ns, f"{window_ns}, as asked")
    must(one, "elapsed_ns", one["elapsed_ns"] >= window_ns, f"at least {window_ns}, its window")
    must(
        one, "busiest_ns", one["busiest_ns"] <= one["client_ns"], f"at most {one['client_ns']}, of all loops"
    )
    failed, requests = sum(one["failures"].values()), one["requests"]
    must(
        one, "requests", one["answers"] + failed <= requests, f"at least {one['answers'] + failed}, its parts"
    )
    must(one, "verified", one["verified"] <= one["answers"], f"at most {one['answers']}, of the answers")
    must(one, "silent_ns", one["silent_ns"] <= window_ns, f"at most {window_ns}, its window")
    for key in ("objects", "objects_failed", "objects_lost", "resent", "started"):
        most = requests + one["resent"] if key == "started" else requests
        must(one, key, one[key] <= most, f"at most {most}, of the requests")
    _search(request, one)


def _search(request: Expectation, one: Record) -> None:
    """Check that a load is of the search that was asked for, if it is of one."""
    is_search = "step_ms" in request.initial
    asked = {
        "limit_ns": 1000 * request.number("limit_us") if is_search else None,
        "share_permille": request.number("share_permille") if is_search else None,
    }
    for key, wanted in asked.items():
        must(one, key, one[key] == wanted, f"{'null' if wanted is None else wanted}, as asked")
    steps = one["steps"] or {}
    must(one, "steps", (one["steps"] is not None) == is_search, "those of a search" if is_search else "null")
    if is_search:
        number = request.number("steps")
        is_whole = sum(steps.values()) == number and "held" in steps
        must(one, "steps", is_whole, f"{number} in all, of which some are held")


# A whole trial


def clocks(heard: Heard, before_ns: int, after_ns: int) -> None:
    """Check that moments of the system's clock are in order."""
    begin_ns, end_ns = heard.begin["clock_ns"], heard.end["clock_ns"]
    follows("begin", "clock_ns", begin_ns, before_ns)
    for number, one in enumerate(heard.processes):
        last = begin_ns
        for key in ("asked_ns", "start_ns", "end_ns"):
            if one[key] is not None:
                follows("processes", f"processes[{number}].{key}", one[key], last)
                last = one[key]
        follows("end", "clock_ns", end_ns, last)
    follows("end", "clock_ns", end_ns, begin_ns)
    follows("clock", "clock_ns", after_ns, end_ns)


def bounds(request: Expectation, heard: Heard) -> None:
    """Check that nothing took longer than the trial, or happened more often than its time allows."""
    _durations(request, heard)
    for one in heard.of("group"):
        follows("group", "zero_ns", one["zero_ns"], heard.begin["clock_ns"])
        within_ns = heard.end["clock_ns"] - one["zero_ns"] + SLACK_NS
        columns = [*(one[key] for key in _GROUP_TIMES), *one["marks_ns"]]
        latest = max((moment or 0 for column in columns for moment in column), default=0)
        if latest > within_ns:
            raise cannot_be("group", "a moment", latest, f"at most {within_ns}, when its trial ended")
    for one in heard.of("histogram"):
        if one["values_ns"][-1] > heard.trial_ns:
            why = f"at most {heard.trial_ns}, as its trial took"
            raise cannot_be("histogram", "values_ns", one["values_ns"][-1], why)
    for one in heard.of("load"):
        for key in ("elapsed_ns", "longest_ns", "stalled_ns", "late_ns"):
            must(one, key, one[key] <= heard.trial_ns, f"at most {heard.trial_ns}, as its trial took")
        most = _EVENTS_MOST * heard.trial_ns
        for key in ("requests", "waited", "unsent", "connections", "closed"):
            must(one, key, one[key] <= most, f"at most {most} in this time")
        lacked = sum(one["own_limits"].values())
        must(one, "own_limits", lacked <= most, f"at most {most} in this time")
        must(one, "bytes", one["bytes"] <= _BYTES_MOST * heard.trial_ns, "less, in such a short trial")
        most = _PROCESSORS_MOST * heard.trial_ns
        must(one, "client_ns", one["client_ns"] <= most, f"at most {most}, as the processors had")
        most = one["connections"] * heard.trial_ns
        must(one, "connecting_ns", one["connecting_ns"] <= most, f"at most {most}, for its connections")
    for one in heard.of("usage"):
        _used(one, heard)
    for one in heard.of("told"):
        _told(one, heard)
    for kind in ("samples", "value", "group"):
        for one in heard.of(kind):
            code = heard.begin["code_sha256"]
            must(one, "code_sha256", one["code_sha256"] == code, f"{code or 'null'}, as in 'begin'")


def _durations(request: Expectation, heard: Heard) -> None:
    """Check that a copy's batches took at most as long as the copy measured, and that its reports are
    possible.
    """
    within = {one["copy"]: heard.trial_ns for one in heard.of("samples")}
    for one in heard.processes:
        if one["start_ns"] is not None and one["end_ns"] is not None:
            within[one["copy"]] = min(heard.trial_ns, one["end_ns"] - one["start_ns"] + SLACK_NS)
    spent: dict[int, int] = defaultdict(int)
    for one in heard.of("samples"):
        most = _EVENTS_MOST * heard.trial_ns
        must(one, "faults_major", (one["faults_major"] or 0) <= most, f"at most {most} in this time")
        if request.is_reported(one["metric"]):
            _reported(request, one, heard)
            continue
        spent[one["copy"]] += sum(one["durations_ns"])
        if spent[one["copy"]] > within[one["copy"]]:
            what = f"the sum of durations_ns of copy {one['copy']}"
            why = f"at most {within[one['copy']]}, as its trial took"
            raise cannot_be("samples", what, spent[one["copy"]], why)


def _reported(request: Expectation, one: Record, heard: Heard) -> None:
    """Check the workload's own figures: a latency is at most as long as its trial; CPU time may be of several
    processors; a rate has no limit by the trial; and a description is limited by its unit.
    """
    metric, figure = request.metric(one["metric"]), max(one["durations_ns"])
    if metric.unit != "ns":
        most, why = _described_most(request, metric.unit, heard)
    elif metric.per == "second":
        most, why = _PROCESSORS_MOST * 10**9, "as much as the processors have in a second"
    elif relations.quantile_of(metric.name) or metric.name in _WITHIN_TRIAL:
        # fio's quantiles are the upper ends of buckets.
        most, why = heard.trial_ns + heard.trial_ns // 32, "as its trial took"
    else:
        most, why = _PROCESSORS_MOST * heard.trial_ns, "as much as the processors had in its trial"
        if metric.name in _PROCESSOR_TIMES:
            most = int(most / max(1.0, _units(request, heard, one["copy"])))
    if figure > most:
        key = "durations_ns" if metric.unit == "ns" else f"durations_ns ({metric.unit})"
        raise cannot_be("samples", key, figure, f"at most {most}, {why}")


def _units(request: Expectation, heard: Heard, copy: int) -> float:
    """The number of operations, requests or KB behind each figure that a copy reports."""
    units = 0.0
    for one in heard.of("samples"):
        if one["copy"] == copy and one["metric"] == request.timed():
            each = one["bytes"] / 1024 if one["bytes"] else 1
            units += len(one["durations_ns"]) * one["operations"] * each
    return units


def _described_most(request: Expectation, unit: str, heard: Heard) -> tuple[int, str]:
    share = relations.share_most(unit)
    if share is not None:
        return share, "which is all"
    if unit == "bytes of the file" and "size" in request.initial:
        size = request.number("size")
        return size + _PAGE_MOST, f"as its size is {size}"
    if unit.startswith("bytes"):
        return _BYTES_MOST * heard.trial_ns, "in this time"
    return _EVENTS_MOST * heard.trial_ns, "in this time"


def _used(one: Record, heard: Heard) -> None:
    used_ns, host_ns = one["user_ns"] + one["system_ns"], RATE_MOST * heard.host_ns + SLACK_NS
    if used_ns > _PROCESSORS_MOST * host_ns:
        raise cannot_be("usage", "user_ns + system_ns", used_ns, "less, in such a short trial")
    most = _OPERATIONS_MOST * host_ns
    must(one, "operations", one["operations"] <= most, f"at most {most} in this time")
    for key in _EVENTS:
        most = _EVENTS_MOST * host_ns
        must(one, key, (one[key] or 0) <= most, f"at most {most} in this time")


def _told(one: Record, heard: Heard) -> None:
    """Check the figures of a monitor for a trial that ran under it."""
    host_ns = RATE_MOST * heard.host_ns + SLACK_NS
    if one["metric"].startswith("processors in "):
        must(one, "value", one["value"] <= _HUNDREDTHS, f"at most {_HUNDREDTHS}, which is everything")
    elif one["unit"] == "ns":
        must(one, "value", one["value"] <= _PROCESSORS_MOST * host_ns, "less, in such a short trial")
    else:
        most = _EVENTS_MOST * host_ns
        must(one, "value", one["value"] <= most, f"at most {most} in this time")


# A trial that went well


def completeness(request: Expectation, heard: Heard) -> None:
    """Check that a successful trial has sent everything that was requested."""
    if heard.end["signal"] is not None:
        raise cannot_be("end", "signal", heard.end["signal"], "null, as its status is ok")
    metrics = [metric.name for metric in request.workload.metrics]
    copies, is_count = request.trial.cell.copies, request.workload.measure == "count"
    came: dict[tuple[str, int, str], set[int | None]] = defaultdict(set)
    for kind, key in (("value", "point"), ("samples", "point"), ("usage", "point"), ("group", "batch")):
        for one in heard.of(kind):
            came[kind, one["copy"], one["metric"]].add(one.get(key))
    wanted = ["value" if is_count else "samples", "usage"]
    for kind, copy, metric in (
        *((kind, copy, metric) for kind in wanted for copy in range(copies) for metric in metrics),
        *(("group", copy, TOGETHER) for copy in range(copies) if request.workload.groups),
    ):
        if kind == "samples" and request.is_reported(metric) and not came[kind, copy, metric]:
            continue  # the system does not say it
        if not came[kind, copy, metric]:
            raise RefusedRequest(f"no record '{kind}' of copy {copy} and metric '{metric}' came")
        if kind == "samples" and came[kind, copy, metric] != came[kind, 0, metrics[0]]:
            raise RefusedRequest(f"'{metric}' was not measured at the same points as '{metrics[0]}'")
    if LOADS & request.initial.keys() and len(heard.of("load")) != copies:
        raise RefusedRequest(f"{len(heard.of('load'))} records 'load' of {copies} copies came")
    if request.workload.sweeps is not None:
        _sizes(request, {point for point in came["samples", 0, metrics[0]] if point is not None})
    _lives(request, heard)
    _operations(heard)


def _lives(request: Expectation, heard: Heard) -> None:
    """Check that every requested process has finished without failure."""
    copies = request.trial.cell.copies
    if len(heard.processes) != copies:
        raise RefusedRequest(f"its record 'processes' has {len(heard.processes)} copies, not {copies}")
    for one in heard.processes:
        if one["status"] != "ok" or None in (one["start_ns"], one["end_ns"]):
            raise cannot_be("end", "status", "ok", f"as that of copy {one['copy']}: {one['status']}")
        if one["signal"] is not None:
            raise cannot_be("processes", "signal", one["signal"], "null, as its status is ok")
    batches: dict[tuple[int, str], list[int]] = defaultdict(list)
    for one in heard.of("group"):
        batches[one["copy"], one["metric"]].append(one["batch"])
        if one["failures"] or None in one["ended_ns"]:
            raise cannot_be("end", "status", "ok", "that of its processes, some of which failed")
    for (copy, metric), numbers in batches.items():
        if sorted(numbers) != list(range(1, len(numbers) + 1)):
            raise RefusedRequest(
                f"its groups '{metric}' of copy {copy} have the numbers {sorted(numbers)[:20]}, not 1 to n"
            )
    _group_times(request, heard)


def _group_times(request: Expectation, heard: Heard) -> None:
    """Check that the processes of a group ended before their batch did."""
    timed = {
        (one["copy"], number): duration
        for one in heard.of("samples")
        if one["metric"] == request.timed()
        for number, duration in enumerate(one["durations_ns"], start=1)
    }
    for one in heard.of("group"):
        duration = timed.get((one["copy"], one["batch"]))
        if one["metric"] == TOGETHER and duration is not None:
            last = max(one["ended_ns"])
            if last > duration + SLACK_NS:
                raise cannot_be("group", "ended_ns", last, f"at most {duration}, which the batch took")


def _sizes(request: Expectation, points: set[int]) -> None:
    """Check that a curve has every requested size, up to the last."""
    wanted = request.sizes(max(points))
    missing = [size for size in wanted if size not in points]
    if missing:
        of = f"{len(wanted)} sizes from {wanted[0]} to {wanted[-1]}"
        raise RefusedRequest(f"its curve has {len(points)} of {of}: {missing[0]} is missing")
    if points - set(wanted):
        odd = min(points - set(wanted))
        raise cannot_be(
            "samples", "point", odd, f"one of {len(wanted)} sizes from {wanted[0]} to {wanted[-1]}"
        )


def _operations(heard: Heard) -> None:
    """Check that at most as many operations were measured as were done."""
    done: dict[tuple[int, str], int] = defaultdict(int)
    for one in heard.of("samples"):
        done[one["copy"], one["metric"]] += one["operations"] * len(one["durations_ns"])
    for one in heard.of("usage"):
        least = done[one["copy"], one["metric"]]
        must(one, "operations", one["operations"] >= least, f"at least {least}, as its samples say")


def figures(request: Expectation, heard: Heard) -> None:
    """Check that a copy's figures are consistent: quantiles, wholes and their parts, and the histogram."""
    reported: dict[int, dict[str, int]] = defaultdict(dict)
    for one in heard.of("samples"):
        if request.is_reported(one["metric"]):
            reported[one["copy"]][one["metric"]] = one["durations_ns"][0]
    for copy, own in reported.items():
        found = relations.contradiction(own, tick_ns=_tick_ns(request, heard, copy))
        if found:
            raise cannot_be("samples", f"durations_ns of {found.metric}", found.value, found.allowed)
    for one in heard.of("histogram"):
        found = relations.against_histogram(
            reported.get(one["copy"], {}), one["metric"], one["values_ns"], one["counts"]
        )
        if found:
            raise cannot_be("samples", f"durations_ns of {found.metric}", found.value, found.allowed)
        _requests(request, heard, one)
    for one in heard.of("load"):
        time = reported.get(one["copy"], {}).get("request", 0)
        if one["steps"] is None and abs(time * one["answers"] - one["window_ns"]) > one["answers"]:
            why = f"its time a request, {time} ns, times its answers: about {one['window_ns']}, its window"
            raise cannot_be("load", "answers", one["answers"], why)


def _tick_ns(request: Expectation, heard: Heard, copy: int) -> float:
    """The possible error of a figure that the kernel counts in clock ticks, for one operation or KB: a tick
    on each processor at either end.
    """
    units = _units(request, heard, copy)
    return 2 * _TICK_NS * (request.processors or _PROCESSORS_MOST) / units if units else float("inf")


def _requests(request: Expectation, heard: Heard, one: Record) -> None:
    """Check that a histogram holds the requests of the measured batches, and at most as many as were made."""
    each, copy, timed = request.requests(one["metric"]), one["copy"], request.timed()
    total = sum(one["counts"])
    for load in heard.of("load"):
        if load["copy"] == copy:
            most = load["requests"] + load["unsent"]
            if total > most:
                raise cannot_be("histogram", "the sum of counts", total, f"at most {most}, as its load says")
            return
    made = [
        used["operations"] for used in heard.of("usage") if (used["copy"], used["metric"]) == (copy, timed)
    ]
    most = sum(made) * (each or 1)
    if total > most:
        raise cannot_be("histogram", "the sum of counts", total, f"at most {most}, as its usage says")
    measured = [
        batches["operations"] * len(batches["durations_ns"])
        for batches in heard.of("samples")
        if (batches["copy"], batches["metric"]) == (copy, timed)
    ]
    least = sum(measured) * each if each else 1
    if total < least:
        raise cannot_be("histogram", "the sum of counts", total, f"at least {least}, as its samples say")
