"""Turns a study and a seed into trials: the visits of each cell, and the random order within each.

A visit is one block of one cell: every system does the cell once, one after the other. The plan is pure:
the same study, systems and seed give the same visits, whatever was measured. Which cell is visited next,
and how often, is `allocation`'s to say.
"""

import math
import random
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from steelyard.servers import description
from steelyard.study import model as studies
from steelyard.study import sent, tool, turns
from steelyard.study.model import PEER, SERVER, TIMING, Cell, Study

PAD_MOST = 4095  # bytes added to the environment: a page, so that the stack takes any alignment
SEED_MOST = (1 << 32) - 1
_NO_AMOUNTS = (*TIMING, "place")  # parameters that do not say how much work there is


@dataclass(frozen=True, slots=True)
class Trial:
    """One execution of one workload in one cell on one system, in fresh processes."""

    block: int  # of its cell, from 0
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
    """The data that determine the order of running."""

    study: Study
    systems: tuple[str, ...]  # the first is the baseline
    cells: tuple[Cell, ...]
    seed: int
    servers: Mapping[str, str] = field(default_factory=dict)  # by name, as the load program reads them
    # By system and peer, where the far end waits, as the load program reads it: known when it is up.
    far_ends: Mapping[tuple[str, str], str] = field(default_factory=dict)
    in_turns: frozenset[Cell] = frozenset()  # whose batches take turns on all systems
    turn_batches: turns.Batches = turns.OF_TRIALS  # of each of these trials

    def settings(self, trial: Trial) -> dict[str, int | str]:
        """The request of a trial besides its workload: the cell's settings, and those of all trials."""
        limit_ms = int(self.limit_s(trial.cell) * 1000)
        known = dict(self.study.trial) | {"limit_ms": limit_ms, "pad": trial.pad, "seed": trial.seed}
        known |= self.turn_settings(trial.cell)
        known |= {tool.PARAMETER: 1} if self.tool_of(trial.cell) else {}
        if self.study.files and trial.cell.workload == tool.WORKLOAD:
            known |= {sent.PARAMETER: 1}
        of_cell, of_system = dict(trial.cell.parameters), self.of_system(trial.system)
        return {
            name: self._setting(trial.system, name, value)
            for name, value in (known | of_cell | of_system).items()
        }

    def limit_s(self, cell: Cell) -> float:
        """After which a trial of the cell is ended. One that takes turns waits for the others meanwhile."""
        return self.study.design.trial_limit_s * self._at_once(cell)

    def limited(self, cell: Cell, limit_s: float) -> "Plan":
        """The plan with trials of the cell that end after so long at the latest."""
        design = replace(self.study.design, trial_limit_s=limit_s / self._at_once(cell))
        return replace(self, study=replace(self.study, design=design))

    def _at_once(self, cell: Cell) -> int:
        return len(self.systems) if cell in self.in_turns else 1

    def turn_settings(self, cell: Cell) -> dict[str, int | str]:
        """What is set for trials that take turns. The runs of a command are as many as without."""
        if cell not in self.in_turns:
            return {}
        return {turns.PARAMETER: 1} if cell.workload == tool.WORKLOAD else self.turn_batches.settings()

    def tool_of(self, cell: Cell) -> tool.Tool | None:
        """The tool whose figures are read from what the cell's command prints."""
        return self.study.tool if cell.workload == tool.WORKLOAD else None

    def of_system(self, label: str) -> dict[str, int | str]:
        """What the study sets for the system's trials alone."""
        name = label.partition("#")[0]
        return {
            parameter: value
            for definition in self.study.definitions
            if definition.name == name
            for parameter, value in definition.trial
        }

    def server_runs(self, cell: Cell) -> bool:
        """Whether the cell's server is one that no trial starts."""
        lines = self.servers.get(str(dict(cell.parameters).get(SERVER, "")), "")
        return any(line.startswith("running ") for line in lines.splitlines())

    def _setting(self, system: str, name: str, value: int | str) -> int | str:
        if name == SERVER:
            return self.servers[str(value)]
        if name == PEER:
            return self.far_ends.get((system, str(value)), value)
        return as_words(value)


def as_words(value: int | str) -> int | str:
    """A text is a command line: it goes as its words, a newline between two."""
    return "\n".join(shlex.split(value)) if isinstance(value, str) else value


def make(study: Study, *, systems: tuple[str, ...], processors: int, seed: int) -> Plan:
    """The plan of the study for these systems; `processors` stands for the level of that name. Raises
    UnknownName or UsageError where a server is not known."""
    cells = studies.cells(study, processors=processors)
    servers = {name: description.known(name, study.servers).lines() for name in _servers(cells)}
    return Plan(study, systems, cells, seed, servers)


def _servers(cells: tuple[Cell, ...]) -> list[str]:
    return sorted({str(value) for cell in cells for name, value in cell.parameters if name == SERVER})


def visit(plan: Plan, cell: Cell, number: int) -> tuple[Trial, ...]:
    """Block `number` of the cell: every system in random order. An odd block reverses the order of the one
    before, so that each system goes first in one of two blocks: going first may cost time.
    """
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
    """The boot order in round `number` of systems that exclude each other: random, reversed in an odd round.
    So each goes first equally often, and even drift is shared evenly.
    """
    chance = random.Random(f"steelyard boots {plan.seed} {number // 2}")
    order = tuple(chance.sample(plan.systems, len(plan.systems)))
    return order[::-1] if number % 2 else order


def lightest_first(plan: Plan) -> tuple[Cell, ...]:
    """The cells by the amount of work of their levels, ties in random order: before any measurement nothing
    else is known.
    """
    chance = random.Random(f"steelyard first {plan.seed}")
    return tuple(sorted(chance.sample(plan.cells, len(plan.cells)), key=amount))


def amount(cell: Cell) -> float:
    """The amount of work of the cell's levels, relative to other cells of its workload: their product."""
    numbers = (value for name, value in cell.parameters if name not in _NO_AMOUNTS and isinstance(value, int))
    return math.prod(max(1, number) for number in numbers)


def starts_afresh(plan: Plan, number: int) -> bool:
    """True if a system whose start is a boot is booted again before round `number`."""
    return number % plan.study.design.blocks_per_boot == 0


def remaining(trials: tuple[Trial, ...], systems: Collection[str]) -> tuple[Trial, ...]:
    """The trials of a visit that their systems still need, in the visit's order."""
    return tuple(trial for trial in trials if trial.system in systems)
