"""Prints what a server did under load: an answer in a sentence, a row a level, and what to beware of."""

import dataclasses
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from steelyard import terminal
from steelyard.load import saturation
from steelyard.load.model import (
    OWN_LIMIT,
    QUANTILES,
    LoadLevel,
    LoadTrial,
    ObjectLevel,
    Pattern,
    WaitLevel,
    limit_words,
    wait_level,
)
from steelyard.load.saturation import SaturationSearch
from steelyard.load.trials import WARMUP_SHARE
from steelyard.quantities import digits, interval, number_of, size_bytes, time_ns
from steelyard.servers.running import Target
from steelyard.statistics.signed_rank import Estimate
from steelyard.text import shown

_TAIL = 0.99  # the quantile of the answer
_STALLED_LEAST = 0.01  # of the time: less is not said

_ADVICE = (
    " A client that waits sends no requests, so the quantiles hide it: a fixed rate (--rate) shows what "
    "independent users see."
)
_KEPT_LEAST = 10  # requests on a connection: of fewer, it is said before any figure that it was closed

_COST_WORDS = {
    "cpu_user_ns": "user mode",
    "cpu_system_ns": "system mode",
    "run_wait_ns": "waiting for a processor",
}


def print_levels(levels: Sequence[LoadLevel], server: Target, pattern: Pattern) -> None:
    """Prints the levels for people."""
    console = terminal.console()
    for sentence in (*_first(levels, pattern), _answer(levels, server, pattern)):
        console.print(Text(sentence))
    console.print()
    console.print(_table(levels, pattern))
    console.print()
    console.print(_waits_table(levels, pattern))
    for sentence in _notes(levels, pattern):
        console.print(Text(sentence))


def print_json(levels: Sequence[LoadLevel], server: Target, pattern: Pattern) -> None:
    """Prints everything as one JSON object; unrounded."""
    record = {
        "target": dataclasses.asdict(server),
        "pattern": dataclasses.asdict(pattern),
        "levels": [dataclasses.asdict(one) for one in levels],
    }
    _write(record)


_GAVE_WAY = {
    saturation.LATE: "latency rose above the limit",
    saturation.FAILED: "requests failed",
    saturation.UNSENT: "requests piled up unsent",
    saturation.CLIENT_BUSY: f"{OWN_LIMIT} was reached: it had no time left",
    saturation.CLIENT_LATE: f"{OWN_LIMIT} was reached: it was late",
    saturation.CLIENT_LACKED: f"{OWN_LIMIT} was reached: it lacked something",
}


def print_saturation(result: SaturationSearch, server: Target) -> None:
    """Prints the rate for people, and what gave way beyond it."""
    console = terminal.console()
    limit, url = result.limit, shown(server.url)
    within = f"{100 * limit.share:g} % of requests within {time_ns(limit.latency_ns)}"
    for sentence in _first_of_search(result):
        console.print(Text(sentence))
    if result.rate is None:
        console.print(Text(f"{url}: no search was done before the interruption"))
    elif result.below is None and result.is_client_limited:
        console.print(
            Text(f"None of {len(result.probes)} rates could be tried on {url}: {_own_limit(result)}.")
        )
    elif result.below is None:
        console.print(Text(f"{url} held none of {number_of(len(result.probes), 'rate')} with {within}"))
    else:
        rate = _with(result.rate, digits)
        least = "at least " if result.is_client_limited else ""
        held = f"{url} holds {least}{rate} requests a second with {within} ({result.clients:,} connections)."
        if result.is_client_limited:
            held += f" Its saturation is not known, because of {_own_limit(result)}."
        console.print(Text(held))
    for what, many in sorted(result.gave_way.items(), key=lambda one: -one[1]):
        trials = number_of(len(result.probes), "trial")
        console.print(Text(f"Beyond it {_GAVE_WAY[what]} (in {many} of {trials})."))
    if result.below is not None:
        best = result.below
        busy = f"the load generator was busy {best.trial.busy_most:.0%} of the time{_server_busy(best.trial)}"
        console.print(Text(f"At the highest rate held, {digits(best.rate)} a second, {busy}."))
        waits = _held_waits(result)
        assert waits is not None
        connections = number_of(waits.connections, "connection was", "connections were")
        console.print(
            Text(
                f"There {_waited(waits)}; {connections} opened for "
                f"{number_of(waits.connection_requests, 'request')}."
            )
        )


