"""A Debian kernel for the tests of guests: the installed one, or one that is downloaded once and kept in
pytest's cache. Nothing is installed: this machine must not begin to boot it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from steelyard.systems import initramfs

_META = "linux-image-cloud-amd64"


def debian_kernel(cache: Path) -> Path:
    """Its image, its modules beside it as in the package. Skips, with the reason, if there is none."""
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("qemu-system-x86_64 is not installed")
    found = initramfs.newest_kernel() or initramfs.newest_kernel(cache / "boot")
    if found is None:
        _download(cache)
        found = initramfs.newest_kernel(cache / "boot")
    if found is None:
        pytest.skip("no kernel in /boot, and none could be downloaded")
    return found


def _download(cache: Path) -> None:
    try:
        depends = subprocess.run(
            ["apt-cache", "depends", _META], capture_output=True, text=True, check=True
        ).stdout
        names = re.findall(r"Depends: (linux-image-\S+)", depends)
        subprocess.run(["apt-get", "-qq", "download", *names[:1]], cwd=cache, check=True, timeout=300)
        for package in cache.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, cache], check=True)
            package.unlink()
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"a Debian kernel cannot be had: {error}")
