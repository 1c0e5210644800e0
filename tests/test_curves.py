"""Curves over sizes: known breakpoints, capacities and lines are found, few are invented, intervals cover."""

import math

import numpy as np
import pytest

from steelyard.statistics import resampling
from steelyard.statistics.signed_rank import Array, Estimate

SIGMAS = 4  # of the binomial: a test that simulates is wrong by chance once in 16 000


def _tolerance(share: float, studies: int) -> float:
    return SIGMAS * math.sqrt(share * (1 - share) / studies)


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
