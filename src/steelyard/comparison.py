"""Turns an experiment into verdicts: every comparison, gain and index, with intervals.

Reads the archive and nothing else. The trial is the observation: its batches become one number, the
trials of one block make a pair, and where a system's start is a boot, the pairs of one boot become one
number again. docs/statistics.md has every estimator's question, source and condition.
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np

from steelyard import archive
from steelyard.archive import Experiment
from steelyard.errors import UnknownName
from steelyard.statistics import false_discovery, looks, power, signed_rank, verdict
from steelyard.statistics.signed_rank import Array, Estimate
from steelyard.study import Cell

# How a trial's batches become one number. The floor (lower quartile) is steadiest for work that only
# other work can slow down; work that sleeps and wakes has no floor worth the name.
FLOOR, TYPICAL, COST, GROUP = "floor", "typical", "cost", "group"
_LENSES = {"cpu": FLOOR, "syscall": FLOOR, "memory": FLOOR, "harness": FLOOR}

CLOCK_MARGIN = 0.005  # a guest's clock that differs more from the host's is reported
_RATE = 0.05  # false discovery rate
_PRESSURE_LEAST = 0.05  # below that share of waiting, a trial is not called disturbed
_PAIRS_LEAST = 6  # fewer can never give a 95 % verdict

# One row per trial and metric. Durations become ns per operation batch by batch for the quantiles; the
# cost is all time over all work. With several copies, the group's time is that of its slowest copy, and
# the work is everybody's: so it is divided by the number of copies, as the PEGASUS paper's tables are.
_VALUES = """
    SELECT t.block, t.system, t.boot, t.cell, s.metric, any_value(t.copies) AS copies,
           quantile_cont(s.duration_ns / s.operations, 0.25) AS floor,
           quantile_cont(s.duration_ns / s.operations, 0.5) AS typical,
           sum(s.duration_ns) / sum(s.operations) AS cost,
           any_value(g.slowest) / any_value(g.operations) / any_value(t.copies) AS "group"
    FROM samples s
    JOIN trials t USING (trial)
    JOIN (SELECT trial, metric, max(total) AS slowest, any_value(operations) AS operations
          FROM (SELECT trial, metric, copy, sum(duration_ns) AS total, sum(operations) AS operations
                FROM samples GROUP BY trial, metric, copy)
          GROUP BY trial, metric) g ON g.trial = s.trial AND g.metric = s.metric
    WHERE t.status = 'ok'
    GROUP BY s.trial, t.block, t.system, t.boot, t.cell, s.metric
    ORDER BY t.block"""

# Time used per operation by all copies and their children, warm-up included, summed over trials.
_USAGE = """
    SELECT system, cell, used.metric, sum(used.user_ns) / sum(used.operations) AS user_ns,
           sum(used.system_ns) / sum(used.operations) AS system_ns
    FROM (SELECT system, cell, unnest(usage) AS used FROM trials WHERE status = 'ok')
    GROUP BY system, cell, used.metric"""

_STATUSES = """
    SELECT system, cell, status, count(*) AS trials, any_value(reason) AS reason,
           any_value(signal) AS signal
    FROM trials WHERE status <> 'ok' GROUP BY system, cell, status ORDER BY system, cell, status"""

# What a system's clock differs by, as a fraction of the trial, beyond what the reading itself may have
# cost; towards 0, so that a slow answer is not called a wrong clock.
_CLOCKS = """
    SELECT system, cell, median(sign(guest_ns - host_ns)
                                * greatest(0, abs(guest_ns - host_ns) - clock_doubt_ns) / host_ns), count(*)
    FROM trials WHERE status = 'ok' AND host_ns > 0 GROUP BY system, cell"""

_PRESSURES = "SELECT block, system, cell, pressure FROM trials WHERE status = 'ok'"

_SYSTEMS = "SELECT system, boot, hello, fingerprint FROM systems ORDER BY recorded"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of one cell, one system against the baseline."""

    workload: str
    parameters: tuple[tuple[str, int], ...]
    cell: str  # the workload and its parameters as one label
    group: str
    metric: str
    unit: str  # of the values, such as "ns per call"
    direction: str  # "lower" or "higher": which is better
    lens: str
    system: str
    baseline: str
    baseline_value: Estimate | None
    value: Estimate | None
    ratio: Estimate | None  # above 1: the system is better than the baseline
    margin: float
    verdict: str
    p_adjusted: float | None
    blocks: int  # pairs that the verdict rests on
    boots: int  # of the system; 1 where its start is no boot
    blocks_needed: int | None  # to settle an open one, if the noise stays as it is
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """The geometric mean of ratios over a group's metrics, or over all groups (group is "all")."""

    system: str
    group: str
    ratio: Estimate | None
    metrics: int
    missing: tuple[str, ...]  # metrics that one of the two systems lacks
    blocks: int
    verdict: str


