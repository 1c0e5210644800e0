"""The systems that can be compared. To add one: a file here, and a line in BUILT_IN.

A system is a command that starts an agent; `System` says which command, and the little besides that
differs: which build of the load program it runs, and whether its start is a boot.

Each module imports only from earlier ones: groups, leftovers, scratch, ledger, tuning,
carried, system, protocol,
console, agent, initramfs, monitors, native, filesystem, gvisor, qemu_user, ssh, this_machine, machine,
uml, userland, wine, qemu, custom.
"""

from collections.abc import Sequence
from dataclasses import replace

from steelyard.errors import SteelyardError, UnknownName, UsageError
from steelyard.programs import built
from steelyard.study.model import THIS, SystemDefinition
from steelyard.systems import (
    custom,
    filesystem,
    gvisor,
    native,
    qemu,
    qemu_user,
    ssh,
    this_machine,
    uml,
    userland,
    wine,
)
from steelyard.systems.system import System, check
from steelyard.text import quoted

_NAME_MOST = 200  # characters, with its build
BUILT_IN: tuple[System, ...] = (
    native.NATIVE,
    native.NATIVE_MUSL,
    *filesystem.NATIVE,
    gvisor.GVISOR,
    uml.UML,
    wine.WINE,
    qemu.QEMU,
    qemu_user.QEMU_AARCH64,
    userland.CHROOT,
    userland.CONTAINER,
    ssh.SSH,
)


def find(name: str, definitions: Sequence[SystemDefinition] = ()) -> System:
    """The system of that name: one the user defined, a built-in one, `ssh:HOST` or `this:KERNEL`; with
    `+BUILD` after it, the same with another build of the load program. Raises UnknownName or UsageError.
    """
    if len(name) > _NAME_MOST:
        raise UsageError(f"there is no system {quoted(name)}: names have {_NAME_MOST} characters at most")
    plain, plus, build = name.rpartition("+")
    if name.startswith(f"{THIS}:") and build not in built.builds():
        plus = ""  # it is the kernel's: 6.12.9+deb12-amd64
    if plus and build not in built.builds():
        built.load(build)  # raises, and says how to make it
    if plus:
        base = find(plain, definitions)
        if "windows" in (build, base.program):
            raise UsageError(
                f"system '{name}': Windows programs run only under wine or on Windows, and Linux "
                "programs do not run there; drop the '+build'"
            )
        return replace(base, name=name, program=build)
    known = {system.name: system for system in BUILT_IN}
    defined = {definition.name: definition for definition in definitions}
    if name in defined:
        definition = defined[name]
        varied = find(definition.base) if definition.base else None
        return custom.make(definition, varied)
    kind, colon, host = name.partition(":")
    if kind == "ssh":
        if not colon or not host:
            raise UsageError("system 'ssh' needs a host: write ssh:HOST, as the ssh command knows it")
        return ssh.to_host(name, host)
    if kind == THIS and colon:
        return this_machine.booted(name, host)
    if name not in known:
        raise UnknownName("system", name, [*known, *defined])
    return known[name]


def refusal(system: System) -> str | None:
    """Why the system cannot start here, as it is without a study; None if it can."""
    if system is ssh.SSH:
        return "needs a host: ssh:HOST"
    try:
        check(system)
        built.load(system.program)
    except SteelyardError as error:
        return str(error)
    return None


def crossed(names: Sequence[str], builds: Sequence[str]) -> tuple[str, ...]:
    """Every system with every build; the systems as they are where no builds are named."""
    return tuple(f"{name}+{build}" for name in names for build in builds) if builds else tuple(names)


def label(names: Sequence[str]) -> tuple[str, ...]:
    """The names with a number after each repetition, to distinguish `native native`."""
    counts: dict[str, int] = {}
    labels = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        labels.append(name if counts[name] == 1 else f"{name}#{counts[name]}")
    return tuple(labels)
