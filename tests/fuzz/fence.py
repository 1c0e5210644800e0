"""Keeps the machine from what hostile requests start.

It has processes of its own, which end with it; all of it together has 1 GiB of memory; it gains no right; and
who starts it as root has it run as nobody. What is not available here is said on standard error, and gone
without. But for nobody: root runs no hostile request.
"""

import contextlib
import ctypes
import dataclasses
import os
import pwd
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from steelyard.errors import Unsupported
from steelyard.study.model import Tuning
from steelyard.systems import groups

MEMORY_MOST = 1 << 30
_WITHOUT_SWAP = Tuning(memory=str(MEMORY_MOST), swap="0")
_GROUPS = "fuzz"
_LOOKS_EVERY_S = 0.05
_PAGE = os.sysconf("SC_PAGESIZE")
_UNSUPPORTED = 77
_PDEATHSIG, _DUMPABLE, _SUBREAPER, _NO_NEW_PRIVS = 1, 4, 36, 38  # prctl(2)
_NEWNS, _NEWUSER, _NEWPID = 0x20000, 0x10000000, 0x20000000  # unshare(2)
_NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000  # mount(2)
_STAGES = tuple(map(Path, ("/mnt", "/media", "/srv")))  # one is for what lies in a closed directory

_libc = ctypes.CDLL(None, use_errno=True)


def enclosed(work: Callable[[Path, Path], int], program: Path, directory: Path) -> int:
    """Does that work behind the fence, in a process of its own; returns its exit status. It is given the
    program and a directory below that one, as it finds them there. Nothing of it is left but files."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    directory.mkdir(parents=True, exist_ok=True)
    own = Path(tempfile.mkdtemp(dir=directory))
    try:
        with _memory_group() as group:
            has_processes = _has_own_processes()
            gate, opens = os.pipe()
            process = os.fork()
            if process == 0:
                os.close(opens)
                os._exit(_inside(work, program, own, gate=gate, group=group, has_processes=has_processes))
            os.close(gate)
            try:
                os.write(opens, b"x")
                return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            except BaseException:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                raise
    finally:
        with contextlib.suppress(OSError):  # what was left is there to be looked at
            own.rmdir()


def _inside(
    work: Callable[[Path, Path], int],
    program: Path,
    directory: Path,
    *,
    gate: int,
    group: Path | None,
    has_processes: bool,
) -> int:
    """The same in the process of its own."""
    status = 1
    try:
        if group is not None:
            (group / "cgroup.procs").write_text("0")
        if has_processes:
            _mount("proc", Path("/proc"), kind="proc", flags=_NOSUID | _NODEV | _NOEXEC)
        if os.geteuid() == 0:
            if has_processes:
                program, directory = _within_reach(program, directory)
            _become_nobody(program, directory)
        _prctl(_NO_NEW_PRIVS, 1)
        _prctl(_SUBREAPER, 1)
        # Only now: a change of user takes it back.
        _prctl(_PDEATHSIG, signal.SIGKILL)
        if not os.read(gate, 1):
            return status
        if group is None:
            threading.Thread(target=_keep_within, args=(MEMORY_MOST,), daemon=True).start()
        status = work(program, directory)
    except KeyboardInterrupt:  # and when it is terminated
        status = 128 + signal.SIGINT
    except Unsupported as error:
        _say(str(error))
        status = _UNSUPPORTED
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    return status


def _say(sentence: str) -> None:
    print(f"fence: {sentence}", file=sys.stderr, flush=True)


# Memory


@contextlib.contextmanager
def _memory_group() -> Iterator[Path | None]:
    """A control group with the limit; None where none can be made."""
    group = None
    why = ""
    for tuning in (_WITHOUT_SWAP, dataclasses.replace(_WITHOUT_SWAP, swap="")):
        try:
            (made,) = groups.of(tuning)
            remove_left_groups(made.path.parent)
            named = made.path.with_name(f"{_GROUPS}-{os.getpid()}-{made.path.name}")
            made = dataclasses.replace(made, path=named)
            groups.make(made)
            groups.limit(made)
        except Unsupported as error:
            why = str(error)
            with contextlib.suppress(OSError, UnboundLocalError):
                named.rmdir()
            continue
        if _can_join(named):
            group = named
            break
        why = f"no process can be moved into {named}"
        named.rmdir()
    if group is None:
        _say(f"without a control group ({why}): what is above 1 GiB is killed by the next look at it")
    try:
        yield group
    finally:
        deadline = time.monotonic() + 20
        while group is not None and group.exists() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                group.rmdir()
            time.sleep(0.01)


def group_place() -> Path | None:
    """The group below which such groups are made; None where none can be."""
    try:
        return groups.of(_WITHOUT_SWAP)[0].path.parent
    except Unsupported:
        return None


def remove_left_groups(place: Path) -> list[Path]:
    """Removes the groups there of those that were killed and could not; returns those that are in use."""
    for group in place.glob(f"{_GROUPS}-*"):
        if not Path(f"/proc/{group.name.split('-')[1]}").exists():
            with contextlib.suppress(OSError):
                group.rmdir()
    return [*place.glob(f"{_GROUPS}-*")]


def _can_join(group: Path) -> bool:
    process = os.fork()
    if process == 0:
        try:
            (group / "cgroup.procs").write_text("0")
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(process, 0)[1] == 0


def _keep_within(most: int) -> None:
    """Kills, again and again, the largest of the processes below this one while all of them have too much."""
    while True:
        if (largest := largest_of_too_much(most)) is not None:
            with contextlib.suppress(OSError):
                os.kill(largest, signal.SIGKILL)
        select.select([], [], [], _LOOKS_EVERY_S)


def largest_of_too_much(most: int) -> int | None:
    """The largest of this process's descendants if all of them together have more memory; else None."""
    resident = {process: size for process in _descendants() if (size := _resident(process))}
    if sum(resident.values()) <= most:
        return None
    # What several of them share was counted for each.
    shares = {process: share for process in resident if (share := _share(process))}
    return max(shares, key=shares.__getitem__) if sum(shares.values()) > most else None


