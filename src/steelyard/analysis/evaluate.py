"""Turns an experiment into an evaluation: its comparisons, and what sums them up."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard import systems
from steelyard.analysis import (
    carry_over,
    comparison,
    conditions,
    curves,
    host_costs,
    indices,
    latencies,
    machine,
    marks,
    multiprogramming,
    programs,
    reboots,
    rows,
    scaling,
    server_loads,
    turns_and_alone,
    usage,
)
from steelyard.analysis.model import (
    CLOCK_MARGIN,
    HARDWARE,
    Evaluation,
    Extent,
    Level,
    ProcessorTime,
    ProgramRun,
    ReferenceMean,
    SystemFacts,
)
from steelyard.analysis.observations import COST, GROUP, Observations
from steelyard.analysis.remarks import (
    BudgetOver,
    Build,
    ClockApart,
    Damage,
    Fact,
    Given,
    MoreProcessors,
    NotAlwaysStarted,
    NotStarted,
    OtherBuilds,
    OtherHardware,
    Remark,
    SharedNetwork,
    Translated,
)
from steelyard.analysis.rows import Rows, UsageRow
from steelyard.archive import reading
from steelyard.archive.experiments import StoredExperiment
from steelyard.statistics import order_statistics
from steelyard.systems import protocol


def of(
    experiment: StoredExperiment,
    *,
    baseline: str | None = None,
    margin: float | None = None,
    machine_facts: bool = True,
) -> Evaluation:
    """Everything that follows from the experiment, with the first system, or that one, as the baseline.

    `margin` takes the place of every group's own. What is found out of the machine takes seconds, and is left
    out without `machine_facts`. Raises UnknownName, ArchiveError.
    """
    with reading.connect(experiment) as connection:
        read = rows.read(connection, reported=_reported(experiment.header))
    observations = Observations(experiment, read, baseline=baseline)
    accounted = host_costs.Costs(observations)
    compared, processor_times = comparison.both_of(observations, margin=margin)
    alone = turns_and_alone.all_of(observations)
    comparisons = tuple(turns_and_alone.remarked(accounted.explained(compared), alone))
    facts = _facts(observations)
    compared_curves = curves.all_of(observations, margin=margin)
    gains = scaling.gains(observations, facts)
    found = tuple(read.programs)
    left_out = _left_out(observations)
    loaded = tuple(server_loads.all_of(observations))
    return Evaluation(
        experiment=experiment,
        baseline=observations.baseline,
        systems=facts,
        comparisons=comparisons,
        processor_times=processor_times,
        indices=indices.of(observations, comparisons, margin=margin),
        levels=tuple(_levels(observations)),
        curves=compared_curves,
        findings=tuple(machine.findings(observations, compared_curves, facts)) if machine_facts else (),
        reference_means=tuple(_reference_means(observations)),
        multiprogramming=tuple(multiprogramming.all_of(observations)),
        gains=gains,
        scalings=scaling.all_of(observations, facts),
        costs=tuple(_costs(observations)),
        latencies=tuple(latencies.all_of(observations)),
        server_loads=loaded,
        alone=alone,
        accounts=tuple(accounted.accounts()),
        tallies=tuple(usage.all_of(observations)),
        programs=found,
        troubles=tuple(observations.troubles),
        blocks=len({trial.block for trial in read.trials}),
        trials=len(read.trials),
        went_well=sum(trial.status == "ok" for trial in read.trials),
        marks=marks.of(read.values, {(one.cell, one.metric): one.lens for one in comparisons}),
        extent=_extent(read),
        state=conditions.of_rows(read.trials, experiment, comparisons),
        remarks=(
            *_of_absent(observations),
            *map(Damage, read.remarks),
            *observations.waits(),
            *server_loads.remarks(loaded),
            *_of_left_out(left_out, experiment.header),
            *_of_machines(
                facts, observations.baseline, _here(experiment.header), _machines(experiment.header)
            ),
            *_of_builds(facts, observations, found),
            *programs.differences(found, observations.baseline),
            *_of_shared(read.shared, facts, _machines(experiment.header)),
            *reboots.remarks(
                _machines(experiment.header),
                [(row.system, json.loads(row.fingerprint) or {}) for row in read.systems],
                [reason for system, reason in read.failed_boots if system in _machines(experiment.header)],
            ),
            *scaling.beyond_full(observations, gains, facts),
            *accounted.remarks(),
            *carry_over.remarks(observations, comparisons),
            *turns_and_alone.remarks(alone),
        ),
        left_out=left_out,
        absent=observations.absent,
    )


def _of_shared(
    shared: Iterable[tuple[str, str]], facts: Iterable[SystemFacts], machines: Collection[str]
) -> Iterable[SharedNetwork]:
    """The systems whose servers had no network of their own. A guest has no other users."""
    guests = {one.name for one in facts if one.is_boot and one.name not in machines}
    by_system: dict[str, dict[str, list[str]]] = {}
    for system, said in shared:
        server, _, why = said.partition(": ")
        if system not in guests:
            by_system.setdefault(system, {}).setdefault(why, []).append(server)
    for system, by_reason in by_system.items():
        for why, servers in by_reason.items():
            yield SharedNetwork(system, tuple(servers), why)


def _reported(header: Mapping[str, Any]) -> set[str]:
    return {
        str(metric["name"])
        for workload in header["workloads"].values()
        for metric in workload["metrics"]
        if metric.get("reported")
    }


def _extent(read: Rows) -> Extent:
    return Extent(
        began=min((trial.began for trial in read.trials), default=None),
        ended=max((trial.began + (trial.host_ns or 0) / 1e9 for trial in read.trials), default=None),
        busy_s=sum(trial.host_ns or 0 for trial in read.trials) / 1e9,
        looks=read.looks,
        samples=read.samples,
    )


def _of_absent(observations: Observations) -> Iterable[Remark]:
    """Remarks on systems that are missing from the comparison, or were absent for a time."""
    for system, reason in observations.absent.items():
        yield NotStarted(system, reason)
    for system, reason in observations.rows.absent.items():
        if system not in observations.absent and system not in _machines(observations.experiment.header):
            yield NotAlwaysStarted(system, reason)


def _left_out(observations: Observations) -> tuple[str, ...]:
    """Remarks on cells that were not reached within the budget."""
    if not observations.experiment.closed:
        return ()
    return tuple(
        label
        for label in observations.cells
        if not any((system, label) in observations.seconds for system in observations.names)
    )


def _of_left_out(cells: Sequence[str], header: Mapping[str, Any]) -> Iterable[BudgetOver]:
    if cells:
        yield BudgetOver(header["budget_s"], tuple(cells))


def _levels(observations: Observations) -> Iterable[Level]:
    for key in observations.cells_and_metrics():
        label, metric = key
        cell = observations.cells[label]
        for system in observations.names:
            value = observations.median(key, system)
            if value is not None:
                yield Level(
                    system,
                    cell.workload,
                    cell.parameters,
                    label,
                    observations.group(label),
                    metric,
                    *observations.unit(key),
                    value,
                )


def _reference_means(observations: Observations) -> Iterable[ReferenceMean]:
    """The study's own indices: block by block the geometric mean of reference time over time, each workload
    the same weight; then the median over blocks. A workload's first cell and metric stand for it."""
    made_from = observations.experiment.study
    for index in made_from.indices if made_from else ():
        times = dict(index.times_ns)
        keys = {
            observations.cells[label].workload: (label, metric)
            for label, metric in reversed(observations.cells_and_metrics())
            if observations.cells[label].workload in times
        }
        for system in observations.names:
            logs: dict[int, list[float]] = defaultdict(list)
            for workload, key in keys.items():
                for block, value in observations.values[key].get(system, {}).items():
                    logs[block].append(math.log(times[workload] / value.lenses[observations.lens(key[0])]))
            whole = [math.exp(float(np.mean(each))) for each in logs.values() if len(each) == len(times)]
            missing = tuple(
                name for name in times if name not in keys or not observations.values[keys[name]].get(system)
            )
            yield ReferenceMean(
                index.name,
                index.title,
                index.reference,
                system,
                order_statistics.median(np.array(whole)) if whole else None,
                missing,
            )