@dataclass(frozen=True, slots=True)
class Gain:
    """How much more work P copies do together than one: P means a full gain."""

    system: str
    workload: str
    metric: str
    copies: int
    gain: Estimate


@dataclass(frozen=True, slots=True)
class Trouble:
    """Trials of one cell on one system that did not end well."""

    system: str
    cell: str
    status: str
    trials: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What one operation costs on one system: medians over trials, in ns."""

    system: str
    workload: str
    copies: int
    cell: str
    metric: str
    real_ns: float
    user_ns: float
    system_ns: float


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """A system as it described itself when it first came up."""

    name: str
    boots: int
    is_boot: bool
    hello: Mapping[str, Any]
    fingerprint: Mapping[str, Any]
    clock_apart: float | None  # its clock against the laboratory's: median over trials, as a fraction


@dataclass(frozen=True, slots=True)
class Weighing:
    """All that can be said of an experiment; console, CSV, JSON and HTML show the same object."""

    experiment: Experiment
    baseline: str
    systems: tuple[SystemFacts, ...]
    comparisons: tuple[Comparison, ...]
    indices: tuple[Index, ...]
    gains: tuple[Gain, ...]
    costs: tuple[Cost, ...]
    troubles: tuple[Trouble, ...]
    blocks: int
    trials: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Value:
    boot: int
    lenses: Mapping[str, float]


_Key = tuple[str, str]  # a cell's label and a metric


def of(experiment: Experiment, *, baseline: str | None = None, margin: float | None = None) -> Weighing:
    """Everything that follows from the experiment, with the first system, or that one, as the baseline.

    `margin` takes the place of every group's own. Raises UnknownName, ArchiveError.
    """
    with archive.connect(experiment) as connection:
        return _Analysis(experiment, connection, baseline=baseline, margin=margin).weighing()


def decided(experiment: Experiment) -> list[tuple[str, Cell]]:
    """The systems and cells whose every comparison has a firm verdict: they need no more blocks."""
    firm: dict[tuple[str, str], bool] = {}
    for one in of(experiment).comparisons:
        pair = (one.system, one.cell)
        firm[pair] = firm.get(pair, True) and one.verdict in verdict.FIRM
    cells = {cell.label: cell for cell in archive.cells_of(experiment)}
    return [(system, cells[cell]) for (system, cell), is_firm in firm.items() if is_firm]


class _Analysis:
    """The steps from rows to verdicts, over one experiment's tables."""

    def __init__(
        self,
        experiment: Experiment,
        connection: duckdb.DuckDBPyConnection,
        *,
        baseline: str | None,
        margin: float | None,
    ) -> None:
        header = experiment.header
        self.experiment = experiment
        self.connection = connection
        self.names: tuple[str, ...] = tuple(header["systems"])
        if baseline is not None and baseline not in self.names:
            raise UnknownName("system", baseline, self.names, where=f"experiment {experiment.name}: ")
        self.baseline = baseline or self.names[0]
        self.boot_systems = frozenset(header["boot_systems"])
        self.levels = looks.levels(len(header["looks"]))
        self.cells = {cell.label: cell for cell in archive.cells_of(experiment)}
        self.margin = margin
        self.values = self._read_values()
        self.disturbed = self._read_disturbed()
        self.clocks = self._rows_by(_CLOCKS)
        self.troubles = tuple(
            Trouble(system, cell, status, count, reason or (f"signal {number}" if number else None))
            for system, cell, status, count, reason, number in connection.execute(_STATUSES).fetchall()
        )

    def weighing(self) -> Weighing:
        counted = self.connection.execute("SELECT count(*), count(DISTINCT block) FROM trials").fetchone()
        assert counted is not None
        comparisons = self._comparisons()
        facts = self._facts()
        return Weighing(
            experiment=self.experiment,
            baseline=self.baseline,
            systems=facts,
            comparisons=comparisons,
            indices=tuple(self._indices(comparisons)),
            gains=tuple(self._gains()),
            costs=tuple(self._costs()),
            troubles=self.troubles,
            blocks=counted[1],
            trials=counted[0],
            warnings=tuple(_warnings(facts, self.baseline)),
        )

    # Rows

    def _read_values(self) -> dict[_Key, dict[str, dict[int, _Value]]]:
        """For each cell and metric, for each system, for each block: the trial's numbers."""
        found: dict[_Key, dict[str, dict[int, _Value]]] = defaultdict(lambda: defaultdict(dict))
        for block, system, boot, cell, metric, _, *numbers in self.connection.execute(_VALUES).fetchall():
            lenses = dict(zip((FLOOR, TYPICAL, COST, GROUP), numbers, strict=True))
            if all(number > 0 for number in numbers):
                found[cell, metric][system][block] = _Value(boot, lenses)
        return found

    def _rows_by(self, query: str) -> dict[tuple[str, str], tuple[float, int]]:
        return {(system, cell): (apart, count)
                for system, cell, apart, count in self.connection.execute(query).fetchall()}

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
            found |= {(block, system, cell) for block, pressure in rows
                      if pressure > max(limit, _PRESSURE_LEAST)}
        return found

    # Comparisons

    def _group(self, cell: str) -> str:
        return str(self.experiment.header["workloads"][self.cells[cell].workload]["group"])

    def _lens(self, cell: str) -> str:
        return GROUP if self.cells[cell].copies > 1 else _LENSES.get(self._group(cell), TYPICAL)

    def _margin(self, cell: str) -> float:
        return self.margin or float(self.experiment.header["margins"][self._group(cell)])

    def _keys(self) -> list[_Key]:
        """Every cell and metric of the experiment, in the study's order."""
        workloads = self.experiment.header["workloads"]
        return [(label, metric) for label, cell in self.cells.items()
                for metric in workloads[cell.workload]["metrics"]]

    def _differences(self, key: _Key, system: str, lens: str) -> dict[int, float]:
        """For each block that has both: ln(baseline) - ln(system), above 0 where the system is better."""
        base, other = (self.values[key].get(name, {}) for name in (self.baseline, system))
        return {block: math.log(base[block].lenses[lens]) - math.log(other[block].lenses[lens])
                for block in sorted(base.keys() & other.keys())}

    def _units(self, key: _Key, system: str, by_block: Mapping[int, float]) -> Array:
        """What is replicated: the mean of each boot's blocks, or the blocks of the one boot there is."""
        by_boot: dict[tuple[int, ...], list[float]] = defaultdict(list)
        for block, difference in by_block.items():
            boots = tuple(self.values[key][name][block].boot
                          for name in (self.baseline, system) if name in self.boot_systems)
            by_boot[boots].append(difference)
        if len(by_boot) > 1:
            return np.array([np.mean(differences) for differences in by_boot.values()])
        return np.array(list(by_block.values()))

    def _comparisons(self) -> tuple[Comparison, ...]:
        others = [name for name in self.names if name != self.baseline]
        drafts = [self._draft(key, system) for key in self._keys() for system in others]
        p_values = self._adjusted([draft for draft in drafts if draft is not None])
        claimed = sum(p <= _RATE for p in p_values.values())
        equal = self._equivalent([draft for draft in drafts if draft is not None])
        rate = claimed / max(1, len(p_values))
        found = []
        for (key, system), draft in zip(((k, s) for k in self._keys() for s in others), drafts, strict=True):
            if draft is None:
                found.append(self._empty(key, system))
            else:
                found.append(self._finish(draft, p_values[key, system], rate, equal[key, system]))
        return tuple(found)

    def _draft(self, key: _Key, system: str) -> "_Draft | None":
        by_block = self._differences(key, system, self._lens(key[0]))
        if not by_block:
            return None
        return _Draft(key, system, by_block, self._units(key, system, by_block))

    def _adjusted(self, drafts: Sequence["_Draft"]) -> dict[tuple[_Key, str], float]:
        """Two-sided p-values, widened for the looks, corrected within and across families; a family is
        a group of workloads on one system."""
        families: dict[tuple[str, str], list[_Draft]] = defaultdict(list)
        for draft in drafts:
            families[draft.system, self._group(draft.key[0])].append(draft)
        widen = 0.05 / self.levels.alpha_95
        raw = [[min(1.0, signed_rank.p_two_sided(draft.units) * widen) for draft in family]
               for family in families.values()]
        corrected = false_discovery.two_stage(raw) if raw else []
        return {(draft.key, draft.system): p
                for family, ps in zip(families.values(), corrected, strict=True)
                for draft, p in zip(family, ps, strict=True)}

    def _equivalent(self, drafts: Sequence["_Draft"]) -> dict[tuple[_Key, str], bool]:
        """Whether two one-sided tests at the margin both reject, corrected over all comparisons."""
        widen = 0.05 / (self.levels.alpha_90 / 2)
        raw = []
        for draft in drafts:
            far = math.log1p(self._margin(draft.key[0]))
            worse = max(signed_rank.p_greater(draft.units, than=-far),
                        signed_rank.p_greater(-draft.units, than=-far))
            raw.append(min(1.0, worse * widen))
        return {(draft.key, draft.system): p <= _RATE
                for draft, p in zip(drafts, false_discovery.adjusted(raw), strict=True)}

    def _finish(self, draft: "_Draft", p: float, rate: float, equal: bool) -> Comparison:
        """The comparison, with the interval its claim deserves: a claimed difference gets one at the false
        coverage rate (Benjamini and Yekutieli, 2005), any other the usual 95 %."""
        margin = self._margin(draft.key[0])
        usual = signed_rank.estimate(draft.units, alpha=self.levels.alpha_95)
        shown, word = usual, verdict.UNRESOLVED
        if p <= _RATE:
            shown = _claimable(draft.units, self.levels.alpha_95 * rate)
            word = _claimed_word(shown, margin)
        elif equal:
            word = verdict.EQUIVALENT
        flags = self._flags(draft, word, margin)
        if "the verdict rests on disturbed blocks" in flags:
            word = verdict.UNRESOLVED
        return replace(
            self._empty(draft.key, draft.system),
            ratio=_exp(shown),
            verdict=word,
            p_adjusted=p,
            blocks=len(draft.by_block),
            boots=self._boots(draft.system, draft.key),
            blocks_needed=None if word in verdict.FIRM else _blocks_needed(draft, margin),
            flags=flags,
        )

    def _empty(self, key: _Key, system: str) -> Comparison:
        """The comparison with what is known without a pair."""
        label, metric = key
        cell = self.cells[label]
        workload = self.experiment.header["workloads"][cell.workload]
        return Comparison(
            workload=cell.workload,
            parameters=cell.parameters,
            cell=label,
            group=workload["group"],
            metric=metric,
            unit=f"ns per {workload['operation']}",
            direction="lower",
            lens=self._lens(label),
            system=system,
            baseline=self.baseline,
            baseline_value=self._median(key, self.baseline),
            value=self._median(key, system),
            ratio=None,
            margin=self._margin(label),
            verdict=verdict.UNRESOLVED,
            p_adjusted=None,
            blocks=0,
            boots=self._boots(system, key),
            blocks_needed=None,
            flags=tuple(self._trouble_flags(label, system)) or ("no block has both systems",),
        )

    def _median(self, key: _Key, system: str) -> Estimate | None:
        """The median over trials with its exact 95 % interval by order statistics; None without trials."""
        lens = self._lens(key[0])
        values = np.sort([one.lenses[lens] for one in self.values[key].get(system, {}).values()])
        if len(values) == 0:
            return None
        below = 0
        chance = 0.5 ** len(values)
        tail = chance
        while tail <= 0.025:
            below += 1
            chance *= (len(values) - below + 1) / below
            tail += chance
        median = float(np.median(values))
        if below == 0:
            return Estimate(median)
        return Estimate(median, float(values[below - 1]), float(values[-below]), 0.95)

    def _boots(self, system: str, key: _Key) -> int:
        if system not in self.boot_systems:
            return 1
        return len({one.boot for one in self.values[key].get(system, {}).values()})

    # Flags

    def _flags(self, draft: "_Draft", word: str, margin: float) -> tuple[str, ...]:
        label, _ = draft.key
        flags = list(self._trouble_flags(label, draft.system))
        if len(draft.units) < _PAIRS_LEAST:
            flags.append(f"only {len(draft.units)} pairs: a verdict needs at least {_PAIRS_LEAST}")
        if draft.system in self.boot_systems and self._boots(draft.system, draft.key) == 1:
            flags.append("holds for this boot only")
        for system in (self.baseline, draft.system):
            apart, _ = self.clocks.get((system, label), (0.0, 0))
            if abs(apart) > CLOCK_MARGIN:
                flags.append(f"the clock of {system} differs from this machine's by {apart:+.2%}")
        flags += self._disturbance(draft, word, margin)
        flags += self._tail(draft, word, margin)
        return tuple(flags)

    def _trouble_flags(self, cell: str, system: str) -> Iterable[str]:
        for one in self.troubles:
            if one.cell == cell and one.system in (system, self.baseline):
                trials = "trial" if one.trials == 1 else "trials"
                reason = f": {one.reason}" if one.reason else ""
                yield f"{one.trials} {trials} {one.status} on {one.system}{reason}"

    def _disturbance(self, draft: "_Draft", word: str, margin: float) -> Iterable[str]:
        """What leaving out the disturbed blocks would change: nothing is left out, but it is said."""
        kept = {block: difference for block, difference in draft.by_block.items()
                if not {(block, name, draft.key[0]) for name in (self.baseline, draft.system)}
                & self.disturbed}
        away = len(draft.by_block) - len(kept)
        if not away:
            return
        units = self._units(draft.key, draft.system, kept) if kept else np.array([])
        many = f"{away} of {len(draft.by_block)} blocks disturbed by other work"
        if len(units) < _PAIRS_LEAST:
            yield f"{many}; too few without them to check"
        elif _agrees(float(np.median(signed_rank.walsh_averages(units))), word, margin):
            yield f"{many}; unchanged without them"
        else:
            yield f"{many}"
            yield "the verdict rests on disturbed blocks"

    def _tail(self, draft: "_Draft", word: str, margin: float) -> Iterable[str]:
        """Where the mean of the batches tells another story than their floor or median."""
        lens = self._lens(draft.key[0])
        if lens in (COST, GROUP) or word not in verdict.FIRM:
            return
        by_block = self._differences(draft.key, draft.system, COST)
        units = self._units(draft.key, draft.system, by_block)
        cost = signed_rank.estimate(units, alpha=self.levels.alpha_95)
        other = verdict.word(cost, cost, margin=margin)
        if other in verdict.FIRM and other != word:
            yield f"by the mean of its batches it is {other}: the difference is in the tail"

    # Indices, gains, costs, facts

    def _indices(self, comparisons: Sequence[Comparison]) -> Iterable[Index]:
        for system in self.names:
            if system == self.baseline:
                continue
            ours = [one for one in comparisons if one.system == system and one.group != "harness"]
            groups = list(dict.fromkeys(one.group for one in ours))
            for group in groups if len(groups) > 1 else []:
                yield self._index(system, group, [one for one in ours if one.group == group])
            if ours:
                yield self._index(system, "all", ours)

    def _index(self, system: str, group: str, members: Sequence[Comparison]) -> Index:
        """The weighted mean of log ratios, block by block, then Hodges-Lehmann: each group weighs the same,
        and each metric within its group. Only blocks that hold every metric count."""
        present = [one for one in members if one.blocks]
        missing = tuple(f"{one.cell} {one.metric}" for one in members if not one.blocks)
        sizes = Counter(one.group for one in present)
        by_key = {(one.cell, one.metric): self._differences((one.cell, one.metric), system, one.lens)
                  for one in present}
        shared = set.intersection(*(set(found) for found in by_key.values())) if by_key else set()
        if not shared:
            return Index(system, group, None, len(present), missing, 0, verdict.UNRESOLVED)
        weights = {(one.cell, one.metric): 1 / len(sizes) / sizes[one.group] for one in present}
        by_block = {block: sum(weights[key] * found[block] for key, found in by_key.items())
                    for block in sorted(shared)}
        units = self._units(next(iter(by_key)), system, by_block)
        estimate = signed_rank.estimate(units, alpha=self.levels.alpha_95)
        narrow = signed_rank.estimate(units, alpha=self.levels.alpha_90)
        word = verdict.word(estimate, narrow, margin=self.margin or 0.01)
        return Index(system, group, _exp(estimate), len(present), missing, len(shared), word)

    def _gains(self) -> Iterable[Gain]:
        """P copies against one, pair by pair within a block: P T(1) / T(P) as the PEGASUS paper has it."""
        for label, metric in self._keys():
            cell = self.cells[label]
            if cell.copies == 1:
                continue
            alone = replace(cell, parameters=tuple(
                (name, 1 if name == "copies" else value) for name, value in cell.parameters)).label
            for system in self.names:
                one = self.values[alone, metric].get(system, {})
                many = self.values[label, metric].get(system, {})
                logs = np.array([math.log(one[block].lenses[COST]) - math.log(many[block].lenses[GROUP])
                                 for block in sorted(one.keys() & many.keys())])
                if len(logs):
                    gain = _exp(signed_rank.estimate(logs, alpha=0.05))
                    yield Gain(system, cell.workload, metric, cell.copies, gain)

    def _costs(self) -> Iterable[Cost]:
        used = {(system, cell, metric): (user, kernel)
                for system, cell, metric, user, kernel in self.connection.execute(_USAGE).fetchall()}
        for (label, metric), by_system in self.values.items():
            lens = GROUP if self.cells[label].copies > 1 else COST
            for system, by_block in by_system.items():
                real = float(np.median([one.lenses[lens] for one in by_block.values()]))
                cell = self.cells[label]
                yield Cost(system, cell.workload, cell.copies, label, metric, real,
                           *used[system, label, metric])

    def _facts(self) -> tuple[SystemFacts, ...]:
        first: dict[str, tuple[Any, Any]] = {}
        boots: Counter[str] = Counter()
        for system, _, hello, fingerprint in self.connection.execute(_SYSTEMS).fetchall():
            first.setdefault(system, (json.loads(hello), json.loads(fingerprint)))
            boots[system] += 1
        return tuple(
            SystemFacts(name, boots[name] if name in self.boot_systems else 1, name in self.boot_systems,
                        *first[name], self._clock_of(name))
            for name in self.names if name in first
        )

    def _clock_of(self, system: str) -> float | None:
        cells = [apart for (name, _), (apart, _) in self.clocks.items() if name == system]
        return float(np.median(cells)) if cells else None


