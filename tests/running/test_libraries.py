"""What reckons and draws is imported before anything is measured, on one thread, and never where that
could hang."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from installed_command import COMMAND

from steelyard import libraries
from steelyard.errors import SteelyardError

pytestmark = pytest.mark.program
HEAVY = {"numpy", "scipy", "duckdb", "altair", "jinja2", "rich"}

# Prints a line for each of these modules when it is looked for, and one when a process is started.
_TELLING = """
import json, os, sys
from steelyard import entry
def hear(event, given):
    if event == "import" and given[0].partition(".")[0] in HEAVY:
        said = ["import", given[0], os.environ.get("OPENBLAS_NUM_THREADS")]
    elif event == "subprocess.Popen":
        environment = given[3] or os.environ
        said = ["start", " ".join(map(str, given[1])), environment.get("OPENBLAS_NUM_THREADS")]
    else:
        return
    os.write(told, json.dumps(said).encode() + b"\\n")
told = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
HEAVY = set(sys.argv.pop(1).split())
sys.addaudithook(hear)
entry.entry()
"""


def told_by(words: list[str], folder: Path, **environment: str) -> list[list[str | None]]:
    log = folder / "log"
    without = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", _TELLING, log, " ".join(HEAVY), *words],
        env=without | {"STEELYARD_ARCHIVE": str(folder / "archive")} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_run_imports_nothing_large_once_it_measures(
    write_study: Callable[..., str], tmp_path: Path
) -> None:
    study = write_study(systems={"a": "", "b": ""}, blocks=2)

    told = told_by(["run", study, "--no-watch", "--html", str(tmp_path / "page.html")], tmp_path)

    begun = next(
        number for number, one in enumerate(told) if one[0] == "start" and "fake_agent" in str(one[1])
    )
    before = {str(name).partition(".")[0] for what, name, _ in told[:begun] if what == "import"}
    assert before == HEAVY
    assert [one for one in told[begun:] if one[0] == "import"] == []


def test_one_thread_is_for_the_libraries_and_not_for_what_is_measured(
    write_study: Callable[..., str], tmp_path: Path
) -> None:
    study = write_study(systems={"a": "", "b": ""}, blocks=2)

    told = told_by(["run", study, "--no-watch"], tmp_path)

    assert {threads for what, name, threads in told if what == "import" and name == "numpy"} == {"1"}
    assert {threads for what, _, threads in told if what == "start"} == {None}


@pytest.mark.parametrize("words", [["report"], ["watch", "--", "true"]], ids=" ".join)
def test_every_command_that_reckons_does_it_on_one_thread_unless_somebody_wants_more(
    words: list[str], write_study: Callable[..., str], tmp_path: Path
) -> None:
    if words == ["report"]:
        told_by(["run", write_study(systems={"a": "", "b": ""}, blocks=2), "--no-watch"], tmp_path)
        (tmp_path / "log").unlink()

    ours = told_by(words, tmp_path)
    (tmp_path / "log").unlink()
    theirs = told_by(words, tmp_path, OPENBLAS_NUM_THREADS="3")

    for told, threads in ((ours, "1"), (theirs, "3")):
        assert {said for what, name, said in told if what == "import" and name == "numpy"} == {threads}


@pytest.mark.parametrize("limit", [resource.RLIMIT_AS, resource.RLIMIT_DATA], ids=["as", "data"])
@pytest.mark.parametrize(
    "words",
    [
        ["compare", "native", "native", "--only", "syscall"],
        ["watch", "--", "true"],
        ["load", "http://127.0.0.1:9/"],
    ],
    ids=lambda words: words[0],
)
def test_too_little_memory_is_said_at_once(words: list[str], limit: int, tmp_path: Path) -> None:
    def prepare() -> None:
        resource.setrlimit(limit, (100 << 20, resource.RLIM_INFINITY))

    done = subprocess.run(
        [COMMAND, *words],
        preexec_fn=prepare,
        env=os.environ | {"STEELYARD_ARCHIVE": str(tmp_path / "archive"), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    letter = "v" if limit == resource.RLIMIT_AS else "d"
    assert done.stderr == (
        f"steelyard: too little memory to compare and draw: ulimit -{letter} is 102400 (100 MiB); "
        f"ulimit -{letter} unlimited lifts that\n"
    )
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_an_import_that_never_ends_holds_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "endless.py").write_text("import time\nwhile True: time.sleep(1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(libraries, "TRIED_S", 0.3)
    monkeypatch.setattr(libraries, "limits", lambda: {"v": 1 << 30})

    with pytest.raises(SteelyardError, match=r"too little memory to compare and draw: ulimit -v is 1048576"):
        libraries.load("endless")


def test_a_library_that_is_there_may_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "limits", lambda: {"v": 1 << 40})

    libraries.load("json")
