"""Whether ten thousand short-lived processes are all accounted for, and what following them costs.

    python bench/watch_forks.py [--processes 10000] [--pairs 10]

tests/monitor/known.c forks so many children one after the other, each of which makes 3 calls and ends. Each
pair is one run unwatched and one at each detail, in random order; the rate is the program's own, by its run
time.
"""

import argparse
import json
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

DETAILS = ("life", "budget", "calls", "latency")


def once(command: list[str | Path], detail: str | None) -> tuple[float, list[dict[str, Any]]]:
    """The seconds that the program took, by its own beginning and end where it was watched; the records."""
    if detail is None:
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
    return (first["end_ns"] - first["begin_ns"]) / 1e9, records


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
    parser.add_argument("--pairs", type=int, default=10)
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    with tempfile.TemporaryDirectory() as name:
        known = watching.build("known", Path(name))
        command: list[str | Path] = [known, "many", str(arguments.processes)]
        rates: dict[str | None, list[float]] = {detail: [] for detail in (None, *DETAILS)}
        accounts: dict[str, set[str]] = {detail: set() for detail in DETAILS}
        for _ in range(arguments.pairs):
            for detail in random.sample(list(rates), len(rates)):
                seconds, records = once(command, detail)
                rates[detail].append(arguments.processes / seconds)
                if detail is not None:
                    accounts[detail].add(account(records))
    base = np.array(rates[None])
    print(f"{'unwatched':9} {np.median(base):9.0f} processes/s")
    for detail in DETAILS:
        ratio = np.median(base / np.array(rates[detail]))
        print(
            f"{detail:9} {np.median(rates[detail]):9.0f} processes/s, {ratio:.3f} times the time; "
            + "; or ".join(sorted(accounts[detail]))
        )


if __name__ == "__main__":
    main()
