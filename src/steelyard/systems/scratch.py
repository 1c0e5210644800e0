"""Scratch directories: each running system has its own, locked as long as a process uses it, so that the next
command finds and clears those of killed laboratories and guards.
"""

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import SteelyardError, in_words
from steelyard.systems import leftovers
from steelyard.text import quoted

_OURS = re.compile(r"steelyard-\d+-\w{8}")


@dataclass(frozen=True, slots=True)
class Scratch:
    """A directory; the descriptor that locks it, for this process and for a guard that inherits it; and the
    secret by which the processes of its system are known (leftovers.VARIABLE)."""

    path: Path
    file: int
    mark: str

    def close(self) -> None:
        """Removes what the guard has not: there was none, or it was killed."""
        leftovers.remove(self.path)
        os.close(self.file)


def make(directory: Path) -> Scratch:
    """A fresh one below `directory`, of this user alone. Raises SteelyardError."""
    try:
        return _made(directory)
    except OSError as error:
        raise SteelyardError(
            f"a directory for a system's files cannot be made in {quoted(directory)}: {in_words(error)}"
        ) from error


def _made(directory: Path) -> Scratch:
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"steelyard-{os.getpid()}-", dir=directory))
        with suppress(FileNotFoundError):  # until it is locked, another command may take it for left behind
            file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with suppress(
                OSError
            ):  # a file system without locks: there no one can lock it to clear it, either
                fcntl.flock(file, fcntl.LOCK_EX)
            try:
                return Scratch(path, file, leftovers.make_mark(path))
            except FileNotFoundError:
                os.close(file)
            except BaseException:  # a full disk, say
                leftovers.remove(path)
                os.close(file)
                raise


def clear(directory: Path) -> list[str]:
    """Remove this user's unlocked scratch directories below `directory`, and end their processes; on a file
    system that machines may share only those of this machine, since its start. Returns a sentence for each.
    """
    return [sentence for path in _ours(directory) for sentence in clear_one(path)]


def _ours(directory: Path) -> Iterator[Path]:
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                if (
                    _OURS.fullmatch(entry.name)
                    and entry.is_dir(follow_symlinks=False)
                    and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
                ):
                    yield Path(entry.path)


def clear_one(path: Path) -> list[str]:
    """The same of that directory alone: nothing, if its laboratory or its guard lives."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []  # cleared by another command meanwhile
    try:
        if os.fstat(file).st_uid != os.geteuid():  # another one's, which has come to this name meanwhile
            return []
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        mark = leftovers.mark_of(path)
        if mark is None and leftovers.is_shared(path):
            return []  # another machine may be at work in it, or this one was before its last start
        ended = leftovers.end_processes(marks=[mark] if mark else [])
        leftovers.remove(path)
    except OSError:
        return []
    finally:
        os.close(file)
    return [*leftovers.told(ended), f"{path} was removed, left by a killed run"]
