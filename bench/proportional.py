"""Whether twice the work takes twice the time, for each of the kernels.

    python bench/proportional.py [WORKLOAD ...]

Trials of a number of operations a batch and of twice as many, in pairs of random order; the Hodges-Lehmann
ratio of the time of a batch, with its interval, which should be 2.
"""

import math
import random
import sys

import machine
import numpy as np
import trials

from steelyard.statistics import signed_rank
from steelyard.study import study_file

PAIRS = 12
BATCH_MS = 10


def batch_ns(workload: str, operations: int) -> float:
    """The lower quartile of ten batches of that many operations."""
    settings = ("batches=10", "place=1", "warmup_ns=20000000")
    return trials.quartile(trials.samples(workload, f"operations={operations}", *settings)["durations_ns"])


def main() -> None:
    print(machine.describe())
    named = sys.argv[1:] or [one.workload for one in study_file.read("nbench").workloads]
    for workload in named:
        operations = max(1, round(BATCH_MS * 1e6 / batch_ns(workload, 1)))
        logs = []
        for _ in range(PAIRS):
            order = random.sample((1, 2), 2)
            told = {times: batch_ns(workload, times * operations) for times in order}
            logs.append(math.log(told[2] / told[1]))
        found = signed_rank.estimate(np.array(logs), alpha=0.05)
        assert found.low is not None
        assert found.high is not None
        low, high = math.exp(found.low), math.exp(found.high)
        print(f"{workload:18} {operations:6} operations: {math.exp(found.value):.4f} [{low:.4f}, {high:.4f}]")


if __name__ == "__main__":
    main()
