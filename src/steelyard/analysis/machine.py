"""Reads properties of the machine off what was measured: how many operations overlap, caches, lines, TLB.

Each property is found on each system for itself, because what an operating system lets a program have of a
cache (by the pages it gives it, by what else runs) is its own doing; what the kernel says stands beside it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from steelyard.analysis import curves
from steelyard.analysis.model import CurveComparison, CurveLine, MachineFact, SystemFacts
from steelyard.analysis.observations import Key, Observations
from steelyard.analysis.remarks import (
    AtSize,
    ByTrials,
    CacheCapacity,
    CacheLine,
    LatencyStep,
    LoadsInFlight,
    OperationsAtOnce,
    PagesBeyond,
    Step,
    TranslationReach,
)
from steelyard.statistics import capacities, lines, order_statistics

_LATENCY = "memory_latency"  # a random cyclic chase: its steps are the caches
_LINE = "memory_line"  # pairs of words a stride apart: they share a line or not
_TLB = "memory_tlb"  # one line a page, and as many lines side by side:
_SPARSE, _DENSE = "pages", "dense"
_NEAR = 2.0  # octaves: a cache is not called by the name of one whose size is further off
_PARALLEL = "_parallel"  # a metric of that ending is the same operation, several chains at once
_POINTS_LEAST = 6
_ONE_CHAIN = "chains_1"


def findings(
    observations: Observations, comparisons: Sequence[CurveComparison], facts: Sequence[SystemFacts]
) -> Iterable[MachineFact]:
    """Every property that the experiment has the measurements for."""
    for key in observations.cells_and_metrics():
        for one in facts:
            if observations.curves.get(key, {}).get(one.name):
                yield from _of_curve(observations, key, one)
    yield from _overlapping_loads(observations, comparisons)
    yield from _overlapping_operations(observations)


def _of_curve(observations: Observations, key: Key, system: SystemFacts) -> Iterable[MachineFact]:
    workload = observations.cells[key[0]].workload
    if workload == _LATENCY:
        yield from _caches(observations, key, system)
    elif workload == _LINE:
        yield from _line(observations, key, system)
    elif workload == _TLB and key[1] == _SPARSE:
        yield from _reach(observations, key, system)


def _caches(observations: Observations, key: Key, system: SystemFacts) -> Iterable[MachineFact]:
    """The caches' capacities: where a sharp step of the latency begins, the middle of a gradual one."""
    sizes, rows = curves.matrix(observations, key, system.name)
    if len(sizes) < _POINTS_LEAST:
        return
    model = capacities.estimate(np.array(sizes, float), rows, chance=np.random.default_rng(curves.SEED))
    stated = dict(system.fingerprint.get("caches") or {})
    names = _names_of([step.capacity for step in model.fit.steps], stated)
    for number, step in enumerate(model.fit.steps):
        value = model.capacities[number]
        name = names.get(number)
        what = CacheCapacity(name) if name else LatencyStep(number + 1)
        held = stated[name] if name else None
        yield MachineFact(system.name, what, value, "bytes", key[0], held, _step_note(step, model), len(rows))


def _line(observations: Observations, key: Key, system: SystemFacts) -> Iterable[MachineFact]:
    strides, rows = curves.matrix(observations, key, system.name)
    line = lines.line(np.array(strides, float), rows, chance=np.random.default_rng(curves.SEED))
    if line is not None:
        stated = system.fingerprint.get("cache_line_bytes")
        note = ByTrials(line.agreement)
        yield MachineFact(system.name, CacheLine(), line.size, "bytes", key[0], stated, note, len(rows))


def _reach(observations: Observations, key: Key, system: SystemFacts) -> Iterable[MachineFact]:
    """The pages that the address translation reaches, where the excess of sparse lines sets in."""
    sizes, sparse = curves.matrix(observations, key, system.name)
    dense_sizes, dense = curves.matrix(observations, (key[0], _DENSE), system.name)
    page = system.fingerprint.get("page_bytes")
    if sizes != dense_sizes or len(sizes) < _POINTS_LEAST or not page:
        return
    pages = np.array(sizes, float) / page
    reach = lines.tlb_reach(pages, sparse, dense, chance=np.random.default_rng(curves.SEED))
    if reach is not None:
        note = PagesBeyond(page)
        yield MachineFact(system.name, TranslationReach(), reach, "pages", key[0], None, note, len(sparse))


