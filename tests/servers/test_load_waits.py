"""What quantiles do not show: connections that are opened again, and servers that stand still."""

import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import replace
from itertools import count

import pytest
from http_servers import BODY, Answer, server, whole
from loads import CALM, CLOSED, loaded, loaded_until
from patience import patience
from steelyard.load import console
from steelyard.load.model import LatencyHistogram, LoadTrial, Pattern, Waits, wait_level
from steelyard.load.trials import levels

from steelyard.programs import built
from steelyard.servers.running import Target

pytestmark = pytest.mark.program

MS, S = 10**6, 10**9
OPEN = Pattern("keep-alive", 200.0, "constant", 0, "constant", 0.0, 1000)
HEAD = b"HTTP/1.%d 200 OK\r\n%sContent-Length: %d\r\n\r\n"


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
def test_each_connection_that_a_server_closes_is_counted(answer: Answer, requests: int) -> None:
    with server(answer) as port:
        found = loaded_until(
            lambda one: one.answers > 20, lambda: loaded(port, clients=2, warmup_s=0.05, window_s=0.3)
        )

    carried = found.requests - 2
    assert carried / requests <= found.waits.connections + found.failures["closed"]
    assert found.waits.connections <= carried / requests + 2 + found.waits.resent
    assert found.waits.closed >= found.waits.connections - 2
    assert found.waits.connecting_ns > 0
    (level,) = levels([found], CLOSED)
    assert "the server closed connections that were to be kept" in " ".join(console._first([level], CLOSED))


@pytest.mark.parametrize("answer", [whole, saying(0, b"Connection: Keep-Alive\r\n", goes_on=True)])
def test_kept_connections_are_one_for_each_client(answer: Answer) -> None:
    with server(answer) as port:
        found = loaded(port, clients=3, warmup_s=0.05, window_s=0.3)

    assert (found.waits.connections, found.waits.closed, found.waits.resent) == (3, 0, 0)


def test_connections_that_are_closed_while_idle_are_counted() -> None:
    """The server waits for a next request for a time that is a hundredth of the clients' pauses."""

    def impatient(connection: socket.socket, number: int) -> bool:
        whole(connection, number)
        connection.settimeout(0.0005)
        return True

    with server(impatient) as port:
        pattern = replace(CLOSED, think_us=50_000)
        found = loaded(port, pattern, clients=2, warmup_s=0, window_s=0.5)

    assert found.waits.closed >= found.waits.connections - 2 > 0
    assert sum(found.failures.values()) == 0


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
        pattern = replace(CLOSED, connection="new", timeout_ms=9000)
        found = loaded(listening.getsockname()[1], pattern, clients=2, warmup_s=0, window_s=0.4)

    assert found.waits.connecting_ns > 900 * MS
    assert (found.latency.quantile(1.0) or 0) > 900 * MS
    assert found.waits.longest_ns + found.waits.stalled_ns > 900 * MS


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


@pytest.mark.parametrize(("pattern", "number"), [(CLOSED, 500), (OPEN, 50)])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_time_in_which_nothing_is_answered_is_counted(
    pattern: Pattern, number: int, threads: int
) -> None:
    def load() -> LoadTrial:
        with server(whole, Standing(number, 0.6)) as port:
            return loaded(port, pattern, clients=4, warmup_s=0, window_s=1.0, threads=threads)

    found = loaded_until(lambda one: one.answers > number, load)

    known_ns = found.waits.stalled_ns + 10 * MS  # a silence of less would not be one
    assert found.waits.longest_ns + known_ns >= 580 * MS
    assert 580 * MS - known_ns <= found.waits.silences.above(0) <= 1.1 * S  # of all threads together
    if pattern is CLOSED:
        (level,) = levels([found], CLOSED)
        assert level.waits.are_hidden or level.latency_ns[0.99].value > 58 * MS


def test_a_server_that_stands_still_to_the_end_is_told() -> None:
    """Its answers never come within the window; the requests fail after it."""

    def load() -> LoadTrial:
        with server(whole, Standing(200, 30)) as port:
            return loaded(port, replace(CLOSED, timeout_ms=1000), warmup_s=0, window_s=1.2)

    found = loaded_until(lambda one: one.answers > 50, load)

    assert found.failures["timeout"] > 0
    assert found.waits.longest_ns + found.waits.stalled_ns >= 990 * MS
    assert found.waits.silences.above(0) > 0


def test_one_client_that_starves_while_others_go_on_is_told() -> None:
    first: list[socket.socket] = []

    def unfair(connection: socket.socket, number: int) -> bool:
        first.append(connection)
        if connection is first[0]:
            time.sleep(1.2)
        return whole(connection, number)

    with server(whole, unfair) as port:
        found = loaded(port, clients=16, warmup_s=0.05, window_s=0.6)

    assert found.waits.longest_ns + found.waits.stalled_ns >= 990 * MS
    assert wait_level([found], is_closed=True).are_hidden or (found.latency.quantile(0.99) or 0) > 90 * MS


