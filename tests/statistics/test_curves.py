"""Curves over sizes: known breakpoints, capacities and lines are found, few are invented, intervals cover."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from steelyard.statistics import breakpoints, capacities, lines, resampling, segments
from steelyard.statistics.segments import Segment
from steelyard.statistics.signed_rank import Array, Estimate

KIB, MIB = 2.0**10, 2.0**20
SIGMAS = 4  # of the binomial: a test that simulates is wrong by chance once in 16 000


def _tolerance(share: float, studies: int) -> float:
    return SIGMAS * math.sqrt(share * (1 - share) / studies)


def _sizes(first: float, last: float, *, to_a_doubling: int) -> Array:
    """From 2^first to 2^last."""
    return np.exp2(np.arange(first, last + 1e-9, 1 / to_a_doubling))


def _pieces(sizes: Array, at: Sequence[float] | Array, heights: Sequence[float] | Array) -> Array:
    """A curve that is straight between the knots, both of whose coordinates are in octaves."""
    values: Array = np.exp2(np.interp(np.log2(sizes), at, heights))
    return values


def _noisy(values: Array, chance: np.random.Generator, deviation: float, *, trials: int = 0) -> Array:
    """The values, or as many trials' rows of them, times independent noise."""
    shape = (trials, len(values)) if trials else values.shape
    noisy: Array = values * np.exp(chance.normal(0, deviation, size=shape))
    return noisy


def _covers(found: Estimate, truth: float) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low <= truth <= found.high


# --- resampling


def test_the_pooled_curve_is_the_median_of_each_point() -> None:
    curves = np.array([[1.0, 5.0], [2.0, 4.0], [9.0, 0.0]])

    assert list(resampling.pooled(curves)) == [2, 4]


def test_whole_curves_are_drawn() -> None:
    # Two kinds of curves: no resample may mix them at a median of an odd number.
    curves = np.array([[0.0, 1.0]] * 3 + [[1.0, 0.0]] * 4)

    redrawn = resampling.redrawn(curves, np.random.default_rng(1))

    assert redrawn.shape == (resampling.RESAMPLES, 2)
    assert {tuple(row) for row in redrawn} == {(0.0, 1.0), (1.0, 0.0)}


def test_the_same_seed_draws_the_same() -> None:
    curves = np.random.default_rng(2).normal(size=(9, 5))
    first, second = (resampling.redrawn(curves, np.random.default_rng(3)) for _ in range(2))

    assert np.array_equal(first, second)


def test_the_interval_is_that_of_the_percentiles() -> None:
    figures = np.arange(101.0)[:, None]

    assert resampling.intervals([50.0], figures, figures + 1, alpha=0.1) == (Estimate(50.0, 5.0, 96.0, 0.9),)


@pytest.mark.computes
@pytest.mark.parametrize("trials", [5, 8, 12, 24])
def test_the_interval_of_a_level_covers_it_as_often_as_resampling_can(trials: int) -> None:
    studies = 600
    chance = np.random.default_rng(trials)
    covered = 0
    for curves in chance.normal(size=(studies, trials, 1)):
        redrawn = resampling.redrawn(curves, chance)
        (found,) = resampling.intervals([0.0], redrawn, redrawn, alpha=0.05)
        covered += _covers(found, 0.0)

    assert 0.92 - _tolerance(0.92, studies) < covered / studies < 0.96 + _tolerance(0.96, studies)


# --- breakpoints


def test_a_bend_without_noise_is_found_where_it_is() -> None:
    x = np.arange(12.0, 30.0, 0.25)

    assert breakpoints.find(x, np.minimum(0.0, -1.6 * (x - 27))) == pytest.approx([27])
    assert breakpoints.find(x, np.minimum(0.0, -1.6 * (x - 21.1))) == pytest.approx([21.1], abs=0.01)


def test_a_straight_line_has_no_breakpoint_however_steep() -> None:
    x = np.arange(12.0, 30.0, 0.25)

    for slope in (0.0, -0.7, 3.0):
        assert len(breakpoints.find(x, 5 + slope * x)) == 0


@pytest.mark.parametrize("points", range(3, 9))
def test_few_points_have_few_breakpoints(points: int) -> None:
    x = np.arange(float(points))
    y = np.where(x < points / 2, 0.0, 3.0)

    found = breakpoints.find(x, y)

    assert len(found) in ((0,) if points < 6 else (0, 2))  # three before the cliff and three after


