"""Whether `demand` is the processor time that is really gone: beside soakers that use up what is left.

    python bench/network_demand.py [ROUNDS]

A soaker of the lowest priority runs on each processor (bench/network_soaker.c). What it does not get of the
time that passes is used by others; what they use without a trial, in as long a time, is taken off. Trials
with soakers and trials without, whose `demand` is read, alternate in random order; prints the median ratio
with its interval. With soakers no processor is ever idle, which changes what a wake-up costs: so streams are
compared, which hardly sleep. The machine must be quiet.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import machine
import numpy as np
import trials

from steelyard.statistics import signed_rank

OPERATIONS, BATCHES, SIZE = 20000, 10, 16384
KB = OPERATIONS * BATCHES * SIZE / 1024


def trial() -> dict[str, float]:
    records = trials.records(
        "tcp_send", "peer=namespace", "place=2", f"operations={OPERATIONS}", f"batches={BATCHES}",
        "warmup_ns=0", f"size={SIZE}",
    )  # fmt: skip
    return {one["metric"]: one["durations_ns"][0] for one in records if one["record"] == "samples"}


def used_ns(soaker: Path, work: Callable[[], object] | None, seconds: float) -> tuple[float, float]:
    """What others than the soakers used while that was done, and how long it took."""
    soakers = [
        subprocess.Popen([soaker, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for number in sorted(os.sched_getaffinity(0))
    ]
    began = time.monotonic()
    if work is not None:
        work()
    else:
        time.sleep(seconds)
    took = time.monotonic() - began
    told = [one.communicate()[0].split() for one in soakers]
    return sum(float(passed) - float(got) for got, passed in told), took


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(machine.describe())
    with tempfile.TemporaryDirectory() as place:
        soaker = Path(place) / "soaker"
        source = Path(__file__).with_name("network_soaker.c")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", source, "-o", soaker], check=True)
        logs = []
        for _ in range(rounds):
            demand = real = 0.0
            for side in random.sample(["demand", "soaked"], 2):
                if side == "demand":
                    demand = trial()["demand"]
                    continue
                used, took = used_ns(soaker, trial, 0)
                nothing, as_long = used_ns(soaker, None, took)
                real = (used - nothing * took / as_long) / KB
            logs.append(np.log(demand / real))
    found = signed_rank.estimate(np.array(logs), alpha=0.05)
    print(f"demand of a KB by the workload over what is gone: {machine.ratio(found)}")


if __name__ == "__main__":
    main()
