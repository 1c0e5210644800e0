"""The load generator: what it counts, what it refuses, and what it says of a server."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from conftest import Run
from starting import COMMAND

from steelyard.errors import SystemFailed, UsageError
from steelyard.load import client, trials
from steelyard.load.model import Histogram, Pattern, Target, Trial
from steelyard.programs import built

pytestmark = pytest.mark.program

Answer = Callable[[socket.socket, int], bool]  # a connection and which answer on it; whether to go on

BODY = bytes(range(256)) * 40
CLOSED = Pattern("keep-alive", None, "constant", 0, "constant", 1.0, 1000)


def whole(connection: socket.socket, _: int) -> bool:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY))
    return True


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


@contextmanager
def server(*answers: Answer) -> Iterator[int]:
    """A server on loopback; answers[0] answers the two first fetches, then answers[-1]. Yields its port."""
    fetched = [0]

    def serve(connection: socket.socket) -> None:
        with connection:
            for number in range(1_000_000):
                request = b""
                while not request.endswith(b"\r\n\r\n"):
                    more = connection.recv(4096)
                    if not more:
                        return
                    request += more
                fetched[0] += 1
                if not (answers[0] if fetched[0] <= 2 else answers[-1])(connection, number):
                    return

    def guarded(connection: socket.socket) -> None:
        with suppress(OSError):
            serve(connection)

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=guarded, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1]


def loaded(
    port: int, pattern: Pattern = CLOSED, *, clients: int = 4, warmup_s: float = 0.1, window_s: float = 1.0
) -> Trial:
    """A host that takes the processor for some tenths of a second leaves enough of that window."""
    target = Target("x", "127.0.0.1", port, "localhost", "/", False)
    return client.run(
        target, pattern, clients=clients, threads=1, warmup_s=warmup_s, window_s=window_s, seed=1
    )


@pytest.mark.parametrize(
    "answer", [whole, in_pieces, until_the_end, after_an_interim_answer, closing_each_third]
)
def test_every_form_of_answer_is_read_whole_and_compared(answer: Answer) -> None:
    with server(answer) as port:
        found = loaded(port)

    assert found.answers > 2
    assert found.bytes == found.answers * len(BODY)
    assert found.verified == found.answers
    assert not found.lag.counts  # without a schedule nothing is late
    assert sum(found.failures.values()) == 0
    assert found.is_body_fixed


@pytest.mark.parametrize("connection", ["keep-alive", "new", "http/1.0"])
def test_a_large_body_is_counted_to_the_byte_though_nobody_looks_at_it(connection: str) -> None:
    large = BODY * 20

    def answer(to: socket.socket, _: int) -> bool:
        to.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(large), large))
        return connection == "keep-alive"

    with server(answer) as port:
        found = loaded(port, Pattern(connection, None, "constant", 0, "constant", 0.0, 1000))

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


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY)


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("status", _says(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")),
        ("length", _says(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")),
        ("body", _says(HEAD + BODY[:-1] + b"!")),
        ("closed", _says(HEAD + BODY[:-1], goes_on=False)),
        ("malformed", _says(b"SSH-2.0-nothing\r\n\r\n")),
        ("malformed", _says(HEAD.replace(b": ", b": -") + BODY)),
        ("malformed", _says(b"HTTP/1.1 200 OK\r\n" + b"A: " + b"a" * 20000)),
        ("malformed", _says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n")),
    ],
)
def test_each_kind_of_failure_is_counted_as_what_it_is(kind: str, answer: Answer) -> None:
    with server(whole, answer) as port:
        found = loaded(port)

    assert {name for name, count in found.failures.items() if count} == {kind}
    assert found.answers == 0
    assert sum(found.latency.counts.values()) >= found.failures[kind] - 4  # failures keep their time


def test_a_request_without_an_answer_fails_in_time_and_keeps_its_time() -> None:
    with server(whole, silent) as port:
        found = loaded(port, Pattern("keep-alive", None, "constant", 0, "constant", 0.0, 300), window_s=0.8)

    assert found.failures["timeout"] >= 4
    assert sum(found.latency.counts.values()) <= found.failures["timeout"]
    assert (found.latency.quantile(0.0) or 0) >= 290e6


def test_a_request_of_the_window_that_fails_after_it_is_a_failure() -> None:
    with server(whole, silent) as port:
        pattern = Pattern("keep-alive", 20.0, "constant", 0, "constant", 0.0, 1000)
        found = loaded(port, pattern, clients=16, window_s=0.5)

    assert found.answers == 0
    assert found.failures["timeout"] >= 4


def test_an_open_load_keeps_to_its_times_and_counts_from_them() -> None:
    """A server of 20 ms an answer and one client, asked 100 times a second: each waits for those before."""

    def slow(connection: socket.socket, number: int) -> bool:
        time.sleep(0.02)
        return whole(connection, number)

    with server(whole, slow) as port:
        pattern = Pattern("keep-alive", 100.0, "constant", 0, "constant", 0.0, 5000)
        found = loaded(port, pattern, clients=1, window_s=1.0)

    assert found.answers <= 50
    assert found.waited >= 40
    assert (found.intended.quantile(0.9) or 0) > 5 * (found.latency.quantile(0.9) or 0)
    assert found.started + found.unsent >= 95
    assert sum(found.intended.counts.values()) == found.started + found.unsent


def test_what_only_waits_when_the_window_closes_is_still_sent() -> None:
    """One client and answers of 50 ms, asked 18 times a second at random: some request always waits."""

    def slow(connection: socket.socket, number: int) -> bool:
        time.sleep(0.05)
        return whole(connection, number)

    with server(whole, slow) as port:
        pattern = Pattern("keep-alive", 18.0, "exponential", 0, "constant", 0.0, 5000)
        found = loaded(port, pattern, clients=1, window_s=4.0)

    assert found.waited > 10
    assert found.unsent == 0


def test_arrivals_at_random_are_as_many_as_asked_for() -> None:
    with server(whole) as port:
        pattern = Pattern("keep-alive", 400.0, "exponential", 0, "constant", 0.0, 5000)
        found = loaded(port, pattern, clients=32, window_s=2.0)

    assert 800 - 5 * 800**0.5 < found.started + found.unsent < 800 + 5 * 800**0.5


def test_clients_pause_between_answer_and_request() -> None:
    with server(whole) as port:
        pattern = Pattern("keep-alive", None, "constant", 50_000, "constant", 0.0, 5000)
        found = loaded(port, pattern, clients=2, window_s=1.0)

    assert 4 <= found.answers <= 42


@pytest.mark.parametrize("warmup_s", [0.02, 0.2])
def test_all_clients_begin_before_the_window(warmup_s: float) -> None:
    """What a client that begins late does not ask for would count as the server's slowness."""
    with server(whole, silent) as port:
        found = loaded(port, clients=50, warmup_s=warmup_s, window_s=0.3)

    assert found.started == 0


