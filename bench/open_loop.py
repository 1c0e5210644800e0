"""How exactly an open load keeps to its times at 80 % of what nginx serves.

    python bench/open_loop.py [ROUNDS]

Starts nginx (one worker) on processor 0 and the load on processor 1. In each round it measures the most that
nginx serves by a closed load, then loads at 80 % of it, at constant and at exponential distances, and prints
how late one request in a hundred left after it was due (`late_ns` of the record "load": of those for which a
client was free). Needs nginx.
"""

import sys
from typing import Any

import load_generators
import machine
import trials

SHARE = 0.8
ARRIVALS = {"constant": 0, "exponential": 1}


def loaded(*settings: str) -> dict[str, Any]:
    """The record of one load."""
    return trials.load(load_generators.url(1000), "clients=64", "warm_ms=300", "window_ms=2000", *settings)


def main(rounds: int) -> None:
    load_generators.need("nginx")
    print(machine.describe())
    with load_generators.nginx():
        for _ in range(rounds):
            compare()


def compare() -> None:
    most = trials.rate(loaded())
    for arrivals, poisson in ARRIVALS.items():
        load = loaded(f"rate={round(SHARE * most)}", f"poisson={poisson}")
        print(
            f"{most:7,.0f} a second at most; {SHARE:.0%} of it, {arrivals:11}: 99 % left within "
            f"{load['late_ns'] / 1000:.0f} µs; {load['waited']:,} found no client free"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
