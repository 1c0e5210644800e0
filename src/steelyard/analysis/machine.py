"""Reads properties of the machine off what was measured: how many operations overlap, caches, lines, TLB.

Each property is found on each system for itself, because what an operating system lets a program have of a
cache (by the pages it gives it, by what else runs) is its own doing; what the kernel says stands beside it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from steelyard.analysis import curves
from steelyard.analysis.model import CurveComparison, MachineFact, SystemFacts
from steelyard.analysis.observations import Key, Observations
from steelyard.statistics import capacities, lines, order_statistics
from steelyard.statistics.signed_rank import Estimate

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
    yield from _overlapping_loads(comparisons)
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
        what = f"cache {name}" if name else f"step {number + 1} of the latency"
        yield MachineFact(
            system.name, what, value, "bytes", key[0], stated[name] if name else None, _step_note(step, model)
        )


def _line(observations: Observations, key: Key, system: SystemFacts) -> Iterable[MachineFact]:
    strides, rows = curves.matrix(observations, key, system.name)
    line = lines.line(np.array(strides, float), rows)
    if line is not None:
        stated = system.fingerprint.get("cache_line_bytes")
        note = f"by {line.agreement:.0%} of trials on their own"
        yield MachineFact(system.name, "cache line", Estimate(line.size), "bytes", key[0], stated, note)


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
        note = f"beyond so many pages of {page} bytes their translation costs"
        yield MachineFact(system.name, "address translation", reach, "pages", key[0], None, note)


def _step_note(step: capacities.Step, model: capacities.Estimated) -> str:
    kind = (
        "a sharp step" if step.is_sharp else f"gradual, over {step.width:.1f} octaves: an effective capacity"
    )
    share = "" if model.agreement is None else f"; as many steps in {model.agreement:.0%} of resamples"
    return f"{kind}, {step.factor:.1f} times slower beyond{share}"


def _names_of(sizes: Sequence[float], stated: Mapping[str, float]) -> dict[int, str]:
    """Which of the steps is which of the kernel's caches: the nearest, in order, each once."""
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
                what = f"{observations.cells[label].workload}: {alone} at once"
                yield MachineFact(
                    system, what, order_statistics.median(np.array(ratios)), "", label, None, ""
                )


def _overlapping_loads(comparisons: Sequence[CurveComparison]) -> Iterable[MachineFact]:
    """The time of a load in one chain over the least with several chains, at each size. Reported at the
    largest size that all have, where every load misses, and where the ratio is largest (after par_mem)."""
    chains = [one for one in comparisons if one.metric.startswith("chains_")]
    for one in chains:
        if one.metric != _ONE_CHAIN:
            continue
        others = [each for each in chains if each.cell == one.cell and each.metric != _ONE_CHAIN]
        for line in one.lines:
            alone = {size: value.value for size, value in line.points}
            fastest: dict[int, float] = {}
            for each in others:
                for size, value in next(
                    (known.points for known in each.lines if known.system == line.system), ()
                ):
                    fastest[size] = min(value.value, fastest.get(size, value.value))
            ratios = {size: alone[size] / fastest[size] for size in sorted(alone.keys() & fastest.keys())}
            if ratios:
                size = max(ratios)
                where = f"at {size} bytes; most at {max(ratios, key=lambda each: ratios[each])} bytes"
                value = Estimate(ratios[size])
                yield MachineFact(line.system, "loads in flight", value, "", one.cell, None, where)
