"""Sums processes into groups: figures, and system calls by type."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from steelyard.statistics import expansion
from steelyard.statistics.signed_rank import Estimate
from steelyard.watch.figures import COUNTED, CPU, FIGURES
from steelyard.watch.model import Call, Head, Process, Watch


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


class Calls:
    """The calls of some processes, of which nothing is reckoned until it is asked for: of thousands of groups
    a report shows the calls of a few."""

    def __init__(self, members: Sequence[Process], watch: Watch) -> None:
        self._members = members
        self._watch = watch

    @cached_property
    def sums(self) -> dict[str, CallSum] | None:
        """The calls by type, the most frequent first; None if no process was counted."""
        return calls_of(self._members, self._watch)

    @cached_property
    def unlisted_high(self) -> float | None:
        return unlisted(self._members, self._watch)


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """A group of processes. A figure is the sum over the processes for which it is known, or, for a level,
    the largest; `lacking` has the number for which it is unknown, or not up to date at their ends, if not 0.
    Without any, the figure is None.
    """

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
    reckoned: Calls  # what `calls` and `calls_unlisted_high` are taken from
    calls_lacking: int  # processes whose calls were not seen: at "budget", of which not one was counted
    exact: bool | None  # whether each of its calls was counted; None: not requested
    windows: int | None  # at "budget": in which they ran, each process's own added up
    samples_user: int | None
    samples_kernel: int | None

    @property
    def calls(self) -> Mapping[str, CallSum] | None:
        """The most frequent first."""
        return self.reckoned.sums

    @property
    def calls_unlisted_high(self) -> float | None:
        """At "budget": the upper bound of calls of a type that is not in `calls`."""
        return self.reckoned.unlisted_high

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
    if _has_losses(watch):
        is_exact: bool | None = False
    else:
        is_exact = group.exact if total is None else exact([total], watch)
    if total is None:
        return replace(group, exact=is_exact)
    return replace(
        group,
        figures={each: _of_whole(each, group.figures[each], total.figures[each]) for each in FIGURES},
        reckoned=_CallsOfWhole(total, processes, watch),
        exact=is_exact,
    )


def _has_losses(watch: Watch) -> bool:
    monitor = watch.monitor
    return bool(monitor and (monitor.lost_calls or monitor.lost_events))


class _CallsOfWhole(Calls):
    """The monitor's own sums of calls, or, without them, the sums over processes."""

    def __init__(self, total: Process, processes: Sequence[Process], watch: Watch) -> None:
        super().__init__([total], watch)
        self._processes = processes

    @cached_property
    def sums(self) -> dict[str, CallSum] | None:
        sums = calls_of(self._members, self._watch) or calls_of(self._processes, self._watch)
        is_whole = self._watch.head.detail == "budget" or not _has_losses(self._watch)
        return sums if sums is None or is_whole else _lower_bounds(sums)


def _of_whole(figure: str, of_members: int | None, of_monitor: int | None) -> int | None:
    """The monitor's own sum, if it has one; of a level whichever saw more."""
    if of_members is None or of_monitor is None:
        return of_members if of_monitor is None else of_monitor
    return of_monitor if figure in COUNTED else max(of_members, of_monitor)


def of(name: str, members: Sequence[Process], watch: Watch, until_ns: int) -> ProcessGroup:
    generations = {one.generation for one in members}
    known = _known(members)
    lacking = {each: len(members) - len(values) for each, values in known.items()}
    for one in members:
        for each in set(one.at_least or ()) & lacking.keys():
            lacking[each] += one.figures[each] is not None
    return ProcessGroup(
        name=name,
        pid=members[0].pid if len(members) == 1 else None,
        generation=generations.pop() if len(generations) == 1 else None,
        processes=len(members),
        threads=total([one.threads for one in members]),
        running=sum(one.end_ns is None for one in members),
        failed=sum(bool(one.signal or one.status) for one in members),
        begin_ns=min((one.begin_ns for one in members), default=watch.head.began_ns),
        end_ns=max((one.end_ns or until_ns for one in members), default=until_ns),
        lifetime_ns=sum(lifetime_ns(one, until_ns) for one in members),
        figures={
            each: (sum(values) if each in COUNTED else max(values)) if values else None
            for each, values in known.items()
        },
        lacking={each: count for each, count in lacking.items() if count},
        reckoned=Calls(members, watch),
        calls_lacking=sum(not _is_seen(one) for one in members),
        exact=exact(members, watch),
        windows=total([one.windows_active for one in members]),
        samples_user=total([one.samples_user for one in members]),
        samples_kernel=total([one.samples_kernel for one in members]),
    )


