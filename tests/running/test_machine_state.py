"""What is read of this machine around a trial: from false files of /proc, and while it is under a load."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from installed_command import COMMAND, Run
from monitor_runs import until
from processes import used_s

from steelyard import allowance
from steelyard.running import laboratories, machine_state
from steelyard.running.machine_state import StateReading

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_busy_is_what_is_neither_idle_nor_taken(tmp_path: Path) -> None:
    """Of two seconds of two processors 1.5 s were idle, 0.25 s the host's; the trial used a second."""
    before = StateReading(0, (0, 1), 10 * 10**9, 10**9, 5 * 10**9, {"cpu": 100, "io": 5})
    after = StateReading(
        2 * 10**9, (0, 1), 11_500_000_000, 1_250_000_000, 6 * 10**9, {"cpu": 1_900_100, "io": 5}
    )

    found = machine_state.between(before, after)

    assert (found.had_ns, found.busy_ns) == (4 * 10**9, 2_250_000_000)
    assert (found.own_ns, found.stolen_ns) == (10**9, 250_000_000)
    assert (found.io_pressure, found.memory_pressure) == (0.0, None)
    assert machine_state.waited(before, after, "cpu") == pytest.approx(0.95)


def test_what_went_back_or_is_of_other_processors_is_not_known() -> None:
    before = StateReading(0, (0, 1), 10**9, 0, 0, {}, memory_hits=9)
    after = StateReading(10**9, (0,), 2 * 10**9, 0, 0, {}, memory_hits=5)

    found = machine_state.between(before, after)

    assert (found.had_ns, found.busy_ns, found.own_ns, found.memory_hits) == (None, None, None, None)


def test_of_several_groups_the_one_that_was_stopped_most_counts(tmp_path: Path) -> None:
    before = StateReading(
        0, (0,), 0, 0, 0, periods={Path("/a"): (100, 90), Path("/b"): (10, 1), Path("/c"): (5, 5)}
    )
    after = replace(
        before, at_ns=10**9, periods={Path("/a"): (110, 91), Path("/b"): (20, 8), Path("/new"): (9, 9)}
    )

    found = machine_state.between(before, after)

    assert (found.quota_periods, found.throttled_periods) == (10, 7)


@pytest.fixture
def false(tmp_path: Path) -> Path:
    """A /proc of four processors, which were busy in 1, 2, 3 and 4 ticks; this process descends from none."""
    usable = allowance.processors()
    lines = ["cpu  1 1 1 1 1 1 1 1 1 1"]
    lines += [f"cpu{one} 1 0 0 {100 + one} 20 0 0 {one} 0 0" for one in usable]
    lines.append("cpu999 1 0 0 7777 7777 0 0 7777 0 0")  # that may not be used
    put(tmp_path / "stat", "\n".join([*lines, "intr 5 1 1"]) + "\n")
    put(tmp_path / "pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=4711\n")
    put(tmp_path / "vmstat", "nr_free_pages 5\npswpin 3\npswpout 4\npgfault 9\n")
    put(tmp_path / "self/cgroup", "0::/a/b\n")
    put(tmp_path / "self/mountinfo", f"30 29 0:26 / {tmp_path}/fs rw - cgroup2 cgroup2 rw\n")
    put(tmp_path / "fs/a/b/cpu.stat", "usage_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 8\n")
    put(tmp_path / "fs/a/cpu.stat", "usage_usec 5\n")
    put(tmp_path / "fs/a/memory.events", "low 0\nhigh 99\nmax 99\noom 99\n")
    put(tmp_path / "fs/a/memory.events.local", "low 7\nhigh 1\nmax 2\noom 0\n")
    put(tmp_path / "fs/a/b/memory.events", "low 7\nhigh 0\nmax 5\noom 0\n")
    return tmp_path


def test_only_processors_that_may_be_used_are_read_and_every_parent_group(false: Path) -> None:
    found = machine_state.read(proc=false, sys=false / "nothing", is_before=True)

    usable = allowance.processors()
    assert found.processors == usable
    assert found.idle_ns == sum(120 + one for one in usable) * TICK_NS
    assert found.stolen_ns == sum(usable) * TICK_NS
    assert found.waited_us == {"cpu": 4711}
    assert found.periods == {false / "fs/a/b": (10, 4)}
    assert found.memory_hits == 1 + 2 + 5  # of a parent only its own: those below it are counted there
    assert (found.swapped_pages, found.heat_events) == (7, None)


@pytest.mark.parametrize("text", ["", "cpu  1 2 3\n", "nonsense\n", "cpu0 x y z a b c d e\n"])
def test_a_kernel_that_counts_nothing_leaves_it_unknown(false: Path, text: str) -> None:
    put(false / "stat", text)

    found = machine_state.read(proc=false, sys=false, is_before=False)

    assert (found.idle_ns, found.stolen_ns) == (None, None)


def test_zeros_are_no_count(false: Path) -> None:
    put(false / "stat", "".join(f"cpu{one} 0 0 0 0 0 0 0 0 0 0\n" for one in allowance.processors()))

    assert machine_state.read(proc=false, sys=false, is_before=True).idle_ns is None


# --- this machine


