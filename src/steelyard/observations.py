"""Turns an experiment's rows into observations: one number per trial and metric, paired by block.

Reads the archive and nothing else. A trial's batches become one number, by a lens; the trials of one
block make a pair; and where a system's start is a boot, the pairs of one boot become one number again,
because what differs from boot to boot is then what is replicated.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np

from steelyard import archive
from steelyard.archive import Experiment
from steelyard.errors import UnknownName
from steelyard.statistics import multiprogramming, order_statistics, power
from steelyard.statistics.multiprogramming import Moments
from steelyard.statistics.signed_rank import Array, Estimate
from steelyard.weighing import Trouble

# How a trial's batches become one number. The floor (lower quartile) is steadiest for work that only
# other work can slow down; work that sleeps and wakes has no floor worth the name.
FLOOR, TYPICAL, COST, GROUP = "floor", "typical", "cost", "group"
_LENSES = {"cpu": FLOOR, "syscall": FLOOR, "memory": FLOOR, "harness": FLOOR}

_PRESSURE_LEAST = 0.05  # below that share of waiting, a trial is not called disturbed

# One row per trial, metric and, where the trial is a curve, point: the quantiles of its batches in ns per
# operation, and its cost, which is all time over all work. With several copies, the group's time is that of
# its slowest copy, and the work is everybody's: so it is divided by the number of copies, as the PEGASUS
# paper's tables are.
TRIALS = """
    SELECT t.block, t.system, t.boot, t.cell, s.metric, s.point, any_value(t.copies) AS copies,
           any_value(s.bytes) AS bytes,
           quantile_cont(s.duration_ns / s.operations, [0.1, 0.25, 0.5, 0.9]) AS q,
           sum(s.duration_ns) / sum(s.operations) AS cost,
           any_value(g.slowest) / any_value(g.operations) / any_value(t.copies) AS "group"
    FROM samples s
    JOIN trials t USING (trial)
    JOIN (SELECT trial, metric, point, max(total) AS slowest, any_value(operations) AS operations
          FROM (SELECT trial, metric, point, copy, sum(duration_ns) AS total, sum(operations) AS operations
                FROM samples GROUP BY trial, metric, point, copy)
          GROUP BY trial, metric, point) g
      ON g.trial = s.trial AND g.metric = s.metric AND g.point IS NOT DISTINCT FROM s.point
    WHERE t.status = 'ok'
    GROUP BY s.trial, t.block, t.system, t.boot, t.cell, s.metric, s.point"""

_VALUES = f"""
    SELECT block, system, boot, cell, metric, point, bytes, q[2] AS floor, q[3] AS typical, cost, "group"
    FROM ({TRIALS}) ORDER BY block, point"""

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

_COUNTS = """
    SELECT t.block, t.system, t.boot, t.cell, c.metric, c."value"
    FROM counts c JOIN trials t USING (trial) WHERE t.status = 'ok' AND c.copy = 0 ORDER BY t.block"""

# Trials that failed too: what their other processes did is known. The first copy stands for all.
_MEMBERS = """
    SELECT t.trial, t.block, t.system, t.boot, t.cell, t.status = 'ok' AS is_ok, m.metric, m.batch,
           any_value(m.processors) AS processors, any_value(m.zero_ns) AS zero_ns,
           list(m.asked_ns ORDER BY m.member) AS asked, list(m.began_ns ORDER BY m.member) AS began,
           list(m.ended_ns ORDER BY m.member) AS ended, list(m.reaped_ns ORDER BY m.member) AS reaped,
           list(m.marks_ns ORDER BY m.member) AS marks, list(m.status ORDER BY m.member) AS statuses,
           list(m.reason ORDER BY m.member) AS reasons
    FROM members m JOIN trials t USING (trial) WHERE m.copy = 0
    GROUP BY t.trial, t.block, t.system, t.boot, t.cell, t.status, m.metric, m.batch
    ORDER BY t.block, m.metric, m.batch"""

_CODES = """
    SELECT system, cell, list(DISTINCT code_sha256) FROM trials
    WHERE code_sha256 IS NOT NULL GROUP BY system, cell"""

# What follows from the moments of many processes at once: metrics that no single clock reading gives, with
# their unit. Lower is better for each.
ALONE, TOGETHER = "alone", "together"  # what a workload calls its groups
DERIVED = {
    "alone": "ns of one process alone: median",
    "price": "times what free sharing would take",
    "start_delay": "ns from being asked for to its beginning: nineteen of twenty are sooner",
    "elapsed": "ns of each process's own, from beginning to end: mean",
    "unevenness": "of the mean elapsed time: standard deviation",
}

_PRESSURES = "SELECT block, system, cell, pressure FROM trials WHERE status = 'ok'"


@dataclass(frozen=True, slots=True)
class Value:
    """A trial's numbers for one metric, in ns per operation, by lens."""

    boot: int
    lenses: Mapping[str, float]
    bytes: float | None = None  # that an operation moves, where a bandwidth is measured

    def shown(self, lens: str) -> float:
        """The number as people see it: ns per operation, or the bandwidth in MB/s (of 10^6 bytes)."""
        return self.lenses[lens] if self.bytes is None else 1000 * self.bytes / self.lenses[lens]


