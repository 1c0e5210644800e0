"""User-mode Linux: another Linux kernel, booted as a process of this one.

The root file system is this machine's (hostfs). A serial line carries the agent's two streams and
nothing else; the kernel's own messages go to standard error. The first process is the load program.
"""

from pathlib import Path

from steelyard.errors import Unsupported
from steelyard.systems.system import Place, System

MEMORY = "512M"


def _link(place: Place) -> Path:
    """Where the guest finds the load program: a kernel's command line can hold no spaces, a path may."""
    return place.scratch / "steelyard-load"


def _prepare(place: Place) -> None:
    if " " in str(place.scratch):
        raise Unsupported(
            f"system 'uml' cannot start: its directory '{place.scratch}' has a space in its name, which a "
            "kernel's command line cannot hold; choose another with --directory DIR"
        )
    _link(place).symlink_to(place.program)


def _command(place: Place) -> list[str]:
    return [
        # UML keeps the guest's memory in a file of this directory; it must be in memory itself.
        "env",
        "TMPDIR=/dev/shm",
        "linux.uml",
        f"mem={MEMORY}",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "rw",
        f"init={_link(place)}",
        "STEELYARD_STREAM=/dev/ttyS0",
        f"STEELYARD_DIRECTORY={place.scratch}",
        "con=null",
        "con0=null,fd:2",
        "ssl0=fd:0,fd:1",
        "quiet",
    ]


UML = System(
    "uml",
    "User-mode Linux, another Linux kernel as a process",
    _command,
    boot=True,
    needs=(("linux.uml", "user-mode-linux"),),
    prepare=_prepare,
)
