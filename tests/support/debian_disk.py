"""A Debian disk with systemd, GRUB and two kernels, and QEMU that boots it; Steelyard is on a second disk.

`base` builds the first, without a loop device and as root, and keeps it in pytest's cache; nothing writes to
it after that: QEMU keeps the changes of a run beside it. GRUB's configuration is Debian's own.
"""

import os
import shutil
import socket
import struct
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import places
import pytest
from patience import patience

ROOT = places.ROOT
BROKEN = "6.0.0-broken"  # a kernel without its initrd: it panics, for it has no root file system
_SECTOR, _START = 512, 2048  # bytes; sectors before the file system, which GRUB's core is written to
_MEGABYTES = 2200
_BOOT_LIMIT_S = 400.0
_NEEDS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "ssh-keygen": "openssh-client",
}
_PACKAGES = (
    "systemd-sysv,udev,kmod,zstd,openssh-server,iproute2,procps,grub2-common,grub-pc-bin,kexec-tools,"
    "initramfs-tools,linux-image-cloud-amd64,linux-image-6.12-cloud-amd64,python3-minimal,python3,libstdc++6"
)
_LEFT_OUT = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*")
_LIBRARIES = "usr/local/lib/python3.11/dist-packages"  # where Debian 12's Python looks
# Before the packages are installed: what their scripts make initrds with.
_BEFORE = r"""set -eu; R=$1
mkdir -p $R/etc/initramfs-tools/conf.d $R/usr/share/initramfs-tools/modules.d
printf 'MODULES=list\nBUSYBOX=n\n' > $R/etc/initramfs-tools/conf.d/disk
printf 'virtio_pci\nvirtio_blk\nvirtio_net\nvirtio_rng\next4\n' > $R/usr/share/initramfs-tools/modules.d/disk
"""
# GRUB's first configuration boots one kernel, whose update-grub writes the next one.
_AFTER = r"""set -eu; R=$1; H=$2
echo box > $R/etc/hostname; printf '127.0.0.1 localhost box\n' > $R/etc/hosts
printf '/dev/vda1 / ext4 defaults,noatime 0 0\n/dev/vdb /opt ext4 defaults,nofail 0 0\n' > $R/etc/fstab
echo 0123456789abcdef0123456789abcdef > $R/etc/machine-id
install -d -m700 $R/root/.ssh; install -m600 $H/user_key.pub $R/root/.ssh/authorized_keys
rm -f $R/etc/ssh/ssh_host_*; install -m600 $H/host_key $R/etc/ssh/ssh_host_ed25519_key
printf 'HostKey /etc/ssh/ssh_host_ed25519_key\nUsePAM no\nUseDNS no\n' > $R/etc/ssh/sshd_config.d/disk.conf
printf '[Match]\nType=ether\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\nLinkLocalAddressing=no\n' \
    > $R/etc/systemd/network/10-disk.network
mkdir -p $R/etc/systemd/system.conf.d $R/var/log/journal
printf '[Manager]\nDefaultTimeoutStopSec=10s\n' > $R/etc/systemd/system.conf.d/disk.conf
chroot $R systemctl -q enable systemd-networkd ssh
chroot $R systemctl -q mask systemd-networkd-wait-online apt-daily.timer apt-daily-upgrade.timer \
    e2scrub_reap.service e2scrub_all.timer fstrim.timer dpkg-db-backup.timer getty@tty1.service
sed -i s/LOAD_KEXEC=true/LOAD_KEXEC=false/ $R/etc/default/kexec
a=$(cd $R/boot; ls vmlinuz-6.1.*); a=${a#vmlinuz-}; b=$(cd $R/boot; ls vmlinuz-6.12*); b=${b#vmlinuz-}
cp $R/boot/vmlinuz-$b $R/boot/vmlinuz-BROKEN
line='console=ttyS0 panic=2 net.ifnames=0 random.trust_cpu=on quiet'
printf 'GRUB_TIMEOUT=0\nGRUB_DISTRIBUTOR=Debian\nGRUB_CMDLINE_LINUX="%s"\nGRUB_TERMINAL=serial\n' "$line" \
    > $R/etc/default/grub
mkdir -p $R/boot/grub; cp -r $R/usr/lib/grub/i386-pc $R/boot/grub/; rm -f $R/boot/grub/i386-pc/*.i*
chroot $R grub-editenv /boot/grub/grubenv create
printf 'linux /boot/vmlinuz-%s root=/dev/vda1 ro %s\ninitrd /boot/initrd.img-%s\nboot\n' "$a" "$line" "$a" \
    > $R/boot/grub/grub.cfg
chroot $R grub-mkimage -O i386-pc -p '(hd0,msdos1)/boot/grub' -o /core.img \
    biosdisk part_msdos ext2 normal linux configfile loadenv test echo serial terminal reboot search
mv $R/core.img $H/core.img; cp $R/usr/lib/grub/i386-pc/boot.img $H/boot.img
printf '%s %s' "$a" "$b" > $H/kernels
mkdir -p $R/LIBRARIES; cp -r $H/libraries/. $R/LIBRARIES; echo /opt > $R/LIBRARIES/steelyard.pth
chroot $R python3 -m compileall -q /LIBRARIES || true
printf '#!/usr/bin/python3\nfrom steelyard.cli import entry\nentry()\n' > $R/usr/local/bin/steelyard
chmod 755 $R/usr/local/bin/steelyard
rm -rf $R/var/cache/apt/*.bin $R/var/lib/apt/lists/*
""".replace("BROKEN", BROKEN).replace("LIBRARIES", _LIBRARIES)
# mmdebstrap leaves its mounts in place, whose files mke2fs could not read.
_FILE_SYSTEM = r"""set -eu
[ "${3:-}" ] || exec unshare -m sh "$0" "$1" "$2" again
for d in proc sys dev run; do while mountpoint -q $1/$d; do umount -R -l $1/$d; done; done
mke2fs -q -t ext4 -O ^metadata_csum_seed,^orphan_file -m 0 -d $1 -E offset=START,lazy_itable_init=0 $2 SIZEk
""".replace("START", str(_START * _SECTOR)).replace("SIZE", str(_MEGABYTES * 1024))