def test_ordinates_and_slopes_are_as_by_hand() -> None:
    x = np.arange(9.0)
    y = np.array([1.0, 1, 1, 1, 3, 5, 7, 7, 7])
    breaks = np.array([3.0, 6.0])

    assert breakpoints.ordinates(x, y, breaks=breaks) == pytest.approx([1, 1, 7, 7])
    assert breakpoints.slopes(x, y, breaks=breaks) == pytest.approx([0, 2, 0], abs=1e-12)
    assert breakpoints.pieces(x, breaks) == [slice(0, 4), slice(3, 7), slice(6, 9)]


def test_where_a_cliff_begins_is_known_no_better_than_the_points_tell() -> None:
    x = np.arange(12.0)

    def reach(*breaks: float) -> list[list[float]]:
        y = np.interp(x, breaks, np.arange(len(breaks)) % 2)
        return [list(side) for side in breakpoints.reach(x, y, breaks=np.array(breaks))]

    assert reach(3.0, 4.0) == [[3, 3], [4, 4]]  # between two points: either end anywhere there
    assert reach(2.96, 4.0) == [[2.96, 3], [4, 4]]  # 3 is as good as its beginning
    assert reach(3.0, 4.6) == [[3, 4], [4, 5]]  # one point inside
    assert reach(2.6, 5.4) == [[2.6, 5.4], [2.6, 5.4]]  # three inside: the line through them says it
    assert reach(3.0, 4.0, 6.0, 7.0) == [[3, 3, 6, 6], [4, 4, 7, 7]]  # what lies between cliffs is no cliff
    assert reach(5.5) == [[5.5], [5.5]]


def test_a_search_from_near_by_ends_where_the_search_from_nothing_does() -> None:
    x = np.arange(12.0, 30.0, 0.25)
    y = np.interp(x, [18.1, 20.7], [0.0, -3.0]) + np.random.default_rng(1).normal(0, 0.03, len(x))

    found = breakpoints.find(x, y)

    assert found == pytest.approx([18.1, 20.7], abs=0.1)
    assert breakpoints.settle(x, y, start=np.array([18.4, 20.4])) == pytest.approx(found, abs=0.01)


@pytest.mark.computes
@pytest.mark.parametrize("to_a_doubling", [1, 2, 4])
def test_few_straight_curves_are_given_a_bend(to_a_doubling: int) -> None:
    curves = 60
    sizes = _sizes(12, 30, to_a_doubling=to_a_doubling)
    chance = np.random.default_rng(to_a_doubling)
    bent = sum(
        len(segments.fit(sizes, _noisy(np.full(len(sizes), 40.0), chance, deviation)).breakpoints) > 0
        for deviation in np.repeat([0.005, 0.03], curves)
    )

    assert bent / (2 * curves) < 0.02 + _tolerance(0.02, 2 * curves)


@pytest.mark.computes
def test_a_bend_is_found_nearly_always_and_where_it_is() -> None:
    curves = 100
    sizes = _sizes(12, 30, to_a_doubling=4)
    chance = np.random.default_rng(61)
    truth = _pieces(sizes, [12, 27, 30], [0, 0, -4.8])
    found = [segments.fit(sizes, _noisy(truth, chance, 0.03)).breakpoints for _ in range(curves)]
    at = [math.log2(one[0]) for one in found if len(one) == 1]

    assert len(at) / curves >= 0.98
    assert np.mean(at) == pytest.approx(27, abs=0.01)
    assert np.std(at) < 0.02


# --- segments


# Octaves: the bandwidth falls for one after each of three capacities.
STAIRS = ([15, 16, 20, 21, 25, 26], [7, 6.2, 6.2, 5, 5, 3.7])


