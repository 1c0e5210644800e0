"""Kills a laboratory at its n-th system call, one n after the other, and looks at what the next finds.

    every_call.py [--first N] [--every N] [--all] [--for SECONDS] DIRECTORY STUDY [OPTION...]

Runs `steelyard run STUDY OPTION...`, killed at call N; then, without a kill, again; then at a later call, and
so on until the laboratory is done before it is reached. Each time: every trial that was in the journal is in
the archive, once; each experiment is closed with all its trials; no process, mount, scratch directory or
draft is left. Prints the counts, as JSON; what was not so ends it with status 1.

Only calls that can change something outside the process are counted, unless all are to be: a kill at another
one leaves what a kill at the next that changes something leaves. What DIRECTORY/counts says of the same words
is gone on with.

A laboratory is a fork of this process, which has imported all: its calls are those of what it does.
"""

import argparse
import contextlib
import ctypes
import importlib
import json
import os
import pkgutil
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import steelyard
from steelyard import cli
from steelyard.archive import experiments, journal, reading

_TRACEME, _SYSCALL, _SETOPTIONS, _CALL = 0, 24, 0x4200, 0x420E  # ptrace(2)
_SYSGOOD, _CLONE, _EXEC, _EXITKILL, _ALL_THREADS = 0x1, 0x8, 0x10, 0x100000, 0x40000000
_ENTRY = 1
_PATIENCE_S = 20
_libc = ctypes.CDLL(None, use_errno=True)
# What changes nothing that outlasts the process. A file that is opened to be read is one, too.
_INWARD = re.compile(
    "p?readv?(64)?|lseek|l?stat|f?statfs|(newf)?f?statx?(at)?|f?access(at2?)?|readlink(at)?|getcwd|getdents64"
    "|close|dup[23]?|fcntl|ioctl|pipe2?|p?poll|p?select6?|epoll_.*|memfd_create|m(un|re)?map|mprotect|madvise"
    "|mbind|brk|futex|rseq|set_robust_list|getrandom|rt_sig.*|sigaltstack|sched_(yield|getaffinity)|clock_.*"
    "|gettimeofday|sysinfo|uname|get(p|pp|t)id|gete?[ug]id|getrlimit|getrusage|times|restart_syscall"
)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)


class NotSo(Exception):
    """What was promised and is not so."""


