"""Turns an experiment's rows into observations: one number per trial and metric, paired by block.

Reads the archive and nothing else. A trial's batches become one number, by a lens; the trials of one
block make a pair; and where a system's start is a boot, the pairs of one boot become one number again,
because what differs from boot to boot is then what is replicated.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import numpy as np

from steelyard import archive
from steelyard.archive import Experiment
from steelyard.errors import UnknownName
from steelyard.statistics import order_statistics, power
from steelyard.statistics.signed_rank import Array, Estimate
from steelyard.weighing import Trouble

# How a trial's batches become one number. The floor (lower quartile) is steadiest for work that only
# other work can slow down; work that sleeps and wakes has no floor worth the name.
FLOOR, TYPICAL, COST, GROUP = "floor", "typical", "cost", "group"
_LENSES = {"cpu": FLOOR, "syscall": FLOOR, "memory": FLOOR, "harness": FLOOR}

_PRESSURE_LEAST = 0.05  # below that share of waiting, a trial is not called disturbed

# One row per trial and metric: the quantiles of its batches in ns per operation, and its cost, which is all
# time over all work. With several copies, the group's time is that of its slowest copy, and the work is
# everybody's: so it is divided by the number of copies, as the PEGASUS paper's tables are.
TRIALS = """
    SELECT t.block, t.system, t.boot, t.cell, s.metric, any_value(t.copies) AS copies,
           quantile_cont(s.duration_ns / s.operations, [0.1, 0.25, 0.5, 0.9]) AS q,
           sum(s.duration_ns) / sum(s.operations) AS cost,
           any_value(g.slowest) / any_value(g.operations) / any_value(t.copies) AS "group"
    FROM samples s
    JOIN trials t USING (trial)
    JOIN (SELECT trial, metric, max(total) AS slowest, any_value(operations) AS operations
          FROM (SELECT trial, metric, copy, sum(duration_ns) AS total, sum(operations) AS operations
                FROM samples GROUP BY trial, metric, copy)
          GROUP BY trial, metric) g ON g.trial = s.trial AND g.metric = s.metric
    WHERE t.status = 'ok'
    GROUP BY s.trial, t.block, t.system, t.boot, t.cell, s.metric"""

_VALUES = f"""
    SELECT block, system, boot, cell, metric, q[2] AS floor, q[3] AS typical, cost, "group"
    FROM ({TRIALS}) ORDER BY block"""

_STATUSES = """
    SELECT system, cell, status, count(*) AS trials, min(reason) AS reason,
           min(signal) AS signal
    FROM trials WHERE status <> 'ok' GROUP BY system, cell, status ORDER BY system, cell, status"""

# What a system's clock differs by, as a fraction of the trial, beyond what the reading itself may have
# cost; towards 0, so that a slow answer is not called a wrong clock.
_CLOCKS = """
    SELECT system, cell, median(sign(guest_ns - host_ns)
                                * greatest(0, abs(guest_ns - host_ns) - clock_doubt_ns) / host_ns)
    FROM trials WHERE status = 'ok' AND host_ns > 0 GROUP BY system, cell"""

_PRESSURES = "SELECT block, system, cell, pressure FROM trials WHERE status = 'ok'"


@dataclass(frozen=True, slots=True)
class Value:
    """A trial's numbers for one metric, in ns per operation, by lens."""

    boot: int
    lenses: Mapping[str, float]


Key = tuple[str, str]  # a cell's label and a metric


