"""Creates a fresh file system for a system's files: on an image behind a loop device, on a block device of
the user, or in memory.

The load program (agent/filesystem.h) mounts it over the scratch directory, in a mount namespace that ends
with the system. It is created at each start, which is therefore a boot: the layout is a level of replication.
"""

import json
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from steelyard import commands
from steelyard.errors import SteelyardError, Unsupported, UsageError, in_words
from steelyard.last_words import last_line
from steelyard.programs import built
from steelyard.quantities import parse_size
from steelyard.study.model import FileSystem
from steelyard.systems import native
from steelyard.systems.system import Place, System
from steelyard.text import of_file, quoted

SIZE = "1GiB"
LABEL = "steelyardtmp"  # on a user's device: marks a file system that may be overwritten
WITHOUT_DEVICE = ("tmpfs", "overlay")
_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
_START_S = 120.0  # to make one and mount it; its aging comes on top
_AGING_S_PER_GIB, _DEVICE_S = 60.0, 3600.0  # of each round; for a device, of whatever size
_EXTENDED = "nodiscard,lazy_itable_init=0,lazy_journal_init=0"
# Words of the command and the Debian package that brings it. A discard would take the image's blocks away
# again, and what a lazy mkfs leaves undone, the kernel does while trials are measured.
_MAKING = {
    **{kind: (("-q", "-F", "-E", _EXTENDED), "e2fsprogs") for kind in ("ext2", "ext3", "ext4")},
    "xfs": (("-q", "-f", "-K"), "xfsprogs"),
    "btrfs": (("-q", "-f", "-K"), "btrfs-progs"),
    "f2fs": (("-q", "-f", "-t", "0"), "f2fs-tools"),
    "nilfs2": (("-q", "-f", "-K"), "nilfs-tools"),
    "jfs": (("-q",), "jfsutils"),
    "bcachefs": (("-q", "--force"), "bcachefs-tools"),
    "exfat": (("-q",), "exfatprogs"),
    "vfat": ((), "dosfstools"),
}
_LABELLED = {kind: "-L" for kind in ("ext2", "ext3", "ext4", "xfs", "btrfs", "nilfs2", "jfs")} | {
    "f2fs": "-l"
}
_DISCARDING = ("btrfs", "f2fs")  # by default


def mounted(system: System, wish: FileSystem) -> System:
    """The same system with its files on such a file system. Raises UsageError for one that is elsewhere."""
    if not wish:
        return system
    if not system.here:
        raise UsageError(
            f"system '{system.name}' runs on another host, but file systems are created on this machine"
        )
    return replace(
        system,
        summary=f"{system.summary}; files on a fresh {_placed(wish)}",
        command=partial(_command, system, wish),
        ready=partial(_ready, system, wish),
        boot=True,
        start_limit_s=system.start_limit_s + _START_S + _aging_s(wish),
        file_system=described(wish),
    )


def _native(kind: str) -> System:
    return mounted(replace(native.NATIVE, name=f"native-{kind}"), FileSystem(kind))


def described(wish: FileSystem) -> str:
    """The file system's description in the fingerprint."""
    words = [f"mkfs.{wish.kind}", *_making(wish)]
    return ", ".join(
        [
            _placed(wish),
            *([" ".join(words)] if wish.kind not in WITHOUT_DEVICE else []),
            *([f"mounted with {_options(wish)}"] if _options(wish) else []),
            *([f"aged {wish.aged}"] if wish.aged else []),
        ]
    )


def _placed(wish: FileSystem) -> str:
    if wish.device:
        return f"{wish.kind} on {wish.device}"
    if wish.kind == "overlay":
        return wish.kind
    sized = f"{wish.kind} of {wish.size or SIZE}"
    where = f" in {wish.image_directory}" if wish.image_directory else ""
    return sized if wish.kind == "tmpfs" else f"{sized} on an image{where}"


def _aging_s(wish: FileSystem) -> float:
    if not wish.aged:
        return 0.0
    return (1 + wish.aged) * (
        _DEVICE_S if wish.device else _AGING_S_PER_GIB * parse_size(wish.size or SIZE) / (1 << 30)
    )


def _making(wish: FileSystem) -> tuple[str, ...]:
    words, _ = _MAKING.get(wish.kind, ((), ""))
    label = (_LABELLED[wish.kind], LABEL) if wish.device else ()
    return (*words, *label, *wish.mkfs)


def _options(wish: FileSystem) -> str:
    defaults = ["nodiscard"] if wish.kind in _DISCARDING and "discard" not in wish.options else []
    return ",".join([*defaults, *([wish.options] if wish.options else [])])


def _program(wish: FileSystem) -> str | None:
    return shutil.which(f"mkfs.{wish.kind}", path=_PATH)