@dataclass(frozen=True, slots=True)
class _Draft:
    """The differences that a comparison rests on, before any correction."""

    key: _Key
    system: str
    by_block: Mapping[int, float]
    units: Array


def _claimable(units: Array, alpha: float) -> Estimate:
    """The interval at that level, or the widest that so many pairs allow, under its own level."""
    found = signed_rank.estimate(units, alpha=alpha)
    if found.low is None:
        found = signed_rank.estimate(units, alpha=2 * 0.5 ** len(units))
    return found


def _claimed_word(shown: Estimate, margin: float) -> str:
    """A difference whose direction is claimed: is it beyond the margin for sure?"""
    word = verdict.word(shown, Estimate(shown.value), margin=margin)
    if word in (verdict.FASTER, verdict.SLOWER):
        return word
    return verdict.FASTER_OPEN if shown.value > 0 else verdict.SLOWER_OPEN


def _agrees(value: float, word: str, margin: float) -> bool:
    """Whether the estimate lies where the verdict says."""
    far = math.log1p(margin)
    return {
        verdict.FASTER: value > far,
        verdict.SLOWER: value < -far,
        verdict.EQUIVALENT: abs(value) < far,
        verdict.FASTER_OPEN: value > 0,
        verdict.SLOWER_OPEN: value < 0,
    }.get(word, True)


