"""Whether the default detail's estimate of the calls made is right, and its interval honest.

    python bench/watch_budget.py [--repetitions 40] [--seconds 3] [--budget 5000]

A storm of getppid whose number of calls is known is watched at detail `budget`: without a pause; and in
bursts, with pauses of random length between them. Shown: the estimate over the truth (median, least and
greatest), and in how many repetitions the interval (95 %) covers the truth. What was counted outside windows
is sure; the interval is that of a ratio estimate of the rest: calls in the windows to run time in the
windows, times the run time while there were windows alone (Cochran, 1977, 6.4). "exact" is in how many all
was counted: then it has to be the truth. "spent" is hits of the hook, by whomever, times what one costs, as a
share of one processor: 25 ms in advance and half the budget until these are regained.
"""

import argparse
import math
import random
import time
from typing import Any

import machine
import monitors
import numpy as np
from scipy.stats import t
from watch_storm import Storm

CALLS = 20_000


def steady(storm: Storm, seconds: float) -> int:
    """The calls made."""
    rounds = max(1, round(seconds / (CALLS * 170e-9)))
    storm.rounds_ns(rounds, CALLS)
    return rounds * CALLS


def bursts(storm: Storm, seconds: float) -> int:
    end, made = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        rounds = random.randint(1, 5)
        storm.rounds_ns(rounds, CALLS)
        made += rounds * CALLS
        time.sleep(random.expovariate(1 / 0.01))
    return made


def reach(process: dict[str, Any], call: dict[str, Any]) -> float:
    """Half the interval's width, or NaN where there are too few windows."""
    if process["exact"]:
        return 0.0
    windows, run = process["windows_active"], process["windows_weighted_ns"]
    if windows < 3 or not run:
        return math.nan
    rate = float(call["weighted"] / run)
    squares = call["squares"] - 2 * rate * call["products"] + rate**2 * process["windows_run_squares"]
    deviation = math.sqrt(max(0.0, squares) / (windows - 1))
    estimated = rate * process["missed_run_ns"]
    by_chance = (
        float(t.ppf(0.975, windows - 1)) * deviation * math.sqrt(windows) * process["missed_run_ns"] / run
    )
    share = process["windows_hook_ns"] / process["windows_run_ns"]
    return float(by_chance + share / 2 * estimated)


def once(
    storm: Storm, pattern: Any, arguments: argparse.Namespace
) -> tuple[float, float, int, str, bool, float]:
    """Estimate over truth, half the interval over truth, windows; what cannot be so; whether all was counted,
    and the share of a processor that was spent."""
    condition = monitors.steelyard("budget", "--budget", str(arguments.budget))
    with condition([storm.process.pid]) as seen:
        made = pattern(storm, arguments.seconds)
    process = next(one for one in seen.records if one["record"] == "process")
    call = process["calls"].get("getppid")
    wrong = []
    if process["windows_active"] > process["windows"]:
        wrong.append("ran in more windows than there were")
    if process["windows_run_ns"] > process["windows_ns"]:
        wrong.append("ran in windows for longer than they lasted")
    last = next(one for one in seen.records if one["record"] == "end")
    began_ns = next(one for one in seen.records if one["record"] == "watch")["began_ns"]
    spent = last["hits_of_all"] * last["hook_ns"] / (last["at_ns"] - began_ns)
    if process["exact"] and call["calls"] != made:
        wrong.append("all was counted, and it is not the truth")
    if call is None or call["expanded"] is None:
        return math.nan, math.nan, process["windows"], "; ".join(wrong), process["exact"], spent
    ratio, half = call["expanded"] / made, reach(process, call) / made
    return ratio, half, process["windows"], "; ".join(wrong), process["exact"], spent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--budget", type=int, default=5000, help="in millionths of the target's time")
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    for pattern in (steady, bursts):
        found = []
        for _ in range(arguments.repetitions):
            storm = Storm(1)
            found.append(once(storm, pattern, arguments))
            storm.close()
        ratios = np.array([one[0] for one in found])
        halves = np.array([one[1] for one in found])
        covers = int(np.sum(np.abs(ratios - 1) <= halves))
        resolved = int(np.sum(~np.isnan(halves)))
        print(
            f"{pattern.__name__}: estimate / truth {np.nanmedian(ratios):.4f} "
            f"[{np.nanmin(ratios):.4f} to {np.nanmax(ratios):.4f}], "
            f"half the interval {np.nanmedian(halves):.2%}, "
            f"covers in {covers} of {resolved} (of {len(found)}), "
            f"windows {np.median([one[2] for one in found]):.0f}, "
            f"exact {sum(one[4] for one in found)}, spent {np.median([one[5] for one in found]):.2%}"
        )
        for wrong in sorted({one[3] for one in found if one[3]}):
            print(f"  impossible in {sum(one[3] == wrong for one in found)}: {wrong}")


if __name__ == "__main__":
    main()
