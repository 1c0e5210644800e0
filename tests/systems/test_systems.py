"""The real systems: each starts, says who it is, runs every workload, is parked, and leaves nothing."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import monitor_runs
import places
import pytest
import synthetic
from installed_command import Run
from one_trial import run
from patience import patience
from ssh_hosts import ssh_server

from steelyard import systems
from steelyard.errors import UnknownName, Unsupported, UsageError
from steelyard.programs import built
from steelyard.study.model import SystemDefinition
from steelyard.systems import carried, scratch, uml
from steelyard.systems.agent import Agent, children, descendants
from steelyard.systems.system import System, check

PARTIAL_REGISTERS = places.SUPPORT / "partial_registers.py"
HERE = [
    "native",
    "native-musl",
    pytest.param("gvisor", marks=pytest.mark.gvisor),
    pytest.param("uml", marks=pytest.mark.uml),
    pytest.param("wine", marks=pytest.mark.wine),
]


# Of Wine, test_windows.py says more.
@pytest.mark.program
@pytest.mark.parametrize("name", ["native", "native-musl"])
def test_every_workload_runs_on_it_or_says_why_not(name: str, tmp_path: Path) -> None:
    every_workload_runs(name, tmp_path, built.catalogue().workloads)


@synthetic.SOME_OR_ALL
@pytest.mark.parametrize("name", HERE[2:4])
def test_workloads_run_on_another_kernel_or_say_why_not(name: str, most: int, tmp_path: Path) -> None:
    every_workload_runs(name, tmp_path, synthetic.some(most))


def every_workload_runs(name: str, directory: Path, workloads: Sequence[built.Workload]) -> None:
    with Agent(systems.find(name), directory=directory) as agent:
        for workload in workloads:
            end = run(agent, synthetic.quick(workload))[-1]
            assert end["status"] in ("ok", "unsupported"), (workload.name, end)
            assert end["status"] == "ok" or end["reason"]
    assert list(directory.iterdir()) == []


@pytest.mark.program
@pytest.mark.parametrize("name", HERE)
def test_it_runs_the_program_it_was_given(name: str, tmp_path: Path) -> None:
    import hashlib

    system = systems.find(name)
    with Agent(system, directory=tmp_path) as agent:
        expected = hashlib.sha256(built.load(system.program).read_bytes()).hexdigest()
        assert agent.hello["program_sha256"] == expected


@pytest.mark.uml
def test_uml_is_another_kernel_and_sees_the_working_directory(tmp_path: Path) -> None:
    with Agent(systems.find("uml"), directory=tmp_path) as agent:
        assert agent.fingerprint["kernel_release"] != os.uname().release
        assert agent.fingerprint["cpu_model"] == "UML"
        assert agent.fingerprint["directory"].startswith(str(tmp_path))
        assert agent.fingerprint["file_system"] == "hostfs"


@pytest.mark.uml
def test_uml_refuses_a_directory_whose_name_has_a_space(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    with pytest.raises(Unsupported, match="has a space in its name"):
        Agent(systems.find("uml"), directory=tmp_path / "a b")
    assert list((tmp_path / "a b").iterdir()) == []


@pytest.mark.uml
def test_uml_starts_with_the_library_that_it_needs_on_some_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uml, "_has_tiles", lambda: True)
    with Agent(systems.find("uml"), directory=tmp_path) as agent:
        assert run(agent, "trial 1 syscall batches=1")[-1]["status"] == "ok"


@pytest.mark.ptrace
@pytest.mark.parametrize("preloaded", [False, True])
def test_registers_that_are_given_in_part_are_completed(preloaded: bool) -> None:
    """The host takes all of a process's registers, or none; the library gives the rest."""
    environment = {"LD_PRELOAD": str(built.uml_registers())} if preloaded else {}
    words = [sys.executable, PARTIAL_REGISTERS]
    answer = subprocess.run(
        words, env=os.environ | environment, stdout=subprocess.PIPE, check=True, text=True
    )
    assert answer.stdout == ("given, and as they were\n" if preloaded else "refused with errno 14\n")


@pytest.mark.program
@pytest.mark.parametrize("name", HERE)
def test_a_parked_system_uses_no_processor_and_wakes_again(name: str, tmp_path: Path) -> None:
    with Agent(systems.find(name), directory=tmp_path) as agent:
        agent.park()
        processes = descendants(agent._process.pid)
        states = [
            (Path("/proc") / str(one) / "stat").read_text().rpartition(")")[2].split()[0] for one in processes
        ]
        assert processes != []
        assert set(states) <= {"T"}, states
        agent.resume()
        assert run(agent, "trial 1 sieve batches=1 operations=1 warmup_ns=0")[-1]["status"] == "ok"


