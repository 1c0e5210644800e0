"""Starts steelyard-watch on programs of known behaviour, and reads what it wrote."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from steelyard import programs

Record = dict[str, Any]


def watcher() -> Path:
    """The monitor, as it is installed."""
    return programs.load("glibc").with_name("steelyard-watch")


def why_not(backend: str, detail: str) -> str | None:
    """What the backend says it lacks here for that; None if it works."""
    command = [watcher(), "--probe", "--detail", detail]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    probes = [json.loads(line) for line in answer.stdout.splitlines()]
    [probe] = [probe for probe in probes if probe["backend"] == backend]
    assert probe["works"] == (probe["why"] is None)
    return None if probe["works"] else str(probe["why"])


def need(backend: str, detail: str) -> None:
    """Skips the test where the backend does not work, with its reason."""
    reason = why_not(backend, detail)
    if reason:
        pytest.skip(f"{backend}: {reason}")


def build(directory: Path, source: str) -> Path:
    """A small C program."""
    (directory / "known.c").write_text(source)
    program = directory / "known"
    flags = ["-std=c11", "-O1", "-D_GNU_SOURCE", "-pthread"]
    subprocess.run(["cc", *flags, "-o", program, directory / "known.c"], check=True)
    return program


def records(answer: subprocess.CompletedProcess[str]) -> list[Record]:
    return [json.loads(line) for line in answer.stderr.splitlines()]


def watch(*options: object, command: Iterable[object] = ()) -> subprocess.CompletedProcess[str]:
    """The records are its standard error, the command's output its standard output."""
    words = [watcher(), "--records", "2", *options]
    if command:
        words += ["--", *command]
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )


def processes(found: Iterable[Record]) -> list[Record]:
    return [record for record in found if record["record"] == "process"]


def end(found: Iterable[Record]) -> Record:
    [record] = [record for record in found if record["record"] == "end"]
    return record


def total(found: Iterable[Record]) -> Record:
    """Of all processes, as if one process had made everything."""
    whole: Record = end(found)["total"]
    return whole


def calls(process: Record) -> dict[str, tuple[int, int]]:
    return {name: (call["calls"], call["errors"]) for name, call in process["calls"].items()}


def as_nobody(*words: object) -> subprocess.CompletedProcess[str]:
    """What a command says without any privilege."""
    return subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=60,
        user=65534,
        group=65534,
        extra_groups=[],
    )


KNOWN = (Path(__file__).parent / "harness" / "known.c").read_text()


@pytest.fixture
def known(tmp_path: Path) -> Path:
    return build(tmp_path, KNOWN)


def waited(output: str) -> list[dict[str, int]]:
    """What the known program says of its children: as wait4 has it, times in us."""
    names = ("pid", "status", "run_us", "faults_minor", "switches_voluntary")
    lines = [line.split() for line in output.splitlines()]
    return [dict(zip(names, map(int, line), strict=True)) for line in lines]


def of_children(found: Iterable[Record], output: str) -> list[tuple[Record, dict[str, int]]]:
    """Each child's record beside what wait4 said, in the order they were made."""
    by_pid = {record["pid"]: record for record in processes(found)}
    return [(by_pid[child["pid"]], child) for child in waited(output)]
