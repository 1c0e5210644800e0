"""busy_host.py itself: it takes no more than its share, and nothing of it outlives it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import busy_host
import places
import processes
import pytest
from monitor_runs import until
from patience import patience

PROGRAM = places.SUPPORT / "busy_host.py"
# Its own turns are so rare that no check between two of them comes while a test waits.
SHARE = 1e-6

pytestmark = pytest.mark.program


@pytest.mark.parametrize("share", ["0.31", "1", "30", "0", "-0.1", "nan", "inf", "", "a fifth"])
def test_a_share_that_leaves_the_machine_too_little_is_refused(share: str, tmp_path: Path) -> None:
    mark = tmp_path / "begun"

    done = subprocess.run([sys.executable, PROGRAM, share, "touch", mark], capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"busy_host: the share is {share!r}, but must be above 0 and at most 0.3\n"
    assert not mark.exists()


def test_a_share_without_a_command_is_refused() -> None:
    done = subprocess.run([sys.executable, PROGRAM, "0.2"], capture_output=True, text=True)

    assert done.returncode == 2
    assert "give a share and a command" in done.stderr


@pytest.mark.quiet
@pytest.mark.skipif(not busy_host.is_allowed(), reason="real-time priorities are not allowed here")
def test_its_status_is_the_command_s() -> None:
    done = subprocess.run([sys.executable, PROGRAM, "0.01", "sh", "-c", "exit 7"])

    assert done.returncode == 7


@pytest.fixture(params=[0, pytest.param(busy_host.PRIORITY, id="before all others", marks=pytest.mark.quiet)])
def priority(request: pytest.FixtureRequest) -> int:
    if request.param and not busy_host.is_allowed():
        pytest.skip("real-time priorities are not allowed here")
    assert isinstance(request.param, int)
    return request.param


@contextmanager
def taking(priority: int) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A process that has the processors taken away, and those that take them; all have begun."""
    script = (
        "import sys, time, busy_host\n"
        f"with busy_host.taken_away({SHARE}, priority={priority}) as takers:\n"
        "    print(*(one.pid for one in takers), flush=True)\n"
        "    time.sleep(600)\n"
    )
    words = [sys.executable, "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=places.SUPPORT) as process:
        assert process.stdout is not None
        takers = list(map(int, process.stdout.readline().split()))
        try:
            assert len(takers) == len(os.sched_getaffinity(0))
            yield process, takers
        finally:
            process.kill()
            for one in filter(processes.is_alive, takers):
                os.kill(one, signal.SIGKILL)


def is_between_turns(process: int) -> bool:
    """Whether it sleeps, as it does after its first turn; its affinity is the last thing but the priority."""
    stat = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return stat[0] == "S" and len(os.sched_getaffinity(process)) == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_what_takes_the_processors_ends_with_its_parent(priority: int, number: int) -> None:
    """Between two turns, where it would not look for its parent before hours are over."""
    with taking(priority) as (process, takers):
        until(lambda: all(map(is_between_turns, takers)), "the end of their first turns")
        assert {os.sched_getparam(one).sched_priority for one in takers} == {priority}

        process.send_signal(number)

        until(lambda: not any(map(processes.is_alive, takers)), "the takers' end")


def test_what_takes_the_processors_ends_with_a_parent_that_is_killed_at_once(priority: int) -> None:
    with taking(priority) as (process, takers):
        process.kill()

        until(lambda: not any(map(processes.is_alive, takers)), "the takers' end")


def test_whose_parent_has_ended_takes_nothing() -> None:
    """It would be killed by nobody."""
    script = f"import os, busy_host; busy_host.take_away(0, {SHARE}, parent=os.getpid(), priority=0)"

    subprocess.run([sys.executable, "-c", script], cwd=places.SUPPORT, check=True, timeout=patience(60))
