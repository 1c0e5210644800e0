"""Sums processes into groups: figures, and system calls by type."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.statistics import expansion
from steelyard.statistics.signed_rank import Estimate
from steelyard.watch.figures import COUNTED, CPU, FIGURES
from steelyard.watch.model import Call, Process, Watch

_Estimates = tuple[Estimate | None, Estimate | None]


@dataclass(frozen=True, slots=True)
class CallSum:
    """One type of system call of a group. `calls` and `errors` are estimates at detail "budget" where not all
    calls of all its processes were counted, the one with an interval; else they are exact. None: nothing can
    be said but that there were as many as `seen`, which is what was really counted."""

    calls: Estimate | None
    errors: Estimate | None
    seen: int | None
    time_ns: float | None  # inside it; at "profile" samples times their distance
    histogram: tuple[int, ...] | None
    samples: int | None


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """Processes together. A figure is the sum over those of which it is known, or of a level the largest;
    `lacking` says of how many it is not known, where that is not 0. Of none: the figure is None."""

    name: str
    pid: int | None  # of a group that is one process
    generation: int | None  # that all are of
    processes: int
    threads: int | None
    running: int  # when the watch ended
    failed: int  # that ended by a signal, or with another status than 0
    begin_ns: int  # of the first
    end_ns: int  # of the last, or when the watch ended
    lifetime_ns: int  # sum over processes, while they were watched
    figures: Mapping[str, int | None]
    lacking: Mapping[str, int]
    calls: Mapping[str, CallSum] | None  # the most frequent first
    calls_lacking: int  # processes whose calls were not seen: at "budget", of which not one was counted
    exact: bool | None  # whether each of its calls was counted; None: they were not to be
    windows: int | None  # at "budget": in which they ran, each process's own added up
    samples_user: int | None
    samples_kernel: int | None

    @property
    def cpu_ns(self) -> int | None:
        """User and system time together."""
        times = [self.figures[name] for name in CPU.values()]
        return None if None in times else sum(time for time in times if time is not None)


def of_all(name: str, processes: Sequence[Process], watch: Watch, until_ns: int) -> ProcessGroup:
    """All of them together, by the monitor's own sums where it gives them: they hold what found no slot as
    well, and windows of the whole tree, in which what its processes did together is one."""
    group = of(name, processes, watch, until_ns)
    total = watch.monitor.total if watch.monitor else None
    if total is None:
        return group
    return replace(
        group,
        figures={
            each: group.figures[each] if total.figures[each] is None else total.figures[each]
            for each in FIGURES
        },
        calls=calls_of([total], watch) or group.calls,
        exact=exact([total], watch),
    )


def of(name: str, members: Sequence[Process], watch: Watch, until_ns: int) -> ProcessGroup:
    generations = {one.generation for one in members}
    lacking = {each: sum(one.figures[each] is None for one in members) for each in FIGURES}
    return ProcessGroup(
        name=name,
        pid=members[0].pid if len(members) == 1 else None,
        generation=generations.pop() if len(generations) == 1 else None,
        processes=len(members),
        threads=total(one.threads for one in members),
        running=sum(one.end_ns is None for one in members),
        failed=sum(bool(one.signal or one.status) for one in members),
        begin_ns=min((one.begin_ns for one in members), default=watch.head.began_ns),
        end_ns=max((one.end_ns or until_ns for one in members), default=until_ns),
        lifetime_ns=sum(lifetime_ns(one, until_ns) for one in members),
        figures={each: _together(each, members) for each in FIGURES},
        lacking={each: count for each, count in lacking.items() if count},
        calls=calls_of(members, watch),
        calls_lacking=sum(not _is_seen(one) for one in members),
        exact=exact(members, watch),
        windows=total(one.windows_active for one in members),
        samples_user=total(one.samples_user for one in members),
        samples_kernel=total(one.samples_kernel for one in members),
    )


def lifetime_ns(one: Process, until_ns: int) -> int:
    """How long it lived while it was watched. The kernel takes a process down after it reports its end,
    and counts that in the run time: a short process may have run longer than it lived."""
    lived = (one.end_ns or until_ns) - one.watched_ns
    return max(lived, one.figures["run_ns"] or 0) if (one.threads or 1) == 1 else lived


def _together(figure: str, members: Iterable[Process]) -> int | None:
    known = [value for one in members if (value := one.figures[figure]) is not None]
    if not known:
        return None
    return sum(known) if figure in COUNTED else max(known)


def total(values: Iterable[int | None]) -> int | None:
    """The sum; None where one of them is not known."""
    numbers = list(values)
    known = [value for value in numbers if value is not None]
    return sum(known) if len(known) == len(numbers) else None


def calls_of(processes: Iterable[Process], watch: Watch) -> dict[str, CallSum] | None:
    """Their calls by type, the most frequent first; None where those of none were seen. The windows of a
    process that did not make a call count as well."""
    members = [one for one in processes if one.calls is not None]
    if not any(map(_is_seen, members)):
        return None
    by_call: dict[str, list[tuple[Process, Call]]] = {}
    for one in members:
        for name, call in (one.calls or {}).items():
            by_call.setdefault(name, []).append((one, call))
    sums = {name: _call_sum(parts, members, watch) for name, parts in by_call.items()}
    return dict(sorted(sums.items(), key=lambda item: (-_weight(item[1]), item[0])))


def _is_seen(one: Process) -> bool:
    return one.calls is not None and (one.windows_active != 0 or bool(one.exact or one.calls))


def exact(members: Sequence[Process], watch: Watch) -> bool | None:
    """Whether each of their calls was counted. What was lost, the monitor reports."""
    if watch.head.detail == "profile" or any(one.calls is None for one in members):
        return None
    return watch.head.detail != "budget" or all(one.exact for one in members)


def _weight(one: CallSum) -> float:
    if one.samples is not None:
        return one.samples
    return one.calls.value if one.calls else one.seen or 0


def _call_sum(parts: Sequence[tuple[Process, Call]], members: Sequence[Process], watch: Watch) -> CallSum:
    calls = [call for _, call in parts]
    histograms = [call.histogram for call in calls if call.histogram is not None]
    samples = total(call.samples for call in calls)
    known = [call.time_ns for call in calls if call.time_ns is not None]
    time_ns: float | None = sum(known) if known else None  # a call that was not seen to begin has no time
    if samples is not None and watch.head.sample_ns is not None:
        time_ns = samples * watch.head.sample_ns
    number = total(call.calls for call in calls)
    errors = total(call.errors for call in calls)
    counted, failed = (None if each is None else Estimate(each) for each in (number, errors))
    if watch.head.detail == "budget":
        by_process = {one.key: call for one, call in parts}
        counted, failed = _expanded(by_process, members)
    elif watch.head.detail == "profile":
        counted = failed = number = None
    return CallSum(
        calls=counted,
        errors=failed,
        seen=number,
        time_ns=time_ns,
        histogram=tuple(map(sum, zip(*histograms, strict=True))) if histograms else None,
        samples=samples,
    )


def _expanded(calls: Mapping[tuple[int, int], Call], members: Sequence[Process]) -> _Estimates:
    """The calls of all processes and the errors among them: counted while counting went on, and estimated
    from the windows for the rest. Errors have no squares, so they have no interval."""
    pairs = [(one, call) for one in members if (call := calls.get(one.key))]
    sure = sum(_sure(one, call.calls, call.in_windows) for one, call in pairs)
    sure_errors = sum(_sure(one, call.errors, call.errors_in_windows) for one, call in pairs)
    parts = [_part_of(one, calls.get(one.key)) for one in members]
    if not any(part.windows or part.run_all for part in parts):
        return Estimate(float(sure)), Estimate(float(sure_errors))
    counted = expansion.total(parts)
    if counted is not None and counted.low is not None and counted.high is not None:
        counted = Estimate(counted.value + sure, counted.low + sure, counted.high + sure, counted.level)
    if counted is None or any(call.errors is None for call in calls.values()):
        return counted, None
    failed = expansion.total(_failed(one, calls.get(one.key)) for one in members)
    return counted, None if failed is None else Estimate(failed.value + sure_errors)


def _sure(one: Process, counted: int | None, in_windows: int | None) -> int:
    """So many were counted outside windows."""
    if one.exact:
        return counted or 0
    return (counted or 0) - in_windows if in_windows is not None else 0


def _part_of(one: Process, call: Call | None) -> expansion.Part:
    """One process's counts inside the sampling windows. Calls never seen count as 0."""
    run_all = one.figures["run_ns"] if one.missed_run_ns is None else one.missed_run_ns
    run = one.windows_run_ns or 0.0
    in_windows = (call.in_windows if call.in_windows is not None else call.calls) if call else 0
    weighted = call.weighted if call and call.weighted is not None else in_windows
    return expansion.Part(
        windows=one.windows_active or 0,
        run_all=run_all or 0,
        run=run if one.windows_weighted_ns is None else one.windows_weighted_ns,
        run_squares=one.windows_run_squares or 0.0,
        counting=one.windows_hook_ns or 0.0,
        events=weighted or 0,
        squares=(call.squares if call else 0) or 0.0,
        products=(call.products if call else 0) or 0.0,
        run_in_windows=run,
        events_in_windows=in_windows or 0,
    )


def _failed(one: Process, call: Call | None) -> expansion.Part:
    errors = (call.errors if call.weighted_errors is None else call.weighted_errors) if call else 0
    return replace(_part_of(one, call), events=errors or 0, squares=0.0, products=0.0, events_in_windows=0)
