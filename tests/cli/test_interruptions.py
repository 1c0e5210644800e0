"""Whatever happens in the middle, nothing measured is lost, nothing runs on, and the same command resumes."""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

import monitor_runs
import pytest
import terminals
from installed_command import COMMAND, Run
from patience import patience

pytestmark = pytest.mark.program

Write = Callable[..., str]


def begin(study: str, archive: Path, directory: Path, trials: int) -> subprocess.Popen[str]:
    """A run that has that many trials in its journal."""
    command = [COMMAND, "run", study, "--archive", archive, "--directory", directory]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_as_at_a_terminal
    )
    until(lambda: len(kept(archive)) >= trials, running)
    return running


def until(is_so: Callable[[], bool], running: subprocess.Popen[str]) -> None:
    """Waits, as long as it runs."""
    deadline = time.monotonic() + patience(60)
    while not is_so():
        assert time.monotonic() < deadline
        assert running.poll() is None, running.communicate()
        time.sleep(0.02)


def _as_at_a_terminal() -> None:
    """Nothing ignored: who runs the tests in the background has them ignore Ctrl-C."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def kept(archive: Path) -> list[tuple[int, str, str]]:
    """Block, system and cell of each trial in the archive's only journal."""
    found = []
    for journal in archive.glob("experiments/*/journal.jsonl"):
        for line in journal.read_bytes().split(b"\n")[:-1]:
            event = json.loads(line)
            if event["kind"] == "trial":
                found.append((event["block"], event["system"], event["cell"]))
    return found


