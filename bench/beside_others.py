"""How exactly a difference that was put into a program is known: by Steelyard and in three other ways, all
with the same work in the same time.

    python bench/beside_others.py [--workload sieve] [--shares 0 0.01] [--budget 10s] [--times 6] [--busy]

Two programs are compared: one and the same (a share of 0), or such as bench/slowdown.py builds, whose true
ratio is measured directly. The ways, in random order in each repetition:

- steelyard: a study of that workload alone, whose batches take turns.
- hyperfine: two commands of 20 ms of that work, all runs of the one and then all of the other. Their exported
  times are compared by Welch's t-test, as in hyperfine's own script.
- benchstat: runs of 20 ms, one of each program in turn, in Go's benchmark format.
- duet: both programs at once, on two processors that they exchange after each run; of batches that are done
  at the same time the ratio is taken. Mean of the logarithms over runs, 95 % by Student (Bulej and others
  2020, who take a bootstrap's interval).

Of each way: how often it says that the programs differ, by how much its estimate is off the truth (root of
the mean square), and half of its 95 % interval's width (median), of which benchstat has none. With --busy a
loop runs on each processor meanwhile. hyperfine and benchstat are looked for in PATH, and left out where they
are missing.
"""

import argparse
import csv
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import answers
import machine
import numpy as np
import slowdown
import trials
from scipy import stats

from steelyard import allowance
from steelyard.quantities import parse_duration

RUN_S = 0.02
STUDY = """
name = "one"
title = "One workload"
systems = ["native"]
[trial]
place = 1
[[workload]]
name = "{workload}"
"""


@dataclass(frozen=True)
class Answer:
    """What one way says of the second program, relative to the first."""

    log_ratio: float
    half_width: float | None  # of its logarithm's interval
    differ: bool


@dataclass(frozen=True)
class Pair:
    """The two programs, and what is asked of them."""

    programs: tuple[Path, Path]
    workload: str
    operations: int  # that take RUN_S
    seconds: float
    place: Path  # for files

    def words(self, program: Path) -> list[str]:
        """A command that does RUN_S of that work."""
        settings = [f"operations={self.operations}", "batches=1", "warmup_ns=0", "place=1"]
        return [str(program), "run", self.workload, *settings]


def by_steelyard(pair: Pair) -> Answer:
    study = pair.place / "one.toml"
    study.write_text(STUDY.format(workload=pair.workload))
    options = ["--study", str(study), "--budget", f"{pair.seconds:g}s", "--precision", "0.1%"]
    first, second = (f"native+{one.name}" for one in pair.programs)
    environment = dict(os.environ) | {"STEELYARD_PROGRAMS": str(pair.programs[0].parent.absolute())}
    archive = Path(tempfile.mkdtemp(dir=pair.place)) / "archive"
    (one,) = answers.of([first, second, *options], archive, environment)["comparisons"]
    ratio = one["ratio"]
    width = (math.log(ratio["high"]) - math.log(ratio["low"])) / 2
    return Answer(math.log(ratio["value"]), width, one["verdict"].startswith(("faster", "slower")))


def by_hyperfine(pair: Pair) -> Answer:
    export = pair.place / "times.json"
    runs = max(10, round(pair.seconds / 2 / (RUN_S + 0.005)))
    words = ["-N", "--style", "none", "--warmup", "2", "--runs", str(runs), "--export-json", str(export)]
    commands = [" ".join(pair.words(one)) for one in pair.programs]
    subprocess.run(["hyperfine", *words, *commands], check=True, capture_output=True)
    first, second = (np.array(one["times"]) for one in json.loads(export.read_text())["results"])
    variance = sum(one.var(ddof=1) / len(one) / one.mean() ** 2 for one in (first, second))
    differ = stats.ttest_ind(first, second, equal_var=False).pvalue < 0.05
    return Answer(math.log(first.mean() / second.mean()), 1.96 * math.sqrt(variance), bool(differ))


def by_benchstat(pair: Pair) -> Answer:
    texts = [pair.place / name for name in ("old.txt", "new.txt")]
    lines: list[list[str]] = [[], []]
    for _ in until(pair.seconds):
        for program, own in zip(pair.programs, lines, strict=True):
            own.append(f"BenchmarkWork 1 {run(pair, program):.3f} ns/op")
    for text, own in zip(texts, lines, strict=True):
        text.write_text("\n".join(own) + "\n")
    words = ["benchstat", "-format", "csv", *map(str, texts)]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    (row,) = (one for one in csv.reader(said.splitlines()) if one and one[0] == "Work")
    return Answer(math.log(float(row[1]) / float(row[3])), None, row[5] != "~")


