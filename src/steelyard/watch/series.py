"""Turns cumulative readings into series: what groups of processes did in each interval, per second of it.

The interval's real length is what everything is divided by: a monitor that reads late must not show a peak
(Kretschek, Hexsel and dos Santos found such a one in their figure 4).
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from steelyard.statistics import description
from steelyard.statistics.description import Description
from steelyard.watch.figures import COUNTED, CPU, ENDS
from steelyard.watch.model import Process, Watch

CPU_NS = "cpu_ns"  # user and system time together
_SECOND = 1e9

Key = tuple[int, int]  # Process.key


@dataclass(frozen=True, slots=True)
class Described:
    """One figure of a group: its value in each interval, and the description of all intervals."""

    values: tuple[float, ...]  # per second, or a level at the interval's end: the sum over living processes
    over_intervals: Description | None  # over those of at least half the length that was asked for


@dataclass(frozen=True, slots=True)
class Series:
    """One group, from the interval in which its first process began to that in which its last one ended.
    What never changed, or was never seen, stands in none of the three."""

    name: str
    begins_ns: tuple[int, ...]
    ends_ns: tuple[int, ...]
    rates: Mapping[str, Described]
    levels: Mapping[str, Described]
    calls: Mapping[str, Described]  # calls per second; at detail "profile" samples that found it in one


@dataclass(slots=True)
class _Changes:
    """Changes by interval, while readings are gone through: most intervals of most processes have none."""

    first: int = 0
    last: int = 0
    rates: dict[str, dict[int, float]] = field(default_factory=dict)
    levels: dict[str, dict[int, float]] = field(default_factory=dict)
    calls: dict[str, dict[int, float]] = field(default_factory=dict)


@dataclass(slots=True)
class _Last:
    """The last that is known of a process."""

    figures: dict[str, int] = field(default_factory=dict)
    calls: dict[str, float] = field(default_factory=dict)


def of(watch: Watch, groups: Sequence[tuple[str, Sequence[Process]]], *, until_ns: int) -> tuple[Series, ...]:
    """The series of each group, in their order; empty where no interval was asked for. A process may be in
    several groups."""
    every_ns = watch.head.every_ns
    if every_ns is None:
        return ()
    tallies = [(name, processes, _Changes()) for name, processes in groups if processes]
    members: dict[Key, list[_Changes]] = {}
    for _, processes, tally in tallies:
        for one in processes:
            members.setdefault(one.key, []).append(tally)
    bounds = [watch.head.began_ns]
    last = _take_readings(watch, bounds, members, every_ns)
    _go_on(bounds, until_ns, every_ns)
    for one in {one.key: one for _, processes, _ in tallies for one in processes}.values():
        _take_end(one, last.get(one.key, _Last()), bounds, members[one.key], until_ns)
    for _, processes, tally in tallies:
        lives = [_life(one, bounds, until_ns) for one in processes]
        tally.first, tally.last = min(first for first, _ in lives), max(last for _, last in lives)
    return tuple(_series_of(name, tally, bounds, every_ns) for name, _, tally in tallies)


def _go_on(bounds: list[int], at_ns: int, every_ns: int) -> None:
    """Lets an interval end at that moment. Where nothing changed nothing was written: a gap as long as
    several intervals is divided evenly."""
    gap = at_ns - bounds[-1]
    if gap > 0:
        parts = max(round(gap / every_ns), 1)
        begin = bounds[-1]
        bounds += [begin + gap * part // parts for part in range(1, parts)] + [at_ns]


def _interval(at_ns: int, bounds: Sequence[int]) -> int:
    """The number of the interval that a moment is in; the bounds belong to what ends there."""
    return min(max(bisect_left(bounds, at_ns) - 1, 0), max(len(bounds) - 2, 0))


def _life(one: Process, bounds: Sequence[int], until_ns: int) -> tuple[int, int]:
    return _interval(one.watched_ns, bounds), _interval(one.end_ns or until_ns, bounds)


def _take_readings(
    watch: Watch, bounds: list[int], members: Mapping[Key, Sequence[_Changes]], every_ns: int
) -> dict[Key, _Last]:
    """Counts all readings; each moment of reading ends an interval."""
    known: dict[Key, _Last] = {}
    for reading in watch.readings:
        _go_on(bounds, reading.at_ns, every_ns)
        last = known.setdefault(reading.key, _Last())
        number = _interval(reading.at_ns, bounds)
        calls = {name: calls for name, (calls, _) in reading.calls.items()}
        _add(last, reading.figures, calls, number, members.get(reading.key, ()))
    return known


def _take_end(
    one: Process, last: _Last, bounds: Sequence[int], tallies: Sequence[_Changes], until_ns: int
) -> None:
    """Take its work after its last reading; its memory is gone."""
    number = _interval(one.end_ns or until_ns, bounds)
    figures = {name: value for name in COUNTED if (value := one.figures[name]) is not None}
    calls: dict[str, float] = {}
    for name, call in (one.calls or {}).items():
        count = call.samples if call.samples is not None else call.expanded
        calls[name] = count if count is not None else call.calls or 0
    if one.end_ns is not None:
        figures |= {name: 0 for name in ENDS if name in last.figures}
    _add(last, figures, calls, number, tallies)


def _add(
    last: _Last,
    figures: Mapping[str, int],
    calls: Mapping[str, float],
    number: int,
    tallies: Sequence[_Changes],
) -> None:
    for name, value in figures.items():
        before = last.figures.get(name, 0)
        # A counter does not fall. If it does, the kernel has split a time differently, or one sum was read
        # while it changed.
        last.figures[name] = value if name in ENDS else max(value, before)
        change = last.figures[name] - before
        for tally in tallies:
            _count(tally.levels if name in ENDS else tally.rates, name, number, change)
    for name, calls_now in calls.items():
        calls_before = last.calls.get(name, 0)
        last.calls[name] = max(calls_now, calls_before)  # an estimate may shrink
        call_change = last.calls[name] - calls_before
        for tally in tallies:
            _count(tally.calls, name, number, call_change)


def _count(into: dict[str, dict[int, float]], name: str, number: int, change: float) -> None:
    if change:
        at = into.setdefault(name, {})
        at[number] = at.get(number, 0) + change


def _series_of(name: str, tally: _Changes, bounds: Sequence[int], every_ns: int) -> Series:
    numbers = range(tally.first, tally.last + 1)
    lengths = [bounds[number + 1] - bounds[number] for number in numbers]
    whole = [length >= every_ns / 2 for length in lengths]

    def described(values: Sequence[float]) -> Described:
        sample = [value for value, counts in zip(values, whole, strict=True) if counts]
        return Described(tuple(values), description.of(sample))

    def per_second(changes: Mapping[int, float]) -> Described:
        return described(
            [
                changes.get(number, 0) * _SECOND / length
                for number, length in zip(numbers, lengths, strict=True)
            ]
        )

    def summed(changes: Mapping[int, float]) -> Described:
        values, level = [], 0.0
        for number in numbers:
            level += changes.get(number, 0)
            values.append(level)
        return described(values)

    for part in CPU.values():
        for number, change in tally.rates.get(part, {}).items():
            _count(tally.rates, CPU_NS, number, change)
    return Series(
        name=name,
        begins_ns=tuple(bounds[number] for number in numbers),
        ends_ns=tuple(bounds[number + 1] for number in numbers),
        rates={each: per_second(tally.rates[each]) for each in (CPU_NS, *COUNTED) if each in tally.rates},
        levels={each: summed(tally.levels[each]) for each in ENDS if each in tally.levels},
        calls={each: per_second(by_number) for each, by_number in tally.calls.items()},
    )
