"""The shape of a curve over sizes: its plateaus, their levels, and the knees where they end.

A continuous piecewise-linear fit of log2 y on log2 size; breakpoints.py has the method, its source, its
condition, and when it misleads. A plateau is a segment flatter than FLAT; its level is the median of the
values within. A knee is a breakpoint that ends a plateau after which the curve is STEEP. Intervals by
resampling trials (resampling.py). That a curve falls from some size on does not say why: that paging begins
there, only its counters say.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from steelyard.statistics import breakpoints, resampling
from steelyard.statistics.signed_rank import Array, Estimate

FLAT = 0.1  # octaves of y per octave of size
STEEP = breakpoints.STEEP


@dataclass(frozen=True, slots=True)
class Segment:
    """One straight piece, from size `low` to size `high`. Slopes are in octaves per octave."""

    low: float
    high: float
    slope: float
    slope_error: float  # its standard error, by the scatter about this piece or the whole, whichever is more
    level: float  # the median of the values within

    @property
    def is_plateau(self) -> bool:
        """Flatter than FLAT or, where noise hides it, than three standard errors; in no case STEEP."""
        return abs(self.slope) < min(STEEP, max(FLAT, 3 * self.slope_error))


@dataclass(frozen=True, slots=True)
class SegmentFit:
    """A curve in pieces. Breakpoints are sizes; knots are (size, value), at both ends and each breakpoint."""

    breakpoints: tuple[float, ...]
    knots: tuple[tuple[float, float], ...]
    segments: tuple[Segment, ...]
    residual: float  # the standard deviation of the values about it, as a fraction


@dataclass(frozen=True, slots=True)
class EstimatedSegments:
    """The fit of several trials' pooled curve, with an estimate for each breakpoint and each segment's level.

    `agreement`: the share of resamples in which a free fit finds as many breakpoints; None without intervals.
    """

    fit: SegmentFit
    breakpoints: tuple[Estimate, ...]
    levels: tuple[Estimate, ...]
    agreement: float | None


def fit(sizes: Array, values: Array) -> SegmentFit:
    """The fit of one curve. Shape: n ascending sizes, n >= 3, and n values above 0."""
    return _described(sizes, values, breakpoints.find(np.log2(sizes), np.log2(values)))


def estimate(
    sizes: Array, curves: Array, *, chance: np.random.Generator, alpha: float = 0.05
) -> EstimatedSegments:
    """The fit of the pooled curve, with intervals. Shape of the curves: trials x sizes.

    A resample keeps the pooled curve's number of breakpoints, and seeks them from where that has them. With
    fewer trials than resampling.FEWEST there are no intervals.
    """
    pooled = fit(sizes, resampling.pooled(curves))
    values = [one.level for one in pooled.segments]
    if len(curves) < resampling.FEWEST:
        return EstimatedSegments(
            pooled, tuple(map(Estimate, pooled.breakpoints)), tuple(map(Estimate, values)), None
        )
    x, start = np.log2(sizes), np.log2(pooled.breakpoints)
    redrawn = np.log2(resampling.redrawn(curves, chance))
    breaks = [breakpoints.settle(x, y, start=start) for y in redrawn]
    reached = np.exp2([breakpoints.reach(x, y, breaks=at) for y, at in zip(redrawn, breaks, strict=True)])
    levels = np.exp2(
        [
            [np.median(y[within]) for within in breakpoints.pieces(x, at)]
            for y, at in zip(redrawn, breaks, strict=True)
        ]
    )
    freely = [breakpoints.find(x, y) for y in redrawn[: resampling.REFITTED_FREELY]]
    return EstimatedSegments(
        pooled,
        resampling.intervals(pooled.breakpoints, reached[:, 0], reached[:, 1], alpha=alpha),
        resampling.intervals(values, levels, levels, alpha=alpha),
        float(np.mean([len(at) == len(start) for at in freely])),
    )


def plateaus(fit: SegmentFit) -> tuple[int, ...]:
    """The segments that are plateaus."""
    return tuple(which for which, one in enumerate(fit.segments) if one.is_plateau)


def knees(fit: SegmentFit, *, direction: Literal["falls", "rises"]) -> tuple[int, ...]:
    """The breakpoints that are knees: bandwidth falls after one, latency rises."""
    sign = {"falls": -1, "rises": 1}[direction]
    return tuple(
        which
        for which, (before, after) in enumerate(pairwise(fit.segments))
        if before.is_plateau and sign * after.slope > STEEP
    )


def _described(sizes: Array, values: Array, breaks: Array) -> SegmentFit:
    x, y = np.log2(sizes), np.log2(values)
    edges, ordinates = np.concatenate([x[:1], breaks, x[-1:]]), breakpoints.ordinates(x, y, breaks=breaks)
    residual = y - np.interp(x, edges, ordinates)
    knots = tuple(zip(np.exp2(edges).tolist(), np.exp2(ordinates).tolist(), strict=True))
    scatter = _scatter(residual, 2 + 2 * len(breaks))
    slopes, pieces = breakpoints.slopes(x, y, breaks=breaks), breakpoints.pieces(x, breaks)
    segments = tuple(
        Segment(
            low=begin,
            high=end,
            slope=slope,
            slope_error=max(scatter, _scatter(residual[within], 2)) / _spread(x[within]),
            level=float(np.median(values[within])),
        )
        for ((begin, _), (end, _)), slope, within in zip(
            pairwise(knots), slopes.tolist(), pieces, strict=True
        )
    )
    deviation = float(np.log(2) * np.sqrt(np.mean(residual**2)))
    return SegmentFit(tuple(size for size, _ in knots[1:-1]), knots, segments, deviation)


def _scatter(residual: Array, parameters: int) -> float:
    """The standard deviation of a point about a fit with this number of parameters."""
    return float(np.sqrt(np.sum(residual**2) / max(len(residual) - parameters, 1)))


def _spread(x: Array) -> float:
    return float(np.sqrt(np.sum((x - x.mean()) ** 2)))