LOOP = "import sys; print(flush=True)\nwhile True: pass"


@pytest.fixture
def loops() -> Iterator[list[subprocess.Popen[bytes]]]:
    """A busy loop for each processor, that descends from this process."""
    members = [
        subprocess.Popen([sys.executable, "-c", LOOP], stdout=subprocess.PIPE) for _ in allowance.processors()
    ]
    for one in members:
        assert one.stdout is not None
        one.stdout.readline()
    yield members
    for one in members:
        one.kill()
        one.wait()
        assert one.stdout is not None
        one.stdout.close()


@pytest.mark.program
@pytest.mark.quiet
@pytest.mark.limit(300)
def test_a_run_beside_busy_loops_says_so_in_its_first_lines(
    loops: list[subprocess.Popen[bytes]], steelyard: Run, tmp_path: Path
) -> None:
    """They are no work of the laboratory's, which is another child of this process."""
    if not Path("/proc/pressure/cpu").exists() or machine_state.read(is_before=True).idle_ns is None:
        pytest.skip("this kernel does not tell who waits for its processors")
    words = ["compare", "native", "native-musl", "--study", "brief", "--only", "sieve", "--budget", "6s"]
    words += ["--precision", "0.01%"]  # as long as it may, not until it is settled

    done = steelyard(*words, "--no-watch", "--archive", str(tmp_path))
    told = json.loads(steelyard("report", "--format", "json", "--archive", str(tmp_path)).stdout)

    waits = r"another process waited for a processor, and other work used \d+ % of CPU time"
    assert re.search(f"read with care: .*{waits}", done.stderr)
    assert re.search(waits, " ".join(done.stdout.splitlines()[:6]))
    assert told["state"]["conditions"][0]["kind"] == "other work"
    assert told["state"]["waited"] > 0.3  # the kernel says 0.5 where it is so on one of two processors
    assert re.search(waits, told["care"])


ANNOUNCED = """
import sys
from steelyard.running import laboratories
with laboratories.announced():
    print(flush=True)
    sys.stdin.read()
"""


@pytest.mark.program
def test_two_laboratories_know_of_each_other(write_study: Callable[..., str], steelyard: Run) -> None:
    """Each says that the other one measured; when it has gone, nobody does."""
    if laboratories.others() is None:
        pytest.skip("this kernel does not list sockets")
    words = [sys.executable, "-c", ANNOUNCED]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin
        assert other.stdout
        other.stdout.readline()
        study = write_study(systems={"a": "", "b": ""}, blocks=4)
        answer = steelyard("run", study, "--format", "json")
        examined = steelyard("doctor", "--no-start", "--format", "json")
        before = laboratories.others()
        other.stdin.close()
        other.wait()

    assert answer.returncode == 0, answer.stderr
    kinds = [one["kind"] for one in json.loads(answer.stdout)["state"]["conditions"]]
    assert "another laboratory" in kinds
    assert "other laboratory" in examined.stdout
    assert before is not None
    assert before >= 1
    with laboratories.announced():
        assert laboratories.others(proc=Path("/nowhere")) is None


@pytest.mark.program
@pytest.mark.quiet
def test_an_inherited_priority_is_part_of_the_state(write_study: Callable[..., str], archive: Path) -> None:
    study = write_study(systems={"a": "", "b": ""}, blocks=2)
    for words, said in (
        (["nice", "-n", "7"], "at nice 7"),
        (["chrt", "--idle", "0"], "with the scheduling policy 'idle'"),
    ):
        if shutil.which(words[0]) is None:
            continue
        command = [*words, COMMAND, "run", study, "--new", "--format", "json", "--archive", archive]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert f"all ran {said}" in json.loads(done.stdout)["care"]
    doctor = subprocess.run(
        ["nice", "-n", "7", COMMAND, "doctor", "--no-start"], capture_output=True, text=True, check=False
    )
    assert "this process runs at nice 7" in " ".join(doctor.stdout.split())


@pytest.mark.program
def test_what_descends_from_the_laboratory_is_its_own(loops: list[subprocess.Popen[bytes]]) -> None:
    """They are busy, and so is their processor: but not with other work. What they use is theirs also after
    they have ended, when nobody but their parent knows it."""
    first, before = (machine_state.read(is_before=True) for _ in range(2))
    begun_s = sum(used_s(one.pid) for one in loops)
    until(lambda: sum(used_s(one.pid) for one in loops) > begun_s + 0.5 * len(loops), "their work")
    between, last = (machine_state.read(is_before=False) for _ in range(2))
    for one in loops:
        one.kill()
        one.wait()
    after = machine_state.read(is_before=False)

    living, ended = machine_state.between(before, between), machine_state.between(before, after)
    # A reading takes as long as it is not let run in the middle of it.
    around = machine_state.between(first, last)
    if around.busy_ns is None or living.own_ns is None or ended.own_ns is None:
        pytest.skip("this kernel does not tell how busy its processors are")
    assert living.own_ns > 2 * len(loops) * TICK_NS
    assert ended.own_ns >= living.own_ns - 2 * len(loops) * TICK_NS
    assert living.own_ns <= around.busy_ns + 8 * len(loops) * TICK_NS
