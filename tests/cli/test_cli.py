"""The command line as a stranger meets it: help, wrong words, lists, and a whole comparison of fakes."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from installed_command import COMMAND, Run

import steelyard as package
from steelyard import cli
from steelyard.cli import parser
from steelyard.cli.measuring import Choice
from steelyard.errors import SteelyardError, UsageError

pytestmark = pytest.mark.program


@pytest.mark.parametrize("verb", ["", *(verb.name for verb in parser.VERBS)])
def test_every_help_ends_in_worked_examples(steelyard: Run, verb: str) -> None:
    answer = steelyard(*verb.split(), "--help")

    assert answer.returncode == 0
    assert "steelyard" in answer.stdout.partition("examples:")[2]
    assert answer.stderr == ""


@pytest.mark.program
def test_help_imports_nothing_but_python_s_own() -> None:
    """What makes --help quick, without asserting a time; and lets a build make the manual with no more."""
    script = (
        "import sys; from steelyard import cli; cli.main(['--help']); print(*sys.modules, file=sys.stderr)"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    alone = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )

    packages = {name.partition(".")[0] for name in set(answer.stderr.split()) - set(alone.stdout.split())}
    assert packages - {"steelyard"} <= sys.stdlib_module_names


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("command = '/bin/false'", 1, "of 2 trials succeeded; command command=/bin/false failed on native: "),
        ("command = '/bin/true'", 0, ""),
        ("command = '/no/such'", 77, "unsupported on native: there is no program"),
    ],
)
def test_a_run_of_which_nothing_went_well_has_failed(
    steelyard: Run, tmp_path: Path, line: str, status: int, said: str
) -> None:
    study = tmp_path / "a.toml"
    study.write_text(
        'name = "a"\ntitle = "a"\nsystems = ["native"]\n[design]\nblocks = 2\nbudget = "20s"\n'
        f'[[workload]]\nname = "command"\n{line}\n[trial]\nbatches = 1\noperations = 1\nwarmup_ns = 0\n'
    )
    answer = steelyard("run", str(study), "--no-watch")

    assert answer.returncode == status, answer.stderr
    assert said in answer.stderr


def test_options_become_a_frozen_object_with_the_usual_where_nothing_is_written() -> None:
    verb, options = parser.read(["run", "pegasus", "--only", "sieve", "--only", "pi", "--no-watch", "--all"])

    assert verb.name == "run"
    assert (options.study, options.systems) == ("pegasus", None)
    assert options.measuring.choice == Choice(only=("sieve", "pi"), budget_ns=None, seed=None)
    assert (options.measuring.watch, options.measuring.new) == (False, False)
    assert (options.reporting.everything, options.reporting.format) == (True, "text")
    with pytest.raises(FrozenInstanceError):
        options.study = "standard"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["comapre", "native", "uml"], "there is no command 'comapre'; did you mean 'compare'?"),
        (["compare", "native"], "compare needs at least two systems"),
        (["compare", "native", "umll"], "there is no system 'umll'; did you mean 'uml'?"),
        (
            ["compare", "native", "native", "--study", "pegasos"],
            "no study 'pegasos'; did you mean 'pegasus'?",
        ),
        (["compare", "native", "native", "--only", "seive"], "no workload 'seive'; did you mean 'sieve'?"),
        (
            ["compare", "native", "native", "--budget", "5"],
            "--budget is '5', but must be a time from 1 ms to",
        ),
        (["compare", "native", "native", "--budget", "0s"], "--budget is '0s', but must be a time from"),
        (["compare", "native", "native", "--margin", "2x"], "--margin is '2x', but must be a share from"),
        (["compare", "native", "native", "--directory", "/none"], "--directory is '/none', but must be"),
        (["compare", "native", "native", "--seed", "x"], "--seed is 'x', but must be a whole number from"),
        (["run", "./none.toml"], "study './none.toml' cannot be read: No such file or directory"),
        (["run"], "the following arguments are required: study"),
        (["plan", "pegasus", "--systems", "natve"], "no system 'natve'; did you mean 'native'?"),
        (["report", "none"], "there is no experiment 'none'"),
        (["archive", "merge", "/none"], "'/none' is not an archive"),
        (["list", "plants"], "argument kind: invalid choice: 'plants'"),
        (["frobnicate"], "there is no command 'frobnicate'"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_wrong_words_get_a_sentence_and_status_2(
    steelyard: Run, words: list[str], said: str, tmp_path: Path
) -> None:
    answer = steelyard(*words, TMPDIR=str(tmp_path))

    assert said in answer.stderr
    assert "Traceback" not in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
    assert answer.returncode in (1, 2) if words[:1] in (["report"], ["archive"]) else answer.returncode == 2
    assert answer.stdout == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('[[workload]]\nname = "sysall"', "there is no workload 'sysall'; did you mean 'syscall'?"),
        ('[[workload]]\nname = "sieve"\nsize = 3', "workload sieve: there is no parameter 'size'"),
        (
            '[[workload]]\nname = "sieve"\ncopies = 0',
            "workload sieve: copies is 0, but must be a whole number from 1 to 1024",
        ),
        ("[design]\nblocks = 0", "design.blocks is 0, but must be a whole number from 1 to 100000"),
        ("[desing]\nblocks = 3", "there is no key 'desing'; did you mean 'design'?"),
        ("name =", "is not TOML"),
    ],
)
def test_a_bad_study_is_refused_with_file_key_and_value(
    steelyard: Run, tmp_path: Path, line: str, said: str
) -> None:
    file = tmp_path / "a study.toml"
    file.write_text(
        f'name = "x"\ntitle = "x"\n{line}\n' + ("" if "workload" in line else '[[workload]]\nname = "sieve"')
    )

    answer = steelyard("run", str(file))

    assert said in answer.stderr
    assert str(file) in answer.stderr
    assert answer.returncode == 2


def test_lists_are_data_in_each_format(steelyard: Run) -> None:
    for kind, expected in (("systems", "native"), ("workloads", "sieve"), ("studies", "pegasus")):
        assert expected in steelyard("list", kind).stdout
        rows = json.loads(steelyard("list", kind, "--format", "json").stdout)
        assert expected in {row[kind.replace("studies", "study").rstrip("s")] for row in rows}
        table = list(csv.DictReader(io.StringIO(steelyard("list", kind, "--format", "csv").stdout)))
        assert len(table) == len(rows)


def test_the_plan_is_printed_and_is_the_same_again(steelyard: Run) -> None:
    words = ("plan", "pegasus", "--seed", "7", "--blocks", "2", "--format", "csv")
    first, second = steelyard(*words).stdout, steelyard(*words).stdout

    rows = list(csv.DictReader(io.StringIO(first)))
    assert first == second
    assert {row["block"] for row in rows} == {"1", "2"}
    assert {row["system"] for row in rows} == {"native", "native-musl"}


@pytest.mark.program
def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    command = f"TMPDIR={tmp_path} {COMMAND} plan pegasus --blocks 28 --format csv | head -1"
    answer = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False
    )

    assert answer.stdout.startswith("block")
    assert answer.stderr == ""
    assert answer.returncode == 0


def compare(steelyard: Run, study: str, *words: str) -> subprocess.CompletedProcess[str]:
    return steelyard("run", study, *words)


def test_twice_as_slow_is_found_to_be_twice_as_slow(steelyard: Run, write_study: Callable[..., str]) -> None:
    study = write_study(systems={"quick": "time=1000", "slow": "time=2000 seed=2"})
    answer = steelyard("run", study, "--format", "json")

    (one,) = json.loads(answer.stdout)["comparisons"]
    assert answer.returncode == 0, answer.stderr
    assert (one["system"], one["baseline"], one["verdict"]) == ("slow", "quick", "slower")
    assert 0.49 < one["ratio"]["low"] < 0.5 < one["ratio"]["high"] < 0.51
    assert one["direction"] == "lower"
    assert one["unit"] == "ns per call"


def test_the_report_can_be_had_again_against_another_baseline(
    steelyard: Run, write_study: Callable[..., str], tmp_path: Path
) -> None:
    study = write_study(systems={"quick": "time=1000", "slow": "time=2000 seed=2"})
    steelyard("run", study)

    turned = json.loads(steelyard("report", "--baseline", "slow", "--format", "json").stdout)
    table = list(csv.DictReader(io.StringIO(steelyard("report", "--format", "csv").stdout)))
    page = steelyard("report", "--html", str(tmp_path / "a page.html"))
    in_ms = steelyard("report", "--all", "--time-unit", "ms").stdout

    assert re.search(r"\b0\.0010\d ms +0\.0020\d ms\b", in_ms), in_ms
    assert turned["comparisons"][0]["verdict"] == "faster"
    assert table[0]["verdict"] == "slower"
    assert page.returncode == 0
    assert "&lt;b&gt;" in (tmp_path / "a page.html").read_text()  # the kernel calls itself "Fake <b>&"


def test_equal_systems_are_equivalent(steelyard: Run, write_study: Callable[..., str]) -> None:
    study = write_study(systems={"one": "time=1000 seed=1", "two": "time=1000 seed=2"}, blocks=12)
    (one,) = json.loads(steelyard("run", study, "--format", "json").stdout)["comparisons"]

    assert one["verdict"] == "equivalent"
    assert one["ratio"]["low"] < 1 < one["ratio"]["high"]


def test_a_single_trial_is_shown_with_a_word_that_it_is_too_little(
    steelyard: Run, write_study: Callable[..., str], tmp_path: Path
) -> None:
    study = write_study(systems={"alone": "time=1000"}, blocks=2)
    answer = steelyard("run", study, "--html", str(tmp_path / "page.html"))

    assert answer.returncode == 0, answer.stderr
    assert "Only alone was measured: there is nothing to compare it with." in answer.stdout
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_the_text_of_a_report_comes_before_its_page_is_drawn(
    steelyard: Run,
    write_study: Callable[..., str],
    archive: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from steelyard.report import page

    steelyard("run", write_study(systems={"alone": "time=1000"}, blocks=2))
    printed_before: list[str] = []
    monkeypatch.setattr(page, "write", lambda *_, **__: printed_before.append(capsys.readouterr().out))
    words = ["report", "--archive", str(archive), "--html", str(tmp_path / "page.html")]
    assert cli.main(words) == 0

    (printed,) = printed_before
    assert "Only alone was measured" in printed


def test_a_system_that_dies_fails_its_trials_and_the_rest_goes_on(
    steelyard: Run, write_study: Callable[..., str]
) -> None:
    study = write_study(systems={"sound": "", "frail": "seed=2 die=3"}, workloads="syscall sieve", blocks=8)
    answer = steelyard("run", study, "--format", "json")
    found = json.loads(answer.stdout)

    # It dies in its third trial, so once in every second round, for it is started again each time.
    assert answer.returncode == 0
    assert {(one["status"], one["system"]) for one in found["troubles"]} == {("failed", "frail")}
    assert all(one["blocks"] >= 4 for one in found["comparisons"])
    assert "frail: system 'frail' has ended" in answer.stderr


def test_a_workload_that_hangs_has_timed_out(
    steelyard: Run, write_study: Callable[..., str], tmp_path: Path
) -> None:
    study = write_study(systems={"sound": "", "stuck": "hang=2"}, blocks=3)
    Path(study).write_text(Path(study).read_text().replace('"5s"', '"1s"'))
    found = json.loads(steelyard("run", study, "--format", "json").stdout)

    assert ("timed out", "stuck") in {(one["status"], one["system"]) for one in found["troubles"]}
    assert "did not answer" in str(found["troubles"])


def test_what_is_unsupported_says_why(steelyard: Run, write_study: Callable[..., str]) -> None:
    study = write_study(systems={"able": "", "unable": "unsupported"}, blocks=3)
    found = json.loads(steelyard("run", study, "--format", "json").stdout)

    (one,) = found["comparisons"]
    assert one["verdict"] == "unresolved"
    assert one["value"] is None
    assert one["flags"] == ["1 trial unsupported on unable: this system has no such thing"]


def test_a_clock_that_runs_wrong_is_reported_with_the_verdict(
    steelyard: Run, write_study: Callable[..., str]
) -> None:
    study = write_study(systems={"true": "time=1000", "wrong": "time=2000 lag=300 take=0.1"}, blocks=8)
    found = json.loads(steelyard("run", study, "--format", "json").stdout)

    assert any("the clock of wrong differs" in flag for flag in found["comparisons"][0]["flags"])
    assert any("the clock of wrong differs" in warning for warning in found["warnings"])


def test_the_archive_must_be_writable(
    steelyard: Run, write_study: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    study = write_study(systems={"one": "", "two": ""})
    answer = steelyard("run", study, "--archive", str(tmp_path / "file" / "archive"))

    assert answer.returncode == 1
    assert "cannot be written" in answer.stderr
    assert "--archive DIR" in answer.stderr


@pytest.mark.program
def test_a_read_only_home_is_named(write_study: Callable[..., str], tmp_path: Path) -> None:
    study = write_study(systems={"one": "", "two": ""})
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("XDG", "STEELYARD"))
    }
    answer = subprocess.run(
        [COMMAND, "run", study],
        env=environment | {"HOME": "/proc"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert answer.returncode == 1
    assert "/proc/.local" in answer.stderr
    assert "--archive DIR" in answer.stderr


def test_names_with_spaces_work(write_study: Callable[..., str], steelyard: Run, tmp_path: Path) -> None:
    study = write_study(systems={"one": "", "two": ""}, blocks=2)
    (tmp_path / "work here").mkdir()
    words = ("--archive", str(tmp_path / "an archive"), "--directory", str(tmp_path / "work here"))
    answer = steelyard("run", study, *words)

    assert answer.returncode == 0, answer.stderr
    assert list((tmp_path / "work here").iterdir()) == []


def test_experiments_can_be_listed_shown_merged_and_exported(
    steelyard: Run, write_study: Callable[..., str], tmp_path: Path
) -> None:
    steelyard("run", write_study(systems={"one": "", "two": ""}, blocks=2))
    (listed,) = json.loads(steelyard("archive", "list", "--format", "json").stdout)
    shown = json.loads(steelyard("archive", "show", "--format", "json").stdout)
    other = str(tmp_path / "other")
    merged = steelyard("archive", "merge", str(tmp_path / "archive"), "--archive", other)
    exported = steelyard(
        "archive", "export", listed["experiment"], str(tmp_path / "s.csv"), "--archive", other
    )

    assert listed["state"] == "closed"
    assert shown["study"] == "small"
    assert "1 experiment copied" in merged.stderr
    assert exported.returncode == 0
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 1 + 2 * 2 * 5


def test_pegasus_prints_the_papers_figures_beside_todays(steelyard: Run) -> None:
    words = ("run", "pegasus", "--systems", "native", "native-musl", "--only", "sieve", "--budget", "4s")
    answer = steelyard(*words)

    assert answer.returncode == 0, answer.stderr
    assert "Table I" in answer.stdout
    assert "3.1 (3.0+0.0)" in answer.stdout
    assert "PEGASUS 32.2" in answer.stdout
    assert "native-musl, 1 copy" in answer.stdout


@pytest.mark.program
def test_the_installed_command_needs_no_terminal_and_no_network(
    write_study: Callable[..., str], archive: Path
) -> None:
    study = write_study(systems={"one": "", "two": ""}, blocks=2)
    alone = ["unshare", "--net"] if os.geteuid() == 0 and shutil.which("unshare") else []
    answer = subprocess.run(
        [*alone, COMMAND, "run", study, "--archive", archive], capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip

    assert answer.returncode == 0, answer.stderr
    assert "\x1b" not in answer.stdout + answer.stderr


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        ("merge", "archive merge"),
        ("show", "archive show"),
        ("export", "archive export"),
        ("reopen", "archive reopen"),
        ("mrege", "archive merge"),
        ("diff", "compare"),
        ("systems", "list systems"),
        ("workload", "list workloads"),
        ("ls", "archive list"),
        ("version", "--version"),
        ("help", "--help"),
        ("archive lst", "archive list"),
        ("archive remerge", "archive merge"),
        ("archive report", "report"),
        ("archive compare", "compare"),
    ],
)
def test_a_command_is_suggested_wherever_it_stands(words: str, suggestion: str) -> None:
    with pytest.raises(UsageError, match=rf"there is no .*; did you mean '{suggestion}'\?$"):
        parser.read(words.split())


def test_who_wants_to_remove_an_experiment_is_told_how() -> None:
    for words in (["remove"], ["archive", "delete", "x"]):
        with pytest.raises(
            UsageError, match=r"an experiment is a directory below experiments/ of the archive"
        ):
            parser.read(words)


def test_every_other_word_names_a_command_that_there_is() -> None:
    for target in {*parser.OTHER_WORDS.values()} - {"--help", "--version"}:
        with pytest.raises(SystemExit) as leaving:
            parser.read([*target.split(), "--help"])
        assert leaving.value.code == 0


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version_is_printed(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([flag]) == 0
    assert capsys.readouterr().out == f"steelyard {package.__version__}\n"


@pytest.mark.parametrize(
    "words",
    [["list", "studies", "--format", "json"], ["plan", "pegasus", "--seed", "1"], ["archive", "list"]],
)
def test_what_is_printed_may_go_into_a_file(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_ARCHIVE", str(tmp_path / "archive"))
    assert cli.main(words) == 0
    printed = capsys.readouterr().out

    assert cli.main([*words, "--output", str(tmp_path / "out")]) == 0

    assert capsys.readouterr().out == ""
    assert (tmp_path / "out").read_text() == printed
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["run", "pegasus"], "--output"),
        (["run", "pegasus"], "--html"),
        (["compare", "native", "native"], "--output"),
        (["doctor"], "--output"),
        (["load", "http://127.0.0.1:9/"], "--output"),
        (["watch", "--", "true"], "--html"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_done(
    words: list[str], option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option_first = [words[0], option, "", *words[1:]]
    for path, why in ((tmp_path / "no" / "x.json", "no such directory"), (tmp_path, "it is a directory")):
        option_first[2] = str(path)
        assert cli.main(option_first) == 2
        assert f"{option} is '{path}', which cannot be written: " in (told := capsys.readouterr().err)
        assert why in told
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file_is_written_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "place").symlink_to("/dev/null")

    assert cli.main(["list", "studies", "--output", str(tmp_path / "place")]) == 0

    assert (tmp_path / "place").is_symlink()
    assert (tmp_path / "place").is_char_device()


def test_an_error_whose_causes_go_round_in_a_circle_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = SteelyardError("it answers with another key"), SteelyardError("it did not come up")
    first.__cause__, second.__context__ = second, first

    def fails() -> None:
        raise first

    monkeypatch.setattr(cli, "_put_in_order", fails)

    assert cli.main(["list", "systems"]) == 1
    assert capsys.readouterr().err == "steelyard: it answers with another key\n"
