"""What a command costs to start: processor time of it and its children, the median of ten."""

import os
import statistics
import subprocess
import sys

import machine

COMMANDS = (
    "--version",
    "--help",
    "compare --help",
    "compare --nonsense",
    "list systems",
    "list workloads",
    "plan pegasus",
    "archive list",
)


def seconds(command: str) -> float:
    before = os.times()
    subprocess.run(["steelyard", *command.split()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def main() -> int:
    print(machine.describe())
    for command in COMMANDS:
        print(f"{statistics.median(seconds(command) for _ in range(10)):5.2f} s  steelyard {command}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