def _command(base: System, wish: FileSystem, place: Place) -> list[str]:
    return [
        *(str(built.load("glibc")), "filesystem", str(place.scratch)),
        *_words(wish, place),
        *("--", *base.command(place)),
    ]


def _words(wish: FileSystem, place: Place) -> Iterator[str]:
    yield f"type={wish.kind}"
    if _options(wish):
        yield f"options={_options(wish)}"
    if wish.kind != "overlay" and not wish.device:
        yield f"size={parse_size(wish.size or SIZE)}"
    if wish.kind in WITHOUT_DEVICE:
        return
    # Beside the scratch directory, which the file system will hide.
    yield f"device={wish.device}" if wish.device else f"images={wish.image_directory or place.scratch.parent}"
    for word in (_program(wish) or f"mkfs.{wish.kind}", *_making(wish)):
        yield f"make={word}"
    if wish.aged:
        yield f"aged={wish.aged}"


def _ready(base: System, wish: FileSystem) -> None:
    """Raises Unsupported or UsageError where it cannot be made; touches nothing."""
    base.ready()
    start = f"system {quoted(base.name)} cannot start: "
    if os.geteuid():
        raise Unsupported(
            f"{start}mounting a file system requires root; without root, native measures the file "
            "system of its directory (--directory)"
        )
    if not _kernel_has(wish.kind):
        raise Unsupported(
            f"{start}this kernel has no file system {quoted(wish.kind)} (see /proc/filesystems)"
        )
    if wish.kind in WITHOUT_DEVICE:
        return
    if _program(wish) is None:
        _, package = _MAKING.get(wish.kind, ((), ""))
        advice = f" (on Debian: apt-get install {package})" if package else ""
        raise Unsupported(f"{start}mkfs.{wish.kind} is not installed{advice}")
    if wish.device:
        _check_device(base.name, wish)
    elif not os.path.exists("/dev/loop-control"):
        raise Unsupported(f"{start}this machine has no loop devices (/dev/loop-control)")
    elif wish.image_directory and not os.path.isdir(wish.image_directory):
        raise UsageError(
            f"system {quoted(base.name)}: image_directory is {quoted(wish.image_directory)}, but must be a "
            "directory; a block device is named by device"
        )


def _kernel_has(kind: str) -> bool:
    try:
        listed = of_file(Path("/proc/filesystems")).split()
    except OSError:  # a container may hide it: then the mount says so
        return True
    return kind in listed or (
        shutil.which("modprobe", path=_PATH) is not None
        and commands.answer_of(["modprobe", "--dry-run", "--quiet", f"fs-{kind}"]).returncode == 0
    )


def _check_device(name: str, wish: FileSystem) -> None:
    """Raises UsageError for a device that is used, or on which is anything but what was made here."""
    where = f"system {quoted(name)}: device is {quoted(wish.device)}, "
    if wish.kind not in _LABELLED:
        kinds = ", ".join(_LABELLED)
        raise UsageError(f"{where}beside which the file system must be one of {kinds}")
    try:
        status = os.stat(wish.device)
        if not stat.S_ISBLK(status.st_mode):
            raise UsageError(f"{where}but must be a block device")
        # As mount(2) opens it: refused while anybody else uses it, be it as swap or in a volume.
        os.close(os.open(wish.device, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        raise UsageError(f"{where}which is in use or cannot be opened: {in_words(error)}") from error
    for kind, label in _signatures(name, wish.device):
        if label != LABEL:
            labelled = f" labelled {quoted(label)}" if label else ""
            raise UsageError(
                f"{where}but it holds {quoted(kind)}{labelled}, which would be destroyed; if it may be, "
                f"remove it first (wipefs --all {wish.device})"
            )


def _signatures(name: str, device: str) -> Iterator[tuple[str, str]]:
    """Type and label of everything that is known to be on it. Raises SteelyardError if it cannot be known."""
    program = shutil.which("wipefs", path=_PATH)
    if program is None:
        raise Unsupported(
            f"system {quoted(name)} cannot start: wipefs, which says what is on a device, is missing"
        )
    answer = commands.answer_of([program, "--no-act", "--json", "--output", "TYPE,LABEL", device])
    if answer.returncode:
        reason = last_line(answer.stderr.encode())
        raise SteelyardError(
            f"system {quoted(name)}: wipefs cannot say what is on {quoted(device)}: {reason}"
        )
    for one in json.loads(answer.stdout or "{}").get("signatures", []):
        yield str(one.get("type")), str(one.get("label") or "")


NATIVE = tuple(map(_native, ("ext4", "xfs", "btrfs", "tmpfs", "overlay")))
