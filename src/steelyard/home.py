"""The user's directories below the home directory, which there need not be: in a container, say."""

import getpass
import os
from pathlib import Path

from steelyard.errors import Unsupported


def data() -> Path:
    """Where what is to be kept belongs. Raises Unsupported."""
    return _given("XDG_DATA_HOME") or _home() / ".local" / "share"


def cache() -> Path:
    """Where what can be made again belongs. Raises Unsupported."""
    return _given("XDG_CACHE_HOME") or _home() / ".cache"


def runtime() -> Path:
    """Where what holds until the user's or the machine's end belongs. Raises Unsupported."""
    return _given("XDG_RUNTIME_DIR") or _home() / ".local" / "state"


def user() -> str:
    """The user's name, or the ID without one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.geteuid()}"


def _given(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # neither HOME nor an entry of the user's
        raise Unsupported(
            f"user {os.geteuid()} has no home directory: HOME is not set, and this machine does not list "
            "the user; set HOME to a directory that can be written"
        ) from None
