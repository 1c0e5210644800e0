"""The statistics: hand-checkable answers, published tables, and intervals that cover as often as they say."""

import math
from itertools import pairwise, product
from statistics import NormalDist

import numpy as np
import pytest
import scipy.stats

from steelyard.statistics import false_discovery, looks, order_statistics, power, signed_rank, verdict
from steelyard.statistics.signed_rank import Array, Estimate

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


@pytest.mark.parametrize("case", TIES)
@pytest.mark.parametrize("alpha", [0.05, 0.0208, 0.01])
def test_ties_and_zeros_err_on_the_side_of_no_finding(case: str, alpha: float) -> None:
    sizes = np.array(TIES[case], dtype=float)
    signs = np.array(list(product((-1.0, 1.0), repeat=len(sizes))))
    one_sided = np.array([signed_rank.p_greater(row * sizes) for row in signs])
    two_sided = np.array([signed_rank.p_two_sided(row * sizes) for row in signs])

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


@pytest.mark.parametrize("planned", [1, 2, 3, 4])
def test_the_levels_hold_together_over_looks_that_double(planned: int) -> None:
    paths = 200_000
    chance = np.random.default_rng(planned)
    at = np.array([2**look for look in range(planned)], dtype=float)
    steps = chance.normal(size=(paths, planned)) * np.sqrt(np.diff(at, prepend=0.0))
    greatest = np.abs(steps.cumsum(axis=1) / np.sqrt(at)).max(axis=1)
    levels = looks.levels(planned)

    for alpha, promised in ((levels.alpha_95, 0.05), (levels.alpha_90, 0.10)):
        beyond = np.mean(greatest > NormalDist().inv_cdf(1 - alpha / 2))
        # The levels have four decimals: 0.0005 for their rounding.
        assert abs(beyond - promised) < _tolerance(promised, paths) + 0.0005


def test_more_looks_cost_more_at_each() -> None:
    given = [looks.levels(planned) for planned in (1, 2, 3, 4)]

    assert given[0] == looks.Levels(0.05, 0.1)
    for fewer, more in pairwise(given):
        assert more.alpha_95 < fewer.alpha_95
        assert more.alpha_90 < fewer.alpha_90
    for one in given:
        assert one.alpha_95 < one.alpha_90


@pytest.mark.parametrize("kind", ["normal", "heavy tails"])
def test_intervals_at_12_24_and_48_blocks_cover_the_truth_all_three_as_often_as_they_say(kind: str) -> None:
    studies = 2500
    alpha = looks.levels(3).alpha_95
    samples = _noise(kind, np.random.default_rng(17), (studies, 48))
    covered = 0
    for differences in samples:
        intervals = [signed_rank.estimate(differences[:blocks], alpha=alpha) for blocks in (12, 24, 48)]
        covered += all(one.low <= 0 <= one.high for one in intervals)  # type: ignore[operator]

    assert 0.95 - _tolerance(0.95, studies) < covered / studies < 0.96 + _tolerance(0.96, studies)


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


@pytest.mark.parametrize("count", [6, 13, 28, 100])
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


def test_where_nothing_differs_few_reports_claim_anything() -> None:
    reports = 4000
    chance = np.random.default_rng(2)
    claims = 0
    for p_values in chance.uniform(size=(reports, 40)):
        families = [list(p_values[first : first + 8]) for first in range(0, 40, 8)]
        claims += any(p <= 0.05 for family in false_discovery.two_stage(families) for p in family)

    assert claims / reports < 0.05 + _tolerance(0.05, reports)


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
    assert power.robust_deviation(np.array([1.0, 2.0, 3.0, 4.0, 100.0])) == 1.4826
    assert power.robust_deviation(np.array([5.0, 5.0, 5.0])) == 0.0
    normal = np.random.default_rng(1).normal(0, 0.02, size=20_000)
    assert power.robust_deviation(normal) == pytest.approx(0.02, rel=0.03)


def test_the_smallest_difference_is_as_by_hand() -> None:
    # exp((1.95996 + 1.28155) * 0.01 / 4) - 1
    assert power.smallest_difference(0.01, 16) == pytest.approx(0.0081367, rel=1e-4)
    assert power.smallest_difference(0.0, 16) == 0.0


def test_four_times_the_blocks_halve_the_smallest_difference() -> None:
    for deviation in (0.001, 0.01):
        few, many = (math.log1p(power.smallest_difference(deviation, blocks)) for blocks in (12, 48))
        assert few == pytest.approx(2 * many)


def test_the_smallest_difference_is_found_nine_times_in_ten() -> None:
    studies, blocks, deviation = 2000, 24, 0.01
    truth = math.log1p(power.smallest_difference(deviation, blocks))
    samples = truth + np.random.default_rng(12).normal(0, deviation, size=(studies, blocks))
    found = np.mean([signed_rank.p_two_sided(differences) <= 0.05 for differences in samples])

    # z in place of t, and the signed-rank test's efficiency of 0.955, cost three points.
    assert 0.85 < found < 0.92


def test_the_blocks_for_equivalence_are_as_by_hand() -> None:
    # (2 * 1.64485 * 0.01 / ln 1.01)^2 = 10.93, (2 * 1.64485 * 0.05 / ln 1.02)^2 = 69.0
    assert power.blocks_for_equivalence(0.01, 0.01) == 11
    assert power.blocks_for_equivalence(0.05, 0.02) == math.ceil((3.289707 * 0.05 / math.log(1.02)) ** 2)
    assert power.blocks_for_equivalence(0.0, 0.01) == 6  # fewer can never decide


def test_so_many_blocks_show_equality_about_nine_times_in_ten() -> None:
    studies, deviation, margin = 2000, 0.02, 0.02
    blocks = power.blocks_for_equivalence(deviation, margin)
    samples = np.random.default_rng(13).normal(0, deviation, size=(studies, blocks))
    equal = 0
    for differences in samples:
        narrow = signed_rank.estimate(differences, alpha=0.10)
        equal += -math.log1p(margin) < narrow.low and narrow.high < math.log1p(margin)  # type: ignore[operator]

    assert 0.80 < equal / studies < 0.95