class Observations:
    """One experiment's rows, as the steps after this need them."""

    def __init__(
        self, experiment: Experiment, connection: duckdb.DuckDBPyConnection, *, baseline: str | None
    ) -> None:
        header = experiment.header
        self.experiment = experiment
        self.connection = connection
        self.names: tuple[str, ...] = tuple(header["systems"])
        if baseline is not None and baseline not in self.names:
            raise UnknownName("system", baseline, self.names, where=f"experiment {experiment.name}: ")
        self.baseline = baseline or self.names[0]
        self.others = tuple(name for name in self.names if name != self.baseline)
        self.boot_systems = frozenset(header["boot_systems"])
        self.cells = {cell.label: cell for cell in archive.cells_of(experiment)}
        self.troubles = [
            Trouble(system, cell, status, count, reason or (f"signal {number}" if number else None))
            for system, cell, status, count, reason, number in connection.execute(_STATUSES).fetchall()
        ]
        self.values = self._read_values()
        self.disturbed = self._read_disturbed()
        self.clocks = {
            (system, cell): float(apart) for system, cell, apart in connection.execute(_CLOCKS).fetchall()
        }

    def _read_values(self) -> dict[Key, dict[str, dict[int, Value]]]:
        """For each cell and metric, for each system, for each block: the trial's numbers."""
        found: dict[Key, dict[str, dict[int, Value]]] = defaultdict(lambda: defaultdict(dict))
        timeless: Counter[tuple[str, str, str]] = Counter()
        for block, system, boot, cell, metric, *numbers in self.connection.execute(_VALUES).fetchall():
            if min(numbers) > 0:
                lenses = dict(zip((FLOOR, TYPICAL, COST, GROUP), numbers, strict=True))
                found[cell, metric][system][block] = Value(boot, lenses)
            else:
                timeless[system, cell, metric] += 1
        self.troubles += [
            Trouble(system, cell, "failed", count, f"{metric} took no time by its clock")
            for (system, cell, metric), count in sorted(timeless.items())
        ]
        return found

    def _read_disturbed(self) -> set[tuple[int, str, str]]:
        """Block, system and cell of the trials in which processes waited unusually long for a processor,
        by the median and median absolute deviation of the same cell on the same system."""
        by_cell: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
        for block, system, cell, pressure in self.connection.execute(_PRESSURES).fetchall():
            if pressure is not None:
                by_cell[system, cell].append((block, pressure))
        found = set()
        for (system, cell), rows in by_cell.items():
            shares = np.array([pressure for _, pressure in rows])
            limit = float(np.median(shares)) + 4 * power.robust_deviation(shares)
            found |= {
                (block, system, cell) for block, pressure in rows if pressure > max(limit, _PRESSURE_LEAST)
            }
        return found

    def group(self, cell: str) -> str:
        return str(self.experiment.header["workloads"][self.cells[cell].workload]["group"])

    def lens(self, cell: str) -> str:
        return GROUP if self.cells[cell].copies > 1 else _LENSES.get(self.group(cell), TYPICAL)

    def cells_and_metrics(self) -> list[Key]:
        """Every cell and metric of the experiment, in the study's order."""
        workloads = self.experiment.header["workloads"]
        return [
            (label, metric)
            for label, cell in self.cells.items()
            for metric in workloads[cell.workload]["metrics"]
        ]

    def differences(self, key: Key, system: str, lens: str) -> dict[int, float]:
        """For each block that has both: ln(baseline) - ln(system), above 0 where the system is better."""
        base, other = (self.values[key].get(name, {}) for name in (self.baseline, system))
        return {
            block: math.log(base[block].lenses[lens]) - math.log(other[block].lenses[lens])
            for block in sorted(base.keys() & other.keys())
        }

    def units(self, key: Key, system: str, by_block: Mapping[int, float]) -> Array:
        """What is replicated: the mean of each boot's blocks, or the blocks of the one boot there is."""
        by_boot: dict[tuple[int, ...], list[float]] = defaultdict(list)
        for block, difference in by_block.items():
            boots = tuple(
                self.values[key][name][block].boot
                for name in (self.baseline, system)
                if name in self.boot_systems
            )
            by_boot[boots].append(difference)
        if len(by_boot) > 1:
            return np.array([np.mean(differences) for differences in by_boot.values()])
        return np.array(list(by_block.values()))

    def median(self, key: Key, system: str) -> Estimate | None:
        """The median over trials with its 95 % interval; None without trials."""
        lens = self.lens(key[0])
        values = [one.lenses[lens] for one in self.values[key].get(system, {}).values()]
        return order_statistics.median(np.array(values)) if values else None

    def boots(self, system: str, key: Key) -> int:
        if system not in self.boot_systems:
            return 1
        return len({one.boot for one in self.values[key].get(system, {}).values()})
