"""How often a system is found to differ from itself: native against native, by the standard study.

    python bench/same_with_itself.py [--system native] [TIMES [BUDGET [STUDY [KEPT]]]]

Counts the verdicts; any claimed difference is wrong here, be it of a metric, of its processor time, of a part
of a curve, or of a group's mean. Then how small the differences are that could be ruled out. Three times five
minutes unless told otherwise, in which nothing else should run. What was measured is kept in the directory
KEPT, and judged again where it is there already.
"""

import argparse
import collections
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import answers
import machine

WRONG = ("faster", "slower")


def claims(found: Mapping[str, Any]) -> Iterator[str]:
    """Each difference that the report claims, in words."""
    for one in (*found["comparisons"], *found["processor_times"]):
        if one["verdict"].startswith(WRONG):
            yield f"{one['cell']} {one['metric']}: {one['verdict']}, {one['ratio']}"
    for curve in found["curves"]:
        for part in (part for parts in curve["parts"].values() for part in parts):
            if part["verdict"].startswith(WRONG):
                yield f"{curve['cell']} {part['part']} {part['number']}: {part['verdict']}, {part['ratio']}"
    for one in found["indices"]:
        if one["verdict"].startswith(WRONG):
            yield f"the mean of {one['group']}: {one['verdict']}, {one['ratio']}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--system", default="native")
    parser.add_argument("times", nargs="?", type=int, default=3)
    parser.add_argument("budget", nargs="?", default="5m")
    parser.add_argument("study", nargs="?", default="standard")
    parser.add_argument("kept", nargs="?", type=Path)
    arguments = parser.parse_args()
    times, budget, system = arguments.times, arguments.budget, arguments.system
    counts: collections.Counter[str] = collections.Counter()
    blocks = []
    bounds: list[float] = []
    false_reports = 0
    print(machine.describe(), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        kept = arguments.kept or Path(scratch)
        for seed in range(times):
            options = ["--study", arguments.study, "--budget", budget, "--seed", str(seed)]
            compare = [system, system, *options]
            found = answers.of(compare, kept / f"{budget}-{seed}")
            verdicts = [one["verdict"] for one in found["comparisons"]]
            blocks.append(found["blocks"])
            counts.update(verdicts)
            bounds += [one["bound"] for one in found["comparisons"] if one["bound"] is not None]
            wrong_here = list(claims(found))
            false_reports += bool(wrong_here)
            for claim in wrong_here:
                print(f"seed {seed}: {claim}")
            print(f"seed {seed}: {found['blocks']} blocks, {dict(collections.Counter(verdicts))}", flush=True)
    total = sum(counts.values())
    wrong = sum(counts[word] for word in WRONG)
    opened = sum(count for word, count in counts.items() if "open" in word)
    print(f"{total} verdicts in {times} experiments of {min(blocks)} to {max(blocks)} blocks: {dict(counts)}")
    print(f"reports with any claimed difference: {false_reports} of {times}")
    print(f"faster or slower: {wrong} = {wrong / total:.1%}")
    print(f"with the size left open: {opened} = {opened / total:.1%}")
    half, most = statistics.quantiles(bounds, n=10)[4], statistics.quantiles(bounds, n=10)[8]
    print(f"bounds: half of the metrics within {half:.2%}, nine tenths within {most:.2%}")


if __name__ == "__main__":
    main()
