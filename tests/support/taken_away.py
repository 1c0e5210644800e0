"""Takes from this process, and from what it starts, something that a machine otherwise has: in a mount
namespace of its own, so that nobody else misses it.

    taken_away.py HOW PATH COMMAND [ARGUMENT ...]    takes it, and becomes the command
"""

import ctypes
import os
import sys
import tempfile
from pathlib import Path

ABSENT, UNREADABLE, EMPTY, ODD = "absent", "unreadable", "empty", "odd"
WAYS = (ABSENT, UNREADABLE, EMPTY, ODD)
_CONTENT = {UNREADABLE: b"", EMPTY: b"", ODD: b"\xff\x00-1 nan : /\t(\n\n99999999999999999999999 [\n"}

_NEW_MOUNTS = 0x00020000
_BIND, _RECURSIVE, _PRIVATE = 1 << 12, 1 << 14, 1 << 18
_OPEN_TREE, _MOVE_MOUNT = 428, 429  # on every architecture
_HERE, _CLONE, _NO_FOLLOW, _CLOSE_ON_EXEC, _FROM_FILE = -100, 1, 0x100, 0o2000000, 4
_PR_CAPBSET_DROP, _PASSES_RIGHTS = 24, (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
_libc = ctypes.CDLL(None, use_errno=True)


def alone() -> None:
    """What is mounted from now on, only this process and what it starts sees."""
    _done(_libc.unshare(_NEW_MOUNTS), "unshare")
    _done(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None), "mount /")


def take(path: str, how: str) -> None:
    """Takes it away: a file by what is no file, may not be read, or holds nothing or nonsense; a directory by
    one that holds nothing, or may not be read. What is below /proc/self is this process's own, also when it
    has become another program. `alone` comes before."""
    path = own(path)
    if how == UNREADABLE:
        _obey_rights()
    if Path(path).is_dir():
        mode = "000" if how == UNREADABLE else "755"
        _done(
            _libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", ctypes.c_ulong(0), f"mode={mode}".encode()),
            path,
        )
        return
    with tempfile.TemporaryDirectory(dir="/run") as place:
        if how == ABSENT:
            link = Path(place, "link")
            link.symlink_to("/nowhere/at/all")
            _mount_link(link, path)
            return
        file = Path(place, "file")
        file.write_bytes(_CONTENT[how])
        file.chmod(0 if how == UNREADABLE else 0o444)
        _done(_libc.mount(os.fsencode(file), os.fsencode(path), None, ctypes.c_ulong(_BIND), None), path)


def own(path: str) -> str:
    """The path with this process's number for `self`, which is looked up again by each process."""
    number = str(os.getpid())
    return path.replace("/proc/self/", f"/proc/{number}/").replace("/task/self/", f"/task/{number}/")


def _mount_link(link: Path, path: str) -> None:
    """Over a file, a link to nowhere: mount(2) would follow it, and these calls do not. So opening the file
    says that there is none."""
    flags = _CLONE | _NO_FOLLOW | _CLOSE_ON_EXEC
    tree = _done(_libc.syscall(_OPEN_TREE, _HERE, os.fsencode(link), ctypes.c_uint(flags)), "open_tree")
    _done(_libc.syscall(_MOVE_MOUNT, tree, b"", _HERE, os.fsencode(path), ctypes.c_uint(_FROM_FILE)), path)
    os.close(tree)


def _obey_rights() -> None:
    """From now on root is refused what a file's mode refuses, as others are."""
    for right in _PASSES_RIGHTS:
        _done(_libc.prctl(_PR_CAPBSET_DROP, right, 0, 0, 0), "prctl")
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable of the first 32; of the others
    _done(_libc.capget(header, sets), "capget")
    for number in range(3):
        sets[number] &= ~sum(1 << right for right in _PASSES_RIGHTS)
    _done(_libc.capset(header, sets), "capset")


def _done(outcome: int, what: str) -> int:
    if outcome < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return outcome


def main(how: str, path: str, *command: str) -> None:
    alone()
    take(path, how)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
