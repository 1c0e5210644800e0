"""Sums processes into groups: figures, and system calls by type."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.statistics import expansion
from steelyard.statistics.signed_rank import Estimate
from steelyard.watch.model import COUNTED, FIGURES, Call, Process, Watch

_TIMES = ("cpu_user_ns", "cpu_system_ns")


@dataclass(frozen=True, slots=True)
class CallSum:
    """One type of system call of a group. `calls` and `errors` are estimates at detail "budget", the one with
    an interval; else they are exact. None: nothing can be said. `seen` is what was really counted."""

    calls: Estimate | None
    errors: Estimate | None
    seen: int | None
    time_ns: float | None  # inside it; at "profile" samples times their distance
    histogram: tuple[int, ...] | None
    samples: int | None


@dataclass(frozen=True, slots=True)
class Group:
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
    calls_lacking: int  # processes whose calls were not seen: at "budget" all that met no window
    windows: int | None  # at "budget": that they met together
    samples_user: int | None
    samples_kernel: int | None

    @property
    def cpu_ns(self) -> int | None:
        """User and system time together."""
        times = [self.figures[name] for name in _TIMES]
        return None if None in times else sum(time for time in times if time is not None)


def of(name: str, members: Sequence[Process], watch: Watch, until_ns: int) -> Group:
    generations = {one.generation for one in members}
    lacking = {each: sum(one.figures[each] is None for one in members) for each in FIGURES}
    return Group(
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
        windows=total(one.windows for one in members),
        samples_user=total(one.samples_user for one in members),
        samples_kernel=total(one.samples_kernel for one in members),
    )


def lifetime_ns(one: Process, until_ns: int) -> int:
    """How long it lived while it was watched."""
    return (one.end_ns or until_ns) - one.watched_ns


def _together(figure: str, members: Iterable[Process]) -> int | None:
    known = [value for one in members if (value := one.figures[figure]) is not None]
    if not known:
        return None
    return sum(known) if figure in COUNTED else max(known)


def total(values: Iterable[int | None]) -> int | None:
    """The sum; None where one of them is not known."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


def calls_of(processes: Iterable[Process], watch: Watch) -> dict[str, CallSum] | None:
    """Their calls by type, the most frequent first; None where those of none were seen. The windows of a
    process that did not make a call count as well."""
    members = [one for one in processes if _is_seen(one)]
    if not members:
        return None
    found: dict[str, list[tuple[Process, Call]]] = {}
    for one in members:
        for name, call in (one.calls or {}).items():
            found.setdefault(name, []).append((one, call))
    windows = [(one.key, one.windows or 0) for one in members]
    sums = {name: _call_sum(parts, windows, watch) for name, parts in found.items()}
    return dict(sorted(sums.items(), key=lambda item: (-_weight(item[1]), item[0])))


def _is_seen(one: Process) -> bool:
    return one.calls is not None and one.windows != 0


def _weight(one: CallSum) -> float:
    if one.samples is not None:
        return one.samples
    return one.calls.value if one.calls else one.seen or 0


def _call_sum(
    parts: Sequence[tuple[Process, Call]], windows: Sequence[tuple[tuple[int, int], int]], watch: Watch
) -> CallSum:
    calls = [call for _, call in parts]
    histograms = [call.histogram for call in calls if call.histogram is not None]
    samples = total(call.samples for call in calls)
    time_ns: float | None = total(call.time_ns for call in calls)
    if samples is not None and watch.head.sample_ns is not None:
        time_ns = samples * watch.head.sample_ns
    seen = total(call.calls for call in calls)
    errors = total(call.errors for call in calls)
    counted, failed = (None if each is None else Estimate(each) for each in (seen, errors))
    if watch.head.detail == "budget":
        by_process = {one.key: call for one, call in parts}
        counted, failed = _expanded(by_process, windows)
    elif watch.head.detail == "profile":
        counted = failed = seen = None
    return CallSum(
        calls=counted,
        errors=failed,
        seen=seen,
        time_ns=time_ns,
        histogram=tuple(map(sum, zip(*histograms, strict=True))) if histograms else None,
        samples=samples,
    )


def _expanded(
    calls: Mapping[tuple[int, int], Call], windows: Sequence[tuple[tuple[int, int], int]]
) -> tuple[Estimate | None, Estimate | None]:
    """The calls of all processes, and the errors among them. Of errors the squares are not told, so there is
    no interval, unless there is none to be had: none were seen."""
    parts = []
    for key, count in windows:
        one = calls.get(key)
        if one is None or not count:
            parts.append(expansion.Seen(count, 0, 0.0, 0.0))
        elif one.expanded is None or one.expanded_squares is None:
            return None, None
        else:
            parts.append(expansion.Seen(count, one.calls or 0, one.expanded, one.expanded_squares))
    counted = expansion.total(parts)
    errors = [one.expanded_errors for one in calls.values() if one.expanded_errors is not None]
    if counted is None or len(errors) < len(calls):
        return counted, None
    return counted, Estimate(math.fsum(errors))
