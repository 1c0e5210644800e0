"""Turns the trials' times into marks: few enough to be shown, whatever was measured."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median

from steelyard.analysis.model import PlotMark
from steelyard.analysis.observations import GROUP, TYPICAL, lenses_of
from steelyard.analysis.rows import ValueRow

_MOST = 100  # of one cell, metric and system: with more blocks, one mark stands for neighbouring blocks


def of(values: Iterable[ValueRow], lenses: Mapping[tuple[str, str], str]) -> tuple[PlotMark, ...]:
    """The marks of everything that is not a curve; `lenses` selects the number that stands for a trial. With
    several copies everything is divided by their number, as in the comparison.
    """
    by_key: dict[tuple[str, str], list[ValueRow]] = defaultdict(list)
    for row in values:
        if row.point is None:
            by_key[row.cell, row.metric].append(row)
    marks = []
    for (cell, metric), rows in sorted(by_key.items()):
        width = -(-(max(row.block for row in rows) + 1) // _MOST)
        by_mark: dict[tuple[str, int], list[ValueRow]] = defaultdict(list)
        for row in rows:
            by_mark[row.system, row.block // width].append(row)
        for (system, number), members in sorted(by_mark.items()):
            lens = lenses.get((cell, metric), TYPICAL)
            value = median(_number(row, lens) for row in members)
            low = min(row.low / row.copies for row in members)
            high = max(row.high / row.copies for row in members)
            if min(value, low) > 0:
                marks.append(PlotMark(cell, metric, system, number, width, value, low, high))
    return tuple(marks)


def _number(row: ValueRow, lens: str) -> float:
    number = lenses_of(row)[lens]
    return number if lens == GROUP else number / row.copies  # a group's time is divided already
