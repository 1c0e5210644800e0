"""How many standard errors Student's distribution reaches for an interval.

For whole degrees of freedom the distribution is a finite sum (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4);
beyond _MANY degrees the normal one with its correction differs by less than 1e-6 (26.7.5). Written out here
because importing SciPy for it would cost a short watch more than everything else that it reckons.
"""

import math
from functools import cache
from statistics import NormalDist

_MANY = 300


@cache
def reach(freedom: int, *, level: float = 0.95) -> float:
    """The t with P(|T| < t) = level, for that many degrees of freedom, 1 or more."""
    if freedom > _MANY:
        z = NormalDist().inv_cdf((1 + level) / 2)
        first = (z**3 + z) / 4
        second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        return z + first / freedom + second / freedom**2 + third / freedom**3
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if _within(middle, freedom) < level:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """P(|T| < t) for t = sqrt(freedom) tan(angle)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for k in range(freedom // 2):
        total += term
        term *= cosine * cosine * ((2 * k + 2) / (2 * k + 3) if odd else (2 * k + 1) / (2 * k + 2))
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
