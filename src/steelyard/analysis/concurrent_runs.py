"""Reads the records of many concurrent processes, and derives metrics from their moments."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.rows import ConcurrentRunRow, Rows
from steelyard.statistics import multiprogramming
from steelyard.statistics.multiprogramming import Moments
from steelyard.statistics.signed_rank import Array

# What follows from the moments of many processes at once: metrics that no single clock reading gives, with
# their unit.
ALONE, TOGETHER = "alone", "together"  # what a workload calls its groups
DERIVED = {
    "alone": "ns of one process alone: median",
    "price": "times what free sharing would take",
    "start_delay": "ns from being asked for to its beginning: nineteen of twenty are sooner",
    "elapsed": "ns of each process's own, from beginning to end: mean",
    "unevenness": "of the mean elapsed time: standard deviation",
}
# Neither more nor less of these is better by itself: a system that starts processes slowly runs each alone.
NEUTRAL = ("elapsed", "unevenness")


@dataclass(frozen=True, slots=True)
class ConcurrentRun:
    """The record of many concurrent processes in one trial; times in ns since the first was requested."""

    trial: int
    block: int
    boot: int
    is_ok: bool
    moments: Moments
    reaped: tuple[int | None, ...]
    statuses: tuple[str, ...]
    reasons: tuple[str | None, ...]
    alone_ns: float  # what one alone took in the same trial; NaN if unknown


def all_of(rows: Rows) -> dict[tuple[str, str], list[ConcurrentRun]]:
    """The concurrent runs by cell and system, in the order of blocks."""
    alone: dict[int, list[float]] = defaultdict(list)
    for row in rows.concurrent_runs:
        if row.metric == ALONE:
            alone[row.trial] += multiprogramming.elapsed(_moments(row)).tolist()
    by_cell: dict[tuple[str, str], list[ConcurrentRun]] = defaultdict(list)
    for row in rows.concurrent_runs:
        if row.metric == TOGETHER:
            by_cell[row.cell, row.system].append(
                ConcurrentRun(
                    row.trial,
                    row.block,
                    row.boot,
                    row.is_ok,
                    _moments(row),
                    tuple(row.reaped),
                    tuple(row.statuses),
                    tuple(row.reasons),
                    float(np.median(alone[row.trial])) if alone[row.trial] else math.nan,
                )
            )
    return by_cell


def derived(concurrent_run: ConcurrentRun, metric: str) -> float:
    """One of DERIVED, of one trial's processes."""
    moments = concurrent_run.moments
    if metric == ALONE:
        return concurrent_run.alone_ns
    if metric == "price":
        return multiprogramming.price(moments, alone=concurrent_run.alone_ns)
    if metric == "start_delay":
        return float(np.quantile(multiprogramming.start_delays(moments), 0.95))
    own = multiprogramming.elapsed(moments)
    return float(own.mean()) if metric == "elapsed" else multiprogramming.spread(own)


def _moments(row: ConcurrentRunRow) -> Moments:
    def column(numbers: Sequence[Any]) -> Array:
        return np.array(numbers, dtype=np.float64)

    return Moments(column(row.asked), column(row.began), column(row.ended), column(row.marks), row.processors)