@pytest.mark.program
def test_parking_spares_a_process_with_the_id_of_one_that_has_ended(tmp_path: Path) -> None:
    with Agent(systems.find("native"), directory=tmp_path) as agent:
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as stranger:
            agent._signal(signal.SIGTERM, [stranger.pid])
            stranger.communicate()
        agent._signal(signal.SIGTERM, [stranger.pid])  # there is none now
    assert stranger.returncode == 0


@pytest.mark.program
@pytest.mark.parametrize("name", HERE)
def test_when_the_laboratory_is_killed_nothing_is_left(name: str, tmp_path: Path) -> None:
    """A laboratory that has started and parked the system is killed outright, and cannot clean up."""
    import sys

    script = (
        "import sys, time\nfrom pathlib import Path\nfrom steelyard import systems\n"
        "from steelyard.systems.agent import Agent\n"
        "agent = Agent(systems.find(sys.argv[1]), directory=Path(sys.argv[2]))\n"
        "agent.park()\nprint('up', flush=True)\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, name, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as laboratory:
        assert laboratory.stdout is not None
        assert laboratory.stdout.readline() == "up\n"
        members = descendants(laboratory.pid)
        assert members != []
        laboratory.kill()

    deadline = time.monotonic() + patience(10)
    while (left := [one for one in members if _alive(one)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []
    assert list(tmp_path.iterdir()) == []


def _alive(process: int) -> bool:
    """Whether the process still runs; one that only waits to be reaped does not."""
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_system_that_is_not_installed_is_refused_with_what_to_install() -> None:
    system = System("moon", "", lambda place: [], needs=(("moon-kernel", "moon-linux"),))
    with pytest.raises(Unsupported, match="apt-get install moon-linux"):
        check(system)


@pytest.mark.program
def test_a_system_that_says_nothing_fails_with_its_last_words(tmp_path: Path) -> None:
    system = System("mute", "", lambda place: ["sh", "-c", "echo sorry >&2; sleep 60"], start_limit_s=0.5)
    with pytest.raises(
        Unsupported, match=r"'mute' cannot start: it did not send 'hello' within 0.5 s; .*: sorry"
    ):
        Agent(system, directory=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.program
def test_a_system_that_ends_at_once_fails_with_its_last_words(tmp_path: Path) -> None:
    system = System("short", "", lambda place: ["sh", "-c", "echo no such thing; exit 3"])
    with pytest.raises(Unsupported, match=r"'short' cannot start: it has ended; .*: no such thing"):
        Agent(system, directory=tmp_path)


@pytest.mark.program
def test_a_system_of_the_users_is_three_lines(tmp_path: Path) -> None:
    definition = SystemDefinition("nice", command=("nice", "-n", "5", "{program}", "agent", "{scratch}"))
    with Agent(systems.find("nice", [definition]), directory=tmp_path) as agent:
        assert run(agent, "trial 1 sieve batches=1 operations=1 warmup_ns=0")[-1]["status"] == "ok"


def test_an_unknown_system_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="did you mean 'gvisor'"):
        systems.find("gvizor")


@pytest.mark.parametrize("name", ["ssh", "ssh:", "ssh:-oProxyCommand=x", "ssh:a b"])
def test_a_host_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        systems.find(name)


def test_the_same_system_twice_gets_two_names() -> None:
    assert systems.label(["native", "uml", "native"]) == ("native", "uml", "native#2")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with ssh_server(tmp_path) as name:
        monkeypatch.setenv("STEELYARD_SSH_CONFIG", str(tmp_path / "ssh_config"))
        yield name


@pytest.mark.ssh
@pytest.mark.root
def test_a_host_by_ssh_gets_the_program_and_runs_it(host: str, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for _ in range(2):  # the second time, the program is there already
        with Agent(systems.find(host), directory=tmp_path / "work") as agent:
            assert run(agent, "trial 1 sieve batches=1 operations=1 warmup_ns=0")[-1]["status"] == "ok"


@pytest.mark.ssh
@pytest.mark.root
def test_a_host_by_ssh_gets_the_files_that_a_study_sends_along(host: str, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    program = tmp_path / "say"
    program.write_text("#!/bin/sh\n[ \"$*\" = 'a b' ]\n")
    program.chmod(0o755)
    system = replace(systems.find(host), files=carried.look_at([str(program)]))
    with Agent(system, directory=tmp_path / "work") as agent:
        program.unlink()
        records = run(
            agent,
            "trial 1 command with=1 command=%7bwith%7d%2fsay%0aa%20b batches=1 operations=1 warmup_ns=0",
        )
        assert records[-1]["status"] == "ok", records[-1]
        (place,) = (one["path"] for one in records if one["record"] == "program")
        assert os.path.exists(place)
    monitor_runs.until(lambda: not os.path.exists(place), "the removal of the copy")


@pytest.mark.program
def test_a_file_that_changes_after_a_run_has_begun_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("before")
    system = replace(systems.find("native"), files=carried.look_at([str(tmp_path / "data")]))
    (tmp_path / "data").write_text("after")

    with pytest.raises(UsageError, match="data' has changed since the run began"):
        Agent(system, directory=tmp_path)


@pytest.mark.ssh
@pytest.mark.root
@pytest.mark.quiet
def test_a_program_that_was_changed_on_the_host_is_copied_again(host: str, tmp_path: Path) -> None:
    """By several laboratories at once. The copy is the one that other tests use, too: hence quiet."""
    (tmp_path / "work").mkdir()
    system = systems.find(host)
    with Agent(system, directory=tmp_path / "work") as agent:
        digest = agent.hello["program_sha256"]
    homes = (Path.home(), tmp_path / "home")
    (copy,) = (one for home in homes for one in home.glob(f".cache/steelyard/{digest}/steelyard-load"))
    copy.unlink()
    copy.write_bytes(b"#!/bin/sh\necho spoilt\n")

    def started(_: int) -> str:
        with Agent(system, directory=tmp_path / "work") as agent:
            return str(agent.hello["program_sha256"])

    with ThreadPoolExecutor(4) as laboratories:
        assert set(laboratories.map(started, range(4))) == {digest}
    assert [one.name for one in copy.parent.iterdir() if "." in one.name] == []


@pytest.mark.ssh
def test_a_host_that_does_not_answer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ssh_config").write_text("Host nowhere\n HostName 127.0.0.1\n Port 1\n")
    monkeypatch.setenv("STEELYARD_SSH_CONFIG", str(tmp_path / "ssh_config"))
    with pytest.raises(Unsupported, match=r"system 'ssh:nowhere' cannot start: .*refused"):
        Agent(systems.find("ssh:nowhere"), directory=tmp_path)


@pytest.mark.uml
def test_a_small_guest_pages_to_a_device_of_its_own(steelyard: Run, tmp_path: Path) -> None:
    """An area larger than its memory is measured there, and pages have to be fetched; this machine's own
    kernel refuses one that is more than a quarter of memory."""
    study = tmp_path / "paging.toml"
    study.write_text(
        """
name = "paging"
title = "an area that does not fit"
systems = ["native", "small"]
[design]
looks = [1]
trial_limit = "2m"
[system.small]
base = "uml"
memory = "64M"
swap = "256M"
[[workload]]
name = "memory_read_words"
from = 29360128
to = 58720256
steps = 1
operations = 1
batches = 1
warmup_ns = 0
[[workload]]
name = "memory_zero"
from = 1099511627776
to = 1099511627776
"""
    )

    answer = steelyard("run", str(study), "--format", "json", timeout=240)

    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    small = next(one for one in found["systems"] if one["name"] == "small")
    assert small["fingerprint"]["memory_bytes"] < 64 << 20
    assert small["fingerprint"]["swap_bytes"] > 250 << 20
    (curve,) = found["curves"]
    assert {line["system"]: line["paging_from"] for line in curve["lines"]} == {
        "native": None,
        "small": 58720256,
    }
    refused = {one["system"]: one["reason"] for one in found["troubles"] if one["status"] == "unsupported"}
    assert set(refused) == {"native", "small"}
    assert all("more than the" in reason for reason in refused.values())


_KILLED_AT_EACH_LINE = """
import os, signal, sys, time
from pathlib import Path
from steelyard import systems
from steelyard.systems import agent, scratch

directory, first, every = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

def killed_at(number):
    '''Starts a system in a process that is killed at that line after the first; whether it came so far.'''
    left = number
    def trace(frame, event, argument):
        nonlocal left
        place, function = Path(frame.f_code.co_filename).name, frame.f_code.co_name
        if place not in ("agent.py", "scratch.py") and function != "_execute_child":  # subprocess's own
            return None
        if function == "_greeting":  # the guard is up
            os._exit(0)
        if event == "line" and (left := left - 1) < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace
    laboratory = os.fork()
    if laboratory == 0:
        sys.settrace(trace)
        agent.Agent(systems.find("native"), directory=directory)
    return os.WIFSIGNALED(os.waitpid(laboratory, 0)[1])

killed, found, line = 0, 0, first
while killed_at(line):
    killed, line = killed + 1, line + every
    deadline = time.monotonic() + 20
    while any(directory.iterdir()) and time.monotonic() < deadline:  # a guard may have begun to
        found += len(scratch.clear(directory))
        time.sleep(0.001)
    assert not any(directory.iterdir()), f"killed before line {line}: {list(directory.iterdir())}"
print(killed, found)
"""


@pytest.mark.program
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.long)])
def test_a_laboratory_that_is_killed_at_any_line_of_a_start_leaves_no_directory(
    every: int, tmp_path: Path
) -> None:
    """Between the making of the scratch directory and the guard's start, only the next command clears it."""
    first = random.randrange(every)
    print(f"from line {first}, each {every}")
    answer = subprocess.run(
        [sys.executable, "-c", _KILLED_AT_EACH_LINE, str(tmp_path), str(first), str(every)],
        capture_output=True,
        text=True,
        timeout=patience(600),
    )

    assert answer.stderr == ""
    killed, found = map(int, answer.stdout.split())
    assert killed * every > 50
    assert found * every > 5


def test_what_a_living_laboratory_or_another_user_has_is_not_cleared(tmp_path: Path) -> None:
    kept = [
        tmp_path / "steelyard-1-0123456789",
        tmp_path / "steelyard-x-01234567",
        tmp_path / "steelyard-file",
    ]
    for name in kept:
        name.mkdir()
    (tmp_path / "steelyard-2-01234567").symlink_to(kept[0])
    left = tmp_path / "steelyard-3-01234567"
    (left / "below").mkdir(parents=True)
    living = scratch.make(tmp_path)

    assert scratch.clear(tmp_path) == [f"{left} was removed, left by a killed run"]

    assert living.path.exists()
    assert all(name.exists() for name in kept)
    living.close()
    assert scratch.clear(tmp_path) == []
    assert not living.path.exists()


@pytest.mark.root
def test_another_users_directory_is_not_cleared(tmp_path: Path) -> None:
    theirs = tmp_path / "steelyard-3-01234567"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)

    assert scratch.clear(tmp_path) == []
    assert theirs.exists()


def test_the_next_command_clears_what_was_left_and_says_so(steelyard: Run, tmp_path: Path) -> None:
    left = [tmp_path / where / "steelyard-3-01234567" for where in ("temporary", "named")]
    for one in left:
        one.mkdir(parents=True)
    study = ["run", "no-such-study", "--directory", str(tmp_path / "named")]

    first = steelyard("list", "systems", TMPDIR=str(tmp_path / "temporary"))
    assert first.stderr == f"steelyard: {left[0]} was removed, left by a killed run\n"
    assert [one.exists() for one in left] == [False, True]

    second = steelyard(*study, TMPDIR=str(tmp_path / "temporary"))
    assert f"{left[1]} was removed" in second.stderr
    assert [one.exists() for one in left] == [False, False]


@pytest.mark.gvisor
def test_gvisor_keeps_to_its_scratch_directory_and_to_the_group_it_was_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own directories and control groups would be left when it is killed."""
    (tmp_path / "temporary").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    with Agent(systems.find("gvisor"), directory=tmp_path / "work") as agent:
        members = descendants(agent._process.pid)
        assert {(Path("/proc") / str(one) / "cgroup").read_text() for one in members} == {
            Path("/proc/self/cgroup").read_text()
        }
        os.kill(agent._process.pid, signal.SIGKILL)
        assert list((tmp_path / "temporary").iterdir()) == []
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.uml
def test_uml_needs_no_home_directory_that_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/proc")

    with Agent(systems.find("uml"), directory=tmp_path) as agent:
        assert agent.hello["record"] == "hello"


def test_children_are_found_by_their_parents_where_the_lists_are_none(tmp_path: Path) -> None:
    """And a process whose figures are none is nobody's child."""
    for number, stat in (
        (5, "5 (a) S 1"),
        (7, "7 (b) c) S 5 7"),
        (8, "\ufffd\0-1"),
        (9, "9 (d)"),
        (10, "10 (e) S 50"),
    ):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "stat").write_text(stat)
    (tmp_path / "5" / "task" / "5").mkdir(parents=True)

    for odd in (b"\xff\0-1\n", b"x y", b"\xc2\xb2", b"9" * 40):
        (tmp_path / "5" / "task" / "5" / "children").write_bytes(odd)
        assert children(5, tmp_path) == [7]
    (tmp_path / "5" / "task" / "5" / "children").write_bytes(b"7 10 \n")
    assert children(5, tmp_path) == [7, 10]
