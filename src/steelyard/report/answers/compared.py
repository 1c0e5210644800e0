"""Sorts what was compared of one system: what is claimed, what is bounded, what is open, what is missing."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.model import Comparison, CurveComparison, Evaluation, Index, PartRatio
from steelyard.report.answers.words import in_sense
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import phrases, remarks, wording

BETTER = (verdict.FASTER, verdict.FASTER_OPEN)
WORSE = (verdict.SLOWER, verdict.SLOWER_OPEN)
# Words for the direction, first of what is better.
SPEEDS = ("faster", "slower")
PLACES = ("later", "earlier")  # where a curve worsens
OF_ASPECTS = {"latency": ("shorter", "longer"), "processor time": ("less", "more")}
SAME = (verdict.EQUIVALENT, verdict.BOUNDED)


@dataclass(frozen=True, slots=True)
class Item:
    """A claim about one metric, or one part of a curve."""

    phrase: str
    workload: str
    group: str
    aspect: str  # what of an operation it is: "" for its time, "latency", "processor time", ...
    sense: str  # the word for the direction
    ratio: Estimate
    verdict: str
    margin: float
    why: str
    why_long: str
    cell: tuple[str, str]

    @property
    def is_better(self) -> bool:
        return self.verdict in BETTER

    @property
    def far(self) -> float:
        """The distance from 1, on the log scale."""
        return abs(math.log(self.ratio.value))

    @property
    def most(self) -> float:
        """No difference is larger, as a fraction."""
        bounds = [one for one in (self.ratio.low, self.ratio.high) if one is not None]
        return max((max(one, 1 / one) for one in bounds), default=math.inf) - 1

    @property
    def sure(self) -> float:
        """The proven distance from 1, beyond the margin."""
        bounds = [one for one in (self.ratio.low, self.ratio.high) if one is not None]
        nearest = min((abs(math.log(one)) for one in bounds), default=0.0)
        beyond = all((one > 1) == (self.ratio.value > 1) for one in bounds)
        return (nearest if beyond else 0.0) - math.log1p(self.margin)


def counts(one: Comparison, header: Mapping[str, Any]) -> bool:
    """True if the metric is reported: not an unjudged metric, the harness's loop, or a metric that is
    subtracted from another.
    """
    if one.verdict not in wording.MARKS or one.group == "harness":
        return False
    workload = header.get("workloads", {}).get(one.workload, {})
    return all(metric.get("less") != one.metric for metric in workload.get("metrics", ()))


def sense(one: Comparison) -> str:
    """The word for the direction: of latencies, amounts and processor times none of speed."""
    assert one.ratio is not None
    is_better = one.ratio.value > 1
    if words := OF_ASPECTS.get(phrases.aspect_of(one.metric)):
        return words[not is_better]
    if one.unit.startswith("ns") or one.unit.endswith("/s"):
        return SPEEDS[not is_better]
    return "more" if is_better == (one.direction == "higher") else "less"


def size_of(one: Comparison) -> str:
    """The size of the difference, with the interval: "4.36× slower [4.1, 4.6]"; empty without a ratio."""
    if one.ratio is None:
        return ""
    size, bracket, bounds = wording.how_much(one.ratio).partition(" [")
    return f"{in_sense(size, sense(one))}{bracket}{bounds}"


def bound(one: Comparison) -> float:
    """No difference is larger, as a fraction."""
    return one.bound if one.bound is not None else one.margin


class Compared:
    """One system's comparisons, by what came of them."""

    def __init__(self, evaluation: Evaluation, system: str) -> None:
        self.evaluation = evaluation
        self.system = system
        self.base = evaluation.baseline
        ours = [one for one in evaluation.comparisons if one.system == system]
        cells = {one.cell: (one.workload, one.parameters) for one in evaluation.levels or ours}
        self._varied = phrases.varied(cells.values())
        header = evaluation.experiment.header
        measured = {one.cell for one in ours if one.ratio}
        self.metrics = [
            one
            for one in ours
            if counts(one, header)
            and one.cell not in set(evaluation.left_out)
            and (one.ratio or one.cell not in measured or (one.baseline_value, one.value) != (None, None))
        ]
        self.items = [self._item(one) for one in self.metrics if one.verdict in (*BETTER, *WORSE)]
        self.items += self._parts()
        # Beside a verdict on the time, one on processor time says nothing new.
        settled = {(one.workload, one.cell) for one in self.metrics if one.verdict in verdict.FIRM}
        self.by_processor = [
            one
            for one in evaluation.processor_times
            if one.system == system
            and one.verdict in verdict.FIRM
            and (one.workload, one.cell) not in settled
            and counts(one, header)
        ]
        self.items += [self._item(one) for one in self.by_processor if one.verdict != verdict.EQUIVALENT]
        self.same = [one for one in self.metrics if one.verdict in SAME]
        self.open = [one for one in self.metrics if one.ratio and one.verdict == verdict.UNRESOLVED]
        self.missing = [one for one in self.metrics if one.ratio is None]

    def phrase(self, one: Comparison | CurveComparison) -> str:
        """The measured quantity in words."""
        parameters = self._varied.get(one.workload, ())
        return phrases.of_metric(one.workload, one.parameters, one.metric, told=parameters)

    def why_missing(self, one: Comparison) -> str:
        """Why the metric has no figure on both: what became of its trials, or that there were none."""
        reasons = []
        for system, value in ((self.base, one.baseline_value), (self.system, one.value)):
            trouble = next(
                (each for each in self.evaluation.troubles if (each.system, each.cell) == (system, one.cell)),
                None,
            )
            if value is not None:
                continue
            if trouble:
                reason = remarks.reason(trouble) or "no reason given"
                reasons.append(f"{trouble.status} on {system}: {reason}")
            else:
                reasons.append(f"no time was left on {system}")
        return "; ".join(dict.fromkeys(reasons)) or "no block has both"

    def index(self, group: str) -> Index | None:
        """The group's geometric mean; the group "all" has that of all groups, and of a single one."""
        ours = {one.group: one for one in self.evaluation.indices if one.system == self.system}
        return ours.get(group) or (ours.get("all") if self.groups() == [group] else None)

    def groups(self) -> list[str]:
        """The groups that have a figure."""
        return list(dict.fromkeys(one.group for one in self.metrics if one.ratio))

    def cells_of(self, group: str) -> set[tuple[str, str]]:
        """The group's cells, with their metrics."""
        return {(one.cell, one.metric) for one in self.metrics if one.group == group}

    def _item(self, one: Comparison) -> Item:
        assert one.ratio is not None
        return Item(
            self.phrase(one),
            one.workload,
            one.group,
            phrases.aspect_of(one.metric),
            sense(one),
            one.ratio,
            one.verdict,
            one.margin,
            wording.why(one),
            wording.why_long(one),
            (one.cell, one.metric),
        )

    def _parts(self) -> Iterable[Item]:
        """The claims about a curve's plateaus and knees, where they differ from the claim about the whole."""
        whole = {(one.cell, one.metric): one.verdict for one in self.metrics}
        for curve in self.evaluation.curves:
            for part in curve.parts.get(self.system, ()):
                better = part.verdict in BETTER
                alike = BETTER if better else WORSE
                if part.verdict in (*BETTER, *WORSE) and whole.get((curve.cell, curve.metric)) not in alike:
                    yield self._part(curve, part, better)

    def _part(self, curve: CurveComparison, part: PartRatio, better: bool) -> Item:
        low, high = (wording.quantity(size, curve.sweep_unit) for size in (part.low, part.high))
        if part.part == "knee":
            phrase, words = f"{self.phrase(curve)}: knee after {low}", PLACES
        else:
            phrase, words = f"{self.phrase(curve)}, {low} to {high}", SPEEDS
        return Item(
            phrase,
            curve.workload,
            curve.group,
            phrases.aspect_of(curve.metric),
            words[not better],
            part.ratio,
            part.verdict,
            curve.margin,
            "",
            "",
            (curve.cell, curve.metric),
        )
