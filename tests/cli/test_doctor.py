"""steelyard doctor says what works here and what disturbs, in one screen, and always ends well."""

import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from installed_command import Run

from steelyard import systems
from steelyard.programs import built
from steelyard.report import diagnosis
from steelyard.running import examination
from steelyard.running.examination import SYSTEM, Diagnosis
from steelyard.watch.order import BACKENDS

KNOWN = {"cpu_count": 2, "frequency_governor": None, "hypervisor": None}


def found(root: Path, **facts: object) -> dict[str, Diagnosis]:
    return {one.name: one for one in examination.noise({**KNOWN, **facts}, root)}


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


UNTOLD = {
    "other work": "/proc/pressure/cpu or /proc/loadavg",
    "other laboratory": "/proc/net/unix",
    "memory": "/proc/meminfo",
    "limits": "/proc/self/cgroup",
}


def test_where_nothing_is_told_nothing_counts_as_quiet(tmp_path: Path) -> None:
    said = found(tmp_path, cpu_count=1)

    assert said.keys() == UNTOLD.keys()
    assert all("unknown: " in one.says and UNTOLD[name] in one.says for name, one in said.items())
    assert not any(one.good for one in said.values())


@pytest.mark.parametrize("text", ["", "\0", "-1 nan", "x" * 100, "\n\n", "cpu  a b c d e f g h\n"])
def test_whatever_a_file_says_it_is_read_or_is_unknown(tmp_path: Path, text: str) -> None:
    for path in ("stat", "meminfo", "loadavg", "pressure/cpu", "self/cgroup", "self/mountinfo"):
        put(tmp_path, f"proc/{path}", text)
        (tmp_path / "proc" / path).write_bytes(text.encode() + b"\xff")

    said = found(tmp_path, hypervisor="KVM")

    assert all("unknown: " in said[name].says for name in ("virtual machine", "other work", "memory"))


def test_limits_are_unknown_where_the_groups_cannot_be_seen(tmp_path: Path) -> None:
    grouped(tmp_path, {"cpu.max": "30000 100000\n"})
    assert "limits" not in found(tmp_path)
    shutil.rmtree(tmp_path / "fs")
    assert not found(tmp_path)["limits"].good
    put(tmp_path, "proc/self/cgroup", "")  # of a kernel without groups
    assert "limits" not in found(tmp_path)


@pytest.mark.parametrize(("governor", "good"), [("performance", True), ("powersave", False)])
def test_a_governor_that_follows_the_load_disturbs(tmp_path: Path, governor: str, good: bool) -> None:
    frequency = found(tmp_path, frequency_governor=governor)["frequency"]

    assert frequency.good is good
    assert governor in frequency.says
    assert ("cpupower" in frequency.says) is not good


@pytest.mark.parametrize(
    ("path", "text"),
    [("cpufreq/boost", "1\n"), ("intel_pstate/no_turbo", "0\n")],
)
def test_a_turbo_disturbs_by_either_vendor_s_file(tmp_path: Path, path: str, text: str) -> None:
    put(tmp_path, f"sys/devices/system/cpu/{path}", text)

    assert not found(tmp_path)["boost"].good
    put(tmp_path, f"sys/devices/system/cpu/{path}", "1" if text == "0\n" else "0")
    assert "boost" not in found(tmp_path)


def test_threads_that_share_a_core_disturb(tmp_path: Path) -> None:
    put(tmp_path, "sys/devices/system/cpu/smt/active", "1\n")

    assert not found(tmp_path)["shared cores"].good


@pytest.mark.parametrize(("stolen", "share", "good"), [(0, "0 %", True), (500, "5.00 %", False)])
def test_a_host_that_takes_time_disturbs(tmp_path: Path, stolen: int, share: str, good: bool) -> None:
    put(tmp_path, "proc/stat", f"cpu  {9000 - stolen} 0 500 400 50 30 20 {stolen} 0 0\ncpu0 1 1 1 1\n")

    virtual = found(tmp_path, hypervisor="KVM")["virtual machine"]

    assert (virtual.good, "KVM" in virtual.says, share in virtual.says) == (good, True, True)


