"""Reads the state of this machine before and after a trial: the use of its processors, and shortages.

The work of a trial and its laboratory must not be taken for other work. So the CPU time of every descendant
of this process is read too, and the analysis subtracts it.
"""

import os
import re
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from steelyard import allowance
from steelyard.events import Surroundings
from steelyard.running import laboratories
from steelyard.systems import agent
from steelyard.text import of_file

_PROC, _SYS = Path("/proc"), Path("/sys")
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_BUSY_FIELDS = 8  # of a line of /proc/stat; after it time of guests, which is in those already
_IDLE, _WAITING_FOR_DEVICE, _STOLEN = 3, 4, 7
_HEAT = "devices/system/cpu/cpu{}/thermal_throttle/core_throttle_count"


_SWAPPED = re.compile(r"^pswp(?:in|out) (\d+)$", re.MULTILINE)
_groups = cache(allowance.groups)  # which groups this process is in does not change while it measures


@dataclass(frozen=True, slots=True)
class StateReading:
    """Totals since the machine started, at one moment; None or absent: the kernel does not tell."""

    at_ns: int
    processors: tuple[int, ...]  # that this process may use: of these alone is what follows
    idle_ns: int | None
    stolen_ns: int | None
    own_ns: int  # by this process and all that descend from it
    waited_us: dict[str, int] = field(default_factory=dict)  # by resource, as /proc/pressure has them
    # By control group with a processor quota, own or parent: its periods, and those in which it was stopped.
    periods: dict[Path, tuple[int, int]] = field(default_factory=dict)
    memory_hits: int | None = None  # how often a control group reached a limit of memory
    swapped_pages: int | None = None
    heat_events: int | None = None
    laboratories: int | None = None  # others that measure now


def read(
    *,
    proc: Path = _PROC,
    sys: Path = _SYS,
    is_before: bool,
    active: Collection[int] | None = None,
    with_active: bool = True,
) -> StateReading:
    """Return the state now. What descends from this process is idle then: before a trial it is read first,
    and after a trial last, so that what belongs together is read together. Of this process's children
    only those `active` have descendants that are not stopped; None: any may. Without them, they are left
    out: a monitor knows better what they used."""
    children_ns = _children_ns(proc, active, with_active) if is_before else 0
    processors = allowance.processors()
    at_ns = time.monotonic_ns()
    idle_ns, stolen_ns = _idle_and_stolen(processors, proc)
    own_ns = time.process_time_ns()
    waited_us = {
        name: total
        for name in ("cpu", "memory", "io")
        if (total := _total_waited(proc / "pressure" / name)) is not None
    }
    if not is_before:
        children_ns = _children_ns(proc, active, with_active)
    heat = [allowance.number(sys / _HEAT.format(one)) for one in processors]
    known_heat = [one for one in heat if one is not None]
    return StateReading(
        at_ns,
        processors,
        idle_ns,
        stolen_ns,
        own_ns + children_ns,
        waited_us,
        _periods(proc),
        _memory_hits(proc),
        _swapped_pages(proc),
        sum(known_heat) if known_heat else None,
        laboratories.others(proc=proc),
    )


def between(before: StateReading, after: StateReading) -> Surroundings:
    """Return the difference of two readings. A figure that decreased, or is missing, is None."""
    span_ns = after.at_ns - before.at_ns
    had_ns = span_ns * len(before.processors)
    is_same = before.processors == after.processors and span_ns > 0
    idle_ns = _more(before.idle_ns, after.idle_ns) if is_same else None
    stolen_ns = _more(before.stolen_ns, after.stolen_ns) if is_same else None
    periods, throttled = _most_throttled(before, after)
    seen = (before.laboratories, after.laboratories)
    return Surroundings(
        memory_pressure=waited(before, after, "memory"),
        io_pressure=waited(before, after, "io"),
        had_ns=had_ns if idle_ns is not None else None,
        busy_ns=None if idle_ns is None else max(0, had_ns - idle_ns - (stolen_ns or 0)),
        own_ns=None if idle_ns is None else max(0, after.own_ns - before.own_ns),
        stolen_ns=stolen_ns,
        quota_periods=periods,
        throttled_periods=throttled,
        memory_hits=_more(before.memory_hits, after.memory_hits),
        swapped_pages=_more(before.swapped_pages, after.swapped_pages),
        heat_events=_more(before.heat_events, after.heat_events),
        laboratories=max((one for one in seen if one is not None), default=None),
    )


