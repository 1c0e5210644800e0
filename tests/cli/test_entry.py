"""The installed command in its first second: a request to end is obeyed at any moment, in a word and without
a traceback."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import c_programs
import pytest
from installed_command import COMMAND
from patience import patience

pytestmark = pytest.mark.program
MOMENTS = [number / 20 for number in range(20)]
WORD = "steelyard: interrupted\n"


def started(
    words: Sequence[str], folder: Path, *, ignoring: int | None = None, **environment: str
) -> subprocess.Popen[str]:
    def prepare() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if number == ignoring else signal.SIG_DFL)

    return subprocess.Popen(
        [COMMAND, *words],
        preexec_fn=prepare,
        env=os.environ | {"STEELYARD_ARCHIVE": str(folder / "archive")} | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_it_listens(process: subprocess.Popen[str], *, to: int = signal.SIGTERM) -> None:
    """Python itself takes SIGINT some milliseconds before any line of the command is executed."""
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
        if int(caught.split()[1], 16) >> (to - 1) & 1:
            return
        time.sleep(0.0005)


@pytest.mark.parametrize("many", [4, pytest.param(len(MOMENTS), marks=pytest.mark.long)])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
@pytest.mark.parametrize(
    "words",
    [["doctor"], pytest.param(["plan", "pegasus"], marks=pytest.mark.long), ["report"]],
    ids=" ".join,
)
def test_a_request_to_end_is_obeyed_at_every_moment(
    words: list[str], number: int, many: int, tmp_path: Path
) -> None:
    own_status, whole = 0, None
    if words != ["doctor"]:  # which takes longer than a second
        own = started(words, tmp_path)
        whole = own.communicate()
        own_status = own.returncode

    seed = random.randrange(1 << 32)
    print(f"moments drawn by seed {seed}")
    for moment in random.Random(seed).sample(MOMENTS, many):
        process = started(words, tmp_path)
        wait_until_it_listens(process)
        time.sleep(moment)
        process.send_signal(number)
        out, told = process.communicate(timeout=patience(60))

        assert "Traceback" not in told + out, (moment, told)
        # Python gives up its handlers as it ends, when all has been said.
        at_the_end = (-number,) if (out, told) == whole else ()
        assert process.returncode in (130, own_status, *at_the_end), (moment, told)
        assert told.count(WORD) <= 1, (moment, told)


def test_ctrl_c_before_our_first_line_waits_for_it(tmp_path: Path) -> None:
    """While Python itself is starting, which runs this file if it finds it."""
    if b"steelyard-held" not in COMMAND.read_bytes():
        pytest.skip("the command is pip's, which starts Python as it is")
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "print(os.environ['STEELYARD_HELD'] == str(os.getpid()), flush=True)\n"
    )
    process = started(["list", "studies"], tmp_path, PYTHONPATH=str(tmp_path))
    out, told = process.communicate(timeout=patience(60))

    assert (process.returncode, out, told) == (130, "True\nTrue\n", WORD)


def test_a_caller_who_holds_ctrl_c_back_goes_on_to(tmp_path: Path) -> None:
    """Nobody else's mask is changed, and none of ours is inherited by what is started."""
    script = (
        "import os, signal, sys\n"
        "from steelyard import cli, entry\n"
        "cli.entry = lambda: print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()),"
        " 'STEELYARD_HELD' in os.environ, open('/proc/self/comm').read())\n"
        "entry.entry()\n"
    )
    words = [c_programs.program("systems/steelyard-held"), sys.executable, "-c", script]
    said = [
        subprocess.run(
            words, preexec_fn=before, capture_output=True, text=True, timeout=patience(60)
        ).stdout.split()
        for before in (None, lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]))
    ]

    assert said[0] == ["False", "False", "steelyard"]
    assert said[1][:2] == ["True", "False"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=lambda one: one.name)
def test_a_signal_that_was_ignored_at_the_start_stays_ignored(number: int, tmp_path: Path) -> None:
    process = started(["list", "studies", "--format", "csv"], tmp_path, ignoring=number)
    wait_until_it_listens(process)
    while process.poll() is None:
        process.send_signal(number)
        time.sleep(0.005)
    out, told = process.communicate()

    assert (process.returncode, told) == (0, "")
    assert "pegasus" in out


def test_a_request_during_an_import_waits_for_its_end(tmp_path: Path) -> None:
    """A module that swallows every exception, as some do while they are imported."""
    (tmp_path / "greedy.py").write_text(
        "import os, signal, time\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(0.05)\n"
        "except BaseException:\n    print('swallowed')\n"
        "print('imported')\n"
    )
    script = (
        "from steelyard import interruption\ninterruption.take()\n"
        "try:\n    import greedy, time\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print('heard')\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=patience(50)
    )

    assert (done.stdout, done.stderr) == ("imported\nheard\n", "")
