"""Turns the costs of trials to this host into accounts, and finds the costs that differ together with the
time.

If one process is active at a time, an operation's time is the time its processes ran in user mode, ran in
system mode, waited for a processor, and the rest, in which none could run. So shares of a difference in time
are bookkeeping. Other costs (calls, switches, faults) are only correlated with a difference.

Accounting trials may exist for some cells only, of some systems. A comparison subtracts set-up from both
systems or from neither; where it cannot, it claims no count, and no time that set-up could explain.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from steelyard.analysis import spending
from steelyard.analysis.model import CallDifference, Comparison, CostDifference, HostCost, Why
from steelyard.analysis.observations import COST, Key, Observations
from steelyard.analysis.remarks import (
    CoveredLittle,
    FewTicks,
    MonitorBlind,
    NotAccounted,
    Remark,
    SetupKept,
    SharesBeyondWhole,
)
from steelyard.analysis.spending import OPERATIONS, REST, RUN, TIME, TIMES, Spent, Units
from steelyard.events import CALLS, OF_SERVER, SETUP, WORK
from steelyard.statistics import false_discovery, verdict
from steelyard.statistics.judgement import RATE
from steelyard.statistics.signed_rank import Estimate

ALL_CALLS = "all"

# With a smaller share of the account in operations, no shares are given: with set-up subtracted, and
# otherwise.
COVERED_LEAST, COVERED_LEAST_WHOLE = 0.5, 0.8
SHARES_MOST = 1.1  # together: with more, times ran beside each other or against each other
_CALLS_LEAST = 0.05  # an operation: a difference of fewer calls is not named, nor one
_CALLS_APART = 0.02  # of less than that part of them; or that part, where few trials
_CALLS_APART_FEW, _TRIALS_FEW = 0.2, 3  # show how they scatter; nor
_SETUP_SCATTER = 0.25  # of less than that part of set-up's calls: one trial of it is not like another. Where
_SETUP_RANGES = 2.0  # there are several, that many times as far apart as they are
_SETUP_WAITS = 2.0  # a difference in waiting is the operations', if it is this many times what set-up waits


@dataclass(frozen=True, slots=True)
class _Called:
    """One accounting trial's calls and errors an operation, and how far set-up makes them uncertain."""

    calls: Mapping[str, tuple[float, float | None]]
    doubt: Mapping[str, float] | None  # None: set-up was not taken away


