"""The laboratory's own standstill is blamed on no system and charged to no budget; it leaves a terminal in
order."""

import contextlib
import fcntl
import json
import os
import pty
import re
import selectors
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from installed_command import COMMAND
from patience import patience
from processes import family

from steelyard import standstill
from steelyard.archive import journal
from steelyard.study.model import Cell

STUDY = """
name = "slow"
title = "slow"
[design]
blocks = {blocks}
budget = "{budget}"
trial_limit = "2s"
[[workload]]
name = "command"
command = "sleep 1.2"
"""
SILENT_S = 2.0 + 5.0  # the trial's limit, and as long again as an agent may take to say that it is over


class Clocks:
    """Clocks that go on as a test wants; what waits sees the time that it asked for pass, and more."""

    def __init__(self) -> None:
        self.now, self.asleep, self.used, self.late = 100.0, 5.0, 0.0, 0.0

    def monotonic(self) -> float:
        return self.now

    def boottime(self) -> float:
        return self.now + self.asleep

    def processor(self) -> float:
        return self.used


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    found = Clocks()
    for name in ("monotonic", "boottime", "processor"):
        monkeypatch.setattr(standstill.clocks, name, getattr(found, name))
    monkeypatch.setattr(standstill, "_state", standstill._State())
    return found


class Waits:
    """A selector for which nothing ever comes, and whose process is not let run for a while, once."""

    def __init__(self, clocks: Clocks, late_s: float) -> None:
        self.clocks, self.late_s = clocks, late_s
        self.waits: list[float] = []

    def select(self, seconds: float) -> list[Any]:
        self.waits.append(seconds)
        self.clocks.now += seconds + self.late_s
        self.late_s = 0.0
        return []


def test_a_limit_does_not_run_down_while_the_process_may_not_run(clocks: Clocks) -> None:
    waits = Waits(clocks, late_s=60.0)
    begun = standstill.clock()

    assert not standstill.wait(waits, 10.0)  # type: ignore[arg-type]

    assert standstill.clock() - begun == pytest.approx(10.0)
    assert clocks.now == pytest.approx(170.0)
    (one,) = standstill.all_so_far()
    assert (one.why, one.seconds) == (standstill.HELD, pytest.approx(60.0))


def test_a_machine_that_is_only_busy_is_no_standstill(clocks: Clocks) -> None:
    waits = Waits(clocks, late_s=1.5)

    standstill.wait(waits, 10.0)  # type: ignore[arg-type]

    assert standstill.all_so_far() == ()


def test_a_suspended_machine_is_noticed_and_its_sleep_is_told(clocks: Clocks) -> None:
    before = standstill.clock()
    clocks.asleep += 3600.0

    assert standstill.clock() == before  # the monotonic clock slept, too
    assert [(one.why, one.seconds) for one in standstill.all_so_far()] == [(standstill.SUSPENDED, 3600.0)]


def test_what_was_reckoned_is_no_part_of_a_stop(clocks: Clocks) -> None:
    """SIGCONT comes after 50 s without a sign of life, of which this process has reckoned for 20."""
    begun = standstill.clock()
    clocks.now, clocks.used = clocks.now + 50.0, clocks.used + 20.0

    standstill._continued(signal.SIGCONT, None)

    assert standstill.clock() - begun == pytest.approx(20.0)


def test_who_has_a_real_selector_hears_what_is_there() -> None:
    reading, writing = os.pipe()
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        assert not standstill.wait(selector, 0.0)
        os.write(writing, b"x")
        assert standstill.wait(selector, 1000.0)
    os.close(reading)
    os.close(writing)


def _lines(archive: Path) -> list[dict[str, Any]]:
    """Of the archive's only journal."""
    return [
        json.loads(line)
        for file in archive.glob("experiments/*/journal.jsonl")
        for line in file.read_bytes().split(b"\n")[:-1]
    ]


