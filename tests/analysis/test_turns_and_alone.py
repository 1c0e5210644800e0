"""What work takes alone beside what it takes in turns: found from the same trials, said where it matters."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import synthetic

from steelyard.analysis import evaluate
from steelyard.analysis.model import Alone, Evaluation
from steelyard.analysis.remarks import OtherAlone, OtherLevel, OtherLevels
from steelyard.events import Outcome
from steelyard.study.plan import Trial

pytestmark = pytest.mark.computes

OPERATIONS = 1000
IN_TURNS = {"a": 1000.0, "b": 2000.0}  # ns


def evaluated(
    root: Path,
    alone: dict[str, Sequence[float]],
    *,
    blocks: int = 16,
    boots: int = 0,
    closed: bool = True,
) -> Evaluation:
    """Two systems whose trials end with batches that take these ns an operation; both are up to 2 % slower
    in one block than in another. `boots`: of the second system."""
    made = synthetic.plan("sieve", blocks=blocks)
    made = dataclasses.replace(made, in_turns=frozenset(made.cells))

    def measured(trial: Trial) -> Outcome:
        slower = 1 + 0.01 * math.sin(trial.block) + 0.001 * math.sin(7 * trial.block + ord(trial.system))
        return synthetic.outcome(
            trial,
            IN_TURNS[trial.system] * slower,
            boot=1 + trial.block * boots // blocks if trial.system == "b" else 1,
            operations=OPERATIONS,
            alone_ns=tuple(round(OPERATIONS * ns * slower) for ns in alone[trial.system]),
            together=float(trial.block + 1),
        )

    return evaluate.of(
        synthetic.experiment(root, made, measured, boot_systems=["b"] if boots else [], closed=closed)
    )


def by_system(found: Evaluation) -> dict[str, Alone]:
    return {one.system: one for one in found.alone}


@pytest.mark.parametrize("closed", [False, True])
def test_the_level_alone_is_that_of_the_second_half(tmp_path: Path, closed: bool) -> None:
    found = evaluated(tmp_path, {"a": (1000, 990, 900, 900), "b": (2000, 1990, 1600, 1600)}, closed=closed)

    a, b = by_system(found)["a"], by_system(found)["b"]
    assert (a.trials, b.trials) == (16, 16)
    assert a.level.value == pytest.approx(0.9, rel=1e-3)
    assert b.level.value == pytest.approx(0.8, rel=1e-3)
    assert (a.ratio, a.shift) == (None, None)
    assert b.ratio is not None
    assert b.shift is not None
    assert b.ratio.value == pytest.approx(900 / 1600, rel=1e-2)
    assert b.shift.value == pytest.approx(2 * 900 / 1600, rel=1e-2)
    for one in (a.level, b.level, b.ratio, b.shift):
        assert one.low < one.value < one.high  # type: ignore[operator]
        assert one.level == pytest.approx(1 - 0.05 / 3)


def test_a_ratio_that_is_another_one_alone_is_remarked(tmp_path: Path) -> None:
    found = evaluated(tmp_path, {"a": (900,) * 4, "b": (1600,) * 4})

    (comparison,) = found.comparisons
    (remark,) = (one for one in comparison.remarks if isinstance(one, OtherAlone))
    assert remark.low < 900 / 1600 < remark.high
    assert comparison.ratio is not None
    assert comparison.ratio.value == pytest.approx(0.5, rel=1e-2)
    (levels,) = (one for one in found.remarks if isinstance(one, OtherLevels))
    assert levels == OtherLevels((OtherLevel("sieve", pytest.approx(-0.2, abs=1e-3)),))


def test_levels_that_change_alike_leave_the_comparison_alone(tmp_path: Path) -> None:
    found = evaluated(tmp_path, {"a": (900,) * 4, "b": (1800,) * 4})

    (comparison,) = found.comparisons
    assert not any(isinstance(one, OtherAlone) for one in comparison.remarks)
    assert any(isinstance(one, OtherLevels) for one in found.remarks)


@pytest.mark.parametrize("alone", [{"a": (990,), "b": (1980,)}, {"a": (), "b": ()}], ids=["alike", "none"])
def test_what_hardly_differs_is_not_worth_a_word(tmp_path: Path, alone: dict[str, Sequence[float]]) -> None:
    found = evaluated(tmp_path, alone)

    assert not any(isinstance(one, OtherLevels) for one in found.remarks)
    assert len(found.alone) == 2 * bool(alone["a"])


def test_a_boot_counts_once(tmp_path: Path) -> None:
    few = by_system(evaluated(tmp_path / "few", {"a": (900,), "b": (1600,)}, boots=4))["b"]
    many = by_system(evaluated(tmp_path / "many", {"a": (900,), "b": (1600,)}, boots=16))["b"]

    assert (few.trials, many.trials) == (16, 16)
    for one in (few.level, few.ratio, few.shift):
        assert one is not None
        assert one.low is None
    assert many.level.low is not None
