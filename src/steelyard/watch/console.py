"""Prints an account for people at a terminal: a sentence, tables, and what all this leaves out."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TextIO

from rich.table import Table
from rich.text import Text

from steelyard import terminal
from steelyard.quantities import count, time_ns
from steelyard.statistics.description import PERCENTILES, Description
from steelyard.terminal import Console
from steelyard.text import shown
from steelyard.watch import sentences
from steelyard.watch.accounts import Account
from steelyard.watch.figures import CPU, FAMILIES, FAULTS, IO, SWITCHES
from steelyard.watch.groups import CallSum, ProcessGroup
from steelyard.watch.model import Process
from steelyard.watch.series import CPU_NS, Series

_WIDTH_OF_MOST = 100  # a narrower terminal shows fewer columns
_WIDTH_OF_NAMES = 28
_UNKNOWN = "–"
_SERIES = (
    CPU_NS, *CPU.values(), "wait_ns", *FAULTS.values(), *SWITCHES.values(),
    *FAMILIES["block_io"].values(), "memory_end",
)  # fmt: skip
_SPREAD = (
    "lifetime_ns", *CPU.values(), FAULTS["minor"], SWITCHES["voluntary"], "memory_peak",
)  # fmt: skip
_CALLS_IN_SERIES = 5


def print_account(account: Account, file: TextIO, *, watched: str, top: int) -> None:
    """The account; `watched` says what was watched, `top` how many rows a table has at most."""
    console = terminal.console(file)
    console.print(Text(sentences.headline(account, watched), style="bold"))
    if account.groups:
        _print_groups(console, account, top)
        _print_memory(console, account, top)
    _print_calls(console, account, top)
    _print_series(console, account)
    _print_spread(console, account)
    for sentence in (*sentences.costs(account), *sentences.impact(account)):
        console.print(sentence)
    for note in account.notes:
        console.print(f"note: {note}")


def _table(name: str, numbers: Iterable[str], *, longest: int = 0) -> Table:
    """An empty table as all of ours look: names, then numbers to the right; no lines."""
    table = Table(pad_edge=False, box=None, header_style="bold")
    table.add_column(name, no_wrap=True, min_width=min(longest, _WIDTH_OF_NAMES))
    for number in numbers:
        table.add_column(number, justify="right", no_wrap=True)
    return table


def _print(console: Console, title: str, table: Table) -> None:
    """The title stands by itself: in the table it would be broken to the table's width."""
    console.print(Text(title, style="italic"))
    console.print(table)
    console.print()


# What a group's row says: its heading, from which width of the terminal on, and the figure, if it is one.
_COLUMNS = (
    ("user", 0, CPU["user"]), ("system", 0, CPU["system"]), ("of wall", 100, ""),
    ("ready", 128, "wait_ns"), ("faults", 100, FAULTS["minor"]), ("major", 128, FAULTS["major"]),
    ("switches", 100, SWITCHES["voluntary"]), ("forced", 128, SWITCHES["involuntary"]),
    # Of anything: what came from block devices alone is nothing in most processes.
    ("calls", 0, ""), ("read", 128, IO["read"]), ("written", 128, IO["write"]),
    ("peak memory", 0, "memory_peak"),
)  # fmt: skip


def _print_groups(console: Console, account: Account, top: int) -> None:
    single = account.by == "process"
    groups = account.groups[:top]
    rest = len(account.groups) - len(groups)
    left_out = f"; {count(rest)} more are not shown: --top {len(account.groups)}" if rest else ""
    table = _table(
        account.by,
        [
            *(("ended", "lived") if single else ("processes", "failed")),
            *(heading for heading, least, _ in _COLUMNS if console.width >= least),
        ],
        longest=max((len(shown(one.name)) for one in groups), default=0),
    )
    by_key = {(one.pid, one.begin_ns): one for one in account.processes if one.thread is None}
    for one in groups:
        process = by_key.get((one.pid or 0, one.begin_ns)) if single else None
        cells = _group_cells(one, one.lifetime_ns, width=console.width)
        table.add_row(Text(shown(one.name)), *_life_cells(one, process), *cells)
    if len(account.groups) > 1:
        begin = ("", "") if single else _life_cells(account.total, None)
        cells = _group_cells(account.total, account.elapsed_ns, width=console.width)
        table.add_row(Text("all"), *begin, *cells, style="bold")
    _print(console, f"By {account.by}, sorted by CPU time{left_out}", table)


_MEMORY = {
    "virtual, begin": "virtual_begin",
    "virtual, end": "virtual_end",
    "resident, begin": "memory_begin",
    "resident, end": "memory_end",
}


def _print_memory(console: Console, account: Account, top: int) -> None:
    """A row a process: its virtual memory and resident set as it, or its last program, began and ended."""
    groups = [
        one for one in account.groups[:top] if any(one.figures[name] is not None for name in _MEMORY.values())
    ]
    if account.by != "process" or not groups:
        return
    table = _table("process", _MEMORY, longest=max(len(shown(one.name)) for one in groups))
    for one in groups:
        table.add_row(Text(shown(one.name)), *(sentences.figure_of(one, name) for name in _MEMORY.values()))
    _print(console, "Memory at the beginning and at the end", table)


def _life_cells(one: ProcessGroup, process: Process | None) -> tuple[str, str]:
    if process:
        return sentences.ending(process), time_ns(one.lifetime_ns)
    return count(one.processes), count(one.failed) if one.failed else ""


def _group_cells(one: ProcessGroup, wall_ns: int, *, width: int) -> Iterable[str]:
    others = {
        "of wall": _UNKNOWN if one.cpu_ns is None or not wall_ns else f"{100 * one.cpu_ns / wall_ns:.1f} %",
        "calls": sentences.total_calls(one),
    }
    for heading, least, figure in _COLUMNS:
        if width >= least:
            yield sentences.figure_of(one, figure) if figure else others[heading]


