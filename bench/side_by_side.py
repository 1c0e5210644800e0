"""How far each workload is from the same thing written by hand (by_hand.c), in pairs on one processor.

    python bench/side_by_side.py
    python bench/side_by_side.py --pairs 5 syscall pipe_latency
    python bench/side_by_side.py --batch-ns 1000000      # where other work is in the way

As many operations and batches in both, in random order within a pair; a trial's figure is the lower quartile
of its batches, of which the table has the median. Hodges-Lehmann ratio (workload / by hand) with its
interval; "*" stands before those beyond 5 %. Asserts nothing: who is right must be found out.
"""

import argparse
import math
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import machine
import numpy as np
import syscall_agreement
import trials

from steelyard.programs import built
from steelyard.statistics import signed_rank

BATCHES, WARM = 20, 10  # by_hand prints its ten warming batches first
BEYOND = 0.05
PATIENCE_S = 300  # some hundred times what one of by_hand's needs; the load program has a limit of its own
FAST = ["-O3", "-march=native", "-fno-tree-loop-distribute-patterns"]  # after -O2: the last one counts
SIZES = {"16 KiB": 2**14, "512 KiB": 2**19, "8 MiB": 2**23, "256 MiB": 2**28}


@dataclass(frozen=True, slots=True)
class Case:
    """One thing measured twice: by_hand's name of it, and how the load program is asked for the same."""

    by_hand: str
    workload: str
    settings: tuple[str, ...] = ()
    metric: str | None = None  # None: the only one
    size: str | None = None  # of SIZES

    @property
    def label(self) -> str:
        return " ".join(filter(None, (self.by_hand, self.size)))


SAME = [
    "syscall", "read_zero", "write_null", "stat_file", "fstat_file", "open_close", "select_files",
    "select_sockets", "poll_sockets", "signal_install", "signal_catch", "protection_fault",
    "anonymous_fault", "clock_read", "clock_call", "yield", "futex_wake", "lock_pass", "semaphore",
    "fork_exit", "fork_exec", "fork_shell", "spawn", "thread_create", "pipe_latency",
    "unix_stream_latency", "unix_datagram_latency", "tcp_latency", "udp_latency", "tcp_connect",
    "pipe_bandwidth", "unix_stream_bandwidth", "tcp_bandwidth",
]  # fmt: skip
# Where the workload's own default is another thing than the plain one.
OTHERS = (
    Case("epoll_sockets", "epoll_sockets", ("ready=0",)),
    Case("page_fault", "page_fault", ("alone=0",)),
    Case("page_fault_alone", "page_fault", ("alone=1",)),
    Case("map_unmap", "map_unmap", ("touch=0",)),
    Case("context_switch", "context_switch", metric="switch"),
)
ORDINARY, BYPASSING = "bypass_from=4611686018427387903", "bypass_from=1"
CURVES = (
    Case("memory_read", "memory_read"),
    Case("memory_copy", "memory_copy", (ORDINARY,)),
    Case("memory_copy_bypass", "memory_copy", (BYPASSING,)),
    Case("memory_copy_libc", "memory_copy_libc"),
    Case("memory_latency", "memory_latency"),
)


def cases() -> list[Case]:
    curves = [
        replace(case, settings=(*case.settings, f"from={size}", f"to={size}"), size=label)
        for case in CURVES
        for label, size in SIZES.items()
    ]
    return [*(Case(name, name) for name in SAME), *OTHERS, *curves]


@dataclass(frozen=True, slots=True)
class Programs:
    """The three that are run, and how long a batch shall be (0: as long as the load program likes)."""

    load: Path
    plain: Path
    fast: Path  # for memory
    batch_ns: int


@dataclass(frozen=True, slots=True)
class Line:
    """A case's outcome."""

    case: Case
    workload_ns: float
    by_hand_ns: float
    ratio: signed_rank.Estimate  # of logarithms


def samples(load: Path, case: Case, *settings: str) -> dict[str, Any]:
    """The record of the case's metric, of one trial. Raises Unable."""
    words = ("place=1", *case.settings, *settings)
    return trials.samples(case.workload, *words, metric=case.metric, program=load)


