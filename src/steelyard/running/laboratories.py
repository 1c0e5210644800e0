"""Lets the laboratories that measure on one machine know of each other: each disturbs the others' trials.

Each has an abstract socket (unix(7)) at which no one listens: its name holds the process, every user can see
it, it goes with the process, and a container sees those of its own network.
"""

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from steelyard.text import of_file

_PREFIX = "steelyard-laboratory-"
_PROC = Path("/proc")

_own: set[str] = set()


@contextmanager
def announced() -> Iterator[None]:
    """While this process measures."""
    name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as place:
        with suppress(OSError):  # a sandbox may refuse it: then others do not see this one
            place.bind(f"\0{name}")
        _own.add(name)
        try:
            yield
        finally:
            _own.remove(name)


def others(*, proc: Path = _PROC) -> int | None:
    """How many others measure on this machine now; None if the kernel does not tell."""
    try:
        names = {line.rpartition(" ")[2].strip() for line in of_file(proc / "net/unix").splitlines()}
    except OSError:
        return None
    ours = {f"@{name}" for name in _own}
    return sum(name.startswith(f"@{_PREFIX}") for name in names - ours)
