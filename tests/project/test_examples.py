"""Every command that the README, the docs and the help pages show can be given as it stands there."""

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import places
import pytest
from installed_command import Run

from steelyard.cli import parser
from steelyard.running import order

ROOT = places.ROOT
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


TEXTS = [
    *(page.read_text() for page in PAGES),
    parser.EXAMPLES,
    *(verb.examples for verb in parser.VERBS),
]


def commands(texts: Iterable[str]) -> list[str]:
    """Each steelyard command of an indented block, a code span, or a help page's examples."""
    found: dict[str, None] = {}
    for text in texts:
        lines = re.findall(r"^ +(?:\$ )?(?:\.venv/bin/)?(steelyard [^#\n]*)", text, re.MULTILINE)
        spans = re.findall(r"`(steelyard (?:compare|run|plan|report|list|archive)[^`]*)`", text)
        for command in (*lines, *spans):
            found[re.split(r"\s{2,}", command.strip())[0]] = None
    return list(found)


COMMANDS = commands(TEXTS)


def test_there_are_commands_to_try() -> None:
    assert len(COMMANDS) > 12


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_understood(command: str) -> None:
    words = shlex.split(command)[1:]
    parser.read([word for word in words if word not in ("...",)])


GUIDES = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]


@pytest.mark.program
@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_its_studies_systems_and_workloads_exist(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guide's study is a block whose first line is its file name; its commands are planned with it."""
    monkeypatch.chdir(tmp_path)
    for name, study in re.findall(r"^```toml\n# ([\w-]+\.toml)\n(.*?)^```", page.read_text(), re.M | re.S):
        (tmp_path / name).write_text(study)
    for command in commands([page.read_text()]):
        verb, options = parser.read(shlex.split(command)[1:])
        if verb.name not in ("compare", "run", "plan"):
            continue
        study = options.study or "standard"  # also for a command of the reader's
        if not study.isupper() and not any(is_built(system) for system in options.systems or ()):
            choice = (options if verb.name == "plan" else options.measuring).choice
            order.plan_of(order.Order(study=study, systems=options.systems, **asdict(choice)))


def is_built(system: str) -> bool:
    """True for a build of the workloads that the page's reader makes first."""
    return "+" in system and not system.startswith("this:")


@pytest.mark.gvisor
@pytest.mark.uml
@pytest.mark.parametrize(
    "command",
    ["steelyard compare native uml gvisor --study pegasus --html report.html", "steelyard run pegasus"],
)
def test_it_measures_and_reports(steelyard: Run, command: str, tmp_path: Path) -> None:
    """As it stands, but for a few seconds only."""
    assert command in COMMANDS
    words = [word.replace("report.html", str(tmp_path / "report.html")) for word in shlex.split(command)[1:]]
    if "--budget" in words:
        place = words.index("--budget")
        del words[place : place + 2]

    answer = steelyard(*words, "--budget", "6s", timeout=180)

    assert answer.returncode == 0, answer.stderr
    assert "this machine (" in " ".join(answer.stdout.split())
    assert (tmp_path / "report.html").exists() == ("--html" in words)


@pytest.mark.quiet
@pytest.mark.program
@pytest.mark.parametrize("study", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.stem)
def test_each_example_study_measures_and_reports(steelyard: Run, study: Path) -> None:
    answer = steelyard("run", str(study), "--budget", "9s", "--format", "json", timeout=150)

    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert {one["workload"] for one in found["comparisons"]} <= {"syscall", "pipe_latency"}
    assert all(one["blocks"] >= 2 for one in found["comparisons"])
    assert found["comparisons"]
