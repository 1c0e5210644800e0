"""The monitor by /proc alone: what a look finds is right, and what none can find is said to be lost."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import monitor_runs
import pytest
from monitor_runs import NOBODY, Watch, running, until

pytestmark = pytest.mark.program


@pytest.fixture(scope="module")
def deeds() -> Iterator[Path]:
    with monitor_runs.built_for_all("deeds") as program:
        yield program


def watch(*options: str | Path | int, before: tuple[str, ...] = ()) -> Watch:
    return monitor_runs.watch("--backend", "proc", "--detail", "life", *options, before=before)


def shell(script: str) -> Watch:
    return watch("--", "sh", "-c", script)


def test_the_command_s_own_figures_are_exact_to_its_end() -> None:
    """Of output and input, exactly what it does; of the rest, that it is there."""
    [process] = watch("--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1000", "count=500").processes

    assert process["status"] == 0
    assert 500 <= process["reads"] <= 530  # and what its libraries are read by
    assert process["characters_read"] >= 500_000
    assert 500 <= process["writes"] <= 510
    assert process["run_ns"] == process["cpu_user_ns"] + process["cpu_system_ns"] > 0
    assert process["faults_minor"] > 0
    assert process["calls"] is process["signals"] is process["threads"] is process["virtual_begin"] is None


@pytest.mark.quiet
def test_a_child_that_lives_is_seen_and_what_ends_between_looks_is_counted_as_lost(deeds: Path) -> None:
    watched = watch("--", deeds, "many", 4)

    assert [one["generation"] for one in watched.processes].count(1) == 4
    assert all(one["status"] is None for one in watched.processes if one["generation"] == 1)
    assert watched.end["lost_events"] == 4


@pytest.mark.quiet
def test_a_child_that_no_look_saw_is_noticed_by_what_its_parent_waited_for() -> None:
    watched = shell("/bin/true; exit 4")

    assert [one["status"] for one in watched.processes] == [4]
    assert watched.end["lost_events"] == 1


def test_what_made_no_child_has_lost_nothing() -> None:
    assert watch("--", "sleep", "0.2").end["lost_events"] == 0


def test_an_orphan_of_the_command_is_followed_to_its_own_end(tmp_path: Path) -> None:
    """It waits until it was looked at, and the command until it has ended."""
    for name in ("orphan", "command"):
        os.mkfifo(tmp_path / name)
    script = 'cd "$0"; (sh -c "echo \\$\\$ >number; read _ <orphan; exit 5" &); read _ <command'
    options = ("--backend", "proc", "--detail", "life", "--every", 20_000_000)
    with monitor_runs.begun(*options, "--", "sh", "-c", script, tmp_path) as watched:
        number = tmp_path / "number"
        until(lambda: number.exists() and number.read_text().endswith("\n"), "the orphan")
        orphan = int(number.read_text())
        until(lambda: orphan in [one["pid"] for one in watched.look().of("reading")], "a look at it")
        (tmp_path / "orphan").write_text("")
        until(lambda: orphan in [one["pid"] for one in watched.look().processes], "its end")
        (tmp_path / "command").write_text("")
        watched.finish()

    (record,) = [one for one in watched.processes if one["pid"] == orphan]
    assert record["status"] == 5
    assert record["generation"] > 0


def watch_amid_rounds(deeds: Path, *options: str, before: tuple[str, ...] = ()) -> Watch:
    """Of a process that writes on and on, from one stop of it to another: in between it writes ten times."""
    with running(deeds, "endless", stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        monitor_runs.stop(process.pid)
        words = ("--backend", "proc", "--detail", "life", *options, "-p", process.pid)
        with monitor_runs.begun(*words, before=before) as watched:
            watched.await_record("watch")
            process.send_signal(signal.SIGCONT)
            process.stdout.read(12)
            monitor_runs.stop(process.pid)
            return watched.finish(signal.SIGINT)


def test_threads_that_live_on_are_added_up(deeds: Path) -> None:
    watched = watch_amid_rounds(deeds, "--threads")

    [record], [thread] = watched.processes, watched.threads
    assert record["attached"] is True
    assert record["end_ns"] is None
    assert record["switches_voluntary"] == thread["switches_voluntary"] > 5
    assert record["writes"] == thread["writes"] > 5


def test_one_that_does_not_run_is_not_written_again() -> None:
    with running("sleep", "60") as process:
        until(lambda: monitor_runs.state(process.pid) == "S", "its sleep")
        watched = watch("--for", 400_000_000, "--every", 20_000_000, "-p", process.pid)

    assert len(watched.of("reading")) == 1


def test_a_series_never_falls(deeds: Path) -> None:
    watched = watch("--every", 50_000_000, "--", deeds, "rounds")
    values = [one["writes"] for one in watched.of("reading") if "writes" in one]

    assert len(set(values)) > 1
    assert values == sorted(values)
    assert watched.processes[0]["writes"] == 40


def test_one_child_in_so_many_is_followed(deeds: Path) -> None:
    watched = watch("--children", 5, "--seed", 1, "--", deeds, "many", 20)

    followed = len(monitor_runs.drawn(1, 20, 5))
    assert len([one for one in watched.processes if one["generation"] == 1]) == followed
    assert watched.end["unfollowed"] == 20 - followed


@pytest.mark.root
def test_another_user_s_process_is_watched_but_for_its_input_and_output(deeds: Path) -> None:
    watched = watch_amid_rounds(deeds, before=tuple(NOBODY))

    [record] = watched.processes
    assert record["writes"] is record["bytes_read"] is None
    assert record["switches_voluntary"] > 3
    assert record["run_ns"] > 0


@pytest.mark.parametrize("detail", ["budget", "calls", "profile", "latency"])
def test_calls_are_refused_with_the_reason(detail: str) -> None:
    watched = monitor_runs.watch("--backend", "proc", "--detail", detail, "--", "true")

    assert watched.status == 77
    assert "calls are not visible in /proc" in watched.errors


def test_a_command_that_cannot_be_executed_leaves_no_process() -> None:
    watched = watch("--", "/nonexistent")

    assert watched.processes == []
    assert watched.status == 127
