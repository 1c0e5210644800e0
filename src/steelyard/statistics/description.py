"""Describes a set of values by the figures that panalyser prints of a series (mean, standard deviation,
coefficient of variation, median; Kretschek, Hexsel and dos Santos), and by percentiles.

Percentiles interpolate linearly between ordered values (type 7 of Hyndman and Fan, 1996). The coefficient of
variation is for values from 0 on: it misleads if the mean is near 0.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

PERCENTILES = (5, 25, 75, 95, 99)


@dataclass(frozen=True, slots=True)
class Description:
    """None: too few values for it, or a mean of 0 for `variation`."""

    count: int
    mean: float
    deviation: float | None  # the standard deviation, over n - 1
    variation: float | None  # over the mean
    median: float
    percentiles: Mapping[int, float]  # of PERCENTILES
    least: float
    most: float


def of(values: Iterable[float]) -> Description | None:
    """None where there is no value at all."""
    ordered = sorted(values)
    count = len(ordered)
    if count == 0:
        return None
    mean = math.fsum(ordered) / count
    deviation = None
    if count > 1:
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in ordered) / (count - 1))
    return Description(
        count=count,
        mean=mean,
        deviation=deviation,
        variation=deviation / mean if deviation is not None and mean else None,
        median=percentile(ordered, 50),
        percentiles={each: percentile(ordered, each) for each in PERCENTILES},
        least=ordered[0],
        most=ordered[-1],
    )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The percentile of one or more values in ascending order."""
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
