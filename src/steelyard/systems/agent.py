"""A running agent: the process that a system's command started, and the two streams to it."""

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType

from steelyard.errors import SteelyardError, SystemFailed, Unsupported
from steelyard.programs import built
from steelyard.systems import door, scratch
from steelyard.systems.door import Record
from steelyard.systems.system import Place, System, check
from steelyard.systems.tuning import Tuned
from steelyard.text import shortened, shown

_TAIL_LINES = 20  # of what a system says besides records: kept for the message if it fails
_TAIL_BYTES = 4000
_WORDS_MOST = 300  # characters of a line
_QUIT_LIMIT_S = 3.0
_STOP_LIMIT_S, _STOP_PAUSE_S = 1.0, 0.0002


def descendants(root: int, *, proc: Path = Path("/proc")) -> list[int]:
    """The processes that descend from `root`, parents first, those that a debugger holds left out.

    User-mode Linux and gVisor hold their guests' processes by ptrace: a signal to one of those would
    be taken for the guest's, and they do not run while their holder is stopped.
    """
    processes: list[int] = []
    waiting = [root]
    while waiting:
        more = [child for child in _children(waiting.pop(0), proc) if not _is_held(child, proc)]
        processes += more
        waiting += more
    return processes


def _children(process: int, proc: Path) -> list[int]:
    """Its children; none if it has ended. Each of its threads lists its own, where the kernel can."""
    children: list[int] = []
    for thread in _listed(f"{proc}/{process}/task"):
        text = _read(f"{proc}/{process}/task/{thread}/children")
        if text is None and _read(f"{proc}/self/task/{os.getpid()}/children") is None:
            return _children_by_parent(process, proc)
        children += [int(child) for child in (text or "").split()]
    return children


def _children_by_parent(process: int, proc: Path) -> list[int]:
    """The same from what every process says of its parent: slow where there are many."""
    numbers = [int(name) for name in _listed(str(proc)) if name.isdigit()]
    stats = ((number, _read(f"{proc}/{number}/stat")) for number in numbers)
    return [number for number, stat in stats if stat and int(stat.rpartition(")")[2].split()[1]) == process]


def _is_stopped(process: int) -> bool:
    """Whether it is stopped, or over."""
    stat = _read(f"/proc/{process}/stat")
    return stat is None or stat.rpartition(")")[2].split()[0] in "TtZX"


def _is_held(process: int, proc: Path) -> bool:
    """Whether a debugger holds it; one that has ended is nobody's any more."""
    status = _read(f"{proc}/{process}/status")
    return status is None or "\nTracerPid:\t0\n" not in status


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []  # it has ended


def _read(path: str) -> str | None:
    """What the file says, whatever bytes that are; None if it is not there any more."""
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return None


