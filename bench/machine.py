"""Says which machine a figure came from: every program here prints that first."""

import json
import subprocess

from steelyard.programs import built


def describe() -> str:
    """One line: processor, kernel, hypervisor, memory."""
    answer = subprocess.run([built.load("glibc"), "describe"], stdout=subprocess.PIPE, check=True)
    facts = json.loads(answer.stdout)
    return (
        f"{facts['cpu_model']}, {facts['cpu_count']} processors, {facts['memory_bytes'] / 2**30:.0f} GiB, "
        f"{facts['kernel']} {facts['kernel_release']}, hypervisor {facts['hypervisor']}, "
        f"clock {facts['clock_source']} ({facts['clock_cost_ns']} ns a reading)"
    )