@pytest.mark.computes
@pytest.mark.parametrize("to_a_doubling", [1, 2, 4])
@pytest.mark.parametrize("deviation", [0.02, 0.03])
def test_three_caches_and_memory_are_four_plateaus_with_three_knees(
    to_a_doubling: int, deviation: float
) -> None:
    curves = 40
    sizes = _sizes(12, 30, to_a_doubling=to_a_doubling)
    chance = np.random.default_rng([to_a_doubling, int(1000 * deviation)])
    truth = _pieces(sizes, *STAIRS)
    fits = [segments.fit(sizes, _noisy(truth, chance, deviation)) for _ in range(curves)]
    right = [found for found in fits if segments.plateaus(found) == (0, 2, 4, 6)]

    assert len(right) / curves >= 0.95
    for found in right:
        assert segments.knees(found, direction="falls") == (0, 2, 4)
        assert segments.knees(found, direction="rises") == ()
        assert np.log2(found.breakpoints) == pytest.approx(STAIRS[0], abs=0.4)
        levels = [found.segments[which].level for which in (0, 2, 4, 6)]
        assert np.log2(levels) == pytest.approx([7, 6.2, 5, 3.7], abs=0.1)


@pytest.mark.parametrize("to_a_doubling", [1, 2, 4])
def test_cliffs_between_two_sizes_begin_at_the_one_and_end_at_the_other(to_a_doubling: int) -> None:
    sizes = _sizes(12, 30, to_a_doubling=to_a_doubling)
    chance = np.random.default_rng(to_a_doubling)
    truth = np.select([sizes <= 32 * KIB, sizes <= MIB, sizes <= 32 * MIB], [100.0, 60.0, 30.0], 12.0)
    step = 1 / to_a_doubling

    found = segments.fit(sizes, _noisy(truth, chance, 0.02))

    truths = [15, 15 + step, 20, 20 + step, 25, 25 + step]
    assert np.log2(found.breakpoints) == pytest.approx(truths, abs=step / 4)
    assert segments.knees(found, direction="falls") == (0, 2, 4)


@pytest.mark.computes
@pytest.mark.parametrize("to_a_doubling", [4, 8])
@pytest.mark.parametrize("wide", [0.4, 1.0])
def test_paging_is_an_upper_plateau_a_decline_and_a_lower_plateau(to_a_doubling: int, wide: float) -> None:
    curves = 40
    sizes = _sizes(23, 29, to_a_doubling=to_a_doubling)
    chance = np.random.default_rng([to_a_doubling, int(10 * wide)])
    truth = _pieces(sizes, [26.6, 26.6 + wide], [8, 2])
    fits = [segments.fit(sizes, _noisy(truth, chance, 0.03)) for _ in range(curves)]
    right = [found for found in fits if segments.plateaus(found) == (0, 2)]

    assert len(right) / curves >= 0.95
    for found in right:
        assert len(found.segments) == 3
        assert segments.knees(found, direction="falls") == (0,)
        assert math.log2(found.breakpoints[0]) == pytest.approx(26.6, abs=0.05)
        assert found.segments[0].level == pytest.approx(256, rel=0.04)
        assert found.segments[2].level == pytest.approx(4, rel=0.06)


def test_the_knee_of_a_latency_is_where_it_rises() -> None:
    sizes = _sizes(12, 30, to_a_doubling=4)
    found = segments.fit(sizes, _pieces(sizes, [20, 21], [1, 3]))

    assert segments.knees(found, direction="rises") == (0,)
    assert segments.knees(found, direction="falls") == ()
    assert found.breakpoints == pytest.approx([MIB, 2 * MIB])


def test_a_decline_that_wavers_is_one_decline() -> None:
    sizes = _sizes(20, 30, to_a_doubling=4)
    wavering = _pieces(sizes, [24, 25, 25.5, 26, 27.5, 30], [5, 3.5, 3.2, 2, -0.25, -4])

    found = segments.fit(sizes, _noisy(wavering, np.random.default_rng(2), 0.01))

    assert min(np.diff(np.log2(found.breakpoints)), default=1) >= 1 - 1e-9
    assert segments.knees(found, direction="falls") == (0,)
    assert math.log2(found.breakpoints[0]) == pytest.approx(24, abs=0.2)


def test_one_size_that_sticks_out_makes_no_knee() -> None:
    sizes = _sizes(12, 30, to_a_doubling=4)
    values = _noisy(np.full(len(sizes), 40.0), np.random.default_rng(3), 0.02)
    values[30] *= 0.7

    assert segments.fit(sizes, values).breakpoints == ()


