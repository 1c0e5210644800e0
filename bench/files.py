"""How far the phases of file work are from fio and from Bonnie++, side by side on one file system.

    python bench/files.py                                    in the temporary directory, all jobs
    python bench/files.py --filesystem xfs --images /dev/shm a fresh one, on an image that lies in memory
    python bench/files.py --only "warm" --rounds 20          the jobs whose label holds that word

In each round both programs do the same job, in random order: the same size, block, depth and state of the
cache, one pass with an fsync at the end of writing. The ratio is of rates, ours over theirs, Hodges-Lehmann
with its interval of 95 %. So that the job is the same

- fio's file is written here before each run, as ours is: in blocks of the job's size, and then fsync. A file
  that fio lays out is cold the first time, whatever `invalidate` says; and of one that was read the cache has
  large folios, which ext4 takes three times as long to overwrite by blocks of 4 KiB;
- it is dropped from the cache here, because fio would do that within its time;
- a new file has no room given beforehand (fallocate=none), and for random access alone advice is given;
- fio's own work is taken off: what the same job takes with its engine `null`, which does nothing. It is
  shown, as a share of the job;
- all that starts is bound to one processor, and so are the kernel's workers of a loop device, where that may
  be asked for: on which processor they wake makes a direct read of 4 KiB take 11 to 40 us, for any program,
  and which it is follows from what else the program does. The mask is put back at the end.

A fresh file system is filled and emptied once, so that no image's first touch is in anybody's time.

Bonnie++ is asked for its block phases and its files; it prints nothing of what took less than half a second,
so give it --size 1073741824 --files 131072. Asserts nothing.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import machine
import numpy as np
import trials

from steelyard.programs import built
from steelyard.statistics import signed_rank
from steelyard.study.model import FileSystem
from steelyard.systems import filesystem, native
from steelyard.systems.system import Place, check

MB = 1e6
NULL_RUNS = 3
WORKERS = Path("/sys/devices/virtual/workqueue/cpumask")


@dataclass(frozen=True, slots=True)
class Job:
    """One job done by both: our workload and its settings, and what it is to fio."""

    workload: str
    settings: Mapping[str, int | str]
    fio: Mapping[str, int | str]

    @property
    def label(self) -> str:
        said = (f"{name}={value}" for name, value in self.settings.items() if name not in ("size", "batches"))
        return " ".join((self.workload, *said))

    @property
    def is_new(self) -> bool:
        return self.fio["rw"] == "write"


def jobs(size: int) -> Iterator[Job]:
    for cache in ("warm", "cold", "direct"):
        found = [
            Job("file_sequential_read", {"block": 65536}, {"rw": "read"}),
            Job("file_random_read", {"block": 4096}, {"rw": "randread"}),
            Job("file_random_write", {"block": 4096}, {"rw": "randwrite"}),
        ]
        if cache != "cold":
            found.append(Job("file_sequential_write", {"block": 65536}, {"rw": "write"}))
        if cache == "direct":
            queue: dict[str, int | str] = {"ioengine": "io_uring", "iodepth": 16, "iodepth_batch_submit": 16}
            queue |= {"iodepth_batch_complete_min": 1, "iodepth_batch_complete_max": 16}
            found.append(Job("file_queue_read", {"block": 4096, "depth": 16}, {"rw": "randread"} | queue))
        for job in found:
            where: dict[str, int | str] = {"direct": int(cache == "direct"), "invalidate": 0}
            where |= {"bs": int(job.settings["block"]), "size": size}
            where |= {"fadvise_hint": "random"} if "rand" in str(job.fio["rw"]) else {"fadvise_hint": 0}
            where |= {"end_fsync": 1} if "write" in str(job.fio["rw"]) else {}
            # fio counts milliseconds, of which a warm pass takes few.
            passes = 8 if cache == "warm" and "read" in job.workload else 1
            settings = {"size": size, "cache": cache, "batches": passes, **job.settings}
            yield Job(job.workload, settings, {**where, "loops": passes, **job.fio})


def ours(workload: str, settings: Mapping[str, int | str], place: Path) -> tuple[float, dict[str, int]]:
    """Operations a second, or bytes where it moves some; and what it reported."""
    words = [f"{name}={value}" for name, value in ({"batches": 1} | dict(settings)).items()]
    records = trials.records(workload, *words, TMPDIR=str(place))
    samples = [one for one in records if one["record"] == "samples"]
    timed = next(one for one in samples if one["metric"] in ("time", "bandwidth"))
    took_ns = timed["durations_ns"]
    rate = timed["operations"] * (timed["bytes"] or 1) * len(took_ns) / sum(took_ns) * 1e9
    return rate, {one["metric"]: one["durations_ns"][0] for one in samples if one is not timed}


def fio_ms(job: Mapping[str, int | str], place: Path) -> int:
    """How long fio says that the job took."""
    options = {"name": "peer", "filename": "peer", "ioengine": "psync", "fallocate": "none", **job}
    command = ["fio", "--output-format=json", "--gtod_reduce=1"]
    command += [f"--{name}={value}" for name, value in options.items()]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=place)
    (told,) = json.loads(answer.stdout)["jobs"]
    return int(told["write" if "write" in str(job["rw"]) else "read"]["runtime"])


def own_work_ms(job: Job, place: Path) -> float:
    """What fio takes for the job when nothing is read or written."""
    idle = {**job.fio, "ioengine": "null"}
    return float(np.median([fio_ms(idle, place) for _ in range(NULL_RUNS)]))


def write_file(file: Path, size: int, block: int, *, stays: bool) -> None:
    """Writes it in such blocks, and drops it from the cache unless it `stays`."""
    pool = [random.randbytes(block) for _ in range(max(1, 262144 // block))]
    made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    for number in range(size // block):
        os.write(made, pool[number % len(pool)])
    os.fsync(made)
    if not stays:
        os.posix_fadvise(made, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(made)


def by_fio(job: Job, idle_ms: float, place: Path) -> float:
    """Bytes a second, without fio's own work."""
    file = place / "peer"
    size = int(job.settings["size"])
    if not job.is_new:
        write_file(file, size, int(job.settings["block"]), stays=job.settings["cache"] == "warm")
    try:
        os.sync()
        return size * int(job.fio["loops"]) / max(fio_ms(job.fio, place) - idle_ms, 1) * 1000
    finally:
        file.unlink(missing_ok=True)
        os.sync()


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
        "-f",
    ]
    command += ["-q", *(["-u", "root"] if os.geteuid() == 0 else [])]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    cells = answer.stdout.strip().splitlines()[-1].split(",")
    # format, version, name, concurrency, seed, size, chunk, seeks, processes; then rate and share by phase
    places = {
        "file_sequential_write": (11, 1024),
        "file_rewrite": (13, 1024),
        "file_sequential_read": (17, 1024),
        "directory_create": (26, 1),
    }
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
    own, peer = (np.median([pair[side] for pair in pairs]) / scale for side in (0, 1))
    print(f"{label:58} {own:10.1f} {peer:10.1f} {unit:7} {machine.ratio(estimate)}", flush=True)


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


