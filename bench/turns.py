"""What taking turns changes: each cell of a study measured by batches that take turns, and by trials.

    python bench/turns.py [--systems native native] [--study standard] [--only CELL ...] [--rounds 20]
        [--boots 1] [--busy]

In each round a cell is measured once in each way, on the same systems, in random order. Of each cell it says:
what a system's batches take in turns, relative to those that the same trials do alone, with an interval; by
how much the first batch of a turn takes longer than its others; then, for each way, the ratio of the second
system to the first with its interval, by how much a pair scatters, and how long a pair takes. The systems
that boot are booted `--boots` times. With --busy a loop runs on each processor meanwhile.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import machine
import numpy as np
from numpy.typing import NDArray

from steelyard import home
from steelyard.events import Earlier, Outcome
from steelyard.running import turns
from steelyard.running.order import Order, members_of, plan_of
from steelyard.running.running_systems import NoSeats, RunningSystems
from steelyard.statistics import signed_rank
from steelyard.study import plan as plans
from steelyard.study import turns as batches_of
from steelyard.study.model import Cell
from steelyard.study.plan import Plan
from steelyard.systems.agent import Agent

TURNS, TRIALS = "turns", "trials"
DIRECTORY = Path(home.temporary())
LOOP = "while True: pass"


@contextmanager
def busy(wanted: bool) -> Iterator[None]:
    """A loop on each processor."""
    with ExitStack() as stack:
        for processor in os.sched_getaffinity(0) if wanted else ():
            command = ["taskset", "-c", str(processor), sys.executable, "-c", LOOP]
            stack.callback(subprocess.Popen(command).kill)
        yield


def logs(outcome: Outcome) -> NDArray[np.float64]:
    """The logarithms of what its batches took, per operation."""
    (samples,) = outcome.samples
    return np.log(np.array(samples.durations_ns) / samples.operations)


def level(outcome: Outcome) -> float:
    """The last quarter of its batches in turns, less the second half of those alone."""
    (samples,), alone = outcome.samples, outcome.alone_ns or ()
    near = samples.durations_ns[-max(1, len(samples.durations_ns) // 4) :]
    return float(np.log(np.median(near) / np.median(alone[len(alone) // 2 :])))


def cold(batches: NDArray[np.float64], *, times: int, is_leader: bool) -> float:
    """By how much the first batch of a turn takes longer than its others. The leader's first turn is half as
    long as all others."""
    each = batches[times * is_leader :]
    each = each[: len(each) // (2 * times) * 2 * times].reshape(-1, 2 * times)
    return float(np.median(each[:, 0] - np.median(each[:, 1:], axis=1))) if len(each) else 0.0


class Cells:
    """What was found, by cell: a number a round."""

    def __init__(self) -> None:
        self.levels: dict[Cell, list[float]] = defaultdict(list)  # of a system, in turns less alone
        self.cold: dict[Cell, list[float]] = defaultdict(list)  # the first batch of a turn less the others
        self.differences: dict[tuple[Cell, str], list[float]] = defaultdict(list)
        self.seconds: dict[tuple[Cell, str], list[float]] = defaultdict(list)

    def measure(self, running: RunningSystems, plan: Plan, cell: Cell, number: int) -> None:
        """One round of a cell, in both ways."""
        found: dict[str, Sequence[Outcome]] = {}
        for way in random.sample([TURNS, TRIALS], 2):
            trials = plans.visit(plan, cell, number)
            running.plan = replace(plan, in_turns=plan.in_turns if way == TURNS else frozenset())
            begun = time.monotonic()
            if way == TURNS:
                outcomes = running.attempt_together(trials)
            else:
                outcomes = [running.attempt(trial) for trial in trials]
            self.seconds[cell, way].append(time.monotonic() - begun)
            found[way] = sorted(outcomes, key=lambda one: plan.systems.index(one.trial.system))
        if any(one.status != "ok" for outcomes in found.values() for one in outcomes):
            reasons = {one.reason for outcomes in found.values() for one in outcomes if one.reason}
            print(f"{cell.label}: {', '.join(map(str, reasons))}", flush=True)
            return
        in_turns, in_trials = ([logs(one) for one in found[way]] for way in (TURNS, TRIALS))
        self.levels[cell] += [level(one) for one in found[TURNS] if one.alone_ns]
        leader = turns.chance_of(trials[0].seed).sample(range(2), 2)[0]
        whole = min(len(one.samples[0].durations_ns) + len(one.alone_ns or ()) for one in found[TURNS])
        times = batches_of.in_a_row(whole)
        self.cold[cell] += [
            cold(one, times=times, is_leader=trials[leader].system == system)
            for system, one in zip(plan.systems, in_turns, strict=True)
        ]
        self.differences[cell, TURNS].append(float(np.median(in_turns[1] - in_turns[0])))
        self.differences[cell, TRIALS].append(float(np.median(in_trials[1]) - np.median(in_trials[0])))

    def tell(self, cell: Cell) -> None:
        """The cell's line."""
        levels = signed_rank.estimate(np.array(self.levels[cell] or [0.0]), alpha=0.05)
        words = [
            f"{cell.label:40} level {machine.ratio(levels)}, cold {statistics.median(self.cold[cell]):.1%}"
        ]
        for way in (TURNS, TRIALS):
            found = self.differences[cell, way]
            scatter, seconds = statistics.stdev(found), statistics.median(self.seconds[cell, way])
            ratio = machine.ratio(signed_rank.estimate(np.array(found), alpha=0.05))
            words.append(f"{way} {ratio}, a pair scatters by {scatter:.1%}, takes {1000 * seconds:.0f} ms")
        print("; ".join(words), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--systems", nargs=2, default=["native", "native"])
    parser.add_argument("--study", default="standard")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--boots", type=int, default=1)
    parser.add_argument("--busy", action="store_true")
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    plan = plan_of(Order(arguments.study, tuple(arguments.systems), tuple(arguments.only), None, 1))
    members = members_of(plan)
    cells = Cells()
    taking = [cell for cell in plan.cells if cell in plan.in_turns]
    running = RunningSystems(
        plan,
        start=lambda name, terms: Agent(members[name], directory=DIRECTORY, hear=terms.hear),
        watch=None,
        clock=time.monotonic,
        boot_machines=NoSeats(),
        earlier=Earlier(),
        keep=lambda event: None,
        starts_s={},
    )
    with closing(running), busy(arguments.busy):
        for number in range(arguments.rounds):
            if number % max(1, arguments.rounds // arguments.boots) == 0:
                for system in plan.systems:
                    list(running.bring_up(system))
            for cell in random.sample(taking, len(taking)):
                cells.measure(running, plan, cell, number)
    for cell in taking:
        if len(cells.differences[cell, TURNS]) > 1:
            cells.tell(cell)


if __name__ == "__main__":
    main()
