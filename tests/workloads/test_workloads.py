"""Every workload, found not listed: what it does is counted from outside, and how it fails is seen."""

import json
import os
import re
import resource
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import c_programs
import places
import pytest
import synthetic
from monitor_runs import until
from patience import patience

from steelyard.programs import built
from steelyard.study.model import PEER

ROOT = places.ROOT
WORKLOADS = built.catalogue().workloads
# Those of servers need one: test_mail.py and its neighbours count what they do.
ALONE = [one for one in WORKLOADS if one.group != "server"]
COUNTED = [one for one in WORKLOADS if one.counted_address is not None]
# An operation of these is a performance of its own, and more of them are more of its parameter.
PERFORMANCES = ("linpack_processes", "linpack_limit", "tcp_echo", "known_calls", "fio")
GIVING_WAY = ("yield",)  # whoever else is on their processor comes first, for as long as it likes
STEPPED = [one for one in WORKLOADS if one.instructions]
FIELDS = ["Measures", "Leaves out", "Beware", "After"]

# A step costs up to thirty microseconds, so claims beyond this many instructions are checked up to it.
STEPS_MOST = 10_000
# Readings of the clock that are begun again while stepped are some instructions of either count.
CLOCK_STEPS = 2_000
BASE_NS = 500_000  # long beside a reading of the clock, and short enough that few are interrupted
SHORT_STEPS = 4_000  # so few are counted three times, for the count with the fewest readings


def perform(workload: str, *settings: str, under: tuple[str, ...] = (), **options: object) -> list[dict]:
    """The records of one trial of exactly `operations` operations in one batch, nothing before it."""
    command = [*under, str(built.load("glibc")), "run", workload, "batches=1", "warmup_ns=0", *settings]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False, **options)
    return [json.loads(line) for line in answer.stdout.splitlines()]


def one_size(workload: built.Workload) -> tuple[str, ...]:
    """What makes it short, but for what its claims are about: how much one performance is."""
    return () if workload.name in PERFORMANCES else synthetic.few(workload)


def unsynced(workload: built.Workload) -> tuple[str, ...]:
    """The settings without which a batch of few operations is one wait for the device."""
    return ("sync=0",) if any(one.name == "sync" for one in workload.parameters) else ()


def check(records: list[dict]) -> None:
    """That the trial went well; or skips, with the workload's reason, what this machine cannot do."""
    end = records[-1]
    if end.get("status") == "unsupported":
        pytest.skip(end["reason"])
    assert end.get("status") == "ok", end


def counted(workload: built.Workload, *settings: str, under: tuple[str, ...]) -> int:
    """What a counting program says of one trial, on standard error."""
    with tempfile.TemporaryFile("w+") as told:
        check(perform(workload.name, *settings, under=under, stderr=told))
        told.seek(0)
        return int(told.read())


def calls(workload: built.Workload, operations: int, tmp_path: Path) -> Counter[str]:
    """How often each system call was made by the trial's processes, as strace saw them; not by the agent,
    which is the first process, and reads what comes in as many pieces as it comes."""
    trace = tmp_path / f"trace-{operations}"
    under = ("strace", "-f", "-qq", "-o", str(trace))
    # A performance is a batch: of those there can be several, and of operations in one there cannot.
    number = "batches" if workload.name in PERFORMANCES else "operations"
    check(perform(workload.name, f"{number}={operations}", *one_size(workload), under=under))
    # But for the records, of which there is none for a figure that a short trial does not have.
    text = trace.read_text(errors="replace")
    begun = re.findall(r'^(\d+) +(\w+)\((?!\d+, "{\\"record)', text, re.MULTILINE)
    # And for those in which a partner was killed, which may have waited for one more or not yet.
    # A call that goes on after a signal stands there twice. A close does not wait: it was done.
    broken = re.findall(r"^(\d+) +(?:<\.\.\. )?(?!exit|close)(\w+)\b.* = \?(?: E.*)?$", text, re.MULTILINE)
    left = Counter(re.findall(r"^(\d+) +(?!close)(\w+)\(.*<unfinished \.\.\.>$", text, re.MULTILINE))
    left -= Counter(re.findall(r"^(\d+) +<\.\.\. (\w+) resumed>", text, re.MULTILINE))
    # And for what a far end reads when its connection has ended, if it comes to that.
    if workload.group == "network":
        broken += re.findall(r"^(\d+) +(?:<\.\.\. )?(read|recvfrom)\b.* = 0$", text, re.MULTILINE)
    agent = begun[0][0]
    counts = Counter(call for process, call in begun if process != agent)
    counts.subtract(call for process, call in (*broken, *left.elements()) if process != agent)
    counts["close"] += unclosed(text)
    return counts


