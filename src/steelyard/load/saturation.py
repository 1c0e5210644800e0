"""Finds the highest rate that a server holds: at which a quantile of its latencies stays below a limit and no
request fails.

Several searches, each for itself, halve the range between a rate that is held and one that is not, by
short trials of an open load at random moments. Each begins at another point. What they end at scatters as
the server does, so their median has an interval (order statistics).
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from steelyard.analysis.loads import BUSY_MOST
from steelyard.errors import SystemFailed
from steelyard.load import trials
from steelyard.load.model import OWN_LIMIT, LoadTrial, limit_words
from steelyard.load.trials import LoadOrder
from steelyard.statistics import order_statistics
from steelyard.statistics.signed_rank import Estimate
from steelyard.text import quoted

SEARCHES = 6  # the fewest whose median has a 95 % interval
STEPS = 7  # of each: the last step halves a range of 3 %
STEPS_LEAST = 4  # where there is no time for more: it halves a range of 24 %
CAPACITY_TRIALS = 2  # by clients that ask as fast as they can: what the range is chosen by
TRIALS = CAPACITY_TRIALS + SEARCHES * STEPS
_FROM, _TO = 0.1, 1.5  # of that capacity
_TRIES = 3  # of a rate at which the load generator was late
_LATE_MOST = 0.1  # of the limit

# Why a rate is not held.
LATE, FAILED, UNSENT = "latency", "failures", "unsent"
CLIENT_BUSY, CLIENT_LATE, CLIENT_LACKED = "busy", "late", "lacked"  # the load generator's own limits
_CLIENT = (CLIENT_BUSY, CLIENT_LATE, CLIENT_LACKED)


@dataclass(frozen=True, slots=True)
class Limit:
    """What latency is still served, in ns, for that share of all requests."""

    latency_ns: int
    share: float


@dataclass(frozen=True, slots=True)
class LoadProbe:
    """One trial at one rate."""

    rate: float
    trial: LoadTrial
    gave_way: str | None  # what was not held, first of all; None: the rate was held


@dataclass
class SaturationSearch:
    """What the searches found."""

    limit: Limit
    clients: int
    probes: list[LoadProbe] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)  # of each search: a rate

    @property
    def rate(self) -> Estimate | None:
        return order_statistics.median(np.array(self.ends)) if self.ends else None

    @property
    def gave_way(self) -> Counter[str]:
        """How many of the trials at a rate that was not held failed for what."""
        return Counter(one.gave_way for one in self.probes if one.gave_way)

    @property
    def is_client_limited(self) -> bool:
        """Whether the load generator gave way more often than the server, or lacked something at all: the
        server then holds at least that."""
        own = sum(self.gave_way[one] for one in _CLIENT)
        return bool(self.own_limits) or 2 * own > sum(self.gave_way.values())

    @property
    def own_limits(self) -> Mapping[str, int]:
        """Requests that could not be made, by what the load generator lacked."""
        return trials.sums([one.trial.own_limits for one in self.probes])

    @property
    def below(self) -> LoadProbe | None:
        """The highest rate that was held."""
        return max((one for one in self.probes if not one.gave_way), key=lambda one: one.rate, default=None)


def search(
    order: LoadOrder, limit: Limit, notify: Callable[[str, int, int], None]
) -> Iterator[SaturationSearch]:
    """Yields what is known after each trial. `notify` is told before each: what it is, how many trials are
    done, how many there are. Raises as trials.run does, and SystemFailed where nothing is answered."""
    chance = random.Random(order.seed)
    clients = order.levels[0]
    pace = trials.Pace(order)
    left = TRIALS
    saturation = SaturationSearch(limit, clients)
    done = count()
    with trials.monitor_of(order) as watch:

        def tried(rate: float | None) -> LoadTrial:
            nonlocal left
            so_far = min(next(done), TRIALS - 1)
            notify(f"{rate:,.0f} a second" if rate else "as fast as it goes", so_far, TRIALS)
            pattern = replace(order.pattern, rate=rate, arrivals="exponential" if rate else "constant")
            trial_s = pace.trial_s(max(left, 1)) or trials.LEAST_S
            left -= 1
            seed = chance.getrandbits(32)
            return pace.perform(replace(order, pattern=pattern), clients, seed, watch, trial_s=trial_s)

        first, *others = (tried(None) for _ in range(CAPACITY_TRIALS))
        capacity = max(one.rate for one in (first, *others))
        if not capacity and first.own_limits:
            raise SystemFailed(
                f"{OWN_LIMIT}: {limit_words(first.own_limits)}: no request was made, and nothing is known "
                f"of {quoted(order.server.url)}"
            )
        if not capacity:
            raise SystemFailed(f"{quoted(order.server.url)} answers no request")
        fits = pace.left_s() / (SEARCHES * (trials.LEAST_S + pace.besides_s))
        steps = STEPS if fits >= STEPS else max(STEPS_LEAST, int(fits))
        left = SEARCHES * steps
        for search_number in range(SEARCHES):
            if saturation.ends and pace.left_s() < steps * (trials.LEAST_S + pace.besides_s):
                return  # another one does not fit
            left = (SEARCHES - search_number) * steps
            low, high = math.log(_FROM * capacity), math.log(_TO * capacity)
            where = chance.uniform(0.3, 0.7)
            for _ in range(steps):
                rate = math.exp(low + where * (high - low))
                for _ in range(_TRIES):
                    trial = tried(rate)
                    probe = LoadProbe(rate, trial, _what_gave_way(trial, limit))
                    if probe.gave_way != CLIENT_LATE:
                        break
                saturation.probes.append(probe)
                low, high = (low, math.log(rate)) if probe.gave_way else (math.log(rate), high)
                where = 0.5
                yield saturation
            saturation.ends.append(math.exp((low + high) / 2))
            yield saturation


def _what_gave_way(trial: LoadTrial, limit: Limit) -> str | None:
    """What was left unsent is among the latencies by the time that it waited. A limit can be longer than that
    time, so the share that was unsent counts by itself too."""
    latency, late = trial.intended.quantile(limit.share), trial.lag.quantile(0.99)
    are_unsent = trial.unsent > (1 - limit.share) * (trial.started + trial.unsent)
    if trial.own_limits:
        return CLIENT_LACKED
    if any(trial.failures.values()):
        return FAILED
    if trial.busy_most > BUSY_MOST:
        return CLIENT_BUSY
    if latency is not None and latency <= limit.latency_ns and not are_unsent:
        return None
    if late is not None and late > _LATE_MOST * limit.latency_ns:
        return CLIENT_LATE
    return UNSENT if are_unsent else LATE
