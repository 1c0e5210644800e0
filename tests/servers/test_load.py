"""The load on a server: what is counted, and what is refused."""

import re
import socket
import time

import pytest
from http_servers import BODY, Answer, server, whole
from loads import loaded, loaded_until, running

pytestmark = pytest.mark.program


def in_pieces(connection: socket.socket, _: int) -> bool:
    """Chunked, with extensions and trailers, and cut at odd places."""
    text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for begin in range(0, len(BODY), 4000):
        piece = BODY[begin : begin + 4000]
        text += b"%x;name=value\r\n%s\r\n" % (len(piece), piece)
    text += b"0\r\nTrailer: yes\r\n\r\n"
    for begin in range(0, len(text), 777):
        connection.sendall(text[begin : begin + 777])
    return True


def until_the_end(connection: socket.socket, _: int) -> bool:
    connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + BODY)
    return False


def after_an_interim_answer(connection: socket.socket, number: int) -> bool:
    connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
    return whole(connection, number)


def closing_each_third(connection: socket.socket, number: int) -> bool:
    """As a server does that limits the requests of a connection without saying so."""
    whole(connection, number)
    return number % 3 != 2


@pytest.mark.parametrize(
    "answer", [whole, in_pieces, until_the_end, after_an_interim_answer, closing_each_third]
)
def test_every_form_of_answer_is_read_whole_and_compared(answer: Answer) -> None:
    with server(answer) as port:
        found = loaded(port)

    assert (found.status, found.reason) == ("ok", None)
    assert found.answers > 2
    assert found.bytes == found.answers * len(BODY)
    assert found.verified == found.answers
    assert found.late_ns == 0  # without a schedule nothing is late
    assert found.failures == {}
    assert found.body_fixed


@pytest.mark.parametrize("connection", [0, 1, 2])
def test_a_large_body_is_counted_to_the_byte_though_nobody_looks_at_it(connection: int) -> None:
    large = BODY * 20

    def answer(to: socket.socket, _: int) -> bool:
        to.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(large), large))
        return connection == 0

    with server(answer) as port:
        found = loaded(port, f"connection={connection}", "verify_permille=0")

    assert found.answers > 2
    assert found.bytes == found.answers * len(large)
    assert found.verified == 0


def _says(text: bytes, *, goes_on: bool = True) -> Answer:
    def answer(connection: socket.socket, _: int) -> bool:
        connection.sendall(text)
        return goes_on

    return answer


def silent(connection: socket.socket, _: int) -> bool:
    time.sleep(3)
    return False