def _step_note(step: capacities.CapacityStep, model: capacities.Estimated) -> Step:
    return Step(step.is_sharp, step.width, step.factor, model.agreement)


def _names_of(sizes: Sequence[float], stated: Mapping[str, float]) -> dict[int, str]:
    """Match the steps with the kernel's caches: the nearest, in order, each once."""
    names: dict[int, str] = {}
    left = list(stated.items())
    for number, size in enumerate(sizes):
        near = [
            (abs(math.log2(size / held)), place)
            for place, (_, held) in enumerate(left)
            if abs(math.log2(size / held)) <= _NEAR
        ]
        if near:
            place = min(near)[1]
            names[number] = left[place][0]
            left = left[place + 1 :]
    return names


def _overlapping_operations(observations: Observations) -> Iterable[MachineFact]:
    """Time of one chain of operations over time with several chains, trial by trial (after par_ops)."""
    known = set(observations.cells_and_metrics())
    for label, metric in observations.cells_and_metrics():
        if not metric.endswith(_PARALLEL) or (label, metric.removesuffix(_PARALLEL)) not in known:
            continue
        alone = metric.removesuffix(_PARALLEL)
        lens = observations.lens(label)
        for system in observations.names:
            one = observations.values[label, alone].get(system, {})
            many = observations.values[label, metric].get(system, {})
            ratios = [
                one[block].lenses[lens] / many[block].lenses[lens] for block in one.keys() & many.keys()
            ]
            if ratios:
                what = OperationsAtOnce(observations.cells[label].workload, alone)
                value = order_statistics.median(np.array(ratios))
                yield MachineFact(system, what, value, "", label, None, None, len(ratios))


def _overlapping_loads(
    observations: Observations, comparisons: Sequence[CurveComparison]
) -> Iterable[MachineFact]:
    """The time of a load in one chain over the least with several chains, trial by trial: at the largest size
    that all have, where every load misses; and where the medians' ratio is largest (after par_mem)."""
    chains = [one for one in comparisons if one.metric.startswith("chains_")]
    for one in chains:
        if one.metric != _ONE_CHAIN:
            continue
        others = [each for each in chains if each.cell == one.cell and each.metric != _ONE_CHAIN]
        for line in one.lines:
            ratios = _by_size(line, others)
            if ratios:
                size = max(ratios)
                where = AtSize(size, max(ratios, key=lambda each: ratios[each]))
                each = _by_trial(
                    observations, one.cell, [other.metric for other in others], line.system, size
                )
                value = order_statistics.median(np.array(each))
                yield MachineFact(line.system, LoadsInFlight(), value, "", one.cell, None, where, len(each))


def _by_size(line: CurveLine, others: Sequence[CurveComparison]) -> dict[int, float]:
    """The median ratio at each size: the time of one chain over the least of several chains'."""
    alone = {size: value.value for size, value in line.points}
    fastest: dict[int, float] = {}
    for other in others:
        points = next((known.points for known in other.lines if known.system == line.system), ())
        for size, value in points:
            fastest[size] = min(value.value, fastest.get(size, value.value))
    return {size: alone[size] / fastest[size] for size in sorted(alone.keys() & fastest.keys())}


def _by_trial(
    observations: Observations, cell: str, metrics: Sequence[str], system: str, size: int
) -> list[float]:
    lens = observations.lens(cell)
    alone = observations.curves[cell, _ONE_CHAIN][system]
    several = [observations.curves[cell, metric].get(system, {}) for metric in metrics]
    ratios = []
    for block, curve in alone.items():
        times = [one[block][size].lenses[lens] for one in several if block in one and size in one[block]]
        if times and size in curve:
            ratios.append(curve[size].lenses[lens] / min(times))
    return ratios
