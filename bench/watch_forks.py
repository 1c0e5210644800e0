"""Whether ten thousand short-lived processes are all accounted for, and what following them costs.

    python bench/watch_forks.py [--processes 10000] [--blocks 20]

tests/monitor/known.c forks so many children one after the other, each of which makes 3 calls and ends. Each
block is one run unwatched, another one, and one at each detail, in random order; the time is the program's
own, from its exec to its end. Shown: times watched / unwatched, paired within a block; the Hodges-Lehmann
estimate of the log-ratios with the interval of the signed-rank test (95 %).
"""

import argparse
import json
import math
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import machine
import monitors
import numpy as np
import watching

from steelyard.statistics import signed_rank

DETAILS = ("life", "budget", "calls", "latency")
CONDITIONS = (None, "again", *DETAILS)


def once(command: list[str | Path], detail: str | None) -> tuple[float, list[dict[str, Any]]]:
    """The seconds that the program took, by its own beginning and end where it was watched; the records."""
    if detail not in DETAILS:
        began = time.monotonic()
        subprocess.run(command, check=True)
        return time.monotonic() - began, []
    with tempfile.TemporaryFile() as file:
        handle = file.fileno()
        options = ["--backend", "bpf", "--detail", detail, "--records", str(handle), "--"]
        subprocess.run([monitors.watch_program(), *options, *command], pass_fds=(handle,), check=True)
        text = os.pread(handle, os.fstat(handle).st_size, 0)
    records = [json.loads(line) for line in text.splitlines()]
    first = next(one for one in records if one["record"] == "process" and one["generation"] == 0)
    return (first["end_ns"] - first["watched_ns"]) / 1e9, records


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


def ratio(base: list[float], others: list[float]) -> str:
    logs = np.log(np.array(others) / np.array(base))
    one = signed_rank.estimate(logs, alpha=0.05)
    reach = "too few blocks"
    if one.low is not None and one.high is not None:
        reach = f"[{math.exp(one.low):.3f}, {math.exp(one.high):.3f}]"
    return f"{math.exp(one.value):.3f} {reach}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=10_000)
    parser.add_argument("--blocks", type=int, default=20)
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    with tempfile.TemporaryDirectory() as name:
        known = watching.build("known", Path(name))
        command: list[str | Path] = [known, "many", str(arguments.processes)]
        times: dict[str | None, list[float]] = {condition: [] for condition in CONDITIONS}
        accounts: dict[str, set[str]] = {detail: set() for detail in DETAILS}
        for _ in range(arguments.blocks):
            for condition in random.sample(CONDITIONS, len(CONDITIONS)):
                seconds, records = once(command, condition)
                times[condition].append(seconds)
                if condition in DETAILS:
                    accounts[condition].add(account(records))
    rate = arguments.processes / np.median(times[None])
    print(f"unwatched: {rate:.0f} processes/s; again: {ratio(times[None], times['again'])} times the time")
    for detail in DETAILS:
        print(f"{detail:9} {ratio(times[None], times[detail])}; " + "; or ".join(sorted(accounts[detail])))


if __name__ == "__main__":
    main()
