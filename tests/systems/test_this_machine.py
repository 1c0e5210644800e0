"""This very machine as one that is rebooted: GRUB's entries, the unit that goes on, and the permission."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from installed_command import Run
from patience import patience

from steelyard import systems
from steelyard.errors import Rebooting, Stuck, UsageError
from steelyard.running import continuation
from steelyard.systems import this_machine

# As Debian's update-grub writes it, shortened.
GRUB = """
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
fi
function gfxmode {
	set gfxpayload="${1}"
}
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-1a2b' {
	load_video
	if [ x$grub_platform = xxen ]; then insmod xzio; fi
	linux	/boot/vmlinuz-6.12.9-amd64 root=UUID=1a2b ro quiet
	initrd	/boot/initrd.img-6.12.9-amd64
}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-1a2b' {
	menuentry 'Debian GNU/Linux, with Linux 6.12.9-amd64' $menuentry_id_option 'gnulinux-6.12.9-amd64-advanced-1a2b' {
		linux	/boot/vmlinuz-6.12.9-amd64 root=UUID=1a2b ro quiet
	}
	menuentry 'recovery' $menuentry_id_option 'gnulinux-6.1.0-32-amd64-recovery-1a2b' {
		linux	/boot/vmlinuz-6.1.0-32-amd64 root=UUID=1a2b ro single
	}
	menuentry "Debian GNU/Linux, with Linux 6.1.0-32-amd64" $menuentry_id_option 'gnulinux-6.1.0-32-amd64-advanced-1a2b' {
		linux	/vmlinuz-6.1.0-32-amd64 root=UUID=1a2b ro quiet
	}
}
menuentry by-hand --id b {
 linux /boot/vmlinuz-6.6.1 root=/dev/vda1
}
"""  # noqa: E501 -- as it is


@pytest.mark.parametrize(
    ("kernel", "entry"),
    [
        ("6.12.9-amd64", "gnulinux-simple-1a2b"),
        ("6.1.0-32-amd64", "gnulinux-advanced-1a2b>gnulinux-6.1.0-32-amd64-advanced-1a2b"),
        ("6.6.1", "b"),
        ("6.1.0", None),
    ],
)
def test_grub_s_entry_for_a_kernel_is_found(kernel: str, entry: str | None) -> None:
    assert this_machine.entry_of(GRUB, kernel) == entry
    assert this_machine.kernels(GRUB) == ["6.12.9-amd64", "6.1.0-32-amd64", "6.6.1"]


def test_a_kernel_of_this_machine_is_a_system_that_excludes_others() -> None:
    system = systems.find("this:6.1.0-32-amd64")
    assert system.boot_entry is not None
    assert system.boot_entry.is_here
    assert system.boot_entry.expect == (("kernel_release", "6.1.0-32-amd64"),)
    assert system.boot
    assert systems.find("this:6.12.9+deb12-amd64").boot_entry is not None
    with pytest.raises(UsageError, match=r"'\$\(x\)' is not a kernel's release"):
        systems.find("this:$(x)")


def test_this_machine_is_not_rebooted_without_permission(steelyard: Run, archive: Path) -> None:
    done = steelyard("compare", "this:6.1.0-1-amd64", "this:6.12.0-1-amd64", "--only", "syscall")
    assert done.returncode == 2
    assert "this machine (this) will be rebooted for each of this:6.1.0-1-amd64" in done.stderr
    assert "add --reboots" in done.stderr
    assert not list(archive.glob("experiments/*"))


@pytest.fixture
def unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine's directories, and a systemctl that writes down what it is asked."""
    for name in ("units", "bin"):
        (tmp_path / name).mkdir()
    script = tmp_path / "bin" / "systemctl"
    script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr(continuation, "_UNITS", tmp_path / "units")
    monkeypatch.setattr(continuation, "_STATE", tmp_path / "state" / "reboots.json")
    monkeypatch.setattr(continuation, "LOG", tmp_path / "state" / "reboots.log")
    monkeypatch.setattr("sys.argv", ["/usr/bin/steelyard", "run", 'a "study".toml', "100%", "$HOME", "--new"])
    return tmp_path / "units" / continuation.NAME


@pytest.mark.program
def test_the_same_command_is_given_after_a_reboot_and_not_when_all_is_over(
    unit: Path, tmp_path: Path
) -> None:
    with pytest.raises(Rebooting), continuation.over_reboots(tmp_path / "experiment"):
        raise Rebooting("now")

    told = unit.read_text()
    assert 'ExecStart="/usr/bin/steelyard" "run" "a \\"study\\".toml" "100%%" "$$HOME"\n' in told
    assert 'Environment="STEELYARD_GOES_ON=experiment"' in told
    found = continuation.standing()
    assert found is not None
    assert found.experiment == str(tmp_path / "experiment")

    with continuation.over_reboots(tmp_path / "experiment"):
        assert unit.exists()
    assert not unit.exists()
    assert continuation.standing() is None
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked.count("enable steelyard-reboots.service") == 2
    assert asked[-2:] == ["disable steelyard-reboots.service", "daemon-reload"]


@pytest.mark.program
@pytest.mark.parametrize("error", [Stuck("three failures"), KeyboardInterrupt(), OSError()])
def test_whatever_ends_the_experiment_ends_the_reboots(
    unit: Path, tmp_path: Path, error: BaseException
) -> None:
    with pytest.raises(type(error)), continuation.over_reboots(tmp_path):
        raise error
    assert not unit.exists()
    assert continuation.standing() is None


@pytest.mark.program
def test_reboots_that_are_stopped_stop_the_laboratory_of_this_boot_and_no_other_process(
    unit: Path, tmp_path: Path
) -> None:
    words = [sys.executable, "-c", "import signal; print(); signal.pause()", "steelyard"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as laboratory:
        assert laboratory.stdout
        laboratory.stdout.readline()
        began = Path(f"/proc/{laboratory.pid}/stat").read_text().rpartition(")")[2].split()[19]
        found = replace(continuation.of_this_command(tmp_path), process=laboratory.pid, began=began)
        continuation.install(found)
        assert not continuation.stop(replace(found, began="1"))  # another has the number by now
        assert laboratory.poll() is None
        continuation.install(found)
        assert not continuation.stop(replace(found, boot="an earlier one"))
        assert laboratory.poll() is None
        assert continuation.stop(found)
        assert laboratory.wait(timeout=patience(20)) == -signal.SIGINT
    assert not continuation.stop(found)
    assert not unit.exists()