def test_a_fit_is_described_in_the_units_that_came() -> None:
    sizes = _sizes(12, 20, to_a_doubling=2)
    found = segments.fit(sizes, _pieces(sizes, [16, 20], [3, -1]))

    assert [segment.slope for segment in found.segments] == pytest.approx([0, -1], abs=1e-9)
    assert np.ravel(found.knots) == pytest.approx([4096, 8, 65536, 8, MIB, 0.5])
    assert [(one.low, one.high) for one in found.segments] == [
        (found.knots[0][0], found.knots[1][0]),
        (found.knots[1][0], found.knots[2][0]),
    ]
    assert [segment.level for segment in found.segments] == pytest.approx([8, 2])
    assert found.residual == pytest.approx(0, abs=1e-9)


@pytest.mark.computes
def test_the_residual_is_the_noise_as_a_fraction() -> None:
    sizes = _sizes(12, 30, to_a_doubling=16)
    noisy = _noisy(np.full(len(sizes), 40.0), np.random.default_rng(4), 0.03)

    assert segments.fit(sizes, noisy).residual == pytest.approx(0.03, rel=0.1)


def test_other_units_and_the_reciprocal_have_the_same_breakpoints() -> None:
    sizes = _sizes(12, 30, to_a_doubling=2)
    values = _noisy(_pieces(sizes, *STAIRS), np.random.default_rng(5), 0.02)
    at = segments.fit(sizes, values).breakpoints

    assert segments.fit(sizes, 1e9 / values).breakpoints == pytest.approx(at)
    assert segments.fit(sizes / 4096, values).breakpoints == pytest.approx(np.array(at) / 4096)


@pytest.mark.parametrize(
    ("slope", "error", "plateau"),
    [
        (0.05, 0.0, True),
        (-0.05, 0.0, True),
        (-0.15, 0.01, False),
        (-0.15, 0.06, True),  # the noise hides it
        (-0.35, 1.0, False),  # steep all the same
        (0.1, 0.0, False),
    ],
)
def test_a_plateau_is_flat_or_not_shown_to_be_otherwise(slope: float, error: float, plateau: bool) -> None:
    assert Segment(1, 2, slope=slope, slope_error=error, level=1).is_plateau == plateau


# --- intervals of breakpoints and levels

PAGING = ([26.7, 27.1], [8, 2])


def _paging_trials(sizes: Array, chance: np.random.Generator, *, trials: int) -> Array:
    """Each trial's own knee, own level and own noise."""
    at, heights = np.array(PAGING)
    curves = [
        _pieces(sizes, at + chance.normal(0, 0.03), heights + chance.normal(0, 0.03)) for _ in range(trials)
    ]
    return np.array([_noisy(curve, chance, 0.03) for curve in curves])


@pytest.mark.computes
@pytest.mark.parametrize("studies", [6, pytest.param(20, marks=pytest.mark.long)])
def test_the_intervals_of_breakpoints_and_levels_cover_the_truth(studies: int) -> None:
    sizes = _sizes(24, 28.5, to_a_doubling=8)
    chance = np.random.default_rng(6)
    covered = []
    for _ in range(studies):
        found = segments.estimate(sizes, _paging_trials(sizes, chance, trials=12), chance=chance)
        assert len(found.breakpoints) == 2
        estimates = (*found.breakpoints, found.levels[0], found.levels[2])
        truths = np.exp2([*PAGING[0], *PAGING[1]])
        covered += [_covers(one, truth) for one, truth in zip(estimates, truths, strict=True)]

    assert np.mean(covered) > 0.92 - _tolerance(0.92, studies)  # the four of a study are not independent


@pytest.mark.computes
def test_estimates_follow_the_order_of_the_fit() -> None:
    sizes = _sizes(24, 28.5, to_a_doubling=4)
    curves = _paging_trials(sizes, np.random.default_rng(7), trials=8)

    found = segments.estimate(sizes, curves, chance=np.random.default_rng(1), alpha=0.1)

    assert found.fit == segments.fit(sizes, resampling.pooled(curves))
    assert [one.value for one in found.breakpoints] == list(found.fit.breakpoints)
    assert [one.value for one in found.levels] == [one.level for one in found.fit.segments]
    assert {one.level for one in (*found.breakpoints, *found.levels)} == {0.9}
    assert found.agreement == 1
    assert found == segments.estimate(sizes, curves, chance=np.random.default_rng(1), alpha=0.1)


