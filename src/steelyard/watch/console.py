"""Prints an account for people at a terminal: a sentence, tables, and what all this leaves out."""

import signal
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.quantities import count, digits, printable, size_bytes, time_ns
from steelyard.statistics.description import Description
from steelyard.statistics.signed_rank import Estimate
from steelyard.watch.accounts import Account
from steelyard.watch.groups import CallSum, Group
from steelyard.watch.model import HISTOGRAM_FIRST, Process
from steelyard.watch.series import CPU, Series

_WIDTH_PIPED = 140  # where no terminal says how wide it is
_UNKNOWN = "–"
_SERIES = (CPU, "cpu_user_ns", "cpu_system_ns", "wait_ns", "faults_minor", "faults_major", "switches_voluntary",
           "switches_involuntary", "bytes_read", "bytes_written", "memory_end")  # fmt: skip
_SPREAD = ("lifetime_ns", "cpu_user_ns", "cpu_system_ns", "faults_minor", "switches_voluntary", "memory_peak")
_CALLS_IN_SERIES = 5


def print_account(account: Account, file: TextIO, *, watched: str, top: int) -> None:
    """The account; `watched` says what was watched, `top` how many rows a table has at most."""
    console = Console(file=file, highlight=False)
    if not console.is_terminal:
        console = Console(file=file, highlight=False, width=_WIDTH_PIPED)
    console.print(Text(_headline(account, watched), style="bold"))
    _print_groups(console, account, top)
    _print_calls(console, account, top)
    _print_series(console, account)
    _print_spread(console, account)
    for sentence in (*_costs(account), *_impact(account)):
        console.print(Text(sentence))
    for note in account.notes:
        console.print(Text(f"note: {printable(note)}"))


def _headline(account: Account, watched: str) -> str:
    head, total = account.watch.head, account.total
    processes = "1 process" if total.processes == 1 else f"{count(total.processes)} processes"
    running = f", {count(total.running)} of them still running" if total.running else ""
    detail = head.detail
    if head.budget is not None:
        detail += f" (counting may cost {digits(100 * head.budget)} %)"
    every = f", read every {time_ns(head.every_ns)}" if head.every_ns else ""
    return (
        f"{printable(watched)}: {processes} in {time_ns(account.elapsed_ns)}{running}; "
        f"by {head.backend}, at detail {detail}{every}"
    )


