"""What ends the monitor's sight of a process without an end of the process: an exec that changes rights, a
/sys or /proc that hides something, a child that a tracer does not follow. Each process that is reported lived
as long as it says itself, or the report says what is missing."""

import os
import shutil
import signal
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import c_programs
import monitor_runs
import pytest
import surroundings
from monitor_runs import NOBODY, Record
from patience import patience

pytestmark = pytest.mark.program

STATUS = 4  # of `moments`
TICK_NS = 10_000_000  # /proc says in these when a process began
GROUP = 65533
CAPABILITIES = struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)  # CAP_NET_RAW, effective: VFS_CAP_REVISION_2
UNIFIED = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Told:
    """What a watch has written, and what the program says of itself: when each process ran, by number."""

    status: int
    records: list[Record]
    errors: str
    moments: dict[int, tuple[int, int]]

    @property
    def processes(self) -> list[Record]:
        return [one for one in self.records if one["record"] == "process"]

    @property
    def end(self) -> Record:
        return self.records[-1]

    @property
    def missing(self) -> str:
        return " ".join(self.end["missing"])


@pytest.fixture
def place(open_directory: Path) -> Path:
    """A directory that every user can reach, with the monitor and `moments`."""
    open_directory.chmod(0o755)
    shutil.copy(monitor_runs.program(), open_directory / "watch")
    shutil.copy(c_programs.program("tests/monitor/moments"), open_directory / "moments")
    return open_directory


def told(*words: str | Path, before: tuple[str, ...] = ()) -> Told:
    """What came of these words of a watch, which have its program first."""
    handle, name = tempfile.mkstemp(prefix="steelyard-watch-", suffix=".jsonl", dir="/dev/shm")
    try:
        watch, *rest = words
        done = subprocess.run(
            [*before, watch, "--records", str(handle), *rest],
            pass_fds=(handle,), capture_output=True, text=True, check=False, timeout=patience(60),
        )  # fmt: skip
        records = monitor_runs.parsed(Path(name).read_text())
    finally:
        os.close(handle)
        Path(name).unlink()
    lines = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    return Told(done.returncode, records, done.stderr, {pid: (first, last) for pid, first, last in lines})


def covers(record: Record, moments: tuple[int, int]) -> bool:
    """Whether that life has these moments in it."""
    return bool(record["begin_ns"] - TICK_NS <= moments[0] and record["end_ns"] >= moments[1])


def set_user(program: Path) -> None:
    program.chmod(0o4755)


def set_group(program: Path) -> None:
    os.chown(program, 0, GROUP)
    program.chmod(0o2755)


def unreadable(program: Path) -> None:
    program.chmod(0o711)


def capable(program: Path) -> None:
    os.setxattr(program, "security.capability", CAPABILITIES)


RIGHTS = [set_user, set_group, unreadable, capable]


def change(program: Path, rights: Callable[[Path], None]) -> None:
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        pytest.skip(f"{program.parent} is mounted nosuid")
    try:
        rights(program)
    except OSError as error:
        pytest.skip(f"{rights.__name__}: {error}")


def need_as_nobody(place: Path, backend: str) -> None:
    said = subprocess.run(
        [*NOBODY, place / "watch", "--detail", "life", "--probe"], capture_output=True, text=True, check=True
    )
    for one in monitor_runs.parsed(said.stdout):
        if one["backend"] == backend and not one["works"]:
            pytest.skip(one["why"])


# An exec


@pytest.mark.root
@pytest.mark.parametrize("rights", RIGHTS)
def test_an_exec_that_ends_perf_s_events_is_not_taken_for_an_end(
    place: Path, rights: Callable[[Path], None]
) -> None:
    need_as_nobody(place, "perf")
    change(place / "moments", rights)
    watched = told(place / "watch", "--backend", "perf", "--detail", "life", "--", place / "moments",
                   before=tuple(NOBODY))  # fmt: skip

    assert watched.status == STATUS
    [command] = [one for one in watched.processes if one["generation"] == 0]
    assert command["status"] == STATUS
    assert covers(command, watched.moments[command["pid"]])
    assert command["exact"] is False
    assert command["children"] is None
    assert watched.end["total"]["exact"] is False
    assert watched.end["total"]["run_ns"] >= command["run_ns"]
    assert watched.end["lost_events"] > 0
    assert "set-user-ID" in watched.missing


