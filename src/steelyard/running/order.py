"""Turns what a user asked for into a plan, and says what that would do to machines."""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard import streams, systems
from steelyard.programs import built
from steelyard.quantities import clock_text
from steelyard.running import peers
from steelyard.running.budget import BOOT_S
from steelyard.study import bounds, model, plan, study_file
from steelyard.study.model import Machine
from steelyard.study.plan import Plan


@dataclass(frozen=True, slots=True)
class Order:
    """What the user asked for, as it was written. A plan needs no more than what has no default."""

    study: str
    systems: tuple[str, ...] | None  # None: the study's
    only: tuple[str, ...]
    budget: str | None
    seed: int | None
    margin: str | None = None
    archive: Path = Path()
    directory: str | None = None
    resume: bool = True
    command: str = ""
    peer: str | None = None  # where the far end of network workloads is, in place of the study's
    reboots: bool = False  # this machine may be rebooted
    watch: bool = True  # account for every trial of the systems on this host


def plan_of(order: Order) -> Plan:
    """The plan that the order means; nothing is started. Raises UsageError and its kin."""
    chosen = study_file.read(order.study)
    limits = built.catalogue().limits()
    model.check(chosen, limits, file=order.study)
    if order.only:
        chosen = model.only(chosen, order.only)
    if order.budget:
        design = replace(chosen.design, budget_s=model.duration_s(order.budget))
        chosen = replace(chosen, design=design)
    if order.margin:
        margin = model.fraction(order.margin)
        chosen = replace(chosen, margins=dict.fromkeys(chosen.margins, margin))
    names = systems.crossed(order.systems or chosen.systems, chosen.builds)
    if len(names) > bounds.SYSTEMS_MOST:
        raise bounds.refusal(
            chosen.name, f"{len(names):,} systems, with their builds", f"{bounds.SYSTEMS_MOST}"
        )
    members = [systems.find(name, chosen.definitions) for name in names]
    chosen = peers.choose(chosen, order.peer, members, catalogue=limits, tell=streams.tell)
    labels = systems.label(names)
    seed = random.SystemRandom().randrange(1 << 32) if order.seed is None else order.seed
    return plan.make(chosen, systems=labels, processors=os.cpu_count() or 1, seed=seed)


def reboots(plan: Plan) -> list[str]:
    """For each machine that runs one system at a time, a sentence that says how often it will be booted."""
    seats: dict[Machine, list[str]] = {}
    for label in plan.systems:
        seat = systems.find(label.partition("#")[0], plan.study.definitions).seat
        if seat is not None:
            seats.setdefault(seat.machine, []).append(label)
    return [_reboots(machine, systems, plan) for machine, systems in seats.items()]


def _reboots(machine: Machine, labels: Sequence[str], plan: Plan) -> str:
    budget_s, blocks = plan.study.design.budget_s, plan.study.design.blocks
    most = len(labels) * min(blocks, max(1, int(budget_s / (len(labels) * BOOT_S))))
    return (
        f"{machine.name} ({machine.host}) will be rebooted for each of {', '.join(labels)} in turn, again "
        f"and again: some {most} times, {clock_text(most * BOOT_S)} in all, if a boot and its trials "
        f"take {clock_text(BOOT_S)}; a boot may take up to {clock_text(machine.wait_s)}"
    )
