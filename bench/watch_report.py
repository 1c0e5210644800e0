"""What summing up a watch of many short processes takes: reading its records, the account, each format.

    python bench/watch_report.py [--processes 2000] [--rounds 5] [--beside OTHER/src]

A shell starts that many programs one after another, watched as `steelyard watch` does by default, and once
more with --detail calls. Then each round reads the same records in a new process for each format, in random
order; the table has the least processor time and wall clock of the rounds. --beside: the same by another
source tree, in the same rounds.
"""

import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import machine

import steelyard
from steelyard.watch import monitor
from steelyard.watch.order import WatchOrder

FORMATS = ("text", "json", "processes", "calls")  # the last two are tables of CSV
HERE = str(Path(steelyard.__file__).parents[1])

# In a process of its own, which imports the tree that it is to measure.
SUM_UP = """
import io, resource, sys, time
name, form, by = sys.argv[1:]
from steelyard.watch import accounts, console, plain, records
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
printed = io.StringIO()
with open(name, "rb") as file:
    begun, wall = used(), time.perf_counter()
    names = accounts.of.__kwdefaults__
    choices = {"with_groups": form == "text" or by != "process", "group_series": form != "text"}
    known = {name: value for name, value in choices.items() if name in names}  # an older tree has fewer
    account = accounts.of(records.read(file), by=by, **known)
    if form == "text":
        console.print_account(account, printed, watched="it", top=20)
    elif form == "json":
        plain.print_json(account, printed)
    else:
        plain.print_csv(account, printed, table=form)
    print(used() - begun, time.perf_counter() - wall)
"""


def record(path: Path, processes: int, detail: str | None) -> int:
    """Watches, keeps the records, and returns how many bytes they are."""
    script = f"i=0; while [ $i -lt {processes} ]; do /bin/true; i=$((i+1)); done"
    order = WatchOrder(command=("sh", "-c", script), detail=detail)
    with monitor.start(order) as running:
        running.finish()
        running.save(path)
    return path.stat().st_size


def summed_up(tree: str, path: Path, form: str, by: str) -> tuple[float, float]:
    """Processor time and wall clock, in seconds."""
    answer = subprocess.run(
        [sys.executable, "-c", SUM_UP, str(path), form, by],
        env=os.environ | {"PYTHONPATH": tree},
        stdout=subprocess.PIPE,
        check=True,
    )
    cpu, wall = answer.stdout.split()
    return float(cpu), float(wall)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beside", metavar="DIRECTORY", help="another tree's src")
    arguments = parser.parse_args()
    trees = [HERE, *([str(Path(arguments.beside).resolve())] if arguments.beside else [])]
    print(machine.describe(), flush=True)
    with tempfile.TemporaryDirectory() as directory:
        for detail in (None, "calls"):
            path = Path(directory) / str(detail)
            size = record(path, arguments.processes, detail)
            print(f"detail {detail or 'budget'}: {arguments.processes} processes, {size / 1e6:.1f} MB")
            cases = list(itertools.product(trees, FORMATS, ("process", "program")))
            least: dict[tuple[str, str, str], tuple[float, float]] = {}
            for _ in range(arguments.rounds):
                for case in random.sample(cases, len(cases)):
                    found = summed_up(case[0], path, *case[1:])
                    so_far = least.get(case, found)
                    least[case] = min(so_far[0], found[0]), min(so_far[1], found[1])
            for form, by in itertools.product(FORMATS, ("process", "program")):
                cells = ", beside ".join(
                    "{:.3f} s of CPU, {:.3f} s".format(*least[tree, form, by]) for tree in trees
                )
                print(f"  {form:9} by {by:7}  {cells}", flush=True)


if __name__ == "__main__":
    main()
