"""Turns a study and a seed into trials in order: blocks, and random order within each.

The plan is pure: the same study, systems and seed give the same trials, whatever was measured. A
cell that is decided early is left out of later blocks without moving the others.
"""

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from steelyard import study as studies
from steelyard.study import Cell, Study

PAD_MOST = 4095  # bytes added to the environment: a page, so that the stack takes any alignment
SEED_MOST = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Trial:
    """One execution of one workload in one cell on one system, in fresh processes."""

    block: int
    position: int  # within the block, from 0
    system: str
    cell: Cell
    pad: int  # bytes
    seed: int = 0  # of the order of a curve's sizes: the same for every system of the block

    @property
    def name(self) -> str:
        return f"{self.block}.{self.position}"


@dataclass(frozen=True, slots=True)
class Plan:
    """All that the order of running follows from."""

    study: Study
    systems: tuple[str, ...]  # the first is the baseline
    cells: tuple[Cell, ...]
    seed: int


def make(study: Study, *, systems: tuple[str, ...], processors: int, seed: int) -> Plan:
    """The plan of the study for these systems; `processors` stands for the level of that name."""
    return Plan(study, systems, studies.cells(study, processors=processors), seed)


def block(plan: Plan, number: int) -> tuple[Trial, ...]:
    """Block `number`: every cell in random order, and in each cell every system in random order."""
    chance = random.Random(f"steelyard {plan.seed} {number}")
    seeds = random.Random(f"steelyard sizes {plan.seed} {number}")
    trials: list[Trial] = []
    for cell in chance.sample(plan.cells, len(plan.cells)):
        order = chance.sample(plan.systems, len(plan.systems))
        seed = seeds.randint(0, SEED_MOST)
        for system in order:
            trials.append(Trial(number, len(trials), system, cell, chance.randint(0, PAD_MOST), seed))
    return tuple(trials)


def blocks(plan: Plan) -> Iterator[tuple[Trial, ...]]:
    """Every block up to the last planned look."""
    for number in range(plan.study.design.looks[-1]):
        yield block(plan, number)


def starts_afresh(plan: Plan, number: int) -> bool:
    """Whether a system whose start is a boot is booted anew before block `number`."""
    return number % plan.study.design.blocks_per_boot == 0


def remaining(trials: tuple[Trial, ...], open_pairs: Collection[tuple[str, Cell]]) -> tuple[Trial, ...]:
    """Those of a block's trials whose system and cell are still open, in the block's order."""
    return tuple(trial for trial in trials if (trial.system, trial.cell) in open_pairs)
