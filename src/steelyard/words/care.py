"""Says in words what the machine lacked while it was measured: what a reader must know before any figure."""

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard import allowance
from steelyard.analysis import conditions
from steelyard.analysis.model import MachineState
from steelyard.quantities import count, digits, number_of, size_bytes
from steelyard.text import shown

LEAD = "Read with care"
_PAGE = 4096  # bytes of what the kernel counts as a page of swap


@dataclass(frozen=True, slots=True)
class Care:
    """The sentences on the machine's state."""

    text: str  # "in 95 % of the measured time another process waited for a processor, ..."
    worst: str  # the same of the worst condition alone
    is_first: bool  # no text comes before it

    @property
    def sentence(self) -> str:
        return f"{LEAD}: {self.text}"

    @property
    def short(self) -> str:
        return f"{LEAD}: {self.worst}"

    @property
    def last(self) -> str:
        """The last line of the answer: everything, or only the worst if everything came first."""
        return self.short if self.is_first else self.sentence


def of(state: MachineState | None, *, unsettled: int, metrics: int) -> Care | None:
    """Return the report's text on the machine; None if there is nothing to report.

    It comes first if most metrics are unsettled, or if a trial lost a large part of a resource.
    """
    said = clauses(state)
    if state is None or not said:
        return None
    text = f"{'; '.join(said)}.{_cause(state, unsettled, metrics)}"
    is_heavy = state.conditions[0].lost >= conditions.HEAVY
    return Care(text, f"{said[0]}.", is_heavy or 2 * unsettled > metrics)


def clauses(state: MachineState | None) -> list[str]:
    """Return a clause for each condition, the worst first."""
    return [_clause(one.kind, state) for one in state.conditions] if state else []


def facts(state: MachineState | None) -> str:
    """Return all known facts on the state; empty if there are none."""
    if state is None:
        return ""
    shares = (
        (state.others, "of CPU time used by other work"),
        (state.stolen, "of CPU time stolen by the host"),
        (state.waited, "of the time a process waited for a processor"),
        (state.memory_waited, "for memory"),
        (state.storage_waited, "for a disk, in work without files"),
        (state.throttled, "of the quota's periods throttled"),
    )
    known = [f"{_percent(share)} {what}" for share, what in shares if share is not None]
    return (
        f"{', '.join(known)} (over {number_of(state.trials, 'trial')} of {state.measured_s:.0f} s together)"
    )


def _cause(state: MachineState, unsettled: int, metrics: int) -> str:
    if not unsettled or state.likeliest is None:
        return ""
    if unsettled == metrics:
        what = f"none of {metrics} metrics is settled" if metrics > 1 else "the metric is not settled"
    else:
        what = f"{unsettled} of {metrics} metrics {'is' if unsettled == 1 else 'are'} not settled"
    if [one.kind for one in state.conditions] == [state.likeliest]:
        return f" This is the likely reason why {what}."
    return f" The likely reason why {what}: {_CAUSES[state.likeliest]}."


_CAUSES: Mapping[str, str] = {
    conditions.OTHERS: "other work on this machine",
    conditions.STOLEN: "CPU time stolen by the host",
    conditions.QUOTA: "the processor quota",
    conditions.MEMORY: "too little memory",
    conditions.LIMIT: "the memory limit",
    conditions.SWAP: "paging to swap",
    conditions.STORAGE: "other work on the disks",
    conditions.HEAT: "the processors' heat",
    conditions.LABORATORY: "another laboratory on this machine",
    conditions.PRIORITY: "the priority of what was measured",
}


def _clause(kind: str, state: MachineState) -> str:
    if kind == conditions.OTHERS:
        used = f"other work used {_percent(state.others)} of CPU time"
        if state.waited is None or state.waited < conditions.WAITED:
            return used
        waited = f"in {_percent(state.waited)} of the measured time another process waited for a processor"
        return f"{waited}, and {used}"
    if kind == conditions.STOLEN:
        return f"the host stole {_percent(state.stolen)} of CPU time"
    if kind == conditions.QUOTA:
        quota = f" of {digits(state.quota)} processors" if state.quota is not None else ""
        where = f" (control group {shown(state.quota_group)})" if state.quota_group else ""
        return f"a quota{quota}{where} stopped the work in {_percent(state.throttled)} of its periods"
    if kind == conditions.MEMORY:
        return f"in {_percent(state.memory_waited)} of the measured time a process waited for memory"
    if kind == conditions.LIMIT:
        limit = f" of {size_bytes(state.memory_limit_bytes)}" if state.memory_limit_bytes is not None else ""
        where = f" (control group {shown(state.memory_group)})" if state.memory_group else ""
        return f"the memory limit{limit}{where} was reached {_times(state.memory_hits)}"
    if kind == conditions.SWAP:
        return f"{size_bytes(_PAGE * (state.swapped_pages or 0))} were swapped out or in"
    if kind == conditions.STORAGE:
        return (
            f"in {_percent(state.storage_waited)} of the time of work without files, a process waited "
            "for a disk"
        )
    if kind == conditions.LABORATORY:
        if state.crowded_trials == state.trials:
            return "another laboratory measured on this machine all the time"
        crowded = f"{count(state.crowded_trials)} of {number_of(state.trials, 'trial')}"
        return f"another laboratory measured on this machine during {crowded}"
    if kind == conditions.PRIORITY:
        return f"all ran {allowance.scheduling(state.nice, state.policy)}, which this command inherited"
    if kind == conditions.UNTOLD:
        return (
            "what other work used, and the host stole, is unknown: the kernel does not tell the use of its "
            "processors (/proc/stat)"
        )
    return f"the processors were throttled for heat {_times(state.heat_events)}"


def _times(number: int | None) -> str:
    return "once" if number == 1 else f"{count(number or 0)} times"


def _percent(share: float | None) -> str:
    """A share in percent, to two digits where it is small; 100 % only where it is that."""
    percent = 100 * (share or 0.0)
    if 99.5 <= percent < 100:
        return f"{int(10 * percent) / 10:.1f} %"
    return f"{percent:.0f} %" if percent >= 9.95 else f"{digits(percent, count=2)} %"
