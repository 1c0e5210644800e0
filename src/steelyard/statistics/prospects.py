"""Predicts the effect of more units on a comparison, if its noise and its difference stay as they are.

It is for planning only: which cell deserves the next seconds, and the report's text on unsettled metrics. No
verdict depends on it.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

from steelyard.statistics import guard, levels, moderation, paired, trimmed
from steelyard.statistics.moderation import Mean

_NORMAL = NormalDist()
_CLAIMS_LEAST = 5  # as many claims are hoped for in a study, at the level of a claim
_EQUAL_FROM = 6  # units


@dataclass(frozen=True, slots=True)
class Outlook:
    """The state of a comparison after a number of units, and its goals; on the log scale."""

    mean: Mean
    units: int
    far: float  # the margin
    precision: float  # half of the widest interval that a claimed difference is to have
    if_equal: float  # and that of one that is not claimed
    spread: float  # what the guard has seen
    prior: float  # the degrees of freedom that the other metrics count for
    share: float  # of a claim's level
    is_claimed: bool

    def units_to_verdict(self) -> int | None:
        """The first look to come at which the comparison would be firm; None if none would do."""
        later = levels.after(self.units)
        return next((look for look in later if self.differs(look) or self.is_equal(look)), None)

    def units_to_size(self) -> int | None:
        """The first look to come at which the difference would be known well enough; None if none would do,
        or it need not be known."""
        later = (look for look in levels.after(self.units) if self.is_known(look))
        return next(
            (look for look in later if self._is_claimed_at(look) or math.isfinite(self.if_equal)), None
        )

    def _is_claimed_at(self, look: int) -> bool:
        return self.is_claimed or self.differs(look)

    def is_known(self, look: int) -> bool:
        """True if the interval that is shown at that look would be narrow enough."""
        if self._is_claimed_at(look):
            return self.size_reach(look) <= self.precision
        return self._reach(look, levels.usual(look)) <= self.if_equal

    def excess(self, units: float) -> float:
        """The width of the interval after this number of units, as the square root of one plus its ratio to
        the goal. So the widest get most of the time, but not all of it. The level is that of now: where that
        of later looks is stricter, the next units would seem to do harm, and none would ever come.
        """
        wanted = self.precision if self.is_claimed else min(self.far, self.if_equal)
        level = levels.SIZE if self.is_claimed else levels.usual(self.units)
        error = self.mean.error * math.sqrt(self.units / units)
        freedom = max(1.0, self.prior + units - 1)
        return math.sqrt(1 + moderation.quantile(freedom, level) * error / wanted)

    def differs(self, look: int) -> bool:
        """True if the interval of a claim at that look would lie beyond the margin, and the guard would let
        it pass.
        """
        if abs(self.mean.value) - self.claim_reach(look) <= self.far:
            return False
        least = abs(self.mean.value) - self.mean.deviation
        return look > guard.LAST or least >= guard.limit(look, self.spread)

    def is_equal(self, look: int) -> bool:
        """True if equivalence would be claimed at that look."""
        reach = self._reach(look, 0.6 * levels.claim(look))
        return look >= _EQUAL_FROM and abs(self.mean.value) + reach < self.far

    def claim_reach(self, look: int) -> float:
        """Half of the width of the interval that a claim rests on at that look."""
        return self._at_least(look, self._reach(look, levels.claim(look) * self.share))

    def size_reach(self, look: int) -> float:
        """Half of the width of the interval in which a claimed difference is quoted at that look."""
        return self._at_least(look, self._reach(look, levels.SIZE))

    def _at_least(self, look: int, reach: float) -> float:
        return max(reach, self.spread) if look <= guard.LAST else reach

    def _reach(self, look: int, alpha: float) -> float:
        """Half of the width of the interval at that look; the interval by ranks is about as wide as the
        normal one.
        """
        error = self.mean.deviation / math.sqrt(trimmed.kept(look))
        if look >= paired.RANKS_FROM:
            return -_NORMAL.inv_cdf(alpha / 2) * error
        return moderation.quantile(self.prior + trimmed.freedom(look), alpha) * error


def share_of_claims(claims: int, comparisons: int) -> float:
    """The factor on a claim's level for other claims, made or expected."""
    return min(1.0, max(claims, _CLAIMS_LEAST) / comparisons)