@pytest.mark.computes
def test_a_knee_between_two_sizes_is_known_to_lie_between_them() -> None:
    sizes = _sizes(24, 29, to_a_doubling=4)
    curves = _noisy(np.where(sizes <= 2**27, 100.0, 2.0), np.random.default_rng(8), 0.02, trials=10)

    found = segments.estimate(sizes, curves, chance=np.random.default_rng(1))

    knee, end = found.breakpoints
    assert (knee.low, knee.high) == pytest.approx((2**27, 2**27.25), rel=0.01)
    assert (end.low, end.high) == pytest.approx((2**27, 2**27.25), rel=0.01)


@pytest.mark.computes
def test_fewer_than_five_curves_have_no_intervals() -> None:
    sizes = _sizes(24, 28.5, to_a_doubling=8)
    curves = _paging_trials(sizes, np.random.default_rng(9), trials=5)

    assert segments.estimate(sizes, curves, chance=np.random.default_rng(1)).agreement is not None
    few = segments.estimate(sizes, curves[:4], chance=np.random.default_rng(1))
    assert few.agreement is None
    assert few.breakpoints == tuple(Estimate(size) for size in few.fit.breakpoints)
    assert few.levels == tuple(Estimate(segment.level) for segment in few.fit.segments)


@pytest.mark.computes
def test_a_curve_without_bends_has_one_level_and_its_interval() -> None:
    sizes = _sizes(16, 30, to_a_doubling=2)
    curves = _noisy(np.full(len(sizes), 40.0), np.random.default_rng(11), 0.02, trials=8)

    found = segments.estimate(sizes, curves, chance=np.random.default_rng(1))

    assert found.breakpoints == ()
    (level,) = found.levels
    assert _covers(level, 40)
    assert level.value == pytest.approx(40, rel=0.01)


@pytest.mark.computes
def test_the_agreement_falls_where_a_breakpoint_is_in_doubt() -> None:
    sizes = _sizes(16, 30, to_a_doubling=4)
    chance = np.random.default_rng(10)
    faint = _noisy(_pieces(sizes, [16, 24, 30], [0, 0, -0.5]), chance, 0.25, trials=12)

    found = segments.estimate(sizes, faint, chance=np.random.default_rng(1))

    assert found.agreement is not None
    assert 0 < found.agreement < 1


# --- capacities

# c, w and factor: sharp, with a tenth done at 32 KiB; gradual about 1 MiB and 32 MiB.
CACHES = [(15 + math.log(9) * 0.05, 0.05, 3.5), (20, 0.35, 3), (25, 0.3, 5)]


def _latency(sizes: Array, steps: Sequence[tuple[float, float, float]]) -> Array:
    """1.2 before all steps."""
    x = np.log2(sizes)
    total = sum(math.log(factor) / (1 + np.exp(-(x - c) / w)) for c, w, factor in steps)
    return 1.2 * np.exp(total)


@pytest.mark.computes
@pytest.mark.parametrize("to_a_doubling", [2, 4])
def test_three_caches_are_recovered(to_a_doubling: int) -> None:
    sizes = _sizes(12, 30, to_a_doubling=to_a_doubling)
    chance = np.random.default_rng(to_a_doubling)
    for _ in range(15):
        found = capacities.fit(sizes, _noisy(_latency(sizes, CACHES), chance, 0.01))

        first, second, third = found.steps
        assert first.is_sharp
        assert not second.is_sharp
        assert not third.is_sharp
        assert first.capacity == first.onset == pytest.approx(32 * KIB, rel=0.04)
        assert second.capacity == second.centre == pytest.approx(MIB, rel=0.04)
        assert third.capacity == third.centre == pytest.approx(32 * MIB, rel=0.04)
        assert [step.factor for step in found.steps] == pytest.approx([3.5, 3, 5], rel=0.06)
        assert found.fastest == pytest.approx(1.2, rel=0.03)
        assert all(step.is_whole for step in found.steps)
        assert found.residual < 0.02


def test_a_step_s_width_and_onset_are_as_by_hand() -> None:
    sizes = _sizes(12, 28, to_a_doubling=4)
    (step,) = capacities.fit(sizes, _latency(sizes, [(20, 0.25, 4)])).steps

    # From 1/(1 + 9) to 9/(1 + 9) of it is 2 ln 9 of w; a tenth is ln 9 before the centre.
    assert step.width == pytest.approx(2 * math.log(9) * 0.25, rel=0.01)
    assert step.onset == pytest.approx(2 ** (20 - math.log(9) * 0.25), rel=0.01)
    assert step.factor == pytest.approx(4, rel=0.01)


