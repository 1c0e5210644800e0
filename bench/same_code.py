"""Whether the same machine code takes the same time on two systems of one machine.

    python bench/same_code.py [SYSTEM [OTHER [PAIRS]]]

Trials of `linpack` on the two (native and wine), all on one processor, in pairs of random order, while the
other is parked: the Hodges-Lehmann ratio of the lower quartile of their batches, with its interval.
"""

import math
import random
import sys
import tempfile
import time
from pathlib import Path

import machine
import numpy as np

from steelyard import systems
from steelyard.statistics import signed_rank
from steelyard.systems.agent import Agent

REQUEST = "trial 1 linpack place=1 seed=0 batches=40"
LIMIT_S = 60.0


def solve_ns(agent: Agent) -> tuple[float, str]:
    """ns of one system of equations in one trial, and the code's digest."""
    agent.resume()
    agent.send(REQUEST)
    samples = []
    for record in agent.records(time.monotonic() + LIMIT_S):
        if record["record"] == "samples":
            samples.append(record)
        if record["record"] == "end":
            if record["status"] != "ok":
                sys.exit(f"{agent.system.name}: {record['reason']}")
            break
    agent.park()
    (one,) = samples
    return float(np.quantile(one["durations_ns"], 0.25)) / one["operations"], str(one["code_sha256"])


def main() -> None:
    names = (*sys.argv[1:3], *("native", "wine")[len(sys.argv[1:3]) :])
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    print(machine.describe())
    logs = []
    digests = set()
    with tempfile.TemporaryDirectory() as directory:
        agents = [Agent(systems.find(name), directory=Path(directory)) for name in names]
        try:
            for agent in agents:
                agent.park()
            for _ in range(pairs):
                told = {}
                for number in random.sample((0, 1), 2):
                    told[number], digest = solve_ns(agents[number])
                    digests.add(digest)
                logs.append(math.log(told[1] / told[0]))
        finally:
            for agent in agents:
                agent.close()
    found = signed_rank.estimate(np.array(logs), alpha=0.05)
    assert found.low is not None
    assert found.high is not None
    print(f"machine code: {', '.join(sorted(digests))}")
    low, high = math.exp(found.low), math.exp(found.high)
    print(f"{names[1]} over {names[0]}: {math.exp(found.value):.4f} [{low:.4f}, {high:.4f}], {pairs} pairs")


if __name__ == "__main__":
    main()
