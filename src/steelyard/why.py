"""Turns what trials cost this host into accounts, and into the costs that differ along with the time.

Where one process is active at a time, an operation's time is what its processes ran in user mode, ran in
system mode, waited for a processor, and the rest, in which none could run: so shares of a difference in
time are book-keeping. All else (calls, switches, faults) goes along with a difference or does not.

What a trial of one operation costs is taken away from every trial's costs, and its operation from the
trial's: it is process, set-up and agent. Waiting is left as it is: that is the machine's, not set-up's.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from steelyard.accounting import CALLS, LIFE, SPAN
from steelyard.observations import COST, Key, Observations
from steelyard.runner import SETUP, WORK
from steelyard.statistics import false_discovery, levels, signed_rank
from steelyard.statistics.judgement import RATE
from steelyard.statistics.signed_rank import Array, Estimate
from steelyard.weighing import Account, CallDifference, Comparison, CostDifference, Why

# The costs, each with its unit, and the monitor's figures that it is the sum of.
RUN, REST = "run", "rest"
TIMES = {"user": ("cpu_user_ns",), "system": ("cpu_system_ns",), RUN: ("run_ns",), "wait": ("wait_ns",)}
COUNTS = {
    "switches": ("switches_voluntary", "switches_involuntary"),
    "faults": ("faults_minor", "faults_major"),
    "major faults": ("faults_major",),
    "signals": ("signals",),
    "bytes read": ("bytes_read",),
    "bytes written": ("bytes_written",),
}
ALL_CALLS = "all"

# With less of what was accounted for in operations, no share is said: where set-up was taken away, and else.
COVERED_LEAST, COVERED_LEAST_WHOLE = 0.5, 0.8
# Kernels split run time into user and system mode by clock ticks (1 to 10 ms apart): so little meets too few.
_SPLIT_LEAST_NS = 20_000_000
_CALLS_LEAST = 0.05  # an operation: a difference of fewer calls is not named, nor one
_CALLS_APART = 0.02  # of less than that part of them

# Of a trial that has several metrics, or sizes, the costs cannot be told apart: it has no row.
_COSTS = """
    WITH done AS (
        SELECT trial, any_value(used.metric) AS metric, sum(used.operations)::DOUBLE AS operations
        FROM (SELECT trial, unnest(usage) AS used FROM trials WHERE status = 'ok')
        GROUP BY trial HAVING count(DISTINCT used.metric) = 1)
    SELECT t.block, t.system, t.cell, t.copies, done.metric, done.operations,
           map(list(c.figure), list(c."value")) AS figures
    FROM trials t JOIN done USING (trial) JOIN costs c USING (trial)
    WHERE NOT EXISTS (SELECT 1 FROM samples s WHERE s.trial = t.trial AND s.point IS NOT NULL)
    GROUP BY t.trial, t.block, t.system, t.cell, t.copies, done.metric, done.operations ORDER BY t.block"""

_CALLS = """
    SELECT a.accounting, a.system, a.cell, a.purpose, a.operations[1].operations::DOUBLE AS operations,
           c.call, c.calls, c.errors
    FROM accountings a JOIN host_calls c USING (accounting)
    WHERE a.status = 'ok' AND len(a.operations) = 1 ORDER BY a.accounting"""

_SETUPS = """
    SELECT system, cell, figure, median("value"), median(operations)
    FROM (SELECT system, cell, operations[1].operations AS operations, unnest(costs, recursive := true)
          FROM accountings WHERE status = 'ok' AND purpose = 'setup' AND len(operations) = 1)
    GROUP BY system, cell, figure"""

_WATCHES = """
    SELECT system, detail, any_value(why), max(backend), max(missing) FILTER (backend IS NOT NULL)
    FROM watches GROUP BY system, detail ORDER BY min(recorded)"""


@dataclass(frozen=True, slots=True)
class _Spent:
    """One trial's costs an operation, set-up taken away; the same with it; and what part of all that was
    accounted for its operations took."""

    costs: Mapping[str, float]
    whole: Mapping[str, float]
    covered: float


_Calls = Mapping[str, tuple[float, float | None]]


class Costs:
    """What was accounted for in an experiment, an operation."""

    def __init__(self, seen: Observations) -> None:
        self.seen = seen
        self.spent: dict[Key, dict[str, dict[int, _Spent]]] = defaultdict(lambda: defaultdict(dict))
        setups: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for system, cell, figure, cost, operations in seen.connection.execute(_SETUPS).fetchall():
            setups[system, cell] |= {figure: cost, _OPERATIONS: operations}
        self.has_setup = frozenset(setups)
        rows = seen.connection.execute(_COSTS).fetchall()
        for block, system, cell, copies, metric, operations, figures in rows:
            value = seen.values.get((cell, metric), {}).get(system, {}).get(block)
            is_time = seen.workload(cell)["measure"] != "count"
            if value is not None and operations and is_time:
                self.spent[cell, metric][system][block] = _spent(
                    figures, setups.get((system, cell), {}), operations, copies, value.lenses[COST]
                )
        self._read_calls()

    def _read_calls(self) -> None:
        """Each accounting trial's calls an operation. What a trial makes besides its operations stands in
        both kinds of them, so it cancels where there are both."""
        trials: dict[int, tuple[str, str, str, float, dict[str, tuple[int, int | None]]]] = {}
        for number, system, cell, purpose, operations, call, calls, errors in self.seen.connection.execute(
            _CALLS
        ).fetchall():
            trials.setdefault(number, (system, cell, purpose, operations, {}))[4][call] = (calls, errors)
        setups = {(one[0], one[1]): one for one in trials.values() if one[2] == SETUP}
        self.calls: dict[tuple[str, str], list[_Calls]] = defaultdict(list)
        self.setups: dict[tuple[str, str], int] = {}
        for system, cell, purpose, operations, calls in trials.values():
            if purpose == WORK and operations:
                setup = setups.get((system, cell))
                less, more = (setup[3], setup[4]) if setup and setup[3] < operations / 2 else (0.0, {})
                self.calls[system, cell].append(_an_operation(calls, more, operations - less))
                if more:
                    own = sum(count for count, _ in more.values())
                    each = self.calls[system, cell][-1][ALL_CALLS][0]
                    self.setups[system, cell] = max(0, round(own - each * less))

    def accounts(self) -> Iterable[Account]:
        """Every cell's costs on every system that was watched, in the study's order."""
        for key in self.seen.cells_and_metrics():
            label, metric = key
            cell = self.seen.cells[label]
            for system in self.seen.names:
                spent = list(self.spent.get(key, {}).get(system, {}).values())
                if not spent:
                    continue
                values = self.seen.values[key][system].values()
                yield Account(
                    system,
                    cell.workload,
                    cell.parameters,
                    label,
                    metric,
                    len(spent),
                    float(np.median([one.lenses[COST] for one in values])),
                    {cost: median(one.costs[cost] for one in spent) for cost in _common(spent)},
                    self._calls_of(system, label),
                    self.setups.get((system, label)),
                    median(one.covered for one in spent),
                )

    def _calls_of(self, system: str, cell: str) -> dict[str, tuple[float, float | None]] | None:
        trials = self.calls.get((system, cell))
        if not trials:
            return None
        found: dict[str, tuple[float, float | None]] = {}
        for call in sorted({name for one in trials for name in one}):
            each = [one.get(call, (0.0, 0.0)) for one in trials]
            errors = [failed for _, failed in each if failed is not None]
            found[call] = (
                median(calls for calls, _ in each),
                median(errors) if len(errors) == len(each) else None,
            )
        return found

    def explained(self, comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
        """The comparisons, each with its why where both systems were accounted for. Which costs differ is
        corrected over all of them: a comparison's costs are a family."""
        drafts = [self._draft((one.cell, one.metric), one.system) for one in comparisons]
        widen = 0.05 / levels.USUAL
        raw = [[min(1.0, units.p_value() * widen) for units in draft.values()] for draft in drafts if draft]
        corrected = iter(false_discovery.two_stage(raw) if raw else [])
        return tuple(
            replace(one, why=self._why(one, draft, next(corrected))) if draft else one
            for one, draft in zip(comparisons, drafts, strict=True)
        )

    def _draft(self, key: Key, system: str) -> "dict[str, _Units]":
        """For the time and each cost, the differences of pairs an operation: the system less the baseline."""
        spent = self.spent.get(key, {})
        base, other = spent.get(self.seen.baseline, {}), spent.get(system, {})
        blocks = sorted(base.keys() & other.keys())
        if not blocks:
            return {}
        names = [_TIME, *_told(_common([*base.values(), *other.values()]))]

        def units(name: str, of: Callable[[_Spent], Mapping[str, float]]) -> Array:
            more = {block: of(other[block])[name] - of(base[block])[name] for block in blocks}
            return self.seen.units(key, system, more)

        return {
            name: _Units(units(name, lambda one: one.costs), units(name, lambda one: one.whole))
            for name in names
        }

    def _why(self, one: Comparison, draft: "Mapping[str, _Units]", p_values: Sequence[float]) -> Why:
        spent = self.spent[one.cell, one.metric]
        base, other = list(spent[self.seen.baseline].values()), list(spent[one.system].values())
        covered = min(median(each.covered for each in side) for side in (base, other))
        estimates = {
            name: signed_rank.estimate(units.net, alpha=levels.USUAL) for name, units in draft.items()
        }
        ps = dict(zip(draft, p_values, strict=True))
        time = estimates[_TIME]
        is_claimed = ps[_TIME] <= RATE
        least = self._covered_least(one)
        says_shares = is_claimed and covered >= least and time.value != 0
        costs = tuple(
            CostDifference(
                name,
                "ns" if name in (*TIMES, REST) else name,
                median(each.costs[name] for each in base),
                median(each.costs[name] for each in other),
                estimate,
                ps[name],
                ps[name] <= RATE and _excludes_zero(estimate),
                estimate.value / time.value if says_shares and name in (*TIMES, REST) else None,
            )
            for name, estimate in estimates.items()
            if name != _TIME
        )
        return Why(
            time,
            is_claimed,
            costs,
            tuple(self._call_differences(one.system, one.cell)),
            one.blocks,
            covered,
            tuple(self._notes(one, covered, costs)),
        )

    def _covered_least(self, one: Comparison) -> float:
        both = {(self.seen.baseline, one.cell), (one.system, one.cell)} <= self.has_setup
        return COVERED_LEAST if both else COVERED_LEAST_WHOLE

    def _call_differences(self, system: str, cell: str) -> Iterable[CallDifference]:
        """Calls that differ first, those that differ most before the others."""
        base, other = self.calls.get((self.seen.baseline, cell)), self.calls.get((system, cell))
        if not base or not other:
            return []
        found = []
        for call in {name for one in (*base, *other) for name in one}:
            ours, theirs = (sorted(one.get(call, (0.0, 0.0))[0] for one in side) for side in (other, base))
            apart = median(ours) - median(theirs)
            differs = (ours[0] > theirs[-1] or ours[-1] < theirs[0]) and (
                abs(apart) >= max(_CALLS_LEAST, _CALLS_APART * max(median(ours), median(theirs)))
            )
            found.append(CallDifference(call, median(theirs), median(ours), differs))
        return sorted(
            found,
            key=lambda each: (
                each.call != ALL_CALLS,
                not each.differs,
                -abs(each.value - each.baseline_value),
                each.call,
            ),
        )

    def _notes(self, one: Comparison, covered: float, costs: Sequence[CostDifference]) -> Iterable[str]:
        if covered < self._covered_least(one):
            yield (
                f"only {100 * covered:.0f} % of what was accounted for was spent in operations: the costs "
                "hold too much of set-up for shares"
            )
        if RUN in {each.cost for each in costs}:
            yield "the trials met too few clock ticks to tell user from system mode: both are in run"
        whole = [each for each in costs if each.cost in TIMES and each.share is not None]
        if sum(abs(each.share or 0.0) for each in whole) > 1.1:
            yield "several processes ran at once, or one saved what another cost: shares go beyond 100 %"

    def sentences(self) -> Iterable[str]:
        """What of the watch was not to be had: the reasons, and what the monitors that worked cannot see,
        once for all systems that it holds for."""
        blind: dict[str, tuple[str, tuple[str, ...]]] = {}
        for system, detail, why, backend, missing in self.seen.connection.execute(_WATCHES).fetchall():
            if why is not None:
                yield f"{system} {_NOT[detail]}: {why}"
            # What was counted call by call lacks nothing that the trials lack, and has the calls besides.
            if backend is not None and (detail == CALLS or system not in blind):
                blind[system] = backend, tuple(missing or ())
        for backend, missing in dict.fromkeys(blind.values()):
            systems = [system for system, told in blind.items() if told == (backend, missing)]
            if missing:
                named = ", ".join(systems)
                yield f"the monitor ({backend}) of {named} does not see all: {'; '.join(missing)}"