@dataclass(frozen=True)
class Disk:
    """What was built, in a directory with the keys that open it."""

    folder: Path

    @property
    def image(self) -> Path:
        return self.folder / "disk"

    @property
    def kernels(self) -> tuple[str, str]:
        """The releases of the older one and of the newer one, which is GRUB's default."""
        older, newer = (self.folder / "kernels").read_text().split()
        return older, newer


def base(cache: Path) -> Disk:
    """The disk, built if there is none of this recipe. Skips, with the reason, where something is missing."""
    if os.geteuid() != 0:
        pytest.skip("not root: the disk is built in a chroot")
    for program, package in _NEEDS.items():
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (on Debian: apt-get install {package})")
    recipe = (_PACKAGES, _BEFORE, _AFTER, _FILE_SYSTEM, *_LEFT_OUT, *_dependencies())
    folder = cache / sha256("\n".join(recipe).encode()).hexdigest()[:12]
    if not (folder / "whole").exists():
        for old in cache.iterdir():
            shutil.rmtree(old)
        folder.mkdir()
        _build(folder)
        (folder / "whole").touch()
    return Disk(folder)


def _build(folder: Path) -> None:
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    _libraries(folder / "libraries")
    for name, script in (("before", _BEFORE), ("after", _AFTER), ("file-system", _FILE_SYSTEM)):
        (folder / name).write_text(script)
    image = folder / "disk"
    with open(image, "wb") as file:
        file.truncate(_START * _SECTOR + (_MEGABYTES << 20))
    hooks = (
        f'--setup-hook=sh {folder}/before "$1"',
        f'--customize-hook=sh {folder}/after "$1" {folder}',
        f'--customize-hook=sh {folder}/file-system "$1" {image}',
    )
    left_out = [f"--dpkgopt=path-exclude={pattern}" for pattern in _LEFT_OUT]
    words = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--format=null"]
    words += ["--dpkgopt=force-unsafe-io", '--aptopt=Acquire::Languages "none"', *left_out]
    words += [f"--include={_PACKAGES}", *hooks, "bookworm", "/dev/null"]
    subprocess.run(words, check=True, timeout=patience(1200))
    _make_bootable(image, folder)
    shutil.rmtree(folder / "libraries")
    with running(Disk(folder), folder, lasting=True) as machine:
        machine.await_boot("")
        machine.ssh("update-grub", check=True)
        machine.ssh("sync; systemctl --no-block poweroff")
        machine.process.wait(timeout=patience(120))


def _libraries(folder: Path) -> None:
    """What Steelyard imports, for the disk's Python."""
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "--implementation=cp"]
    words += ["--python-version=3.11", "--only-binary=:all:", *_dependencies()]
    subprocess.run(words, check=True, timeout=patience(600))


