"""A running agent: the process that a system's command started, and the two streams to it."""

import contextlib
import os
import select
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType

from steelyard import home, last_words, standstill
from steelyard.errors import SteelyardError, SystemFailed, Unsupported, UsageError, in_words, why_not
from steelyard.last_words import Said
from steelyard.programs import built
from steelyard.systems import carried, leftovers, protocol, scratch
from steelyard.systems.carried import CarriedFile
from steelyard.systems.console import MachineConsole
from steelyard.systems.protocol import Record
from steelyard.systems.system import Place, System, check
from steelyard.systems.tuning import Tuned
from steelyard.text import quoted

_CHATTER_LINES = 400  # of what a system says besides records on standard output: the last ones
_CHATTER_LINE = 1200  # bytes of one
_READ_MOST = 1 << 16  # bytes at once: what a pipe holds
_REST_MOST = 1 << 20  # bytes that were not read
_QUIT_LIMIT_S = 3.0
_STOP_LIMIT_S, _STOP_PAUSE_S = 1.0, 0.0002
_REST_S, _REST_BUSY = 0.02, 0.1  # a system whose processes run for a tenth of so long is at rest


def descendants(root: int, *, proc: Path = Path("/proc"), with_held: bool = False) -> list[int]:
    """The processes that descend from `root`, parents first; those that a debugger holds only `with_held`.

    User-mode Linux and gVisor hold their guests' processes by ptrace: a signal to one of those would
    be taken for the guest's, and they do not run while their holder is stopped.
    """
    processes: list[int] = []
    waiting = [root]
    while waiting:
        found = children(waiting.pop(0), proc)
        more = [child for child in found if with_held or not _is_held(child, proc)]
        processes += more
        waiting += more
    return processes


def children(process: int, proc: Path) -> list[int]:
    """Its children; none if it has ended. Each of its threads lists its own, where the kernel can."""
    found: list[int] = []
    for thread in _listed(f"{proc}/{process}/task"):
        text = _read(f"{proc}/{process}/task/{thread}/children")
        words = (text or "").split()
        cannot = text is None and _read(f"{proc}/self/task/{os.getpid()}/children") is None
        if cannot or not all(map(_is_number, words)):
            return _children_by_parent(process, proc)
        found += map(int, words)
    return found


def _children_by_parent(process: int, proc: Path) -> list[int]:
    """The same from every process's parent: slow if there are many."""
    numbers = [int(name) for name in _listed(str(proc)) if _is_number(name)]
    stats = ((number, _read(f"{proc}/{number}/stat")) for number in numbers)
    return [number for number, stat in stats if stat and _parent_in(stat) == str(process)]


def _parent_in(stat: str) -> str:
    """The parent that /proc/PID/stat says; "" if it says none."""
    fields = stat.rpartition(")")[2].split()
    return fields[1] if len(fields) > 1 else ""


def _is_number(word: str) -> bool:
    """Whether it is a process's number, and nothing that another kernel or a sandbox says in its place."""
    return word.isascii() and word.isdecimal() and len(word) < 10


def _threads_of(process: int) -> list[int]:
    """Its threads, the oldest first; none if it has ended."""
    return [int(name) for name in _listed(f"/proc/{process}/task")]


def _is_stopped(process: int) -> bool:
    """True if it is stopped, or over."""
    stat = _read(f"/proc/{process}/stat")
    return stat is None or stat.rpartition(")")[2].split()[0] in "TtZX"


def _is_held(process: int, proc: Path) -> bool:
    """True while a debugger is attached; False after the process has ended."""
    status = _read(f"{proc}/{process}/status")
    return status is None or "\nTracerPid:\t0\n" not in status


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []  # it has ended


def _read(path: str) -> str | None:
    """The text of the file, whatever its bytes; None if it is gone."""
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return None


@contextlib.contextmanager
def _holding(process: int) -> Iterator[int]:
    """The process by a descriptor. Raises ProcessLookupError if it has ended."""
    held = os.pidfd_open(process)
    try:
        yield held
    finally:
        os.close(held)


Hear = Callable[
    [Said, Said], None
]  # what a system said on standard output, besides records, and on the other


def _unheard(output: Said, errors: Said) -> None:
    """The handler of output that is not kept."""


