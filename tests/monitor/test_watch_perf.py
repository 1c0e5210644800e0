"""The monitor by perf's inherited counters: each process's share, against strace, wait4 and known numbers."""

import collections
import os
import re
import signal
import subprocess
from pathlib import Path

import c_programs
import monitor_runs
import pytest
from known_children import known, told_of

pytestmark = pytest.mark.program

__all__ = ["known"]  # a fixture


def counts(program: Path, *words: str) -> tuple[monitor_runs.Watch, str]:
    """The records of that program watched call by call, and what it printed."""
    monitor_runs.need("perf", "calls")
    found = monitor_runs.watch("--backend", "perf", "--detail", "calls", "--", program, *words)
    assert found.status == 5
    return found, found.output


def test_each_child_has_its_own_calls_and_errors(known: Path) -> None:
    found, output = counts(known)

    first, closes, opens, threads, program, lseeks, spins, sleeps = [
        monitor_runs.counts(record) for record, _ in told_of(found, output)
    ]
    assert first["getppid"] == (101, 0)
    assert first["exit_group"] == (1, 0)
    assert closes["close"] == (13, 13)
    assert opens["openat"] == (11, 11)
    assert "exit_group" not in opens
    assert threads["getppid"] == (10000, 0)
    assert threads["clone3"] == (4, 0)
    assert threads["exit"] == (4, 0)
    assert program["execve"] == (1, 0)
    assert lseeks["lseek"] == (77, 0)
    assert lseeks["vfork"] == (1, 0)
    assert "getppid" not in spins
    assert sleeps["other"][0] >= 20
    [root] = [record for record in found.processes if record["generation"] == 0]
    assert monitor_runs.counts(root)["getppid"] == (7, 0)
    assert monitor_runs.counts(root)["wait4"] == (8, 0)
    assert monitor_runs.counts(root)["clone"] == (8, 0)
    assert monitor_runs.counts(root)["execve"] == (1, 0)
    assert found.end["lost_events"] == 0


