"""The sentences about an account that the console and the page share."""

import shlex
import signal
from collections.abc import Iterable, Sequence

from steelyard.quantities import count, digits, interval, number_of, size_bytes, time_ns
from steelyard.statistics.signed_rank import Estimate
from steelyard.text import shown
from steelyard.watch import figures
from steelyard.watch.accounts import Account
from steelyard.watch.groups import CallSum, ProcessGroup
from steelyard.watch.model import HISTOGRAM_FIRST, Process
from steelyard.watch.order import WatchOrder

_UNKNOWN = "–"
_LONGEST = 60  # characters of a command
_NAMED = 6  # processes
CREDIT_NS = 5_000_000_000  # what so much time gives may be spent in advance: as monitor/backends/bpf/budget.c


def subject(order: WatchOrder) -> str:
    """The watched subject, as short as possible: a command, processes, a control group."""
    if order.command:
        words = shown(shlex.join(order.command))
        return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
    if order.cgroup:
        return f"control group {shown(order.cgroup)}"
    named = ", ".join(map(str, order.pids[:_NAMED])) + (", …" if len(order.pids) > _NAMED else "")
    return f"process {named}" if len(order.pids) == 1 else f"processes {named}"


def headline(account: Account, watched: str) -> str:
    """The subject of the watch, its duration, and the backend."""
    head, total = account.watch.head, account.total
    processes = number_of(total.processes, "process", "processes")
    running = f", {count(total.running)} of them still running" if total.running else ""
    detail = head.detail + exactness(account)
    every = f", read every {time_ns(head.every_ns)}" if head.every_ns else ""
    return (
        f"{shown(watched)}: {processes} in {time_ns(account.elapsed_ns)}{running}; "
        f"by {head.backend}, at detail {detail}{every}"
    )


def exactness(account: Account) -> str:
    """A note on whether calls were counted one by one, where that is not obvious."""
    if account.watch.head.detail != "budget" or account.total.exact is None:
        return ""
    if account.total.exact:
        return " (every system call counted)"
    processes = [one for one in account.processes if one.thread is None]
    by_windows = sum(not one.exact for one in processes)
    if not by_windows:
        return " (some system calls were lost)"
    if len(processes) == 1:
        return " (system calls estimated)"
    return f" (system calls of {count(by_windows)} of {count(len(processes))} processes estimated)"


def figure(name: str, value: float) -> str:
    """A figure by its name, with the unit that suits it."""
    return {"NS": time_ns, "BYTES": size_bytes, "COUNT": count}[figures.unit(name)](value)


def ending(one: Process) -> str:
    """The end of a process: a signal, a status, or still running."""
    if one.signal is not None:
        try:
            return signal.Signals(one.signal).name
        except ValueError:
            return f"signal {one.signal}"
    if one.end_ns is None:
        return "runs on"
    return _UNKNOWN if one.status is None else f"status {one.status}"


def total_calls(one: ProcessGroup) -> str:
    """The number of all its calls: exact, approximate, or a lower bound."""
    if one.calls is None:
        return _UNKNOWN
    if any(call.calls is None for call in one.calls.values()):
        least = sum(call.seen or 0 for call in one.calls.values())
        return f"≥ {count(least)}" if least else _UNKNOWN
    total = sum(call.calls.value for call in one.calls.values() if call.calls)
    estimated = any(call.calls and call.calls.level is not None for call in one.calls.values())
    return ("≈ " if estimated else "≥ " if one.calls_lacking else "") + count(round(total))


def at_least(one: CallSum) -> str:
    """The number of calls of a type, or its lower bound."""
    if one.calls is not None:
        return count(round(one.calls.value))
    return _UNKNOWN if one.seen is None else f"≥ {count(one.seen)}"


def bounds(one: Estimate) -> str:
    """The interval of a number of calls in brackets, or that there is none."""
    return interval(one.low, one.high, lambda bound: count(round(bound)), none="no interval")


