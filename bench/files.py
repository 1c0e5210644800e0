"""How far the phases of file work are from fio and from Bonnie++, side by side on one directory.

    python bench/files.py                       fio and Bonnie++, where they are installed; four rounds
    python bench/files.py --rounds 20 --directory /mnt/disk --size 268435456

In each round both programs do the same job, in random order: the same size, block, depth and state of the
cache. The ratio is of rates, ours over theirs, Hodges-Lehmann with its interval of 95 %. fio lays out a file
of its own, does the job once (with an fsync at the end of writing), and gives advice where we do: for random
access. Bonnie++ is asked for its block phases and its files alone, over a file that fits into memory, so that
its reads and ours are warm. Asserts nothing: on a disk that others use a ratio of few rounds says little.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import machine
import numpy as np

from steelyard.programs import built
from steelyard.statistics import signed_rank

MB = 1e6


@dataclass(frozen=True, slots=True)
class Job:
    """One job done by both: our workload and its settings, and what it is to fio."""

    workload: str
    settings: Mapping[str, int | str]
    fio: Mapping[str, int | str]
    cache: str

    @property
    def label(self) -> str:
        return " ".join((self.workload, *(f"{name}={value}" for name, value in self.settings.items())))


def jobs(cache: str) -> list[Job]:
    """The jobs that fio does too, with the data there."""
    where: dict[str, int | str] = {"direct": int(cache == "direct"), "invalidate": int(cache != "warm")}
    found = [
        Job("file_sequential_read", {"block": 65536}, where | {"rw": "read", "bs": 65536}, cache),
        Job("file_random_read", {"block": 4096}, where | {"rw": "randread", "bs": 4096}, cache),
        Job(
            "file_random_write",
            {"block": 4096},
            where | {"rw": "randwrite", "bs": 4096, "end_fsync": 1},
            cache,
        ),
    ]
    if cache == "direct":
        queue: dict[str, int | str] = {"rw": "randread", "bs": 4096, "ioengine": "io_uring", "iodepth": 16}
        found.append(Job("file_queue_read", {"block": 4096, "depth": 16}, where | queue, cache))
    if cache != "cold":
        written = where | {"rw": "write", "bs": 65536, "end_fsync": 1, "overwrite": 0}
        found.append(Job("file_sequential_write", {"block": 65536}, written, cache))
    return found


def ours(workload: str, settings: Mapping[str, int | str], place: Path) -> tuple[float, dict[str, int]]:
    """Operations a second, or bytes where it moves some; and what it reported."""
    words = [f"{name}={value}" for name, value in settings.items()]
    answer = subprocess.run(
        [built.load("glibc"), "run", workload, "batches=1", *words],
        stdout=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(place)},
        check=False,
    )
    records = [json.loads(line) for line in answer.stdout.splitlines()]
    if records[-1]["status"] != "ok":
        raise RuntimeError(records[-1]["reason"])
    samples = [one for one in records if one["record"] == "samples"]
    timed = next(one for one in samples if one["metric"] in ("time", "bandwidth"))
    rate = timed["operations"] * (timed["bytes"] or 1) / timed["durations_ns"][0] * 1e9
    return rate, {one["metric"]: one["durations_ns"][0] for one in samples if one is not timed}


def by_fio(job: Job, size: int, place: Path) -> float:
    """Bytes a second, by fio's own account. Warm data are read once before."""
    own = {
        "name": "peer",
        "directory": place,
        "size": size,
        "fadvise_hint": "random" if "rand" in str(job.fio["rw"]) else 0,
    }
    words = [f"--{name}={value}" for name, value in (own | {"ioengine": "psync"} | dict(job.fio)).items()]
    if job.cache == "warm" and job.fio["rw"] != "write":
        lay = [
            "fio",
            "--name=peer",
            f"--directory={place}",
            f"--size={size}",
            "--rw=read",
            "--bs=65536",
            "--invalidate=0",
        ]
        subprocess.run(lay, stdout=subprocess.DEVNULL, check=True, cwd=place)
    answer = subprocess.run(
        ["fio", "--output-format=json", "--refill_buffers", *words],
        stdout=subprocess.PIPE,
        check=True,
        cwd=place,
    )
    (told,) = json.loads(answer.stdout)["jobs"]
    direction = "write" if "write" in str(job.fio["rw"]) else "read"
    for file in place.glob("peer*") if job.fio["rw"] == "write" else ():
        file.unlink()
    return float(told[direction]["bw_bytes"])


