"""What the next command ends and removes after a run was killed together with its guard: what is that run's,
and nothing that only mentions it, or that somebody else has put in its way."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from installed_command import Run
from patience import patience

from steelyard.errors import Unsupported
from steelyard.programs import built
from steelyard.study.model import Tuning
from steelyard.systems import groups, leftovers, scratch

SLEEPS = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]
# A laboratory that says who its guard is, and what came of it.
LEFT = """
import os, signal, sys, time
from pathlib import Path
from steelyard import systems
from steelyard.systems.agent import Agent, descendants
agent = Agent(systems.find("native"), directory=Path(sys.argv[1]))
guard = agent._process.pid
print(guard, *descendants(guard), flush=True)
time.sleep(60)
"""


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@contextmanager
def started(*words: str, **options: object) -> Iterator[subprocess.Popen[str]]:
    """A process that has said its first line."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]
    try:
        assert process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def left_behind(tmp_path: Path) -> Path:
    """The scratch directory of a laboratory that was killed, which has written its mark."""
    made = scratch.make(tmp_path)
    os.close(made.file)
    return made.path


@pytest.mark.program
def test_an_editor_and_a_shell_that_mention_a_left_directory_survive_the_next_command(
    steelyard: Run, tmp_path: Path
) -> None:
    left = left_behind(tmp_path)
    notes = left / "notes"
    notes.write_text("what happened here?")
    mentions = {"OLDPWD": str(left), "STEELYARD_SCRATCH": str(left), leftovers.VARIABLE: "0" * 32}
    with (
        started(*SLEEPS, str(notes), cwd=left) as editor,
        started(*SLEEPS, env=os.environ | mentions) as shell,
    ):
        said = steelyard("list", "systems", TMPDIR=str(tmp_path))

        assert editor.poll() is None
        assert shell.poll() is None
    assert said.stderr == f"steelyard: {left} was removed, left by a killed run\n"


@pytest.mark.program
def test_what_a_killed_laboratory_and_its_killed_guard_have_left_is_ended(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LEFT, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as laboratory:
        assert laboratory.stdout is not None
        guard, *members = map(int, laboratory.stdout.readline().split())
        assert members
        os.kill(laboratory.pid, signal.SIGSTOP)
        for one in (guard, laboratory.pid):
            os.kill(one, signal.SIGKILL)
    deadline = time.monotonic() + patience(20)
    while any(tmp_path.iterdir()) and time.monotonic() < deadline:
        scratch.clear(tmp_path)
        time.sleep(0.02)

    assert not any(tmp_path.iterdir())
    assert [one for one in members if is_running(one)] == []


@pytest.mark.program
def test_all_that_came_of_a_marked_process_is_ended_too(tmp_path: Path) -> None:
    """Also what was given an environment of its own."""
    left = left_behind(tmp_path)
    mark = leftovers.mark_of(left)
    child = (
        f"import subprocess, time; one = subprocess.Popen({SLEEPS!r}, env={{}}); print(one.pid, flush=True)"
    )
    words = [sys.executable, "-c", f"{child}; time.sleep(60)"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env=os.environ | {leftovers.VARIABLE: str(mark)}
    ) as parent:
        assert parent.stdout is not None
        number = int(next(line for line in parent.stdout if line.strip()))
        scratch.clear(tmp_path)

        assert parent.wait(timeout=patience(10)) == -signal.SIGKILL
        assert not is_running(number)
    assert not left.exists()


@pytest.mark.program
def test_who_starts_the_next_command_from_a_leftover_is_spared(tmp_path: Path) -> None:
    """As a workload would that runs the command itself: it must not stop its own parents."""
    left = left_behind(tmp_path)
    script = (
        "from pathlib import Path; import sys; from steelyard.systems import scratch;"
        "print(len(scratch.clear(Path(sys.argv[1]))))"
    )
    environment = os.environ | {leftovers.VARIABLE: str(leftovers.mark_of(left))}
    answer = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -c "{script}" "{tmp_path}"; echo alive'],
        env=environment,
        capture_output=True,
        text=True,
        timeout=patience(30),
    )

    assert answer.stdout.split() == ["1", "alive"]


