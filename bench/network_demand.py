"""Whether `demand` is the processor time that is really gone: beside soakers that use up what is left.

    python bench/network_demand.py [ROUNDS [SIZE]]

A soaker of the lowest priority runs on each processor (bench/network_soaker.c). What it does not get of the
time that passes is used by others, or taken by the host. The same trial with next to no data, and as long a
time without a trial, tell what of it is not the stream's, and are taken off.

With soakers no processor is ever idle, so a wake-up costs something else, and the stream costs more. The
time of its two ends, which the scheduler counts exactly, tells how much more: so what is compared is the
whole over the two ends, `demand / (near + far)` without soakers, and what the soakers did not get over the
same sum with them. Both kinds of trial alternate in random order. Printed is the ratio of both with its
interval, and beside it the ratio of the sums, which is what the soakers change. The machine must be quiet.
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

BATCHES, BYTES = 10, 8 << 30


def trial(size: int, operations: int, batches: int) -> dict[str, float]:
    records = trials.records(
        "tcp_send", "peer=namespace", "congestion=reno", "place=2", f"operations={operations}",
        f"batches={batches}", "warmup_ns=0", f"size={size}",
    )  # fmt: skip
    return {one["metric"]: one["durations_ns"][0] for one in records if one["record"] == "samples"}


def stolen_ns() -> float:
    """What the host has taken from all processors so far."""
    return float(Path("/proc/stat").read_text().split()[8]) * 1e9 / os.sysconf("SC_CLK_TCK")


def used_ns(soaker: Path, work: Callable[[], object]) -> tuple[float, float]:
    """What others than the soakers used while that was done, and how long it took."""
    taken = stolen_ns()
    soakers = [
        subprocess.Popen([soaker, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for number in sorted(os.sched_getaffinity(0))
    ]
    began = time.monotonic()
    work()
    took = time.monotonic() - began
    told = [one.communicate()[0].split() for one in soakers]
    return sum(float(passed) - float(got) for got, passed in told) - (stolen_ns() - taken), took


def soaked(soaker: Path, size: int, operations: int) -> tuple[float, float]:
    """Of a KB: what the stream took of the processors beside soakers, and what its two ends used of that."""
    told: dict[str, float] = {}
    used, took = used_ns(soaker, lambda: told.update(trial(size, operations, BATCHES)))
    start, start_took = used_ns(soaker, lambda: trial(size, 1, 1))
    nothing, rest_took = used_ns(soaker, lambda: time.sleep(max(1.0, took - start_took)))
    others = start + nothing / rest_took * (took - start_took)
    return (used - others) / (operations * BATCHES * size / 1024), told["near"] + told["far"]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 16384
    operations = BYTES // size // BATCHES
    print(machine.describe())
    with tempfile.TemporaryDirectory() as place:
        soaker = Path(place) / "soaker"
        source = Path(__file__).with_name("network_soaker.c")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", source, "-o", soaker], check=True)
        wholes, ends = [], []
        for _ in range(rounds):
            found: dict[str, tuple[float, float]] = {}
            for side in random.sample(["demand", "soaked"], 2):
                if side == "soaked":
                    found[side] = soaked(soaker, size, operations)
                else:
                    told = trial(size, operations, BATCHES)
                    found[side] = (told["demand"], told["near"] + told["far"])
            (demand, own), (gone, own_soaked) = found["demand"], found["soaked"]
            print(
                f"demand {demand:.0f} of ends {own:.0f}; gone {gone:.0f} of ends {own_soaked:.0f} ns",
                flush=True,
            )
            wholes.append(np.log((demand / own) / (gone / own_soaked)))
            ends.append(np.log(own_soaked / own))
    for what, logs in (
        ("demand over what is gone, each by its ends", wholes),
        ("ends, with soakers", ends),
    ):
        print(f"{what}: {machine.ratio(signed_rank.estimate(np.array(logs), alpha=0.05))}")


if __name__ == "__main__":
    main()
