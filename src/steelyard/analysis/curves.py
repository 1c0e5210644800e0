"""Turns the trials that are curves into shapes: each system's plateaus and knees, and their differences.

Bandwidth and latency over size are one measurement with a shape. The shape is found in the median over
trials; its intervals come from resampling whole trials. Systems are compared size by size and plateau by
plateau, pairwise within blocks, and knee by knee through their intervals. Claims about plateaus are corrected
over all comparisons of the report, claims about knees over all knees.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from steelyard.analysis import comparison
from steelyard.analysis.comparison import exp
from steelyard.analysis.model import CurveComparison, CurveLine, Knee, PartRatio, Plateau, PointRatio
from steelyard.analysis.observations import Curve, Key, Observations
from steelyard.statistics import order_statistics, resampling, segments, verdict
from steelyard.statistics.judgement import Noise, Pairs
from steelyard.statistics.signed_rank import Array, Estimate

_POINTS_LEAST = 6  # fewer have no shape worth the name
SEED = 20031  # of the resampling: the same archive gives the same intervals

_AGREEMENT_LEAST = 0.5  # of resamples with as many bends, or a knee may as well be another
_FAULTS_LEAST = 1.0  # an operation that has to fetch a page each time


@dataclass(frozen=True, slots=True)
class _Shape:
    """The lines of one workload, by system, before they are compared."""

    key: Key
    margin: float
    lines: Mapping[str, CurveLine]


@dataclass(frozen=True, slots=True)
class _Shared:
    """A plateau that the baseline and a system both have."""

    shape: _Shape
    system: str
    number: int  # of the baseline's plateaus
    other: int  # of the system's
    sizes: tuple[int, ...]  # that both plateaus hold


def all_of(observations: Observations, *, margin: float | None = None) -> tuple[CurveComparison, ...]:
    """Every curve of the experiment, in the study's order. One size alone has no shape: it is a value."""
    keys = [key for key in observations.cells_and_metrics() if _has_sizes(observations, key)]
    shapes = [_shape(observations, key, margin) for key in keys]
    shared = [
        one
        for shape in shapes
        for system in observations.others
        if {system, observations.baseline} <= shape.lines.keys() and _blocks(observations, shape.key, system)
        for one in _shared_plateaus(shape, observations.baseline, system)
    ]
    ratios: dict[tuple[Key, str], list[PartRatio]] = defaultdict(list)
    for one, ratio in (*_plateau_ratios(observations, shared), *_knee_ratios(observations, shared)):
        ratios[one.shape.key, one.system].append(ratio)
    noise = comparison.noise_of(observations) if keys else Noise(())
    return tuple(_of(observations, shape, ratios, noise) for shape in shapes)


def _has_sizes(observations: Observations, key: Key) -> bool:
    by_system = observations.curves.get(key, {})
    return any(len(curve) > 1 for by_block in by_system.values() for curve in by_block.values())


def _shape(observations: Observations, key: Key, margin: float | None) -> _Shape:
    _, direction = observations.unit(key)
    return _Shape(
        key,
        margin or float(observations.experiment.header["margins"][observations.group(key[0])]),
        {
            name: _line(observations, key, name, direction)
            for name in observations.names
            if observations.curves[key].get(name)
        },
    )


def _of(
    observations: Observations,
    shape: _Shape,
    parts: Mapping[tuple[Key, str], Sequence[PartRatio]],
    noise: Noise,
) -> CurveComparison:
    label, metric = shape.key
    cell = observations.cells[label]
    workload = observations.workload(label)
    unit, direction = observations.unit(shape.key)
    others = [name for name in observations.others if name in shape.lines]
    return CurveComparison(
        workload=cell.workload,
        parameters=cell.parameters,
        cell=label,
        group=observations.group(label),
        metric=metric,
        unit=unit,
        direction=direction,
        sweeps=str(workload["sweeps"]),
        sweep_unit=str(workload["sweep_unit"]),
        margin=shape.margin,
        lines=tuple(shape.lines.values()),
        ratios={name: _point_ratios(observations, shape.key, name, noise) for name in others},
        parts={
            name: tuple(parts.get((shape.key, name), ()))
            for name in others
            if observations.baseline in shape.lines
        },
    )