def _held_waits(result: SaturationSearch) -> WaitLevel | None:
    """What was waited at the highest rate that was held."""
    return wait_level([result.below.trial], is_closed=False) if result.below else None


def _first_of_search(result: SaturationSearch) -> Iterable[str]:
    where, waits = "At the highest rate held", _held_waits(result)
    if result.below is None or waits is None:
        return
    if waits.are_hidden:
        yield _hidden(where, waits, result.below.trial.intended.quantile(_TAIL) or 0.0)
    if _are_new(waits):
        yield _closed(where, waits)


def _own_limit(result: SaturationSearch) -> str:
    if result.own_limits:
        return f"{OWN_LIMIT}: {limit_words(result.own_limits)}"
    return f"{OWN_LIMIT}: it was too busy or too late"


def _server_busy(trial: LoadTrial) -> str:
    if trial.costs is None or "cpu_user_ns" not in trial.costs:
        return ""
    used = trial.costs["cpu_user_ns"] + trial.costs.get("cpu_system_ns", 0)
    return f", the server {used / (trial.window_ns / (1 - WARMUP_SHARE)):.0%} of one processor"


def print_saturation_json(result: SaturationSearch, server: Target) -> None:
    """Prints everything as one JSON object; unrounded."""
    record = {
        "target": dataclasses.asdict(server),
        "limit": dataclasses.asdict(result.limit),
        "clients": result.clients,
        "rate": dataclasses.asdict(result.rate) if result.rate else None,
        "searches": result.ends,
        "gave_way": dict(result.gave_way),
        "held_waits": dataclasses.asdict(held) if (held := _held_waits(result)) else None,
        "probes": [dataclasses.asdict(one) for one in result.probes],
    }
    _write(record)


def _first(levels: Sequence[LoadLevel], pattern: Pattern) -> list[str]:
    """What must be known before any figure: none shows it, or all are of another thing than was asked for."""
    hidden = [one for one in levels if one.waits.are_hidden]
    closed = [one for one in levels if _are_new(one.waits)]
    return [
        *(
            [_hidden_at(max(hidden, key=lambda one: (one.waits.silent_share, one.waits.longest_ns)), pattern)]
            if hidden
            else []
        ),
        *([_closed_at(max(closed, key=lambda one: one.waits.closed), pattern)] if closed else []),
    ]


def _are_new(waits: WaitLevel) -> bool:
    """Whether the server closed enough connections that the figures include connecting."""
    return waits.closed * _KEPT_LEAST > waits.connection_requests


def _hidden_at(level: LoadLevel, pattern: Pattern) -> str:
    where, tail_ns = f"With {_clients(level.clients, pattern)}", level.latency_ns[_TAIL].value
    return f"{_hidden(where, level.waits, tail_ns)}{'' if pattern.rate else _ADVICE}"


def _hidden(where: str, waits: WaitLevel, tail_ns: float) -> str:
    return f"{where}, {_waited(waits)}, although 99 % of requests took at most {time_ns(tail_ns)}."


def _waited(waits: WaitLevel) -> str:
    longest = f"the longest wait was {time_ns(waits.longest_ns)}"
    if not waits.silent_share:
        return longest
    return f"the server answered nothing for {_percent(waits.silent_share)} of the time, and {longest}"


def _percent(share: float) -> str:
    return f"{digits(100 * share, count=2)} %" if share else "0 %"


