"""A system under a monitor: each trial's process is started under a command that watches it, and what that
command has written is read when the trial is over.

The monitor lives as long as the trial's process and no longer: a hook that it puts into the kernel, which all
processes pay for, is in no other system's trial, and an agent that is parked is not held by a debugger.
"""

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from steelyard.errors import SystemFailed, Unsupported
from steelyard.programs import built
from steelyard.study.model import AT, CALLS, ESTIMATED, MONITORS, OF_SERVER
from steelyard.systems.system import Place, System
from steelyard.watch import records, series
from steelyard.watch.figures import CPU

Figure = tuple[str, str, int]  # metric, unit, value
Reader = Callable[[str], Iterable[Figure]]


def under(system: System, words: tuple[str, ...], reads: str) -> System:
    """The same with each trial's process under that command. In its words {monitor} stands for
    steelyard-watch, {scratch} for the system's directory, {seen} for the file there that is read after each
    trial, in the way called `reads`: one of MONITORS, or "" if nothing is to be read."""
    reader = partial(_records_of, _READERS[reads], words[0]) if reads else system.monitor_records
    return replace(
        system,
        summary=f"{system.summary}; each trial under {' '.join(words)}",
        command=partial(_command, system.command, words),
        monitor_records=reader,
        is_watched=True,
    )


def _record_file(place: Place) -> Path:
    return place.scratch / "seen"


def _command(agent: Callable[[Place], list[str]], words: tuple[str, ...], place: Place) -> list[str]:
    known = {
        "{monitor}": _steelyard_watch_file(),
        "{seen}": str(_record_file(place)),
        "{scratch}": str(place.scratch),
    }
    filled = (re.sub(r"\{\w+\}", lambda match: known.get(match[0], match[0]), word) for word in words)
    return ["env", "STEELYARD_UNDER=" + "\n".join(filled), *agent(place)]


def _steelyard_watch_file() -> str:
    """The path of steelyard-watch. If it is not built, its trials are unsupported, like those under any
    other monitor."""
    try:
        return str(built.monitor())
    except Unsupported:
        return "steelyard-watch"


def _records_of(reader: Reader, name: str, place: Place) -> list[dict[str, Any]]:
    """The output of the monitor as the records `value` of a trial; the file is then removed, so that the next
    trial cannot read it. Empty if it wrote nothing. Raises SystemFailed if it cannot be parsed.
    """
    try:
        text = _record_file(place).read_text(encoding="utf-8", errors="replace")
        _record_file(place).unlink()
    except FileNotFoundError:
        return []
    try:
        figures = list(reader(text))
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise SystemFailed(f"cannot parse the output of '{name}': {error}") from error
    return [
        {"record": "value", "copy": 0, "metric": metric, "unit": unit, "value": value}
        for metric, unit, value in figures
    ]


def _strace(text: str) -> Iterator[Figure]:
    """The table of strace -c: % time, seconds, usecs/call, calls, errors (or nothing), syscall."""
    for line in text.splitlines():
        words = line.split()
        if words and re.fullmatch(r"[\d.]+", words[0]) and words[-1] != "total":
            yield CALLS + words[-1], "calls", int(words[3])


def _perf_trace(text: str) -> Iterator[Figure]:
    """The tables of perf trace -s, one for each thread: syscall, calls, errors, times."""
    by_call: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 8 and words[1].isdigit() and words[2].isdigit():
            by_call[words[0]] = by_call.get(words[0], 0) + int(words[1])
    for call, calls in by_call.items():
        yield CALLS + call, "calls", calls


def _perf_stat(text: str) -> Iterator[Figure]:
    """The lines of perf stat -x, with one event, raw_syscalls:sys_enter: every call, of whatever type."""
    for line in text.splitlines():
        words = line.split(",")
        if "raw_syscalls:sys_enter" in line:
            yield "calls", "calls", int(words[0])


