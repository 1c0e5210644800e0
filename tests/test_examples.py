"""Every command that the README, the docs and the help pages show can be given as it stands there."""

import json
import re
import shlex
from pathlib import Path

import pytest
from conftest import Run

from steelyard.cli import parser

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands() -> list[str]:
    """Each steelyard command of an indented block, a code span, or a help page's examples."""
    found: dict[str, None] = {}
    texts = [
        *(page.read_text() for page in PAGES),
        parser.EXAMPLES,
        *(verb.examples for verb in parser.VERBS),
    ]
    for text in texts:
        lines = re.findall(r"^ +(?:\$ )?(?:\.venv/bin/)?(steelyard [^#\n]*)", text, re.MULTILINE)
        spans = re.findall(r"`(steelyard (?:compare|run|plan|report|list|archive)[^`]*)`", text)
        for command in (*lines, *spans):
            found[re.split(r"\s{2,}", command.strip())[0]] = None
    return list(found)


COMMANDS = commands()


def test_there_are_commands_to_try() -> None:
    assert len(COMMANDS) > 12


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_understood(command: str) -> None:
    words = shlex.split(command)[1:]
    parser.read([word for word in words if word not in ("...",)])


@pytest.mark.gvisor
@pytest.mark.uml
@pytest.mark.parametrize(
    "command",
    [one for one in COMMANDS if one.startswith(("steelyard compare native uml", "steelyard run pegasus"))],
)
def test_it_measures_and_reports(steelyard: Run, command: str, tmp_path: Path) -> None:
    """As it stands, but for a few seconds only."""
    words = [word.replace("report.html", str(tmp_path / "report.html")) for word in shlex.split(command)[1:]]
    if "--budget" in words:
        place = words.index("--budget")
        del words[place : place + 2]

    answer = steelyard(*words, "--budget", "10s", timeout=180)

    assert answer.returncode == 0, answer.stderr
    assert "this machine (" in " ".join(answer.stdout.split())
    assert (tmp_path / "report.html").exists() == ("--html" in words)


@pytest.mark.quiet
@pytest.mark.program
@pytest.mark.parametrize("study", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.stem)
def test_each_example_study_measures_and_reports(steelyard: Run, study: Path) -> None:
    answer = steelyard("run", str(study), "--budget", "12s", "--format", "json", timeout=150)

    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert {one["workload"] for one in found["comparisons"]} <= {"syscall", "pipe_latency"}
    assert all(one["blocks"] >= 2 for one in found["comparisons"])
    assert found["comparisons"]
