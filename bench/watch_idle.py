"""What watching a thousand idle processes costs: the monitor's own share of a processor, and its memory.

    python bench/watch_idle.py [--processes 1000] [--seconds 30] [--every 1]

Two watches at each detail, one of them so many seconds longer: the difference is what going on costs, the
shorter what starting costs. Each by the monitor's own account of itself, and by wait4 of it, which must
agree.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import machine
import monitors

DETAILS = ("life", "budget", "calls", "profile", "latency")
SHORT_S = 1.0


def watched(pid: int, detail: str, *, seconds: float, every: float) -> tuple[dict[str, Any], float, int]:
    """What it says of itself at the end; its CPU time by wait4, in s; how many processes it saw."""
    options = ["--detail", detail, "--every", str(round(every * 1e9)), "--for", str(round(seconds * 1e9))]
    read, write = os.pipe()
    command = [
        monitors.watch_program(),
        "--backend",
        "bpf",
        "--records",
        str(write),
        *options,
        "-p",
        str(pid),
    ]
    process = subprocess.Popen(command, pass_fds=(write,))
    os.close(write)
    with os.fdopen(read) as file:
        records = [json.loads(line) for line in file]
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return records[-1], used.ru_utime + used.ru_stime, sum(one["record"] == "process" for one in records)


def line(pid: int, detail: str, arguments: argparse.Namespace) -> str:
    short, short_s, _ = watched(pid, detail, seconds=SHORT_S, every=arguments.every)
    long, long_s, seen = watched(pid, detail, seconds=SHORT_S + arguments.seconds, every=arguments.every)

    def cpu_ns(end: dict[str, Any]) -> int:
        return int(end["cpu_user_ns"]) + int(end["cpu_system_ns"])

    share = (cpu_ns(long) - cpu_ns(short)) / (arguments.seconds * 1e9)
    return (
        f"{detail:8} {seen:9} {share:12.4%} {(long_s - short_s) / arguments.seconds:12.4%} "
        f"{cpu_ns(short) / 1e6:9.1f} ms {long['memory_peak_bytes'] / 2**20:9.1f} MiB "
        f"{(long['maps_bytes'] or 0) / 2**20:9.1f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--every", type=float, default=1)
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    idle: Path = monitors.build("idle")
    process = subprocess.Popen(
        [idle, str(arguments.processes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    print(
        f"{'detail':8} {'processes':>9} {'own account':>12} {'by wait4':>12} {'to start':>12} "
        f"{'peak memory':>13} {'kernel maps':>13}"
    )
    for detail in DETAILS:
        print(line(process.pid, detail, arguments), flush=True)
    process.communicate()


if __name__ == "__main__":
    main()
