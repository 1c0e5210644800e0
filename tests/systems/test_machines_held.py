"""Who may boot a machine, what its host says that ends a run, and what its console says. The host is this
one, by ssh."""

import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ssh_hosts import ssh_server

from steelyard.errors import BootFailed, Stuck, StudyError, Unsupported
from steelyard.events import Earlier
from steelyard.last_words import Said
from steelyard.running import boot_machines
from steelyard.running.running_systems import Terms
from steelyard.study import study_file
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
        yield on(Machine("box", host, ("true",)))


def on(hardware: Machine) -> System:
    return machine.bootable(SystemDefinition("a", machine=hardware), hardware)


def with_console(box: System, switch: str, script: str) -> System:
    """The same machine, whose console shows what the script prints; it is switched by `switch`."""
    assert box.boot_entry
    console = ("sh", "-c", script)
    return on(replace(box.boot_entry.machine, switch=(switch,), console=console, wait_s=20.0, quiet_s=1.0))


def _claim(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".cache" / "steelyard" / "claim"


def test_a_second_laboratory_on_this_host_is_told_who_has_the_machine(box: System) -> None:
    with (
        boot_machines.hold({"a": box}),
        pytest.raises(Stuck, match=f"bench is in use by process {os.getpid()}, .*: wait for it, or stop it"),
        boot_machines.hold({"a": box}),
    ):
        pass
    with boot_machines.hold({"a": box}):
        pass


def test_a_laboratory_on_another_host_is_told_who_has_the_machine(box: System, tmp_path: Path) -> None:
    assert box.boot_entry
    claim = _claim(tmp_path)
    claim.parent.mkdir(parents=True)
    claim.write_text("anna at lab7\n")
    with pytest.raises(Stuck, match=r"in use by anna at lab7, .*: wait for it, or remove .*/claim there"):
        machine.identity(box.boot_entry)
    machine.release(box.boot_entry)
    assert claim.exists()

    yesterday = time.time() - 25 * 3600
    os.utime(claim, (yesterday, yesterday))
    assert machine.identity(box.boot_entry) == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert claim.read_text() != "anna at lab7\n"
    machine.release(box.boot_entry)
    assert not claim.exists()


def test_a_host_with_another_key_ends_the_run(box: System, tmp_path: Path) -> None:
    assert box.boot_entry
    machine.identity(box.boot_entry)
    known = tmp_path / "known"
    other = (tmp_path / "user_key.pub").read_text().split()[:2]
    known.write_text(f"{known.read_text().split()[0]} {' '.join(other)}\n")
    with pytest.raises(
        Stuck, match="bench answers with a host key that ssh does not know: give all its systems"
    ):
        machine.identity(box.boot_entry)


@pytest.mark.root
def test_a_host_whose_disk_is_full_is_that_and_nobody_s(box: System, tmp_path: Path) -> None:
    assert box.boot_entry
    home = tmp_path / "home"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", home], check=True)
    try:
        with pytest.raises(OSError, match="No space"):
            (home / "full").write_bytes(bytes(1 << 17))
        for _ in range(2):
            assert machine.identity(box.boot_entry) is not None
        with pytest.raises(Unsupported, match=r"copying the load program failed: .*No space left on device"):
            Agent(replace(box, boot_entry=None), directory=tmp_path)
    finally:
        subprocess.run(["umount", home], check=True)


PANIC = "Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)"


class Heard:
    """What a system has said when it ended."""

    def __init__(self) -> None:
        self.errors = ""

    def __call__(self, _: Said, errors: Said) -> None:
        self.errors = errors.text


def started(box: System, directory: Path, hear: Heard) -> Agent:
    return boot_machines.BootMachines({"a": box}, directory=directory, earlier=Earlier()).start(
        "a", Terms(hear, 60.0)
    )


def is_running(text: str) -> bool:
    """Whether a command with that text runs."""
    answer = subprocess.run(["pgrep", "-f", text], stdout=subprocess.DEVNULL, check=False)
    return answer.returncode == 0


def test_a_boot_that_fails_has_its_console_s_line_that_says_why(box: System, tmp_path: Path) -> None:
    seconds = str(uuid.uuid4().int % 10**9 + 10**9)  # of a sleep, by which its process is known
    script = (
        f"echo booting; echo '[    1.0] {PANIC}'; for n in 1 2 3 4 5; do echo 'R$n: 0'; done; sleep {seconds}"
    )
    switch = tmp_path / "switch"
    switch.write_text("#!/bin/sh\nsleep 1; echo no power; exit 3\n")
    switch.chmod(0o755)

    with pytest.raises(BootFailed) as failed:
        started(with_console(box, str(switch), script), tmp_path, Heard())

    assert "ended with status 3: no power; its console: [    1.0] Kernel panic" in str(failed.value)
    assert b"no power" in failed.value.said
    assert PANIC.encode() in failed.value.said
    assert not is_running(seconds)


def test_what_a_system_s_console_says_is_kept_with_its_words(box: System, tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = (
        f"echo booting; until test -e {told}; do sleep 0.05; done; echo '{PANIC}'; touch {told}.too; read x"
    )
    heard = Heard()
    agent = started(with_console(box, "true", script), tmp_path, heard)
    assert agent.ask("describe", "system")
    told.touch()
    while not (tmp_path / "told.too").exists():
        time.sleep(0.05)

    assert PANIC in agent.last_words()
    agent.close()
    assert heard.errors.splitlines()[0] == "booting"
    assert PANIC in heard.errors
    assert "ended by itself" not in heard.errors


def test_a_console_that_ends_by_itself_ends_no_run_and_is_named(box: System, tmp_path: Path) -> None:
    heard = Heard()
    agent = started(with_console(box, "true", "echo no such terminal; exit 7"), tmp_path, heard)
    assert agent.ask("describe", "system")
    agent.close()

    assert heard.errors.startswith("no such terminal\n[the console command sh -c ")
    assert "ended by itself with status 7]" in heard.errors


def test_the_machine_s_own_console_is_refused_where_nobody_could_read_it() -> None:
    text = (
        'name = "x"\ntitle = "x"\n[[workload]]\nname = "null"\n'
        '[machine.m]\nhost = "this"\nswitch = ["true"]\nconsole = ["cat", "/dev/ttyS0"]\n'
        '[system.a]\nmachine = "m"\n'
    )
    with pytest.raises(StudyError, match=r"console is .*, but must be left out where host is \"this\""):
        study_file.parse(text, file="x.toml")
