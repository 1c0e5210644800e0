"""Turns an experiment into a weighing: its comparisons, and what sums them up."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard import systems
from steelyard.analysis import (
    comparison,
    curves,
    host_costs,
    indices,
    latencies,
    machine,
    marks,
    multiprogramming,
    reboots,
    rows,
    scaling,
    usage,
)
from steelyard.analysis.model import (
    CLOCK_MARGIN,
    HARDWARE,
    Extent,
    Level,
    ProcessorTime,
    ReferenceMean,
    SystemFacts,
    Weighing,
)
from steelyard.analysis.observations import COST, GROUP, Observations
from steelyard.analysis.rows import Rows, UsageRow
from steelyard.archive import reading
from steelyard.archive.experiments import Experiment
from steelyard.quantities import size_bytes
from steelyard.statistics import order_statistics
from steelyard.systems import door

_NAMED = 3  # of the cells that were left out


def of(
    experiment: Experiment,
    *,
    baseline: str | None = None,
    margin: float | None = None,
    machine_facts: bool = True,
) -> Weighing:
    """Everything that follows from the experiment, with the first system, or that one, as the baseline.

    `margin` takes the place of every group's own. What is found out of the machine takes seconds, and is left
    out without `machine_facts`. Raises UnknownName, ArchiveError.
    """
    with reading.connect(experiment) as connection:
        read = rows.read(connection, reported=_reported(experiment.header))
    observations = Observations(experiment, read, baseline=baseline)
    accounted = host_costs.Costs(observations)
    comparisons = accounted.explained(comparison.all_of(observations, margin=margin))
    facts = _facts(observations)
    compared_curves = curves.all_of(observations, margin=margin)
    gains = scaling.gains(observations)
    left_out = _left_out(observations)
    return Weighing(
        experiment=experiment,
        baseline=observations.baseline,
        systems=facts,
        comparisons=comparisons,
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
        accounts=tuple(accounted.accounts()),
        tallies=tuple(usage.all_of(observations)),
        troubles=tuple(observations.troubles),
        blocks=len({trial.block for trial in read.trials}),
        trials=len(read.trials),
        went_well=sum(trial.status == "ok" for trial in read.trials),
        marks=marks.of(read.values, {(one.cell, one.metric): one.lens for one in comparisons}),
        extent=_extent(read),
        warnings=(
            *read.remarks,
            *_of_left_out(left_out, experiment.header),
            *_warnings(facts, observations.baseline, _here(experiment.header), _machines(experiment.header)),
            *reboots.sentences(
                _machines(experiment.header),
                [(row.system, json.loads(row.fingerprint) or {}) for row in read.systems],
                read.failed_boots,
            ),
            *scaling.beyond_full(observations, gains, facts),
            *accounted.sentences(),
        ),
        left_out=left_out,
    )


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


def _left_out(observations: Observations) -> tuple[str, ...]:
    """Which cells the time did not reach."""
    if not observations.experiment.closed:
        return ()
    return tuple(
        label
        for label in observations.cells
        if not any((system, label) in observations.seconds for system in observations.names)
    )


def _of_left_out(cells: Sequence[str], header: Mapping[str, Any]) -> Iterable[str]:
    if cells:
        many = "1 cell was" if len(cells) == 1 else f"{len(cells)} cells were"
        named = ", ".join(cells[:_NAMED]) + (
            f" and {len(cells) - _NAMED} more" if len(cells) > _NAMED else ""
        )
        yield f"the budget of {header['budget_s']:g} s was over before {many} measured: {named}"


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
            added = {key: fingerprint[key] for key in door.ADDED if fingerprint.get(key)}
            facts = door.known_part("system", json.loads(row.fingerprint)) | added
            first[row.system] = door.known_part("hello", json.loads(row.hello)), facts
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


def _warnings(
    facts: Sequence[SystemFacts], baseline: str, here: Collection[str], machines: Mapping[str, str]
) -> Iterable[str]:
    """What limits every verdict of the experiment: other hardware, what a guest was given of this machine's,
    other programs, a wrong clock. `here` are the systems that run on this machine; `machines` says what
    others run on one after the other, of which `reboots` knows more."""
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
            differences = "; ".join(
                f"{fact} is {base.fingerprint[fact]} on {base.name} and {one.fingerprint[fact]} on {one.name}"
                for fact in differ
            )
            yield f"the hardware differs: {differences}"
    builds: dict[str, list[str]] = defaultdict(list)
    for one in others:
        if one.hello.get("program_sha256") != base.hello.get("program_sha256"):
            builds[_build_of(one)].append(one.name)
    if builds:
        ran = "".join(f", {' and '.join(names)} ran {build}" for build, names in builds.items())
        yield f"the programs differ: {base.name} ran {_build_of(base)}{ran}"
    for one in facts:
        if one.clock_apart is not None and abs(one.clock_apart) > CLOCK_MARGIN:
            yield f"the clock of {one.name} differs from this machine's by {one.clock_apart:+.2%}"


def _build_of(one: SystemFacts) -> str:
    return f"{one.hello.get('compiler')} with {one.hello.get('libc')}"


def _differs(base: SystemFacts, one: SystemFacts, fact: str) -> bool:
    ours, theirs = base.fingerprint.get(fact), one.fingerprint.get(fact)
    return ours is not None and theirs is not None and not _alike(ours, theirs)


def _limits_of_guest(base: SystemFacts, one: SystemFacts, differ: Collection[str]) -> Iterable[str]:
    """What a guest was given of the machine that both run on. What it calls its processor is no matter."""
    given = []
    if "cpu_count" in differ:
        many = one.fingerprint["cpu_count"]
        given.append(
            f"{many} {'processor' if many == 1 else 'processors'} of {base.fingerprint['cpu_count']}"
        )
    if "memory_bytes" in differ:
        ours, theirs = (size_bytes(each.fingerprint["memory_bytes"]) for each in (base, one))
        given.append(f"{theirs} of memory of {ours}")
    if given:
        yield f"{one.name} was given {' and '.join(given)}"
    if "architecture" in differ:
        yield (
            f"{one.name} ran programs for {one.fingerprint['architecture']} on a machine that is "
            f"{base.fingerprint['architecture']}: they were translated"
        )


def _machines(header: Mapping[str, Any]) -> Mapping[str, str]:
    """Of the systems that exclude each other, what each runs on."""
    machines: Mapping[str, str] = header.get("machines", {})
    return machines


def _here(header: Mapping[str, Any]) -> Collection[str]:
    """The systems that ran on the laboratory's machine. An older experiment does not say so: there, those of
    its systems are taken that are built in and can run nowhere else."""
    known = header.get("systems_here")
    if known is not None:
        return frozenset(known)
    built_in = {system.name for system in systems.BUILT_IN if system.here}
    return frozenset(name for name in header["systems"] if name.partition("+")[0] in built_in)
