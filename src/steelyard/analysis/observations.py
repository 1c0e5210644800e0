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

import numpy as np

from steelyard.analysis import crowds, loads, trials
from steelyard.analysis.crowds import DERIVED, Crowd
from steelyard.analysis.model import Trouble
from steelyard.analysis.rows import Rows, ValueRow
from steelyard.archive.experiments import Experiment
from steelyard.errors import UnknownName
from steelyard.statistics import order_statistics
from steelyard.statistics.signed_rank import Array, Estimate

# How a trial's batches become one number. The floor (lower quartile) is steadiest for work that only
# other work can slow down; work that sleeps and wakes has no floor worth the name.
FLOOR, TYPICAL, COST, GROUP = "floor", "typical", "cost", "group"
_LENSES = {"cpu": FLOOR, "syscall": FLOOR, "memory": FLOOR, "harness": FLOOR}


@dataclass(frozen=True, slots=True)
class Value:
    """A trial's numbers for one metric, in ns per operation, by lens."""

    boot: int
    lenses: Mapping[str, float]
    bytes: float | None = None  # that an operation moves, where a bandwidth is measured

    def for_people(self, lens: str) -> float:
        """The number as people see it: ns per operation, or the bandwidth in MB/s (of 10^6 bytes)."""
        return self.lenses[lens] if self.bytes is None else 1000 * self.bytes / self.lenses[lens]


def lenses_of(row: ValueRow) -> dict[str, float]:
    """The numbers that the trial's batches become, by lens."""
    return {FLOOR: row.floor, TYPICAL: row.typical, COST: row.cost, GROUP: row.group}


Key = tuple[str, str]  # a cell's label and a metric
Curve = dict[int, Value]  # a trial's, by point


