"""Carries out an order: study, plan, systems and archive put together, from the first start to the
closed experiment."""

import contextlib
import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import steelyard
from steelyard import allowance, home, standstill, streams
from steelyard.analysis import interim
from steelyard.archive import closing, experiments
from steelyard.archive.experiments import StoredExperiment
from steelyard.archive.journal import GOING_ON, Journal, earlier
from steelyard.archive.schema import Line
from steelyard.errors import Ended, Rebooting, SteelyardError, Stuck, Unsupported, UsageError
from steelyard.events import CALLS, Event, Stood
from steelyard.programs import built
from steelyard.running import boot_machines, continuation, laboratories, peers, progress, runner
from steelyard.running import order as orders
from steelyard.running.dialogue import AgentLike
from steelyard.running.host_monitor import HostMonitor
from steelyard.running.order import Order
from steelyard.running.progress import MakeOnlooker
from steelyard.running.queue import TooShort
from steelyard.running.running_systems import Terms
from steelyard.running.spares import Spares
from steelyard.study import tool
from steelyard.study.plan import Plan
from steelyard.systems.system import System
from steelyard.text import of_file, quoted, shown


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """The outcome of an order. The same order resumes an open experiment."""

    experiment: StoredExperiment
    is_interrupted: bool = False
    too_short: str | None = None  # the budget was over before anything could be compared


def carry_out(
    order: Order, schedule: Plan, onlooker: MakeOnlooker, *, begun_s: float | None = None
) -> CarriedOut:
    """Carries out the plan of the order, which began at that reading of the standstill's clock. The
    experiment is closed; it stays open, and is returned so, where one Ctrl-C (KeyboardInterrupt, but not
    Ended) or the end of the budget came before anything could be compared, but not before anything was
    measured. What happened in it is kept, whatever is raised."""
    members = orders.members_of(schedule)
    is_this = any(system.boot_entry and system.boot_entry.is_here for system in members.values())
    if is_this and not order.reboots:
        (sentence, *_) = orders.reboots(schedule)
        raise UsageError(
            f"{sentence}; this ends everything running on this machine. To allow it, add --reboots"
        )
    directory = _directory(order)
    same = experiments.identity(
        schedule,
        budget_s=schedule.study.design.budget_s,
        programs=[
            *(_digest_of(system) for system in members.values()),
            *(file.sha256 for file in next(iter(members.values())).files),
        ],
    )
    if order.seed is not None:
        same = f"{same}-{order.seed}"
    if not order.watch:
        same = f"{same}-unwatched"
    with experiments.measuring(order.archive), boot_machines.hold(members):
        experiment = experiments.unfinished(order.archive, same, streams.tell) if order.resume else None
        is_new = True
        if experiment is not None:
            schedule = replace(schedule, seed=experiment.header["seed"])
            streams.tell(f"resuming {experiment.name}")
            is_new = False
        elif continuation.is_asked_for():
            continuation.remove()
            raise Stuck(
                "cannot find the experiment to resume after this reboot. Was Steelyard upgraded, or does "
                "this kernel see a different number of processors? No further reboot will be made"
            )
        else:
            details = _details(schedule, members, directory, order.command) | {"watched": order.watch}
            experiment = experiments.create(
                order.archive, schedule, budget_s=schedule.study.design.budget_s, same=same, details=details
            )
            if later := experiments.dated_later(order.archive, experiment):
                streams.tell(
                    f"{later.name} in this archive has a later date than now: this machine's clock was ahead "
                    "then, or is behind now. The newest is the one that was made last, whatever its date"
                )
        try:
            with continuation.over_reboots(experiment.path) if is_this else contextlib.nullcontext():
                _measure(
                    experiment,
                    schedule,
                    members,
                    directory,
                    onlooker,
                    watch=order.watch,
                    is_new=is_new,
                    begun_s=begun_s,
                )
        except (Ended, Rebooting):
            raise
        except KeyboardInterrupt:
            if not experiments.has_trials(experiment):
                raise
            return CarriedOut(experiment, is_interrupted=True)
        except TooShort as short:
            if not experiments.has_trials(experiment):
                experiments.discard_if_empty(experiment)
                raise
            return CarriedOut(experiment, too_short=str(short))
        except UsageError:  # another study is another experiment: nothing could resume this one
            if not experiments.has_trials(experiment):
                experiments.discard(experiment)
            raise
        except SteelyardError:
            experiments.discard_if_empty(experiment)
            if os.path.exists(experiment.path):
                streams.tell(
                    f"what was measured is kept as {experiment.name}, and the same command resumes "
                    f"it; output of the systems: steelyard archive show {experiment.name} --words"
                )
            raise
        return CarriedOut(closing.close(experiment))


