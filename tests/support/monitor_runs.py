"""Starts the monitor's own program as tests want it, and reads the records that it writes."""

import ctypes
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self

import c_programs
import processes
import pytest
import surroundings
from patience import patience

from steelyard.programs import built

ENOUGH_S = patience(60)  # a watch in these tests lasts a second or two; one that hangs fails the test

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

Record = Mapping[str, Any]


def program() -> Path:
    """steelyard-watch, as it was installed."""
    return built.monitor()


@cache
def refusal(backend: str, detail: str = "calls") -> str | None:
    """Why that backend cannot work here, by its own word; None if it can."""
    if not program().exists():
        return "the monitor's program was not built"
    told = subprocess.run(
        [program(), "--detail", detail, "--probe"], stdout=subprocess.PIPE, check=True, text=True
    )
    for record in map(json.loads, told.stdout.splitlines()):
        if record["backend"] == backend:
            return None if record["works"] else f"{backend}: {record['why']}"
    return f"there is no backend {backend}"


def need(backend: str, detail: str) -> None:
    """Skips the test where the backend does not work, with its reason."""
    if reason := refusal(backend, detail):
        pytest.skip(reason)


def probe_as_nobody(directory: Path, detail: str) -> dict[str, Record]:
    """What each backend says of itself to somebody without any privilege, who can reach that directory
    (`open_directory`: pytest closes its own to others)."""
    directory.chmod(0o755)
    copy = shutil.copy(program(), directory / "steelyard-watch")
    told = subprocess.run(
        [copy, "--probe", "--detail", detail],
        stdout=subprocess.PIPE, check=True, text=True, user=65534, group=65534, extra_groups=[],
    )  # fmt: skip
    return {one["backend"]: one for one in map(json.loads, told.stdout.splitlines())}


def without_libc() -> str | None:
    """Why `known` cannot be built here; None if it can."""
    return None if platform.machine() == "x86_64" else "known.c is written for x86-64"