_NOT = {LIFE: "was not accounted for", CALLS: "was not accounted for call by call"}

_TIME, _OPERATIONS = "time", "operations"


@dataclass(frozen=True, slots=True)
class _Units:
    """The differences of one cost, set-up taken away or not."""

    net: Array
    whole: Array

    def p_value(self) -> float:
        """The larger of both, and 1 where they disagree on the direction: set-up was measured elsewhere, and
        its error is the same in every block, which pairs cannot see."""
        if np.median(self.net) * np.median(self.whole) < 0:
            return 1.0
        return max(signed_rank.p_two_sided(self.net), signed_rank.p_two_sided(self.whole))


def _excludes_zero(estimate: Estimate) -> bool:
    # The test drops pairs that do not differ: of a count that is mostly the same on both, it sees the rest.
    if estimate.low is None or estimate.high is None:
        return False
    return estimate.low > 0 or estimate.high < 0


def _common(spent: Sequence[_Spent]) -> list[str]:
    """The costs that every trial knows, in order."""
    known = set.intersection(*(set(one.costs) for one in spent))
    return [name for name in (*TIMES, REST, *COUNTS) if name in known]


def _told(names: Sequence[str]) -> list[str]:
    """Without the run time where user and system mode are told apart: it is their sum."""
    return [name for name in names if name != RUN or "user" not in names]


