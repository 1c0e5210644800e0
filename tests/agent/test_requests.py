"""The agent's two streams at their edges: too much, too long, cut short, closed, full, interrupted."""

import base64
import errno
import fcntl
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import monitor_runs
import pytest
from patience import patience
from processes import family

from steelyard.programs import built

pytestmark = pytest.mark.program

LINE_MOST = 32767  # the longest server's description takes 18,000, written as %xx
QUICK = "operations=1 batches=1 warmup_ns=0"
SLOW = "sieve operations=1000000000 batches=1"


class Agent:
    """An agent whose requests are written as bytes, and whose records are read as they come."""

    def __init__(self, directory: Path, *, under: tuple[str, ...] = (), **options: Any) -> None:
        command = [*under, built.load("glibc"), "agent", directory]
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        self.process = subprocess.Popen(command, **streams)

    def send(self, requests: str | bytes) -> None:
        data = requests.encode() if isinstance(requests, str) else requests
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def records(self) -> Iterator[dict]:
        return (json.loads(line) for line in self.process.stdout)

    def next(self, kind: str) -> dict:
        return next(record for record in self.records() if record["record"] == kind)

    def answers(self, *requests: str) -> list[dict]:
        """The records after these requests and "quit": the stream stays open, as its end means stop."""
        self.send("".join(f"{request}\n" for request in (*requests, "quit")))
        return list(self.records())

    def finish(self, requests: str | bytes = b"") -> list[dict]:
        """The records that come after these last requests and the end of the stream."""
        output, self.complaints = self.process.communicate(
            requests.encode() if isinstance(requests, str) else requests, timeout=patience(60)
        )
        return [json.loads(line) for line in output.splitlines()]


@pytest.fixture
def start() -> Iterator[Callable[..., Agent]]:
    """Starts agents that do not outlive the test."""
    started: list[Agent] = []

    def one(directory: Path, **options: Any) -> Agent:
        started.append(Agent(directory, **options))
        return started[-1]

    yield one
    for agent in started:
        agent.process.kill()
        agent.process.communicate()


@pytest.mark.parametrize("count", [10_000, 200_000])
def test_requests_behind_a_running_trial_wait_for_their_turn(
    start: Callable[..., Agent], tmp_path: Path, count: int
) -> None:
    """The larger number is more than the agent keeps, so that some of them wait in the pipe."""
    agent = start(tmp_path)
    agent.send(f"trial 1 {SLOW} limit_ms=700\n")
    agent.next("begin")
    rest = "clock\n" * count + f"trial 2 sieve {QUICK}\nquit\n"
    writer = threading.Thread(target=agent.send, args=[rest])  # or both would wait for each other
    writer.start()
    records = list(agent.records())
    writer.join()

    ends = [(one["trial"], one["status"]) for one in records if one["record"] == "end"]
    assert ends == [("1", "timed out"), ("2", "ok")]
    assert sum(one["record"] == "clock" for one in records) == count
    assert agent.finish() == []
    assert agent.process.wait(timeout=patience(60)) == 0


