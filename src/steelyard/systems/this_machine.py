"""This very machine, as hardware that runs one kernel at a time: its boot, and GRUB's way to another.

GRUB boots an entry once (grub-reboot), and its default after that, also after a boot that failed.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from steelyard import commands, standstill
from steelyard.errors import Stuck, UsageError
from steelyard.last_words import last_line
from steelyard.study.model import THIS, Machine
from steelyard.systems import native
from steelyard.systems.system import BootEntry, System
from steelyard.text import of_file, quoted

_CONFIGURATIONS = (Path("/boot/grub/grub.cfg"), Path("/boot/grub2/grub.cfg"))
_NEEDS = (("grub-reboot", "grub2-common"), ("systemctl", "systemd"))
_DOING_S = 60  # a command that only records the next boot
_COMMAND = "from steelyard.cli import entry; entry()"
_WORD = r"'([^']*)'|\"([^\"]*)\"|(\S+)"


def booted(name: str, kernel: str) -> System:
    """The system that is this machine with that kernel. Raises UsageError for what is no kernel's release."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+~_-]*", kernel):
        raise UsageError(
            f"system {quoted(name)}: {quoted(kernel)} is not a kernel's release; write it as uname -r does, "
            "such as this:6.1.0-32-amd64"
        )
    switch = (sys.executable, "-c", _COMMAND, "reboots", "into", "{system}")
    return on(Machine("this machine", THIS, switch), name, kernel, (("kernel_release", kernel),))


def on(machine: Machine, name: str, known_as: str, expect: tuple[tuple[str, str], ...]) -> System:
    """A system that this machine is booted into."""
    return System(
        name,
        f"this machine, booted into {known_as}",
        native.NATIVE.command,
        boot=True,
        boot_entry=BootEntry(machine, known_as, expect),
    )


def identity() -> str:
    """The identity of this boot."""
    return of_file(Path("/proc/sys/kernel/random/boot_id")).strip()


def readings(limit_s: float) -> Iterator[bytes]:
    """The first line of /proc/stat, every second, for so long."""
    end = standstill.clock() + limit_s
    while standstill.clock() < end:
        yield of_file(Path("/proc/stat")).splitlines()[0].encode()
        standstill.sleep(1)


def boot_into(kernel: str) -> None:
    """Reboots this machine into that kernel, once. Raises Stuck."""
    for program, package in _NEEDS:
        if shutil.which(program) is None:
            raise Stuck(
                f"{program} is not installed (on Debian: apt-get install {package}); a machine that boots "
                'otherwise can be described in a study: [machine.NAME] with host = "this" and switch'
            )
    file = next((one for one in _CONFIGURATIONS if os.path.exists(one)), None)
    if file is None:
        raise Stuck(f"there is no GRUB here: no {_CONFIGURATIONS[0]}")
    text = of_file(file)
    if "next_entry" not in text:
        raise Stuck(f"{file} does not support one-time boot entries (next_entry); run update-grub")
    entry = entry_of(text, kernel)
    if entry is None:
        known = ", ".join(kernels(text)) or "none"
        raise Stuck(f"{file} has no entry for kernel {kernel}; it has {known}")
    do("grub-reboot", entry)
    os.sync()
    do("systemctl", "--no-block", "reboot")


def do(*words: str) -> None:
    """Raises Stuck if the command fails."""
    try:
        done = commands.run(words, limit_s=_DOING_S)
    except subprocess.TimeoutExpired:
        raise Stuck(f"{' '.join(words)} did not end within {_DOING_S} s") from None
    if done.returncode:
        raise Stuck(f"{' '.join(words)} ended with status {done.returncode}: {last_line(done.stderr)}")


def kernels(configuration: str) -> list[str]:
    """The kernels that GRUB's configuration has an entry for."""
    return list(dict.fromkeys(kernel for kernel, _ in _entries(configuration)))


def entry_of(configuration: str, kernel: str) -> str | None:
    """grub-reboot's name of the kernel's first entry that is not for recovery: SUBMENU>ENTRY."""
    return next((entry for known, entry in _entries(configuration) if known == kernel), None)


def _entries(configuration: str) -> Iterator[tuple[str, str]]:
    """Kernel and name of each entry. A menu ends with a line that is a brace; other blocks are shell."""
    blocks: list[str | None] = []  # names of menus that are open, and None for other blocks
    for line in map(str.strip, configuration.splitlines()):
        words = [next(filter(None, groups), "") for groups in re.findall(_WORD, line)]
        if words and words[0] in ("submenu", "menuentry") and words[-1] == "{":
            blocks.append(_name(words))
        elif line.endswith("{"):
            blocks.append(None)
        elif line == "}" and blocks:
            blocks.pop()
        elif words and words[0] in ("linux", "linuxefi") and len(words) > 1 and blocks:
            name = ">".join(one for one in blocks if one is not None)
            kernel = re.search(r"/vmlinu[xz]-(\S+)$", words[1])
            if kernel and name and "recovery" not in name:
                yield kernel[1], name


def _name(words: list[str]) -> str:
    """Its identifier where it has one, else its title."""
    for number, word in enumerate(words[:-1]):
        if word in ("$menuentry_id_option", "--id"):
            return words[number + 1]
    return words[1]
