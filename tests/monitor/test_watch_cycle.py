"""The monitor from beginning to end where things are not in order: attached in the middle, killed, refused,
asked for what is not there; and that whatever is watched goes on unharmed."""

import contextlib
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import monitor_runs
import pytest
import surroundings
from installed_command import COMMAND
from monitor_runs import counts, told, until

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
UNIFIED = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
BACKENDS = [pytest.param("bpf", marks=pytest.mark.bpf), pytest.param("ptrace", marks=pytest.mark.ptrace)]

pytestmark = pytest.mark.skipif(
    monitor_runs.without_libc() is not None, reason=str(monitor_runs.without_libc())
)


@pytest.fixture(scope="module")
def known() -> Iterator[Path]:
    with monitor_runs.built_for_all("known") as program:
        yield program


class Meeting:
    """A tree of processes that waits where all have come, until it is opened."""

    def __init__(self, known: Path, *before: str) -> None:
        here, there = os.pipe()
        gate, self.opens = os.pipe()
        self.process = subprocess.Popen(
            [*before, known, "tree", str(there), str(gate)], pass_fds=(there, gate)
        )
        os.close(there)
        os.close(gate)
        come = 0
        while come < 10:
            got = len(os.read(here, 10))
            assert got > 0, "the tree ended before its meeting"
            come += got
        os.close(here)
        until(lambda: all(map(_sleeps, self.tasks())), "the tree's sleep")

    def tasks(self) -> list[Path]:
        found, left = [], [self.process.pid]
        while left:
            for task in Path(f"/proc/{left.pop()}/task").iterdir():
                found.append(task)
                left += map(int, (task / "children").read_text().split())
        return found

    def open(self) -> None:
        os.close(self.opens)
        self.opens = -1

    def close(self) -> None:
        if self.opens >= 0:
            self.open()
        assert self.process.wait(monitor_runs.ENOUGH_S) == 0


def _sleeps(task: Path) -> bool:
    return (task / "stat").read_text().rsplit(")", 1)[1].split()[0] == "S"


@contextlib.contextmanager
def waiting_tree(known: Path, *before: str) -> Iterator[Meeting]:
    """Whatever becomes of the monitor, the tree must end well."""
    meeting = Meeting(known, *before)
    try:
        yield meeting
    finally:
        meeting.close()


@contextlib.contextmanager
def running(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, start_new_session=True)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_running_tree_is_counted_from_the_moment_it_is_attached(known: Path, backend: str) -> None:
    with (
        waiting_tree(known) as tree,
        monitor_runs.begun("--detail", "calls", "--backend", backend, "-p", tree.process.pid) as watched,
    ):
        watched.await_record("watch")
        tree.open()
        tree.process.wait(monitor_runs.ENOUGH_S)
        watched.finish(signal.SIGINT)

    shape = [(one["generation"], one["attached"], counts(one)) for one in watched.processes]
    first = told("read 4, getppid 300, gettid 6000, exit 3, wait4 3, exit_group 1")
    child = told("read 1, getuid 10, fork 1, wait4 2, exit_group 1")
    grandchild = told("read 1, getgid 7, exit_group 1")
    later = told("getuid 2, exit_group 1")
    wanted = [(0, True, first)] + 3 * [(1, True, child)] + 3 * [(2, True, grandchild), (2, False, later)]
    assert sorted(shape, key=str) == sorted(wanted, key=str)
    assert all(one["end_ns"] is not None and one["status"] == 0 for one in watched.processes)
    assert (watched.end["lost_slots"], watched.end["lost_calls"], watched.end["lost_events"]) == (0, 0, 0)


@pytest.mark.program
@pytest.mark.parametrize("backend", [*BACKENDS, "proc"])
def test_a_watch_ends_when_nothing_is_left_to_be_watched(known: Path, backend: str) -> None:
    with (
        waiting_tree(known) as tree,
        monitor_runs.begun("--detail", "life", "--backend", backend, "-p", tree.process.pid) as watched,
    ):
        watched.await_record("watch")
        tree.open()
        tree.process.wait(monitor_runs.ENOUGH_S)
        watched.finish()

    assert watched.end["stopped_by"] == "end"
    assert watched.status == 0


