"""What the harness costs, as a share of the cheapest workload's operation: null against all others.

    python bench/harness_cost.py

Workloads in random order in each of 20 rounds; medians of the rounds' lower quartiles.
"""

import random
import statistics

import machine
import trials

from steelyard.programs import built

ROUNDS = 20


def per_operation_ns(workload: str) -> float:
    """The lower quartile of one trial's batches of its first metric."""
    return trials.floor_ns(trials.samples(workload))


def main() -> None:
    names = [workload.name for workload in built.catalogue().workloads]
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name in random.sample(names, len(names)):
            found[name].append(per_operation_ns(name))
    middle = {name: statistics.median(values) for name, values in found.items()}
    cheapest = min((name for name in names if name != "null"), key=lambda name: middle[name])
    print(machine.describe())
    for name in sorted(names, key=lambda name: middle[name]):
        share = middle["null"] / middle[name]
        print(f"{name:16} {middle[name]:14.4f} ns per operation, the harness {share:.4%}")
    print(f"the harness costs {middle['null'] / middle[cheapest]:.2%} of the cheapest operation ({cheapest})")


if __name__ == "__main__":
    main()
