"""Scratch directories: each running system's own, locked as long as somebody lives who uses it, so that the
next command finds and clears what killed laboratories and guards have left."""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard.systems import ledger

_OURS = re.compile(r"steelyard-\d+-\w{8}")


@dataclass(frozen=True, slots=True)
class Scratch:
    """A directory, and the descriptor that locks it: for this process, and for a guard that inherits it."""

    path: Path
    file: int

    def close(self) -> None:
        """Removes what the guard has not: there was none, or it was killed."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.file)


def make(directory: Path) -> Scratch:
    """A fresh one below `directory`, of this user alone."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"steelyard-{os.getpid()}-", dir=directory))
        with suppress(FileNotFoundError):  # until it is locked, another command may take it for left behind
            file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with suppress(
                OSError
            ):  # a file system without locks: there nobody can lock it to clear it, either
                fcntl.flock(file, fcntl.LOCK_EX)
            if path.exists():
                return Scratch(path, file)
            os.close(file)


def clear(directory: Path) -> list[str]:
    """Removes those of this user below `directory` that nobody holds locked, and ends the processes that name
    them. Returns a sentence for each."""
    return [sentence for path in _ours(directory) for sentence in _clear(path)]


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


def _clear(path: Path) -> Iterator[str]:
    with suppress(
        OSError
    ):  # locked: its laboratory or its guard lives; or cleared by another command meanwhile
        file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ledger.end_processes(naming=[path])
            shutil.rmtree(path, ignore_errors=True)
            yield f"{path} was removed, which a run that was killed had left"
        finally:
            os.close(file)
