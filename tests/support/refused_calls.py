"""Executes a command below a real seccomp filter: refused_calls.py ERRNO CALL,CALL COMMAND...

The filter is inherited by all that the command starts, and an error of the kernel's is what they see, as in a
container or a sandbox.
"""

import ctypes
import errno
import os
import struct
import sys

# By architecture: as the kernel calls it (AUDIT_ARCH), and the calls' numbers.
MACHINES = {
    "x86_64": (
        0xC000003E,
        {
            "clone": 56, "clone3": 435, "vfork": 58, "memfd_create": 319, "signalfd4": 289, "ptrace": 101,
            "sched_setaffinity": 203, "perf_event_open": 298, "bpf": 321, "unshare": 272, "prlimit64": 302,
            "mount": 165, "flock": 73,
        },
    )
}  # fmt: skip
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _IS_EQUAL, _RETURN = 0x20, 0x15, 0x06  # of classic BPF
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


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
    architecture, numbers = MACHINES[os.uname().machine]
    program = _filter(architecture, [numbers[call] for call in calls.split(",")], getattr(errno, error))
    held = ctypes.create_string_buffer(program)
    given = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _FILTER, given, 0, 0):
        sys.exit(f"no filter can be set: {os.strerror(ctypes.get_errno())}")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
