"""Systems that exclude each other: one machine, booted from one to the other. Real boots, of QEMU."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import reboot_machine
from installed_command import COMMAND, Run
from kernels import downloaded
from patience import patience
from reboot_machine import Machine

from steelyard.archive import experiments, reading
from steelyard.statistics import verdict

# Four boots, by emulation: three to four minutes on two processors with a load of 17 to 24.
pytestmark = [pytest.mark.boots, pytest.mark.ssh, pytest.mark.limit(900)]
KERNELS = {"a": "linux-image-cloud-amd64", "b": "linux-image-6.12-cloud-amd64"}


@pytest.fixture(scope="module")
def kernels(request: pytest.FixtureRequest) -> dict[str, Path]:
    cache = request.config.cache
    assert cache is not None
    folder = cache.mkdir("debian-kernel")
    return {name: downloaded(meta, folder) for name, meta in KERNELS.items()}


@pytest.fixture
def machine(kernels: dict[str, Path], tmp_path: Path) -> Iterator[Machine]:
    folder = tmp_path / "machine"
    folder.mkdir()
    with reboot_machine.running(reboot_machine.make(folder, kernels)) as made:
        yield made


def rows(archive: Path, query: str) -> list[tuple[Any, ...]]:
    """What the query says of the newest experiment of the archive."""
    with reading.connect(experiments.find(archive, None)) as tables:
        return tables.execute(query).fetchall()


@pytest.mark.parametrize("boots", [1, pytest.param(2, marks=pytest.mark.long)])
def test_each_block_of_boots_has_every_system_in_a_boot_of_its_own(
    boots: int, machine: Machine, steelyard: Run, archive: Path
) -> None:
    """Two kernels, that many boots of each, two in an order and its reverse; the report says so."""
    study = machine.study(design=f'blocks = {2 * boots}\nbudget = "20m"')
    plan = steelyard("plan", str(study), timeout=60)
    assert "box (ssh:box) will be rebooted for each of a, b in turn" in plan.stdout

    done = steelyard("run", str(study), "--format", "json", timeout=600, **machine.environment)

    assert done.returncode == 0, done.stderr
    assert "box (ssh:box) will be rebooted for each of a, b in turn" in done.stderr
    booted = rows(
        archive,
        "SELECT system, boot, fingerprint->>'boot_id', fingerprint->>'kernel_release' FROM systems "
        "ORDER BY recorded",
    )
    order = [system for system, *_ in booted]
    assert sorted(order[:2]) == ["a", "b"]
    assert order[2:] == order[1::-1][: 2 * (boots - 1)], "the second block has the reverse order of the first"
    assert len({identity for _, _, identity, _ in booted}) == 2 * boots
    assert all(release == machine.releases[system] for system, _, _, release in booted)
    assert machine.switches() == order, "the machine is booted again also where it runs the system already"
    trials = rows(archive, "SELECT system, block, boot, status FROM trials")
    by_boot = defaultdict(set)
    for system, block, boot, status in trials:
        assert status == "ok"
        by_boot[system, boot].add(block)
    for boot in range(boots):
        assert by_boot["a", boot + 1] == by_boot["b", boot + 1] == {2 * boot, 2 * boot + 1}
    (compared,) = json.loads(done.stdout)["comparisons"]
    assert (compared["blocks"], compared["boots"]) == (2 * boots, boots)


def _journal(archive: Path) -> list[dict[str, Any]]:
    """The lines of the one experiment that is open."""
    (file,) = archive.glob("experiments/*/journal.jsonl")
    return [json.loads(line) for line in file.read_bytes().splitlines() if line.endswith(b"}")]


def _many(lines: list[dict[str, Any]], kind: str) -> int:
    return sum(one["kind"] == kind for one in lines)


def _until(archive: Path, happened: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    while True:
        time.sleep(0.2)
        with contextlib.suppress(ValueError):  # no experiment yet
            if happened(lines := _journal(archive)):
                return lines


@pytest.mark.long
def test_an_interruption_while_the_machine_is_down_a_clock_that_jumps_and_another_host_key(
    machine: Machine, archive: Path
) -> None:
    """The second boot is asked for once, and is in the year 2001; the third has another host key."""
    while not machine.boots():  # switched on, it takes a fault too
        time.sleep(0.1)
    machine.fails("-", "clock", "key")
    study = machine.study(design='blocks = 6\nbudget = "60m"')
    command = [COMMAND, "run", str(study), "--seed", "1", "--format", "json"]
    environment = os.environ | machine.environment | {"STEELYARD_ARCHIVE": str(archive)}

    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as laboratory:
        _until(archive, lambda lines: _many(lines, "system") == 1 and lines[-1]["kind"] == "switch")
        while len(machine.boots()) < 3:  # with that of the start
            time.sleep(0.1)
        laboratory.send_signal(signal.SIGINT)
        _, said = laboratory.communicate(timeout=patience(60))
    assert laboratory.returncode == 130, said
    (asked,) = [line["system"] for line in _journal(archive) if line["kind"] == "switch"][-1:]
    assert f"box may still be booting into {asked}" in said

    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=patience(600)
    )

    assert done.returncode == 1
    assert (
        "box answers with a host key that ssh does not know: give all its systems the same host keys"
        in done.stderr
    )
    assert len(machine.switches()) == 3
    lines = _journal(archive)
    assert _many(lines, "system") == 2
    assert _many(lines, "unbooted") == 0
    trials = [line for line in lines if line["kind"] == "trial"]
    assert {line["status"] for line in trials} == {"ok"}
    assert len(trials) == 4


@pytest.mark.long
@pytest.mark.limit(3000)
def test_nothing_measured_is_lost_to_boots_that_fail_and_laboratories_that_die(
    machine: Machine, steelyard: Run, archive: Path
) -> None:
    """Eight good boots; one that is another system, one that hangs, one that panics; the laboratory killed
    while the machine boots, and while it is measured. The kernel that has no fast clock is slower."""
    machine.command_line("b", "clocksource=acpi_pm tsc=unstable")
    machine.fails("-", "wrong", "-", "hang", "-", "panic")
    study = machine.study(design='blocks = 24\nbudget = "60m"', wait="150s", workloads="clock_read")
    command = [COMMAND, "run", str(study), "--seed", "1", "--format", "json"]
    environment = os.environ | machine.environment | {"STEELYARD_ARCHIVE": str(archive)}

    def killed_when(happened: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as laboratory:
            lines = _until(archive, happened)
            laboratory.kill()
        return lines

    first = killed_when(lambda lines: _many(lines, "system") == 2 and lines[-1]["kind"] == "trial")
    second = killed_when(lambda lines: _many(lines, "look") == 1 and lines[-1]["kind"] == "switch")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    kept = rows(archive, "SELECT system, block, boot, began FROM trials")
    for lines in (first, second):
        measured = [one for one in lines if one["kind"] == "trial"]
        assert {(one["system"], one["block"], one["boot"], one["began"]) for one in measured} <= set(kept)
    boots = rows(
        archive,
        "SELECT system, fingerprint->>'boot_id', fingerprint->>'kernel_release' FROM systems",
    )
    assert all(release == machine.releases[system] for system, _, release in boots)
    assert len({identity for _, identity, _ in boots}) == len(boots) >= 8
    failed = [reason for (reason,) in rows(archive, "SELECT reason FROM events WHERE kind = 'unbooted'")]
    assert any("came up as another system" in reason for reason in failed)
    assert any("did not answer by ssh within 150 s" in reason for reason in failed)
    (compared,) = json.loads(done.stdout)["comparisons"]
    print(machine.boots(), failed, compared["ratio"])
    # Nothing else is right; on a machine that is busy besides, it may take more boots to say so.
    assert compared["ratio"]["value"] < 0.5
    assert compared["verdict"] in (verdict.SLOWER, verdict.SLOWER_OPEN, verdict.UNRESOLVED)
    assert compared["boots"] >= 4
