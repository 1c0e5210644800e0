"""Turns the monitor's records, as they come, into running totals: by program, which never go down, and of
the processes that run."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.watch.figures import COUNTED, CPU
from steelyard.watch.model import Head, Monitor, Process, Reading, Record

PROGRAMS_MOST = 100  # with their own totals: a program may rename itself every second
OTHERS = "(others)"
_TICK_NS = 10_000_000  # of the beginnings in /proc: a hundredth of a second

NameOf = Callable[[int, int], str | None]


@dataclass(slots=True)
class Sums:
    """The sums of counts; figures that were not seen are missing."""

    figures: dict[str, float] = field(default_factory=dict)
    calls: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    beginnings: int = 0  # of processes


@dataclass(slots=True)
class RunningProcess:
    """A process that has not ended: what it has used since it is watched, and what of that the totals
    hold."""

    program: str | None  # None: not known yet; the record of its end will say
    now: Sums
    in_totals: Sums
    memory_bytes: int | None = None  # resident, as last read
    readings: int = 0


class Totals:
    """Takes records one by one. Another thread may look while it holds `lock`."""

    def __init__(self, *, name_of: NameOf | None = None) -> None:
        self._name_of = name_of or program_of
        self.lock = threading.Lock()
        self.head: Head | None = None
        self.monitor: Monitor | None = None
        self.programs: dict[str, Sums] = {}
        self.running: dict[tuple[int, int], RunningProcess] = {}
        self.ends = 0  # processes
        self.read_ns = 0  # the moment of the last reading
        self.moments = 0  # of reading, so far; where nothing changed there is none

    def look(self, records: Iterable[Record]) -> None:
        """Takes records as they come: an onlooker."""
        for record in records:
            self.take(record)

    def take(self, record: Record) -> None:
        """Adds what the record says. Threads are left out: their process has all of it."""
        with self.lock:
            match record:
                case Head():
                    self.head = record
                    self.read_ns = record.began_ns
                case Reading():
                    self._read(record)
                case Process(thread=None):
                    self._end(record)
                case Monitor():
                    self.monitor = record

    def _read(self, one: Reading) -> None:
        if one.at_ns > self.read_ns:
            self.read_ns = one.at_ns
            self.moments += 1
        running = self._running(one.key)
        running.readings += 1
        # Looked for again and again, because programs execute others, but seldom where it lives long.
        if running.program is None or running.readings.bit_count() == 1:
            running.program = self._name_of(one.pid, one.begin_ns) or running.program
        running.program = one.program or running.program
        counted = {name: value for name, value in one.figures.items() if name in COUNTED}
        running.now.figures |= counted
        running.now.calls |= {name: calls for name, (calls, _) in one.calls.items()}
        running.now.errors |= {name: errors for name, (_, errors) in one.calls.items() if errors is not None}
        running.memory_bytes = one.figures.get("memory_end", running.memory_bytes)
        if running.program is not None:
            self._hold(running, running.program)

    def _end(self, one: Process) -> None:
        running = self._running(one.key)
        del self.running[one.key]
        self.ends += one.end_ns is not None
        counted = {name: one.figures.get(name) for name in COUNTED}
        running.now.figures |= {name: value for name, value in counted.items() if value is not None}
        for name, call in (one.calls or {}).items():
            # Where too few windows were met for an estimate, at least what was counted.
            expanded = (call.expanded, call.expanded_errors)
            amount, errors = (call.calls, call.errors) if call.expanded is None else expanded
            if self.head and self.head.detail == "profile":
                amount = call.samples
            if amount is not None:
                running.now.calls[name] = amount
            if errors is not None:
                running.now.errors[name] = errors
        self._hold(running, one.program)

    def _running(self, key: tuple[int, int]) -> RunningProcess:
        return self.running.setdefault(key, RunningProcess(None, Sums(), Sums()))

    def _hold(self, running: RunningProcess, program: str) -> None:
        """Attribute what was counted since the last reading to the program that runs now."""
        if program not in self.programs and len(self.programs) >= PROGRAMS_MOST:
            program = OTHERS
        total = self.programs.setdefault(program, Sums())
        total.beginnings += not running.in_totals.beginnings
        running.in_totals.beginnings = 1
        _add(total.figures, running.now.figures, running.in_totals.figures)
        _add(total.calls, running.now.calls, running.in_totals.calls)
        _add(total.errors, running.now.errors, running.in_totals.errors)


def _add(total: dict[str, float], now: Mapping[str, float], held: dict[str, float]) -> None:
    """Add the increase of `now` over `held`, which then equals it. An estimate that has shrunk adds
    nothing.
    """
    for name, value in now.items():
        more = value - held.get(name, 0)
        if more > 0 or name not in total:
            total[name] = total.get(name, 0) + max(0, more)
            held[name] = value


def cpu_ns(figures: Mapping[str, float]) -> float:
    """Time on processors, by whichever figure there is."""
    times = [figures[name] for name in CPU.values() if name in figures]
    return sum(times) if len(times) == len(CPU) else figures.get("run_ns", 0)


def total(parts: Iterable[Sums]) -> Sums:
    """All of them together."""
    whole = Sums()
    for part in parts:
        _add(whole.figures, part.figures, {})
        _add(whole.calls, part.calls, {})
        _add(whole.errors, part.errors, {})
        whole.beginnings += part.beginnings
    return whole


def program_of(pid: int, begin_ns: int) -> str | None:
    """The name of a process of this host that runs now; None if it is gone, its number another's perhaps."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        name, _, rest = stat.partition(b"(")[2].rpartition(b")")
        began_ns = int(rest.split()[19]) * _TICK_NS - _ahead_ns()
    except (OSError, ValueError, IndexError):
        return None
    return name.decode(errors="backslashreplace") if abs(began_ns - begin_ns) <= 2 * _TICK_NS else None


def _ahead_ns() -> int:
    """The offset of CLOCK_BOOTTIME in this time namespace, used for start times in /proc, from the kernel's,
    used in records.
    """
    try:
        lines = Path("/proc/self/timens_offsets").read_text(encoding="ascii").splitlines()
        offsets = {name: int(seconds) * 10**9 + int(ns) for name, seconds, ns in map(str.split, lines)}
        return offsets.get("boottime", 0)
    except (OSError, ValueError):
        return 0
