"""How far the monitor's run time of a process is from wait4's, and its split into user and system time.

    python bench/watch_run_time.py [--processes 200] [--backend bpf]

tests/monitor/lives.c lets that many processes of each kind live. wait4 is asked when a process has ended for
good, and once more "early", as a parent usually asks: then the last moments of a process may not have been
added to its account yet, and wait4 itself tells less than the process used. Differences are the monitor's
figure less wait4's, in whole microseconds, which is wait4's unit.
"""

import argparse
from pathlib import Path

import machine
import monitors  # noqa: F401  finds the tests' modules

# isort: split
import lives as lives_of
import monitor_runs

KINDS = ("brief", "calls", "long", "memory", "sleeps")
FIGURES = (
    ("user", "cpu_user_ns", "user_us", 1000),
    ("system", "cpu_system_ns", "system_us", 1000),
    ("minor faults", "faults_minor", "minor", 1),
    ("voluntary", "switches_voluntary", "voluntary", 1),
    ("involuntary", "switches_involuntary", "involuntary", 1),
    ("peak KiB", "memory_peak", "peak_kib", 1024),
)


def report(program: Path, options: list[str], arguments: argparse.Namespace) -> None:
    watched = monitor_runs.watch(
        "--detail",
        "life",
        "--backend",
        arguments.backend,
        "--",
        program,
        arguments.processes,
        *options,
        *KINDS,
    )
    pairs = lives_of.paired(watched)
    for kind in KINDS:
        of_kind = [(life, record) for life, record in pairs if life.kind == kind]
        middle = sorted(record["run_ns"] for _, record in of_kind)[len(of_kind) // 2]
        # The sum of two figures that were each cut to whole microseconds is up to 2 less.
        run = [record["run_ns"] // 1000 - life.user_us - life.system_us for life, record in of_kind]
        exact = sum(0 <= one <= 1 for one in run)
        parts = [f"run {min(run):+d} to {max(run):+d} us ({exact} of {len(run)} within the cut)"]
        for name, key, attribute, unit in FIGURES:
            differences = [record[key] // unit - getattr(life, attribute) for life, record in of_kind]
            parts.append(f"{name} {min(differences):+d} to {max(differences):+d}")
        print(f"{kind:7} of {middle / 1e6:.2f} ms: {', '.join(parts)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=200)
    parser.add_argument("--backend", default="bpf")
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    program = monitor_runs.meson.program("tests/monitor/lives")
    print("asked when it had ended for good:")
    report(program, [], arguments)
    print("asked at once:")
    report(program, ["early"], arguments)


if __name__ == "__main__":
    main()
