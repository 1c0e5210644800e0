"""What a trial leaves behind for the next one is found where it is, and only there."""

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic

from steelyard.analysis import carry_over, evaluate
from steelyard.archive import closing
from steelyard.study import plan as plans
from steelyard.words import remarks

pytestmark = pytest.mark.computes

WORKLOADS = ("sieve", "syscall", "memory_copy", "shell", "pipe_latency")


def _warnings(root: Path, *, after_memory: float, seed: int = 1, blocks: int = 30) -> list[str]:
    """Of an experiment in rounds of random order, in which a trial right after memory_copy takes longer."""
    chance = random.Random(seed)
    made = synthetic.plan(*WORKLOADS, blocks=blocks)
    found = synthetic.new(root, made)
    began, last = 1e9, ""
    for block in range(blocks):
        for cell in chance.sample(made.cells, len(made.cells)):
            for trial in plans.visit(made, cell, block):
                is_after = last == "memory_copy" and cell.workload != "memory_copy"
                factor = (after_memory if is_after else 1.0) * math.exp(chance.gauss(0, 0.01))
                synthetic.append(found, replace(synthetic.outcome(trial, 1000 * factor), began=began))
                began, last = began + 1.0, cell.workload
    return [one for one in remarks.texts(evaluate.of(closing.close(found)).remarks) if "carry-over" in one]


def test_a_heavy_neighbour_is_named_with_what_it_costs(tmp_path: Path) -> None:
    first, second = _warnings(tmp_path, after_memory=1.2)

    assert first.startswith("carry-over: a trial right after one of memory_copy takes 20 % longer [")
    assert "carry-over" in second


@pytest.mark.parametrize("seed", range(6))
def test_where_nothing_is_left_behind_nothing_is_said(tmp_path: Path, seed: int) -> None:
    assert _warnings(tmp_path, after_memory=1.0, seed=seed) == []


def _one_sided(root: Path) -> Iterator[str]:
    """The baseline alone comes after memory_copy."""
    chance = random.Random(3)
    made = synthetic.plan("sieve", "memory_copy", blocks=24)
    found = synthetic.new(root, made)
    began, last = 1e9, ""
    for block in range(24):
        for name in ("memory_copy", "sieve") if block % 2 == 0 else ("sieve", "memory_copy"):
            cell = next(one for one in made.cells if one.workload == name)
            order = sorted(plans.visit(made, cell, block), key=lambda trial: trial.system)
            for position, trial in enumerate(order):
                is_after = last == "memory_copy" and name == "sieve"
                ns = 1000 * (1.3 if is_after else 1.0) * math.exp(chance.gauss(0, 0.005))
                synthetic.append(
                    found, replace(synthetic.outcome(replace(trial, position=position), ns), began=began)
                )
                began, last = began + 1.0, name
    yield from remarks.texts(evaluate.of(closing.close(found)).remarks)


def test_a_comparison_that_it_moves_is_named(tmp_path: Path) -> None:
    said = [one for one in _one_sided(tmp_path) if "may have moved" in one]

    assert len(said) == 1
    assert "sieve on b" in said[0]


def test_few_trials_after_a_cell_say_nothing(tmp_path: Path) -> None:
    assert _warnings(tmp_path, after_memory=1.5, blocks=3) == []
    assert carry_over._TRIALS_LEAST > 3
