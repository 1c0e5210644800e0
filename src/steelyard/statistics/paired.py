"""What pairs of trials say of a difference: p-values and intervals from two pairs on.

Two tests work together. With few pairs only the size of the differences can tell (a rank test of four pairs
has no p-value below 12 %), so Student's t speaks, with a moderated variance; with many pairs the signed-rank
test needs no shape of the noise, and speaks alone:

    2 to 7 units     t, and all differences point the same way
    8 to 15          t at a fifth of the level, signed-rank at four fifths
    16 and more      signed-rank

t claims only where each system has gone first in some pair: who goes first may pay for both.
Everything is on the log scale, positive where the system is better than the baseline.
"""

from functools import lru_cache

import numpy as np

from steelyard.statistics import levels, moderation, signed_rank
from steelyard.statistics.moderation import Mean, Prior
from steelyard.statistics.signed_rank import Array, Estimate

_BOTH_FROM, RANKS_FROM = 8, 16
_OF_T, _OF_RANKS = 0.2, 0.8  # how the two tests share a level between those
_EQUAL_FROM = 6  # fewer units cannot show that two systems are equal


def p_difference(differences: Array, mean: Mean, *, both_orders: bool) -> float:
    """P of differences at least so far from 0, if there were none; of this look alone."""
    count = len(differences)
    if count < 2:
        return 1.0
    agree = count >= _BOTH_FROM or bool((differences > 0).all() or (differences < 0).all())
    by_t = mean.p_two_sided() if agree and both_orders else 1.0
    if count < _BOTH_FROM:
        return by_t
    by_ranks = _p_two_sided(differences.tobytes())
    return by_ranks if count >= RANKS_FROM else min(1.0, by_t / _OF_T, by_ranks / _OF_RANKS)


def p_equivalence(differences: Array, mean: Mean, far: float) -> float:
    """P of differences at least so near to 0, if their centre were `far` away; of this look alone."""
    count = len(differences)
    if count < _EQUAL_FROM:
        return 1.0
    by_t = mean.p_outside(far)
    if count < _BOTH_FROM:
        return by_t
    by_ranks = _p_outside(differences.tobytes(), far)
    return by_ranks if count >= RANKS_FROM else min(1.0, by_t / _OF_T, by_ranks / _OF_RANKS)


def usual(differences: Array, mean: Mean) -> Estimate:
    """The Hodges-Lehmann estimate and the interval that holds at all looks together, 95 %."""
    centre, low, high = _by_ranks(differences.tobytes(), levels.USUAL)
    if len(differences) >= _BOTH_FROM and low is not None:
        return Estimate(centre, low, high, 1 - levels.USUAL)
    return _about(centre, mean, mean.reach(levels.USUAL), levels.USUAL)


def claimed(differences: Array, mean: Mean, *, rate: float, least: float) -> Estimate:
    """The same with the interval that a claimed difference deserves (Benjamini and Yekutieli 2005): the
    level is that of a claim times the share of claims among the comparisons, and half of the width is at
    least `least`."""
    alpha = levels.claim(len(differences)) * rate
    centre, low, high = _by_ranks(differences.tobytes(), alpha)
    if len(differences) >= _BOTH_FROM and low is not None:
        return Estimate(centre, low, high, 1 - alpha)
    return _about(centre, mean, max(mean.reach(alpha), least), alpha)


def plain(differences: Array) -> Estimate:
    """The usual interval of a figure that has no other metrics beside it: Student's own variance."""
    if len(differences) < 2:
        return signed_rank.estimate(differences, alpha=levels.USUAL)
    return usual(differences, moderation.moderated(differences, Prior()))


def _about(centre: float, mean: Mean, reach: float, alpha: float) -> Estimate:
    low, high = min(centre, mean.value) - reach, max(centre, mean.value) + reach
    return Estimate(centre, low, high, 1 - alpha)


# The same units are judged at every look until they become more, so what ranks say is remembered.


@lru_cache(maxsize=1 << 14)
def _p_two_sided(differences: bytes) -> float:
    return signed_rank.p_two_sided(np.frombuffer(differences))


@lru_cache(maxsize=1 << 14)
def _p_outside(differences: bytes, far: float) -> float:
    units = np.frombuffer(differences)
    return max(signed_rank.p_greater(units, than=-far), signed_rank.p_greater(-units, than=-far))


@lru_cache(maxsize=1 << 14)
def _by_ranks(differences: bytes, alpha: float) -> tuple[float, float | None, float | None]:
    estimate = signed_rank.estimate(np.frombuffer(differences), alpha=alpha)
    return estimate.value, estimate.low, estimate.high
