"""A machine that runs one system at a time: QEMU, two Debian kernels, a block that names the next boot, ssh.

`make` writes what it boots. As a program it is the machine: whenever QEMU ends it starts again, and what the
block names, it boots once; without a name the default. A line of the file `faults` is what goes wrong with a
boot: panic, hang, wrong (the other system), key (another host key), clock (of the year 2001), or "-".
"""

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from steelyard.systems import initramfs
from steelyard.systems.initramfs import Entry

BLOCK = 512
_NEEDS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "dropbear": "dropbear-bin",
    "dropbearconvert": "dropbear-bin",
    "busybox": "busybox-static",
    "ssh-keygen": "openssh-client",
}
_APPLETS = (
    "sh mount ip cat cut sha256sum mkdir chmod mv rm test echo sync sleep reboot insmod grep find head tail "
    "dd printf date ls env seq"
)
_DIRECTORIES = "bin sbin etc etc/dropbear proc sys dev run tmp root root/.ssh var var/log modules lib lib64"
_MODULES = ("virtio_pci", "virtio_rng", "virtio_blk", "virtio_net")
_INIT = """#!/bin/sh
export PATH=/sbin:/bin HOME=/root
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev
mkdir -p /dev/pts /dev/shm; mount -t devpts p /dev/pts; mount -t tmpfs t /dev/shm; mount -t tmpfs t /tmp
for m in /modules/*; do insmod $m; done
ip link set lo up; ip addr add 10.0.2.15/24 dev eth0; ip link set eth0 up; ip route add default via 10.0.2.2
grep -q hang=1 /proc/cmdline && while :; do sleep 100; done
key=/etc/dropbear/key; grep -q key=1 /proc/cmdline && key=/etc/dropbear/other
dropbear -r $key -s -E -p 22
while :; do sleep 1000; done
"""
_NEXT = """#!/bin/sh
printf '%-512s' "$1" | dd of=/dev/vda bs=512 count=1 conv=fsync 2>/dev/null
"""
# A user's own: asks the running system; where nobody answers, writes the block from outside and resets.
_BOOT_INTO = """#!/bin/sh
cd {folder}
echo "$1" >> switches
down="(sleep 0.3; reboot -f) </dev/null >/dev/null 2>&1 &"
ssh -F ssh_config -o BatchMode=yes -o ConnectTimeout=5 box "next $1; $down" && exit 0
printf '%-512s' "$1" > next
kill -9 $(cat qemu.pid)
"""


@dataclass(frozen=True)
class Machine:
    """One that is running."""

    folder: Path
    releases: dict[str, str]  # by system: "a" is the default

    @property
    def environment(self) -> dict[str, str]:
        """Of the command: who to ask, and locks of the test's own."""
        return {
            "STEELYARD_SSH_CONFIG": str(self.folder / "ssh_config"),
            "XDG_CACHE_HOME": str(self.folder),
        }

    def command_line(self, system: str, words: str) -> None:
        """What that system's kernel is told besides."""
        (self.folder / f"words-{system}").write_text(words)

    def fails(self, *faults: str) -> None:
        """What goes wrong with the boots that follow, one after the other."""
        (self.folder / "faults").write_text("".join(f"{one}\n" for one in faults))

    def boots(self) -> list[str]:
        """What was booted so far: the system, and the fault if there was one."""
        file = self.folder / "log"
        return file.read_text().splitlines() if file.exists() else []

    def switches(self) -> list[str]:
        """Which systems the switch command was asked for."""
        file = self.folder / "switches"
        return file.read_text().split() if file.exists() else []

    def study(
        self, *, more: str = "", design: str = "", wait: str = "120s", workloads: str = "syscall"
    ) -> Path:
        named = "".join(f'[[workload]]\nname = "{name}"\n' for name in workloads.split())
        path = self.folder / "box.toml"
        path.write_text(
            'name = "box"\ntitle = "two kernels on one machine"\nsystems = ["a", "b"]\n'
            f'{more}\n[machine.box]\nhost = "ssh:box"\nswitch = ["{self.folder}/boot-into", "{{system}}"]\n'
            f'wait = "{wait}"\nquiet = "20s"\n'
            + "".join(
                f'[system.{name}]\nmachine = "box"\nexpect = {{ kernel_release = "{_alike(release)}" }}\n'
                for name, release in self.releases.items()
            )
            + f"[trial]\nbatches = 5\nbatch_ns = 2000000\nwarmup_ns = 0\n[design]\n{design}\n{named}"
        )
        return path


def _alike(release: str) -> str:
    """The pattern of its series: "6.1.*"."""
    return ".".join(release.split(".")[:2]) + ".*"


def make(folder: Path, kernels: dict[str, Path]) -> Machine:
    """Writes all that the machine boots. Skips, with the reason, where something is missing."""
    for program, package in _NEEDS.items():
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (on Debian: apt-get install {package})")
    for name in ("host_key", "other_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    for name, kernel in kernels.items():
        initramfs.pack(folder / f"initrd-{name}", _files(folder, kernel))
        (folder / f"kernel-{name}").symlink_to(kernel.absolute())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "port").write_text(str(port))
    known = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"box {known}")
    (folder / "ssh_config").write_text(
        f"Host box\n HostName 127.0.0.1\n Port {port}\n User root\n IdentityFile {folder}/user_key\n"
        f" HostKeyAlias box\n UserKnownHostsFile {folder}/known_hosts\n LogLevel ERROR\n"
        " ServerAliveInterval 5\n ServerAliveCountMax 2\n"
    )
    script = folder / "boot-into"
    script.write_text(_BOOT_INTO.format(folder=folder))
    script.chmod(0o755)
    return Machine(folder, {name: initramfs.version_of(kernel) for name, kernel in kernels.items()})