def unclosed(text: str) -> int:
    """How many connections their acceptor had not closed when it was killed, which may have been just before:
    its last, or all, where others close them."""
    open_ones = set()
    accept = r"(?:accept4?\(|<\.\.\. accept4? resumed>).* = (\d+)$"
    for process, accepted, closed in re.findall(rf"^(\d+) +(?:{accept}|close\((\d+))", text, re.MULTILINE):
        if accepted:
            open_ones.add((process, accepted))
        else:
            open_ones.discard((process, closed))
    return len(open_ones)


@pytest.mark.strace
@pytest.mark.parametrize("workload", [one for one in WORKLOADS if one.calls], ids=lambda one: one.name)
def test_each_operation_makes_exactly_the_calls_it_claims(workload: built.Workload, tmp_path: Path) -> None:
    """The difference between 29 operations and 12 is 17 operations' calls: what surrounds them cancels. Of
    operations of a thousand calls, and of other programs, three must do."""
    is_long = workload.name in ("fio", "shell") or sum(workload.calls.values()) > 1000
    counts = (2, 5) if is_long else (12, 29)
    few, many = (calls(workload, operations, tmp_path) for operations in counts)
    more = counts[1] - counts[0]

    found = {name: many[name] - few[name] for name in workload.calls}
    if workload.name == "shell":
        # A shell and its utilities read and write as they please; how many are begun is ours.
        assert found == {"execve": more * workload.calls["execve"]}
    else:
        assert found == {name: more * each for name, each in workload.calls.items()}


@pytest.mark.strace
@pytest.mark.parametrize("workload", COUNTED, ids=lambda one: one.name)
def test_each_operation_enters_the_function_it_claims_to_enter(workload: built.Workload) -> None:
    """As often as 230 operations are more than 101: twice through the loop that does 64 in a row, and one."""
    counter = c_programs.program("tests/agent/count_entries")

    def entries(operations: int) -> int:
        settings = (f"operations={operations}", *one_size(workload))
        return counted(workload, *settings, under=(str(counter), hex(workload.counted_address or 0)))

    assert entries(230) - entries(101) == 129


@pytest.fixture(scope="module")
def count_instructions() -> Callable[[str, int], int]:
    """Counts the instructions of a trial of `operations` in each phase, and the little around them."""
    counter = c_programs.program("tests/agent/count_instructions")

    @cache
    def count(workload: str, operations: int) -> int:
        known = built.catalogue().find(workload)
        most = STEPS_MOST if operations == 1 else 4 * STEPS_MOST
        under = (str(counter), str(most), str(len(known.metrics)))

        def once() -> int:
            return counted(known, f"operations={operations}", *one_size(known), under=under)

        found = once()
        return found if found > SHORT_STEPS else min(found, once(), once())

    return count


