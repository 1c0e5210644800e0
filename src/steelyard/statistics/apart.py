"""Whether paired differences lie on one side of 0, and by how much, from two pairs on.

Few pairs give the signed-rank test nothing to order, so up to 7 it is Student's t on the differences (1908),
from 8 on either of the two, and from 16 on the signed-rank test alone. The levels hold for looks at 2, 3, 4,
5, 6, 8, 12, 16, 24 and 32 pairs together; bench/why_errors.py simulates them.
"""

import math

import numpy as np
from scipy.special import stdtr, stdtrit

from steelyard.statistics import signed_rank
from steelyard.statistics.signed_rank import Array, Estimate

_RANKED_FROM, _RANKED_ALONE = 8, 16
_CLAIM_FEW, _CLAIM_MANY = 0.004, 0.011  # nominal levels of a look, below _RANKED_FROM pairs and from there on
_INTERVAL = 0.008  # of an interval, so that those of all looks hold together at 95 %


def p_value(differences: Array, *, noise: float = 0.0) -> float:
    """P of differences at least so far from 0, two-sided, widened for the looks: to be held against 5 %.

    `noise` is the variance that each difference has at least, by the way it was counted. With few pairs what
    is counted in whole numbers may scatter by nothing at all, so the mean must lie beyond that noise too.
    """
    pairs = len(differences)
    if pairs < 2:
        return 1.0
    if pairs >= _RANKED_ALONE:
        p = signed_rank.p_two_sided(differences)
    elif pairs >= _RANKED_FROM:
        p = min(_p_student(differences, noise) / 0.2, signed_rank.p_two_sided(differences) / 0.8)
    else:
        agree = bool(np.all(differences > 0) or np.all(differences < 0))
        p = _p_student(differences, noise) if agree else 1.0
    return min(1.0, p * 0.05 / (_CLAIM_FEW if pairs < _RANKED_FROM else _CLAIM_MANY))


def estimate(differences: Array) -> Estimate:
    """The Hodges-Lehmann estimate with an interval that holds at every look; none with one pair."""
    pairs = len(differences)
    if pairs >= _RANKED_FROM:
        return signed_rank.estimate(differences, alpha=_INTERVAL)
    middle = float(np.median(signed_rank.walsh_averages(differences)))
    if pairs < 2:
        return Estimate(middle)
    mean = float(differences.mean())
    half = float(stdtrit(pairs - 1, 1 - _INTERVAL / 2)) * _standard_error(differences)
    return Estimate(middle, min(mean, middle) - half, max(mean, middle) + half, 1 - _INTERVAL)


def _p_student(differences: Array, noise: float) -> float:
    mean = abs(float(differences.mean()))
    if mean == 0:
        return 1.0
    error = _standard_error(differences)
    by_scatter = 2 * float(stdtr(len(differences) - 1, -mean / error)) if error else 0.0
    by_noise = math.erfc(mean / math.sqrt(2 * noise / len(differences))) if noise else 0.0
    return max(by_scatter, by_noise)


def _standard_error(differences: Array) -> float:
    return float(differences.std(ddof=1)) / math.sqrt(len(differences))