class Agent:
    """A running system. Open it, send requests, read records, park it, close it.

    The command runs under the load program's guard, which kills its whole tree when this process dies, for
    any reason, and removes the scratch directory.
    """

    def __init__(
        self,
        system: System,
        *,
        directory: Path,
        hear: Hear = _unheard,
        start_limit_s: float | None = None,
        console: MachineConsole | None = None,
        is_awaited: bool = True,
    ) -> None:
        """Start the system; its working files go below `directory`. `hear` receives its complete output when
        it ends, also if it fails to start. The start may take as long as the system's starts do, or less. Its
        standard error goes to the console's file, if there is one, which is closed when the system ends and
        then heard. Raises Unsupported if it cannot start. One that is not awaited is up after `come_up`.
        """
        check(system)
        self.system = system
        self._turns_on: tuple[int, set[int]] | None = None  # the processor of its turns, and the others
        self._moved: list[int] | None = None  # threads that are there for its turns alone
        self.hear = hear
        self._start_limit_s = min(system.start_limit_s, start_limit_s or system.start_limit_s)
        self.hello: Record = {}
        self.fingerprint: Record = {}
        self.parked = False
        self._is_up = self._is_closed = False
        self._output_bytes = 0  # bytes since the last request
        self._errors_before = 0  # bytes on standard error when the last request was sent
        self._chatter: deque[bytes] = deque(maxlen=_CHATTER_LINES)
        self._unread = bytearray()
        self._lines: deque[bytes] = deque()
        program = built.load(system.program)
        self._scratch = scratch.make(directory)
        self._place = place = Place(program, self._scratch.path)
        try:
            system.prepare(place)
            command = system.command(place)
            self._tuned = Tuned(system.name, system.tuning, self._scratch, undo=system.undo(place))
        except BaseException:
            self._scratch.close()
            raise
        lifeline, self._lifeline = os.pipe()
        self._console = console
        self._errors = console or home.unnamed_file()  # closed in close()
        try:
            self._process = self._start(["guard", str(lifeline), str(place.scratch), *command], lifeline)
        except OSError as error:  # a sandbox or a limit may refuse any fork
            os.close(self._lifeline)
            self._errors.close()
            self._scratch.close()
            self._tuned.close()
            raise self._failure(f"could not start a process: {why_not(error, program)}") from error
        finally:
            os.close(lifeline)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        os.set_blocking(self._output.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)
        if is_awaited:
            self.come_up()

    def come_up(self) -> None:
        """Waits until the system answers and has come to rest; one that does not is closed. Raises
        Unsupported."""
        try:
            self.hello = self._greeting()
            self.fingerprint = self.ask("describe", "system")
            members = descendants(self._process.pid)
            self.fingerprint["tuning"] = self._tuned.facts(members[0]) if members else None
            self.fingerprint["file_system_made"] = self.system.file_system or None
            for file in self.system.files:
                self._carry(file)
            self._is_up = True
        except BaseException:
            self.close()
            raise

    def _carry(self, file: CarriedFile) -> None:
        """Sends the file. Raises Unsupported where the system does not take it, UsageError where it is not
        any more what it was."""
        try:
            for request in file.requests():
                self._put(request.encode() + b"\n")
        except OSError as error:
            raise UsageError(f"{quoted(file.path)} cannot be read: {in_words(error)}") from error
        answer = self.ask(carried.LAST_REQUEST, "carried", "error")
        if answer["record"] == "error":
            raise self._failure(f"could not be sent {quoted(file.path)}: {answer['reason']}")
        if answer["sha256"] != file.sha256:
            raise UsageError(f"{quoted(file.path)} has changed since the run began")

    def _put(self, content: bytes) -> None:
        """Writes it as fast as the system takes it, which may stop doing so. Raises Unsupported."""
        handle = self._input.fileno()
        with selectors.DefaultSelector() as room:
            room.register(handle, selectors.EVENT_WRITE)
            while content:
                if not standstill.wait(room, self.system.start_limit_s):
                    limit_s = self.system.start_limit_s
                    raise self._failure(f"took nothing of what it was sent for {limit_s:g} s")
                try:
                    content = content[os.write(handle, content[: select.PIPE_BUF]) :]
                except OSError as error:
                    raise self._failure(f"has ended{self._farewell()}") from error

    @property
    def process(self) -> int | None:
        """The outermost of the system's processes on this machine; None if it runs elsewhere."""
        return self._process.pid if self.system.here else None

    def _start(self, guard: list[str], lifeline: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(built.load("glibc")), *guard],
            bufsize=0,  # a turn waits for each request
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors.fileno(),
            pass_fds=(lifeline, self._scratch.file, *self._tuned.files),
            # By it, a process of this system is known even if both its guard and we are killed.
            env=os.environ | {leftovers.VARIABLE: self._scratch.mark} | self._tuned.environment,
        )

    def __enter__(self) -> "Agent":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _greeting(self) -> Record:
        hello = self._wait_for(("hello",), self._start_limit_s)
        self.settle()
        return hello

    def settle(self) -> None:
        """Waits until the system has come to rest; not longer than it may."""
        deadline = standstill.clock() + self.system.settle_most_s
        while standstill.clock() < deadline:
            before_ns, begun_ns = self._run_ns(), time.monotonic_ns()
            standstill.sleep(_REST_S)
            busy = (self._run_ns() - before_ns) / (time.monotonic_ns() - begun_ns)
            if busy <= _REST_BUSY and self._has_fast_clock():
                return

    def _run_ns(self) -> int:
        """The run time of the system's processes on this machine, by the scheduler's account."""
        total = 0
        for process in descendants(self._process.pid, with_held=True) if self.system.here else []:
            for thread in _threads_of(process):
                text = _read(f"/proc/{process}/task/{thread}/schedstat")
                ran_ns = (text or "").partition(" ")[0]
                total += int(ran_ns) if ran_ns.isascii() and ran_ns.isdecimal() else 0
        return total

    def _has_fast_clock(self) -> bool:
        most_ns = self.system.settled_clock_ns
        return not most_ns or int(self.ask("describe", "system")["clock_cost_ns"]) <= most_ns

    def ask(self, request: str, *kinds: str) -> Record:
        """The first record of these kinds that comes after the request."""
        self.send(request)
        return self._wait_for(kinds, self.system.start_limit_s)

    def _wait_for(self, kinds: tuple[str, ...], limit_s: float) -> Record:
        deadline = standstill.clock() + limit_s
        try:
            for record in self.records(deadline):
                if record["record"] in kinds:
                    return record
        except protocol.RefusedRequest as refusal:
            raise self._failure(f"spoke nonsense: {refusal}") from None
        raise self._failure(f"did not send '{kinds[0]}' within {limit_s:g} s{self.last_words()}")

    def _failure(self, what: str) -> SteelyardError:
        """The error that says what the system did: while it starts, that it cannot start here."""
        if self._is_up:
            return SystemFailed(f"system '{self.system.name}' {what}")
        return Unsupported(f"system '{self.system.name}' cannot start: it {what}")

    def send(self, request: str) -> None:
        """Send one request line. Raises SystemFailed if it has no reader."""
        self._output_bytes = 0
        if self.system.is_watched:
            self._errors_before = os.fstat(self._errors.fileno()).st_size
        content = request.encode() + b"\n"
        try:
            while content:
                content = content[self._input.write(content) :]
        except OSError as error:
            raise self._failure(f"has ended{self._farewell()}") from error

    def records(self, deadline: float) -> Iterator[Record]:
        """Records as they come, until standstill.clock() reaches `deadline`. Raises RefusedRequest for one
        that cannot be right, after which the next may be asked for; SystemFailed when the stream ends, or
        says more than any answer takes. Lines that are no records (a kernel's messages) are kept for
        `last_words`."""
        is_over = False
        while True:
            while self._lines:
                record = self._parse(self._lines.popleft())
                if record is None:
                    continue
                if record["record"] == "end" and record["status"] == "ok":
                    for one in self.system.monitor_records(self._place):
                        yield protocol.checked("value", one) | {"record": "told"}
                elif record["record"] == "end":
                    record = self._explained(record)
                yield record
            if is_over:
                return
            left = deadline - standstill.clock()
            is_over = left <= 0  # what is there by then is still read
            if standstill.wait(self._selector, max(0.0, left)):
                self._output_bytes += self._read()
            if self._output_bytes > protocol.SAID_MOST:
                raise self._failure(f"sent more than {protocol.SAID_MOST >> 20} MiB in answer to one request")

    def _explained(self, end: Record) -> Record:
        """The end of a trial; with the monitor's own words where that refused to start it."""
        if not self.system.is_watched or end["status"] != "unsupported":
            return end
        return end | {"reason": f"{end['reason']}{self.last_words(since=self._errors_before)}"}

    def _read(self) -> int:
        """Reads what is there, and returns how many bytes that were."""
        more = self._output.read(_READ_MOST)
        if more == b"":
            raise self._failure(f"has ended{self._farewell()}")
        self._unread += more or b""
        if more and b"\n" in more:
            *lines, rest = bytes(self._unread).split(b"\n")
            self._lines.extend(lines)
            self._unread = bytearray(rest)
        if len(self._unread) > protocol.LINE_MOST:
            raise self._failure(f"sent a line of more than {protocol.LINE_MOST >> 20} MiB")
        return len(more or b"")

    def _parse(self, line: bytes) -> Record | None:
        record = protocol.read(line)
        if record is None:
            self._chatter.append(line[:_CHATTER_LINE].rstrip())
        return record

    def last_words(self, *, since: int = 0) -> str:
        """The output of the system besides records, for a message: the lines that explain its end, and the
        last ones; "" without output. Standard error counts only after this byte.
        """
        chatter = [line.decode(errors="replace") for line in self._chatter]
        words = last_words.summary([*chatter, *last_words.lines_of(self._errors.fileno(), since=since)])
        return f"; its last output: {' | '.join(words)}" if words else ""

    def _farewell(self) -> str:
        """The last words of one that has ended. A kernel can die before it has a console to say why."""
        return self.last_words() or ", without output"

    def park(self) -> None:
        """Stops the system's processes, so that it does not disturb another's trial, and puts this machine
        back as it was without it. Raises SystemFailed if it cannot."""
        self._stop()
        self.parked = True
        self._tuned.put_back()

    @contextlib.contextmanager
    def on(self, processor: int) -> Iterator[None]:
        """Keeps the system's threads on one processor meanwhile, where that is allowed; and off it those
        that look after others, where there is another one."""
        try:
            before = os.sched_getaffinity(self._process.pid)
        except OSError:  # a sandbox may refuse the question
            yield
            return
        others = before - {processor}
        threads, watchers = self._threads()
        self._bind(threads, {processor})
        self._bind(watchers, others or before)
        self._turns_on = (processor, others) if self.system.boot and others else None
        try:
            yield
        finally:
            self._turns_on, self._moved = None, None
            self._bind(self._all_threads(), before)

    def step_aside(self) -> None:
        """Lets what the system does while it waits for its turn go on elsewhere. A kernel of its own may
        wake a thousand times a second for nothing, and those whose turn it is would pay for that."""
        if self._turns_on is not None:
            if self._moved is None:  # for all turns of a trial: what it has started is there by then
                self._moved, _ = self._threads()
            self._bind(self._moved, self._turns_on[1])

    def step_back(self) -> None:
        """Brings the system back for its turn."""
        if self._turns_on is not None and self._moved is not None:
            self._bind(self._moved, {self._turns_on[0]})

    def _threads(self) -> tuple[list[int], list[int]]:
        """The threads of the system's processes, and those that only look after the others."""
        own = descendants(self._process.pid)  # of the others the threads are its programs'
        watchers = {self.system.watcher(_threads_of(process)) for process in own} - {None}
        threads = self._all_threads()
        return [one for one in threads if one not in watchers], [one for one in threads if one in watchers]

    def _all_threads(self) -> list[int]:
        processes = descendants(self._process.pid, with_held=True)
        return [thread for process in processes for thread in _threads_of(process)]

    @staticmethod
    def _bind(threads: Iterable[int], processors: set[int]) -> None:
        for thread in threads:
            with contextlib.suppress(OSError):  # it has ended
                os.sched_setaffinity(thread, processors)

    def _stop(self) -> None:
        """Stop all processes, and wait until they are stopped: a signal takes effect later, and a process
        born meanwhile is stopped too.
        """
        deadline = standstill.clock() + _STOP_LIMIT_S
        while moving := [one for one in self._members() if not _is_stopped(one)]:
            if standstill.clock() > deadline:
                return  # one that waits for a device stops when that answers
            self._signal(signal.SIGSTOP, moving)
            time.sleep(_STOP_PAUSE_S)

    def _members(self) -> list[int]:
        return descendants(self._process.pid) if self.system.here else []

    def resume(self) -> None:
        """Apply the system's settings to this machine, and let the system continue. Raises SystemFailed."""
        try:
            self._tuned.set()
        except SteelyardError as error:
            raise SystemFailed(str(error)) from error
        self._wake()

    def _wake(self) -> None:
        self._signal(signal.SIGCONT, self._members())
        self.parked = False

    def _signal(self, number: signal.Signals, processes: Iterable[int]) -> None:
        """Signals those that are the system's. The ID of one that has ended may be a stranger's."""
        guard = self._process.pid
        for process in processes:
            with contextlib.suppress(ProcessLookupError), _holding(process) as held:
                if process == guard or guard in leftovers.ancestors(process):
                    signal.pidfd_send_signal(held, number)

    def close(self) -> None:
        """Ends the system: asks it to quit, and then lets the guard end whatever is left."""
        if self._is_closed:
            return
        self._is_closed = True
        if self.parked:
            self._wake()
        try:
            with self._input:
                self._input.write(b"quit\n")
            self._process.wait(_QUIT_LIMIT_S)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            pass
        finally:
            os.close(self._lifeline)
            self._process.wait()
            self._listen_to_the_end()
            if self._console is not None:
                self._console.end()
            output = last_words.kept(b"\n".join(self._chatter))
            errors = last_words.kept(self._errors.fileno())
            self._selector.close()
            self._output.close()
            self._errors.close()
            self._scratch.close()
            self._tuned.close()
            self.hear(output, errors)

    def _listen_to_the_end(self) -> None:
        """Take its remaining output besides records."""
        rest = bytes(self._unread)
        while len(rest) < _REST_MOST and (more := self._output.read(_READ_MOST)):
            rest += more
        for line in [*self._lines, *rest.split(b"\n")]:
            if line.strip():
                with contextlib.suppress(protocol.RefusedRequest):  # an unexpected record fails nothing
                    self._parse(line)
