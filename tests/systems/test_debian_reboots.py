"""Reboots by Debian's GRUB, systemd and kexec: the laboratory outside, and on the machine itself."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import debian_disk
import pytest
from debian_disk import BROKEN, Disk, Machine
from installed_command import Run
from patience import patience

from steelyard.archive import experiments, reading
from steelyard.running import continuation

# By emulation: a boot takes a minute or two on two processors.
pytestmark = [pytest.mark.boots, pytest.mark.ssh, pytest.mark.long, pytest.mark.limit(3600)]
_DESIGN = '[trial]\nbatches = 5\nbatch_ns = 2000000\nwarmup_ns = 0\n[design]\nblocks = {}\nbudget = "90m"\n'
_WORKLOAD = '[[workload]]\nname = "syscall"\n'
_HEAD = 'name = "box"\ntitle = "two kernels on one machine"\n'
# The recipes of docs/how-to/reboots.md, that of kexec once, the others GRUB's.
_BOOT_INTO = """#!/bin/sh
case $1 in old) kernel={old};; new) kernel={new};; esac
echo "$1" >> {folder}/switches
ssh="ssh -F {folder}/ssh_config"
if [ $(wc -l < {folder}/switches) = 2 ]; then
    exec $ssh box "kexec -l /boot/vmlinuz-$kernel --initrd=/boot/initrd.img-$kernel --reuse-cmdline \\
        && systemctl --no-block kexec"
fi
entry="gnulinux-advanced-{uuid}>gnulinux-$kernel-advanced-{uuid}"
exec $ssh box "grub-reboot '$entry' && sync && systemctl --no-block reboot"
"""


@pytest.fixture(scope="module")
def disk(request: pytest.FixtureRequest) -> Disk:
    cache = request.config.cache
    assert cache is not None
    return debian_disk.base(cache.mkdir("debian-disk"))


@pytest.fixture
def inside(disk: Disk, tmp_path: Path) -> Iterator[Machine]:
    """The machine with Steelyard on it, in its default kernel."""
    folder = tmp_path / "machine"
    folder.mkdir()
    opt = debian_disk.product(folder)
    with debian_disk.running(disk, folder, opt=opt) as machine:
        machine.await_boot("")
        yield machine


def test_a_laboratory_boots_a_machine_by_grub_and_by_kexec(
    disk: Disk, steelyard: Run, archive: Path, tmp_path: Path
) -> None:
    old, new = disk.kernels
    with debian_disk.running(disk, tmp_path) as machine:
        machine.await_boot("")
        uuid = machine.ssh("findmnt -no UUID /", check=True).stdout.strip()
        script = tmp_path / "boot-into"
        script.write_text(_BOOT_INTO.format(old=old, new=new, folder=tmp_path, uuid=uuid))
        script.chmod(0o755)
        study = tmp_path / "box.toml"
        study.write_text(
            f'{_HEAD}systems = ["old", "new"]\n[machine.box]\nhost = "ssh:box"\nwait = "400s"\n'
            f'switch = ["{script}", "{{system}}"]\nquiet = "30s"\n'
            f'[system.old]\nmachine = "box"\nexpect = {{ kernel_release = "{old}" }}\n'
            f'[system.new]\nmachine = "box"\nexpect = {{ kernel_release = "{new}" }}\n'
            + _DESIGN.format(6)
            + _WORKLOAD
        )

        done = steelyard("run", str(study), "--format", "json", timeout=3000, **machine.environment)

        assert done.returncode == 0, done.stderr
        with reading.connect(experiments.find(archive, None)) as tables:
            boots = tables.execute(
                "SELECT system, fingerprint->>'boot_id', fingerprint->>'kernel_release' FROM systems"
            ).fetchall()
            (failed,) = tables.execute("SELECT count(*) FROM events WHERE kind = 'unbooted'").fetchone() or ()
        print(boots, done.stderr)
        assert len({identity for _, identity, _ in boots}) == len(boots) == 6
        assert all(release == {"old": old, "new": new}[system] for system, _, release in boots)
        assert failed == 0
        (compared,) = json.loads(done.stdout)["comparisons"]
        assert (compared["blocks"], compared["boots"]) == (6, 3)
        assert "next_entry=\n" in machine.ssh("grub-editenv list").stdout + "\n"


def _write_study(machine: Machine, name: str, blocks: int) -> None:
    text = _HEAD.replace("box", name) + _DESIGN.format(blocks) + _WORKLOAD
    machine.ssh(f"cat > {name}.toml <<'end'\n{text}end", check=True)


def _start(machine: Machine, *kernels: str, study: str) -> str:
    """What the command says before it reboots the machine."""
    systems = " ".join(f"this:{kernel}" for kernel in kernels)
    command = f"steelyard compare {systems} --study {study}.toml --reboots --seed 1 --archive /root/{study}"
    done = machine.ssh(command, timeout=patience(300))
    return done.stdout + done.stderr


def _until(machine: Machine, happened: Callable[[], bool], *, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not happened():
        assert time.monotonic() < deadline, machine.console()[-2000:]
        assert machine.process.poll() is None, "QEMU has ended"
        time.sleep(2)


def _has_unit(machine: Machine) -> bool | None:
    """None while the machine does not answer."""
    said = machine.ssh(f"test -e /etc/systemd/system/{continuation.NAME} && echo yes || echo no").stdout
    return {"yes\n": True, "no\n": False}.get(said)


def _is_over(machine: Machine) -> bool:
    """The unit goes before the command's last words."""
    return _has_unit(machine) is False and machine.ssh("pgrep -f 'steelyard [c]ompare'").returncode == 1