def by_bonnie(size: int, files: int, place: Path) -> dict[str, float]:
    """Bytes or files a second, by phase; a phase that was too short to print is missing."""
    command = [
        "bonnie++",
        "-d",
        str(place),
        "-s",
        f"{size >> 20}:8192",
        "-r",
        "0",
        "-n",
        str(files // 1024),
        "-q",
    ]
    command += ["-u", "root"] if os.geteuid() == 0 else []
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    cells = answer.stdout.strip().splitlines()[-1].split(",")
    # format, version, name, concurrency, seed, size, chunk, seeks, processes; then rate and share by phase
    places = {
        "file_sequential_write": (11, 1024),
        "file_rewrite": (13, 1024),
        "file_sequential_read": (17, 1024),
    }
    places |= {"directory_create": (26, 1)}
    found = {}
    for name, (index, unit) in places.items():
        try:
            found[name] = float(cells[index]) * unit
        except (ValueError, IndexError):
            continue
    return found


def compared(label: str, pairs: list[tuple[float, float]], unit: str, scale: float) -> None:
    """Prints one line: both medians, and the ratio."""
    logs = np.log([one / other for one, other in pairs])
    estimate = signed_rank.estimate(logs, alpha=0.05)
    ratio = f"{np.exp(estimate.value):.3f}"
    if estimate.low is not None and estimate.high is not None:
        ratio += f" [{np.exp(estimate.low):.3f}, {np.exp(estimate.high):.3f}]"
    own, peer = (np.median([pair[side] for pair in pairs]) / scale for side in (0, 1))
    print(f"{label:62} {own:10.1f} {peer:10.1f} {unit:7} {ratio}", flush=True)


def in_rounds(rounds: int, one: Callable[[], float], other: Callable[[], float]) -> list[tuple[float, float]]:
    """Both, so often, in random order."""
    pairs = []
    for _ in range(rounds):
        if random.random() < 0.5:
            first = one()
            pairs.append((first, other()))
        else:
            second = other()
            pairs.append((one(), second))
    return pairs


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--size", type=int, default=67108864)
    parser.add_argument("--files", type=int, default=16384)
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument(
        "--cold", action="store_true", help="only: what cold reads find in the cache and fetch"
    )
    options = parser.parse_args()
    print(machine.describe())
    place = Path(tempfile.mkdtemp(prefix="steelyard-bench-", dir=options.directory))
    try:
        cold_reads(options.rounds, options.size, place)
        if not options.cold:
            beside_fio(options.rounds, options.size, place)
            beside_bonnie(options.rounds, options.size, options.files, place)
    finally:
        shutil.rmtree(place)
    return 0


def cold_reads(rounds: int, size: int, place: Path) -> None:
    """What was in the cache before a cold pass, and what the device then read: others' reads are in it."""
    print("cold reads: share of the file in the cache before, and bytes from the device for each byte read")
    for workload, block in (("file_sequential_read", 65536), ("file_random_read", 4096)):
        for _ in range(rounds):
            _, told = ours(workload, {"size": size, "block": block, "cache": "cold"}, place)
            print(f"  {workload:24} {told['resident'] / size:8.4%} {told.get('device_read', 0) / block:8.4f}")


def beside_fio(rounds: int, size: int, place: Path) -> None:
    if shutil.which("fio") is None:
        print("fio is not installed")
        return
    print(f"{'beside fio':62} {'ours':>10} {'fio':>10}")
    for cache in ("warm", "cold", "direct"):
        for job in jobs(cache):
            settings = {"size": size, "cache": cache, **job.settings}
            pairs = in_rounds(
                rounds,
                lambda job=job, settings=settings: ours(job.workload, settings, place)[0],  # type: ignore[misc]
                lambda job=job: by_fio(job, size, place),  # type: ignore[misc]
            )
            compared(f"{job.label} cache={cache}", pairs, "MB/s", MB)


def beside_bonnie(rounds: int, size: int, files: int, place: Path) -> None:
    if shutil.which("bonnie++") is None:
        print("Bonnie++ is not installed")
        return
    print(f"{'beside Bonnie++':62} {'ours':>10} {'theirs':>10}")
    pairs: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for name, theirs in by_bonnie(size, files, place).items():
            settings = {"files": files} if name == "directory_create" else {"size": size, "block": 8192}
            pairs.setdefault(name, []).append((ours(name, settings, place)[0], theirs))
    for name, members in pairs.items():
        is_many = name == "directory_create"
        compared(name, members, "files/s" if is_many else "MB/s", 1 if is_many else MB)


if __name__ == "__main__":
    sys.exit(main())
