"""A web server that runs already, and the request that it is asked: what a load on it needs to know."""

import ipaddress
import re
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from steelyard.errors import SystemFailed, UsageError, in_words
from steelyard.shapes import Wrong
from steelyard.text import quoted

_HEADER_MOST = 4000  # characters
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
    data: str | None = None  # the body,
    data_file: str | None = None  # or a file of the system under test that holds it
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
            *([f"data_file {self.data_file}"] if self.data_file is not None else []),
            *([f"pid {self.process}"] if self.process is not None else []),
        ]


def is_url(name: str) -> bool:
    """Whether a server's name is the address of one that runs."""
    return name.lower().startswith(("http://", "https://"))


def target(url: str, *, is_allowed: bool) -> Target:
    """The server that the URL names. Raises UsageError unless it is http and either loopback or allowed."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UsageError(f"{quoted(url)} is no URL: {error}") from error
    if parts.scheme != "http" or not parts.hostname:
        raise UsageError(f"{quoted(url)} must be of the form http://HOST[:PORT]/PATH")
    if "@" in parts.netloc or parts.fragment:
        raise UsageError(f"{quoted(url)} must have neither a user nor a fragment")
    try:
        port = 80 if parts.port is None else parts.port
    except ValueError:
        port = 0
    if not port:
        raise UsageError(f"{quoted(url)} has a port that is none: allowed are the numbers 1 to 65535")
    named, addresses = _addresses(url, parts.hostname, port)
    others = [one for one in addresses if not _is_loopback(one)]
    if others and not is_allowed:
        is_any = ipaddress.ip_address(others[0]).is_unspecified
        raise UsageError(
            f"{quoted(url)} is {others[0]}, which is not this machine's loopback: "
            + (
                "it stands for all of a machine's addresses; write 127.0.0.1 or [::1]"
                if is_any
                else "a load may disturb others; give --allow-remote if that host is yours to load"
            )
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or not path.isprintable() or " " in path:
        raise UsageError(f"{quoted(url)}: write the path in printable ASCII, everything else as %XX")
    host = named if port == 80 else f"{named}:{port}"
    return Target(url, _answering(url, addresses, port), port, host, path, is_allowed)


def _addresses(url: str, host: str, port: int) -> tuple[str, Sequence[str]]:
    """How the Host header names it, and its numeric addresses; a zone follows an address behind %. Raises
    UsageError."""
    if ":" in host:
        return _address_6(url, host)
    with suppress(OSError):
        four = socket.inet_ntoa(socket.inet_aton(host))  # 127.1, 0x7f.1 and 2130706433 are 127.0.0.1
        return four, [four]
    try:
        named = host.encode("idna").decode("ascii")
        found = _look_up(named, port)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{quoted(url)}: host {quoted(host)} cannot be found: {error}") from error
    return named, list(dict.fromkeys(_plain(one[4]) for one in found))


def _look_up(name: str, port: int) -> Sequence[tuple[Any, ...]]:
    """What getaddrinfo(3) knows of the name. One with a dot at its end is whole and looked up as it is; but
    /etc/hosts, where `localhost` stands, has none with a dot. Raises OSError, UnicodeError."""
    try:
        return socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except OSError:
        if not name.endswith("."):
            raise
        return socket.getaddrinfo(name[:-1], port, type=socket.SOCK_STREAM)


def _address_6(url: str, host: str) -> tuple[str, Sequence[str]]:
    """The same of an IPv6 address, with its zone as RFC 6874 writes it (%25lo) or plain (%lo). The header
    has none."""
    text, percent, zone = host.partition("%")
    if zone.startswith("25") and len(zone) > 2:
        zone = zone[2:]
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError as error:
        raise UsageError(f"{quoted(url)} has no IPv6 address in brackets: {error}") from error
    if percent and not address.is_link_local:
        raise UsageError(
            f"{quoted(url)}: {address} has the zone {quoted(zone)}; only link-local addresses (fe80::/10) "
            "have one: leave it out"
        )
    interfaces = {name: str(index) for index, name in socket.if_nameindex()}
    if address.is_link_local and zone not in (*interfaces, *interfaces.values()):
        what = f"there is no zone {quoted(zone)}" if percent else f"{address} is link-local, and needs a zone"
        raise UsageError(
            f"{quoted(url)}: {what}: write [{address}%25ZONE] with one of this machine's network interfaces: "
            f"{', '.join(interfaces)}"
        )
    plain = str(address.ipv4_mapped or address)
    return f"[{text}]", [f"{plain}%{zone}" if percent else plain]


def _plain(found: Sequence[object]) -> str:
    """The address of what was found for a name."""
    address, zone = ipaddress.ip_address(str(found[0]).partition("%")[0]), found[3] if len(found) > 3 else 0
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or address) + (f"%{zone}" if zone else "")
    return str(address)


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback


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
            why = "no answer in time" if isinstance(error, TimeoutError) else in_words(error)
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
    is_one = re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ \t\x21-\x7e]*", text)
    if not is_one or len(text) > _HEADER_MOST:
        allowed = f"of at most {_HEADER_MOST:,} characters of printable ASCII"
        raise Wrong(value, f"a header such as 'Accept: text/html', in one line {allowed}")
    return text
