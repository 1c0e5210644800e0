"""surroundings.py itself: what a killed run of tests leaves is ended and restored, and nothing else is."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import places
import pytest
import surroundings
from patience import patience

pytestmark = [pytest.mark.program, pytest.mark.root]

KILLED = """
import os, signal, subprocess
from pathlib import Path
import pytest

def write(name, text): Path(name).write_text(text)

@pytest.mark.program
def test_is_killed():
    started = [subprocess.Popen(["sleep", "600"], start_new_session=True) for _ in range(2)]
    write("started", " ".join(str(one.pid) for one in started))
    setting = Path("/proc/sys/kernel/printk_ratelimit_burst")
    old = setting.read_text().strip()
    setting.write_text(str(int(old) + 1))
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    ledger = f"boot\\t{boot}\\nset\\t{setting}\\t{old}\\n"
    write("/run/steelyard/test.ledger", ledger)
    write("room", os.environ["STEELYARD_TEST"].rpartition("-")[0])
    if Path("guards too").exists():
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            words = entry.read_bytes().split(b"\\0")
            if b"guard" in words and any(Path("room").read_bytes() in word for word in words):
                os.kill(int(entry.parent.name), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
"""
SETTING = Path("/proc/sys/kernel/printk_ratelimit_burst")  # of the whole machine, and of no consequence
ALONE = """
import os
from pathlib import Path
import pytest

@pytest.mark.parametrize("name", ["a", "b"])
def test_notes(name):
    Path(f"/run/steelyard/{name}").touch()
    spaces = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("mnt", "ipc")]
    Path(f"noted {os.getpid()}").write_text(" ".join([*spaces, os.environ["PYTEST_XDIST_WORKER"]]))
"""


def ran(folder: Path, text: str, *words: str) -> int:
    """The status of pytest on that module."""
    if refused := surroundings.refusal():
        pytest.skip(f"no namespaces are available here: {refused}")
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "bounds", *words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (places.SUPPORT, places.ROOT / "src")))
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False, timeout=patience(120)
    )
    return done.returncode


def lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def wait_for(true: Callable[[], bool], limit_s: float = 30) -> bool:
    deadline = time.monotonic() + limit_s
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def room(folder: Path) -> surroundings.Room:
    return surroundings.Room(surroundings.base() / (folder / "room").read_text())


def started(folder: Path) -> list[int]:
    return [int(one) for one in (folder / "started").read_text().split()]


@pytest.mark.quiet
def test_what_a_killed_process_has_left_is_cleared_by_its_guard(tmp_path: Path) -> None:
    before = SETTING.read_text()
    assert ran(tmp_path, KILLED) == -signal.SIGKILL

    assert wait_for(lambda: not room(tmp_path).path.exists())
    assert len(started(tmp_path)) == 2
    assert not any(map(lives, started(tmp_path)))
    assert SETTING.read_text() == before


@pytest.mark.quiet
def test_if_the_guard_is_killed_as_well_the_next_suite_clears_and_says_so(tmp_path: Path) -> None:
    before = SETTING.read_text()
    (tmp_path / "guards too").touch()
    assert ran(tmp_path, KILLED) == -signal.SIGKILL
    assert wait_for(lambda: room(tmp_path).is_free())
    assert all(map(lives, started(tmp_path)))

    said = surroundings.clear_all()

    assert {f"ended {process} (sleep 600)" for process in started(tmp_path)} <= set(said)
    assert f"{SETTING} is restored to '{before.strip()}', its value before a killed run" in said
    assert SETTING.read_text() == before
    assert not any(map(lives, started(tmp_path)))
    assert not room(tmp_path).path.exists()


def test_what_only_mentions_a_room_is_none_of_its_own(tmp_path: Path) -> None:
    """In its words, in its directory, in another variable, or as a part of another mark."""
    found, lock = surroundings.Room.make()
    mark = f"{surroundings.MARK}={found.name}-0"
    variables = [{"A": mark}, {f"X{surroundings.MARK}": found.name}, {surroundings.MARK: f"x{found.name}-"}]
    mentions = [subprocess.Popen(["sleep", "60"], env=one, cwd=found.path) for one in variables]
    mentions.append(subprocess.Popen(["sh", "-c", "sleep 60 & wait", mark], env={}))
    own = subprocess.Popen(["sleep", "60"], env={surroundings.MARK: f"{found.name}-0"})
    try:
        said = surroundings.clear(found)

        assert said == [f"ended {own.pid} (sleep 60)"]
        assert own.wait() == -signal.SIGKILL
        assert all(lives(one.pid) for one in mentions)
        assert not found.path.exists()
    finally:
        os.close(lock)
        for one in (*mentions, own):
            one.kill()
            one.wait()


def test_processes_that_run_tests_share_no_mounts_and_no_ledgers(tmp_path: Path) -> None:
    before = sorted(Path("/run/steelyard").iterdir())

    assert ran(tmp_path, ALONE, "-n", "2", "--dist", "load") == 0

    noted = [one.read_text().split() for one in tmp_path.glob("noted *")]
    spaces = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("mnt", "ipc")]
    for kind, own in enumerate(spaces):
        assert len({own, *(one[kind] for one in noted)}) == 1 + len(noted)
    assert sorted(Path("/run/steelyard").iterdir()) == before
