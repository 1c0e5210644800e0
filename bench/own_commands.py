"""How often two commands are said to differ: commands that are equal, and such that are 2 % and 5 % apart by
construction, by `steelyard compare --command` and by hyperfine in the same time.

    python bench/own_commands.py [--budget 10s] [--times 20] [--apart 0 0.02 0.05] [--busy 0]

Both commands are one program, which computes for as many turns as its argument says: 20 ms, and that much
more. Of hyperfine the two exported lists of times are compared by Welch's t-test at 5 %, as its own script
does; it has the same time, half for each command. With --busy that many busy loops run beside, each half of
the time. The order of the two tools is random in each repetition.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import machine
from scipy import stats

from steelyard.quantities import parse_duration

SOURCE = """
#include <stdlib.h>
int main(int argc, char *argv[])
{
	volatile unsigned long value = 1;
	for (long turns = argc > 1 ? atol(argv[1]) : 0; turns > 0; turns--)
		value = value * 6364136223846793005ul + 1;
	return 0;
}
"""
WANTED_S = 0.02
STEELYARD = Path(sys.executable).with_name("steelyard")
# Half of the time busy, 50 ms at once.
NEIGHBOUR = (
    "import time\nwhile True:\n end = time.time() + .05\n while time.time() < end: pass\n time.sleep(.05)"
)


def turns_for(program: Path, seconds: float) -> int:
    """That many turns take that long on this machine: the shortest of some tries says it."""
    turns = 1_000_000
    while True:
        took = []
        for _ in range(5):
            began = time.perf_counter()
            subprocess.run([program, str(turns)], check=True)
            took.append(time.perf_counter() - began)
        if min(took) > seconds / 2:
            return round(turns * seconds / min(took))
        turns *= 2


def by_steelyard(commands: list[str], budget: str, archive: str) -> dict[str, str]:
    """The verdicts on the time and on processor time."""
    words = ["compare", "--no-watch", "--budget", budget, "--format", "json", "--archive", archive]
    for name, command in zip(("one", "two"), commands, strict=True):
        words += ["--command", f"{name}={command}"]
    answer = subprocess.run([STEELYARD, *words], capture_output=True, text=True, check=True)
    told = json.loads(answer.stdout)
    by_metric = [*told["comparisons"], *told["processor_times"]]
    return {one["metric"]: one["verdict"] for one in by_metric if one["direction"] != "none"}


def by_hyperfine(commands: list[str], budget: str, place: Path) -> str:
    """Whether the two lists of times differ by Welch's t-test."""
    seconds = parse_duration(budget) / 1e9
    runs = max(10, round(seconds / 2 / (WANTED_S + 0.001)))
    export = place / "times.json"
    words = ["-N", "--style", "none", "--runs", str(runs), "--export-json", str(export), *commands]
    subprocess.run(["hyperfine", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    first, second = (one["times"] for one in json.loads(export.read_text())["results"])
    return "differ" if stats.ttest_ind(first, second, equal_var=False).pvalue < 0.05 else "same"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", default="10s")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--apart", type=float, nargs="+", default=[0.0, 0.02, 0.05])
    parser.add_argument("--busy", type=int, default=0)
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    has_other = shutil.which("hyperfine") is not None
    if not has_other:
        print("hyperfine is not installed (on Debian: apt-get install hyperfine)")
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        (place / "turns.c").write_text(SOURCE)
        program = place / "turns"
        subprocess.run(["cc", "-O2", "-o", program, place / "turns.c"], check=True)
        turns = turns_for(program, WANTED_S)
        neighbours = [subprocess.Popen([sys.executable, "-c", NEIGHBOUR]) for _ in range(arguments.busy)]
        try:
            for apart in arguments.apart:
                commands = [f"{program} {turns}", f"{program} {round(turns * (1 + apart))}"]
                report(apart, commands, arguments, place, has_other=has_other)
        finally:
            for one in neighbours:
                one.kill()
                one.wait()


def report(
    apart: float, commands: list[str], arguments: argparse.Namespace, place: Path, *, has_other: bool
) -> None:
    ours: Counter[tuple[str, str]] = Counter()
    others: Counter[str] = Counter()
    for number in range(arguments.times):

        def compare(number: int = number) -> None:
            ours.update(by_steelyard(commands, arguments.budget, str(place / f"{apart}-{number}")).items())

        def time_them() -> None:
            others[by_hyperfine(commands, arguments.budget, place)] += 1

        tools = [compare, *([time_them] if has_other else [])]
        for tool in random.sample(tools, len(tools)):
            tool()
    print(f"{apart:.0%} apart, {arguments.times} times {arguments.budget}, {arguments.busy} busy beside:")
    for (metric, word), count in sorted(ours.items()):
        print(f"  steelyard, {metric}: {word} {count}")
    for word, count in sorted(others.items()):
        print(f"  hyperfine and Welch's t-test: {word} {count}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
