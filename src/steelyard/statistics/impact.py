"""How much less the watched do while they are watched: measured, by windows with the hook and without it.

Neighbouring windows, one of each kind, make a pair, and what drifts touches both. The figure is work per
processor time with the hook over that without it (sums over sums, so that no window counts more than the
time it holds). The interval: whole pairs drawn again, percentiles, at the level that makes it as wide as
Student's for so few (Efron, 1979; Hesterberg, 2015). Condition: FEWEST pairs. It misleads where the work
goes in steps as long as the windows, or where what is counted as work is not what the watched are there for.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from steelyard.statistics import student
from steelyard.statistics.signed_rank import Array, Estimate

FEWEST = 6
_RESAMPLES = 2000

Rated = tuple[float, float]  # work, and the processor time that it took


def ratio(pairs: Sequence[tuple[Rated, Rated]], *, seed: int = 0, level: float = 0.95) -> Estimate | None:
    """The rate of the first of each pair over the second's; below 1: less was done with the hook. None where
    either did nothing; without an interval for fewer than FEWEST pairs, or where a drawing holds no work."""
    rows = np.array(pairs, dtype=float).reshape(len(pairs), 4)
    value = _ratios(rows.sum(axis=0, keepdims=True))[0]
    if not value > 0:
        return None
    if len(pairs) < FEWEST:
        return Estimate(float(value))
    chance = np.random.default_rng(seed)
    count = len(pairs)
    draws = _ratios(np.stack([rows[chance.integers(0, count, count)].sum(axis=0) for _ in range(_RESAMPLES)]))
    if not np.all(draws > 0):
        return Estimate(float(value))
    reach = math.sqrt(count / (count - 1)) * student.reach(count - 1, level=level)
    tail = NormalDist().cdf(-reach)
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Estimate(float(value), float(low), float(high), level)


def _ratios(sums: Array) -> Array:
    """The ratios of rows of work, time, work, time; not a number where one of them is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Array = np.where(
            np.all(sums > 0, axis=1), sums[:, 0] / sums[:, 1] / (sums[:, 2] / sums[:, 3]), np.nan
        )
    return ratios
