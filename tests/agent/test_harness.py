"""The harness's own parts: the product's files compiled into the test, never a copy of them."""

import hashlib
import json
import os
import subprocess
from pathlib import Path

import c_programs
import pytest
import synthetic
from monitor_runs import comm, stop, until
from patience import patience

from steelyard.programs import built

pytestmark = pytest.mark.program


@pytest.mark.builds
@synthetic.SOME_OR_ALL
def test_the_sanitizers_find_nothing_in_any_workload(most: int, tmp_path: Path) -> None:
    workloads = synthetic.some(most)
    program = c_programs.program("agent/steelyard-load", directory="build-asan")
    words = "operations=3 batches=2 copies=2 warmup_ns=10000000"
    requests = "".join(
        f"trial {one.name} {one.name} {words} {' '.join(synthetic.few(one))}\n" for one in workloads
    )

    agent = subprocess.Popen(
        [program, "agent", tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={"ASAN_OPTIONS": "detect_leaks=0"},
    )  # fmt: skip
    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write(f"describe\nlist\nclock\n{requests}quit\n")
    agent.stdin.flush()
    with agent:
        records = [json.loads(line) for line in agent.stdout]
        assert agent.stderr is not None
        complaints = agent.stderr.read()

    ends = [record for record in records if record["record"] == "end"]
    assert complaints == ""
    assert [end["reason"] for end in ends if end["status"] not in ("ok", "unsupported")] == []
    assert len(ends) == len(workloads)


def test_the_programs_are_static_and_small_enough_to_carry_anywhere() -> None:
    for libc, bytes_most in (("glibc", 4_000_000), ("musl", 2_000_000)):  # SQLite is in the first
        program = built.load(libc)
        described = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True)
        assert "INTERP" not in described.stdout
        assert program.stat().st_size < bytes_most


def test_the_agent_names_its_own_checksum() -> None:
    for libc in ("glibc", "musl"):
        program = built.load(libc)
        answer = subprocess.run([program, "--version"], capture_output=True, check=True)
        assert json.loads(answer.stdout)["program_sha256"] == hashlib.sha256(program.read_bytes()).hexdigest()


def test_each_request_begins_with_the_initial_values() -> None:
    """What a request has set is not there for the next one; a curve's limits neither."""
    quick = "operations=1 batches=1 warmup_ns=0"
    records = _talk(
        _agent(),
        (
            f"trial 1 pipe_transfer size=4096 {quick}",
            "trial 2 pipe_transfer operations=1 batches=1",
            f"trial 3 command command=sh%0a-c%0atrue {quick}",
            f"trial 4 command {quick}",
        ),
    )

    begun = {one["trial"]: one["parameters"] for one in records if one["record"] == "begin"}
    assert (begun["1"]["size"], begun["2"]["size"]) == (4096, 512)
    assert (begun["1"]["warmup_ns"], begun["2"]["warmup_ns"]) == (0, 100000000)
    assert (begun["3"]["command"], begun["4"]["command"]) == ("sh\n-c\ntrue", "true")
    assert {one["status"] for one in records if one["record"] == "end"} == {"ok"}


def _talk(agent: subprocess.Popen[str], requests: tuple[str, ...]) -> list[dict]:
    """Sends all, then "quit", and reads to the end: standard input stays open, as its end means stop."""
    with agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write("".join(f"{request}\n" for request in requests) + "quit\n")
        agent.stdin.flush()
        return [json.loads(line) for line in agent.stdout]


@pytest.mark.parametrize(
    ("request_line", "reason"),
    [
        ("trial 1 nonsense", "there is no workload 'nonsense'"),
        ("trial 1", "there is no workload ''"),
        ("trial", "a request is: trial ID WORKLOAD"),
        ("trial " + "x" * 80 + " sieve", "a trial needs an ID of 1 to 63 characters"),
        ("trial 1 sieve copies", "'copies' is not of the form name=value"),
        ("trial 1 sieve copis=1", "there is no parameter 'copis'"),
        ("trial 1 sieve copies=0", "parameter copies is '0', and must be a whole number from 1 to 1024"),
        ("trial 1 sieve copies=-1", "parameter copies is '-1'"),
        ("trial 1 sieve copies=1x", "parameter copies is '1x'"),
        ("trial 1 sieve copies=", "parameter copies is ''"),
        ("trial 1 sieve copies=99999999999999999999", "parameter copies is '99999999999999999999'"),
        ("trial 1 pipe_transfer size=7", "parameter size is '7', and must be a whole number from 8 to 65536"),
        ("nonsense", "a request is"),
    ],
)
def test_a_wrong_request_is_refused_by_name(request_line: str, reason: str) -> None:
    records = _talk(_agent(), (request_line,))

    assert [record["record"] for record in records] == ["hello", "error"]
    assert reason in records[1]["reason"]


