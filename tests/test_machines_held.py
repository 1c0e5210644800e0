"""Who may boot a machine, and what its host says that ends a run. The host is this one, by ssh."""

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ssh_server

from steelyard.errors import Stuck, Unsupported
from steelyard.running import seats
from steelyard.study.model import Machine, SystemDefinition
from steelyard.systems import machine
from steelyard.systems.agent import Agent
from steelyard.systems.system import System

pytestmark = pytest.mark.ssh


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[System]:
    """A system on a machine whose home directory is `home`."""
    shell = tmp_path / "shell"
    shell.write_text('#!/bin/sh\ncd "$HOME" && exec sh -c "$SSH_ORIGINAL_COMMAND"\n')
    shell.chmod(0o755)
    monkeypatch.setenv("STEELYARD_SSH_CONFIG", str(tmp_path / "ssh_config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with ssh_server(tmp_path, shell=str(shell)) as host:
        hardware = Machine("box", host, ("true",))
        yield machine.seated(SystemDefinition("a", machine=hardware), hardware)


def _claim(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".cache" / "steelyard" / "claim"


def test_a_second_laboratory_on_this_host_is_told_who_has_the_machine(box: System) -> None:
    with (
        seats.hold({"a": box}),
        pytest.raises(Stuck, match=f"bench is in use by process {os.getpid()}, .*: wait for it, or stop it"),
        seats.hold({"a": box}),
    ):
        pass
    with seats.hold({"a": box}):
        pass


def test_a_laboratory_on_another_host_is_told_who_has_the_machine(box: System, tmp_path: Path) -> None:
    assert box.seat
    claim = _claim(tmp_path)
    claim.parent.mkdir(parents=True)
    claim.write_text("anna at lab7\n")
    with pytest.raises(Stuck, match=r"in use by anna at lab7, .*: wait for it, or remove .*/claim there"):
        machine.identity(box.seat)
    machine.release(box.seat)
    assert claim.exists()

    yesterday = time.time() - 25 * 3600
    os.utime(claim, (yesterday, yesterday))
    assert machine.identity(box.seat) == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert claim.read_text() != "anna at lab7\n"
    machine.release(box.seat)
    assert not claim.exists()


def test_a_host_with_another_key_ends_the_run(box: System, tmp_path: Path) -> None:
    assert box.seat
    machine.identity(box.seat)
    known = tmp_path / "known"
    other = (tmp_path / "user_key.pub").read_text().split()[:2]
    known.write_text(f"{known.read_text().split()[0]} {' '.join(other)}\n")
    with pytest.raises(
        Stuck, match="bench answers with another host key than ssh knows: give all its systems"
    ):
        machine.identity(box.seat)


@pytest.mark.root
def test_a_host_whose_disk_is_full_is_that_and_nobody_s(box: System, tmp_path: Path) -> None:
    assert box.seat
    home = tmp_path / "home"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", home], check=True)
    try:
        with pytest.raises(OSError, match="No space"):
            (home / "full").write_bytes(bytes(1 << 17))
        for _ in range(2):
            assert machine.identity(box.seat) is not None
        with pytest.raises(Unsupported, match=r"copying the load program failed: .*No space left on device"):
            Agent(replace(box, seat=None), directory=tmp_path)
    finally:
        subprocess.run(["umount", home], check=True)