@pytest.mark.root
def test_what_a_helper_with_other_rights_does_is_said_to_be_missing_to_root_too(place: Path) -> None:
    monitor_runs.need("perf", "life")
    change(place / "moments", set_user)
    words = f"{place}/moments; exit 7"
    watched = told(place / "watch", "--backend", "perf", "--detail", "life", "--", *NOBODY, "sh", "-c", words)

    assert watched.status == 7
    [command] = [one for one in watched.processes if one["generation"] == 0]
    assert (command["status"], command["exact"], command["children"]) == (7, None, 1)
    [helper] = [one for one in watched.processes if one["generation"] == 1]
    assert covers(helper, watched.moments[helper["pid"]])
    assert helper["exact"] is False
    assert "1 process executed a program of which perf saw nothing" in watched.missing


@pytest.mark.root
def test_calls_until_such_an_exec_are_a_lower_bound(place: Path) -> None:
    monitor_runs.need("perf", "calls")
    change(place / "moments", set_user)
    watched = told(
        place / "watch", "--backend", "perf", "--detail", "calls", "--", *NOBODY, place / "moments"
    )

    [command] = [one for one in watched.processes if one["generation"] == 0]
    assert command["exact"] is False
    assert monitor_runs.counts(command)["execve"][0] > 0, "those before the exec are known"
    assert "wait4" not in monitor_runs.counts(command)
    assert covers(command, watched.moments[command["pid"]])


