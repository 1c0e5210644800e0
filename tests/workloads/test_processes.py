"""Many processes at once, for real: what is kept of each, and what is said when they fail."""

import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import c_programs
import pytest
from patience import patience

from steelyard.programs import built

pytestmark = pytest.mark.program

Record = dict[str, Any]


def perform(*settings: str, limits: tuple[tuple[int, int], ...] = (), **environment: str) -> list[Record]:
    def limit() -> None:
        for what, most in limits:
            resource.setrlimit(what, (most, most))

    command = [built.load("glibc"), "run", *settings]
    answer = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        check=False,
        preexec_fn=limit,
        env=os.environ | environment,
    )
    return [json.loads(line) for line in answer.stdout.splitlines()]


def groups(records: list[Record], metric: str = "together") -> list[Record]:
    return [one for one in records if one["record"] == "group" and one["metric"] == metric]


@pytest.mark.parametrize("threads", [0, 1])
def test_every_process_says_when_it_was_asked_for_began_and_ended(threads: int) -> None:
    records = perform("linpack_processes", "processes=20", "iterations=32", f"threads={threads}")
    (together,) = groups(records)

    assert records[-1]["status"] == "ok"
    assert (together["created"], together["finished"], together["failures"]) == (20, 20, [])
    assert together["asked_ns"] == sorted(together["asked_ns"])
    assert together["asked_ns"][0] == 0
    for asked, began, ended, reaped, marks in zip(
        *(together[key] for key in ("asked_ns", "began_ns", "ended_ns", "reaped_ns", "marks_ns")), strict=True
    ):
        assert asked < began < ended <= reaped
        assert marks == sorted(marks)
        assert (marks[-1], len(marks)) == (ended, 16)
    # What the harness timed spans all of it.
    (sample,) = [one for one in records if one["record"] == "samples"]
    assert sample["durations_ns"][0] >= max(together["reaped_ns"])


def test_behind_a_gate_nobody_begins_before_the_last_was_made() -> None:
    (together,) = groups(perform("linpack_processes", "processes=30", "iterations=16", "gate=1"))

    assert min(together["began_ns"]) > max(together["asked_ns"])


def test_one_alone_is_one(tmp_path: Path) -> None:
    alone = groups(perform("linpack_processes", "processes=3", "iterations=16"), "alone")

    assert [one["members"] for one in alone] == [1] * len(alone)
    assert [one["batch"] for one in alone] == list(range(1, len(alone) + 1))
    assert 3 <= len(alone) <= 40


def test_every_record_has_the_machine_code_s_digest() -> None:
    records = perform("linpack_processes", "processes=2", "iterations=16")
    known = built.catalogue().find("linpack_processes").code_sha256

    assert known
    told = [one["code_sha256"] for one in records if one["record"] in ("begin", "samples", "group")]
    assert set(told) == {known}
    assert len(told) >= 1 + 1 + 3 + 1


def test_more_iterations_take_each_process_longer() -> None:
    def least(iterations: int) -> int:
        alone = groups(perform("linpack_processes", "processes=1", f"iterations={iterations}"), "alone")[0]
        return int(alone["ended_ns"][0]) - int(alone["began_ns"][0])

    # Of twenty times the work. Whoever is not let run in all three short ones has another try.
    assert any(min(least(640) for _ in range(3)) > 4 * min(least(32) for _ in range(3)) for _ in range(5))


