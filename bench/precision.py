"""How exactly a comparison knows the differences that it claims, how soon, and what it spends its time on.

    python bench/precision.py [--systems native gvisor] [--study brief] [--budget 120s] [--times 3]
        [--neighbour] [--kept DIRECTORY]

Of each run: the half widths of the claimed intervals (median, and the worst), how many lie within 5, 10 and
15 %, the median bound of what is not claimed, and which share of the command's time was inside measured
batches, in trials, and in starts. With --neighbour a process beside it computes for half of the time, in
turns of some seconds. What was measured stays in the directory, and is judged anew where it is there already.
"""

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import answers
import machine

import steelyard

NEIGHBOUR = """
import random, time
while True:
    until = time.monotonic() + random.uniform(0.5, 4)
    while time.monotonic() < until:
        pass
    time.sleep(random.uniform(0.5, 4))
"""


@contextmanager
def neighbour(wanted: bool) -> Iterator[None]:
    """A process that computes for half of the time."""
    process = subprocess.Popen([sys.executable, "-c", NEIGHBOUR]) if wanted else None
    try:
        yield
    finally:
        if process:
            process.kill()
            process.wait()


def half_width(ratio: Any) -> float:
    """Of an interval, as a fraction."""
    return math.expm1((math.log(ratio["high"]) - math.log(ratio["low"])) / 2)


def spent(archive: Path) -> dict[str, float]:
    """Where the command's time went, in seconds."""
    with steelyard.open(archive) as opened:
        database = opened.experiments[-1].database
        query = "SELECT sum(duration_ns) / 1e9 FROM samples"
        (inside,) = database.execute(query).fetchone() or (0.0,)
        query = "SELECT sum(host_ns) / 1e9, min(began), max(began + host_ns / 1e9) FROM trials"
        (trials, began, ended) = database.execute(query).fetchone() or (0.0, 0.0, 0.0)
        query = "SELECT sum(start_s), count(*) FROM systems"
        (starts, boots) = database.execute(query).fetchone() or (0.0, 0)
    return {
        "inside": float(inside),
        "trials": float(trials),
        "whole": float(ended - began),
        "starts": float(starts),
        "boots": float(boots),
    }


def tell(found: Any, archive: Path) -> None:
    """One line of one run."""
    claimed = [one for one in found["comparisons"] if one["verdict"].startswith(("faster", "slower"))]
    rest = [one["bound"] for one in found["comparisons"] if one not in claimed and one["bound"] is not None]
    widths = sorted((half_width(one["ratio"]), one["cell"]) for one in claimed)
    within = [sum(width <= most for width, _ in widths) for most in (0.05, 0.1, 0.15)]
    time = spent(archive)
    if widths:
        middle, (worst, cell) = statistics.median(width for width, _ in widths), widths[-1]
        print(
            f"{len(widths)} claimed: half widths {middle:.1%} in the middle, {worst:.1%} at worst ({cell}); "
            f"within 5, 10, 15 %: {', '.join(map(str, within))}"
        )
    if rest:
        print(f"{len(rest)} others: no difference above {statistics.median(rest):.1%} (median)")
    print(
        f"of {time['whole']:.1f} s: {time['inside'] / time['whole']:.1%} inside batches, "
        f"{time['trials'] / time['whole']:.1%} in trials, {time['starts'] / time['whole']:.1%} in "
        f"{time['boots']:.0f} starts",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--systems", nargs="+", default=["native", "gvisor"])
    parser.add_argument("--study", default="brief")
    parser.add_argument("--budget", default="120s")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--neighbour", action="store_true")
    parser.add_argument("--kept", type=Path)
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(arguments.times):
            archive = (arguments.kept or Path(scratch)) / f"{arguments.study}-{arguments.budget}-{seed}"
            options = ["--study", arguments.study, "--budget", arguments.budget, "--seed", str(seed)]
            compare = [*arguments.systems, *options]
            with neighbour(arguments.neighbour):
                found = answers.of(compare, archive)
            tell(found, archive)


if __name__ == "__main__":
    main()
