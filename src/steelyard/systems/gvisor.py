"""gVisor: an application kernel in Go, which answers system calls instead of Linux.

Its start is a boot: each sandbox starts a new kernel (the Sentry). For about the first second of a sandbox's
life its clock is a full system call, later it is read without one: until then it has not settled. Systrap is
several times faster than ptrace, where the installed runsc has it.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from steelyard import commands
from steelyard.systems.system import Place, System


@cache
def _flags() -> str:
    """The flags that the installed runsc lists."""
    answer = commands.answer_of(["runsc", "flags"])
    return answer.stdout + answer.stderr


def _state(place: Place) -> Path:
    """The directory for runsc's own files, which go with the scratch directory when runsc is killed."""
    return place.scratch / "runsc"


def _prepare(place: Place) -> None:
    _state(place).mkdir()


def _command(place: Place) -> list[str]:
    return [
        "env",
        f"TMPDIR={_state(place)}",
        "runsc",
        "--rootless",
        "--network=none",
        f"--platform={'systrap' if 'systrap' in _flags() else 'ptrace'}",
        # Its own control groups would remain after a kill, and would escape a limit on ours.
        *(["--ignore-cgroups"] if "ignore-cgroups" in _flags() else []),
        "do",
        "-quiet",
        # Without this, written files would stay in the sandbox's memory, and the file system
        # compared would not be the other systems'.
        "-force-overlay=false",
        "-cwd",
        "/",
        str(place.program),
        "agent",
        str(place.scratch),
    ]


def _watcher(threads: Sequence[int]) -> int | None:
    """The first thread that Go's runtime starts (sysmon): it looks after the others every 20 us while they
    work. On their processor it makes what runs in the sandbox slower by a third, now and then; with two
    processors it is on the other."""
    return threads[1] if len(threads) > 1 else None


GVISOR = System(
    "gvisor",
    "gVisor's application kernel (runsc)",
    _command,
    prepare=_prepare,
    boot=True,
    needs=(("runsc", "runsc"),),
    settle_most_s=1.5,
    settled_clock_ns=1000,
    start_s=1.5,
    watcher=_watcher,
    starts_at_once=8,
    memory_bytes=40 << 20,
)
