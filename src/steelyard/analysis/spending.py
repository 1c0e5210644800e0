"""Turns the monitor's figures of trials into costs of an operation, and the costs of two systems into
differences.

The costs of a trial with one operation are subtracted from every trial's costs, and its operation from the
trial's: they are process, set-up and agent. Waiting is not subtracted: it depends on the machine, not on
set-up.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from steelyard.events import SPAN, SYSTEM, USER
from steelyard.statistics import apart, signed_rank
from steelyard.statistics.signed_rank import Array, Estimate
from steelyard.watch.figures import FAULTS, SWITCHES

TIME, OPERATIONS = "time", "operations"

# The costs, each with its unit, and the monitor's figures that it is the sum of.
RUN, REST = "run", "rest"
TIMES = {"user": (USER,), "system": (SYSTEM,), RUN: ("run_ns",), "wait": ("wait_ns",)}
COUNTS = {
    "switches": tuple(SWITCHES.values()),
    "faults": tuple(FAULTS.values()),
    "major faults": (FAULTS["major"],),
    "signals": ("signals",),
    "bytes read": ("bytes_read",),
    "bytes written": ("bytes_written",),
}
# What is counted comes one by one, but for these.
_GRAINS = {"bytes read": 4096, "bytes written": 4096}

# Kernels split run time into user and system mode by clock ticks (1 to 10 ms apart): so little meets too few.
_SPLIT_LEAST_NS = 20_000_000
_TICK_NS = 4_000_000  # as most kernels are built
# Less than that part of an operation's time, or less than one count in a trial, is as good as nothing.
_NOTHING = 0.01
# Running and waiting together are a little more than the time where one process takes turns with another;
# more than that many times it, and several did at once.
OVERLAP_LEAST = 1.1
_ROUNDING = 1e-9  # of an operation's time: what adding and taking away leaves of nothing


@dataclass(frozen=True, slots=True)
class Spent:
    """One trial's costs an operation."""

    costs: Mapping[str, float]  # set-up taken away where it is known
    whole: Mapping[str, float]  # with it
    noise: Mapping[str, float]  # the variance that a cost has by the way it is counted
    operations: float
    covered: float  # the part of all that was accounted for that its operations took
    is_net: bool  # whether set-up was taken away
    setup_wait_ns: float  # an operation's part of what a trial of set-up waited, which was not

    @property
    def uncovered_ns(self) -> float:
        """An operation's part of what was accounted for and was no operation."""
        return self.whole[TIME] * max(0.0, 1 / self.covered - 1) if self.covered else math.inf


def spent(
    figures: Mapping[str, int],
    setup: Mapping[str, float],
    operations: float,
    copies: int,
    time_ns: float,
) -> Spent:
    """A trial's costs from the monitor's figures for all of it, and for one of a single operation (or {})."""

    def an_operation(less: Mapping[str, float]) -> dict[str, float]:
        done = operations - less.get(OPERATIONS, 0.0)
        costs = {TIME: time_ns}
        for name, parts in (TIMES | COUNTS).items():
            if all(part in figures for part in parts):
                away = 0.0 if name == "wait" else sum(less.get(part, 0.0) for part in parts)
                costs[name] = (sum(figures[part] for part in parts) - away) / done
        if "user" in costs and "system" in costs:
            costs.setdefault(RUN, costs["user"] + costs["system"])
        if figures.get(USER, 0) + figures.get(SYSTEM, 0) < _SPLIT_LEAST_NS:
            costs.pop("user", None)
            costs.pop("system", None)
        if RUN in costs and "wait" in costs:
            costs[REST] = time_ns - costs[RUN] - costs["wait"]
        return costs

    is_net = bool(setup) and setup.get(OPERATIONS, 0.0) < operations / 2
    span = figures.get(SPAN, 0)
    return Spent(
        an_operation(setup if is_net else {}),
        an_operation({}),
        _noise(figures, operations),
        operations,
        operations * time_ns / copies / span if span else 0.0,
        is_net,
        setup.get("wait_ns", 0.0) / operations,
    )


def _noise(figures: Mapping[str, int], operations: float) -> dict[str, float]:
    """The variance of an operation's costs by how they are counted: whole events, as if they came by chance,
    and clock ticks that each meet one mode or the other."""
    variances = {
        name: sum(figures[part] for part in parts) * _GRAINS.get(name, 1) / operations**2
        for name, parts in COUNTS.items()
        if all(part in figures for part in parts)
    }
    user, system = figures.get(USER, 0), figures.get(SYSTEM, 0)
    ticks = (user + system) / _TICK_NS
    share = (user / _TICK_NS + 1) / (ticks + 2)  # never 0 or 1: a tick more could have met the other
    split = (user + system) * _TICK_NS * share * (1 - share) / operations**2
    return variances | {"user": split, "system": split}


@dataclass(frozen=True, slots=True)
class Known:
    """The known costs of an operation on a system: none is below 0, and no wait exceeds the time."""

    costs: Mapping[str, float]
    below: Mapping[str, float]  # a bound of those that came out below 0
    overlap_ns: float | None  # what processes ran and waited, where that is so much more than the time that
    # several did at once: how long none could is then not known, nor what a wait longer than the time is of


