"""Sums up what loads on servers saw of them: all trials of a cell on a system together."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from steelyard.analysis import latencies, loads
from steelyard.analysis.model import HighestRate, ObjectLoad, ServerLoad
from steelyard.analysis.observations import Observations
from steelyard.analysis.remarks import (
    BodiesChange,
    GeneratorLacked,
    GeneratorLimited,
    GeneratorStalled,
    Reconnected,
    Remark,
    RequestsFailed,
    RequestsResent,
    RequestsWaited,
    StoodStill,
)
from steelyard.events import Load, LoadCount
from steelyard.statistics import order_statistics
from steelyard.statistics.signed_rank import Estimate

# So late may one request in a hundred leave before the schedule counts as slipped.
_LATE_MOST_NS = 1_000_000
_STALLED_LEAST = 0.01  # of the time: less is not remarked
# From where on waiting contradicts the quantiles.
_LONG_LEAST_NS, _LONG_TIMES = 10_000_000, 10  # and times what 99 % of requests took
_LONG_SHARE = 0.01  # of the time: as large as the share of requests beyond that quantile
_LONG_OF_WINDOW = 0.1  # by a single request

_TAIL, _LATENCY = 0.99, "latency"
_OFFERED = "objects_offered"  # the metric

_Quantiles = Mapping[float, Estimate]
_Trial = Sequence[Load]  # of each copy


def all_of(observations: Observations) -> Iterable[ServerLoad]:
    """Each cell's loads on each system that made any."""
    quantiles: dict[tuple[str, str], dict[str, _Quantiles]] = defaultdict(dict)
    for one in latencies.all_of(observations):
        quantiles[one.cell, one.system][one.metric] = one.quantiles_ns
    latency = _histograms(observations)
    trials: dict[tuple[str, str], list[_Trial]] = defaultdict(list)
    for row in observations.rows.loads:
        trials[row.cell, row.system].append(row.loads)
    for label in observations.cells:
        for system in observations.names:
            if found := trials.get((label, system)):
                load = _of(observations, label, system, found, quantiles[label, system])
                yield replace(load, waits_are_hidden=_are_hidden(load, found, latency[label, system]))


def _histograms(observations: Observations) -> dict[tuple[str, str], Counter[int]]:
    """How many requests of each cell and system took so long, over all trials."""
    together: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for row in observations.rows.histograms:
        if row.metric == _LATENCY:
            together[row.cell, row.system].update(dict(zip(row.values_ns, row.requests, strict=True)))
    return together


def _are_hidden(one: ServerLoad, trials: Sequence[_Trial], latency: Mapping[int, int]) -> bool:
    """Whether more of the time than of the requests lies beyond the quantiles, or one request waited for a
    large part of a window. In a load at a rate requests do not wait for each other, so the sum of their
    latencies is no time."""
    parameters = dict(one.parameters)
    tail = one.latency_ns.get(_TAIL)
    long_ns = max(_LONG_LEAST_NS, _LONG_TIMES * tail.value) if tail else math.inf
    windows_ns = sum(load.window_ns for trial in trials for load in trial)
    clients_ns = windows_ns * int(parameters.get("user_equivalents") or parameters.get("clients", 1))
    beyond_ns = sum(value * count for value, count in latency.items() if value > long_ns)
    share = max(one.silent_share, 0 if parameters.get("rate") else beyond_ns / clients_ns)
    is_long = one.longest_ns >= _LONG_OF_WINDOW * trials[0][0].window_ns
    return one.longest_ns >= long_ns and (share >= _LONG_SHARE or is_long)


def _of(
    observations: Observations,
    label: str,
    system: str,
    trials: Sequence[_Trial],
    quantiles: Mapping[str, _Quantiles],
) -> ServerLoad:
    cell = observations.cells[label]
    every = [load for trial in trials for load in trial]
    connections = sum(one.connections for one in every)
    return ServerLoad(
        system=system,
        workload=cell.workload,
        parameters=cell.parameters,
        cell=label,
        trials=len(trials),
        rate=order_statistics.median(np.array([_a_second(one, "answers") for one in trials])),
        bytes_rate=float(np.median([_a_second(one, "bytes") for one in trials])),
        latency_ns=quantiles.get(_LATENCY, {}),
        server_ns=observations.median((label, loads.SERVER), system),
        answers=sum(one.answers for one in every),
        failures=_sums(one.failures for one in every),
        malformed=next((one.malformed for one in every if one.malformed), None),
        own_limits=_sums(one.own_limits for one in every),
        limited=sum(any(map(_is_limited, trial)) for trial in trials),
        waited=sum(one.waited for one in every),
        unsent=sum(one.unsent for one in every),
        requests=sum(one.requests for one in every),
        connections=connections,
        connecting_ns=sum(one.connecting_ns for one in every) / connections if connections else None,
        closed=sum(one.closed for one in every),
        resent=sum(one.resent for one in every),
        longest_ns=max(one.longest_ns for one in every),
        silent_share=sum(one.silent_ns for one in every) / sum(one.window_ns for one in every),
        stalled_share=min(1, sum(one.stalled_ns for one in every) / sum(one.elapsed_ns for one in every)),
        verified=sum(one.verified for one in every),
        body_fixed=all(one.body_fixed for one in every),
        saturation=_saturation(observations, label, system, every),
        busy_share=max(one.busiest_ns / one.elapsed_ns for one in every),
        objects=_objects(trials, observations.median((label, _OFFERED), system), quantiles),
    )


