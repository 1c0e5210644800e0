"""The statistics: hand-checkable answers, published tables, and intervals that cover as often as they say."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
import scipy.stats

from steelyard.statistics import (
    boots,
    false_discovery,
    guard,
    judgement,
    levels,
    moderation,
    order_statistics,
    paired,
    prospects,
    signed_rank,
    trimmed,
    verdict,
    weighted_mean,
)
from steelyard.statistics.judgement import Judged, Judgement, Noise, Pairs
from steelyard.statistics.moderation import Mean, Prior
from steelyard.statistics.prospects import Outlook
from steelyard.statistics.signed_rank import Array, Estimate
from steelyard.statistics.weighted_mean import WeightedPart

SIGMAS = 4  # of the binomial: a test that simulates is wrong by chance once in 16 000

# Greatest w with P(W <= w) <= 0.025: the critical values of Wilcoxon's signed-rank test, 5 % two-sided.
CRITICAL = {
    6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25, 16: 29, 17: 34, 18: 40, 19: 46,
    20: 52, 25: 89, 30: 137,
}  # fmt: skip


def _tolerance(share: float, studies: int) -> float:
    return SIGMAS * math.sqrt(share * (1 - share) / studies)


def _noise(kind: str, chance: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Noise that is symmetric about 0."""
    if kind == "normal":
        return chance.normal(size=shape)
    if kind == "heavy tails":
        return chance.standard_t(2, size=shape)
    return chance.choice([-1.0, 1.0], size=shape) + 0.1 * chance.normal(size=shape)  # two modes


# --- the signed-rank distribution


@pytest.mark.parametrize("pairs", CRITICAL)
def test_the_distribution_has_the_published_critical_values(pairs: int) -> None:
    cumulative = np.cumsum(signed_rank.distribution(pairs))

    assert cumulative[CRITICAL[pairs]] <= 0.025 < cumulative[CRITICAL[pairs] + 1]


def test_with_five_pairs_there_is_no_critical_value() -> None:
    assert signed_rank.distribution(5)[0] == 1 / 32  # above 0.025


@pytest.mark.parametrize("pairs", [1, 2, 3, 10, 48])
def test_the_distribution_is_symmetric_and_sums_to_one(pairs: int) -> None:
    chances = signed_rank.distribution(pairs)

    assert len(chances) == pairs * (pairs + 1) // 2 + 1
    assert chances == pytest.approx(chances[::-1], rel=1e-12)
    assert sum(chances) == pytest.approx(1.0, rel=1e-12)
    assert chances[0] == 0.5**pairs


def test_the_distribution_of_three_pairs_is_as_counted_by_hand() -> None:
    # Sums of subsets of {1, 2, 3}: 0, 1, 2, 3, 3, 4, 5, 6.
    assert signed_rank.distribution(3) == (1 / 8, 1 / 8, 1 / 8, 2 / 8, 1 / 8, 1 / 8, 1 / 8)


@pytest.mark.parametrize("pairs", [*range(1, 21), 24, 37, 48])
def test_p_values_are_scipy_s_where_there_are_no_ties(pairs: int) -> None:
    differences = np.random.default_rng(pairs).normal(0.3, 1, size=pairs)

    def theirs(alternative: str) -> float:
        return float(scipy.stats.wilcoxon(differences, alternative=alternative, method="exact").pvalue)

    assert signed_rank.p_greater(differences) == pytest.approx(theirs("greater"), rel=1e-9)
    assert signed_rank.p_greater(-differences) == pytest.approx(theirs("less"), rel=1e-9)
    assert signed_rank.p_two_sided(differences) == pytest.approx(theirs("two-sided"), rel=1e-9)


@pytest.mark.parametrize(
    ("pairs", "p"), [(5, 0.0625), (6, 0.03125), (7, 0.015625), (8, 0.0078125), (10, 2 / 1024), (12, 2 / 4096)]
)
def test_the_smallest_p_value_is_that_of_all_pairs_on_one_side(pairs: int, p: float) -> None:
    assert signed_rank.p_two_sided(np.arange(1.0, pairs + 1)) == p
    assert signed_rank.p_two_sided(-np.arange(1.0, pairs + 1)) == p
    assert signed_rank.p_two_sided(np.full(pairs, 0.7)) == p


def test_differences_of_nothing_are_no_finding() -> None:
    assert signed_rank.p_greater(np.zeros(12)) == 1.0
    assert signed_rank.p_two_sided(np.zeros(12)) == 1.0


def test_zeros_are_left_out() -> None:
    differences = np.array([0.3, -0.1, 0.7, 0.9, 0.2, 0.4, 0.6])
    with_zeros = np.concatenate([np.zeros(4), differences, np.zeros(1)])

    assert signed_rank.p_two_sided(with_zeros) == signed_rank.p_two_sided(differences)


def test_a_shift_is_tested_by_shifting() -> None:
    differences = np.random.default_rng(3).normal(size=15)

    assert signed_rank.p_greater(differences, than=0.4) == signed_rank.p_greater(differences - 0.4)


# Sizes of differences with ties and zeros; every way to sign them is as likely where nothing differs.
TIES = {
    "all tied": [1.0] * 10,
    "all but one tied": [1.0] * 9 + [2.0],
    "in pairs": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
    "the greatest tied": [1, 2, 3, 4, 5, 9, 9, 9, 9],
    "the smallest tied": [1, 1, 1, 1, 1, 6, 7, 8, 9],
    "in halves": [1] * 5 + [2] * 5,
    "six": [1, 1, 1, 2, 2, 2],
    "zeros": [0, 0, 0, 1, 1, 2, 2, 3, 3, 4],
}


@pytest.mark.computes
@pytest.mark.parametrize("case", TIES)
def test_ties_and_zeros_err_on_the_side_of_no_finding(case: str) -> None:
    sizes = np.array(TIES[case], dtype=float)
    signs = np.array(list(product((-1.0, 1.0), repeat=len(sizes))))
    one_sided = np.array([signed_rank.p_greater(row * sizes) for row in signs])
    two_sided = np.array([signed_rank.p_two_sided(row * sizes) for row in signs])

    for alpha in (0.05, 0.0208, 0.01):
        assert np.mean(one_sided <= alpha) <= alpha
        assert np.mean(two_sided <= alpha) <= alpha


# --- Hodges and Lehmann


def test_the_estimate_is_the_median_of_all_means_of_two_as_by_hand() -> None:
    # 1, 2, 6 and the means of two: 1.5, 3.5, 4. In order: 1, 1.5, 2, 3.5, 4, 6.
    assert list(signed_rank.walsh_averages(np.array([6.0, 1.0, 2.0]))) == [1, 1.5, 2, 3.5, 4, 6]
    assert signed_rank.estimate(np.array([6.0, 1.0, 2.0]), alpha=0.05) == Estimate(2.75)


def test_the_interval_of_six_pairs_goes_from_the_least_to_the_greatest() -> None:
    found = signed_rank.estimate(np.array([3.0, 1.0, 10.0, 2.0, 4.0, 7.0]), alpha=0.05)

    assert (found.low, found.high, found.level) == (1.0, 10.0, 0.95)


