"""Turns an experiment's rows into observations: one number per trial and metric, paired by block.

It only reads the archive. A trial's batches become one number, by a lens; the trials of one block make a
pair. If a system's start is a boot, the pairs of one boot become one number again, because boots are then the
unit of replication.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.analysis import concurrent_runs, loads
from steelyard.analysis.concurrent_runs import DERIVED, ConcurrentRun
from steelyard.analysis.remarks import (
    ConnectionsClosed,
    GaveWay,
    NotAboveOverhead,
    Remark,
    StoodStill,
    Timeless,
    Trouble,
)
from steelyard.analysis.rows import Rows, UsageRow, ValueRow
from steelyard.analysis.trials import Trials
from steelyard.archive.experiments import StoredExperiment
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
    together: float | None = None  # when the trials began that took turns with this one
    logs: Array | None = None  # of each batch's time, if there was one

    def for_people(self, lens: str) -> float:
        """The number as people see it: ns per operation, or the bandwidth in MB/s (of 10^6 bytes)."""
        return self.lenses[lens] if self.bytes is None else 1000 * self.bytes / self.lenses[lens]


def lenses_of(row: ValueRow) -> dict[str, float]:
    """The numbers that the trial's batches become, by lens."""
    return {FLOOR: row.floor, TYPICAL: row.typical, COST: row.cost, GROUP: row.group}


Key = tuple[str, str]  # a cell's label and a metric
# User plus system time of a trial's operations, as a metric beside each that is timed, of work that computes:
# its processes hardly ever give up the processor by themselves.
PROCESSOR_TIME = "processor time"
_COMPUTING = ("cpu", "memory", "syscall", "process")  # groups in which work may do so
_ALWAYS = ("command",)  # the user's own, of which processor time is asked for whether or not it waits
_SLEEPS_MOST, _SLEEPS_PER_S = 5, 20.0  # of a trial; and of a second of processor time
_COARSE_NS = 1_000_000  # times that are all whole ones of these were counted by clock ticks
Curve = dict[int, Value]  # a trial's, by point


def _absent(header: Mapping[str, Any], rows: Rows) -> dict[str, str]:
    """The systems that could not start and were left out, and why. A machine that did not come up at some
    boot is another matter (`reboots`)."""
    measured = {one.system for one in rows.trials} | {header["systems"][0]} | set(header.get("machines", {}))
    return {name: rows.absent[name] for name in header["systems"] if name in rows.absent.keys() - measured}


