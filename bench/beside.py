"""How far each workload is from another suite's program that does the same job, in rounds, on one processor.

    python bench/beside.py --lmbench /usr/lib/lmbench/bin/x86_64-linux-gnu
    python bench/beside.py --lmbench DIRECTORY --rounds 20 memory_read_partial
    python bench/beside.py --lmbench DIRECTORY fork_exit fork_exec signal_install memory_read memory_latency
    python bench/beside.py fork_exec --peer './lat_proc exec' --pattern '([0-9.]+) microseconds' --unit us
    python bench/beside.py idea --peer './other idea' --pattern '([0-9.]+) ns' --unit ns --share 0.5
    python bench/beside.py file_read_cached --peer 'itself file_read_cached look=65536'

Both programs run once in each round, in random order, on a processor drawn for the round; a trial's figure is
the lower quartile of its batches, the other's what it prints (with --unit MB/s: a bandwidth of `bytes`). The
ratio is of speeds, ours over theirs, Hodges-Lehmann with its interval of 95 %; "*" stands before those beyond
3 %. Where operations are of unequal size, --share says how many of theirs are one of ours. The peer
"itself" is the load program, at another workload or other settings: what a part of the job costs; one whose
name begins with "steelyard-load" is another build of it. The peers are installed by you; what is not
there is named. Asserts nothing: who is right must be found out.
"""

import argparse
import contextlib
import json
import math
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import machine
import numpy as np

from steelyard.programs import built
from steelyard.statistics import signed_rank

BEYOND = 0.03
PATIENCE_S = 60
ITSELF, LOAD = "itself", "steelyard-load"
NS = {"ns": 1.0, "us": 1e3, "ms": 1e6}
FILE_BYTES = 8388608
MEMORY_MOST = 4 << 30  # a peer's addresses: lat_mem_rd has taken 22 GB
REPETITIONS = "5"  # of lmbench's eleven
# How many us a measurement of lmbench's takes at least, and what it subtracts: else each of its programs
# finds that out for itself, which does not end on a machine with other work.
LMBENCH_OWN = {"ENOUGH": "100000", "TIMING_O": "0", "LOOP_O": "0"}


class Unable(Exception):
    """One of the two could not measure that, with its reason."""


@dataclass(frozen=True, slots=True)
class Row:
    """One job done by both: ours, theirs, and how theirs is read."""

    workload: str
    settings: tuple[str, ...]
    peer: tuple[str, ...]
    pattern: str
    unit: str  # of NS, or MB/s
    bytes: int = 0  # of an operation, for MB/s
    share: float = 1.0  # how many of their operations are one of ours

    @property
    def label(self) -> str:
        return " ".join((self.workload, *self.settings))


def of_lmbench(directory: Path, file: Path) -> list[Row]:
    """Its rows that are here. {size} and the like are lmbench's own arguments, as its manual has them."""
    many = ("-N", REPETITIONS)
    bandwidth, time = r"^[0-9.]+ ([0-9.]+)\s*$", r"([0-9.]+) microseconds"
    rows = []
    peer: tuple[str, ...]
    for name, kind in (("memory_read", "rd"), ("memory_read_partial", "rd"), ("memory_read_words", "frd")):
        for size in (2**14, 2**19, 2**23):
            peer = (str(directory / "bw_mem"), *many, str(size), kind)
            rows.append(Row(name, (f"from={size}", f"to={size}"), peer, bandwidth, "MB/s", size))
    for size in (2**14, 2**19, 2**23):
        peer = (str(directory / "lat_mem_rd"), *many, "-t", str(max(1, size >> 20)), "64")
        line = rf"^{size / 2**20:.5f} ([0-9.]+)"
        rows.append(Row("memory_latency", (f"from={size}", f"to={size}"), peer, line, "ns"))
    for name, program, kinds in (
        ("file_read_cached", "bw_file_rd", ("io_only", "open2close")),
        ("map_read_cached", "bw_mmap_rd", ("mmap_only", "open2close")),
    ):
        for way, kind in enumerate(kinds):
            peer = (str(directory / program), *many, str(FILE_BYTES), kind, str(file))
            rows.append(Row(name, (f"open={way}",), peer, bandwidth, "MB/s", FILE_BYTES))
            if name == "file_read_cached":
                rows.append(Row(name, (f"open={way}", "look=4"), peer, bandwidth, "MB/s", FILE_BYTES))
    for name, program, kind in (
        ("fork_exit", "lat_proc", "fork"),
        ("fork_exec", "lat_proc", "exec"),  # of a program that must be where the peer was told to look
        ("signal_install", "lat_sig", "install"),
        ("signal_catch", "lat_sig", "catch"),
        ("syscall", "lat_syscall", "null"),
    ):
        rows.append(Row(name, (), (str(directory / program), *many, kind), time, "us"))
    return rows


def bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MOST, MEMORY_MOST))


def told(command: tuple[str, ...], processor: int) -> str:
    """What it prints on either stream. What it started ends with it."""
    with subprocess.Popen(
        ["taskset", "-c", str(processor), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=LMBENCH_OWN | os.environ,
        start_new_session=True,
        preexec_fn=bounded,
    ) as process:
        try:
            return process.communicate(timeout=PATIENCE_S)[0]
        except subprocess.TimeoutExpired:
            raise Unable(f"'{shlex.join(command)}' did not end within {PATIENCE_S} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def of_a_load_program(load: Path, arguments: tuple[str, ...], processor: int) -> float:
    """Nanoseconds of an operation."""
    text = told((str(load), "run", *arguments, "place=1", "batches=20"), processor)
    records = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    for record in records:
        if record["record"] == "samples":
            durations = sorted(record["durations_ns"])
            return float(durations[len(durations) // 4]) / float(record["operations"])
    raise Unable(next((str(record["reason"]) for record in records if record.get("reason")), "no answer"))


def theirs(load: Path, row: Row, processor: int) -> float:
    """Nanoseconds of as much of theirs as is one of ours. Where it prints several, their lower quartile."""
    if row.peer[0] == ITSELF:
        return of_a_load_program(load, row.peer[1:], processor) * row.share
    if Path(row.peer[0]).name.startswith(LOAD):
        return of_a_load_program(Path(row.peer[0]), row.peer[1:], processor) * row.share
    text = told(row.peer, processor)
    found = sorted(float(value) for value in re.findall(row.pattern, text, re.MULTILINE))
    if not found:
        raise Unable(f"'{shlex.join(row.peer)}' printed no '{row.pattern}': {text.strip()[-200:]!r}")
    if row.unit == "MB/s":
        return row.bytes * 1e3 / found[-1 - (len(found) - 1) // 4] * row.share
    return found[(len(found) - 1) // 4] * NS[row.unit] * row.share


def measure(load: Path, row: Row, *, rounds: int) -> str:
    own: list[float] = []
    other: list[float] = []
    for _ in range(rounds):
        processor = random.choice(sorted(os.sched_getaffinity(0)))
        for mine in random.sample((True, False), 2):
            if mine:
                own.append(of_a_load_program(load, (row.workload, *row.settings), processor))
            else:
                other.append(theirs(load, row, processor))
    found = signed_rank.estimate(np.log(np.array(other) / np.array(own)), alpha=0.05)
    ratio = math.exp(found.value)
    text = f"{'*' if abs(ratio - 1) > BEYOND else ' '} {row.label:46} {ratio:6.3f}"
    if found.low is not None and found.high is not None:
        text += f" [{math.exp(found.low):.3f}, {math.exp(found.high):.3f}]"
    return text + f"  {np.median(own):12.2f} and {np.median(other):12.2f} ns"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Each workload against another suite's program.")
    parser.add_argument("names", nargs="*", metavar="WORKLOAD", help="and NAME=VALUE, with --peer")
    parser.add_argument("--lmbench", type=Path, metavar="DIRECTORY", help="where its programs are")
    parser.add_argument("--peer", metavar="COMMAND", help="any other program, for one workload")
    parser.add_argument("--pattern", default=r"([0-9.]+)", help="whose first group is its figure")
    parser.add_argument("--unit", choices=[*NS, "MB/s"], default="ns")
    parser.add_argument("--bytes", type=int, default=0, help="of one of its operations, for MB/s")
    parser.add_argument("--share", type=float, default=1.0, help="its operations in one of ours")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--program", type=Path, help="the load program; the installed one, if not given")
    found = parser.parse_args()
    if not found.peer and not found.lmbench:
        parser.error("there is no peer: name one by --lmbench or --peer (Debian has lmbench in non-free)")
    if found.peer and not found.names:
        parser.error("--peer is for one workload, which is not named")
    return found


def main() -> None:
    given = options()
    load = given.program or built.load("glibc")
    print(machine.describe(), flush=True)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "contents"
        file.write_bytes(os.urandom(FILE_BYTES))
        if given.peer:
            name, *settings = given.names
            peer = tuple(shlex.split(given.peer))
            rows = [Row(name, tuple(settings), peer, given.pattern, given.unit, given.bytes, given.share)]
        else:
            chosen = of_lmbench(given.lmbench, file)
            rows = [row for row in chosen if not given.names or row.workload in given.names]
        print("  ours over theirs, in speed; and the time of an operation")
        for row in rows:
            if row.peer[0] != ITSELF and not shutil.which(row.peer[0]):
                print(f"  {row.label:46} not measured: {row.peer[0]} is not installed", flush=True)
                continue
            try:
                print(measure(load, row, rounds=given.rounds), flush=True)
            except Unable as why:
                print(f"  {row.label:46} not measured: {why}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
