"""Estimates the minimum time of a study before any measurement: from the trials' parameters, and from the
usual start times of systems of these kinds.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.programs import built
from steelyard.programs.built import Workload
from steelyard.quantities import clock_text, number_of
from steelyard.study import model
from steelyard.study.plan import Plan
from steelyard.systems.system import System

COMMAND_S = 1.0  # what a command takes besides: it imports, judges what there is, and closes the experiment
_TRIAL_S = 0.05  # a trial that does next to nothing: its processes, and the questions around it
_GOAL_NS = 10_000_000  # of a batch (docs/explanation/measurement.md)
_WINDOW_MS = "window_ms"  # of a load on a server: its batch is a window
_FILLED = 0.7  # a batch may be so much shorter than its goal


@dataclass(frozen=True, slots=True)
class TimeEstimate:
    """The minimum time of a plan: `first_s` for one pair of its shortest cell, `all_s` for one of each."""

    cell: str  # the shortest
    first_s: float
    all_s: float


def of(plan: Plan, members: Mapping[str, System]) -> TimeEstimate:
    """The estimate for the plan on these systems, by their labels."""
    lengths = {cell.label: least_trial_s(plan, cell) for cell in plan.cells}
    cell = min(lengths, key=lambda label: lengths[label])
    pair = list(plan.systems[:2])
    return TimeEstimate(
        cell,
        COMMAND_S + sum(members[label].start_s for label in pair) + len(pair) * lengths[cell],
        COMMAND_S
        + sum(members[label].start_s for label in plan.systems)
        + len(plan.systems) * sum(lengths.values()),
    )


def sentence(plan: Plan, members: Mapping[str, System]) -> str | None:
    """The warning if the budget cannot hold even one pair, or not one of each cell; None if it can."""
    least, budget_s = of(plan, members), plan.study.design.budget_s
    cells = f"{number_of(len(plan.cells), 'cell')} on {number_of(len(plan.systems), 'system')}"
    systems = " and ".join(plan.systems[:2])
    if least.first_s > budget_s:
        return (
            f"the budget of {budget_s:g} s is too short: at least {needed(least.first_s)} are needed for "
            f"one pair of {least.cell} on {systems}; --budget {needed(least.all_s)} would do for one of each "
            f"of the {cells}"
        )
    limit_s = plan.study.design.trial_limit_s
    if limit_s > model.Design().trial_limit_s and 2 * limit_s > budget_s:
        return (
            f"the budget of {budget_s:g} s may end before anything is compared: a trial of this study "
            f"may take up to {limit_s:g} s (its trial_limit); what fits is measured; --budget "
            f"{needed(least.first_s + 2 * limit_s)} would do for one pair of {systems} in any case"
        )
    if least.all_s > budget_s:
        return (
            f"the budget of {budget_s:g} s is too short for all of it: one pair of each of the "
            f"{cells} needs at least {needed(least.all_s)}; "
            f"what fits is measured, the shortest first; --budget {needed(least.all_s)} would do"
        )
    return None


def forms(*plans: Plan) -> list[str]:
    """How long each form of a study takes, the full one first."""
    return [_form(plan) for plan in sorted(plans, key=lambda one: one.study.is_short)]


def _form(plan: Plan) -> str:
    least_s = COMMAND_S + len(plan.systems) * sum(least_trial_s(plan, cell) for cell in plan.cells)
    name = "short form (--short)" if plan.study.is_short else "full form"
    design = plan.study.design
    return (
        f"{name}: at most {clock_text(design.budget_s)} for {number_of(len(plan.cells), 'cell')} on "
        f"{number_of(len(plan.systems), 'system')}, at most {number_of(design.blocks, 'block')} of each; one "
        f"block of each takes at least {clock_text(least_s)} and the systems' starts"
    )


def needed(seconds: float) -> str:
    """The time as --budget takes it, rounded up."""
    if seconds > 90:
        return f"{math.ceil(seconds / 60)}m"
    return f"{math.ceil(seconds)}s"


def least_trial_s(plan: Plan, cell: model.Cell) -> float:
    """The minimum time of a trial of the cell on any system: its warm-up and its batches, unless these are
    given as a number of operations.
    """
    catalogue = built.catalogue()
    workload = catalogue.find(cell.workload)
    settings = {one.name: one.initial for one in (*catalogue.parameters, *workload.parameters)}
    settings |= dict(plan.study.trial) | plan.turn_settings(cell) | dict(cell.parameters)

    def number(name: str) -> int:
        value = settings.get(name, 0)
        return value if isinstance(value, int) else 0

    if workload.performances:
        return _TRIAL_S
    if _WINDOW_MS in settings:
        return _TRIAL_S + (number(_WINDOW_MS) + number("warm_ms")) / 1e3
    metrics = sum(not one.reported for one in workload.metrics)
    batch_ns = 0 if number("operations") else number("batch_ns") or _GOAL_NS
    batches_ns = _FILLED * number("batches") * batch_ns
    points = _points(workload, number("from"), number("to"), number("steps"))
    warmups = metrics if points == 1 else 1
    return _TRIAL_S + (warmups * number("warmup_ns") + points * metrics * batches_ns) / 1e9


def _points(workload: Workload, smallest: int, largest: int, steps: int) -> int:
    """The minimum number of sizes of a curve; a machine with little memory leaves out the largest."""
    if workload.sweeps is None or not 0 < smallest < largest:
        return 1
    return max(1, int(math.log2(largest / smallest) * max(1, steps)))