def _closed_at(level: LoadLevel, pattern: Pattern) -> str:
    return _closed(f"With {_clients(level.clients, pattern)}", level.waits)


def _closed(where: str, waits: WaitLevel) -> str:
    connections = number_of(waits.connections, "connection was", "connections were")
    sentence = (
        f"{where}, the server closed connections that were to be kept: "
        f"{connections} opened for {number_of(waits.connection_requests, 'request')}"
    )
    if waits.connecting_ns is not None:
        sentence += f", each in {time_ns(waits.connecting_ns)}, which is in the latencies"
    return sentence + "."


def _write(record: Mapping[str, object]) -> None:
    json.dump(record, sys.stdout, indent=1)
    sys.stdout.write("\n")


def _answer(levels: Sequence[LoadLevel], server: Target, pattern: Pattern) -> str:
    best = max(levels, key=lambda one: one.rate.value)
    tail = best.latency_ns.get(_TAIL)
    within = f", 99 % of them within {time_ns(tail.value)}" if tail else ""
    url, rate, clients = shown(server.url), _with(best.rate, digits), _clients(best.clients, pattern)
    own_limits = next((one.own_limits for one in levels if one.own_limits), None)
    if not best.rate.value and own_limits and not any(one.failures for one in levels):
        return f"Nothing is known of {url}, because of {OWN_LIMIT}: {limit_words(own_limits)} ({clients})."
    if not best.rate.value:
        return f"{url} answered no request ({clients})."
    if pattern.rate:
        answered = f"answered {rate} of the {digits(pattern.rate)} requests a second that were due"
        return f"{url} {answered} (with {clients}{within})."
    limited = (
        "; the load generator was the limit there, so the server may serve more" if _limited(best) else ""
    )
    return f"{url} served at most {rate} requests a second (with {clients}{within}){limited}."


def _clients(number: int, pattern: Pattern) -> str:
    return number_of(number, "user equivalent" if pattern.users else "client")


def _limited(level: LoadLevel) -> bool:
    return level.client_limited * 2 > level.trials


def _with(estimate: Estimate, say: Callable[[float], str]) -> str:
    """The estimate with its interval."""
    return f"{say(estimate.value)} {interval(estimate.low, estimate.high, say)}".rstrip()


def _table(levels: Sequence[LoadLevel], pattern: Pattern) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("users" if pattern.users else "clients", justify="right")
    table.add_column("requests/s", justify="right")
    if pattern.users:
        table.add_column("objects/s", justify="right")
        table.add_column("of offered", justify="right")
    table.add_column("bytes/s", justify="right")
    for share in QUANTILES:
        table.add_column(f"{share * 100:g} %", justify="right")
    table.add_column("failed", justify="right")
    if any(one.costs for one in levels):
        table.add_column("server's processor time a request", justify="right")
    for level in levels:
        table.add_row(
            f"{level.clients:,}",
            _with(level.rate, digits),
            *(_object_rates(level.objects) if level.objects else []),
            size_bytes(level.bytes_rate),
            *(_quantile(level, share) for share in QUANTILES),
            f"{sum(level.failures.values()):,}",
            *([_processor_time(level)] if level.costs else []),
        )
    what = "from the moment when a request was due" if pattern.rate else "from the sending of a request"
    table.caption = (
        f"Rates are medians over trials. Latency at each quantile of all requests together, {what} to the "
        "last byte of its answer."
    )
    table.caption_justify = "left"
    return table


def _waits_table(levels: Sequence[LoadLevel], pattern: Pattern) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("users" if pattern.users else "clients", justify="right")
    for title in ("connections", "for requests", "connecting", "longest wait", "no answer"):
        table.add_column(title, justify="right")
    for level in levels:
        waits = level.waits
        table.add_row(
            f"{level.clients:,}",
            f"{waits.connections:,}",
            f"{waits.connection_requests:,}",
            time_ns(waits.connecting_ns) if waits.connecting_ns is not None else "–",
            time_ns(waits.longest_ns),
            _percent(waits.silent_share),
        )
    table.caption = (
        "Connections opened, warm-up included, and the mean time of opening one, which is in the latencies. "
        "The longest wait for an answer. The share of the time in which requests waited and none was "
        "answered, in pauses longer than 10 ms and ten times the median latency."
    )
    table.caption_justify = "left"
    return table


