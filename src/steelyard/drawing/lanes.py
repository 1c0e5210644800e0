"""Turns the lives of watched processes into bars in lanes: a lane is used again when its process has ended,
so that ten thousand short ones need no more room than ran at once. Short neighbours become one bar."""

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_LANES_MOST = 240  # more lanes are merged
_BARS_MOST = 4000
_COLUMNS, _COLUMNS_LEAST = 700, 40  # a bar shorter than one is joined with its neighbours


@dataclass(frozen=True, slots=True)
class Span:
    """The lifetime in ns of one item, and the item."""

    begin_ns: int
    end_ns: int
    program: str
    about: str


@dataclass(frozen=True, slots=True)
class LaneBar:
    """One life, or several short ones next to each other; then the program is the one that most are."""

    lane: int
    begin_ns: int
    end_ns: int
    program: str
    about: str
    lives: int


@dataclass(frozen=True, slots=True)
class Lanes:
    bars: tuple[LaneBar, ...]
    count: int
    lanes_per_row: int  # 1, or the number of merged lanes


def of(lives: Sequence[Span]) -> Lanes:
    """The bars from top to bottom; earlier starts are higher, so that parents are above children."""
    packed = _packed(sorted(lives, key=lambda one: (one.begin_ns, -one.end_ns, one.program)))
    together = -(-len(packed) // _LANES_MOST) or 1
    rows = [
        sorted((life for lane in packed[first : first + together] for life in lane), key=_begin)
        for first in range(0, len(packed), together)
    ]
    span_ns = max((one.end_ns for one in lives), default=0) - min((one.begin_ns for one in lives), default=0)
    columns = _COLUMNS
    while True:
        bars = [bar for number, row in enumerate(rows) for bar in _joined(row, number, span_ns / columns)]
        if len(bars) <= _BARS_MOST or columns <= _COLUMNS_LEAST:
            return Lanes(tuple(bars), len(rows), together)
        columns //= 2


def _begin(life: Span) -> int:
    return life.begin_ns


def _packed(lives: Iterable[Span]) -> list[list[Span]]:
    """Each life in the first lane that is free when it begins."""
    lanes: list[list[Span]] = []
    free: list[int] = []
    busy: list[tuple[int, int]] = []  # when a lane becomes free, and which
    for life in lives:
        while busy and busy[0][0] <= life.begin_ns:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            lanes.append([])
            free.append(len(lanes) - 1)
        lane = heapq.heappop(free)
        lanes[lane].append(life)
        heapq.heappush(busy, (max(life.end_ns, life.begin_ns + 1), lane))
    return lanes


def _joined(row: Sequence[Span], number: int, column_ns: float) -> Iterable[LaneBar]:
    """The row's bars; those that overlap, and short ones less than a column apart, are one."""
    group: list[Span] = []
    end_ns = 0
    for life in row:
        if group:
            is_short = life.end_ns - life.begin_ns < column_ns
            is_joined = len(group) > 1 or end_ns - group[0].begin_ns < column_ns
            is_near = life.begin_ns - end_ns < column_ns
            if life.begin_ns >= end_ns and not (is_short and is_joined and is_near):
                yield _bar(group, number)
                group = []
        end_ns = max(end_ns, life.end_ns) if group else life.end_ns
        group.append(life)
    if group:
        yield _bar(group, number)


def _bar(group: Sequence[Span], number: int) -> LaneBar:
    program = Counter(life.program for life in group).most_common(1)[0][0]
    about = group[0].about if len(group) == 1 else f"{len(group)} processes, most of them {program}"
    end_ns = max(life.end_ns for life in group)
    return LaneBar(number, group[0].begin_ns, end_ns, program, about, len(group))