def _saturation(
    observations: Observations, label: str, system: str, every: Sequence[Load]
) -> HighestRate | None:
    between = observations.median((label, loads.BETWEEN), system)
    limit_ns, permille = every[0].limit_ns, every[0].share_permille
    if between is None or limit_ns is None or permille is None:
        return None
    steps = _sums(one.steps or () for one in every)
    return HighestRate(
        rate=_inverse(between),
        limit_ns=limit_ns,
        share=permille / 1e3,
        steps=steps,
        is_least=_gave_way_itself(steps),
    )


def _gave_way_itself(steps: Mapping[str, int]) -> bool:
    """Whether the load generator gave way more often than the server, or lacked something at all."""
    own = sum(steps.get(one, 0) for one in ("lacked", "busy", "late"))
    return "lacked" in steps or 2 * own > sum(steps.values()) - steps.get("held", 0)


def _inverse(between: Estimate) -> Estimate:
    """A rate a second, of the time between two, in ns."""
    low, high = (None if one is None else 1e9 / one for one in (between.high, between.low))
    return replace(between, value=1e9 / between.value, low=low, high=high)


def _objects(
    trials: Sequence[_Trial], offered_ns: Estimate | None, quantiles: Mapping[str, _Quantiles]
) -> ObjectLoad | None:
    every = [load for trial in trials for load in trial]
    content = next((one.content_sha256 for one in every if one.content_sha256), None)
    if content is None or offered_ns is None:
        return None
    return ObjectLoad(
        rate=order_statistics.median(np.array([_a_second(one, "objects") for one in trials])),
        offered=1e9 / offered_ns.value,
        latency_ns=quantiles.get("object_latency", {}),
        failed=sum(one.objects_failed for one in every),
        lost=sum(one.objects_lost for one in every),
        content_sha256=content,
    )


def _a_second(trial: _Trial, figure: str) -> float:
    return sum(float(getattr(one, figure)) * 1e9 / one.window_ns for one in trial)


def _sums(counts: Iterable[Sequence[LoadCount]]) -> Mapping[str, int]:
    """Of each kind that occurred, the most frequent first."""
    together: Counter[str] = Counter()
    for one in chain.from_iterable(counts):
        together[one.kind] += one.number
    return dict(together.most_common())


def _is_limited(load: Load) -> bool:
    """Whether the load generator was too busy, too late, or lacked too much to say anything of the server."""
    is_busy = load.busiest_ns > loads.BUSY_MOST * load.elapsed_ns
    return bool(load.own_limits) or is_busy or load.late_ns > _LATE_MOST_NS


def remarks(found: Sequence[ServerLoad]) -> Iterable[Remark]:
    """What to beware of in the figures of loads."""
    for one in found:
        yield from _of_server(one)
        yield from _of_generator(one)


def _of_server(one: ServerLoad) -> Iterable[Remark]:
    place = one.system, one.cell
    tail = one.latency_ns.get(_TAIL)
    if tail and one.waits_are_hidden:
        is_paced = bool(dict(one.parameters).get("rate"))
        yield StoodStill(*place, 1, one.silent_share, one.longest_ns, tail.value, is_paced)
    if one.closed and one.connecting_ns is not None:
        yield Reconnected(*place, one.closed, one.connections, one.requests, one.connecting_ns)
    failed = sum(one.failures.values())
    if failed:
        kinds = tuple(one.failures.items())
        yield RequestsFailed(*place, failed, one.answers + failed, kinds, one.malformed)
    if one.resent:
        yield RequestsResent(*place, one.resent)
    if not one.body_fixed:
        yield BodiesChange(*place)


def _of_generator(one: ServerLoad) -> Iterable[Remark]:
    place = one.system, one.cell
    if one.waited:
        yield RequestsWaited(*place, one.waited, one.unsent)
    if one.own_limits:
        yield GeneratorLacked(*place, tuple(one.own_limits.items()))
    if one.limited:
        yield GeneratorLimited(*place, one.limited, one.trials)
    if one.stalled_share >= _STALLED_LEAST:
        yield GeneratorStalled(*place, one.stalled_share)