def test_a_server_that_is_not_there_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(SystemFailed, match="the server does not answer: Connection refused"):
        loaded(port)


def test_a_body_that_changes_is_not_checked_and_that_is_known() -> None:
    numbers = iter(range(1_000_000))

    def answer(connection: socket.socket, _: int) -> bool:
        body = b"%d" % next(numbers)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        return True

    with server(answer) as port:
        found = loaded(port)

    assert not found.is_body_fixed
    assert found.answers > 2
    assert found.verified == 0


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://192.0.2.1/", "is not this machine's loopback"),
        ("https://127.0.0.1/", "must be of the form http://HOST"),
        ("127.0.0.1", "must be of the form"),
        ("http://127.0.0.1:99999/", "is no URL"),
        ("http://user:word@127.0.0.1/", "neither a user nor"),
        ("http://127.0.0.1/a b", "printable ASCII"),
        ("http://127.0.0.1/\u00e9", "printable ASCII"),
    ],
)
def test_a_target_that_cannot_be_loaded_is_refused(url: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        client.target(url, is_allowed=False)


def test_the_program_itself_refuses_a_target_that_nobody_allowed() -> None:
    answer = subprocess.run(
        [built.client(), "address=192.0.2.1", "window_ms=1"], capture_output=True, text=True, timeout=10
    )

    assert answer.returncode == 2
    assert "is not loopback" in answer.stderr


@pytest.mark.parametrize(
    "word", ["clients=0", "clients=-1", "clients=1x", "port=65536", "nothing=1", "x", "think=often", "path=x"]
)
def test_a_wrong_word_is_quoted(word: str) -> None:
    answer = subprocess.run([built.client(), word], capture_output=True, text=True, timeout=10)

    assert answer.returncode == 2
    assert word.partition("=")[2] in answer.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--clients", "0"),
        ("--clients", "1,,2"),
        ("--clients", "9" * 400),
        ("--for", "1s"),
        ("--rate", "nan"),
        ("--rate", "-1"),
        ("--think", "5ms", "--rate", "5"),
        ("--arrivals", "exponential"),
        ("--verify", "2"),
        ("--pid", "0"),
        ("--trials", "0"),
        ("--threads", "1000"),
    ],
)
def test_a_wrong_option_is_a_sentence_that_names_it(steelyard: Run, words: tuple[str, ...]) -> None:
    answer = steelyard("load", "http://127.0.0.1:1/", *words)

    assert answer.returncode == 2
    assert words[0] in answer.stderr
    assert len(answer.stderr) < 400


