"""Sorts what was compared of one system: what is claimed, what is bounded, what is open, what is missing."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.model import Comparison, CurveComparison, Index, PartRatio, Weighing
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import phrases, wording

BETTER = (verdict.FASTER, verdict.FASTER_OPEN)
WORSE = (verdict.SLOWER, verdict.SLOWER_OPEN)
# Words for the direction, first of what is better.
SPEEDS = ("faster", "slower")
PLACES = ("later", "earlier")  # where a curve worsens
OF_ASPECTS = {"latency": ("shorter", "longer"), "processor time": ("less", "more")}
SAME = (verdict.EQUIVALENT, verdict.BOUNDED)


@dataclass(frozen=True, slots=True)
class Item:
    """What is claimed of one metric, or of one part of a curve."""

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
        """How far from 1 it is, on the log scale."""
        return abs(math.log(self.ratio.value))

    @property
    def most(self) -> float:
        """No difference is larger, as a fraction."""
        bounds = [one for one in (self.ratio.low, self.ratio.high) if one is not None]
        return max((max(one, 1 / one) for one in bounds), default=math.inf) - 1

    @property
    def sure(self) -> float:
        """How far from 1, beyond the margin, it is for sure."""
        bounds = [one for one in (self.ratio.low, self.ratio.high) if one is not None]
        nearest = min((abs(math.log(one)) for one in bounds), default=0.0)
        beyond = all((one > 1) == (self.ratio.value > 1) for one in bounds)
        return (nearest if beyond else 0.0) - math.log1p(self.margin)


def counts(one: Comparison, header: Mapping[str, Any]) -> bool:
    """Whether it is spoken of: not what judges nothing, nor the harness's own loop, nor what another metric
    has taken away."""
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


def bound(one: Comparison) -> float:
    """No difference is larger, as a fraction."""
    return one.bound if one.bound is not None else one.margin


class Compared:
    """One system's comparisons, by what came of them."""

    def __init__(self, weighing: Weighing, system: str) -> None:
        self.weighing = weighing
        self.system = system
        self.base = weighing.baseline
        ours = [one for one in weighing.comparisons if one.system == system]
        cells = {one.cell: (one.workload, one.parameters) for one in weighing.levels or ours}
        self._varied = phrases.varied(cells.values())
        header = weighing.experiment.header
        measured = {one.cell for one in ours if one.ratio}
        self.metrics = [
            one
            for one in ours
            if counts(one, header)
            and one.cell not in set(weighing.left_out)
            and (one.ratio or one.cell not in measured or (one.baseline_value, one.value) != (None, None))
        ]
        self.items = [self._item(one) for one in self.metrics if one.verdict in (*BETTER, *WORSE)]
        self.items += self._parts()
        self.same = [one for one in self.metrics if one.verdict in SAME]
        self.open = [one for one in self.metrics if one.ratio and one.verdict == verdict.UNRESOLVED]
        self.missing = [one for one in self.metrics if one.ratio is None]

    def phrase(self, one: Comparison | CurveComparison) -> str:
        """What was measured, in words."""
        parameters = self._varied.get(one.workload, ())
        return phrases.of_metric(one.workload, one.parameters, one.metric, told=parameters)

    def index(self, group: str) -> Index | None:
        """The group's geometric mean; that of all groups is of the group "all", and of the only one, too."""
        ours = {one.group: one for one in self.weighing.indices if one.system == self.system}
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
        """What is claimed of a curve's plateaus and knees, where it is not what is claimed of the whole."""
        whole = {(one.cell, one.metric): one.verdict for one in self.metrics}
        for curve in self.weighing.curves:
            for part in curve.parts.get(self.system, ()):
                better = part.verdict in BETTER
                alike = BETTER if better else WORSE
                if part.verdict in (*BETTER, *WORSE) and whole.get((curve.cell, curve.metric)) not in alike:
                    yield self._part(curve, part, better)

    def _part(self, curve: CurveComparison, part: PartRatio, better: bool) -> Item:
        low, high = (wording.quantity(size, curve.sweep_unit) for size in (part.low, part.high))
        if part.part == "knee":
            phrase, words = f"{self.phrase(curve)}: where it worsens after {low}", PLACES
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
