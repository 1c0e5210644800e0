"""Compares what work takes alone with what it takes in turns, between the others' work.

A trial whose batches took turns ends with one long turn. In the second half of that its process has regained
what the others' work had taken from it, caches and branch predictors. The last batches in turns are compared
with it, because they came just before.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.analysis import comparison
from steelyard.analysis.model import Alone, Comparison
from steelyard.analysis.observations import Key, Observations
from steelyard.analysis.remarks import OtherAlone, OtherLevel, OtherLevels, Remark
from steelyard.analysis.rows import AloneRow
from steelyard.statistics import signed_rank
from steelyard.statistics.signed_rank import Array, Estimate

_MOST = 0.02  # a level or a ratio that differs by less is not worth a word
_NEAR = 4  # of the batches in turns, this part is compared: the last ones
_ERRORS = 0.05  # that any interval of an experiment misses
_ByBlock = Mapping[int, AloneRow]


def all_of(observations: Observations) -> tuple[Alone, ...]:
    """Of each cell whose batches took turns, and system, the level alone, and the ratio to the baseline."""
    found: dict[Key, dict[str, dict[int, AloneRow]]] = defaultdict(lambda: defaultdict(dict))
    for row in observations.rows.alone:
        found[row.cell, row.metric][row.system][row.block] = row
    intervals = sum(2 * len(by_system) - 1 for by_system in found.values())
    return tuple(
        one
        for key in observations.cells_and_metrics()
        if key in found
        for one in _of_cell(observations, key, found[key], alpha=_ERRORS / intervals)
    )


def _of_cell(
    observations: Observations, key: Key, found: Mapping[str, _ByBlock], *, alpha: float
) -> Iterator[Alone]:
    cell, baseline = observations.cells[key[0]], found.get(observations.baseline, {})

    def estimate(by_block: Mapping[int, float], *of: _ByBlock) -> Estimate | None:
        units = _units(by_block, [rows for rows in of if _boots(observations, rows)])
        return comparison.exp(signed_rank.estimate(units, alpha=alpha)) if len(units) else None

    for system in observations.names:
        if rows := found.get(system, {}):
            level = estimate({block: _level(one) for block, one in rows.items()}, rows)
            assert level is not None
            ratio = shift = None
            if system != observations.baseline:
                both = [(block, baseline[block], rows[block]) for block in rows.keys() & baseline.keys()]
                ratio, shift = (
                    estimate({block: of(base) - of(one) for block, base, one in both}, baseline, rows)
                    for of in (_log_alone, _level)
                )
            yield Alone(
                system, cell.workload, cell.parameters, key[0], key[1], len(rows), level, ratio, shift
            )


def _boots(observations: Observations, rows: _ByBlock) -> bool:
    return any(one.system in observations.boot_systems for one in rows.values())


def _units(by_block: Mapping[int, float], booted: Sequence[_ByBlock]) -> Array:
    """The units of replication: the means of what was measured in the same boots, if there were several, else
    the blocks."""
    by_boots: dict[tuple[int, ...], list[float]] = defaultdict(list)
    for block, number in by_block.items():
        by_boots[tuple(rows[block].boot for rows in booted)].append(number)
    if len(by_boots) > 1:
        return np.array([np.mean(numbers) for numbers in by_boots.values()])
    return np.array(list(by_block.values()))


def _level(row: AloneRow) -> float:
    """The time alone over that in turns, on the log scale."""
    near = row.in_turns_ns[-max(1, len(row.in_turns_ns) // _NEAR) :]
    return _log_alone(row) - math.log(float(np.median(near)) / row.operations)


def _log_alone(row: AloneRow) -> float:
    return math.log(float(np.median(row.alone_ns[len(row.alone_ns) // 2 :])) / row.operations)


def _is_apart(one: Estimate | None) -> bool:
    """True if that ratio of times differs from 1 for certain, by more than is worth a word."""
    if one is None or one.low is None or one.high is None:
        return False
    return one.high < 1 / (1 + _MOST) or one.low > 1 + _MOST


def worth_a_word(alone: Sequence[Alone]) -> list[Alone]:
    """All systems of the cells where it makes a difference on one of them."""
    cells = {one.cell for one in alone if _is_apart(one.level) or _is_apart(one.shift)}
    return [one for one in alone if one.cell in cells]


def remarked(comparisons: Sequence[Comparison], alone: Iterable[Alone]) -> Iterator[Comparison]:
    """The comparisons, with a remark on each whose ratio is another one alone."""
    by_place = {(one.cell, one.metric, one.system): one for one in alone}
    for each in comparisons:
        one = by_place.get((each.cell, each.metric, each.system))
        ratio = one.ratio if one is not None and _is_apart(one.shift) else None
        if ratio is None or ratio.low is None or ratio.high is None:
            yield each
        else:
            remark = OtherAlone(ratio.value, ratio.low, ratio.high)
            yield replace(each, remarks=(*each.remarks, remark))


def remarks(alone: Iterable[Alone]) -> Iterator[Remark]:
    """The cells of which some system's level alone is another one, the farthest first."""
    changes: dict[str, float] = {}
    for one in alone:
        if _is_apart(one.level):
            changes[one.cell] = max(changes.get(one.cell, 0.0), one.level.value - 1, key=abs)
    if changes:
        ordered = sorted(changes.items(), key=lambda each: -abs(each[1]))
        yield OtherLevels(tuple(OtherLevel(cell, change) for cell, change in ordered))
