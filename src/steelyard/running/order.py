"""Turns what a user asked for into a plan, and says what that would do to machines."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard import allowance, streams, systems
from steelyard.errors import Unsupported
from steelyard.programs import built
from steelyard.programs.built import Workload
from steelyard.quantities import clock_text
from steelyard.running import peers
from steelyard.study import bounds, model, plan, study_file, tool, turns
from steelyard.study.model import LOOPBACK, NAMESPACE, PEER, Cell, Machine
from steelyard.study.plan import Plan
from steelyard.systems import carried
from steelyard.systems.machine import BOOT_S
from steelyard.systems.system import System, check

# Groups of workloads whose batches can take turns: those of one process, and where all are on one processor
# anyway (place = 1) those of several.
_FILES = "file"
_OF_ONE, _OF_SEVERAL = ("cpu", "memory", "harness", _FILES), ("syscall", "process", "ipc", "network")
_ON_ONE = 1  # `place`
_AROUND_COMMANDS = ("setup", "prepare", "conclude", "cleanup")  # parameters of the workload `command`
_BYTES_MOST = 1 << 20  # that a workload goes through: more would not stay in the cache for the next turn


@dataclass(frozen=True, slots=True)
class Order:
    """The user's request. A plan needs only the fields without a default."""

    study: str
    systems: tuple[str, ...] | None  # None: the study's
    only: tuple[str, ...]
    budget_ns: int | None
    seed: int | None
    precision: float | None = None
    margin: float | None = None
    archive: Path = Path()
    directory: str | None = None
    resume: bool = True
    command: str = ""
    peer: str | None = None  # where the far end of network workloads is, in place of the study's
    short: bool = False  # the study's short form
    reboots: bool = False  # this machine may be rebooted
    watch: bool = True  # account for every trial of the systems on this host
    study_text: str = ""  # the study itself, made of a command line; `study` is then its name in messages


def plan_of(order: Order, *, tell: Callable[[str], None] = streams.tell) -> Plan:
    """The plan that the order means; nothing is started. Raises UsageError and its kin."""
    if order.study_text:
        chosen = study_file.parse(order.study_text, file=order.study)
    else:
        chosen = study_file.read(order.study, is_short=order.short)
    limits = built.catalogue().limits()
    model.check(chosen, limits, file=order.study)
    if order.only:
        chosen = model.only(chosen, order.only)
    if order.budget_ns is not None:
        chosen = replace(chosen, design=replace(chosen.design, budget_s=order.budget_ns / 1e9))
    if order.precision is not None:
        chosen = replace(chosen, design=replace(chosen.design, precision=order.precision))
    if order.margin is not None:
        chosen = replace(chosen, margins=dict.fromkeys(chosen.margins, order.margin))
    builds = built.native_builds() if model.EVERY in chosen.builds else chosen.builds
    names = systems.crossed(order.systems or chosen.systems, builds)
    if len(names) > bounds.SYSTEMS_MOST:
        raise bounds.refusal(
            chosen.name, f"{len(names):,} systems, with their builds", f"{bounds.SYSTEMS_MOST}"
        )
    members = [systems.find(name, chosen.definitions) for name in names]
    chosen = peers.choose(chosen, order.peer, members, catalogue=limits, tell=tell)
    labels = systems.label(names)
    seed = random.SystemRandom().randrange(1 << 32) if order.seed is None else order.seed
    made = plan.make(chosen, systems=labels, processors=len(allowance.processors()), seed=seed)
    if chosen.design.turns and len(members) > 1 and all(one.takes_turns for one in members):
        able = (one for one in made.cells if obstacle_to_turns(one, made) is None)
        boots = any(one.boot for one in members) and chosen.design.blocks_per_boot == 1
        batches = turns.OF_BOOTS if boots else turns.OF_TRIALS
        made = replace(made, in_turns=frozenset(able), turn_batches=batches)
    return made


