"""Removes the leftovers of a killed run: ends its processes, known by a secret in their environment, and
removes its directory. A mere mention of a run (a path, a word, a working directory) makes no leftover.
"""

import os
import secrets
import select
import shutil
import signal
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from steelyard import standstill, text
from steelyard.quantities import number_of
from steelyard.systems import groups

VARIABLE = "STEELYARD_MARK"  # in the environment of every process of a system
_FILE = ".mark"  # in its scratch directory, for the next command; only this user can read either
BOOT = Path("/proc/sys/kernel/random/boot_id")
_PATIENCE_S = 5.0  # for killed processes to be gone
_NAMED_MOST = 5  # in a sentence
# File systems of which several machines may have the same directory: how the names of their kinds begin.
_SHARED = (
    *("nfs", "cifs", "smb", "ceph", "lustre", "gpfs", "glusterfs", "beegfs", "fuse", "9p", "virtiofs", "afs"),
    *("ocfs2", "gfs2", "pvfs", "orangefs"),
)


def boot() -> str:
    """The ID of the boot that this machine runs in; empty if the kernel does not tell (no /proc/sys)."""
    try:
        return text.of_file(BOOT).strip()
    except OSError:
        return ""


def make_mark(directory: Path) -> str:
    """A new secret, which is kept in that directory of this user's alone, with the boot that it holds for:
    another machine may have the same directory, and knows nothing of our processes."""
    mark = secrets.token_hex(16)
    file = os.open(
        directory / _FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    try:
        os.write(file, f"{mark}\n{boot()}\n".encode())
    finally:
        os.close(file)
    return mark


def mark_of(directory: Path) -> str | None:
    """The secret of what ran there, on this machine since its start; None if it did not, or this user has not
    written it."""
    mark, when = _marked(directory)
    return mark if mark and when == boot() else None


def is_shared(directory: Path) -> bool:
    """Whether another machine may use the directory now, by the kind of its file system; so it is where the
    kernel does not tell that."""
    try:
        device = directory.lstat().st_dev
        mounts = text.of_file(Path("/proc/self/mountinfo")).splitlines()
    except OSError:
        return True
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts:
        mounted, _, rest = line.partition(" - ")
        if mounted.split()[2:3] == [number]:
            return rest.startswith(_SHARED)
    return not mounts


def _marked(directory: Path) -> tuple[str, str]:
    """The secret, and the boot that it holds for; both empty if there is none that this user has written."""
    with suppress(OSError):
        place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            file = os.open(_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
        finally:
            os.close(place)
        try:
            status = os.fstat(file)
            mark, _, when = os.read(file, 256).decode(errors="replace").partition("\n")
        finally:
            os.close(file)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if is_ours and len(mark) == 32 and mark.isalnum():
            return mark, when.strip()
    return "", ""


def end_processes(members: Sequence[Path] = (), *, marks: Sequence[str] = ()) -> list[str]:
    """Kill every process in those control groups, and those with one of these secrets in their environment,
    with all descendants; wait for their end. Returns what they were: an ID and a name.

    They are stopped first, so that none can leave an unknown child. A process is held by its descriptor
    before it is examined, so that its ID cannot have become another's.
    """
    held: dict[int, int] = {}
    names: list[str] = []
    deadline = standstill.clock() + _PATIENCE_S
    try:
        while standstill.clock() < deadline:
            more = _found(members, marks, held)
            if not more:
                break
            for process in more:
                _signal(held[process], signal.SIGSTOP)
                names.append(f"{process} ({_name(process)})")
        for file in held.values():
            _signal(file, signal.SIGKILL)
        for file in held.values():
            left_ms = max(0.0, deadline - standstill.clock()) * 1000
            waiting = select.poll()
            waiting.register(file, select.POLLIN)
            waiting.poll(left_ms)
    finally:
        for file in held.values():
            os.close(file)
    return names


def told(ended: Sequence[str]) -> list[str]:
    """The sentence about processes that were ended; none if there were none."""
    if not ended:
        return []
    shown = ", ".join(ended[:_NAMED_MOST]) + (", ..." if len(ended) > _NAMED_MOST else "")
    return [f"ended {number_of(len(ended), 'process', 'processes')} left by an interrupted run: {shown}"]


def _found(members: Sequence[Path], marks: Sequence[str], held: dict[int, int]) -> list[int]:
    """The processes that were not held yet; each is held from now on."""
    words = {f"{VARIABLE}={mark}".encode() for mark in marks}
    spared = {os.getpid(), *ancestors(os.getpid())}
    found = []

    def hold(process: int, is_ours: Callable[[], bool]) -> None:
        if process in held or process in spared or not is_ours():
            return
        with suppress(OSError):
            file = os.pidfd_open(process)
            if is_ours():  # still, and so it is the one that is held
                held[process] = file
                found.append(process)
            else:
                os.close(file)

    for group in members:
        for process in groups.processes(group):
            hold(process, lambda group=group, process=process: process in groups.processes(group))  # type: ignore[misc]
    if words:
        for process in _processes():
            hold(process, lambda process=process: bool(words & _environment(process)))  # type: ignore[misc]
        for process in _processes() if held else ():
            hold(process, lambda process=process: bool(held.keys() & set(ancestors(process))))  # type: ignore[misc]
    return found


def _processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _name(process: int) -> str:
    try:
        return text.of_file(Path(f"/proc/{process}/comm")).strip()
    except OSError:
        return "ended"


def _environment(process: int) -> set[bytes]:
    try:
        return set(Path(f"/proc/{process}/environ").read_bytes().split(b"\0"))
    except OSError:
        return set()


def ancestors(process: int) -> list[int]:
    """The processes that it came of, the nearest first; none if it has ended."""
    found: list[int] = []
    with suppress(OSError, ValueError, IndexError):
        while process > 1 and process not in found[:-1]:
            # The name may hold anything: what follows its last bracket is plain.
            process = int(Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[1])
            found.append(process)
    return found


def _signal(file: int, number: signal.Signals) -> None:
    with suppress(OSError):
        signal.pidfd_send_signal(file, number)


def remove(path: Path) -> None:
    """Remove a directory of this user's with its contents, as far as possible. Another user's files, and the
    targets of links, stay, even if names are exchanged meanwhile.
    """
    with suppress(OSError):
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _remove_in(parent, path.name)
        finally:
            os.close(parent)


def _remove_in(parent: int, name: str) -> None:
    directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if os.fstat(directory).st_uid != os.geteuid():
            return
        with os.scandir(directory) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.name, ignore_errors=True, dir_fd=directory)
                    else:
                        os.unlink(entry.name, dir_fd=directory)
    finally:
        os.close(directory)
    os.rmdir(name, dir_fd=parent)
