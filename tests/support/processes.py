"""Processes of this machine, by what /proc says of them."""

import os
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


def used_s(process: int) -> float:
    """The processor time that it has used, to a tick; 0 if it is gone."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(") ")[2].split()
    except OSError:
        return 0
    return sum(map(int, stat[11:13])) / os.sysconf("SC_CLK_TCK")