def test_the_load_generator_s_own_stalls_are_not_the_server_s() -> None:
    def stopped() -> dict[str, dict[str, object]]:
        with server(whole) as port:
            words = [f"port={port}", "clients=4", "window_ms=900", "timeout_ms=9000"]
            running = subprocess.Popen([built.client(), *words], stdout=subprocess.PIPE)
            time.sleep(0.3)
            running.send_signal(signal.SIGSTOP)
            os.waitpid(running.pid, os.WUNTRACED)
            time.sleep(0.4)
            running.send_signal(signal.SIGCONT)
            text, _ = running.communicate(timeout=patience(60))
        records = [json.loads(line) for line in text.splitlines()]
        return {str(one.get("of", one["record"])): one for one in records}

    for _ in range(20):  # a busy host may let the server stand still as well, or stop before it began
        found = stopped()
        if int(str(found["load"]["longest_ns"])) < 300 * MS <= int(str(found["load"]["stalled_ns"])):
            break
    assert int(str(found["load"]["stalled_ns"])) >= 300 * MS
    assert int(str(found["load"]["longest_ns"])) < 300 * MS
    assert all(one < 300 * MS for one in found["silences"]["values_ns"])  # type: ignore[attr-defined]


def scripted(latencies: dict[int, int], waits: Waits) -> LoadTrial:
    told = LatencyHistogram(latencies)
    answers = sum(latencies.values())
    return LoadTrial(
        clients=4, window_ns=S, answers=answers, bytes=0, verified=0, is_body_fixed=True,
        requests=answers + 2, started=answers, waited=0, unsent=0, failures={}, cpu_ns=0, busy_most=0.1,
        latency=told, intended=told, lag=LatencyHistogram({}), waits=waits, costs=None,
    )  # fmt: skip


STOOD = replace(CALM, longest_ns=300 * MS, silences=LatencyHistogram({300 * MS: 1}))


@pytest.mark.parametrize(
    ("latencies", "waits", "is_closed", "silent", "are_hidden"),
    [
        ({MS: 1000}, CALM, True, 0.0, False),
        ({MS: 1000, 300 * MS: 4}, STOOD, True, 0.3, True),
        ({MS: 1000, 300 * MS: 4}, STOOD, False, 0.3, True),
        # In an open load the requests that were due meanwhile are in the quantiles.
        ({MS: 700, 300 * MS: 300}, STOOD, False, 0.3, False),
        # Every answer takes so long: nothing stands still.
        ({300 * MS: 12}, STOOD, True, 0.0, False),
        # One client of four starves in turn while others go on.
        ({MS: 3500, 90 * MS: 5}, replace(CALM, longest_ns=90 * MS), True, 0.0, True),
        ({MS: 3500, 90 * MS: 5}, replace(CALM, longest_ns=90 * MS), False, 0.0, False),
        ({MS: 3900, 30 * MS: 1}, replace(CALM, longest_ns=30 * MS), True, 0.0, False),
        ({MS: 3900, 200 * MS: 1}, replace(CALM, longest_ns=200 * MS), False, 0.0, True),
        # Hiccups shorter than 10 ms are no waits, however fast the server is.
        ({20_000: 9000, 9 * MS: 80}, replace(CALM, longest_ns=9 * MS), True, 0.0, False),
        ({}, STOOD, True, 0.3, False),  # that nothing was answered is the answer
    ],
)
def test_quantiles_hide_what_takes_more_of_the_time_than_of_the_requests(
    latencies: dict[int, int], waits: Waits, is_closed: bool, silent: float, are_hidden: bool
) -> None:
    found = wait_level([scripted(latencies, waits)], is_closed=is_closed)

    assert found.silent_share == silent
    assert found.are_hidden == are_hidden


def test_what_contradicts_the_quantiles_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    stood = levels([scripted({MS: 5000, 300 * MS: 4}, STOOD)], CLOSED)
    target = Target("http://127.0.0.1/", "127.0.0.1", 80, "127.0.0.1", "/", False)

    console.print_levels(stood, target, CLOSED)
    said = " ".join(capsys.readouterr().out.split())

    assert said.startswith(
        "With 4 clients, the server answered nothing for 30 % of the time, and the longest wait was 300 ms, "
        "although 99 % of requests took at most 1.00 ms. A client that waits sends no requests, so the "
        "quantiles hide it: a fixed rate (--rate)"
    )


def test_a_load_generator_that_did_not_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    stood = levels([scripted({MS: 1000}, replace(CALM, stalled_ns=S // 5))], CLOSED)
    target = Target("http://127.0.0.1/", "127.0.0.1", 80, "127.0.0.1", "/", False)

    console.print_levels(stood, target, CLOSED)

    assert "the load generator itself did not run for 20 % of the time" in capsys.readouterr().out