@pytest.mark.parametrize(("waited", "good"), [("0.40", True), ("37.12", False)])
def test_other_work_is_told_by_who_waits(tmp_path: Path, waited: str, good: bool) -> None:
    put(tmp_path, "proc/loadavg", "9.00 9.00 9.00 1/100 4711\n")
    put(
        tmp_path,
        "proc/pressure/cpu",
        f"some avg10={waited} avg60=1.00 avg300=0.10 total=1\nfull avg10=0.00\n",
    )

    assert found(tmp_path)["other work"].good is good


@pytest.mark.parametrize(("load", "good"), [("0.05", True), ("1.50", False)])
def test_without_pressure_the_load_tells_of_other_work(tmp_path: Path, load: str, good: bool) -> None:
    put(tmp_path, "proc/loadavg", f"{load} 9.00 9.00 1/100 4711\n")

    assert found(tmp_path)["other work"].good is good


@pytest.mark.parametrize(("free", "good"), [(5000, True), (500, False)])
def test_little_memory_disturbs(tmp_path: Path, free: int, good: bool) -> None:
    put(tmp_path, "proc/meminfo", f"MemTotal:  10000 kB\nMemFree: 10 kB\nMemAvailable:  {free} kB\n")

    assert found(tmp_path)["memory"].good is good


def test_what_can_be_told_follows_from_the_differences_of_neighbours() -> None:
    """Six pairs whose logarithms differ by +-0.01 deviate by 0.01 sqrt(6/5); t of 7 degrees is 2.3646."""
    times = [100.0, 100 * math.exp(0.01), 100.0, 100 * math.exp(-0.01)] * 3

    half = 2.3646 * 0.01 * math.sqrt(6 / 5) / math.sqrt(8)
    assert examination.resolution(times) == pytest.approx(math.expm1(half), rel=1e-4)
    assert examination.resolution([5.0] * 12) == 0


def test_systems_that_work_are_one_line_and_the_others_say_why() -> None:
    says = {"one": "started in 0.1 s", "two": "why", "three": "started in 2.0 s", "four": "not tried"}
    findings = [Diagnosis(SYSTEM, name, name != "two", text) for name, text in says.items()]

    assert diagnosis.folded(findings) == [
        Diagnosis(SYSTEM, "started", True, "one, three"),
        Diagnosis(SYSTEM, "not tried", True, "four"),
        findings[1],
    ]
    assert diagnosis.folded(findings[1:2]) == findings[1:2]


@pytest.mark.boots
@pytest.mark.parametrize(
    "how", [["--no-start"], pytest.param([], marks=pytest.mark.long)], ids=["looked at", "started"]
)
def test_doctor_names_every_system_and_backend_on_one_screen(
    how: list[str], steelyard: Run, tmp_path: Path
) -> None:
    shown = steelyard("doctor", "--no-start", TMPDIR=str(tmp_path))
    told = steelyard("doctor", *how, "--format", "json")

    assert (shown.returncode, told.returncode, shown.stderr) == (0, 0, "")
    rows = json.loads(told.stdout)
    names = {(row["part"], row["name"]) for row in rows}
    assert {("system", system.name) for system in systems.BUILT_IN} <= names
    assert {("monitor", backend) for backend in BACKENDS} <= names
    assert {row["part"] for row in rows} == {"machine", "system", "monitor", "clock", "noise", "resolution"}
    assert all(row["says"] for row in rows if not row["good"])
    assert len(shown.stdout.splitlines()) <= 40


def test_a_list_starts_nothing_and_says_so(steelyard: Run) -> None:
    rows = json.loads(steelyard("doctor", "--no-start", "--format", "json").stdout)
    listed = json.loads(steelyard("list", "systems", "--format", "json").stdout)

    assert {row["system"]: "not tried" in row["state"] for row in listed} == {
        row["name"]: row["good"] for row in rows if row["part"] == "system"
    }
    assert {row["says"] for row in rows if row["part"] == "system" and row["good"]} == {"not tried"}