def test_of_many_pairs_the_distribution_is_as_good_as_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(2)
    alphas = (0.1, 0.0065, 1e-4)
    differences = [chance.normal(shift, 1, size=240) for shift in (0.0, 0.1, 0.25)]
    differences.append(np.round(differences[1], 1))  # ties, and zeros

    exact = [
        (signed_rank.estimate(one, alpha=a), signed_rank.p_greater(one))
        for one in differences
        for a in alphas
    ]
    monkeypatch.setattr(signed_rank, "EXACT_MOST", 100)
    found = [
        (signed_rank.estimate(one, alpha=a), signed_rank.p_greater(one))
        for one in differences
        for a in alphas
    ]

    for (interval, p), (other, q) in zip(exact, found, strict=True):
        assert (other.value, other.low, other.high) == pytest.approx(
            (interval.value, interval.low, interval.high), abs=2e-3
        )
        assert q == pytest.approx(p, rel=0.02)


@pytest.mark.parametrize("kind", ["smooth", "ties", "one value", "two values", "far"])
def test_averages_that_are_counted_are_those_that_a_list_has(kind: str) -> None:
    """Of many pairs there is no list."""
    chance, count = np.random.default_rng(4), 600
    differences = {
        "smooth": chance.normal(size=count) * 0.01,
        "ties": np.round(chance.normal(size=count), 1),
        "one value": np.full(count, 0.25),
        "two values": np.where(chance.random(count) < 0.5, -1.0, 1.0),
        "far": np.append(np.full(count - 1, -3.0), 1e6),
    }[kind]
    listed = signed_rank.walsh_averages(differences)

    found = signed_rank.estimate(differences, alpha=0.002)

    outside = signed_rank._outside(count, 0.002)
    assert found.low == pytest.approx(listed[outside - 1], rel=1e-12)
    assert found.high == pytest.approx(listed[-outside], rel=1e-12)
    assert found.value == pytest.approx(float(np.median(listed)), rel=1e-12, abs=1e-12)
    assert found.value == signed_rank.centre(differences)


def test_the_interval_s_bounds_are_the_walsh_averages_that_the_critical_value_counts() -> None:
    differences = np.random.default_rng(5).normal(size=20)
    averages = signed_rank.walsh_averages(differences)

    found = signed_rank.estimate(differences, alpha=0.05)

    assert len(averages) == 210
    assert (found.low, found.high) == (averages[52], averages[209 - 52])  # the 53rd from either end


def test_the_interval_is_where_the_test_does_not_reject() -> None:
    differences = np.random.default_rng(6).normal(0.5, 1, size=14)
    found = signed_rank.estimate(differences, alpha=0.05)
    assert found.low is not None
    assert found.high is not None
    step = 1e-9

    for inside in (found.low + step, found.high - step):
        assert signed_rank.p_two_sided(differences - inside) > 0.05
    for outside in (found.low - step, found.high + step):
        assert signed_rank.p_two_sided(differences - outside) <= 0.05


@pytest.mark.parametrize(
    ("alpha", "pairs"), [(0.05, 6), (0.1, 5), (0.0295, 7), (0.0208, 7), (0.0161, 7), (0.01, 8)]
)
def test_with_too_few_pairs_for_the_level_there_is_no_interval(alpha: float, pairs: int) -> None:
    differences = np.arange(1.0, pairs + 1)

    assert signed_rank.estimate(differences, alpha=alpha).low is not None
    assert signed_rank.estimate(differences[1:], alpha=alpha) == Estimate((pairs + 2) / 2)


def test_one_difference_has_a_value_and_no_interval() -> None:
    assert signed_rank.estimate(np.array([0.3]), alpha=0.05) == Estimate(0.3)


def test_the_estimate_turns_round_with_the_differences() -> None:
    differences = np.random.default_rng(8).standard_t(2, size=17)
    found = signed_rank.estimate(differences, alpha=0.05)
    turned = signed_rank.estimate(-differences, alpha=0.05)

    assert turned.value == pytest.approx(-found.value)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))  # type: ignore[operator]


def test_one_wild_difference_moves_the_estimate_little() -> None:
    differences = np.random.default_rng(9).normal(0, 0.01, size=20)
    wild = differences.copy()
    wild[3] = 1e6

    assert abs(signed_rank.estimate(wild, alpha=0.05).value) < 0.01


@pytest.mark.computes
@pytest.mark.parametrize("kind", ["normal", "heavy tails", "two modes"])
@pytest.mark.parametrize("pairs", [6, 12, 24])
def test_the_interval_covers_the_truth_as_often_as_it_says(kind: str, pairs: int) -> None:
    studies = 2500
    truth = 0.3
    samples = truth + _noise(kind, np.random.default_rng([pairs, len(kind)]), (studies, pairs))
    covered = 0
    for differences in samples:
        found = signed_rank.estimate(differences, alpha=0.05)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high

    cumulative = np.cumsum(signed_rank.distribution(pairs))
    exact = 1 - 2 * float(cumulative[cumulative <= 0.025][-1])
    assert exact >= 0.95
    assert abs(covered / studies - exact) < _tolerance(exact, studies)


# --- repeated looks


@pytest.mark.computes
@pytest.mark.parametrize("what", ["claims", "intervals"])
def test_the_levels_hold_together_over_all_looks(what: str) -> None:
    """Of a sum that is looked at after 2, 3, 4, ... 4,096 units: how often any look is beyond its level."""
    paths = 200_000
    chance = np.random.default_rng(len(what))
    at = np.array(levels.LOOKS, dtype=float)
    steps = chance.normal(size=(paths, len(at))) * np.sqrt(np.diff(at, prepend=0.0))
    sizes = np.abs(steps.cumsum(axis=1) / np.sqrt(at))
    alphas = [levels.claim(look) if what == "claims" else levels.usual(look) for look in levels.LOOKS]
    limits = np.array([NormalDist().inv_cdf(1 - alpha / 2) for alpha in alphas])

    beyond = np.mean((sizes > limits).any(axis=1))

    # The levels have two digits: 0.002 for their rounding.
    assert abs(beyond - 0.05) < _tolerance(0.05, paths) + 0.002


def test_the_looks_rise_and_a_claim_of_few_or_many_units_has_the_smaller_level() -> None:
    assert list(levels.LOOKS) == sorted(set(levels.LOOKS))
    assert levels.LOOKS[:6] == (2, 3, 4, 5, 6, 8)
    assert [levels.claim(units) for units in (2, 7, 8, 128, 129, 1024, 1025)] == [
        0.003,
        0.003,
        0.0065,
        0.0065,
        0.0022,
        0.0022,
        0.0008,
    ]
    assert [levels.usual(units) for units in (2, 128, 192, 1536)] == [0.0055, 0.0055, 0.0018, 0.0008]
    assert [levels.last_look(units) for units in (0, 1, 2, 7, 8, 11, 128, 500, 5000)] == [
        0,
        0,
        2,
        6,
        8,
        8,
        128,
        384,
        4096,
    ]
    assert levels.after(12)[:7] == (16, 24, 32, 48, 64, 96, 128)
    assert levels.after(1024) == (1536, 2048, 3072, 4096)
    assert levels.after(4096) == ()


def test_a_p_value_at_a_look_s_level_is_five_percent_for_all_looks() -> None:
    assert levels.widened(0.003, 3) == pytest.approx(0.05)
    assert levels.widened(0.0065, 20) == pytest.approx(0.05)
    assert levels.widened(0.9, 2) == 1.0


# --- the noise that metrics tell of each other


def _pairs(
    differences: Sequence[float] | Array,
    *,
    values: Array | None = None,
    both_orders: bool = True,
    family: str = "f",
) -> Pairs:
    """Pairs with these differences: of a baseline that is always the same, or has these log values."""
    told = np.array(differences, dtype=float)
    base = np.zeros(len(told)) if values is None else values
    return Pairs(base, base + told, both_orders, family)


