"""Commands of the user's own, by the installed command: compared, and gated."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from installed_command import Run

from steelyard.programs import commits

pytestmark = pytest.mark.program
LOOP = "#!/bin/sh\ni=0; while [ $i -lt {count} ]; do i=$((i+1)); done\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compare", "native", "--", "true"], "compare needs two systems for one command"),
        (["compare", "native", "uml", "--"], "compare: a command must come after --"),
        (["compare", "--command", "true"], "compare needs two systems for one command"),
        (["compare", "a", "b", "--command", "x", "--command", "y"], "not on a, b"),
        (["compare", "native", "uml", "--command", "x", "--", "y"], "not both"),
        (["compare", "native", "uml", "--study", "brief", "--", "y"], "leave out --study"),
        (["compare", "native", "uml", "--ignore-failure"], "--ignore-failure is for a command of your own"),
        (["compare", "native", "uml", "--env", "NONE_SUCH", "--", "y"], "--env is 'NONE_SUCH', but must be"),
        (["compare", "--command", "a=x", "--command", "a=y"], "two commands are named 'a'"),
        (["compare", "a", "b", "--tool", "none", "--", "y"], "there is no tool 'none'; known are"),
        (["compare", "a", "b", "--figure", "speed", "--", "y"], "--figure is 'speed', but must be such as"),
        (["compare", "a", "b", "--tool", "fio", "--stdout", "x", "--", "y"], "leave out --stdout"),
        (["compare", "native", "uml", "--tool", "fio"], "--tool is for a command of your own"),
        (["compare", "a", "b", "--level", "n", "--", "y", "{n}"], "--level is 'n', but must be NAME=A,B,C"),
        (["compare", "a", "b", "--level", "n=1,", "--", "y", "{n}"], "--level is 'n=1,', but must be"),
        (["compare", "a", "b", "--level", "n=1", "--", "y"], "--level names 'n', but the command has no {n}"),
        (["compare", "a", "--level", "n=1", "--", "y", "{n}"], "two systems, or two levels on one"),
        (["compare", "native", "uml", "--level", "n=1"], "--level is for a command of your own"),
        (["compare", "a", "b", "--with", "x y", "--", "./x y"], "--with is 'x y', but must be files named"),
        (["compare", "a", "b", "--with", "x", "--", "y"], "--with is 'x', but no word of the command names"),
        (["compare", "native", "uml", "--with", "/none", "--", "/none"], "with names '/none', which cannot"),
        (
            ["compare", "native", "uml", "--with", "/etc", "--", "ls", "/etc"],
            "with names '/etc', which",
        ),
        (["gate", "a", "b"], "gate needs a command after --"),
        (["gate", "a", "--", "x"], "gate needs OLD and NEW"),
        (["gate", ".", "uml", "--", "x"], "two directories, two programs or two systems"),
        (["gate", "a", "b", "--build", "make", "--", "x"], "--build builds commits"),
        (["gate", "a", "b", "--base", "v1", "--", "x"], "--base replaces OLD and NEW"),
        (["gate", "a", "b", "--in", "/", "--", "x"], "--in is not for gate"),
    ],
)
def test_wrong_words_are_a_sentence(steelyard: Run, words: list[str], said: str, tmp_path: Path) -> None:
    answer = steelyard(*words, TMPDIR=str(tmp_path))

    assert said in answer.stderr
    assert (answer.returncode, len(answer.stderr.splitlines()), answer.stdout) == (2, 1, "")


def test_two_commands_are_compared(steelyard: Run) -> None:
    answer = steelyard(
        "compare", "--budget", "5s", "--format", "json", "--no-watch", "--command", "one=true",
        "--command", "two=sh -c 'exit 0'",
    )  # fmt: skip

    told = json.loads(answer.stdout)
    assert answer.returncode == 0, answer.stderr
    assert told["baseline"] == "one"
    assert {(one["system"], one["metric"]) for one in told["comparisons"]} >= {("two", "time")}
    assert {(one["system"], one["name"]) for one in told["programs"]} >= {("one", "true"), ("two", "sh")}


def test_files_are_sent_along_and_used_there(steelyard: Run, tmp_path: Path) -> None:
    """The program and what it reads: each system's own copies, which are the files; a system with its own."""
    program, data = tmp_path / "program", tmp_path / "data"
    program.write_text('#!/bin/sh\nread x < "$1" && [ "$x" = 17 ] && echo spoilt > "$1".new\n')
    program.chmod(0o755)
    data.write_text("17\n")

    answer = steelyard(
        "compare", "--budget", "5s", "--format", "json", "--no-watch", "--with", str(program), "--with",
        str(data), "--command", f"one={program} {data}", "--command", f"two=sh {program} {data}",
    )  # fmt: skip

    told = json.loads(answer.stdout)
    assert answer.returncode == 0, answer.stderr
    (one,) = (found for found in told["programs"] if found["system"] == "one")
    assert one["sha256"] == hashlib.sha256(program.read_bytes()).hexdigest()
    assert not list(tmp_path.glob("*.new"))


