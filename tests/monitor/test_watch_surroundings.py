"""The monitor in other surroundings: namespaces of time and of processes, ordinary users, limits that are
used up, numbers that are no processes'. Each moment is one of the kernel's clock, each figure of a life is of
its end, and the monitor ends by itself with a sentence."""

import collections
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import c_programs
import monitor_runs
import pytest
from installed_command import Run
from patience import patience

BACKENDS = ("bpf", "perf", "taskstats", "ptrace", "proc")
AHEAD_S = (500_000, -50)
TOUCHED = 200_000_000
BIG = ["dd", "if=/dev/zero", "of=/dev/null", f"bs={TOUCHED}", "count=1", "status=none"]
PYTHON = [sys.executable, "-S", "-c"]
MEGABYTE = 1 << 20

pytestmark = pytest.mark.program


def in_time(ahead_s: int) -> list[str]:
    """What puts a command into a time namespace. Skips where there can be none."""
    words = ["unshare", "-T", "--boottime", str(ahead_s), "--monotonic", "777"]
    need(*words)
    return words


def in_processes(*, own_proc: bool = True) -> list[str]:
    """And into one of processes, as in a container."""
    words = ["unshare", "--pid", "--fork", "--kill-child", *(["--mount-proc"] if own_proc else [])]
    need(*words)
    return words


def need(*words: str) -> None:
    done = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(done.stderr.strip() or f"{words[0]}: status {done.returncode}")


@pytest.fixture(scope="module")
def storm() -> Path:
    return c_programs.program("tests/monitor/storm")


# One clock


@pytest.mark.root
@pytest.mark.bpf
@pytest.mark.parametrize("ahead_s", AHEAD_S)
def test_what_is_called_exact_in_a_time_namespace_is(storm: Path, ahead_s: int) -> None:
    """With hardly a budget, so that windows begin soon; then with enough for every call."""
    few = monitor_runs.watch("--budget", 1, "--", storm, 1, 1, 600_000, 1, 1, before=in_time(ahead_s))
    all_of_them = monitor_runs.watch(
        "--budget", 1_000_000, "--", storm, 1, 1, 60_000, 1, 1, before=in_time(ahead_s)
    )

    for watched, calls in ((few, 600_000), (all_of_them, 60_000)):
        [child] = [one for one in watched.processes if one["generation"] == 1]
        counted = child["calls"].get("getppid", {"calls": 0})["calls"]
        assert counted == calls if child["exact"] else counted <= calls
    assert [one["exact"] for one in all_of_them.processes] == [True, True]
    assert not any(one["exact"] for one in few.processes if one["generation"] == 1)


@pytest.mark.root
@pytest.mark.parametrize("ahead_s", AHEAD_S)
@pytest.mark.parametrize(
    ("backend", "detail"),
    [("bpf", "budget"), *[("bpf", each) for each in ("calls", "profile", "latency")], ("perf", "calls"),
     ("ptrace", "calls"), ("ptrace", "latency"), *[(each, "life") for each in BACKENDS]],
)  # fmt: skip
def test_moments_in_a_time_namespace_are_the_kernel_s(
    storm: Path, backend: str, detail: str, ahead_s: int
) -> None:
    monitor_runs.need(backend, detail)
    words = ("--backend", backend, "--detail", detail, "--", storm, 3, 2, 100, 1, 1)
    watched = monitor_runs.watch(*words, before=in_time(ahead_s))

    began_ns, ended_ns = watched.of("watch")[0]["began_ns"], watched.end["at_ns"]
    outside_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    assert abs(outside_ns - ended_ns) < 60e9, "the clock of the first namespace"
    for one in watched.processes:
        if one["generation"]:
            assert began_ns - 20_000_000 <= one["begin_ns"] <= one["end_ns"] <= ended_ns
        assert one["begin_ns"] <= one["watched_ns"] <= one["end_ns"]
        for name in ("run_ns", "wait_ns", "blocked_ns"):
            assert one[name] is None or 0 <= one[name] <= 60e9
        if one["calls"] is not None and detail != "profile" and one["generation"]:
            assert monitor_runs.counts(one)["getppid"] == (100, 0)


