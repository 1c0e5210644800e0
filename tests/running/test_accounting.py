"""The monitor asked for marks: by a fake one, and by the real one where it can watch."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from patience import patience
from stand_in_monitor import FAKE_WATCH

from steelyard.errors import Unsupported
from steelyard.events import Called, Figure
from steelyard.running import host_monitor
from steelyard.running.host_monitor import HostMonitor
from steelyard.watch.model import Call, Mark, Process


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the fake monitor notes what it was told; the fake one is the monitor from here on."""
    monkeypatch.setenv("STEELYARD_WATCH", str(FAKE_WATCH))
    monkeypatch.setenv("STEELYARD_FAKE_WATCH", f"log={tmp_path / 'log'}")
    return tmp_path / "log"


def _behave(monkeypatch: pytest.MonkeyPatch, log: Path, words: str) -> None:
    monkeypatch.setenv("STEELYARD_FAKE_WATCH", f"log={log} {words}")


def _told(log: Path) -> list[str]:
    return [line.partition(" ")[2] for line in log.read_text().splitlines()]


def _mark(
    at_ns: int, calls: dict[str, tuple[float, float | None]] | None = None, **figures: int | None
) -> Mark:
    return Mark("x", at_ns, 1, figures, calls)


# --- the difference of two marks


def test_what_was_between_is_the_difference_of_two_marks() -> None:
    before = _mark(100, {"read": (10, 1), "write": (3, 0)}, cpu_user_ns=5, faults_minor=7)
    after = _mark(400, {"read": (15, 1), "write": (3, 0), "close": (2, 2)}, cpu_user_ns=25, faults_minor=7)

    found = host_monitor.between(before, after)

    assert found.figures == (Figure("span_ns", 300), Figure("cpu_user_ns", 20), Figure("faults_minor", 0))
    assert found.calls == (Called("close", 2, 2), Called("read", 5, 0))


def test_what_is_not_known_is_left_out_and_never_0() -> None:
    before = _mark(0, None, cpu_user_ns=None, wait_ns=9, signals=4)
    after = _mark(1, {"read": (1, None)}, cpu_user_ns=3, wait_ns=None, signals=3)

    assert host_monitor.between(before, after) == host_monitor.Difference((Figure("span_ns", 1),), None)
    counted = host_monitor.between(_mark(0, {}), _mark(1, {"read": (1, None)}))
    assert counted.calls == (Called("read", 1, None),)


def test_of_what_the_monitor_lost_something_nothing_but_the_time_is_known() -> None:
    before = replace(_mark(100, {"read": (10, 1)}, cpu_user_ns=5), lost=2)
    after = replace(_mark(400, {"read": (15, 1)}, cpu_user_ns=25), lost=3)

    found = host_monitor.between(before, after)

    assert found == host_monitor.Difference((Figure("span_ns", 300),), None, is_whole=False)
    assert host_monitor.between(before, replace(after, lost=2)).is_whole
    assert host_monitor.between(replace(before, lost=None), replace(after, lost=None)).is_whole


def test_a_split_of_run_time_that_shifted_keeps_its_sum() -> None:
    before = _mark(0, None, cpu_user_ns=50, cpu_system_ns=10)
    after = _mark(1, None, cpu_user_ns=47, cpu_system_ns=33)

    figures = {one.figure: one.value for one in host_monitor.between(before, after).figures}
    assert (figures["cpu_user_ns"], figures["cpu_system_ns"]) == (0, 20)


def _blank(kind: Any, **known: object) -> Any:
    """One of that kind of which nothing else is known."""
    return kind(**{one.name: None for one in fields(kind)} | known)


def _ended(generation: int, program: str, **calls: int) -> Process:
    made = {name: _blank(Call, calls=count, errors=1) for name, count in calls.items()}
    found: Process = _blank(Process, generation=generation, program=program, calls=made)
    return found


def test_what_the_server_called_stands_apart_from_its_clients() -> None:
    """What the trial's own program did, in whatever process, is the clients'."""
    ended = [_ended(4, "nginx", read=3, writev=5), _ended(2, "exe", read=4), _ended(1, "exe", read=10)]
    calls = [Called("read", 20, 2), Called("writev", 5, None), Called("poll", 1, 0)]

    assert host_monitor.apart(calls, ended) == (
        Called("read", 17, 1),
        Called("server read", 3, 1),
        Called("server writev", 5, None),
        Called("poll", 1, 0),
    )
    assert host_monitor.apart(calls, []) == tuple(calls)


# --- the monitor as a child


@pytest.mark.program
def test_marks_are_asked_for_by_name_and_the_watch_ends_with_its_control(log: Path) -> None:
    accountant = HostMonitor(os.getpid(), detail="life", may_stop=True)
    first, second = accountant.mark(), accountant.mark()
    accountant.close()
    accountant.close()

    assert first is not None
    assert second is not None
    assert (first.id, second.id) == ("1", "2")
    assert second.figures["cpu_user_ns"] == 2000
    assert first.calls is None
    told = _told(log)
    assert told[1:] == ["mark 1", "mark 2", "end"]
    assert told[0].endswith(f"--detail life -p {os.getpid()}")


