"""Whether the standard comparison finds slowdowns that were put into workloads, and how large it says they
are.

    python bench/slowdown.py [--plant sieve=0.05 fourier=0.2 idea=1] [--times 20] [--budget 5m]
        [--study standard] [--busy 0] [--kept DIRECTORY]

Two programs are built from the same source, into whose workloads a busy loop was written inside the
operation: of no turns in one, of as many as make that share of the operation's time in the other. What each
slowdown truly is, is measured directly: long trials of both, in pairs, nothing between them. Then
`steelyard compare` weighs one against the other with the standard study, --times times with new seeds, and
its verdicts on those workloads and on all others are printed beside the truth. The others run different
programs too (their code lies elsewhere in the file), so what it says of them is not quite an A/A
comparison. With --kept the programs, the truths and what each run measured stay in that directory, and what
is there already is not made or measured again, only judged. With --busy that many busy loops run beside each
comparison, and beside the direct measurement: what a loop adds depends on what shares the processor, for a
loop that waits for its own last turn loses less by that than work that fills the processor or its caches.
What is said of processor time is counted too.
"""

import argparse
import dataclasses
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import answers
import machine
import numpy as np
import sources
import trials

from steelyard.analysis.observations import PROCESSOR_TIME
from steelyard.programs import builds
from steelyard.programs.builds import LoadBuild
from steelyard.statistics import signed_rank, verdict

PAIRS = 120
BATCHES = 100
# Where the loop goes, in each workload's operation.
PLACES = {
    "sieve": ("workloads/cpu/sieve.c", "int primes = pass();", "int primes = pass(); {loop}"),
    "fourier": ("workloads/cpu/fourier.c", "fourier_series();\n", "fourier_series(); {loop}\n"),
    "idea": ("workloads/cpu/idea.c", "outcome = idea_pass();", "{{ outcome = idea_pass(); {loop} }}"),
    "syscall": ("workloads/syscall/syscall.c", "\t\tif (kernel_call", "\t\t{loop} if (kernel_call"),
    "memory_copy": ("workloads/memory/memory_copy.c", "forget(source); ", "forget(source); {loop} "),
    "open_close": (
        "workloads/syscall/open_close.c",
        "if (file == NO_HANDLE)",
        "{loop} if (file == NO_HANDLE)",
    ),
    "file_read_cached": (
        "workloads/file/file_read_cached.c",
        "uint32_t       sum = 0, different = 0;",
        "uint32_t sum = 0, different = 0; {loop}",
    ),
    "file_create": ("workloads/file/many.c", "s.made++;", "s.made++; {loop}"),
}
LOOP = "for (volatile int turn = 0; turn < TURNS; turn++) {{ }}"
# Of the direct measurement, what the studies say.
SETTINGS = {
    "memory_copy": ("from=1048576", "to=1048576"),
    "file_read_cached": ("size=1048576",),
    "file_create": ("operations=10",),
}
TRIES = 5  # at finding out what a turn costs


def build(turns: Mapping[str, int], place: Path, directory: Path) -> None:
    """A program whose workloads turn that many times besides their work."""
    source = sources.copy_into(directory / "source")
    for workload, many in turns.items():
        name, old, new = PLACES[workload]
        text = (source / name).read_text()
        assert old in text
        loop = LOOP.format().replace("TURNS", str(many))
        (source / name).write_text(text.replace(old, new.format(loop=loop), 1))
    builds.compile_to(place, LoadBuild(), source=source)


def floor_ns(program: Path, workload: str) -> float:
    """The lower quartile of a trial's batches, per operation."""
    settings = (f"batches={BATCHES}", "batch_ns=500000", "place=1", "warmup_ns=5000000")
    record = trials.samples(workload, *settings, *SETTINGS.get(workload, ()), program=program)
    return trials.floor_ns(record)


