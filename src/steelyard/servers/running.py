"""A web server that runs already, and the request that it is asked: what a load on it needs to know."""

import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from steelyard.errors import SystemFailed, UsageError
from steelyard.shapes import Wrong
from steelyard.text import quoted

_CONNECT_S = 3.0  # for each of a name's addresses


@dataclass(frozen=True, slots=True)
class Target:
    """A server by its numeric address, and what is asked of it."""

    url: str  # as it was given
    address: str
    port: int
    host: str
    path: str
    is_allowed: bool  # named by an explicit option, so it need not be loopback


@dataclass(frozen=True, slots=True)
class Running:
    """Where a running server is, and what it is asked."""

    url: str
    is_allowed: bool = False  # it need not be loopback
    method: str | None = None  # None: GET, or POST with data
    headers: tuple[str, ...] = ()  # each "NAME: VALUE"
    data: str | None = None  # the body
    process: int | None = None  # the server's first process, if its processor time is wanted

    def lines(self) -> list[str]:
        """What the load program reads (workloads/server/running.h). Raises UsageError and SystemFailed."""
        server = target(self.url, is_allowed=self.is_allowed)
        return [
            f"running {server.address}",
            f"port {server.port}",
            f"host {server.host}",
            f"path {server.path}",
            *([f"allow {server.address}"] if self.is_allowed else []),
            *([f"method {self.method}"] if self.method is not None else []),
            *(f"header {line}" for line in self.headers),
            *(["data", *(f"\t{line}" for line in self.data.split("\n"))] if self.data is not None else []),
            *([f"pid {self.process}"] if self.process is not None else []),
        ]


def is_url(name: str) -> bool:
    """Whether a server's name is the address of one that runs."""
    return name.startswith(("http://", "https://"))


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
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{quoted(url)}: host {quoted(parts.hostname)} cannot be found: {error}") from error
    addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
    others = [one for one in addresses if not ipaddress.ip_address(one).is_loopback]
    if others and not is_allowed:
        raise UsageError(
            f"{quoted(url)} is {others[0]}, which is not this machine's loopback: a load may disturb others; "
            "give --allow-remote if that host is yours to load"
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or not path.isprintable() or " " in path:
        raise UsageError(f"{quoted(url)}: write the path in printable ASCII, everything else as %XX")
    named = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    host = named if port == 80 else f"{named}:{port}"
    return Target(url, _answering(url, addresses, port), port, host, path, is_allowed)


def _answering(url: str, addresses: Sequence[str], port: int) -> str:
    """The first of a name's addresses at which somebody listens; the only one, unasked. Raises SystemFailed,
    with what each of them said."""
    if len(addresses) == 1:
        return addresses[0]
    refusals = []
    for address in addresses:
        try:
            with socket.create_connection((address, port), timeout=_CONNECT_S):
                return address
        except OSError as error:
            why = "no answer in time" if isinstance(error, TimeoutError) else error.strerror or str(error)
            refusals.append(f"{address}: {why}")
    raise SystemFailed(f"{quoted(url)}: no server answers at any of its addresses ({'; '.join(refusals)})")


def method(value: object) -> str:
    """An HTTP method. Raises Wrong."""
    if not re.fullmatch(r"[A-Za-z-]{1,40}", str(value)):
        raise Wrong(value, "an HTTP method, such as POST")
    return str(value)


def header(value: object) -> str:
    """A header in one line. Raises Wrong."""
    text = str(value)
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ \t\x21-\x7e]*", text):
        raise Wrong(value, "a header such as 'Accept: text/html', in one line of printable ASCII")
    return text
