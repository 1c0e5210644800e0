"""Whether the standard comparison finds a slowdown of 5 % that was put into one workload, and how large it
says it is.

    python bench/slowdown.py [--workload sieve] [--share 0.05] [--budget 5m]

Two programs are built from the same source, into whose workload a busy loop was written inside the
operation: of no turns in one, of as many as make 5 % in the other. What the slowdown truly is, is measured
directly: long trials of both, in pairs, nothing between them. Then `steelyard compare` weighs one against
the other with the standard study, and its verdict on that workload and on all others is printed beside the
truth. The others run different programs too (their code lies elsewhere in the file), so what it says of them
is not quite an A/A comparison.
"""

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import machine
import numpy as np

from steelyard import builds, programs
from steelyard.builds import Build
from steelyard.statistics import signed_rank, verdict

PAIRS = 60
# Where the loop goes: behind the first statement of the workload's operation.
PLACES = {"sieve": ("cpu/sieve.c", "\t\tint primes = pass();\n")}
LOOP = "\t\tfor (volatile int turn = 0; turn < TURNS; turn++)\n\t\t\t;\n"


def build(workload: str, turns: int, place: Path, directory: Path) -> None:
    """A program whose workload turns so many times besides its work."""
    source = directory / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(programs.source(), source)
    name, behind = PLACES[workload]
    text = (source / name).read_text()
    assert behind in text
    (source / name).write_text(text.replace(behind, behind + LOOP.replace("TURNS", str(turns)), 1))
    builds.compile_to(place, Build(), source=source)


def floor_ns(program: Path, workload: str, batches: int) -> float:
    """The lower quartile of a trial's batches, per operation."""
    command = [program, "run", workload, f"batches={batches}", "place=1", "warmup_ns=20000000"]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found = next(one for one in map(json.loads, answer.stdout.splitlines()) if one["record"] == "samples")
    return float(np.quantile(found["durations_ns"], 0.25)) / found["operations"]


def ratio(first: Path, second: Path, workload: str, *, pairs: int) -> signed_rank.Estimate:
    """First over second, below 1 where the second is slower; in pairs of random order."""
    logs = []
    for _ in range(pairs):
        order = random.sample((first, second), 2)
        told = {program: floor_ns(program, workload, 20) for program in order}
        logs.append(math.log(told[first] / told[second]))
    return signed_rank.estimate(np.array(logs), alpha=0.05)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", default="sieve", choices=sorted(PLACES))
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--budget", default="5m")
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        plain, slowed = directory / "programs" / "plain", directory / "programs" / "slowed"
        build(arguments.workload, 0, plain, directory)
        # A first build with a thousand turns tells what one of them costs.
        build(arguments.workload, 1000, slowed, directory)
        alone = floor_ns(plain, arguments.workload, 20)
        turn = (floor_ns(slowed, arguments.workload, 20) - alone) / 1000
        turns = max(1, round(arguments.share * alone / turn))
        build(arguments.workload, turns, slowed, directory)
        truth = ratio(plain, slowed, arguments.workload, pairs=PAIRS)
        print(f"{arguments.workload}: {alone:.1f} ns, {turns} turns of {turn:.2f} ns put into it")
        print(f"the truth, measured directly in {PAIRS} pairs: ratio {said(truth)}", flush=True)
        report(plain, slowed, arguments, truth)


def report(plain: Path, slowed: Path, arguments: argparse.Namespace, truth: signed_rank.Estimate) -> None:
    environment = dict(os.environ) | {"STEELYARD_PROGRAMS": str(plain.parent)}
    command = [
        Path(sys.executable).with_name("steelyard"), "compare", "native+plain", "native+slowed",
        "--budget", arguments.budget, "--archive", plain.parent.parent / "archive", "--format", "json",
    ]  # fmt: skip
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    found = json.loads(answer.stdout)
    for one in found["comparisons"]:
        if one["workload"] == arguments.workload:
            shown = one["ratio"]
            covers = shown["low"] <= math.exp(truth.value) <= shown["high"]
            print(
                f"steelyard says: {one['verdict']}, ratio {shown['value']:.4f} "
                f"[{shown['low']:.4f}, {shown['high']:.4f}] after {one['blocks']} blocks; "
                f"the interval {'covers' if covers else 'does not cover'} the truth"
            )
    others = [one for one in found["comparisons"] if one["workload"] != arguments.workload]
    firm = [one for one in others if one["verdict"] in (verdict.FASTER, verdict.SLOWER)]
    print(f"of {len(others)} other metrics {len(firm)} are faster or slower between the two programs:")
    for one in firm:
        print(f"  {one['cell']} {one['metric']}: {one['verdict']}, ratio {one['ratio']['value']:.3f}")


def said(estimate: signed_rank.Estimate) -> str:
    assert estimate.low is not None
    assert estimate.high is not None
    return f"{math.exp(estimate.value):.4f} [{math.exp(estimate.low):.4f}, {math.exp(estimate.high):.4f}]"


if __name__ == "__main__":
    main()
