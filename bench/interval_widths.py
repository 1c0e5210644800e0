"""How wide the intervals of a difference are, and how often they miss, by three methods: signed ranks alone;
with t of all differences; with t without a fifth of them at either end, as reports do up to 31 pairs.

    python bench/interval_widths.py [--reports 30] [--draws 100000] [MODEL ...]

For each model of noise, method and number of pairs, at 0.65 %: half of the width in percent (the median over
the metrics of simulated reports) and the share of intervals that miss. Then, of normal noise, how many times
as many intervals of t miss as may, at levels such as looks and many metrics lead to.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

import machine
import noise
import numpy as np

from steelyard.statistics import levels, moderation, paired, trimmed

PAIRS = (8, 9, 10, 12, 16, 20, 24, 32, 48)
NEVER = PAIRS[-1] + 1
METHODS = {
    "ranks": (trimmed.FROM, trimmed.FROM),
    "with t": (NEVER, NEVER),
    "trimmed t": (trimmed.FROM, NEVER),
}
DEEP = (levels.usual(2), 1e-3, 1e-4)


@contextmanager
def method(name: str) -> Iterator[None]:
    """From how many pairs on means are trimmed and ranks decide is set for a while."""
    before = trimmed.FROM, paired.RANKS_FROM
    trimmed.FROM, paired.RANKS_FROM = METHODS[name]
    yield
    trimmed.FROM, paired.RANKS_FROM = before


def widths(model: str, reports: int) -> None:
    chance = np.random.default_rng(5)
    differences = []
    for _ in range(reports):
        times, _ = noise.log_times(chance, model, metrics=96, blocks=PAIRS[-1])
        differences.append(times[..., 0] - times[..., 1])
    for name in METHODS:
        told = []
        for pairs in PAIRS:
            intervals = []
            for one in differences:
                some = [metric[:pairs] for metric in one]
                with method(name):
                    prior = moderation.prior(some)
                    found = [paired.usual(metric, moderation.moderated(metric, prior)) for metric in some]
                intervals += [(each.low or 0.0, each.high or 0.0) for each in found]
            low, high = np.array(intervals).T
            missed = np.mean((low > 0) | (high < 0))
            told.append(f"{pairs}: {np.median(high - low) / 2:.1%}, {missed:.2%}")
        print(f"{model:12} {name:9} {'; '.join(told)}", flush=True)


def deep(draws: int) -> None:
    chance = np.random.default_rng(3)
    for pairs in (8, 12, 16, 24):
        for name in ("with t", "trimmed t"):
            deviations = np.exp(chance.uniform(np.log(0.01), np.log(0.1), (draws, 1)))
            differences = list(deviations * chance.normal(size=(draws, pairs)))
            with method(name):
                prior = moderation.prior(differences[:5000])
                p = np.array([moderation.moderated(one, prior).p_two_sided() for one in differences])
            times = ", ".join(f"{np.mean(p < level) / level:.2f} at {level:.2%}" for level in DEEP)
            what = f"{name.removeprefix('with '):9} of {pairs:2} pairs"
            print(f"{what} misses that many times as often as it may: {times}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=list(noise.MODELS))
    parser.add_argument("--reports", type=int, default=30)
    parser.add_argument("--draws", type=int, default=100_000)
    arguments = parser.parse_args()
    print(machine.describe())
    for model in arguments.models:
        widths(model, arguments.reports)
    if arguments.draws:
        deep(arguments.draws)


if __name__ == "__main__":
    main()
