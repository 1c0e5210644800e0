"""Processes of this machine, by what /proc says of them."""

from contextlib import suppress
from pathlib import Path


def family(process: int) -> list[int]:
    found = [process]
    for one in found:
        with suppress(OSError):
            found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
    return found


def is_alive(process: int) -> bool:
    """Whether it is there, and more than what its parent has not waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False