def obstacle_to_turns(cell: Cell, schedule: Plan) -> str | None:
    """Why the cell's batches cannot take turns; None if they can."""
    workload = built.catalogue().find(cell.workload)
    common = dict(schedule.study.trial) | dict(cell.parameters)
    if schedule.tool_of(cell):
        return "each of its trials is one run"
    of = _obstacle_to_command if cell.workload == tool.WORKLOAD else _obstacle
    of_each = (of(workload, common | schedule.of_system(system)) for system in schedule.systems)
    return next(filter(None, of_each), None)


def _obstacle_to_command(workload: Workload, settings: dict[str, int | str]) -> str | None:
    """It may use several processors: it is kept on none, and only one runs at a time."""
    if any(settings.get(one) for one in _AROUND_COMMANDS):
        return "what is done before and after a run could meet the other systems'"
    if settings.get("copies", 1) != 1:
        return "several copies work at once"
    return None


def _obstacle(workload: Workload, settings: dict[str, int | str]) -> str | None:
    known = {one.name: one.initial for one in workload.parameters} | settings
    if not workload.takes_turns:
        return "its trial measures several things, one after the other"
    if workload.group not in (*_OF_ONE, *_OF_SEVERAL):
        return "its operations take longer than a turn"
    if workload.group in _OF_SEVERAL and known.get("place") != _ON_ONE:
        return "it may use several processors (place = 1 keeps it on one)"
    if known.get(PEER, LOOPBACK) not in (LOOPBACK, NAMESPACE):
        return "its far end is elsewhere"
    if known.get("copies", 1) != 1:
        return "several copies work at once"
    if workload.sweeps is not None and known.get("from") != known.get("to"):
        return "its trial is a curve"
    if workload.sweeps is not None and int(known["to"]) > _BYTES_MOST:
        return "its memory would not stay in the cache until its next turn"
    if workload.group == _FILES and int(known.get("size", 0)) > _BYTES_MOST:
        return "its file would not stay in the cache until its next turn"
    if known.get("operations") and workload.group != _FILES:
        return "the study says how many operations a batch has"
    if int(known.get("batch_ns", 0)) > turns.BATCH_MOST_NS:
        return "the study lets a batch last longer than a turn"
    return None


def members_of(schedule: Plan) -> dict[str, System]:
    """The system behind each label. Raises, before anything is measured, if the baseline cannot start, or no
    other can; else the run leaves out those that cannot."""
    members = {}
    files = carried.look_at(schedule.study.files)
    refusals: dict[str, Unsupported] = {}
    for label in schedule.systems:
        system = systems.find(label.partition("#")[0], schedule.study.definitions)
        try:
            check(system)
            built.load(system.program)
        except Unsupported as error:
            refusals[label] = error
        members[label] = replace(system, name=label, files=files)
    baseline, *others = schedule.systems
    if baseline in refusals or (others and all(label in refusals for label in others)):
        raise next(iter(refusals.values()))
    return members


def reboots(plan: Plan) -> list[str]:
    """For each machine that runs one system at a time, a sentence with the number of its boots."""
    boot_machines: dict[Machine, list[str]] = {}
    for label in plan.systems:
        boot_entry = systems.find(label.partition("#")[0], plan.study.definitions).boot_entry
        if boot_entry is not None:
            boot_machines.setdefault(boot_entry.machine, []).append(label)
    return [_reboots(machine, systems, plan) for machine, systems in boot_machines.items()]


def _reboots(machine: Machine, labels: Sequence[str], plan: Plan) -> str:
    budget_s, blocks = plan.study.design.budget_s, plan.study.design.blocks
    most = len(labels) * min(blocks, max(1, int(budget_s / (len(labels) * BOOT_S))))
    return (
        f"{machine.name} ({machine.host}) will be rebooted for each of {', '.join(labels)} in turn, "
        f"about {most} times, {clock_text(most * BOOT_S)} in all, if a boot and its trials "
        f"take {clock_text(BOOT_S)}; a boot may take up to {clock_text(machine.wait_s)}"
    )
