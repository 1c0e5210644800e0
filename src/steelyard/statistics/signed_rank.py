"""The Hodges-Lehmann estimate of paired differences, its exact interval, and the signed-rank p-value.

Hodges and Lehmann (1963); the interval inverts Wilcoxon's signed-rank test. Valid for any number of
pairs whose differences are symmetric about their centre, and the random order of systems within a
block makes them so when there is no difference. Checked against published critical values in tests.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval. `level` is the interval's; no interval exists where it is None."""

    value: float
    low: float | None = None
    high: float | None = None
    level: float | None = None


@cache
def distribution(pairs: int) -> tuple[float, ...]:
    """P(W = w) for w = 0 .. n(n+1)/2, W the sum of the ranks of positive differences, under symmetry.

    By convolution: rank i is in the sum or not, each with probability one half.
    """
    chance = np.zeros(pairs * (pairs + 1) // 2 + 1)
    chance[0] = 1.0
    for rank in range(1, pairs + 1):
        shifted = np.zeros_like(chance)
        shifted[rank:] = chance[:-rank]
        chance = (chance + shifted) / 2
    return tuple(chance)


def walsh_averages(differences: Array) -> Array:
    """The sorted means of all pairs of differences, each with itself included: n(n+1)/2 of them."""
    first, second = np.triu_indices(len(differences))
    return np.sort((differences[first] + differences[second]) / 2)


def estimate(differences: Array, *, alpha: float) -> Estimate:
    """The Hodges-Lehmann estimate with its exact 1 - alpha interval.

    Shape: n differences, n >= 1. With too few pairs for the level there is no interval, and low, high
    and level are None: no other estimator takes its place.
    """
    averages = walsh_averages(differences)
    value = float(np.median(averages))
    cumulative = np.cumsum(distribution(len(differences)))
    outside = int(np.searchsorted(cumulative, alpha / 2 * (1 + 1e-12), side="right"))
    if outside == 0:
        return Estimate(value)
    return Estimate(value, float(averages[outside - 1]), float(averages[-outside]), 1 - alpha)


def p_greater(differences: Array, *, than: float = 0.0) -> float:
    """P of differences at least so far above `than`, if their centre were `than`: one-sided, exact.

    Differences equal to `than` are dropped; tied ones share their mean rank, and the distribution is that
    of the ranks as they are shared. 1.0 when nothing is left.
    """
    shifted = differences - than
    shifted = shifted[shifted != 0]
    if len(shifted) == 0:
        return 1.0
    sizes = np.abs(shifted)
    order = np.sort(sizes)
    # Twice the mean rank of those as large: a whole number.
    ranks = np.searchsorted(order, sizes, side="left") + 1 + np.searchsorted(order, sizes, side="right")
    statistic = int(ranks[shifted > 0].sum())
    if len(np.unique(order)) == len(order):
        return float(sum(distribution(len(order))[statistic // 2 :]))
    return float(_distribution_of(ranks)[statistic:].sum())


def _distribution_of(ranks: NDArray[np.int64]) -> Array:
    """Like `distribution`, for any whole numbers in place of the ranks 1 .. n."""
    chance = np.zeros(int(ranks.sum()) + 1)
    chance[0] = 1.0
    for rank in ranks:
        shifted = np.zeros_like(chance)
        shifted[rank:] = chance[: len(chance) - rank]
        chance = (chance + shifted) / 2
    return chance


def p_two_sided(differences: Array) -> float:
    """P of differences at least so far from 0 on either side, if their centre were 0."""
    return min(1.0, 2 * min(p_greater(differences), p_greater(-differences)))
