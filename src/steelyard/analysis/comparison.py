"""Turns an experiment into verdicts: each system against the baseline, metric by metric.

The trial is the observation; statistics.md has every estimator's question, source and condition.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.analysis import loads, remarks
from steelyard.analysis.model import CLOCK_MARGIN, Comparison
from steelyard.analysis.observations import COST, GROUP, PROCESSOR_TIME, Key, Observations
from steelyard.analysis.remarks import Remark
from steelyard.archive.experiments import StoredExperiment
from steelyard.statistics import guard, judgement, levels, paired, prospects, signed_rank, verdict
from steelyard.statistics.judgement import Judged, Judgement, Noise, Pairs
from steelyard.statistics.moderation import Mean
from steelyard.statistics.prospects import Outlook
from steelyard.statistics.signed_rank import Estimate
from steelyard.study.model import PRECISION

_DEVIATION = 0.07  # of a pair, on the log scale, before any is known
BOUND_MOST = 0.25  # what is bounded worse than that is not known at all


def all_of(observations: Observations, *, margin: float | None = None) -> tuple[Comparison, ...]:
    """Every comparison of the experiment, in the study's order; `margin` takes the place of each group's."""
    return both_of(observations, margin=margin)[0]


def both_of(
    observations: Observations, *, margin: float | None = None
) -> tuple[tuple[Comparison, ...], tuple[Comparison, ...]]:
    """The comparisons of times and rates, and those of CPU time where it is compared."""
    return _Comparing(observations, margin, False).all()


@dataclass(frozen=True, slots=True)
class AtLook:
    """The findings of a look: every comparison, and the effect of more units; None without a pair."""

    comparisons: tuple[Comparison, ...]
    outlooks: tuple[Outlook | None, ...]
    processor_times: tuple[Comparison, ...] = ()


class Looking:
    """Judges an experiment at its looks, while it is measured: each comparison by the blocks of its last
    look, however often it is asked."""

    def __init__(self, observations: Observations) -> None:
        self._observations = observations
        self._drafts: dict[tuple[Key, str], _Draft] = {}
        self._troubles = -1

    def look(self) -> AtLook | None:
        """Every comparison now; None if nothing has changed since the last time."""
        comparing = _Comparing(self._observations, None, True, before=self._drafts)
        troubles = sum(one.trials for one in self._observations.troubles)
        if troubles == self._troubles and all(
            self._drafts.get(what) is draft for what, draft in comparing.drafts.items()
        ):
            return None
        self._drafts, self._troubles = comparing.drafts, troubles
        comparisons, processor_times = comparing.all()
        outlooks = tuple(comparing.outlooks.get(what) for what in comparing.keys)
        return AtLook(comparisons, outlooks, processor_times)


def noise_of(observations: Observations) -> Noise:
    """The noise of all comparisons of the experiment, for the points of curves."""
    return Noise(_Comparing(observations, None, False).pairs())


def beside_all(
    observations: Observations, members: Sequence[Pairs], *, margins: Sequence[float]
) -> list[tuple[Estimate, str]]:
    """For each member's pairs, the log ratio with its interval, and the verdict, corrected over these and all
    comparisons of the experiment, for additional claims of a report. The comparisons keep their own
    correction.
    """
    if not members:
        return []
    others = _Comparing(observations, None, False)
    every = [*others.pairs(), *members]
    far = [*(math.log1p(others.margin_of(key[0])) for key, _ in others.drafts), *map(math.log1p, margins)]
    judged = judgement.judge(every, far, noise=Noise(others.pairs()))
    own = judged.all[len(every) - len(members) :]
    return [(one.shown, _word(one, margin)) for one, margin in zip(own, margins, strict=True)]


def pairs_of(
    observations: Observations, key: Key, system: str, logs: Mapping[int, tuple[float, float]]
) -> Pairs:
    """The pairs behind a comparison: log values of the baseline and the system, block by block."""
    kind = PROCESSOR_TIME if key[1].endswith(PROCESSOR_TIME) else ""
    return Pairs(
        observations.units(key, system, {block: base for block, (base, _) in logs.items()}),
        observations.units(key, system, {block: other for block, (_, other) in logs.items()}),
        judgement.both_orders(observations.baseline_first(key[0], system, logs)),
        (system, observations.group(key[0]), kind),
        kind,
    )


@dataclass(frozen=True, slots=True)
class _Draft:
    """The pairs that a comparison rests on, before any correction."""

    key: Key
    system: str
    by_block: Mapping[int, float]  # differences
    pairs: Pairs
    _kept: dict[str, Any] = field(default_factory=dict)

    @property
    def blocks_per_unit(self) -> float:
        return len(self.by_block) / self.pairs.units

    def kept(self, name: str, find: Callable[[], Any]) -> Any:
        """Return the cached results of these pairs: a look often judges the same pairs again."""
        if name not in self._kept:
            self._kept[name] = find()
        return self._kept[name]


class _Comparing:
    """The steps from observations to verdicts."""

    def __init__(
        self,
        observations: Observations,
        margin: float | None,
        at_looks: bool,
        *,
        before: Mapping[tuple[Key, str], "_Draft"] | None = None,
    ) -> None:
        """`before` are the drafts of the look before: those that are the same are taken from there."""
        self.observations = observations
        self.margin = margin
        self.at_looks = at_looks
        self._before = before or {}
        self.precision = precision_of(observations.experiment)
        self.outlooks: dict[tuple[Key, str], Outlook] = {}
        self.keys = [
            (key, system)
            for key in observations.cells_and_metrics()
            if observations.is_judged(key) and not observations.cannot_have(key)
            for system in observations.others
        ]
        # Judged beside them, because a claim costs the others some of their certainty.
        self.processor_keys = list(observations.processor_keys())
        self.drafts = {
            (key, system): draft
            for key, system in (*self.keys, *self.processor_keys)
            if (draft := self._draft(key, system)) is not None
        }

    def pairs(self) -> list[Pairs]:
        return [draft.pairs for draft in self.drafts.values()]

    def all(self) -> tuple[tuple[Comparison, ...], tuple[Comparison, ...]]:
        """The remarks on times and rates, and those on CPU times."""
        margins = [math.log1p(self.margin_of(draft.key[0])) for draft in self.drafts.values()]
        judged = judgement.judge(self.pairs(), margins)
        by_key = dict(zip(self.drafts, judged.all, strict=True))
        whole, processor = (
            tuple(
                self._finish(self.drafts[what], by_key[what], judged)
                if what in by_key
                else self._empty(*what)
                for what in keys
            )
            for keys in (self.keys, self.processor_keys)
        )
        return whole, processor

    def margin_of(self, cell: str) -> float:
        return self.margin or float(
            self.observations.experiment.header["margins"][self.observations.group(cell)]
        )

    def _draft(self, key: Key, system: str) -> _Draft | None:
        observations = self.observations
        blocks = observations.blocks_of_both(key, system)
        if not blocks:
            return None
        if self.at_looks:
            blocks = self._until_look(key, system, blocks)
            same = self._before.get((key, system))
            if same is not None and key not in observations.curves and list(same.by_block) == blocks:
                return same
        logs = observations.logs(key, system, observations.lens(key[0]), blocks)
        pairs = pairs_of(observations, key, system, logs)
        by_block = {block: other - base for block, (base, other) in logs.items()}
        return _Draft(key, system, by_block, pairs)

    def _until_look(self, key: Key, system: str, blocks: list[int]) -> list[int]:
        """The blocks of the units that the last look had; all where it is not reached yet."""
        boots = [self.observations.boots_of(key, system, block) for block in blocks]
        units: Sequence[object] = boots if len(set(boots)) > 1 else blocks
        each = dict.fromkeys(units)
        look = levels.last_look(len(each))
        if look in (0, len(each)):
            return blocks
        beyond = list(each)[look]
        return blocks[: units.index(beyond)]

    def _finish(self, draft: _Draft, result: Judgement, judged: Judged) -> Comparison:
        margin = self.margin_of(draft.key[0])
        bound = _bound(result.estimate)
        word = verdict.UNRESOLVED
        if result.is_claimed:
            word = claimed_word(result.estimate, margin)
        elif result.is_equivalent:
            word = verdict.EQUIVALENT
        elif bound is not None and bound <= BOUND_MOST:
            word = verdict.BOUNDED
        found = tuple(self._remarks(draft, word, margin, result, judged))
        if any(isinstance(one, remarks.UNSETTLING) for one in found):
            word = verdict.UNRESOLVED
        outlook = self._outlook(draft, result, margin, judged)
        self.outlooks[draft.key, draft.system] = outlook
        needed = None if word in verdict.FIRM else self._blocks(draft, outlook.units_to_verdict())
        ratio, size_needed = exp(result.shown if word in verdict.CLAIMED else result.usual), None
        if not is_precise(word, ratio, self.precision):
            size_needed = self._blocks(draft, outlook.units_to_size())
        return replace(
            self._kept_empty(draft),
            ratio=ratio,
            verdict=word,
            p_adjusted=result.p_adjusted,
            blocks=len(draft.by_block),
            blocks_needed=needed,
            seconds_needed=self._seconds_needed(draft, needed),
            size_blocks_needed=size_needed,
            size_seconds_needed=self._seconds_needed(draft, size_needed),
            remarks=found,
            bound=bound,
        )

    def _outlook(self, draft: _Draft, result: Judgement, margin: float, judged: Judged) -> Outlook:
        units = draft.pairs.units
        return Outlook(
            result.mean if units > 1 else _guessed(result, judged),
            units,
            far=math.log1p(margin),
            precision=self.precision,
            if_equal=if_equal(self.precision),
            spread=result.spread if math.isfinite(result.spread) else 0.0,
            prior=judged.noise.prior(units, draft.pairs.kind).freedom,
            share=prospects.share_of_claims(sum(one.is_claimed for one in judged.all), len(judged.all)),
            is_claimed=result.is_claimed,
        )

    def _blocks(self, draft: _Draft, units: int | None) -> int | None:
        return None if units is None else math.ceil(units * draft.blocks_per_unit)

    def _seconds_needed(self, draft: _Draft, needed: int | None) -> float | None:
        """The duration of the trials of those blocks, on both systems."""
        if needed is None:
            return None
        one_block = sum(
            self.observations.seconds.get((system, draft.key[0]), 0.0)
            for system in (self.observations.baseline, draft.system)
        )
        return (needed - len(draft.by_block)) * one_block

    def _kept_empty(self, draft: _Draft) -> Comparison:
        empty: Comparison = draft.kept("empty", lambda: self._empty(draft.key, draft.system))
        return empty

    def _empty(self, key: Key, system: str) -> Comparison:
        """The comparison with what is known without a pair."""
        label, metric = key
        cell = self.observations.cells[label]
        return Comparison(
            workload=cell.workload,
            parameters=cell.parameters,
            cell=label,
            group=self.observations.group(label),
            metric=metric,
            unit=self.observations.unit(key)[0],
            direction=self.observations.unit(key)[1],
            lens=self.observations.lens(label),
            system=system,
            baseline=self.observations.baseline,
            baseline_value=self.observations.median(key, self.observations.baseline),
            value=self.observations.median(key, system),
            ratio=None,
            margin=self.margin_of(label),
            verdict=verdict.UNRESOLVED,
            p_adjusted=None,
            blocks=0,
            boots=self.observations.boots(system, key),
            blocks_needed=None,
            remarks=tuple(self._troubles(label, system)) or (remarks.NoPair(),),
        )

    def _remarks(
        self, draft: _Draft, word: str, margin: float, result: Judgement, judged: Judged
    ) -> Iterable[Remark]:
        label, _ = draft.key
        both = (self.observations.baseline, draft.system)
        yield from self._troubles(label, draft.system)
        yield from self._few(draft, word, result)
        booted = (system for system in both if system in self.observations.boot_systems)
        once = next((system for system in booted if self.observations.boots(system, draft.key) == 1), None)
        if once is not None:
            yield remarks.OneBoot(once)
        for system in both:
            apart = self.observations.clocks.get((system, label), 0.0)
            if abs(apart) > CLOCK_MARGIN:
                yield remarks.ClockApart(system, apart)
        yield from self._code(label, draft.system)
        for system in both:
            if found := self.observations.gave_way(draft.key, system):
                yield found
        yield from self._disturbance(draft, word, margin)
        yield from self._tail(draft, word, margin, judged.noise)
        yield from self._limited(draft)

    def _limited(self, draft: _Draft) -> Iterable[Remark]:
        """A remark where the load generator was nearly saturated."""
        cell, metric = draft.key
        for system in (self.observations.baseline, draft.system) if loads.depends_on_client(metric) else ():
            share = self.observations.busy(cell, system)
            if share is not None and share > loads.BUSY_MOST:
                yield remarks.GeneratorBusy(system, share)
            if self.observations.was_late(cell, system):
                yield remarks.GeneratorLate(system)

    def _few(self, draft: _Draft, word: str, result: Judgement) -> Iterable[Remark]:
        """A remark where a verdict rests on few units, or is held back by that."""
        units = draft.pairs.units
        unit = "block" if units == len(draft.by_block) else "boot"
        if units == 1:
            yield remarks.OneUnit(unit)
        elif units <= guard.LAST and math.isfinite(result.spread):
            times_apart = math.exp(result.spread)
            if result.is_held_back:
                yield remarks.HeldBack(units, unit, times_apart)
            elif word in verdict.FIRM:
                yield remarks.FewUnits(units, unit, times_apart)

    def _troubles(self, cell: str, system: str) -> Iterable[Remark]:
        for one in self.observations.troubles:
            if one.cell == cell and one.system in (system, self.observations.baseline):
                yield one

    def _code(self, cell: str, system: str) -> Iterable[Remark]:
        """A remark on whether both ran the same machine code, for workloads with their own."""
        baseline = self.observations.baseline
        ours, theirs = (self.observations.codes(name, cell) for name in (system, baseline))
        if ours is None or theirs is None:
            return
        if ours == theirs and len(ours) == 1:
            yield remarks.SameCode(ours[0])
        else:
            yield remarks.OtherCode(baseline, theirs, system, ours)

    def _disturbance(self, draft: _Draft, word: str, margin: float) -> Iterable[Remark]:
        """A remark on the effect of leaving out the disturbed blocks. No block is left out."""
        away, centre = draft.kept("rest", lambda: self._rest(draft))
        if not away:
            return
        blocks = len(draft.by_block)
        if centre is None:
            yield remarks.Disturbed(away, blocks, "none")
        elif _agrees(centre, word, margin):
            yield remarks.Disturbed(away, blocks, "same")
        else:
            yield remarks.Disturbed(away, blocks, "other")
            yield remarks.RestsOnDisturbed()

    def _rest(self, draft: _Draft) -> tuple[int, float | None]:
        """The number of disturbed blocks, and the estimate without them, if there are any."""
        rest = {
            block: difference
            for block, difference in draft.by_block.items()
            if not any(
                self.observations.is_disturbed(block, name, draft.key[0])
                for name in (self.observations.baseline, draft.system)
            )
        }
        away = len(draft.by_block) - len(rest)
        units = self.observations.units(draft.key, draft.system, rest) if away and rest else np.array([])
        return away, signed_rank.centre(units) if len(units) else None

    def _tail(self, draft: _Draft, word: str, margin: float, noise: Noise) -> Iterable[Remark]:
        """A remark if the mean of the batches differs in another way than their floor or median."""
        lens = self.observations.lens(draft.key[0])
        if lens in (COST, GROUP) or word not in verdict.FIRM:
            return
        cost = draft.kept("cost", lambda: self._by_cost(draft, noise))
        other = verdict.word(cost, cost, margin=margin)
        if other in verdict.FIRM and other != word:
            yield remarks.InTail(other)

    def _by_cost(self, draft: _Draft, noise: Noise) -> Estimate:
        logs = self.observations.logs(draft.key, draft.system, COST, draft.by_block)
        pairs = pairs_of(self.observations, draft.key, draft.system, logs)
        return paired.usual(pairs.differences, noise.mean(pairs))


def family(members: Sequence[Pairs], *, noise: Noise) -> list[tuple[Estimate, float]]:
    """For each member's pairs, the log ratio with its interval and the p-value, corrected over this family
    alone. It is for the points of one curve, which make no claims. `noise` is the study's.
    """
    if not members:
        return []
    judged = judgement.judge(members, [0.0] * len(members), noise=noise)
    return [(one.estimate, one.p_adjusted) for one in judged.all]


def precision_of(experiment: StoredExperiment) -> float:
    """Half of the widest interval that a claimed difference is to have, on the log scale. Experiments of
    before there was such an aim have none."""
    return math.log1p(experiment.header.get("precision", math.inf))


def if_equal(precision: float) -> float:
    """The precision that is asked of what is not claimed to differ: none, unless it is finer than usual."""
    return precision if precision < math.log1p(PRECISION) else math.inf


def is_precise(word: str, ratio: Estimate | None, precision: float) -> bool:
    """True if the size needs no better estimate: its interval is at most as wide as the precision asks."""
    if word not in verdict.CLAIMED:
        precision = if_equal(precision)
        if math.isinf(precision):
            return True
    if ratio is None or ratio.low is None or ratio.high is None:
        return False
    return math.log(ratio.high) - math.log(ratio.low) <= 2 * precision


def _word(one: Judgement, margin: float) -> str:
    if one.is_equivalent:
        return verdict.EQUIVALENT
    return claimed_word(one.estimate, margin) if one.is_claimed else verdict.UNRESOLVED


def claimed_word(shown: Estimate, margin: float) -> str:
    """A difference whose direction is claimed: is it beyond the margin for sure?"""
    word = verdict.word(shown, Estimate(shown.value), margin=margin)
    if word in (verdict.FASTER, verdict.SLOWER):
        return word
    return verdict.FASTER_OPEN if shown.value > 0 else verdict.SLOWER_OPEN


def _guessed(result: Judgement, judged: Judged) -> Mean:
    """The expectation from a single pair: its difference, with the median scatter of the others."""
    known = [one.mean.deviation for one in judged.all if math.isfinite(one.mean.deviation)]
    deviation = float(np.median(known)) if known else _DEVIATION
    return Mean(result.estimate.value, deviation, 1.0, deviation)


def _bound(shown: Estimate) -> float | None:
    """No difference is larger, as a fraction: the farther end of the interval."""
    if shown.low is None or shown.high is None:
        return None
    return math.expm1(min(700.0, max(abs(shown.low), abs(shown.high))))


def _agrees(value: float, word: str, margin: float) -> bool:
    """True if the estimate agrees with the verdict."""
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
    low, high = (
        None if bound is None else math.exp(max(-700.0, min(700.0, bound)))
        for bound in (estimate.low, estimate.high)
    )
    return Estimate(math.exp(estimate.value), low, high, estimate.level)
