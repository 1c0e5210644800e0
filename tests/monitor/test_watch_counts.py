"""The monitor's counts of system calls against what is known: the text of a program that makes no others.

What each verb of tests/monitor/known.c makes stands here once more, process by process. strace -f -c is
asked the same where it can say: it counts no exit, loses the call by which its caller is killed, drops
numbers that nobody has, and may have a sleep that was stopped restarted once more than without it.

STEELYARD_WATCH_REPETITIONS repeats every comparison so often (once if it is not set).
"""

import io
import json
import os
import subprocess
from pathlib import Path

import c_programs
import monitor_runs
import pytest
from known_calls import (
    FIRST,
    KNOWN,
    end_of,
    expected,
    found,
    strace_and_text,
    tries,
    watch_of,
)
from monitor_runs import added, counts, told

from steelyard.watch import accounts, records

REPETITIONS = int(os.environ.get("STEELYARD_WATCH_REPETITIONS", "1"))
# As much as a processor has: no storm of another test uses that up, however long the watch waits for one.
PLENTY = ("--budget", "1000000")
BACKENDS = [pytest.param("bpf", marks=pytest.mark.bpf), pytest.param("ptrace", marks=pytest.mark.ptrace)]

pytestmark = pytest.mark.skipif(
    monitor_runs.without_libc() is not None, reason=str(monitor_runs.without_libc())
)


@pytest.fixture(scope="module")
def known() -> Path:
    return c_programs.program("tests/monitor/known")


@pytest.mark.parametrize("verb", KNOWN)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_call_of_every_process_is_counted_once(known: Path, backend: str, verb: str) -> None:
    for _ in range(REPETITIONS):
        words = ("--detail", "calls", "--backend", backend, "--", known, *verb.split())
        watched = watch_of(verb, lambda words=words: monitor_runs.watch(*words))

        assert found(watched.processes) == expected(verb)
        assert (watched.end["lost_slots"], watched.end["lost_calls"], watched.end["lost_events"]) == (0, 0, 0)
        assert watched.status == next(end for generation, end, _ in KNOWN[verb] if generation == 0)


@pytest.mark.bpf
@pytest.mark.parametrize("verb", ["plain", "threads", "signals", "vforks", "refused", "thread_exec"])
def test_timing_calls_counts_them_as_well(known: Path, verb: str) -> None:
    watched = monitor_runs.watch("--detail", "latency", "--", known, *verb.split())

    assert found(watched.processes) == expected(verb)
    for record in watched.processes:
        for name, call in record["calls"].items():
            # A call that never returns took no time, and one that was not seen to begin has none to tell.
            if name in ("exit", "exit_group", "execve", "rt_sigreturn", "other"):
                continue
            if verb == "refused" and name == "getppid":  # by seccomp, before anybody is told of its beginning
                assert (call["histogram"], call["time_ns"]) == (None, None)
                continue
            assert sum(call["histogram"]) == call["calls"], name
            assert call["time_ns"] > 0, name


@pytest.mark.bpf
@pytest.mark.parametrize("verb", KNOWN)
def test_within_the_budget_what_is_short_is_counted_one_by_one(known: Path, verb: str) -> None:
    for _ in range(REPETITIONS):
        watched = watch_of(verb, lambda: monitor_runs.watch(*PLENTY, "--", known, *verb.split()))

        assert [one["exact"] for one in watched.processes] == [True] * len(watched.processes)
        assert found(watched.processes) == expected(verb)
        for one in [*watched.processes, watched.end["total"]]:
            assert all(call["expanded"] == call["calls"] for call in one["calls"].values())


@pytest.mark.quiet
@pytest.mark.bpf
@pytest.mark.parametrize("verb", ["plain", "forks", "orphan", "many 30"])
def test_the_budget_by_default_is_enough_for_what_is_short(known: Path, verb: str) -> None:
    """A call of any process of the machine is paid for, and the price is measured on it: so it has three
    tries."""
    for _ in range(3):
        watched = monitor_runs.watch("--", known, *verb.split())
        if all(one["exact"] for one in watched.processes):
            break

    assert [one["exact"] for one in watched.processes] == [True] * len(watched.processes)
    assert found(watched.processes) == expected(verb)


@pytest.mark.bpf
def test_each_thread_says_whether_it_was_counted_one_by_one(known: Path) -> None:
    watched = monitor_runs.watch(*PLENTY, "--threads", "--", known, "threads")

    assert [one["exact"] for one in watched.threads] == [True] * 5
    assert added([counts(one) for one in watched.threads]) == added([told(KNOWN["threads"][0][2])])


@pytest.mark.bpf
@pytest.mark.parametrize("verb", ["plain", "forks", "threads", "many 30", "at_once 10", "killed"])
def test_with_hardly_a_budget_what_is_said_to_be_counted_was(known: Path, verb: str) -> None:
    """A few thousand calls, by whomever, use it up, before or amid the program."""
    right = expected(verb)
    for _ in range(5 * REPETITIONS):
        watched = monitor_runs.watch("--budget", "1", "--", known, *verb.split())

        assert len(watched.processes) == len(right)
        for one in found([one for one in watched.processes if one["exact"]]):
            assert one in right


