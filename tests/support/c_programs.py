"""The programs that Meson makes for the tests, in build/ and the directories beside it."""

import fcntl
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import places

ROOT = places.ROOT
TOOLS = Path(sys.executable).parent  # another ninja than this one would build all again


@cache
def _brought_up_to_date(directory: Path) -> Path:
    assert (directory / "build.ninja").exists(), f"make {directory.name}/build.ninja comes first"
    with (directory / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = {"PATH": f"{TOOLS}:{os.environ['PATH']}"}
        subprocess.run([TOOLS / "ninja", "--quiet", "-C", directory], check=True, env=os.environ | path)
    return directory


def program(name: str, *, directory: str = "build") -> Path:
    """That program of a build directory, as its sources are now."""
    return _brought_up_to_date(ROOT / directory) / name
