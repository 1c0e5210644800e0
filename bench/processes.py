"""What keeping each process's start and end costs, and how exactly the price of multiprogramming is known.

    python bench/processes.py [PROCESSES [ITERATIONS [PAIRS]]]

Runs linpack_processes and processes_by_hand.c (which starts the same processes and keeps nothing) in pairs of
random order, on the same machine code: the Hodges-Lehmann ratio of their times from the first request to the
last end, with its interval. And the price of multiprogramming over those trials, with its interval, once free
and once on one processor.
"""

import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import machine
import numpy as np
import trials

from steelyard.programs import built
from steelyard.statistics import multiprogramming, signed_rank
from steelyard.statistics.multiprogramming import Moments

ROOT = Path(__file__).parent.parent


def build(directory: Path) -> Path:
    """processes_by_hand with the bytes that all programs share."""
    program = directory / "processes_by_hand"
    files = [ROOT / "bench" / "processes_by_hand.c", built.machine_code()]
    include = f"-I{built.source() / 'workloads' / 'cpu'}"
    subprocess.run(["cc", "-std=gnu11", "-O2", "-static", "-s", include, "-o", program, *files], check=True)
    return program


def by_hand(program: Path, processes: int, iterations: int) -> float:
    command = [str(program), str(processes), str(iterations)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def kept(processes: int, iterations: int, *, place: int = 0) -> tuple[float, float]:
    """The time of all together, and the price."""
    settings = (f"processes={processes}", f"iterations={iterations}", f"place={place}", "limit_ms=600000")
    records = trials.records("linpack_processes", *settings)
    (sample,) = [one for one in records if one["record"] == "samples"]
    groups = [(one["metric"], _moments(one)) for one in records if one["record"] == "group"]
    alone = np.median([multiprogramming.elapsed(one)[0] for name, one in groups if name == "alone"])
    (together,) = [one for name, one in groups if name == "together"]
    return float(sample["durations_ns"][0]), multiprogramming.price(together, alone=float(alone))


def _moments(group: dict[str, list[int]]) -> Moments:
    columns = [np.array(group[name], float) for name in ("asked_ns", "began_ns", "ended_ns", "marks_ns")]
    return Moments(columns[0], columns[1], columns[2], columns[3], int(group["processors"]))  # type: ignore[call-overload]


def told(logs: list[float]) -> str:
    found = signed_rank.estimate(np.array(logs), alpha=0.05)
    if found.low is None or found.high is None:
        return f"{math.exp(found.value):.4f} (too few for an interval)"
    low, high = math.exp(found.low), math.exp(found.high)
    return f"{math.exp(found.value):.4f} [{low:.4f}, {high:.4f}]"


def main() -> None:
    processes, iterations, pairs = (*map(int, sys.argv[1:]), *(1000, 100, 8)[len(sys.argv) - 1 :])
    print(machine.describe())
    ratios, free, on_one = [], [], []
    with tempfile.TemporaryDirectory() as directory:
        program = build(Path(directory))
        for _ in range(pairs):
            if random.random() < 0.5:
                plain, (full, price) = by_hand(program, processes, iterations), kept(processes, iterations)
            else:
                (full, price), plain = kept(processes, iterations), by_hand(program, processes, iterations)
            ratios.append(math.log(full / plain))
            free.append(math.log(price))
            on_one.append(math.log(kept(processes, iterations, place=1)[1]))
    print(f"{processes} processes of {iterations} systems of equations, {pairs} pairs")
    print(f"kept against kept nothing: {told(ratios)}")
    print(f"price, free:               {told(free)}")
    print(f"price, on one processor:   {told(on_one)}")


if __name__ == "__main__":
    main()
