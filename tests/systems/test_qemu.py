"""QEMU's machines: a Debian kernel, the load program, and nothing else."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic
from installed_command import Run
from kernels import debian_kernel
from one_trial import run
from patience import patience

from steelyard import systems
from steelyard.errors import StudyError, Unsupported, UsageError
from steelyard.programs import built
from steelyard.study.model import SystemDefinition
from steelyard.systems import carried, initramfs
from steelyard.systems.agent import Agent, descendants
from steelyard.systems.system import System, check


@pytest.fixture(scope="module")
def kernel(request: pytest.FixtureRequest) -> Path:
    cache = request.config.cache
    assert cache is not None
    return debian_kernel(cache.mkdir("debian-kernel"))


def machine(kernel: Path, **more: object) -> System:
    definition = SystemDefinition("machine", base="qemu", kernel=str(kernel), **more)  # type: ignore[arg-type]
    return systems.find("machine", [definition])


@pytest.mark.boots
@synthetic.SOME_OR_ALL
def test_every_workload_runs_in_it_or_says_why_not(most: int, kernel: Path, tmp_path: Path) -> None:
    """And its clock goes with ours, though it was parked."""
    files = carried.look_at([str(built.load("musl"))])
    with Agent(replace(machine(kernel, memory="256M"), files=files), directory=tmp_path) as agent:
        assert agent.fingerprint["kernel_release"] == initramfs.version_of(kernel)
        assert agent.fingerprint["kernel_release"] != os.uname().release
        assert agent.fingerprint["hypervisor"] == "QEMU"
        assert agent.fingerprint["cpu_count"] == 1
        assert 128 << 20 < agent.fingerprint["memory_bytes"] < 256 << 20
        assert agent.fingerprint["file_system"] == "tmpfs"
        before = _apart(agent)
        agent.park()
        states = {
            Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[0]
            for one in descendants(agent._process.pid)
        }
        time.sleep(1)
        agent.resume()
        assert states == {"T"}
        assert abs(_apart(agent) - before) < 0.2e9
        own = f"trial 0 command with=1 command=%7bwith%7d%2f{files[0].name}%0alist batches=1 operations=1"
        assert run(agent, own)[-1]["status"] == "ok"
        for workload in synthetic.some(most):
            end = run(agent, synthetic.quick(workload))[-1]
            assert end["status"] in ("ok", "unsupported"), (workload.name, end)
            assert end["status"] == "ok" or end["reason"]
    assert list(tmp_path.iterdir()) == []


def _apart(agent: Agent) -> float:
    """The guest's clock less ours, in ns; the least delay of several questions."""
    found = []
    for _ in range(5):
        asked = time.monotonic_ns()
        guest = agent.ask("clock", "clock")["clock_ns"]
        found.append((time.monotonic_ns() - asked, guest - asked))
    return float(min(found)[1])


def test_it_has_the_processors_the_disk_and_the_swap_that_a_study_gives_it(
    kernel: Path, steelyard: Run, tmp_path: Path
) -> None:
    """Two boots, measured: what the disk holds is ext4, memory pages, and the report's clocks agree."""
    study = tmp_path / "machines.toml"
    study.write_text(
        f"""
name = "machines"
title = "machines"
systems = ["native", "machine"]
[design]
looks = [2]
trial_limit = "60s"
[system.machine]
base = "qemu"
kernel = "{kernel}"
memory = "128M"
cpus = 2
disk = "64M"
swap = "128M"
[[workload]]
name = "file_create"
batches = 2
operations = 2
warmup_ns = 0
[[workload]]
name = "memory_read_words"
from = 50331648
to = 100663296
steps = 1
operations = 1
batches = 1
warmup_ns = 0
"""
    )
    answer = steelyard("run", str(study), "--format", "json", timeout=300)

    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    (one,) = [one for one in found["systems"] if one["name"] == "machine"]
    assert one["is_boot"]
    assert one["boots"] >= 2  # each block is one; a disturbed one is done again
    fingerprint = one["fingerprint"]
    assert (fingerprint["directory"], fingerprint["file_system"]) == ("/disk", "ext4")
    assert fingerprint["cpu_count"] == 2
    assert fingerprint["swap_bytes"] > 127 << 20
    assert abs(one["clock_apart"]) < 0.005
    assert [trouble for trouble in found["troubles"] if trouble["system"] == "machine"] == []
    (curve,) = found["curves"]
    assert {line["system"]: line["paging_from"] for line in curve["lines"]}["machine"] == 100663296


