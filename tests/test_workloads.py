"""Every workload, found not listed: what it does is counted from outside, and how it fails is seen."""

import json
import re
import resource
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from steelyard import programs

COUNTER = Path(__file__).parent / "harness" / "count_entries.c"
WORKLOADS = programs.catalogue().workloads
COUNTED = [one for one in WORKLOADS if one.counted_address is not None]


def perform(workload: str, *settings: str, under: tuple[str, ...] = (), **options: object) -> list[dict]:
    """The records of one trial of exactly `operations` operations in one batch, nothing before it."""
    command = [*under, str(programs.load("glibc")), "run", workload, "batches=1", "warmup_ns=0", *settings]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False, **options)
    return [json.loads(line) for line in answer.stdout.splitlines()]


def calls(workload: str, operations: int, tmp_path: Path) -> Counter[str]:
    """How often each system call was made by the trial's processes, as strace saw them; not by the agent,
    which is the first process, and reads what comes in as many pieces as it comes."""
    trace = tmp_path / f"trace-{operations}"
    under = ("strace", "-f", "-qq", "-o", str(trace))
    records = perform(workload, f"operations={operations}", under=under)
    assert records[-1]["status"] == "ok", records[-1]
    begun = re.findall(r"^(\d+) +(\w+)\(", trace.read_text(errors="replace"), re.MULTILINE)
    agent = begun[0][0]
    return Counter(call for process, call in begun if process != agent)


@pytest.mark.strace
@pytest.mark.parametrize("workload", [one for one in WORKLOADS if one.calls], ids=lambda one: one.name)
def test_each_operation_makes_exactly_the_calls_it_claims(
    workload: programs.Workload, tmp_path: Path
) -> None:
    """The difference between 29 operations and 12 is 17 operations' calls: what surrounds them cancels.
    (Numbers of as many digits, because the harness reads them digit by digit.)"""
    few, many = (calls(workload.name, operations, tmp_path) for operations in (12, 29))

    found = {name: many[name] - few[name] for name in workload.calls}
    if workload.name == "shell":
        # A shell and its utilities read and write as they please; how many are begun is ours.
        assert found == {"execve": 17 * workload.calls["execve"]}
    else:
        assert found == {name: 17 * each for name, each in workload.calls.items()}


@pytest.mark.strace
@pytest.mark.parametrize("workload", COUNTED, ids=lambda one: one.name)
def test_each_operation_enters_the_function_it_claims_to_enter(
    workload: programs.Workload, tmp_path: Path
) -> None:
    counter = tmp_path / "count_entries"
    subprocess.run(["cc", "-O1", "-w", "-o", counter, COUNTER], check=True)
    command = [counter, hex(workload.counted_address or 0), programs.load("glibc"), "run", workload.name]

    answer = subprocess.run(
        [*command, "batches=1", "warmup_ns=0", "operations=10007"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip

    assert answer.stderr == "10007\n"


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)
def test_work_takes_longer_the_more_of_it_there_is(workload: programs.Workload) -> None:
    """Nothing is optimised away: twenty times the operations take more than four times the time. A ratio
    of two times on one machine, not a time."""
    base = {"null": 10**8, "funcall": 10**5, "syscall": 10**4, "pipe_transfer": 10**3}.get(workload.name, 1)

    def fastest(operations: int) -> int:
        trials = [perform(workload.name, f"operations={operations}") for _ in range(3)]
        return min(
            sum(sum(one["durations_ns"]) for one in trial if one["record"] == "samples") for trial in trials
        )

    assert fastest(base * 20) > 4 * fastest(base)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)
def test_every_metric_it_lists_comes_from_every_copy(workload: programs.Workload) -> None:
    records = perform(workload.name, "operations=2", "copies=3")

    samples = [(one["copy"], one["metric"]) for one in records if one["record"] == "samples"]
    usage = [(one["copy"], one["metric"]) for one in records if one["record"] == "usage"]
    assert samples == usage == [(copy, metric) for copy in range(3) for metric in workload.metrics]
    assert records[-1]["status"] == "ok"


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)
def test_each_of_its_parameters_is_refused_beyond_its_limits(workload: programs.Workload) -> None:
    for parameter in workload.parameters:
        record = perform(workload.name, f"{parameter.name}={parameter.most + 1}")[-1]
        assert record["record"] == "error"
        assert parameter.name in record["reason"]
        assert str(parameter.most) in record["reason"]


@pytest.mark.parametrize("workload", ["disktest", "shell"])
def test_a_file_that_cannot_grow_fails_the_trial(workload: str) -> None:
    """A limit on the size of files stands for a full disk: the call fails, and so does the trial."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    end = perform(workload, "operations=1", preexec_fn=limit)[-1]

    assert end["status"] in ("failed", "killed")
    assert end["reason"] or end["signal"]


@pytest.mark.parametrize("workload", ["pipe_transfer"])
def test_without_descriptors_the_trial_fails_with_the_calls_name(workload: str) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))

    ends = [perform(workload, "operations=1", "copies=12", preexec_fn=limit)[-1]]

    assert ends[0]["status"] == "failed"
    assert ends[0]["reason"].startswith("pipe: ")


def test_the_shell_is_unsupported_where_a_utility_is_missing(tmp_path: Path) -> None:
    """In a root that holds the program and nothing else; needs a user namespace or root to get there."""
    program = tmp_path / "steelyard-load"
    program.write_bytes(programs.load("glibc").read_bytes())
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
        pytest.skip(f"no root of its own to be had: {answer.stderr.decode().strip()}")

    end = json.loads(answer.stdout.splitlines()[-1])
    assert end["status"] == "unsupported"
    assert end["reason"] == "there is no /bin/sh"