FIGURE = "name=speed unit=1/s better=higher pattern=speed ([0-9]+)"


def test_figures_that_commands_print_are_compared(steelyard: Run, tmp_path: Path) -> None:
    """Numbers are what is printed, and a higher one is better."""
    answer = steelyard(
        "compare", "--budget", "20s", "--no-watch", "--shell", "--archive", str(tmp_path),
        "--figure", FIGURE, "--figure", "name=wait unit=ms pattern=wait ([0-9.]+)",
        "--command", "one=echo speed 100; echo wait 2", "--command", "two=echo speed 250; echo wait 2",
    )  # fmt: skip

    assert answer.returncode == 0, answer.stderr
    report = steelyard("report", "--format", "json", "--archive", str(tmp_path))
    found = {one["metric"]: one for one in json.loads(report.stdout)["comparisons"]}
    speed, wait = found["speed"], found["wait"]
    assert (speed["unit"], speed["direction"], speed["verdict"]) == ("1/s", "higher", "faster")
    assert (speed["baseline_value"]["value"], speed["value"]["value"]) == (100, 250)
    assert speed["ratio"]["value"] == pytest.approx(2.5)
    assert (wait["unit"], wait["direction"]) == ("ns", "lower")
    assert (wait["baseline_value"]["value"], wait["value"]["value"]) == (2e6, 2e6)
    assert wait["ratio"]["value"] == pytest.approx(1)


def test_each_benchmark_of_a_suite_is_a_metric_of_a_gate(steelyard: Run, tmp_path: Path) -> None:
    for name, ns in (("old", 100), ("new", 150)):
        suite = tmp_path / name / "suite"
        suite.parent.mkdir()
        suite.write_text(f"#!/bin/sh\necho 'BenchmarkA-2 10 {ns} ns/op'\necho 'BenchmarkB-2 10 7 ns/op'\n")
        suite.chmod(0o755)

    answer = steelyard(
        "gate", f"{tmp_path}/old", f"{tmp_path}/new", "--tool", "go-test", "--budget", "30s",
        "--format", "json", "--", "./suite", TMPDIR=str(tmp_path),
    )  # fmt: skip

    assert answer.returncode == 1, answer.stderr
    states = {one["metric"]: one["state"] for one in json.loads(answer.stdout)["metrics"]}
    assert states["command, BenchmarkA-2"] == "worse"
    assert states["command, BenchmarkB-2"] == "ruled out"


def test_a_suite_that_cannot_run_here_is_a_sentence(steelyard: Run, tmp_path: Path) -> None:
    answer = steelyard(
        "compare", "native", "native-musl", "--tool", "go-test", "--", "sh", "-c", "echo no module; exit 1",
        TMPDIR=str(tmp_path),
    )  # fmt: skip

    said = "the command's figures are not known: 'sh' exited with status 1; it printed: no module"
    assert answer.returncode == 1
    assert said in answer.stderr


def test_a_command_that_prints_no_figure_fails_with_what_it_printed(steelyard: Run, tmp_path: Path) -> None:
    answer = steelyard(
        "compare", "--budget", "5s", "--no-watch", "--figure", FIGURE, "--archive", str(tmp_path),
        "--command", "one=echo fast", "--command", "two=echo slow",
    )  # fmt: skip

    assert answer.returncode == 1
    assert "speed: there is no line that matches 'speed ([0-9]+)'; it printed: fast" in answer.stderr


