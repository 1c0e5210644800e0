"""The monitor by ptrace: what it says of a process, and that the process goes on as if it were alone."""

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import monitor_runs
import pytest
from monitor_runs import NOBODY, Watch, running, state, until

pytestmark = pytest.mark.ptrace


@pytest.fixture(scope="module")
def deeds() -> Iterator[Path]:
    with monitor_runs.built_for_all("deeds") as program:
        yield program


def watch(detail: str, *options: str | Path | int, before: tuple[str, ...] = ()) -> Watch:
    return monitor_runs.watch("--backend", "ptrace", "--detail", detail, *options, before=before)


def tracer(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("TracerPid:")[1].split()[0])


# Quiet, because whoever reads /proc/PID/stat makes the kernel keep to how it divided the time then
# (prev_cputime in kernel/sched/cputime.c). Other tests read those of all processes.
@pytest.mark.quiet
@pytest.mark.parametrize("detail", ["life", "calls"])
def test_a_process_costs_what_wait4_says_of_it(deeds: Path, detail: str) -> None:
    watched = watch(detail, "--", deeds, "told")
    pid, user_us, system_us, faults, switches = map(int, watched.output.split())
    record = next(one for one in watched.processes if one["pid"] == pid)

    assert (record["status"], record["signal"], record["generation"]) == (3, None, 1)
    assert abs(record["run_ns"] // 1000 - (user_us + system_us)) <= 1
    assert abs(record["cpu_user_ns"] // 1000 - user_us) <= 1
    assert abs(record["cpu_system_ns"] // 1000 - system_us) <= 1
    assert record["faults_minor"] == faults
    # wait4 counts each of our stops as well: two for each call, where calls are counted.
    assert 20 <= record["switches_voluntary"] <= 22
    assert record["switches_voluntary"] < switches
    assert record["memory_peak"] >= 16 << 20
    # Twenty sleeps of 1 ms; where a busy machine takes the processor just before one, its clock runs already.
    assert record["blocked_ns"] >= 10_000_000


def test_signals_count_where_they_are_delivered_and_not_where_they_are_ignored(deeds: Path) -> None:
    assert [one["signals"] for one in watch("life", "--", deeds, "signals").processes] == [5]


def test_threads_add_up_to_their_process(deeds: Path) -> None:
    watched = watch("life", "--threads", "--", deeds, "threads")
    [process] = watched.processes

    assert process["threads"] == len(watched.threads) == 5
    for figure in ("switches_voluntary", "wait_ns", "blocked_ns", "reads", "signals"):
        assert process[figure] == sum(one[figure] for one in watched.threads)
    ended_before = [one for one in watched.threads if one["thread"] != one["pid"]]
    assert all(10 <= one["switches_voluntary"] <= 15 for one in ended_before)
    assert abs(process["run_ns"] - sum(one["run_ns"] for one in watched.threads)) < 1_000_000


def test_the_time_inside_a_call_is_at_least_what_it_slept(deeds: Path) -> None:
    [process] = watch("latency", "--", deeds, "naps").processes
    [call] = [call for name, call in process["calls"].items() if name.endswith("nanosleep")]

    assert call["calls"] == sum(call["histogram"]) == 5
    assert call["time_ns"] >= 50_000_000
    assert sum(call["histogram"][:17]) == 0  # below 2^23 ns: 8.4 ms


def test_one_child_in_ten_stays_traced_and_the_others_are_let_go(deeds: Path) -> None:
    watched = watch("calls", "--children", "10", "--seed", "1", "--", deeds, "many", 50)

    followed = len(monitor_runs.drawn(1, 50, 10))
    assert len([one for one in watched.processes if one["generation"] == 1]) == followed
    assert (watched.end["unfollowed"], watched.end["lost_events"], watched.status) == (50 - followed, 0, 0)


@pytest.mark.parametrize("detail", ["life", "calls"])
def test_job_control_works_under_the_watch_and_outlives_it(deeds: Path, detail: str) -> None:
    """Of a process that waits for room in a pipe: before it has been through all this it does not end."""
    output, full = os.pipe()
    size = fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
    os.write(full, bytes(size))
    with running(deeds, "rounds", stdout=full) as process:
        os.close(full)
        with monitor_runs.begun("--backend", "ptrace", "--detail", detail, "-p", process.pid) as watched:
            watched.await_record("watch")
            process.send_signal(signal.SIGSTOP)
            until(lambda: state(process.pid) in "tT", "the stop")
            process.send_signal(signal.SIGCONT)
            until(lambda: state(process.pid) in "SR", "going on")
            process.send_signal(signal.SIGSTOP)
            until(lambda: state(process.pid) in "tT", "the second stop")
            watched.finish(signal.SIGINT)
        assert watched.end["stopped_by"] == "signal"
        until(lambda: tracer(process.pid) == 0, "the release")
        until(lambda: state(process.pid) == "T", "its being stopped as before")
        process.send_signal(signal.SIGCONT)
        with open(output, "rb") as written:
            assert written.read() == bytes(size) + b"." * 40
        assert process.wait(monitor_runs.ENOUGH_S) == 9


@pytest.mark.parametrize("detail", ["life", "calls", "latency"])
def test_a_killed_monitor_leaves_the_command_to_its_right_end(deeds: Path, detail: str) -> None:
    here, there = os.pipe()
    command = f"exec 1>&{there} {there}>&-; exec {deeds} rounds"
    with monitor_runs.begun(
        "--backend", "ptrace", "--detail", detail, "--", "bash", "-c", command, pass_fds=[there]
    ) as watched:
        os.close(there)
        assert os.read(here, 1) == b"."
        os.kill(watched.process.pid, signal.SIGKILL)
        with os.fdopen(here, "rb") as output:
            assert output.read() == b"." * 39


def test_a_storm_of_forks_can_be_attached_at_any_moment(deeds: Path) -> None:
    for detail in ("life", "calls"):
        for _ in range(20):
            with running(deeds, "storm") as process:
                watched = watch(detail, "-p", process.pid)
                assert process.wait(monitor_runs.ENOUGH_S) == 6
            if watched.processes:  # it had not ended before it could be attached
                break
        [first] = [one for one in watched.processes if one["pid"] == process.pid]
        assert first["status"] == 6
        assert watched.end["stopped_by"] == "end"
        assert watched.end["lost_events"] == 0
        children = [one for one in watched.processes if one["generation"] == 1]
        assert first["children"] <= len(children) <= first["children"] + 1
        assert all(one["status"] == 0 for one in children)


@pytest.mark.root
def test_another_user_s_process_is_refused_by_its_number(deeds: Path) -> None:
    with running(deeds, "endless", stdout=subprocess.DEVNULL) as process:
        watched = watch("life", "-p", process.pid, before=tuple(NOBODY))

    assert watched.status == 77
    assert f"process {process.pid} cannot be attached" in watched.errors


@pytest.mark.root
@pytest.mark.parametrize("detail", ["life", "calls"])
def test_no_privilege_is_needed_for_one_s_own(deeds: Path, detail: str) -> None:
    watched = watch(detail, "--", deeds, "many", 3, before=tuple(NOBODY))

    assert len(watched.processes) == 4
    assert watched.end["lost_events"] == 0
    assert all(one["reads"] is not None for one in watched.processes)


def test_what_is_traced_already_is_refused_with_its_tracer(deeds: Path) -> None:
    with (
        running(deeds, "endless", stdout=subprocess.DEVNULL) as process,
        monitor_runs.begun("--backend", "ptrace", "--detail", "life", "-p", process.pid) as first,
    ):
        first.await_record("watch")
        second = watch("life", "-p", process.pid)

    assert f"process {first.process.pid} traces it already" in second.errors


@pytest.mark.parametrize(("detail", "word"), [("budget", "window"), ("profile", "sample")])
def test_what_tracing_cannot_do_is_refused_with_the_reason(detail: str, word: str) -> None:
    watched = watch(detail, "--", "true")

    assert watched.status == 77
    assert word in watched.errors


def test_a_command_that_cannot_be_executed_leaves_no_process() -> None:
    watched = watch("calls", "--", "/nonexistent")

    assert watched.processes == []
    assert watched.status == 127