def on_a_fresh_one(kind: str, images: Path, size: int) -> int:
    """The same program, with its directory on a file system of that kind, which ends with it."""
    system = filesystem.mounted(native.NATIVE, FileSystem(kind, size=f"{max(1, size >> 28)}GiB"))
    check(system)
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-", dir=images) as directory:
        scratch = Path(directory) / "scratch"
        scratch.mkdir()
        made = system.command(Place(built.load("glibc"), scratch))
        words = made[: made.index("--") + 1]
        again = [sys.executable, *sys.argv, f"--directory={scratch}", "--filesystem=", "--fresh"]
        return subprocess.run([*words, *again], check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--size", type=int, default=268435456)
    parser.add_argument("--files", type=int, default=16384)
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument(
        "--filesystem", default="", help="ext4, xfs, ...: on a fresh one, four times as large"
    )
    parser.add_argument(
        "--images", type=Path, default=Path(tempfile.gettempdir()), help="where its image lies"
    )
    parser.add_argument("--fresh", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--only", default="", help="jobs whose label holds this; 'resident' and 'Bonnie++' too"
    )
    options = parser.parse_args()
    if options.filesystem:
        return on_a_fresh_one(options.filesystem, options.images, options.size)
    print(machine.describe())
    processor = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processor})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    a_place = tempfile.TemporaryDirectory(prefix="steelyard-bench-", dir=options.directory)
    with a_place as directory, workers_on(processor):
        if options.fresh:
            fill_once(Path(directory))
        measure(options, Path(directory))
    return 0