def _dependencies() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["dependencies"])


def _make_bootable(image: Path, folder: Path) -> None:
    """One active partition, GRUB's first sector, and its core in the gap behind that."""
    core = (folder / "core.img").read_bytes()
    assert len(core) < (_START - 1) * _SECTOR
    sizes = struct.pack("<II", _START, (_MEGABYTES << 20) // _SECTOR)
    with open(image, "r+b") as file:
        file.write((folder / "boot.img").read_bytes()[:440])
        partition = b"\x80\xfe\xff\xff\x83\xfe\xff\xff" + sizes
        file.write(struct.pack("<IH", 0x1AB0BA5E, 0) + partition + bytes(48) + b"\x55\xaa")
        file.write(core)


def product(folder: Path) -> Path:
    """A second disk, with this tree's Steelyard on it as its wheel installs it."""
    tree, image = folder / "opt", folder / "opt.disk"
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    words += ["--config-settings=build-dir=build", "--config-settings=setup-args=-Dtests=true"]
    subprocess.run([*words, "--target", tree, ROOT], check=True, env=environment, timeout=patience(600))
    subprocess.run([sys.executable, "-m", "compileall", "-q", tree], check=True)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-m", "0", "-d", tree, image, "128m"], check=True)
    return image


@dataclass(frozen=True)
class Machine:
    """One that is running."""

    folder: Path
    kernels: tuple[str, str]
    process: "subprocess.Popen[bytes]"

    @property
    def environment(self) -> dict[str, str]:
        """Of a laboratory outside: who to ask, and locks of the test's own."""
        return {
            "STEELYARD_SSH_CONFIG": str(self.folder / "ssh_config"),
            "XDG_CACHE_HOME": str(self.folder),
        }

    def ssh(
        self, script: str, *, check: bool = False, timeout: float = 400
    ) -> "subprocess.CompletedProcess[str]":
        words = ["ssh", "-F", self.folder / "ssh_config", "box", script]
        return subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=check, timeout=timeout
        )

    def boot(self) -> str:
        """Its identity; "" while nobody answers."""
        try:
            return self.ssh("cat /proc/sys/kernel/random/boot_id", timeout=patience(30)).stdout.strip()
        except subprocess.TimeoutExpired:
            return ""

    def await_boot(self, old: str) -> str:
        """The identity of the next one."""
        deadline = time.monotonic() + _BOOT_LIMIT_S
        while (found := self.boot()) in ("", old):
            assert time.monotonic() < deadline, "the machine did not come up"
            assert self.process.poll() is None, "QEMU has ended"
            time.sleep(1)
        return found

    def console(self) -> str:
        return (self.folder / "console").read_text(errors="replace")


@contextmanager
def running(disk: Disk, folder: Path, *, opt: Path | None = None, lasting: bool = False) -> Iterator[Machine]:
    """The machine, switched on; it is reset where it reboots, and ends with us. What it writes is kept only
    if that is to last."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "known_hosts").write_text(f"box {(disk.folder / 'host_key.pub').read_text()}")
    (folder / "ssh_config").write_text(
        f"Host box\n HostName 127.0.0.1\n Port {port}\n User root\n IdentityFile {disk.folder}/user_key\n"
        f" HostKeyAlias box\n UserKnownHostsFile {folder}/known_hosts\n LogLevel ERROR\n BatchMode yes\n"
        " ConnectTimeout 20\n ServerAliveInterval 5\n ServerAliveCountMax 2\n"
    )
    snapshot = "" if lasting else ",snapshot=on"
    words = f"""setpriv --pdeathsig KILL qemu-system-x86_64 -accel tcg,thread=multi -machine q35,usb=off
        -cpu max -m 640 -smp 1 -nodefaults -no-user-config -display none -serial file:{folder}/console
        -device virtio-rng-pci -netdev user,id=n,hostfwd=tcp:127.0.0.1:{port}-10.0.2.15:22
        -device virtio-net-pci,netdev=n,romfile=
        -drive file={disk.image},if=virtio,format=raw,cache=unsafe{snapshot}""".split()
    if opt:
        words += ["-drive", f"file={opt},if=virtio,format=raw,cache=unsafe"]
    environment = os.environ | {"TMPDIR": str(folder)}  # of what is written beside the disk
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, env=environment) as process:
        try:
            yield Machine(folder, disk.kernels, process)
        finally:
            process.kill()
