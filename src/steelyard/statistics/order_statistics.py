"""The median with its exact interval by order statistics.

The number of values below the true median is binomial with one half, whatever the distribution.
"""

import numpy as np

from steelyard.statistics.signed_rank import Array, Estimate


def median(values: Array, *, alpha: float = 0.05) -> Estimate:
    """The median with its 1 - alpha interval. Shape: n values, n >= 1; with too few there is no interval."""
    ordered = np.sort(values)
    count = len(ordered)
    outside, chance = 0, 0.5**count
    tail = chance  # P(at most `outside` values below the true median)
    while tail <= alpha / 2:
        outside += 1
        chance *= (count - outside + 1) / outside
        tail += chance
    value = float(np.median(ordered))
    if outside == 0:
        return Estimate(value)
    return Estimate(value, float(ordered[outside - 1]), float(ordered[-outside]), 1 - alpha)


def around(value: float, values: Array) -> Estimate:
    """The value of all data together, with the interval of the median of the parts' own values, as far as it
    goes to that value."""
    found = median(values)
    if found.low is None or found.high is None:
        return Estimate(value)
    return Estimate(value, min(value, found.low), max(value, found.high), found.level)


def robust_deviation(values: Array) -> float:
    """1.4826 times the median absolute deviation: the standard deviation, were they normal."""
    return float(1.4826 * np.median(np.abs(values - np.median(values))))