TIDES = {
    0: "pipe 1, close 1, fork 83, wait4 83, nanosleep 80, execve 1, exit_group 1",
    1: "getppid 1200000, exit_group 1",
    2: "getuid 7, exit_group 1",
    3: "close 1, clone 1, read 2, getgid 9, gettid 5, exit 1, exit_group 1",
}


@pytest.mark.quiet
@pytest.mark.bpf
def test_counting_one_by_one_ends_in_a_storm_and_begins_again_after_it(known: Path) -> None:
    """Who is said to have been counted one by one has been, and neither who slept through a storm nor who
    came after it is the worse for it. Which budget a storm exceeds depends on the machine, and whoever else
    storms on it just then uses the same: then another time. A monitor that did not get the processor in a
    storm has overdrawn its credit, and needs a longer pause to regain it."""
    for budget, pause_ms in (("20000", 50), ("10000", 50), ("5000", 50), ("10000", 150), ("5000", 150)):
        watched = monitor_runs.watch("--budget", budget, "--", known, "tides", "2", str(pause_ms))

        by_time = sorted(watched.processes, key=lambda one: one["begin_ns"])
        assert len(by_time) == 84
        for one in by_time:
            text = told(TIDES[end_of(one)])
            if one["exact"]:
                assert counts(one) == text
                assert one["missed_run_ns"] == one["windows_active"] == 0
            else:
                assert all(
                    call["in_windows"] <= call["calls"] <= text[name][0]
                    for name, call in one["calls"].items()
                )
                assert one["missed_run_ns"] <= one["run_ns"]
        turns = "".join("+" if one["exact"] else "-" for one in by_time if end_of(one) in (1, 2))
        sleepers = [one["exact"] for one in by_time if end_of(one) == 3]
        if turns.count("-+") >= 2 and sleepers == [True]:
            break
    else:
        pytest.fail(f"never twice away and back: {turns}, and the sleeper {sleepers}")
    assert not watched.end["total"]["exact"]
    # The parent forked both in storms and in between.
    assert [one["exact"] for one in by_time if one["generation"] == 0] == [False]


@pytest.mark.bpf
@pytest.mark.strace
@pytest.mark.parametrize(
    "command",
    [
        "ls / >/dev/null",
        "ls -l / >/dev/null; ls /nowhere; false",
        "dd if=/dev/zero of=/dev/null bs=1 count=900",
    ],
)
def test_within_the_budget_a_short_command_has_the_counts_of_strace(command: str, tmp_path: Path) -> None:
    watched = monitor_runs.watch(*PLENTY, "--", "sh", "-c", command)

    ours = added([counts(one) for one in watched.processes])
    ours.pop("exit_group")  # strace counts what returns
    assert watched.end["total"]["exact"]
    assert ours == monitor_runs.by_strace(["sh", "-c", command], tmp_path)


@pytest.mark.strace
@pytest.mark.parametrize("verb", KNOWN)
def test_strace_counts_the_same_where_it_counts(known: Path, tmp_path: Path, verb: str) -> None:
    for _ in range(REPETITIONS):
        for _ in tries(verb):
            by_strace, by_text = strace_and_text(known, verb, tmp_path)
            if by_strace == by_text:
                break

        assert by_strace == by_text


@pytest.mark.bpf
def test_each_thread_is_counted_by_itself(known: Path) -> None:
    watched = monitor_runs.watch("--detail", "calls", "--threads", "--", known, "threads")

    others = [one for one in watched.threads if one["thread"] != one["pid"]]
    assert len(others) == 4
    for one in others:
        assert counts(one) == told("gettid 2500, close 100/100, exit 1")
    first = [one for one in watched.threads if one["thread"] == one["pid"]]
    assert [counts(one) for one in first] == [told(f"clone 4, getppid 50, {FIRST}")]
    assert [one["threads"] for one in watched.processes] == [5]


@pytest.mark.bpf
@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_of_the_32_bit_table_stand_by_themselves(known: Path, backend: str) -> None:
    if subprocess.run([known, "old_calls"], check=False).returncode:
        pytest.skip("this kernel lets no 32-bit calls be made")

    watched = monitor_runs.watch("--detail", "calls", "--backend", backend, "--", known, "old_calls")

    assert found(watched.processes) == [
        (0, 0, told(f"getppid/32 9, close/32 4/4, getpid 2, {FIRST}")),
    ]


