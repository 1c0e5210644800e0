"""A system that cannot start is left out of a comparison, which says so; the others are compared."""

import json
from pathlib import Path

import pytest
from installed_command import Run

from steelyard.archive import experiments

pytestmark = pytest.mark.program

STUDY = """
name = "small"
title = "small"
systems = [{systems}]
[design]
budget = "20s"
blocks = 4
[[workload]]
name = "null"
[system.silent]
command = ["sh", "-c", "echo no such device >&2"]
[system.uninstalled]
command = ["no-such-program"]
[system.other]
base = "native"
"""
REASON = "system 'silent' cannot start: it has ended; its last output: no such device"


def study(folder: Path, *systems: str) -> str:
    file = folder / "study.toml"
    file.write_text(STUDY.replace("{systems}", ", ".join(f'"{one}"' for one in systems)))
    return str(file)


def test_the_report_is_of_the_others_and_says_which_is_missing_and_why(
    steelyard: Run, tmp_path: Path
) -> None:
    file = study(tmp_path, "native", "silent", "other", "uninstalled")
    archive, page = ("--archive", str(tmp_path / "archive")), tmp_path / "page.html"

    done = steelyard("run", file, "--html", str(page), *archive)

    assert done.returncode == 0, done.stderr
    assert f"silent is left out; the others are compared: {REASON}" in done.stderr.replace("\n", " ")
    shown = " ".join(done.stdout.split())
    assert f"silent could not start and is left out: {REASON}" in shown
    assert "uninstalled could not start and is left out: system 'uninstalled' cannot start: no-such" in shown
    assert REASON.replace("'", "&#39;") in page.read_text()
    assert "was repeated" not in shown, "that is of machines that are booted again"
    read = json.loads(steelyard("report", "--format", "json", *archive).stdout)
    assert sorted(read["absent"]) == ["silent", "uninstalled"]
    assert read["absent"]["silent"] == REASON
    assert {one["system"] for one in read["comparisons"]} == {"other"}
    assert [one["name"] for one in read["systems"]] == ["native", "other"]


@pytest.mark.parametrize(
    ("systems", "reason"),
    [
        (("native", "silent"), REASON),
        (("native", "silent", "uninstalled"), "no-such-program is not installed"),
        (("silent", "native", "other"), REASON),
        (("uninstalled", "native", "other"), "no-such-program is not installed"),
    ],
)
def test_without_the_baseline_and_another_one_nothing_is_measured(
    steelyard: Run, tmp_path: Path, systems: tuple[str, ...], reason: str
) -> None:
    archive = tmp_path / "archive"

    done = steelyard("run", study(tmp_path, *systems), "--archive", str(archive))

    assert done.returncode == 77
    assert reason in done.stderr.replace("\n", " ")
    for found in experiments.experiments(archive):  # what a system said before it ended is kept
        assert not found.closed
        assert not experiments.has_trials(found)
