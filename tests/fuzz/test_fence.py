"""fence.py itself: what is started behind it takes little of the machine, sees nothing of it, and ends."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fence
import monitor_runs
import places
import processes
import pytest

FUZZ = places.ROOT / "tests" / "fuzz"
# Says what it finds behind the fence, as JSON, after something has taken twice as much as there may be.
SCRIPT = f"""
import ctypes, json, os, shutil, subprocess, sys
from pathlib import Path
import fence

GREEDY = ["if=/dev/zero", "of=/dev/null", "bs={2 * fence.MEMORY_MOST}", "count=1", "status=none"]

def work(program, directory):
    (directory / "mine").touch()
    greedy = subprocess.Popen([program, *GREEDY])
    Path(f"/proc/{{greedy.pid}}/oom_score_adj").write_text("500")
    ended = greedy.wait()
    (directory / "mine").unlink()
    print(json.dumps({{
        "user": os.getresuid(), "groups": os.getgroups(), "ended": ended, "number": os.getpid(),
        "processes": [name for name in os.listdir("/proc") if name.isdigit()],
        "gains": "NoNewPrivs:\\t0" in Path("/proc/self/status").read_text(),
    }}))
    return 5

if sys.argv[2:] == ["as nobody"]:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1)  # its files in /proc are its own, as after an exec
sys.exit(fence.enclosed(work, Path(shutil.which("dd")).resolve(), Path(sys.argv[1])))
"""
HANGS = """
import os, subprocess, sys
from pathlib import Path
import fence

def work(program, directory):
    inner = subprocess.Popen(["setsid", "sleep", "600"])
    print("begun", flush=True)
    inner.wait()
    return 0

sys.exit(fence.enclosed(work, Path("/bin/sh"), Path(sys.argv[1])))
"""

pytestmark = pytest.mark.program


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, cwd=FUZZ, check=False
    )


def has_processes_of_its_own() -> bool:
    words = ["unshare", *(["--user"] if os.geteuid() else []), "--pid", "--fork", "--mount-proc", "true"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.fixture
def facts(tmp_path: Path) -> tuple[dict[str, Any], str]:
    """What is found behind the fence, and what was said on the way."""
    done = run(tmp_path / "found")
    if done.returncode == 77:
        pytest.skip(done.stderr)
    assert done.returncode == 5, done.stderr
    assert list((tmp_path / "found").iterdir()) == []
    return json.loads(done.stdout), done.stderr


def test_nothing_has_more_memory_and_what_checks_it_lives_on(facts: tuple[dict[str, Any], str]) -> None:
    found, _ = facts

    assert found["ended"] == -signal.SIGKILL


def test_it_is_nobody_alone_and_gains_no_right(facts: tuple[dict[str, Any], str]) -> None:
    found, said = facts

    assert 0 not in found["user"]
    assert not found["gains"]
    if os.geteuid() == 0:
        assert found["groups"] == []
    if has_processes_of_its_own():
        assert (found["processes"], found["number"]) == (["1"], 1)
    else:
        assert "without a process namespace" in said


@pytest.mark.root
def test_an_ordinary_user_has_the_same_or_is_told_what_is_lacking(open_directory: Path) -> None:
    open_directory.chmod(0o777)

    done = run(open_directory / "found", "as nobody")

    assert done.returncode == 5, done.stderr
    found = json.loads(done.stdout)
    assert set(found["user"]) == {65534}
    assert found["ended"] == -signal.SIGKILL
    assert found["number"] == 1 or "without a process namespace" in done.stderr


@contextlib.contextmanager
def hanging(directory: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """What hangs behind the fence, and the numbers of all processes of it."""
    words = [sys.executable, "-c", HANGS, directory]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=FUZZ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            (inside,) = monitor_runs.children(process.pid)
            (sleeper,) = monitor_runs.children(inside)
            yield process, [inside, sleeper]
        finally:
            process.kill()


@pytest.mark.skipif(not has_processes_of_its_own(), reason="no process namespace is available")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_all_of_it_ends_with_who_started_it(number: int, tmp_path: Path) -> None:
    with hanging(tmp_path) as (process, inside):
        process.send_signal(number)

        for one in inside:
            monitor_runs.until(lambda one=one: not processes.is_alive(one), "its end")
    process.wait()
    place = fence.group_place()
    if place is not None:
        ours = [one for one in fence.remove_left_groups(place) if f"-{process.pid}-" in one.name]
        assert ours == []


def test_without_a_control_group_the_largest_is_found_when_all_have_too_much() -> None:
    script = (
        "import sys; taken = bytearray(b'x' * (int(sys.argv[1]) << 20)); print(flush=True); sys.stdin.read()"
    )
    sizes = (10, 300, 40)  # other tests of this process may have children, too
    with contextlib.ExitStack() as all_of_them:
        begun = []
        for size in sizes:
            words = [sys.executable, "-S", "-c", script, str(size)]
            one = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            begun.append(all_of_them.enter_context(one))
            assert one.stdout is not None
            one.stdout.readline()

        assert fence.largest_of_too_much(100 << 20) == begun[1].pid
        assert fence.largest_of_too_much(1 << 30) is None
