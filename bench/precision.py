"""How exactly a comparison knows the differences that it claims, how soon, and what it spends its time on.

    python bench/precision.py [--systems native gvisor] [--study brief] [--budget 120s] [--times 3]
        [--precision 0.5%] [--neighbour] [--busy] [--kept DIRECTORY]

Of each run: the half widths of all intervals, and of the claimed ones (median, and the worst), how many of
these lie within 5, 10 and 15 %, the median bound of what is not claimed, and which share of the command's
time was inside measured batches, in trials, and in starts. With --neighbour a process beside it computes for
half of the time, in turns of some seconds; with --busy one on each processor computes all the time. The run
goes on until all sizes are known to the precision. What was measured stays in the directory, and is judged
again where it is there already.
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
from steelyard import allowance

NEIGHBOUR = """
import random, time
while True:
    until = time.monotonic() + random.uniform(0.5, 4)
    while time.monotonic() < until:
        pass
    time.sleep(random.uniform(0.5, 4))
"""


LOOP = "while True: pass"


@contextmanager
def beside(*programs: str) -> Iterator[None]:
    """These Python programs run meanwhile."""
    processes = [subprocess.Popen([sys.executable, "-c", one]) for one in programs]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def half_width(ratio: Any) -> float:
    """Of an interval, as a fraction."""
    return math.expm1((math.log(ratio["high"]) - math.log(ratio["low"])) / 2)


def has_interval(one: Any) -> bool:
    return bool(one["ratio"]) and one["ratio"]["low"] is not None


def spent(archive: Path) -> dict[str, float]:
    """Where the command's time went, in seconds."""
    with steelyard.open(archive) as opened:
        database = opened.experiments[-1].database
        query = "SELECT sum(duration_ns) / 1e9 FROM samples"
        (inside,) = database.execute(query).fetchone() or (0.0,)
        each = (
            "first(host_ns) / 1e9 AS took, min(began) AS began"  # those of a pair in turns took the same time
        )
        pairs = f"SELECT {each} FROM trials GROUP BY coalesce(together, -trial)"
        query = f"SELECT sum(took), min(began), max(began + took) FROM ({pairs})"
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
    widths_of_all = sorted(half_width(one["ratio"]) for one in found["comparisons"] if has_interval(one))
    claimed = [one for one in found["comparisons"] if one["verdict"].startswith(("faster", "slower"))]
    rest = [one["bound"] for one in found["comparisons"] if one not in claimed and one["bound"] is not None]
    widths = sorted((half_width(one["ratio"]), one["cell"]) for one in claimed)
    within = [sum(width <= most for width, _ in widths) for most in (0.05, 0.1, 0.15)]
    time = spent(archive)
    if widths_of_all:
        print(
            f"{len(widths_of_all)} intervals: half widths {statistics.median(widths_of_all):.2%} in the "
            f"middle, {widths_of_all[len(widths_of_all) * 9 // 10]:.2%} for nine of ten, "
            f"{widths_of_all[-1]:.2%} at most"
        )
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
    parser.add_argument("--precision", default="0.5%")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--neighbour", action="store_true")
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--kept", type=Path)
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(arguments.times):
            archive = (arguments.kept or Path(scratch)) / f"{arguments.study}-{arguments.budget}-{seed}"
            options = ["--study", arguments.study, "--budget", arguments.budget, "--seed", str(seed)]
            options += ["--precision", arguments.precision, "--margin", arguments.precision]
            compare = [*arguments.systems, *options]
            loops = [LOOP] * (len(allowance.processors()) if arguments.busy else 0)
            with beside(*loops, *[NEIGHBOUR] * arguments.neighbour):
                found = answers.of(compare, archive)
            tell(found, archive)


if __name__ == "__main__":
    main()
