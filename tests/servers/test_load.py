"""The load generator: what it counts, what it refuses, and what it says of a server."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from http_servers import BODY, Answer, server, whole
from installed_command import COMMAND, Run
from loads import CALM, CLOSED, loaded
from patience import patience
from steelyard.load import client, trials
from steelyard.load.model import LatencyHistogram, LoadTrial, Pattern

from steelyard import cli
from steelyard.errors import SystemFailed
from steelyard.programs import built
from steelyard.servers.running import Target

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
    """One client and answers of 50 ms, asked 18 times a second at random: some request always waits. On a
    machine that stood still more may wait than can be sent in the time that is left."""

    def slow(connection: socket.socket, number: int) -> bool:
        time.sleep(0.05)
        return whole(connection, number)

    def unsent() -> int:
        with server(whole, slow) as port:
            pattern = Pattern("keep-alive", 18.0, "exponential", 0, "constant", 0.0, 5000)
            found = loaded(port, pattern, clients=1, window_s=4.0)
        assert found.waited > 10
        return found.unsent

    assert 0 in (unsent() for _ in range(3))


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
    ("word", "status", "sentence"),
    [
        ("address=192.0.2.1", 2, "is not loopback"),
        ("address=::ffff:192.0.2.1", 2, "is not loopback"),
        ("address=0.0.0.0", 2, "is not loopback"),
        ("address=fe80::1%lo", 2, "is not loopback"),
        ("address=fe80::1%nowhere", 2, "a zone that is no network interface here"),
        ("address=127.1", 2, "is no IPv4 or IPv6 address"),
        ("address=::ffff:127.0.0.1", 1, "the server does not answer"),
        ("address=::1", 1, "the load generator's own limit|the server does not answer"),
    ],
)
def test_the_program_itself_refuses_a_target_that_nobody_allowed(
    word: str, status: int, sentence: str
) -> None:
    answer = subprocess.run(
        [built.client(), word, "port=1", "window_ms=1"], capture_output=True, text=True, timeout=patience(10)
    )

    assert answer.returncode == status
    assert re.search(sentence, answer.stderr)


@pytest.mark.parametrize(
    "word", ["clients=0", "clients=-1", "clients=1x", "port=65536", "nothing=1", "x", "think=often", "path=x"]
)
def test_a_wrong_word_is_quoted(word: str) -> None:
    answer = subprocess.run([built.client(), word], capture_output=True, text=True, timeout=patience(60))

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
        # Of two trials, or where the machine stood still of the one for which there was time.
        assert level["waits"]["connections"] in (level["clients"], 2 * level["clients"])
        assert level["waits"]["longest_ns"] > 0


def test_a_server_that_hangs_has_served_nothing(steelyard: Run) -> None:
    with server(whole, silent) as port:
        url = f"http://127.0.0.1:{port}/"
        answer = steelyard("load", url, "--for", "2s", "--trials", "1", "--timeout", "300ms")
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
        answer = steelyard("load", f"http://127.0.0.1:{port}/", "--for", "8s", "--trials", "2")

    assert answer.returncode == 1
    assert "what was measured before that:" in answer.stderr
    assert "served at most" in answer.stdout


def test_histograms_add_up_and_give_quantiles() -> None:
    values = np.random.default_rng(1).exponential(1e6, 10_000)
    halves = [LatencyHistogram({int(value): 1 for value in part}) for part in (values[:5000], values[5000:])]

    together = halves[0] + halves[1]

    assert together.quantile(0.99) == pytest.approx(np.quantile(values, 0.99), rel=0.01)
    assert LatencyHistogram({}).quantile(0.5) is None


def test_costs_are_of_a_request() -> None:
    def trial(costs: dict[str, int]) -> LoadTrial:
        empty = LatencyHistogram({})
        return LoadTrial(
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
            CALM,
            costs,
        )

    (level,) = trials.levels(
        [trial({"cpu_user_ns": 250_000, "switches": 5}), trial({"cpu_user_ns": 250_000})], CLOSED
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
        text, _ = running.communicate(timeout=patience(60))

    assert running.returncode == 130
    assert "requests a second" in text


def test_a_killed_load_leaves_no_client_behind() -> None:
    """tests/support/bounds.py fails whatever leaves a process."""
    with server(whole) as port:
        running = _begun(port)
        running.kill()
        running.communicate(timeout=patience(60))

    assert running.returncode == -signal.SIGKILL


# What the load generator's process says, in place of records that are right.
SAYS = {
    "load": {
        **dict.fromkeys(("answers", "bytes", "verified", "requests", "started", "waited", "unsent"), 1),
        "window_ns": 10**9, "body_fixed": True, "failures": {}, "own_limits": {}, "malformed": None,
        "user_ns": 1, "system_ns": 1, "busy_most": 0.5, "elapsed_ns": 10**9,
        **dict.fromkeys(("connections", "connecting_ns", "closed", "resent", "longest_ns", "stalled_ns"), 1),
    },
    **{
        name: {"of": name, "values_ns": [1], "counts": [1]}
        for name in ("latency", "intended", "lag", "silences")
    },
}  # fmt: skip


def saying(directory: Path, **changed: object) -> Path:
    """A load generator that says that, each record with what is changed in it; None: without the record."""
    lines = [
        json.dumps({"record": "load" if name == "load" else "histogram", **fields, **changed.get(name, {})})
        for name, fields in SAYS.items()
        if changed.get(name, {}) is not None
    ]
    if "more" in changed:
        lines.append(str(changed["more"]))
    (directory / "said").write_text("\n".join(lines) + "\n")
    program = directory / "steelyard-client"
    program.write_text(f"#!/bin/sh\ncat {directory}/said\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"load": {"answers": -1}}, "record 1 cannot be read: answers is -1"),
        ({"load": {"window_ns": 0}}, "window_ns is 0"),
        ({"load": {"busy_most": "0.5"}}, "busy_most is '0.5'"),
        ({"load": {"failures": {str(number): 1 for number in range(1000)}}}, "failures is "),
        ({"load": {"bytes": 1 << 80}}, "bytes is "),
        ({"load": None}, "ended without its record 'load'"),
        ({"lag": None}, "ended without its record 'lag'"),
        ({"lag": {"counts": [1, 2]}}, "'lag' cannot be read: it has 1 values and 2 counts"),
        ({"lag": {"counts": list(range(50_000))}}, "counts is "),
        ({"lag": {"of": []}}, "of is "),
        ({"more": "[" * 100_000}, "cut short, or nested more than 8 deep"),
        ({"more": "7"}, "no object"),
        ({"more": '{"record":"load","answers":' + "9" * 5000 + "}"}, "a number of 5,000 digits"),
    ],
)
def test_what_the_load_generator_cannot_have_seen_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], told: str
) -> None:
    monkeypatch.setattr(built, "client", lambda: saying(tmp_path, **changed))
    server = Target("http://x/", "127.0.0.1", 80, "x", "/", False)

    with pytest.raises(SystemFailed, match=f"the load generator.*{re.escape(told)}"):
        client.run(server, CLOSED, clients=1, threads=1, warmup_s=0, window_s=1, seed=1)


def test_what_the_load_generator_says_rightly_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built, "client", lambda: saying(tmp_path))
    server = Target("http://x/", "127.0.0.1", 80, "x", "/", False)

    trial = client.run(server, CLOSED, clients=1, threads=1, warmup_s=0, window_s=1, seed=1)

    assert (trial.answers, trial.latency.counts) == (1, {1: 1})


def test_a_load_that_fails_late_prints_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The load generator answers twice, and then fails."""
    program = saying(tmp_path)
    told = program.read_text()
    once, rest = told.split("\n", 1)
    tries = f'echo >>"{tmp_path}/tries"; [ "$(wc -l <"{tmp_path}/tries")" -le 2 ]'
    program.write_text(f"{once}\n{tries} || {{ echo 'steelyard-client: it broke' >&2; exit 1; }}\n{rest}")
    monkeypatch.setattr(built, "client", lambda: program)
    words = ["load", "http://127.0.0.1:9/", "--for", "60s", "--trials", "3", "--format", "json"]

    status = cli.main(words)

    printed, said = capsys.readouterr()
    assert status == 1
    assert "it broke; what was measured before that:" in said
    (level,) = json.loads(printed)["levels"]
    assert level["trials"] == 2


def test_a_load_that_fails_at_once_says_why_and_prints_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = saying(tmp_path)
    program.write_text("#!/bin/sh\necho 'steelyard-client: it broke' >&2; exit 1\n")
    monkeypatch.setattr(built, "client", lambda: program)

    status = cli.main(["load", "http://127.0.0.1:9/", "--for", "60s", "--trials", "3"])

    printed, said = capsys.readouterr()
    assert (status, printed) == (1, "")
    assert "'http://127.0.0.1:9/': it broke" in said
    assert "what was measured" not in said
