"""Turns the trials' figures of the machine around them into its state, judged by absolute limits.

`trials.disturbed` compares a trial with others of its cell, so it cannot see a disturbance that lasted from
begin to end. Here nothing is compared: a share of time is reported above a limit (statistics.md). The CPU
time of trials and laboratory is subtracted, so that it is not attributed to others. Waiting for a processor
counts only where trials do not wait for themselves, if there are such trials.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard import allowance
from steelyard.analysis.model import Comparison, Condition, MachineState
from steelyard.analysis.rows import TrialRow
from steelyard.archive.experiments import StoredExperiment
from steelyard.events import Outcome, Surroundings
from steelyard.statistics import verdict

OTHERS, STOLEN, QUOTA = "other work", "host", "processor quota"
MEMORY, LIMIT, SWAP = "memory", "memory limit", "swap"
STORAGE, HEAT = "storage", "heat"
LABORATORY, PRIORITY, UNTOLD = "another laboratory", "priority", "unknown use"
KINDS = (OTHERS, STOLEN, QUOTA, MEMORY, LIMIT, SWAP, STORAGE, HEAT, LABORATORY, PRIORITY, UNTOLD)

# From which share on a condition is worth a word. Quiet machines stay below a third of each.
WAITED = 0.1  # of the time: a process waits for a processor; and others must use ...
_OTHERS = 0.1  # ... this share of CPU time; below it others are not to blame
_OTHERS_ALONE = 0.25  # of the processors' time: it also heats and fills caches if no process waits
_STOLEN = 0.02
_THROTTLED = 0.05
_MEMORY = 0.02
_STORAGE = 0.1
_SWAPPED_PAGES_A_SECOND = 10
HEAVY = 0.25  # lost by the worst: a run says so first

# Single processes that do not wait for others; and work that waits for devices by itself.
_WAITING_FOR_NOBODY = ("cpu", "memory", "syscall", "harness")
_OF_DEVICES = ("file", "storage", "server")


@dataclass(frozen=True, slots=True)
class Seen:
    """The figures of one trial's surroundings, and the trial."""

    cell: str
    group: str
    copies: int
    span_ns: int
    pressure: float | None
    surroundings: Surroundings


def of_rows(
    rows: Iterable[TrialRow], experiment: StoredExperiment, comparisons: Iterable[Comparison]
) -> MachineState | None:
    """Return the state while all trials ran; None where no trial ran on this machine."""
    workloads = experiment.header["workloads"]
    cells = {one.label: one for one in experiment.cells}
    trials = [
        Seen(
            one.cell,
            workloads[cells[one.cell].workload]["group"],
            cells[one.cell].copies,
            one.host_ns,
            one.pressure,
            Surroundings(**_known(one.surroundings)),
        )
        for one in rows
        if one.surroundings is not None and one.host_ns and one.cell in cells
    ]
    unsettled = {one.cell for one in comparisons if one.ratio and one.verdict == verdict.UNRESOLVED}
    return state_of(trials, experiment.header, unsettled=unsettled)


def _known(surroundings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in surroundings.items() if name in Surroundings.__dataclass_fields__}


def seen_of(outcome: Outcome, header: Mapping[str, Any]) -> Seen | None:
    """Return the same of a trial that has just ended; None where it did not run on this machine."""
    if outcome.surroundings is None or not outcome.host_ns:
        return None
    cell = outcome.trial.cell
    group = header["workloads"][cell.workload]["group"]
    return Seen(cell.label, group, cell.copies, outcome.host_ns, outcome.pressure, outcome.surroundings)


def state_of(
    trials: Sequence[Seen], header: Mapping[str, Any], *, unsettled: Collection[str] = ()
) -> MachineState | None:
    """Return the state of the machine over these trials, with the likeliest cause of what is not settled in
    the cells `unsettled`. None without trials that tell of it."""
    if not trials:
        return None
    state = _judged(_summed(trials, header.get("allowance") or {}))
    theirs = _judged(_summed([one for one in trials if one.cell in unsettled], {})).conditions
    worst = [one for one in theirs if one.kind != UNTOLD]
    return replace(state, likeliest=worst[0].kind if worst and state.conditions else None)


