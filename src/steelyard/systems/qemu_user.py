"""Another processor's machine code on this machine's kernel, translated by QEMU as it runs.

System calls are this kernel's; what differs is the processor. The agent starts its trials as programs of its
own architecture, which this kernel cannot execute, so it is given the emulator's path.
"""

import shutil
from functools import partial

from steelyard.systems.system import Place, System

_BUILD = "zig-aarch64-linux-musl-O2"
_PROGRAM = "qemu-aarch64-static"


def _command(program: str, place: Place) -> list[str]:
    emulator = shutil.which(program) or program
    return [
        "env",
        f"STEELYARD_EMULATOR={emulator}",
        emulator,
        str(place.program),
        "agent",
        str(place.scratch),
    ]


QEMU_AARCH64 = System(
    "qemu-aarch64",
    "AArch64 machine code on this machine's kernel, by QEMU's emulation",
    partial(_command, _PROGRAM),
    program=_BUILD,
    needs=((_PROGRAM, "qemu-user-static"),),
)