def _costs(observations: Observations) -> Iterable[ProcessorTime]:
    used: dict[tuple[str, str, str], list[UsageRow]] = defaultdict(list)
    for row in observations.rows.usage:
        used[row.system, row.cell, row.metric].append(row)
    for label, metric in observations.cells_and_metrics():
        cell = observations.cells[label]
        lens = GROUP if cell.copies > 1 else COST
        for system in observations.names:
            values = [
                one.lenses[lens]
                for one in observations.values.get((label, metric), {}).get(system, {}).values()
            ]
            trials = used[system, label, metric]
            if values and trials:
                operations = sum(one.operations for one in trials)
                yield ProcessorTime(
                    system,
                    cell.workload,
                    cell.copies,
                    label,
                    metric,
                    float(np.median(values)),
                    sum(one.user_ns for one in trials) / operations,
                    sum(one.system_ns for one in trials) / operations,
                )


def _facts(observations: Observations) -> tuple[SystemFacts, ...]:
    first: dict[str, tuple[Any, Any]] = {}
    boots: Counter[str] = Counter()
    for row in observations.rows.systems:
        if row.system not in first:
            fingerprint = json.loads(row.fingerprint) or {}
            added = {key: fingerprint[key] for key in protocol.ADDED if fingerprint.get(key)}
            facts = protocol.known_part("system", json.loads(row.fingerprint)) | added
            first[row.system] = protocol.known_part("hello", json.loads(row.hello)), facts
        boots[row.system] += 1
    return tuple(
        SystemFacts(
            name,
            boots[name] if name in observations.boot_systems else 1,
            name in observations.boot_systems,
            *first[name],
            _clock_of(observations, name),
        )
        for name in observations.names
        if name in first
    )