def _descendants() -> set[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = (entry / "stat").read_text(errors="replace").rpartition(") ")[2].split()
                parents[int(entry.name)] = int(stat[1])
    found: set[int] = set()
    above = {os.getpid()}
    while above := {one for one, parent in parents.items() if parent in above} - found:
        found |= above
    return found


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0


def _share(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


# Processes and rights


def _has_own_processes() -> bool:
    """Gives what this process will start a process namespace, and all of it a view of the files."""
    user, group = os.geteuid(), os.getegid()
    process = os.fork()  # the try: one that works by half would leave this process without its user
    if process == 0:
        os._exit(0 if _unshared(user, group) else 1)
    if os.waitpid(process, 0)[1] or not _unshared(user, group):
        _say("without a process namespace: what is started sees all processes, and may outlive a kill of it")
        return False
    return True


def _unshared(user: int, group: int) -> bool:
    flags = _NEWNS | _NEWPID | (_NEWUSER if user else 0)
    if _libc.unshare(flags):
        return False
    try:
        if user:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        _mount("none", Path("/"), flags=_REC | _PRIVATE)
    except OSError:
        return False
    return True


def _within_reach(program: Path, directory: Path) -> tuple[Path, Path]:
    """Where nobody reaches them too, in this process's own view of the files."""
    needed = [program, directory, *map(Path, (sys.prefix, sys.base_prefix, __file__))]
    stages = [
        one for one in _STAGES if one.is_dir() and not any(other.is_relative_to(one) for other in needed)
    ]
    if not stages:
        return program, directory
    stage = stages[0]
    _mount("tmpfs", stage, kind="tmpfs", flags=_NOSUID | _NODEV, options="mode=755,size=64k")
    seen = stage / "program", stage / "directory"
    seen[0].touch()
    seen[1].mkdir()
    _mount(str(program), seen[0], flags=_BIND)
    _mount(str(directory), seen[1], flags=_BIND)
    return seen


def _become_nobody(program: Path, directory: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    os.chown(directory, nobody.pw_uid, nobody.pw_gid)
    os.chdir(directory)
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)
    _prctl(_DUMPABLE, 1)
    for path, mode in ((program, os.X_OK), (directory, os.W_OK)):
        if not os.access(path, mode):
            raise Unsupported(f"hostile requests of root run as nobody, who cannot reach {path}")


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _mount(what: str, at: Path, *, kind: str = "", flags: int = 0, options: str = "") -> None:
    words = [os.fsencode(one) or None for one in (what, at, kind)]
    if _libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(options) or None):
        raise OSError(ctypes.get_errno(), f"mount {what} {at}")
