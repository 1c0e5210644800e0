"""Turns a watch's account into one HTML file that opens anywhere, offline: what processes cost, and what
watching them did."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from steelyard import destination
from steelyard.drawing import charts, lanes, watch_figures
from steelyard.drawing.charts import Spec
from steelyard.drawing.watch_figures import COLOURS, OTHERS, OTHERS_COLOUR
from steelyard.papers.source import NOTHING
from steelyard.quantities import count, digits, number_of, size_bytes, time_ns
from steelyard.report import template
from steelyard.watch import accounts, sentences
from steelyard.watch.accounts import Account
from steelyard.watch.figures import CPU, FAULTS, IO, SWITCHES
from steelyard.watch.groups import CallSum, ProcessGroup
from steelyard.watch.model import Process
from steelyard.watch.series import Series

_ROWS_MOST = 1000  # of the table of processes; the rest is a line
_FOLDED_FROM = 60  # processes: with more the table begins folded
_PROGRAMS_MOST = 200
_CALLS_DRAWN = 16
_CALLS_OVER_TIME = 4
# A panel of the series: its title, its unit, and the rates that are its lines, by what these are called.
_PANELS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("Processors in use", "share", CPU),
    ("Ready, and waiting for a processor", "share", {"waiting": "wait_ns"}),
    ("Page faults a second", "count", FAULTS),
    (
        "Context switches a second",
        "count",
        {"voluntary": SWITCHES["voluntary"], "forced": SWITCHES["involuntary"]},
    ),
    ("Reads and writes a second", "count", {"reads": "reads", "writes": "writes"}),
    ("Read and written a second", "bytes", {"read": IO["read"], "written": IO["write"]}),
    ("Block devices, a second", "bytes", {"read": "bytes_read", "written": "bytes_written"}),
)


@dataclass(frozen=True, slots=True)
class SeriesChart:
    """A chart of lines, what they are called, and the same in words."""

    title: str
    lines: tuple[str, ...]
    words: str
    spec: Spec


def write(path: Path, account: Account, *, watched: str) -> None:
    """Writes the page to the path, whole or not at all. Raises OSError."""
    destination.write(path, html(account, watched=watched))


@charts.unvalidated
def html(account: Account, *, watched: str) -> str:
    """The whole page; `watched` says what was watched."""
    programs = account.groups if account.by == "program" else accounts.of(account.watch, by="program").groups
    processes = sorted(
        (one for one in account.processes if one.thread is None),
        key=lambda one: (-_cpu_ns(one), one.begin_ns),
    )
    colours = _colours(programs)
    drawn = _lanes(processes, account)
    calls = account.total.calls or {}
    panels = _panels(account.series[0]) if account.series else []
    pictures = {f"line {panel.title}": {"wide": panel.spec} for panel in panels}
    began_ns = account.watch.head.began_ns
    end_ns = began_ns + account.elapsed_ns
    pictures["lives"] = {"wide": watch_figures.timeline(drawn, colours, begin_ns=began_ns, end_ns=end_ns)}
    bars = _bars(calls, account)
    if bars:
        pictures["calls"] = {"wide": watch_figures.bars(bars)}
    shown = {
        "account": account,
        "head": account.watch.head,
        "version": account.watch.head.version,
        "title": watched,
        "finds": "a program, call or number",
        "made_from": f" {account.watch.head.version}",
        "panels_json": {},
        "first": _first(account),
        "more": _more(account.total),
        "counted": sentences.exactness(account),
        "costs": [*sentences.costs(account), *sentences.impact(account)],
        "notes": account.notes,
        "programs": [_group_row(one) for one in programs[:_PROGRAMS_MOST]],
        "programs_left": len(programs) - _PROGRAMS_MOST,
        "total_row": _group_row(account.total),
        "calls": [_call_row(name, one, account) for name, one in calls.items()],
        "calls_drawn": [bar.name for bar in bars],
        "panels": panels,
        "swatch": _swatch,
        "colours": colours | ({OTHERS: OTHERS_COLOUR} if len(programs) > len(colours) else {}),
        "lanes": drawn,
        "drawn_lives": len(processes),
        "processes": [_process_row(one, account) for one in processes[:_ROWS_MOST]],
        "left_out": _left_out(processes[_ROWS_MOST:]),
        "folded_from": _FOLDED_FROM,
        "charts": {"config": charts.CONFIG, "forests": {}},
        "figure_specs": pictures,
    }
    return template.render("watch.html", shown, filters=_FILTERS)


def _cpu_ns(one: Process) -> int:
    return sum(one.figures[name] or 0 for name in CPU.values())


# Sentences


def _first(account: Account) -> str:
    total = account.total
    processes = number_of(total.processes, "process", "processes")
    if total.cpu_ns is None:
        return f"{processes} in {time_ns(account.elapsed_ns)}."
    share = f"{digits(100 * total.cpu_ns / account.elapsed_ns)} %" if account.elapsed_ns else NOTHING
    user, system = (total.figures[name] or 0 for name in CPU.values())
    return (
        f"{processes} used {time_ns(total.cpu_ns)} of processor time in {time_ns(account.elapsed_ns)}: "
        f"{share} of one processor, {time_ns(user)} in user and {time_ns(system)} in system mode."
    )


def _more(total: ProcessGroup) -> str:
    phrases = []
    for name, words in (
        (FAULTS["minor"], "minor"),
        (FAULTS["major"], "major page faults"),
        (SWITCHES["voluntary"], "voluntary"),
        (SWITCHES["involuntary"], "forced context switches"),
    ):
        value = total.figures[name]
        if value is not None:
            phrases.append(f"{count(value)} {words}")
    calls = sentences.total_calls(total)
    phrases += [f"{calls} system calls"] if calls != NOTHING else []
    ends = [f"{count(total.failed)} ended badly"] if total.failed else []
    ends += [f"{count(total.running)} still ran when the watch ended"] if total.running else []
    return "; ".join([", ".join(phrases), *ends]).removeprefix("; ")


# Pictures


def _colours(programs: Sequence[ProcessGroup]) -> dict[str, str]:
    """The programs that used most, by name as shown; the rest have a colour together."""
    names = dict.fromkeys(one.name for one in programs)
    return dict(zip(names, COLOURS, strict=False))


def _lanes(processes: Iterable[Process], account: Account) -> lanes.Lanes:
    until_ns = account.watch.head.began_ns + account.elapsed_ns
    return lanes.of(
        [
            lanes.Span(one.watched_ns, one.end_ns or until_ns, one.program, _about(one, account))
            for one in processes
        ]
    )


def _about(one: Process, account: Account) -> str:
    after_ns = one.watched_ns - account.watch.head.began_ns
    ended = sentences.ending(one)
    lived = time_ns((one.end_ns or account.watch.head.began_ns + account.elapsed_ns) - one.watched_ns)
    used = "" if one.figures[CPU["user"]] is None else f", used {time_ns(_cpu_ns(one))}"
    return f"{one.program} [{one.pid}], after {time_ns(max(after_ns, 0))} for {lived}{used}; {ended}"


def _panels(series: Series) -> list[SeriesChart]:
    began_ns = series.begins_ns[0]
    begins, ends = (
        [(at - began_ns) / 1e9 for at in moments] for moments in (series.begins_ns, series.ends_ns)
    )
    panels = []

    def add(title: str, unit: str, lines: Sequence[watch_figures.StepLine]) -> None:
        averages = "; ".join(f"{line.name}: {_on_average(line.values, unit)} on average" for line in lines)
        spec = watch_figures.lines(lines, begins, ends, unit=unit)
        panels.append(
            SeriesChart(title, tuple(line.name for line in lines), f"{title} over time. {averages}", spec)
        )

    for title, unit, names in _PANELS:
        scale = 1e9 if unit == "share" else 1
        lines = [
            watch_figures.StepLine(shown, [value / scale for value in series.rates[name].values])
            for shown, name in names.items()
            if name in series.rates
        ]
        if lines:
            add(title, unit, lines)
    memory = series.levels.get("memory_end")
    if memory:
        add("Resident memory", "bytes", [watch_figures.StepLine("resident", memory.values)])
    often = sorted(series.calls.items(), key=lambda item: -sum(item[1].values))[:_CALLS_OVER_TIME]
    if often:
        title = "System calls a second, the most frequent"
        add(title, "count", [watch_figures.StepLine(name, one.values) for name, one in often])
    return panels


def _on_average(values: Sequence[float], unit: str) -> str:
    mean = sum(values) / len(values)
    if unit == "share":
        return f"{digits(100 * mean)} % of one processor"
    return size_bytes(round(mean)) if unit == "bytes" else count(mean)


def _swatch(number: int) -> Markup:
    """A short line in the style of the chart."""
    dash = " ".join(map(str, watch_figures.DASHES[number]))
    return Markup(
        '<svg class="swatch" viewBox="0 0 24 8" aria-hidden="true"><path d="M0,4H24" fill="none" '
        f'stroke="{COLOURS[number]}" stroke-width="2" stroke-dasharray="{dash}"/></svg>'
    )


def _bars(calls: Mapping[str, CallSum], account: Account) -> list[watch_figures.Bar]:
    bars = []
    for name, one in list(calls.items())[:_CALLS_DRAWN]:
        if one.samples is not None:
            bars.append(watch_figures.Bar(name, one.samples, None, None, 0))
        elif one.calls is not None:
            errors = one.errors.value if one.errors else 0
            bars.append(watch_figures.Bar(name, one.calls.value, one.calls.low, one.calls.high, errors))
    return bars


# Rows


def _group_row(one: ProcessGroup) -> dict[str, Any]:
    return {
        "name": one.name,
        "cells": [
            count(one.processes),
            count(one.failed) if one.failed else "",
            *(_figure(one, name) for name in (*CPU.values(), "wait_ns")),
            *(_pair(one, *family.values()) for family in (FAULTS, SWITCHES)),
            sentences.total_calls(one),
            *(_figure(one, name) for name in (*IO.values(), "memory_peak")),
        ],
    }


def _figure(one: ProcessGroup, name: str) -> str:
    return sentences.figure_of(one, name)


def _pair(one: ProcessGroup, *names: str) -> str:
    return " / ".join(sentences.figure_of(one, name) for name in names)


def _process_row(one: Process, account: Account) -> dict[str, Any]:
    def figure(name: str) -> str:
        value = one.figures[name]
        return NOTHING if value is None else sentences.figure(name, value)

    until_ns = account.watch.head.began_ns + account.elapsed_ns
    after_ns = one.watched_ns - account.watch.head.began_ns
    before = f", before {one.program_before}" if one.program_before else ""
    return {
        "program": one.program,
        "pid": one.pid,
        "about": f"child of {one.parent}{before}",
        "find": f"{one.program} {one.pid} {one.parent} {sentences.ending(one)}",
        "cells": [
            "attached" if one.attached else f"+{time_ns(max(after_ns, 0))}",
            time_ns((one.end_ns or until_ns) - one.watched_ns),
            *map(figure, CPU.values()),
            *(" / ".join(map(figure, family.values())) for family in (FAULTS, SWITCHES)),
            _calls_of(one, account),
            figure("memory_peak"),
        ],
        "ended": sentences.ending(one),
        "is_bad": bool(one.status or one.signal),
    }


def _calls_of(one: Process, account: Account) -> str:
    """All its calls together; at "budget" an estimate where not all were counted, at "profile" samples in
    calls."""
    if one.calls is None:
        return NOTHING
    detail = account.watch.head.detail
    values = [
        call.expanded if detail == "budget" else call.samples if detail == "profile" else call.calls
        for call in one.calls.values()
    ]
    known = [value for value in values if value is not None]
    if len(known) == len(values) and (detail == "budget" or one.exact is not False):
        return ("≈ " if detail == "budget" and not one.exact else "") + count(round(sum(known)))
    total = sum(call.calls or 0 for call in one.calls.values())
    return f"≥ {count(total)}" if detail != "profile" and total else NOTHING


def _left_out(rest: Sequence[Process]) -> str:
    if not rest:
        return ""
    together = time_ns(sum(map(_cpu_ns, rest)))
    return (
        f"{count(len(rest))} more processes, each of which used {time_ns(_cpu_ns(rest[0]))} or less and all "
        f"together {together}, are not in this table; --format json has every one."
    )


def _call_row(name: str, one: CallSum, account: Account) -> dict[str, Any]:
    whole = sum(other.calls.value for other in (account.total.calls or {}).values() if other.calls)
    times = sum(other.time_ns or 0 for other in (account.total.calls or {}).values())
    interval = sentences.bounds(one.calls) if one.calls and one.calls.level is not None else ""
    return {
        "name": name,
        "calls": sentences.at_least(one),
        "interval": interval if one.calls or one.samples is not None else "not resolved",
        "share": f"{100 * one.calls.value / whole:.1f} %" if one.calls and whole else NOTHING,
        "errors": NOTHING
        if one.errors is None
        else count(round(one.errors.value))
        if one.errors.value
        else "",
        "samples": NOTHING if one.samples is None else count(one.samples),
        "time": NOTHING if one.time_ns is None else time_ns(one.time_ns),
        "time_share": f"{100 * one.time_ns / times:.1f} %" if one.time_ns is not None and times else NOTHING,
        "each": time_ns(one.time_ns / one.seen) if one.time_ns is not None and one.seen else NOTHING,
        "half": sentences.below(one.histogram, 0.5),
        "most": sentences.below(one.histogram, 0.99),
        "spark": _spark(one.histogram),
    }


def _spark(histogram: Sequence[int] | None) -> Markup:
    """The histogram as small bars, from 64 ns at the left to 17 s at the right, doubling."""
    if not histogram or not any(histogram):
        return Markup("")
    most = max(histogram)
    width, height = 4 * len(histogram), 20
    # The square root: what is rare is still seen beside what is frequent.
    bars = "".join(
        f"M{4 * number},{height}v{-max(1.5, height * (calls / most) ** 0.5):.1f}h3V{height}z"
        for number, calls in enumerate(histogram)
        if calls
    )
    return Markup(
        f'<svg class="spark" viewBox="0 0 {width} {height}" aria-hidden="true"><path d="{bars}"/></svg>'
    )


def _capitalised(sentence: str) -> str:
    """The sentence with a capital letter, unless it begins with a name such as io_uring."""
    first = sentence.partition(" ")[0]
    return sentence[:1].upper() + sentence[1:] if first.rstrip(":").isalpha() else sentence


_FILTERS: dict[str, Callable[..., Any]] = {"duration": time_ns, "begun": _capitalised}