def lifetime_ns(one: Process, until_ns: int) -> int:
    """The lifetime under watch. The kernel takes a process down after it reports its end, and counts that in
    the run time: a short process may have run longer than it lived.
    """
    lived = (one.end_ns or until_ns) - one.watched_ns
    return max(lived, one.figures["run_ns"] or 0) if (one.threads or 1) == 1 else lived


def _known(members: Sequence[Process]) -> dict[str, list[int]]:
    """The values of each figure, for the processes for which it is known."""
    rows = [_figures_of(one.figures) for one in members]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(FIGURES)
    return {
        each: [value for value in column if value is not None]
        for each, column in zip(FIGURES, columns, strict=True)
    }


_figures_of: Callable[[Mapping[str, int | None]], tuple[int | None, ...]] = operator.itemgetter(*FIGURES)


def total(values: Sequence[int | None]) -> int | None:
    """The sum; None where one of them is not known."""
    return None if None in values else sum(values)  # type: ignore[arg-type]  # none of them is None


def calls_of(processes: Iterable[Process], watch: Watch) -> dict[str, CallSum] | None:
    """Their calls by type, the most frequent first; None if none was counted. The windows of a process
    without such a call count as well.
    """
    members = [one for one in processes if one.calls is not None]
    if not any(map(_is_seen, members)):
        return None
    head = watch.head
    if len(members) == 1 and (head.detail != "budget" or members[0].exact):
        calls = (members[0].calls or {}).items()
        sums = {name: _counted(*_counts_of(call), head.detail, head.sample_ns) for name, call in calls}
    else:
        sums = _summed(members, head)
    if head.detail != "budget" and any(one.exact is False for one in members):
        sums = _lower_bounds(sums)
    return dict(sorted(sums.items(), key=lambda item: (-_weight(item[1]), item[0])))


def _lower_bounds(sums: Mapping[str, CallSum]) -> dict[str, CallSum]:
    return {name: replace(one, calls=None, errors=None) for name, one in sums.items()}


def _summed(members: Sequence[Process], head: Head) -> dict[str, CallSum]:
    by_call: dict[str, dict[int, Call]] = {}
    for number, one in enumerate(members):
        for name, call in (one.calls or {}).items():
            by_call.setdefault(name, {})[number] = call
    sums = {name: _call_sum(tuple(calls.values()), head) for name, calls in by_call.items()}
    if head.detail != "budget":
        return sums
    estimates = _Estimates(members)
    return {
        name: replace(sums[name], calls=estimates.calls(calls), errors=estimates.errors(calls))
        for name, calls in by_call.items()
    }


_counts_of = operator.attrgetter("calls", "errors", "time_ns", "samples", "histogram")


@lru_cache(maxsize=4096, typed=True)
def _counted(
    calls: int | None,
    errors: int | None,
    time_ns: int | None,
    samples: int | None,
    histogram: tuple[int, ...] | None,
    detail: str,
    sample_ns: int | None,
) -> CallSum:
    """The completely counted calls of one process. Many short processes are alike: equal ones share an
    object.
    """
    return CallSum(
        calls=_estimate(calls, detail),
        errors=_estimate(errors, detail),
        seen=None if detail == "profile" else calls,
        time_ns=time_ns if samples is None or sample_ns is None else samples * sample_ns,
        histogram=histogram,
        samples=samples,
    )


def _estimate(counted: int | None, detail: str) -> Estimate | None:
    """The count as an exact estimate."""
    if detail == "budget":
        return Estimate(float(counted or 0))
    return None if counted is None or detail == "profile" else Estimate(counted)


def _is_seen(one: Process) -> bool:
    return one.calls is not None and (one.windows_active != 0 or bool(one.exact or one.calls))