def ratio(first: Path, second: Path, workload: str, *, pairs: int) -> signed_rank.Estimate:
    """First over second, below 1 where the second is slower; in pairs of random order."""
    logs = []
    for _ in range(pairs):
        order = random.sample((first, second), 2)
        told = {program: floor_ns(program, workload) for program in order}
        logs.append(math.log(told[first] / told[second]))
    return signed_rank.estimate(np.array(logs), alpha=0.05)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", nargs="+", default=["sieve=0.05", "fourier=0.2", "idea=1"])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--study", default="standard")
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--kept", type=Path)
    arguments = parser.parse_args()
    shares = {name: float(share) for name, _, share in (one.partition("=") for one in arguments.plant)}
    print(machine.describe(), flush=True)
    with tempfile.TemporaryDirectory() as name:
        directory = arguments.kept or Path(name)
        plain, slowed = directory / "programs" / "plain", directory / "programs" / "slowed"
        truths_kept = directory / "truths.json"
        if not truths_kept.exists():
            plant(shares, plain, slowed, directory)
            with busy_loops(arguments.busy):
                measured = {workload: ratio(plain, slowed, workload, pairs=PAIRS) for workload in shares}
            truths_kept.write_text(
                json.dumps({name: dataclasses.asdict(one) for name, one in measured.items()})
            )
        truths = {
            name: signed_rank.Estimate(**one) for name, one in json.loads(truths_kept.read_text()).items()
        }
        for workload, truth in truths.items():
            print(
                f"the truth of {workload}, measured directly in {PAIRS} pairs: ratio {said(truth)}",
                flush=True,
            )
        found, covered, others = Counter[str](), Counter[str](), 0
        for seed in range(arguments.times):
            compare = ["--study", arguments.study, "--seed", str(seed), "--budget", arguments.budget]
            with busy_loops(arguments.busy):
                told = report(plain, slowed, compare, seed, directory)
            others += judge(told, truths, seed, found, covered)
        for workload in shares:
            by_processor = found[f"{workload} {PROCESSOR_TIME}"]
            print(
                f"{workload}: slower in {found[workload]} of {arguments.times}, by processor time in "
                f"{by_processor}; the interval meets that of the truth in {covered[workload]}"
            )
        print(f"other metrics called faster or slower: {others} in {arguments.times} runs")


@contextmanager
def busy_loops(many: int) -> Iterator[None]:
    """That many processes that compute all the time."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(many)]
    try:
        yield
    finally:
        for one in loops:
            one.kill()
            one.wait()


def plant(shares: Mapping[str, float], plain: Path, slowed: Path, directory: Path) -> None:
    """Builds both programs. A first build whose turns take about as long as the work tells what one costs."""
    build(dict.fromkeys(shares, 0), plain, directory)
    alones = {workload: min(floor_ns(plain, workload) for _ in range(TRIES)) for workload in shares}
    many = {workload: max(1000, round(alone)) for workload, alone in alones.items()}
    build(many, slowed, directory)
    turns = {}
    for workload, share in shares.items():
        alone = alones[workload]
        slow = min(floor_ns(slowed, workload) for _ in range(TRIES))
        turn = (slow - alone) / many[workload]
        turns[workload] = max(1, round(share * alone / turn))
        print(f"{workload}: {alone:.1f} ns, {turns[workload]} turns of {turn:.2f} ns put into it")
    build(turns, slowed, directory)


def report(plain: Path, slowed: Path, compare: Sequence[str], seed: int, directory: Path) -> Any:
    """What `steelyard compare` says of the two, as JSON."""
    environment = dict(os.environ) | {"STEELYARD_PROGRAMS": str(plain.parent.absolute())}
    kept = directory / f"{compare[-1]}-{seed}"
    return answers.of(["native+plain", "native+slowed", *compare], kept, environment)


def judge(
    told: Any,
    truths: Mapping[str, signed_rank.Estimate],
    seed: int,
    found: Counter[str],
    covered: Counter[str],
) -> int:
    """Counts what was found, prints it, and returns how many other metrics differ firmly."""
    others = 0
    for one in told["processor_times"]:
        if one["verdict"].startswith((verdict.FASTER, verdict.SLOWER)):
            found[f"{one['workload']} {PROCESSOR_TIME}"] += one["verdict"].startswith(verdict.SLOWER)
            others += one["workload"] not in truths
            print(
                f"seed {seed}: {one['cell']} {one['metric']}: {one['verdict']}, {one['ratio']['value']:.4f}"
            )
    for one in told["comparisons"]:
        truth, shown = truths.get(one["workload"]), one["ratio"]
        firm = one["verdict"] in (verdict.FASTER, verdict.SLOWER)
        if truth is not None:
            assert truth.low is not None
            assert truth.high is not None
            holds = shown["low"] <= math.exp(truth.high) and math.exp(truth.low) <= shown["high"]
            found[one["workload"]] += one["verdict"] in (verdict.SLOWER, verdict.SLOWER_OPEN)
            covered[one["workload"]] += holds
            print(
                f"seed {seed}: {one['workload']} {one['verdict']}, {shown['value']:.4f} "
                f"[{shown['low']:.4f}, {shown['high']:.4f}] after {one['blocks']} blocks"
                f"{'' if holds else ': away from the truth'}",
                flush=True,
            )
        elif firm:
            others += 1
            print(f"seed {seed}: {one['cell']} {one['metric']}: {one['verdict']}, {shown['value']:.4f}")
    return others


def said(estimate: signed_rank.Estimate) -> str:
    assert estimate.low is not None
    assert estimate.high is not None
    return f"{math.exp(estimate.value):.4f} [{math.exp(estimate.low):.4f}, {math.exp(estimate.high):.4f}]"


if __name__ == "__main__":
    main()