def test_the_functions_have_the_published_values() -> None:
    assert moderation.trigamma_inverse(0.5) == pytest.approx(2.45995295, rel=1e-8)
    assert moderation.quantile(2.5, 0.004) == pytest.approx(10.4357927, rel=1e-8)
    assert moderation.quantile(4.7, 0.004) == pytest.approx(5.2455856, rel=1e-7)
    assert Mean(10.0, 1.0, 2.5, 1.0).p_two_sided() == pytest.approx(0.00444149576, rel=1e-8)
    assert Mean(-10.0, 1.0, 4.7, 1.0).p_two_sided() == pytest.approx(0.000241254945, rel=1e-8)


@pytest.mark.parametrize("value", [1e-9, 1e-7, 1e-3, 0.4903577561, 5.0, 1e6, 1e9])
def test_the_inverse_of_trigamma_is_one(value: float) -> None:
    told = float(scipy.special.polygamma(1, moderation.trigamma_inverse(value)))
    assert told == pytest.approx(value, rel=1e-6)


# Six metrics of three pairs; the numbers are reckoned by hand, outside of this project.
SIX = (
    (2.30, 2.41, 2.36),
    (0.02, -0.05, 0.04),
    (-0.31, -0.28, -0.35),
    (0.11, 0.01, 0.07),
    (0.6, -0.4, 0.1),
    (0.003, -0.002, 0.004),
)


def test_six_metrics_of_three_pairs_are_moderated_as_by_hand() -> None:
    members = [_pairs(differences) for differences in SIX]
    noise = Noise(members)

    prior = noise.prior(3)
    means = [noise.mean(one) for one in members]

    assert prior.freedom == pytest.approx(0.725781, rel=1e-5)
    assert prior.variance == pytest.approx(0.00054991, rel=1e-4)
    assert [mean.deviation for mean in means] == pytest.approx(
        [0.0487040, 0.0422504, 0.0324247, 0.0447797, 0.428462, 0.0124098], rel=1e-5
    )
    assert [mean.p_two_sided() for mean in means] == pytest.approx(
        [9.90867e-6, 0.900766, 7.91845e-4, 0.100283, 0.715630, 0.832413], rel=1e-5
    )
    assert means[0].value - means[0].reach(0.008) == pytest.approx(2.158661, rel=1e-6)
    assert means[0].value + means[0].reach(0.008) == pytest.approx(2.554672, rel=1e-6)


def test_the_first_units_alone_count_for_the_noise_at_an_early_look() -> None:
    early = [_pairs(differences) for differences in SIX]
    late = [_pairs((*differences, 50.0, -50.0)) for differences in SIX]

    assert Noise(late).prior(3) == Noise(early).prior(3)
    assert Noise(late).spread("f", 3) == Noise(early).spread("f", 3)


def test_the_others_count_for_no_more_than_four_differences_and_a_quarter_of_their_number() -> None:
    chance = np.random.default_rng(1)
    alike = [chance.normal(0, 0.01, size=6) for _ in range(100)]

    assert moderation.prior(alike).freedom == moderation.WEIGHT_MOST
    assert moderation.prior(alike).variance == pytest.approx(1e-4, rel=0.2)
    assert moderation.prior(alike[:3]).freedom == 0.5
    assert moderation.prior(alike[:2]).freedom <= 0.25


def test_without_others_it_is_student_s_t() -> None:
    differences = np.array([1.0, 1.2, 0.9, 1.1])
    mean = moderation.moderated(differences, moderation.prior([differences]))

    assert moderation.prior([differences]) == Prior()
    theirs = scipy.stats.ttest_1samp(differences, 0)
    assert mean.p_two_sided() == pytest.approx(theirs.pvalue)
    interval = theirs.confidence_interval(0.99)
    assert mean.value - mean.reach(0.01) == pytest.approx(interval.low)


def test_metrics_that_hardly_scatter_neither_hide_the_others_nor_divide_by_zero() -> None:
    quiet = [np.zeros(3)] * 20
    loud = [np.array([0.1, -0.2, 0.05])]

    assert moderation.prior(quiet) == Prior()
    assert moderation.prior([*quiet, *loud]) == Prior()
    few = moderation.prior([*quiet[:2], *loud * 5])
    assert math.isfinite(few.freedom)
    assert few.variance > 0


# --- means without the differences at either end


def test_the_trimmed_mean_and_its_error_are_those_of_the_literature() -> None:
    """Ten differences, of which two are left out at either end (Yuen 1974)."""
    differences = np.array([0.3, -9.0, 0.1, 0.4, 50.0, 0.2, 0.7, 0.5, 0.6, 8.0])
    kept = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    winsorized = [0.2, 0.2, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.7, 0.7]

    mean = moderation.moderated(differences, Prior())

    assert mean.value == pytest.approx(0.45) == scipy.stats.trim_mean(differences, 0.2)
    squares = sum((one - np.mean(winsorized)) ** 2 for one in winsorized)
    assert mean.error == pytest.approx(math.sqrt(squares / (len(kept) * (len(kept) - 1))))
    assert mean.freedom == len(kept) - 1 - 2


def test_fewer_than_eight_differences_are_all_kept() -> None:
    differences = np.random.default_rng(3).normal(size=8)

    seven, eight = _mean(differences[:7]), _mean(differences)
    assert (seven.value, seven.freedom) == (pytest.approx(differences[:7].mean()), 6)
    assert eight.value == pytest.approx(np.sort(differences)[1:7].mean())
    assert [trimmed.kept(count) for count in (2, 7, 8, 9, 10, 14, 15, 31)] == [2, 7, 6, 7, 6, 10, 9, 19]


def test_one_bad_pair_of_nine_does_not_make_the_interval_as_wide_as_itself() -> None:
    chance = np.random.default_rng(5)
    steady = [chance.normal(0, 0.01, size=9) for _ in range(40)]
    struck = [np.append(one[:8], 3.0) for one in steady]

    def half(one: Array, beside: list[Array]) -> float:
        usual = paired.usual(one, moderation.moderated(one, moderation.prior(beside)))
        assert usual.low is not None
        assert usual.high is not None
        return (usual.high - usual.low) / 2

    narrow, wide = (np.median([half(one, beside) for one in beside]) for beside in (steady, struck))
    assert wide < 2 * narrow


# --- what an early claim has to be larger than


def test_the_least_difference_counts_only_where_all_agree() -> None:
    assert guard.least(np.array([0.5, 0.2, 0.9])) == 0.2
    assert guard.least(np.array([-0.5, -0.2])) == 0.2
    assert guard.least(np.array([0.5, -0.2, 0.9])) == 0.0
    assert guard.least(np.array([0.5, 0.0])) == 0.0


def test_the_second_largest_range_counts_and_in_a_small_family_the_largest() -> None:
    values = [np.array([0.0, 0.3]), np.array([1.0, 1.1, 0.6]), np.array([5.0, 5.2]), np.array([9.0])]

    assert guard.spread(values, metrics=4) == pytest.approx(0.3)
    assert guard.spread(values, metrics=3) == pytest.approx(0.5)
    assert guard.spread(values[:1], metrics=9) == pytest.approx(0.3)
    assert guard.spread(values[3:], metrics=9) == math.inf  # nobody knows: nothing is claimed


def test_the_limit_falls_with_the_units_and_ends_at_six() -> None:
    assert [round(math.exp(guard.limit(units, 0.01)), 2) for units in (2, 3, 4, 5, 6)] == [30, 10, 3, 1.01, 1]
    assert guard.limit(3, 5.0) == pytest.approx(6.0)
    assert guard.limit(6, 5.0) == 0.0