class Costs:
    """The accounted costs of an operation in an experiment."""

    def __init__(self, observations: Observations) -> None:
        self.observations = observations
        self.spent: dict[Key, dict[str, dict[int, Spent]]] = defaultdict(lambda: defaultdict(dict))
        setups: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for setup in observations.rows.setups:
            setups[setup.system, setup.cell] |= {setup.figure: setup.cost, OPERATIONS: setup.operations}
        self.has_setup = frozenset(setups)
        for row in observations.rows.costs:
            value = observations.values.get((row.cell, row.metric), {}).get(row.system, {}).get(row.block)
            is_time = observations.workload(row.cell)["measure"] != "count"
            if value is not None and row.operations and is_time:
                self.spent[row.cell, row.metric][row.system][row.block] = spending.spent(
                    row.figures,
                    setups.get((row.system, row.cell), {}),
                    row.operations,
                    row.copies,
                    value.lenses[COST],
                )
        self._read_calls()

    def _read_calls(self) -> None:
        """Each accounting trial's calls an operation. What a trial makes besides its operations stands in
        both kinds of them, so it cancels where there are both."""
        trials: dict[int, tuple[str, str, str, float, dict[str, tuple[int, int | None]]]] = {}
        for row in self.observations.rows.calls:
            empty = (row.system, row.cell, row.purpose, row.operations, dict[str, tuple[int, int | None]]())
            trials.setdefault(row.accounting, empty)[4][row.call] = (row.calls, row.errors)
        # Those of a load's clients hold what the trial does to account for its server, between batches.
        for *_, calls in trials.values():
            served = {call for call in calls if call.startswith(OF_SERVER)}
            for call in calls.keys() - served if served else ():
                del calls[call]
        setups: dict[tuple[str, str], list[tuple[float, dict[str, tuple[int, int | None]]]]] = defaultdict(
            list
        )
        for system, cell, purpose, operations, calls in trials.values():
            if purpose == SETUP and operations:
                setups[system, cell].append((operations, calls))
        self.calls: dict[tuple[str, str], list[_Called]] = defaultdict(list)
        self.setups: dict[tuple[str, str], int] = {}
        for system, cell, purpose, operations, calls in trials.values():
            if purpose != WORK or not operations:
                continue
            setup = _usual(setups.get((system, cell), []))
            if setup is None or setup.operations >= operations / 2:
                self.calls[system, cell].append(_Called(_an_operation(calls, {}, operations), None))
                continue
            done = operations - setup.operations
            net = _an_operation(calls, setup.calls, done)
            doubt = {call: doubt / done for call, doubt in setup.doubt.items()}
            self.calls[system, cell].append(_Called(net, doubt))
            own = sum(count for count, _ in setup.calls.values())
            self.setups[system, cell] = max(0, round(own - net[ALL_CALLS][0] * setup.operations))

    def accounts(self) -> Iterable[HostCost]:
        """Every cell's costs on every system that was watched, in the study's order."""
        for key in self.observations.cells_and_metrics():
            label, metric = key
            cell = self.observations.cells[label]
            for system in self.observations.names:
                spent = list(self.spent.get(key, {}).get(system, {}).values())
                if not spent:
                    continue
                values = self.observations.values[key][system].values()
                known = spending.known(spent)
                yield HostCost(
                    system,
                    cell.workload,
                    cell.parameters,
                    label,
                    metric,
                    len(spent),
                    float(np.median([one.lenses[COST] for one in values])),
                    known.costs,
                    self._calls_of(system, label),
                    self.setups.get((system, label)),
                    median(one.covered for one in spent),
                    known.below,
                    known.overlap_ns,
                )

    def _calls_of(self, system: str, cell: str) -> dict[str, tuple[float, float | None]] | None:
        trials = [one.calls for one in self.calls.get((system, cell), [])]
        if not trials:
            return None
        by_call: dict[str, tuple[float, float | None]] = {}
        for call in sorted({name for one in trials for name in one}):
            each = [one.get(call, (0.0, 0.0)) for one in trials]
            errors = [failed for _, failed in each if failed is not None]
            by_call[call] = (
                median(calls for calls, _ in each),
                median(errors) if len(errors) == len(each) else None,
            )
        return by_call

    def explained(self, comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
        """The comparisons, each with its why where both systems were accounted for. Costs are claimed of
        those alone whose difference is, corrected over all of these: a comparison's costs are a family."""
        drafts = [self._draft((one.cell, one.metric), one.system) for one in comparisons]
        raw = [
            draft.p_values() if draft and one.verdict in verdict.CLAIMED else {}
            for one, draft in zip(comparisons, drafts, strict=True)
        ]
        corrected = iter(false_discovery.two_stage([list(ps.values()) for ps in raw if ps]))
        adjusted = [dict(zip(ps, next(corrected), strict=True)) if ps else {} for ps in raw]
        return tuple(
            replace(one, why=self._why(one, draft, ps)) if draft else one
            for one, draft, ps in zip(comparisons, drafts, adjusted, strict=True)
        )

    def _draft(self, key: Key, system: str) -> "_CostDraft | None":
        """The basis of a comparison's costs; None if no block has accounts of both systems."""
        spent = self.spent.get(key, {})
        base, other = spent.get(self.observations.baseline, {}), spent.get(system, {})
        blocks = sorted(base.keys() & other.keys())
        if not blocks:
            return None
        both = [*base.values(), *other.values()]
        is_net = all(one.is_net for one in both)

        def units(name: str) -> Units:
            return spending.units(
                name,
                {block: (base[block], other[block]) for block in blocks},
                is_net=is_net,
                replicated=lambda by_block: self.observations.units(key, system, by_block),
            )

        def known(one: Spent) -> Mapping[str, float]:
            return one.costs if is_net else one.whole

        return _CostDraft(
            {name: units(name) for name in (TIME, *spending.common(both))},
            frozenset(name for one in both for name, cost in one.whole.items() if cost),
            [known(one) for one in base.values()],
            [known(one) for one in other.values()],
            min(median(one.covered for one in side.values()) for side in (base, other)),
            max(median(one.uncovered_ns for one in side.values()) for side in (base, other)),
            is_net,
            max(median(one.setup_wait_ns for one in side.values()) for side in (base, other)),
        )

    def _why(self, one: Comparison, draft: "_CostDraft", ps: Mapping[str, float]) -> Why:
        estimates = {name: units.estimate() for name, units in draft.units.items()}
        time = estimates[TIME]
        is_claimed = ps.get(TIME, 1.0) <= RATE
        says_shares = is_claimed and draft.covered >= draft.covered_least and time.value != 0
        costs = tuple(
            CostDifference(
                name,
                "ns" if name in (*TIMES, REST) else name,
                median(each[name] for each in draft.base),
                median(each[name] for each in draft.other),
                estimate,
                ps.get(name, 1.0),
                ps.get(name, 1.0) <= RATE and draft.is_beyond_setup(name, estimate),
                estimate.value / time.value if says_shares and name in (*TIMES, REST) else None,
            )
            for name, estimate in estimates.items()
            if name in spending.costs_to_show(estimates, {name for name, p in ps.items() if p <= RATE})
        )
        return Why(
            time,
            is_claimed,
            costs,
            tuple(self._call_differences(one.system, one.cell)),
            one.blocks,
            draft.covered,
            tuple(self._limits(draft, costs)),
        )

    def _call_differences(self, system: str, cell: str) -> Iterable[CallDifference]:
        """Calls that differ first, those that differ most before the others."""
        base, other = self.calls.get((self.observations.baseline, cell)), self.calls.get((system, cell))
        if not base or not other:
            return []
        differences = []
        for call in {name for one in (*base, *other) for name in one.calls}:
            ours, theirs = (
                sorted(one.calls.get(call, (0.0, 0.0))[0] for one in side) for side in (other, base)
            )
            apart = abs(median(ours) - median(theirs))
            differs = (ours[0] > theirs[-1] or ours[-1] < theirs[0]) and apart >= _least_apart(
                call, base, other, max(median(ours), median(theirs))
            )
            differences.append(CallDifference(call, median(theirs), median(ours), differs))
        return sorted(
            differences,
            key=lambda each: (
                each.call != ALL_CALLS,
                not each.differs,
                -abs(each.value - each.baseline_value),
                each.call,
            ),
        )

    def _limits(self, draft: "_CostDraft", costs: Sequence[CostDifference]) -> Iterable[Remark]:
        if draft.covered < draft.covered_least:
            yield CoveredLittle(draft.covered)
        if not draft.is_net:
            yield SetupKept()
        if RUN in {each.cost for each in costs}:
            yield FewTicks()
        whole = [each for each in costs if each.cost in TIMES and each.share is not None]
        if sum(abs(each.share or 0.0) for each in whole) > SHARES_MOST:
            yield SharesBeyondWhole()

    def remarks(self) -> Iterable[Remark]:
        """Remarks on the parts of the watch that were unavailable: the reasons, and the blind spots of the
        monitors that worked, once for all systems concerned.
        """
        blind: dict[str, tuple[str, tuple[str, ...]]] = {}
        for row in self.observations.rows.watches:
            if row.why is not None:
                yield NotAccounted(row.system, row.detail, row.why)
            # What was counted call by call lacks nothing that the trials lack, and has the calls besides.
            if row.backend is not None and (row.detail == CALLS or row.system not in blind):
                blind[row.system] = row.backend, tuple(row.missing or ())
        for backend, missing in dict.fromkeys(blind.values()):
            systems = tuple(system for system, reason in blind.items() if reason == (backend, missing))
            if missing:
                yield MonitorBlind(backend, systems, missing)


@dataclass(frozen=True, slots=True)
class _CostDraft:
    """The basis of one comparison's costs, before any correction."""

    units: Mapping[str, Units]  # of the time and each cost: the system less the baseline
    nonzero: frozenset[str]  # the costs that were not 0 in every trial
    base: Sequence[Mapping[str, float]]
    other: Sequence[Mapping[str, float]]
    covered: float
    uncovered_ns: float  # an operation
    is_net: bool  # whether set-up was taken away, from both
    setup_wait_ns: float  # an operation's part of what set-up waited

    @property
    def covered_least(self) -> float:
        return COVERED_LEAST if self.is_net else COVERED_LEAST_WHOLE

    def p_values(self) -> dict[str, float]:
        """The p-value of the time, and of each cost that was not 0 in every trial."""
        return {name: units.p_value() for name, units in self.units.items() if name in self.nonzero}

    def is_beyond_setup(self, name: str, estimate: Estimate) -> bool:
        """True if the interval excludes 0 and, where set-up is included, every possible effect of set-up. Its
        effect is then unknown: nearly all work of a guest in a short trial is set-up.
        """
        # The signed-rank test drops pairs that do not differ: of a count that is mostly the same on both, it
        # sees the rest.
        if estimate.low is None or estimate.high is None:
            return False
        beyond = max(estimate.low, -estimate.high)
        if self.is_net:
            return beyond > (_SETUP_WAITS * self.setup_wait_ns if name in ("wait", REST) else 0.0)
        return name in (*TIMES, REST) and beyond > self.uncovered_ns


@dataclass(frozen=True, slots=True)
class _Setup:
    """The median trial of set-up: its operations, its calls and errors, and how far such trials are apart."""

    operations: float
    calls: Mapping[str, tuple[float, float | None]]
    doubt: Mapping[str, float]


def _usual(setups: Sequence[tuple[float, Mapping[str, tuple[int, int | None]]]]) -> _Setup | None:
    if not setups:
        return None
    by_call: dict[str, tuple[float, float | None]] = {}
    doubt: dict[str, float] = {}
    for call in {name for _, calls in setups for name in calls}:
        each = [calls.get(call, (0, 0)) for _, calls in setups]
        errors = [failed for _, failed in each if failed is not None]
        by_call[call] = median(n for n, _ in each), median(errors) if len(errors) == len(each) else None
        doubt[call] = _doubt([n for n, _ in each])
    doubt[ALL_CALLS] = _doubt([sum(n for n, _ in calls.values()) for _, calls in setups])
    return _Setup(median(operations for operations, _ in setups), by_call, doubt)


def _doubt(counts: Sequence[int]) -> float:
    if len(counts) == 1:
        return _SETUP_SCATTER * counts[0]
    return _SETUP_RANGES * (max(counts) - min(counts))


def _least_apart(call: str, base: Sequence[_Called], other: Sequence[_Called], most: float) -> float:
    """The smallest difference in calls worth naming, where one system makes `most` of them."""
    doubts = [one.doubt for one in (*base, *other)]
    if None in doubts:
        return math.inf
    few = min(len(base), len(other)) < _TRIALS_FEW
    return max(
        _CALLS_LEAST,
        (_CALLS_APART_FEW if few else _CALLS_APART) * most,
        max((doubt or {}).get(call, 0.0) for doubt in doubts),
    )


def _an_operation(
    calls: Mapping[str, tuple[int, int | None]],
    setup: Mapping[str, tuple[float, float | None]],
    operations: float,
) -> dict[str, tuple[float, float | None]]:
    """Calls and errors an operation, `setup` taken away; all calls together as ALL_CALLS."""
    by_call: dict[str, tuple[float, float | None]] = {}
    for name in {*calls, *setup}:
        count, errors = calls.get(name, (0, 0))
        less, less_errors = setup.get(name, (0, 0))
        failed = None if errors is None or less_errors is None else (errors - less_errors) / operations
        # A call of set-up alone may happen once more or less often: below 0 is noise about nothing.
        by_call[name] = (max(0.0, (count - less) / operations), None if failed is None else max(0.0, failed))
    known = [errors for _, errors in by_call.values()]
    by_call[ALL_CALLS] = (
        sum(count for count, _ in by_call.values()),
        None if None in known else sum(one for one in known if one is not None),
    )
    return by_call