def _log(machine: Machine) -> str:
    return machine.ssh(f"cat {continuation.LOG}").stdout


def _left_alone(machine: Machine) -> None:
    """Nothing of ours is left that would boot the machine."""
    assert _has_unit(machine) is False
    assert machine.ssh(f"systemctl is-enabled {continuation.NAME}").stdout.strip() in ("", "not-found")
    assert machine.ssh("test -e /var/lib/steelyard/reboots.json").returncode == 1
    assert machine.ssh("steelyard reboots").stdout == (
        f"no experiment reboots this machine; the output of the last one is in {continuation.LOG}\n"
    )
    assert "next_entry=\n" in machine.ssh("grub-editenv list").stdout + "\n"


def test_a_machine_reboots_itself_until_its_experiment_is_over(inside: Machine) -> None:
    old, new = inside.kernels
    _write_study(inside, "good", 4)
    first = inside.boot()

    said = _start(inside, old, new, study="good")

    assert "will be rebooted for each of" in said
    assert "this machine reboots into" in said
    inside.await_boot(first)
    (told,) = json.loads(inside.ssh("steelyard reboots --format json", check=True).stdout)
    assert told["booting"] in (f"this:{old}", f"this:{new}")
    assert told["command"].endswith("--seed 1 --archive /root/good")
    _until(inside, lambda: _is_over(inside), limit_s=2400)
    print(_log(inside))
    _left_alone(inside)
    report = json.loads(inside.ssh("steelyard report --format json --archive /root/good", check=True).stdout)
    (compared,) = report["comparisons"]
    assert (compared["blocks"], compared["boots"]) == (4, 2)


def test_reboots_are_stopped(inside: Machine) -> None:
    """In the middle of a boot that is measured; the same command would go on."""
    _write_study(inside, "stopped", 200)
    first = inside.boot()
    _start(inside, *inside.kernels, study="stopped")
    second = inside.await_boot(first)
    _until(inside, lambda: "going on" in _log(inside), limit_s=120)

    done = inside.ssh("steelyard reboots stop")

    assert (done.returncode, done.stdout) == (0, "")
    assert "ends, and this machine will not be rebooted again" in done.stderr
    _until(inside, lambda: _is_over(inside), limit_s=60)
    _left_alone(inside)
    assert inside.boot() == second


def test_a_kernel_that_never_comes_up_is_left_alone_and_the_default_is_booted(inside: Machine) -> None:
    """Three boots that panic, each of which comes back as GRUB's default."""
    _, new = inside.kernels
    _write_study(inside, "broken", 4)
    said = _start(inside, BROKEN, new, study="broken")
    assert "this machine reboots into" in said

    _until(inside, lambda: _is_over(inside), limit_s=2400)

    log = _log(inside)
    print(log)
    assert f"this machine failed 3 times in a row to boot into this:{BROKEN}, and is given up" in log
    assert f"its kernel_release is '{new}', but {BROKEN} expects '{BROKEN}'" in log
    assert inside.console().count("Kernel panic") == 3
    assert inside.ssh("uname -r").stdout.strip() == new
    _left_alone(inside)