def import_all() -> None:
    for module in pkgutil.walk_packages(steelyard.__path__, "steelyard."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in ("scipy.special", "scipy.optimize"):  # which are imported when they are needed
        importlib.import_module(name)


def call_names() -> dict[int, str]:
    """Of this machine's system calls, by number."""
    macros = subprocess.run(
        ["cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    return {int(number): name for name, number in re.findall(r"#define __NR_(\w+) (\d+)\n", macros)}


def _ptrace(request: int, process: int, room: object, more: object) -> None:
    if _libc.ptrace(request, process, room, more) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def is_counted(thread: int, names: dict[int, str] | None) -> bool:
    """Whether the stopped thread is about to begin a call, and one of those that are counted."""
    room = ctypes.create_string_buffer(88)
    _ptrace(_CALL, thread, len(room), room)
    what, number, *words = struct.unpack_from("B23xQ6Q", room)
    if what != _ENTRY or names is None:
        return bool(what == _ENTRY)
    name = names.get(number, "")
    if name in ("open", "openat"):
        return bool(words[2 if name == "openat" else 1] & (os.O_ACCMODE | os.O_CREAT | os.O_TRUNC))
    return not _INWARD.fullmatch(name)


def laboratory(
    words: list[str], log: Path, *, killed_at: int | None = None, names: dict[int, str] | None = None
) -> int:
    """Its status (negative: the signal that ended it), and what it says in the log."""

    def begin() -> int:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        return cli.main(words)

    return killed(begin, killed_at=killed_at, names=names)


def killed(
    begin: Callable[[], int], *, killed_at: int | None = None, names: dict[int, str] | None = None
) -> int:
    """The status (negative: the signal that ended it) of a fork of this process that does so. Counted are the
    calls of all its threads, not those of processes that it starts; with names, those that change something.
    """
    process = os.fork()
    if process == 0:
        if killed_at is not None:
            _ptrace(_TRACEME, 0, None, None)
            os.kill(os.getpid(), signal.SIGSTOP)
        status = 70
        with contextlib.suppress(SystemExit):
            status = begin()
        os._exit(status)
    if killed_at is None:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os.waitpid(process, 0)
    _ptrace(_SETOPTIONS, process, None, _SYSGOOD | _CLONE | _EXEC | _EXITKILL)
    thread, number = process, 0
    seen = {process}
    while True:
        with contextlib.suppress(ProcessLookupError):  # it is killed, or was the last to end
            _ptrace(_SYSCALL, thread, None, number)
        thread, status = os.waitpid(-1, _ALL_THREADS)
        if not os.WIFSTOPPED(status):
            if thread == process:
                return os.waitstatus_to_exitcode(status)
            continue
        number = os.WSTOPSIG(status)
        if number == signal.SIGTRAP | 0x80:
            number = 0
            with contextlib.suppress(ProcessLookupError):
                killed_at -= is_counted(thread, names)
                if killed_at == 0:
                    os.kill(process, signal.SIGKILL)
        elif status >> 16 or thread not in seen:  # a thread has begun, or another program
            number = 0
        seen.add(thread)


def trials(archive: Path) -> dict[str, list[tuple[int, str, str]]]:
    """Block, system and cell of each trial, by experiment."""
    found = {}
    for one in experiments.experiments(archive):
        with reading.connect(one) as tables:
            rows = tables.execute("SELECT block, system, cell FROM trials ORDER BY trial").fetchall()
        found[one.name] = rows
    return found


def promised(archive: Path) -> dict[str, list[tuple[int, str, str]]]:
    """The same, of what a kill has left: a line that was not written whole was not promised."""
    found = {}
    for path in archive.glob("experiments/*/" + journal.NAME):
        told = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
        found[path.parent.name] = [
            (one["block"], one["system"], one["cell"]) for one in told if one["kind"] == "trial"
        ]
    return found


def left(directory: Path, archive: Path) -> list[str]:
    """What is left behind of all that names the directory."""
    name = os.fsencode(directory)
    found = [path.name for path in directory.iterdir()]
    found += [str(path) for path in archive.rglob(".*")]
    found += [line for line in Path("/proc/self/mounts").read_bytes().splitlines() if name in line]
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            is_other = entry.name.isdigit() and int(entry.name) != os.getpid()
            if is_other and name in (entry / "cmdline").read_bytes():
                found.append(f"process {entry.name}")
    with contextlib.suppress(OSError):
        found += [line for line in Path("/run/steelyard").iterdir() if name in line.read_bytes()]
    return list(map(str, found))


def once(
    place: Path, study: str, options: list[str], at: int, names: dict[int, str] | None
) -> Counter[str] | None:
    """One kill, and what came of it; None if the laboratory was done before. Raises NotSo."""
    log = place.with_name("said")
    shutil.rmtree(place, ignore_errors=True)
    directory, archive = place / "work", place / "archive"
    directory.mkdir(parents=True)
    words = ["run", study, "--archive", str(archive), "--directory", str(directory), *options]
    status = laboratory(words, log, killed_at=at, names=names)
    if status == 0:
        return None
    if status != -signal.SIGKILL:
        raise NotSo(f"status {status}, killed at call {at}: {log.read_text(errors='replace')}")
    before = promised(archive)
    status = laboratory(words, log)
    said = log.read_text(errors="replace")
    if status != 0 or "Traceback" in said:
        raise NotSo(f"status {status} after a kill at call {at}: {said}")
    after = trials(archive)
    if any(not one.closed for one in experiments.experiments(archive)):
        raise NotSo(f"an experiment is open after a kill at call {at}: {said}")
    for name, kept in before.items():
        if after.get(name, [])[: len(kept)] != kept:
            raise NotSo(f"killed at call {at}: {kept} was promised, {after.get(name)} is there")
    for kept in after.values():
        if len(set(kept)) < len(kept) or len(kept) != len(max(after.values(), key=len)):
            raise NotSo(f"killed at call {at}: {kept}")
    deadline = time.monotonic() + _PATIENCE_S
    while remains := left(directory, archive):
        if time.monotonic() > deadline:
            raise NotSo(f"killed at call {at}: left behind: {remains}")
        time.sleep(0.02)
    count = sum(map(len, before.values()))
    resumed, again = int("resuming" in said), int(len(after) > 1)
    return Counter(kills=1, promised=count, resumed=resumed, again=again)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--for", type=float, default=float("inf"), dest="seconds")
    parser.add_argument("directory", type=Path)
    parser.add_argument("study")
    parser.add_argument("options", nargs=argparse.REMAINDER)
    order = parser.parse_args()
    deadline = time.monotonic() + order.seconds
    place = order.directory.absolute()
    place.mkdir(parents=True, exist_ok=True)
    kept = place / "counts"
    words = [order.first, order.every, order.all, order.study, *order.options]
    told = {"of": words, "next": order.first, "is_done": False, "counts": {}}
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(kept.read_bytes())
        told = found if found["of"] == words else told
    import_all()
    names = None if order.all else call_names()
    try:
        while not told["is_done"] and time.monotonic() < deadline:
            counts = once(place / "a laboratory", order.study, order.options, told["next"], names)
            if counts:
                told["next"] += order.every
                told["counts"] = Counter(told["counts"]) + counts
            else:
                told["is_done"] = True
            kept.write_text(json.dumps(told))
    except NotSo as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