class Observations:
    """One experiment's rows, as the steps after this need them."""

    def __init__(
        self,
        experiment: Experiment,
        rows: Rows,
        *,
        baseline: str | None = None,
    ) -> None:
        header = experiment.header
        self.experiment = experiment
        self.rows = rows
        self.names: tuple[str, ...] = tuple(header["systems"])
        if baseline is not None and baseline not in self.names:
            raise UnknownName("system", baseline, self.names, where=f"experiment {experiment.name}: ")
        self.baseline = baseline or self.names[0]
        self.others = tuple(name for name in self.names if name != self.baseline)
        self.boot_systems = frozenset(header["boot_systems"])
        self.cells = {cell.label: cell for cell in experiment.cells}
        self.trials = len(rows.trials)
        self.troubles = trials.troubles(rows)
        self.curves: dict[Key, dict[str, dict[int, Curve]]] = defaultdict(lambda: defaultdict(dict))
        self.crowds = crowds.all_of(rows)
        self.codes = trials.codes(rows)
        self.values = self._values_of(rows)
        self.disturbed = trials.disturbed(rows)
        self.clocks = trials.clocks(rows)
        self.seconds = trials.seconds(rows)
        self._positions = {(one.system, one.cell, one.block): one.position for one in rows.trials}

    def _values_of(self, rows: Rows) -> dict[Key, dict[str, dict[int, Value]]]:
        """For each cell and metric, for each system, for each block: the trial's numbers. A curve's are
        kept in `curves` as well; here it is the geometric mean over the points that every system has."""
        values: dict[Key, dict[str, dict[int, Value]]] = defaultdict(lambda: defaultdict(dict))
        timeless: Counter[tuple[str, str, str]] = Counter()
        for row in rows.values:
            lenses = lenses_of(row)
            if min(lenses.values()) <= 0 and self._unit_of(row.cell, row.metric) == "ns":
                timeless[row.system, row.cell, row.metric] += 1
                continue
            value = Value(row.boot, lenses, row.bytes)
            if row.point is None:
                values[row.cell, row.metric][row.system][row.block] = value
            else:
                self.curves[row.cell, row.metric][row.system].setdefault(row.block, {})[row.point] = value
        self.troubles += [
            Trouble(system, cell, "failed", count, f"{metric} took no time by its clock")
            for (system, cell, metric), count in sorted(timeless.items())
        ]
        for key, by_system in self.curves.items():
            points = self.common_points(key)
            for system, by_block in by_system.items():
                for block, curve in by_block.items() if points else ():
                    values[key][system][block] = _geometric_mean([curve[point] for point in points])
        self._subtract(values)
        for count in rows.counts:
            if count.value > 0 and self.workload(count.cell)["measure"] == "count":  # else a monitor's
                value = _plain(count.boot, 1 / count.value)
                values[count.cell, count.metric][count.system][count.block] = value
        self._derive(values)
        return values

    def _derive(self, values: dict[Key, dict[str, dict[int, Value]]]) -> None:
        """Adds the metrics that follow from the moments of each trial's processes; the median where a
        trial has several groups. Failed trials yield none, because they did a different amount of work."""
        for (cell, system), members in self.crowds.items():
            by_block: dict[int, list[Crowd]] = defaultdict(list)
            for crowd in members:
                if crowd.is_ok:
                    by_block[crowd.block].append(crowd)
            for block, ones in by_block.items():
                for metric in DERIVED:
                    number = float(np.median([crowds.derived(crowd, metric) for crowd in ones]))
                    if number > 0:
                        values[cell, metric][system][block] = _plain(ones[0].boot, number)

    def common_points(self, key: Key) -> list[int]:
        """The points that every trial of the curve has, on every system that has any."""
        curves = [curve for by_block in self.curves[key].values() for curve in by_block.values()]
        return sorted(set.intersection(*(set(curve) for curve in curves))) if curves else []

    def _subtract(self, values: dict[Key, dict[str, dict[int, Value]]]) -> None:
        """Subtracts a metric's declared overhead, trial by trial. A metric that is not more than its
        overhead is left out, and reported as trouble."""
        unresolved: Counter[tuple[str, str, str]] = Counter()
        for label, cell in self.cells.items():
            for metric in self.experiment.header["workloads"][cell.workload]["metrics"]:
                if metric["less"] is None:
                    continue
                for system, by_block in values[label, metric["name"]].items():
                    over = values[label, metric["less"]].get(system, {})
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

    def group(self, cell: str) -> str:
        return str(self.workload(cell)["group"])

    def workload(self, cell: str) -> Mapping[str, Any]:
        """What the header says of the cell's workload."""
        workload: Mapping[str, Any] = self.experiment.header["workloads"][self.cells[cell].workload]
        return workload

    def unit(self, key: Key) -> tuple[str, str]:
        """The unit that the metric's values are shown in, and which direction is better."""
        cell, metric = key
        workload = self.workload(cell)
        if self.is_derived(key):
            return DERIVED[metric], "none" if metric in crowds.NEUTRAL else "lower"
        if workload["measure"] == "count":
            return str(workload["counts"]), "higher"
        entry = next(one for one in workload["metrics"] if one["name"] == metric)
        unit, is_reported = self._unit_of(cell, metric), entry.get("reported", False)
        if unit != "ns":
            return unit, "none"
        if workload["measure"] == "bandwidth" and not is_reported:
            return "MB/s", "higher"
        is_neutral = metric in loads.NEUTRAL and is_reported
        return f"ns per {entry.get('per') or workload['operation']}", "none" if is_neutral else "lower"

    def _unit_of(self, cell: str, metric: str) -> str:
        """The unit in which the load program measures it."""
        metrics = self.workload(cell)["metrics"]
        return next((str(one.get("unit", "ns")) for one in metrics if one["name"] == metric), "ns")

    def busy(self, cell: str, system: str) -> float | None:
        """The share of its time in which the load's generator worked; None where there is none."""
        times, clients, beyond = (
            self._by_block(cell, metric, system) for metric in (loads.TIME, loads.CLIENT, loads.BEYOND_CLIENT)
        )
        return loads.busy(self.cells[cell].workload, times, clients, beyond)

    def was_late(self, cell: str, system: str) -> bool:
        """Whether the load's generator, being late, was what gave way in most trials."""
        late, beyond = (self._by_block(cell, one, system) for one in (loads.BEYOND_LATE, loads.BEYOND_CLIENT))
        return 2 * sum(one > 0 for one in late.values()) > len(beyond)

    def gave_way(self, key: Key, system: str) -> str | None:
        """What is known of the rate that a server did not hold; None where none was looked for."""
        cell, metric = key
        numbers = (list(self._by_block(cell, one, system).values()) for one in loads.BEYOND)
        return loads.gave_way(metric, *(float(np.median(one)) if one else None for one in numbers))

    def _by_block(self, cell: str, metric: str, system: str) -> dict[int, float]:
        lens = self.lens(cell)
        return {
            block: value.lenses[lens] for block, value in self.values[cell, metric].get(system, {}).items()
        }

    def is_derived(self, key: Key) -> bool:
        """Whether the metric follows from the moments of many processes, and is no time of its own."""
        return bool(self.workload(key[0])["groups"]) and key[1] in DERIVED

    def is_in_mean(self, cell: str, metric: str) -> bool:
        """Whether the metric is a time that the workload is there to measure. Not in a mean are what is only
        subtracted from another, what follows from a group's moments, and what a workload reports beside its
        time: latencies, processor times, bytes. Where it measures no time, the first that it reports is its
        time."""
        metrics = self.workload(cell)["metrics"]
        if any(one["less"] == metric for one in metrics) or self.is_derived((cell, metric)):
            return False
        measured = [one["name"] for one in metrics if not one.get("reported", False)]
        return metric in (measured or [metrics[0]["name"]])

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

    def is_judged(self, key: Key) -> bool:
        """Whether more or less of the metric is better by itself: only then there is a verdict."""
        return self.unit(key)[1] != "none"

    def logs(self, key: Key, system: str, lens: str) -> dict[int, tuple[float, float]]:
        """For each block that has both: log values of the baseline and of the system; larger is better."""
        base, other = (self.values[key].get(name, {}) for name in (self.baseline, system))
        return {
            block: (-math.log(base[block].lenses[lens]), -math.log(other[block].lenses[lens]))
            for block in sorted(base.keys() & other.keys())
        }

    def differences(self, key: Key, system: str, lens: str) -> dict[int, float]:
        """For each block that has both: how much better the system is, on the log scale."""
        return {block: theirs - ours for block, (ours, theirs) in self.logs(key, system, lens).items()}

    def baseline_first(self, cell: str, system: str, blocks: Iterable[int]) -> list[bool]:
        """Whether the baseline's trial of the cell went before the system's, block by block."""
        return [
            self._positions[self.baseline, cell, block] < self._positions[system, cell, block]
            for block in blocks
        ]

    def units(self, key: Key, system: str, by_block: Mapping[int, float]) -> Array:
        """What is replicated: the mean of each boot's blocks, or the blocks of the one boot there is."""
        by_boot: dict[tuple[int, ...], list[float]] = defaultdict(list)
        for block, number in by_block.items():
            by_boot[self.boots_of(key, system, block)].append(number)
        if len(by_boot) > 1:
            return np.array([np.mean(numbers) for numbers in by_boot.values()])
        return np.array(list(by_block.values()))

    def boots_of(self, key: Key, system: str, block: int) -> tuple[int, ...]:
        """The boots of the baseline and the system in which the block was measured; of those that boot."""
        return tuple(
            self.values[key][name][block].boot
            for name in (self.baseline, system)
            if name in self.boot_systems
        )

    def median(self, key: Key, system: str) -> Estimate | None:
        """The median over trials with its 95 % interval; None without trials."""
        lens = self.lens(key[0])
        values = [one.for_people(lens) for one in self.values[key].get(system, {}).values()]
        if self.workload(key[0])["measure"] == "count":
            values = [1 / value for value in values]
        return order_statistics.median(np.array(values)) if values else None

    def boots(self, system: str, key: Key) -> int:
        if system not in self.boot_systems:
            return 1
        return len({one.boot for one in self.values[key].get(system, {}).values()})


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