def _measure(
    experiment: StoredExperiment,
    schedule: Plan,
    members: Mapping[str, System],
    directory: Path,
    onlooker: MakeOnlooker,
    *,
    watch: bool,
    is_new: bool,
    begun_s: float | None,
) -> None:
    """Runs what is left of the plan into the experiment's journal."""
    before = earlier(_lines(experiment), {cell.label: cell for cell in experiment.cells})
    journal = Journal(experiment.path)
    if not is_new:
        journal.append(GOING_ON)
    judge = interim.Judge(experiment)
    bootable = boot_machines.BootMachines(members, directory=directory, earlier=before)

    def start(name: str, terms: Terms) -> AgentLike:
        watcher.begins(progress.BOOTING, name)
        if members[name].boot_entry is not None:
            return bootable.start(name, terms)
        return spares.take(members[name], hear=terms.hear, limit_s=terms.limit_s)

    stood = len(standstill.all_so_far())

    def keep(event: Event) -> None:
        """Keeps it, and before it that this process stood still since the last one."""
        nonlocal stood
        for one in standstill.all_so_far()[stood:]:
            stood += 1
            journal.append(standing_still := Stood(one.why, one.seconds))
            watcher.event(standing_still)
        journal.append(event)
        judge.hear(event)

    def account(name: str, agent: AgentLike, detail: str) -> HostMonitor:
        if agent.process is None:
            raise Unsupported(f"{name} runs on another host, whose processes are not watched")
        if detail == CALLS:
            watcher.begins(progress.COUNTING, name)
        # A guest whose kernel holds its processes as a debugger does must not be stopped by another one.
        return HostMonitor(agent.process, detail=detail, may_stop=not members[name].boot)

    is_ahead = schedule.study.design.blocks_per_boot == 1
    with (
        contextlib.closing(journal),
        laboratories.announced(),
        contextlib.closing(Spares(directory, is_ahead=is_ahead, keep=keep)) as spares,
        peers.far_ends(schedule, members, directory, keep=journal.append) as far_ends,
        onlooker(schedule, judge) as watcher,
    ):
        events = runner.run(
            replace(schedule, far_ends=far_ends),
            start=start,
            boots_afresh=frozenset(name for name, system in members.items() if system.boot),
            judge=judge,
            notify=watcher.progress,
            earlier=before,
            boot_machines=bootable,
            keep=keep,
            starts_s={name: system.start_s for name, system in members.items()},
            begun_s=begun_s,
            watch=account if watch and not _are_watched(members) else None,
        )
        with contextlib.closing(events):
            for event in events:
                keep(event)
                watcher.event(event)


def _lines(experiment: StoredExperiment) -> Iterator[Line]:
    """The journal's lines. Says which are damaged."""
    for line in experiments.lines(experiment):
        if line["kind"] == "damage":
            streams.tell(line["note"])
        yield line


def _are_watched(members: Mapping[str, System]) -> bool:
    """True if some system is already under a monitor: then the monitor's cost is what is compared."""
    return any(system.is_watched for system in members.values())


