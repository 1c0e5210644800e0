"""Starts steelyard-watch, queries it while it watches, and reads its records when it has ended.

The records go into an unnamed file, written by steelyard-watch itself: this process does nothing until asked.
A second descriptor, a pipe, leads to the monitor: its end, for any reason, ends the watch, and the watched
processes continue.
"""

import contextlib
import os
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from steelyard import commands, home
from steelyard.errors import starting
from steelyard.programs import built
from steelyard.watch import records
from steelyard.watch.model import Probe, Record, Watch
from steelyard.watch.order import WatchOrder

_MILLION = 1_000_000


def words(order: WatchOrder, *, records_file: int, control_file: int) -> list[str]:
    """The order as arguments of steelyard-watch."""
    options: list[tuple[str, object]] = [
        ("--detail", order.detail),
        ("--backend", order.backend),
        ("--every", order.every_ns),
        ("--for", order.for_ns),
        ("--children", order.children if order.children != 1 else None),
        ("--seed", order.seed),
        ("--budget", max(round(order.budget * _MILLION), 1) if order.detail in (None, "budget") else None),
        ("--slots", order.slots),
        ("--cgroup", order.cgroup),
        *(("-p", pid) for pid in order.pids),
        ("--except", os.getpid()),  # a shell that is watched has us among its children
        ("--records", records_file),
        ("--control", control_file),
    ]
    flags = [name for name, given in (("--threads", order.threads), ("--prove", order.prove)) if given]
    settings = [word for name, value in options if value is not None for word in (name, str(value))]
    return [*settings, *flags, *(("--", *order.command) if order.command else ())]


class RunningWatch:
    """A watch in progress. It ends with `finish`; at the end of the context it is stopped at the latest."""

    def __init__(self, process: subprocess.Popen[bytes], file: BinaryIO, control: int) -> None:
        self._process = process
        self._file = file
        self._read_to = 0
        self._control: int | None = control

    def __enter__(self) -> "RunningWatch":
        return self

    def __exit__(self, *reason: object) -> None:
        self.stop()
        self._process.wait()
        self._file.close()

    @property
    def pid(self) -> int:
        """The process number of steelyard-watch."""
        return self._process.pid

    def new_records(self) -> Iterator[Record]:
        """The records that were written since they were last asked for. Raises SystemFailed."""
        self._file.seek(self._read_to)
        for line in records.lines(self._file):
            if not line.endswith(b"\n"):
                return  # the rest of it is not written yet
            self._read_to += len(line)
            record = records.parse(line)
            if record is not None:
                yield record

    def mark(self, name: str) -> None:
        """Asks for a record `mark` of that name (no newline in it). A watch that has ended gives none."""
        if self._control is not None:
            try:
                os.write(self._control, f"mark {name}\n".encode())
            except BrokenPipeError:
                self.stop()

    def stop(self) -> None:
        """Ends the watch, not the watched; the records will be complete."""
        if self._control is not None:
            os.close(self._control)
            self._control = None

    def cpu_ns(self) -> int | None:
        """The CPU time of steelyard-watch so far; None after its end."""
        try:
            tasks = list(Path(f"/proc/{self.pid}/task").iterdir())
            return sum(int((task / "schedstat").read_bytes().split()[0]) for task in tasks) or None
        except (OSError, ValueError, IndexError):
            return None

    def wait(self, timeout_s: float | None = None) -> bool:
        """True if the watch has ended, at the latest after that time."""
        if timeout_s is not None and self._process.poll() is None:
            # Python's own waiting for so long would look twenty times a second.
            try:
                file = os.pidfd_open(self.pid)
            except OSError:  # Linux before 5.3, and sandboxes that refuse it
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout_s)
                return self._process.poll() is not None
            try:
                select.select([file], [], [], timeout_s)
            finally:
                os.close(file)
            return self._process.poll() is not None
        self._process.wait()
        return True

    def finish(self) -> tuple[Watch | None, int]:
        """Waits for the end. Returns the watch, None if it did not even begin; and the monitor's exit
        status: the command's own, if there was one, and below 0 if a signal killed the monitor. Readings are
        taken from a file that is open until this is left. Raises SystemFailed."""
        status = self._process.wait()
        self.stop()
        return records.read(self._file), status

    def save(self, path: Path) -> None:
        """Copies the records, as they were written, into a file."""
        self._file.seek(0)
        with open(path, "wb") as file:
            while part := self._file.read(1 << 20):
                file.write(part)


def start(
    order: WatchOrder,
    *,
    program: Path | None = None,
    output: BinaryIO | None = None,
    errors: BinaryIO | None = None,
) -> RunningWatch:
    """Starts to watch, with that steelyard-watch or the installed one. The command's streams are ours, except
    for those that are given. Raises Unsupported if the monitor is not built."""
    program = program or built.monitor()
    file = home.unnamed_file("steelyard-watch-")  # Running closes it
    # The monitor appends: our own reading moves the offset that both of us share.
    appended = os.open(f"/proc/self/fd/{file.fileno()}", os.O_WRONLY | os.O_APPEND)
    theirs, ours = os.pipe()
    try:
        with starting(program):
            process = subprocess.Popen(
                [program, *words(order, records_file=appended, control_file=theirs)],
                pass_fds=(appended, theirs),
                stdout=output,
                stderr=output,
            )
    except BaseException:
        os.close(ours)
        file.close()
        raise
    finally:
        os.close(appended)
        os.close(theirs)
    return RunningWatch(process, file, ours)


def probe(*, program: Path | None = None, detail: str = "budget") -> tuple[Probe, ...]:
    """Whether each backend works here, the most capable first."""
    program = program or built.monitor()
    with starting(program):
        answer = commands.run([program, "--probe", "--detail", detail])
    probes = (records.parse(line) for line in answer.stdout.splitlines(keepends=True))
    return tuple(one for one in probes if isinstance(one, Probe))
