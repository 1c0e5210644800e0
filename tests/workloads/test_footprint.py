"""What a system takes of memory and disk: the numbers that other programs find, and a verdict on them."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import synthetic

from steelyard.analysis import evaluate
from steelyard.events import Count, Outcome
from steelyard.programs import built
from steelyard.study.plan import Trial


def value_of(*words: str, **environment: str) -> dict:
    command = [str(built.load("glibc")), "run", *words]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=False, env=os.environ | environment)
    records = [json.loads(line) for line in answer.stdout.splitlines()]
    return next((one for one in records if one["record"] == "value"), records[-1])


@pytest.mark.program
def test_the_disk_in_use_is_what_du_says(tmp_path: Path) -> None:
    """Of a tree with a file of two names, a sparse one, a link to a directory, and one within another; and
    without the directory in which the trial itself works."""
    tree = tmp_path / "tree"
    (tree / "in" / "it").mkdir(parents=True)
    (tree / "large").write_bytes(bytes(range(256)) * 1000)
    (tree / "in" / "the same").hardlink_to(tree / "large")
    with (tree / "in" / "it" / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    (tree / "in" / "away").symlink_to("/usr")

    found = value_of("disk_used", f"below={tree}", TMPDIR=str(tmp_path))

    told = subprocess.run(["du", "-skx", tree], stdout=subprocess.PIPE, text=True, check=True)
    assert (found["unit"], found["value"]) == ("kB", int(told.stdout.split()[0]))


@pytest.mark.program
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_directory_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)

    found = value_of("disk_used", f"below={tmp_path}")

    assert found["status"] == "unsupported"
    assert "'closed'" in found["reason"]


@pytest.mark.program
def test_the_memory_in_use_is_less_than_there_is_and_more_than_nothing() -> None:
    text = Path("/proc/meminfo").read_text()
    known = {line.partition(":")[0]: int(line.split()[1]) for line in text.splitlines()}

    found = value_of("memory_used")

    assert found["unit"] == "kB"
    assert 0 < found["value"] < known["MemTotal"]


@pytest.mark.computes
def test_a_system_that_takes_less_is_better(tmp_path: Path) -> None:
    made = synthetic.plan("memory_used", blocks=8)

    def measured(trial: Trial) -> Outcome:
        value = 42_000 if trial.system == "b" else 128_000
        return synthetic.outcome(
            trial, metrics=("count",), samples=(), counts=(Count(0, "count", "kB", value),)
        )

    (one,) = evaluate.of(synthetic.experiment(tmp_path, made, measured, closed=True)).comparisons

    assert (one.unit, one.direction, one.verdict) == ("kB", "lower", "faster")
    assert one.value is not None
    assert one.value.value == pytest.approx(42_000)
    assert one.ratio is not None
    assert one.ratio.value == pytest.approx(128 / 42)
