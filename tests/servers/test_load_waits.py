"""What quantiles do not show: connections that are opened again, and servers that stand still."""

import os
import signal
import socket
import struct
import tempfile
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import loads
import pytest
import synthetic
from http_servers import BODY, Answer, server, whole
from loads import Loaded, loaded, loaded_until
from monitor_runs import until
from processes import family
from server_trials import Agent

from steelyard.analysis.model import Evaluation
from steelyard.analysis.remarks import Reconnected
from steelyard.words import loads as load_words

pytestmark = pytest.mark.program

MS, S = 10**6, 10**9
CLOSED, OPEN = (), ("rate=200",)
HEAD = b"HTTP/1.%d 200 OK\r\n%sContent-Length: %d\r\n\r\n"


def analysed(found: Loaded, directory: Path, *settings: str) -> Evaluation:
    """What is made of that record, of a load with those settings."""
    load = synthetic.load(**{name: value for name, value in found.told.items() if name != "record"})
    named = (one.partition("=") for one in ("clients=4", *settings))
    parameters = {name: int(value) for name, _, value in named}
    return synthetic.loads_on_a_server(directory, [load], found.latency, parameters=parameters)


def saying(minor: int, header: bytes, *, goes_on: bool) -> Answer:
    def answer(connection: socket.socket, _: int) -> bool:
        connection.sendall(HEAD % (minor, header, len(BODY)) + BODY)
        return goes_on

    return answer


def closing_after(requests: int) -> Answer:
    """As a server does whose limit of requests on a connection is reached, and which does not announce it."""
    return lambda connection, number: whole(connection, number) and number % requests != requests - 1


def announcing_each_third(connection: socket.socket, number: int) -> bool:
    return saying(1, b"Connection: close\r\n" if number % 3 == 2 else b"", goes_on=number % 3 != 2)(
        connection, number
    )


def resetting_after_two(connection: socket.socket, number: int) -> bool:
    """As a balancer does that gives a connection up."""
    whole(connection, number)
    if number % 2:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return number % 2 == 0


@pytest.mark.parametrize(
    ("answer", "requests"),
    [
        (saying(1, b"Connection: close\r\n", goes_on=False), 1),
        (saying(0, b"", goes_on=False), 1),
        (closing_after(1), 1),
        (closing_after(5), 5),
        (announcing_each_third, 3),
        (resetting_after_two, 2),
    ],
)
def test_each_connection_that_a_server_closes_is_counted(
    answer: Answer, requests: int, tmp_path: Path
) -> None:
    with server(answer) as port:
        found = loaded_until(
            lambda one: one.answers > 20, lambda: loaded(port, clients=2, warmup_s=0.05, window_s=0.3)
        )

    carried = found.requests - 2
    assert carried / requests <= found.connections + found.failures["closed"]
    assert found.connections <= carried / requests + 2 + found.resent
    assert found.closed >= found.connections - 2
    assert found.connecting_ns > 0
    # It is said before any figure.
    first = load_words.warnings(analysed(found, tmp_path, "clients=2").remarks)
    assert any(isinstance(one, Reconnected) for one in first)


@pytest.mark.parametrize("answer", [whole, saying(0, b"Connection: Keep-Alive\r\n", goes_on=True)])
def test_kept_connections_are_one_for_each_client(answer: Answer) -> None:
    with server(answer) as port:
        found = loaded(port, clients=3, warmup_s=0.05, window_s=0.3)

    assert (found.connections, found.closed, found.resent) == (3, 0, 0)


def test_connections_that_are_closed_while_idle_are_counted() -> None:
    """The server waits for a next request for a time that is a hundredth of the clients' pauses."""

    def impatient(connection: socket.socket, number: int) -> bool:
        whole(connection, number)
        connection.settimeout(0.0005)
        return True

    with server(impatient) as port:
        words = ("think_us=50000", "think_spread=0")
        found = loaded(port, *words, clients=2, warmup_s=0, window_s=0.5)

    assert found.closed >= found.connections - 2 > 0
    assert not found.failures


