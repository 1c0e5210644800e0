"""Turns a `Watch` into an `Account`: its processes singly, by program or by generation, and all together; how
figures are spread over them; series; and what the monitor itself cost."""

import resource
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard import quantities
from steelyard.statistics import description, expansion, impact
from steelyard.statistics.description import Description
from steelyard.statistics.signed_rank import Estimate
from steelyard.watch import groups, series
from steelyard.watch.figures import FIGURES
from steelyard.watch.groups import ProcessGroup
from steelyard.watch.model import Call, Monitor, Process, Reading, Watch, Window
from steelyard.watch.series import Series

GROUPINGS = ("process", "program", "generation")
ALL = "all"  # the name of the group that holds everything


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of the monitor itself; None: it could not tell, or was killed before it did."""

    cpu_ns: int | None  # of steelyard-watch
    bpf_ns: float | None  # in the watched processes: hits of the hook, times what one costs here
    memory_bytes: int | None  # its own, and what its maps hold in the kernel
    memory_peak_bytes: int | None  # of its own: while it loads what it needs
    lost: int | None  # whatever found no room
    # Of this Python process, up to the account: none of it while nothing was read. None: it watched nothing.
    front_end_cpu_ns: int | None
    front_end_memory_bytes: int | None  # at its peak


@dataclass(frozen=True, slots=True)
class Account:
    """The account of a watch, as all reports show it."""

    watch: Watch
    by: str
    elapsed_ns: int
    processes: tuple[Process, ...]  # and their threads, where asked for
    total: ProcessGroup
    groups: tuple[ProcessGroup, ...]  # the most processor time first
    spread: Mapping[str, Description]  # of each figure over the processes that have it
    spread_calls: Mapping[str, Description]  # of calls, over the processes whose calls were seen
    series: tuple[Series, ...]  # of the total, then (if asked for) of the groups; none without --every
    impact: Estimate | None  # of --prove: the rate of work with the hook over that without
    impact_pairs: int
    cost: Cost
    notes: tuple[str, ...]  # what limits all this


def of(
    watch: Watch,
    *,
    by: str = "process",
    with_groups: bool = True,
    group_series: bool = True,
    is_front_end: bool = True,
) -> Account:
    """The account of a whole watch, by one of GROUPINGS. Of thousands of processes the groups take a tenth of
    a second, and their series take seconds: without `with_groups` the account has no groups, and without
    `group_series` it has the series of all together alone. `is_front_end`: this process watched."""
    until_ns = _end_of(watch)
    processes = [one for one in watch.processes if one.thread is None]
    if watch.monitor is None:
        processes += _only_read(watch)
    grouped = _grouped(processes, by)
    parts = [groups.of(name, members, watch, until_ns) for name, members in grouped if with_groups]
    parts.sort(key=lambda one: (-(one.cpu_ns or 0), one.begin_ns))
    pairs = _pairs(watch.windows)
    total = groups.of_all(ALL, processes, watch, until_ns)
    spread, spread_calls = _spread(processes, until_ns)
    return Account(
        watch=watch,
        by=by,
        elapsed_ns=until_ns - watch.head.began_ns,
        processes=(*processes, *(one for one in watch.processes if one.thread is not None)),
        total=total,
        groups=tuple(parts),
        spread=spread,
        spread_calls=spread_calls,
        series=series.of(watch, [(ALL, processes), *(grouped if group_series else ())], until_ns=until_ns),
        impact=impact.ratio(pairs) if pairs else None,
        impact_pairs=len(pairs),
        cost=_cost(watch.monitor, is_front_end=is_front_end),
        notes=tuple(_notes(watch, total)),
    )


def _end_of(watch: Watch) -> int:
    """The moment when the watch ended; of one that was killed, the last moment in its records."""
    if watch.monitor:
        return watch.monitor.at_ns
    moments = [one.end_ns or one.watched_ns for one in watch.processes] + [
        one.at_ns for one in watch.readings
    ]
    return max([watch.head.began_ns, *moments])


def _only_read(watch: Watch) -> list[Process]:
    """Processes of which there are readings, but no record of their own: the monitor was killed before."""
    keys = {one.key for one in watch.processes}
    by_key: dict[tuple[int, int], list[Reading]] = {}
    for reading in watch.readings:
        if reading.key not in keys:
            by_key.setdefault(reading.key, []).append(reading)
    return [_as_process(readings, watch) for readings in by_key.values()]


def _as_process(readings: Sequence[Reading], watch: Watch) -> Process:
    figures: dict[str, int | None] = dict.fromkeys(FIGURES)
    program = "?"
    calls: dict[str, Call] = {}
    for reading in readings:
        figures |= reading.figures
        program = reading.program or program
        for name, (count, failed) in reading.calls.items():
            errors = None if failed is None else round(failed)
            calls[name] = Call(round(count), errors, *[None] * 7)
    is_counted = watch.head.detail in ("calls", "latency")
    begin_ns = readings[0].begin_ns
    return Process(
        pid=readings[0].pid, thread=None, parent=0, generation=0, program=program, program_before=None,
        attached=begin_ns < watch.head.began_ns, begin_ns=begin_ns,
        watched_ns=max(begin_ns, watch.head.began_ns), end_ns=None, status=None, signal=None, threads=None,
        children=None, figures=figures, windows=None, windows_ns=None,
        windows_active=None, windows_run_ns=None, windows_hook_ns=None, windows_run_squares=None,
        samples_user=None,
        samples_kernel=None, calls=calls if is_counted else None,
        at_least=tuple(name for name, value in figures.items() if value is not None),
    )  # fmt: skip


def _grouped(processes: Sequence[Process], by: str) -> list[tuple[str, list[Process]]]:
    if by == "process":
        return [(f"{one.program}[{one.pid}]", [one]) for one in processes]
    by_name: dict[str, list[Process]] = {}
    for one in processes:
        name = f"generation {one.generation}" if by == "generation" else one.program
        by_name.setdefault(name, []).append(one)
    return list(by_name.items())


def _spread(
    processes: Sequence[Process], until_ns: int
) -> tuple[dict[str, Description], dict[str, Description]]:
    """The spread of figures and calls over processes: what one more process would be like."""
    columns: dict[str, Callable[[Process], float | None]] = {
        "lifetime_ns": lambda one: groups.lifetime_ns(one, until_ns),
        **{name: lambda one, name=name: one.figures[name] for name in FIGURES},  # type: ignore[misc]
    }
    figures = {}
    for name, value in columns.items():
        summary = description.of(each for one in processes if (each := value(one)) is not None)
        if summary:
            figures[name] = summary
    tallies = [one.calls for one in processes if one.calls is not None]
    calls = {}
    for name in sorted({name for one in tallies for name in one}):
        summary = description.of(_count_of(one.get(name)) for one in tallies)
        if summary:
            calls[name] = summary
    return figures, calls


def _count_of(call: Call | None) -> float:
    if call is None:
        return 0
    for value in (call.samples, call.expanded):
        if value is not None:
            return value
    return call.calls or 0


def _pairs(windows: Sequence[Window]) -> list[tuple[impact.Rated, impact.Rated]]:
    """Neighbouring windows of either kind: (with the hook, without). None is in two pairs."""
    pairs: list[tuple[impact.Rated, impact.Rated]] = []
    rest = iter(windows)
    waiting = next(rest, None)
    for window in rest:
        if waiting is None or waiting.hooked == window.hooked:
            waiting = window
            continue
        hooked, plain = (waiting, window) if waiting.hooked else (window, waiting)
        pairs.append(((hooked.work, hooked.run_ns), (plain.work, plain.run_ns)))
        waiting = None
    return pairs


def _cost(monitor: Monitor | None, *, is_front_end: bool) -> Cost:
    ours = resource.getrusage(resource.RUSAGE_SELF)
    return Cost(
        cpu_ns=groups.total((monitor.cpu_user_ns, monitor.cpu_system_ns)) if monitor else None,
        bpf_ns=monitor.bpf_ns if monitor else None,
        memory_bytes=groups.total((monitor.memory_bytes, monitor.maps_bytes or 0)) if monitor else None,
        memory_peak_bytes=monitor.memory_peak_bytes if monitor else None,
        lost=(
            groups.total((monitor.lost_slots, monitor.lost_calls, monitor.lost_events)) if monitor else None
        ),
        front_end_cpu_ns=round((ours.ru_utime + ours.ru_stime) * 1e9) if is_front_end else None,
        front_end_memory_bytes=ours.ru_maxrss * 1024 if is_front_end else None,
    )


def _are_estimated(watch: Watch, total: ProcessGroup) -> bool:
    """True if calls of some process were counted in windows: other losses have sentences of their own."""
    one = watch.monitor.total if watch.monitor else None
    return (total.exact if one is None else one.exact) is False


def _notes(watch: Watch, total: ProcessGroup) -> Iterable[str]:
    """Sentences about what is missing, and why."""
    for one in watch.head.refused:
        yield f"{one.backend} could not be used: {one.why}"
    yield from watch.head.missing
    if watch.head.detail == "budget" and _are_estimated(watch, total):
        yield (
            "≈ stands before numbers of system calls that are estimates: if counting each would exceed "
            "the budget, calls are counted in windows; --detail calls counts every one"
        )
        if total.windows is not None and total.windows < expansion.FEWEST:
            met = "no window" if total.windows == 0 else f"{total.windows} of {expansion.FEWEST} windows"
            yield f"too short for estimates of system calls, with {met}: ≥ stands before what was counted"
        if total.calls_unlisted_high:
            yield (
                "types of calls that are not listed were not seen, but may have been made: 0 to "
                f"{quantities.count(round(total.calls_unlisted_high))} times (95 %)"
            )
    monitor = watch.monitor
    if monitor and any(one.at_least for one in watch.processes):
        yield "≥ stands before figures that were last read before the process ended, and may have grown since"
    if watch.head.detail != "budget" and total.exact is False:
        yield "not all was seen of what was watched: sums over all processes are lower bounds"
    if monitor is None:
        yield (
            "the monitor was killed before it ended: this report has what it wrote until then, and "
            "other processes are missing or out of date"
        )
        return
    yield from monitor.missing
    for count, sentence in (
        (monitor.lost_slots, "processes or threads had no slot and are missing; raise --slots"),
        (monitor.lost_calls, "system calls were not counted"),
        (monitor.lost_events, "event was lost" if monitor.lost_events == 1 else "events were lost"),
    ):
        if count:
            yield f"{count} {sentence}"
    if monitor.unfollowed:
        draws = "" if watch.head.seed is None else f", chosen at random (--seed {watch.head.seed})"
        yield f"{monitor.unfollowed} children were left out, as --children asks{draws}"