FIRST = {
    "fio": "reads",
    "hackbench": "hackbench",
    "sysbench": "events",
    "stress-ng": "cpu",
    "cyclictest": "latency",
}
REAL = {
    "fio": ("fio", "--name=x", "--rw=read", "--size=64k"),
    "hackbench": ("hackbench", "-g", "1", "-l", "5"),
    "sysbench": ("sysbench", "cpu", "--time=1", "--events=20", "run"),
    "stress-ng": ("stress-ng", "--cpu", "1", "--cpu-ops", "5"),
    "cyclictest": ("cyclictest", "-l", "5", "-i", "1000"),
}


@pytest.mark.parametrize("name", REAL)
def test_a_tool_is_run_and_its_figures_have_verdicts(name: str, steelyard: Run, tmp_path: Path) -> None:
    if not shutil.which(REAL[name][0]):
        pytest.skip(f"{REAL[name][0]} is not installed")
    answer = steelyard(
        "compare", "native", "native-musl", "--budget", "3s", "--no-watch", "--in", "trial", "--tool", name,
        "--format", "json", "--", *REAL[name], TMPDIR=str(tmp_path),
    )  # fmt: skip

    told = json.loads(answer.stdout)
    assert answer.returncode == 0, answer.stderr
    assert not told["troubles"]
    measured = {one["metric"] for one in told["comparisons"] if one["value"]}
    assert measured >= {FIRST[name], "time"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", place], check=True)
    (place / "bench").touch(0o755)
    for count in (100, 40_000):
        (place / "bench").write_text(LOOP.format(count=count))
        for words in (["add", "bench"], ["commit", "--quiet", "--message", "next"]):
            subprocess.run(
                ["git", "-C", place, "-c", "user.name=x", "-c", "user.email=x@example.org", *words],
                check=True,
            )
    return place


def test_a_slower_commit_is_caught_and_nothing_of_its_worktree_stays(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steelyard: Run
) -> None:
    monkeypatch.chdir(repository)
    (repository / "bench").write_text("not committed")
    words = ["gate", "--base", "HEAD~1", "--build", "cp bench built", "--budget", "20s", "--format", "json"]
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    answer = steelyard(*words, "--", "./built", TMPDIR=str(scratch))

    assert answer.returncode == 1, answer.stderr
    told = json.loads(answer.stdout)
    assert told["metrics"][0]["state"] == "worse"
    assert (repository / "bench").read_text() == "not committed"
    assert not list(scratch.iterdir())
    trees = subprocess.run(["git", "worktree", "list"], capture_output=True, text=True, check=True).stdout
    assert len(trees.splitlines()) == 1


def test_worktrees_that_are_gone_are_forgotten_if_they_were_ours(repository: Path, tmp_path: Path) -> None:
    for name in ("steelyard-17-abcdefgh/base", "on-a-disk"):
        git = ["git", "-C", repository, "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", tmp_path / name], check=True)
        shutil.rmtree(tmp_path / name)

    with commits.checked_out(repository, {"base": "HEAD~1"}, tmp_path / "scratch") as made:
        assert (made["base"] / "bench").exists()
    listed = subprocess.run([*git, "list"], capture_output=True, text=True, check=True).stdout

    assert [Path(line.split()[0]) for line in listed.splitlines()] == [repository, tmp_path / "on-a-disk"]


def test_a_build_that_fails_is_a_sentence_with_its_last_words(
    repository: Path, monkeypatch: pytest.MonkeyPatch, steelyard: Run
) -> None:
    monkeypatch.chdir(repository)
    answer = steelyard("gate", "--base", "HEAD~1", "--build", "sh -c 'echo no rule; exit 3'", "--", "./bench")

    assert answer.returncode == 2
    assert "the build of base failed with status 3; it said last: no rule\n" in answer.stderr


def test_what_fails_on_the_new_side_alone_is_worse(tmp_path: Path, steelyard: Run) -> None:
    for name, text in (("old", "exit 0"), ("new", "exit 5")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)

    answer = steelyard("gate", str(tmp_path / "old"), str(tmp_path / "new"), "--budget", "5s")

    assert (answer.returncode, "new vs old: 1 metric failed" in answer.stdout) == (1, True), answer.stderr
