"""A system that the user describes in a study: by the command that starts its agent, or as a variant
of another system."""

from dataclasses import replace
from functools import partial

from steelyard.study import SystemDefinition
from steelyard.systems import uml
from steelyard.systems.system import Place, System


def _command(words: tuple[str, ...], place: Place) -> list[str]:
    return [
        word.replace("{program}", str(place.program)).replace("{scratch}", str(place.scratch))
        for word in words
    ]


def make(definition: SystemDefinition, base: System | None) -> System:
    """The system so described. In a command, {program} stands for the load program, and {scratch} for
    a directory that the agent may use and that is removed afterwards."""
    if base is not None:
        varied = replace(
            base,
            name=definition.name,
            summary=f"{base.name}, as the study varies it",
            program=definition.program or base.program,
        )
        return uml.sized(varied, definition) if definition.memory or definition.swap else varied
    return System(
        definition.name,
        f"by the command {definition.command[0]}",
        partial(_command, definition.command),
        program=definition.program or "glibc",
        boot=definition.boot,
        needs=((definition.command[0], "what brings it"),),
    )