@pytest.mark.bpf
@pytest.mark.root
def test_a_pid_that_is_used_again_is_another_process(known: Path) -> None:
    watched = monitor_runs.watch("--detail", "calls", "--", known, "reuse")
    if watched.status == 77:
        pytest.skip("a process's number cannot be chosen here")

    children = sorted(
        (one for one in watched.processes if one["generation"] == 1), key=lambda one: one["begin_ns"]
    )
    assert len({one["pid"] for one in children}) == 1
    assert len({one["begin_ns"] for one in children}) == 3
    assert [counts(one)["getppid"] for one in children] == [(10, 0), (20, 0), (40, 0)]
    assert [end_of(one) for one in children] == [0, 1, 2]


@pytest.mark.bpf
def test_what_finds_no_slot_is_counted_as_lost_and_in_the_totals(known: Path) -> None:
    """Two slots: the parent's and that of the first of ten children that live at one time."""
    watched = monitor_runs.watch("--detail", "calls", "--slots", "2", "--", known, "at_once", "10")

    assert watched.end["lost_slots"] == 9
    assert watched.end["lost_calls"] == 0
    assert watched.status == 0


@pytest.mark.bpf
@pytest.mark.quiet
@pytest.mark.parametrize("detail", ["life", "budget", "calls", "latency"])
def test_slots_are_given_back_as_fast_as_processes_come(known: Path, detail: str) -> None:
    """A host that takes the monitor's processor for a quarter of a second lets 1,500 processes come
    meanwhile. So it has three tries; whatever the host does, who finds no slot is counted."""
    for _ in range(3):
        watched = monitor_runs.watch("--detail", detail, "--", known, "many", "4000")
        children = [one for one in watched.processes if one["generation"] == 1]
        assert watched.end["lost_slots"] + len(children) == 4000
        if detail in ("calls", "latency"):
            assert sum(counts(one)["getppid"][0] for one in children) == 3 * len(children)
            assert counts(watched.end["total"])["getppid"][0] >= 3 * 4000
        if not watched.end["lost_slots"]:
            return
    pytest.fail("slots ran out in each of three tries")


@pytest.mark.bpf
def test_who_reads_late_loses_nothing(known: Path) -> None:
    """Nobody reads before the watch is over; a pipe as it is made would hold some 40 of these processes."""
    with subprocess.Popen(
        [monitor_runs.program(), "--detail", "latency", "--", known, "many", "400"], stdout=subprocess.PIPE
    ) as monitor:
        assert monitor.stdout is not None
        monitor.wait(monitor_runs.ENOUGH_S)
        records = [json.loads(line) for line in monitor.stdout]

    assert records[-1]["lost_slots"] == 0
    assert sum(one["record"] == "process" and one["generation"] == 1 for one in records) == 400


@pytest.mark.bpf
@pytest.mark.parametrize("verb", ["forks", "threads", "at_once 10"])
@pytest.mark.parametrize("slots", ["", "--slots 3"])
def test_the_total_at_the_end_is_that_of_all_processes(known: Path, slots: str, verb: str) -> None:
    watched = monitor_runs.watch("--detail", "calls", *slots.split(), "--", known, *verb.split())

    whole = added([told(text) for _, _, text in KNOWN[verb]])
    assert counts(watched.end["total"]) == whole
    if not watched.end["lost_slots"]:
        for figure in ("run_ns", "faults_minor", "switches_voluntary", "reads"):
            assert watched.end["total"][figure] == sum(one[figure] for one in watched.processes), figure


@pytest.mark.bpf
def test_calls_made_while_counts_are_put_aside_are_counted_once(known: Path) -> None:
    """With so few slots, threads end and the counts of those that go on are put aside, while they call."""
    for _ in range(12):
        watched = monitor_runs.watch("--detail", "calls", "--slots", "3", "--", known, "threads")

        assert counts(watched.end["total"]) == added([told(text) for _, _, text in KNOWN["threads"]])


@pytest.mark.bpf
def test_every_end_is_told(known: Path) -> None:
    """Whatever runs where the kernel frees the ended, and whatever that does to hooks."""
    for _ in range(8):
        watched = monitor_runs.watch("--detail", "calls", "--", known, "many", "600")

        assert len(watched.processes) == 601
        assert all(one["run_ns"] is not None and one["end_ns"] is not None for one in watched.processes)
        assert watched.end["lost_events"] == 0


@pytest.mark.bpf
@pytest.mark.quiet
def test_among_short_processes_a_call_made_once_is_in_its_interval() -> None:
    """At the end, amid windows alone: those calls use up that budget at whatever price. What no window held
    has no row, and is bounded all the same."""
    script = "i=0; while [ $i -lt 800 ]; do /bin/true; i=$((i+1)); done; umask 022"
    watched = monitor_runs.watch("--budget", "50", "--", "sh", "-c", script)
    found = records.read(io.BytesIO(watched.text))
    assert found is not None
    whole = accounts.of(found).total

    assert whole.exact is False
    assert whole.calls is not None
    assert whole.calls_unlisted_high is None or whole.calls_unlisted_high > 3
    estimate = whole.calls["umask"].calls if "umask" in whole.calls else None
    if estimate is not None:
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low <= 1 <= estimate.high
