"""Whether `demand` is the processor time that is really gone, in two ways.

    python bench/network_demand.py [ROUNDS]

By soakers: one of the lowest priority on each processor (bench/network_looper.c). What they do not get of the
time that passes is used by others, or taken by the host; the same trial with next to no data, and as long a
time without a trial, are taken off. They change what they measure: no processor is ever idle, so a stream
costs much more; and an interrupt that finds a soaker running is in the soaker's time. So what they can
confirm is `near` and `far`, by which the same trial says what its two ends used.

By a known amount: a stream runs on one processor, and on another something that works and sleeps in turn, and
knows how much it has worked. By so much `rest`, and so `demand`, must rise. The kernel tells idle time in
ticks of 10 ms, so works far shorter than a tick are tried, too.

Both are repeated ROUNDS times; prints each ratio with its interval. Needs two processors and a quiet machine.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import machine
import numpy as np
import trials

from steelyard.statistics import signed_rank

SIZE, BATCHES = 16384, 10
WORKS = ((100, 100), (5000, 5000), (5000, 20000))  # us of work, and of sleep after it

Told = list[float]  # ns of processor time, and ns that passed


def trial(processors: set[int], total: int) -> dict[str, float]:
    """The metrics of a stream of that many bytes between ends on those processors; its `length` in ns."""
    operations = max(1, total // SIZE // BATCHES)
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        records = trials.records(
            "tcp_send", "peer=namespace", "congestion=reno", f"place={2 if len(processors) > 1 else 0}",
            f"operations={operations}", f"batches={BATCHES if operations > 1 else 1}", "warmup_ns=0",
            f"size={SIZE}",
        )  # fmt: skip
    finally:
        os.sched_setaffinity(0, own)
    samples = [one for one in records if one["record"] == "samples"]
    found = {one["metric"]: float(one["durations_ns"][0]) for one in samples}
    return found | {"length": float(sum(samples[0]["durations_ns"]))}


@contextmanager
def loopers(program: Path, *words: list[str]) -> Iterator[list[Told]]:
    """One for each list of arguments; what each has told is there at the end."""
    running = [
        subprocess.Popen([program, *each], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for each in words
    ]
    told: list[Told] = []
    try:
        yield told
        told += [[float(word) for word in one.communicate()[0].split()] for one in running]
    finally:
        for one in running:
            one.kill()
            one.wait()


def gone_ns(program: Path, work: Callable[[], object]) -> tuple[float, float]:
    """What the soakers did not get while that was done, and how many seconds it took."""
    taken_s, began = machine.stolen_s(), time.monotonic()
    with loopers(program, *([str(number)] for number in sorted(os.sched_getaffinity(0)))) as told:
        work()
        took = time.monotonic() - began
    return sum(passed - had for had, passed in told) - 1e9 * (machine.stolen_s() - taken_s), took


def soaked(program: Path) -> float:
    """The time of both ends over what is gone for them."""
    total, found = 4 << 30, {"near": 0.0, "far": 0.0}
    every = os.sched_getaffinity(0)
    gone, took = gone_ns(program, lambda: found.update(trial(every, total)))
    start, start_took = gone_ns(program, lambda: trial(every, 1))
    nothing, rest_took = gone_ns(program, lambda: time.sleep(max(1.0, took - start_took)))
    others = start + nothing / rest_took * (took - start_took)
    return (found["near"] + found["far"]) * total / 1024 / (gone - others)


def planted(program: Path, works_us: int, sleeps_us: int) -> float:
    """By how much `rest` has risen, over the work that was done meanwhile."""
    near, other, *_ = sorted(os.sched_getaffinity(0))
    total = 8 << 30
    rests: dict[bool, float] = {}
    share = 0.0
    for is_planted in random.sample([False, True], 2):
        words = [[str(other), str(works_us), str(sleeps_us)]] if is_planted else []
        with loopers(program, *words) as told:
            found = trial({near}, total)
        rests[is_planted] = found.get("rest", 0.0) * total / 1024 / found["length"]
        if told:
            share = told[0][0] / told[0][1]
    return (rests[True] - rests[False]) / share


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(machine.describe())
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / "looper"
        source = Path(__file__).with_name("network_looper.c")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", source, "-o", program], check=True)
        for works_us, sleeps_us in WORKS:
            ratios = [planted(program, works_us, sleeps_us) for _ in range(rounds)]
            say(f"rise of rest over work of {works_us} us in {works_us + sleeps_us}", ratios)
        say("near and far over what soakers did not get", [soaked(program) for _ in range(rounds)])


def say(what: str, ratios: list[float]) -> None:
    found = signed_rank.estimate(np.log(np.array(ratios)), alpha=0.05)
    print(f"{what}: {machine.ratio(found)}", flush=True)


if __name__ == "__main__":
    main()
