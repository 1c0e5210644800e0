"""gVisor: an application kernel in Go, which answers system calls in place of Linux.

Its start is a boot: the kernel (the Sentry) begins anew with each sandbox. For about the first
second of a sandbox's life its clock is a full system call, later it is read without one; hence the
time to settle. Systrap is several times faster than ptrace, where the installed runsc has it.
"""

from functools import cache

from steelyard.systems.system import Place, System
from steelyard.text import answer_of


@cache
def _platform() -> str:
    """The platform to ask for: systrap if this runsc knows it, else ptrace."""
    answer = answer_of(["runsc", "flags"])
    return "systrap" if "systrap" in answer.stdout + answer.stderr else "ptrace"


def _command(place: Place) -> list[str]:
    return [
        "runsc",
        "--rootless",
        "--network=none",
        f"--platform={_platform()}",
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


GVISOR = System(
    "gvisor",
    "gVisor's application kernel (runsc)",
    _command,
    boot=True,
    needs=(("runsc", "runsc"),),
    settle_s=1.5,
)