def _clock_of(observations: Observations, system: str) -> float | None:
    cells = [apart for (name, _), apart in observations.clocks.items() if name == system]
    return float(np.median(cells)) if cells else None


def _alike(ours: Any, theirs: Any) -> bool:
    """The same; of memory, to a thousandth: a system may not count a page or two."""
    if isinstance(ours, int) and isinstance(theirs, int):
        return abs(ours - theirs) * 1000 <= max(ours, theirs)
    return bool(ours == theirs)


def _of_machines(
    facts: Sequence[SystemFacts], baseline: str, here: Collection[str], machines: Mapping[str, str]
) -> Iterable[Remark]:
    """Remarks that limit every verdict of the experiment: other hardware, a guest with a part of this
    machine, other programs, a wrong clock. `here` are the systems that run on this machine; `machines` names
    the machines that boot others in turn, which `reboots` describes.
    """
    base = next((one for one in facts if one.name == baseline), None)
    if base is None:
        return
    others = [one for one in facts if one.name != base.name]
    for one in others:
        if base.name in machines and machines.get(one.name) == machines[base.name]:
            continue
        differ = [fact for fact in HARDWARE if _differs(base, one, fact)]
        if one.name in here and base.name in here:
            yield from _limits_of_guest(base, one, differ)
        elif differ:
            found = tuple(Fact(name, base.fingerprint[name], one.fingerprint[name]) for name in differ)
            yield OtherHardware(base.name, one.name, found)
    for one in facts:
        if one.clock_apart is not None and abs(one.clock_apart) > CLOCK_MARGIN:
            yield ClockApart(one.name, one.clock_apart)


def _of_builds(
    facts: Sequence[SystemFacts], observations: Observations, found: Sequence[ProgramRun]
) -> Iterable[OtherBuilds]:
    """Remarks on systems that ran another load program. A workload that only starts a program of the system
    is the same work if that program is the same everywhere.
    """
    base = next((one for one in facts if one.name == observations.baseline), None)
    builds: dict[tuple[str | None, str | None], list[str]] = defaultdict(list)
    for one in facts:
        if base and one.hello.get("program_sha256") != base.hello.get("program_sha256"):
            builds[_build_of(one)].append(one.name)
    if base is None or not builds:
        return
    named = (
        Build(*_build_of(base), (base.name,)),
        *(Build(*build, tuple(names)) for build, names in builds.items()),
    )
    ran = [system for build in named for system in build.systems]
    workloads = dict.fromkeys(cell.workload for cell in observations.cells.values())
    alike = {name: programs.are_same(found, name, ran) for name in workloads}
    if False in alike.values():
        yield OtherBuilds(named, tuple(name for name, is_same in alike.items() if is_same))


def _build_of(one: SystemFacts) -> tuple[str | None, str | None]:
    return one.hello.get("compiler"), one.hello.get("libc")


def _differs(base: SystemFacts, one: SystemFacts, fact: str) -> bool:
    ours, theirs = base.fingerprint.get(fact), one.fingerprint.get(fact)
    return ours is not None and theirs is not None and not _alike(ours, theirs)


def _limits_of_guest(base: SystemFacts, one: SystemFacts, differ: Collection[str]) -> Iterable[Remark]:
    """A remark on the part of the machine that a guest had. The name of its processor does not matter."""
    ours, theirs = base.fingerprint.get("cpu_count"), one.fingerprint.get("cpu_count")
    has_fewer = bool(ours and theirs and theirs < ours)
    if "cpu_count" in differ and not has_fewer:
        yield MoreProcessors(one.name, theirs or 0, base.name, ours)
    given = Given(one.name, None, None, None, None)
    if has_fewer:
        given = replace(given, processors=theirs, of_processors=ours)
    if "memory_bytes" in differ:
        own, whole = (each.fingerprint["memory_bytes"] for each in (one, base))
        given = replace(given, memory_bytes=own, of_memory_bytes=whole)
    if has_fewer or "memory_bytes" in differ:
        yield given
    if "architecture" in differ:
        yield Translated(one.name, one.fingerprint["architecture"], base.fingerprint["architecture"])


def _machines(header: Mapping[str, Any]) -> Mapping[str, str]:
    """The machine of each system that excludes other systems."""
    machines: Mapping[str, str] = header.get("machines", {})
    return machines


def _here(header: Mapping[str, Any]) -> Collection[str]:
    """The systems that ran on the laboratory's machine. Older experiments do not record this: then those
    built-in systems are taken that can only run there.
    """
    known = header.get("systems_here")
    if known is not None:
        return frozenset(known)
    built_in = {system.name for system in systems.BUILT_IN if system.here}
    return frozenset(name for name in header["systems"] if name.partition("+")[0] in built_in)