def _object_rates(objects: ObjectLevel) -> tuple[str, str]:
    share = f"{objects.rate.value / objects.offered:.0%}" if objects.offered else "–"
    return _with(objects.rate, digits), share


def _quantile(level: LoadLevel, share: float) -> str:
    latency = level.latency_ns.get(share)
    return time_ns(latency.value) if latency else "–"


def _processor_time(level: LoadLevel) -> str:
    parts = [
        f"{time_ns(level.costs[figure].value)} {words}"
        for figure, words in _COST_WORDS.items()
        if figure in level.costs
    ]
    return ", ".join(parts)


def _notes(levels: Sequence[LoadLevel], pattern: Pattern) -> list[str]:
    notes = []
    for level in levels:
        where = f"With {_clients(level.clients, pattern)}"
        if level.objects:
            notes.append(f"{where}, {_object_latency(level.objects)}")
        if level.failures:
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in level.failures.items())
            notes.append(
                f"{where}, {sum(level.failures.values()):,} of {number_of(level.requests, 'request')} "
                f"failed: {kinds}" + (f" (the server {level.malformed})." if level.malformed else ".")
            )
        waits = level.waits
        if waits.closed and not _are_new(waits):
            notes.append(_closed_at(level, pattern))
        if waits.resent:
            notes.append(
                f"{where}, {number_of(waits.resent, 'request')} went twice, because the server closed the "
                "connection while it was used."
            )
        if waits.stalled_share >= _STALLED_LEAST:
            notes.append(
                f"{where}, the load generator itself did not run for {_percent(waits.stalled_share)} of the "
                "time: something else had its processor. That is in neither the longest wait nor the time "
                "without an answer."
            )
        if level.own_limits:
            notes.append(
                f"{where}, {sum(level.own_limits.values()):,} requests more were not made, because of "
                f"{OWN_LIMIT}: {limit_words(level.own_limits)}. They are in no figure of the server's."
            )
        if level.client_limited:
            what = (
                "lacked something, or was too busy or too late"
                if level.own_limits
                else "was too busy or too late"
            )
            notes.append(
                f"{where}, the load generator {what} in {level.client_limited} of "
                f"{number_of(level.trials, 'trial')} ({OWN_LIMIT}): there the figures say nothing about the "
                "server."
            )
        if pattern.rate and level.waited:
            notes.append(
                f"{where}, {number_of(level.waited, 'request')} found every client busy when due"
                + (f", and {level.unsent:,} were never sent." if level.unsent else ".")
            )
    if levels[0].objects:
        notes.append(
            "Objects are files with those embedded in them; offered is what the users would ask for if the "
            f"server took no time. File set and references: SHA-256 {levels[0].objects.digest}."
        )
    if not all(one.is_body_fixed for one in levels):
        notes.append(
            "The body changes from answer to answer, so neither its length nor its bytes were checked."
        )
    elif pattern.verified and (verified := sum(one.verified for one in levels)):
        bodies = number_of(verified, "body was", "bodies were")
        notes.append(f"{bodies} compared to the last byte.")
    return notes


def _object_latency(objects: ObjectLevel) -> str:
    quantiles = ", ".join(
        f"{share * 100:g} % {time_ns(latency.value)}" for share, latency in objects.latency_ns.items()
    )
    failed = f"; {objects.failed:,} failed" if objects.failed else ""
    failed += f"; {objects.lost:,} were not loaded to their end ({OWN_LIMIT})" if objects.lost else ""
    return f"objects took, while files of them were under way: {quantiles or 'none ended'}{failed}."
