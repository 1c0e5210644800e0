"""Systems that exclude each other: one machine, booted from one to the other. Real boots, of QEMU."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rebooting
from conftest import Run
from kernels import downloaded
from rebooting import Machine

from steelyard.archive import experiments

# Some 80 s where nothing else runs; emulation is slow beside other work.
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
    with rebooting.running(rebooting.make(folder, kernels)) as made:
        yield made


def rows(archive: Path, query: str) -> list[tuple[Any, ...]]:
    """What the query says of the newest experiment of the archive."""
    with experiments.connect(experiments.find(archive, None)) as tables:
        return tables.execute(query).fetchall()


def test_each_block_of_boots_has_every_system_in_a_boot_of_its_own(
    machine: Machine, steelyard: Run, archive: Path
) -> None:
    """Two kernels, two boots of each, in an order and its reverse; the report says so."""
    study = machine.study(design='blocks = 4\nbudget = "20m"')
    plan = steelyard("plan", str(study), timeout=60)
    assert "box (ssh:box) will be rebooted for each of a, b in turn" in plan.stdout

    done = steelyard("run", str(study), "--format", "json", timeout=600, **machine.environment)

    assert done.returncode == 0, done.stderr
    assert "box (ssh:box) will be rebooted for each of a, b in turn" in done.stderr
    boots = rows(
        archive,
        "SELECT system, boot, fingerprint->>'boot_id', fingerprint->>'kernel_release' FROM systems "
        "ORDER BY recorded",
    )
    order = [system for system, *_ in boots]
    assert sorted(order) == ["a", "a", "b", "b"]
    assert order == order[::-1], "the second block has the reverse order of the first"
    assert len({identity for _, _, identity, _ in boots}) == 4
    assert all(release == machine.releases[system] for system, _, _, release in boots)
    assert machine.switches() == order, "the machine is booted anew also where it runs the system already"
    trials = rows(archive, "SELECT system, block, boot, status FROM trials")
    by_boot = defaultdict(set)
    for system, block, boot, status in trials:
        assert status == "ok"
        by_boot[system, boot].add(block)
    assert by_boot["a", 1] == by_boot["b", 1] == {0, 1}
    assert by_boot["a", 2] == by_boot["b", 2] == {2, 3}
    (compared,) = json.loads(done.stdout)["comparisons"]
    assert (compared["blocks"], compared["boots"]) == (4, 2)