@pytest.mark.computes
@pytest.mark.parametrize("to_a_doubling", [1, 2, 4])
def test_steps_between_two_sizes_are_found_between_them(to_a_doubling: int) -> None:
    sizes = _sizes(12, 30, to_a_doubling=to_a_doubling)
    truth = np.select([sizes <= 32 * KIB, sizes <= MIB, sizes <= 32 * MIB], [1.2, 4.0, 12.0], 80.0)
    curves = _noisy(truth, np.random.default_rng(to_a_doubling), 0.02, trials=8)

    found = capacities.estimate(sizes, curves, chance=np.random.default_rng(1))

    for size, estimated in zip((32 * KIB, MIB, 32 * MIB), found.capacities, strict=True):
        assert estimated.low == pytest.approx(size)
        assert estimated.high == pytest.approx(size * 2 ** (1 / to_a_doubling))
        assert size * 0.99 <= estimated.value <= size * 2 ** (1 / to_a_doubling)


def test_small_steps_are_minor() -> None:
    sizes = _sizes(12, 28, to_a_doubling=4)
    truth = _latency(sizes, [(15, 0.1, 3), (20, 0.2, 1.3)])

    found = capacities.fit(sizes, _noisy(truth, np.random.default_rng(1), 0.01))

    assert [step.factor for step in found.steps] == pytest.approx([3], rel=0.03)
    assert [step.factor for step in found.minor] == pytest.approx([1.3], rel=0.03)


@pytest.mark.computes
def test_few_steps_are_seen_in_noise() -> None:
    curves = 60
    sizes = _sizes(12, 28, to_a_doubling=4)
    chance = np.random.default_rng(2)
    fits = [
        capacities.fit(sizes, _noisy(np.full(len(sizes), 80.0), chance, deviation))
        for deviation in np.repeat([0.005, 0.03], curves)
    ]

    assert sum(len(one.steps) for one in fits) == 0
    assert sum(len(one.minor) > 0 for one in fits) / len(fits) < 0.02 + _tolerance(0.02, len(fits))


def test_a_step_that_goes_on_beyond_the_last_size_is_not_whole() -> None:
    sizes = _sizes(12, 25, to_a_doubling=4)
    first, second = capacities.fit(sizes, _latency(sizes, [(16, 0.1, 3), (24.8, 0.3, 6)])).steps

    assert first.is_whole
    assert not second.is_whole
    assert second.onset == pytest.approx(2 ** (24.8 - math.log(9) * 0.3), rel=0.1)


@pytest.mark.computes
@pytest.mark.long
def test_the_intervals_of_capacities_cover_the_truth() -> None:
    studies = 12
    sizes = _sizes(12, 29, to_a_doubling=4)
    chance = np.random.default_rng(3)
    truths = [2**15, 2**20, 2**25]
    covered = []
    for _ in range(studies):
        trials = [
            _latency(sizes, [(c + chance.normal(0, 0.05), w, factor) for c, w, factor in CACHES])
            for _ in range(8)
        ]
        curves = np.array([_noisy(curve, chance, 0.02) for curve in trials])
        found = capacities.estimate(sizes, curves, chance=chance)
        covered += [_covers(one, truth) for one, truth in zip(found.capacities, truths, strict=True)]

    assert np.mean(covered) > 0.92 - _tolerance(0.92, 3 * studies)


@pytest.mark.computes
def test_estimated_capacities_follow_the_fit() -> None:
    sizes = _sizes(12, 29, to_a_doubling=4)
    curves = _noisy(_latency(sizes, CACHES), np.random.default_rng(4), 0.02, trials=6)

    found = capacities.estimate(sizes, curves, chance=np.random.default_rng(1))

    assert found.fit == capacities.fit(sizes, resampling.pooled(curves))
    assert [one.value for one in found.onsets] == [step.onset for step in found.fit.steps]
    assert [one.value for one in found.centres] == [step.centre for step in found.fit.steps]
    assert [one.value for one in found.capacities] == [step.capacity for step in found.fit.steps]
    assert found.agreement == 1
    few = capacities.estimate(sizes, curves[:4], chance=np.random.default_rng(1))
    assert few.agreement is None
    assert few.onsets == tuple(Estimate(step.onset) for step in few.fit.steps)