@pytest.mark.strace
@pytest.mark.parametrize("workload", STEPPED, ids=lambda one: one.name)
def test_each_operation_takes_the_instructions_it_claims(
    workload: built.Workload, count_instructions: Callable[[str, int], int]
) -> None:
    """In each of its phases. Where an operation is short, by the difference of many and one: what surrounds
    them cancels, but for clock readings that were begun again, so the difference is of many. Where one
    operation fills the test's time, by that one, less what surrounds nothing."""
    phases = len(workload.metrics)
    one = count_instructions(workload.name, 1)
    around = phases * count_instructions("null", 1)
    many = max(STEPS_MOST // max(one - around, 200), CLOCK_STEPS // (workload.instructions * phases))

    if many < 3:
        found, claimed = one - around, min(workload.instructions * phases, STEPS_MOST - around)
    else:
        found = count_instructions(workload.name, many) - one
        claimed = (many - 1) * workload.instructions * phases

    assert found >= claimed


@pytest.mark.parametrize("workload", ALONE, ids=lambda one: one.name)
def test_something_of_it_can_be_counted_from_outside(workload: built.Workload) -> None:
    """Nothing of the harness's own: `null` does nothing."""
    if workload.groups or workload.measure == "count":
        return  # tests/workloads/test_processes.py counts their processes from outside
    claims = bool(workload.calls) or workload.counted_address is not None or workload.instructions > 0

    assert claims or workload.group == "harness"


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)
def test_its_file_says_what_it_measures(workload: built.Workload) -> None:
    """Where its group is, in a head comment from which the documentation is made."""
    text = (ROOT / "workloads" / workload.group / f"{workload.name}.c").read_text()
    head = text[: text.index("*/")]

    assert head.startswith(f"/* {workload.name} -- ")
    assert re.findall(r"^ \* (\w[\w ]*\w) {2,}\S", head, re.MULTILINE) == FIELDS


