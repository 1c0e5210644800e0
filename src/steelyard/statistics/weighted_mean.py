"""The weighted mean of many metrics' differences, with its error: what a geometric mean of ratios rests on.

Metrics may have different numbers of pairs. What went wrong together counts together: differences of one
trial, or of one boot, are a cluster, and the error is taken from the sums over clusters (Liang and Zeger
1986), with Satterthwaite's degrees of freedom (1946).
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.statistics import moderation
from steelyard.statistics.signed_rank import Estimate


@dataclass(frozen=True, slots=True)
class WeightedPart:
    """One metric: its weight (all together: 1), its own estimate, and the differences that it rests on,
    each with the name of what it shares its luck with."""

    weight: float
    centre: float
    differences: Sequence[float]
    clusters: Sequence[Hashable]


def estimate(parts: Sequence[WeightedPart], *, alpha: float) -> Estimate:
    """The mean with its 1 - alpha interval; without one where no metric has two differences. A metric
    with a single difference is taken to scatter like the worst of the others."""
    value = sum(one.weight * one.centre for one in parts)
    sums = _sums_of_clusters([one for one in parts if len(one.differences) > 1])
    if not sums:
        return Estimate(value)
    shares = np.array(list(sums.values())) ** 2
    worst = max(float(np.var(one.differences, ddof=1)) for one in parts if len(one.differences) > 1)
    alone = sum(one.weight**2 * worst for one in parts if len(one.differences) == 1)
    error = math.sqrt(float(shares.sum()) + alone)
    if error == 0:
        return Estimate(value, value, value, 1 - alpha)
    squares = float((shares**2).sum())
    freedom = max(1.0, float(shares.sum()) ** 2 / squares - 1) if squares else 1.0
    reach = moderation.quantile(freedom, alpha) * error
    return Estimate(value, value - reach, value + reach, 1 - alpha)


def _sums_of_clusters(parts: Sequence[WeightedPart]) -> Mapping[Hashable, float]:
    """The pull of each cluster's differences on the mean."""
    sums: dict[Hashable, float] = defaultdict(float)
    for one in parts:
        count = len(one.differences)
        mean = float(np.mean(one.differences))
        scale = one.weight / math.sqrt(count * (count - 1))
        for difference, cluster in zip(one.differences, one.clusters, strict=True):
            sums[cluster] += scale * (difference - mean)
    return sums
