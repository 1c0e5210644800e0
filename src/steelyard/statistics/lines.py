"""The size of a cache line, and how many pages the translation caches reach, each from two latencies.

Line: of two accesses a stride apart, the second is cheap while both are in one line. The line is the largest
stride at which an access takes RISE times as long as at half of it, which holds whether two accesses share a
line or as many as fit. After McVoy and Staelin (1996). Condition: strides in doublings, an area beyond the
caches. It misleads where lines are fetched in pairs, for two of them may pass for one.

Reach: a chase over one line in each of many pages, less a chase over as many lines side by side, is what
translation costs beyond its caches. Steps are sought (capacities.py) in that excess, taken as an addition to
the fastest access. Not in the ratio of the two: that falls again where both leave a data cache, and the step
is then missed or misplaced by an octave. It misleads where pages fall into a data cache's sets less evenly
than lines side by side do: near the size of such a cache, look at both curves.
"""

from dataclasses import dataclass

import numpy as np

from steelyard.statistics import capacities, resampling
from steelyard.statistics.signed_rank import Array, Estimate

RISE = 1.4  # a line shared by two halves its cost: 2, less what a hit costs and a prefetcher saves
_LEAST = 0.1  # of the fastest access: noise may make the excess negative, and its logarithm is taken


@dataclass(frozen=True, slots=True)
class LineSize:
    """A line's size in bytes, by the pooled curve, and the share of trials whose own curve says the same."""

    size: Estimate
    agreement: float


def line(
    strides: Array, curves: Array, *, chance: np.random.Generator, alpha: float = 0.05
) -> LineSize | None:
    """The line; None where no doubling of the stride makes a RISE. Shape of the curves: trials x strides.

    The interval holds the sizes that resampled trials give; with fewer trials than resampling.FEWEST, or
    where a resample has no RISE more often than alpha, there is none.
    """
    size = _largest_rise(strides, resampling.pooled(curves))
    if size is None:
        return None
    agreement = float(np.mean([_largest_rise(strides, curve) == size for curve in curves]))
    if len(curves) < resampling.FEWEST:
        return LineSize(Estimate(size), agreement)
    redrawn = [_largest_rise(strides, one) for one in resampling.redrawn(curves, chance)]
    sizes = np.array([one for one in redrawn if one is not None])
    if len(sizes) < (1 - alpha) * len(redrawn):
        return LineSize(Estimate(size), agreement)
    low = float(np.quantile(sizes, alpha / 2, method="lower"))
    high = float(np.quantile(sizes, 1 - alpha / 2, method="higher"))
    return LineSize(Estimate(size, min(low, size), max(high, size), 1 - alpha), agreement)


def tlb_reach(
    pages: Array, sparse: Array, dense: Array, *, chance: np.random.Generator, alpha: float = 0.05
) -> Estimate | None:
    """The number of pages from which their translation costs; None if it does nowhere.

    Shape: n numbers of pages, n >= 6, ascending; of latencies trials x n, for one line in each page, and
    for as many lines side by side.
    """
    fastest = resampling.pooled(dense).min()
    relative = np.maximum(fastest + sparse - dense, _LEAST * fastest) / fastest
    estimate = capacities.estimate(pages, relative, chance=chance, alpha=alpha)
    return estimate.onsets[0] if estimate.onsets else None


def _largest_rise(strides: Array, latencies: Array) -> float | None:
    at = dict(zip(strides.tolist(), latencies.tolist(), strict=True))
    rises = [stride for stride, latency in at.items() if latency > RISE * at.get(stride / 2, np.inf)]
    return max(rises, default=None)