def _files(folder: Path, kernel: Path) -> Iterator[Entry]:
    directories = [*_DIRECTORIES.split()]
    for name in directories:
        yield name, stat.S_IFDIR | (0o700 if name.startswith("root") else 0o755), (0, 0), b""
    yield "dev/console", stat.S_IFCHR | 0o600, (5, 1), b""
    yield _file("init", _INIT.encode(), 0o755)
    yield from (_file(f"bin/{name}", content, 0o755) for name, content in _programs().items())
    for name in _APPLETS.split():
        yield f"bin/{name}", stat.S_IFLNK | 0o777, (0, 0), b"busybox"
    dropbear = shutil.which("dropbear")
    assert dropbear
    told = subprocess.run(["ldd", dropbear], capture_output=True, text=True, check=True).stdout
    libraries = set(re.findall(r"(/lib\S+) \(", told))
    extra = {str(one) for one in Path("/lib/x86_64-linux-gnu").glob("libnss_files.so.2")}
    made = set(directories)
    for library in sorted(libraries | extra):
        for parent in reversed(Path(library).parents[:-1]):
            if str(parent)[1:] not in made:
                made.add(str(parent)[1:])
                yield str(parent)[1:], stat.S_IFDIR | 0o755, (0, 0), b""
        yield _file(library[1:], Path(library).read_bytes(), 0o755)
    yield _file("etc/passwd", b"root::0:0::/root:/bin/sh\n", 0o644)
    yield _file("etc/group", b"root:x:0:\n", 0o644)
    yield _file("etc/shells", b"/bin/sh\n", 0o644)
    yield _file("etc/nsswitch.conf", b"passwd: files\ngroup: files\nshadow: files\n", 0o644)
    yield _file("etc/shadow", b"root:*:19000::::::\n", 0o600)
    yield _file("root/.ssh/authorized_keys", (folder / "user_key.pub").read_bytes(), 0o600)
    for name, key in (("key", "host_key"), ("other", "other_key")):
        file = folder / f"dropbear-{key}"
        subprocess.run(
            ["dropbearconvert", "openssh", "dropbear", folder / key, file], check=True, capture_output=True
        )
        yield _file(f"etc/dropbear/{name}", file.read_bytes(), 0o600)
    yield from initramfs.module_entries(initramfs.modules_for(kernel, _MODULES))


def _programs() -> dict[str, bytes]:
    found = {name: Path(str(shutil.which(name))).read_bytes() for name in ("busybox", "dropbear")}
    return found | {"next": _NEXT.encode()}


def _file(name: str, content: bytes, mode: int) -> Entry:
    return name, stat.S_IFREG | mode, (0, 0), content


@contextmanager
def running(machine: Machine) -> Iterator[Machine]:
    """The machine, switched on."""
    words = [sys.executable, __file__, machine.folder]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as power:
        try:
            yield machine
        finally:
            power.terminate()


def _power(folder: Path) -> None:
    """Boots again and again, until it is terminated; QEMU ends with us."""
    block, port = folder / "next", (folder / "port").read_text()
    if not block.exists():
        block.write_bytes(bytes(BLOCK))
    while True:
        asked = block.read_bytes()[:BLOCK].strip(b"\0 \n").decode() or "a"
        with open(block, "r+b") as file:
            file.write(bytes(BLOCK))
            file.flush()
            os.fsync(file.fileno())
        faults = (folder / "faults").read_text().splitlines() if (folder / "faults").exists() else []
        (folder / "faults").write_text("".join(f"{one}\n" for one in faults[1:]))
        fault = faults[0] if faults else "-"
        name = {"a": "b", "b": "a"}[asked] if fault == "wrong" else asked
        with open(folder / "log", "a") as log:
            log.write(f"{name}\n" if fault == "-" else f"{name} {fault}\n")
        more = {"panic": "rdinit=/no/such root=/dev/nowhere", "hang": "hang=1", "key": "key=1"}.get(fault, "")
        words = f"""qemu-system-x86_64 -accel tcg,thread=multi -machine q35,usb=off -cpu max -m 256 -smp 1
            -nodefaults -no-user-config -display none -no-reboot -serial file:{folder}/console
            -device virtio-rng-pci -kernel {folder}/kernel-{name} -initrd {folder}/initrd-{name}
            -drive file={block},if=virtio,format=raw
            -netdev user,id=n,hostfwd=tcp:127.0.0.1:{port}-10.0.2.15:22
            -device virtio-net-pci,netdev=n,romfile= -action panic=exit-failure""".split()
        if fault == "clock":
            words += ["-rtc", "base=2001-01-01T00:00:00"]
        told = folder / f"words-{name}"
        more += f" {told.read_text()}" if told.exists() else ""
        line = f"console=ttyS0 quiet panic=2 net.ifnames=0 random.trust_cpu=on tsc=reliable {more}"
        # Ends with this process, however that ends.
        words = ["setpriv", "--pdeathsig", "KILL", *words, "-append", line]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL) as qemu:
            (folder / "qemu.pid").write_text(str(qemu.pid))
            qemu.wait()
        time.sleep(0.2)


if __name__ == "__main__":
    _power(Path(sys.argv[1]))
