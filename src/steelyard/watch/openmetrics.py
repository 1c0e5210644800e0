"""Turns a tally into metrics that a Prometheus scrapes: an HTTP endpoint /metrics, in OpenMetrics' text.

Series are by program, not by process: a store keeps every series for good. What was not seen has no series.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client import generate_latest as plain_text
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_text

from steelyard.errors import UsageError
from steelyard.text import quoted, shown
from steelyard.watch import figures
from steelyard.watch.model import Monitor
from steelyard.watch.tally import OTHERS, Sums, Totals

LOOPBACK = "127.0.0.1"  # where only the port is written
_SILENCE_S = 10  # from a client that has connected and does not ask
_WHOLE_S = 30  # from the connection to the last byte of the answer, at any speed
_CONNECTIONS_MOST = 32  # with one more the oldest is closed, so that silent connections block no client


@dataclass(frozen=True, slots=True)
class Address:
    """The address to listen at; port 0 takes a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


# What sets the figures of a family apart, and what they are together. One alone has its own title.
_FAMILIES = {
    "cpu": ("mode", "Time on processors."),
    "not_running": ("state", "Time not on a processor, summed over threads."),
    "page_faults": ("kind", "Page faults."),
    "context_switches": ("kind", "Context switches."),
    "io_operations": ("direction", "Read and write system calls."),
    "io": ("direction", "Bytes carried by read and write system calls."),
    "block_io": ("direction", "Bytes read from block devices and written to them."),
}
_UNITS = {"NS": "seconds", "BYTES": "bytes", "COUNT": ""}


def parse(text: str) -> Address:
    """An address such as ":9435" (of this host alone), "192.0.2.1:9435" or "[::1]:9435". Raises
    UsageError."""
    host, colon, port = text.strip().rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    if is_bracketed:
        host = host[1:-1]
    if (
        not colon
        or not (port.isascii() and port.isdigit() and len(port) < 6 and int(port) < 1 << 16)
        or (":" in host) != is_bracketed
    ):
        raise UsageError(
            f"--openmetrics is {quoted(text)}, but must be an address and a port below 65536, such as :9435 "
            "(for this host alone), 192.0.2.1:9435 or [::1]:9435"
        )
    return Address(host or LOOPBACK, int(port))


