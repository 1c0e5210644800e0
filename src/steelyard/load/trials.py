"""Loads a server at several levels, trial by trial in random order, and sums each level up."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from steelyard import standstill, streams
from steelyard.errors import SystemFailed
from steelyard.events import LIFE
from steelyard.load import client
from steelyard.load.model import (
    QUANTILES,
    LatencyHistogram,
    LoadLevel,
    LoadTrial,
    ObjectLevel,
    Pattern,
    wait_level,
)
from steelyard.running.host_monitor import HostMonitor, between
from steelyard.servers.running import Target
from steelyard.statistics import order_statistics
from steelyard.statistics.signed_rank import Estimate

WARMUP_SHARE = 0.1  # of a trial, before its window
LEAST_S = 0.4  # of a trial, with its warm-up
BESIDES_S = 0.1  # what a trial takes besides, until that is known
_TRIES = 3  # at one trial, where this process stands still


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """A load to be measured."""

    server: Target
    pattern: Pattern
    levels: tuple[int, ...]  # numbers of clients, or of user equivalents
    trials: int  # of each level
    duration_s: float  # of all together
    threads: int
    seed: int
    process: int | None  # the server's first process, to be watched
    ends_s: float  # by standstill.clock(): then all of it is to be over
    trial_s: float = LEAST_S  # of each


class Pace:
    """How long a trial may be, so that those that are left end in time with all that comes with them: a
    process, two fetches, what is still under way when a window closes."""

    def __init__(self, order: LoadOrder) -> None:
        self._ends_s = order.ends_s
        self.besides_s = BESIDES_S  # of one trial, the most so far

    def left_s(self) -> float:
        return self._ends_s - standstill.clock()

    def trial_s(self, left: int) -> float | None:
        """Of the next of `left` trials; None if they would be too short."""
        each = self.left_s() / left - self.besides_s
        return each if each >= LEAST_S else None

    def perform(
        self, order: LoadOrder, clients: int, seed: int, watch: HostMonitor | None, *, trial_s: float
    ) -> LoadTrial:
        began = standstill.clock()
        trial = perform(replace(order, trial_s=trial_s), clients, seed, watch)
        self.besides_s = max(self.besides_s, standstill.clock() - began - trial_s)
        return trial


def run(order: LoadOrder, notify: Callable[[int, int, int], None]) -> Iterator[LoadTrial]:
    """Every trial, one after the other: each block has all levels once, in an order of its own. `notify`
    is told before each: the number of clients, how many trials are done, how many there are. Ends early,
    after a whole block, where another one does not fit into the time.
    Raises SystemFailed; Unsupported where the server's process cannot be watched."""
    chance = random.Random(order.seed)
    count = order.trials * len(order.levels)
    pace = Pace(order)
    done = 0
    with monitor_of(order) as watch:
        for _ in range(order.trials):
            if done and pace.trial_s(len(order.levels)) is None:
                return
            for clients in chance.sample(order.levels, len(order.levels)):
                notify(clients, done, count)
                block = len(order.levels) - done % len(order.levels)
                trial_s = pace.trial_s(count - done) or pace.trial_s(block) or LEAST_S
                yield pace.perform(order, clients, chance.getrandbits(32), watch, trial_s=trial_s)
                done += 1


@contextmanager
def monitor_of(order: LoadOrder) -> Iterator[HostMonitor | None]:
    """What accounts for the server's process, if one is named."""
    watch = HostMonitor(order.process, detail=LIFE, may_stop=False) if order.process else None
    try:
        yield watch
    finally:
        if watch:
            watch.close()


def perform(order: LoadOrder, clients: int, seed: int, watch: HostMonitor | None) -> LoadTrial:
    """One trial, and what it cost the server; done again if this process stood still meanwhile, for then the
    load did, too. Raises SystemFailed."""
    for _ in range(_TRIES):
        stood = len(standstill.all_so_far())
        try:
            trial = _performed(order, clients, seed, watch)
        except SystemFailed:
            if len(standstill.all_so_far()) == stood:
                raise
        else:
            if len(standstill.all_so_far()) == stood:
                return trial
        last = standstill.all_so_far()[-1]
        streams.tell(f"the load generator {last.why} for {last.seconds:.0f} s; that trial is done again")
    raise SystemFailed(f"the load generator stood still in {_TRIES} trials in a row")


