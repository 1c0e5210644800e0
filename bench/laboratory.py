"""What the laboratory itself costs: between two trials on a native system, and for --help.

python bench/laboratory.py
"""

import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine

from steelyard.archive import experiments, reading

HELPS = 20


def gaps_ms(steelyard: Path, root: str) -> list[float]:
    """From the end of one trial to the beginning of the next, by a run of native against native."""
    what = ["native", "native", "--only", "sieve", "--only", "syscall", "--budget", "30s"]
    command = [str(steelyard), "compare", *what, "--archive", root]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with reading.connect(experiments.find(Path(root), None)) as connection:
        rows = connection.execute(
            "SELECT began, began + host_ns / 1e9 FROM trials WHERE status = 'ok' ORDER BY began"
        ).fetchall()
    return [(after[0] - before[1]) * 1000 for before, after in itertools.pairwise(rows)]


def help_ms(steelyard: Path) -> list[float]:
    found = []
    for _ in range(HELPS):
        begun = time.perf_counter()
        subprocess.run([steelyard, "--help"], stdout=subprocess.DEVNULL, check=True)
        found.append((time.perf_counter() - begun) * 1000)
    return found


def main() -> None:
    steelyard = Path(sys.executable).with_name("steelyard")
    print(machine.describe())
    with tempfile.TemporaryDirectory() as root:
        for what, values in (("between trials", gaps_ms(steelyard, root)), ("--help", help_ms(steelyard))):
            ordered = sorted(values)
            most = ordered[int(0.95 * (len(ordered) - 1))]
            print(
                f"{what}: median {statistics.median(ordered):.1f} ms, 95 % within {most:.1f} ms, "
                f"at most {ordered[-1]:.1f} ms ({len(ordered)})"
            )


if __name__ == "__main__":
    main()
