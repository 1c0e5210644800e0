"""Runs a command on a machine whose processors are taken away now and then, as a busy host does to a guest.

    python tests/support/busy_host.py SHARE COMMAND...

For each processor a process that goes before all others works on it for 10 to 600 ms at a time, and for about
that share in all (0.2: a fifth; at most 0.3, so that who looks after the machine still can). So what a test
takes for granted of the time comes out. Ends with the command's exit status. Needs root, for the priority.

Whatever becomes of this program, what takes the processors ends with it: the kernel kills it.
"""

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess

SHARE_MOST = 0.3
PRIORITY = 90
_TURNS_S = (0.01, 0.03, 0.1, 0.3, 0.6)
_PDEATHSIG = 1  # prctl(2)
_USAGE, _UNSUPPORTED = 2, 77


def share_of(text: str) -> float:
    """The share as a number. Raises ValueError for what is none, or too much."""
    share = float(text)
    if not 0 < share <= SHARE_MOST:
        raise ValueError(text)
    return share


def take_away(processor: int, share: float, *, parent: int, priority: int) -> None:
    """Holds the processor again and again, as long as that parent lives; priority 0 goes before nobody."""
    # In this order: no moment is left in which it goes before all others and would outlive its parent.
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before it could be asked for
        return
    turns = random.Random(processor)
    os.sched_setaffinity(0, {processor})
    if priority:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    while os.getppid() == parent:
        turn = turns.choice(_TURNS_S)
        end = time.monotonic() + turn
        while time.monotonic() < end:
            pass
        time.sleep(turn * (1 / share - 1) * turns.uniform(0.5, 1.5))


def is_allowed() -> bool:
    """Whether this process may go before all others."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, *before)
    except OSError:
        return False
    return True


@contextmanager
def taken_away(share: float, *, priority: int = PRIORITY) -> Iterator[list[BaseProcess]]:
    """What takes the processors, one process for each, as long as the context lasts."""
    takers = [
        get_context("fork").Process(
            target=take_away,
            args=(processor, share),
            kwargs={"parent": os.getpid(), "priority": priority},
            daemon=True,
        )
        for processor in os.sched_getaffinity(0)
    ]
    for one in takers:
        one.start()
    try:
        yield takers
    finally:
        for one in takers:
            one.kill()
            one.join()


def main(*words: str) -> int:
    """Takes processors away until the command has ended; returns its exit status."""
    if len(words) < 2:
        print("busy_host: give a share and a command: busy_host.py 0.2 make test", file=sys.stderr)
        return _USAGE
    text, *command = words
    try:
        share = share_of(text)
    except ValueError:
        said = f"busy_host: the share is {text!r}, but must be above 0 and at most {SHARE_MOST}"
        print(said, file=sys.stderr)
        return _USAGE
    if not is_allowed():
        print("busy_host: a priority above all others needs root", file=sys.stderr)
        return _UNSUPPORTED
    with taken_away(share):
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