def _summed(trials: Sequence[Seen], allowed: Mapping[str, Any]) -> MachineState:
    around = [one.surroundings for one in trials]
    had = [one for one in around if one.had_ns and one.busy_ns is not None and one.own_ns is not None]
    had_ns = sum(one.had_ns or 0 for one in had)
    other_ns = sum((one.busy_ns or 0) - (one.own_ns or 0) for one in had)
    periods = sum(one.quota_periods or 0 for one in around)
    throttled = sum(one.throttled_periods or 0 for one in around)
    alone = [one for one in trials if one.copies == 1 and one.group in _WAITING_FOR_NOBODY]
    without_files = [one for one in trials if one.group not in _OF_DEVICES]
    return MachineState(
        trials=len(trials),
        measured_s=sum(one.span_ns for one in trials) / 1e9,
        waited=_share((one.pressure, one.span_ns) for one in alone or trials),
        others=min(1.0, max(0.0, other_ns / had_ns)) if had_ns else None,
        stolen=sum(one.stolen_ns or 0 for one in had) / had_ns if had_ns else None,
        throttled=throttled / periods if periods else None,
        memory_waited=_share((one.surroundings.memory_pressure, one.span_ns) for one in trials),
        storage_waited=_share((one.surroundings.io_pressure, one.span_ns) for one in without_files),
        memory_hits=_total(one.memory_hits for one in around),
        swapped_pages=_total(one.swapped_pages for one in around),
        heat_events=_total(one.heat_events for one in around),
        crowded_trials=sum(bool(one.laboratories) for one in around),
        **{name: allowed[name] for name in _ALLOWED if allowed.get(name) is not None},
    )


_ALLOWED = ("quota", "quota_group", "memory_limit_bytes", "memory_group", "nice", "policy")


def _share(weighted: Iterable[tuple[float | None, int]]) -> float | None:
    known = [(min(1.0, max(0.0, share)), weight) for share, weight in weighted if share is not None]
    whole = sum(weight for _, weight in known)
    return sum(share * weight for share, weight in known) / whole if whole else None


def _total(numbers: Iterable[int | None]) -> int | None:
    known = [one for one in numbers if one is not None]
    return sum(known) if known else None


def _judged(state: MachineState) -> MachineState:
    found = sorted(_conditions(state), key=lambda one: -one.lost)
    return replace(state, conditions=tuple(found))


def _conditions(state: MachineState) -> Iterable[Condition]:
    waited, others = state.waited or 0.0, state.others or 0.0
    if (others >= _OTHERS and waited >= WAITED) or others >= _OTHERS_ALONE:
        yield Condition(OTHERS, others if state.waited is None else min(waited, others))
    for kind, share, least in (
        (STOLEN, state.stolen, _STOLEN),
        (QUOTA, state.throttled, _THROTTLED),
        (MEMORY, state.memory_waited, _MEMORY),
        (STORAGE, state.storage_waited, _STORAGE),
    ):
        if share is not None and share >= least:
            yield Condition(kind, share)
    if state.memory_hits:
        yield Condition(LIMIT, state.memory_waited or 0.0)
    if state.measured_s and (state.swapped_pages or 0) / state.measured_s >= _SWAPPED_PAGES_A_SECOND:
        yield Condition(SWAP, state.memory_waited or 0.0)
    if state.heat_events:
        yield Condition(HEAT, 0.0)
    if state.crowded_trials:
        yield Condition(LABORATORY, others)
    if not allowance.is_usual(state.nice, state.policy):
        yield Condition(PRIORITY, 0.0)
    if state.trials and state.others is None:
        yield Condition(UNTOLD, 0.0)
