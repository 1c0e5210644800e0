"""The load program where no process or file is left: it ends by itself, and says what was lacking."""

import os
import subprocess
from pathlib import Path

import monitor_runs
import pytest
from patience import patience

from steelyard.programs import built

pytestmark = pytest.mark.program


def guarded(before: list[str], scratch: Path) -> subprocess.CompletedProcess[str]:
    """A guard whose laboratory lives, and waits for it to end."""
    theirs, ours = os.pipe()
    try:
        return subprocess.run(
            [*before, built.load("glibc"), "guard", str(theirs), scratch, "/bin/true"],
            pass_fds=[theirs], capture_output=True, text=True, timeout=patience(60), check=False,
        )  # fmt: skip
    finally:
        os.close(theirs)
        os.close(ours)


@pytest.mark.root
def test_a_guard_that_can_make_no_process_says_so_and_ends(tmp_path: Path) -> None:
    with monitor_runs.few_processes(1) as before:
        done = guarded(before, tmp_path / "scratch")

    assert done.returncode == 1
    assert "/bin/true cannot be started: fork: Resource temporarily unavailable" in done.stderr


def test_a_guard_that_can_open_no_file_lets_go_of_its_command_s_streams(tmp_path: Path) -> None:
    """It can open one more: that by which it learns of the end, and not what takes the streams' places."""
    done = guarded(["prlimit", "--nofile=4:4"], tmp_path / "scratch")

    assert done.returncode == 0, done.stderr
