"""Debian kernels for the tests of guests: the installed one, or some that are downloaded once and kept in
pytest's cache. Nothing is installed: this machine must not begin to boot it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from patience import patience

from steelyard.systems import initramfs

_META = "linux-image-cloud-amd64"


def debian_kernel(cache: Path) -> Path:
    """Its image, its modules beside it as in the package. Skips, with the reason, if there is none."""
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("qemu-system-x86_64 is not installed")
    return initramfs.newest_kernel() or downloaded(_META, cache)


def downloaded(meta: str, cache: Path) -> Path:
    """The kernel that Debian's package of that name depends on. Skips, with the reason, if there is none."""
    known = cache / f"{meta}.name"
    if not known.exists():
        known.write_text(_download(meta, cache))
    return cache / "boot" / f"vmlinuz-{known.read_text()}"


def _download(meta: str, cache: Path) -> str:
    """Its release."""
    try:
        depends = subprocess.run(["apt-cache", "depends", meta], capture_output=True, text=True, check=True)
        (name,) = re.findall(r"Depends: (linux-image-\S+)", depends.stdout)
        subprocess.run(["apt-get", "-qq", "download", name], cwd=cache, check=True, timeout=patience(300))
        for package in cache.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, cache], check=True)
            package.unlink()
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        pytest.skip(f"{meta} is not available: {error}")
    return str(name).removeprefix("linux-image-")
