"""The program of tests/agent/known.c, which says of its children what wait4 told it."""

from pathlib import Path

import c_programs
import monitor_runs
import pytest


@pytest.fixture
def known() -> Path:
    return c_programs.program("tests/agent/known")


def waited(output: str) -> list[dict[str, int]]:
    """What the known program says of its children: as wait4 has it, times in us."""
    names = ("pid", "status", "run_us", "faults_minor", "switches_voluntary")
    lines = [line.split() for line in output.splitlines()]
    return [dict(zip(names, map(int, line), strict=True)) for line in lines]


def told_of(watched: monitor_runs.Watch, output: str) -> list[tuple[monitor_runs.Record, dict[str, int]]]:
    """Each child's record beside what wait4 said, in the order they were made."""
    by_pid = {record["pid"]: record for record in watched.processes}
    return [(by_pid[child["pid"]], child) for child in waited(output)]
