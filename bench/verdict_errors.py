"""How often verdicts are wrong, and how soon they come: simulated studies through the method that reports
use.

    python bench/verdict_errors.py [--reports 200] [--metrics 96] [--looks 32] [MODEL ...]

Of two equal systems: reports with any false claim, over all looks together; usual intervals that missed the
truth at some look; claims of equivalence that are wrong, of differences just beyond the margin. Then, with
one metric of all different: the number of blocks after which the difference is firm, median and 90 %.
"""

import argparse
import math
from collections.abc import Sequence

import machine
import noise
import numpy as np

from steelyard.statistics import judgement, levels
from steelyard.statistics.judgement import Judged, Pairs

FAMILIES = 6
MARGIN = math.log1p(0.02)
FACTORS = (1.05, 1.2, 1.5, 2.0, 7.0, 100.0)


def judged(times: noise.Array, first: np.ndarray, units: int, families: int) -> Judged:
    """What a report says after that many blocks."""
    pairs = [
        Pairs(
            -one[:units, 0],
            -one[:units, 1],
            judgement.both_orders(orders[:units].tolist()),
            number * families // len(times),
        )
        for number, (one, orders) in enumerate(zip(times, first, strict=True))
    ]
    return judgement.judge(pairs, [MARGIN] * len(pairs))


def report(times: noise.Array, first: np.ndarray, looks: Sequence[int], families: int) -> list[list[bool]]:
    """Of one A/A report over its looks: whether there was a false claim by each, and each metric's misses."""
    claims, misses = [], np.zeros(len(times), bool)
    for units in looks:
        found = judged(times, first, units, families).all
        claims.append(any(one.is_claimed for one in found))
        misses |= [
            one.usual.low is not None and not one.usual.low <= 0 <= (one.usual.high or 0) for one in found
        ]
    return [claims, misses.tolist()]


def equal_systems(model: str, arguments: argparse.Namespace, looks: Sequence[int]) -> None:
    chance = np.random.default_rng(1)
    any_claim, early, misses = 0, 0, []
    for _ in range(arguments.reports):
        times, first = noise.log_times(chance, model, metrics=arguments.metrics, blocks=looks[-1])
        claims, missed = report(times, first, looks, FAMILIES)
        any_claim += any(claims)
        early += any(claim for claim, look in zip(claims, looks, strict=True) if look <= 5)
        misses += missed
    print(
        f"{model:12} any false claim {any_claim / arguments.reports:6.1%} (by five blocks "
        f"{early / arguments.reports:.1%}), intervals that missed {np.mean(misses):.1%}",
        flush=True,
    )


def wrong_equivalence(model: str, arguments: argparse.Namespace, looks: Sequence[int]) -> None:
    """Every metric differs by the margin: whatever is called equivalent is wrong."""
    chance = np.random.default_rng(2)
    wrong = 0
    for _ in range(arguments.reports):
        times, first = noise.log_times(chance, model, metrics=arguments.metrics, blocks=looks[-1])
        times[..., 1] += MARGIN
        wrong += any(
            one.is_equivalent for units in looks for one in judged(times, first, units, FAMILIES).all
        )
    print(f"{model:12} reports with a wrong equivalence {wrong / arguments.reports:6.1%}", flush=True)


def soonest(
    model: str, arguments: argparse.Namespace, looks: Sequence[int], *, scatter: float | None
) -> None:
    """One metric differs: the first look at which that is firm."""
    told = []
    for factor in FACTORS:
        chance = np.random.default_rng(3)
        found = []
        for _ in range(max(20, arguments.reports // 5)):
            times, first = noise.log_times(chance, model, metrics=arguments.metrics, blocks=looks[-1])
            if scatter is not None:
                times[0] *= scatter / max(1e-9, times[0].std())
            times[0, :, 1] += math.log(factor)
            found.append(next((units for units in looks if _is_firm(times, first, units)), math.inf))
        middle, most = np.quantile(found, [0.5, 0.9], method="higher")
        told.append(f"x{factor:g} {middle:g}/{most:g}")
    what = f", its trials scatter by {scatter:.0%}" if scatter else ""
    print(f"{model:12} one of {arguments.metrics} differs{what}: {', '.join(told)}", flush=True)


def _is_firm(times: noise.Array, first: np.ndarray, units: int) -> bool:
    one = judged(times, first, units, FAMILIES).all[0]
    return one.is_claimed and one.estimate.high is not None and one.estimate.high < -MARGIN


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=list(noise.MODELS))
    parser.add_argument("--reports", type=int, default=200)
    parser.add_argument("--metrics", type=int, default=96)
    parser.add_argument("--looks", type=int, default=32, help="the last one")
    parser.add_argument("--only", choices=("equal", "equivalence", "power"))
    arguments = parser.parse_args()
    looks = [look for look in levels.LOOKS if look <= arguments.looks]
    print(machine.describe())
    print(f"{arguments.reports} reports of {arguments.metrics} metrics, looks {looks}")
    for model in arguments.models:
        if arguments.only in (None, "equal"):
            equal_systems(model, arguments, looks)
        if arguments.only in (None, "equivalence"):
            wrong_equivalence(model, arguments, looks)
        if arguments.only in (None, "power"):
            soonest(model, arguments, looks, scatter=None)
    if arguments.only in (None, "power"):
        soonest("quiet", arguments, looks, scatter=0.02)


if __name__ == "__main__":
    main()
