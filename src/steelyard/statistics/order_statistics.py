"""The median with its exact interval by order statistics.

The number of values below the true median is binomial with one half, whatever the distribution.
"""

import math

import numpy as np

from steelyard.statistics.signed_rank import Array, Estimate

_DEVIATIONS = 30  # what is further out than that many has a chance of 1e-195: it counts for nothing


def median(values: Array, *, alpha: float = 0.05) -> Estimate:
    """The median with its 1 - alpha interval. Shape: n values, n >= 1; with too few there is no interval."""
    ordered = np.sort(values)
    count = len(ordered)
    # Of many values the chance of few below the median is no number that a machine has (0.5 ** 1075 is 0).
    outside = max(0, int(count / 2 - _DEVIATIONS * math.sqrt(count) / 2))
    chance = math.exp(_log_of_choices(count, outside) - count * math.log(2))
    tail = chance  # P(at most `outside` values below the true median)
    while tail <= alpha / 2:
        outside += 1
        chance *= (count - outside + 1) / outside
        tail += chance
    value = float(np.median(ordered))
    if outside == 0:
        return Estimate(value)
    return Estimate(value, float(ordered[outside - 1]), float(ordered[-outside]), 1 - alpha)


def _log_of_choices(count: int, chosen: int) -> float:
    return math.lgamma(count + 1) - math.lgamma(chosen + 1) - math.lgamma(count - chosen + 1)


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