def test_levels_and_costs_are_said(steelyard: Run) -> None:
    with server(whole) as port:
        words = ("load", f"http://127.0.0.1:{port}/", "--clients", "1,4", "--for", "4s", "--trials", "2")
        text = steelyard(*words)
        found = json.loads(steelyard(*words, "--format", "json", "--pid", str(os.getpid())).stdout)

    assert "requests a second" in text.stdout
    assert [one["clients"] for one in found["levels"]] == [1, 4]
    for level in found["levels"]:
        assert level["rate"]["value"] > 0
        assert list(level["latency_ns"]) == ["0.5", "0.9", "0.99", "0.999"]


def test_a_server_that_hangs_has_served_nothing(steelyard: Run) -> None:
    with server(whole, silent) as port:
        url = f"http://127.0.0.1:{port}/"
        answer = steelyard("load", url, "--for", "500ms", "--trials", "1", "--timeout", "300ms")
    with server(whole, silent) as port:
        words = ("--for", "25s", "--timeout", "300ms", "--saturation", "10ms")
        searched = steelyard("load", f"http://127.0.0.1:{port}/", *words)

    assert answer.returncode == searched.returncode == 1
    assert f"{url} answered no request (1 client)." in answer.stdout
    assert "requests failed: " in answer.stdout
    assert "the server does not answer: not in time" in searched.stderr


def test_what_was_measured_before_a_server_dies_is_printed(steelyard: Run) -> None:
    """It closes connections after the first trial's three, of which two fetch the body."""
    came = iter(range(1_000_000))

    def until_it_dies(connection: socket.socket, number: int) -> bool:
        return (number > 0 or next(came) < 3) and whole(connection, number)

    with server(until_it_dies) as port:
        answer = steelyard("load", f"http://127.0.0.1:{port}/", "--for", "1s", "--trials", "2")

    assert answer.returncode == 1
    assert "what was measured before that:" in answer.stderr
    assert "served at most" in answer.stdout


def test_histograms_add_up_and_give_quantiles() -> None:
    values = np.random.default_rng(1).exponential(1e6, 10_000)
    halves = [Histogram({int(value): 1 for value in part}) for part in (values[:5000], values[5000:])]

    together = halves[0] + halves[1]

    assert together.quantile(0.99) == pytest.approx(np.quantile(values, 0.99), rel=0.01)
    assert Histogram({}).quantile(0.5) is None


def test_costs_are_of_a_request() -> None:
    def trial(costs: dict[str, int]) -> Trial:
        empty = Histogram({})
        return Trial(
            8,
            10**9,
            100,
            1000,
            0,
            True,
            125,
            100,
            0,
            0,
            {"status": 0},
            1000,
            0.1,
            empty,
            empty,
            empty,
            costs,
        )

    (level,) = trials.levels(
        [trial({"cpu_user_ns": 250_000, "switches": 5}), trial({"cpu_user_ns": 250_000})]
    )

    assert {name: one.value for name, one in level.costs.items()} == {"cpu_user_ns": 2000.0}


def _begun(port: int) -> "subprocess.Popen[str]":
    """A load of three trials of 2 s, when its first is over."""
    words = ["load", f"http://127.0.0.1:{port}/", "--for", "6s", "--trials", "3"]
    running = subprocess.Popen(
        [COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    )
    assert running.stderr is not None
    while "trial 2 of 3" not in running.stderr.readline():
        assert running.poll() is None
    return running


def test_an_interrupted_load_says_what_it_has() -> None:
    with server(whole) as port:
        running = _begun(port)
        os.killpg(running.pid, signal.SIGINT)
        text, _ = running.communicate(timeout=30)

    assert running.returncode == 130
    assert "requests a second" in text


def test_a_killed_load_leaves_no_client_behind() -> None:
    """tests/bounds.py fails whatever leaves a process."""
    with server(whole) as port:
        running = _begun(port)
        running.kill()
        running.communicate(timeout=30)

    assert running.returncode == -signal.SIGKILL
