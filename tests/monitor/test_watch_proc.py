"""The monitor by /proc alone: what a look finds is right, and what none can find is said to be lost."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import monitor_runs
import pytest
from monitor_runs import NOBODY, Watch, running

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


def test_an_orphan_of_the_command_is_followed_to_its_own_end() -> None:
    watched = shell('(sh -c "read _ </proc/self/stat; sleep 0.4 & wait; exit 5" &); sleep 1')

    assert 5 in [one["status"] for one in watched.processes if one["generation"] > 0]


def test_threads_that_live_on_are_added_up(deeds: Path) -> None:
    with running(deeds, "rounds", stdout=subprocess.DEVNULL) as process:
        watched = watch("--for", 300_000_000, "--threads", "-p", process.pid)

    [record], [thread] = watched.processes, watched.threads
    assert record["attached"] is True
    assert record["end_ns"] is None
    assert record["switches_voluntary"] == thread["switches_voluntary"] > 5
    assert record["writes"] == thread["writes"] > 5


def test_one_that_does_not_run_is_not_written_again() -> None:
    with running("sleep", "60") as process:
        watched = watch("--for", 400_000_000, "--every", 20_000_000, "-p", process.pid)

    assert len(watched.of("reading")) == 1


def test_a_series_never_falls(deeds: Path) -> None:
    watched = watch("--every", 50_000_000, "--", deeds, "rounds")
    values = [one["writes"] for one in watched.of("reading") if "writes" in one]

    assert len(values) > 5
    assert values == sorted(values)
    assert watched.processes[0]["writes"] == 40


def test_one_child_in_so_many_is_followed(deeds: Path) -> None:
    watched = watch("--children", 5, "--seed", 1, "--", deeds, "many", 20)

    followed = len(monitor_runs.drawn(1, 20, 5))
    assert len([one for one in watched.processes if one["generation"] == 1]) == followed
    assert watched.end["unfollowed"] == 20 - followed


@pytest.mark.root
def test_another_user_s_process_is_watched_but_for_its_input_and_output(deeds: Path) -> None:
    with running(deeds, "rounds", stdout=subprocess.DEVNULL) as process:
        watched = watch("--for", 200_000_000, "-p", process.pid, before=tuple(NOBODY))

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