def known(trials: Sequence[Spent]) -> Known:
    """The medians over trials, as far as they can be. A cost below 0 is an error of what was taken away,
    which is then at least as large: by that, or by twice its own deviation, the cost is bounded."""
    costs = {name: median(one.costs[name] for one in trials) for name in common(trials)}
    time_ns = median(one.costs[TIME] for one in trials)
    overlap_ns = None
    run_ns, wait_ns = costs.get(RUN, 0.0), costs.get("wait", 0.0)
    if {RUN, "wait"} <= costs.keys() and (run_ns + wait_ns > OVERLAP_LEAST * time_ns or wait_ns > time_ns):
        overlap_ns = run_ns + wait_ns
        costs.pop(REST, None)
        if wait_ns > time_ns:
            del costs["wait"]
    below = {}
    for name in [name for name, cost in costs.items() if cost < 0]:
        if costs[name] > -_ROUNDING * time_ns:
            costs[name] = 0.0
            continue
        deviation = math.sqrt(median(one.noise.get(name, 0.0) for one in trials) / len(trials))
        below[name] = max(-costs[name], 2 * deviation + costs.pop(name))
    return Known(costs, below, overlap_ns)


def common(trials: Sequence[Spent]) -> list[str]:
    """The costs that every trial knows, in order."""
    known = set.intersection(*(set(one.costs) for one in trials))
    return [name for name in (*TIMES, REST, *COUNTS) if name in known]


def costs_to_show(names: Collection[str], claimed: Collection[str]) -> list[str]:
    """The costs to show: user and system mode; or their sum, the run time, where they are not known
    separately or only the sum is claimed. The sum is exact; a few clock ticks decide how it is split."""
    both = {"user", "system"}
    is_split = both <= set(names) and (RUN not in claimed or not both.isdisjoint(claimed))
    left_out = {RUN} if is_split else both
    return [name for name in names if name != TIME and name not in left_out]


@dataclass(frozen=True, slots=True)
class Units:
    """The differences of one cost in the units of replication.

    It is tested as a ratio, because a guest's costs scatter in proportion. Beside a system call of 60 µs that
    scatters by a third, a cost of 0.2 µs is a clear difference as a ratio, but not in ns.
    """

    differences: Array  # the system less the baseline
    net: Array  # ln of the ratio, set-up taken away
    whole: Array  # and not
    noise: float  # the variance of such a logarithm, at least
    scale: float  # what a ratio of 1 stands for

    def p_value(self) -> float:
        """The larger of both, and 1 where they disagree on the direction: set-up was measured elsewhere, and
        its error is the same in every block, which pairs cannot see."""
        if np.median(self.net) * np.median(self.whole) < 0:
            return 1.0
        return max(apart.p_value(self.net, noise=self.noise), apart.p_value(self.whole, noise=self.noise))

    def estimate(self) -> Estimate:
        """The Hodges-Lehmann difference, with what the ratio's interval comes to at the baseline's median."""
        middle = signed_rank.centre(self.differences)
        ratio = apart.estimate(self.net)
        if ratio.low is None or ratio.high is None:
            return Estimate(middle)
        low, high = (self.scale * math.expm1(min(700.0, bound)) for bound in (ratio.low, ratio.high))
        return Estimate(middle, min(low, middle), max(high, middle), ratio.level)


def units(
    name: str,
    pairs: Mapping[int, tuple[Spent, Spent]],
    *,
    is_net: bool,
    replicated: Callable[[Mapping[int, float]], Array],
) -> Units:
    """One cost's differences, from each block's trials: the baseline's and the system's. `replicated` makes
    blocks into what is replicated."""
    sides = list(zip(*pairs.values(), strict=True))

    def cost(one: Spent, *, net: bool = is_net) -> float:
        return max(0.0, (one.costs if net else one.whole)[name])

    if name in COUNTS:
        nothing = _GRAINS.get(name, 1) * max(1 / median(one.operations for one in side) for side in sides)
    else:
        nothing = _NOTHING * min(median(one.whole[TIME] for one in side) for side in sides)

    def ratios(*, net: bool) -> Array:
        def one(base: Spent, other: Spent) -> float:
            return math.log((cost(other, net=net) + nothing) / (cost(base, net=net) + nothing))

        return replicated({block: one(*pair) for block, pair in pairs.items()})

    def noise(one: Spent) -> float:
        return float(one.noise.get(name, 0.0) / (cost(one) + nothing) ** 2)

    def apart(base: Spent, other: Spent) -> float:
        base_cost, cost = ((one.costs if is_net else one.whole)[name] for one in (base, other))
        return cost - base_cost

    return Units(
        replicated({block: apart(*pair) for block, pair in pairs.items()}),
        ratios(net=is_net),
        ratios(net=False),
        float(np.mean(replicated({block: noise(one) + noise(two) for block, (one, two) in pairs.items()}))),
        median(cost(one) for one in sides[0]) + nothing,
    )
