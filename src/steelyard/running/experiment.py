"""Carries out an order: study, plan, systems and archive put together, from the first start to the
closed experiment."""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from steelyard import streams, systems
from steelyard.analysis import standing
from steelyard.archive import closing, experiments
from steelyard.archive.experiments import Experiment
from steelyard.archive.journal import GOING_ON, Journal, earlier
from steelyard.archive.schema import Line
from steelyard.errors import Ended, Rebooting, SteelyardError, Stuck, Unsupported, UsageError
from steelyard.events import CALLS
from steelyard.programs import built
from steelyard.running import continuation, peers, progress, runner, seats
from steelyard.running import order as orders
from steelyard.running.agenda import TooShort
from steelyard.running.dialogue import AgentLike
from steelyard.running.host_monitor import HostMonitor
from steelyard.running.order import Order
from steelyard.running.progress import MakeOnlooker
from steelyard.study.plan import Plan
from steelyard.systems.agent import Agent
from steelyard.systems.system import System, check
from steelyard.text import quoted


def carry_out(order: Order, onlooker: MakeOnlooker) -> Experiment:
    """The experiment, closed. If it is interrupted it stays open, and the same order goes on with it: where
    that was by one Ctrl-C (KeyboardInterrupt, but not Ended) and something was measured, it is returned so.
    """
    schedule = orders.plan_of(order)
    members = _members(schedule)
    is_this = any(system.seat and system.seat.is_here for system in members.values())
    if is_this and not order.reboots:
        (sentence, *_) = orders.reboots(schedule)
        raise UsageError(f"{sentence}; to allow that, with the end of all that runs here, add --reboots")
    directory = _directory(order)
    same = experiments.identity(
        schedule,
        budget_s=schedule.study.design.budget_s,
        programs=[_digest_of(built.load(system.program)) for system in members.values()],
    )
    if order.seed is not None:
        same = f"{same}-{order.seed}"
    if not order.watch:
        same = f"{same}-unwatched"
    with experiments.measuring(order.archive), seats.hold(members):
        experiment = experiments.unfinished(order.archive, same, streams.tell) if order.resume else None
        is_new = True
        if experiment is not None:
            schedule = replace(schedule, seed=experiment.header["seed"])
            streams.tell(f"going on with {experiment.name}")
            is_new = False
        elif continuation.is_asked_for():
            continuation.remove()
            raise Stuck(
                "the experiment that was to go on after this boot is not found: was Steelyard changed "
                "meanwhile, or does this kernel see another number of processors? Nothing is booted any more"
            )
        else:
            details = _details(members, directory, order.command) | {"watched": order.watch}
            experiment = experiments.create(
                order.archive, schedule, budget_s=schedule.study.design.budget_s, same=same, details=details
            )
        try:
            with continuation.over_reboots(experiment.path) if is_this else contextlib.nullcontext():
                _measure(experiment, schedule, members, directory, onlooker, watch=order.watch, is_new=is_new)
        except (Ended, Rebooting):
            raise
        except KeyboardInterrupt:
            if experiments.is_empty(experiment):
                raise
            return experiment
        except TooShort:
            experiments.discard(experiment)
            raise
        except SteelyardError:
            experiments.discard_if_empty(experiment)
            raise
        return closing.close(experiment)


def _measure(
    experiment: Experiment,
    schedule: Plan,
    members: Mapping[str, System],
    directory: Path,
    onlooker: MakeOnlooker,
    *,
    watch: bool,
    is_new: bool,
) -> None:
    """Runs what is left of the plan into the experiment's journal."""
    before = earlier(_lines(experiment), {cell.label: cell for cell in experiment.cells})
    journal = Journal(experiment.path)
    if not is_new:
        journal.append(GOING_ON)
    judge = standing.Judge(experiment)
    seated = seats.Seats(members, directory=directory, earlier=before)

    def start(name: str) -> AgentLike:
        watcher.begins(progress.BOOTING, name)
        if members[name].seat is not None:
            return seated.start(name)
        return Agent(members[name], directory=directory)

    def account(name: str, agent: AgentLike, detail: str) -> HostMonitor:
        if agent.process is None:
            raise Unsupported(f"{name} runs on another host, whose processes are not watched")
        if detail == CALLS:
            watcher.begins(progress.COUNTING, name)
        # A guest whose kernel holds its processes as a debugger does must not be stopped by another one.
        return HostMonitor(agent.process, detail=detail, may_stop=not members[name].boot)

    with (
        contextlib.closing(journal),
        peers.far_ends(schedule, members, directory) as far_ends,
        onlooker(schedule, judge) as watcher,
    ):
        events = runner.run(
            replace(schedule, far_ends=far_ends),
            start=start,
            boots_afresh=frozenset(name for name, system in members.items() if system.boot),
            judge=judge,
            notify=watcher.progress,
            earlier=before,
            seats=seated,
            watch=account if watch and not _are_watched(members) else None,
        )
        with contextlib.closing(events):
            for event in events:
                journal.append(event)
                watcher.event(event)


def _lines(experiment: Experiment) -> Iterator[Line]:
    """The journal's lines. Says which are damaged."""
    for line in experiments.lines(experiment):
        if line["kind"] == "damage":
            streams.tell(line["note"])
        yield line


def _are_watched(members: Mapping[str, System]) -> bool:
    """Whether some system is under a monitor already: what that costs is what is compared."""
    return any(system.is_watched for system in members.values())


def _members(schedule: Plan) -> dict[str, System]:
    """The system behind each label. Raises, before anything is measured, if one is not to be had."""
    members = {}
    for label in schedule.systems:
        system = systems.find(label.partition("#")[0], schedule.study.definitions)
        check(system)
        members[label] = replace(system, name=label)
    return members


def _directory(order: Order) -> Path:
    directory = Path(order.directory or tempfile.gettempdir()).absolute()
    if not directory.is_dir() or not os.access(directory, os.W_OK):
        raise UsageError(f"--directory is {quoted(directory)}, but must be a directory that can be written")
    if any(ord(character) < 32 for character in str(directory)):  # a tab or a line end ends it in the ledger
        raise UsageError(f"--directory is {quoted(directory)}, but must be one without control characters")
    return directory


def _digest_of(program: Path) -> str:
    return hashlib.sha256(program.read_bytes()).hexdigest()


def _details(members: Mapping[str, System], directory: Path, command: str) -> dict[str, Any]:
    """What the header says besides the plan, so that the archive needs nothing else to be understood."""
    from importlib.metadata import version

    described = subprocess.run(
        [built.load("glibc"), "describe", directory], stdout=subprocess.PIPE, check=True
    )
    return {
        "command": command,
        "steelyard": version("steelyard"),
        "python": sys.version.split()[0],
        "directory": str(directory),
        "host": json.loads(described.stdout),
        "machines": {name: system.seat.machine.name for name, system in members.items() if system.seat},
        "boot_systems": [name for name, system in members.items() if system.boot],
        "systems_here": [name for name, system in members.items() if system.here],
        "system_summaries": {name: system.summary for name, system in members.items()},
        "workloads": {
            workload.name: {
                "group": workload.group,
                "summary": workload.summary,
                "operation": workload.operation,
                "metrics": [asdict(metric) for metric in workload.metrics],
                "measure": workload.measure,
                "counts": workload.counts,
                "groups": workload.groups,
                "sweeps": workload.sweeps,
                "sweep_unit": workload.sweep_unit,
            }
            for workload in built.catalogue().workloads
        },
    }