SILENT = """#!/bin/sh
[ "$1" = flags ] && exit
echo cannot read the root file system >&2
exit 1
"""


@pytest.mark.boots
def test_a_system_that_has_what_it_needs_and_does_not_start_is_found_out(
    steelyard: Run, tmp_path: Path
) -> None:
    """gVisor's command is there, and fails; the others' are not, so that they take no time."""
    (tmp_path / "runsc").write_text(SILENT)
    (tmp_path / "runsc").chmod(0o755)
    (tmp_path / "env").symlink_to("/usr/bin/env")
    path = str(tmp_path)

    (quick,) = _gvisor(steelyard("doctor", "--no-start", "--format", "json", PATH=path).stdout)
    (tried,) = _gvisor(steelyard("doctor", "--format", "json", PATH=path).stdout)

    assert (quick["good"], quick["says"]) == (True, "not tried")
    assert not tried["good"]
    assert tried["says"].startswith("it has ended; its last output: cannot read the root file system")


def _gvisor(told: str) -> list[dict[str, Any]]:
    return [row for row in json.loads(told) if row["name"] == "gvisor"]


def test_without_its_monitor_doctor_says_so_and_goes_on(steelyard: Run, tmp_path: Path) -> None:
    done = steelyard("doctor", "--no-start", "--format", "json", STEELYARD_WATCH=str(tmp_path / "none"))

    assert done.returncode == 0
    (monitor,) = (row for row in json.loads(done.stdout) if row["part"] == "monitor")
    assert monitor["says"].startswith(f"STEELYARD_WATCH is '{tmp_path / 'none'}', but must be a program")


def grouped(root: Path, files: dict[str, str]) -> None:
    """A machine of 10,000,000 kB on which this process is in group /box/own of version 2."""
    put(root, "proc/meminfo", "MemTotal:  10000000 kB\nMemAvailable:  9000000 kB\n")
    put(root, "proc/self/cgroup", "0::/box/own\n")
    put(root, "proc/self/mountinfo", f"30 29 0:26 / {root}/fs rw - cgroup2 cgroup2 rw\n")
    put(root, "fs/box/own/cgroup.procs", "")
    for name, text in files.items():
        put(root, f"fs/box/{name}", text)


@pytest.mark.parametrize(("used", "good"), [(10, True), (295, False)])
def test_in_a_limited_group_memory_is_what_the_group_allows(tmp_path: Path, used: int, good: bool) -> None:
    grouped(tmp_path, {"memory.max": f"{300 << 20}\n", "memory.current": f"{used << 20}\n"})

    memory = found(tmp_path)["memory"]

    assert memory.good is good
    assert memory.says == f"{300 - used} MiB of the 300 MiB that control group {tmp_path}/fs/box allows"


def test_a_quota_of_processor_time_disturbs_where_it_is_less_than_the_processors(tmp_path: Path) -> None:
    grouped(tmp_path, {"cpu.max": "30000 100000\n", "own/cpu.max": "max 100000\n"})

    quota = found(tmp_path)["processor quota"]

    assert (quota.good, "0.300 processors" in quota.says, f"{tmp_path}/fs/box " in quota.says) == (
        False,
        True,
        True,
    )
    grouped(tmp_path, {"cpu.max": "400000 100000\n"})
    assert found(tmp_path)["processor quota"].good


def test_a_mask_or_cpuset_is_said_with_how_many_are_online(tmp_path: Path) -> None:
    assert "only 1 of 2" in found(tmp_path, cpu_count=1, cpu_online=2)["processors"].says
    assert "processors" not in found(tmp_path, cpu_count=2, cpu_online=2)


@pytest.mark.program
def test_a_hypervisor_has_its_name_not_its_signature() -> None:
    answer = subprocess.run([built.load("glibc"), "describe"], stdout=subprocess.PIPE, check=True)
    name = json.loads(answer.stdout)["hypervisor"]

    assert name is None or name == "none" or "KVMKVM" not in name