def _agent(directory: str = "/tmp") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [built.load("glibc"), "agent", directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_copies_begin_together_and_do_the_same_work(tmp_path: Path) -> None:
    records = _talk(_agent(str(tmp_path)), ("trial 1 sieve copies=8 batches=4 warmup_ns=0",))

    samples = [record for record in records if record["record"] == "samples"]
    processes = next(record for record in records if record["record"] == "processes")["processes"]
    assert [one["copy"] for one in samples] == list(range(8))
    assert len({(one["operations"], len(one["durations_ns"])) for one in samples}) == 1
    assert all(one["asked_ns"] < one["start_ns"] < one["end_ns"] for one in processes)
    # None starts before the last one was ready, and none is asked for after the first has started.
    assert max(one["asked_ns"] for one in processes) < min(one["start_ns"] for one in processes)


def test_a_trial_past_its_limit_has_timed_out_and_leaves_nothing(tmp_path: Path) -> None:
    request = "trial 1 shell operations=100000 batches=1 limit_ms=300 copies=2"
    records = _talk(_agent(str(tmp_path)), (request,))

    assert records[-1]["status"] == "timed out"
    assert records[-1]["reason"] == "not done after 300 ms"
    assert list(tmp_path.iterdir()) == []
    assert not any(record["record"] == "samples" for record in records)


def test_a_trial_can_be_stopped_and_the_next_one_runs(tmp_path: Path) -> None:
    agent = _agent(str(tmp_path))
    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write("trial 1 sieve operations=1000000000 batches=1\n")
    agent.stdin.flush()
    lines = iter(agent.stdout)
    while json.loads(next(lines))["record"] != "begin":
        pass
    agent.stdin.write("stop 1\ntrial 2 sieve operations=1 batches=1\nquit\n")
    agent.stdin.flush()
    with agent:
        ends = [record for record in map(json.loads, lines) if record["record"] == "end"]

    assert [(end["trial"], end["status"]) for end in ends] == [("1", "stopped"), ("2", "ok")]


def test_when_nobody_listens_the_agent_ends_its_trial(tmp_path: Path) -> None:
    agent = _agent(str(tmp_path))
    assert agent.stdin is not None
    agent.stdin.write("trial 1 sieve operations=1000000000 batches=1\n")
    agent.communicate(timeout=patience(60))

    assert agent.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_the_fingerprint_reads_the_root_it_is_given(tmp_path: Path) -> None:
    files = {
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Imaginary 9000\n",
        "proc/meminfo": "MemTotal:       1024 kB\nSwapTotal:      8 kB\n",
        "proc/cmdline": 'quiet "odd"\x01\n',
        "proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:2 / /a\\040b rw,noatime - xfs x rw\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "sys/devices/system/cpu/vulnerabilities/meltdown": "Mitigation: PTI\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)

    answer = subprocess.run(
        [built.load("glibc"), "describe", "/a b/c", tmp_path], capture_output=True, check=True
    )
    system = json.loads(answer.stdout)

    assert system["cpu_model"] == "Imaginary 9000"
    assert system["memory_bytes"] == 1024 * 1024
    assert system["swap_bytes"] == 8192
    assert system["huge_pages"] == "madvise"
    assert system["clock_source"] == "tsc"
    assert system["mitigations"] == {"meltdown": "Mitigation: PTI"}
    assert system["frequency_governor"] == "performance"
    assert system["kernel_command_line"] == 'quiet "odd"\x01'
    assert (system["file_system"], system["file_system_options"]) == ("xfs", "rw,noatime")


def test_a_fact_that_cannot_be_had_is_null(tmp_path: Path) -> None:
    answer = subprocess.run([built.load("glibc"), "describe", "/", tmp_path], capture_output=True, check=True)
    system = json.loads(answer.stdout)

    for fact in (
        "cpu_model",
        "memory_bytes",
        "huge_pages",
        "clock_source",
        "file_system",
        "frequency_governor",
    ):
        assert system[fact] is None, fact


def test_the_guard_ends_all_that_came_of_its_command(tmp_path: Path) -> None:
    """Also what left its session and group, and what is stopped; and removes the scratch directory."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "file").write_text("x")
    reading, writing = os.pipe()
    marker = f"9{os.getpid()}.5"
    script = f"setsid sleep {marker} & sleep {marker} & echo $!; wait"
    guard = subprocess.Popen(
        [built.load("glibc"), "guard", str(reading), scratch, "sh", "-c", script],
        pass_fds=(reading,), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(reading)
    assert guard.stdout is not None
    number = int(guard.stdout.readline())
    until(lambda: [*map(comm, _processes(marker))] == ["sleep"] * 2, "both of them")
    stop(number)

    os.close(writing)
    guard.communicate(timeout=patience(60))

    assert _processes(marker) == []
    assert not scratch.exists()


def test_the_guard_passes_on_how_its_command_ended(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    answer = subprocess.run(
        [built.load("glibc"), "guard", str(reading), tmp_path / "none", "sh", "-c", "exit 7"],
        pass_fds=(reading,), check=False,
    )  # fmt: skip
    os.close(reading)
    os.close(writing)

    assert answer.returncode == 7


def _processes(marker: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and marker in (entry / "cmdline").read_text(errors="replace").split("\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found
