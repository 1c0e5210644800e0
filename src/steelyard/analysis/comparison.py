"""Turns an experiment into verdicts: each system against the baseline, metric by metric.

The trial is the observation; docs/statistics.md has every estimator's question, source and condition.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.analysis import loads
from steelyard.analysis.model import CLOCK_MARGIN, Comparison
from steelyard.analysis.observations import COST, GROUP, Key, Observations
from steelyard.statistics import guard, judgement, levels, paired, prospects, signed_rank, verdict
from steelyard.statistics.judgement import Judged, Judgement, Noise, Pairs
from steelyard.statistics.moderation import Mean
from steelyard.statistics.signed_rank import Estimate

_DEVIATION = 0.07  # of a pair, on the log scale, before any is known
BOUND_MOST = 0.25  # what is bounded worse than that is not known at all
_DISTURBED = "the verdict rests on disturbed blocks"


def all_of(
    observations: Observations, *, margin: float | None = None, at_looks: bool = False
) -> tuple[Comparison, ...]:
    """Every comparison of the experiment, in the study's order; `margin` takes the place of each group's.

    With `at_looks` each comparison rests on the blocks of its last look: so an experiment that goes on is
    judged at its looks, however often it is asked.
    """
    return _Comparing(observations, margin, at_looks).all()


def noise_of(observations: Observations) -> Noise:
    """What all comparisons of the experiment say of its noise, for the points of curves."""
    return Noise(_Comparing(observations, None, False).pairs())


def beside_all(
    observations: Observations, members: Sequence[Pairs], *, margins: Sequence[float]
) -> list[tuple[Estimate, str]]:
    """For each member's pairs, the log ratio with its interval, and the verdict, corrected over these and all
    comparisons of the experiment: for what a report claims besides. Those rest on their own correction."""
    if not members:
        return []
    others = _Comparing(observations, None, False)
    every = [*others.pairs(), *members]
    far = [*(math.log1p(others.margin_of(key[0])) for key, _ in others.drafts), *map(math.log1p, margins)]
    judged = judgement.judge(every, far, noise=Noise(others.pairs()))
    own = judged.all[len(every) - len(members) :]
    return [(one.estimate, _word(one, margin)) for one, margin in zip(own, margins, strict=True)]


def pairs_of(
    observations: Observations, key: Key, system: str, logs: Mapping[int, tuple[float, float]]
) -> Pairs:
    """What a comparison rests on: log values of the baseline and the system, block by block."""
    return Pairs(
        observations.units(key, system, {block: base for block, (base, _) in logs.items()}),
        observations.units(key, system, {block: other for block, (_, other) in logs.items()}),
        judgement.both_orders(observations.baseline_first(key[0], system, logs)),
        (system, observations.group(key[0])),
    )


@dataclass(frozen=True, slots=True)
class _Draft:
    """The pairs that a comparison rests on, before any correction."""

    key: Key
    system: str
    by_block: Mapping[int, float]  # differences
    pairs: Pairs

    @property
    def blocks_per_unit(self) -> float:
        return len(self.by_block) / self.pairs.units


class _Comparing:
    """The steps from observations to verdicts."""

    def __init__(self, observations: Observations, margin: float | None, at_looks: bool) -> None:
        self.observations = observations
        self.margin = margin
        self.at_looks = at_looks
        self.keys = [
            (key, system)
            for key in observations.cells_and_metrics()
            if observations.is_judged(key)
            for system in observations.others
        ]
        self.drafts = {
            (key, system): draft
            for key, system in self.keys
            if (draft := self._draft(key, system)) is not None
        }

    def pairs(self) -> list[Pairs]:
        return [draft.pairs for draft in self.drafts.values()]

    def all(self) -> tuple[Comparison, ...]:
        margins = [math.log1p(self.margin_of(draft.key[0])) for draft in self.drafts.values()]
        judged = judgement.judge(self.pairs(), margins)
        by_key = dict(zip(self.drafts, judged.all, strict=True))
        return tuple(
            self._finish(self.drafts[what], by_key[what], judged) if what in by_key else self._empty(*what)
            for what in self.keys
        )

    def margin_of(self, cell: str) -> float:
        return self.margin or float(
            self.observations.experiment.header["margins"][self.observations.group(cell)]
        )

    def _draft(self, key: Key, system: str) -> _Draft | None:
        logs: Mapping[int, tuple[float, float]] = self.observations.logs(
            key, system, self.observations.lens(key[0])
        )
        if not logs:
            return None
        pairs = pairs_of(self.observations, key, system, logs)
        if self.at_looks:
            logs = self._until_look(key, system, logs, pairs.units)
            pairs = pairs_of(self.observations, key, system, logs)
        by_block = {block: other - base for block, (base, other) in logs.items()}
        return _Draft(key, system, by_block, pairs)

    def _until_look(
        self, key: Key, system: str, logs: Mapping[int, tuple[float, float]], units: int
    ) -> Mapping[int, tuple[float, float]]:
        """The blocks of the units that the last look had; all where it is not reached yet."""
        look = levels.last_look(units)
        if look in (0, units):
            return logs
        reached: dict[tuple[int, ...] | int, None] = {}
        blocks: dict[int, tuple[float, float]] = {}
        for block, both in logs.items():
            reached[block if units == len(logs) else self.observations.boots_of(key, system, block)] = None
            if len(reached) > look:
                break
            blocks[block] = both
        return blocks

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
        limited = tuple(self._limited(draft))
        flags = self._flags(draft, word, margin, result, judged) + limited
        if limited or _DISTURBED in flags:
            word = verdict.UNRESOLVED
        needed = self._blocks_needed(draft, word, result, margin, judged)
        return replace(
            self._empty(draft.key, draft.system),
            ratio=exp(result.estimate),
            verdict=word,
            p_adjusted=result.p_adjusted,
            blocks=len(draft.by_block),
            blocks_needed=needed,
            seconds_needed=self._seconds_needed(draft, needed),
            flags=flags,
            bound=bound,
        )

    def _blocks_needed(
        self, draft: _Draft, word: str, result: Judgement, margin: float, judged: Judged
    ) -> int | None:
        """The blocks at the first look that would settle an open comparison, if the noise stays as it is;
        None for a firm verdict, and where none of the looks would."""
        if word in verdict.FIRM:
            return None
        units = prospects.units_needed(
            result.mean if draft.pairs.units > 1 else _guessed(result, judged),
            draft.pairs.units,
            far=math.log1p(margin),
            spread=result.spread if math.isfinite(result.spread) else 0.0,
            prior=judged.noise.prior(draft.pairs.units).freedom,
            claims=sum(one.is_claimed for one in judged.all),
            comparisons=len(judged.all),
        )
        return None if units is None else math.ceil(units * draft.blocks_per_unit)

    def _seconds_needed(self, draft: _Draft, needed: int | None) -> float | None:
        """What those blocks' trials take, on both systems."""
        if needed is None:
            return None
        one_block = sum(
            self.observations.seconds.get((system, draft.key[0]), 0.0)
            for system in (self.observations.baseline, draft.system)
        )
        return (needed - len(draft.by_block)) * one_block

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
            flags=tuple(self._trouble_flags(label, system)) or ("no block has both systems",),
        )

    def _flags(
        self, draft: _Draft, word: str, margin: float, result: Judgement, judged: Judged
    ) -> tuple[str, ...]:
        label, _ = draft.key
        flags = list(self._trouble_flags(label, draft.system))
        flags += self._few(draft, word, result)
        for system in (self.observations.baseline, draft.system):
            if system in self.observations.boot_systems and self.observations.boots(system, draft.key) == 1:
                flags.append("holds for this boot only")
                break
        for system in (self.observations.baseline, draft.system):
            apart = self.observations.clocks.get((system, label), 0.0)
            if abs(apart) > CLOCK_MARGIN:
                flags.append(f"the clock of {system} differs from this machine's by {apart:+.2%}")
        flags += self._code(draft.key[0], draft.system)
        for system in (self.observations.baseline, draft.system):
            if limits := self.observations.gave_way(draft.key, system):
                flags.append(f"beyond what it holds on {system}, {limits}")
        flags += self._disturbance(draft, word, margin)
        flags += self._tail(draft, word, margin, judged.noise)
        return tuple(flags)

    def _limited(self, draft: _Draft) -> Iterable[str]:
        """Where the load's generator had hardly any time to spare."""
        cell, metric = draft.key
        for system in (self.observations.baseline, draft.system) if loads.depends_on_client(metric) else ():
            share = self.observations.busy(cell, system)
            if share is not None and share > loads.BUSY_MOST:
                worked = f"the load's generator worked {share:.0%} of the time on {system}"
                yield f"{worked}: this is no verdict on the server"
            if self.observations.was_late(cell, system):
                yield f"the load's generator was late on {system}: this is no verdict on the server"

    def _few(self, draft: _Draft, word: str, result: Judgement) -> Iterable[str]:
        """What a verdict from few units rests on, or what holds it back."""
        units = draft.pairs.units
        what = "blocks" if units == len(draft.by_block) else "boots"
        if units == 1:
            yield f"one {what[:-1]} alone has no interval"
        elif units <= guard.LAST and math.isfinite(result.spread):
            apart = f"up to {math.exp(result.spread):.3g} times"
            if result.is_held_back:
                yield f"{units} {what} are too few: one system's own trials differ by {apart} here"
            elif word in verdict.FIRM:
                yield f"rests on {units} {what}; one system's own trials differ by {apart} here"

    def _trouble_flags(self, cell: str, system: str) -> Iterable[str]:
        for one in self.observations.troubles:
            if one.cell == cell and one.system in (system, self.observations.baseline):
                trials = "trial" if one.trials == 1 else "trials"
                reason = f": {one.reason}" if one.reason else ""
                yield f"{one.trials} {trials} {one.status} on {one.system}{reason}"

    def _code(self, cell: str, system: str) -> Iterable[str]:
        """Whether both ran the same bytes, where the workload is one that has its own."""
        ours, theirs = (
            self.observations.codes.get((name, cell)) for name in (system, self.observations.baseline)
        )
        if ours is None or theirs is None:
            return
        if ours == theirs and len(ours) == 1:
            yield f"same machine code, SHA-256 {ours[0][:16]}"
        else:
            yield (
                f"the machine code differs: SHA-256 {', '.join(one[:16] for one in theirs)} on "
                f"{self.observations.baseline}, {', '.join(one[:16] for one in ours)} on {system}"
            )

    def _disturbance(self, draft: _Draft, word: str, margin: float) -> Iterable[str]:
        """What would change if the disturbed blocks were left out. None is left out; the remark says so."""
        rest = {
            block: difference
            for block, difference in draft.by_block.items()
            if not {(block, name, draft.key[0]) for name in (self.observations.baseline, draft.system)}
            & self.observations.disturbed
        }
        away = len(draft.by_block) - len(rest)
        if not away:
            return
        many = f"{away} of {len(draft.by_block)} blocks disturbed by other work"
        units = self.observations.units(draft.key, draft.system, rest) if rest else np.array([])
        if not len(units):
            yield f"{many}; none without them to check"
        elif _agrees(float(np.median(signed_rank.walsh_averages(units))), word, margin):
            yield f"{many}; unchanged without them"
        else:
            yield f"{many}"
            yield _DISTURBED

    def _tail(self, draft: _Draft, word: str, margin: float, noise: Noise) -> Iterable[str]:
        """A remark if the mean of the batches differs in another way than their floor or median."""
        lens = self.observations.lens(draft.key[0])
        if lens in (COST, GROUP) or word not in verdict.FIRM:
            return
        logs = self.observations.logs(draft.key, draft.system, COST)
        pairs = pairs_of(
            self.observations, draft.key, draft.system, {block: logs[block] for block in draft.by_block}
        )
        cost = paired.usual(pairs.differences, noise.mean(pairs))
        other = verdict.word(cost, cost, margin=margin)
        if other in verdict.FIRM and other != word:
            yield f"by the mean of its batches it is {other}: the difference is in the tail"


def family(members: Sequence[Pairs], *, noise: Noise) -> list[tuple[Estimate, float]]:
    """For each member's pairs, the log ratio with its interval and the p-value, corrected over this family
    alone: for the points of one curve, of which nothing is claimed. `noise` is the study's."""
    if not members:
        return []
    judged = judgement.judge(members, [0.0] * len(members), noise=noise)
    return [(one.estimate, one.p_adjusted) for one in judged.all]


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
    """What one pair alone lets expect: its difference, with the scatter that others have in the middle."""
    known = [one.mean.deviation for one in judged.all if math.isfinite(one.mean.deviation)]
    deviation = float(np.median(known)) if known else _DEVIATION
    return Mean(result.estimate.value, deviation, 1.0, deviation)


def _bound(shown: Estimate) -> float | None:
    """No difference is larger, as a fraction: the farther end of the interval."""
    if shown.low is None or shown.high is None:
        return None
    return math.expm1(min(700.0, max(abs(shown.low), abs(shown.high))))


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
    low, high = (
        None if bound is None else math.exp(max(-700.0, min(700.0, bound)))
        for bound in (estimate.low, estimate.high)
    )
    return Estimate(math.exp(estimate.value), low, high, estimate.level)