def test_connecting_is_in_the_latency() -> None:
    """The server's queue is full at first, so the kernel drops a request for a connection, and asks again
    after a second."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        fillers: list[socket.socket] = []

        def serve_one() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                whole(connection, 0)

        def serve() -> None:
            serve_one()
            serve_one()  # now it is the load's turn, which comes after a fill of the queue
            for _ in range(4):
                fillers.append(socket.socket())
                fillers[-1].setblocking(False)
                fillers[-1].connect_ex(listening.getsockname())
            time.sleep(0.5)
            for one in fillers:
                one.close()
            while listening.fileno() >= 0:
                with suppress(OSError):
                    serve_one()

        threading.Thread(target=serve, daemon=True).start()
        words = ("connection=1", "timeout_ms=9000")
        found = loaded(listening.getsockname()[1], *words, clients=2, warmup_s=0, window_s=2.0)

    assert found.connecting_ns > 900 * MS
    assert found.quantile(1.0) > 900 * MS
    assert found.longest_ns + found.stalled_ns > 900 * MS


class Standing:
    """A server that stands still once, for so long, from an answer of that number on."""

    def __init__(self, number: int, stands_s: float) -> None:
        self.numbers, self.number, self.stands_s = count(), number, stands_s
        self.until_s = 0.0

    def __call__(self, connection: socket.socket, number: int) -> bool:
        if next(self.numbers) == self.number:
            self.until_s = time.monotonic() + self.stands_s
        time.sleep(max(0.0, self.until_s - time.monotonic()))
        return whole(connection, number)


@pytest.mark.parametrize(("settings", "number"), [(CLOSED, 500), (OPEN, 50)])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_time_in_which_nothing_is_answered_is_counted(
    settings: tuple[str, ...], number: int, threads: int, tmp_path: Path
) -> None:
    words = (*settings, f"threads={threads}")

    def load() -> Loaded:
        with server(whole, Standing(number, 0.6)) as port:
            return loaded(port, *words, warmup_s=0, window_s=1.0)

    found = loaded_until(lambda one: one.answers > number, load)

    known_ns = found.stalled_ns + 10 * MS  # a silence of less would not be one
    assert found.longest_ns + known_ns >= 580 * MS
    assert 580 * MS - known_ns <= found.silent_ns <= found.window_ns  # of all threads together
    if settings == CLOSED:
        (made,) = analysed(found, tmp_path, *words).server_loads
        assert made.waits_are_hidden or found.quantile(0.99) > 58 * MS


def test_a_server_that_stands_still_to_the_end_is_told() -> None:
    """Its answers never come within the window; the requests fail after it."""

    def load() -> Loaded:
        with server(whole, Standing(200, 30)) as port:
            return loaded(port, "timeout_ms=1000", warmup_s=0, window_s=1.2)

    found = loaded_until(lambda one: one.answers > 50, load)

    assert found.failures["timeout"] > 0
    assert found.longest_ns + found.stalled_ns >= 990 * MS
    assert found.silent_ns > 0


def test_one_client_that_starves_while_others_go_on_is_told(tmp_path: Path) -> None:
    first: list[socket.socket] = []

    def unfair(connection: socket.socket, number: int) -> bool:
        first.append(connection)
        if connection is first[0]:
            time.sleep(1.2)
        return whole(connection, number)

    with server(whole, unfair) as port:
        found = loaded(port, clients=16, warmup_s=0.05, window_s=0.6)

    assert found.longest_ns + found.stalled_ns >= 990 * MS
    (made,) = analysed(found, tmp_path, "clients=16").server_loads
    assert made.waits_are_hidden or found.quantile(0.99) > 90 * MS


def test_the_load_generator_s_own_stalls_are_not_the_server_s() -> None:
    """Its process is stopped for 400 ms in its window."""

    def stopped() -> Loaded:
        words = (*loads.ONE_WINDOW, "warm_ms=0", "window_ms=900", "timeout_ms=9000", "clients=4")
        with (
            server(whole) as port,
            tempfile.TemporaryDirectory() as place,
            Agent(Path(place)) as agent,
        ):
            agent.begin(loads.running(port), "web_load", *words)
            trials: list[int] = []

            def is_there() -> bool:
                trials[:] = family(agent.process.pid)[1:]
                return bool(trials)

            until(is_there, "the trial")
            time.sleep(0.3)
            for one in trials:
                os.kill(one, signal.SIGSTOP)
            time.sleep(0.4)
            for one in trials:
                os.kill(one, signal.SIGCONT)
            return loads.heard(agent.records())

    found = loaded_until(  # a busy host may let the server stand still as well, or stop before it began
        lambda one: one.longest_ns < 300 * MS <= one.stalled_ns, stopped
    )
    assert found.status == "ok", found.reason
    assert found.stalled_ns >= 300 * MS
    assert found.longest_ns < 300 * MS
    assert found.silent_ns < 300 * MS
