"""Executes a command below a real seccomp filter: refused_calls.py ERRNO CALL,CALL COMMAND...

The filter is inherited by all that the command starts, and an error of the kernel's is what they see, as in a
container or a sandbox.
"""

import ctypes
import errno
import functools
import os
import re
import struct
import subprocess
import sys

import pytest

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # as the kernel calls it (AUDIT_ARCH)
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _IS_EQUAL, _RETURN = 0x20, 0x15, 0x06  # of classic BPF
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


@functools.cache
def numbers() -> dict[str, int]:
    """All calls that the kernel's headers name, for this machine, by name."""
    words = ["cc", "-E", "-dM", "-include", "sys/syscall.h", "-"]
    named = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)\n", named.stdout)}


def skip_unless_known() -> None:
    """Skips the test where the filter knows nothing of this machine's calls."""
    if os.uname().machine not in MACHINES:
        pytest.skip(f"the filter knows no calls of {os.uname().machine}")


def refuse(error: str, calls: str) -> None:
    """From now on this process, and what it starts, gets the error for these calls (with commas between)."""
    program = _filter(
        MACHINES[os.uname().machine], [numbers()[call] for call in calls.split(",")], getattr(errno, error)
    )
    held = ctypes.create_string_buffer(program)
    given = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _FILTER, given, 0, 0):
        sys.exit(f"no filter can be set: {os.strerror(ctypes.get_errno())}")


def _filter(architecture: int, numbers: list[int], error: int) -> bytes:
    steps = [
        (_LOAD, 0, 0, 4),
        (_IS_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, 0),
    ]
    for number in numbers:
        steps += [(_IS_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | error)]
    return b"".join(struct.pack("=HBBI", *step) for step in [*steps, (_RETURN, 0, 0, _ALLOW)])


def main(error: str, calls: str, *command: str) -> None:
    refuse(error, calls)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