@pytest.mark.root
@pytest.mark.program
def test_what_another_user_plants_makes_root_neither_kill_nor_remove(tmp_path: Path) -> None:
    """A directory named like ours, with a mark that a victim has in its environment."""
    mark = "0123456789abcdef" * 2
    planted = tmp_path / "steelyard-7-01234567"
    planted.mkdir()
    (planted / ".mark").write_text(mark)
    os.chown(planted, 65534, 65534)
    theirs = left_behind(tmp_path)  # ours, in which somebody was let in to write
    (theirs / ".mark").unlink()
    (theirs / ".mark").write_text(mark)
    os.chown(theirs / ".mark", 65534, 65534)
    with started(*SLEEPS, env=os.environ | {leftovers.VARIABLE: mark}) as victim:
        scratch.clear(tmp_path)

        assert victim.poll() is None
    assert planted.exists()
    assert not theirs.exists()


def test_no_mark_is_taken_from_a_link_or_a_pipe(tmp_path: Path) -> None:
    left = left_behind(tmp_path)
    mark = left / ".mark"
    elsewhere = tmp_path / "elsewhere"
    mark.rename(elsewhere)
    mark.symlink_to(elsewhere)
    assert leftovers.mark_of(left) is None

    mark.unlink()
    os.mkfifo(mark)
    assert leftovers.mark_of(left) is None


def test_the_mark_is_this_users_alone(tmp_path: Path) -> None:
    made = scratch.make(tmp_path)
    assert made.path.stat().st_mode & 0o777 == 0o700
    assert (made.path / ".mark").stat().st_mode & 0o777 == 0o600
    assert leftovers.mark_of(made.path) == made.mark
    made.close()


@contextmanager
def exchanged(name: Path, target: Path) -> Iterator[None]:
    """As soon as something of the directory has gone, a link to another one stands in its place."""
    over = threading.Event()
    whole = len(os.listdir(name))

    def exchange() -> None:
        with suppress(OSError):
            while len(os.listdir(name)) == whole and not over.is_set():
                continue
            name.rename(name.parent.with_name(f"{name.parent.name}-moved"))
            name.symlink_to(target)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def full(directory: Path, files: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        (directory / f"file{number}").write_text("")


@pytest.mark.program
@pytest.mark.parametrize("is_guards", [False, True], ids=["laboratory", "guard"])
def test_a_link_that_comes_in_the_way_of_a_removal_leads_nowhere(tmp_path: Path, is_guards: bool) -> None:
    """The owner of a directory within it puts a link to another place there while its files are removed: by
    paths, those of the other place are removed then."""
    precious = tmp_path / "precious"
    full(precious, 1000)
    for number in range(3):
        tree = tmp_path / f"tree{number}"
        full(tree / "theirs", 1000)
        with exchanged(tree / "theirs", precious):
            if is_guards:
                subprocess.run(
                    [built.load("glibc"), "guard", "0", tree, "true"], input=b"", timeout=patience(30)
                )
            else:
                leftovers.remove(tree)

    assert len(list(precious.iterdir())) == 1000


@pytest.mark.program
@pytest.mark.parametrize("is_guards", [False, True], ids=["laboratory", "guard"])
def test_a_directory_that_is_a_link_is_not_removed_through_it(tmp_path: Path, is_guards: bool) -> None:
    precious = tmp_path / "precious"
    full(precious, 3)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "link").symlink_to(precious)
    (tmp_path / "link").symlink_to(precious)
    for one in (tree, tmp_path / "link"):
        if is_guards:
            subprocess.run([built.load("glibc"), "guard", "0", one, "true"], input=b"", timeout=patience(30))
        else:
            leftovers.remove(one)

    assert not tree.exists()
    assert len(list(precious.iterdir())) == 3


@pytest.mark.program
def test_the_guard_removes_a_tree_that_is_deeper_than_it_may_have_files_open(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    place = os.open(tree, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d", dir_fd=place)
        below = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(os.open("file", os.O_CREAT, dir_fd=place))
    os.close(place)
    limit = 'ulimit -n 400 && exec "$@"'
    subprocess.run(
        ["sh", "-c", limit, "sh", built.load("glibc"), "guard", "0", tree, "true"],
        input=b"",
        timeout=patience(60),
    )

    assert not tree.exists()


def test_no_two_control_groups_have_one_name() -> None:
    """Who is in a group of a killed run is ended: so a group that somebody else had made must not have its
    name."""
    try:
        names = {one.path.name for _ in range(2) for one in groups.of(Tuning(processes=100))}
    except Unsupported as error:
        pytest.skip(str(error))
    ends = {name.rpartition("-")[2] for name in names}

    assert len(ends) == len(names)
    assert all(len(end) == 8 for end in ends)