def in_turn(*answers: Answer) -> Answer:
    """Each connection's answers."""

    def answer(connection: socket.socket, number: int) -> bool:
        return answers[number % len(answers)](connection, number)

    return answer


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY)
# What the server says, by what it is counted as.
FAILURES = [
    ("redirect", _says(b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")),
    ("status 4xx", _says(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")),
    ("status 5xx", _says(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")),
    ("status", _says(b"HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n")),
    ("length", _says(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")),
    ("body", _says(HEAD + BODY[:-1] + b"!")),
    ("closed", _says(HEAD + BODY[:-1], goes_on=False)),
    ("malformed", _says(b"SSH-2.0-nothing\r\n\r\n")),
    ("malformed", _says(HEAD.replace(b": ", b": -") + BODY)),
    ("malformed", _says(b"HTTP/1.1 200 OK\r\n" + b"A: " + b"a" * 20000)),
    ("malformed", _says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n")),
]


@pytest.mark.parametrize(("kind", "answer"), FAILURES)
def test_each_kind_of_failure_is_counted_as_what_it_is(kind: str, answer: Answer) -> None:
    """Every second request of each client fails."""
    with server(whole, in_turn(whole, answer)) as port:
        found = loaded_until(lambda one: one.told.get("failures", {}).get(kind, 0) > 8, lambda: loaded(port))

    assert found.status == "ok"
    assert found.failures.keys() == {kind}
    assert abs(found.answers - found.failures[kind]) <= 8  # by each client one at either end of the window
    assert sum(found.latency.values()) >= found.answers + found.failures[kind] - 4  # failures keep their time
    requests = found.answers + found.failures[kind]
    assert found.figures["failed"] == pytest.approx(1e6 * found.failures[kind] / requests, abs=1)


@pytest.mark.parametrize(("kind", "answer"), FAILURES)
def test_a_trial_without_an_answer_has_failed_and_tells_its_failures(kind: str, answer: Answer) -> None:
    with server(whole, answer) as port:
        found = loaded_until(lambda one: bool(one.told.get("failures")), lambda: loaded(port, window_s=0.3))

    assert found.status == "failed"
    assert found.answers == 0
    assert found.failures.keys() == {kind}
    number = found.failures[kind]
    assert f"{number} of {number} requests failed: {kind} {number}" in (found.reason or "")
    assert bool(found.malformed) == (kind == "malformed")


def test_a_request_without_an_answer_fails_in_time_and_keeps_its_time() -> None:
    """Every fifth of a connection."""
    with server(whole, in_turn(whole, whole, whole, whole, silent)) as port:
        found = loaded(port, "verify_permille=0", "timeout_ms=300", window_s=0.8)

    late = sum(count for ns, count in found.latency.items() if ns >= 290e6)
    assert found.failures.keys() == {"timeout"}
    assert found.failures["timeout"] >= 4
    assert late >= found.failures["timeout"] - 4  # those of four clients may end after the window
    assert sum(found.latency.values()) <= found.answers + found.failures["timeout"]
    assert found.longest_ns >= 290e6


def test_a_request_of_the_window_that_fails_after_it_is_a_failure() -> None:
    with server(whole, silent) as port:
        found = loaded(port, "rate=20", "verify_permille=0", clients=16, window_s=0.5)

    assert found.answers == 0
    assert found.failures["timeout"] >= 4


def test_an_open_load_keeps_to_its_times_and_counts_from_them() -> None:
    """A server of 20 ms an answer and one client, asked 100 times a second: each waits for those before."""

    def slow(connection: socket.socket, number: int) -> bool:
        time.sleep(0.02)
        return whole(connection, number)

    with server(whole, slow) as port:
        found = loaded(port, "rate=100", "verify_permille=0", "timeout_ms=5000", clients=1)

    assert found.answers <= 50
    assert found.waited >= 40
    assert found.quantile(0.9) > 5 * 20e6  # of the server's alone they would be little more than 20 ms
    assert found.started + found.unsent >= 95
    assert sum(found.latency.values()) == found.started + found.unsent


def test_what_only_waits_when_the_window_closes_is_still_sent() -> None:
    """One client and answers of 50 ms, asked 18 times a second at random: some request always waits. On a
    machine that stood still more may wait than can be sent in the time that is left."""

    def slow(connection: socket.socket, number: int) -> bool:
        time.sleep(0.05)
        return whole(connection, number)

    def unsent() -> int:
        with server(whole, slow) as port:
            found = loaded(port, "rate=18", "poisson=1", "timeout_ms=5000", clients=1, window_s=4.0)
        assert found.waited > 10
        return int(found.unsent)

    assert 0 in (unsent() for _ in range(3))


def test_arrivals_at_random_are_as_many_as_asked_for() -> None:
    with server(whole) as port:
        found = loaded(
            port, "rate=400", "poisson=1", "verify_permille=0", "timeout_ms=5000", clients=32, window_s=2.0
        )

    assert 800 - 5 * 800**0.5 < found.started + found.unsent < 800 + 5 * 800**0.5


def test_clients_pause_between_answer_and_request() -> None:
    with server(whole) as port:
        found = loaded(port, "think_us=50000", "think_spread=0", "timeout_ms=5000", clients=2)

    assert 4 <= found.answers <= 42


@pytest.mark.parametrize("warmup_s", [0.02, 0.2])
def test_all_clients_begin_before_the_window(warmup_s: float) -> None:
    """What a client that begins late does not ask for would count as the server's slowness."""
    with server(whole, silent) as port:
        found = loaded(port, clients=50, warmup_s=warmup_s, window_s=0.3)

    assert found.started == 0


def test_a_server_that_is_not_there_is_a_sentence() -> None:
    with socket.socket() as held:  # nobody else gets the port, and nobody listens there
        held.bind(("127.0.0.1", 0))
        found = loaded(held.getsockname()[1])

    assert (found.status, found.reason) == ("failed", "the server does not answer: Connection refused")
    assert found.told == {}


def test_a_body_that_changes_is_not_checked_and_that_is_known() -> None:
    numbers = iter(range(1_000_000))

    def answer(connection: socket.socket, _: int) -> bool:
        body = b"%d" % next(numbers)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        return True

    with server(answer) as port:
        found = loaded(port)

    assert found.status == "ok"
    assert not found.body_fixed
    assert found.answers > 2
    assert found.verified == 0


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("192.0.2.1", "is not loopback"),
        ("::ffff:192.0.2.1", "is not loopback"),
        ("0.0.0.0", "is not loopback"),
        ("fe80::1%lo", "is not loopback"),
        ("fe80::1%nowhere", "has a zone that is no network interface here"),
        ("127.1", "is no IPv4 or IPv6 address"),
        ("::ffff:127.0.0.1", "the server does not answer"),
        ("::1", "the load generator's own limit|the server does not answer"),
        ("192.0.2.1\nallow 192.0.2.2", "is not loopback"),
    ],
)
@pytest.mark.parametrize("workload", ["web_load", "web_saturation"])
def test_the_load_program_itself_refuses_an_address_that_nobody_allowed(
    workload: str, address: str, sentence: str
) -> None:
    found = loaded(
        1, described=running(1).replace("running 127.0.0.1", f"running {address}"), workload=workload
    )

    assert found.status == "failed"
    assert re.search(sentence, found.reason or "")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("port 65536", "the server's port is '65536', and must be 1 to 65535"),
        ("port 0", "the server's port is '0', and must be 1 to 65535"),
        ("port -1", "the server's port is '-1', and must be 1 to 65535"),
        ("pid 1x", "the server's process is '1x', which is no number"),
        ("data_file /nowhere/at/all", "/nowhere/at/all, cannot be read: No such file or directory"),
        ("data_file /dev/zero", "/dev/zero, has more than 16 MiB"),
    ],
)
def test_a_wrong_line_of_a_description_is_quoted(line: str, sentence: str) -> None:
    lines = [one for one in running(1).split("\n") if one.split()[0] != line.split()[0]]

    found = loaded(1, described="\n".join([*lines, line]))

    assert found.status == "failed"
    assert sentence in (found.reason or "")