@pytest.mark.computes
def test_a_curve_without_steps_has_no_capacities() -> None:
    sizes = _sizes(16, 30, to_a_doubling=2)
    curves = _noisy(np.full(len(sizes), 40.0), np.random.default_rng(11), 0.02, trials=8)

    assert capacities.estimate(sizes, curves, chance=np.random.default_rng(1)).capacities == ()


# --- lines and pages

STRIDES = np.exp2(np.arange(3, 11))  # 8 .. 1024


def _line(curves: Array) -> lines.LineSize | None:
    return lines.line(STRIDES, curves, chance=np.random.default_rng(1))


@pytest.mark.parametrize("size", [32, 64, 128])
def test_the_line_is_where_as_many_accesses_as_fit_no_longer_share_one(size: int) -> None:
    truth = 2 + 20 * np.minimum(STRIDES / size, 1)
    curves = _noisy(truth, np.random.default_rng(size), 0.03, trials=9)

    assert _line(curves) == lines.LineSize(Estimate(size, size, size, 0.95), 1.0)


@pytest.mark.parametrize("size", [32, 64, 128])
def test_the_line_is_where_two_accesses_no_longer_share_one(size: int) -> None:
    truth = np.where(size <= STRIDES, 80.0, 42.0)
    curves = _noisy(truth, np.random.default_rng(size), 0.03, trials=9)

    assert _line(curves) == lines.LineSize(Estimate(size, size, size, 0.95), 1.0)


def test_where_the_stride_makes_no_difference_there_is_no_line() -> None:
    assert _line(_noisy(np.full(8, 5.0), np.random.default_rng(1), 0.03, trials=5)) is None


def test_trials_that_see_another_line_are_counted() -> None:
    curves = np.array([np.where(size <= STRIDES, 80.0, 42.0) for size in (64, 64, 64, 64, 128, 128, 128)])

    found = _line(curves)

    assert found is not None
    assert (found.size, found.agreement) == (Estimate(64, 64, 128, 0.95), pytest.approx(4 / 7))


@pytest.mark.parametrize("trials", [1, 4])
def test_few_trials_say_no_interval_of_a_line(trials: int) -> None:
    """One trial may see two lines fetched at once, or a neighbour: what it says may be anything."""
    assert _line(np.array([np.where(STRIDES >= 128, 80.0, 42.0)] * trials)) == lines.LineSize(
        Estimate(128.0), 1.0
    )


def _chases(pages: Array, *, reaches: Sequence[tuple[float, float]]) -> tuple[Array, Array]:
    """Latencies over a line in each page, and over as many side by side; reaches with what is paid beyond."""

    def beyond(count: float) -> Array:
        past: Array = 1 / (1 + np.exp(-(np.log2(pages / count) - 0.18) / 0.08))
        return past

    dense = 4 + 10 * beyond(512) + 31 * beyond(16384)
    return dense + sum(cost * beyond(count) for count, cost in reaches), dense


@pytest.mark.computes
@pytest.mark.parametrize(
    ("reach", "cost", "further"), [(64, 7, 2048), (64, 3, 1536), (32, 20, 512), (512, 7, 2048)]
)
def test_the_reach_is_where_translation_begins_to_cost(reach: float, cost: float, further: float) -> None:
    pages = _sizes(2, 16, to_a_doubling=2)
    sparse, dense = _chases(pages, reaches=[(reach, cost), (further, 25)])
    chance = np.random.default_rng(int(reach))

    found = lines.tlb_reach(
        pages,
        _noisy(sparse, chance, 0.02, trials=8),
        _noisy(dense, chance, 0.02, trials=8),
        chance=np.random.default_rng(1),
    )

    assert found is not None
    assert found.value == pytest.approx(reach, rel=0.1)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= reach * 1.02
    assert reach * 0.98 <= found.high


@pytest.mark.computes
def test_where_translation_costs_nothing_there_is_no_reach() -> None:
    pages = _sizes(2, 16, to_a_doubling=2)
    sparse, dense = _chases(pages, reaches=[])
    chance = np.random.default_rng(1)
    noisy = [_noisy(one, chance, 0.02, trials=8) for one in (sparse, dense)]

    assert lines.tlb_reach(pages, *noisy, chance=np.random.default_rng(1)) is None