def test_a_process_that_is_killed_is_named_and_the_others_are_told() -> None:
    """As many iterations as take a second; one of the members is killed from outside."""
    settings = ("processes=4", "iterations=1500", "limit_ms=600000")
    command = [built.load("glibc"), "run", "linpack_processes", *settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as running:
        victim = _third_member(running.pid)
        os.kill(victim, signal.SIGKILL)
        assert running.stdout is not None
        records = [json.loads(line) for line in running.stdout.read().splitlines()]

    (together,) = groups(records)
    assert (together["created"], together["finished"]) == (4, 3)
    assert together["failures"] == [
        {"member": 2, "signal": 9, "status": "killed", "reason": "ended by signal 9"}
    ]
    assert together["ended_ns"][2] is None
    assert together["reaped_ns"][2] is not None
    assert records[-1]["status"] == "failed"
    assert records[-1]["reason"] == (
        "4 of 4 were created and 3 finished; the first that did not: ended by signal 9"
    )


def _third_member(agent: int) -> int:
    deadline = time.monotonic() + patience(60)
    while time.monotonic() < deadline:
        for process in Path("/proc").iterdir():
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                if words[1:2] == [b"member"] and words[5:6] == [b"2"] and _descends(int(process.name), agent):
                    return int(process.name)
            except (OSError, ValueError):
                continue
        time.sleep(0.01)
    raise AssertionError("the third process never appeared")


def _descends(process: int, ancestor: int) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return False


def test_where_no_more_can_be_created_those_that_were_are_finished_and_told(open_directory: Path) -> None:
    """By a limit on processes, which holds for users other than root."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become a user who has no other process")
    program = open_directory / "steelyard-load"
    program.write_bytes(built.load("glibc").read_bytes())
    program.chmod(0o755)
    open_directory.chmod(0o777)
    command = ["setpriv", "--reuid=64123", "--regid=64123", "--clear-groups"]
    command += ["prlimit", "--nproc=12", str(program), "run", "linpack_processes"]
    answer = subprocess.run(
        [*command, "processes=40", "iterations=400"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={"TMPDIR": str(open_directory)},
        check=False,
    )
    records = [json.loads(line) for line in answer.stdout.splitlines()]
    (together,) = groups(records)

    assert 1 <= together["created"] < 40
    assert together["finished"] == together["created"]
    (failure,) = together["failures"]
    assert failure["member"] == together["created"]
    assert failure["status"] == "not created"
    assert "Resource temporarily unavailable" in failure["reason"]
    assert records[-1]["status"] == "failed"
    assert failure["reason"] in records[-1]["reason"]


@pytest.mark.parametrize("workload", ["linpack", "linpack_processes"])
def test_a_stack_that_is_too_small_is_said_before_the_call(workload: str) -> None:
    """The dissertation lost processes to just this, by SIGSEGV."""
    records = perform(workload, limits=((resource.RLIMIT_STACK, 150_000),))

    assert "it needs 162960 bytes of stack, and " in records[-1]["reason"]
    assert records[-1]["signal"] is None


def test_a_system_that_refuses_to_make_memory_executable_is_unsupported() -> None:
    """By a seccomp filter that answers mprotect with PROT_EXEC as such systems do."""
    answer = subprocess.run(
        [c_programs.program("tests/agent/refuse_executable"), built.load("glibc"), "run", "linpack"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if answer.returncode == 77:
        pytest.skip("no seccomp filter can be set here")
    end = json.loads(answer.stdout.splitlines()[-1])

    assert end["status"] == "unsupported"
    assert end["reason"].startswith("this system refuses to run code from memory: Permission denied")


def test_a_search_for_the_limit_is_refused_where_nothing_protects_the_machine() -> None:
    end = perform("linpack_limit", "most=4")[-1]  # were it not refused, it would be so few

    assert end["status"] == "unsupported"
    assert "memory= and processes=" in end["reason"]


def test_the_search_finds_a_limit_that_is_set(tmp_path: Path) -> None:
    found = perform("linpack_limit", "most=37", STEELYARD_LIMITED="1")

    (value,) = [one for one in found if one["record"] == "value"]
    assert (value["metric"], value["unit"], value["value"]) == ("count", "processes", 32)


def test_threads_in_the_place_of_processes_share_one() -> None:
    def seen(threads: int) -> int:
        """How often a member was started as a process."""
        command = ["strace", "-f", "-qq", "-e", "trace=execve", str(built.load("glibc")), "run"]
        answer = subprocess.run(
            [*command, "linpack_processes", "processes=5", "iterations=16", f"threads={threads}"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return answer.stderr.count(b'"member"')

    assert 3 + 5 <= seen(0) <= 40 + 5  # those alone, and those together
    assert seen(1) == 0


def test_every_second_one_is_nicer_and_gets_less_done() -> None:
    """On one processor, where niceness decides: the nicer ones end after the others."""
    records = perform("linpack_processes", "processes=6", "iterations=800", "nice=15", "place=1")
    (together,) = groups(records)
    ended = together["ended_ns"]

    assert sum(ended[1::2]) > sum(ended[0::2])


def test_memory_of_their_own_is_written_through() -> None:
    """4 MiB each: their pages are brought in."""

    def faults(memory: int) -> int:
        records = perform("linpack_processes", "processes=2", "iterations=16", f"memory={memory}")
        (usage,) = [one for one in records if one["record"] == "usage"]
        return int(usage["faults_minor"])

    assert faults(4096) - faults(0) >= 2 * 1024 * 0.9
