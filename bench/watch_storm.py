"""What the monitor costs a storm of the cheapest system call, beside an empty BPF program and its peers.

    python bench/watch_storm.py [--blocks 30] [--seconds 0.5] [--peer-blocks 3] [--forks]

One process calls getppid in a loop. A block is one visit of every condition in random order: the monitor is
attached to the storm while it runs, the storm makes its rounds, the monitor is taken away. The storm is one
process throughout, on one processor, so that what differs within a block is the monitor alone. Shown: the
median over blocks of (ns a call watched / ns a call unwatched in that block), with a bootstrap interval
(95 %) of that median; by whole visits, so that what a monitor does now and then is in it. "by-stander" is a
storm that is not watched while another process is. "counted" is how many of the calls made were counted.
Peers are slow: they are visited in blocks of their own, with fewer calls. With --forks a "call" is the birth
of a process, its end at once, and the wait for it.
"""

import argparse
import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

import machine
import monitors
import numpy as np

ROUND_CALLS, ROUND_FORKS, PEER_CALLS, PEER_ROUNDS = 5000, 50, 1000, 10
RESAMPLES = 10_000

OURS: dict[str, monitors.Condition] = {
    "unwatched again": monitors.unwatched,
    "empty, enter": monitors.empty("enter"),
    "empty, exit": monitors.empty("exit"),
    "empty, both": monitors.empty("both"),
    **{
        f"watch {detail}": monitors.steelyard(detail)
        for detail in ("life", "budget", "profile", "calls", "latency")
    },
}
BYSTANDERS = {f"by-stander, {detail}": monitors.steelyard(detail) for detail in ("calls", "latency")}


class Storm:
    """A storm that runs when told."""

    def __init__(self, processor: int, *deed: str) -> None:
        self.process = subprocess.Popen(
            ["taskset", "-c", str(processor), monitors.build("storm"), *deed],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def rounds_ns(self, rounds: int, calls: int) -> list[float]:
        """The ns of a call, in each round."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{rounds} {calls}\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        return [int(word.split(":")[1]) / calls for word in words]

    def close(self) -> None:
        self.process.communicate()


@dataclass
class Found:
    """One condition's visits."""

    whole: dict[int, float] = field(default_factory=dict)  # block -> ns a call over the whole visit
    typical: dict[int, float] = field(default_factory=dict)  # block -> the median round's
    made: int = 0
    counted: int | None = 0
    failure: str | None = None


def visit(
    storm: Storm,
    condition: monitors.Condition,
    found: Found,
    *,
    block: int,
    pid: int,
    rounds: int,
    calls: int,
) -> None:
    try:
        with condition([pid]) as seen:
            storm.rounds_ns(5, calls // 5)
            times = storm.rounds_ns(rounds, calls)
    except (RuntimeError, FileNotFoundError) as error:
        found.failure = str(error)
        return
    found.whole[block] = float(np.mean(times))
    found.typical[block] = float(np.median(times))
    found.made += rounds * calls + 5 * (calls // 5)
    counted = seen.calls("getppid")
    found.counted = None if counted is None or found.counted is None else found.counted + counted


def interval(ratios: Sequence[float], chance: np.random.Generator) -> tuple[float, float]:
    drawn = chance.choice(np.array(ratios), size=(RESAMPLES, len(ratios)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return float(low), float(high)


def row(name: str, found: Found, base: Found, chance: np.random.Generator) -> str:
    if found.failure:
        return f"{name:24} {found.failure.splitlines()[-1][:80]}"
    shared = [block for block in found.whole if block in base.whole]
    if not shared:
        return f"{name:24} not visited"
    ratios = [found.whole[block] / base.whole[block] for block in shared]
    rounds = [found.typical[block] / base.typical[block] for block in shared]
    low, high = interval(ratios, chance)
    counted = "" if not found.counted else f"{found.counted} of {found.made}"
    return (
        f"{name:24} {np.median(list(found.whole.values())):9.1f} {np.median(ratios):9.3f} "
        f"[{low:.3f}, {high:.3f}] {np.median(rounds):9.3f} {len(shared):7} {counted}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a visit, unwatched")
    parser.add_argument("--peer-blocks", type=int, default=3)
    parser.add_argument("--processor", type=int, default=1)
    parser.add_argument("--forks", action="store_true", help="births of processes in place of calls")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="besides unwatched; again for more")
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    deed = ["fork"] if arguments.forks else []
    calls = ROUND_FORKS if arguments.forks else ROUND_CALLS
    storm, other = Storm(arguments.processor, *deed), Storm(0, *deed)
    per_call = float(np.median(storm.rounds_ns(50, calls)))
    rounds = max(3, round(arguments.seconds * 1e9 / per_call / calls))
    order = random.Random(arguments.seed)
    conditions = {"unwatched": monitors.unwatched, **OURS, **BYSTANDERS}
    if arguments.only:
        conditions = {name: conditions[name] for name in ("unwatched", *arguments.only)}
    base_of_peers = Found()
    peers = monitors.PEERS if arguments.peer_blocks else ()
    found = {name: Found() for name in (*conditions, *peers)}
    for block in range(arguments.blocks):
        for name in order.sample(sorted(conditions), len(conditions)):
            pid = other.process.pid if name in BYSTANDERS else storm.process.pid
            visit(storm, conditions[name], found[name], block=block, pid=pid, rounds=rounds, calls=calls)
    for block in range(arguments.peer_blocks):
        few = {"rounds": PEER_ROUNDS, "calls": PEER_CALLS, "block": block, "pid": storm.process.pid}
        visit(storm, monitors.unwatched, base_of_peers, **few)
        for name in order.sample(sorted(monitors.PEERS), len(monitors.PEERS)):
            visit(storm, monitors.PEERS[name], found[name], **few)
    storm.close()
    other.close()
    chance = np.random.default_rng(arguments.seed)
    print(
        f"{'condition':24} {'ns a call':>9} {'ratio':>9} {'(95 %)':16} {'by rounds':>9} {'blocks':>7} counted"
    )
    for name, one in found.items():
        base = base_of_peers if name in monitors.PEERS else found["unwatched"]
        print(row(name, one, base, chance))
    compare(found, chance)


def compare(found: dict[str, Found], chance: np.random.Generator) -> None:
    """The ratios that are asked for between conditions, from the same blocks."""
    pairs = [
        ("watch calls", "empty, exit"),
        ("watch latency", "watch calls"),
        ("watch latency", "empty, both"),
        ("by-stander, calls", "empty, exit"),
        ("by-stander, latency", "empty, both"),
    ]
    for first, second in pairs:
        if first not in found or second not in found:
            continue
        shared = sorted(set(found[first].whole) & set(found[second].whole))
        if shared:
            ratios = [found[first].whole[block] / found[second].whole[block] for block in shared]
            low, high = interval(ratios, chance)
            print(f"{first} / {second}: {np.median(ratios):.3f} [{low:.3f}, {high:.3f}]")


if __name__ == "__main__":
    main()
