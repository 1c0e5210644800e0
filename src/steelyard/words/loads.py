"""Says what loads on servers saw: an answer in a sentence, a row a level."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from steelyard.analysis.model import ObjectLoad, ServerLoad
from steelyard.analysis.remarks import Reconnected, Remark, RequestsFailed, StoodStill
from steelyard.quantities import digits, interval, number_of, size_bytes, time_ns
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import phrases
from steelyard.words.remarks.loads import OWN_LIMIT, percent

_KEPT_LEAST = 10  # requests on a connection: of fewer, it is said before any figure that it was closed
_TAIL = 0.99  # the quantile of the answer
_IN_LEVEL = ("clients", "user_equivalents", "rate", "poisson")  # parameters that the level's name has
_SETTINGS = ("threads", "warm_ms", "window_ms", "verify_permille", "think_spread", "timeout_ms")


def warnings(found: Sequence[Remark]) -> tuple[Remark, ...]:
    """What must be known before any figure of one system's loads: what these do not show, or that they are of
    another thing than was asked for."""
    return tuple(one for one in found if isinstance(one, StoodStill | RequestsFailed) or _are_new(one))


def _are_new(one: Remark) -> bool:
    """Whether the server closed enough connections that the figures include connecting."""
    return isinstance(one, Reconnected) and one.closed * _KEPT_LEAST > one.requests


def answers(loads: Sequence[ServerLoad]) -> tuple[str, ...]:
    """A sentence for each server on each system: the most that it served, or what a rate came to."""
    together: dict[tuple[str, str], list[ServerLoad]] = {}
    for one in loads:
        together.setdefault((_server(one), one.system), []).append(one)
    systems = {one.system for one in loads}
    return tuple(
        _answer(each, f"{server} on {system}" if len(systems) > 1 else server)
        for (server, system), each in together.items()
    )


def _answer(loads: Sequence[ServerLoad], server: str) -> str:
    if saturation := next((one for one in loads if one.saturation), None):
        return _saturated(saturation, server)
    best = max(loads, key=lambda one: one.rate.value)
    tail = best.latency_ns.get(_TAIL)
    within = f", 99 % of them within {time_ns(tail.value)}" if tail else ""
    rate, clients = _with(best.rate, digits), _clients(best)
    if due := _number(best, "rate", 0):
        asked = f"of the {due:,} requests a second that were due"
        return f"{server} answered {rate} {asked} (with {clients}{within})."
    limited = f"; {OWN_LIMIT} was reached there, so the server may serve more" if _is_limited(best) else ""
    return f"{server} served at most {rate} requests a second (with {clients}{within}){limited}."


_GAVE_WAY = {
    "latency": "latency rose above the limit",
    "failures": "requests failed",
    "unsent": "requests piled up unsent",
    "lacked": f"{OWN_LIMIT} was reached: it lacked something",
    "busy": f"{OWN_LIMIT} was reached: it had no time left",
    "late": f"{OWN_LIMIT} was reached: it was late",
}


def _saturated(one: ServerLoad, server: str) -> str:
    """The highest rate that was held, what gave way beyond it, and who was busy there."""
    found = one.saturation
    assert found is not None
    within = f"{100 * found.share:g} % of requests within {time_ns(found.limit_ns)} ({_clients(one)})"
    least = "at least " if found.is_least else ""
    words = [f"{server} holds {least}{_with(found.rate, digits)} requests a second with {within}."]
    if found.is_least:
        words.append(f"Its saturation is not known, because of {OWN_LIMIT}.")
    steps = number_of(sum(found.steps.values()), "step")
    beyond = [(what, number) for what, number in found.steps.items() if what in _GAVE_WAY]
    words += [f"Beyond it {_GAVE_WAY[what]} (in {number} of {steps})." for what, number in beyond]
    return " ".join([*words, f"At the highest rates held, {_busy(one)}."])


def _busy(one: ServerLoad) -> str:
    used = one.server_ns.value * one.rate.value / 1e9 if one.server_ns else None
    server = f", the server {percent(used)} of one processor" if used is not None else ""
    return f"the load generator was busy {percent(one.busy_share)} of the time{server}"


def _is_limited(one: ServerLoad) -> bool:
    return one.limited * 2 > one.trials


def levels(loads: Sequence[ServerLoad]) -> tuple[str, ...]:
    """What tells each load from the others: its clients and its rate, and what else differs."""
    varied = phrases.varied((one.workload, one.parameters) for one in loads)
    return tuple(_level(one, varied[one.workload]) for one in loads)


def _level(one: ServerLoad, varied: frozenset[str]) -> str:
    rate = _number(one, "rate", 0)
    words = [_clients(one), *([f"{rate:,}/s"] if rate else [])]
    others = [
        (name, value)
        for name, value in one.parameters
        if name in varied and name not in (*_IN_LEVEL, *_SETTINGS)
    ]
    return ", ".join([*words, *(f"{name}={value}" for name, value in others)])


def _clients(one: ServerLoad) -> str:
    users = _number(one, "user_equivalents", 0)
    return number_of(users, "user") if users else number_of(_number(one, "clients", 1), "client")


def _number(one: ServerLoad, name: str, default: int) -> int:
    return int(dict(one.parameters).get(name, default))


def _server(one: ServerLoad) -> str:
    return str(dict(one.parameters).get("server", "the server"))


@dataclass(frozen=True, slots=True)
class LoadTable:
    """A table of loads: a row a level and system. The first columns name them, the others are figures."""

    title: str
    names: tuple[str, ...]
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    after: tuple[str, ...]  # sentences

    @property
    def marked_headings(self) -> list[str]:
        """The headings, those of figures with a mark."""
        return [*self.names, *(f"#{heading}" for heading in self.headings)]


_OF_SERVED = (
    "Rates are medians over trials. Latency at each quantile of all requests together, from the moment when "
    "a request was due to the last byte of its answer."
)
_OF_OBJECTS = (
    "Objects are files with those embedded in them; offered is what the users would ask for if the server "
    "took no time. Latency at each quantile of all objects together, while files of them were under way."
)
_OF_WAITED = (
    "Connections opened, warm-up included, and the mean time of opening one, which is in the latencies. The "
    "longest wait for an answer. The share of the time in which requests waited and none was answered, in "
    "pauses longer than 10 ms and ten times the median latency."
)


def tables(loads: Sequence[ServerLoad], *, of_several: bool) -> tuple[LoadTable, ...]:
    """What loads saw of servers: what was served, what users saw of objects, and how it was waited for.
    `of_several` systems, which are then named."""
    if not loads:
        return ()
    names = ("load", "system") if of_several else ("load",)
    places = [(level, one.system)[: len(names)] for level, one in zip(levels(loads), loads, strict=True)]
    known = [(place, one, one.objects) for place, one in zip(places, loads, strict=True)]
    shares = tuple(f"{100 * share:g} %" for share in loads[0].latency_ns)
    objects = tuple((*place, *_objects(seen)) for place, _, seen in known if seen)
    found = (
        LoadTable(
            "Loads on servers",
            names,
            ("trials", "requests/s", "bytes/s", *shares, "failed", "server's processor time"),
            tuple((*place, *_served(one)) for place, one, _ in known),
            (_OF_SERVED, _checked(loads)),
        ),
        LoadTable(
            "Objects that users asked for",
            names,
            ("objects/s", "of offered", *shares, "failed"),
            objects,
            (_OF_OBJECTS, *_contents(loads)),
        ),
        LoadTable(
            "What connections they needed, and how they waited",
            names,
            ("connections", "for requests", "connecting", "longest wait", "no answer"),
            tuple((*place, *_waited(one)) for place, one, _ in known),
            (_OF_WAITED,),
        ),
    )
    return tuple(one for one in found if one.rows)


def _served(one: ServerLoad) -> tuple[str, ...]:
    return (
        f"{one.trials:,}",
        _with(one.rate, digits),
        size_bytes(one.bytes_rate),
        *(time_ns(latency.value) for latency in one.latency_ns.values()),
        f"{sum(one.failures.values()):,}",
        time_ns(one.server_ns.value) if one.server_ns else "–",
    )


def _objects(one: ObjectLoad) -> tuple[str, ...]:
    return (
        _with(one.rate, digits),
        percent(one.rate.value / one.offered),
        *(time_ns(latency.value) for latency in one.latency_ns.values()),
        f"{one.failed:,}",
    )


def _waited(one: ServerLoad) -> tuple[str, ...]:
    return (
        f"{one.connections:,}",
        f"{one.requests:,}",
        time_ns(one.connecting_ns) if one.connecting_ns is not None else "–",
        time_ns(one.longest_ns),
        percent(one.silent_share),
    )


def _checked(loads: Sequence[ServerLoad]) -> str:
    bodies = number_of(sum(one.verified for one in loads), "body was", "bodies were")
    return f"{bodies} compared to the last byte."


def _contents(loads: Sequence[ServerLoad]) -> tuple[str, ...]:
    """A sentence for each file set that users asked for."""
    digests = dict.fromkeys(one.objects.content_sha256 for one in loads if one.objects)
    return tuple(f"File set and references: SHA-256 {digest}." for digest in digests)


def _with(estimate: Estimate, say: Callable[[float], str]) -> str:
    """The estimate with its interval."""
    return f"{say(estimate.value)} {interval(estimate.low, estimate.high, say)}".rstrip()
