"""Judges all comparisons of a study together, because each is evidence of the others' noise, and each
claim costs the others some of their certainty.

A verdict is a function of the data alone: of the differences, in the order in which they were measured.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from steelyard.statistics import false_discovery, guard, levels, moderation, paired, signed_rank
from steelyard.statistics.moderation import Mean, Prior
from steelyard.statistics.signed_rank import Array, Estimate

RATE = 0.05  # of false claims among claims
_NO_MEAN = Mean(0.0, float("inf"), 1.0, float("inf"))


@dataclass(frozen=True)
class Pairs:
    """The pairs of one comparison: log values of both systems, one number per unit (a block, or a boot), in
    the order of measuring; larger is better. `family` names the comparisons beside which it is judged, `kind`
    those with similar noise.
    """

    baseline: Array
    system: Array
    both_orders: bool  # each of the two systems went first in some block
    family: Hashable
    kind: str = ""

    @cached_property
    def differences(self) -> Array:
        """Above 0 where the system is better."""
        return self.system - self.baseline

    @property
    def units(self) -> int:
        return len(self.baseline)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement on the pairs of one comparison, beside all others."""

    estimate: Estimate  # of the difference; a claimed one has the interval that the claim rests on
    shown: Estimate  # the same; a claimed one has the interval in which its size is quoted
    usual: Estimate  # with the interval that holds at all looks together
    p_adjusted: float  # for all looks and all comparisons
    is_claimed: bool  # a difference, at a false discovery rate of 5 %
    is_equivalent: bool  # none beyond the margin
    is_held_back: bool  # claimed by its p-value, but not larger than one system's own differences
    spread: float  # how far one system's values lie apart in this family, on the log scale
    mean: Mean


class Noise:
    """The noise of the comparisons of one study, after this number of units."""

    def __init__(self, members: Sequence[Pairs]) -> None:
        self._members = members
        self._priors: dict[tuple[int, str], Prior] = {}
        self._spreads: dict[tuple[Hashable, int], float] = {}
        self._families: dict[Hashable, list[Pairs]] = defaultdict(list)
        for one in members:
            self._families[one.family].append(one)

    def prior(self, units: int, kind: str = "") -> Prior:
        """The prior from the first units, up to this number, of every comparison of the kind."""
        if (units, kind) not in self._priors:
            known = [one.differences[:units] for one in self._members if one.kind == kind]
            self._priors[units, kind] = moderation.prior(known)
        return self._priors[units, kind]

    def spread(self, family: Hashable, units: int) -> float:
        """The distance between one system's values among the first units of the family."""
        if (family, units) not in self._spreads:
            members = self._families[family]
            values = [side[:units] for one in members for side in (one.baseline, one.system)]
            self._spreads[family, units] = guard.spread(values, metrics=len(members))
        return self._spreads[family, units]

    def mean(self, one: Pairs) -> Mean:
        if one.units < 2:
            return _NO_MEAN
        return moderation.moderated(one.differences, self.prior(one.units, one.kind))


@dataclass(frozen=True, slots=True)
class Judged:
    """All judgements, in the order of their comparisons, and what they share."""

    all: tuple[Judgement, ...]
    noise: Noise
    rate: float = field(default=0.0)  # the share of claims among the comparisons


def judge(members: Sequence[Pairs], margins: Sequence[float], *, noise: Noise | None = None) -> Judged:
    """Judges the comparisons together; `margins` are the smallest differences that matter, on the log scale.

    Families are corrected in two stages. With `noise` the noise is that of a larger study, of which these are
    parts; families are then those of `members` alone. Every comparison has at least one unit.
    """
    noise = noise or Noise(members)
    means = [noise.mean(one) for one in members]
    spreads = [noise.spread(one.family, one.units) if one.units <= guard.LAST else 0.0 for one in members]
    p_values = _adjusted(members, means)
    held = [
        one.units <= guard.LAST and guard.least(one.differences) < guard.limit(one.units, spread)
        for one, spread in zip(members, spreads, strict=True)
    ]
    candidates = [n for n, (p, back) in enumerate(zip(p_values, held, strict=True)) if p <= RATE and not back]
    claimed = _claimed(members, means, spreads, candidates)
    equal = _equivalent(members, means, margins)
    judgements = []
    for number, (one, mean) in enumerate(zip(members, means, strict=True)):
        usual = paired.usual(one.differences, mean) if one.units > 1 else _alone(one)
        shown = usual
        if number in claimed:
            shown = paired.sized(one.differences, mean, least=spreads[number])
        judgements.append(
            Judgement(
                claimed.get(number, usual),
                shown,
                usual,
                p_values[number],
                number in claimed,
                equal[number] and number not in claimed,
                p_values[number] <= RATE and held[number],
                spreads[number],
                mean,
            )
        )
    return Judged(tuple(judgements), noise, len(claimed) / max(1, len(members)))


def _claimed(
    members: Sequence[Pairs], means: Sequence[Mean], spreads: Sequence[float], candidates: Sequence[int]
) -> dict[int, Estimate]:
    """The candidates whose interval, widened for the number of claims, excludes 0: the two stages of the
    correction may select some that do not.
    """
    while True:
        rate = len(candidates) / max(1, len(members))
        shown = {
            n: paired.claimed(members[n].differences, means[n], rate=rate, least=spreads[n])
            for n in candidates
        }
        kept = [
            n
            for n, one in shown.items()
            if one.low is None or one.high is None or one.low > 0 or one.high < 0
        ]
        if len(kept) == len(candidates):
            return shown
        candidates = kept


def _alone(one: Pairs) -> Estimate:
    """One unit has a ratio, and no interval."""
    return signed_rank.estimate(one.differences, alpha=levels.usual(one.units))


def _adjusted(members: Sequence[Pairs], means: Sequence[Mean]) -> list[float]:
    """Two-sided p-values for all looks, corrected within and across families."""
    families: Mapping[Hashable, list[int]] = defaultdict(list)
    for number, one in enumerate(members):
        families[one.family].append(number)
    raw = [
        [
            levels.widened(
                paired.p_difference(members[n].differences, means[n], both_orders=members[n].both_orders),
                members[n].units,
            )
            for n in family
        ]
        for family in families.values()
    ]
    corrected = false_discovery.two_stage(raw) if raw else []
    values = [1.0] * len(members)
    for family, p_values in zip(families.values(), corrected, strict=True):
        for number, p in zip(family, p_values, strict=True):
            values[number] = p
    return values


def _equivalent(members: Sequence[Pairs], means: Sequence[Mean], margins: Sequence[float]) -> list[bool]:
    """True if two one-sided tests at the margin both reject, corrected over all comparisons."""
    raw = [
        levels.widened(paired.p_equivalence(one.differences, mean, far), one.units)
        for one, mean, far in zip(members, means, margins, strict=True)
    ]
    return [p <= RATE for p in false_discovery.adjusted(raw)]


def both_orders(baseline_first: Sequence[bool]) -> bool:
    """True if the baseline went first in some block and second in another."""
    return any(baseline_first) and not all(baseline_first)