class Agent:
    """A system that is up. Open it, send requests, read records, park it, close it.

    The command runs under the load program's guard, which kills all that came of it when this process
    dies, however it dies, and removes the scratch directory.
    """

    def __init__(self, system: System, *, directory: Path) -> None:
        """Starts the system; its working files go below `directory`. Raises Unsupported if it cannot."""
        check(system)
        self.system = system
        self.parked = False
        self._is_up = False
        self._output_bytes = 0  # bytes since the last request
        self._errors_before = 0  # bytes on standard error when the last request was sent
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._unread = bytearray()
        self._lines: deque[bytes] = deque()
        program = built.load(system.program)
        self._scratch = scratch.make(directory)
        self._place = place = Place(program, self._scratch.path)
        try:
            system.prepare(place)
            command = system.command(place)
            self._tuned = Tuned(system.name, system.tuning, place.scratch, undo=system.undo(place))
        except BaseException:
            self._scratch.close()
            raise
        lifeline, self._lifeline = os.pipe()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 -- closed in close()
        self._process = self._start(["guard", str(lifeline), str(place.scratch), *command], lifeline)
        os.close(lifeline)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        os.set_blocking(self._output.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)
        try:
            self.hello = self._greeting()
            self.fingerprint = self.ask("describe", "system")
            members = descendants(self._process.pid)
            self.fingerprint["tuning"] = self._tuned.facts(members[0]) if members else None
            self.fingerprint["file_system_made"] = system.file_system or None
            self._is_up = True
        except BaseException:
            self.close()
            raise

    @property
    def process(self) -> int | None:
        """The outermost of the system's processes on this machine; None if it runs elsewhere."""
        return self._process.pid if self.system.here else None

    def _start(self, guard: list[str], lifeline: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(built.load("glibc")), *guard],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            pass_fds=(lifeline, self._scratch.file, *self._tuned.files),
            # By its name, a process of this system is found even if both its guard and we are killed.
            env=os.environ | {"STEELYARD_SCRATCH": guard[2]} | self._tuned.environment,
        )

    def __enter__(self) -> "Agent":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _greeting(self) -> Record:
        hello = self._wait_for(("hello",), self.system.start_limit_s)
        if self.system.settle_s:
            time.sleep(self.system.settle_s)
        return hello

    def ask(self, request: str, *kinds: str) -> Record:
        """The first record of these kinds that comes after the request."""
        self.send(request)
        return self._wait_for(kinds, self.system.start_limit_s)

    def _wait_for(self, kinds: tuple[str, ...], limit_s: float) -> Record:
        deadline = time.monotonic() + limit_s
        try:
            for record in self.records(deadline):
                if record["record"] in kinds:
                    return record
        except door.Refused as refusal:
            raise self._failure(f"spoke nonsense: {refusal}") from None
        raise self._failure(f"did not say '{kinds[0]}' within {limit_s:g} s{self.last_words()}")

    def _failure(self, what: str) -> SteelyardError:
        """The error that says what the system did: while it starts, that it cannot start here."""
        if self._is_up:
            return SystemFailed(f"system '{self.system.name}' {what}")
        return Unsupported(f"system '{self.system.name}' cannot start: it {what}")

    def send(self, request: str) -> None:
        """Sends one request line. Raises SystemFailed if nobody is there to read it."""
        self._output_bytes = 0
        self._errors_before = os.fstat(self._errors.fileno()).st_size
        try:
            self._input.write(request.encode() + b"\n")
            self._input.flush()
        except OSError as error:
            raise self._failure(f"has ended{self.last_words()}") from error

    def records(self, deadline: float) -> Iterator[Record]:
        """Records as they come, until time.monotonic() reaches `deadline`. Raises door.Refused for one that
        cannot be right, after which the next may be asked for; SystemFailed when the stream ends, or says
        more than any answer takes. Lines that are no records (a kernel's messages) are kept for
        `last_words`."""
        is_over = False
        while True:
            while self._lines:
                record = self._parse(self._lines.popleft())
                if record is None:
                    continue
                if record["record"] == "end" and record["status"] == "ok":
                    for one in self.system.monitor_records(self._place):
                        yield door.checked("value", one) | {"record": "told"}
                elif record["record"] == "end":
                    record = self._explained(record)
                yield record
            if is_over:
                return
            left = deadline - time.monotonic()
            is_over = left <= 0  # what is there by then is still read
            if self._selector.select(max(0.0, left)):
                self._output_bytes += self._read()
            if self._output_bytes > door.SAID_MOST:
                raise self._failure(f"said more than {door.SAID_MOST >> 20} MiB in answer to one request")

    def _explained(self, end: Record) -> Record:
        """The end of a trial; with the monitor's own words where that refused to start it."""
        if not self.system.is_watched or end["status"] != "unsupported":
            return end
        return end | {"reason": f"{end['reason']}{self.last_words(since=self._errors_before)}"}

    def _read(self) -> int:
        """Reads what is there, and returns how many bytes that were."""
        more = self._output.read(1 << 20)
        if more == b"":
            raise self._failure(f"has ended{self.last_words()}")
        self._unread += more or b""
        if more and b"\n" in more:
            *lines, rest = bytes(self._unread).split(b"\n")
            self._lines.extend(lines)
            self._unread = bytearray(rest)
        if len(self._unread) > door.LINE_MOST:
            raise self._failure(f"said a line of more than {door.LINE_MOST >> 20} MiB")
        return len(more or b"")

    def _parse(self, line: bytes) -> Record | None:
        record = door.read(line)
        if record is None:
            self._tail.append(line[: 4 * _WORDS_MOST].decode(errors="replace").rstrip())
        return record

    def last_words(self, *, since: int = 0) -> str:
        """What the system said besides records, its last lines, for a message; "" if nothing. Of standard
        error only what comes after so many bytes."""
        file = self._errors.fileno()
        # By position: the offset is the system's as well, and must stay where it writes.
        written = os.pread(file, _TAIL_BYTES, max(since, os.fstat(file).st_size - _TAIL_BYTES))
        spoken = [*self._tail, *written.decode(errors="replace").splitlines()]
        words = [shortened(shown(line.strip()), _WORDS_MOST) for line in spoken if line.strip()][-3:]
        return f"; its last words: {' | '.join(words)}" if words else ""

    def park(self) -> None:
        """Stops the system's processes, so that it does not disturb another's trial, and puts this machine
        back as it was without it. Raises SystemFailed if it cannot."""
        self._stop()
        self.parked = True
        self._tuned.put_back()

    def _stop(self) -> None:
        """Stops them all, and waits until they are: a signal is only asked for when it has been sent, and one
        that was being born meanwhile is asked anew."""
        deadline = time.monotonic() + _STOP_LIMIT_S
        while moving := [one for one in self._members() if not _is_stopped(one)]:
            if time.monotonic() > deadline:
                return  # one that waits for a device stops when that answers
            self._signal(signal.SIGSTOP, moving)
            time.sleep(_STOP_PAUSE_S)

    def _members(self) -> list[int]:
        return descendants(self._process.pid) if self.system.here else []

    def resume(self) -> None:
        """Sets this machine as the system wants it, and lets it go on. Raises SystemFailed."""
        try:
            self._tuned.set()
        except SteelyardError as error:
            raise SystemFailed(str(error)) from error
        self._wake()

    def _wake(self) -> None:
        self._signal(signal.SIGCONT, self._members())
        self.parked = False

    def _signal(self, number: signal.Signals, processes: Iterable[int]) -> None:
        for process in processes:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                continue

    def close(self) -> None:
        """Ends the system: asks it to quit, and then lets the guard end whatever is left."""
        if self.parked:
            self._wake()
        try:
            self._input.write(b"quit\n")
            self._input.close()
            self._process.wait(_QUIT_LIMIT_S)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            pass
        finally:
            os.close(self._lifeline)
            self._process.wait()
            self._selector.close()
            self._output.close()
            self._errors.close()
            self._scratch.close()
            self._tuned.close()