@pytest.mark.root
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_running_process_is_attached_in_a_time_namespace(backend: str) -> None:
    monitor_runs.need(backend, "life")
    with monitor_runs.running("sleep", "60") as process:
        watched = monitor_runs.watch(
            "--backend", backend, "--detail", "life", "--for", 200_000_000, "-p", process.pid,
            before=in_time(500_000),
        )  # fmt: skip

    [record] = watched.processes
    assert (record["pid"], record["attached"], record["end_ns"]) == (process.pid, True, None)
    assert record["begin_ns"] < record["watched_ns"] < watched.end["at_ns"]
    assert watched.end["stopped_by"] == "time"
    assert record["blocked_ns"] is None or 100_000_000 < record["blocked_ns"] < 60e9


@pytest.mark.root
def test_the_metrics_name_a_process_in_a_time_namespace() -> None:
    """The front end looks for the name in /proc, by number and beginning."""
    script = (
        "import os, sys, time; from steelyard.watch import tally; "
        "stat = open('/proc/self/stat').read().rpartition(')')[2].split(); "
        "kernel_ns = int(stat[19]) * 10_000_000 - int(sys.argv[1]) * 10**9; "
        "found = [tally.program_of(os.getpid(), kernel_ns + more) for more in (0, 10**9)]; "
        "print(found[0] is not None, found[1])"
    )
    done = subprocess.run(
        [*in_time(500_000), sys.executable, "-c", script, "500000"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["True", "None"]


# One identity


@pytest.fixture
def thread() -> Iterator[tuple[int, int]]:
    """The number of a thread of a process of our own, and that of its process."""
    script = (
        "import threading, time\n"
        "live = lambda: (print(threading.get_native_id(), flush=True), time.sleep(60))\n"
        "threading.Thread(target=live).start()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline()), process.pid
        process.kill()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_thread_s_number_is_refused_by_its_process(thread: tuple[int, int], backend: str) -> None:
    number, process = thread
    watched = monitor_runs.watch("--backend", backend, "--detail", "life", "-p", number)

    assert (watched.status, watched.records) == (2, [])
    assert (
        watched.errors
        == f"steelyard-watch: -p '{number}': a thread of process {process}; watch -p {process}\n"
    )


def test_the_front_end_refuses_a_thread_s_number_too(steelyard: Run, thread: tuple[int, int]) -> None:
    number, process = thread
    done = steelyard("watch", "-p", str(number))

    assert (done.returncode, done.stdout) == (2, "")
    assert f"-p is '{number}', which is a thread of process {process}; watch -p {process}" in done.stderr


def test_who_reads_the_watch_is_not_watched() -> None:
    watched = monitor_runs.watch("-p", os.getpid(), "--except", os.getpid())

    assert (watched.status, watched.records) == (2, [])
    assert "never watched" in watched.errors


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_number_that_is_given_twice_is_watched_once(backend: str) -> None:
    monitor_runs.need(backend, "life")
    with monitor_runs.running("sleep", "60") as process:
        watched = monitor_runs.watch(
            "--backend",
            backend,
            "--detail",
            "life",
            "--for",
            100_000_000,
            "-p",
            process.pid,
            "-p",
            process.pid,
        )

    assert [one["pid"] for one in watched.processes] == [process.pid]


@pytest.mark.root
@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_of_another_namespace_of_processes_are_not_taken_for_ours(backend: str) -> None:
    """/proc shows the outer one: our command's number there is somebody else's."""
    watched = monitor_runs.watch(
        "--backend", backend, "--detail", "life", "--", "true", before=in_processes(own_proc=False)
    )

    assert (watched.status, watched.records) == (77, [])
    assert "/proc shows another process namespace" in watched.errors


# The figures of a life are those of its end


def ordinary() -> list[str]:
    return list(monitor_runs.NOBODY) if os.geteuid() == 0 else []


@contextlib.contextmanager
def monitor_for_all() -> Iterator[str]:
    """The monitor in a place that every user can reach."""
    with tempfile.TemporaryDirectory(prefix="steelyard-watch-") as directory:
        Path(directory).chmod(0o755)
        yield shutil.copy(monitor_runs.program(), directory)


def seen_as(before: Sequence[str], *options: str, command: Sequence[str]) -> list[monitor_runs.Record]:
    with monitor_for_all() as program:
        done = subprocess.run(
            [*before, program, "--detail", "life", *options, "--", *command],
            capture_output=True, text=True, check=False, timeout=patience(60),
        )  # fmt: skip
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    return monitor_runs.parsed(done.stdout)


PLACES = [
    pytest.param(ordinary, id="an ordinary user"),
    pytest.param(in_processes, id="a namespace of processes", marks=pytest.mark.root),
    pytest.param(list, id="here"),
]


@pytest.mark.parametrize("options", [(), *[("--backend", each) for each in BACKENDS]], ids="".join)
@pytest.mark.parametrize("place", PLACES)
def test_the_command_s_peak_and_times_are_those_of_its_end(place, options: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    [one] = [one for one in seen_as(place(), *options, command=BIG) if one["record"] == "process"]

    assert 190 * MEGABYTE <= one["memory_peak"] <= 260 * MEGABYTE
    assert "memory_peak" not in one["at_least"]
    assert one["cpu_user_ns"] + one["cpu_system_ns"] >= 10_000_000
    assert not {"cpu_user_ns", "cpu_system_ns"} & set(one["at_least"])


@pytest.mark.parametrize("options", [(), *[("--backend", each) for each in BACKENDS]], ids="".join)
@pytest.mark.parametrize("place", PLACES)
def test_a_child_s_peak_is_its_own_or_a_lower_bound_or_unknown(place, options: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    command = ["sh", "-c", 'sleep 0.15; "$@"; true', "sh", *BIG]
    records = seen_as(place(), *options, command=command)
    backend = records[0]["backend"]
    processes = [one for one in records if one["record"] == "process"]
    [shell] = [one for one in processes if one["generation"] == 0]
    big = [one for one in processes if one["program"] == "dd"]

    # The shell's account holds its child's: it is nobody's own.
    assert shell["memory_peak"] is None or shell["memory_peak"] < 50 * MEGABYTE
    assert records[-1]["total"]["memory_peak"] >= 190 * MEGABYTE
    if backend != "proc":  # which may not have met it
        assert len(big) == 1
    for one in big:
        if "memory_peak" in one["at_least"]:
            assert backend == "proc"
        elif one["memory_peak"] is None:
            assert backend == "perf"
            assert options, "it is not what is taken by itself"
        else:
            assert one["memory_peak"] >= 190 * MEGABYTE
            assert one["cpu_user_ns"] + one["cpu_system_ns"] >= 10_000_000


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_killed_process_has_its_peak_as_well(backend: str) -> None:
    script = f"import os; x = bytearray({TOUCHED}); os.kill(os.getpid(), 9)"
    records = seen_as([], "--backend", backend, command=[*PYTHON, script])
    [one] = [one for one in records if one["record"] == "process"]

    assert one["signal"] == 9
    assert one["memory_peak"] >= 190 * MEGABYTE


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_program_s_memory_is_not_that_of_the_one_before(backend: str) -> None:
    """A large one executes a small one: what was read of the first, while it ran, is not the second's."""
    script = (
        f"import os, time; x = bytearray({TOUCHED}); time.sleep(0.5); os.execvp('sleep', ['sleep', '0.5'])"
    )
    records = seen_as([], "--backend", backend, "--every", "100000000", command=[*PYTHON, script])
    [one] = [one for one in records if one["record"] == "process"]

    assert one["program"] == "sleep"
    assert one["memory_end"] is None or one["memory_end"] < 50 * MEGABYTE
    assert one["virtual_peak"] is None or one["virtual_peak"] < 150 * MEGABYTE


# One in that many children


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_a_loop_of_two_programs_both_are_drawn(backend: str) -> None:
    monitor_runs.need(backend, "life")
    script = "i=0; while [ $i -lt 60 ]; do sleep 0.001; env true; i=$((i+1)); done"
    words = ("--backend", backend, "--detail", "life", "--children", 2, "--seed", 7, "--", "sh", "-c", script)
    watched = monitor_runs.watch(*words)

    assert watched.of("watch")[0]["seed"] == 7
    names = collections.Counter(one["program"] for one in watched.processes if one["generation"] == 1)
    if backend == "proc":
        return  # it sees few of those that live so shortly
    drawn = monitor_runs.drawn(7, 120, 2)
    assert names["sleep"] == sum(number % 2 == 0 for number in drawn)
    assert names["sleep"] + names["true"] == len(drawn)
    assert min(names["sleep"], names["true"]) > 15


@pytest.mark.parametrize("backend", BACKENDS)
def test_generations_before_the_first_that_is_drawn_are_all_followed(backend: str) -> None:
    monitor_runs.need(backend, "life")
    gate, opens = os.pipe()
    held = f"cat </proc/self/fd/{gate}"
    script = f"for i in 1 2 3 4; do sh -c '{held} & {held} & wait' & done; wait"
    words = ("--detail", "life", "--children", 1_000_000, "--drawn-from", 2, "--seed", 7)
    words += ("--every", 20_000_000)
    with monitor_runs.begun(
        "--backend", backend, *words, "--", "sh", "-c", script, pass_fds=(gate,)
    ) as watched:
        os.close(gate)
        monitor_runs.until(
            lambda: len({one["pid"] for one in watched.look().of("reading")}) == 5, "a look at all of them"
        )
        os.close(opens)
        watched.finish()

    generations = collections.Counter(one["generation"] for one in watched.processes)
    assert generations == {0: 1, 1: 4}


def test_draws_are_as_likely_as_asked_and_do_not_follow_a_period() -> None:
    for one_in in (2, 3, 20):
        for period in (2, 3, 5):
            drawn = monitor_runs.drawn(11, 60_000, one_in)
            hits = collections.Counter(number % period for number in drawn)
            wanted = 60_000 / one_in / period
            assert all(abs(hits[each] - wanted) < 5 * wanted**0.5 for each in range(period))


def test_without_a_seed_each_watch_draws_again(storm: Path) -> None:
    seeds = {
        monitor_runs.watch("--detail", "life", "--children", 2, "--", storm, 1, 1, 1, 1, 1).of("watch")[0][
            "seed"
        ]
        for _ in range(3)
    }
    assert len(seeds) == 3


# What is used up


def ends_with_a_sentence(watched: monitor_runs.Watch) -> None:
    """By itself (or monitor_runs.watch would have failed), with the command's account or with the reason."""
    if watched.status == 0:
        assert watched.end["command_status"] == 0
    else:
        assert watched.status in (1, 77)
        assert re.fullmatch(r"(steelyard-watch: [^\n]+\n)+", watched.errors)
        assert re.search("process|fork|pipe|files|memory|Resource|map", watched.errors)


@pytest.mark.root
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("options", [(), *[("--detail", "life", "--backend", each) for each in BACKENDS]])
def test_where_no_process_can_be_made_it_ends(storm: Path, options: tuple[str, ...], most: int) -> None:
    with monitor_runs.few_processes(most) as before:
        ends_with_a_sentence(monitor_runs.watch(*options, "--", "true", before=before))


@pytest.mark.parametrize("limit", ["--nofile=6:6", "--nofile=9:9", "--nofile=14:14", "--nofile=24:24"])
@pytest.mark.parametrize("options", [(), *[("--detail", "life", "--backend", each) for each in BACKENDS]])
def test_where_no_file_can_be_opened_it_ends(options: tuple[str, ...], limit: str) -> None:
    watched = monitor_runs.watch(*options, "--", "true", before=["prlimit", limit])

    if watched.errors.startswith("prlimit"):
        pytest.skip(watched.errors.strip())
    ends_with_a_sentence(watched)
    for one in watched.processes:
        assert one["begin_ns"] > 0, "what we could not read was taken for a process that had ended"


@pytest.mark.parametrize("megabytes", [4, 8, 16])
@pytest.mark.parametrize("options", [(), *[("--detail", "life", "--backend", each) for each in BACKENDS]])
def test_where_there_is_no_memory_it_ends(options: tuple[str, ...], megabytes: int) -> None:
    limit = f"--as={megabytes * MEGABYTE}"
    ends_with_a_sentence(monitor_runs.watch(*options, "--", "true", before=["prlimit", limit]))


@pytest.mark.root
@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("options", [(), *[("--detail", "life", "--backend", each) for each in BACKENDS[1:]]])
def test_an_ordinary_user_s_limit_of_processes_ends_it(options: tuple[str, ...], most: int) -> None:
    before = ["setpriv", "--reuid=65531", "--regid=65531", "--clear-groups", "prlimit", f"--nproc={most}"]
    with monitor_for_all() as program:
        done = subprocess.run(
            [*before, program, *options, "--", "true"],
            capture_output=True,
            text=True,
            timeout=patience(30),
            check=False,
        )

    assert done.returncode in (0, 1, 77)
    assert done.returncode == 0 or re.fullmatch(r"(steelyard-watch: [^\n]+\n)+", done.stderr)