@pytest.mark.program
def test_a_monitor_that_dies_gives_no_mark_and_no_error(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _behave(monkeypatch, log, "die=2")
    accountant = HostMonitor(os.getpid(), detail="calls", may_stop=True)

    assert accountant.mark() is not None
    assert [accountant.mark(), accountant.mark()] == [None, None]
    accountant.close()


@pytest.mark.program
def test_a_monitor_that_answers_late_is_not_asked_again(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _behave(monkeypatch, log, "mute=1")
    monkeypatch.setattr(host_monitor, "_MARK_LIMIT_S", 0.1)
    accountant = HostMonitor(os.getpid(), detail="life", may_stop=True)

    assert [accountant.mark(), accountant.mark()] == [None, None]
    accountant.close()


@pytest.mark.program
def test_where_no_backend_works_the_reason_is_told(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _behave(monkeypatch, log, "refuse")

    with pytest.raises(Unsupported, match="the monitor has ended: no backend works here"):
        HostMonitor(os.getpid(), detail="life", may_stop=True)


def test_without_the_monitor_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_WATCH", "/nowhere/steelyard-watch")

    with pytest.raises(Unsupported, match="STEELYARD_WATCH is '/nowhere/steelyard-watch'"):
        HostMonitor(os.getpid(), detail="life", may_stop=True)


@pytest.mark.program
@pytest.mark.parametrize(
    ("words", "backend"),
    [
        ("backend=taskstats", "taskstats"),
        ("backend=perf also=taskstats,proc", "taskstats"),
        ("backend=ptrace", "proc"),
    ],
)
def test_what_is_timed_is_watched_by_what_does_not_disturb_it(
    log: Path, monkeypatch: pytest.MonkeyPatch, words: str, backend: str
) -> None:
    _behave(monkeypatch, log, words)

    accountant = HostMonitor(os.getpid(), detail="life", may_stop=True)
    accountant.close()

    assert accountant.head.backend == backend


@pytest.mark.program
def test_where_everything_would_disturb_what_is_timed_it_is_not_watched(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _behave(monkeypatch, log, "backend=perf also=none")

    with pytest.raises(Unsupported, match=r"only perf works here, .*taskstats: .*; proc: "):
        HostMonitor(os.getpid(), detail="life", may_stop=True)


@pytest.mark.program
def test_calls_are_counted_by_stopping_processes_only_where_that_is_allowed(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _behave(monkeypatch, log, "backend=ptrace")

    with pytest.raises(Unsupported, match=r"only ptrace works here, .* \(bpf: not root\)"):
        HostMonitor(os.getpid(), detail="calls", may_stop=False)
    accountant = HostMonitor(os.getpid(), detail="calls", may_stop=True)
    accountant.close()

    assert accountant.head.backend == "ptrace"


@pytest.mark.program
def test_the_monitor_ends_when_the_laboratory_is_killed(log: Path, tmp_path: Path) -> None:
    script = (
        "import os, time\n"
        "from steelyard.running.host_monitor import HostMonitor\n"
        "one = HostMonitor(os.getpid(), detail='life', may_stop=True)\n"
        "one.mark()\n"
        "print('up', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as laboratory:
        assert laboratory.stdout is not None
        assert laboratory.stdout.readline() == b"up\n"
        laboratory.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + patience(10)
    while _told(log)[-1] != "end" and time.monotonic() < deadline:
        time.sleep(0.02)

    assert _told(log)[-1] == "end"


# --- the real one


COUNTER = (
    "import os, sys\n"
    "for line in sys.stdin:\n"
    "    for _ in range(int(line)): os.getppid()\n"
    "    os.write(1, b'done\\n')\n"
)


@pytest.mark.program
def test_the_calls_of_a_process_between_two_marks_are_counted_exactly(real: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", COUNTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as watched:
        assert watched.stdin is not None
        assert watched.stdout is not None

        def call(count: int) -> None:
            assert watched.stdin is not None
            assert watched.stdout is not None
            watched.stdin.write(f"{count}\n")
            watched.stdin.flush()
            assert watched.stdout.readline() == "done\n"

        call(1)
        accountant = HostMonitor(watched.pid, detail="calls", may_stop=True)
        before = accountant.mark()
        call(10_007)
        after = accountant.mark()
        accountant.close()
        watched.stdin.close()

    assert before is not None
    assert after is not None
    found = host_monitor.between(before, after)
    assert found.calls is not None
    counts = {one.call: (one.calls, one.errors) for one in found.calls}
    assert counts["getppid"] == (10_007, 0)
    assert counts["write"] == (1, 0)
    figures = {one.figure: one.value for one in found.figures}
    assert figures["run_ns"] > 0  # of the scheduler; user and system time may be counted by ticks
    assert figures["span_ns"] > 0


@pytest.mark.program
def test_many_processes_between_two_marks_are_all_in_them_though_nobody_reads(
    real: Path,
) -> None:
    script = "while read count; do i=0; while [ $i -lt $count ]; do (:); i=$((i+1)); done; echo done; done"
    with subprocess.Popen(
        ["/bin/sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as watched:
        assert watched.stdin is not None
        assert watched.stdout is not None
        accountant = HostMonitor(watched.pid, detail="life", may_stop=True)
        before = accountant.mark()
        watched.stdin.write("500\n")  # records of that many would not fit into a pipe
        watched.stdin.flush()
        assert watched.stdout.readline() == "done\n"
        after = accountant.mark()
        accountant.close()
        watched.stdin.close()

    assert before is not None
    assert after is not None
    assert before.processes is not None
    assert after.processes == before.processes + 500
    figures = {one.figure: one.value for one in host_monitor.between(before, after).figures}
    assert figures["faults_minor"] > 500
