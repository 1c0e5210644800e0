"""The directories that a user has, and need not have: below the home directory, and for temporary files."""

import getpass
import os
import pwd
import tempfile
from pathlib import Path
from typing import BinaryIO, cast

from steelyard.errors import Unsupported, UsageError
from steelyard.text import quoted

_TEMPORARY = "/tmp"  # where the load program has its own, too


def data() -> Path:
    """Where what is to be kept belongs. Raises Unsupported, UsageError."""
    return _given("XDG_DATA_HOME") or _home() / ".local" / "share"


def cache() -> Path:
    """Where what can be made again belongs. Raises Unsupported, UsageError."""
    return _given("XDG_CACHE_HOME") or _home() / ".cache"


def runtime() -> Path:
    """Where what holds until the user's or the machine's end belongs. Raises Unsupported, UsageError."""
    return _given("XDG_RUNTIME_DIR") or _home() / ".local" / "state"


def user() -> str:
    """The user's name, or the ID without one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.geteuid()}"


def temporary() -> Path:
    """Where what lasts as long as a command belongs: TMPDIR, which is never replaced by another directory, or
    /tmp. Raises UsageError where TMPDIR is none that can be written, Unsupported where /tmp is none."""
    given = os.environ.get("TMPDIR")
    place = Path(given or _TEMPORARY).absolute()
    why = (
        "there is no such directory"
        if not os.path.isdir(place)
        else "this user may not write there"
        if not os.access(place, os.W_OK | os.X_OK)
        else None
    )
    if why and given:
        raise UsageError(
            f"TMPDIR is {quoted(Path(given))}, but must be a directory that can be written: {why}"
        )
    if why:
        raise Unsupported(
            f"there is no directory for temporary files: TMPDIR is not set, and of {quoted(place)}, {why}; "
            "set TMPDIR to a directory that can be written"
        )
    return place


def unnamed_file(prefix: str = "steelyard-") -> BinaryIO:
    """A new file in the temporary directory that goes with its last descriptor. Raises OSError, and as
    `temporary` does."""
    return cast("BinaryIO", tempfile.TemporaryFile(prefix=prefix, dir=temporary()))


def _given(variable: str) -> Path | None:
    value = os.environ.get(variable)
    if value and not os.path.isabs(value):  # another place in each working directory
        raise UsageError(
            f"{variable} is {quoted(Path(value))}, but must be the path of a directory, from / on"
        )
    return Path(value) if value else None


def _home() -> Path:
    if found := _given("HOME"):
        return found
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        raise Unsupported(
            f"user {os.geteuid()} has no home directory: HOME is not set, and this machine does not list "
            "the user; set HOME to a directory that can be written"
        ) from None