def below(histogram: Sequence[int] | None, part: float) -> str:
    """The upper end of the bucket up to which that part of the calls lies."""
    if not histogram or not sum(histogram):
        return _UNKNOWN
    wanted, below = part * sum(histogram), 0
    bucket = -1
    while below < wanted:
        bucket += 1
        below += histogram[bucket]
    if bucket == len(histogram) - 1:
        return f"over {time_ns(2 ** (bucket + HISTOGRAM_FIRST - 1))}"
    return time_ns(2 ** (bucket + HISTOGRAM_FIRST))


def figure_of(one: ProcessGroup, name: str) -> str:
    """A group's figure; a lower bound, if it is unknown for some of its processes."""
    value = one.figures[name]
    if value is None:
        return _UNKNOWN
    more = "≥ " if name in one.lacking else ""
    return more + figure(name, value)


def costs(account: Account) -> Iterable[str]:
    """The cost of the monitor itself: printed every time."""
    cost, monitor = account.cost, account.watch.monitor
    if monitor is not None:
        share = f" ({_percent(cost.cpu_ns, account.elapsed_ns)} of one processor)" if cost.cpu_ns else ""
        cpu = _UNKNOWN if cost.cpu_ns is None else time_ns(cost.cpu_ns)
        memory = _UNKNOWN if cost.memory_bytes is None else size_bytes(cost.memory_bytes)
        peak = f" ({size_bytes(cost.memory_peak_bytes)} while it loaded)" if cost.memory_peak_bytes else ""
        yield f"the monitor: {cpu} of processor time{share}, {memory} of memory{peak}; {_losses(cost.lost)}"
        if monitor.hits is not None and monitor.hook_ns is not None and cost.bpf_ns is not None:
            part = _percent(cost.bpf_ns, account.total.cpu_ns)
            of_theirs = f", {part} of their processor time" if part else ""
            yield (
                f"in the watched: {count(monitor.hits)} hits of the hook at {time_ns(monitor.hook_ns)} "
                f"(calibrated here), {time_ns(cost.bpf_ns)} in all{of_theirs}"
            )
        budget = account.watch.head.budget
        if monitor.hits_of_all is not None and monitor.hook_ns is not None and budget is not None:
            spent_ns = monitor.hits_of_all * monitor.hook_ns
            part = _percent(spent_ns, account.elapsed_ns)
            share = f", {part} of one processor" if part else ""
            yield (
                f"in all processes of this machine: {count(monitor.hits_of_all)} hits, "
                f"{time_ns(spent_ns)}{share}; the budget is {digits(100 * budget)} % and "
                f"{time_ns(budget * CREDIT_NS)} in advance"
            )
    if cost.front_end_cpu_ns is not None and cost.front_end_memory_bytes is not None:
        yield (
            f"this front end: {time_ns(cost.front_end_cpu_ns)} of processor time, most of it before and "
            f"after the watch, {size_bytes(cost.front_end_memory_bytes)} of memory"
        )


def _percent(part: float | None, whole: float | None) -> str:
    return "" if part is None or not whole else f"{digits(100 * part / whole)} %"


def _losses(lost: int | None) -> str:
    if lost is None:
        return "its losses are unknown"
    return f"{count(lost)} lost" if lost else "nothing lost"


def impact(account: Account) -> Iterable[str]:
    """The result of --prove."""
    if not account.watch.windows:
        return
    ratio = account.impact
    if ratio is None:
        yield "its impact could not be measured: no work fell into the windows of one kind or of both"
        return
    pairs = f"over {number_of(account.impact_pairs, 'pair')} of windows with the hook and without"
    if ratio.low is None or ratio.high is None:
        yield (
            f"measured impact: {ratio.value:.4f} times the work, with too few windows for an interval, "
            f"{pairs}"
        )
        return
    yield (
        f"measured impact: with the hook, work per processor time is {ratio.value:.4f} times "
        f"[{ratio.low:.4f}, {ratio.high:.4f}] what it is without, {pairs}"
    )
