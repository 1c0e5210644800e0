"""What a user names to be written into: a file, which is then there whole or not at all; or a stream, a pipe
or a device, which takes what it is given."""

import errno
import fcntl
import os
import re
import stat
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from steelyard.errors import in_words

_STREAMS = {"-": 1, "/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_NUMBERED = re.compile(r"/dev/fd/([0-9]{1,6})|/proc/self/fd/([0-9]{1,6})")
_LINKS_MOST = 40
_READER_S = 10.0  # so long a pipe may have no reader yet
_PAUSE_S = 0.02


def descriptor(path: Path) -> int | None:
    """The descriptor of this process that the path means: "-", /dev/stdout, /dev/fd/3, or a link to such;
    None for another path. It is not opened again, which would truncate what a shell has opened to append."""
    for _ in range(_LINKS_MOST):
        if (stream := _STREAMS.get(str(path))) is not None:
            return stream
        if match := _NUMBERED.fullmatch(str(path)):
            return int(match[1] or match[2])
        if not os.path.islink(path):
            return None
        path = path.parent / os.readlink(path)
    return None


def is_file(path: Path) -> bool:
    """Whether it is a file, or would become one: that may be written again and again."""
    return descriptor(path) is None and (os.path.isfile(path) or not os.path.exists(path))


def why_not(path: Path) -> str | None:
    """Why nothing can be written there, as far as can be known before; None if it seems possible."""
    number = descriptor(path)
    if number is not None:
        return _why_not_descriptor(number)
    place = os.path.realpath(path)
    try:
        mode = os.stat(place).st_mode
    except FileNotFoundError:
        return _why_not_folder(os.path.dirname(place))
    except OSError as error:
        return in_words(error)
    if stat.S_ISDIR(mode):
        return "it is a directory"
    if stat.S_ISBLK(mode):
        return "it is a block device, which would be overwritten"
    if stat.S_ISSOCK(mode):
        return "it is a socket"
    return None if os.access(place, os.W_OK) else "it is not writable"


def _why_not_descriptor(number: int) -> str | None:
    try:
        if number > 2 and not os.get_inheritable(number):  # one that this process has opened for itself
            return f"this command was given no descriptor {number}"
        mode = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE
    except OSError:
        return f"this command was given no descriptor {number}"
    return f"descriptor {number} is closed, or for reading only" if mode == os.O_RDONLY else None


def _why_not_folder(folder: str) -> str | None:
    try:
        if not stat.S_ISDIR(os.stat(folder).st_mode):
            return "its directory is none"
    except FileNotFoundError:
        return "no such directory"
    except OSError as error:
        return in_words(error)
    return None if os.access(folder, os.W_OK | os.X_OK) else "its directory is not writable"


def write(path: Path, content: str) -> None:
    """Writes the text there. Raises OSError."""
    text = content.encode(errors="replace")
    number = descriptor(path)
    if number is not None:
        sys.stdout.flush()
        _write_all(number, text)
    elif os.path.exists(path) and not os.path.isfile(path):
        _write_into(path, text)
    else:
        _write_file(Path(os.path.realpath(path)), text)


def _write_file(path: Path, content: bytes) -> None:
    """Writes a draft beside it, and renames that. Where the directory takes no other file, or the file is a
    mount of its own, as in a container, into the file itself."""
    is_there = os.path.exists(path)
    try:
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".steelyard-")
    except OSError:
        if not is_there:
            raise
        return _write_into(path, content)
    try:
        try:
            _write_all(handle, content)
            _take_rights(handle, path)
        finally:
            os.close(handle)
        os.replace(draft, path)
    except BaseException as error:
        os.unlink(draft)
        if is_there and isinstance(error, OSError) and error.errno == errno.EBUSY:
            return _write_into(path, content)
        raise


def _take_rights(handle: int, path: Path) -> None:
    """Those of the file that it replaces; a new file's are as usual."""
    try:
        before = os.stat(path)
    except OSError:
        os.fchmod(handle, 0o666 & ~_umask())
        return
    with suppress(OSError):
        os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, stat.S_IMODE(before.st_mode))


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _write_into(path: Path, content: bytes) -> None:
    handle = _opened(path)
    try:
        os.set_blocking(handle, True)
        _write_all(handle, content)
    finally:
        os.close(handle)


def _opened(path: Path) -> int:
    """Opens what is there; a pipe as soon as somebody reads it."""
    deadline = time.monotonic() + _READER_S
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ENXIO or not stat.S_ISFIFO(os.stat(path).st_mode):
                raise
            if time.monotonic() > deadline:
                raise OSError(errno.ENXIO, "this pipe has no reader") from error
        time.sleep(_PAUSE_S)


def _write_all(handle: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]