def upper_plateau(line: CurveLine) -> Estimate | None:
    """The level of the last plateau before the system pages; of a line that never does, of the first one.

    A cache's plateau may stand before it: areas that a paper of 1999 could measure were larger than any."""
    before = [one for one in line.plateaus if line.paging_from is None or one.low < line.paging_from]
    if not before:
        return None
    return before[-1].level if line.paging_from is not None else before[0].level


def lower_plateau(line: CurveLine) -> Estimate | None:
    """The level of the last plateau among the sizes that the system pages at; None if there is none."""
    beyond = [one for one in line.plateaus if line.paging_from is not None and one.low >= line.paging_from]
    return beyond[-1].level if beyond else None


def degradation(line: CurveLine) -> Estimate | None:
    """The size from which paging costs: the knee next to where fetching pages begins, within an octave of
    it; where the curve has no knee there, that size itself, without an interval. None if it never pages."""
    if line.paging_from is None:
        return None
    places = [knee.place for knee in line.knees]
    near = [one for one in places if abs(math.log2(one.value / line.paging_from)) <= 1]
    if not near:
        return Estimate(float(line.paging_from))
    return min(near, key=lambda one: abs(math.log2(one.value / float(line.paging_from or 1))))


# One system's line


def _line(observations: Observations, key: Key, system: str, direction: str) -> CurveLine:
    sizes, rows = matrix(observations, key, system)
    points = tuple((size, order_statistics.median(rows[:, number])) for number, size in enumerate(sizes))
    paging_from = _paging_from(observations, key, system)
    if len(sizes) < _POINTS_LEAST:
        return CurveLine(system, points, (), (), (), None, len(rows), paging_from)
    measured = segments.estimate(np.array(sizes, float), rows, chance=np.random.default_rng(SEED))
    flat = segments.plateaus(measured.fit)
    plateaus = tuple(
        Plateau(
            measured.fit.segments[number].low, measured.fit.segments[number].high, measured.levels[number]
        )
        for number in flat
    )
    ends = segments.knees(measured.fit, direction="falls" if direction == "higher" else "rises")
    knees = tuple(Knee(flat.index(number), measured.breakpoints[number]) for number in ends)
    return CurveLine(
        system, points, measured.fit.knots, plateaus, knees, measured.agreement, len(rows), paging_from
    )


def matrix(observations: Observations, key: Key, system: str) -> tuple[list[int], Array]:
    """The sizes that every trial of the system has, and a row of values for each trial."""
    by_block = observations.curves[key][system]
    sizes = sorted(set.intersection(*(set(curve) for curve in by_block.values())))
    lens = observations.lens(key[0])
    return sizes, np.array([[curve[size].for_people(lens) for size in sizes] for curve in by_block.values()])


def _paging_from(observations: Observations, key: Key, system: str) -> int | None:
    """The smallest size from which every size pages; None if the largest does not."""
    size = None
    rows = [row for row in observations.rows.faults if (row.cell, row.metric, row.system) == (*key, system)]
    for row in reversed(rows):
        if row.faults is None or row.faults < _FAULTS_LEAST:
            break
        size = row.point
    return size


# Systems against the baseline


def _blocks(observations: Observations, key: Key, system: str) -> list[int]:
    base, other = (
        observations.curves[key].get(observations.baseline, {}),
        observations.curves[key].get(system, {}),
    )
    return sorted(base.keys() & other.keys())


def _point_ratios(observations: Observations, key: Key, system: str, noise: Noise) -> tuple[PointRatio, ...]:
    """Size by size, corrected over the sizes of this curve."""
    if not _blocks(observations, key, system):
        return ()
    points = observations.common_points(key)
    members = [_pairs(observations, key, system, [point]) for point in points]
    judged = comparison.family(members, noise=noise)
    return tuple(PointRatio(point, exp(ratio), p) for point, (ratio, p) in zip(points, judged, strict=True))


def _pairs(observations: Observations, key: Key, system: str, sizes: Sequence[int]) -> Pairs:
    """The level of both systems over these sizes: the median, of time or of time a byte."""
    curves = observations.curves[key]
    return comparison.pairs_of(
        observations,
        key,
        system,
        {
            block: (
                -_log_level(observations, key, curves[observations.baseline][block], sizes),
                -_log_level(observations, key, curves[system][block], sizes),
            )
            for block in _blocks(observations, key, system)
        },
    )