class Observations:
    """One experiment's rows, as the steps after this need them."""

    def __init__(
        self,
        experiment: StoredExperiment,
        rows: Rows,
        *,
        baseline: str | None = None,
    ) -> None:
        header = experiment.header
        self.experiment = experiment
        self.rows = rows
        self.absent = _absent(header, rows)
        self.names: tuple[str, ...] = tuple(name for name in header["systems"] if name not in self.absent)
        if baseline is not None and baseline not in self.names:
            raise UnknownName("system", baseline, self.names, where=f"experiment {experiment.name}: ")
        self.baseline = baseline or self.names[0]
        self.others = tuple(name for name in self.names if name != self.baseline)
        self.boot_systems = frozenset(header["boot_systems"])
        self._in_turns = frozenset(header.get("in_turns", ()))  # cells
        self.cells = {cell.label: cell for cell in experiment.cells}
        self.curves: dict[Key, dict[str, dict[int, Curve]]] = defaultdict(lambda: defaultdict(dict))
        self.concurrent_runs: dict[tuple[str, str], list[ConcurrentRun]] = defaultdict(
            list
        )  # by cell and system
        self.values: dict[Key, dict[str, dict[int, Value]]] = defaultdict(lambda: defaultdict(dict))
        self._used: dict[Key, dict[str, list[UsageRow]]] = defaultdict(lambda: defaultdict(list))
        self._trials = Trials()
        self._failures: dict[type[Timeless | NotAboveOverhead], Counter[tuple[str, str, str]]] = defaultdict(
            Counter
        )
        self._positions: dict[tuple[str, str, int], int] = {}
        self._add(rows)

    def add(self, rows: Rows) -> None:
        """Adds these rows of the same experiment, each trial's all at once."""
        self.rows.extend(rows)
        self.absent = _absent(self.experiment.header, self.rows)
        self._add(rows)

    def _add(self, rows: Rows) -> None:
        self._trials.add(rows.trials)
        self._positions |= {(one.system, one.cell, one.block): one.position for one in rows.trials}
        new = self._take(rows.values)
        self._subtract(new)
        for count in rows.counts:
            if count.value > 0 and self.workload(count.cell)["measure"] == "count":  # else a monitor's
                value = _plain(count.boot, self._less_is_better((count.cell, count.metric), count.value))
                self.values[count.cell, count.metric][count.system][count.block] = value
        self._derive(concurrent_runs.all_of(rows))
        for used in rows.usage:
            self._used[used.cell, used.metric][used.system].append(used)
            spent_ns = used.user_ns + used.system_ns
            if used.operations and spent_ns:
                value = _plain(1, spent_ns / used.operations)
                self.values[processor_time(used.cell, used.metric)][used.system][used.block] = value

    def processor_keys(self) -> Iterator[tuple[Key, str]]:
        """The keys of CPU time to compare, and the systems: those where both kernels account exactly and in
        the same way. A guest's kernel counts only what it sees itself, which is not its cost.
        """
        here = self.experiment.header.get("systems_here", self.names)
        alike = [name for name in self.names if name in here and name not in self.boot_systems]
        if self.baseline not in alike:
            return
        for key in self.cells_and_metrics():
            if self.group(key[0]) not in _COMPUTING or len(self.common_points(key)) > 1:
                continue
            if self._unit_of(*key) != "ns":
                continue
            for system in self.others:
                if system in alike and all(self._computes(key, one) for one in (self.baseline, system)):
                    yield processor_time(*key), system

    def _computes(self, key: Key, system: str) -> bool:
        rows = self._used[key].get(system, ())
        sleeps = [one.sleeps for one in rows if one.sleeps is not None]
        spent_ns = [one.user_ns + one.system_ns for one in rows]
        if not sleeps or not any(one % _COARSE_NS for one in spent_ns):
            return False
        if self.cells[key[0]].workload in _ALWAYS:
            return True
        most = _SLEEPS_MOST + _SLEEPS_PER_S * float(np.median(spent_ns)) / 1e9
        return float(np.median(sleeps)) <= most

    def _take(self, rows: Iterable[ValueRow]) -> dict[Key, set[tuple[str, int]]]:
        """Takes the times in: for each cell and metric, for each system, for each block the trial's numbers;
        returns which are new. A curve's are kept in `curves` as well, and its value is the geometric mean
        over the points that every trial has, and so new each time."""
        new: dict[Key, set[tuple[str, int]]] = defaultdict(set)
        for row in rows:
            lenses, key = lenses_of(row), (row.cell, row.metric)
            if min(lenses.values()) <= 0 and (self._unit_of(*key) == "ns" or self._direction_of(*key)):
                if row.metric not in loads.NEUTRAL:  # these say by 0 that there was no such thing
                    self._failures[Timeless][row.system, row.cell, row.metric] += 1
                continue
            if self._direction_of(*key):
                lenses = {name: self._less_is_better(key, number) for name, number in lenses.items()}
            logs = None if row.times is None else np.log(row.times)
            value = Value(row.boot, lenses, row.bytes, row.together, logs)
            if row.point is None:
                self.values[key][row.system][row.block] = value
            else:
                self.curves[key][row.system].setdefault(row.block, {})[row.point] = value
            new[key].add((row.system, row.block))
        for key in [key for key in new if key in self.curves]:
            points = self.common_points(key)
            for system, by_block in self.curves[key].items():
                for block, curve in by_block.items() if points else ():
                    values = [curve[point] for point in points]
                    self.values[key][system][block] = (
                        values[0] if len(values) == 1 else _geometric_mean(values)
                    )
                    new[key].add((system, block))
        return new

    def _derive(self, more: Mapping[tuple[str, str], Sequence[ConcurrentRun]]) -> None:
        """Adds the metrics that follow from the moments of each trial's processes; the median where a
        trial has several groups. Failed trials yield none, because they did a different amount of work."""
        for (cell, system), members in more.items():
            self.concurrent_runs[cell, system] += members
            by_block: dict[int, list[ConcurrentRun]] = defaultdict(list)
            for concurrent_run in members:
                if concurrent_run.is_ok:
                    by_block[concurrent_run.block].append(concurrent_run)
            for block, ones in by_block.items():
                for metric in DERIVED:
                    number = float(
                        np.median(
                            [concurrent_runs.derived(concurrent_run, metric) for concurrent_run in ones]
                        )
                    )
                    if number > 0:
                        self.values[cell, metric][system][block] = _plain(ones[0].boot, number)

    @property
    def trials(self) -> int:
        return self._trials.many

    @property
    def troubles(self) -> list[Trouble]:
        """The failures: trials that failed, and unusable times."""
        return self._trials.troubles() + [
            Trouble(system, cell, "failed", count, kind(metric))
            for kind in (Timeless, NotAboveOverhead)
            for (system, cell, metric), count in sorted(self._failures[kind].items())
        ]

    @property
    def clocks(self) -> Mapping[tuple[str, str], float]:
        """The relative deviation of the clock from the laboratory's, by system and cell."""
        return self._trials.clocks

    @property
    def seconds(self) -> Mapping[tuple[str, str], float]:
        """The duration of a trial, by system and cell."""
        return self._trials.seconds

    def codes(self, system: str, cell: str) -> tuple[str, ...] | None:
        """The digests of the machine code of a workload; None if it has none of its own."""
        return self._trials.codes(system, cell)

    def is_disturbed(self, block: int, system: str, cell: str) -> bool:
        """True if processes waited unusually long for a processor in that trial."""
        return self._trials.is_disturbed(block, system, cell)

    def common_points(self, key: Key) -> list[int]:
        """The points that every trial of the curve has, on every system that has any."""
        by_system = self.curves.get(key, {})
        curves = [curve for by_block in by_system.values() for curve in by_block.values()]
        return sorted(set.intersection(*(set(curve) for curve in curves))) if curves else []

    def _subtract(self, new: Mapping[Key, Collection[tuple[str, int]]]) -> None:
        """Subtracts a metric's declared overhead, trial by trial. A metric that is not more than its
        overhead is left out, and reported as trouble."""
        for key, which in new.items():
            cell, metric = key
            metrics = self.experiment.header["workloads"][self.cells[cell].workload]["metrics"]
            less: str | None = next((one["less"] for one in metrics if one["name"] == metric), None)
            if less is None:
                continue
            if key in self.curves:  # whose values are all new
                for system in self.names:
                    self._failures[NotAboveOverhead].pop((system, cell, metric), None)
            for system, block in which:
                over = self.values[cell, less].get(system, {}).get(block)
                net = _less(self.values[key][system][block], over) if over is not None else None
                if net is None:
                    del self.values[key][system][block]
                    self._failures[NotAboveOverhead][system, cell, metric] += 1
                else:
                    self.values[key][system][block] = net

    def group(self, cell: str) -> str:
        return str(self.workload(cell)["group"])

    def workload(self, cell: str) -> Mapping[str, Any]:
        """The header's entry for the cell's workload."""
        workload: Mapping[str, Any] = self.experiment.header["workloads"][self.cells[cell].workload]
        return workload

    def unit(self, key: Key) -> tuple[str, str]:
        """The unit that the metric's values are shown in, and which direction is better."""
        cell, metric = key
        workload = self.workload(cell)
        if metric.endswith(PROCESSOR_TIME):
            return f"ns of a processor per {workload['operation']}", "lower"
        if self.is_derived(key):
            return DERIVED[metric], "none" if metric in concurrent_runs.NEUTRAL else "lower"
        if workload["measure"] == "count":
            return str(workload["counts"]), "lower" if workload.get("fewer") else "higher"
        entry = next(one for one in workload["metrics"] if one["name"] == metric)
        unit, is_reported = self._unit_of(cell, metric), entry.get("reported", False)
        direction = self._direction_of(cell, metric)
        if unit != "ns" or direction:
            return unit, direction or "none"
        if workload["measure"] == "bandwidth" and not is_reported:
            return "MB/s", "higher"
        is_neutral = metric in loads.NEUTRAL and is_reported
        return f"ns per {entry.get('per') or workload['operation']}", "none" if is_neutral else "lower"

    def _unit_of(self, cell: str, metric: str) -> str:
        """The unit in which the load program measures it."""
        metrics = self.workload(cell)["metrics"]
        return next((str(one.get("unit", "ns")) for one in metrics if one["name"] == metric), "ns")

    def _direction_of(self, cell: str, metric: str) -> str:
        """Which is better of a figure that was read from what a tool printed; "" of any other metric."""
        metrics = self.workload(cell)["metrics"]
        return next((str(one.get("better", "")) for one in metrics if one["name"] == metric), "")

    def busy(self, cell: str, system: str) -> float | None:
        """The share of its time in which the load's generator worked; None where there is none."""
        time = loads.BETWEEN if self.cells[cell].workload == loads.RECORDED else loads.TIME
        times, clients, beyond = (
            self._by_block(cell, metric, system) for metric in (time, loads.CLIENT, loads.BEYOND_CLIENT)
        )
        loops = int(dict(self.cells[cell].parameters).get("threads", 1))
        return loads.busy(self.cells[cell].workload, loops, times, clients, beyond)

    def was_late(self, cell: str, system: str) -> bool:
        """True if in most trials the rate was given up because the load generator was late."""
        late, beyond = (self._by_block(cell, one, system) for one in (loads.BEYOND_LATE, loads.BEYOND_CLIENT))
        return 2 * sum(one > 0 for one in late.values()) > len(beyond)

    def gave_way(self, key: Key, system: str) -> GaveWay | None:
        """The facts on the rate that a server did not hold; None if no such rate was searched."""
        cell, metric = key
        numbers = (list(self._by_block(cell, one, system).values()) for one in loads.BEYOND)
        return loads.gave_way(system, metric, *(float(np.median(one)) if one else None for one in numbers))

    def waits(self) -> Iterable[Remark]:
        """What the quantiles of loads on web servers do not show: of each system and kind, the worst cell."""
        for system in self.names:
            closed = [one for cell in self.cells for one in self._closed(cell, system)]
            told = [cell for cell, of in self.cells.items() if of.workload != loads.RECORDED]
            stood = [one for cell in told for one in self._stood_still(cell, system)]
            if closed:
                yield replace(max(closed, key=lambda one: one.opened), cells=len(closed))
            if stood:
                yield replace(max(stood, key=lambda one: one.share), cells=len(stood))

    def _closed(self, cell: str, system: str) -> Iterable[ConnectionsClosed]:
        of = self.cells[cell]
        found = loads.closed(system, cell, self._by_block(cell, loads.CONNECTIONS, system))
        if found and of.workload in loads.KEEPING and dict(of.parameters).get("connection", 0) == 0:
            yield found

    def _stood_still(self, cell: str, system: str) -> Iterable[StoodStill]:
        figures = (self._by_block(cell, one, system) for one in (loads.SILENT, loads.LONGEST, "latency_99"))
        if found := loads.stood_still(system, cell, *figures):
            yield found

    def _by_block(self, cell: str, metric: str, system: str) -> dict[int, float]:
        lens = self.lens(cell)
        return {
            block: value.lenses[lens] for block, value in self.values[cell, metric].get(system, {}).items()
        }

    def is_derived(self, key: Key) -> bool:
        """True if the metric is derived from the moments of many processes, and is not a time itself."""
        return bool(self.workload(key[0])["groups"]) and key[1] in DERIVED

    def is_in_mean(self, cell: str, metric: str) -> bool:
        """True if the metric is a time that the workload is meant to measure. Excluded are times that are
        only subtracted from others, metrics derived from a group's moments, and metrics reported beside the
        time: latencies, CPU times, bytes. If the workload measures no time, its first reported metric stands
        for it.
        """
        metrics = self.workload(cell)["metrics"]
        if any(one["less"] == metric for one in metrics) or self.is_derived((cell, metric)):
            return False
        measured = [one["name"] for one in metrics if not one.get("reported", False)]
        return metric in (measured or [metrics[0]["name"]])

    def lens(self, cell: str) -> str:
        if cell in self._in_turns:
            return TYPICAL
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

    def cannot_have(self, key: Key) -> bool:
        """True if the cell was measured and no system reports the metric: a read-only job has no write
        times.
        """
        cell, metric = key
        names = [one["name"] for one in self.workload(cell)["metrics"]]
        reported = [one["name"] for one in self.workload(cell)["metrics"] if one.get("reported", False)]
        return (
            metric in reported
            and not self.values.get(key)
            and any(self.values.get((cell, name)) for name in names)
        )

    def is_judged(self, key: Key) -> bool:
        """True if more or less of the metric is better in itself: only then there is a verdict."""
        return self.unit(key)[1] != "none"

    def blocks_of_both(self, key: Key, system: str) -> list[int]:
        """The blocks that have the metric on the baseline and on the system, in order."""
        base, other = (self.values[key].get(name, {}) for name in (self.baseline, system))
        return sorted(base.keys() & other.keys())

    def logs(
        self, key: Key, system: str, lens: str, blocks: Iterable[int] | None = None
    ) -> dict[int, tuple[float, float]]:
        """For each block with both systems (or for the given blocks): log values of the baseline and of the
        system; larger is better.
        """
        base, other = (self.values[key].get(name, {}) for name in (self.baseline, system))
        return {
            block: _logs_of_pair(base[block], other[block], lens)
            for block in (self.blocks_of_both(key, system) if blocks is None else blocks)
        }

    def differences(self, key: Key, system: str, lens: str) -> dict[int, float]:
        """For each block with both systems: the advantage of the system, on the log scale."""
        return {block: theirs - ours for block, (ours, theirs) in self.logs(key, system, lens).items()}

    def baseline_first(self, cell: str, system: str, blocks: Iterable[int]) -> list[bool]:
        """True for each block in which the baseline's trial of the cell came before the system's."""
        return [
            self._positions[self.baseline, cell, block] < self._positions[system, cell, block]
            for block in blocks
        ]

    def units(self, key: Key, system: str, by_block: Mapping[int, float]) -> Array:
        """The units of replication: the mean of each boot's blocks, or the blocks if there is one boot."""
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
        if self.workload(key[0])["measure"] == "count" or self._direction_of(*key):
            values = [self._less_is_better(key, value) for value in values]
        return order_statistics.median(np.array(values)) if values else None

    def _less_is_better(self, key: Key, figure: float) -> float:
        """A count or a tool's figure as a value of which less is better, as of a time; and such a value as
        the figure."""
        direction = self._direction_of(*key)
        is_so = direction != "higher" if direction else self.workload(key[0]).get("fewer")
        return figure if is_so else 1 / figure

    def boots(self, system: str, key: Key) -> int:
        if system not in self.boot_systems:
            return 1
        return len({one.boot for one in self.values[key].get(system, {}).values()})


def processor_time(cell: str, metric: str) -> Key:
    """The key of the processor time beside that metric."""
    return cell, PROCESSOR_TIME if metric == "time" else f"{metric}, {PROCESSOR_TIME}"


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


def _logs_of_pair(base: Value, other: Value, lens: str) -> tuple[float, float]:
    """The log values of a pair; larger is better. If their batches took turns, they differ by the median
    over batches that followed each other: these were disturbed alike."""
    ours, theirs = -math.log(base.lenses[lens]), -math.log(other.lenses[lens])
    if lens == COST or base.logs is None or other.logs is None or base.together != other.together:
        return ours, theirs
    both = min(len(base.logs), len(other.logs))
    return ours, ours + float(np.median(base.logs[:both] - other.logs[:both]))
