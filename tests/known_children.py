"""The program of tests/harness/known.c, which says of its children what wait4 told it; and others."""

import subprocess
from pathlib import Path

import pytest
import watching

SOURCE = (Path(__file__).parent / "harness" / "known.c").read_text()


def built(directory: Path, source: str) -> Path:
    """A small C program."""
    (directory / "known.c").write_text(source)
    program = directory / "known"
    flags = ["-std=c11", "-O1", "-D_GNU_SOURCE", "-pthread"]
    subprocess.run(["cc", *flags, "-o", program, directory / "known.c"], check=True)
    return program


@pytest.fixture
def known(tmp_path: Path) -> Path:
    return built(tmp_path, SOURCE)


def waited(output: str) -> list[dict[str, int]]:
    """What the known program says of its children: as wait4 has it, times in us."""
    names = ("pid", "status", "run_us", "faults_minor", "switches_voluntary")
    lines = [line.split() for line in output.splitlines()]
    return [dict(zip(names, map(int, line), strict=True)) for line in lines]


def told_of(watched: watching.Watch, output: str) -> list[tuple[watching.Record, dict[str, int]]]:
    """Each child's record beside what wait4 said, in the order they were made."""
    by_pid = {record["pid"]: record for record in watched.processes}
    return [(by_pid[child["pid"]], child) for child in waited(output)]
