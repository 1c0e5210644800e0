"""Tests whether one cost's paired differences are on one side of 0, and estimates their size, from two pairs
on.

Like `paired` for times, but with Student's own variance: costs have their own units, and there are no other
metrics to learn the noise from. Counts may have no scatter at all, so the mean must also exceed the noise of
counting.
"""

import math

import numpy as np

from steelyard.statistics import levels, moderation, paired
from steelyard.statistics.moderation import Prior
from steelyard.statistics.signed_rank import Array, Estimate


def p_value(differences: Array, *, noise: float = 0.0) -> float:
    """P of differences at least so far from 0, two-sided, for all looks together: to be held against 5 %.

    `noise` is the variance that each difference has at least, by the way it was counted.
    """
    pairs = len(differences)
    if pairs < 2 or not differences.any():
        return 1.0
    mean = moderation.moderated(differences, Prior())
    p = paired.p_difference(differences, mean, both_orders=True)
    if noise and pairs < paired.RANKS_FROM:
        p = max(p, math.erfc(abs(float(np.mean(differences))) / math.sqrt(2 * noise / pairs)))
    return levels.widened(p, pairs)


def estimate(differences: Array) -> Estimate:
    """The Hodges-Lehmann estimate with an interval that holds at every look; none with one pair."""
    return paired.plain(differences)
