"""Decides for a gate: whether anything became worse beyond the margin, and for how much that is ruled out."""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.analysis.model import Comparison, Evaluation
from steelyard.statistics import verdict

WORSE, RULED_OUT, OPEN, FAILED = "worse", "ruled out", "open", "failed"
PASSED_STATUS, WORSE_STATUS, OPEN_STATUS = 0, 1, 3
SKIP_STATUS = 125  # as git bisect has it: this commit cannot be tested


@dataclass(frozen=True, slots=True)
class Gated:
    """One metric of the new one against the old one."""

    comparison: Comparison
    state: str  # WORSE, RULED_OUT, OPEN or FAILED

    @property
    def change(self) -> float | None:
        """Of the time or amount, as a fraction: above 0 is worse."""
        ratio = self.comparison.ratio
        return None if ratio is None else 1 / ratio.value - 1

    @property
    def bounds(self) -> tuple[float, float] | None:
        ratio = self.comparison.ratio
        if ratio is None or not ratio.low or not ratio.high:
            return None
        return 1 / ratio.high - 1, 1 / ratio.low - 1


@dataclass(frozen=True, slots=True)
class Gate:
    """All metrics of one system against the baseline, the worst first."""

    old: str
    new: str
    metrics: tuple[Gated, ...]
    by_processor: tuple[Gated, ...] = ()  # worse by processor time, where the clock leaves it open

    @property
    def all(self) -> Sequence[Gated]:
        return (*self.metrics, *self.by_processor)

    def of(self, state: str) -> Sequence[Gated]:
        return [one for one in self.metrics if one.state == state]

    @property
    def seconds_needed(self) -> float | None:
        """Of measuring, until what is open is decided; None: unknown."""
        needed = [one.comparison.seconds_needed for one in self.of(OPEN)]
        known = [one for one in needed if one is not None]
        return sum(known) if known and len(known) == len(needed) else None

    @property
    def status(self) -> int:
        if self.of(WORSE) or self.of(FAILED) or self.by_processor:
            return WORSE_STATUS
        return OPEN_STATUS if self.of(OPEN) or not self.metrics else PASSED_STATUS


def decide(evaluation: Evaluation, new: str) -> Gate:
    """The gate between the evaluation's baseline and the system `new`."""
    ours = [one for one in evaluation.comparisons if one.system == new and _is_judged(one)]
    metrics = [Gated(one, _state(one)) for one in ours]
    undecided = {one.comparison.cell for one in metrics if one.state == OPEN}
    by_processor = [
        Gated(one, WORSE)
        for one in evaluation.processor_times
        if one.system == new and one.verdict == verdict.SLOWER and one.cell in undecided
    ]
    order = (FAILED, WORSE, OPEN, RULED_OUT)
    metrics.sort(key=lambda one: (order.index(one.state), -(one.change or 0.0)))
    return Gate(evaluation.baseline, new, tuple(metrics), tuple(by_processor))


def _is_judged(one: Comparison) -> bool:
    return one.direction != "none" and one.group != "harness"


def _state(one: Comparison) -> str:
    if one.ratio is None:
        return OPEN if one.value is not None or one.baseline_value is None else FAILED
    if one.verdict == verdict.SLOWER:  # its interval lies beyond the margin
        return WORSE
    low = one.ratio.low
    is_ruled_out = low is not None and low > 1 / (1 + one.margin)
    claims_no_slowdown = one.verdict in (verdict.FASTER, verdict.FASTER_OPEN, verdict.EQUIVALENT)
    return RULED_OUT if is_ruled_out or claims_no_slowdown else OPEN
