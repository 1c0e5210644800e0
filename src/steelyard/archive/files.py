"""The archive's access to the file system. Every call that writes, or reads files of others, goes through
`calls`, so that tests can make each of them fail.

No link below an archive's directory is followed: links, and everything else that is not a regular file or
directory, are not read.
"""

import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

from steelyard.errors import ArchiveError, in_words

calls = SimpleNamespace(
    open=os.open,
    read=os.read,
    write=os.write,
    truncate=os.ftruncate,
    fsync=os.fsync,
    rename=os.rename,
    unlink=os.unlink,
    mkdir=os.mkdir,
    scandir=os.scandir,
    remove_tree=shutil.rmtree,
)

EMPTIED = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC  # to open a file to be written
_READ_ONCE = 1 << 20
_DRAFT = ".draft"


@contextmanager
def descriptor(path: Path) -> Iterator[int]:
    """A descriptor to read the file by. Raises OSError, or ArchiveError for what is no plain file."""
    # Without O_NONBLOCK a pipe would have us wait for its writer.
    handle = calls.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ArchiveError(f"{path} is not a regular file, and is not read")
        yield handle
    finally:
        os.close(handle)


def read(path: Path, *, most: int) -> bytes:
    """The whole file, up to this number of bytes. Raises OSError, ArchiveError."""
    with descriptor(path) as handle:
        content = b"".join(parts(handle, most=most + 1))
    if len(content) > most:
        raise ArchiveError(f"{path} is larger than {most} bytes, and is not read")
    return content


def parts(handle: int, *, most: int | None = None) -> Iterator[bytes]:
    """The rest of the file in parts, or up to this number of bytes of it."""
    while most is None or most > 0:
        part = calls.read(handle, _READ_ONCE if most is None else min(most, _READ_ONCE))
        if not part:
            return
        if most is not None:
            most -= len(part)
        yield part


def write(path: Path, content: Iterable[bytes]) -> None:
    """Writes the file, synced and then renamed into its place, or not at all. Raises OSError."""
    draft = path.with_name(f".{path.name}")
    try:
        write_synced(draft, content)
        calls.rename(draft, path)
    except BaseException:
        remove(draft)
        raise


def write_synced(path: Path, content: Iterable[bytes]) -> None:
    """Writes the file and syncs it. Raises OSError; there is then part of it."""
    handle = calls.open(path, EMPTIED, 0o666)
    try:
        for part in content:
            write_all(handle, part)
        calls.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, content: bytes) -> None:
    """Writes it all: the file system may take less at once than it is given. Raises OSError."""
    left = memoryview(content)
    while left:
        left = left[calls.write(handle, left) :]


def remove(path: Path) -> None:
    """Removes the file if it is there and may be removed."""
    with contextlib.suppress(OSError):
        calls.unlink(path)


def sync_directory(path: Path) -> None:
    """Make the renames in the directory durable. Raises OSError."""
    with _directory(path) as handle:
        calls.fsync(handle)


@contextmanager
def _directory(path: Path) -> Iterator[int]:
    handle = calls.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def drafted(place: Path) -> Iterator[Path]:
    """A new directory beside the place, renamed into it when complete, or removed. The writer holds a lock on
    the draft; a draft without a lock was left by a killed process and is removed. Raises OSError.
    """
    folder = place.parent
    make_directories(folder)
    draft = place.with_name(f".{place.name}{_DRAFT}")
    with ExitStack() as held:
        with _directory(folder) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _clear(folder)
            calls.mkdir(draft)
            handle = held.enter_context(_directory(draft))
            fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield draft
            calls.fsync(handle)
            calls.rename(draft, place)
        except BaseException:
            calls.remove_tree(draft, ignore_errors=True)
            raise
        sync_directory(folder)


def _clear(folder: Path) -> None:
    """Remove the drafts without a lock."""
    for draft in folder.glob(f".*{_DRAFT}"):
        with contextlib.suppress(OSError), _directory(draft) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            calls.remove_tree(draft, ignore_errors=True)


def make_directories(path: Path) -> None:
    """Makes the directory and those that it is in, where they are not there. Raises OSError."""
    if os.path.isdir(path):
        return
    make_directories(path.parent)
    with contextlib.suppress(FileExistsError):
        calls.mkdir(path)


def discard(path: Path) -> None:
    """Removes the directory: as a draft, so that a kill leaves none that is half there. Raises OSError."""
    draft = path.with_name(f".{path.name}{_DRAFT}")
    calls.rename(path, draft)
    sync_directory(path.parent)  # before anything of it goes
    calls.remove_tree(draft)


def directories(folder: Path) -> tuple[list[Path], list[str]]:
    """The entries of the folder without those that begin with a dot: directories by name, and sentences on
    entries that are not directories. Empty if there is no such folder. Raises ArchiveError.
    """
    if os.path.islink(folder):
        raise ArchiveError(f"{folder} is a link, and links are not followed")
    paths: list[Path] = []
    others: list[str] = []
    try:
        with calls.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    paths.append(Path(entry.path))
                elif entry.is_symlink():
                    others.append(f"{entry.path} is left out: it is a link, and links are not followed")
                else:
                    others.append(f"{entry.path} is left out: it is not a directory")
    except FileNotFoundError:
        return [], []
    except OSError as error:
        raise ArchiveError(f"{folder} cannot be read: {in_words(error)}") from error
    return sorted(paths), sorted(others)
