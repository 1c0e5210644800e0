"""What watching a thousand idle processes costs: the monitor's own share of a processor, and its memory.

    python bench/watch_idle.py [--processes 1000] [--seconds 30] [--every 1]

At each detail the monitor is left to start, and then its run time is read, by the kernel's exact account,
before and after that many seconds. Shown besides: what starting took, and its memory: its own while it
watches, what its maps hold in the kernel, and its own (pages of files included) while it loaded its programs.
"""

import argparse
import json
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import machine
import monitors

DETAILS = ("life", "budget", "calls", "profile", "latency")
START_S = 3.0


def run_ns(pid: int) -> int:
    """How long it has run, by the kernel's exact account."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def line(pid: int, detail: str, arguments: argparse.Namespace) -> str:
    with tempfile.TemporaryFile() as file:
        options = ["--detail", detail, "--every", str(round(arguments.every * 1e9)), "-p", str(pid)]
        process = subprocess.Popen(
            [monitors.watch_program(), "--backend", "bpf", "--records", str(file.fileno()), *options],
            pass_fds=(file.fileno(),),
        )
        time.sleep(START_S)
        before, began = run_ns(process.pid), time.monotonic()
        time.sleep(arguments.seconds)
        spent, lasted = run_ns(process.pid) - before, time.monotonic() - began
        process.send_signal(signal.SIGINT)
        process.wait()
        file.seek(0)
        records = [json.loads(line) for line in file]
    end, seen = records[-1], sum(one["record"] == "process" for one in records)
    return (
        f"{detail:8} {seen:9} {spent / lasted / 1e9:12.4%} {before / 1e6:9.1f} ms "
        f"{end['memory_bytes'] / 2**20:9.1f} MiB {(end['maps_bytes'] or 0) / 2**20:9.1f} MiB "
        f"{end['memory_peak_bytes'] / 2**20:9.1f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--every", type=float, default=1)
    parser.add_argument("--only", action="append", choices=DETAILS, help="a detail (default: each)")
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    idle: Path = monitors.build("idle")
    process = subprocess.Popen(
        [idle, str(arguments.processes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    print(
        f"{'detail':8} {'processes':>9} {'of one CPU':>12} {'to start':>12} {'own memory':>13} "
        f"{'kernel maps':>13} {'while loading':>13}"
    )
    for detail in arguments.only or DETAILS:
        print(line(process.pid, detail, arguments), flush=True)
    process.communicate()


if __name__ == "__main__":
    main()