def fill_once(place: Path) -> None:
    free = shutil.disk_usage(place).free
    write_file(place / "filler", free - free // 10, 1 << 20, stays=False)
    (place / "filler").unlink()
    os.sync()


def measure(options: argparse.Namespace, place: Path) -> None:
    if options.only in "resident":
        cold_reads(options.rounds, options.size, place)
    beside_fio(options.rounds, options.size, place, options.only)
    if options.only in "Bonnie++":
        beside_bonnie(options.rounds, options.size, options.files, place)


@contextmanager
def workers_on(processor: int) -> Iterator[None]:
    """The kernel's unbound workers run on that processor alone, where this user may say so; meanwhile."""
    if not os.access(WORKERS, os.W_OK):
        print("the kernel's workers are not bound")
        yield
        return
    before = WORKERS.read_text()
    WORKERS.write_text(f"{1 << processor % 32:x}" + ",00000000" * (processor // 32))
    try:
        yield
    finally:
        WORKERS.write_text(before)


def cold_reads(rounds: int, size: int, place: Path) -> None:
    """What was in the cache before a cold pass, and what the device then read: others' reads are in it."""
    print("cold reads: share of the file in the cache before, and bytes from the device for each byte read")
    for workload, block in (("file_sequential_read", 65536), ("file_random_read", 4096)):
        for _ in range(rounds):
            _, told = ours(workload, {"size": size, "block": block, "cache": "cold"}, place)
            print(f"  {workload:24} {told['resident'] / size:8.4%} {told.get('device_read', 0) / block:8.4f}")


def beside_fio(rounds: int, size: int, place: Path, only: str) -> None:
    if shutil.which("fio") is None:
        print("fio is not installed")
        return
    print(f"{'beside fio':58} {'ours':>10} {'fio':>10}")
    for job in jobs(size):
        if only not in job.label:
            continue
        idle_ms = own_work_ms(job, place)
        pairs = in_rounds(
            rounds,
            lambda job=job: ours(job.workload, job.settings, place)[0],  # type: ignore[misc]
            lambda job=job, idle_ms=idle_ms: by_fio(job, idle_ms, place),  # type: ignore[misc]
        )
        compared(job.label, pairs, "MB/s", MB)
        taken_ms = size * int(job.fio["loops"]) / float(np.median([peer for _, peer in pairs])) * 1000
        print(f"{'':58} {'fio itself':>21} {idle_ms / (idle_ms + taken_ms):8.1%}")


def beside_bonnie(rounds: int, size: int, files: int, place: Path) -> None:
    if shutil.which("bonnie++") is None:
        print("Bonnie++ is not installed")
        return
    print(f"{'beside Bonnie++':58} {'ours':>10} {'theirs':>10}")
    phases: dict[str, dict[str, int | str]] = {
        "file_sequential_write": {"size": size, "block": 8192},
        "file_rewrite": {"size": size, "block": 8192},
        "file_sequential_read": {"size": size, "block": 8192},
        "directory_create": {"files": files},
    }
    pairs: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        found: dict[str, dict[str, float]] = {}
        for side in random.sample(["ours", "theirs"], 2):
            if side == "theirs":
                found[side] = by_bonnie(size, files, place)
            else:
                found[side] = {name: ours(name, settings, place)[0] for name, settings in phases.items()}
        for name, theirs in found["theirs"].items():
            pairs.setdefault(name, []).append((found["ours"][name], theirs))
    for name, members in pairs.items():
        is_many = name == "directory_create"
        compared(name, members, "files/s" if is_many else "MB/s", 1 if is_many else MB)


if __name__ == "__main__":
    sys.exit(main())