def test_a_trial_is_stopped_though_much_waits_before_the_request(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    agent = start(tmp_path)
    agent.send(f"trial 1 {SLOW}\n")
    agent.next("begin")
    agent.send("clock\n" * 5000 + "trial 12 sieve x\nnonstop 1\nstop 1\nquit\n")

    records = list(agent.records())

    assert records[1]["status"] == "stopped"
    assert [one["record"] for one in records[2:]] == ["clock"] * 5000 + ["error", "error"]
    assert "not 'nonstop 1'" in records[-1]["reason"]


def test_a_stop_that_waits_already_is_obeyed_when_the_trial_begins(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    agent = start(tmp_path)
    agent.send(f"trial 1 {SLOW}\ntrial 2 {SLOW}\r\nstop 2\r\nstop 1\r\nquit\n")

    ends = [(one["trial"], one["status"]) for one in agent.records() if one["record"] == "end"]

    assert ends == [("1", "stopped"), ("2", "stopped")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_longest_request_is_obeyed_and_a_longer_one_is_refused_whole(
    start: Callable[..., Agent], tmp_path: Path, end: bytes
) -> None:
    def padded(length: int) -> bytes:
        head = b"trial 7 command command=true%0a"
        return head + b"x" * (1000) + f" {QUICK}".encode().ljust(length - len(head) - 1000)

    agent = start(tmp_path)
    records = agent.finish(
        b"".join(
            (
                padded(LINE_MOST),
                end,
                padded(LINE_MOST + 1),
                end,
                padded(70_000),
                b"\rquit",
                end,
                b"clock\n",
                b"quit\n",
            )
        )
    )

    assert [one["record"] for one in records if one["record"] in ("end", "error", "clock")] == [
        "end", "error", "error", "clock",
    ]  # fmt: skip
    refused = [one for one in records if one["record"] == "error"]
    assert {one["trial"] for one in refused} == {"7"}
    assert all(f"longer than {LINE_MOST} bytes: nothing was done" in one["reason"] for one in refused)


@pytest.mark.parametrize(
    ("line", "trial", "reason"),
    [
        (b"trial 3 sieve\0 copies=2", "3", "a zero byte"),
        (b"\0quit", None, "a zero byte"),
        (b"trial 3 command command=true%00false", "3", "parameter command has a zero byte"),
        (b"trial 3 command command=%4", "3", "no two digits (0-9, a-f) follow"),
        (b"trial 3 command command=" + b"x" * 5000, "3", "parameter command is longer than"),
        (b"trial " + b"x" * 64 + b" sieve", None, "an ID of 1 to 63 characters"),
        (b"trial 3 " + b"x" * 5000, "3", "there is no workload 'xxx"),
        (b"trial 3 sieve" + b" seed=1" * 32, "3", "more than 31 parameters"),
        (b"trial 3 sieve seed=" + b"9" * 5000, "3", "must be a whole number from 0 to 4294967295"),
        (b"trial 3 sieve " + b"x" * 5000 + b"=1", "3", "there is no parameter 'xxx"),
        (b"[" * 8000, None, "a request is: trial ID WORKLOAD"),
        (b"\xff\x1b[31m", None, "not '\xff\x1b[31m'"),
    ],
)
def test_each_limit_is_said_when_it_is_passed(
    start: Callable[..., Agent], tmp_path: Path, line: bytes, trial: str | None, reason: str
) -> None:
    _, refused, clock = start(tmp_path).finish(line + b"\nclock\n")

    assert (refused["record"], refused["trial"]) == ("error", trial)
    assert reason in refused["reason"]
    assert len(refused["reason"]) < 500
    assert clock["record"] == "clock"


def test_requests_that_end_in_the_midst_of_a_line_are_not_obeyed_by_half(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    agent = start(tmp_path)
    records = agent.finish(f"clock\ntrial 4 sieve {QUICK} copies=1")

    assert [one["record"] for one in records] == ["hello", "clock", "error"]
    assert records[-1]["trial"] == "4"
    assert "ended within" in records[-1]["reason"]
    assert agent.process.wait(timeout=patience(60)) == 0


def test_when_the_requests_end_the_trials_that_wait_are_refused_each(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    agent = start(tmp_path)
    records = agent.finish(f"trial 1 {SLOW}\ntrial 2 {SLOW}\ntrial 3 {SLOW}\nclock\n")

    assert [(one["record"], one.get("trial")) for one in records[1:]] == [
        ("begin", "1"), ("processes", "1"), ("end", "1"), ("error", "2"), ("error", "3"), ("clock", None),
    ]  # fmt: skip
    assert records[3]["status"] == "stopped"
    assert "not started" in records[4]["reason"]
    assert list(tmp_path.iterdir()) == []


def test_the_limit_holds_from_the_beginning_with_many_copies(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    """While the last are started the first work already: of 1,024 the last one began after 100 s."""
    _, begin, *_, processes, end = start(tmp_path).answers("trial 1 sieve copies=200 limit_ms=300")

    assert end["status"] == "timed out"
    assert end["reason"] == "not done after 300 ms"
    deadline_ns = begin["clock_ns"] + 300_000_000
    assert sum(one["asked_ns"] > deadline_ns for one in processes["processes"]) <= 1
    assert list(tmp_path.iterdir()) == []


def test_many_copies_are_answered(start: Callable[..., Agent], tmp_path: Path) -> None:
    records = start(tmp_path).answers(f"trial 1 null copies=200 {QUICK}", "clock")

    assert [one["status"] for one in records if one["record"] == "end"] == ["ok"]
    assert sum(one["record"] == "samples" for one in records) == 200
    assert records[-1]["record"] == "clock"


def test_a_trial_ends_though_what_it_started_has_left_its_group_and_lives_on(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    """It would hold the pipe to the agent open, had it inherited it."""
    noted = tmp_path / "noted"
    script = "".join(f"%{byte:02x}" for byte in f"sh\n-c\nsetsid sleep 60 & echo $! >> {noted}".encode())
    records = start(tmp_path).answers(f"trial 1 command command={script} {QUICK} limit_ms=20000")
    for process in noted.read_text().split():
        os.kill(int(process), signal.SIGKILL)

    assert records[-1]["status"] == "ok"


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_stream_that_was_closed_before_is_taken_by_nothing_else(
    start: Callable[..., Agent], tmp_path: Path, closed: int
) -> None:
    """A pipe to a trial's process that took its number would be closed or given away with it."""
    command = [built.load("glibc"), "run", "pipe_latency", "operations=1", "batches=1", "warmup_ns=0"]
    answer = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}>&-', "sh", *command],
        capture_output=True,
        text=True,
        timeout=patience(60),
    )

    if closed == 1:
        assert answer.returncode == 1
        assert answer.stderr == "steelyard-load: writing a record: Bad file descriptor\n"
    else:
        assert json.loads(answer.stdout.splitlines()[-1])["status"] == "ok"
        assert answer.returncode == 0


@pytest.mark.parametrize(
    "verb", [("agent", "/tmp"), ("list",), ("describe",), ("--version",), ("run", "null")]
)
def test_a_full_disk_ends_it_with_a_sentence(verb: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        answer = subprocess.run(
            [built.load("glibc"), *verb], stdin=subprocess.PIPE, stdout=full, stderr=subprocess.PIPE,
            timeout=patience(60), check=False, text=True,
        )  # fmt: skip

    assert answer.returncode == 1
    assert answer.stderr == "steelyard-load: writing a record: No space left on device\n"


def test_when_nobody_reads_the_agent_ends_its_trials_and_says_so(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    agent = start(tmp_path)
    agent.next("hello")
    agent.process.stdout.close()
    agent.send("clock\n" + f"trial 1 {SLOW}\n" * 3)
    assert agent.process.wait(timeout=patience(60)) == 1
    assert agent.process.stderr.read() == b"steelyard-load: writing a record: Broken pipe\n"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_may_not_grow_is_left_with_whole_records_and_one_cut_short(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    """After a line that was cut short nothing more is written: it would be taken for that line's end."""
    output = tmp_path / "output"

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    with output.open("wb") as file:
        agent = start(tmp_path, stdout=file, preexec_fn=limit)
    agent.process.communicate(b"clock\n" * 100)

    assert agent.process.returncode == 1
    *whole, cut = output.read_bytes().split(b"\n")
    assert all(json.loads(line)["record"] in ("hello", "clock") for line in whole)
    assert b'{"record":"clock","clock_ns":12345678901234567890}'.startswith(cut[:29])
    assert len(output.read_bytes()) == 1000


def test_streams_that_do_not_block_lose_nothing_and_do_not_spin(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    requests_out, requests_in = os.pipe()
    records_out, records_in = os.pipe()
    for end in (requests_out, records_in):
        os.set_blocking(end, False)
    fcntl.fcntl(records_in, fcntl.F_SETPIPE_SZ, 4096)
    agent = start(tmp_path, stdin=requests_out, stdout=records_in)
    os.close(requests_out)
    os.close(records_in)
    time.sleep(1)  # nothing comes
    os.write(requests_in, b"list\n" * 20 + b"quit\n")
    time.sleep(1)  # and nobody reads
    with open(records_out, "rb") as stream:
        kinds = [json.loads(line)["record"] for line in stream]
    os.close(requests_in)
    _, status, used = os.wait4(agent.process.pid, 0)

    assert kinds == ["hello"] + ["workloads"] * 20
    assert status == 0
    assert used.ru_utime + used.ru_stime < 0.5


@pytest.mark.strace
@pytest.mark.parametrize("call", ["read", "write", "poll", "wait4"])
def test_an_interruption_of_any_call_changes_nothing(
    start: Callable[..., Agent], tmp_path: Path, call: str
) -> None:
    """Every second call of that kind is interrupted, in the agent alone."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    inject = f"inject={call}:error=EINTR:when=2+2"
    agent = start(tmp_path, under=("strace", "-o", "/dev/null", "-e", inject))
    records = agent.answers("clock", f"trial 1 pipe_latency copies=2 {QUICK}", "list", "describe")

    assert [one["record"] for one in records] == [
        "hello", "clock", "begin", "samples", "usage", "samples", "usage", "processes", "end", "workloads",
        "system",
    ]  # fmt: skip
    assert records[-3]["status"] == "ok"
    assert agent.process.wait(timeout=patience(60)) == 0


@pytest.mark.strace
@pytest.mark.parametrize(
    ("call", "number"),
    [("pipe2", errno.EMFILE), ("mkdir", errno.ENOSPC), ("clone", errno.EAGAIN), ("fork", errno.EAGAIN)],
)
def test_a_call_that_fails_at_any_moment_is_said_and_leaves_nothing(
    start: Callable[..., Agent], tmp_path: Path, call: str, number: int
) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    said = 0
    for nth in range(1, 8):
        inject = f"inject={call}:error={errno.errorcode[number]}:when={nth}"
        agent = start(tmp_path, under=("strace", "-o", "/dev/null", "-e", inject))
        records = agent.answers(f"trial 1 null copies=2 {QUICK}", f"trial 2 null {QUICK}")
        ends = [one for one in records if one["record"] == "end"]
        assert [end["trial"] for end in ends] == ["1", "2"]
        assert {end["status"] for end in ends} <= {"ok", "failed"}
        said += sum(os.strerror(number) in (end["reason"] or "") for end in ends)
        assert agent.process.wait(timeout=patience(60)) == 0
        assert list(tmp_path.iterdir()) == []
    assert said or call in ("clone", "fork")  # a libc makes processes by one of the two


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("verb", ["run", "agent"])
def test_who_has_no_laboratory_leaves_no_directory_when_it_is_killed(
    tmp_path: Path, verb: str, number: int
) -> None:
    """By a trial that goes on making files while it is."""
    script = "while echo x >$$-$((i = i + 1)); do sleep 0.01; done"
    command = "".join(f"%{byte:02x}" for byte in f"sh\n-c\n{script}".encode())
    words = ["command", f"command={command}", "operations=1", "batches=1", "copies=2"]
    started = subprocess.Popen(
        [built.load("glibc"), verb, *(words if verb == "run" else [])],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert started.stdin is not None
    if verb == "agent":
        started.stdin.write(f"trial 1 {' '.join(words)}\n".encode())
        started.stdin.flush()
    monitor_runs.until(lambda: [one for one in tmp_path.rglob("*") if one.is_file()], "the trial's files")
    send = os.killpg if number in (signal.SIGKILL, signal.SIGINT) else os.kill  # as at a terminal
    send(started.pid, number)
    started.communicate(timeout=patience(60))

    assert started.returncode == -number
    monitor_runs.until(lambda: not list(tmp_path.iterdir()), "the removal of its directory")


@pytest.mark.parametrize("end", ["quit", "end of input"])
def test_an_agent_without_a_laboratory_ends_with_its_far_end(tmp_path: Path, end: str) -> None:
    started = subprocess.Popen(
        [built.load("glibc"), "agent"],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    output, _ = started.communicate(
        f"far 127.0.0.1 {'7' * 32}\n{'quit' if end == 'quit' else ''}\n".encode(), timeout=patience(60)
    )

    assert b'"record":"far"' in output
    assert started.returncode == 0
    assert list(tmp_path.iterdir()) == []


# Batches that take turns

TURNS = "trial 1 sieve turns=1 batch_ns=200000 warmup_ns=0 batches=20"


def test_a_batch_is_done_when_its_turn_is_given(start: Callable[..., Agent], tmp_path: Path) -> None:
    agent = start(tmp_path)
    agent.send(f"{TURNS}\n")
    assert agent.next("waiting")["trial"] == "1"
    turns = []
    for batches in (1, 2, 16):
        agent.send(f"turn 1 {batches}\n")
        turns.append(agent.next("turn")["durations_ns"])
    agent.send("turn 1 0\n")
    samples, usage, end = (agent.next(kind) for kind in ("samples", "usage", "end"))

    assert [len(one) for one in turns] == [1, 2, 16]
    assert samples["durations_ns"] == [one for turn in turns for one in turn]
    assert end["status"] == "ok"
    warm = 3 * (samples["operations"] // 5)  # a turn begins with a fifth of a batch
    assert usage["operations"] >= 19 * samples["operations"] + warm
    assert agent.answers("turn 1 1", "describe")[-1]["record"] == "system"  # too late is no error


def test_a_turn_begins_with_as_many_unmeasured_batches_as_the_work_needs(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    """Two milliseconds of them, where an operation is short."""
    agent = start(tmp_path)
    agent.send("trial 1 numeric_sort elements=100 turns=1 operations=1 warmup_ns=1 batches=10\n")
    agent.next("waiting")
    for _ in range(10):
        agent.send("turn 1 1\n")
        agent.next("turn")
    agent.send("turn 1 0\n")
    usage = agent.next("usage")

    assert usage["operations"] > 10 * 20


def come_to(agent: Agent, *policies: int) -> None:
    """Waits until the agent and its trial's processes are scheduled by these policies."""
    deadline = time.monotonic() + patience(20)
    while (found := {os.sched_getscheduler(one) for one in family(agent.process.pid)}) != {*policies}:
        assert time.monotonic() < deadline, found
        time.sleep(0.01)


def test_who_waits_for_its_turn_gives_way_to_the_one_whose_turn_it_is(
    start: Callable[..., Agent], tmp_path: Path
) -> None:
    agent = start(tmp_path)
    agent.send(f"{TURNS}\n")
    agent.next("waiting")
    come_to(agent, os.SCHED_BATCH)
    agent.send("turn 1 2\n")
    agent.next("turn")
    come_to(agent, os.SCHED_BATCH)
    agent.send("turn 1 0\n")
    agent.next("end")
    come_to(agent, os.SCHED_OTHER)
    assert agent.answers(f"trial 2 sieve {QUICK}")[-1]["status"] == "ok"


def test_whose_turn_it_is_runs_as_any_other_process(start: Callable[..., Agent], tmp_path: Path) -> None:
    agent = start(tmp_path)
    agent.send("trial 1 sieve turns=1 operations=100000 batches=1 warmup_ns=0\nturn 1 1\n")
    agent.next("waiting")
    come_to(agent, os.SCHED_BATCH, os.SCHED_OTHER)
    agent.send("stop 1\n")
    assert agent.next("end")["status"] == "stopped"


@pytest.mark.parametrize("policy", ["--batch", "--idle"])
def test_a_policy_that_a_system_was_given_is_kept(
    start: Callable[..., Agent], tmp_path: Path, policy: str
) -> None:
    agent = start(tmp_path, under=("chrt", policy, "0"))
    given = os.SCHED_BATCH if policy == "--batch" else os.SCHED_IDLE
    agent.send(f"{TURNS}\n")
    agent.next("waiting")
    come_to(agent, given)
    agent.send("turn 1 1\nturn 1 0\n")
    agent.next("end")
    come_to(agent, given)


@pytest.mark.parametrize(
    ("request_", "turns", "why"),
    [
        (TURNS, (0,), "no turn was given"),
        (TURNS, (17,), "a turn is of 1 to 16 batches, and all are at most 20"),
        (TURNS, (10, 11), "a turn is of 1 to 16 batches, and all are at most 20"),
        (f"{TURNS} copies=2", (), "only a single copy of a workload with one metric takes turns"),
        (
            "trial 1 context_switch turns=1",
            (),
            "only a single copy of a workload with one metric takes turns",
        ),
        (
            "trial 1 memory_copy turns=1 from=4096 to=8192",
            (),
            "a curve takes no turns: set from and to alike",
        ),
    ],
)
def test_what_cannot_take_turns_fails_with_a_sentence(
    request_: str, turns: tuple[int, ...], why: str, start: Callable[..., Agent], tmp_path: Path
) -> None:
    agent = start(tmp_path)
    agent.send("".join(f"{one}\n" for one in (request_, *(f"turn 1 {each}" for each in turns))))

    end = agent.next("end")

    assert end["status"] == "failed"
    assert end["reason"].startswith(why)


def test_a_trial_that_waits_for_its_turn_can_be_stopped(start: Callable[..., Agent], tmp_path: Path) -> None:
    agent = start(tmp_path)
    agent.send(f"{TURNS}\n")
    agent.next("waiting")
    agent.send("stop 1\n")
    assert agent.next("end")["status"] == "stopped"


def test_a_trial_whose_turn_never_comes_times_out(start: Callable[..., Agent], tmp_path: Path) -> None:
    agent = start(tmp_path)
    agent.send(f"{TURNS} limit_ms=300\n")
    assert agent.next("end")["status"] == "timed out"


def test_a_file_that_is_sent_is_there_as_it_was(start: Callable[..., Agent], tmp_path: Path) -> None:
    """Of every length of base64's last group; a second one of the name takes the first one's place."""
    for length in (0, 1, 2, 3, 50_000):
        content = os.urandom(length)
        parts = [content[at : at + 18_000] for at in range(0, length, 18_000)]
        (said,) = start(tmp_path).answers(
            "carry tool program", *(f"bytes {base64.b64encode(part).decode()}" for part in parts), "carried"
        )[1:]
        file = tmp_path / "carried" / "tool"

        assert (said["name"], said["size"]) == ("tool", length)
        assert said["sha256"] == hashlib.sha256(content).hexdigest()
        assert file.read_bytes() == content
        assert file.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        (["carried"], "no file was begun"),
        (["bytes QQ==", "carried"], "no file was begun"),
        (["carry ../x data", "carried"], "a file is sent by"),
        (["carry .x data", "carried"], "a file is sent by"),
        (["carry x", "carried"], "a file is sent by"),
        ([f"carry {'x' * 201} data", "carried"], "a file is sent by"),
        (["carry x data", "bytes Q*==", "bytes QQ==", "carried"], "x: what came is not base64"),
        (["carry full data", "bytes QQ==", "carried"], "full: File exists"),
    ],
)
def test_what_is_sent_wrongly_is_refused_at_its_end_and_forgotten(
    start: Callable[..., Agent], tmp_path: Path, requests: list[str], reason: str
) -> None:
    (tmp_path / "carried" / "full" / "x").mkdir(parents=True)
    agent = start(tmp_path)

    _, refused, well = agent.answers(*requests, "carry y data", "bytes QQ==", "carried")

    assert refused["record"] == "error"
    assert reason in refused["reason"]
    assert (well["record"], well["size"]) == ("carried", 1)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) in (["y"], ["x", "y"])
    assert not (tmp_path / "x").exists()
