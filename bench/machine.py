"""Says which machine a figure came from: every program here prints that first."""

import json
import math
import os
import subprocess
from pathlib import Path

from steelyard.programs import built
from steelyard.quantities import counted_processors
from steelyard.statistics.signed_rank import Estimate


def describe() -> str:
    """One line: processor, kernel, hypervisor, memory."""
    answer = subprocess.run([built.load("glibc"), "describe"], stdout=subprocess.PIPE, check=True)
    facts = json.loads(answer.stdout)
    return (
        f"{facts['cpu_model']}, {counted_processors(facts['cpu_count'], facts['cpu_online'])}, "
        f"{facts['memory_bytes'] / 2**30:.0f} GiB, "
        f"{facts['kernel']} {facts['kernel_release']}, hypervisor {facts['hypervisor']}, "
        f"clock {facts['clock_source']} ({facts['clock_cost_ns']} ns a reading)"
    )


def stolen_s() -> float:
    """What the host has taken away of all processors so far."""
    words = Path("/proc/stat").read_text().split(maxsplit=9)
    return int(words[8]) / os.sysconf("SC_CLK_TCK")


def ratio(logarithms: Estimate) -> str:
    """A ratio with its interval, from those of its logarithm."""
    if logarithms.low is None or logarithms.high is None:
        return f"{math.exp(logarithms.value):.3f} (too few rounds for an interval)"
    low, high = math.exp(logarithms.low), math.exp(logarithms.high)
    return f"{math.exp(logarithms.value):.3f} [{low:.3f}, {high:.3f}]"
