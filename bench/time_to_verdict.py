"""How soon a comparison says what it will say in the end: of the differences beyond 10 % that a run finds,
how many were firm after 20 s, 30 s, a minute, five minutes.

    python bench/time_to_verdict.py [--systems native native-musl] [--study standard] [--budget 10m]
    python bench/time_to_verdict.py --experiment DIRECTORY

One run, then judged again with the trials that it had by each moment: what is measured next depends on the
past alone, so this is what a run would have said that was stopped then. Also counts verdicts that were
taken back.
"""

import argparse
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import machine

from steelyard.analysis import comparison, rows
from steelyard.analysis.model import Comparison
from steelyard.analysis.observations import Observations
from steelyard.analysis.rows import Rows
from steelyard.archive import experiments, reading
from steelyard.archive.experiments import StoredExperiment
from steelyard.statistics import verdict

MOMENTS_S = (5, 10, 20, 30, 60, 120, 300, 600)
BEYOND = 1.1

What = tuple[str, str, str]  # a system, a cell, a metric


def measured(arguments: argparse.Namespace, root: str) -> StoredExperiment:
    command = [
        Path(sys.executable).with_name("steelyard"), "compare", *arguments.systems, "--study",
        arguments.study, "--budget", arguments.budget, "--archive", root,
    ]  # fmt: skip
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return experiments.find(Path(root), None)


def by(found: StoredExperiment, whole: Rows, until_s: float) -> dict[What, Comparison]:
    """The comparisons by what had been measured so long after the first trial had begun."""
    first = min(one.began for one in whole.trials)
    kept = {
        (one.block, one.system, one.cell)
        for one in whole.trials
        if one.began + (one.host_ns or 0) / 1e9 <= first + until_s
    }
    part = Rows(
        [one for one in whole.trials if (one.block, one.system, one.cell) in kept],
        [one for one in whole.values if (one.block, one.system, one.cell) in kept],
        [one for one in whole.counts if (one.block, one.system, one.cell) in kept],
        [one for one in whole.concurrent_runs if (one.block, one.system, one.cell) in kept],
    )
    observations = Observations(found, part)
    return {(one.system, one.cell, one.metric): one for one in comparison.all_of(observations)}


def is_firm(one: Comparison) -> bool:
    return one.verdict in (verdict.FASTER, verdict.SLOWER)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--systems", nargs="+", default=["native", "native-musl"])
    parser.add_argument("--study", default="standard")
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--experiment", help="judge this one, and measure nothing")
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    with tempfile.TemporaryDirectory() as root:
        if arguments.experiment:
            found = experiments.find(Path(), arguments.experiment)
        else:
            found = measured(arguments, root)
        with reading.connect(found) as connection:
            whole = rows.read(connection)
        report(found, whole)


def report(found: StoredExperiment, whole: Rows) -> None:
    end = by(found, whole, math.inf)
    large = {
        what: one
        for what, one in end.items()
        if is_firm(one) and one.ratio and abs(math.log(one.ratio.value)) > math.log(BEYOND)
    }
    print(
        f"{', '.join(found.header['systems'])}: {len(end)} comparisons, {len(large)} firm "
        "beyond 10 % in the end"
    )
    for moment in MOMENTS_S:
        if moment > found.header["budget_s"]:
            break
        then = by(found, whole, moment)
        firm = [
            what for what, one in large.items() if is_firm(then[what]) and then[what].verdict == one.verdict
        ]
        back = [
            what
            for what, one in then.items()
            if is_firm(one) and end[what].verdict not in (one.verdict, f"{one.verdict}, size open")
        ]
        bounds = sorted(one.bound for one in then.values() if one.bound is not None)
        middle = f"{bounds[len(bounds) // 2]:.1%}" if bounds else "none"
        print(
            f"after {moment:3} s: {len(firm):3} of {len(large)} firm ({len(firm) / max(1, len(large)):.0%}); "
            f"{len(back)} taken back later; median bound {middle}"
        )


if __name__ == "__main__":
    main()
