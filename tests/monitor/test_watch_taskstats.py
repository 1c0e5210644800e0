"""The monitor by the kernel's own accounts of ended tasks, against wait4 and known numbers."""

import os
import signal
import subprocess
from pathlib import Path

import c_programs
import monitor_runs
import pytest
from known_children import known, told_of

pytestmark = pytest.mark.program

__all__ = ["known"]  # a fixture

# The kernel reads a thread's account before it brings it up to date: it lacks up to a tick, of 100 a second.
TICK_US = 10_000


def life(program: Path, *words: str) -> tuple[monitor_runs.Watch, str]:
    monitor_runs.need("taskstats", "life")
    found = monitor_runs.watch("--backend", "taskstats", "--detail", "life", "--", program, *words)
    assert found.status == 5
    return found, found.output


def test_each_process_has_its_end_and_what_wait4_says(known: Path) -> None:
    found, output = life(known)

    for record, waited in told_of(found, output):
        assert record["faults_minor"] in range(waited["faults_minor"] - 2, waited["faults_minor"] + 1)
        assert record["switches_voluntary"] in range(
            waited["switches_voluntary"] - 4, waited["switches_voluntary"] + 2
        )
        assert record["run_ns"] == record["cpu_user_ns"] + record["cpu_system_ns"]
        ended = os.waitstatus_to_exitcode(waited["status"])
        assert record["status"] == (ended if ended >= 0 else None)
        assert record["signal"] == (-ended if ended < 0 else None)
        assert record["calls"] is None
        assert record["memory_peak"] > 0
    assert found.end["lost_events"] == 0


def test_run_time_is_that_of_wait4_but_for_a_tick_a_thread(known: Path) -> None:
    found, output = life(known)

    for record, waited in told_of(found, output):
        behind_us = waited["run_us"] - record["run_ns"] / 1000
        assert -1 <= behind_us <= TICK_US * record["threads"]
    spins, _ = told_of(found, output)[6]
    assert spins["run_ns"] >= 30_000_000


def test_threads_are_summed_and_generations_followed(known: Path) -> None:
    found, output = life(known)

    children = [record for record, _ in told_of(found, output)]
    assert [child["threads"] for child in children] == [1, 1, 1, 5, 1, 1, 1, 1]
    assert [child["children"] for child in children] == [0, 0, 0, 0, 0, 1, 0, 0]
    assert children[2]["signal"] == signal.SIGKILL
    assert (children[4]["program"], children[4]["program_before"]) == ("true", "known")
    [grandchild] = [record for record in found.processes if record["generation"] == 2]
    assert grandchild["parent"] == children[5]["pid"]
    [root] = [record for record in found.processes if record["generation"] == 0]
    assert (root["children"], root["status"], root["program_before"]) == (8, 5, None)
    for record in found.processes:
        assert record["begin_ns"] <= record["watched_ns"] < record["end_ns"]


def test_a_storm_of_short_lived_processes_is_all_there() -> None:
    storm = (c_programs.program("tests/monitor/storm"), "1009", "1", "0", "1", "7")
    found, _ = life(*storm)

    children = [record for record in found.processes if record["generation"] == 1]
    statuses = [child["status"] for child in sorted(children, key=lambda child: child["begin_ns"])]
    assert statuses == [number % 7 for number in range(1009)]
    assert found.end["lost_events"] == 0


def test_a_running_tree_is_attached(known: Path) -> None:
    monitor_runs.need("taskstats", "life")
    shell = ["sh", "-c", f"{known} waits; exit 0"]
    with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        monitor_runs.until(
            lambda: "known" in map(monitor_runs.comm, monitor_runs.children(process.pid)), "the child's exec"
        )
        options = ("--backend", "taskstats", "--detail", "life", "--every", 20_000_000, "-p", process.pid)
        with monitor_runs.begun(*options) as found:
            found.await_record("reading")
            output, _ = process.communicate()
            found.finish()

    attached = [record for record in found.processes if record["attached"]]
    assert {record["program"] for record in attached} == {"sh", "known"}
    assert all(record["memory_begin"] > 0 for record in attached)
    assert len(told_of(found, output)) == 8
    assert found.end["stopped_by"] == "end"
    assert found.of("reading")


def test_a_process_that_goes_on_is_read_and_left_alone() -> None:
    monitor_runs.need("taskstats", "life")
    found = monitor_runs.watch_of_a_loop("--backend", "taskstats", "--detail", "life")

    [record] = found.processes
    assert record["end_ns"] is None
    assert record["status"] is None
    assert 0 < record["run_ns"] < 60_000_000_000


@pytest.mark.parametrize("detail", ["budget", "calls", "profile", "latency"])
def test_what_it_cannot_do_it_refuses_with_a_reason(detail: str) -> None:
    reason = monitor_runs.refusal("taskstats", detail)

    assert reason
    assert "use --detail life" in reason


@pytest.mark.root
def test_without_privilege_the_probe_says_why_not(open_directory: Path) -> None:
    probe = monitor_runs.probe_as_nobody(open_directory, "life")["taskstats"]

    assert not probe["works"]
    assert "CAP_NET_ADMIN" in probe["why"]