@pytest.mark.root
def test_a_process_that_was_attached_is_watched_to_its_end_after_such_an_exec(place: Path) -> None:
    monitor_runs.need("perf", "life")
    change(place / "moments", set_user)
    with subprocess.Popen(
        [*NOBODY, "sh", "-c", f"read go; exec {place}/moments"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        monitor_runs.until(lambda: monitor_runs.comm(process.pid) == "sh", "its exec")
        options = ("--backend", "perf", "--detail", "life", "-p", process.pid)
        with monitor_runs.begun(*options) as found:
            found.await_record("watch")
            output, _ = process.communicate("go\n")
            found.finish()
    moments = {int(pid): (int(first), int(last)) for pid, first, last in map(str.split, output.splitlines())}

    [record] = [one for one in found.processes if one["pid"] == process.pid]
    assert covers(record, moments[process.pid])
    assert record["exact"] is False
    assert found.end["missing"]


def test_programs_that_change_no_rights_are_not_said_to(place: Path) -> None:
    """Scripts, programs without libraries, and many short ones."""
    monitor_runs.need("perf", "life")
    script = place / "script"
    script.write_text('#!/bin/sh\n/bin/true; (exec /bin/true) & wait; exec "$@"\n')
    script.chmod(0o755)
    static = (
        [c_programs.program("tests/monitor/known"), "plain"] if monitor_runs.without_libc() is None else []
    )
    words = "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done"
    watched = told(monitor_runs.program(), "--backend", "perf", "--detail", "life", "--", script,
                   "sh", "-c", f"{words}; {' '.join(map(str, static))} > /dev/null 2>&1; exit 5")  # fmt: skip

    assert watched.status == 5
    assert watched.end["lost_events"] == 0
    assert watched.end["missing"] == []
    assert all(one["exact"] is None and one["end_ns"] is not None for one in watched.processes)


# /sys and /proc

PROGRAMS = ["sh", "-c", "/bin/sleep 0.01; /bin/sleep 0.01; exit 3"]
ONLINE, POSSIBLE = "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/possible"
MASKS = {
    "no /sys": "mount -t tmpfs none /sys",
    "a masked list": f"mount --bind {{}}/first {ONLINE}",
    "empty lists": f"mount --bind {{}}/empty {ONLINE}; mount --bind {{}}/empty {POSSIBLE}",
    "too many processors": f"mount --bind {{}}/many {ONLINE}",
    "neither /sys nor /proc/stat": "mount -t tmpfs none /sys; mount --bind {}/empty /proc/stat",
}


def in_mounts(place: Path, mounts: str) -> tuple[str, ...]:
    """What puts a command where these are mounted."""
    (place / "first").write_text("0\n")
    (place / "empty").write_text("")
    (place / "many").write_text("0-8191\n")
    words = (
        "unshare",
        "-m",
        "sh",
        "-c",
        f'{mounts.format(*[place] * mounts.count("{}"))} && exec "$@"',
        "sh",
    )
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(tried.stderr.strip())
    return words


@pytest.mark.root
@pytest.mark.parametrize("backend", ["perf", "taskstats"])
@pytest.mark.parametrize("mask", MASKS)
def test_every_process_is_seen_whatever_of_sys_is_hidden(place: Path, mask: str, backend: str) -> None:
    monitor_runs.need(backend, "life")
    before = in_mounts(place, MASKS[mask].replace("; ", " && "))
    watched = told(place / "watch", "--backend", backend, "--detail", "life", "--", *PROGRAMS, before=before)

    assert watched.status == 3
    assert sorted(one["program"] for one in watched.processes) == ["sh", "sleep", "sleep"]
    assert watched.end["lost_events"] == 0


@pytest.mark.root
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
@pytest.mark.parametrize("backend", ["perf", "taskstats"])
def test_what_runs_on_a_processor_that_all_sources_hide_is_missed_aloud(place: Path, backend: str) -> None:
    monitor_runs.need(backend, "life")
    first, *_, last = sorted(os.sched_getaffinity(0))
    (place / "stat").write_text(f"cpu  1 2 3\ncpu{first} 1 2 3\n")
    (place / "one").write_text(f"{first}\n")
    files = {ONLINE: "one", POSSIBLE: "one", "/proc/stat": "stat"}
    mounts = " && ".join(f"mount --bind {place}/{file} {path}" for path, file in files.items())
    before = (*in_mounts(place, mounts), "taskset", "-c", str(first))
    words = ("taskset", "-c", str(last), "sh", "-c", "/bin/true; /bin/true; exit 3")
    watched = told(place / "watch", "--backend", backend, "--detail", "life", "--", *words, before=before)

    assert watched.status == 3
    [command] = [one for one in watched.processes if one["generation"] == 0]
    assert command["status"] == 3
    assert watched.end["lost_events"] > 0


@pytest.mark.root
@pytest.mark.parametrize("backend", ["ptrace", "proc", "perf"])
@pytest.mark.parametrize("hidepid", [1, 2])
def test_who_is_hidden_in_proc_is_neither_ended_nor_left_stopped(
    place: Path, backend: str, hidepid: int
) -> None:
    """A program that may not be read may not be seen in /proc either, by the user who runs it."""
    need_as_nobody(place, backend)
    change(place / "moments", unreadable)
    mount = f'mount -t proc -o hidepid={hidepid} proc /proc && exec "$@"'
    spaces = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", mount, "sh")
    watched = told(place / "watch", "--backend", backend, "--detail", "life", "--", place / "moments",
                   before=(*spaces, *NOBODY))  # fmt: skip

    if watched.errors.startswith(("unshare", "mount")):
        pytest.skip(watched.errors.strip())
    assert watched.status == STATUS
    [command] = [one for one in watched.processes if one["generation"] == 0]
    assert (command["program"], command["status"], command["exact"]) == ("moments", STATUS, False)
    assert covers(command, watched.moments[command["pid"]])
    if backend == "ptrace":
        [child] = [one for one in watched.processes if one["generation"] == 1]
        assert child["status"] == 0
        assert covers(child, watched.moments[child["pid"]])
    assert watched.end["missing"]


@pytest.mark.root
@pytest.mark.ptrace
def test_input_and_output_that_can_no_longer_be_read_is_a_lower_bound(place: Path) -> None:
    words = (place / "moments", "hides")
    watched = told(
        place / "watch", "--backend", "ptrace", "--detail", "life", "--", *words, before=tuple(NOBODY)
    )

    [command] = [one for one in watched.processes if one["generation"] == 0]
    assert command["characters_written"] is None or "characters_written" in command["at_least"]
    assert "faults_minor" not in command["at_least"]


# Children


@pytest.mark.ptrace
def test_a_child_that_is_not_traced_is_missed_aloud() -> None:
    program = c_programs.program("tests/monitor/moments")
    watched = told(
        monitor_runs.program(), "--backend", "ptrace", "--detail", "life", "--", program, "untraced"
    )

    assert len(watched.processes) == 1
    assert watched.end["lost_events"] == 1
    assert "by the kernel's account" in watched.missing
    assert "page faults" in watched.missing


@pytest.mark.parametrize("backend", ["bpf", "perf", "taskstats", "ptrace"])
def test_where_all_is_seen_nothing_is_said_to_be_missing(backend: str) -> None:
    """What wait4 tells of the command and of its children is no more than what was seen."""
    monitor_runs.need(backend, "life")
    program = c_programs.program("tests/monitor/moments")
    words = f"for i in 1 2 3 4 5; do {program} > /dev/null; done; exit 3"
    watched = told(monitor_runs.program(), "--backend", backend, "--detail", "life", "--", "sh", "-c", words)

    assert len(watched.processes) == 11
    assert (watched.end["missing"], watched.end["lost_events"]) == ([], 0)


@pytest.mark.parametrize("backend", ["bpf", "perf", "taskstats", "ptrace", "proc"])
def test_a_command_that_cannot_be_executed_was_no_process(backend: str) -> None:
    monitor_runs.need(backend, "life")
    watched = told(monitor_runs.program(), "--backend", backend, "--detail", "life", "--", "/nonexistent")

    assert watched.status == 127
    assert watched.processes == []
    assert (watched.end["missing"], watched.end["lost_events"]) == ([], 0)


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of the unified hierarchy, with one below it."""
    roots = [Path(root) for root in UNIFIED if (Path(root) / "cgroup.controllers").exists()]
    if not roots:
        pytest.skip("there is no control group of v2")
    made = Path(tempfile.mkdtemp(prefix=surroundings.group_prefix(), dir=roots[0]))
    try:
        (made / "below").mkdir()
        yield made
        (made / "below").rmdir()
    finally:
        made.rmdir()


@pytest.mark.bpf
@pytest.mark.root
def test_who_is_made_or_moved_below_a_control_group_is_watched(group: Path) -> None:
    program = c_programs.program("tests/monitor/moments")
    joins = ["sh", "-c", f'echo $$ > {group}/below/cgroup.procs; exec "$@"', "sh"]
    with monitor_runs.begun("--detail", "life", "--cgroup", group) as watched:
        watched.await_record("watch")
        made = [
            subprocess.run([program, "into", directory], capture_output=True, text=True, check=False)
            for directory in (group, group / "below")
        ]
        moved = subprocess.run([*joins, program], capture_output=True, text=True, check=False)
        watched.finish(signal.SIGINT)

    if any(one.returncode == 92 for one in made):
        pytest.skip("this kernel makes no process into a control group")
    children = [int(one.stdout.split()[0]) for one in (*made, moved)]
    assert [one.returncode for one in (*made, moved)] == [STATUS] * 3
    whole = {one["pid"] for one in watched.processes if not one["attached"]}
    assert set(children) <= whole
    parents = {int(one.stdout.splitlines()[1].split()[0]) for one in made}
    assert not parents & {one["pid"] for one in watched.processes}
