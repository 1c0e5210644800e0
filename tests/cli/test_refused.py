"""A kernel, a sandbox or a container may refuse any one call: a command does without it, or says one
sentence; it neither waits for ever nor takes what was not told for a figure."""

import http.server
import json
import random
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import each_command
import pytest
import refused_calls
from installed_command import Run
from patience import patience

from steelyard.programs import built

ERRORS = ("EPERM", "ENOSYS")
LINES = each_command.LINES | {
    "own": ["compare", "--command", "true", "--command", "true", "--budget", "2s", "--new"],
    "load": ["load", "http://127.0.0.1:{port}/", "--for", "3s", "--trials", "2"],
    "archive": ["archive", "list"],
}
# What these commands have been seen to ask the kernel for, but for what no program runs without (brk, mmap,
# munmap, mprotect, arch_prctl, futex, rseq, write, exit).
CALLS = re.findall(
    r"\w+",
    """
access bind chdir clock_gettime clock_nanosleep clone clone3 close close_range connect dup2 epoll_create1
epoll_ctl epoll_pwait2 epoll_wait execve fcntl flock fsconfig fsmount fsopen fstat fsync ftruncate getcwd
getdents64 geteuid getpid getppid getpriority getrandom getrusage gettid ioctl kill lseek lstat madvise mbind
memfd_create mkdir mount mremap newfstatat open openat perf_event_open pidfd_open pidfd_send_signal pipe2 poll
ppoll prctl pread64 prlimit64 ptrace pwrite64 read readlink recvfrom recvmsg rename rmdir rt_sigaction
rt_sigprocmask sched_getaffinity sched_getscheduler sched_setaffinity sendto set_robust_list set_tid_address
setpgid setsid setsockopt signalfd4 socket stat sysinfo times uname unlink unlinkat unshare vfork wait4 waitid
    """,
)
# Each was once waited for without end, shown as a traceback, or taken for a figure.
ALWAYS = [
    ("waitid", "EPERM", "watch"),
    ("kill", "EPERM", "watch"),
    ("rt_sigaction", "ENOSYS", "list"),
    ("clock_nanosleep", "EPERM", "run"),
    ("getrusage", "EPERM", "run"),
    ("lseek", "EPERM", "report"),
    ("socket", "ENOSYS", "load"),
]
_STATUSES = (0, 1, 2, 3, 77)
_NOT_EXECUTED = (126, 127)  # of a watched command


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return each_command.study_in(tmp_path_factory.mktemp("refused"))


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.program
@pytest.mark.parametrize(
    "most",
    [3, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.limit(7200)])],
    ids=["some", "all"],
)
def test_without_any_one_call_each_command_does_without_or_says_so(
    most: int, steelyard: Run, study: Path, port: int, tmp_path: Path
) -> None:
    refused_calls.skip_unless_known()
    seed = random.SystemRandom().getrandbits(32)
    print(f"drawn with seed {seed}")
    every = [(call, error, line) for call in CALLS for error in ERRORS for line in LINES]
    drawn = random.Random(seed).sample(every, min(most, len(every)))
    wrong = []
    for call, error, line in [*ALWAYS, *drawn]:
        done = steelyard(
            *(word.format(study=study, port=port) for word in LINES[line]),
            refused=(error, call),
            TMPDIR=str(tmp_path),
            STEELYARD_ARCHIVE=str(study.parent / "archive"),
        )
        *_, last = done.stderr.splitlines() or [""]
        is_well = done.returncode == 0 or (done.returncode in _STATUSES and last.startswith("steelyard"))
        is_well = is_well or (line == "watch" and done.returncode in _NOT_EXECUTED)
        if "Traceback" in done.stderr or not is_well:
            wrong.append((call, error, line, done.returncode, done.stderr[-500:]))
            print(wrong[-1], flush=True)
    assert len(every) > 500
    assert wrong == []


@pytest.mark.program
def test_what_the_system_does_not_count_is_not_known_rather_than_0() -> None:
    refused_calls.skip_unless_known()
    words = [built.load("glibc"), "run", "sieve", "batches=2", "operations=1", "warmup_ns=0"]

    done = subprocess.run(
        [sys.executable, refused_calls.__file__, "EPERM", "getrusage", *words],
        capture_output=True,
        check=True,
        timeout=patience(60),
    )

    records = [json.loads(line) for line in done.stdout.splitlines()]
    (usage,) = (one for one in records if one["record"] == "usage")
    assert {usage[name] for name in ("user_ns", "system_ns", "faults_minor", "blocks_read")} == {None}
    assert [one["faults_major"] for one in records if one["record"] == "samples"] == [None]


@pytest.mark.program
def test_what_the_load_generator_s_own_kernel_lacks_is_not_the_server_s(
    steelyard: Run, port: int, tmp_path: Path
) -> None:
    refused_calls.skip_unless_known()
    for call in ("connect", "setsockopt"):  # without socket the command itself does not come so far
        words = ("load", f"http://127.0.0.1:{port}/", "--for", "3s", "--trials", "2")
        done = steelyard(*words, refused=("ENOSYS", call), TMPDIR=str(tmp_path))

        assert done.returncode == 1
        assert "the load generator's own limit: ENOSYS" in done.stderr, done.stderr


@pytest.mark.program
def test_an_archive_that_cannot_be_read_is_not_an_empty_one(
    steelyard: Run, study: Path, tmp_path: Path
) -> None:
    refused_calls.skip_unless_known()
    archive = str(study.parent / "archive")

    done = steelyard("report", refused=("EPERM", "read"), TMPDIR=str(tmp_path), STEELYARD_ARCHIVE=archive)

    assert done.returncode == 1
    assert "holds no experiment that can be read" in done.stderr, done.stderr