@dataclass
class Watch:
    """A watch, running or ended. `records` are those read so far."""

    process: subprocess.Popen[str]
    file: Path
    records: list[Record] = field(default_factory=list)
    status: int | None = None
    output: str = ""
    errors: str = ""
    text: bytes = b""  # the records as they were written

    @property
    def processes(self) -> list[Record]:
        """Each process, and no threads."""
        return [one for one in self.records if one["record"] == "process" and one["thread"] is None]

    @property
    def threads(self) -> list[Record]:
        return [one for one in self.records if one["record"] == "process" and one["thread"] is not None]

    def of(self, kind: str) -> list[Record]:
        return [one for one in self.records if one["record"] == kind]

    @property
    def end(self) -> Record:
        return self.records[-1] if self.records and self.records[-1]["record"] == "end" else {}

    def look(self) -> Self:
        """Reads what has been written so far: whole lines alone."""
        self.text = self.file.read_bytes()
        self.records = [json.loads(line) for line in self.text[: self.text.rfind(b"\n") + 1].splitlines()]
        return self

    def await_record(self, kind: str, count: int = 1) -> None:
        until(
            lambda: len(self.look().of(kind)) >= count or self.process.poll() is not None, f"{count} {kind}"
        )

    def finish(self, signal_sent: int | None = None) -> Self:
        """Waits for its end, after sending it that signal."""
        if signal_sent is not None:
            self.process.send_signal(signal_sent)
        try:
            self.output, self.errors = self.process.communicate(timeout=ENOUGH_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.status = self.process.returncode
        return self.look()


@contextmanager
def begun(
    *options: str | Path | int, pass_fds: Sequence[int] = (), before: Sequence[str] = (), **more: Any
) -> Iterator[Watch]:
    """A watch with these options; it has ended when the context has. `before` is put before its command."""
    # In memory: on a disk that others fill, the monitor would wait to write.
    handle, name = tempfile.mkstemp(prefix="steelyard-watch-", suffix=".jsonl", dir="/dev/shm")
    try:
        command = [*before, program(), "--records", str(handle), *map(str, options)]
        started = subprocess.Popen(
            command,
            pass_fds=(handle, *pass_fds),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        found = Watch(started, Path(name))
        try:
            yield found
        finally:
            if started.poll() is None:
                started.kill()
            started.communicate()
    finally:
        os.close(handle)
        Path(name).unlink()


def watch(*options: str | Path | int, **more: Any) -> Watch:
    """The same from beginning to end."""
    with begun(*options, **more) as found:
        return found.finish()


def watch_of_a_loop(*options: str | Path | int) -> Watch:
    """Of a process that computes, and goes on when it is over: for a fifth of a second of its own time."""
    with running("sh", "-c", "while :; do :; done") as process:
        with begun(*options, "-p", process.pid) as found:
            found.await_record("watch")
            before_s = processes.used_s(process.pid)
            until(lambda: processes.used_s(process.pid) > before_s + 0.2, "its work")
            found.finish(signal.SIGINT)
        assert process.poll() is None
    return found


def until(is_so: Callable[[], Any], what: str, *, for_s: float = ENOUGH_S) -> None:
    """Waits for that; fails by its name if it does not come."""
    end = time.monotonic() + for_s
    while not is_so():
        assert time.monotonic() < end, f"{what} did not come within {for_s} s"
        time.sleep(0.01)


def state(pid: int) -> str:
    """As /proc has it: R, S, T, Z, ..."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def stop(pid: int) -> None:
    """It stands still from now on, until SIGCONT: so it does nothing before a watch of it has begun, and
    nothing while the watch ends."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: state(pid) in "tT", "its stop")


def comm(pid: int) -> str:
    """The name of its program."""
    return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")


def children(pid: int) -> list[int]:
    """Of its first thread."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def parsed(text: str) -> list[Record]:
    """The records in that text."""
    return [json.loads(line) for line in text.splitlines()]


def counts(record: Record) -> dict[str, tuple[int, int]]:
    """A process's calls: name -> (calls, errors)."""
    assert record["calls"] is not None, f"{record['program']}: its calls were not seen"
    return {name: (call["calls"], call["errors"]) for name, call in record["calls"].items() if call["calls"]}


def told(text: str) -> dict[str, tuple[int, int]]:
    """Calls as a text has them: "getppid 20, close 500/500": errors behind the stroke."""
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, number = part.rsplit(" ", 1)
        calls, _, errors = number.partition("/")
        found[name] = (int(calls), int(errors or 0))
    return found


def added(each: Sequence[Mapping[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    sums: dict[str, tuple[int, int]] = {}
    for one in each:
        for name, (calls, errors) in one.items():
            before = sums.get(name, (0, 0))
            sums[name] = (before[0] + calls, before[1] + errors)
    return sums


def by_strace(command: Sequence[str | Path], directory: Path) -> dict[str, tuple[int, int]]:
    """What strace -f -c says of it."""
    table = directory / "strace"
    columns = ["-U", "calls,errors,name"]
    subprocess.run(["strace", "-f", "-c", *columns, "-o", table, *command], check=False)
    lines = re.findall(r"^ *(\d+) +(\d+ +)?(\w+)$", table.read_text(), re.MULTILINE)
    return {name: (int(calls), int(errors or 0)) for calls, errors, name in lines if name != "total"}


def drawn(seed: int, births: int, one_in: int) -> list[int]:
    """Which of that many children --children 1/one_in follows, by number from 0: splitmix64, as in draw.h."""
    most = (1 << 64) - 1

    def follows(number: int) -> bool:
        z = (seed + (number + 1) * 0x9E3779B97F4A7C15) & most
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & most
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & most
        z ^= z >> 31
        return (z >> 32) * one_in >> 32 == 0

    return list(filter(follows, range(births)))


# bpf(2): the numbers of its commands, and of the objects they ask for.
BPF_CALL = {"x86_64": 321, "aarch64": 280}
PROGRAM_BY_ID, LINK_BY_ID = 13, 30


def held_programs(pid: int) -> set[int]:
    """The BPF programs that a process has descriptors of, by number; of links, the programs they attach."""
    found = set()
    for entry in Path(f"/proc/{pid}/fdinfo").iterdir():
        found |= {
            int(number) for number in re.findall(r"^prog_id:\s*(\d+)$", entry.read_text(), re.MULTILINE)
        }
    return found


def is_loaded(number: int) -> bool:
    """Whether a BPF program of that number is still in the kernel. Needs the right to ask."""
    attributes = (ctypes.c_uint32 * 32)(number)
    libc = ctypes.CDLL(None, use_errno=True)
    handle = libc.syscall(
        BPF_CALL[platform.machine()], PROGRAM_BY_ID, ctypes.byref(attributes), ctypes.sizeof(attributes)
    )
    if handle >= 0:
        os.close(handle)
    return bool(handle >= 0)


def interrupt(watched: Watch) -> Watch:
    return watched.finish(signal.SIGINT)


@contextmanager
def running(*command: str | Path, stdout: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Whatever the test finds, it does not outlive it."""
    with subprocess.Popen(command, stdout=stdout) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def few_processes(most: int) -> Iterator[list[str]]:
    """Words that put a command into a control group in which there can be that many processes."""
    root = next(filter(Path.is_dir, map(Path, ("/sys/fs/cgroup/pids", "/sys/fs/cgroup"))), Path("/nowhere"))
    try:
        group = Path(tempfile.mkdtemp(prefix=surroundings.group_prefix(), dir=root))
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    try:
        if not (group / "pids.max").exists():
            pytest.skip(f"{root} does not limit the number of processes")
        (group / "pids.max").write_text(str(most))
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
    finally:
        until(lambda: not (group / "cgroup.procs").read_text(), "the end of its processes")
        group.rmdir()


@contextmanager
def built_for_all(name: str) -> Iterator[Path]:
    """That program, in a place that every user can reach."""
    with tempfile.TemporaryDirectory(prefix="steelyard-watched-") as directory:
        Path(directory).chmod(0o755)
        yield Path(shutil.copy(c_programs.program(f"tests/monitor/{name}"), directory))
