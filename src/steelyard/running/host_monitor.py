"""Accounts for what a running system costs this host: the monitor attached to its processes, asked for marks.

A guest is its host processes here: what one of its operations costs is what those do meanwhile.
"""

import os
import selectors
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard import home, standstill
from steelyard.errors import SteelyardError, SystemFailed, Unsupported
from steelyard.events import CALLS, LIFE, OF_SERVER, SPAN, SYSTEM, USER, Called, Figure
from steelyard.programs import built
from steelyard.watch import records
from steelyard.watch.model import Head, Mark, Process, Record

_START_LIMIT_S = 20.0
_MARK_LIMIT_S = 5.0
_END_LIMIT_S = 3.0
_QUIET = (
    "bpf",
    "taskstats",
    "proc",
)  # the backends that cost next to nothing what they watch, the best first
_STOPPING = "ptrace"  # the one that stops processes for moments


@dataclass(frozen=True, slots=True)
class Difference:
    """The costs between two marks; `calls` is None if they were not counted."""

    figures: tuple[Figure, ...]
    calls: tuple[Called, ...] | None
    is_whole: bool = True  # False: the monitor lost something meanwhile


def between(before: Mark, after: Mark) -> Difference:
    """The difference of two marks of one watch. What either does not know is left out, never 0; so is all
    between two marks of which the monitor has lost something: what is left would pass for the whole."""
    more = {SPAN: after.at_ns - before.at_ns}
    if (after.lost or 0) > (before.lost or 0):
        return Difference(tuple(Figure(name, value) for name, value in more.items()), None, is_whole=False)
    for name, value in after.figures.items():
        first = before.figures.get(name)
        if value is not None and first is not None:
            more[name] = value - first
    # Only run time is exact: how the kernel splits it may shift, for what was before the first mark too.
    if min(more.get(USER, 0), more.get(SYSTEM, 0)) < 0:
        both = max(0, more.get(USER, 0) + more.get(SYSTEM, 0))
        more |= {USER: 0, SYSTEM: both} if more.get(USER, 0) < 0 else {USER: both, SYSTEM: 0}
    # Any other figure that went back (a process was lost from view) is not known.
    figures = [Figure(name, value) for name, value in more.items() if value >= 0]
    if before.calls is None or after.calls is None:
        return Difference(tuple(figures), None)
    return Difference(tuple(figures), tuple(_called(before.calls, after.calls)))


_Counts = Mapping[str, tuple[float, float | None]]


def apart(calls: Iterable[Called], ended: Sequence[Process]) -> tuple[Called, ...]:
    """The same, with what a trial's server made named so: what those made that have ended and ran another
    program than the outermost, which is the trial's own."""
    first = min(ended, key=lambda one: one.generation, default=None)
    theirs: dict[str, tuple[int, int]] = {}
    for one in ended:
        for name, call in (one.calls or {}).items() if first and one.program != first.program else ():
            count, failed = theirs.get(name, (0, 0))
            theirs[name] = count + (call.calls or 0), failed + (call.errors or 0)
    parts = []
    for called in calls:
        count, failed = theirs.get(called.call, (0, 0))
        if called.calls > count:
            errors = None if called.errors is None else max(0, called.errors - failed)
            parts.append(Called(called.call, called.calls - count, errors))
        if count:
            failed_too = None if called.errors is None else failed
            parts.append(Called(OF_SERVER + called.call, min(count, called.calls), failed_too))
    return tuple(parts)


def _called(before: _Counts, after: _Counts) -> list[Called]:
    changes = []
    for name, (calls, errors) in sorted(after.items()):
        first, first_errors = before.get(name, (0, 0))
        more = None if errors is None or first_errors is None else round(errors - first_errors)
        if calls > first:
            changes.append(Called(name, round(calls - first), more))
    return changes


