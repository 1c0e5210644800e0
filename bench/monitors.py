"""Monitors at work, as conditions that a measurement is made under: ours, an empty BPF program, the peers.

Each condition is a context: within it the monitor is attached to the processes it was given, and it has
gone when the context has. What it said of itself, and counted, can be read afterwards.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from steelyard.programs import built

HERE = Path(__file__).parent
# The tests' own programs, whose calls and lives are known.
sys.path.insert(0, str(HERE.parent / "tests" / "support"))

FLAGS = ["-std=c11", "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"]
PEER_SETTLES_S = 3.0  # most of them do not say when they are attached
ENOUGH_S = 60


@dataclass
class Seen:
    """What a monitor left behind when it had ended."""

    records: list[dict[str, Any]] = field(default_factory=list)
    text: str = ""

    @property
    def end(self) -> dict[str, Any]:
        return self.records[-1] if self.records and self.records[-1]["record"] == "end" else {}

    def calls(self, name: str) -> int | None:
        """How many of these calls it saw in all processes."""
        if self.records:
            found = [one["calls"].get(name) for one in self.records if one.get("calls") and "status" in one]
            return sum(int(one["calls"]) for one in found if one)
        return _count_in(self.text, name)


Condition = Callable[[Sequence[int]], AbstractContextManager[Seen]]


def watch_program() -> Path:
    return built.monitor()


def build(name: str, *libraries: str) -> Path:
    """That program of bench/, compiled into a directory of this run."""
    made = _directory() / name
    subprocess.run(["gcc", *FLAGS, "-o", made, HERE / f"{name}.c", *libraries], check=True)
    return made


@cache
def _directory() -> Path:
    holder = tempfile.TemporaryDirectory(prefix="steelyard-bench-")
    _held.append(holder)
    return Path(holder.name)


_held: list[tempfile.TemporaryDirectory[str]] = []


@contextmanager
def unwatched(pids: Sequence[int]) -> Iterator[Seen]:
    yield Seen()


def steelyard(detail: str, *options: str) -> Condition:
    """Ours, at that detail, by BPF."""

    @contextmanager
    def condition(pids: Sequence[int]) -> Iterator[Seen]:
        seen = Seen()
        with tempfile.TemporaryFile() as file:
            handle = file.fileno()
            named = [word for pid in pids for word in ("-p", str(pid))]
            command = [str(watch_program()), "--backend", "bpf", "--detail", detail, "--records", str(handle)]
            process = subprocess.Popen([*command, *options, *named], pass_fds=(handle,))
            _until(lambda: _records(handle) or process.poll() is not None)
            try:
                yield seen
            finally:
                _interrupt(process)
                seen.records = _records(handle)

    return condition


def _records(handle: int) -> list[dict[str, Any]]:
    text = os.pread(handle, os.fstat(handle).st_size, 0)
    return [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]


def empty(hooks: str) -> Condition:
    """A BPF program that does nothing on "enter", "exit" or "both"."""

    @contextmanager
    def condition(pids: Sequence[int]) -> Iterator[Seen]:
        loader, programs_file = _empty()
        process = subprocess.Popen(
            [loader, programs_file, hooks], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise SystemExit("an empty BPF program could not be attached")
        try:
            yield Seen()
        finally:
            process.communicate()

    return condition


@cache
def _empty() -> tuple[Path, Path]:
    made = _directory() / "empty.bpf.o"
    headers = subprocess.run(["gcc", "-print-multiarch"], stdout=subprocess.PIPE, text=True, check=True)
    include = f"-I/usr/include/{headers.stdout.strip()}"
    source = HERE / "empty.bpf.c"
    subprocess.run(["clang", "-O2", "-g", "-target", "bpf", include, "-c", "-o", made, source], check=True)
    return build("empty", "-lbpf"), made


def peer(command: Callable[[Sequence[int]], Sequence[str]]) -> Condition:
    """Another tool, ended by an interrupt; its output is kept as text."""

    @contextmanager
    def condition(pids: Sequence[int]) -> Iterator[Seen]:
        seen = Seen()
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(
                command(pids), stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
            time.sleep(PEER_SETTLES_S)
            if process.poll() is not None:
                output.seek(0)
                raise RuntimeError(output.read().strip()[-300:] or f"status {process.returncode}")
            try:
                yield seen
            finally:
                _interrupt(process)
                output.seek(0)
                seen.text = output.read()

    return condition


def _interrupt(process: subprocess.Popen[Any]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(ENOUGH_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _each(option: str, pids: Sequence[int]) -> list[str]:
    return [word for pid in pids for word in (option, str(pid))]


BPFTRACE = "tracepoint:raw_syscalls:sys_enter /pid == %d/ { @[pid, args->id] = count(); }"

# bcc's tool is there twice: compiled beforehand (libbpf-tools), or compiled when it starts, for which it
# needs the kernel's headers.
SYSCOUNT = shutil.which("syscount") or "syscount-bpfcc"

# What people use today for calls by type, attached to a running process.
PEERS: dict[str, Condition] = {
    "strace -f -c": peer(lambda pids: ["strace", "-f", "-c", *_each("-p", pids)]),
    "perf trace -s": peer(lambda pids: ["perf", "trace", "-s", "-p", ",".join(map(str, pids))]),
    "bpftrace": peer(lambda pids: ["bpftrace", "-e", BPFTRACE % pids[0]]),
    "syscount (bcc)": peer(lambda pids: [SYSCOUNT, "-p", str(pids[0])]),
}


def _count_in(text: str, name: str) -> int | None:
    """The calls by that name in a peer's table: the count stands before or behind the name."""
    for pattern in (rf"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?{name}$", rf"^ *{name} +(\d+)"):
        found = re.search(pattern, text, re.MULTILINE)
        if found:
            return int(found[1])
    by_number = re.search(r"^@\[\d+, 110\]: (\d+)", text, re.MULTILINE)
    return int(by_number[1]) if by_number and name == "getppid" else None


def _until(is_so: Callable[[], Any]) -> None:
    end = time.monotonic() + ENOUGH_S
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit("a monitor did not say that it watches")
        time.sleep(0.01)
