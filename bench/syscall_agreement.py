"""How far the workload `syscall` is from a loop written by hand and compiled the same way.

    python bench/syscall_agreement.py

Sixty pairs in random order, as many operations and batches in both; Hodges-Lehmann ratio with its interval.
"""

import math
import random
import subprocess
import tempfile
from pathlib import Path

import machine
import numpy as np
import trials

from steelyard.statistics import signed_rank

PAIRS = 60
OPERATIONS, BATCHES = 60_000, 20
FLAGS = ["-std=c11", "-O2", "-D_GNU_SOURCE", "-fno-lto", "-falign-functions=64", "-falign-loops=32",
         "-fno-asynchronous-unwind-tables", "-ffunction-sections", "-static", "-s",
         "-Wl,--gc-sections", "-Wl,-z,noseparate-code"]  # fmt: skip


def by_workload() -> float:
    return trials.floor_ns(trials.samples("syscall", f"operations={OPERATIONS}", f"batches={BATCHES}"))


def by_hand(program: Path) -> float:
    # Ten batches more, first: the workload has been warmed for 0.1 s, so the loop is too.
    answer = subprocess.run([program, str(OPERATIONS), str(BATCHES + 10)], stdout=subprocess.PIPE, check=True)
    return trials.quartile([int(line) for line in answer.stdout.split()][10:]) / OPERATIONS


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "syscall_loop"
        source = Path(__file__).with_name("syscall_loop.c")
        subprocess.run(["gcc", *FLAGS, "-o", program, source], check=True)
        logs, ours, theirs = [], [], []
        for _ in range(PAIRS):
            if random.random() < 0.5:
                first, second = by_workload(), by_hand(program)
            else:
                second, first = by_hand(program), by_workload()
            ours.append(first)
            theirs.append(second)
            logs.append(math.log(first / second))
    found = signed_rank.estimate(np.array(logs), alpha=0.05)
    assert found.low is not None
    assert found.high is not None
    print(machine.describe())
    print(f"syscall {np.median(ours):.2f} ns, by hand {np.median(theirs):.2f} ns (medians of {PAIRS} pairs)")
    low, high = math.expm1(found.low), math.expm1(found.high)
    print(f"workload / by hand - 1 = {math.expm1(found.value):+.2%} [{low:+.2%}, {high:+.2%}] (95 %)")


if __name__ == "__main__":
    main()
