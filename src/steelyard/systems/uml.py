"""User-mode Linux: another Linux kernel, booted as a process of this one.

The root file system is this machine's (hostfs). A serial line carries only the agent's two streams; the
kernel's own messages go to standard error. The first process is the load program.
"""

import os
import struct
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from steelyard.errors import Unsupported
from steelyard.programs import built
from steelyard.quantities import parse_size
from steelyard.study.model import SystemDefinition
from steelyard.systems.system import Place, System
from steelyard.text import quoted

MEMORY = "512M"
_MEMORY_FILES = "/dev/shm"
_PAGE = 4096


@cache
def _has_tiles() -> bool:
    """True if the processor has tiles for matrix multiplication (AMX). They are registers as well, too many
    for an older kernel to give a process its registers alone (systems/uml_registers.c).
    """
    with suppress(OSError), open("/proc/cpuinfo", "rb") as lines:
        # The first processor's: the file of a machine with hundreds takes long to read.
        return b"amx_tile" in next((line for line in lines if line.startswith(b"flags")), b"").split()
    return False


_ADDITION = "; two more calls of ptrace for each return to a process, for AMX" if _has_tiles() else ""


def _ready() -> None:
    if not os.access(_MEMORY_FILES, os.W_OK | os.X_OK):
        raise Unsupported(
            f"system 'uml' cannot start: its memory is a file in {_MEMORY_FILES}, where none can be made"
        )
    if _has_tiles():
        built.uml_registers()


def _link(place: Place) -> Path:
    """A path without spaces to the load program, because a kernel's command line can hold none."""
    return place.scratch / "steelyard-load"


def _registers(place: Place) -> Path:
    return place.scratch / "registers.so"


def _prepare(place: Place) -> None:
    if " " in str(place.scratch):
        raise Unsupported(
            f"system 'uml' cannot start: its directory {quoted(place.scratch)} has a space in its name, "
            "which a kernel's command line cannot hold; choose another with --directory DIR"
        )
    _link(place).symlink_to(place.program)
    if _has_tiles():
        _registers(place).symlink_to(built.uml_registers())


def _swap(place: Place) -> Path:
    return place.scratch / "swap.img"


def _make_swap(size: int, place: Place) -> None:
    _prepare(place)
    make_swap(_swap(place), size)


def make_swap(file: Path, size: int) -> None:
    """A file of holes with the first page that mkswap(8) would write: version 1, the last page's number,
    and the signature at its end."""
    header = bytearray(_PAGE)
    struct.pack_into("=III", header, 1024, 1, size // _PAGE - 1, 0)
    header[-10:] = b"SWAPSPACE2"
    with open(file, "wb") as device:
        device.write(header)
        device.truncate(size)


def sized(system: System, definition: SystemDefinition) -> System:
    """User-mode Linux with that much memory, and with a swap device if one is asked for: a system that
    may run out of memory without harm to its host."""
    if not (definition.memory or definition.swap):
        return system
    swap = parse_size(definition.swap) if definition.swap not in ("", "0") else 0
    return replace(
        system,
        summary=f"User-mode Linux with {definition.memory or MEMORY} of memory"
        + (f" and {definition.swap} of swap" if swap else "")
        + _ADDITION,
        command=partial(_command, memory=definition.memory or MEMORY, swap=bool(swap)),
        prepare=partial(_make_swap, swap) if swap else system.prepare,
    )


def _command(place: Place, *, memory: str = "", swap: bool = False) -> list[str]:
    return [
        # The kernel loses as much memory as lies between its program and its heap, and the host draws that
        # random gap for each start, up to half of 64 MiB: where the size is what matters, it must not.
        *(["setarch", "-R"] if memory else []),
        # UML keeps the guest's memory in a file of this directory; it must be in memory itself.
        "env",
        f"TMPDIR={_MEMORY_FILES}",
        *([f"LD_PRELOAD={_registers(place)}"] if _has_tiles() else []),
        "linux.uml",
        f"mem={memory or MEMORY}",
        f"uml_dir={place.scratch}",  # instead of ~/.uml, which may not be writable: the kernel then panics
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "rw",
        f"init={_link(place)}",
        "STEELYARD_STREAM=/dev/ttyS0",
        f"STEELYARD_DIRECTORY={place.scratch}",
        "STEELYARD_LIMITED=1",  # its memory is a limit
        *([f"ubd1={_swap(place)}", "STEELYARD_SWAP=/dev/ubdb"] if swap else []),
        "con=null",
        "con0=null,fd:2",
        "ssl0=fd:0,fd:1",
        "quiet",
    ]


UML = System(
    "uml",
    f"User-mode Linux, another Linux kernel as a process{_ADDITION}",
    _command,
    boot=True,
    settle_most_s=1.0,
    start_s=1.0,
    needs=(("linux.uml", "user-mode-linux"),),
    ready=_ready,
    prepare=_prepare,
)