def exact(members: Sequence[Process], watch: Watch) -> bool | None:
    """True if each of their calls was counted; False also if one of them was not seen whole. The monitor
    reports other losses."""
    if any(one.exact is False for one in members):
        return False
    if watch.head.detail == "profile" or any(one.calls is None for one in members):
        return None
    return watch.head.detail != "budget" or all(one.exact for one in members)


def _weight(one: CallSum) -> float:
    if one.samples is not None:
        return one.samples
    return one.calls.value if one.calls else one.seen or 0


def _call_sum(calls: Sequence[Call], head: Head) -> CallSum:
    """The calls of one type, each of which was counted."""
    histograms = [call.histogram for call in calls if call.histogram is not None]
    known = [call.time_ns for call in calls if call.time_ns is not None]
    return _counted(
        total([call.calls for call in calls]),
        total([call.errors for call in calls]),
        sum(known) if known else None,  # a call that was not seen to begin has no time
        total([call.samples for call in calls]),
        tuple(map(sum, zip(*histograms, strict=True))) if histograms else None,
        head.detail,
        head.sample_ns,
    )


class _Estimates:
    """The calls of processes whose calls were counted while that fitted the budget, and in windows otherwise.
    Calls come by the number of the process that made them."""

    def __init__(self, members: Sequence[Process]) -> None:
        self._members = members
        exposures = [_exposure(one) for one in members]
        self._are_exact = all(
            exposure.windows == exposure.run_all == 0 if one.exact is None else one.exact
            for one, exposure in zip(members, exposures, strict=True)
        )
        self._expansion = None if self._are_exact else expansion.Expansion(exposures)

    def calls(self, calls: Mapping[int, Call]) -> Estimate | None:
        """Counted, and estimated from the windows for the rest."""
        sure = self._sure((number, call.calls, call.in_windows) for number, call in calls.items())
        if self._expansion is None:
            return Estimate(float(sure))
        found = self._expansion.total({number: _events(call) for number, call in calls.items()})
        if found is None or found.low is None or found.high is None:
            return found
        return Estimate(found.value + sure, found.low + sure, found.high + sure, found.level)

    def errors(self, calls: Mapping[int, Call]) -> Estimate | None:
        """Errors have no squares, so they have no interval."""
        sure = self._sure((number, call.errors, call.errors_in_windows) for number, call in calls.items())
        if self._expansion is None:
            return Estimate(float(sure))
        if any(call.errors is None for call in calls.values()):
            return None
        found = self._expansion.value({number: _failed(call) for number, call in calls.items()})
        return None if found is None else Estimate(found + sure)

    def _sure(self, parts: Iterable[tuple[int, int | None, int | None]]) -> int:
        """The number that was counted outside windows."""
        return sum(
            counted or 0
            if self._members[number].exact
            else 0
            if in_windows is None
            else (counted or 0) - in_windows
            for number, counted, in_windows in parts
        )


def unlisted(processes: Iterable[Process], watch: Watch) -> float | None:
    """The upper bound of calls of a type that none of them was seen to make; 0 if all their calls were
    counted. None: unknown.
    """
    members = [one for one in processes if one.calls is not None]
    if watch.head.detail != "budget" or not any(map(_is_seen, members)):
        return None
    calls = _Estimates(members).calls({})
    return None if calls is None else calls.high or 0.0


def _exposure(one: Process) -> expansion.Exposure:
    run_all = one.figures["run_ns"] if one.missed_run_ns is None else one.missed_run_ns
    run = one.windows_run_ns or 0.0
    return expansion.Exposure(
        windows=one.windows_active or 0,
        run_all=run_all or 0,
        run=run if one.windows_weighted_ns is None else one.windows_weighted_ns,
        run_squares=one.windows_run_squares or 0.0,
        weighted_twice=one.windows_weighted_twice_ns,
        counting=one.windows_hook_ns or 0.0,
        run_in_windows=run,
    )


def _events(call: Call) -> expansion.Events:
    in_windows = call.calls if call.in_windows is None else call.in_windows
    return expansion.Events(
        events=(in_windows if call.weighted is None else call.weighted) or 0,
        squares=call.squares or 0.0,
        products=call.products or 0.0,
        in_windows=in_windows or 0,
    )


def _failed(call: Call) -> expansion.Events:
    return expansion.Events((call.errors if call.weighted_errors is None else call.weighted_errors) or 0)