def _performed(order: LoadOrder, clients: int, seed: int, watch: HostMonitor | None) -> LoadTrial:
    before = watch.mark() if watch else None
    trial = client.run(
        order.server,
        order.pattern,
        clients=clients,
        threads=order.threads,
        warmup_s=order.trial_s * WARMUP_SHARE,
        window_s=order.trial_s * (1 - WARMUP_SHARE),
        seed=seed,
    )
    after = watch.mark() if watch else None
    if before is None or after is None:
        return trial
    return replace(trial, costs={one.figure: one.value for one in between(before, after).figures})


def levels(trials: Sequence[LoadTrial], pattern: Pattern) -> tuple[LoadLevel, ...]:
    """Each level's trials together, in the order of their clients."""
    return tuple(
        _level([one for one in trials if one.clients == clients], pattern)
        for clients in sorted({one.clients for one in trials})
    )


def _level(trials: Sequence[LoadTrial], pattern: Pattern) -> LoadLevel:
    return LoadLevel(
        clients=trials[0].clients,
        trials=len(trials),
        rate=_median([one.rate for one in trials]),
        bytes_rate=_median([one.bytes * 1e9 / one.window_ns for one in trials]).value,
        latency_ns=_quantiles([one.intended for one in trials]),
        sent_latency_ns=_quantiles([one.latency for one in trials]),
        failures=sums([one.failures for one in trials]),
        own_limits=sums([one.own_limits for one in trials]),
        malformed=next((one.malformed for one in trials if one.malformed), None),
        requests=sum(one.answers + sum(one.failures.values()) for one in trials),
        waited=sum(one.waited for one in trials),
        unsent=sum(one.unsent for one in trials),
        verified=sum(one.verified for one in trials),
        is_body_fixed=all(one.is_body_fixed for one in trials),
        client_limited=sum(one.is_client_limited for one in trials),
        client_us=sum(one.cpu_ns for one in trials) / 1000 / sum(one.requests for one in trials),
        costs=_costs(trials),
        waits=wait_level(trials, is_closed=pattern.rate is None),
        objects=_objects(trials),
    )


def sums(counts: Sequence[Mapping[str, int]]) -> Mapping[str, int]:
    """Of each kind that occurred."""
    return {kind: total for kind, total in sum(map(Counter, counts), Counter()).items() if total}


def _objects(trials: Sequence[LoadTrial]) -> ObjectLevel | None:
    seconds = trials[0].window_ns / 1e9
    objects = [one.objects for one in trials if one.objects]
    if not objects:
        return None
    return ObjectLevel(
        digest=objects[0].digest,
        rate=_median([one.ended / seconds for one in objects]),
        offered=objects[0].offered,
        failed=sum(one.failed for one in objects),
        lost=sum(one.lost for one in objects),
        sequences=max(one.sequence_permille for one in objects) / 1000,
        latency_ns=_quantiles([one.latency for one in objects]),
    )


def _median(values: Sequence[float]) -> Estimate:
    return order_statistics.median(np.array(values, dtype=float))


def _quantiles(histograms: Sequence[LatencyHistogram]) -> Mapping[float, Estimate]:
    """Of all together, with the interval that the trials' own quantiles give."""
    together = reduce(add, histograms)
    quantiles = {}
    for share in QUANTILES:
        value = together.quantile(share)
        own = [one for each in histograms if (one := each.quantile(share)) is not None]
        if value is not None:
            quantiles[share] = order_statistics.around(value, np.array(own))
    return quantiles


def _costs(trials: Sequence[LoadTrial]) -> Mapping[str, Estimate]:
    """Of one request, by figure: what every trial knows."""
    known = [(one.costs, one.requests) for one in trials if one.costs is not None]
    figures = set.intersection(*(set(costs) for costs, _ in known)) if known else set()
    return {
        figure: _median([costs[figure] / requests for costs, requests in known]) for figure in sorted(figures)
    }
