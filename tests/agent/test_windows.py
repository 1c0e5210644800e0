"""The program for Windows, run by Wine, and the operating-system layer by itself on both systems."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import c_programs
import places
import pytest
import synthetic
from patience import patience
from ssh_hosts import ssh_server

from steelyard import allowance, systems
from steelyard.errors import Unsupported, UsageError
from steelyard.programs import built
from steelyard.study import turns
from steelyard.systems import wine
from steelyard.systems.agent import Agent, descendants
from steelyard.systems.system import Place

# What every Windows has had since Windows 7, and Wine has.
SYSTEM_LIBRARIES = {"kernel32.dll", "msvcrt.dll", "advapi32.dll", "ws2_32.dll", "ntdll.dll"}
ONCE = "batches=1 operations=2 warmup_ns=0"

pytestmark = pytest.mark.wine
Records = list[dict[str, Any]]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    place = tmp_path_factory.mktemp("work")
    with Agent(systems.find("wine"), directory=place) as started:
        yield started
    assert list(place.iterdir()) == []


@pytest.fixture
def agent(running: Agent) -> Iterator[Agent]:
    """One for all tests: each leaves it without a trial."""
    yield running
    assert left_by_trials(running) == []
    assert running.ask("clock", "clock")["record"] == "clock"


def heard(agent: Agent, until: Callable[[dict[str, Any]], bool]) -> Records:
    found = []
    for record in agent.records(time.monotonic() + patience(60)):
        found.append(record)
        if until(record):
            return found
    raise AssertionError(f"not heard in {found}")


def run(agent: Agent, request: str) -> Records:
    agent.send(request)
    return heard(agent, lambda record: record["record"] in ("end", "error"))


def under_wine(tmp_path: Path) -> list[str]:
    """The words that run a program by Wine, without an agent."""
    place = Place(built.load("windows"), tmp_path / "place")
    place.scratch.mkdir()
    wine.WINE.prepare(place)
    return wine.WINE.command(place)[: -len(["PROGRAM", "agent", "DIRECTORY"])]


@pytest.fixture
def by_wine(tmp_path: Path) -> Iterator[list[str]]:
    words = under_wine(tmp_path)
    yield words
    subprocess.run([*words[:-1], "wineserver", "-k"], check=False)


def keys(record: dict[str, Any]) -> dict[str, Any]:
    """The keys of a record, and of the objects in its lists."""
    return {
        key: keys(value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else None
        for key, value in record.items()
    }


def test_it_needs_no_library_beyond_the_system_s() -> None:
    told = subprocess.run(
        ["x86_64-w64-mingw32-objdump", "-p", built.load("windows")],
        capture_output=True,
        text=True,
        check=True,
    )
    needed = {name.lower() for name in re.findall(r"DLL Name: (\S+)", told.stdout)}
    assert needed
    assert needed <= SYSTEM_LIBRARIES


def test_it_is_named_as_wine_and_never_as_windows(agent: Agent) -> None:
    seen = agent.fingerprint
    assert seen["kernel"] == "Wine"
    assert re.fullmatch(r"\d+\.\S* \(as Windows \d+\.\d+\.\d+\)", seen["kernel_release"])
    assert os.uname().release in seen["kernel_version"]
    assert seen["directory"].startswith("Z:\\")
    assert seen["cpu_count"] == len(allowance.processors())
    # No guess: Wine says that every file system is NTFS.
    assert seen["file_system"] is None


def test_its_records_have_the_keys_of_the_native_program(agent: Agent, tmp_path: Path) -> None:
    request = f"trial 1 sieve copies=2 {ONCE}"
    (tmp_path / "native").mkdir()
    with Agent(systems.find("native"), directory=tmp_path / "native") as native:
        assert keys(agent.hello) == keys(native.hello)
        assert keys(agent.fingerprint) == keys(native.fingerprint)
        assert list(agent.fingerprint) == list(native.fingerprint)
        ours, theirs = run(agent, request), run(native, request)
    assert [keys(one) for one in ours] == [keys(one) for one in theirs]
    assert [one["record"] for one in ours] == [one["record"] for one in theirs]


def test_what_windows_does_not_count_is_null_and_not_zero(agent: Agent) -> None:
    records = run(agent, f"trial 1 sieve {ONCE}")
    assert records[-1]["status"] == "ok", records
    usage = next(one for one in records if one["record"] == "usage")
    assert usage["user_ns"] >= 0
    assert {usage[name] for name in ("faults_major", "switches_voluntary", "blocks_read")} == {None}


def test_it_lists_the_same_workloads_and_parameters(by_wine: list[str]) -> None:
    answer = subprocess.run(
        [*by_wine, built.load("windows"), "list"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        check=True,
    )
    listed = json.loads(answer.stdout)
    native = built.catalogue()
    assert [(one["group"], one["name"]) for one in listed["workloads"]] == [
        (one.group, one.name) for one in native.workloads
    ]
    parameters = [one["name"] for one in listed["parameters"]]
    assert parameters == [*(one.name for one in native.parameters), turns.PARAMETER]
    known = {one.name: one for one in native.workloads}
    for one in listed["workloads"]:
        if not one["summary"].startswith("not on Windows: "):
            assert [p["name"] for p in one["parameters"]] == [p.name for p in known[one["name"]].parameters]
            assert [m["name"] for m in one["metrics"]] == [m.name for m in known[one["name"]].metrics]


@synthetic.SOME_OR_ALL
def test_every_workload_runs_or_says_why_not(agent: Agent, most: int) -> None:
    asked, ran = synthetic.some(most), []
    for workload in asked:
        end = run(agent, synthetic.quick(workload, operations=2))[-1]
        assert end["status"] in ("ok", "unsupported"), (workload.name, end)
        assert end["status"] == "ok" or end["reason"], workload.name
        ran += [workload.name] if end["status"] == "ok" else []
    native = built.catalogue().workloads
    known = {one.name for one in native if one.group in ("cpu", "memory", "harness", "file")}
    known |= {"spawn", "thread_create", "yield", "clock_read", "pipe_latency"}
    known |= {"write_null", "open_close", "stat_file", "fstat_file", "map_unmap", "anonymous_fault"}
    known |= {"lock_pass", "mutex_pass", "semaphore", "context_switch_threads"}
    network = [one for one in native if one.group == "network"]
    loopback = {one.name for one in network if "peer" not in [other.name for other in one.parameters]}
    known |= loopback | {"pipe_transfer", "pipe_bandwidth"}
    assert known <= {one.name for one in native}
    assert known & {one.name for one in asked} <= set(ran)


@pytest.mark.parametrize(
    "workload",
    [
        *("pipe_latency", "pipe_bandwidth size=1048576", "tcp_latency", "udp_latency", "tcp_connect"),
        *("tcp_bandwidth size=1", "tcp_bandwidth size=1048576", "http_get size=0", "http_transfer"),
        *("tcp_echo requests=100", "tcp_echo requests=100 library=1 size=5000"),
    ],
)
def test_a_partner_works_with_each_copy_and_is_gone_with_it(agent: Agent, workload: str) -> None:
    found = run(agent, f"trial 1 {workload} copies=2 batches=2 operations=20 warmup_ns=0")
    assert found[-1]["status"] == "ok", found[-1]
    samples = [one for one in found if one["record"] == "samples"]
    each = 1 if "echo" in workload else 20  # which is a performance of its own
    assert [(one["operations"], len(one["durations_ns"])) for one in samples] == [(each, 2)] * 2
    assert left_by_trials(agent) == []


# What Wine hands on to Linux one for one, by the file: the calls of an operation of each workload on it.
# (DeleteFile opens what file_create and file_remove have made.)
HANDED_ON = {
    ("disktest",): ("disktest", {"write": 1000, "read": 2000, "lseek": 1001}),
    ("file_create", "file_remove"): ("[0-9a-f]{8}", {"openat": 4, "unlink": 2}),
    ("file_write", "file_read", "file_read_cached"): ("contents", {"write": 1, "read": 129, "lseek": 1}),
    ("open_close",): ("open_close", {"openat": 1}),
    ("write_null",): ("null", {"write": 1}),
}


@pytest.mark.limit(600)
@pytest.mark.strace
def test_each_operation_is_done_as_often_as_wine_is_asked(tmp_path: Path, by_wine: list[str]) -> None:
    """Counted by strace, in wineserver too, which opens and removes files for others; as a difference, in
    which what surrounds the operations cancels."""
    (tmp_path / "work").mkdir()
    trace = tmp_path / "trace"
    watched = ["strace", "-f", "--seccomp-bpf", "-y", "-qq", "-o", str(trace)]
    watched += ["-e", "trace=read,write,lseek,openat,unlink"]
    program = [*watched, *by_wine, str(built.load("windows")), "agent", str(tmp_path / "work")]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdin
        assert agent.stdout
        for operations in (3, 10):
            for workload in (name for names in HANDED_ON for name in names):
                print(
                    f"trial {operations} {workload} batches=1 warmup_ns=0 operations={operations}",
                    file=agent.stdin,
                    flush=True,
                )
                end = next(line for line in agent.stdout if '"record":"end"' in line)
                assert json.loads(end)["status"] == "ok", workload
        agent.stdin.close()

    few, first, many = trace.read_text(errors="replace").partition(r'"{\"record\":\"begin\",\"trial\":\"10')
    assert first
    for name, claimed in HANDED_ON.values():
        of_that_file = re.compile(rf"^\d+ +(\w+)\(.*[/\"]{name}[>\"]", re.MULTILINE)
        before, after = (Counter(of_that_file.findall(trace)) for trace in (few, many))
        assert {call: after[call] - before[call] for call in claimed} == {
            call: 7 * each for call, each in claimed.items()
        }, name


def test_a_full_disk_fails_the_trial_with_the_system_s_words(by_wine: list[str]) -> None:
    """A limit on the size of files stands for it."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    # First without: a prefix is written at its first start.
    subprocess.run([*by_wine, built.load("windows"), "--version"], stdout=subprocess.PIPE, check=True)
    answer = subprocess.run(
        [*by_wine, built.load("windows"), "run", "disktest", "operations=1", "batches=1"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        check=False,
        preexec_fn=limit,
    )
    end = json.loads(answer.stdout.splitlines()[-1])
    assert end["status"] == "failed"
    assert end["reason"].startswith("write: ")
    assert "error " in end["reason"], "one of Windows' own, by its number too"


def test_a_workload_that_windows_has_not_takes_any_of_its_parameters(agent: Agent) -> None:
    end = run(agent, "trial 1 shell script=3 anything=4")[-1]
    assert (end["status"], end["reason"]) == ("unsupported", "Windows has no POSIX shell")
    assert run(agent, "trial 2 shell copies=0")[-1]["record"] == "error"
    assert run(agent, "trial 3 sieve anything=4")[-1]["record"] == "error"


def test_the_agent_s_protocol(agent: Agent) -> None:
    agent.send("nonsense")
    assert "a request is" in heard(agent, lambda one: one["record"] == "error")[-1]["reason"]
    assert run(agent, "trial 1 moon")[-1]["reason"] == "there is no workload 'moon'"
    first, second = (agent.ask("clock", "clock")["clock_ns"] for _ in range(2))
    assert 0 < first < second
    agent.send("trial 7 sieve warmup_ns=30000000000")
    heard(agent, lambda one: one["record"] == "begin")
    agent.send("stop 7")
    assert heard(agent, lambda one: one["record"] == "end")[-1]["status"] == "stopped"
    assert run(agent, f"trial 8 sieve {ONCE}")[-1]["status"] == "ok"


def test_a_trial_that_takes_too_long_is_killed(agent: Agent) -> None:
    found = run(agent, "trial 1 sieve copies=3 warmup_ns=30000000000 limit_ms=400")
    assert found[-1]["status"] == "timed out"
    processes = next(one for one in found if one["record"] == "processes")["processes"]
    assert [one["status"] for one in processes] == ["killed"] * 3


def trial_processes(agent: Agent, verb: str = "trial-process") -> list[int]:
    found = []
    for one in descendants(agent._process.pid):
        with suppress(OSError):  # it has ended meanwhile
            if f"\0{verb}\0".encode() in (Path("/proc") / str(one) / "cmdline").read_bytes():
                found.append(one)
    return found


def left_by_trials(agent: Agent) -> list[int]:
    """Wine's end of a process comes a moment before this kernel's, and a longer one on a busy machine."""
    deadline = time.monotonic() + patience(20)
    while left := trial_processes(agent) + trial_processes(agent, "partner"):
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return left


def test_a_trial_process_that_vanishes_fails_its_trial_and_no_other(agent: Agent) -> None:
    agent.send("trial 1 sieve copies=2 warmup_ns=30000000000")
    heard(agent, lambda one: one["record"] == "begin")
    deadline = time.monotonic() + patience(20)
    while len(trial_processes(agent)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(trial_processes(agent)[0], signal.SIGKILL)
    end = heard(agent, lambda one: one["record"] == "end")[-1]
    assert end["status"] in ("failed", "killed")
    assert end["reason"]
    assert left_by_trials(agent) == []
    assert run(agent, f"trial 2 sieve {ONCE}")[-1]["status"] == "ok"


def encoded(*words: str) -> str:
    return "".join(f"%{byte:02x}" for byte in "\n".join(words).encode())


def test_a_command_that_crashes_is_told_by_its_exception(agent: Agent) -> None:
    words = encoded("Z:" + str(c_programs.program("tests/agent/crash.exe")).replace("/", "\\"))
    end = run(agent, f"trial 1 command command={words} {ONCE}")[-1]
    assert end["status"] == "failed"
    assert "exception 0xC0000005: access violation" in end["reason"]


def test_a_command_runs_and_its_status_counts(agent: Agent) -> None:
    words = encoded("cmd", "/c", "exit 0")
    assert run(agent, f"trial 1 command command={words} {ONCE}")[-1]["status"] == "ok"
    words = encoded("cmd", "/c", "exit 3")
    assert "exited with status 3" in run(agent, f"trial 2 command command={words} {ONCE}")[-1]["reason"]
    assert run(agent, f"trial 3 command {ONCE}")[-1]["reason"] == "there is no program 'true'"


def test_it_can_be_no_guard(by_wine: list[str]) -> None:
    answer = subprocess.run(
        [*by_wine, built.load("windows"), "guard", "3", "x", "y"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 77
    assert "the guard is for Linux" in answer.stderr


def test_two_starts_do_not_share_a_wineserver(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with Agent(systems.find("wine"), directory=tmp_path / "other") as other:
        agent.park()
        assert run(other, f"trial 1 sieve {ONCE}")[-1]["status"] == "ok"
        agent.resume()
    assert run(agent, f"trial 1 sieve {ONCE}")[-1]["status"] == "ok"


def test_the_base_prefix_is_made_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a wineboot that fails; one that does its work is what all other tests here begin with."""
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "wine").write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo wine-0 || { echo sorry >&2; exit 1; }\n'
    )
    (commands / "wine").chmod(0o755)
    monkeypatch.setenv("PATH", str(commands), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(Unsupported, match=r"wineboot could not make .*: sorry"):
        Agent(systems.find("wine"), directory=tmp_path)
    assert list((tmp_path / "cache" / "steelyard" / "wine").iterdir()) == []


def test_a_build_for_linux_is_refused_on_it_and_its_own_elsewhere() -> None:
    for name in ("wine+musl", "native+windows"):
        with pytest.raises(UsageError, match=re.escape(f"system '{name}'")):
            systems.find(name)


def test_the_layer_on_windows(tmp_path: Path, by_wine: list[str]) -> None:
    answer = subprocess.run(
        [*by_wine, c_programs.program("tests/agent/system_test.exe")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=patience(120),
    )
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.ssh
@pytest.mark.root
def test_a_host_whose_shell_is_cmd_gets_the_program_and_runs_it(
    tmp_path: Path, by_wine: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No Windows is at hand: what answers behaves as cmd.exe does, and runs the program by Wine."""
    home = tmp_path / "home"
    script = places.SUPPORT / "far_cmd.py"
    shell = " ".join([sys.executable, str(script), str(home), *by_wine])
    (tmp_path / "work").mkdir()
    with ssh_server(tmp_path, shell=shell) as host:
        monkeypatch.setenv("STEELYARD_SSH_CONFIG", str(tmp_path / "ssh_config"))
        for _ in range(2):
            with Agent(systems.find(host), directory=tmp_path / "work") as far:
                assert far.fingerprint["kernel"] == "Wine"
                assert run(far, f"trial 1 sieve {ONCE}")[-1]["status"] == "ok"
                digest = far.hello["program_sha256"]
    copies = list(home.rglob("*.exe"))
    assert copies == [home / ".cache" / "steelyard" / digest / "steelyard-load.exe"]
    asked = (home / "asked").read_text().splitlines()
    assert asked.count("internal-sftp") == 1, "the second time it is there already"
    assert asked[-1].endswith('steelyard-load.exe" agent')


def test_the_commands_for_powershell() -> None:
    from steelyard.systems import ssh

    words = ssh._windows_words(ssh._Shell.POWERSHELL, "abc", "agent")
    assert words == '& ".\\.cache\\steelyard\\abc\\steelyard-load.exe" agent'


def test_version_is_one_line_without_carriage_return(by_wine: list[str]) -> None:
    told = subprocess.run(
        [*by_wine, built.load("windows"), "--version"], stdout=subprocess.PIPE, check=True
    ).stdout
    assert told.endswith(b"}\n")
    assert b"\r" not in told
    assert json.loads(told)["libc"].startswith("msvcrt")