def _directory(order: Order) -> Path:
    directory = Path(order.directory or home.temporary()).absolute()
    if not os.path.isdir(directory) or not os.access(directory, os.W_OK):
        raise UsageError(f"--directory is {quoted(directory)}, but must be a directory that can be written")
    if any(ord(character) < 32 for character in str(directory)):  # a tab or a line end ends it in the ledger
        raise UsageError(f"--directory is {quoted(directory)}, but must be one without control characters")
    status = directory.stat()
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        raise UsageError(
            f"--directory is {quoted(directory)}, in which every user can replace the laboratory's files: "
            f"make it sticky (chmod +t), or choose another"
        )
    if status.st_uid not in _trusted_users() and not _in_user_namespace():
        raise UsageError(
            f"--directory is {quoted(directory)}, which belongs to user {status.st_uid}, who can replace "
            "the laboratory's files: choose a directory of yours, or of root's"
        )
    return directory


def _in_user_namespace() -> bool:
    """True if some users have no number here, so that their directories, and root's, belong to no one."""
    with contextlib.suppress(OSError):
        return of_file(Path("/proc/self/uid_map")).split() != ["0", "0", "4294967295"]
    return False


def _trusted_users() -> set[int]:
    """Root, this user, and the user who became root by sudo."""
    given = os.environ.get("SUDO_UID", "")
    return {0, os.geteuid(), *([int(given)] if os.geteuid() == 0 and given.isdecimal() else [])}


def _digest_of(system: System) -> str:
    """The digest of its load program; "" if that is not built, for then the system cannot start."""
    try:
        return hashlib.sha256(built.load(system.program).read_bytes()).hexdigest()
    except Unsupported:
        return ""


def workloads_known(made_by: tool.Tool | None = None) -> dict[str, Any]:
    """The header's entries for every workload; with the figures that are read from a command's output."""
    known: dict[str, dict[str, Any]] = {
        workload.name: {
            "group": workload.group,
            "summary": workload.summary,
            "operation": workload.operation,
            "metrics": [asdict(metric) for metric in workload.metrics],
            "measure": workload.measure,
            "counts": workload.counts,
            "fewer": workload.fewer,
            "groups": workload.groups,
            "sweeps": workload.sweeps,
            "sweep_unit": workload.sweep_unit,
        }
        for workload in built.catalogue().workloads
    }
    for one in made_by.figures if made_by else ():
        metric = built.Metric(one.name, reported=True, unit="ns" if one.is_time else one.unit)
        known[tool.WORKLOAD]["metrics"].append(asdict(metric) | {"better": one.better})
    return known


def _details(plan: Plan, members: Mapping[str, System], directory: Path, command: str) -> dict[str, Any]:
    """The header's entries besides the plan, which make the archive self-contained."""
    described = built.answer_of(built.load("glibc"), "describe", directory)
    return {
        "command": command,
        "steelyard": steelyard.__version__,
        "python": sys.version.split()[0],
        "directory": str(directory),
        "host": json.loads(described),
        "allowance": _allowance(),
        "machines": {
            name: system.boot_entry.machine.name for name, system in members.items() if system.boot_entry
        },
        "boot_systems": [name for name, system in members.items() if system.boot],
        "systems_here": [name for name, system in members.items() if system.here],
        "system_summaries": {name: system.summary for name, system in members.items()},
        "workloads": workloads_known(plan.study.tool),
    }


def _allowance() -> dict[str, Any]:
    quota, memory = allowance.quota(), allowance.memory()
    return {
        "processors": list(allowance.processors()),
        "quota": quota.processors if quota else None,
        "quota_group": shown(str(quota.group)) if quota else "",
        "memory_limit_bytes": memory.bytes if memory else None,
        "memory_group": shown(str(memory.group)) if memory else "",
        "nice": allowance.nice(),
        "policy": allowance.policy(),
    }