def ours(marker: Path) -> list[str]:
    """Processes whose command line names the directory."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(marker) in (entry / "cmdline").read_text(errors="replace"):
                found.append(entry.name)
        except OSError:
            continue
    return found


# So loud that nothing is settled before all blocks are done.
NOISY = {"one": "noise=80 seed=1", "two": "noise=80 seed=2"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


COMPARE = (
    COMMAND, "compare", "native", "native-musl", "--only", "syscall", "--only", "string_sort",
    "--budget", "12s", "--precision", "90%",
)  # fmt: skip


@pytest.mark.quiet
def test_one_ctrl_c_prints_what_is_known_and_the_same_command_goes_on(
    steelyard: Run, archive: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    running = subprocess.Popen(
        [*COMPARE, "--archive", archive, "--html", page],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_as_at_a_terminal,
    )
    until(lambda: len(kept(archive)) >= 16, running)
    running.send_signal(signal.SIGINT)
    reported, said = running.communicate(timeout=patience(60))
    before = len(kept(archive))

    assert running.returncode == 130
    assert "Traceback" not in said
    assert "stopped; this is the interim result" in said
    assert "native-musl vs native: slower" in reported
    assert "sorting strings" in reported
    assert "the experiment is not finished" in reported
    assert 'http-equiv="refresh"' not in page.read_text()
    assert "How it was measured" in page.read_text()
    assert json.loads(steelyard("archive", "list", "--format", "json").stdout)[0]["state"] == "open"

    answer = steelyard(*map(str, COMPARE[1:]), "--format", "json")
    assert "resuming" in answer.stderr
    assert json.loads(answer.stdout)["closed"]
    assert json.loads(answer.stdout)["trials"] > before


@pytest.mark.quiet
def test_a_second_ctrl_c_ends_without_a_report(write_study: Write, archive: Path, directory: Path) -> None:
    study = write_study(systems=NOISY, workloads="syscall sieve", blocks=200)
    running = begin(study, archive, directory, trials=5)
    running.send_signal(signal.SIGINT)
    assert running.stderr is not None
    while "stopped; this is the interim result" not in running.stderr.readline():
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    reported, said = running.communicate(timeout=patience(60))

    assert running.returncode == 130
    assert reported == ""
    assert said == "steelyard: interrupted\n"
    assert ours(directory) == []
    assert len(kept(archive)) >= 4


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_asks_us_to_go_gets_no_report(
    write_study: Write, archive: Path, directory: Path, number: int
) -> None:
    study = write_study(systems=NOISY, workloads="syscall sieve", blocks=200)
    running = begin(study, archive, directory, trials=5)
    running.send_signal(number)
    reported, said = running.communicate(timeout=patience(60))

    assert running.returncode == 130
    assert reported == ""
    assert "steelyard report shows what there is" in said


@pytest.mark.quiet
def test_at_a_terminal_the_screen_goes_and_the_report_is_whole(archive: Path) -> None:
    """Ctrl-C as a terminal has it: typed, and sent to every process that the terminal runs."""
    process, terminal = pty.fork()
    if process == 0:
        _as_at_a_terminal()
        os.environ["TERM"] = "xterm"
        os.execv(COMMAND, [*map(str, COMPARE), "--archive", str(archive)])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    written, typed = b"", False
    with contextlib.suppress(OSError):  # a terminal that nobody writes to any more
        while part := os.read(terminal, 1 << 16):
            written += part
            if not typed and len(kept(archive)) >= 16:
                os.write(terminal, b"\x03")
                typed = True
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    everything = written.decode()
    left = [line.rstrip() for line in terminals.shown(everything)]

    assert os.waitstatus_to_exitcode(status) == 130
    assert typed
    assert "of 0:12" in everything  # it was there ...
    assert not any("of 0:12" in line for line in left)  # ... and is gone
    assert left[0].startswith("steelyard: standard on native, native-musl; at most 0:12;")
    stopped = next(number for number, line in enumerate(left) if "stopped; this is" in line)
    assert stopped <= 4
    report = "\n".join(left[stopped:])
    assert "native-musl vs native: slower" in report
    # A note, or how many there are where 24 rows have no room for them: a busy machine has more to say.
    assert "the experiment is not finished" in report or re.search(
        r"\d notes?: steelyard report --all", report
    )
    assert "steelyard report --all: every table" in report.replace("\n", " ")


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9), (signal.SIGHUP, 130)],
)
def test_an_interrupted_run_goes_on_where_it_stopped(
    steelyard: Run, write_study: Write, archive: Path, directory: Path, number: int, status: int
) -> None:
    study = write_study(systems=NOISY, workloads="syscall sieve", blocks=8)
    running = begin(study, archive, directory, trials=5)
    running.send_signal(number)
    _, said = running.communicate(timeout=patience(60))
    before = kept(archive)

    assert running.returncode == status
    assert "Traceback" not in said
    monitor_runs.until(lambda: not ours(directory), "the end of its processes")
    assert list(directory.iterdir()) == []

    answer = steelyard("run", study, "--directory", str(directory), "--format", "json")
    found = json.loads(answer.stdout)
    assert "resuming" in answer.stderr
    # Five were seen; one that was seen before it was on the disk is taken back when it is interrupted there.
    assert len(before) >= 4
    assert found["trials"] == 8 * 2 * 2
    assert len(list(archive.glob("experiments/*"))) == 1
    assert json.loads(steelyard("archive", "list", "--format", "json").stdout)[0]["state"] == "closed"


def test_a_hangup_that_the_caller_ignores_stays_ignored(
    write_study: Write, archive: Path, directory: Path
) -> None:
    study = write_study(systems=NOISY, blocks=3)
    command = ["nohup", COMMAND, "run", study, "--archive", archive, "--directory", directory]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: bool(kept(archive)), running)
    running.send_signal(signal.SIGHUP)
    running.communicate(timeout=patience(60))

    assert running.returncode == 0


def test_a_finished_command_begins_again(steelyard: Run, write_study: Write, archive: Path) -> None:
    study = write_study(systems=NOISY, blocks=2)
    steelyard("run", study)
    steelyard("run", study)

    assert len(list(archive.glob("experiments/*"))) == 2


def test_a_journal_line_cut_short_costs_that_trial_only(
    steelyard: Run, write_study: Write, archive: Path, directory: Path
) -> None:
    study = write_study(systems=NOISY, blocks=8)
    running = begin(study, archive, directory, trials=6)
    running.kill()
    running.communicate()
    (journal,) = archive.glob("experiments/*/journal.jsonl")
    journal.write_bytes(journal.read_bytes()[:-40])

    assert "too early to tell" in steelyard("report").stdout  # readable as it is
    answer = steelyard("run", study, "--directory", str(directory), "--format", "json")
    assert json.loads(answer.stdout)["trials"] == 16


def test_a_damaged_line_costs_that_trial_only(
    steelyard: Run, write_study: Write, archive: Path, directory: Path
) -> None:
    study = write_study(systems=NOISY, blocks=8)
    running = begin(study, archive, directory, trials=6)
    running.kill()
    running.communicate()
    (journal,) = archive.glob("experiments/*/journal.jsonl")
    lines = journal.read_bytes().split(b"\n")
    number = max(number for number, line in enumerate(lines) if b'"trial"' in line)
    lines[number] = b"\x00" * 10
    journal.write_bytes(b"\n".join(lines))
    remark = f"line {number + 1} of the journal is damaged and left out"

    reported = steelyard("report")
    answer = steelyard("run", study, "--directory", str(directory), "--format", "json")

    assert remark in " ".join(reported.stdout.split())
    assert remark in answer.stderr
    assert [reported.returncode, answer.returncode] == [0, 0]
    assert json.loads(answer.stdout)["trials"] == 16
    assert [one for one in json.loads(answer.stdout)["warnings"] if remark in one]


def test_a_second_experiment_at_once_is_refused(
    steelyard: Run, write_study: Write, archive: Path, directory: Path
) -> None:
    study = write_study(systems=NOISY, blocks=200)
    running = begin(study, archive, directory, trials=2)
    answer = steelyard("run", study)
    running.send_signal(signal.SIGINT)
    running.communicate()

    assert answer.returncode == 1
    assert f"by process {running.pid}" in answer.stderr
    assert "disturb each other" in answer.stderr


@pytest.mark.quiet
@pytest.mark.root
def test_a_full_disk_loses_nothing_and_the_run_goes_on_later(
    steelyard: Run, write_study: Write, tmp_path: Path, directory: Path
) -> None:
    small = tmp_path / "small disk"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160k", "none", small], check=False)
    if mounted.returncode:
        pytest.skip("may not mount here")
    try:
        study = write_study(systems=NOISY, workloads="syscall sieve", blocks=40)
        words = ("--archive", str(small), "--directory", str(directory))
        full = steelyard("run", study, *words)
        subprocess.run(["mount", "-o", "remount,size=4m", small], check=True)
        before = len(kept(small))
        resumed = steelyard("run", study, *words, "--format", "json")
    finally:
        subprocess.run(["umount", small], check=True)

    assert full.returncode == 1
    assert "No space left on device" in full.stderr
    assert "run the same command again to resume" in full.stderr
    assert "Traceback" not in full.stderr
    assert before > 0
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["trials"] >= before


def test_nothing_else_is_written_than_the_archive(
    steelyard: Run, write_study: Write, archive: Path, directory: Path, tmp_path: Path
) -> None:
    study = write_study(systems=NOISY, blocks=2)
    before = set(os.listdir(tmp_path))
    steelyard("run", study, "--directory", str(directory), HOME=str(tmp_path))

    assert set(os.listdir(tmp_path)) - before == {"archive"}
    assert list(directory.iterdir()) == []
