"""Turns an experiment into a weighing: its comparisons, and what sums them up."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from steelyard import (
    archive,
    comparison,
    curves,
    machine,
    multiprogramming,
    scaling,
    study_file,
    tallies,
    why,
)
from steelyard.archive import Experiment
from steelyard.comparison import exp
from steelyard.observations import COST, GROUP, Observations
from steelyard.statistics import looks, order_statistics, signed_rank, verdict
from steelyard.study import Cell
from steelyard.weighing import (
    CLOCK_MARGIN,
    HARDWARE,
    Comparison,
    Cost,
    Index,
    Level,
    ReferenceMean,
    SystemFacts,
    Weighing,
)

_INDEX_MARGIN = 0.01

# Time used per operation by all copies and their children, warm-up included, summed over trials.
_USAGE = """
    SELECT system, cell, used.metric, sum(used.user_ns) / sum(used.operations) AS user_ns,
           sum(used.system_ns) / sum(used.operations) AS system_ns
    FROM (SELECT system, cell, unnest(usage) AS used FROM trials WHERE status = 'ok')
    GROUP BY system, cell, used.metric"""

_SYSTEMS = "SELECT system, boot, hello, fingerprint FROM systems ORDER BY recorded"


def of(experiment: Experiment, *, baseline: str | None = None, margin: float | None = None) -> Weighing:
    """Everything that follows from the experiment, with the first system, or that one, as the baseline.

    `margin` takes the place of every group's own. Raises UnknownName, ArchiveError.
    """
    with archive.connect(experiment) as connection:
        seen = Observations(experiment, connection, baseline=baseline)
        counted = connection.execute("SELECT count(*), count(DISTINCT block) FROM trials").fetchone()
        assert counted is not None
        accounted = why.Costs(seen)
        comparisons = accounted.explained(comparison.all_of(seen, margin=margin))
        facts = _facts(seen)
        found_curves = curves.all_of(seen, margin=margin)
        found_gains = scaling.gains(seen)
        return Weighing(
            experiment=experiment,
            baseline=seen.baseline,
            systems=facts,
            comparisons=comparisons,
            indices=tuple(_indices(seen, comparisons, margin or _INDEX_MARGIN)),
            levels=tuple(_levels(seen)),
            curves=found_curves,
            findings=tuple(machine.findings(seen, found_curves, facts)),
            reference_means=tuple(_reference_means(seen)),
            multiprogramming=tuple(multiprogramming.all_of(seen)),
            gains=found_gains,
            scalings=scaling.all_of(seen, facts),
            costs=tuple(_costs(seen)),
            accounts=tuple(accounted.accounts()),
            tallies=tuple(tallies.all_of(seen)),
            troubles=tuple(seen.troubles),
            blocks=counted[1],
            trials=counted[0],
            warnings=(
                *_warnings(facts, seen.baseline),
                *scaling.beyond_full(seen, found_gains, facts),
                *accounted.sentences(),
            ),
        )


def decided(experiment: Experiment) -> list[tuple[str, Cell]]:
    """The systems and cells whose every comparison has a firm verdict: they need no more blocks."""
    firm: dict[tuple[str, str], bool] = {}
    with archive.connect(experiment) as connection:
        for one in comparison.all_of(Observations(experiment, connection, baseline=None)):
            pair = (one.system, one.cell)
            firm[pair] = firm.get(pair, True) and one.verdict in verdict.FIRM
    cells = {cell.label: cell for cell in archive.cells_of(experiment)}
    return [(system, cells[cell]) for (system, cell), is_firm in firm.items() if is_firm]


def _indices(seen: Observations, comparisons: Sequence[Comparison], margin: float) -> Iterable[Index]:
    for system in seen.others:
        ours = [
            one
            for one in comparisons
            if one.system == system and one.group != "harness" and not seen.is_overhead(one.cell, one.metric)
        ]
        groups = list(dict.fromkeys(one.group for one in ours))
        for group in groups if len(groups) > 1 else []:
            yield _index(seen, system, group, [one for one in ours if one.group == group], margin)
        if ours:
            yield _index(seen, system, "all", ours, margin)


def _index(
    seen: Observations, system: str, group: str, members: Sequence[Comparison], margin: float
) -> Index:
    """The weighted mean of log ratios, block by block, then Hodges-Lehmann: each group weighs the same, in
    it each workload, and in that each metric of each cell. Only blocks that hold every metric count."""
    present = [one for one in members if one.blocks]
    missing = tuple(f"{one.cell} {one.metric}" for one in members if not one.blocks)
    groups = {one.group for one in present}
    workloads = Counter(group for group, _ in {(one.group, one.workload) for one in present})
    metrics = Counter(one.workload for one in present)
    by_key = {
        (one.cell, one.metric): seen.differences((one.cell, one.metric), system, one.lens) for one in present
    }
    shared = set.intersection(*(set(found) for found in by_key.values())) if by_key else set()
    if not shared:
        return Index(system, group, None, len(present), missing, 0, margin, verdict.UNRESOLVED)
    weights = {
        (one.cell, one.metric): 1 / len(groups) / workloads[one.group] / metrics[one.workload]
        for one in present
    }
    by_block = {
        block: sum(weights[key] * found[block] for key, found in by_key.items()) for block in sorted(shared)
    }
    units = seen.units(next(iter(by_key)), system, by_block)
    levels = looks.levels(len(seen.experiment.header["looks"]))
    estimate = signed_rank.estimate(units, alpha=levels.alpha_95)
    narrow = signed_rank.estimate(units, alpha=levels.alpha_90)
    word = verdict.word(estimate, narrow, margin=margin)
    return Index(system, group, exp(estimate), len(present), missing, len(shared), margin, word)


def _levels(seen: Observations) -> Iterable[Level]:
    for key in seen.cells_and_metrics():
        label, metric = key
        cell = seen.cells[label]
        for system in seen.names:
            value = seen.median(key, system)
            if value is not None:
                yield Level(
                    system,
                    cell.workload,
                    cell.parameters,
                    label,
                    seen.group(label),
                    metric,
                    *seen.unit(key),
                    value,
                )


def _reference_means(seen: Observations) -> Iterable[ReferenceMean]:
    """The study's own indices: block by block the geometric mean of reference time over time, each workload
    the same weight; then the median over blocks. A workload's first cell and metric stand for it."""
    made_from = study_file.archived(seen.experiment.header["study_text"])
    for index in made_from.indices if made_from else ():
        times = dict(index.times_ns)
        keys = {
            seen.cells[label].workload: (label, metric)
            for label, metric in reversed(seen.cells_and_metrics())
            if seen.cells[label].workload in times
        }
        for system in seen.names:
            logs: dict[int, list[float]] = defaultdict(list)
            for workload, key in keys.items():
                for block, value in seen.values[key].get(system, {}).items():
                    logs[block].append(math.log(times[workload] / value.lenses[seen.lens(key[0])]))
            whole = [math.exp(float(np.mean(each))) for each in logs.values() if len(each) == len(times)]
            missing = tuple(
                name for name in times if name not in keys or not seen.values[keys[name]].get(system)
            )
            yield ReferenceMean(
                index.name,
                index.title,
                index.reference,
                system,
                order_statistics.median(np.array(whole)) if whole else None,
                missing,
            )


