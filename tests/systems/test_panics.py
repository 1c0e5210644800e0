"""Real kernels that panic: their own sentence is shown, and their whole console is kept."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from installed_command import Run
from kernels import debian_kernel
from one_trial import run

from steelyard import systems
from steelyard.errors import SystemFailed
from steelyard.study.model import SystemDefinition
from steelyard.systems.agent import Agent
from steelyard.systems.system import Place

STUDY = """
name = "panics"
title = "a kernel that panics"
systems = ["native", "panics"]
[design]
looks = [2]
budget = "60s"
"""


@pytest.fixture(scope="module")
def kernel(request: pytest.FixtureRequest) -> Path:
    cache = request.config.cache
    assert cache is not None
    return debian_kernel(cache.mkdir("debian-kernel"))


def study_of(directory: Path, workload: str, system: str) -> Path:
    """A file with a study of that workload on this machine and on the system that panics."""
    study = directory / "panics.toml"
    study.write_text(f"{STUDY}\n[[workload]]\n{workload}\n[system.panics]\n{system}\n")
    return study


def words(steelyard: Run, archive: Path) -> list[dict[str, str]]:
    shown = steelyard("archive", "show", "--words", "--format", "json", "--archive", str(archive))
    assert shown.returncode == 0, shown.stderr
    return [one for one in json.loads(shown.stdout) if one["speaker"] == "panics"]


@pytest.mark.boots
def test_a_machine_without_a_root_says_so_and_its_console_is_kept(
    kernel: Path, steelyard: Run, tmp_path: Path
) -> None:
    """A kernel under QEMU that finds no root file system."""
    command = [
        *("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-accel", "tcg,thread=single", "-cpu", "max", "-m", "256M"),
        *("-chardev", "file,id=console,path=/dev/stderr,append=on", "-serial", "chardev:console"),
        *("-kernel", str(kernel), "-append", "console=ttyS0 panic=-1 root=/dev/missing {program}"),
    ]
    study = study_of(tmp_path, 'name = "null"', f"command = {json.dumps(command)}")
    archive = tmp_path / "archive"

    done = steelyard("run", str(study), "--archive", str(archive), timeout=150)

    sentence = "Kernel panic - not syncing: VFS: Unable to mount root fs"
    assert done.returncode == 77, done.stderr
    assert sentence in " ".join(done.stderr.split())
    (said,) = words(steelyard, archive)
    assert sentence in said["ended"]
    assert "Linux version" in said["errors"]  # the first line of the console
    assert "Call Trace" in said["errors"]  # and what follows the panic


@pytest.mark.boots
def test_a_machine_that_panics_in_a_trial_says_why(kernel: Path, tmp_path: Path) -> None:
    """Under QEMU: three copies use up its memory, which its command line makes a reason for a panic."""
    definition = SystemDefinition("panics", base="qemu", kernel=str(kernel), memory="128M", swap="4M")
    machine = systems.find("panics", [definition])

    def command(place: Place) -> list[str]:
        *most, line = machine.command(place)
        return [*most, f"{line} sysctl.vm.panic_on_oom=2"]

    said = []
    with (
        Agent(
            replace(machine, command=command), directory=tmp_path, hear=lambda *one: said.append(one)
        ) as agent,
        pytest.raises(SystemFailed) as failed,
    ):
        run(
            agent,
            f"trial 1 memory_read_words copies=3 from={64 << 20} to={80 << 20} steps=1 operations=1",
        )

    assert "Kernel panic - not syncing: " in str(failed.value)
    assert "panic_on_oom" in str(failed.value)
    ((_, console),) = said
    assert "out_of_memory" in console.text  # the backtrace


@pytest.mark.uml
def test_user_mode_linux_that_panics_in_a_trial_says_why_and_its_console_is_kept(
    steelyard: Run, tmp_path: Path
) -> None:
    """By the request for a crash, which a trial's command makes inside; outside it does nothing."""
    crash = tmp_path / "crash"
    crash.write_text(
        "#!/bin/sh\ngrep -q '^[^ ]* / hostfs ' /proc/mounts || exit 0\n"
        "echo 1 >/proc/sys/kernel/sysrq\necho c >/proc/sysrq-trigger\n"
    )
    crash.chmod(0o755)
    study = study_of(tmp_path, f'name = "command"\ncommand = "{crash}"', 'base = "uml"')
    archive = tmp_path / "archive"

    done = steelyard("run", str(study), "--archive", str(archive), timeout=150)

    sentence = "Kernel panic - not syncing: sysrq triggered crash"
    assert sentence in " ".join(done.stdout.split())
    said = words(steelyard, archive)
    assert said
    assert all(sentence in one["ended"] for one in said if one["ended"])
    assert all("sysrq: Trigger a crash" in one["errors"] for one in said if one["ended"])
    shown = steelyard("archive", "show", "--words", "--archive", str(archive)).stdout
    assert "Call Trace" in shown
