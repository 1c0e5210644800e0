"""Whether ten thousand short-lived processes are all accounted for (what that costs: watch_storm.py --forks).

    python bench/watch_forks.py [--processes 10000] [--times 10]

tests/monitor/known.c forks that many children one after the other, each of which makes 3 calls and ends.
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import machine
import monitors

# isort: split
import monitor_runs

DETAILS = ("life", "budget", "calls", "latency")


def once(command: list[str | Path], detail: str) -> list[dict[str, Any]]:
    """The records of one watch."""
    with tempfile.TemporaryFile() as file:
        handle = file.fileno()
        options = ["--backend", "bpf", "--detail", detail, "--records", str(handle), "--"]
        subprocess.run([monitors.watch_program(), *options, *command], pass_fds=(handle,), check=True)
        text = os.pread(handle, os.fstat(handle).st_size, 0)
    return [json.loads(line) for line in text.splitlines()]


def account(records: list[dict[str, Any]]) -> str:
    children = [one for one in records if one["record"] == "process" and one["generation"] == 1]
    end = records[-1]
    ended = sum(one["end_ns"] is not None for one in children)
    lost = "/".join(str(end[name]) for name in ("lost_slots", "lost_calls", "lost_events"))
    calls = ""
    if records[0]["detail"] in ("calls", "latency"):
        made = sum(one["calls"].get("getppid", {"calls": 0})["calls"] for one in children)
        calls = f", getppid {made}"
    return f"{len(children)} children, {ended} with an end, lost {lost}{calls}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=10)
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    command: list[str | Path] = [
        monitor_runs.meson.program("tests/monitor/known"),
        "many",
        str(arguments.processes),
    ]
    for detail in DETAILS:
        found = Counter(account(once(command, detail)) for _ in range(arguments.times))
        for what, times in found.items():
            print(f"{detail:8} {times} times: {what}", flush=True)


if __name__ == "__main__":
    main()
