"""Loads a server at several levels, trial by trial in random order, and sums each level up."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from steelyard.events import LIFE
from steelyard.load import client
from steelyard.load.model import QUANTILES, Histogram, Level, ObjectLevel, Pattern, Target, Trial
from steelyard.running.host_monitor import HostMonitor, between
from steelyard.statistics import order_statistics
from steelyard.statistics.signed_rank import Estimate

WARMUP_SHARE = 0.1  # of a trial, before its window


@dataclass(frozen=True, slots=True)
class Order:
    """A load to be measured."""

    server: Target
    pattern: Pattern
    levels: tuple[int, ...]  # numbers of clients, or of user equivalents
    trials: int  # of each level
    duration_s: float  # of all together
    threads: int
    seed: int
    process: int | None  # the server's first process, to be watched

    @property
    def trial_s(self) -> float:
        return self.duration_s / (self.trials * len(self.levels))


def run(order: Order, notify: Callable[[int, int, int], None]) -> Iterator[Trial]:
    """Every trial, one after the other: each block has all levels once, in an order of its own. `notify`
    is told before each: the number of clients, how many trials are done, how many there are.
    Raises SystemFailed; Unsupported where the server's process cannot be watched."""
    chance = random.Random(order.seed)
    done = 0
    with monitor_of(order) as watch:
        for _ in range(order.trials):
            for clients in chance.sample(order.levels, len(order.levels)):
                notify(clients, done, order.trials * len(order.levels))
                yield perform(order, clients, chance.getrandbits(32), watch)
                done += 1


@contextmanager
def monitor_of(order: Order) -> Iterator[HostMonitor | None]:
    """What accounts for the server's process, if one is named."""
    watch = HostMonitor(order.process, detail=LIFE, may_stop=False) if order.process else None
    try:
        yield watch
    finally:
        if watch:
            watch.close()


def perform(order: Order, clients: int, seed: int, watch: HostMonitor | None) -> Trial:
    """One trial, and what it cost the server."""
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


def levels(trials: Sequence[Trial]) -> tuple[Level, ...]:
    """Each level's trials together, in the order of their clients."""
    return tuple(
        _level([one for one in trials if one.clients == clients])
        for clients in sorted({one.clients for one in trials})
    )


def _level(trials: Sequence[Trial]) -> Level:
    return Level(
        clients=trials[0].clients,
        trials=len(trials),
        rate=_median([one.rate for one in trials]),
        bytes_rate=sum(one.bytes for one in trials) * 1e9 / sum(one.window_ns for one in trials),
        latency_ns=_quantiles([one.intended for one in trials]),
        sent_latency_ns=_quantiles([one.latency for one in trials]),
        failures={
            kind: total
            for kind in trials[0].failures
            if (total := sum(one.failures[kind] for one in trials)) > 0
        },
        requests=sum(one.answers + sum(one.failures.values()) for one in trials),
        waited=sum(one.waited for one in trials),
        unsent=sum(one.unsent for one in trials),
        verified=sum(one.verified for one in trials),
        is_body_fixed=all(one.is_body_fixed for one in trials),
        client_limited=sum(one.is_client_limited for one in trials),
        client_us=sum(one.cpu_ns for one in trials) / 1000 / sum(one.requests for one in trials),
        costs=_costs(trials),
        objects=_objects(trials),
    )


def _objects(trials: Sequence[Trial]) -> ObjectLevel | None:
    seconds = trials[0].window_ns / 1e9
    objects = [one.objects for one in trials if one.objects]
    if not objects:
        return None
    return ObjectLevel(
        digest=objects[0].digest,
        rate=_median([one.ended / seconds for one in objects]),
        offered=objects[0].offered,
        failed=sum(one.failed for one in objects),
        sequences=max(one.sequence_permille for one in objects) / 1000,
        latency_ns=_quantiles([one.latency for one in objects]),
    )


def _median(values: Sequence[float]) -> Estimate:
    return order_statistics.median(np.array(values, dtype=float))


def _quantiles(histograms: Sequence[Histogram]) -> Mapping[float, Estimate]:
    """Of all together, with the interval that the trials' own quantiles give."""
    together = reduce(add, histograms)
    quantiles = {}
    for share in QUANTILES:
        value = together.quantile(share)
        own = [one for each in histograms if (one := each.quantile(share)) is not None]
        if value is not None:
            quantiles[share] = order_statistics.around(value, np.array(own))
    return quantiles


def _costs(trials: Sequence[Trial]) -> Mapping[str, Estimate]:
    """Of one request, by figure: what every trial knows."""
    known = [(one.costs, one.requests) for one in trials if one.costs is not None]
    figures = set.intersection(*(set(costs) for costs, _ in known)) if known else set()
    return {
        figure: _median([costs[figure] / requests for costs, requests in known]) for figure in sorted(figures)
    }