# --- the tests of pairs


def _mean(differences: Array) -> Mean:
    return moderation.moderated(differences, Prior())


def test_few_pairs_are_tested_by_t_if_they_agree_and_each_went_first() -> None:
    few = np.array([1.0, 1.2, 0.9])

    assert paired.p_difference(few, _mean(few), both_orders=True) == _mean(few).p_two_sided()
    assert paired.p_difference(few, _mean(few), both_orders=False) == 1.0
    apart = np.array([9.0, 9.1, 9.05, 9.1, 9.0, 9.2, -0.001])
    assert paired.p_difference(apart, _mean(apart), both_orders=True) == 1.0
    assert paired.p_difference(few[:1], Mean(1.0, 0.1, 1.0, 0.1), both_orders=True) == 1.0


@pytest.mark.parametrize("units", [8, 12, 31])
def test_from_eight_pairs_on_both_tests_share_the_level(units: int) -> None:
    chance = np.random.default_rng(units)
    steady, odd = chance.normal(1, 0.1, size=units), np.append(np.linspace(1, 1.1, units - 1), 500.0)

    for differences in (steady, odd):
        expected = min(2 * _mean(differences).p_two_sided(), 2 * signed_rank.p_two_sided(differences), 1.0)
        assert paired.p_difference(differences, _mean(differences), both_orders=True) == expected
    alone = paired.p_difference(steady, _mean(steady), both_orders=False)
    assert alone == 2 * signed_rank.p_two_sided(steady)


def test_t_claims_of_eleven_pairs_only_where_all_agree() -> None:
    """Two modes give such pairs: ten by luck between the modes, one within."""
    modes = np.append(np.linspace(1.05, 1.07, 11), -0.01)

    by_ranks = 2 * signed_rank.p_two_sided(modes[1:])
    assert paired.p_difference(modes[1:], _mean(modes[1:]), both_orders=True) == by_ranks
    assert paired.p_difference(modes, _mean(modes), both_orders=True) < signed_rank.p_two_sided(modes)


def test_many_pairs_are_tested_by_ranks_alone() -> None:
    many = np.random.default_rng(4).normal(0.5, 1, size=32)

    assert paired.p_difference(many, _mean(many), both_orders=False) == signed_rank.p_two_sided(many)


def test_equality_is_shown_from_six_pairs_on() -> None:
    equal = np.random.default_rng(7).normal(0, 0.001, size=32)

    assert paired.p_equivalence(equal[:5], _mean(equal[:5]), 0.02) == 1.0
    for units, words in ((6, "t"), (7, "t"), (12, "both"), (31, "both"), (32, "ranks")):
        some = equal[:units]
        by_t = max(
            float(scipy.stats.ttest_1samp(some, -0.02, alternative="greater").pvalue),
            float(scipy.stats.ttest_1samp(some, 0.02, alternative="less").pvalue),
        )
        by_ranks = max(signed_rank.p_greater(some, than=-0.02), signed_rank.p_greater(-some, than=-0.02))
        both = min(2 * _mean(some).p_outside(0.02), 2 * by_ranks, 1.0)
        expected = {"t": by_t, "both": both, "ranks": by_ranks}[words]
        assert paired.p_equivalence(some, _mean(some), 0.02) == pytest.approx(expected)
    far = equal + 0.05
    assert paired.p_equivalence(far[:7], _mean(far[:7]), 0.02) > 0.9
    assert paired.p_equivalence(far, _mean(far), 0.02) > 0.9


def test_the_usual_interval_is_t_s_about_both_centres_then_what_is_in_both_and_then_the_ranks() -> None:
    chance = np.random.default_rng(3)
    differences = chance.standard_t(3, size=32)

    for units, share in ((5, 1.0), (8, 1.0), (9, 1.0), (10, 0.5), (31, 0.5)):
        some, mean = differences[:units], _mean(differences[:units])
        level = levels.usual(units)
        ranks = signed_rank.estimate(some, alpha=level / 2)
        reach = mean.reach(level * share)
        low, high = min(ranks.value, mean.value) - reach, max(ranks.value, mean.value) + reach
        if ranks.low is not None and ranks.high is not None:
            low, high = max(low, ranks.low), min(high, ranks.high)
        usual = paired.usual(some, mean)
        assert (usual.value, usual.level) == (ranks.value, 1 - level)
        assert (usual.low, usual.high) == pytest.approx((low, high))
    many = paired.usual(differences, _mean(differences))
    assert many == signed_rank.estimate(differences, alpha=levels.usual(32))


def test_a_size_is_quoted_at_95_percent_whatever_the_claim_rests_on() -> None:
    differences = np.random.default_rng(4).normal(1.0, 0.1, size=40)
    for units in (2, 5, 8, 20, 40):
        some = differences[:units]
        shown, strict = (
            paired.sized(some, _mean(some), least=0.0),
            paired.claimed(some, _mean(some), rate=0.5, least=0.0),
        )
        assert shown.level == 0.95
        assert None not in (shown.low, shown.high, strict.low, strict.high)
        assert strict.low < shown.low < 1.0 < shown.high < strict.high  # type: ignore[operator]
    wide = paired.sized(differences[:3], _mean(differences[:3]), least=2.0)
    assert wide.high - wide.low >= 4.0  # type: ignore[operator]


def test_a_claimed_interval_widens_with_the_comparisons_that_are_not_claimed() -> None:
    differences = np.array([2.0, 2.1, 2.2, 2.15])
    mean = _mean(differences)

    all_claimed, one_of_ten = (paired.claimed(differences, mean, rate=rate, least=0.0) for rate in (1.0, 0.1))

    assert all_claimed.level == pytest.approx(1 - 0.003)
    assert one_of_ten.level == pytest.approx(1 - 0.0003)
    assert one_of_ten.low < all_claimed.low  # type: ignore[operator]
    held = paired.claimed(differences, mean, rate=1.0, least=5.0)
    assert (held.low, held.high) == pytest.approx(
        (all_claimed.value - 5.0, all_claimed.value + 5.0), rel=0.01
    )


# --- all comparisons together


def _is_firm(one: Judgement, *, far: float = 0.02) -> bool:
    """Claimed, and its interval is beyond the margin."""
    low, high = one.estimate.low, one.estimate.high
    return one.is_claimed and low is not None and high is not None and (low > far or high < -far)


def _judged(members: Sequence[Pairs]) -> Judged:
    return judgement.judge(members, [0.02] * len(members))


def _beside_quiet(one: Pairs, *, others: int = 95) -> Judgement:
    """The judgement of one comparison beside many that hardly scatter and do not differ, of its family."""
    chance = np.random.default_rng(5)
    quiet = []
    for _ in range(others):
        base = chance.normal(0, 0.01, size=one.units)
        quiet.append(_pairs(chance.normal(0, 0.01, size=one.units), values=base))
    return _judged([one, *quiet]).all[0]


@pytest.mark.parametrize("units", [2, 3, 4])
def test_two_modes_that_look_like_a_difference_are_not_claimed_early(units: int) -> None:
    """One system met its partner on one processor each time, 17 us, the other on two, 49 us."""
    found = _beside_quiet(_pairs([math.log(49 / 17)] * units))

    assert not found.is_claimed
    assert found.is_held_back


def test_what_agrees_five_times_beside_quiet_metrics_is_claimed() -> None:
    assert _is_firm(_beside_quiet(_pairs([math.log(49 / 17)] * 5)))