def _until(is_so: Callable[[], bool], running: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + patience(100)
    while not is_so():
        assert time.monotonic() < deadline
        assert running.poll() is None, running.communicate()
        time.sleep(0.02)


def _trials(archive: Path) -> list[dict[str, Any]]:
    return [line for line in _lines(archive) if line["kind"] == "trial"]


@contextlib.contextmanager
def _begun(tmp_path: Path, *, blocks: int = 2, budget: str = "60s") -> Iterator[subprocess.Popen[str]]:
    """A run with its first trial done. It is over when the context is left."""
    (tmp_path / "slow.toml").write_text(STUDY.format(budget=budget, blocks=blocks))
    with subprocess.Popen(
        [
            *(COMMAND, "run", tmp_path / "slow.toml", "--systems", "native", "native", "--no-watch"),
            *("--archive", tmp_path / "archive"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_as_at_a_terminal,
    ) as running:
        try:
            _until(lambda: bool(_trials(tmp_path / "archive")), running)
            yield running
        finally:
            if running.poll() is None:
                running.kill()


def _as_at_a_terminal() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGCONT):
        signal.signal(number, signal.SIG_DFL)


def _is_the_workload(process: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes() == b"sleep\0001.2\0"
    return False


def _state_of(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.program
@pytest.mark.parametrize(
    ("number", "whom"),
    [
        (signal.SIGSTOP, "one"),
        pytest.param(signal.SIGTSTP, "one", marks=pytest.mark.long),
        (signal.SIGTSTP, "group"),
    ],
)
def test_a_stop_of_the_laboratory_fails_no_trial_and_is_not_charged(
    tmp_path: Path, number: signal.Signals, whom: str
) -> None:
    send = os.kill if whom == "one" else os.killpg
    with _begun(tmp_path) as running:
        _until(lambda: any(map(_is_the_workload, family(running.pid))), running)

        send(running.pid, number)
        _until(lambda: _state_of(running.pid) == "T", running)
        time.sleep(SILENT_S + 1.5)
        send(running.pid, signal.SIGCONT)
        _, said = running.communicate(timeout=patience(100))
    (experiment,) = (tmp_path / "archive" / "experiments").iterdir()
    words = ("archive", "reopen", experiment.name, "--archive", tmp_path / "archive")
    subprocess.run([COMMAND, *words], check=True, capture_output=True)
    lines = _lines(tmp_path / "archive")

    (stop,) = [line for line in lines if line["kind"] == "stop"]
    assert stop["reason"] == standstill.STOPPED
    assert stop["stopped_s"] >= SILENT_S
    statuses = [line["status"] for line in lines if line["kind"] == "trial"]
    assert "set aside" in statuses
    assert set(statuses) <= {"ok", "set aside"}
    assert running.returncode == 0
    assert "did not answer" not in said
    assert "that time does not count against the budget" in said.replace("\n", " ")


@pytest.mark.program
def test_the_journal_s_account_of_time_leaves_a_stop_out(tmp_path: Path) -> None:
    with _begun(tmp_path, blocks=50) as running:
        os.kill(running.pid, signal.SIGSTOP)
        time.sleep(3.0)
        os.kill(running.pid, signal.SIGCONT)
        continued = time.time()
        _until(lambda: _trials(tmp_path / "archive")[-1]["began"] > continued, running)
        lines = _lines(tmp_path / "archive")

    spent_s = journal.earlier(
        lines, {one["cell"]: Cell("command") for one in _trials(tmp_path / "archive")}
    ).spent_s
    (stop,) = [line for line in lines if line["kind"] == "stop"]
    wall_s = lines[-1]["recorded"] - (lines[0]["recorded"] - lines[0]["start_s"])
    assert stop["stopped_s"] >= 3.0
    assert spent_s == pytest.approx(wall_s - stop["stopped_s"], abs=0.01)


@pytest.mark.quiet
@pytest.mark.program
def test_ctrl_z_leaves_a_terminal_with_its_cursor_and_fg_draws_again(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    (tmp_path / "slow.toml").write_text(STUDY.format(budget="60s", blocks=20))  # it is over by Ctrl-C
    process, terminal = pty.fork()
    if process == 0:
        _as_at_a_terminal()
        os.environ["TERM"] = "xterm"
        words = (COMMAND, "run", tmp_path / "slow.toml", "--systems", "native", "native", "--no-watch")
        os.execv(COMMAND, [*map(str, words), "--archive", str(archive)])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    before = _read_until(terminal, lambda _: bool(_trials(archive)))
    os.write(terminal, b"\x1a")
    _, status = os.waitpid(process, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    _read_until(terminal, lambda written: _cursor(before + written) == "shown")
    time.sleep(1.5)
    os.kill(process, signal.SIGCONT)
    known = len(_trials(archive))
    # The screen is there again.
    _read_until(terminal, lambda written: _cursor(written) == "hidden" and b"of 1:00" in written)
    _read_until(terminal, lambda _: len(_trials(archive)) > known + 1)
    os.write(terminal, b"\x03")
    rest = b""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 1 << 16):
            rest += part
    _, status = os.waitpid(process, 0)
    os.close(terminal)

    assert os.waitstatus_to_exitcode(status) == 130
    assert _cursor(rest) == "shown"
    assert b"did not answer" not in rest


def _read_until(terminal: int, is_so: Callable[[bytes], bool]) -> bytes:
    """What is written to it until that is so of it."""
    written, deadline = b"", time.monotonic() + patience(100)
    with selectors.DefaultSelector() as selector:
        selector.register(terminal, selectors.EVENT_READ)
        while not is_so(written):
            assert time.monotonic() < deadline, written
            if selector.select(0.05):
                try:
                    written += os.read(terminal, 1 << 16)
                except OSError as error:  # it has ended
                    raise AssertionError(written) from error
    return written


def _cursor(written: bytes) -> str:
    """Whether a terminal shows its cursor after that."""
    found = re.findall(rb"\x1b\[\?25([hl])", written)
    return {b"h": "shown", b"l": "hidden"}[found[-1]] if found else "as before"