def _table(title: str, names: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table as all of ours look: text columns, then numbers to the right; no lines."""
    table = Table(title=title, title_justify="left", pad_edge=False, box=None, header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _print_groups(console: Console, account: Account, top: int) -> None:
    single = account.by == "process"
    shown = account.groups[:top]
    rest = len(account.groups) - len(shown)
    left_out = f"; {count(rest)} more are not shown, --top {len(account.groups)} shows them" if rest else ""
    table = _table(
        f"By {account.by}, the most processor time first{left_out}",
        [account.by],
        ["ended" if single else "processes", "lived" if single else "failed", "user", "system", "of wall",
         "ready", "faults", "major", "switches", "forced", "calls", "read", "written", "peak memory"],
    )  # fmt: skip
    by_key = {(one.pid, one.begin_ns): one for one in account.processes if one.thread is None}
    for one in shown:
        process = by_key.get((one.pid or 0, one.begin_ns)) if single else None
        table.add_row(Text(printable(one.name)), *_group_cells(one, process, one.lifetime_ns))
    if len(account.groups) > 1:
        cells = list(_group_cells(account.total, None, account.elapsed_ns))
        if single:
            cells[:2] = "", ""
        table.add_row(Text("all"), *cells, style="bold")
    console.print(table)
    console.print()


def _group_cells(one: Group, process: Process | None, wall_ns: int) -> Iterable[str]:
    if process:
        yield from (_ended(process), time_ns(one.lifetime_ns))
    else:
        yield from (count(one.processes), count(one.failed) if one.failed else "")
    for name in ("cpu_user_ns", "cpu_system_ns"):
        yield _figure(one, name)
    yield _UNKNOWN if one.cpu_ns is None or not wall_ns else f"{100 * one.cpu_ns / wall_ns:.1f} %"
    for name in ("wait_ns", "faults_minor", "faults_major", "switches_voluntary", "switches_involuntary"):
        yield _figure(one, name)
    yield _total_calls(one)
    # What it read and wrote of anything: of block devices alone, in most processes it is nothing.
    for name in ("characters_read", "characters_written", "memory_peak"):
        yield _figure(one, name)


def _ended(one: Process) -> str:
    if one.signal is not None:
        try:
            return signal.Signals(one.signal).name
        except ValueError:
            return f"signal {one.signal}"
    if one.end_ns is None:
        return "runs on"
    return _UNKNOWN if one.status is None else f"status {one.status}"


def _figure(one: Group, name: str) -> str:
    value = one.figures[name]
    if value is None:
        return _UNKNOWN
    more = "≥ " if name in one.lacking else ""
    return more + quantity(name, value)


def quantity(name: str, value: float) -> str:
    """A figure by its name, with the unit that suits it."""
    if name.endswith("_ns"):
        return time_ns(value)
    if name.startswith(("characters_", "bytes_", "virtual_", "memory_", "swap_")):
        return size_bytes(value)
    return count(value)


def _total_calls(one: Group) -> str:
    if one.calls is None or any(call.calls is None for call in one.calls.values()):
        return _UNKNOWN
    total = sum(call.calls.value for call in one.calls.values() if call.calls)
    estimated = any(call.calls and call.calls.level is not None for call in one.calls.values())
    return ("≈ " if estimated else "≥ " if one.calls_lacking else "") + count(round(total))


def _print_calls(console: Console, account: Account, top: int) -> None:
    """A row a type of call, of all processes together."""
    calls = account.total.calls
    if not calls:
        return
    head = account.watch.head
    shown = list(calls.items())[:top]
    rest = f"; {count(len(calls) - len(shown))} more types are not shown" if len(calls) > len(shown) else ""
    numbers = {
        "profile": ["samples", "time in it", "of processor time"],
        "latency": ["calls", "errors", "share", "time", "of time", "a call", "half below", "99 % below"],
        "budget": ["calls", "95 % interval", "errors", "share", "counted"],
    }.get(head.detail, ["calls", "errors", "share"])
    table = _table(f"System calls of all, the most frequent first{rest}", ["call"], numbers)
    whole = sum(one.calls.value for one in calls.values() if one.calls)
    times = sum(one.time_ns or 0 for one in calls.values())
    for name, one in shown:
        table.add_row(Text(printable(name)), *_call_cells(one, account, whole=whole, times=times))
    console.print(table)
    console.print()


def _call_cells(one: CallSum, account: Account, *, whole: float, times: float) -> Iterable[str]:
    detail = account.watch.head.detail
    if detail == "profile":
        cpu_ns = account.total.cpu_ns
        yield _UNKNOWN if one.samples is None else count(one.samples)
        yield _UNKNOWN if one.time_ns is None else f"≈ {time_ns(one.time_ns)}"
        yield _UNKNOWN if one.time_ns is None or not cpu_ns else f"{100 * one.time_ns / cpu_ns:.1f} %"
        return
    yield _UNKNOWN if one.calls is None else count(round(one.calls.value))
    if detail == "budget":
        yield _bounds(one.calls) if one.calls else "not resolved"
    yield _UNKNOWN if one.errors is None else count(round(one.errors.value)) if one.errors.value else ""
    yield _UNKNOWN if one.calls is None or not whole else f"{100 * one.calls.value / whole:.1f} %"
    if detail == "budget":
        yield _UNKNOWN if one.seen is None else count(one.seen)
    if detail == "latency":
        yield from (_UNKNOWN if one.time_ns is None else time_ns(one.time_ns),)
        yield _UNKNOWN if one.time_ns is None or not times else f"{100 * one.time_ns / times:.1f} %"
        yield _UNKNOWN if one.time_ns is None or not one.seen else time_ns(one.time_ns / one.seen)
        yield from (_below(one.histogram, part) for part in (0.5, 0.99))


def _bounds(one: Estimate) -> str:
    if one.low is None or one.high is None:
        return "no interval"
    return f"[{count(round(one.low))}, {count(round(one.high))}]"


def _below(histogram: Sequence[int] | None, part: float) -> str:
    """The upper end of the bucket up to which that part of the calls lies."""
    if not histogram or not sum(histogram):
        return _UNKNOWN
    wanted, below = part * sum(histogram), 0
    for bucket, calls in enumerate(histogram):
        below += calls
        if below >= wanted:
            break
    else:
        bucket = len(histogram) - 1
    if bucket == len(histogram) - 1:
        return f"over {time_ns(2 ** (bucket + HISTOGRAM_FIRST - 1))}"
    return time_ns(2 ** (bucket + HISTOGRAM_FIRST))


def _print_series(console: Console, account: Account) -> None:
    """The series of all processes together, as the intervals are on the whole."""
    if not account.series:
        return
    whole: Series = account.series[0]
    rows: list[tuple[str, Description | None]] = []
    for name in _SERIES:
        found = whole.rates.get(name) or whole.levels.get(name)
        if found:
            rows.append((name, found.over_intervals))
    unit = "samples in " if account.watch.head.detail == "profile" else "calls of "
    often = sorted(whole.calls.items(), key=lambda item: -sum(item[1].values))[:_CALLS_IN_SERIES]
    rows += [(f"{unit}{name}", one.over_intervals) for name, one in often]
    intervals = max((one.count for _, one in rows if one), default=0)
    table = _table(
        f"All processes, over {intervals} intervals of {time_ns(account.watch.head.every_ns or 0)}, a second",
        ["figure"],
        ["mean", "deviation", "variation", "median", "5 %", "25 %", "75 %", "95 %", "99 %"],
    )
    for name, one in rows:
        if one:
            table.add_row(Text(_heading(name)), *_description_cells(one, partial(_rate, name)))
    if table.row_count:
        console.print(table)
        console.print()


def _heading(name: str) -> str:
    """A figure's name in words: of cpu_user_ns "cpu user"."""
    return printable(name.removesuffix("_ns").replace("_", " ") if "calls of" not in name else name)


def _rate(name: str, value: float) -> str:
    """Of time a second: the share of one processor."""
    return f"{value / 1e7:.1f} %" if name.endswith("_ns") else quantity(name, value)


def _description_cells(one: Description, said: Callable[[float], str]) -> Iterable[str]:
    yield said(one.mean)
    yield _UNKNOWN if one.deviation is None else said(one.deviation)
    yield _UNKNOWN if one.variation is None else f"{one.variation:.2f}"
    yield said(one.median)
    yield from (said(value) for value in one.percentiles.values())


def _print_spread(console: Console, account: Account) -> None:
    """What one of many processes was like."""
    if account.total.processes < 3:
        return
    table = _table(
        f"One process, over {count(account.total.processes)} of them",
        ["figure"],
        ["mean", "deviation", "variation", "median", "5 %", "25 %", "75 %", "95 %", "99 %"],
    )
    for name in _SPREAD:
        one = account.spread.get(name)
        if one and one.most:
            table.add_row(_heading(name), *_description_cells(one, partial(quantity, name)))
    console.print(table)
    console.print()


def _costs(account: Account) -> Iterable[str]:
    """What the monitor itself cost: printed every time."""
    cost, monitor = account.cost, account.watch.monitor
    if monitor is not None:
        share = f" ({_percent(cost.cpu_ns, account.elapsed_ns)} of one processor)" if cost.cpu_ns else ""
        cpu = _UNKNOWN if cost.cpu_ns is None else time_ns(cost.cpu_ns)
        memory = _UNKNOWN if cost.memory_bytes is None else size_bytes(cost.memory_bytes)
        yield f"the monitor: {cpu} of processor time{share}, {memory} of memory; {_lost(cost.lost)}"
        if monitor.hits is not None and monitor.hook_ns is not None and cost.bpf_ns is not None:
            part = _percent(cost.bpf_ns, account.total.cpu_ns)
            yield (
                f"in the watched: {count(monitor.hits)} hits of the hook at {time_ns(monitor.hook_ns)} "
                f"(calibrated here), {time_ns(cost.bpf_ns)} in all{f', {part} of their processor time' if part else ''}"
            )
    yield (
        f"this front end: {time_ns(cost.front_end_cpu_ns)} of processor time, most of it before and after the "
        f"watch, {size_bytes(cost.front_end_memory_bytes)} of memory"
    )


def _percent(part: float | None, whole: float | None) -> str:
    return "" if part is None or not whole else f"{digits(100 * part / whole)} %"


def _lost(lost: int | None) -> str:
    if lost is None:
        return "what it lost is not known"
    return f"{count(lost)} lost" if lost else "nothing lost"


def _impact(account: Account) -> Iterable[str]:
    if not account.watch.windows:
        return
    found = account.impact
    if found is None:
        yield "its impact could not be measured: the windows of one kind, or of both, hold no work"
        return
    pairs = f"over {account.impact_pairs} pairs of windows with the hook and without"
    if found.low is None or found.high is None:
        yield f"measured impact: {found.value:.4f} times the work, too few for an interval, {pairs}"
        return
    yield (
        f"measured impact: with the hook, work per processor time is {found.value:.4f} times "
        f"[{found.low:.4f}, {found.high:.4f}] what it is without, {pairs}"
    )