@contextmanager
def serve(
    address: Address, tally: Totals, *, monitor_cpu_ns: Callable[[], int | None] = lambda: None
) -> Iterator[Address]:
    """Answer scrapes in threads while the context lasts; yields the address, with its port. Raises UsageError
    if it cannot listen there.
    """
    collector = Collector(tally, monitor_cpu_ns=monitor_cpu_ns)
    with ExitStack() as stack:
        port = address.port
        for family, place in _places(address):
            try:
                server = _Server((place, port), _handler(collector), family=family)
            except OSError as error:
                raise _nobody_listens(address, error) from error
            port = server.server_address[1]  # a free one, where none was asked for: the same for all
            stack.callback(server.server_close)
            thread = threading.Thread(target=server.serve_forever, name="openmetrics", daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
        yield Address(address.host, port)


def _places(address: Address) -> list[tuple[socket.AddressFamily, str]]:
    """Each address that the host's name has here. Raises UsageError."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise _nobody_listens(address, error) from error
    return list(dict.fromkeys((one[0], str(one[4][0])) for one in found))


def _nobody_listens(address: Address, error: Exception) -> UsageError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else error
    return UsageError(f"--openmetrics is {quoted(address)}; cannot listen there: {why}")


class Collector:
    """The metrics for the library."""

    def __init__(self, tally: Totals, *, monitor_cpu_ns: Callable[[], int | None] = lambda: None) -> None:
        self._tally = tally
        self._monitor_cpu_ns = monitor_cpu_ns

    def collect(self) -> Iterable[Metric]:
        """Every family, as the tally is at one moment."""
        with self._tally.lock:
            return [*self._watch(), *self._processes(), *self._counters(), *self._calls(), *self._monitor()]

    def _watch(self) -> Iterator[Metric]:
        head = self._tally.head
        if head:
            known = {"backend": head.backend, "detail": head.detail, "version": head.version}
            yield InfoMetricFamily("steelyard_watch", "The settings of the watch.", known)

    def _processes(self) -> Iterator[Metric]:
        alive: dict[str, int] = dict.fromkeys(self._tally.programs, 0)
        for one in self._tally.running.values():
            name = one.program if one.program is not None and one.program in alive else OTHERS
            alive[name] = alive.get(name, 0) + 1
        running = GaugeMetricFamily(
            "steelyard_processes", "Processes that have not ended and were read.", labels=["program"]
        )
        begun = CounterMetricFamily("steelyard_processes_seen", "Processes watched.", labels=["program"])
        for name, count in alive.items():
            running.add_metric([shown(name)], count)
        for name, sums in self._tally.programs.items():
            begun.add_metric([shown(name)], sums.beginnings)
        return iter((running, begun))

    def _counters(self) -> Iterator[Metric]:
        """A counter by program of each family of figures. Times are in seconds."""
        for family, parts in figures.FAMILIES.items():
            names = list(parts.values())
            label, words = _FAMILIES.get(family, ("", f"{figures.TITLES[names[0]].capitalize()}."))
            labels = ["program", label] if label else ["program"]
            unit = _UNITS[figures.unit(names[0])]
            counter = CounterMetricFamily(f"steelyard_{family}", words, labels=labels, unit=unit)
            for program, sums in self._tally.programs.items():
                for part, figure in parts.items():
                    if figure in sums.figures:
                        values = [shown(program), part] if label else [shown(program)]
                        counter.add_metric(values, sums.figures[figure] / (1e9 if unit == "seconds" else 1))
            yield counter

    def _calls(self) -> Iterator[Metric]:
        detail = self._tally.head.detail if self._tally.head else ""
        if detail == "profile":
            yield self._by_call("steelyard_system_call_samples", "Samples that found a process in the call.")
        elif detail != "life":
            how = ", estimated from windows" if detail == "budget" else ""
            yield self._by_call("steelyard_system_calls", f"System calls that returned{how}.")
            yield self._by_call(
                "steelyard_system_call_errors", f"System calls that failed{how}.", of=lambda sums: sums.errors
            )

    def _by_call(
        self,
        name: str,
        documentation: str,
        *,
        of: Callable[[Sums], dict[str, float]] = lambda sums: sums.calls,
    ) -> Metric:
        counter = CounterMetricFamily(name, documentation, labels=["program", "call"])
        for program, sums in self._tally.programs.items():
            for call, count in of(sums).items():
                counter.add_metric([shown(program), shown(call)], count)
        return counter

    def _monitor(self) -> Iterator[Metric]:
        cpu = CounterMetricFamily(
            "steelyard_monitor_cpu", "What watching costs.", labels=["part"], unit="seconds"
        )
        watcher_ns = self._monitor_cpu_ns()
        if watcher_ns is not None:
            cpu.add_metric(["watcher"], watcher_ns / 1e9)
        cpu.add_metric(["reporter"], time.process_time())
        yield cpu
        monitor = self._tally.monitor
        if monitor:
            yield _losses(monitor)


def _losses(monitor: Monitor) -> Metric:
    lost = CounterMetricFamily("steelyard_monitor_lost", "Events that were not counted.", labels=["what"])
    for what in ("slots", "calls", "events"):
        if (count := getattr(monitor, f"lost_{what}")) is not None:
            lost.add_metric([what], count)
    return lost


def _openmetrics(collector: Collector) -> bytes:
    text: bytes = openmetrics_text(collector)  # type: ignore[no-untyped-call]
    return text


class _Server(ThreadingHTTPServer):
    # With five, the default, a client that comes with a few others waits a second to be heard.
    request_queue_size = socket.SOMAXCONN

    def __init__(
        self, place: tuple[str, int], handler: type[BaseHTTPRequestHandler], *, family: socket.AddressFamily
    ) -> None:
        self.address_family = family
        self._lock = threading.Lock()
        self._connections: dict[Any, float] = {}  # and since when they are there, the oldest first
        super().__init__(place, handler)

    def server_bind(self) -> None:
        # HTTPServer's own would ask the network for our name.
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections[request] = time.monotonic()
            oldest = next(iter(self._connections)) if len(self._connections) > _CONNECTIONS_MOST else None
        if oldest is not None:
            self._end(oldest)
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Ends what has taken too long: twice a second, and after each connection that comes."""
        latest = time.monotonic() - _WHOLE_S
        with self._lock:
            late = [one for one, began in self._connections.items() if began < latest]
        for one in late:
            self._end(one)

    def _end(self, request: Any) -> None:
        self._forget(request)
        with contextlib.suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        self._forget(request)
        super().shutdown_request(request)

    def _forget(self, request: Any) -> None:
        with self._lock:
            self._connections.pop(request, None)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away while it was answered is its own affair."""


def _handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _SILENCE_S

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404, "the metrics are at /metrics")
                return
            accepts = self.headers.get("Accept", "")
            is_old = "text/plain" in accepts and "openmetrics" not in accepts and "*/*" not in accepts
            content = plain_text(collector) if is_old else _openmetrics(collector)
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE_PLAIN_0_0_4 if is_old else CONTENT_TYPE_LATEST)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            """Scrapes are no news."""

    return Handler
