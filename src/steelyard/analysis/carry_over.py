"""Estimates carry-over: the effect of a trial on the duration of the next one.

The first trial of a block follows a trial of another cell; every other trial follows one of its own cell. The
order of systems is balanced, so a heavy neighbour (a memory hog, many forks) hits each system equally often,
but only on average. So its effect is estimated from all trials that came right after it, and the resulting
shift of a comparison is checked against the comparison's margin.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from steelyard.analysis.model import Comparison
from steelyard.analysis.observations import Observations
from steelyard.analysis.remarks import CarryOver, CarryOverBalanced, CarryOverMoved, Remark
from steelyard.statistics import levels, moderation, signed_rank
from steelyard.statistics.moderation import Prior
from steelyard.statistics.signed_rank import Estimate

_TRIALS_LEAST = 8  # after a cell, to know what it leaves behind
_LEAST = math.log1p(0.01)  # a smaller effect is not worth a word
_Place = tuple[str, str, int]  # a system, a cell, a block


def _effects(observations: Observations, before: Mapping[_Place, str]) -> dict[str, CarryOver]:
    """The cells after which trials take significantly more or less time than usual."""
    after: dict[str, list[float]] = defaultdict(list)
    for place, residual in _residuals(observations).items():
        if place in before:
            after[before[place]].append(residual)
    known = {cell: np.array(found) for cell, found in after.items() if len(found) >= _TRIALS_LEAST}
    found = {}
    for cell, residuals in known.items():
        centre = signed_rank.centre(residuals)
        mean = moderation.moderated(residuals, Prior())
        reach = mean.reach(levels.usual(len(residuals)) / len(known))
        if abs(centre) - reach > _LEAST and abs(mean.value) - reach > _LEAST:
            found[cell] = CarryOver(
                cell, Estimate(centre, centre - reach, centre + reach, 0.95), len(residuals)
            )
    return found


def remarks(observations: Observations, comparisons: Sequence[Comparison]) -> Iterator[Remark]:
    """Each effect, and which comparisons it may have moved by more than half of their margin."""
    before = _predecessors(observations)
    found = _effects(observations, before)
    if not found:
        return
    yield from sorted(found.values(), key=lambda one: -abs(one.effect.value))
    shifts = [(abs(_shift(observations, one, found, before)), one) for one in comparisons if one.ratio]
    moved = [(shift, one) for shift, one in shifts if shift > math.log1p(one.margin) / 2]
    if not moved:
        yield CarryOverBalanced()
        return
    shift, most = max(moved, key=lambda each: each[0])
    yield CarryOverMoved(len(moved), most.cell, most.system, shift)


def _predecessors(observations: Observations) -> dict[_Place, str]:
    """The preceding cell, for each trial that came right after a trial of another cell."""
    ordered = sorted(observations.rows.trials, key=lambda one: one.began)
    return {
        (one.system, one.cell, one.block): last.cell
        for last, one in itertools.pairwise(ordered)
        if last.cell != one.cell
    }


def _residuals(observations: Observations) -> dict[_Place, float]:
    """How much longer each trial took than is usual for its cell and system, on the log scale, by the first
    metric that has a time.
    """
    found: dict[_Place, float] = {}
    for label, metric in reversed(observations.cells_and_metrics()):
        if not observations.is_in_mean(label, metric):
            continue
        lens = observations.lens(label)
        for system, by_block in observations.values.get((label, metric), {}).items():
            logs = {block: math.log(value.lenses[lens]) for block, value in by_block.items()}
            middle = float(np.median(list(logs.values()))) if logs else 0.0
            found |= {(system, label, block): log - middle for block, log in logs.items()}
    return found


def _shift(
    observations: Observations,
    one: Comparison,
    found: Mapping[str, CarryOver],
    before: Mapping[_Place, str],
) -> float:
    """The possible bias of the comparison: the mean over its blocks of the carry-over of each side."""
    blocks = observations.blocks_of_both((one.cell, one.metric), one.system)
    shifts = [
        sum(
            sign * found[cell].effect.value
            for sign, system in ((1, one.system), (-1, one.baseline))
            for cell in [before.get((system, one.cell, block), "")]
            if cell in found
        )
        for block in blocks
    ]
    return float(np.mean(shifts)) if shifts else 0.0