@pytest.mark.strace
def test_the_calls_are_those_that_strace_counts(known: Path, tmp_path: Path) -> None:
    found, _ = counts(known, "waits", "still")
    log = tmp_path / "strace"
    subprocess.run(
        ["strace", "-f", "-c", "-o", log, known, "waits", "still"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=False,
    )

    traced: dict[str, tuple[int, int]] = {}
    for line in log.read_text().splitlines():
        match = re.fullmatch(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(\d*)\s+(\w+)", line)
        if match and match[3] != "total":
            traced[match[3]] = (int(match[1]), int(match[2] or 0))
    # strace does not count what never returns, and a wait of threads for each other is another each time.
    vary = {"exit", "exit_group", "futex", "restart_syscall", "kill", "tgkill"}
    named = monitor_runs.counts(found.end["total"])
    for name, pair in named.items():
        if name not in vary | {"other"}:
            assert (name, pair) == (name, traced[name])
    rest = sum(pair[0] for name, pair in traced.items() if name not in named and name not in vary)
    assert named["other"][0] - rest in range(6)  # raise(): gettid, tgkill


def test_the_sum_over_processes_is_the_sum_of_the_counters(known: Path) -> None:
    found, _ = counts(known)

    total: collections.Counter[str] = collections.Counter()
    for record in found.processes:
        total.update({name: pair[0] for name, pair in monitor_runs.counts(record).items()})
    assert total == {name: call["calls"] for name, call in found.end["total"]["calls"].items()}


def test_times_faults_and_switches_are_those_of_wait4(known: Path) -> None:
    monitor_runs.need("perf", "life")
    found = monitor_runs.watch("--backend", "perf", "--detail", "life", "--", known)

    if monitor_runs.refusal("perf", "calls"):
        pytest.skip("faults and switches need more privilege")
    for record, waited in told_of(found, found.output):
        assert record["calls"] is None
        assert abs(record["faults_minor"] - waited["faults_minor"]) <= 4  # an exec's own, made for it
        # Waits after the counters were taken away are not in them, but for the last.
        behind = waited["switches_voluntary"] - record["switches_voluntary"]
        assert -1 <= behind <= 4 * record["threads"]
        # Less what it takes to make a task and to take it down; more by what a host or an interrupt took.
        assert abs(waited["run_us"] * 1000 - record["run_ns"]) < 20_000_000
    spins, sleeps = [record for record, _ in told_of(found, found.output)[6:]]
    assert spins["run_ns"] >= 39_000_000
    assert sleeps["switches_voluntary"] >= 21


def test_a_storm_of_short_lived_processes_is_all_there() -> None:
    storm = (c_programs.program("tests/monitor/storm"), "307", "2", "0", "11", "1")
    found, _ = counts(*storm)

    children = [record for record in found.processes if record["generation"] == 1]
    made = collections.Counter(monitor_runs.counts(child).get("getppid", (0, 0))[0] for child in children)
    assert made == collections.Counter(2 * [number % 11 for number in range(307)])
    assert found.end["lost_events"] == 0


def test_a_running_process_is_counted_from_when_it_is_attached(known: Path) -> None:
    monitor_runs.need("perf", "calls")
    with subprocess.Popen(
        [known, "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        monitor_runs.until(lambda: monitor_runs.comm(process.pid) == "known", "its exec")
        with monitor_runs.begun("--backend", "perf", "--detail", "calls", "-p", process.pid) as found:
            found.await_record("watch")
            output, _ = process.communicate()
            found.finish()

    assert found.status == 0
    assert found.end["stopped_by"] == "end"
    [root] = [record for record in found.processes if record["pid"] == process.pid]
    assert root["attached"]
    assert root["children"] == 8
    assert monitor_runs.counts(root)["getppid"] == (7, 0)
    assert "execve" not in monitor_runs.counts(root)
    first, *_ = told_of(found, output)
    assert monitor_runs.counts(first[0])["getppid"] == (101, 0)
    assert not first[0]["attached"]


def test_a_process_that_goes_on_has_its_counts_when_the_watch_ends() -> None:
    monitor_runs.need("perf", "calls")
    options = ("--backend", "perf", "--detail", "calls", "--every", 50_000_000)
    found = monitor_runs.watch_of_a_loop(*options)

    [record] = found.processes
    assert record["end_ns"] is None
    assert record["calls"] == {}
    assert record["run_ns"] > 0
    readings = found.of("reading")
    assert [reading["run_ns"] for reading in readings] == sorted(reading["run_ns"] for reading in readings)


def test_what_a_process_counted_is_unknown_while_its_children_go_on() -> None:
    monitor_runs.need("perf", "calls")
    found = monitor_runs.watch("--backend", "perf", "--detail", "calls", "--", "sh", "-c", "sleep 1 & exit 0")

    assert len(found.processes) == 2
    assert all(record["calls"] is None for record in found.processes)
    assert found.end["total"]["calls"]["execve"]["calls"] >= 1


def test_children_left_out_are_in_the_totals() -> None:
    storm = (c_programs.program("tests/monitor/storm"), "1", "30", "1", "1", "1")
    monitor_runs.need("perf", "calls")
    found = monitor_runs.watch(
        "--backend", "perf", "--detail", "calls", "--children", 10, "--seed", 1, "--", *storm
    )

    followed = len(monitor_runs.drawn(1, 30, 10))
    assert len(found.processes) == 1 + followed
    assert found.end["unfollowed"] == 30 - followed
    assert found.end["unfollowed_figures"]["run_ns"] > 0
    assert found.end["total"]["calls"]["getppid"]["calls"] == 30


def test_what_found_no_room_is_counted_and_nobody_is_given_it() -> None:
    storm = (c_programs.program("tests/monitor/storm"), "1999", "1", "1", "1", "1", "stop")
    monitor_runs.need("perf", "calls")
    with monitor_runs.begun("--backend", "perf", "--detail", "calls", "--", *storm) as found:
        monitor = found.process.pid
        found.await_record("watch")
        child = int(Path(f"/proc/{monitor}/task/{monitor}/children").read_text())
        monitor_runs.until(lambda: monitor_runs.state(child) == "T", "the stop")
        found.process.send_signal(signal.SIGSTOP)
        os.kill(child, signal.SIGCONT)
        monitor_runs.until(lambda: monitor_runs.state(child) == "Z", "the end")
        found.process.send_signal(signal.SIGCONT)
        found.finish()

    assert found.end["lost_events"] > 0
    assert found.end["total"]["calls"]["getppid"]["calls"] == 1999
    told = [monitor_runs.counts(record) for record in found.processes if record["calls"] is not None]
    assert len(told) < 2000
    assert all(calls["getppid"] == (1, 0) for calls in told)


@pytest.mark.parametrize("detail", ["budget", "profile", "latency"])
def test_what_it_cannot_do_it_refuses_with_a_reason(detail: str) -> None:
    reason = monitor_runs.refusal("perf", detail)

    assert reason
    assert "--detail life or calls" in reason


@pytest.mark.root
def test_without_privilege_the_probe_says_why_not(open_directory: Path) -> None:
    probe = monitor_runs.probe_as_nobody(open_directory, "calls")["perf"]

    assert not probe["works"]
    assert re.search("CAP_PERFMON|tracefs|perf_event_paranoid", probe["why"])
