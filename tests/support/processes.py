"""Processes of this machine and their control groups, by what /proc and /sys say of them."""

import os
from contextlib import suppress
from pathlib import Path


def family(process: int) -> list[int]:
    found = [process]
    for one in found:
        with suppress(OSError):
            found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
    return found


def our_groups(*laboratories: int) -> list[Path]:
    """The control groups of systems that this process or one of these laboratories has made, and those whose
    maker is no more: the names begin with its number. Those of another that lives are its own."""
    found, ours = [], {str(one) for one in (os.getpid(), *laboratories)}
    for group in Path("/sys/fs/cgroup").glob("**/steelyard-[0-9]*"):
        maker = group.name.split("-")[1]
        if maker in ours or not Path("/proc", maker).exists():
            found.append(group)
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