@dataclass(frozen=True, slots=True)
class Group:
    """What was kept of many processes at once in one trial; times in ns since the first was asked for."""

    trial: int
    block: int
    boot: int
    is_ok: bool
    moments: Moments
    reaped: tuple[int | None, ...]
    statuses: tuple[str, ...]
    reasons: tuple[str | None, ...]
    alone_ns: float  # what one alone took in the same trial; NaN if unknown


Key = tuple[str, str]  # a cell's label and a metric
Curve = dict[int, Value]  # a trial's, by point


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
        self.curves: dict[Key, dict[str, dict[int, Curve]]] = defaultdict(lambda: defaultdict(dict))
        # By cell and system, in the order of blocks.
        self.groups: dict[tuple[str, str], list[Group]] = self._read_groups()
        self.codes: dict[tuple[str, str], tuple[str, ...]] = {
            (system, cell): tuple(sorted(codes))
            for system, cell, codes in connection.execute(_CODES).fetchall()
        }
        self.values = self._read_values()
        self.disturbed = self._read_disturbed()
        self.clocks = {
            (system, cell): float(apart) for system, cell, apart in connection.execute(_CLOCKS).fetchall()
        }

    def _read_values(self) -> dict[Key, dict[str, dict[int, Value]]]:
        """For each cell and metric, for each system, for each block: the trial's numbers. A curve's are
        kept in `curves` as well; here it is the geometric mean over the points that every system has."""
        found: dict[Key, dict[str, dict[int, Value]]] = defaultdict(lambda: defaultdict(dict))
        timeless: Counter[tuple[str, str, str]] = Counter()
        for block, system, boot, cell, metric, point, size, *numbers in self.connection.execute(
            _VALUES
        ).fetchall():
            if min(numbers) <= 0:
                timeless[system, cell, metric] += 1
                continue
            lenses = dict(zip((FLOOR, TYPICAL, COST, GROUP), numbers, strict=True))
            value = Value(boot, lenses, size)
            if point is None:
                found[cell, metric][system][block] = value
            else:
                self.curves[cell, metric][system].setdefault(block, {})[point] = value
        self.troubles += [
            Trouble(system, cell, "failed", count, f"{metric} took no time by its clock")
            for (system, cell, metric), count in sorted(timeless.items())
        ]
        for key, by_system in self.curves.items():
            points = self.common_points(key)
            for system, by_block in by_system.items():
                for block, curve in by_block.items() if points else ():
                    found[key][system][block] = _geometric_mean([curve[point] for point in points])
        self._subtract(found)
        for block, system, boot, cell, metric, counted in self.connection.execute(_COUNTS).fetchall():
            if counted > 0 and self.workload(cell)["measure"] == "count":  # else it is a monitor's
                found[cell, metric][system][block] = _plain(boot, 1 / counted)
        self._derive(found)
        return found

    def _read_groups(self) -> dict[tuple[str, str], list[Group]]:
        rows = self.connection.execute(_MEMBERS).fetchall()
        alone: dict[int, list[float]] = defaultdict(list)
        for trial, *_, metric, _, processors, _, asked, began, ended, _, marks, _, _ in rows:
            if metric == ALONE:
                own = multiprogramming.elapsed(_moments(processors, asked, began, ended, marks))
                alone[trial] += own.tolist()
        found: dict[tuple[str, str], list[Group]] = defaultdict(list)
        for row in rows:
            trial, block, system, boot, cell, is_ok, metric, _, processors, _, *columns = row
            asked, began, ended, reaped, marks, statuses, reasons = columns
            if metric == TOGETHER:
                found[cell, system].append(
                    Group(
                        trial,
                        block,
                        boot,
                        is_ok,
                        _moments(processors, asked, began, ended, marks),
                        tuple(reaped),
                        tuple(statuses),
                        tuple(reasons),
                        float(np.median(alone[trial])) if alone[trial] else math.nan,
                    )
                )
        return found

    def _derive(self, found: dict[Key, dict[str, dict[int, Value]]]) -> None:
        """What the moments of each trial's processes say, as metrics of their own; the median where a trial
        has several groups. Of a trial that failed nothing: it did another amount of work."""
        for (cell, system), groups in self.groups.items():
            by_block: dict[int, list[Group]] = defaultdict(list)
            for group in groups:
                if group.is_ok:
                    by_block[group.block].append(group)
            for block, members in by_block.items():
                for metric in DERIVED:
                    number = float(np.median([derived(group, metric) for group in members]))
                    if number > 0:
                        found[cell, metric][system][block] = _plain(members[0].boot, number)

    def common_points(self, key: Key) -> list[int]:
        """The points that every trial of the curve has, on every system that has any."""
        curves = [curve for by_block in self.curves[key].values() for curve in by_block.values()]
        return sorted(set.intersection(*(set(curve) for curve in curves))) if curves else []

    def _subtract(self, found: dict[Key, dict[str, dict[int, Value]]]) -> None:
        """Where a metric is declared to hold another one's work besides its own, takes that away, trial by
        trial. What is not more than its overhead is not resolved: said, and left out."""
        unresolved: Counter[tuple[str, str, str]] = Counter()
        for label, cell in self.cells.items():
            for metric in self.experiment.header["workloads"][cell.workload]["metrics"]:
                if metric["less"] is None:
                    continue
                for system, by_block in found[label, metric["name"]].items():
                    over = found[label, metric["less"]].get(system, {})
                    for block in list(by_block):
                        net = _less(by_block[block], over[block]) if block in over else None
                        if net is None:
                            del by_block[block]
                            unresolved[system, label, metric["name"]] += 1
                        else:
                            by_block[block] = net
        self.troubles += [
            Trouble(system, cell, "failed", count, f"{name} is not more than the overhead to be subtracted")
            for (system, cell, name), count in sorted(unresolved.items())
        ]

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
        return str(self.workload(cell)["group"])

    def workload(self, cell: str) -> Mapping[str, Any]:
        """What the header says of the cell's workload."""
        found: Mapping[str, Any] = self.experiment.header["workloads"][self.cells[cell].workload]
        return found

    def unit(self, key: Key) -> tuple[str, str]:
        """The unit that the metric's values are shown in, and which direction is better."""
        cell, metric = key
        workload = self.workload(cell)
        if self.is_derived(key):
            return DERIVED[metric], "lower"
        if workload["measure"] == "count":
            return str(workload["counts"]), "higher"
        if workload["measure"] == "bandwidth":
            return "MB/s", "higher"
        return f"ns per {workload['operation']}", "lower"

    def is_derived(self, key: Key) -> bool:
        """Whether the metric follows from the moments of many processes, and is no time of its own."""
        return bool(self.workload(key[0])["groups"]) and key[1] in DERIVED

    def is_overhead(self, cell: str, metric: str) -> bool:
        """Whether the metric is there only to be subtracted from another, or to be held against it."""
        if any(one["less"] == metric for one in self.workload(cell)["metrics"]):
            return True
        return self.is_derived((cell, metric))

    def lens(self, cell: str) -> str:
        return GROUP if self.cells[cell].copies > 1 else _LENSES.get(self.group(cell), TYPICAL)

    def cells_and_metrics(self) -> list[Key]:
        """Every cell and metric of the experiment, in the study's order."""
        workloads = self.experiment.header["workloads"]
        return [
            (label, metric["name"])
            for label, cell in self.cells.items()
            for metric in (
                *workloads[cell.workload]["metrics"],
                *({"name": name} for name in DERIVED if workloads[cell.workload]["groups"]),
            )
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
        values = [one.shown(lens) for one in self.values[key].get(system, {}).values()]
        if self.workload(key[0])["measure"] == "count":
            values = [1 / value for value in values]
        return order_statistics.median(np.array(values)) if values else None

    def boots(self, system: str, key: Key) -> int:
        if system not in self.boot_systems:
            return 1
        return len({one.boot for one in self.values[key].get(system, {}).values()})


def derived(group: Group, metric: str) -> float:
    """One of DERIVED, of one group."""
    moments = group.moments
    if metric == ALONE:
        return group.alone_ns
    if metric == "price":
        return multiprogramming.price(moments, alone=group.alone_ns)
    if metric == "start_delay":
        return float(np.quantile(multiprogramming.start_delays(moments), 0.95))
    own = multiprogramming.elapsed(moments)
    return float(own.mean()) if metric == "elapsed" else multiprogramming.spread(own)


def _moments(
    processors: int,
    asked: Sequence[int | None],
    began: Sequence[int | None],
    ended: Sequence[int | None],
    marks: Sequence[Sequence[int | None]],
) -> Moments:
    def column(numbers: Sequence[Any]) -> Array:
        return np.array(numbers, dtype=np.float64)

    return Moments(column(asked), column(began), column(ended), column(marks), processors)


def _plain(boot: int, number: float) -> Value:
    """A value that is the same by every lens."""
    return Value(boot, dict.fromkeys((FLOOR, TYPICAL, COST, GROUP), number))


def _geometric_mean(values: Sequence[Value]) -> Value:
    def mean(numbers: Iterable[float]) -> float:
        return math.exp(float(np.mean(np.log(list(numbers)))))

    lenses = {lens: mean(one.lenses[lens] for one in values) for lens in values[0].lenses}
    sizes = [one.bytes for one in values if one.bytes is not None]
    return Value(values[0].boot, lenses, mean(sizes) if sizes else None)


def _less(whole: Value, over: Value) -> Value | None:
    lenses = {lens: ns - over.lenses[lens] for lens, ns in whole.lenses.items()}
    return Value(whole.boot, lenses, whole.bytes) if min(lenses.values()) > 0 else None
