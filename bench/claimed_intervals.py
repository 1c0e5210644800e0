"""How often the intervals of claimed differences hold the truth, where measuring stops as soon as they are
narrow enough: simulated studies in which metrics differ by known ratios.

    python bench/claimed_intervals.py [--reports 100] [--metrics 30] [--precision 0.1] [--margin 0.02]
        [--scale 1] [MODEL ...]

Of the metrics a fifteenth each differs by 1.005, 1.05, 1.5, 5 and 50 times; the others do not differ. After
each look a metric that is settled (a verdict, and the size known to the precision) gets no more blocks, as in
a run. Then the share of claimed intervals that hold the truth, by ratio, and how many of them were settled;
and the share of all intervals of metrics that differ. The noise is that of trials times the scale.
"""

import argparse
import math
from collections import Counter

import machine
import noise
import numpy as np

from steelyard.statistics import judgement, levels
from steelyard.statistics.judgement import Pairs

RATIOS = (1.005, 1.05, 1.5, 5.0, 50.0)
FAMILIES = 4


def report(
    arguments: argparse.Namespace, chance: np.random.Generator, model: str
) -> list[tuple[float, bool, bool, bool]]:
    """One simulated report: of each metric its ratio, whether its interval holds that, whether it is claimed,
    and whether it was settled before the last look."""
    metrics, last, margin = arguments.metrics, arguments.looks, math.log1p(arguments.margin)
    times, first = noise.log_times(chance, model, metrics=metrics, blocks=last)
    times *= arguments.scale
    truths = np.zeros(metrics)
    for number, ratio in enumerate(RATIOS):
        truths[number :: 3 * len(RATIOS)] = math.log(ratio)
    times[..., 1] += truths[:, None]
    units = dict.fromkeys(range(metrics), 0)
    settled: set[int] = set()
    for look in [one for one in levels.LOOKS if one <= last]:
        units |= {number: look for number in units if number not in settled}
        pairs = [
            Pairs(
                -times[number, : units[number], 0],
                -times[number, : units[number], 1],
                judgement.both_orders(first[number, : units[number]].tolist()),
                number % FAMILIES,
            )
            for number in range(metrics)
        ]
        found = judgement.judge(pairs, [margin] * metrics).all
        settled = set()
        for number, one in enumerate(found):
            low, high = one.estimate.low or 0.0, one.estimate.high or 0.0
            firm = one.is_claimed and (low > margin or high < -margin)
            width = (one.shown.high or math.inf) - (one.shown.low or -math.inf)
            if one.is_equivalent or (firm and width <= 2 * math.log1p(arguments.precision)):
                settled.add(number)
    return [
        (
            round(math.exp(truths[number]), 6),
            (quoted.low or 0.0) <= -truths[number] <= (quoted.high or 0.0),
            one.is_claimed,
            number in settled,
        )
        for number, one in enumerate(found)
        for quoted in [one.shown if one.is_claimed else one.usual]
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=["quiet", "vm", "tails", "modes x2.9", "coarse"])
    parser.add_argument("--reports", type=int, default=100)
    parser.add_argument("--metrics", type=int, default=30)
    parser.add_argument("--precision", type=float, default=0.1)
    parser.add_argument("--margin", type=float, default=0.02)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--looks", type=int, default=64, help="the last one")
    arguments = parser.parse_args()
    print(machine.describe())
    for model in arguments.models:
        chance = np.random.default_rng(6)
        claimed, held, early = Counter[float](), Counter[float](), Counter[float]()
        differing, holding = 0, 0
        for _ in range(arguments.reports):
            for ratio, holds, is_claimed, is_settled in report(arguments, chance, model):
                claimed[ratio] += is_claimed
                held[ratio] += holds and is_claimed
                early[ratio] += is_settled and is_claimed
                differing += ratio != 1
                holding += holds and ratio != 1
        told = ", ".join(
            f"x{ratio:g} {held[ratio] / claimed[ratio]:.1%} of {claimed[ratio]} ({early[ratio]} settled)"
            for ratio in sorted(claimed)
            if ratio != 1 and claimed[ratio]
        )
        every = sum(held.values()) / max(1, sum(claimed.values()))
        print(
            f"{model:12} intervals that hold the truth: {every:.2%}; {told}; false claims {claimed[1.0]}; "
            f"of all that differ {holding / max(1, differing):.2%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