def _spent(
    figures: Mapping[str, int],
    setup: Mapping[str, float],
    operations: float,
    copies: int,
    time_ns: float,
) -> _Spent:
    def an_operation(less: Mapping[str, float]) -> dict[str, float]:
        done = operations - less.get(_OPERATIONS, 0.0)
        costs = {_TIME: time_ns}
        for name, parts in (TIMES | COUNTS).items():
            if all(part in figures for part in parts):
                away = 0.0 if name == "wait" else sum(less.get(part, 0.0) for part in parts)
                costs[name] = (sum(figures[part] for part in parts) - away) / done
        if "user" in costs and "system" in costs:
            costs.setdefault(RUN, costs["user"] + costs["system"])
        if figures.get("cpu_user_ns", 0) + figures.get("cpu_system_ns", 0) < _SPLIT_LEAST_NS:
            costs.pop("user", None)
            costs.pop("system", None)
        if RUN in costs and "wait" in costs:
            costs[REST] = time_ns - costs[RUN] - costs["wait"]
        return costs

    enough = setup.get(_OPERATIONS, 0.0) < operations / 2
    span = figures.get(SPAN, 0)
    return _Spent(
        an_operation(setup if enough else {}),
        an_operation({}),
        operations * time_ns / copies / span if span else 0.0,
    )


def _an_operation(
    calls: Mapping[str, tuple[int, int | None]],
    setup: Mapping[str, tuple[int, int | None]],
    operations: float,
) -> dict[str, tuple[float, float | None]]:
    """Calls and errors an operation, `setup` taken away; all calls together as ALL_CALLS."""
    found: dict[str, tuple[float, float | None]] = {}
    for name in {*calls, *setup}:
        count, errors = calls.get(name, (0, 0))
        less, less_errors = setup.get(name, (0, 0))
        failed = None if errors is None or less_errors is None else (errors - less_errors) / operations
        # A call of set-up alone may happen once more or less often: below 0 is noise about nothing.
        found[name] = (max(0.0, (count - less) / operations), None if failed is None else max(0.0, failed))
    known = [errors for _, errors in found.values()]
    found[ALL_CALLS] = (
        sum(count for count, _ in found.values()),
        None if None in known else sum(one for one in known if one is not None),
    )
    return found
