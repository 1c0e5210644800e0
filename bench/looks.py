"""What the levels of the looks come to together: simulated paths of a statistic that is normal at every look.

python bench/looks.py [--paths 200000]
"""

import argparse
from statistics import NormalDist

import machine
import numpy as np

from steelyard.statistics import levels


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--paths", type=int, default=200_000)
    paths = parser.parse_args().paths
    chance = np.random.default_rng(1)
    total = np.zeros(paths)
    claims, misses, plain = (np.zeros(paths, bool) for _ in range(3))
    print(machine.describe())
    before = 0
    for look in levels.LOOKS:
        total += chance.normal(size=paths) * np.sqrt(look - before)
        before = look
        size = np.abs(total) / np.sqrt(look)
        claims |= size > NormalDist().inv_cdf(1 - levels.claim(look) / 2)
        misses |= size > NormalDist().inv_cdf(1 - levels.usual(look) / 2)
        plain |= size > NormalDist().inv_cdf(0.975)
        print(
            f"up to look {look:4}: claims {claims.mean():.2%}, intervals that missed {misses.mean():.2%}; "
            f"at 5 % each {plain.mean():.1%}"
        )


if __name__ == "__main__":
    main()