def _blocks_needed(draft: _Draft, margin: float) -> int:
    """The blocks that would settle an open comparison, at the noise seen, by the robust deviation."""
    per_unit = len(draft.by_block) / len(draft.units)
    needed = power.blocks_for_equivalence(power.robust_deviation(draft.units), margin)
    return max(math.ceil(needed * per_unit), len(draft.by_block) + 1)


def _exp(estimate: Estimate) -> Estimate:
    low, high = (None if bound is None else math.exp(bound) for bound in (estimate.low, estimate.high))
    return Estimate(math.exp(estimate.value), low, high, estimate.level)


# A difference in one of these is a difference of hardware, or of what passes for it.
HARDWARE = ("cpu_model", "cpu_count", "memory_bytes", "architecture")


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
            if ours is not None and theirs is not None and ours != theirs:
                yield f"the hardware differs: {fact} is {ours} on {base.name} and {theirs} on {one.name}"
        if one.hello["program_sha256"] != base.hello["program_sha256"]:
            yield (f"the programs differ: {base.name} ran {base.hello['compiler']} with {base.hello['libc']}, "
                   f"{one.name} ran {one.hello['compiler']} with {one.hello['libc']}")
    for one in facts:
        if one.clock_apart is not None and abs(one.clock_apart) > CLOCK_MARGIN:
            yield f"the clock of {one.name} differs from this machine's by {one.clock_apart:+.2%}"