@pytest.mark.bpf
def test_attaching_amid_forks_misses_none_of_the_later(known: Path) -> None:
    for _ in range(20):
        with (
            running(known, "many", "6000") as storm,
            monitor_runs.begun("--detail", "calls", "-p", storm.pid) as watched,
        ):
            watched.await_record("watch")
            storm.wait()
            watched.finish(signal.SIGINT)
        if len(watched.processes) > 10:  # the storm was not over before it could be attached
            break

    parent = next(one for one in watched.processes if one["generation"] == 0)
    children = [one for one in watched.processes if one["generation"] == 1]
    assert parent["attached"]
    assert parent["status"] == 0
    later = [one for one in children if not one["attached"]]
    assert len(later) > 0
    # A fork that had made its child when we came returns under our eyes.
    assert counts(parent)["fork"][0] - len(later) in (0, 1)
    # One whose fork came in the middle of our look at all tasks is found by the next, and is owned up to.
    late = sum(counts(one) != told("getppid 3, exit_group 1") for one in later)
    # Few they are: those of the moment in which the parent was taken in.
    assert late <= watched.end["lost_events"] <= 3
    assert len(children) - len(later) <= 3
    assert (watched.end["lost_slots"], watched.end["lost_calls"]) == (0, 0)


@pytest.mark.program
@pytest.mark.parametrize("backend", [*BACKENDS, "perf", "taskstats", "proc"])
def test_a_process_that_has_ended_is_refused_by_its_number(backend: str) -> None:
    monitor_runs.need(backend, "life")
    with running("true") as zombie:
        until(lambda: monitor_runs.state(zombie.pid) == "Z", "its end")
        watched = monitor_runs.watch("--backend", backend, "--detail", "life", "-p", zombie.pid)

    assert (watched.status, watched.records) == (2, [])
    assert f"-p '{zombie.pid}': that process has ended" in watched.errors


@pytest.mark.bpf
def test_a_process_may_end_while_it_is_being_attached(known: Path) -> None:
    for turn in range(20):
        with running("sh", "-c", f"sleep 0.0{turn:02}") as brief:
            watched = monitor_runs.watch("--detail", "calls", "-p", brief.pid)

        # It was a zombie at worst: its number is known until it has been waited for.
        assert watched.status in (0, 1, 2, 77), watched.errors
        if watched.status == 0:
            assert watched.end["stopped_by"] == "end"
            assert all(one["end_ns"] is not None for one in watched.processes)
        else:
            assert str(brief.pid) in watched.errors


@pytest.mark.program
def test_a_pid_that_nobody_has_is_refused_by_its_number() -> None:
    with running("true") as gone:
        gone.wait()
    watched = monitor_runs.watch("-p", gone.pid)

    assert watched.status == 2
    assert str(gone.pid) in watched.errors
    assert "no such process" in watched.errors
    assert watched.records == []


@pytest.mark.program
@pytest.mark.parametrize("value", ["0", "-1", "abc", "", "99999999999999999999", "12x"])
def test_what_is_no_pid_is_refused(value: str) -> None:
    watched = monitor_runs.watch("-p", value)

    assert watched.status == 2
    assert f"'{value}'" in watched.errors