@pytest.mark.boots
def test_when_the_laboratory_is_killed_no_machine_is_left(kernel: Path, tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom steelyard import systems\n"
        "from steelyard.study.model import SystemDefinition\nfrom steelyard.systems.agent import Agent\n"
        "definition = SystemDefinition('m', base='qemu', kernel=sys.argv[1])\n"
        "agent = Agent(systems.find('m', [definition]), directory=Path(sys.argv[2]))\n"
        "agent.park()\nprint('up', flush=True)\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, str(kernel), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as laboratory:
        assert laboratory.stdout is not None
        assert laboratory.stdout.readline() == "up\n"
        members = descendants(laboratory.pid)
        laboratory.send_signal(signal.SIGKILL)
    assert len(members) >= 2
    deadline = time.monotonic() + patience(10)
    while any(_runs(one) for one in members) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [one for one in members if _runs(one)] == []
    assert list(tmp_path.iterdir()) == []


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_kernel_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vmlinuz").write_bytes(b"text" * 1000)
    with pytest.raises(UsageError, match="vmlinuz', but must be the image of a Linux kernel"):
        check(_without_needs(machine(tmp_path / "vmlinuz")))
    with pytest.raises(UsageError, match="none', which cannot be read: No such file"):
        check(_without_needs(machine(tmp_path / "none")))


def test_no_kernel_at_all_is_unsupported_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(initramfs, "newest_kernel", lambda: None)
    with pytest.raises(Unsupported, match="apt-get install linux-image-cloud-amd64"):
        check(_without_needs(systems.find("qemu")))


def _without_needs(system: System) -> System:
    from dataclasses import replace

    return replace(system, needs=())


def test_of_several_kernels_the_newest_is_taken(tmp_path: Path) -> None:
    for version in ("6.1.0-9-cloud", "6.1.0-56-cloud", "5.10.0-99"):
        (tmp_path / f"vmlinuz-{version}-amd64").touch()
    found = initramfs.newest_kernel(tmp_path)
    assert found is not None
    assert found.name == "vmlinuz-6.1.0-56-cloud-amd64"
    assert initramfs.newest_kernel(tmp_path / "none") is None


def test_what_means_nothing_for_a_system_is_refused() -> None:
    from definitions import definition

    with pytest.raises(StudyError, match='cpus is 2, but must be left out, or base = "qemu"'):
        definition('base = "uml"\ncpus = 2')
    with pytest.raises(StudyError, match='accelerator is \'xen\', but must be "tcg" or "kvm"'):
        definition('base = "qemu"\naccelerator = "xen"')


def test_the_first_file_system_is_read_by_cpio(tmp_path: Path) -> None:
    """Read back by its definition, field by field: magic, 13 numbers of 8 digits, name, content."""
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF and more")
    (tmp_path / "virtio-blk.ko").write_bytes(b"module")
    initramfs.write(tmp_path / "out", program=program, modules=[tmp_path / "virtio-blk.ko"])

    archive, at, found = (tmp_path / "out").read_bytes(), 0, {}
    while at < len(archive):
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        content = (at + 110 + name_size + 3) & ~3
        found[name] = (mode, archive[content : content + size], (fields[9], fields[10]))
        at = (content + size + 3) & ~3
    assert [*found][-1] == "TRAILER!!!"
    assert found["init"] == (stat.S_IFREG | 0o755, b"\x7fELF and more", (0, 0))
    assert found["modules/000-virtio_blk"][1] == b"module"
    assert found["dev/console"] == (stat.S_IFCHR | 0o600, b"", (5, 1))
    assert found["tmp"][0] == stat.S_IFDIR | 0o755