def _most_throttled(before: StateReading, after: StateReading) -> tuple[int | None, int | None]:
    """Periods, and those in which it was stopped, of the group that was stopped most often. The counters of
    a group without a quota stand still."""
    differences = [
        (after.periods[path][1] - throttled, after.periods[path][0] - periods)
        for path, (periods, throttled) in before.periods.items()
        if path in after.periods
    ]
    known = [(throttled, periods) for throttled, periods in differences if 0 <= throttled <= periods]
    throttled, periods = max(known, default=(None, None))
    return periods, throttled


def waited(before: StateReading, after: StateReading, resource: str) -> float | None:
    """Return the share of the time in which some process waited for the resource; None if it is unknown."""
    waited_us, span_ns = (
        _more(before.waited_us.get(resource), after.waited_us.get(resource)),
        after.at_ns - before.at_ns,
    )
    return None if waited_us is None or span_ns <= 0 else min(1.0, 1000 * waited_us / span_ns)


def _more(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None or after < before else after - before


def _idle_and_stolen(processors: tuple[int, ...], proc: Path) -> tuple[int | None, int | None]:
    """Time in which these processors were idle, and which their host took. Linux counts idle time exactly,
    and busy time by ticks: so busy is what is left. (None, None) where it counts nothing, as gVisor does."""
    try:
        lines = [line.split() for line in of_file(proc / "stat").splitlines() if line.startswith("cpu")]
        by_name = {line[0]: [int(one) for one in line[1 : 1 + _BUSY_FIELDS]] for line in lines}
        known = [by_name[f"cpu{one}"] for one in processors]
    except (OSError, ValueError, KeyError):
        return None, None
    if any(len(one) <= _WAITING_FOR_DEVICE or not any(one) for one in known):
        return None, None
    idle = sum(one[_IDLE] + one[_WAITING_FOR_DEVICE] for one in known)
    stolen = sum(one[_STOLEN] for one in known if len(one) > _STOLEN)
    return idle * _TICK_NS, stolen * _TICK_NS


def _children_ns(proc: Path, active: Collection[int] | None, with_active: bool) -> int:
    """CPU time of all descendants of this process, with those that have ended, which is counted by the parent
    that waited for them. Stopped processes use none, and are left out: a guest has many threads.
    """
    own = os.times()
    ended_ns = round((own.children_user + own.children_system) * 1e9)
    if active is None:
        living = agent.descendants(os.getpid(), proc=proc, with_held=True)
    else:
        living = [*{*agent.children(os.getpid(), proc)} - {*active}]
        for one in active if with_active else ():
            living += [one, *agent.descendants(one, proc=proc, with_held=True)]
    return ended_ns + sum(_used_ns(process, proc) for process in living)


def _used_ns(process: int, proc: Path) -> int:
    try:
        fields = of_file(proc / str(process) / "stat").rpartition(")")[2].split()
        return sum(int(one) for one in fields[11:15]) * _TICK_NS  # utime, stime, cutime, cstime
    except (OSError, ValueError):
        return 0  # it has ended


def _total_waited(file: Path) -> int | None:
    """Microseconds in which some process waited for the resource."""
    try:
        return int(of_file(file).split("total=", 1)[1].split(maxsplit=1)[0])
    except (OSError, IndexError, ValueError):
        return None


def _periods(proc: Path) -> dict[Path, tuple[int, int]]:
    counts = {
        group.path: allowance.counters(group.path / "cpu.stat") for group in _groups(allowance.CPU, proc=proc)
    }
    return {
        path: (known["nr_periods"], known["nr_throttled"])
        for path, known in counts.items()
        if "nr_periods" in known and "nr_throttled" in known
    }


def _memory_hits(proc: Path) -> int | None:
    """The number of times the process's control groups reached a memory limit."""
    known = []
    for group in _groups(allowance.MEMORY, proc=proc):
        if group.version == 2:
            events = allowance.counters(group.path / "memory.events.local")
            events = events or allowance.counters(group.path / "memory.events")
            known += [events[name] for name in ("high", "max", "oom") if name in events]
        elif (failures := allowance.number(group.path / "memory.failcnt")) is not None:
            known.append(failures)
    return sum(known) if known else None


def _swapped_pages(proc: Path) -> int | None:
    try:
        counts = _SWAPPED.findall(of_file(proc / "vmstat"))  # some two hundred others are not wanted
    except OSError:
        return None
    return sum(map(int, counts)) if counts else None
