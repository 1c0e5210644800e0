"""bounds.py itself, by tests that break what it holds to."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import places
import pytest
from patience import patience

pytestmark = pytest.mark.program

BROKEN = """
import os, subprocess, time
from pathlib import Path
import pytest

SLEEP = ["sleep", "600"]

def leave(**how):
    Path("left").open("a").write(f"{subprocess.Popen(SLEEP, **how).pid}\\n")

def test_unmarked_runs(): subprocess.run(["true"])
def test_unmarked_forks(): os.fork() or os._exit(0)
@pytest.mark.computes
def test_computing_runs(): subprocess.run(["true"])
def test_unmarked_catches():
    try:
        subprocess.run(["true"])
    except Exception:
        pass

@pytest.mark.program
def test_marked_runs(): subprocess.run(["true"], check=True)
@pytest.mark.uml
def test_implied_runs(): subprocess.run(["true"], check=True)
@pytest.mark.program
def test_waits_for_its_own(): subprocess.Popen(["sleep", "0.5"])

@pytest.mark.program
def test_leaves_some():
    leave()
    leave(start_new_session=True)
    leave(env={})
    subprocess.run(["sh", "-c", "sleep 600 & echo $! >> left"])

@pytest.mark.limit(1)
def test_sleeps(): time.sleep(600)
@pytest.mark.limit(1)
@pytest.mark.program
def test_waits():
    with subprocess.Popen(SLEEP) as process:
        Path("left").open("a").write(f"{process.pid}\\n")

@pytest.fixture
def slow(): time.sleep(600)
@pytest.mark.limit(1)
def test_is_slow_to_begin(slow): pass
"""
LEFT_BY_A_MODULE = """
import subprocess
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def server():
    Path("left").open("a").write(f"{subprocess.Popen(['sleep', '600']).pid}\\n")

@pytest.mark.program
def test_first(server): pass
@pytest.mark.program
def test_last(server): pass
"""
SIGNALS = """
import signal, subprocess
import pytest

@pytest.mark.program
@pytest.mark.parametrize("name", ["INT", "HUP", "QUIT", "TERM"])
def test_children_hear(name):
    number = getattr(signal, f"SIG{name}")
    assert subprocess.run(["sh", "-c", f"kill -{name} $$; sleep 5"]).returncode == -number

def test_so_does_python():
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
"""
# Starts the words that follow as a shell in the background may, and one that blocks signals.
DEAF = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGALRM})
os.execv(sys.argv[1], sys.argv[1:])
"""


def failures(folder: Path, *, deaf: bool = False, **modules: str) -> dict[str, str]:
    """Each test of these modules with what it failed by, or nothing, where it passed."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "bounds", "--junitxml=told.xml"]
    subprocess.run(
        [sys.executable, "-c", DEAF, *words] if deaf else words,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(places.SUPPORT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=patience(120),
    )
    told: dict[str, str] = {}
    for case in ElementTree.parse(folder / "told.xml").iter("testcase"):
        said = [child.text or "" for child in case if child.tag in ("failure", "error")]
        told[case.attrib["name"]] = told.get(case.attrib["name"], "") + "".join(said)
    return told


def lives(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_test_starts_nothing_unmarked_and_leaves_nothing_behind_and_ends(tmp_path: Path) -> None:
    told = failures(tmp_path, test_broken=BROKEN, test_module=LEFT_BY_A_MODULE)

    for name in ("unmarked_runs", "unmarked_forks", "computing_runs", "unmarked_catches"):
        assert f"test_{name} starts a process: mark it by its cost" in told[f"test_{name}"]
    for name in ("sleeps", "waits", "is_slow_to_begin"):
        assert "not done after 1 s" in told[f"test_{name}"]
        assert "left behind" not in told[f"test_{name}"]  # the alarm kills first
    assert "left behind, and killed now" in told["test_leaves_some"]
    assert told["test_leaves_some"].count("(sleep 600)") == 4
    assert "left behind, and killed now" in told["test_last"]
    well = {"test_marked_runs", "test_implied_runs", "test_waits_for_its_own", "test_first"}
    assert {name for name, said in told.items() if not said} == well
    left = [int(line) for line in (tmp_path / "left").read_text().split()]
    assert len(left) == 6
    assert not [process for process in left if lives(process)]


def test_signals_are_reset_for_what_tests_start(tmp_path: Path) -> None:
    told = failures(tmp_path, deaf=True, test_signals=SIGNALS)

    assert told == dict.fromkeys(told, "")
    assert len(told) == 5
