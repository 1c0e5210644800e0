"""How many blocks a question needs, and what question so many blocks can answer."""

import math
from statistics import NormalDist

import numpy as np

from steelyard.statistics.signed_rank import Array

_NORMAL = NormalDist()


def robust_deviation(differences: Array) -> float:
    """1.4826 times the median absolute deviation: the standard deviation, were they normal."""
    return float(1.4826 * np.median(np.abs(differences - np.median(differences))))


def smallest_difference(deviation: float, blocks: int) -> float:
    """The difference, as a fraction, found nine times in ten at 5 % by so many blocks.

    exp((z_.975 + z_.9) s / sqrt(n)) - 1, z in place of t: for n >= 8 or so.
    """
    reach = _NORMAL.inv_cdf(0.975) + _NORMAL.inv_cdf(0.9)
    return math.expm1(reach * deviation / math.sqrt(blocks))


def blocks_for_equivalence(deviation: float, margin: float) -> int:
    """The blocks that show two equal systems to be equal within the margin, nine times in ten.

    ((z_.95 + z_.95) s / ln(1 + m))^2, beta halved because there are two sides.
    """
    reach = 2 * _NORMAL.inv_cdf(0.95)
    return max(6, math.ceil((reach * deviation / math.log1p(margin)) ** 2))
