"""How much of a machine may be used is counted in one place: by the mask of processors, and by every control
group from the process's own up to the root."""

import json
import os
import re
import subprocess
from pathlib import Path

import places
import pytest

from steelyard import allowance
from steelyard.programs import built
from steelyard.running import order

ROOT = places.ROOT


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def machine(place: Path, *, cgroup: str, mounts: list[tuple[str, str, str]]) -> Path:
    """A false /proc whose hierarchies are mounted below `place`: (directory, root, "cgroup rw,cpu")."""
    lines = [f"30 29 0:26 {root} {place / directory} rw - {kind}\n" for directory, root, kind in mounts]
    put(place / "proc/self/mountinfo", "".join(lines))
    put(place / "proc/self/cgroup", cgroup)
    return place / "proc"


def test_version_2_s_tightest_parent_counts(tmp_path: Path) -> None:
    proc = machine(tmp_path, cgroup="0::/a/b/c\n", mounts=[("fs", "/", "cgroup2 cgroup2 rw")])
    put(tmp_path / "fs/cgroup.controllers", "cpu memory\n")
    put(tmp_path / "fs/a/cpu.max", "30000 100000\n")
    put(tmp_path / "fs/a/b/cpu.max", "max 100000\n")
    put(tmp_path / "fs/a/b/c/cpu.max", "150000 100000\n")
    put(tmp_path / "fs/a/memory.max", "max\n")
    put(tmp_path / "fs/a/memory.high", f"{300 << 20}\n")
    put(tmp_path / "fs/a/memory.current", f"{250 << 20}\n")
    put(tmp_path / "fs/a/memory.stat", f"anon 1\ninactive_file {40 << 20}\n")
    put(tmp_path / "fs/a/b/memory.max", f"{200 << 20}\n")
    put(tmp_path / "fs/a/b/memory.current", f"{10 << 20}\n")

    assert allowance.quota(proc=proc) == allowance.Quota(0.3, tmp_path / "fs/a")
    # The one that leaves the least, not the one that allows the least.
    assert allowance.memory(proc=proc) == allowance.MemoryLimit(300 << 20, 90 << 20, tmp_path / "fs/a")


def test_version_1_has_a_hierarchy_for_each_controller(tmp_path: Path) -> None:
    proc = machine(
        tmp_path,
        cgroup="5:memory:/m/own\n4:cpu,cpuacct:/c\n0::/\n",
        mounts=[("memory", "/", "cgroup cgroup rw,memory"), ("cpu", "/", "cgroup cgroup rw,cpu,cpuacct")],
    )
    put(tmp_path / "cpu/c/cpu.cfs_quota_us", "50000\n")
    put(tmp_path / "cpu/c/cpu.cfs_period_us", "100000\n")
    put(tmp_path / "cpu/cpu.cfs_quota_us", "-1\n")
    put(tmp_path / "cpu/cpu.cfs_period_us", "100000\n")
    put(tmp_path / "memory/m/own/memory.limit_in_bytes", "9223372036854771712\n")
    put(tmp_path / "memory/m/memory.limit_in_bytes", f"{1 << 30}\n")
    put(tmp_path / "memory/m/memory.usage_in_bytes", f"{1 << 20}\n")

    assert allowance.quota(proc=proc) == allowance.Quota(0.5, tmp_path / "cpu/c")
    found = allowance.memory(proc=proc)
    assert found == allowance.MemoryLimit(1 << 30, (1 << 30) - (1 << 20), tmp_path / "memory/m")


def test_in_a_container_what_is_mounted_is_its_own_group(tmp_path: Path) -> None:
    proc = machine(
        tmp_path, cgroup="0::/docker/abc\n", mounts=[("fs", "/docker/abc", "cgroup2 cgroup2 rw,nosuid")]
    )
    put(tmp_path / "fs/cpu.max", "200000 100000\n")

    assert allowance.quota(proc=proc) == allowance.Quota(2.0, tmp_path / "fs")


@pytest.mark.parametrize(
    "cgroup", ["0::/gone\n", "", "4:cpu:/c\n"], ids=["a group that is gone", "none", "not mounted"]
)
def test_what_is_not_there_limits_nothing(tmp_path: Path, cgroup: str) -> None:
    proc = machine(tmp_path, cgroup=cgroup, mounts=[("fs", "/", "cgroup2 cgroup2 rw")])

    assert (allowance.quota(proc=proc), allowance.memory(proc=proc)) == (None, None)
    assert allowance.quota(proc=tmp_path / "nowhere") is None


@pytest.fixture
def on_one_processor() -> int:
    """This process on one processor for a test's length."""
    mask = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {max(mask)})
    except OSError as error:
        pytest.skip(f"a process may not choose its processors here: {error}")
    yield max(mask)  # type: ignore[misc]
    os.sched_setaffinity(0, mask)


def test_a_plan_has_as_many_copies_as_processors_may_be_used(on_one_processor: int, tmp_path: Path) -> None:
    text = """name = "copies"
title = "Copies"
systems = ["native"]
[[workload]]
name = "sieve"
copies = ["1..processors", "2x processors"]
"""
    (tmp_path / "copies.toml").write_text(text)

    plan = order.plan_of(order.Order(str(tmp_path / "copies.toml"), None, (), None, 1))

    assert allowance.processors() == (on_one_processor,)
    assert {cell.copies for cell in plan.cells} == {1, 2}


@pytest.mark.program
@pytest.mark.parametrize("libc", ["glibc", "musl"])
def test_each_libc_s_program_counts_the_processors_that_it_may_use(on_one_processor: int, libc: str) -> None:
    answer = subprocess.run([built.load(libc), "describe"], stdout=subprocess.PIPE, check=True)
    facts = json.loads(answer.stdout)

    assert facts["cpu_count"] == 1
    assert facts["cpu_online"] == os.cpu_count()


def test_nothing_else_counts_processors() -> None:
    """Online processors are not usable ones, and what sysconf counts differs by libc."""
    counters = re.compile(
        r"os\.cpu_count|sched_getaffinity\(0\)|multiprocessing\.cpu_count|_SC_NPROCESSORS_ONLN"
    )
    allowed = {"allowance.py", "facts.c", "main.c"}  # of the monitor's: how many the machine has
    files = [
        file
        for folder in ("src/steelyard", "base", "loadgen", "workloads", "agent", "client", "monitor")
        for suffix in ("*.py", "*.c", "*.h")
        for file in (ROOT / folder).rglob(suffix)
    ]
    assert len(files) > 300
    assert {file.name for file in files if counters.search(file.read_text())} <= allowed | {
        "processors.c", "context_switch.c", "ledger.c",  # which ask for the mask itself
    }  # fmt: skip
