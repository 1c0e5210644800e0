"""What pairs of trials say of a difference: p-values and intervals from two pairs on.

Two tests work together. With few pairs only the size of the differences can tell (a rank test of four pairs
has no p-value below 12 %), so Student's t speaks, with a moderated variance, and from 8 pairs on without
the differences at either end; with many pairs the signed-rank test needs no shape of the noise, and speaks
alone:

    2 to 7 units     t
    8 to 31          both, each at half of the level
    32 and more      signed-rank

Below 12 units t claims only where all differences point the same way: two modes of a metric make most of
few pairs agree. And it claims only where each system has gone first in some pair: who goes first may pay for
both. Everything is on the log scale, positive where the system is better than the baseline.
"""

from functools import lru_cache

import numpy as np

from steelyard.statistics import levels, moderation, signed_rank
from steelyard.statistics.moderation import Mean, Prior
from steelyard.statistics.signed_rank import Array, Estimate

_AGREE_BEFORE = 12  # differences: fewer must all point the same way for t to claim
_BOTH_FROM, RANKS_FROM = 8, 32
_OF_T, _OF_RANKS = 0.5, 0.5  # how the two tests share a level between those
_EQUAL_FROM = 6  # fewer units cannot show that two systems are equal


def p_difference(differences: Array, mean: Mean, *, both_orders: bool) -> float:
    """P of differences at least so far from 0, if there were none; of this look alone."""
    count = len(differences)
    if count < 2:
        return 1.0
    agree = count >= _AGREE_BEFORE or bool((differences > 0).all() or (differences < 0).all())
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
    return _estimate(differences, mean, levels.usual(len(differences)))


def claimed(differences: Array, mean: Mean, *, rate: float, least: float) -> Estimate:
    """The same with the interval of a claimed difference (Benjamini and Yekutieli 2005): the level is that of
    a claim times the share of claims among the comparisons, and half of the width is at least `least` where
    only t is used.
    """
    return _estimate(differences, mean, levels.claim(len(differences)) * rate, least=least)


def sized(differences: Array, mean: Mean, *, least: float) -> Estimate:
    """The same with the interval in which a claimed difference is quoted: 95 % at the look where measuring
    stops, because it is known well enough or time is over."""
    return _estimate(differences, mean, levels.SIZE, least=least)


def plain(differences: Array) -> Estimate:
    """The usual interval of a figure that has no other metrics beside it: Student's own variance."""
    if len(differences) < 2:
        return signed_rank.estimate(differences, alpha=levels.usual(len(differences)))
    return usual(differences, moderation.moderated(differences, Prior()))


def _estimate(differences: Array, mean: Mean, alpha: float, *, least: float = 0.0) -> Estimate:
    """The estimate from the differences that the tests of their number do not reject at that level. Both
    intervals contain the estimate, so they always overlap.
    """
    is_of_ranks = len(differences) >= RANKS_FROM
    centre, low, high = _by_ranks(differences.tobytes(), alpha if is_of_ranks else alpha * _OF_RANKS)
    if is_of_ranks and low is not None:
        return Estimate(centre, low, high, 1 - alpha)
    middles = min(centre, mean.value), max(centre, mean.value)
    if low is None or high is None:  # so few differences have none at that level
        reach = max(mean.reach(alpha), least)
        return Estimate(centre, middles[0] - reach, middles[1] + reach, 1 - alpha)
    reach = mean.reach(alpha * _OF_T)
    return Estimate(centre, max(low, middles[0] - reach), min(high, middles[1] + reach), 1 - alpha)


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