@pytest.mark.parametrize(("factor", "units"), [(40.0, 2), (12.0, 3), (4.0, 4), (1.5, 5), (1.2, 6)])
def test_a_difference_that_is_large_enough_for_its_blocks_is_firm_at_once(factor: float, units: int) -> None:
    noise = np.random.default_rng(units).normal(0, 0.01, size=units)
    values = np.random.default_rng(9).normal(0, 0.01, size=units)

    assert _is_firm(_beside_quiet(_pairs(math.log(factor) + noise, values=values)))
    assert _is_firm(_beside_quiet(_pairs(-math.log(factor) + noise, values=values)))


@pytest.mark.parametrize(("elsewhere", "is_firm"), [(0, True), (1, True), (2, False)])
def test_one_system_s_own_range_in_the_family_holds_early_claims_back(elsewhere: int, is_firm: bool) -> None:
    """Seven times after four blocks, and metrics beside it where one system differs eight times by itself;
    one such metric may be an oddity, of two it is a family that does such things."""
    chance = np.random.default_rng(6)
    wild = np.array([0.0, math.log(8), 0.0, math.log(8)])
    members = [_pairs(math.log(7) + chance.normal(0, 0.01, size=4))]
    members += [_pairs(chance.normal(0, 0.01, size=4), values=wild) for _ in range(elsewhere)]
    members += [_pairs(chance.normal(0, 0.01, size=4)) for _ in range(20)]
    if elsewhere == 1:
        members[1] = Pairs(wild, np.zeros(4), True, "f")  # on one of the systems alone

    assert _is_firm(_judged(members).all[0]) is is_firm


def test_another_family_s_ranges_hold_nothing_back() -> None:
    chance = np.random.default_rng(6)
    wild = np.array([0.0, math.log(8), 0.0, math.log(8)])
    members = [_pairs(math.log(7) + chance.normal(0, 0.01, size=4), family="quiet")]
    members += [_pairs(chance.normal(0, 0.01, size=4), family="quiet") for _ in range(5)]
    members += [_pairs(chance.normal(0, 0.01, size=4), values=wild, family="wild") for _ in range(5)]

    assert _is_firm(_judged(members).all[0])


@pytest.mark.parametrize("comparisons", [1, 2])
@pytest.mark.parametrize("units", [1, 2, 3, 6, 8, 16])
def test_one_or_two_comparisons_are_judged_without_a_division_by_zero(comparisons: int, units: int) -> None:
    chance = np.random.default_rng(units)
    members = [_pairs(chance.normal(0.001, 0.01, size=units)) for _ in range(comparisons)]

    judged = _judged(members)

    assert judged.noise.prior(units).freedom <= 0.25
    for one in judged.all:
        assert not one.is_claimed
        assert 0 <= one.p_adjusted <= 1
        assert math.isfinite(one.estimate.value)
        assert (one.estimate.low is None) == (units == 1)
        assert one.estimate.low is None or math.isfinite(one.estimate.low)


@pytest.mark.parametrize("units", [2, 3, 5, 6, 8, 16, 40])
@pytest.mark.parametrize("value", [0.0, 1e-12, 0.5])
def test_units_that_do_not_scatter_give_no_nan_and_no_claim_of_nothing(units: int, value: float) -> None:
    judged = _judged([_pairs([value] * units), _pairs([0.0] * units)])

    first, second = judged.all
    for one in judged.all:
        assert not any(math.isnan(bound) for bound in (one.estimate.low, one.estimate.high, one.p_adjusted))  # type: ignore[arg-type]
    assert not second.is_claimed
    assert first.is_claimed == (value > 0 and units >= 5)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_claimed_whose_own_interval_does_not_leave_it_out(seed: int) -> None:
    """A family of two beside one of 150: the first needs less evidence than its place among all of them."""
    chance = np.random.default_rng(seed)
    few = [_pairs(chance.normal(0.16, 0.05, 6).tolist(), family="few") for _ in range(2)]
    many = [_pairs(chance.normal(0, 0.05, 6).tolist(), family="many") for _ in range(150)]

    claimed = [one.estimate for one in _judged([*few, *many]).all if one.is_claimed]

    assert all(one.low is not None and one.low > 0 for one in claimed), claimed


def test_the_judgement_does_not_depend_on_the_order_of_the_comparisons() -> None:
    chance = np.random.default_rng(8)
    members = [
        _pairs(chance.normal(mean, 0.05, size=chance.integers(1, 20)), family=f"f{number % 3}")
        for number, mean in enumerate(np.linspace(-0.5, 0.5, 24))
    ]
    order = chance.permutation(len(members))

    straight = _judged(members).all
    mixed = _judged([members[number] for number in order]).all

    for place, number in enumerate(order):
        one, other = straight[number], mixed[place]
        assert (one.is_claimed, one.is_equivalent) == (other.is_claimed, other.is_equivalent)
        assert one.p_adjusted == pytest.approx(other.p_adjusted, rel=1e-9)
        assert one.estimate.value == other.estimate.value


def test_an_early_judgement_keeps_when_others_go_on() -> None:
    """What was claimed after three units stays so: the others' later units do not count for it."""
    chance = np.random.default_rng(10)
    members = [_pairs(math.log(20) + chance.normal(0, 0.02, size=3))]
    rest = [chance.normal(0, 0.05, size=40) for _ in range(20)]

    at_three, at_forty = (
        _judged([*members, *(_pairs(one[:units]) for one in rest)]).all[0] for units in (3, 40)
    )

    assert at_three.is_claimed
    assert at_forty.is_claimed
    assert at_forty.mean == at_three.mean
    assert at_forty.spread == at_three.spread


def test_parts_are_judged_by_the_study_s_noise_in_families_of_their_own() -> None:
    chance = np.random.default_rng(12)
    study = Noise([_pairs(chance.normal(0, 0.05, size=4)) for _ in range(30)])
    part = _pairs([0.5, 0.51, 0.5, 0.52])

    judged = judgement.judge([part], [0.02], noise=study)

    assert judged.noise is study
    assert judged.all[0].mean == study.mean(part)
    assert judged.all[0].mean != Noise([part]).mean(part)
    assert judgement.judge([], [], noise=study).all == ()


# --- what reports on equal systems claim, and how soon true differences are found

EARLY = (2, 3, 4, 5, 6, 8, 12, 16)
METRICS, FAMILIES = 24, 3


def _quiet(chance: np.random.Generator, deviations: Array) -> Array:
    return chance.normal(size=(METRICS, 16, 2)) * deviations


def _spikes(chance: np.random.Generator, deviations: Array) -> Array:
    return _quiet(chance, deviations) + np.log(3) * (chance.random((METRICS, 16, 2)) < 0.05)


def _bimodal(chance: np.random.Generator, deviations: Array) -> Array:
    """One metric in ten has two modes."""
    modes = chance.random((METRICS, 16, 2)) < 0.5
    return _quiet(chance, deviations) + np.log(2.88) * modes * (chance.random((METRICS, 1, 1)) < 0.1)


def _first_is_slow(chance: np.random.Generator, deviations: Array) -> Array:
    """In one metric in five whoever goes first takes four times as long; orders are mirrored."""
    first = chance.integers(0, 2, size=(METRICS, 8, 1))
    order = np.stack([first, 1 - first], axis=2).reshape(METRICS, 16, 1)
    pays = np.concatenate([order == 0, order == 1], axis=2)
    return _quiet(chance, deviations) + np.log(4) * pays * (chance.random((METRICS, 1, 1)) < 0.2)


