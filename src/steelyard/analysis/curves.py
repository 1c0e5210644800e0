"""Turns the trials that are curves into shapes: each system's plateaus and knees, and how they differ.

Bandwidth and latency over size are one measurement with a shape. The shape is found in the median over
trials, its intervals by drawing whole trials anew; systems are compared size by size and plateau by plateau,
pairwise within blocks, and knee by knee through their intervals.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.analysis import comparison
from steelyard.analysis.comparison import exp
from steelyard.analysis.model import CurveComparison, CurveLine, Knee, PartRatio, Plateau, PointRatio
from steelyard.analysis.observations import Curve, Key, Observations
from steelyard.statistics import order_statistics, segments, verdict
from steelyard.statistics.judgement import Noise, Pairs
from steelyard.statistics.signed_rank import Array, Estimate

_POINTS_LEAST = 6  # fewer have no shape worth the name
SEED = 20031  # of the resampling: the same archive gives the same intervals

_FAULTS_LEAST = 1.0  # an operation that has to fetch a page each time


def all_of(observations: Observations, *, margin: float | None = None) -> tuple[CurveComparison, ...]:
    """Every curve of the experiment, in the study's order. One size alone has no shape: it is a value."""
    keys = [key for key in observations.cells_and_metrics() if _has_sizes(observations, key)]
    noise = comparison.noise_of(observations) if keys else Noise(())
    return tuple(_of(observations, key, margin, noise) for key in keys)


def _has_sizes(observations: Observations, key: Key) -> bool:
    by_system = observations.curves.get(key, {})
    return any(len(curve) > 1 for by_block in by_system.values() for curve in by_block.values())


def _of(observations: Observations, key: Key, margin: float | None, noise: Noise) -> CurveComparison:
    label, metric = key
    cell = observations.cells[label]
    workload = observations.workload(label)
    unit, direction = observations.unit(key)
    chosen = margin or float(observations.experiment.header["margins"][observations.group(label)])
    lines = {
        name: _line(observations, key, name, direction)
        for name in observations.names
        if observations.curves[key].get(name)
    }
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
        margin=chosen,
        lines=tuple(lines.values()),
        ratios={
            name: _point_ratios(observations, key, name, noise)
            for name in observations.others
            if name in lines
        },
        parts={
            name: _part_ratios(observations, key, name, lines, chosen, noise)
            for name in observations.others
            if name in lines and observations.baseline in lines
        },
    )


def upper_plateau(line: CurveLine) -> Estimate | None:
    """The level of the last plateau before the system pages; of a line that never does, of the first one.

    A cache's plateau may stand before it: areas that a paper of 1999 could measure were larger than any."""
    before = [one for one in line.plateaus if line.paging_from is None or one.low < line.paging_from]
    if not before:
        return None
    return before[-1].level if line.paging_from is not None else before[0].level


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
    points = observations.common_points(key)
    members = [_pairs(observations, key, system, [point], [point]) for point in points]
    tests = comparison.family(members if _blocks(observations, key, system) else [], margin=0.01, noise=noise)
    return tuple(
        PointRatio(point, exp(ratio), p) for point, (ratio, _, p) in zip(points, tests, strict=False)
    )


def _pairs(
    observations: Observations, key: Key, system: str, ours: Sequence[int], theirs: Sequence[int]
) -> Pairs:
    """The level of the baseline over some sizes and the system's over others: the median, of time or of
    time a byte."""
    curves = observations.curves[key]
    return comparison.pairs_of(
        observations,
        key,
        system,
        {
            block: (
                -_log_level(observations, key, curves[observations.baseline][block], ours),
                -_log_level(observations, key, curves[system][block], theirs),
            )
            for block in _blocks(observations, key, system)
        },
    )


def _log_level(observations: Observations, key: Key, curve: Curve, sizes: Sequence[int]) -> float:
    lens = observations.lens(key[0])
    times = [curve[size].lenses[lens] / (curve[size].bytes or 1.0) for size in sizes]
    return math.log(float(np.median(times)))


def _part_ratios(
    observations: Observations,
    key: Key,
    system: str,
    lines: Mapping[str, CurveLine],
    margin: float,
    noise: Noise,
) -> tuple[PartRatio, ...]:
    """Plateau by plateau, each system over its own sizes, corrected over this curve's; then the knees."""
    ours, theirs = lines[observations.baseline], lines[system]
    pairs = _matched(ours.plateaus, theirs.plateaus)
    blocks = _blocks(observations, key, system)
    members = [
        _pairs(
            observations,
            key,
            system,
            _within(ours, ours.plateaus[number]),
            _within(theirs, theirs.plateaus[other]),
        )
        for number, other in pairs
    ]
    judged = comparison.family(members if blocks else [], margin=margin, noise=noise)
    ratios = [
        PartRatio(
            "plateau",
            number,
            ours.plateaus[number].low,
            ours.plateaus[number].high,
            exp(ratio),
            word,
            len(blocks),
        )
        for (number, _), (ratio, word, _) in zip(pairs, judged, strict=False)
    ]
    return (*ratios, *_knee_ratios(ours, theirs, pairs, margin, len(blocks)))


def _within(line: CurveLine, plateau: Plateau) -> list[int]:
    return [size for size, _ in line.points if plateau.low <= size <= plateau.high]


def _matched(ours: Sequence[Plateau], theirs: Sequence[Plateau]) -> list[tuple[int, int]]:
    """Which plateau stands against which: by order where there are as many, else by the sizes they share."""
    if len(ours) == len(theirs):
        return [(number, number) for number in range(len(ours))]
    matches = []
    for number, one in enumerate(ours):
        shares = [
            math.log2(min(one.high, other.high)) - math.log2(max(one.low, other.low)) for other in theirs
        ]
        if shares and max(shares) > 0:
            matches.append((number, shares.index(max(shares))))
    return matches


def _knee_ratios(
    ours: CurveLine, theirs: CurveLine, pairs: Sequence[tuple[int, int]], margin: float, blocks: int
) -> list[PartRatio]:
    """Further is better. The interval of the difference comes from both intervals (Zou and Donner, 2008)."""
    ratios = []
    for number, other in pairs:
        one = next((knee.place for knee in ours.knees if knee.plateau == number), None)
        two = next((knee.place for knee in theirs.knees if knee.plateau == other), None)
        if one is None or two is None:
            continue
        ratio = _difference(two, one)
        ratios.append(
            PartRatio(
                "knee",
                number,
                one.value,
                one.value,
                exp(ratio),
                verdict.word(ratio, ratio, margin=margin),
                blocks,
            )
        )
    return ratios


def _difference(two: Estimate, one: Estimate) -> Estimate:
    value = math.log(two.value) - math.log(one.value)
    if two.low is None or two.high is None or one.low is None or one.high is None:
        return Estimate(value)
    below = math.hypot(math.log(two.value / two.low), math.log(one.high / one.value))
    above = math.hypot(math.log(two.high / two.value), math.log(one.value / one.low))
    return Estimate(value, value - below, value + above, two.level)