class HostMonitor:
    """The monitor of a process and all its descendants. Ask it for marks, then close it.

    It ends when its control pipe is closed, so also when this process is killed.
    """

    def __init__(self, process: int, *, detail: str, may_stop: bool) -> None:
        """Begins to watch at that detail: at LIFE by a backend that does not disturb what is timed, at
        CALLS by one that stops processes only if `may_stop`, and then it keeps what ends in `exits`. Raises
        Unsupported if there is no such backend."""
        self.exits: list[Process] = []
        self._tells = () if detail == CALLS else ("--marks",)
        words = [str(built.monitor()), "--detail", detail, "-p", str(process)]
        self._open(words)
        chosen = self.head.backend
        if chosen in _QUIET or (detail != LIFE and (chosen != _STOPPING or may_stop)):
            return
        refused = [f"{one.backend}: {one.why}" for one in self.head.refused]
        self.close()
        for backend in _QUIET[1:] if detail == LIFE else ():
            try:
                return self._open([*words, "--backend", backend])
            except Unsupported as error:
                refused.append(str(error).rpartition("has ended: ")[2])
        raise Unsupported(
            f"only {chosen} works here, which would disturb the measured processes ({'; '.join(refused)})"
        )

    def _open(self, words: list[str]) -> None:
        self._count = 0
        self._unread = b""
        self._read_end, writing = os.pipe()
        reading, self._control = os.pipe()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._read_end, selectors.EVENT_READ)
        self._errors = home.unnamed_file()  # closed in close()
        try:
            self._process = subprocess.Popen(
                [words[0], *self._tells, "--control", str(reading), "--records", str(writing), *words[1:]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=(reading, writing),
                process_group=0,  # Ctrl-C is the laboratory's, which then ends the watch
            )
        except OSError as error:
            self._selector.close()
            os.close(self._read_end)
            os.close(self._control)
            self._errors.close()
            raise Unsupported(f"{words[0]} cannot be started: {error}") from error
        finally:
            os.close(reading)
            os.close(writing)
        try:
            head = self._next(_START_LIMIT_S)
            if not isinstance(head, Head):
                raise SystemFailed("the monitor did not start with its record of what it watches")
        except SteelyardError as error:
            self.close()
            raise Unsupported(str(error)) from error
        self.head = head

    def mark(self) -> Mark | None:
        """The total spent since the watch began; None once the monitor can no longer tell."""
        if self._process.poll() is not None:
            return None
        self._count += 1
        name = str(self._count)
        try:
            os.write(self._control, f"mark {name}\n".encode())
            deadline = standstill.clock() + _MARK_LIMIT_S
            while True:
                record = self._next(deadline - standstill.clock())
                if isinstance(record, Process):
                    self.exits.append(record)
                if isinstance(record, Mark) and record.id == name:
                    return record
        except (OSError, SteelyardError):
            # One that answers late would answer the wrong question: no mark after this one either.
            self._process.kill()
            self._process.wait()
            return None

    def _next(self, limit_s: float) -> Record | None:
        """The next record; None for one of a kind that is not known. Raises SystemFailed without one."""
        deadline = standstill.clock() + limit_s
        while b"\n" not in self._unread:
            left = deadline - standstill.clock()
            if left <= 0 or not standstill.wait(self._selector, left):
                raise SystemFailed(f"the monitor sent nothing for {limit_s:g} s{self._last_words()}")
            more = os.read(self._read_end, 1 << 16)
            if not more:
                raise SystemFailed(f"the monitor has ended{self._last_words()}")
            self._unread += more
        line, newline, self._unread = self._unread.partition(b"\n")
        return records.parse(line + newline)

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        said = [line.strip().removeprefix("steelyard-watch: ") for line in lines if line.strip()]
        # The last one sums up what each backend has said before it.
        return f": {'; '.join(said[:-1] or said)}" if said else ""

    def close(self) -> None:
        """End the watch; the watched processes continue. May be called again."""
        if self._control < 0:
            return
        os.close(self._control)
        self._control = -1
        # Its last records must be read, or it might wait for ever to write them.
        deadline = standstill.clock() + _END_LIMIT_S
        while (left := deadline - standstill.clock()) > 0 and standstill.wait(self._selector, left):
            if not os.read(self._read_end, 1 << 16):
                break
        self._selector.close()
        os.close(self._read_end)
        try:
            self._process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()
