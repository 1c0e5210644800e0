"""A whole machine by QEMU: a Debian kernel, with the load program as its only process.

A serial line carries only the agent's two streams; the kernel's messages go over a second one to standard
error. The processor is QEMU's own (TCG) unless a study asks for the host's (KVM), because /dev/kvm exists on
machines where a guest that uses it hangs.
"""

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from steelyard import commands
from steelyard.errors import Unsupported
from steelyard.quantities import parse_size
from steelyard.study.model import SystemDefinition
from steelyard.systems import initramfs
from steelyard.systems.system import Place, System
from steelyard.systems.uml import make_swap

_MODULES = ("virtio_pci", "virtio_blk")  # for disks
_START_LIMIT_S, _START_S = 120.0, 3.0  # a kernel boots in three seconds of CPU time


@dataclass(frozen=True, slots=True)
class _Emulated:
    memory: str = "512M"
    cpus: int = 1
    kernel: str = ""
    disk: str = ""
    swap: str = ""
    accelerator: str = "tcg"

    def image(self) -> Path:
        """The kernel's. Raises Unsupported if none is named and none is found."""
        image = Path(self.kernel).absolute() if self.kernel else initramfs.newest_kernel()
        if image is None:
            raise Unsupported(
                "system 'qemu' cannot start: there is no readable kernel /boot/vmlinuz-*-amd64 (on "
                'Debian: apt-get install linux-image-cloud-amd64; or name one: kernel = "FILE")'
            )
        return image

    def modules(self) -> list[Path]:
        wanted = [*(_MODULES if self.disk or self.swap else ()), *(["ext4"] if self.disk else [])]
        return initramfs.modules_for(self.image(), wanted) if wanted else []

    def ready(self) -> None:
        initramfs.version_of(self.image())
        self.modules()
        if self.accelerator == "kvm" and not os.access("/dev/kvm", os.R_OK | os.W_OK):
            raise Unsupported(
                "system 'qemu' cannot start: accelerator is 'kvm', but /dev/kvm is not accessible"
            )


def _file(place: Place, name: str) -> Path:
    return place.scratch / name


def _prepare(machine: _Emulated, place: Place) -> None:
    initramfs.write(_file(place, "initramfs"), program=place.program, modules=machine.modules())
    if machine.disk:
        disk = _file(place, "disk.img")
        with open(disk, "wb") as file:
            file.truncate(parse_size(machine.disk))
        answer = commands.answer_of(["mke2fs", "-q", "-F", "-t", "ext4", disk], limit_s=600)
        if answer.returncode:
            raise Unsupported(f"system 'qemu' cannot start: mke2fs: {answer.stderr.strip()}")
    if machine.swap:
        make_swap(_file(place, "swap.img"), parse_size(machine.swap))


def _drive(file: Path) -> list[str]:
    # What the guest writes should go past this machine's cache, as from a disk; not every file system can.
    try:
        os.close(os.open(file, os.O_RDWR | os.O_DIRECT))
        cache = "none"
    except OSError:
        cache = "writeback"
    name = str(file).replace(",", ",,")
    return ["-drive", f"file={name},if=virtio,format=raw,cache={cache}"]


def _command(machine: _Emulated, place: Place) -> list[str]:
    threads = ",thread=single" if machine.cpus == 1 else ",thread=multi"
    disks = [name for name in ("disk", "swap") if getattr(machine, name)]
    devices = dict(zip(disks, ("/dev/vda", "/dev/vdb"), strict=False))
    return [
        "qemu-system-x86_64",
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-machine", "q35,usb=off"),
        *("-accel", "kvm" if machine.accelerator == "kvm" else f"tcg{threads}"),
        *("-cpu", "host" if machine.accelerator == "kvm" else "max"),
        *("-m", f"{parse_size(machine.memory) >> 10}K", "-smp", str(machine.cpus)),
        *("-chardev", "stdio,id=stream,signal=off", "-serial", "chardev:stream"),
        *("-chardev", "file,id=console,path=/dev/stderr,append=on", "-serial", "chardev:console"),
        *(word for name in disks for word in _drive(_file(place, f"{name}.img"))),
        *("-kernel", str(machine.image()), "-initrd", str(_file(place, "initramfs"))),
        "-append",
        " ".join(
            [
                # A guest that was parked wakes to a clock that has gone on: no reason to distrust it.
                "console=ttyS1 quiet panic=-1 tsc=reliable nowatchdog rcupdate.rcu_cpu_stall_suppress=1",
                "STEELYARD_STREAM=/dev/ttyS0 STEELYARD_LIMITED=1",
                *([f"STEELYARD_DISK={devices['disk']}"] if machine.disk else []),
                *([f"STEELYARD_SWAP={devices['swap']}"] if machine.swap else []),
            ]
        ),
    ]


def _system(machine: _Emulated, like: System) -> System:
    return replace(
        like,
        command=partial(_command, machine),
        ready=machine.ready,
        prepare=partial(_prepare, machine),
        needs=(*_NEEDS, *([("mke2fs", "e2fsprogs")] if machine.disk else [])),
    )


def equipped(system: System, definition: SystemDefinition) -> System:
    """That machine with the study's kernel, memory, processors and disks."""
    usual = _Emulated()
    machine = _Emulated(
        definition.memory or usual.memory,
        definition.cpus,
        definition.kernel,
        definition.disk,
        "" if definition.swap == "0" else definition.swap,
        definition.accelerator or usual.accelerator,
    )
    words = [
        f"a machine by QEMU ({machine.accelerator}) with {machine.memory} of memory",
        f"{machine.cpus} processor{'s' if machine.cpus > 1 else ''}",
        *([f"a disk of {machine.disk}"] if machine.disk else []),
        *([f"{machine.swap} of swap"] if machine.swap else []),
        f"kernel {Path(machine.kernel).name or 'as installed'}",
    ]
    return replace(_system(machine, system), summary=", ".join(words))


_NEEDS = (("qemu-system-x86_64", "qemu-system-x86"),)
QEMU = _system(
    _Emulated(),
    System(
        "qemu",
        "a machine by QEMU: a Debian kernel and nothing else",
        partial(_command, _Emulated()),
        boot=True,
        start_limit_s=_START_LIMIT_S,
        settle_most_s=1.0,
        start_s=_START_S,
    ),
)
