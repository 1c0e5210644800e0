"""Another distribution's userland on this machine's kernel: plainly (chroot), or in namespaces of its own.

The load program enters it (harness/userland.c), and is found there in /tmp, which is the agent's own
directory on this machine: files are made where every other system makes them. A statically linked build
brings its libc along; one that is linked with shared libraries runs with the userland's.
"""

import os
import shutil
import struct
from dataclasses import replace
from functools import partial
from pathlib import Path

from steelyard import programs
from steelyard.errors import Unsupported, UsageError
from steelyard.study import SystemDefinition
from steelyard.systems.system import Place, System

_INSIDE = "/tmp/steelyard-load"
_NEEDED = ("bin/sh", "proc", "sys", "dev", "tmp")
_PT_INTERP = 3


def _work(place: Place) -> Path:
    return place.scratch / "work"


def _ready(kind: str, root: str) -> None:
    if not root:
        raise UsageError(
            f'system \'{kind}\' needs a userland: in a study, base = "{kind}" and root = "/path/of/one", as '
            "debootstrap makes it"
        )
    missing = [name for name in _NEEDED if not _is_there(Path(root) / name)]
    if not Path(root).is_dir():
        raise UsageError(f"root is '{root}', but must be a directory with a userland in it")
    if missing:
        raise UsageError(
            f"root is '{root}', but must be a userland with a shell and a libc: it has no {missing[0]}"
        )
    if os.geteuid():
        raise Unsupported(f"system '{kind}' cannot start: another root directory takes root's rights")


def _is_there(path: Path) -> bool:
    """Links in a userland may lead to what is absolute there and absent here."""
    return path.is_symlink() or path.exists()


def _prepare(root: str, place: Place) -> None:
    interpreter = interpreter_of(place.program)
    if interpreter and not _is_there(Path(root) / interpreter.lstrip("/")):
        raise Unsupported(
            f"the load program needs the libc that {interpreter} belongs to, and the userland '{root}' has "
            "none; run a build that is linked statically, such as native's"
        )
    _work(place).mkdir()
    shutil.copy(place.program, _work(place) / "steelyard-load")


def interpreter_of(program: Path) -> str | None:
    """The dynamic loader that an ELF program of 64 bits names; None if it is linked statically."""
    image = program.read_bytes()
    (at,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    for number in range(count):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", image, at + number * size)
        if kind == _PT_INTERP:
            return image[offset : offset + length].split(b"\0")[0].decode()
    return None


def _command(kind: str, root: str, place: Place) -> list[str]:
    entering = [str(programs.load("glibc")), "userland", kind, str(Path(root).absolute()), str(_work(place))]
    return [*entering, _INSIDE, "agent", "/tmp"]


def rooted(kind: str, system: System, definition: SystemDefinition) -> System:
    """The same kind of userland, from that root directory."""
    root = definition.root
    what = "a container (plain namespaces)" if kind == "container" else "this machine's kernel"
    return replace(
        system,
        summary=f"{what} with the userland {root}" if root else system.summary,
        command=partial(_command, kind, root),
        ready=partial(_ready, kind, root),
        prepare=partial(_prepare, root),
    )


def _system(kind: str, summary: str) -> System:
    return rooted(kind, System(kind, summary, lambda place: []), SystemDefinition(kind))


CHROOT = _system("chroot", "another userland on this machine's kernel; a study names its root")
CONTAINER = _system("container", "another userland in namespaces of its own; a study names its root or image")
