"""Starts steelyard-client for one window of load, and reads what it saw."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from steelyard import commands, shapes
from steelyard.errors import SystemFailed
from steelyard.last_words import last_line
from steelyard.load.model import LatencyHistogram, LoadTrial, Objects, Pattern, Users, Waits
from steelyard.programs import built
from steelyard.servers.running import Target
from steelyard.shapes import WHOLE_MOST, Check, Length, Name, OneOf, Range, checker
from steelyard.text import quoted

_DRAIN_S = 5.0


def run(
    server: Target,
    pattern: Pattern,
    *,
    clients: int,
    threads: int,
    warmup_s: float,
    window_s: float,
    seed: int,
) -> LoadTrial:
    """Loads the server for one window, after a warm-up. Raises SystemFailed."""
    words = {
        "address": server.address,
        "port": server.port,
        "host": server.host,
        "path": server.path,
        "allow": server.address if server.is_allowed else "",
        "clients": clients,
        "threads": threads,
        "method": pattern.request.method or "",
        "connection": pattern.connection,
        "rate_millihertz": round((pattern.rate or 0) * 1000),
        "arrivals": pattern.arrivals,
        "think_us": pattern.think_us,
        "think": pattern.think,
        "verified_permille": round(pattern.verified * 1000),
        "timeout_ms": pattern.timeout_ms,
        "warmup_ms": round(warmup_s * 1000),
        "window_ms": round(window_s * 1000),
        "seed": seed,
        **_users_words(pattern.users),
    }
    limit_s = warmup_s + window_s + 3 * pattern.timeout_ms / 1000 + _DRAIN_S
    try:
        answer = commands.run(
            [
                built.client(),
                *(f"{name}={value}" for name, value in words.items()),
                *(f"header={line}" for line in pattern.request.headers),
                *_data_words(pattern.request.data),
            ],
            limit_s=limit_s,
        )
    except subprocess.TimeoutExpired as error:
        raise SystemFailed(f"the load generator did not end within {limit_s:.0f} s") from error
    if answer.returncode:
        said = last_line(answer.stderr).removeprefix("steelyard-client: ")
        raise SystemFailed(f"{quoted(server.url)}: {said}")
    return _trial(clients, answer.stdout)


def _data_words(data: str | None) -> list[str]:
    if data is None:
        return []
    return [f"data_file={data[1:]}" if data.startswith("@") else f"data={data}"]


def _users_words(users: Users | None) -> dict[str, object]:
    if users is None:
        return {}
    return {
        "model": "surge",
        **{
            name: getattr(users, name)
            for name in ("files", "top", "size_most", "content_seed", "off_permille", "parallel", "session")
        },
        "pauses_within": int(users.pauses_within),
        **({"content": users.content} if users.content else {}),
    }


# As the client has them (base/histogram.c, loadgen/limits.c).
_Counts = Annotated[dict[str, int], Length(100)]
_Buckets = Annotated[list[int], Length(27 * 1024)]


@dataclass(frozen=True, slots=True)
class _Load:
    answers: int
    bytes: int
    verified: int
    requests: int
    started: int
    waited: int
    unsent: int
    connections: int
    connecting_ns: int
    closed: int
    resent: int
    longest_ns: int
    stalled_ns: int
    elapsed_ns: Annotated[int, Range(1, WHOLE_MOST)]
    user_ns: int
    system_ns: int
    window_ns: Annotated[int, Range(1, WHOLE_MOST)]
    body_fixed: bool
    failures: _Counts
    own_limits: _Counts
    malformed: str | None
    busy_most: float


@dataclass(frozen=True, slots=True)
class _Histogram:
    of: Annotated[str, OneOf(("latency", "intended", "lag", "silences", "object"))]
    values_ns: _Buckets
    counts: _Buckets


@dataclass(frozen=True, slots=True)
class _Surge:
    objects: int
    objects_begun: int
    objects_failed: int
    objects_lost: int
    sequence_permille: int
    digest: Name
    objects_offered: float


_CHECKS: Mapping[str, Check] = {
    "load": checker(_Load, told=True),
    "histogram": checker(_Histogram, told=True),
    "surge": checker(_Surge, told=True),
}


def _records(output: bytes) -> dict[str, dict[str, Any]]:
    """The records by kind; histograms by what they are of. Raises SystemFailed."""
    records: dict[str, dict[str, Any]] = {}
    for at, line in enumerate(output.splitlines(), 1):
        try:
            record = shapes.read(line)
            kind = record.get("record")
            if type(kind) is str and kind in _CHECKS:
                found = _CHECKS[kind](record)
                records[found["of"] if kind == "histogram" else kind] = found
        except ValueError as error:
            raise SystemFailed(f"the load generator's record {at} cannot be read: {error}") from None
    return records


def _histogram(records: Mapping[str, dict[str, Any]], of: str) -> LatencyHistogram:
    found = _one(records, of)
    if len(found["values_ns"]) != len(found["counts"]):
        raise SystemFailed(
            f"the load generator's histogram '{of}' cannot be read: it has {len(found['values_ns'])} values "
            f"and {len(found['counts'])} counts"
        )
    return LatencyHistogram(dict(zip(found["values_ns"], found["counts"], strict=True)))


def _one(records: Mapping[str, dict[str, Any]], kind: str) -> dict[str, Any]:
    if kind not in records:
        raise SystemFailed(f"the load generator ended without its record '{kind}'")
    return records[kind]


def _trial(clients: int, output: bytes) -> LoadTrial:
    records = _records(output)
    load, surge = _one(records, "load"), records.get("surge")
    return LoadTrial(
        clients=clients,
        window_ns=load["window_ns"],
        answers=load["answers"],
        bytes=load["bytes"],
        verified=load["verified"],
        is_body_fixed=load["body_fixed"],
        requests=load["requests"],
        started=load["started"],
        waited=load["waited"],
        unsent=load["unsent"],
        failures=load["failures"],
        own_limits=load["own_limits"],
        malformed=load["malformed"],
        cpu_ns=load["user_ns"] + load["system_ns"],
        busy_most=load["busy_most"],
        latency=_histogram(records, "latency"),
        intended=_histogram(records, "intended"),
        lag=_histogram(records, "lag"),
        waits=Waits(
            connections=load["connections"],
            connecting_ns=load["connecting_ns"],
            closed=load["closed"],
            resent=load["resent"],
            longest_ns=load["longest_ns"],
            silences=_histogram(records, "silences"),
            stalled_ns=load["stalled_ns"],
            elapsed_ns=load["elapsed_ns"],
        ),
        costs=None,
        objects=Objects(
            digest=surge["digest"],
            offered=surge["objects_offered"],
            begun=surge["objects_begun"],
            ended=surge["objects"],
            failed=surge["objects_failed"],
            lost=surge["objects_lost"],
            sequence_permille=surge["sequence_permille"],
            latency=_histogram(records, "object"),
        )
        if surge
        else None,
    )
