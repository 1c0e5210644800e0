"""In how many of a hundred repetitions all counts agree: the monitor's, strace's, and a program's own text.

    python bench/watch_counts.py [--repetitions 100] [--backend bpf] [--without-strace]

The programs and what they are known to make are those of tests/monitor/test_watch_counts.py.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import machine
import monitors  # finds the tests' modules

# isort: split
import known_calls
import monitor_runs


def by_monitor(known: Path, verb: str, backend: str) -> str:
    """ "agrees", or what differs."""
    watched = monitor_runs.watch("--detail", "calls", "--backend", backend, "--", known, *verb.split())
    lost = [watched.end.get(name) for name in ("lost_slots", "lost_calls", "lost_events")]
    if lost != [0, 0, 0]:
        return f"lost {lost}"
    if known_calls.found(watched.processes) == known_calls.expected(verb):
        return "agrees"
    return f"{known_calls.found(watched.processes)}"


def by_strace(known: Path, verb: str, directory: Path) -> str:
    told, whole = known_calls.strace_and_text(known, verb, directory)
    return "agrees" if told == whole else f"{told}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--backend", default="bpf")
    parser.add_argument("--without-strace", action="store_true")
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    print(monitors.watch_program())
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        known = monitor_runs.meson.program("tests/monitor/known")
        all_agree = [True] * arguments.repetitions
        for verb in known_calls.KNOWN:
            ours, theirs = Counter[str](), Counter[str]()
            for repetition in range(arguments.repetitions):
                found = by_monitor(known, verb, arguments.backend)
                ours[found] += 1
                all_agree[repetition] &= found == "agrees"
                if not arguments.without_strace:
                    theirs[by_strace(known, verb, directory)] += 1
            print(f"{verb:12} {arguments.backend} {shown(ours)}; strace {shown(theirs)}", flush=True)
        print(f"all counts of all programs agree in {sum(all_agree)} of {arguments.repetitions} repetitions")


def shown(counted: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in counted.most_common())


if __name__ == "__main__":
    main()
