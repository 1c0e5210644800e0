"""A system that the user describes in a study: by the command that starts its agent, or as a variant
of another system."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from steelyard.errors import UsageError
from steelyard.study.model import SystemDefinition
from steelyard.systems import filesystem, machine, monitors, qemu, uml, userland
from steelyard.systems.system import EVERY_PEER, Place, System


def _command(words: tuple[str, ...], place: Place) -> list[str]:
    return [
        word.replace("{program}", str(place.program)).replace("{scratch}", str(place.scratch))
        for word in words
    ]


def make(definition: SystemDefinition, base: System | None) -> System:
    """The system so described. In a command, {program} stands for the load program, and {scratch} for
    a directory that the agent may use and that is removed afterwards. Raises UsageError for a host that
    is to be tuned."""
    if definition.machine is not None:
        system = machine.bootable(definition, definition.machine)
    else:
        system = _by_command(definition) if base is None else _varied(definition, base)
    system = filesystem.mounted(system, definition.file_system)
    if definition.under:
        system = monitors.under(system, definition.under, definition.reads)
    if not definition.tuning:
        return system
    if not system.here:
        raise UsageError(f"system '{system.name}' runs on another host, but tuning is for this machine")
    return replace(system, summary=f"{system.summary}; tuned: {definition.tuning}", tuning=definition.tuning)


def _by_command(definition: SystemDefinition) -> System:
    return System(
        definition.name,
        f"by the command {definition.command[0]}",
        partial(_command, definition.command),
        program=definition.program or "glibc",
        boot=definition.boot,
        needs=((definition.command[0], "what brings it"),),
        peers=EVERY_PEER,
    )


def _varied(definition: SystemDefinition, base: System) -> System:
    same = replace(base, name=definition.name, program=definition.program or base.program)
    vary = _VARIED.get(definition.base.partition("+")[0])
    return vary(same, definition) if vary else same


_VARIED: dict[str, Callable[[System, SystemDefinition], System]] = {
    "chroot": partial(userland.rooted, "chroot"),
    "container": partial(userland.rooted, "container"),
    "qemu": qemu.equipped,
    "uml": uml.sized,
}