def _costs(seen: Observations) -> Iterable[Cost]:
    used = {
        (system, cell, metric): (user, kernel)
        for system, cell, metric, user, kernel in seen.connection.execute(_USAGE).fetchall()
    }
    for label, metric in seen.cells_and_metrics():
        cell = seen.cells[label]
        lens = GROUP if cell.copies > 1 else COST
        for system in seen.names:
            values = [
                one.lenses[lens] for one in seen.values.get((label, metric), {}).get(system, {}).values()
            ]
            if values and (system, label, metric) in used:
                yield Cost(
                    system,
                    cell.workload,
                    cell.copies,
                    label,
                    metric,
                    float(np.median(values)),
                    *used[system, label, metric],
                )


def _facts(seen: Observations) -> tuple[SystemFacts, ...]:
    first: dict[str, tuple[Any, Any]] = {}
    boots: Counter[str] = Counter()
    for system, _, hello, fingerprint in seen.connection.execute(_SYSTEMS).fetchall():
        first.setdefault(system, (json.loads(hello), json.loads(fingerprint)))
        boots[system] += 1
    return tuple(
        SystemFacts(
            name,
            boots[name] if name in seen.boot_systems else 1,
            name in seen.boot_systems,
            *first[name],
            _clock_of(seen, name),
        )
        for name in seen.names
        if name in first
    )


def _clock_of(seen: Observations, system: str) -> float | None:
    cells = [apart for (name, _), apart in seen.clocks.items() if name == system]
    return float(np.median(cells)) if cells else None


def _alike(ours: Any, theirs: Any) -> bool:
    """The same; of memory, to a thousandth: a system may not count a page or two."""
    if isinstance(ours, int) and isinstance(theirs, int):
        return abs(ours - theirs) * 1000 <= max(ours, theirs)
    return bool(ours == theirs)


def _warnings(facts: Sequence[SystemFacts], baseline: str) -> Iterable[str]:
    """What limits every verdict of the experiment."""
    base = next((one for one in facts if one.name == baseline), None)
    if base is None:
        return
    for one in facts:
        if one.name == base.name:
            continue
        for fact in HARDWARE:
            ours, theirs = base.fingerprint.get(fact), one.fingerprint.get(fact)
            if ours is not None and theirs is not None and not _alike(ours, theirs):
                yield f"the hardware differs: {fact} is {ours} on {base.name} and {theirs} on {one.name}"
        if one.hello["program_sha256"] != base.hello["program_sha256"]:
            yield (
                f"the programs differ: {base.name} ran {base.hello['compiler']} with {base.hello['libc']}, "
                f"{one.name} ran {one.hello['compiler']} with {one.hello['libc']}"
            )
    for one in facts:
        if one.clock_apart is not None and abs(one.clock_apart) > CLOCK_MARGIN:
            yield f"the clock of {one.name} differs from this machine's by {one.clock_apart:+.2%}"