def _reports(
    model: Callable[[np.random.Generator, Array], Array],
    reports: int,
    *,
    factor: float = 1.0,
    at: Sequence[int] = EARLY,
) -> list[list[tuple[Judgement, ...]]]:
    """Of each report, at these looks, the judgements of all metrics; the first differs by the factor."""
    chance = np.random.default_rng([reports, round(1000 * factor)])
    found = []
    for _ in range(reports):
        deviations = np.exp(chance.uniform(np.log(0.01), np.log(0.1), size=(METRICS, 1, 1)))
        logs = model(chance, deviations)
        logs[0, :, 1] += np.log(factor)
        looks = []
        for look in at:
            members = [
                Pairs(one[:look, 0], one[:look, 1], True, number % FAMILIES)
                for number, one in enumerate(logs)
            ]
            looks.append(_judged(members).all)
        found.append(looks)
    return found


@pytest.mark.computes
@pytest.mark.parametrize("model", [_quiet, _spikes, _bimodal, _first_is_slow])
def test_reports_on_equal_systems_seldom_claim_anything_at_any_look(
    model: Callable[[np.random.Generator, Array], Array],
) -> None:
    reports = _reports(model, 60)

    wrong = sum(any(one.is_claimed for look in looks for one in look) for looks in reports)

    assert wrong <= 7  # of 3 that are due; 8 come once in fifty times


@pytest.mark.computes
@pytest.mark.parametrize(("factor", "units"), [(100.0, 2), (7.0, 4), (2.0, 6)])
def test_a_large_difference_of_one_metric_is_firm_after_few_blocks(factor: float, units: int) -> None:
    reports = _reports(_quiet, 30, factor=factor, at=(units,))

    firm = sum(_is_firm(judged[0]) for (judged,) in reports)

    assert firm >= 25


# --- how many more are needed


def _outlook(
    value: float,
    deviation: float,
    units: int,
    *,
    spread: float = 0.0,
    far: float = 0.02,
    precision: float = 0.1,
    if_equal: float = math.inf,
    is_claimed: bool = False,
) -> Outlook:
    mean = Mean(value, deviation / math.sqrt(units), units + 1.0, deviation)
    share = prospects.share_of_claims(5, 100)
    return Outlook(mean, units, far, precision, if_equal, spread, 2.0, share, is_claimed)


def _needed(
    value: float, deviation: float, units: int, *, spread: float = 0.0, far: float = 0.02
) -> int | None:
    return _outlook(value, deviation, units, spread=spread, far=far).units_to_verdict()


def test_what_is_needed_falls_with_the_difference_and_rises_with_the_noise() -> None:
    by_size = [_needed(value, 0.05, 2) for value in (4.0, 2.0, 0.5, 0.1)]
    by_noise = [_needed(0.1, deviation, 2) for deviation in (0.001, 0.03, 0.1)]

    assert None not in by_size + by_noise
    assert by_size == sorted(by_size)  # type: ignore[type-var]
    assert by_noise == sorted(by_noise)  # type: ignore[type-var]
    assert len(set(by_size)) == 4
    assert by_size[0] == 3
    assert {*by_size, *by_noise} <= set(levels.LOOKS)


def test_the_guard_makes_an_early_look_wait() -> None:
    assert _needed(2.0, 0.01, 2) == 4  # seven times: more than 3
    assert _needed(2.0, 0.01, 2, spread=2.0) == 6


def test_equality_needs_six_at_least_and_what_is_at_the_margin_has_no_look() -> None:
    assert _needed(0.0, 0.001, 2) == 6
    assert _needed(0.02, 0.1, 2) is None
    assert _needed(0.5, 0.01, 4096) is None  # there is none to come


def test_a_size_needs_more_the_better_it_is_to_be_known_and_none_where_nothing_differs() -> None:
    by_precision = [
        _outlook(1.0, 0.1, 6, precision=precision, is_claimed=True).units_to_size()
        for precision in (0.2, 0.1, 0.05, 0.02)
    ]

    assert None not in by_precision
    assert by_precision == sorted(by_precision)  # type: ignore[type-var]
    assert by_precision[0] < by_precision[-1]  # type: ignore[operator]
    assert _outlook(0.0, 0.1, 6).units_to_size() is None
    assert (
        _outlook(1.0, 0.001, 2, spread=0.5).units_to_size() == 6
    )  # an early interval is as wide as the guard
    assert _outlook(1.0, 0.1, 6, precision=math.inf, is_claimed=True).units_to_size() == 8


def test_what_is_equal_is_to_be_known_as_well_as_is_asked() -> None:
    by_precision = [
        _outlook(0.0, 0.1, 6, if_equal=precision).units_to_size() for precision in (0.2, 0.05, 0.01)
    ]

    assert None not in by_precision
    assert by_precision == sorted(by_precision)  # type: ignore[type-var]
    assert by_precision[0] < by_precision[-1]  # type: ignore[operator]
    assert _outlook(0.0, 0.1, 6, if_equal=0.005).excess(6) > _outlook(0.0, 0.1, 6).excess(6)


@pytest.mark.parametrize("is_claimed", [False, True])
def test_an_interval_that_is_too_wide_narrows_by_less_the_more_units_it_has(is_claimed: bool) -> None:
    outlook = _outlook(1.0, 0.3, 3, is_claimed=is_claimed)

    excesses = [outlook.excess(units) for units in (3, 4, 6, 12, 24, 48)]

    assert excesses == sorted(excesses, reverse=True)
    assert excesses[-1] > 0
    assert all(
        _outlook(0.0, 0.3, look, is_claimed=is_claimed).excess(look + 1)
        < _outlook(0.0, 0.3, look, is_claimed=is_claimed).excess(look)
        for look in levels.LOOKS
    )
    gains = [outlook.excess(units) - outlook.excess(units + 1) for units in (3, 6, 12, 24, 48)]
    assert gains == sorted(gains, reverse=True)


# --- boots and their trials


def _by_boot(boot: float, trial: float, *, boots: int = 12, trials: int = 3) -> list[np.ndarray]:
    chance = np.random.default_rng(5)
    return [chance.normal(chance.normal(0, boot), trial, trials) for _ in range(boots)]


def test_what_differs_within_a_boot_is_known_against_what_differs_between_boots() -> None:
    within, both, between = (boots.ratio(_by_boot(*noise)) for noise in ((0.0, 0.1), (0.1, 0.1), (0.1, 0.01)))

    assert within is not None
    assert both is not None
    assert between is not None
    assert between < 0.2 < both < 5 < within
    assert boots.ratio(_by_boot(0.1, 0.1, boots=5, trials=1)) is None
    assert boots.ratio(_by_boot(0.1, 0.1, boots=3, trials=3)) is None  # six that are not their boot's first
    assert boots.ratio(_by_boot(0.1, 0.1, boots=1, trials=30)) is None


def test_a_second_trial_a_boot_shows_how_they_differ_unless_it_takes_too_long() -> None:
    assert boots.trials(boot_s=1.0, trial_s=0.1, ratio=None) == 2
    assert boots.trials(boot_s=1.0, trial_s=10.0, ratio=None) == 1
    assert boots.trials(boot_s=1.0, trial_s=0.1, ratio=0.01) == 1
    assert boots.trials(boot_s=1.0, trial_s=0.1, ratio=math.inf) == 10


# --- the mean of many metrics


