"""Reads properties of the machine off what was measured: how many operations overlap, caches, lines, TLB.

Each property is found on each system for itself, because what an operating system lets a program have of a
cache (by the pages it gives it, by what else runs) is its own doing; what the kernel says stands beside it.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from steelyard.observations import Observations
from steelyard.statistics import order_statistics
from steelyard.statistics.signed_rank import Estimate
from steelyard.weighing import CurveComparison, Finding

_PARALLEL = "_parallel"  # a metric of that ending is the same operation, several chains at once
_ONE_CHAIN = "chains_1"


def findings(seen: Observations, curves: Sequence[CurveComparison]) -> Iterable[Finding]:
    """Every property that the experiment has the measurements for."""
    yield from _overlapping_operations(seen)
    yield from _overlapping_loads(curves)


def _overlapping_operations(seen: Observations) -> Iterable[Finding]:
    """Time of one chain of operations over time with several chains, trial by trial (after par_ops)."""
    known = set(seen.cells_and_metrics())
    for label, metric in seen.cells_and_metrics():
        if not metric.endswith(_PARALLEL) or (label, metric.removesuffix(_PARALLEL)) not in known:
            continue
        alone = metric.removesuffix(_PARALLEL)
        lens = seen.lens(label)
        for system in seen.names:
            one = seen.values[label, alone].get(system, {})
            many = seen.values[label, metric].get(system, {})
            ratios = [
                one[block].lenses[lens] / many[block].lenses[lens] for block in one.keys() & many.keys()
            ]
            if ratios:
                what = f"{seen.cells[label].workload}: {alone} at once"
                yield Finding(system, what, order_statistics.median(np.array(ratios)), "", label, None, "")


def _overlapping_loads(curves: Sequence[CurveComparison]) -> Iterable[Finding]:
    """Time of a load in one chain over the least with several, at each size; told at the largest that all
    have, where every load misses, and where it is most (after par_mem)."""
    chains = [one for one in curves if one.metric.startswith("chains_")]
    for one in chains:
        if one.metric != _ONE_CHAIN:
            continue
        others = [each for each in chains if each.cell == one.cell and each.metric != _ONE_CHAIN]
        for line in one.lines:
            alone = {size: value.value for size, value in line.points}
            fastest: dict[int, float] = {}
            for each in others:
                for size, value in next(
                    (found.points for found in each.lines if found.system == line.system), ()
                ):
                    fastest[size] = min(value.value, fastest.get(size, value.value))
            ratios = {size: alone[size] / fastest[size] for size in sorted(alone.keys() & fastest.keys())}
            if ratios:
                size = max(ratios)
                where = f"at {size} bytes; most at {max(ratios, key=lambda each: ratios[each])} bytes"
                value = Estimate(ratios[size])
                yield Finding(line.system, "loads in flight", value, "", one.cell, None, where)
