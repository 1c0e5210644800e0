"""What the monitor says that a process used, against what wait4 says of the same process.

tests/monitor/lives.c lets children live and prints wait4's account of each. What the kernel has counted for
wait4 and what it has counted for anybody else is one number: they are compared to the microsecond, wait4's
unit, and not to a tolerance.
"""

import subprocess
from pathlib import Path

import c_programs
import monitor_runs
import pytest
from lives import Life, paired
from monitor_runs import Record

KINDS = ("brief", "long", "memory", "sleeps", "calls", "killed", "none", "status")
MANY = 2000


@pytest.fixture(scope="module")
def lives() -> Path:
    return c_programs.program("tests/monitor/lives")


@pytest.fixture(scope="module")
def each(lives: Path) -> list[tuple[Life, Record]]:
    watched = monitor_runs.watch("--detail", "life", "--", lives, "5", *KINDS)
    assert watched.status == 0
    return paired(watched)


@pytest.mark.bpf
def test_run_time_and_its_split_are_those_of_wait4_to_the_microsecond(
    each: list[tuple[Life, Record]],
) -> None:
    for life, record in each:
        assert (record["cpu_user_ns"] // 1000, record["cpu_system_ns"] // 1000) == (
            life.user_us,
            life.system_us,
        ), life
        assert record["cpu_user_ns"] + record["cpu_system_ns"] == record["run_ns"], life


@pytest.mark.bpf
def test_faults_and_switches_are_those_of_wait4(each: list[tuple[Life, Record]]) -> None:
    for life, record in each:
        names = ("faults_minor", "faults_major", "switches_voluntary", "switches_involuntary")
        assert [record[name] for name in names] == [
            life.minor,
            life.major,
            life.voluntary,
            life.involuntary,
        ], life
        if life.kind == "memory":
            assert life.minor >= 16 * 256 + 4 * 256
        if life.kind == "sleeps":
            assert life.voluntary >= 20


@pytest.mark.bpf
def test_the_peak_of_memory_is_that_of_wait4(each: list[tuple[Life, Record]]) -> None:
    for life, record in each:
        assert record["memory_peak"] == 1024 * life.peak_kib, life


@pytest.mark.bpf
def test_ends_are_those_of_wait4(each: list[tuple[Life, Record]]) -> None:
    for life, record in each:
        by_signal = life.status & 0x7F
        assert record["signal"] == (by_signal or None), life
        assert record["status"] == (None if by_signal else life.status >> 8), life
        assert record["begin_ns"] <= record["watched_ns"] < record["end_ns"], life


@pytest.mark.quiet
@pytest.mark.bpf
def test_what_sleeps_is_blocked_and_what_computes_is_not(each: list[tuple[Life, Record]]) -> None:
    for life, record in each:
        span = record["end_ns"] - record["begin_ns"]
        assert 0 <= record["blocked_ns"] <= span, life
        if life.kind == "sleeps":
            assert record["blocked_ns"] >= 20_000_000, life
        elif life.kind in ("brief", "long", "calls"):
            assert record["blocked_ns"] < 0.1 * span + 1_000_000, life


@pytest.mark.bpf
def test_thousands_of_short_lives_are_all_accounted_for(lives: Path) -> None:
    watched = monitor_runs.watch("--detail", "life", "--", lives, str(MANY), "none")

    lost = [watched.end[name] for name in ("lost_slots", "lost_calls", "lost_events")]
    assert lost == [0, 0, 0]
    pairs = paired(watched)
    assert len(pairs) == MANY
    parent = next(one for one in watched.processes if one["generation"] == 0)
    assert parent["children"] == MANY
    different = [
        life
        for life, record in pairs
        if record["run_ns"] is None or not 0 <= record["run_ns"] // 1000 - life.user_us - life.system_us <= 1
    ]
    assert different == []


@pytest.mark.bpf
def test_no_process_runs_for_longer_in_windows_than_they_lasted() -> None:
    busy = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1"], stderr=subprocess.DEVNULL)
    try:
        watched = monitor_runs.watch("--detail", "budget", "--for", 1_500_000_000, "-p", busy.pid)
    finally:
        busy.kill()
        busy.wait()

    (process,) = watched.processes
    assert process["windows"] > 0
    assert process["windows_active"] <= process["windows"]
    assert process["windows_run_ns"] + process["windows_hook_ns"] <= process["windows_ns"]
    assert not process["exact"]
    assert process["windows_run_ns"] + process["windows_hook_ns"] <= process["missed_run_ns"]
    assert process["missed_run_ns"] < process["run_ns"]
    assert process["windows_ns"] <= process["run_ns"] + process["wait_ns"] + process["blocked_ns"]


@pytest.mark.bpf
def test_a_process_is_sampled_no_oftener_than_the_clock_ticks() -> None:
    watched = monitor_runs.watch(
        "--detail", "profile", "--", "sh", "-c", "while [ $((i += 1)) -lt 800000 ]; do :; done"
    )

    (process,) = watched.processes
    in_calls = sum(call["samples"] for call in process["calls"].values())
    samples = (process["samples_user"] or 0) + (process["samples_kernel"] or 0) + in_calls
    period = watched.of("watch")[0]["sample_ns"]
    assert 0 < samples <= (process["end_ns"] - process["begin_ns"]) / period + 2