def test_the_weighted_mean_is_as_by_hand() -> None:
    # Two metrics at a half each, d = (1, 2, 3) and (5, 7): errors 1/sqrt 3 and 1, in no common trial.
    parts = [WeightedPart(0.5, 2.0, [1.0, 2.0, 3.0], "abc"), WeightedPart(0.5, 6.0, [5.0, 7.0], "de")]

    found = weighted_mean.estimate(parts, alpha=0.05)

    shares = [0.5**2 / 6 * x**2 for x in (-1, 0, 1)] + [0.5**2 / 2 * x**2 for x in (-1, 1)]
    error = math.sqrt(sum(shares))
    assert error == pytest.approx(math.sqrt(0.25 / 3 + 0.25))
    freedom = max(1.0, sum(shares) ** 2 / sum(one**2 for one in shares) - 1)
    assert found.value == 4.0
    assert found.high == pytest.approx(4.0 + scipy.stats.t.ppf(0.975, freedom) * error)
    assert found.low == pytest.approx(8.0 - found.high)  # type: ignore[operator]


def test_what_went_wrong_together_counts_together() -> None:
    same = [WeightedPart(0.5, 0.0, [-1.0, 0.5, 0.5], "abc")] * 2
    apart = [WeightedPart(0.5, 0.0, [-1.0, 0.5, 0.5], names) for names in ("abc", "def")]

    together, alone = (weighted_mean.estimate(parts, alpha=0.3) for parts in (same, apart))

    assert together.high > alone.high  # type: ignore[operator]


def test_a_mean_of_single_differences_has_no_interval_and_one_beside_others_scatters_like_them() -> None:
    single = WeightedPart(0.5, 1.0, [1.0], "a")
    pair = WeightedPart(0.5, 3.0, [2.9, 3.1], "bc")

    assert weighted_mean.estimate([single], alpha=0.05) == Estimate(0.5)
    both = weighted_mean.estimate([single, pair], alpha=0.05)
    steady = weighted_mean.estimate([replace(pair, weight=1.0)], alpha=0.05)
    assert both.value == 2.0
    assert both.high - both.low > 0.5 * (steady.high - steady.low)  # type: ignore[operator]


def test_where_nothing_scatters_the_mean_is_exact() -> None:
    assert weighted_mean.estimate([WeightedPart(1.0, 2.0, [2.0, 2.0], "ab")], alpha=0.01) == Estimate(
        2.0, 2.0, 2.0, 0.99
    )


@pytest.mark.computes
@pytest.mark.parametrize("blocks", [3, 8])
def test_the_mean_s_interval_covers_the_truth_as_often_as_it_says(blocks: int) -> None:
    """Eight metrics whose differences scatter differently."""
    chance = np.random.default_rng(blocks)
    studies, covered = 1000, 0
    for _ in range(studies):
        parts = []
        for metric in range(8):
            differences = chance.normal(0.3, 0.02 * (metric + 1), size=blocks)
            names = [(metric, block) for block in range(blocks)]
            parts.append(WeightedPart(1 / 8, float(differences.mean()), differences.tolist(), names))
        found = weighted_mean.estimate(parts, alpha=0.05)
        covered += found.low <= 0.3 <= found.high  # type: ignore[operator]

    assert covered / studies > 0.95 - _tolerance(0.05, studies)


# --- the median


# How far from either end the bounds of the exact 95 % interval lie, from the tables of the sign test.
RANKS = {
    6: 1,
    7: 1,
    8: 1,
    9: 2,
    10: 2,
    11: 2,
    12: 3,
    15: 4,
    16: 4,
    17: 5,
    20: 6,
    25: 8,
    30: 10,
    40: 14,
    50: 18,
}


@pytest.mark.parametrize("count", RANKS)
def test_the_median_s_interval_has_the_published_ranks(count: int) -> None:
    values = np.random.default_rng(count).permutation(np.arange(1.0, count + 1))

    found = order_statistics.median(values)

    rank = RANKS[count]
    assert found == Estimate((count + 1) / 2, float(rank), float(count + 1 - rank), 0.95)


@pytest.mark.parametrize("count", range(1, 6))
def test_the_median_of_five_or_fewer_has_no_interval(count: int) -> None:
    assert order_statistics.median(np.arange(1.0, count + 1)) == Estimate((count + 1) / 2)


@pytest.mark.parametrize("count", [6, 13, 28, 100, 900, 1000, 1074, 1075, 1100, 4096, 100_000])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_the_median_s_interval_is_scipy_s(count: int, alpha: float) -> None:
    values = np.random.default_rng(count).lognormal(size=count)
    median = float(np.median(values))
    theirs = scipy.stats.quantile_test(values, q=median, p=0.5).confidence_interval(1 - alpha)

    found = order_statistics.median(values, alpha=alpha)

    assert found.value == median
    ours = tuple(math.nan if bound is None else bound for bound in (found.low, found.high))
    assert ours == pytest.approx((theirs.low, theirs.high), nan_ok=True)


@pytest.mark.parametrize("count", [6, 12, 24, 60])
def test_the_median_s_interval_covers_the_truth_as_often_as_it_says(count: int) -> None:
    studies = 2500
    samples = np.random.default_rng(count).lognormal(size=(studies, count))  # its median is 1
    covered = 0
    for values in samples:
        found = order_statistics.median(values)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1.0 <= found.high

    outside = int(scipy.stats.binom.ppf(0.025, count, 0.5))
    exact = 1 - 2 * float(scipy.stats.binom.cdf(outside - 1, count, 0.5))
    assert exact >= 0.95
    assert abs(covered / studies - exact) < _tolerance(exact, studies)


# --- false discoveries


def test_adjusted_p_values_are_as_by_hand() -> None:
    # 0.01*4/1, 0.02*4/2, 0.03*4/3, 0.5*4/4, none above a later one.
    assert false_discovery.adjusted([0.5, 0.01, 0.03, 0.02]) == pytest.approx([0.5, 0.04, 0.04, 0.04])
    assert false_discovery.adjusted([0.9, 0.9]) == [0.9, 0.9]
    assert false_discovery.adjusted([0.2]) == [0.2]
    assert false_discovery.adjusted([]) == []


@pytest.mark.parametrize("count", [1, 2, 7, 40, 100])
def test_adjusted_p_values_are_scipy_s(count: int) -> None:
    chance = np.random.default_rng(count)
    p_values = np.concatenate([chance.uniform(size=count), chance.uniform(size=count) ** 8, [0.5, 0.5, 1.0]])

    ours = false_discovery.adjusted(list(p_values))

    assert ours == pytest.approx(list(scipy.stats.false_discovery_control(p_values)), rel=1e-12)


def test_a_family_s_p_value_is_as_by_hand() -> None:
    assert false_discovery.simes([0.02, 0.01, 0.9]) == pytest.approx(0.03)  # 3*0.01/1, 3*0.02/2, 0.9
    assert false_discovery.simes([0.04]) == 0.04
    assert false_discovery.simes([0.04, 0.04, 0.04]) == pytest.approx(0.04)


def test_two_stages_are_as_by_hand() -> None:
    # Simes 0.002 and 0.8: half of the families are chosen, so the p-values there count double.
    found = false_discovery.two_stage([[0.001, 0.02], [0.5, 0.8]])

    assert found[0] == pytest.approx([0.004, 0.04])
    assert found[1] == [1.0, 1.0]


def test_one_family_is_as_without_stages() -> None:
    p_values = [0.001, 0.03, 0.2, 0.9]

    assert false_discovery.two_stage([p_values]) == [pytest.approx(false_discovery.adjusted(p_values))]


