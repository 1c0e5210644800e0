"""Kills a laboratory at its n-th system call, one n after the other, and looks at what the next finds.

    every_call.py DIRECTORY STUDY FIRST EVERY [OPTION...]

Runs `steelyard run STUDY OPTION...`, killed at call FIRST; then, without a kill, again; then at call FIRST +
EVERY, and so on until the laboratory is done before it is reached. Each time: every trial that was in the
journal is in the archive, once; each experiment is closed with all its trials; no process, mount, scratch
directory or draft is left. Prints the counts, as JSON; what was not so ends it with status 1.

A laboratory is a fork of this process, which has imported all: its calls are those of what it does.
"""

import contextlib
import ctypes
import importlib
import json
import os
import pkgutil
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import steelyard
from steelyard import cli
from steelyard.archive import experiments, journal

_TRACEME, _SYSCALL, _SETOPTIONS = 0, 24, 0x4200  # ptrace(2)
_SYSGOOD, _TRACEEXEC, _EXITKILL = 0x1, 0x10, 0x100000
_PATIENCE_S = 20
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)


class NotSo(Exception):
    """What was promised and is not so."""


def import_all() -> None:
    for module in pkgutil.walk_packages(steelyard.__path__, "steelyard."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _ptrace(request: int, process: int, data: int = 0) -> None:
    if _libc.ptrace(request, process, None, data):
        raise OSError(ctypes.get_errno(), "ptrace")


def laboratory(words: list[str], log: Path, *, killed_at: int | None) -> int:
    """Its status (negative: the signal that ended it)."""

    def begin() -> int:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        return cli.main(words)

    return killed(begin, killed_at=killed_at)


def killed(begin: Callable[[], int], *, killed_at: int | None) -> int:
    """The status of a fork of this process that does so. What ptrace follows is its first thread."""
    process = os.fork()
    if process == 0:
        if killed_at is not None:
            _ptrace(_TRACEME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
        status = 70
        with contextlib.suppress(SystemExit):
            status = begin()
        os._exit(status)
    if killed_at is None:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os.waitpid(process, 0)
    _ptrace(_SETOPTIONS, process, _SYSGOOD | _TRACEEXEC | _EXITKILL)
    stops, number = 0, 0
    while True:
        with contextlib.suppress(ProcessLookupError):  # it is killed
            _ptrace(_SYSCALL, process, number)
        _, status = os.waitpid(process, 0)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        number = 0 if status >> 16 else os.WSTOPSIG(status)  # else it has become another program
        if number == signal.SIGTRAP | 0x80:
            stops, number = stops + 1, 0
            if stops == 2 * killed_at - 1:  # it is about to begin
                os.kill(process, signal.SIGKILL)


def trials(archive: Path) -> dict[str, list[tuple[int, str, str]]]:
    """Block, system and cell of each trial, by experiment."""
    found = {}
    for one in experiments.experiments(archive):
        with experiments.connect(one) as tables:
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


def once(place: Path, study: str, options: list[str], at: int, log: Path) -> Counter[str] | None:
    """One kill, and what came of it; None if the laboratory was done before. Raises NotSo."""
    shutil.rmtree(place, ignore_errors=True)
    directory, archive = place / "work", place / "archive"
    directory.mkdir(parents=True)
    words = ["run", study, "--archive", str(archive), "--directory", str(directory), *options]
    status = laboratory(words, log, killed_at=at)
    if status == 0:
        return None
    if status != -signal.SIGKILL:
        raise NotSo(f"status {status}, killed at call {at}: {log.read_text(errors='replace')}")
    before = promised(archive)
    status = laboratory(words, log, killed_at=None)
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
    return Counter(kills=1, promised=count, resumed="going on with" in said, anew=len(after) > 1)


def main(place: Path, study: str, first: int, every: int, options: list[str]) -> int:
    import_all()
    place = place.absolute()
    counts: Counter[str] = Counter()
    at = first
    try:
        while found := once(place / "a laboratory", study, options, at, place / "said"):
            counts += found
            at += every
    except NotSo as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps({"not reached": at, "first": first, "every": every, **counts}))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]))
