"""suite.py itself: a test that fails by chance is named and forgiven, and no other."""

import os
import subprocess
import sys
from pathlib import Path

import places
import pytest
from patience import patience
from suite import Failure, verdict

WELL = """
import pytest

def test_passes(): pass
@pytest.mark.quiet
def test_passes_alone(): pass
"""
UNSTEADY = """
from pathlib import Path
import pytest

def is_first(name):
    mark = Path(f"tried {name}")
    was = mark.exists()
    mark.touch()
    return not was

@pytest.fixture
def slow(): assert not is_first("slow"), "the fixture was too slow"

@pytest.mark.quiet
@pytest.mark.parametrize("path", ["a/b::c d"])
def test_is_late(path): assert not is_first("late"), "it came too late"
def test_has_a_slow_fixture(slow): pass
"""
BROKEN = """
def test_never_passes(): assert 2 + 2 == 5
"""
CRASHES = """
import os
from pathlib import Path

def test_takes_its_worker_with_it():
    mark = Path("crashed")
    if not mark.exists():
        mark.touch()
        os._exit(3)
"""


def suite(folder: Path, **modules: str) -> tuple[int, str]:
    """The status of the suite of these modules, and what it printed after pytest."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = quiet\n")
    ran = subprocess.run(
        [sys.executable, places.SUPPORT / "suite.py", "--at-once", "2"],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(150),
    )
    return ran.returncode, ran.stdout.rpartition("=\n")[2]


def failures(number: int, stage: str = "call") -> dict[str, Failure]:
    return {f"test_{one}": Failure(f"test_{one}", stage, f"said {one}") for one in range(number)}


def test_that_none_was_unsteady_is_said() -> None:
    assert verdict({}, {}) == (0, "0 unsteady")


def test_what_passes_at_last_is_forgiven_five_times() -> None:
    status, said = verdict(failures(5), {})
    assert status == 0
    assert said.startswith("5 unsteady: failed once, and passed alone:\n  test_0 (call)\n    said 0\n")

    status, said = verdict(failures(6), {})
    assert status == 1
    assert said.endswith("That is more than 5: the suite fails.")


def test_what_fails_twice_fails_the_suite() -> None:
    status, said = verdict(failures(2), failures(1))
    assert status == 1
    assert said.startswith("1 failed twice:\n  test_0 (call)\n    said 0\n1 unsteady: ")


def test_what_is_not_tried_again_fails_the_suite() -> None:
    status, said = verdict(failures(6), None)
    assert status == 1
    assert said.startswith("6 failed and were not tried again: too many for chance:\n")
    assert said.endswith("\n0 unsteady")


@pytest.mark.program
def test_each_failure_is_tried_again_alone(tmp_path: Path) -> None:
    """Of a test beside others, of a quiet one, of a fixture, and of a worker that died."""
    status, said = suite(
        tmp_path, test_well=WELL, test_unsteady=UNSTEADY, test_broken=BROKEN, test_crashes=CRASHES
    )

    assert status == 1
    assert "1 failed twice:\n  test_broken.py::test_never_passes (call)" in said
    assert "assert (2 + 2) == 5" in said
    assert "\n3 unsteady: failed once, and passed alone:\n" in said
    assert "test_unsteady.py::test_is_late[a/b::c d] (call)" in said
    assert "AssertionError: it came too late" in said
    assert "test_unsteady.py::test_has_a_slow_fixture (setup)" in said
    assert "AssertionError: the fixture was too slow" in said
    assert "test_crashes.py::test_takes_its_worker_with_it" in said


@pytest.mark.program
def test_a_file_that_cannot_be_collected_fails_the_suite(tmp_path: Path) -> None:
    status, _ = suite(tmp_path, test_well=WELL, test_none="import no_such_module\n")

    assert status != 0
