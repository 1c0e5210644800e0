"""Runs a command on a machine whose processors are taken away now and then, as a busy host does to a guest.

    python tests/support/busy_host.py SHARE COMMAND...

For each processor a process that goes before all others works on it for 10 to 600 ms at a time, and for about
that share in all (0.2: a fifth). So what a test takes for granted of the time comes out. Ends with the
command's exit status. Needs root, for the priority.
"""

import os
import random
import subprocess
import sys
import time
from multiprocessing import Process

_TURNS_S = (0.01, 0.03, 0.1, 0.3, 0.6)
_PRIORITY = 90


def take_away(processor: int, share: float, parent: int) -> None:
    """Holds the processor again and again, as long as that parent lives."""
    turns = random.Random(processor)
    os.sched_setaffinity(0, {processor})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    while os.getppid() == parent:
        turn = turns.choice(_TURNS_S)
        end = time.monotonic() + turn
        while time.monotonic() < end:
            pass
        time.sleep(turn * (1 / share - 1) * turns.uniform(0.5, 1.5))


def main(share: str, *command: str) -> int:
    """Takes processors away until the command has ended; returns its exit status."""
    takers = [
        Process(target=take_away, args=(processor, float(share), os.getpid()), daemon=True)
        for processor in os.sched_getaffinity(0)
    ]
    for one in takers:
        one.start()
    try:
        return subprocess.run(command, check=False).returncode
    finally:
        for one in takers:
            one.kill()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
