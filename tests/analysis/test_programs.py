"""Which programs trials executed is kept, and said where it was not the same one."""

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic
from conversations import QUICK, conversation

from steelyard.analysis import evaluate, programs
from steelyard.analysis.model import Evaluation, ProgramRun
from steelyard.events import Outcome, Program
from steelyard.report import plain
from steelyard.study.model import Cell
from steelyard.study.plan import Trial
from steelyard.words import remarks


def _run(system: str, sha256: str | None, version: str | None = None, name: str = "sort") -> ProgramRun:
    return ProgramRun(system, "command", "command", name, f"/usr/bin/{name}", sha256, version)


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        (
            (
                _run("a", "1" * 64, "sort (GNU coreutils) 9.1"),
                _run("b", "2" * 64, "sort (GNU coreutils) 9.7"),
            ),
            "sort: /usr/bin/sort 9.1 on a, /usr/bin/sort 9.7 on b: not the same program",
        ),
        (
            (_run("a", "1" * 64, "9.1"), _run("b", "2" * 64, "9.1")),
            "sort: /usr/bin/sort 9.1 SHA-256 111111111111 on a, /usr/bin/sort 9.1 SHA-256 222222222222 on b: "
            "not the same program",
        ),
        (
            (_run("a", "1" * 64), _run("b", None)),
            "sort: /usr/bin/sort SHA-256 111111111111 on a, /usr/bin/sort SHA-256 unknown on b: whether it "
            "is the same is not known",
        ),
    ],
)
def test_programs_that_differ_are_named(runs: tuple[ProgramRun, ...], sentence: str) -> None:
    assert remarks.texts(programs.differences(runs, "a")) == (sentence,)


def test_of_a_program_that_is_the_same_nothing_is_said() -> None:
    assert list(programs.differences((_run("a", "1" * 64, "9.1"), _run("b", "1" * 64, "9.1")), "a")) == []


def _experiment(tmp_path: Path, workload: str, digests: dict[str, str]) -> Evaluation:
    def measured(trial: Trial) -> Outcome:
        if trial.system not in digests:
            return synthetic.outcome(trial)
        ran = Program("sort", "/usr/bin/sort", digests[trial.system] * 64, "sort (GNU coreutils) 9.1")
        return replace(synthetic.outcome(trial), programs=(ran,))

    hellos = {"a": {"program_sha256": "8" * 64}, "b": {"program_sha256": "9" * 64}}
    plan = synthetic.plan(workload, blocks=2)
    return evaluate.of(synthetic.experiment(tmp_path, plan, measured, hellos=hellos))


def test_another_load_program_is_no_note_where_the_same_command_ran(tmp_path: Path) -> None:
    evaluation = _experiment(tmp_path, "command", {"a": "1", "b": "1"})

    assert not [
        one for one in remarks.texts(evaluation.remarks) if "programs differ" in one or "not the same" in one
    ]
    (first, second) = plain.as_object(evaluation)["programs"]
    assert (first["system"], second["system"]) == ("a", "b")
    assert first["sha256"] == second["sha256"] == "1" * 64


def test_another_command_is_a_note(tmp_path: Path) -> None:
    evaluation = _experiment(tmp_path, "command", {"a": "1", "b": "2"})

    assert any(
        one.startswith("sort: /usr/bin/sort 9.1 SHA-256 111") for one in remarks.texts(evaluation.remarks)
    )
    assert any("the programs differ" in one for one in remarks.texts(evaluation.remarks))


def test_what_a_system_has_not_run_yet_is_not_said_to_differ(tmp_path: Path) -> None:
    evaluation = _experiment(tmp_path, "command", {"a": "1"})

    assert not any("programs differ" in one for one in remarks.texts(evaluation.remarks))


def _programs(cell: Cell, directory: Path) -> list[Program]:
    told = conversation(cell, directory)
    return list(told.outcome(told.said).programs or ())


@pytest.mark.program
def test_a_command_s_program_is_found_digested_and_asked_for_its_version(tmp_path: Path) -> None:
    path = Path(shutil.which("sort", path="/usr/bin:/bin") or "/usr/bin/sort").resolve()

    (found,) = _programs(Cell("command", (*QUICK, ("command", "sort --version"))), tmp_path)

    assert (found.name, found.path) == ("sort", str(path))
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.version is None or "sort" in found.version or found.version[0].isdigit()


@pytest.mark.program
def test_a_program_of_the_user_s_own_is_digested_and_not_asked(tmp_path: Path) -> None:
    script, told = tmp_path / "mine", tmp_path / "told"
    script.write_text(f'#!/bin/sh\necho "$1" >> {told}\n')
    script.chmod(0o755)

    (found,) = _programs(Cell("command", (*QUICK, ("command", f"{script} once"))), tmp_path)

    assert found.sha256 == hashlib.sha256(script.read_bytes()).hexdigest()
    assert found.version is None
    assert set(told.read_text().split()) == {"once"}


@pytest.mark.program
def test_a_shell_s_utilities_are_told_too(tmp_path: Path) -> None:
    found = conversation(Cell("shell", (("batches", 1), ("operations", 1), ("warmup_ns", 0))), tmp_path)
    names = {one["name"] for one in map(json.loads, found.said) if one["record"] == "program"}

    assert {"sh", "sort", "grep"} <= names
