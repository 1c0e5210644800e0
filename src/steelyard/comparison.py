"""Turns an experiment into verdicts: each system against the baseline, metric by metric.

The trial is the observation; docs/statistics.md has every estimator's question, source and condition.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.observations import COST, GROUP, Key, Observations
from steelyard.statistics import false_discovery, looks, power, signed_rank, verdict
from steelyard.statistics.signed_rank import Array, Estimate
from steelyard.weighing import CLOCK_MARGIN, Comparison

RATE = 0.05  # false discovery rate
PAIRS_LEAST = 6  # fewer can never give a 95 % verdict
_PAIRS_FOR_NOISE = 3  # fewer say nothing of how much they scatter
_DISTURBED = "the verdict rests on disturbed blocks"


def all_of(seen: Observations, *, margin: float | None = None) -> tuple[Comparison, ...]:
    """Every comparison of the experiment, in the study's order; `margin` takes the place of each group's."""
    return _Comparing(seen, margin).all()


@dataclass(frozen=True, slots=True)
class _Draft:
    """The differences that a comparison rests on, before any correction."""

    key: Key
    system: str
    by_block: Mapping[int, float]
    units: Array


class _Comparing:
    """The steps from observations to verdicts."""

    def __init__(self, seen: Observations, margin: float | None) -> None:
        self.seen = seen
        self.margin = margin
        self.levels = looks.levels(len(seen.experiment.header["looks"]))

    def _margin(self, cell: str) -> float:
        return self.margin or float(self.seen.experiment.header["margins"][self.seen.group(cell)])

    def all(self) -> tuple[Comparison, ...]:
        others = self.seen.others
        drafts = [self._draft(key, system) for key in self.seen.cells_and_metrics() for system in others]
        p_values = self._adjusted([draft for draft in drafts if draft is not None])
        claimed = sum(p <= RATE for p in p_values.values())
        equal = self._equivalent([draft for draft in drafts if draft is not None])
        rate = claimed / max(1, len(p_values))
        found = []
        for (key, system), draft in zip(
            ((k, s) for k in self.seen.cells_and_metrics() for s in others), drafts, strict=True
        ):
            if draft is None:
                found.append(self._empty(key, system))
            else:
                found.append(self._finish(draft, p_values[key, system], rate, equal[key, system]))
        return tuple(found)

    def _draft(self, key: Key, system: str) -> _Draft | None:
        by_block = self.seen.differences(key, system, self.seen.lens(key[0]))
        if not by_block:
            return None
        return _Draft(key, system, by_block, self.seen.units(key, system, by_block))

    def _adjusted(self, drafts: Sequence[_Draft]) -> dict[tuple[Key, str], float]:
        """Two-sided p-values, widened for the looks, corrected within and across families; a family is
        a group of workloads on one system."""
        families: dict[tuple[str, str], list[_Draft]] = defaultdict(list)
        for draft in drafts:
            families[draft.system, self.seen.group(draft.key[0])].append(draft)
        widen = 0.05 / self.levels.alpha_95
        raw = [
            [min(1.0, signed_rank.p_two_sided(draft.units) * widen) for draft in family]
            for family in families.values()
        ]
        corrected = false_discovery.two_stage(raw) if raw else []
        return {
            (draft.key, draft.system): p
            for family, ps in zip(families.values(), corrected, strict=True)
            for draft, p in zip(family, ps, strict=True)
        }

    def _equivalent(self, drafts: Sequence[_Draft]) -> dict[tuple[Key, str], bool]:
        """Whether two one-sided tests at the margin both reject, corrected over all comparisons."""
        widen = 0.05 / (self.levels.alpha_90 / 2)
        raw = []
        for draft in drafts:
            far = math.log1p(self._margin(draft.key[0]))
            worse = max(
                signed_rank.p_greater(draft.units, than=-far), signed_rank.p_greater(-draft.units, than=-far)
            )
            enough = len(draft.units) >= PAIRS_LEAST
            raw.append(min(1.0, worse * widen) if enough else 1.0)
        return {
            (draft.key, draft.system): p <= RATE
            for draft, p in zip(drafts, false_discovery.adjusted(raw), strict=True)
        }

    def _finish(self, draft: _Draft, p: float, rate: float, equal: bool) -> Comparison:
        """The comparison, with the interval its claim deserves: a claimed difference gets one at the false
        coverage rate (Benjamini and Yekutieli, 2005), any other the usual 95 %."""
        margin = self._margin(draft.key[0])
        usual = signed_rank.estimate(draft.units, alpha=self.levels.alpha_95)
        shown, word = usual, verdict.UNRESOLVED
        if p <= RATE:
            shown = claimable(draft.units, self.levels.alpha_95 * rate)
            word = claimed_word(shown, margin)
        elif equal:
            word = verdict.EQUIVALENT
        flags = self._flags(draft, word, margin)
        if _DISTURBED in flags:
            word = verdict.UNRESOLVED
        return replace(
            self._empty(draft.key, draft.system),
            ratio=exp(shown),
            verdict=word,
            p_adjusted=p,
            blocks=len(draft.by_block),
            boots=self.seen.boots(draft.system, draft.key),
            blocks_needed=self._blocks_needed(draft, word, usual, margin),
            flags=flags,
            bound=math.expm1(max(usual.high or 0.0, -(usual.low or 0.0))) if usual.level else None,
        )

    def _blocks_needed(self, draft: _Draft, word: str, usual: Estimate, margin: float) -> int | None:
        """The blocks that would settle an open comparison, if the noise stays as it is: by the robust
        deviation, or by the interval's width where outliers make that the worse of the two; where the usual
        interval lies beyond the margin already, as many as its p-value needs among its family's. None for
        a firm verdict, and where there are too few pairs to know the noise by."""
        if word in verdict.FIRM or len(draft.units) < _PAIRS_FOR_NOISE:
            return None
        blocks = len(draft.by_block)
        per_unit = blocks / len(draft.units)
        if verdict.word(usual, Estimate(usual.value), margin=margin) in (verdict.FASTER, verdict.SLOWER):
            group = self.seen.group(draft.key[0])
            family = sum(self.seen.group(label) == group for label, _ in self.seen.cells_and_metrics())
            least = math.log2(2 * family * 0.05 / self.levels.alpha_95 / RATE)
            return max(math.ceil(least * per_unit), blocks + 1)
        needed = power.blocks_for_equivalence(power.robust_deviation(draft.units), margin) * per_unit
        if usual.low is not None and usual.high is not None:
            needed = max(needed, blocks * ((usual.high - usual.low) / 2 / math.log1p(margin)) ** 2)
        return max(math.ceil(needed), blocks + 1)

    def _empty(self, key: Key, system: str) -> Comparison:
        """The comparison with what is known without a pair."""
        label, metric = key
        cell = self.seen.cells[label]
        return Comparison(
            workload=cell.workload,
            parameters=cell.parameters,
            cell=label,
            group=self.seen.group(label),
            metric=metric,
            unit=self.seen.unit(key)[0],
            direction=self.seen.unit(key)[1],
            lens=self.seen.lens(label),
            system=system,
            baseline=self.seen.baseline,
            baseline_value=self.seen.median(key, self.seen.baseline),
            value=self.seen.median(key, system),
            ratio=None,
            margin=self._margin(label),
            verdict=verdict.UNRESOLVED,
            p_adjusted=None,
            blocks=0,
            boots=self.seen.boots(system, key),
            blocks_needed=None,
            flags=tuple(self._trouble_flags(label, system)) or ("no block has both systems",),
        )

    def _flags(self, draft: _Draft, word: str, margin: float) -> tuple[str, ...]:
        label, _ = draft.key
        flags = list(self._trouble_flags(label, draft.system))
        if len(draft.units) < PAIRS_LEAST:
            pairs = "pair" if len(draft.units) == 1 else "pairs"
            flags.append(f"only {len(draft.units)} {pairs}: a verdict needs at least {PAIRS_LEAST}")
        for system in (self.seen.baseline, draft.system):
            if system in self.seen.boot_systems and self.seen.boots(system, draft.key) == 1:
                flags.append("holds for this boot only")
                break
        for system in (self.seen.baseline, draft.system):
            apart = self.seen.clocks.get((system, label), 0.0)
            if abs(apart) > CLOCK_MARGIN:
                flags.append(f"the clock of {system} differs from this machine's by {apart:+.2%}")
        flags += self._code(draft.key[0], draft.system)
        flags += self._disturbance(draft, word, margin)
        flags += self._tail(draft, word, margin)
        return tuple(flags)

    def _trouble_flags(self, cell: str, system: str) -> Iterable[str]:
        for one in self.seen.troubles:
            if one.cell == cell and one.system in (system, self.seen.baseline):
                trials = "trial" if one.trials == 1 else "trials"
                reason = f": {one.reason}" if one.reason else ""
                yield f"{one.trials} {trials} {one.status} on {one.system}{reason}"

    def _code(self, cell: str, system: str) -> Iterable[str]:
        """Whether both ran the same bytes, where the workload is one that has its own."""
        ours, theirs = (self.seen.codes.get((name, cell)) for name in (system, self.seen.baseline))
        if ours is None or theirs is None:
            return
        if ours == theirs and len(ours) == 1:
            yield f"same machine code, SHA-256 {ours[0][:16]}"
        else:
            yield (
                f"the machine code differs: SHA-256 {', '.join(one[:16] for one in theirs)} on "
                f"{self.seen.baseline}, {', '.join(one[:16] for one in ours)} on {system}"
            )

    def _disturbance(self, draft: _Draft, word: str, margin: float) -> Iterable[str]:
        """What leaving out the disturbed blocks would change: nothing is left out, but it is said."""
        kept = {
            block: difference
            for block, difference in draft.by_block.items()
            if not {(block, name, draft.key[0]) for name in (self.seen.baseline, draft.system)}
            & self.seen.disturbed
        }
        away = len(draft.by_block) - len(kept)
        if not away:
            return
        units = self.seen.units(draft.key, draft.system, kept) if kept else np.array([])
        many = f"{away} of {len(draft.by_block)} blocks disturbed by other work"
        if len(units) < PAIRS_LEAST:
            yield f"{many}; too few without them to check"
        elif _agrees(float(np.median(signed_rank.walsh_averages(units))), word, margin):
            yield f"{many}; unchanged without them"
        else:
            yield f"{many}"
            yield _DISTURBED

    def _tail(self, draft: _Draft, word: str, margin: float) -> Iterable[str]:
        """Where the mean of the batches tells another story than their floor or median."""
        lens = self.seen.lens(draft.key[0])
        if lens in (COST, GROUP) or word not in verdict.FIRM:
            return
        by_block = self.seen.differences(draft.key, draft.system, COST)
        units = self.seen.units(draft.key, draft.system, by_block)
        cost = signed_rank.estimate(units, alpha=self.levels.alpha_95)
        other = verdict.word(cost, cost, margin=margin)
        if other in verdict.FIRM and other != word:
            yield f"by the mean of its batches it is {other}: the difference is in the tail"


def family(
    members: Sequence[Array], *, margin: float, levels: looks.Levels
) -> list[tuple[Estimate, str, float]]:
    """For each member's units, the log ratio with its interval, the verdict, and the p-value, corrected
    over this family alone: for parts of one curve, which are no metrics of their own."""
    if not members:
        return []
    widen = 0.05 / levels.alpha_95
    p_values = false_discovery.adjusted([min(1.0, signed_rank.p_two_sided(one) * widen) for one in members])
    claimed = sum(p <= RATE for p in p_values)
    found = []
    for units, p in zip(members, p_values, strict=True):
        usual = signed_rank.estimate(units, alpha=levels.alpha_95)
        narrow = signed_rank.estimate(units, alpha=levels.alpha_90)
        if p <= RATE:
            shown = claimable(units, levels.alpha_95 * claimed / len(members))
            found.append((shown, claimed_word(shown, margin), p))
        else:
            word = verdict.word(usual, narrow, margin=margin)
            found.append((usual, word if word == verdict.EQUIVALENT else verdict.UNRESOLVED, p))
    return found


def claimable(units: Array, alpha: float) -> Estimate:
    """The interval at that level, or the widest that so many pairs allow, under its own level."""
    found = signed_rank.estimate(units, alpha=alpha)
    if found.low is None:
        found = signed_rank.estimate(units, alpha=2 * 0.5 ** len(units))
    return found


def claimed_word(shown: Estimate, margin: float) -> str:
    """A difference whose direction is claimed: is it beyond the margin for sure?"""
    word = verdict.word(shown, Estimate(shown.value), margin=margin)
    if word in (verdict.FASTER, verdict.SLOWER):
        return word
    return verdict.FASTER_OPEN if shown.value > 0 else verdict.SLOWER_OPEN


def _agrees(value: float, word: str, margin: float) -> bool:
    """Whether the estimate lies where the verdict says."""
    far = math.log1p(margin)
    return {
        verdict.FASTER: value > far,
        verdict.SLOWER: value < -far,
        verdict.EQUIVALENT: abs(value) < far,
        verdict.FASTER_OPEN: value > 0,
        verdict.SLOWER_OPEN: value < 0,
    }.get(word, True)


def exp(estimate: Estimate) -> Estimate:
    """The ratio that an estimate on the log scale stands for."""
    low, high = (None if bound is None else math.exp(bound) for bound in (estimate.low, estimate.high))
    return Estimate(math.exp(estimate.value), low, high, estimate.level)
