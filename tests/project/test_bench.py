"""The programs of bench/ keep up with what they measure: each can be loaded, and what makes an archive makes
one that is read."""

import os
import subprocess
import sys

import places
import pytest

pytestmark = pytest.mark.program
BENCH = places.ROOT / "bench"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    path = f"{BENCH}:{BENCH.parent / 'tests'}:{BENCH.parent / 'src'}"
    return subprocess.run(
        [sys.executable, *words],
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_program_can_be_loaded_and_does_nothing_by_that() -> None:
    names = sorted(file.stem for file in BENCH.glob("*.py"))
    assert len(names) > 30

    done = run("-c", f"import importlib\nfor name in {names}: importlib.import_module(name)")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_archive_that_is_made_up_is_one_that_a_report_reads() -> None:
    done = run(str(BENCH / "report_of_a_million.py"), "5000", "1")

    assert done.returncode == 0, done.stderr
    assert "report --format: " in done.stdout
    assert "report --html: " in done.stdout
