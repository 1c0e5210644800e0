"""How often reports claim that a cost differs where none does, and how soon they claim one that does.

    python bench/why_errors.py [--reports N] [--noise NOISE...] [ARCHIVE...]

Simulated reports of 30 metrics with 6 costs each, by noise and number of pairs; and of each archive with a
watched experiment, reports of one system paired with itself: two blocks drawn for a pair, sides at random.
As if every metric's own difference were claimed: else no cost is.
"""

import argparse
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import machine
import numpy as np

from steelyard.analysis import rows, spending
from steelyard.analysis.host_costs import Costs
from steelyard.analysis.observations import Observations
from steelyard.analysis.spending import TIME, Spent
from steelyard.archive import experiments, reading
from steelyard.statistics import false_discovery
from steelyard.statistics.signed_rank import Array

METRICS = 30
PAIRS = (2, 3, 4, 5, 6, 8, 12, 16)
OPERATIONS = 500  # of a trial of 100 us each: 50 ms, a dozen clock ticks
BASE = {"user": 60_000.0, "system": 40_000.0, "wait": 500.0}
COUNTS = {"switches": 2.0, "faults": 0.01, "signals": 0.001}  # an operation
TICK_NS = 4e6

Draw = Callable[[np.random.Generator, Mapping[str, float]], Mapping[str, float]]


def normal(chance: np.random.Generator, truth: Mapping[str, float]) -> dict[str, float]:
    """5 % of normal noise on everything."""
    return {name: max(0.0, cost * chance.normal(1, 0.05)) for name, cost in truth.items()}


def tripled(chance: np.random.Generator, truth: Mapping[str, float]) -> dict[str, float]:
    """The same, and 5 % of the trials cost three times as much."""
    factor = 3.0 if chance.random() < 0.05 else 1.0
    return {name: factor * cost for name, cost in normal(chance, truth).items()}


def counted(chance: np.random.Generator, truth: Mapping[str, float]) -> dict[str, float]:
    """As they are counted: run time split by the clock ticks that it met, whole events by chance."""
    run = (truth["user"] + truth["system"]) * chance.normal(1, 0.01)
    ticks = max(1, round(run * OPERATIONS / TICK_NS))
    user = chance.binomial(ticks, truth["user"] / (truth["user"] + truth["system"])) / ticks
    events = {name: chance.poisson(truth[name] * OPERATIONS) / OPERATIONS for name in COUNTS}
    return {"user": run * user, "system": run * (1 - user), "wait": truth["wait"], **events}


NOISES = {draw.__name__: draw for draw in (normal, tripled, counted)}


def spent(costs: Mapping[str, float]) -> Spent:
    """A trial with these costs of an operation, as the monitor would have seen it."""
    total = sum(costs[name] for name in BASE)
    figures = {
        "cpu_user_ns": round(costs["user"] * OPERATIONS),
        "cpu_system_ns": round(costs["system"] * OPERATIONS),
        "wait_ns": round(costs["wait"] * OPERATIONS),
        "switches_voluntary": round(costs["switches"] * OPERATIONS),
        "switches_involuntary": 0,
        "faults_minor": round(costs["faults"] * OPERATIONS),
        "faults_major": 0,
        "signals": round(costs["signals"] * OPERATIONS),
        "span_ns": round(total * OPERATIONS / 0.95),
    }
    return spending.spent(figures, {}, OPERATIONS, 1, total)


def claims(metrics: list[dict[int, tuple[Spent, Spent]]], *, net: bool = False) -> list[set[str]]:
    """Of each metric, the costs whose difference is claimed."""

    def replicated(by_block: Mapping[int, float]) -> Array:
        return np.array(list(by_block.values()))

    names, raw = [], []
    for pairs in metrics:
        both = [one for pair in pairs.values() for one in pair]
        there = {name for one in both for name, cost in one.whole.items() if cost}
        ours = [name for name in (TIME, *spending.common(both)) if name in there]
        names.append(ours)
        raw.append(
            [spending.units(name, pairs, is_net=net, replicated=replicated).p_value() for name in ours]
        )
    found = false_discovery.two_stage(raw)
    return [
        {name for name, p in zip(ours, ps, strict=True) if p <= 0.05}
        for ours, ps in zip(names, found, strict=True)
    ]


def of_equals(draw: Draw, pairs: int, reports: int) -> float:
    """The share of reports on equal systems that claim any difference."""
    chance = np.random.default_rng(pairs)
    truth = BASE | COUNTS
    wrong = 0
    for _ in range(reports):
        metrics = [
            {block: (spent(draw(chance, truth)), spent(draw(chance, truth))) for block in range(pairs)}
            for _ in range(METRICS)
        ]
        wrong += any(claims(metrics))
    return wrong / reports


def of_unlike(draw: Draw, pairs: int, reports: int) -> float:
    """How often 50 us more of system time in 60 us are claimed, in 3 metrics whose difference is claimed."""
    chance = np.random.default_rng(pairs)
    truth = BASE | COUNTS | {"user": 30_000.0, "system": 30_000.0}
    more = truth | {"system": 80_000.0}
    found = 0
    for _ in range(reports):
        metrics = [
            {block: (spent(draw(chance, truth)), spent(draw(chance, more))) for block in range(pairs)}
            for _ in range(3)
        ]
        found += sum(not one.isdisjoint({"system", "run"}) for one in claims(metrics))
    return found / reports / 3


def of_itself(root: Path, pairs: int, reports: int) -> Mapping[str, float]:
    """The share of reports with any claim, of each system of an experiment held against itself."""
    experiment = experiments.find(root, None)
    chance = np.random.default_rng(pairs)
    shares = {}
    with reading.connect(experiment) as connection:
        costs = Costs(Observations(experiment, rows.read(connection)))
    for system in costs.observations.names:
        trials = [
            list(by_system[system].values()) for by_system in costs.spent.values() if system in by_system
        ]
        trials = [one for one in trials if len(one) >= 2 * pairs]
        if not trials:
            continue
        wrong = 0
        for _ in range(reports):
            metrics = []
            for one in trials:
                drawn = chance.permutation(len(one))[: 2 * pairs]
                metrics.append({n: (one[drawn[2 * n]], one[drawn[2 * n + 1]]) for n in range(pairs)})
            wrong += any(claims(metrics))
        shares[f"{system}, {len(trials)} metrics"] = wrong / reports
    return shares


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("archives", nargs="*", type=Path)
    options.add_argument("--reports", type=int, default=200)
    options.add_argument(
        "--noise", choices=list(NOISES), nargs="*", default=list(NOISES), help="simulated ones"
    )
    asked = options.parse_args()
    print(machine.describe())
    error = 100 * math.sqrt(0.05 * 0.95 / asked.reports)
    print(f"{asked.reports} reports each; at 5 % the standard error is {error:.1f} %")
    for draw in (NOISES[name] for name in asked.noise):
        for pairs in PAIRS:
            any_claim = of_equals(draw, pairs, asked.reports)
            found = of_unlike(draw, pairs, max(1, asked.reports // 5))
            print(
                f"{draw.__name__:8} {pairs:2} pairs: any false claim in {any_claim:5.1%} of reports; ", end=""
            )
            print(f"50 us more of system or run time found in {found:4.0%}", flush=True)
    for root in asked.archives:
        for pairs in PAIRS:
            for what, share in of_itself(root, pairs, asked.reports).items():
                print(
                    f"{root.name}: {what} against itself, {pairs} pairs: any claim in {share:.1%} of reports"
                )


if __name__ == "__main__":
    main()
