"""The user's own command: what it finds around itself, and what is said of one that fails."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from patience import patience

from steelyard.programs import built

pytestmark = pytest.mark.program
QUICK = ("batches=2", "operations=1", "warmup_ns=0")


def performed(*settings: str) -> list[dict[str, Any]]:
    encoded = ["".join(f"%{ord(each):02x}" if each in " %\n" else each for each in one) for one in settings]
    command = [built.load("glibc"), "run", "command", *QUICK, *encoded]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    return [json.loads(line) for line in answer.stdout.splitlines()]


def end(records: list[dict[str, Any]]) -> tuple[str, str | None]:
    (one,) = [record for record in records if record["record"] == "end"]
    return one["status"], one["reason"]


def script(folder: Path, text: str, name: str = "work") -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_it_runs_where_and_with_what_it_is_told(tmp_path: Path) -> None:
    script(tmp_path, 'read line; echo "$line $A $PATH $LC_ALL $(pwd)"')
    (tmp_path / "in").write_text("first\n")

    records = performed(
        "command=./work", f"directory={tmp_path}", "input=in", "output=out", "environment=A=1\nLC_ALL=de"
    )

    assert end(records) == ("ok", None)
    assert (tmp_path / "out").read_text() == f"first 1 /usr/bin:/bin de {tmp_path}\n"


def test_a_program_is_looked_for_in_the_path_that_the_command_has(tmp_path: Path) -> None:
    script(tmp_path, "exit 0", "only-here")

    assert end(performed("command=only-here", f"environment=PATH=/nowhere::{tmp_path}")) == ("ok", None)
    assert end(performed("command=only-here")) == ("unsupported", "there is no program 'only-here'")


def test_what_is_prepared_comes_before_each_run_and_is_not_timed(tmp_path: Path) -> None:
    script(tmp_path, "echo p >>log; sleep 0.2", "prepare")
    script(tmp_path, "echo c >>log", "work")

    records = performed("command=./work", f"directory={tmp_path}", "prepare=./prepare")
    (samples,) = [one for one in records if one["record"] == "samples" and one["metric"] == "time"]

    assert (tmp_path / "log").read_text() == "p\nc\n" * 2
    whole_ns = records[-1]["clock_ns"] - records[0]["clock_ns"]
    assert sum(samples["durations_ns"]) <= whole_ns - 2 * 200_000_000
    assert "operations = 1" in str(end(performed("command=true", "prepare=true", "operations=2"))[1])


def test_peak_memory_is_that_of_the_largest_process(tmp_path: Path) -> None:
    records = performed("command=python3\n-c\nx = bytearray(200 << 20)", "batches=1")
    (memory,) = [one for one in records if one["record"] == "samples" and one["metric"] == "peak memory"]

    assert memory["unit"] == "bytes"
    assert 200 << 20 < memory["durations_ns"][0] < 260 << 20


@pytest.mark.parametrize(
    ("settings", "status", "reason"),
    [
        (["command=false"], "failed", "'false' exited with status 1"),
        (["command=false", "ignore_failure=1"], "ok", None),
        (["command=sh\n-c\nkill -9 $$", "ignore_failure=1"], "failed", "'sh' was killed by signal 9"),
        (["directory=/none"], "unsupported", "there is no directory '/none' here"),
        (["input=/none"], "unsupported", "there is no file '/none' here"),
        (["environment=A"], "failed", "'A' is no NAME=VALUE"),
        (["prepare=false"], "failed", "'false' exited with status 1"),
        (["prepare=none"], "unsupported", "there is no program 'none'"),
    ],
)
def test_what_is_wrong_is_said(settings: list[str], status: str, reason: str | None) -> None:
    assert end(performed(*settings)) == (status, reason)


def test_what_is_around_the_runs_comes_in_order(tmp_path: Path) -> None:
    """And may make the program, and what it reads."""
    script(
        tmp_path, "echo s >>log; echo '#!/bin/sh' >work; echo 'echo c >>log' >>work; chmod +x work; >in", "s"
    )
    for name in "pex":
        script(tmp_path, f"echo {name} >>log", name)

    records = performed(
        "command=./work", f"directory={tmp_path}", "input=in", "setup=./s", "prepare=./p", "conclude=./e",
        "cleanup=./x",
    )  # fmt: skip

    assert end(records) == ("ok", None)
    assert (tmp_path / "log").read_text() == "s\np\nc\ne\np\nc\ne\nx\n"


@pytest.mark.parametrize("around", ["setup", "prepare", "conclude"])
def test_what_fails_around_the_runs_fails_the_trial(around: str) -> None:
    assert end(performed("command=true", f"{around}=false")) == ("failed", "'false' exited with status 1")


def test_after_a_run_that_failed_it_is_cleaned_up(tmp_path: Path) -> None:
    records = performed(
        "command=false", f"directory={tmp_path}", "cleanup=touch\ndone", "conclude=touch\nend"
    )

    assert end(records)[0] == "failed"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["done", "end"]


def printed(records: list[dict[str, Any]]) -> list[str]:
    return [one["text"] for one in records if one["record"] == "printed"]


def test_what_the_last_run_printed_is_told_where_figures_are_wanted(tmp_path: Path) -> None:
    counts = 'echo x >>log; echo "run $(wc -l <log)"; echo \'quoted "\\\' >&2; printf "a\\000b\\377\\n"; ls'
    script(tmp_path, counts)

    records = performed("command=./work", f"directory={tmp_path}", "figures=1")

    assert end(records) == ("ok", None)
    assert printed(records) == ['run 2\nquoted "\\\na b\xff\nlog\nwork\n']
    assert printed(performed("command=./work", f"directory={tmp_path}")) == []


def test_the_trial_s_own_directory_is_as_empty_with_figures() -> None:
    assert printed(performed("command=ls\n-A", "figures=1")) == [""]


@pytest.mark.parametrize("warmup_ns", [0, 1_000_000])
def test_what_a_command_that_fails_printed_is_told(tmp_path: Path, warmup_ns: int) -> None:
    script(tmp_path, "echo first; echo because >&2; exit 3")

    records = performed("command=./work", f"directory={tmp_path}", "figures=1", f"warmup_ns={warmup_ns}")

    assert end(records) == ("failed", "'./work' exited with status 3")
    assert printed(records) == ["first\nbecause\n"]


def test_a_command_that_prints_too_much_for_figures_fails(tmp_path: Path) -> None:
    script(tmp_path, "head -c 100000000 /dev/zero")

    status, reason = end(performed("command=./work", f"directory={tmp_path}", "figures=1"))

    assert status == "failed"
    assert reason == "'./work' printed 100000000 bytes, and at most 8388608 are read for figures"


@pytest.mark.parametrize(
    "work",
    [
        "echo 1; exec >&- 2>&-; sleep 0.2",  # it closes its output, and ends later
        "echo 1; (while :; do echo 2 || exit; done) & exit",  # and leaves another that prints on
        "echo 1; (sleep 60; echo 2) & exit",
        "trap 'echo caught; exit' CHLD; echo 1; true & wait; sleep 60",  # its signals are as usual
    ],
)
def test_a_command_is_heard_until_it_ends_and_no_longer(tmp_path: Path, work: str) -> None:
    script(tmp_path, work)

    began = time.monotonic()
    records = performed("command=./work", f"directory={tmp_path}", "figures=1", "batches=1")

    assert end(records) == ("ok", None)
    assert printed(records)[0].startswith("1\n")
    assert time.monotonic() - began < patience(30)


def test_a_command_that_prints_without_end_is_ended_with_its_trial() -> None:
    records = performed("command=yes", "figures=1", "limit_ms=500")

    assert end(records)[0] == "timed out"


def test_what_is_printed_is_told_in_parts(tmp_path: Path) -> None:
    script(tmp_path, "head -c 600000 /dev/zero | tr '\\0' 'x'")

    parts = printed(performed("command=./work", f"directory={tmp_path}", "figures=1"))

    assert [len(one) for one in parts] == [1 << 18, 1 << 18, 600000 - (2 << 18)]


def test_figures_and_a_file_for_the_output_exclude_each_other(tmp_path: Path) -> None:
    status, reason = end(performed("command=true", f"output={tmp_path}/out", "figures=1"))

    assert (status, "which `output` takes" in str(reason)) == ("failed", True)