def test_in_a_family_that_is_not_chosen_nothing_is_claimed() -> None:
    families = [[0.03, 0.9, 0.9], [0.5], [0.6, 0.7]]

    assert false_discovery.two_stage(families) == [[1.0] * 3, [1.0], [1.0] * 2]


def test_two_stages_keep_the_shape_and_stay_probabilities() -> None:
    chance = np.random.default_rng(1)
    families = [list(chance.uniform(size=size) ** 5) for size in (1, 3, 7, 2)]

    found = false_discovery.two_stage(families)

    assert [len(family) for family in found] == [1, 3, 7, 2]
    assert all(0 <= p <= 1 for family in found for p in family)
    assert all(
        p >= raw
        for family, raws in zip(found, families, strict=True)
        for p, raw in zip(family, raws, strict=True)
    )
    assert false_discovery.two_stage([]) == []


@pytest.mark.computes
def test_where_nothing_differs_few_reports_claim_anything() -> None:
    reports = 4000
    chance = np.random.default_rng(2)
    claims = 0
    for p_values in chance.uniform(size=(reports, 40)):
        families = [list(p_values[first : first + 8]) for first in range(0, 40, 8)]
        claims += any(p <= 0.05 for family in false_discovery.two_stage(families) for p in family)

    assert claims / reports < 0.05 + _tolerance(0.05, reports)


@pytest.mark.computes
def test_where_something_differs_few_of_the_claims_are_false() -> None:
    reports = 1500
    chance = np.random.default_rng(4)
    false_shares = []
    for p_values in chance.uniform(size=(reports, 40)):
        p_values[:10] **= 12  # the true ones: all of the first family, two of the second
        families = [list(p_values[first : first + 8]) for first in range(0, 40, 8)]
        claimed = np.flatnonzero(np.concatenate(false_discovery.two_stage(families)) <= 0.05)
        false_shares.append(np.mean(claimed >= 10) if len(claimed) else 0.0)

    assert np.mean(false_shares) < 0.05 + SIGMAS * np.std(false_shares) / math.sqrt(reports)


# --- the words


FAR = math.log1p(0.02)
NONE = (None, None)
# The 95 % interval, the 90 % interval, and the word at a margin of 2 % (0.0198 on the log scale).
WORDS = [
    ((0.03, 0.05), (0.032, 0.048), verdict.FASTER),
    ((0.0199, 0.05), (0.02, 0.05), verdict.FASTER),
    ((-0.05, -0.03), (-0.048, -0.032), verdict.SLOWER),
    ((-0.05, -0.0199), (-0.05, -0.02), verdict.SLOWER),
    ((-0.01, 0.01), (-0.008, 0.008), verdict.EQUIVALENT),
    ((0.005, 0.015), (0.006, 0.014), verdict.EQUIVALENT),  # real, but too small to matter
    ((-0.015, -0.005), (-0.014, -0.006), verdict.EQUIVALENT),
    ((-0.021, 0.021), (-0.0197, 0.0197), verdict.EQUIVALENT),  # the 90 % interval decides it
    ((0.001, 0.03), (0.002, 0.028), verdict.FASTER_OPEN),
    ((-0.03, -0.001), (-0.028, -0.002), verdict.SLOWER_OPEN),
    ((FAR, 0.05), (0.021, 0.05), verdict.FASTER_OPEN),  # beyond the margin, not at it
    ((-0.05, -FAR), (-0.05, -0.021), verdict.SLOWER_OPEN),
    ((-0.01, 0.03), (-0.008, 0.028), verdict.UNRESOLVED),
    ((-0.03, 0.01), (-0.028, 0.008), verdict.UNRESOLVED),
    ((-0.05, 0.05), (-0.04, 0.04), verdict.UNRESOLVED),
    ((0.0, 0.03), (0.002, 0.028), verdict.UNRESOLVED),  # 0 is within
    ((-0.03, 0.0), (-0.028, -0.002), verdict.UNRESOLVED),
    ((-0.03, 0.03), (-FAR, 0.01), verdict.UNRESOLVED),  # at the margin is not within it
    (NONE, NONE, verdict.UNRESOLVED),
    (NONE, (-0.001, 0.001), verdict.UNRESOLVED),  # too few for the one interval: no verdict
    ((-0.01, 0.01), NONE, verdict.UNRESOLVED),
    ((0.03, 0.05), NONE, verdict.FASTER),
    ((0.001, 0.03), NONE, verdict.FASTER_OPEN),
]


@pytest.mark.parametrize(("wide", "narrow", "word"), WORDS)
def test_the_word_follows_from_two_intervals_and_the_margin(
    wide: tuple[float | None, float | None], narrow: tuple[float | None, float | None], word: str
) -> None:
    found = verdict.word(Estimate(0.0, *wide), Estimate(0.0, *narrow), margin=0.02)

    assert found == word


def test_the_words_turn_round_with_the_baseline() -> None:
    opposite = {
        verdict.FASTER: verdict.SLOWER,
        verdict.FASTER_OPEN: verdict.SLOWER_OPEN,
        verdict.EQUIVALENT: verdict.EQUIVALENT,
        verdict.UNRESOLVED: verdict.UNRESOLVED,
    }
    opposite |= {turned: word for word, turned in opposite.items()}

    def turned(bounds: tuple[float | None, float | None]) -> Estimate:
        low, high = bounds
        return Estimate(0.0, None if high is None else -high, None if low is None else -low)

    for wide, narrow, word in WORDS:
        assert verdict.word(turned(wide), turned(narrow), margin=0.02) == opposite[word]


@pytest.mark.computes
def test_wrong_words_are_as_rare_as_they_say_at_the_margin_and_where_nothing_differs() -> None:
    studies, blocks = 2000, 16
    chance = np.random.default_rng(11)
    said: dict[tuple[float, str], float] = {}
    for truth in (0.0, FAR):
        for differences in truth + chance.normal(0, 0.01, size=(studies, blocks)):
            wide = signed_rank.estimate(differences, alpha=0.05)
            narrow = signed_rank.estimate(differences, alpha=0.10)
            word = verdict.word(wide, narrow, margin=0.02)
            said[truth, word] = said.get((truth, word), 0.0) + 1 / studies

    directions = (verdict.FASTER, verdict.SLOWER, verdict.FASTER_OPEN, verdict.SLOWER_OPEN)
    false_alarms = sum(said.get((0.0, word), 0.0) for word in directions)
    assert false_alarms < 0.05 + _tolerance(0.05, studies)
    assert said.get((0.0, verdict.FASTER), 0.0) + said.get((0.0, verdict.SLOWER), 0.0) < 0.001
    assert said.get((FAR, verdict.EQUIVALENT), 0.0) < 0.05 + _tolerance(0.05, studies)
    assert said.get((FAR, verdict.FASTER), 0.0) < 0.025 + _tolerance(0.025, studies)


# --- planning


def test_the_robust_deviation_is_as_by_hand_and_heeds_no_outlier() -> None:
    # Median 3; distances 2, 1, 0, 1, 97; their median 1.
    assert order_statistics.robust_deviation(np.array([1.0, 2.0, 3.0, 4.0, 100.0])) == 1.4826
    assert order_statistics.robust_deviation(np.array([5.0, 5.0, 5.0])) == 0.0
    normal = np.random.default_rng(1).normal(0, 0.02, size=20_000)
    assert order_statistics.robust_deviation(normal) == pytest.approx(0.02, rel=0.03)
