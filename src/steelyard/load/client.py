"""Starts steelyard-client for one window of load, and reads what it saw."""

import ipaddress
import json
import socket
import subprocess
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from steelyard.errors import SystemFailed, UsageError
from steelyard.load.model import Histogram, Objects, Pattern, Target, Trial, Users
from steelyard.programs import built
from steelyard.text import last_line, quoted

_DRAIN_S = 5.0


def target(url: str, *, is_allowed: bool) -> Target:
    """The server that the URL names. Raises UsageError unless it is http and either loopback or allowed."""
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError as error:
        raise UsageError(f"{quoted(url)} is no URL: {error}") from error
    if parts.scheme != "http" or not parts.hostname:
        raise UsageError(f"{quoted(url)} must be of the form http://HOST[:PORT]/PATH")
    if parts.username or parts.password or parts.fragment:
        raise UsageError(f"{quoted(url)} must have neither a user nor a fragment")
    try:
        address = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)[0][4][0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{quoted(url)}: host {quoted(parts.hostname)} cannot be found: {error}") from error
    if not ipaddress.ip_address(address).is_loopback and not is_allowed:
        raise UsageError(
            f"{quoted(url)} is {address}, which is not this machine's loopback: a load may disturb others; "
            "give --allow-remote if that host is yours to load"
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or not path.isprintable() or " " in path:
        raise UsageError(f"{quoted(url)}: write the path in printable ASCII, everything else as %XX")
    named = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    host = named if port == 80 else f"{named}:{port}"
    return Target(url, str(address), port, host, path, is_allowed)


def run(
    server: Target,
    pattern: Pattern,
    *,
    clients: int,
    threads: int,
    warmup_s: float,
    window_s: float,
    seed: int,
) -> Trial:
    """Loads the server for one window, after a warm-up. Raises SystemFailed."""
    words = {
        "address": server.address,
        "port": server.port,
        "host": server.host,
        "path": server.path,
        "allow": server.address if server.is_allowed else "",
        "clients": clients,
        "threads": threads,
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
        answer = subprocess.run(
            [str(built.client()), *(f"{name}={value}" for name, value in words.items())],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired as error:
        raise SystemFailed(f"the load generator did not end within {limit_s:.0f} s") from error
    if answer.returncode:
        said = last_line(answer.stderr).removeprefix("steelyard-client: ")
        raise SystemFailed(f"{quoted(server.url)}: {said}")
    return _trial(clients, [json.loads(line) for line in answer.stdout.splitlines()])


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


def _trial(clients: int, records: list[dict[str, Any]]) -> Trial:
    load = next(one for one in records if one["record"] == "load")
    surge = next((one for one in records if one["record"] == "surge"), None)
    histograms: Mapping[str, Histogram] = {
        one["of"]: Histogram(dict(zip(one["values_ns"], one["counts"], strict=True)))
        for one in records
        if one["record"] == "histogram"
    }
    return Trial(
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
        cpu_ns=load["user_ns"] + load["system_ns"],
        busy_most=load["busy_most"],
        latency=histograms["latency"],
        intended=histograms["intended"],
        lag=histograms["lag"],
        costs=None,
        objects=Objects(
            digest=surge["digest"],
            offered=surge["objects_offered"],
            begun=surge["objects_begun"],
            ended=surge["objects"],
            failed=surge["objects_failed"],
            sequence_permille=surge["sequence_permille"],
            latency=histograms["object"],
        )
        if surge
        else None,
    )
