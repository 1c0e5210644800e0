"""What trials say besides their times: how they ended, how long they took, what disturbed them."""

from collections import defaultdict

import numpy as np

from steelyard.analysis.model import Trouble
from steelyard.analysis.rows import Rows
from steelyard.statistics import order_statistics
from steelyard.text import shortened

_REASON_SHOWN = 300  # characters of why a trial failed; the archive has more
_PRESSURE_LEAST = 0.05  # below that share of waiting, a trial is not called disturbed


def troubles(rows: Rows) -> list[Trouble]:
    """How often trials of each system and cell ended in each other way than well; the first reason in order
    of the alphabet stands for all."""
    by_status: dict[tuple[str, str, str], list[str | None]] = defaultdict(list)
    for one in rows.trials:
        if one.status != "ok":
            reason = one.reason or (f"signal {one.signal}" if one.signal else None)
            by_status[one.system, one.cell, one.status].append(reason)
    return [
        Trouble(*what, len(reasons), shortened(reason, _REASON_SHOWN) if reason else None)
        for what, reasons in sorted(by_status.items())
        for reason in [min((one for one in reasons if one), default=None)]
    ]


def codes(rows: Rows) -> dict[tuple[str, str], tuple[str, ...]]:
    by_cell: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in rows.trials:
        if one.code_sha256 is not None:
            by_cell[one.system, one.cell].add(one.code_sha256)
    return {where: tuple(sorted(codes)) for where, codes in by_cell.items()}


def clocks(rows: Rows) -> dict[tuple[str, str], float]:
    """How far a system's clock is from the laboratory's, as a fraction: the median over trials."""
    by_cell: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in rows.trials:
        if one.status == "ok" and one.clock_apart is not None:
            by_cell[one.system, one.cell].append(one.clock_apart)
    return {where: float(np.median(apart)) for where, apart in by_cell.items()}


def seconds(rows: Rows) -> dict[tuple[str, str], float]:
    """What a trial of a cell takes on a system, by the laboratory's clock: the median."""
    by_cell: dict[tuple[str, str], list[int]] = defaultdict(list)
    for one in rows.trials:
        if one.host_ns is not None:
            by_cell[one.system, one.cell].append(one.host_ns)
    return {where: float(np.median(spans)) / 1e9 for where, spans in by_cell.items()}


def disturbed(rows: Rows) -> set[tuple[int, str, str]]:
    """Block, system and cell of the trials in which processes waited unusually long for a processor,
    by the median and median absolute deviation of the same cell on the same system."""
    by_cell: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for one in rows.trials:
        if one.status == "ok" and one.pressure is not None:
            by_cell[one.system, one.cell].append((one.block, one.pressure))
    trials = set()
    for (system, cell), pressures in by_cell.items():
        shares = np.array([pressure for _, pressure in pressures])
        limit = float(np.median(shares)) + 4 * order_statistics.robust_deviation(shares)
        trials |= {
            (block, system, cell) for block, pressure in pressures if pressure > max(limit, _PRESSURE_LEAST)
        }
    return trials
