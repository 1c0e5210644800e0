"""Turns a study and a seed into trials: the visits of each cell, and the random order within each.

A visit is one block of one cell: every system does the cell once, one after the other. The plan is pure:
the same study, systems and seed give the same visits, whatever was measured. Which cell is visited next,
and how often, is `allocation`'s to say.
"""

import math
import random
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from steelyard.servers import description
from steelyard.study import model as studies
from steelyard.study.model import PEER, SERVER, TIMING, Cell, Study

PAD_MOST = 4095  # bytes added to the environment: a page, so that the stack takes any alignment
SEED_MOST = (1 << 32) - 1
_NO_AMOUNTS = (*TIMING, "place")  # parameters that do not say how much work there is


@dataclass(frozen=True, slots=True)
class Trial:
    """One execution of one workload in one cell on one system, in fresh processes."""

    block: int  # of its cell, from 0
    position: int  # within the block, from 0: who went first
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
    servers: Mapping[str, str] = field(default_factory=dict)  # by name, as the load program reads them
    # By system and peer, where the far end waits, as the load program reads it: known when it is up.
    far_ends: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def settings(self, trial: Trial) -> dict[str, int | str]:
        """What the trial is asked for besides its workload: the cell's settings, and those of all trials."""
        limit_ms = int(self.study.design.trial_limit_s * 1000)
        known = dict(self.study.trial) | {"limit_ms": limit_ms, "pad": trial.pad, "seed": trial.seed}
        return {
            name: self._setting(trial.system, name, value)
            for name, value in (known | dict(trial.cell.parameters)).items()
        }

    def _setting(self, system: str, name: str, value: int | str) -> int | str:
        if name == SERVER:
            return self.servers[str(value)]
        if name == PEER:
            return self.far_ends.get((system, str(value)), value)
        return _words(value)


def _words(value: int | str) -> int | str:
    """A text is a command line: it goes as its words, a newline between two."""
    return "\n".join(shlex.split(value)) if isinstance(value, str) else value


def make(study: Study, *, systems: tuple[str, ...], processors: int, seed: int) -> Plan:
    """The plan of the study for these systems; `processors` stands for the level of that name. Raises
    UnknownName or UsageError where a server is not known."""
    cells = studies.cells(study, processors=processors)
    return Plan(
        study, systems, cells, seed, {name: description.read(name).lines() for name in _servers(cells)}
    )


def _servers(cells: tuple[Cell, ...]) -> list[str]:
    return sorted({str(value) for cell in cells for name, value in cell.parameters if name == SERVER})


def visit(plan: Plan, cell: Cell, number: int) -> tuple[Trial, ...]:
    """Block `number` of the cell: every system in random order. An odd block has the reverse order of the
    one before, so that of two blocks each system goes first in one: who goes first may pay for it."""
    order = random.Random(f"steelyard {plan.seed} {cell.label} {number // 2}").sample(
        plan.systems, len(plan.systems)
    )
    chance = random.Random(f"steelyard pads {plan.seed} {cell.label} {number}")
    seed = chance.randint(0, SEED_MOST)
    return tuple(
        Trial(number, position, system, cell, chance.randint(0, PAD_MOST), seed)
        for position, system in enumerate(reversed(order) if number % 2 else order)
    )


def boot_order(plan: Plan, number: int) -> tuple[str, ...]:
    """In which order the systems of round `number` are booted where they exclude each other: random, and the
    reverse in an odd round. So each goes first as often, and what drifts evenly is shared evenly."""
    chance = random.Random(f"steelyard boots {plan.seed} {number // 2}")
    order = tuple(chance.sample(plan.systems, len(plan.systems)))
    return order[::-1] if number % 2 else order


def lightest_first(plan: Plan) -> tuple[Cell, ...]:
    """The cells by how much work their levels promise, those of equal promise in random order: before
    anything is measured, that is all there is to go by."""
    chance = random.Random(f"steelyard first {plan.seed}")
    return tuple(sorted(chance.sample(plan.cells, len(plan.cells)), key=amount))


def amount(cell: Cell) -> float:
    """How much work the cell's levels promise, beside other cells of its workload: their product."""
    numbers = (value for name, value in cell.parameters if name not in _NO_AMOUNTS and isinstance(value, int))
    return math.prod(max(1, number) for number in numbers)


def starts_afresh(plan: Plan, number: int) -> bool:
    """Whether a system whose start is a boot is booted anew before round `number`."""
    return number % plan.study.design.blocks_per_boot == 0


def remaining(trials: tuple[Trial, ...], systems: Collection[str]) -> tuple[Trial, ...]:
    """Those of a visit's trials whose system still needs them, in the visit's order."""
    return tuple(trial for trial in trials if trial.system in systems)