def by_workload(run: Programs, case: Case, *, operations: int, seed: int) -> float:
    record = samples(run.load, case, f"operations={operations}", f"batches={BATCHES}", f"seed={seed}")
    return trials.floor_ns(record)


def by_hand(run: Programs, case: Case, *, operations: int, seed: int) -> float:
    usable = sorted(os.sched_getaffinity(0))
    program, processor = run.fast if case.size else run.plain, usable[seed % len(usable)]
    command = [str(program), "--processor", str(processor), case.by_hand, str(operations), str(BATCHES)]
    if case.size:
        command.append(str(SIZES[case.size]))
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=PATIENCE_S)
    return trials.quartile([int(line) for line in answer.stdout.split()][WARM:]) / operations


def batch(run: Programs, case: Case) -> int:
    """How many operations fill a batch: the most of three answers, as an accident can only make it fewer."""
    wish = f"batch_ns={run.batch_ns}"
    most: int = max(samples(run.load, case, "batches=3", wish)["operations"] for _ in range(3))
    return most if case.size else most + most % 2  # a round trip is two hand-overs


def measure(run: Programs, case: Case, *, pairs: int) -> Line:
    operations = batch(run, case)
    found: dict[Any, list[float]] = {by_workload: [], by_hand: []}
    for _ in range(pairs):
        seed = random.randrange(2**16)
        for way in random.sample(list(found), 2):
            found[way].append(way(run, case, operations=operations, seed=seed))
    ours, theirs = np.array(found[by_workload]), np.array(found[by_hand])
    ratio = signed_rank.estimate(np.log(ours / theirs), alpha=0.05)
    return Line(case, float(np.median(ours)), float(np.median(theirs)), ratio)


def sentence(line: Line) -> str:
    apart = math.expm1(line.ratio.value)
    text = f"{'*' if abs(apart) > BEYOND else ' '} {line.case.label:24}"
    text += f"{line.workload_ns:14.2f} ns{line.by_hand_ns:14.2f} ns by hand {apart:+8.2%}"
    if line.ratio.low is not None and line.ratio.high is not None:
        text += f" [{math.expm1(line.ratio.low):+.2%}, {math.expm1(line.ratio.high):+.2%}]"
    if line.case.size and line.case.by_hand != "memory_latency":
        size = SIZES[line.case.size]
        text += f"  {size / line.workload_ns:.1f} and {size / line.by_hand_ns:.1f} GB/s"
    return text


def compile_by_hand(directory: Path) -> tuple[Path, Path]:
    source = Path(__file__).with_name("by_hand.c")
    plain, fast = directory / "by_hand", directory / "by_hand_fast"
    for program, more in ((plain, []), (fast, FAST)):
        subprocess.run(["gcc", *syscall_agreement.FLAGS, *more, "-o", program, source], check=True)
    return plain, fast


def options() -> argparse.Namespace:
    known = sorted({case.by_hand for case in cases()})
    parser = argparse.ArgumentParser(description="Each workload against the same written by hand.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of by_hand.c; all, if none is given")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--batch-ns", type=int, default=0, help="wished length of a batch")
    parser.add_argument("--program", type=Path, help="the load program; the installed one, if not given")
    found = parser.parse_args()
    unknown = [name for name in found.names if name not in known]
    if unknown:
        parser.error(f"there is no '{unknown[0]}'; there are {', '.join(known)}")
    return found


def main() -> None:
    given = options()
    print(machine.describe(), flush=True)
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        plain, fast = compile_by_hand(Path(directory))
        run = Programs(given.program or built.load("glibc"), plain, fast, given.batch_ns)
        for case in cases():
            if given.names and case.by_hand not in given.names:
                continue
            try:
                lines.append(measure(run, case, pairs=given.pairs))
                print(sentence(lines[-1]), file=sys.stderr, flush=True)
            except trials.Unable as why:
                print(f"  {case.label}: {why}", file=sys.stderr)
    for line in sorted(lines, key=lambda line: line.ratio.value):
        print(sentence(line))


if __name__ == "__main__":
    main()