@pytest.mark.program
@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(one, marks=[pytest.mark.quiet] if one.name in GIVING_WAY else [])
        for one in ALONE
        if one.name not in PERFORMANCES and one.measure != "count"
    ],
    ids=lambda one: one.name,
)
def test_work_takes_longer_the_more_of_it_there_is(workload: built.Workload) -> None:
    """Nothing is optimised away: twenty times the operations take more than four times the time. A ratio
    of two times on one machine, not a time; and on one processor, because partners on two hand over ten
    times more slowly, and the scheduler may bring them together in the longer trial alone. Another process
    that ends between the two (it takes a thousand times a yield's own time) is not there three times."""

    def time_ns(operations: int) -> int:
        settings = (*one_size(workload), *unsynced(workload))
        records = perform(workload.name, f"operations={operations}", "place=1", *settings)
        check(records)
        timed = [metric.name for metric in workload.metrics if not metric.reported]
        samples = [one for one in records if one["record"] == "samples" and one["metric"] in timed]
        return sum(sum(one["durations_ns"]) for one in samples)

    def fastest_ns(operations: int) -> int:
        return min(time_ns(operations) for _ in range(3))

    def grown() -> float:
        base, short_ns = 1, 0
        while 2 * short_ns < BASE_NS:  # else it took so long only while this was found out
            while (taken_ns := time_ns(base)) < BASE_NS or (taken_ns := fastest_ns(base)) < BASE_NS:
                base *= min(100, 1 + 2 * BASE_NS // max(1, taken_ns))
            base = -(-base * BASE_NS // taken_ns)
            short_ns = fastest_ns(base)
        return fastest_ns(base * 20) / short_ns

    assert any(grown() > 4 for _ in range(3))


@pytest.mark.program
@pytest.mark.parametrize("workload", ALONE, ids=lambda one: one.name)
def test_every_metric_it_lists_comes_from_every_copy(workload: built.Workload) -> None:
    # What a machine's processors used for an operation is known of many operations only.
    number = 200 if any(one.name == PEER for one in workload.parameters) else 2
    settings = (f"operations={number}", "copies=3", *synthetic.few(workload))
    records = perform(workload.name, *settings)

    check(records)
    if workload.measure == "count":
        return
    names = [metric.name for metric in workload.metrics]
    timed = [metric.name for metric in workload.metrics if not metric.reported]
    samples = [(one["copy"], one["metric"]) for one in records if one["record"] == "samples"]
    usage = [(one["copy"], one["metric"]) for one in records if one["record"] == "usage"]
    assert usage == [(copy, metric) for copy in range(3) for metric in names]
    # What a workload reports itself may be unknown, or nothing in so short a trial.
    assert [one for one in samples if one[1] in timed] == [
        (copy, each) for copy in range(3) for each in timed
    ]
    assert samples == [one for one in usage if one in samples]


@pytest.mark.program
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)
def test_each_of_its_parameters_is_refused_beyond_its_limits(workload: built.Workload) -> None:
    for parameter in workload.parameters:
        long = "x" * (parameter.most + 1) if isinstance(parameter.initial, str) else parameter.most + 1
        record = perform(workload.name, f"{parameter.name}={long}")[-1]
        assert record["record"] == "error"
        assert parameter.name in record["reason"]
        assert str(parameter.most) in record["reason"]


@pytest.mark.program
@pytest.mark.parametrize("workload", ["disktest", "shell"])
def test_a_file_that_cannot_grow_fails_the_trial(workload: str) -> None:
    """A limit on the size of files stands for a full disk: the call fails, and so does the trial."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    end = perform(workload, "operations=1", preexec_fn=limit)[-1]

    assert end["status"] in ("failed", "killed")
    assert end["reason"] or end["signal"]


@pytest.mark.program
@pytest.mark.parametrize("look", [4, 4096])
@pytest.mark.parametrize("workload", ["file_read_cached", "map_read_cached"])
def test_a_number_that_changes_in_a_cached_file_fails_the_trial(
    workload: str, look: int, tmp_path: Path
) -> None:
    """Wherever it is in its page: one number in 4096 bytes is looked at, at another place in each pass. The
    trial would go on up to its limit."""
    settings = ("size=8192", f"look={look}", "operations=100000", "batches=2000", "warmup_ns=0")
    command = [str(built.load("glibc")), "run", workload, *settings]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as trial:
        until(lambda: list(tmp_path.glob("**/contents")) or trial.poll() is not None, "its file")
        (contents,) = tmp_path.glob("**/contents")
        with contents.open("r+b", buffering=0) as file:
            while trial.poll() is None:  # which may write it once more, if it is not done with that
                file.seek(8192 - 4 * 3)
                file.write(b"\xff\x00\xff\x00")
                time.sleep(0.01)
        told = trial.communicate(timeout=patience(60))[0]

    end = json.loads(told.splitlines()[-1])
    assert end["status"] == "failed"
    assert end["reason"].endswith("other numbers") or end["reason"].startswith("the sum is")


@pytest.mark.program
@pytest.mark.parametrize("workload", ["pipe_transfer"])
def test_without_descriptors_the_trial_fails_with_the_calls_name(workload: str) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))

    end = perform(workload, "operations=1", "copies=12", preexec_fn=limit)[-1]

    assert end["status"] == "failed"
    # Which copy ends first is chance: one whose setup lacks them, or one that could not take over its own.
    assert end["reason"].endswith(": Too many open files")
    assert end["reason"].partition(":")[0] in ("pipe", "fcntl", "dup2", "open /dev/null")


@pytest.mark.program
def test_the_shell_is_unsupported_where_a_utility_is_missing(tmp_path: Path) -> None:
    """In a root that holds the program and nothing else; needs a user namespace or root to get there."""
    program = tmp_path / "steelyard-load"
    program.write_bytes(built.load("glibc").read_bytes())
    program.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "proc").mkdir()
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "null").write_text("")
    inside = ["unshare", "--user", "--map-root-user", "chroot", str(tmp_path), "/steelyard-load"]
    answer = subprocess.run(
        [*inside, "run", "shell"], capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    if not answer.stdout:
        pytest.skip(f"no root of its own available: {answer.stderr.decode().strip()}")

    end = json.loads(answer.stdout.splitlines()[-1])
    assert end["status"] == "unsupported"
    assert end["reason"] == "there is no /bin/sh"