def _sar(text: str) -> Iterator[Figure]:
    """The line of averages of sar -u, of all processors; a trial without a whole interval has none."""
    titles: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if "%user" in words:
            titles = words[words.index("%user") :]
        elif words[:1] == ["Average:"]:
            shares = dict(zip(titles, words[-len(titles) :], strict=True))
            for mode, title in (("user", "%user"), ("system", "%system")):
                yield (
                    f"processors in {mode} mode",
                    "hundredths of a percent",
                    round(100 * float(shares[title])),
                )


def _steelyard_watch(text: str) -> Iterator[Figure]:
    """The records of steelyard-watch: of all processes of the trial, and the wall time of the first."""
    lines = [json.loads(line) for line in text.splitlines()]
    processes = [one for one in lines if one["record"] == "process" and one["thread"] is None]
    if not any(one["record"] == "end" for one in lines):
        raise ValueError("its records have no end")
    for mode, figure in CPU.items():
        if processes and all(one[figure] is not None for one in processes):
            yield f"{mode} time", "ns", sum(one[figure] for one in processes)
    for one in processes:
        if one["generation"] == 0 and one["end_ns"] is not None:
            yield "watched", "ns", one["end_ns"] - one["watched_ns"]
    if lines[0].get("every_ns") is not None:
        yield from _server_under_load(text)
    calls: dict[str, float] = {}
    is_estimate = lines[0]["detail"] == "budget"
    for one in processes if lines[0]["detail"] != "profile" else ():
        for name, call in (one["calls"] or {}).items():
            number = call["expanded"] if is_estimate else call["calls"]
            if number is not None:
                calls[name] = calls.get(name, 0) + number
    for name, number in calls.items():
        yield (ESTIMATED if is_estimate else "") + CALLS + name, "calls", round(number)


_BUSY_LEAST = 0.1  # of the reads of the busiest interval: in less the server is not under load
_RATES = (("cpu_user_ns",), ("cpu_system_ns",), ("faults_minor", "faults_major"), ("reads",), ("writes",))


def _server_under_load(text: str) -> Iterator[Figure]:
    """What all processes of another program than the trial's own did a second: in each interval while they
    were under load, and in the mean of these intervals. What began before the load, or went on after it, is
    left out, and so are the intervals in which it began and ended, where there are others."""
    watch = records.read(io.BytesIO(text.encode()))
    if watch is None or watch.monitor is None:
        return
    own = {one.program for one in watch.processes if one.generation == 0}
    server = [one for one in watch.processes if one.program not in own]
    if not server:
        return
    (found,) = series.of(watch, [("server", server)], until_ns=watch.monitor.at_ns)
    reads = found.rates["reads"].values if "reads" in found.rates else ()
    busy = [number for number, rate in enumerate(reads) if rate >= _BUSY_LEAST * max(reads) > 0]
    if not busy:
        return
    under_load = range(busy[0], busy[-1] + 1)
    under_load = under_load[1:-1] if len(under_load) > 2 else under_load
    lengths = [found.ends_ns[number] - found.begins_ns[number] for number in under_load]
    begin_ns = found.begins_ns[under_load[0]]
    for (what, (unit, parts)), names in zip(OF_SERVER.items(), _RATES, strict=True):
        scale = parts / 1e7 if unit == "%" else parts  # 1e7 ns of a second are one per cent
        rates = [
            scale * sum(found.rates[name].values[number] for name in names if name in found.rates)
            for number in under_load
        ]
        mean = sum(rate * length for rate, length in zip(rates, lengths, strict=True)) / sum(lengths)
        yield what, f"{parts}ths of {unit}", round(mean)
        for number, rate in zip(under_load, rates, strict=True):
            ms = round((found.ends_ns[number] - begin_ns) / 1e6)
            yield f"{what}{AT}{ms}", f"{parts}ths of {unit}", round(rate)


_READERS: dict[str, Reader] = dict(
    zip(MONITORS, (_steelyard_watch, _strace, _perf_trace, _perf_stat, _sar), strict=True)
)