_CALL_COLUMNS = {
    "calls": ("calls", "errors", "share"),
    "budget": ("calls", "95 % interval", "errors", "share", "counted"),
    "profile": ("samples", "time in it", "of processor time"),
    "latency": ("calls", "errors", "share", "time", "of time", "a call", "half below", "99 % below"),
}


def _print_calls(console: Console, account: Account, top: int) -> None:
    """A row a type of call, of all processes together."""
    calls = account.total.calls
    if not calls:
        return
    head = account.watch.head
    often = list(calls.items())[:top]
    rest = f"; {count(len(calls) - len(often))} more types are not shown" if len(calls) > len(often) else ""
    columns = _CALL_COLUMNS["calls" if head.detail == "budget" and account.total.exact else head.detail]
    names = [name for name in columns if console.width >= _WIDTH_OF_MOST or name not in ("share", "of time")]
    table = _table("call", names, longest=max(len(shown(name)) for name, _ in often))
    whole = sum(one.calls.value for one in calls.values() if one.calls)
    times = sum(one.time_ns or 0 for one in calls.values())
    for name, one in often:
        cells = _call_cells(one, account, whole=whole, times=times)
        texts = (text for column, text in zip(columns, cells, strict=True) if column in names)
        table.add_row(Text(shown(name)), *texts)
    _print(console, f"System calls of all processes, the most frequent first{rest}", table)


def _call_cells(one: CallSum, account: Account, *, whole: float, times: float) -> Iterable[str]:
    detail = account.watch.head.detail
    if detail == "profile":
        cpu_ns = account.total.cpu_ns
        yield _UNKNOWN if one.samples is None else count(one.samples)
        yield _UNKNOWN if one.time_ns is None else f"≈ {time_ns(one.time_ns)}"
        yield _UNKNOWN if one.time_ns is None or not cpu_ns else f"{100 * one.time_ns / cpu_ns:.1f} %"
        return
    estimated = detail == "budget" and not account.total.exact
    yield sentences.at_least(one)
    if estimated:
        yield sentences.bounds(one.calls) if one.calls else "not resolved"
    yield _UNKNOWN if one.errors is None else count(round(one.errors.value)) if one.errors.value else ""
    yield _UNKNOWN if one.calls is None or not whole else f"{100 * one.calls.value / whole:.1f} %"
    if estimated:
        yield _UNKNOWN if one.seen is None else count(one.seen)
    if detail == "latency":
        yield from (_UNKNOWN if one.time_ns is None else time_ns(one.time_ns),)
        yield _UNKNOWN if one.time_ns is None or not times else f"{100 * one.time_ns / times:.1f} %"
        yield _UNKNOWN if one.time_ns is None or not one.seen else time_ns(one.time_ns / one.seen)
        yield from (sentences.below(one.histogram, part) for part in (0.5, 0.99))


def _print_series(console: Console, account: Account) -> None:
    """The series of all processes together, as the intervals are on the whole."""
    if not account.series:
        return
    whole: Series = account.series[0]
    rows: list[tuple[str, Description | None]] = []
    for name in _SERIES:
        figure = whole.rates.get(name) or whole.levels.get(name)
        if figure:
            rows.append((name, figure.over_intervals))
    unit = "samples in " if account.watch.head.detail == "profile" else "calls of "
    often = sorted(whole.calls.items(), key=lambda item: -sum(item[1].values))[:_CALLS_IN_SERIES]
    rows += [(f"{unit}{name}", one.over_intervals) for name, one in often]
    intervals = max((one.count for _, one in rows if one), default=0)
    columns = _described_by(console)
    table = _table("figure", columns, longest=_WIDTH_OF_NAMES * 2 // 3)
    for name, one in rows:
        if one:
            table.add_row(Text(_heading(name)), *_description_cells(one, partial(_rate, name), columns))
    every = time_ns(account.watch.head.every_ns or 0)
    if intervals > 1:
        _print(console, f"All processes, a second, over {intervals} intervals of {every}", table)


def _heading(name: str) -> str:
    """A figure's name in words: of cpu_user_ns "cpu user"."""
    return shown(name.removesuffix("_ns").replace("_", " ") if "calls of" not in name else name)


def _rate(name: str, value: float) -> str:
    """Time per second: the share of one processor."""
    return f"{value / 1e7:.1f} %" if name.endswith("_ns") else sentences.figure(name, value)


def _described_by(console: Console) -> list[str]:
    """The columns of a description: on narrow screens, only the high percentiles."""
    percentiles = PERCENTILES if console.width >= _WIDTH_OF_MOST else PERCENTILES[-2:]
    return ["mean", "deviation", "variation", "median", *(f"{each} %" for each in percentiles)]


def _description_cells(
    one: Description, said: Callable[[float], str], columns: Sequence[str]
) -> Iterable[str]:
    yield said(one.mean)
    yield _UNKNOWN if one.deviation is None else said(one.deviation)
    yield _UNKNOWN if one.variation is None else f"{one.variation:.2f}"
    yield said(one.median)
    yield from (said(value) for each, value in one.percentiles.items() if f"{each} %" in columns)


def _print_spread(console: Console, account: Account) -> None:
    """Print the spread over processes: what a single process was like."""
    if account.total.processes < 3:
        return
    columns = _described_by(console)
    table = _table("figure", columns, longest=_WIDTH_OF_NAMES * 2 // 3)
    for name in _SPREAD:
        one = account.spread.get(name)
        if one and one.most:
            table.add_row(_heading(name), *_description_cells(one, partial(sentences.figure, name), columns))
    _print(console, f"One process, over {count(account.total.processes)} of them", table)