def _log_level(observations: Observations, key: Key, curve: Curve, sizes: Sequence[int]) -> float:
    lens = observations.lens(key[0])
    times = [curve[size].lenses[lens] / (curve[size].bytes or 1.0) for size in sizes]
    return math.log(float(np.median(times)))


def _shared_plateaus(shape: _Shape, baseline: str, system: str) -> Iterable[_Shared]:
    """The pairs of plateaus that share the most sizes with each other.

    Only the sizes of both are compared: the end of a longer plateau is slower, or faster, than the rest of
    it.
    """
    ours, theirs = shape.lines[baseline], shape.lines[system]
    held = [
        [tuple(sorted(_within(ours, one) & _within(theirs, other))) for other in theirs.plateaus]
        for one in ours.plateaus
    ]
    for number, row in enumerate(held):
        most = max(map(len, row), default=0)
        other = next((which for which, sizes in enumerate(row) if most and len(sizes) == most), None)
        if other is not None and most == max(len(one[other]) for one in held):
            yield _Shared(shape, system, number, other, row[other])


def _within(line: CurveLine, plateau: Plateau) -> set[int]:
    return {size for size, _ in line.points if plateau.low <= size <= plateau.high}


def _plateau_ratios(
    observations: Observations, shared: Sequence[_Shared]
) -> Iterable[tuple[_Shared, PartRatio]]:
    """The level of each."""
    members = [_pairs(observations, one.shape.key, one.system, one.sizes) for one in shared]
    judged = comparison.beside_all(observations, members, margins=[one.shape.margin for one in shared])
    for one, member, (ratio, word) in zip(shared, members, judged, strict=True):
        low, high = float(one.sizes[0]), float(one.sizes[-1])
        yield one, PartRatio("plateau", one.other, low, high, exp(ratio), word, len(member.baseline))


def _knee_ratios(
    observations: Observations, shared: Sequence[_Shared]
) -> Iterable[tuple[_Shared, PartRatio]]:
    """Further is better. The interval of the difference comes from both intervals (Zou and Donner, 2008)."""
    both = []
    for one in shared:
        ours, theirs = one.shape.lines[observations.baseline], one.shape.lines[one.system]
        first = next((knee.place for knee in ours.knees if knee.plateau == one.number), None)
        second = next((knee.place for knee in theirs.knees if knee.plateau == one.other), None)
        # What is bent more often on one side may bend at another place for that: intervals do not know it.
        if first is not None and second is not None and len(ours.knots) == len(theirs.knots):
            both.append((one, ours, theirs, first, second))
    for one, ours, theirs, first, second in both:
        ratio = _difference(second, first)
        judged = ratio
        if min(ours.agreement or 0.0, theirs.agreement or 0.0) < _AGREEMENT_LEAST:
            judged = Estimate(ratio.value)
        judged = _widened(judged, count=min(ours.trials, theirs.trials), knees=len(both))
        word = verdict.word(judged, judged, margin=one.shape.margin)
        blocks = len(_blocks(observations, one.shape.key, one.system))
        yield one, PartRatio("knee", one.other, first.value, first.value, exp(ratio), word, blocks)


def _widened(ratio: Estimate, *, count: int, knees: int) -> Estimate:
    """The widened interval for a claim: corrected for the number of knees (Bonferroni) and of trials."""
    if ratio.low is None or ratio.high is None or ratio.level is None:
        return ratio
    alpha = 1 - ratio.level
    wider = resampling.reach(alpha / knees, count=count) / NormalDist().inv_cdf(1 - alpha / 2)
    return Estimate(
        ratio.value,
        ratio.value - wider * (ratio.value - ratio.low),
        ratio.value + wider * (ratio.high - ratio.value),
        1 - alpha / knees,
    )


def _difference(two: Estimate, one: Estimate) -> Estimate:
    value = math.log(two.value) - math.log(one.value)
    if two.low is None or two.high is None or one.low is None or one.high is None:
        return Estimate(value)
    below = math.hypot(math.log(two.value / two.low), math.log(one.high / one.value))
    above = math.hypot(math.log(two.high / two.value), math.log(one.value / one.low))
    return Estimate(value, value - below, value + above, two.level)
