"""A kernel, a sandbox or a container that refuses what Steelyard asks of it gets a sentence, no traceback."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import monitor_runs
import pytest
import refused_calls
import server_trials
from installed_command import COMMAND
from patience import patience

from steelyard import cli, commands
from steelyard.errors import SystemFailed
from steelyard.programs import built
from steelyard.running import examination
from steelyard.systems import protocol

# The installed command, in which one function of `os` or `resource` refuses as a seccomp filter would.
_REFUSING = """
import errno, os, resource, sys
from steelyard import entry
module, name = {"resource": resource, "os": os}[sys.argv.pop(1)], sys.argv.pop(1)
def refuse(*words, **more):
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))
setattr(module, name, refuse)
entry.entry()
"""
# All that it imports is imported before it may have few open files, as Python's own start says less.
_LIMITED = "from steelyard import entry; entry.entry()"
_CALLS = ["os.sched_getaffinity", "os.pidfd_open", "os.memfd_create", "os.getpriority", "resource.getrlimit"]


@pytest.mark.program
@pytest.mark.parametrize("call", _CALLS)
@pytest.mark.parametrize("words", ["plan pegasus", "watch --every 100ms -- true", "archive list"])
def test_a_call_that_is_refused_ends_in_no_traceback(call: str, words: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _REFUSING, *call.split("."), *words.split()],
        env=os.environ | {"STEELYARD_ARCHIVE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 77), done.stderr
    assert done.returncode == 0 or done.stderr.startswith("steelyard: ")


def under_filter(
    error: str, calls: str, *command: str | Path, place: Path
) -> subprocess.CompletedProcess[str]:
    """The command below a real seccomp filter that refuses these calls with that error."""
    refused_calls.skip_unless_known()
    return subprocess.run(
        [sys.executable, refused_calls.__file__, error, calls, *map(str, command)],
        env=os.environ | {"STEELYARD_ARCHIVE": str(place / "archive"), "TMPDIR": str(place)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=patience(100),
        check=False,
    )


@pytest.mark.program
@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
def test_a_sandbox_that_refuses_processes_is_told_by_the_program_that_it_refused(
    error: str, tmp_path: Path
) -> None:
    said = os.strerror(getattr(errno, error))

    done = under_filter(error, "clone,clone3,vfork", COMMAND, "watch", "--", "true", place=tmp_path)

    assert (done.returncode, done.stderr) == (1, f"steelyard: steelyard-watch cannot be started: {said}\n")


@pytest.mark.program
def test_a_guard_says_which_call_was_refused(tmp_path: Path) -> None:
    theirs, ours = os.pipe()
    os.set_inheritable(theirs, True)
    words = [sys.executable, refused_calls.__file__, "EPERM", "signalfd4", built.load("glibc"), "guard"]
    refused_calls.skip_unless_known()
    try:
        done = subprocess.run(
            [*words, str(theirs), tmp_path / "scratch", "/bin/true"],
            pass_fds=[theirs],
            capture_output=True,
            text=True,
            timeout=patience(60),
            check=False,
        )
    finally:
        os.close(theirs)
        os.close(ours)

    assert "/bin/true cannot be started: signalfd: Operation not permitted" in done.stderr


@pytest.mark.program
@pytest.mark.parametrize(
    "calls", ["memfd_create", "bpf,perf_event_open,ptrace", "unshare,mount", "prlimit64"]
)
def test_a_comparison_goes_on_in_a_sandbox_that_refuses_what_it_can_do_without(
    calls: str, tmp_path: Path
) -> None:
    study = tmp_path / "small.toml"
    study.write_text(
        'name = "small"\ntitle = "small"\nsystems = ["native"]\n[design]\nlooks = [2]\n'
        '[[workload]]\nname = "null"\nbatches = 2\noperations = 2\nwarmup_ns = 0\n'
    )

    done = under_filter("EPERM", calls, COMMAND, "run", study, place=tmp_path)

    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "null" in done.stdout


def test_doctor_says_what_is_known_of_a_machine_whose_files_are_hidden(tmp_path: Path) -> None:
    """Every fact of a fingerprint may be missing."""
    hidden = dict.fromkeys(protocol.KINDS["system"])

    assert examination._machine(hidden | {"kernel": "Linux"}).startswith("Linux, unknown memory; ")
    assert examination._clock(hidden).says == "it is unknown"
    assert [one for one in examination.noise(hidden, tmp_path) if "None" in one.says] == []


_HIDING = {
    "nothing in /proc": "mount -t tmpfs -o ro,size=0 none /proc",
    "processes alone in /proc": "mount -t proc -o subset=pid proc /proc",
    "nothing in /sys and /dev/shm": "mount -t proc proc /proc && mount -t tmpfs none /sys && "
    "mount -t tmpfs -o ro,size=0 none /dev/shm",
}


@pytest.mark.root
@pytest.mark.program
@pytest.mark.parametrize("hiding", _HIDING)
@pytest.mark.parametrize("words", ["doctor --no-start", "watch -- true"])
def test_where_files_of_the_kernel_are_hidden_no_command_ends_in_a_traceback(
    words: str, hiding: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [
            *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"),
            *("sh", "-c", f'{_HIDING[hiding]} || exit 99; exec "$@"', "sh", COMMAND, *words.split()),
        ],
        env=os.environ | {"STEELYARD_ARCHIVE": str(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=patience(100),
        check=False,
    )
    if done.returncode == 99:
        pytest.skip(f"nothing may be mounted here: {done.stderr}")

    assert "Traceback" not in done.stderr
    if hiding == "nothing in /proc":
        assert (done.returncode, done.stderr[:29]) == (77, "steelyard: '/proc' is not mou")
    else:
        assert done.returncode == 0, done.stderr


@pytest.mark.program
def test_a_server_that_every_local_user_could_reach_is_named_in_the_report(tmp_path: Path) -> None:
    """Where no network of its own can be made."""
    server_trials.described("smtp-sink")
    study = tmp_path / "mail.toml"
    study.write_text(
        'name = "mail"\ntitle = "mail"\nsystems = ["native"]\n[design]\nlooks = [2]\n[[workload]]\n'
        'name = "mail_messages"\nserver = "smtp-sink"\nbatches = 2\noperations = 2\nwarmup_ns = 0\n'
    )

    done = under_filter("EPERM", "unshare", COMMAND, "run", study, place=tmp_path)

    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "on native every local user could reach smtp-sink while it was measured, because" in said
    assert "Operation not permitted" in said


def test_a_call_that_the_kernel_refuses_is_named_as_the_source_has_it() -> None:
    with pytest.raises(OSError, match="Bad file") as refused:
        os.close(-1)
    assert cli._named(refused.value) == "the kernel refused 'os.close(-1)'"
    with pytest.raises(OSError, match="No such file") as absent:
        Path("/nowhere/at/all").read_text()
    assert cli._named(absent.value) == "'/nowhere/at/all'"


def program(folder: Path, script: str) -> Path:
    path = folder / "steelyard-load"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.program
def test_a_program_of_ours_that_fails_or_hangs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built, "_LIMIT_S", 0.2)

    with pytest.raises(SystemFailed, match=r"^steelyard-load run x failed \(3\): it may not be pinned$"):
        built.answer_of(program(tmp_path, "echo it may not be pinned >&2; exit 3"), "run", "x")
    with pytest.raises(SystemFailed, match=r"^steelyard-load did not end within 0\.2 s$"):
        built.answer_of(program(tmp_path, "exec sleep 60"))
    with pytest.raises(SystemFailed, match=r"cannot be started: No such file or directory"):
        built.answer_of(tmp_path / "none")
    assert built.answer_of(program(tmp_path, "echo '{}'")) == b"{}\n"


@pytest.mark.program
def test_doctor_goes_on_where_a_trial_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = program(tmp_path, """echo '{"record":"end","reason":"Operation not permitted"}'; exit 77""")
    monkeypatch.setattr(built, "load", lambda *_, **__: refusing)

    found = list(examination._resolutions())

    assert [one.good for one in found] == [False] * len(examination._SAMPLED)
    assert all(one.says.endswith("failed (77): Operation not permitted") for one in found)


@pytest.mark.program
def test_too_few_open_files_are_named_with_what_lifts_that(tmp_path: Path) -> None:
    said = []
    for most in range(5, 16, 2):
        words = ["prlimit", f"--nofile={most}", sys.executable, "-c", _LIMITED]
        answer = subprocess.run(
            [*words, "run", "brief", "--budget", "1s", "--archive", tmp_path / "archive"],
            capture_output=True, text=True, timeout=patience(100),
        )  # fmt: skip
        said.append(answer.stderr)

    assert not [one for one in said if "Traceback" in one or "Errno" in one]
    limited = [line for one in said for line in one.splitlines() if "Too many open files" in line]
    assert limited
    assert all("ulimit -n" in line for line in limited), limited


@pytest.mark.program
def test_a_command_that_hangs_is_ended() -> None:
    answer = commands.answer_of(["sleep", "60"], limit_s=0.2)

    assert (answer.returncode, answer.stderr) == (124, "it did not end within 0.2 s")


@pytest.mark.program
@pytest.mark.parametrize("stream", [1, 2])
def test_a_command_that_talks_without_end_is_ended_and_kept_within_bounds(stream: int) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        commands.run(["sh", "-c", f"exec yes >&{stream}"], limit_s=0.5, most=1000)

    answer = commands.run(["sh", "-c", f"head -c 300000 /dev/zero >&{stream}; exit 3"], most=1000)
    assert answer.returncode == 3
    assert {1: answer.stdout, 2: answer.stderr}[stream] == bytes(1000)


@pytest.mark.program
def test_who_keeps_a_command_s_streams_after_its_end_is_not_waited_for() -> None:
    begun = time.monotonic()
    answer = commands.run(["sh", "-c", "echo done; sleep 20 & echo $!"], limit_s=15)
    said, sleeper = answer.stdout.split()
    os.kill(int(sleeper), signal.SIGKILL)

    assert (answer.returncode, said) == (0, b"done")
    assert time.monotonic() - begun < 15


@pytest.mark.program
def test_a_command_reads_all_of_its_input_or_none_of_it() -> None:
    content = bytes(range(256)) * 10_000

    assert commands.run(["cat"], input_bytes=content).stdout == content
    assert commands.run(["true"], input_bytes=content).returncode == 0
    assert commands.run(["cat"]).stdout == b""


@pytest.mark.program
def test_a_command_s_time_does_not_run_while_we_stand_still(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    script = (
        "from steelyard import commands, standstill\nstandstill.take()\nprint('begun', flush=True)\n"
        "print(commands.run(['sh', '-c', 'read x <gate; echo $x'], limit_s=2).stdout)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as stopped:
        assert stopped.stdout is not None
        stopped.stdout.readline()
        stopped.send_signal(signal.SIGSTOP)
        monitor_runs.until(lambda: monitor_runs.state(stopped.pid) == "T", "its stop")
        time.sleep(2.5)
        stopped.send_signal(signal.SIGCONT)
        monitor_runs.until(lambda: monitor_runs.state(stopped.pid) != "T", "its going on")
        time.sleep(0.3)  # in which it would find that its time is over
        (tmp_path / "gate").write_text("done\n")
        assert stopped.communicate(timeout=patience(60))[0] == "b'done\\n'\n"


@pytest.mark.program
def test_a_command_with_a_group_takes_it_along(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        commands.run(["sh", "-c", "sleep 60 & echo $!; wait"], limit_s=0.5, is_group=True)

    child = int(caught.value.output)
    monitor_runs.until(
        lambda: not Path(f"/proc/{child}").exists() or monitor_runs.state(child) == "Z", "its end"
    )
