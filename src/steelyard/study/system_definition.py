"""Reads the [system.NAME] tables of a study: what each key may say, and which keys go together."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from steelyard import toml_file
from steelyard.errors import UnknownName
from steelyard.quantities import parse_size
from steelyard.shapes import Wrong
from steelyard.study.model import (
    LEVELS_OF_PROCESSORS,
    MONITORS,
    TIMING,
    FileSystem,
    Machine,
    Parameters,
    SystemDefinition,
    Tuning,
)
from steelyard.toml_file import WHOLE_MOST, Reader

_GUESTS = ("uml", "qemu")  # systems whose memory is a machine's of their own, not a limit
_OF_BASES = {  # keys that mean something for these bases alone
    "cpus": ("qemu",),
    "kernel": ("qemu",),
    "disk": ("qemu",),
    "accelerator": ("qemu",),
    "root": ("chroot", "container"),
    "image": ("container",),
}
_OTHER_FILES = ("qemu", "ssh")  # systems whose files are not on this machine's file systems
_WATCHED_BASES = ("native", "native-musl")  # systems whose programs a command of this machine can start
# What means nothing for these file systems: they have no device, or no size of their own.
_WITHOUT = {
    "tmpfs": ("mkfs", "aged", "image_directory", "device"),
    "overlay": ("size", "mkfs", "aged", "image_directory", "device"),
}
_AGED_MOST = 100
_ACCELERATORS = ("tcg", "kvm")
_HUGE_PAGES = ("always", "madvise", "never")


def read(name: str, part: Reader, machines: Mapping[str, Machine]) -> SystemDefinition:
    """The system of that table; `machines` are those that the study has. Raises StudyError or UnknownName."""
    base = part.text("base", "")
    kind = base.partition("+")[0]
    sizes = {
        "memory": _size(part, "memory"),
        "swap": _size(part, "swap", none="0"),
        "disk": _size(part, "disk"),
    }
    tuning, guest = _tuning(part), (sizes["memory"], sizes["swap"])
    if kind not in _GUESTS:
        tuning, guest = replace(tuning, memory=guest[0], swap=guest[1]), ("", "")
    machine = part.text("machine", "")
    if machine and machine not in machines:
        raise UnknownName("machine", machine, machines, where=f"study {part.file}: {part.prefix}machine: ")
    definition = SystemDefinition(
        name=name,
        machine=machines.get(machine),
        expect=_expect(part.part("expect")),
        command=tuple(part.texts("command", ())),
        base=base,
        program=part.text("program", ""),
        boot=part.truth("boot", False),
        memory=guest[0],
        swap=guest[1],
        disk=sizes["disk"],
        cpus=part.whole("cpus", 1, 1, 1024),
        kernel=part.text("kernel", ""),
        accelerator=part.text("accelerator", ""),
        root=part.text("root", ""),
        image=part.text("image", ""),
        under=tuple(part.texts("under", ())),
        reads=part.text("reads", ""),
        tuning=tuning,
        file_system=_file_system(part),
        trial=_of_treatment(part.part("trial")),
    )
    part.finish()
    _check(part, definition, kind)
    return definition


def _expect(part: Reader) -> tuple[tuple[str, str], ...]:
    patterns = part.rest()
    for key, value in patterns.items():
        if type(value) is not int and (not toml_file.is_text(value) or not value):
            raise part.wrong(key, value, 'a pattern such as "6.12.*"')
    return tuple((key, str(value)) for key, value in patterns.items())


def trial(part: Reader) -> Parameters:
    """What a [trial] table asks of every trial."""
    for name, value in (given := part.rest()).items():
        is_whole = type(value) is int and 0 <= value <= WHOLE_MOST
        is_command = toml_file.is_text(value) and name not in TIMING and value not in LEVELS_OF_PROCESSORS
        if not is_whole and not is_command:
            raise part.wrong(
                name, value, f"a whole number from 0 to {WHOLE_MOST}, or words such as a command"
            )
    return tuple(sorted(given.items()))


def _of_treatment(part: Reader) -> Parameters:
    """What the trials of one system are asked for, in place of what the study says."""
    parameters = trial(part)
    for name, value in parameters:
        if name in TIMING:
            raise part.wrong(name, value, "left out: how trials are timed is the same on every system")
    return parameters


def _check(part: Reader, definition: SystemDefinition, kind: str) -> None:
    usual = SystemDefinition(definition.name)
    for key, bases in _OF_BASES.items():
        value = getattr(definition, key)
        if value != getattr(usual, key) and kind not in bases:
            raise part.wrong(key, value, f"left out, or base = {' or '.join(map(json.dumps, bases))}")
    if definition.file_system and kind in _OTHER_FILES:
        raise part.wrong(
            "filesystem", definition.file_system.kind, f"left out with base = {json.dumps(definition.base)}"
        )
    if definition.root and definition.image:
        raise part.wrong("image", definition.image, "left out with a root")
    if definition.accelerator not in ("", *_ACCELERATORS):
        raise part.wrong("accelerator", definition.accelerator, " or ".join(map(json.dumps, _ACCELERATORS)))
    _check_under(part, definition, kind)
    if definition.tuning.swap and not definition.tuning.memory:
        raise part.wrong("swap", definition.tuning.swap, "with a memory limit")
    if definition.machine is None and definition.expect:
        raise part.wrong("expect", dict(definition.expect), "beside a machine")
    if definition.machine is not None:
        if definition.command or definition.base or definition.under or definition.file_system:
            allowed = "present if there is no command, base, under or filesystem"
            raise part.wrong("machine", definition.machine.name, allowed)
    elif bool(definition.command) == bool(definition.base):
        raise part.wrong(
            "command", list(definition.command), 'a list of words that starts the agent, or else base = "..."'
        )


def _check_under(part: Reader, definition: SystemDefinition, kind: str) -> None:
    if definition.under and kind not in ("", *_WATCHED_BASES):
        bases = " or ".join(map(json.dumps, _WATCHED_BASES))
        raise part.wrong("under", list(definition.under), f"left out, or with a command or base = {bases}")
    if any("\n" in word for word in definition.under):
        raise part.wrong("under", list(definition.under), "words without line breaks")
    if definition.reads and (not definition.under or definition.reads not in MONITORS):
        raise part.wrong("reads", definition.reads, f"with `under`, one of {', '.join(MONITORS)}")


def _file_system(part: Reader) -> FileSystem:
    wish = FileSystem(
        kind=part.text("filesystem", ""),
        size=_size(part, "size"),
        mkfs=tuple(part.texts("mkfs", ())),
        options=part.text("mount_options", ""),
        aged=part.whole("aged", 0, 0, _AGED_MOST),
        image_directory=part.text("image_directory", ""),
        device=part.text("device", ""),
    )
    given = {
        "size": wish.size,
        "mkfs": list(wish.mkfs),
        "mount_options": wish.options,
        "aged": wish.aged,
        "image_directory": wish.image_directory,
        "device": wish.device,
    }
    for key, value in given.items():
        if value and not wish.kind:
            raise part.wrong(key, value, 'left out, or with filesystem = "..."')
        if value and key in _WITHOUT.get(wish.kind, ()):
            raise part.wrong(key, value, f'left out beside filesystem = "{wish.kind}"')
    if wish.kind and not re.fullmatch(r"[a-z0-9_]{1,32}", wish.kind):
        raise part.wrong("filesystem", wish.kind, 'a name such as "ext4", as /proc/filesystems has it')
    for key in ("size", "image_directory"):
        if given[key] and wish.device:
            raise part.wrong(key, given[key], "left out with a device")
    if re.search(r"\s", wish.options):
        raise part.wrong("mount_options", wish.options, 'a text without spaces, such as "noatime,commit=60"')
    return wish


def _tuning(part: Reader) -> Tuning:
    """The settings of the machine in a system's table, except its memory."""
    huge_pages = part.text("huge_pages", "")
    if huge_pages and huge_pages not in _HUGE_PAGES:
        raise part.wrong("huge_pages", huge_pages, ", ".join(f'"{one}"' for one in _HUGE_PAGES))
    nice = part.number("nice", -20, 19)
    sysctl = part.part("sysctl")
    values = []
    for name, value in sysctl.rest().items():
        good = type(value) is int or (toml_file.is_text(value) and value.strip() and value.isprintable())
        if not re.fullmatch(r"\w+([./][\w-]+)+", name, re.ASCII) or not good:
            raise sysctl.wrong(name, value, 'a number or a text, for a name such as "vm.swappiness"')
        values.append((name, str(value)))
    processors = part.numbers_from_0("processors")
    return Tuning(
        huge_pages, tuple(sorted(values)), processors, nice, processes=part.whole("processes", 0, 0, 1 << 22)
    )


def _size(part: Reader, key: str, *, none: str = "") -> str:
    """The size as it is written; or `none`, or "" where there is none."""
    size = part.take(key, "")
    if size not in ("", none):
        try:
            parse_size(size)
        except Wrong as wrong:
            allowed = f'"{none}" for none, or {wrong.allowed}' if none else wrong.allowed
            raise part.wrong(key, size, allowed) from None
    return str(size)
