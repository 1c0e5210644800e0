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