def run(pair: Pair, program: Path) -> float:
    """What an operation takes, in a process of its own that does RUN_S of them."""
    return per_operation(subprocess.run(pair.words(program), check=True, stdout=subprocess.PIPE).stdout)[0]


def per_operation(said: bytes) -> list[float]:
    """The batches of a trial, in ns an operation."""
    (samples,) = (one for one in map(json.loads, said.splitlines()) if one["record"] == "samples")
    return [one / samples["operations"] for one in samples["durations_ns"]]


def by_duet(pair: Pair) -> Answer:
    processors = sorted(allowance.processors())[:2]
    settings = [f"operations={max(1, pair.operations // 20)}", "batches=20", "warmup_ns=2000000", "place=1"]
    found = []
    for _ in until(pair.seconds):
        both = [
            subprocess.Popen(
                ["taskset", "-c", str(processor), str(program), "run", pair.workload, *settings],
                stdout=subprocess.PIPE,
            )
            for program, processor in zip(pair.programs, processors, strict=True)
        ]
        first, second = (np.log(per_operation(one.communicate()[0])) for one in both)
        found.append(float(np.mean(first - second)))
        processors.reverse()
    width = float(stats.t.ppf(0.975, len(found) - 1)) * statistics.stdev(found) / math.sqrt(len(found))
    return Answer(statistics.fmean(found), width, abs(statistics.fmean(found)) > width)


WAYS: dict[str, Callable[[Pair], Answer]] = {
    "steelyard": by_steelyard,
    "hyperfine": by_hyperfine,
    "benchstat": by_benchstat,
    "duet": by_duet,
}


def until(seconds: float) -> Iterator[None]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def print_all(share: float, truth: float, found: dict[str, list[Answer]]) -> None:
    print(f"{share:.1%} put in, {math.expm1(truth):+.2%} in truth:")
    for way, own in found.items():
        off = math.sqrt(statistics.fmean((one.log_ratio - truth) ** 2 for one in own))
        widths = [one.half_width for one in own if one.half_width is not None]
        width = f"{statistics.median(widths):.2%}" if widths else "none"
        print(
            f"  {way:10} says that they differ {sum(one.differ for one in own)} of {len(own)} times; "
            f"off by {off:.2%}; half width {width}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", default="sieve", choices=sorted(slowdown.PLACES))
    parser.add_argument("--shares", type=float, nargs="+", default=[0.0, 0.01])
    parser.add_argument("--budget", default="10s")
    parser.add_argument("--times", type=int, default=6)
    parser.add_argument("--busy", action="store_true")
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    missing = [name for name in ("hyperfine", "benchstat") if shutil.which(name) is None]
    if missing:
        print(f"not in PATH, and left out: {', '.join(missing)}")
    ways = {name: way for name, way in WAYS.items() if name not in missing}
    loops = len(allowance.processors()) if arguments.busy else 0
    for share in arguments.shares:
        with tempfile.TemporaryDirectory() as made:
            place = Path(made)
            plain, slowed = place / "programs" / "plain", place / "programs" / "slowed"
            truth = 0.0
            if share:
                slowdown.plant({arguments.workload: share}, plain, slowed, place)
                truth = slowdown.ratio(plain, slowed, arguments.workload, pairs=slowdown.PAIRS).value
            else:
                slowdown.build({arguments.workload: 0}, plain, place)
                shutil.copy(plain, slowed)
            alone_ns = trials.floor_ns(trials.samples(arguments.workload, "place=1", program=plain))
            operations = max(1, round(RUN_S * 1e9 / alone_ns))
            seconds = parse_duration(arguments.budget) / 1e9
            pair = Pair((plain, slowed), arguments.workload, operations, seconds, place)
            found: dict[str, list[Answer]] = defaultdict(list)
            with slowdown.busy_loops(loops):
                for _ in range(arguments.times):
                    for name in random.sample(list(ways), len(ways)):
                        found[name].append(ways[name](pair))
            print_all(share, truth, found)


if __name__ == "__main__":
    main()
