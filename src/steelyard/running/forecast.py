"""Forecasts the use of a run's time by simulating its own rule (`allocation`).

The cost of a visit, the scatter of pairs and the differences between systems come from an earlier experiment
with the same systems and cells, if there is one. Otherwise they are guessed, and the forecast says so.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.analysis import comparison, interim, rows
from steelyard.analysis.interim import OpenComparison
from steelyard.analysis.model import Horizon
from steelyard.analysis.observations import Observations
from steelyard.archive import reading
from steelyard.archive.experiments import StoredExperiment
from steelyard.programs import built
from steelyard.running import allocation, estimate
from steelyard.running.allocation import Offer
from steelyard.running.queue import EARLY_ROUNDS
from steelyard.statistics import levels, prospects, trimmed
from steelyard.statistics.moderation import Mean
from steelyard.statistics.prospects import Outlook
from steelyard.study.model import Cell
from steelyard.study.plan import Plan

_DEVIATION = 0.03  # of a pair, where nothing is known
_PRIOR = 4.0  # degrees of freedom that the other metrics count for
_BETWEEN_S = 0.02  # what the laboratory does between two trials


@dataclass(frozen=True, slots=True)
class KnownCosts:
    """The known or guessed figures of a cell: those of the noisiest metric and system."""

    visit_s: float  # a trial on each system
    deviation: float = _DEVIATION  # of a pair, on the log scale
    difference: float = 0.0  # likewise


@dataclass(frozen=True, slots=True)
class Share:
    """The expected share of the time of a cell, and its results."""

    cell: Cell
    seconds: float
    blocks: int
    half_width: float | None  # of the interval, as a fraction; None without one
    settled_s: float | None  # when nothing is left to do; None: not within the budget


def measured(experiment: StoredExperiment, plan: Plan) -> dict[Cell, KnownCosts]:
    """The figures of an earlier experiment for the plan's cells on its systems. Raises ArchiveError."""
    with reading.connect(experiment) as connection:
        found = rows.Rows()
        found.add(connection)
        observations = Observations(experiment, found)
    look = comparison.Looking(observations).look()
    by_label = {cell.label: cell for cell in plan.cells}
    known: dict[Cell, KnownCosts] = {}
    for one, outlook in zip(look.comparisons, look.outlooks, strict=True) if look else ():
        cell = by_label.get(one.cell)
        if cell is None or outlook is None or outlook.units < levels.LOOKS[0]:
            continue
        spans = [observations.seconds.get((system, one.cell), 0.0) for system in plan.systems]
        mean = outlook.mean
        if cell not in known or mean.deviation > known[cell].deviation:
            visit_s = sum(spans) + len(plan.systems) * _BETWEEN_S
            known[cell] = KnownCosts(visit_s, mean.deviation, mean.value)
    return known


def newest(experiments: Sequence[StoredExperiment], plan: Plan) -> StoredExperiment | None:
    """The newest closed experiment of the plan's systems and of a cell of it, if there is one."""
    labels = {cell.label for cell in plan.cells}
    for one in reversed(experiments):
        is_alike = one.closed and set(one.header["systems"]) >= set(plan.systems)
        if is_alike and labels & {cell.label for cell in one.cells}:
            return one
    return None


def guessed(plan: Plan) -> dict[Cell, KnownCosts]:
    """The requested times, with a usual scatter and no difference."""
    return {
        cell: KnownCosts(len(plan.systems) * (estimate.least_trial_s(plan, cell) + _BETWEEN_S))
        for cell in plan.cells
    }


def shares(plan: Plan, known: Mapping[Cell, KnownCosts], *, start_s: float, boot_s: float) -> list[Share]:
    """The time of each cell, largest first. Systems take `start_s` to start, and `boot_s` to boot for a
    round.
    """
    design = plan.study.design
    chance = random.Random(f"steelyard forecast {plan.seed}")
    cells = {cell: _CellForecast(plan, cell, one, len(known)) for cell, one in known.items()}
    spent = estimate.COMMAND_S + start_s
    while visits := _round(cells, design.budget_s - spent - boot_s, design.blocks, boot_s, chance):
        spent += boot_s
        for one in visits:
            if spent + one.cost_s <= design.budget_s:
                spent += one.cost_s
                cells[one.cell].visit(spent)
    found = [
        Share(cell, one.blocks * one.known.visit_s, one.blocks, one.half_width(), one.settled_s)
        for cell, one in cells.items()
    ]
    return sorted(found, key=lambda one: -one.seconds)


def _round(
    cells: Mapping[Cell, "_CellForecast"],
    left_s: float,
    blocks_most: int,
    boot_s: float,
    chance: random.Random,
) -> Sequence[Offer]:
    offers = [
        Offer(cell, one.blocks, one.known.visit_s, one.horizons)
        for cell, one in cells.items()
        if one.settled_s is None and one.blocks < blocks_most and one.known.visit_s <= left_s
    ]
    is_early = any(one.blocks < allocation.FIRST_BLOCKS for one in offers)
    later_s = 0.0 if boot_s else allocation.ROUND_S
    seconds = allocation.ROUND_S / EARLY_ROUNDS if is_early else later_s
    further = {one.cell: next(iter(levels.after(one.blocks)), one.blocks + 1) - one.blocks for one in offers}
    return allocation.visits(
        offers,
        seconds=min(seconds, max(0.0, left_s)),
        left_s=left_s,
        boot_s=boot_s,
        most={} if boot_s else further,
        chance=chance,
    )


class _CellForecast:
    """A cell as it would be: its noise and its difference stay what they are."""

    def __init__(self, plan: Plan, cell: Cell, known: KnownCosts, cells: int) -> None:
        self.known = known
        self.blocks = 0
        self.settled_s: float | None = None
        self._precision = math.log1p(plan.study.design.precision)
        self._outlook: Outlook | None = None
        self.horizons: tuple[Horizon, ...] = ()
        self._far = math.log1p(plan.study.margins[built.catalogue().find(cell.workload).group])
        self._comparisons = cells * max(1, len(plan.systems) - 1)

    def visit(self, now_s: float) -> None:
        self.blocks += 1
        if self.blocks not in levels.LOOKS:
            return
        one = self._outlook = self._after(self.blocks)
        differs = one.differs(self.blocks)
        if one.is_known(self.blocks) and (differs or one.is_equal(self.blocks)):
            self.settled_s = now_s
        one = replace(one, is_claimed=differs)
        verdict_at = None if differs else one.units_to_verdict()
        self.horizons = tuple(
            interim.horizons([OpenComparison(one, self.blocks, verdict_at, one.units_to_size())])
        )

    def _after(self, units: int) -> Outlook:
        known = self.known
        error = known.deviation / math.sqrt(trimmed.kept(units))
        return Outlook(
            Mean(known.difference, error, _PRIOR + trimmed.freedom(units), known.deviation),
            units,
            far=self._far,
            precision=self._precision,
            if_equal=comparison.if_equal(self._precision),
            spread=known.deviation,
            prior=_PRIOR,
            share=prospects.share_of_claims(self._comparisons // 2, self._comparisons),
            is_claimed=False,
        )

    def half_width(self) -> float | None:
        return None if self._outlook is None else math.expm1(self._outlook.size_reach(self._outlook.units))
