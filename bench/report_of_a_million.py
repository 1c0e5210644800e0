"""How long a report over an archive of one million samples takes, as a whole process.

    python bench/report_of_a_million.py [SAMPLES [RUNS]]

The archive is made here, by the product's own journal, from made-up durations: 12 cells, 2 systems.
"""

import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine

from steelyard.archive import closing, experiments
from steelyard.archive.journal import Journal
from steelyard.events import Outcome, Samples, Started, Usage
from steelyard.running import experiment
from steelyard.study import plan, study_file
from steelyard.study.plan import Plan

SAMPLES = 1_000_000
BLOCKS = 28
RUNS = 5


def make(root: Path, samples: int) -> int:
    """Writes the experiment and returns how many samples it holds."""
    made = plan.make(study_file.read("pegasus"), systems=("one", "two"), processors=2, seed=1)
    details = {
        "command": "", "steelyard": "bench", "python": "", "directory": "/tmp", "host": {},
        "boot_systems": [], "system_summaries": {},
        "workloads": experiment.workloads_known(),
    }  # fmt: skip
    made_one = experiments.create(root, made, budget_s=1, same="", details=details)
    journal = Journal(made_one.path)
    for system in made.systems:
        hello = {"program_sha256": "0", "compiler": "", "libc": ""}
        journal.append(Started(system, 1, hello, {"kernel": "none"}, 0.1))
    count = sum(_append(journal, made, number, samples) for number in range(BLOCKS))
    journal.close()
    closing.close(made_one)
    return count


def _append(journal: Journal, made: Plan, number: int, samples: int) -> int:
    trials = [trial for cell in made.cells for trial in plan.visit(made, cell, number)]
    each = samples // BLOCKS // len(trials) + 1
    for trial in trials:
        durations = tuple(random.randint(9_000_000, 11_000_000) for _ in range(each))
        used = Usage(0, "time", each, 1, 1, 0, 0, 0, 0, 0, 0)
        journal.append(Outcome(trial, 1, "ok", host_ns=10**9, guest_ns=10**9, clock_doubt_ns=1000,
                               samples=(Samples(0, "time", 1000, durations),), usage=(used,)))  # fmt: skip
    return each * len(trials)


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else RUNS
    steelyard = Path(sys.executable).with_name("steelyard")
    print(machine.describe())
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        print(f"{make(root, samples):,} samples")
        for words in (["--format", "json"], ["--html", str(root / "report.html")]):
            times = []
            for _ in range(runs):
                begun = time.perf_counter()
                subprocess.run([steelyard, "report", "--archive", root, *words], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, check=True)  # fmt: skip
                times.append(time.perf_counter() - begun)
            print(f"report {words[0]}: {statistics.median(times):.2f} s (median of {runs})")


if __name__ == "__main__":
    main()
