"""Whether a build measures the kernel or itself: system calls by two libcs' builds, in two layouts.

    python bench/same_entry.py [--rounds N] [--reuse DIRECTORY] [WORKLOAD ...]

First what a way into the kernel costs by itself (entry.c): no return after it, one, two, three; the libcs'
own read; a signal with and without restartable sequences. Then the load program built for glibc and for
musl, each once as it is and once with some kilobytes of code put before all else, so that everything lies
elsewhere: time of each over the first. All on one processor, in random order within a round, a fresh
process each; ratios by Hodges and Lehmann with 95 % intervals, of the lower quartile of a process's batches.
"""

import argparse
import math
import os
import random
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import machine
import numpy as np
import sources
import trials

from steelyard.programs import builds, built
from steelyard.statistics import signed_rank

ENTRY_FLAGS = ["-std=c11", "-O2", "-D_GNU_SOURCE", "-static", "-falign-functions=64", "-falign-loops=32"]
WAYS = ("one", "inline", "jump", "two", "three")
WORKLOADS = (
    "syscall", "read_zero", "write_null", "stat_file", "fstat_file", "open_close", "select_files",
    "poll_files", "clock_call", "yield", "futex_wake", "signal_install", "signal_catch",
)  # fmt: skip
BALLAST = """
static __attribute__((constructor, used)) void ballast(void)
{
	__asm__ volatile("jmp 1f; .skip 11111; 1:");
}
"""
_Way = Callable[[int], float]  # a seed into ns an operation


def _by_entry(program: Path, way: str, operations: int) -> _Way:
    def measured(seed: int) -> float:
        usable = sorted(os.sched_getaffinity(0))
        command = [str(program), way, str(operations), "9", str(usable[seed % len(usable)])]
        answer = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        return trials.quartile([int(line) for line in answer.stdout.split()][2:]) / operations

    return measured


def _by_load(program: Path, workload: str) -> _Way:
    settings = ["place=1", "batches=10", "batch_ns=1500000", "warmup_ns=4000000"]

    def measured(seed: int) -> float:
        pad = "x" * random.randrange(4096)
        return trials.floor_ns(trials.samples(workload, *settings, f"seed={seed}", program=program, PAD=pad))

    return measured


def compare(title: str, ways: dict[str, _Way], rounds: int) -> None:
    """Prints the first way's time, and of each other one how much longer it takes."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        seed = random.randrange(2**16)
        for name in random.sample(list(ways), len(ways)):
            found[name].append(ways[name](seed))
    first, *others = ways
    base = np.array(found[first])
    print(f"{title}: {first} {np.median(base):.1f} ns", flush=True)
    for name in others:
        ratio = signed_rank.estimate(np.log(np.array(found[name]) / base), alpha=0.05)
        text = f"  {name:14} {np.median(found[name]):9.1f} ns  {math.exp(ratio.value):.3f}"
        if ratio.low is not None and ratio.high is not None:
            text += f" [{math.exp(ratio.low):.3f}, {math.exp(ratio.high):.3f}]"
        print(text, flush=True)


def _entries(directory: Path) -> dict[str, Path]:
    made = {}
    for libc, compiler in (("glibc", "gcc"), ("musl", "musl-gcc")):
        made[libc] = directory / f"entry-{libc}"
        source = Path(__file__).with_name("entry.c")
        subprocess.run([compiler, *ENTRY_FLAGS, "-o", made[libc], source], check=True)
    return made


def _loads(directory: Path) -> dict[str, Path]:
    """Builds the load program in both layouts for both libcs, unless it is there already."""
    moved = sources.copy_into(directory / "moved")
    (moved / "workloads" / "cpu" / "a_ballast.c").write_text(BALLAST)
    made = {}
    for layout, source in (("", built.source()), (" moved", moved)):
        for libc in ("glibc", "musl"):
            place = directory / f"load-{libc}{layout.strip()}"
            if not place.exists():
                builds.compile_to(place, builds.LoadBuild(libc=libc), source=source)
            made[libc + layout] = place
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description="Whether a build measures the kernel or itself.")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--reuse", type=Path, help="keeps the builds there, and takes those that are there")
    given = parser.parse_args()
    print(machine.describe(), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        directory = given.reuse or Path(temporary)
        directory.mkdir(exist_ok=True)
        entries, loads = _entries(directory), _loads(directory)
        if not given.workloads:
            glibc, musl = entries["glibc"], entries["musl"]
            compare("returns", {way: _by_entry(glibc, way, 16000) for way in WAYS}, given.rounds)
            reads = {"one return": _by_entry(glibc, "read", 16000)}
            reads |= {f"{libc}'s": _by_entry(entries[libc], "libc", 16000) for libc in ("glibc", "musl")}
            compare("read", reads, given.rounds)
            signals = {"glibc": _by_entry(glibc, "signal", 1600), "musl": _by_entry(musl, "signal", 1600)}
            signals |= {"glibc without": _by_entry(glibc, "other", 1600)}
            signals |= {"musl with": _by_entry(musl, "other", 1600)}
            compare("signal, rseq", signals, given.rounds)
        for workload in given.workloads or WORKLOADS:
            compare(workload, {name: _by_load(load, workload) for name, load in loads.items()}, given.rounds)


if __name__ == "__main__":
    main()
