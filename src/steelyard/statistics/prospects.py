"""How many units an open comparison needs until it is settled, if its noise and its difference stay as
they are.

For planning only: which cell is worth the next seconds, and what a report says of what is not settled. No
verdict depends on it.
"""

import math
from statistics import NormalDist

from steelyard.statistics import guard, levels, moderation, paired, trimmed
from steelyard.statistics.moderation import Mean

_NORMAL = NormalDist()
_CLAIMS_LEAST = 5  # as many claims are hoped for in a study, at the level of a claim


def units_needed(
    mean: Mean, units: int, *, far: float, spread: float, prior: float, claims: int, comparisons: int
) -> int | None:
    """The first look at which the comparison would be firm; None if none of those to come would do.

    `far` is the margin on the log scale, `spread` what the guard has seen, `prior` the degrees of freedom
    that the other metrics count for, `claims` how many of the `comparisons` are claimed so far.
    """
    share = min(1.0, max(claims, _CLAIMS_LEAST) / comparisons)
    return next(
        (
            look
            for look in levels.after(units)
            if _differs(mean, look, far, spread, prior, share) or _is_equal(mean, look, far, prior)
        ),
        None,
    )


def _differs(mean: Mean, look: int, far: float, spread: float, prior: float, share: float) -> bool:
    """Whether the interval of a claim at that look would lie beyond the margin, and the guard let it pass."""
    if abs(mean.value) - _reach(mean, look, prior, levels.claim(look) * share) <= far:
        return False
    return look > guard.LAST or abs(mean.value) - mean.deviation >= guard.limit(look, spread)


def _is_equal(mean: Mean, look: int, far: float, prior: float) -> bool:
    return look >= 6 and abs(mean.value) + _reach(mean, look, prior, 0.6 * levels.claim(look)) < far


def _reach(mean: Mean, look: int, prior: float, alpha: float) -> float:
    """Half of the width of the interval at that look; that of ranks is about as wide as the normal one."""
    error = mean.deviation / math.sqrt(trimmed.kept(look))
    if look >= paired.RANKS_FROM:
        return -_NORMAL.inv_cdf(alpha / 2) * error
    return moderation.quantile(prior + trimmed.freedom(look), alpha) * error
