"""Another distribution's userland on this machine's kernel: plain (chroot), or in its own namespaces.

The load program enters it (agent/posix/userland.c), and is found there in /tmp, which is the agent's
directory on this machine: files are created in the same place as for every other system. A statically linked
build brings its libc along; a build linked with shared libraries uses the userland's.
"""

import os
import shutil
import struct
from dataclasses import replace
from functools import partial
from pathlib import Path

from steelyard import commands
from steelyard.errors import Unsupported, UsageError
from steelyard.programs import built
from steelyard.study.model import LOOPBACK, SystemDefinition
from steelyard.systems import groups
from steelyard.systems.system import EVERY_PEER, Place, System
from steelyard.text import quoted

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
    if not os.path.isdir(root):
        raise UsageError(f"root is {quoted(Path(root))}, but must be a directory with a userland in it")
    if missing:
        raise UsageError(
            f"root is {quoted(Path(root))}, but must be a userland with a shell and a libc: it has no "
            f"{missing[0]}"
        )
    if os.geteuid():
        raise Unsupported(f"system {quoted(kind)} cannot start: changing the root directory requires root")


def _is_there(path: Path) -> bool:
    """Links in a userland may lead to what is absolute there and absent here."""
    return os.path.lexists(path)


def _prepare(root: str, place: Place) -> None:
    interpreter = interpreter_of(place.program)
    if interpreter and not _is_there(Path(root) / interpreter.lstrip("/")):
        raise Unsupported(
            f"the load program needs the libc that {interpreter} belongs to, and the userland "
            f"{quoted(Path(root))} lacks it; run a statically linked build, such as native's"
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
            return image[offset : offset + length].split(b"\0")[0].decode(errors="surrogateescape")
    return None


def _command(kind: str, root: str, place: Place) -> list[str]:
    entering = [str(built.load("glibc")), "userland", kind, str(Path(root).absolute()), str(_work(place))]
    return [*entering, _INSIDE, "agent", "/tmp"]


_ULIMITS = (  # what runc and crun ask for by themselves may be more than the host may give
    "--ulimit",
    "nofile=1024:4096",
    "--ulimit",
    "nproc=4096:4096",
)


def _image_ready(image: str) -> None:
    answer = commands.answer_of(["podman", "image", "exists", image])
    if answer.returncode == 124:
        raise Unsupported(f"podman cannot tell whether it has the image {quoted(image)}: {answer.stderr}")
    if answer.returncode:
        raise Unsupported(f"podman has no image {quoted(image)} (podman pull {image})")


def _image_prepare(place: Place) -> None:
    _work(place).mkdir()
    shutil.copy(place.program, _work(place) / "steelyard-load")


def _image_command(image: str, place: Place) -> list[str]:
    # crun refuses where control groups of both versions are mounted.
    runtime = ["--runtime=runc"] if shutil.which("runc") else []
    name = place.scratch.name
    engine = ["podman", *runtime]
    run = ["run", "-i", "--rm", "--pull=never", "--network=none", f"--name={name}", *_ULIMITS]
    if os.geteuid() == 0:  # others have no say in where their control groups are
        engine.append("--cgroup-manager=cgroupfs")
        run.append(f"--cgroup-parent=/{name}")
    return [*engine, *run, f"--volume={_work(place)}:/tmp", image, _INSIDE, "agent", "/tmp"]


def _image_undo(place: Place) -> list[list[str]]:
    """Podman's record of the container first (a ledger is undone from its end), then the control groups
    that it has made below one of our name."""
    removal = ["undo", "podman", "rm", "--force", "--ignore", "--time=0", place.scratch.name]
    return [*(["groups", str(mount / place.scratch.name)] for mount in groups.mounts()), removal]


def _from_image(system: System, definition: SystemDefinition) -> System:
    """A container that podman makes from an image it has. Podman makes its own control groups."""
    if definition.tuning.is_limit:
        raise UsageError(
            f"system '{definition.name}' has a limit of memory or processes, which is for containers with "
            'root = "...": podman puts containers of an image into its own control groups'
        )
    return replace(
        system,
        summary=f"a container (podman) of the image {definition.image}",
        command=partial(_image_command, definition.image),
        ready=partial(_image_ready, definition.image),
        prepare=_image_prepare,
        undo=_image_undo,
        needs=(("podman", "podman"),),
    )


def rooted(kind: str, system: System, definition: SystemDefinition) -> System:
    """The same kind of userland, from that root directory."""
    if definition.image:
        return _from_image(system, definition)
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
    return rooted(
        kind,
        System(kind, summary, lambda place: [], peers=EVERY_PEER if kind == "chroot" else (LOOPBACK,)),
        SystemDefinition(kind),
    )


CHROOT = _system("chroot", "another userland on this machine's kernel; a study names its root")
CONTAINER = _system("container", "another userland in namespaces of its own; a study names its root or image")