@pytest.mark.bpf
@pytest.mark.root
def test_a_program_that_gains_privileges_gains_them_when_watched_too(known: Path) -> None:
    """Traced by somebody without the right it would go on without them: a watch must not change that."""
    privileged = known.with_name("privileged")
    shutil.copy(known, privileged)
    privileged.chmod(0o4755)

    watched = monitor_runs.watch("--detail", "calls", "--", *NOBODY, privileged, "privileged")

    assert watched.status == 0, "it did not become root"
    (process,) = watched.processes
    assert process["program"] == "privileged"
    assert counts(process)["getppid"] == (20, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_killed_monitor_harms_nobody_and_leaves_nothing(known: Path, backend: str) -> None:
    with (
        waiting_tree(known) as tree,
        monitor_runs.begun("--detail", "calls", "--backend", backend, "-p", tree.process.pid) as watched,
    ):
        watched.await_record("watch")
        held = monitor_runs.held_programs(watched.process.pid)
        if backend == "bpf":
            assert held
            assert all(map(monitor_runs.is_loaded, held))
        watched.finish(signal.SIGKILL)

        for task in tree.tasks():
            assert "TracerPid:\t0" in (task / "status").read_text()
            # Who is let go out of a stop is seen in it until it gets a processor.
            until(lambda task=task: _sleeps(task), "its sleep")
        until(lambda: not any(map(monitor_runs.is_loaded, held)), "the end of its BPF programs")
    assert watched.end == {}


@pytest.mark.bpf
def test_a_killed_monitor_s_command_goes_on(known: Path) -> None:
    read, write = os.pipe()
    gate, opens = os.pipe()
    script = f"read _ </proc/self/fd/{gate}; echo alive >/proc/self/fd/{write}"
    with monitor_runs.begun("--", "sh", "-c", script, pass_fds=(write, gate)) as watched:
        os.close(write)
        os.close(gate)
        watched.await_record("watch")
        watched.process.kill()
        watched.process.wait(monitor_runs.ENOUGH_S)
        os.close(opens)  # while it is held, the command goes on
        with os.fdopen(read) as file:
            assert file.read() == "alive\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_signal_ends_the_watch_and_not_the_watched(known: Path, backend: str, number: int) -> None:
    with (
        waiting_tree(known) as tree,
        monitor_runs.begun("--detail", "calls", "--backend", backend, "-p", tree.process.pid) as watched,
    ):
        watched.await_record("watch")
        watched.finish(number)

    assert watched.status == 0
    assert watched.end["stopped_by"] == "signal"
    assert len(watched.processes) == 7
    assert all(one["end_ns"] is None and one["status"] is None for one in watched.processes)


@pytest.mark.parametrize("backend", BACKENDS)
def test_time_ends_the_watch(known: Path, backend: str) -> None:
    with waiting_tree(known) as tree:
        watched = monitor_runs.watch("--backend", backend, "--for", 200_000_000, "-p", tree.process.pid)

    assert watched.status == 0
    assert watched.end["stopped_by"] == "time"
    (begin,) = watched.of("watch")
    assert watched.end["at_ns"] - begin["began_ns"] >= 200_000_000


def _control_group(kind: str) -> Path:
    """A new one, of the unified hierarchy or of an older one."""
    if kind == "v2":
        roots = [Path(root) for root in UNIFIED if (Path(root) / "cgroup.controllers").exists()]
    else:
        roots = [Path(f"/sys/fs/cgroup/{name}") for name in ("pids", "freezer", "memory")]
        roots = [root for root in roots if (root / "tasks").exists()]
    if not roots:
        pytest.skip(f"there is no control group of {kind}")
    return Path(tempfile.mkdtemp(prefix=surroundings.group_prefix(), dir=roots[0]))


@pytest.mark.bpf
@pytest.mark.root
@pytest.mark.parametrize("kind", ["v2", "v1"])
def test_what_is_in_a_control_group_is_watched_and_nothing_else(known: Path, kind: str) -> None:
    group = _control_group(kind)
    try:
        joins = ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
        with (
            waiting_tree(known, *joins) as inside,
            waiting_tree(known) as outside,
            monitor_runs.begun("--detail", "calls", "--cgroup", group) as watched,
        ):
            watched.await_record("watch")
            inside.open()
            outside.open()
            inside.process.wait()
            outside.process.wait()
            # One that comes after the watch began.
            subprocess.run([*joins, known, "plain"], check=True)
            watched.finish(signal.SIGINT)
    finally:
        group.rmdir()

    pids = [one["pid"] for one in watched.processes]
    assert outside.process.pid not in pids
    tree = next(one for one in watched.processes if one["pid"] == inside.process.pid)
    assert counts(tree) == told("read 4, getppid 300, gettid 6000, exit 3, wait4 3, exit_group 1")
    later = [one for one in watched.processes if "access" in counts(one) and counts(one).get("getppid")]
    assert [counts(one)["getppid"] for one in later] == [(1000, 0)]
    assert sum(counts(one).get("gettid", (0, 0))[0] for one in watched.processes) == 6000


@pytest.mark.bpf
def test_one_in_so_many_children_is_followed_and_the_rest_is_counted(known: Path) -> None:
    watched = monitor_runs.watch(
        "--detail", "calls", "--children", 10, "--seed", 3, "--", known, "many", "200"
    )

    followed = len(monitor_runs.drawn(3, 200, 10))
    children = [one for one in watched.processes if one["generation"] == 1]
    assert len(children) == followed
    assert all(counts(one) == told("getppid 3, exit_group 1") for one in children)
    (parent,) = (one for one in watched.processes if one["generation"] == 0)
    assert parent["children"] == 200
    assert watched.end["unfollowed"] == 200 - followed
    figures = watched.end["unfollowed_figures"]
    assert figures["run_ns"] > 0
    assert figures["faults_minor"] > 0
    assert watched.end["lost_slots"] == 0


@pytest.mark.program
@pytest.mark.parametrize(
    "name",
    [
        b'"quoted\\"', b"two\nlines", b"\x1b[31mred\x07", b"tab\tand space ", b"ends in \\", b"{}[],:",
        b"a) (b", "näme".encode(), b"\xff\xfe\x80bytes\xc3",
    ],
)  # fmt: skip
@pytest.mark.parametrize("backend", [*BACKENDS, "perf", "taskstats", "proc"])
def test_a_program_s_name_is_data(known: Path, backend: str, name: bytes) -> None:
    monitor_runs.need(backend, "life")
    watched = monitor_runs.watch(
        "--backend", backend, "--detail", "life", "--", known, "named", os.fsdecode(name)
    )

    assert watched.status == 0
    # Bytes that are not ASCII are written as the numbers that they are.
    assert [one["program"] for one in watched.processes if one["generation"] == 0] == [name.decode("latin-1")]


@pytest.mark.program
@pytest.mark.root
def test_what_one_backend_cannot_attach_is_watched_by_the_next_and_it_is_said() -> None:
    """Process 1 and all below it, in a process namespace: outside, all of the machine would be traced. There,
    BPF does not know whom a number means."""
    inside = ["unshare", "--pid", "--mount", "--mount-proc", "--fork", "--kill-child"]
    inside += ["sh", "-c", 'sleep 600 & "$@"; exit $?', "sh"]
    if subprocess.run([*inside, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no process namespace is available")

    def watch(*options: str) -> str:
        command = [*inside, COMMAND, "watch", "-p", "1", "--for", "300ms", *options]
        answer = subprocess.run(
            command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    pids = [row["pid"] for row in csv.DictReader(io.StringIO(watch("--format", "csv")))]
    assert pids[0] == "1"
    assert len(pids) == 2  # and the sleeper
    text = watch()
    assert re.search("; by (ptrace|proc),", text)
    assert "note: bpf could not be used: " in text


@pytest.mark.program
@pytest.mark.root
def test_what_may_not_be_traced_is_watched_from_outside_and_goes_on(known: Path) -> None:
    ours = subprocess.Popen(["sleep", "60"], user=65534, group=65534, extra_groups=[])
    theirs = subprocess.Popen(["sleep", "60"])
    try:
        command = [*NOBODY, _for_all(known), "--detail", "life", "--for", "300000000"]
        command += ["-p", str(ours.pid), "-p", str(theirs.pid)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        records = list(map(json.loads, answer.stdout.splitlines()))

        assert answer.returncode == 0, answer.stderr
        assert records[0]["backend"] == "proc"
        refused = {one["backend"]: one["why"] for one in records[0]["refused"]}
        assert f"process {theirs.pid} cannot be attached" in refused["ptrace"]
        assert {one["pid"] for one in records if one["record"] == "process"} == {ours.pid, theirs.pid}
        until(lambda: _sleeps(Path(f"/proc/{ours.pid}")), "its sleep")
    finally:
        ours.kill()
        theirs.kill()
        ours.wait()
        theirs.wait()


def _for_all(known: Path) -> Path:
    """The monitor's program where every user can reach it."""
    place = known.with_name("steelyard-watch")
    if not place.exists():
        shutil.copy(monitor_runs.program(), place)
        place.chmod(0o755)
    return place


@pytest.mark.program
@pytest.mark.root
def test_without_any_right_the_best_that_can_be_had_is_had_and_it_is_said(known: Path) -> None:
    command = [*NOBODY, _for_all(known), "--records", "1", "--", known, "forks"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    records = list(map(json.loads, answer.stdout.splitlines()))

    assert answer.returncode == 0, answer.stderr
    assert records[0]["record"] == "watch"
    refused = {one["backend"]: one["why"] for one in records[0]["refused"]}
    assert "bpf" in refused
    assert refused["bpf"]
    assert records[0]["backend"] in ("perf", "ptrace", "proc")
    assert records[0]["missing"]
    ended = [one for one in records if one["record"] == "process" and one["thread"] is None]
    assert [one["status"] for one in ended if one["generation"] == 0] == [0]
    assert records[-1]["record"] == "end"


@pytest.mark.program
@pytest.mark.root
def test_a_backend_that_is_asked_for_by_name_and_refused_is_unsupported(known: Path) -> None:
    command = [*NOBODY, _for_all(known), "--backend", "bpf", "--", known, "leaf"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)

    assert answer.returncode == 77
    assert "bpf" in answer.stderr
    assert answer.stdout == ""


@pytest.mark.program
@pytest.mark.parametrize("backend", [*BACKENDS, "proc"])
def test_the_command_s_status_is_the_watch_s(known: Path, tmp_path: Path, backend: str) -> None:
    def status(*command: str | Path) -> int | None:
        return monitor_runs.watch("--backend", backend, "--detail", "life", "--", *command).status

    assert status("true") == 0
    assert status("sh", "-c", "exit 7") == 7
    assert status("sh", "-c", "kill -9 $$") == 128 + 9
    assert status("/nonexistent/program") == 127
    assert status(tmp_path) == 126


@pytest.mark.program
@pytest.mark.parametrize("backend", [*BACKENDS, "proc"])
def test_the_command_finds_its_descriptors_and_signals_as_they_were(known: Path, backend: str) -> None:
    script = (
        "ls -l /proc/self/fd | sed -n 's/.*-> //p'; grep -e SigBlk -e SigIgn -e NoNewPrivs /proc/self/status"
    )
    plain = subprocess.run(["sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    watched = monitor_runs.watch("--backend", backend, "--detail", "life", "--", "sh", "-c", script)

    def comparable(text: str) -> list[str]:
        ours = ("/proc/", "pipe:")  # and pytest's own capture, a file without a name
        return [line for line in text.splitlines() if not (line.startswith(ours) or "/#" in line)]

    assert comparable(watched.output) == comparable(plain.stdout)
    assert str(watched.file) not in watched.output, "the command holds the records' descriptor"


@pytest.mark.bpf
def test_a_series_grows_to_the_final_figures(known: Path) -> None:
    watched = monitor_runs.watch("--detail", "calls", "--every", 20_000_000, "--", known, "stopped")

    finals = {(one["pid"], one["begin_ns"]): one for one in watched.processes}
    readings = watched.of("reading")
    assert len(readings) >= 2
    last: dict[tuple[int, int], dict[str, int]] = {}
    for one in readings:
        key = (one["pid"], one["begin_ns"])
        assert key in finals
        for name in ("run_ns", "switches_voluntary", "faults_minor"):
            if name in one:
                assert last.setdefault(key, {}).get(name, 0) <= one[name] <= finals[key][name]
                last[key][name] = one[name]


@pytest.mark.bpf
def test_two_monitors_count_the_same(known: Path) -> None:
    with waiting_tree(known) as tree:
        options = ("--detail", "calls", "-p", tree.process.pid)
        with monitor_runs.begun(*options) as one, monitor_runs.begun(*options) as other:
            one.await_record("watch")
            other.await_record("watch")
            tree.open()
            tree.process.wait(monitor_runs.ENOUGH_S)
            one.finish(signal.SIGINT)
            other.finish(signal.SIGINT)

    def calls(watched: monitor_runs.Watch) -> dict[int, dict[str, tuple[int, int]]]:
        return {process["pid"]: counts(process) for process in watched.processes}

    assert calls(one) == calls(other)


@pytest.mark.bpf
def test_a_mark_tells_totals_between_two_moments(known: Path) -> None:
    gate, opens = os.pipe()
    with waiting_tree(known) as tree:
        options = ("--detail", "calls", "--control", gate, "-p", tree.process.pid)
        with monitor_runs.begun(*options, pass_fds=(gate,)) as watched:
            os.close(gate)
            os.write(opens, b"mark before\n")
            watched.await_record("mark")
            tree.open()
            tree.process.wait(monitor_runs.ENOUGH_S)
            watched.finish(signal.SIGINT)
    os.close(opens)

    (before,) = watched.of("mark")
    assert before["id"] == "before"
    assert before["processes"] == 7
    assert before["calls"] == {}


@pytest.mark.bpf
def test_the_end_of_the_control_stream_ends_the_watch_with_every_total(known: Path) -> None:
    gate, opens = os.pipe()
    # Fewer slots than there are processes at one time: whatever found none is in the totals all the same.
    options = ("--detail", "calls", "--slots", "4", "--control", gate, "-p", os.getpid())
    with monitor_runs.begun(*options, pass_fds=(gate,)) as watched:
        os.close(gate)
        watched.await_record("watch")
        subprocess.run([known, "at_once", "10"], check=True)
        os.write(opens, b"mark after\n")
        watched.await_record("mark")
        os.close(opens)
        watched.finish()

    (after,) = watched.of("mark")
    assert after["calls"]["getppid"][0] >= 1000
    assert watched.end["lost_slots"] > 0
    assert watched.end["stopped_by"] == "control"


@pytest.mark.program
@pytest.mark.parametrize("backend", [*BACKENDS, "perf", "taskstats", "proc"])
def test_time_in_which_the_monitor_stands_still_is_no_part_of_for(backend: str) -> None:
    """As with Ctrl-Z, which stops it together with what it watches."""
    monitor_runs.need(backend, "life")
    with running("sleep", "60") as watched_one:
        options = ("--backend", backend, "--detail", "life", "--for", 2_000_000_000, "-p", watched_one.pid)
        with monitor_runs.begun(*options) as watched:
            watched.await_record("watch")
            watched.process.send_signal(signal.SIGSTOP)
            until(lambda: monitor_runs.state(watched.process.pid) in "tT", "its stop")
            stopped = time.clock_gettime(time.CLOCK_BOOTTIME)
            time.sleep(4.5)
            still_s = time.clock_gettime(time.CLOCK_BOOTTIME) - stopped
            watched.process.send_signal(signal.SIGCONT)
            watched.finish()

    (begin,) = watched.of("watch")
    assert watched.end["stopped_by"] == "time"
    # It looks every second whether it still runs, and does not know when in that second it was stopped.
    assert (watched.end["at_ns"] - begin["began_ns"]) / 1e9 >= 2 + still_s - 1.1
