"""The load generator's own limits, and servers whose answers do not end: who is blamed, and for what."""

import json
import socket
import subprocess
import time
from collections.abc import Callable

import pytest
from http_servers import server, whole
from installed_command import Run
from loads import CLOSED, answered, loaded, loaded_until
from patience import patience

from steelyard.errors import SystemFailed
from steelyard.programs import built
from steelyard.servers import running

pytestmark = pytest.mark.program

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
Answer = Callable[[socket.socket, int], bool]


def sending(first: bytes, again: bytes, pause_s: float) -> Answer:
    """An answer that begins and goes on for as long as somebody listens."""

    def answer(connection: socket.socket, _: int) -> bool:
        connection.sendall(first)
        while True:
            connection.sendall(again)
            time.sleep(pause_s)

    return answer


# What the server does, and what is said of it.
ENDLESS = {
    "a head byte by byte": (b"H", b"T", 0.05, "bytes of a head that did not end within 0.5 s"),
    "endless headers": (OK, b"X-Header: " + b"y" * 1000 + b"\r\n", 0, "sent a head of more than 16384 bytes"),
    "endless interim answers": (
        b"",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        0,
        "sent more than 16 interim answers",
    ),
    "slow interim answers": (
        b"",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        0.1,
        "interim answers (1xx) and no other",
    ),
    "endless trailers": (
        CHUNKED + b"1\r\nx\r\n0\r\n",
        b"X: " + b"y" * 1000 + b"\r\n",
        0,
        "sent trailers of more",
    ),
    "slow trailers": (CHUNKED + b"1\r\nx\r\n0\r\n", b"X: y\r\n", 0.05, "bytes of trailers that did not end"),
    "an endless extension": (CHUNKED + b"1;", b"x" * 1000, 0, "sent a chunk's first line of more than 16384"),
    "an endless body": (OK + b"\r\n", b"x" * 100, 0.01, "bytes of a body that did not end within 0.5 s"),
    "endless chunks": (CHUNKED, b"1\r\nx\r\n", 0.01, "bytes of a body that did not end within 0.5 s"),
    "a body that is too slow": (OK + b"Content-Length: 1000\r\n\r\n", b"x", 0.05, "of 1000 bytes of a body"),
    "a body that never begins": (OK + b"Content-Length: 9\r\n\r\n", b"", 0.05, "sent 0 of 9 bytes of a body"),
    "nothing": (b"", b"", 0.05, "it sent nothing within 0.5 s"),
}


def pattern(timeout_ms: int) -> object:
    return type(CLOSED)("keep-alive", None, "constant", 0, "constant", 1.0, timeout_ms)


@pytest.mark.parametrize("what", ENDLESS)
def test_what_the_first_fetch_does_not_get_to_the_end_of_is_said(what: str) -> None:
    first, again, pause_s, said = ENDLESS[what]
    with server(sending(first, again, pause_s)) as port, pytest.raises(SystemFailed) as caught:
        loaded(port, pattern(500))

    assert said in str(caught.value)


@pytest.mark.parametrize("what", ENDLESS)
def test_a_request_without_an_end_fails_and_the_load_goes_on(what: str) -> None:
    """After two fetches that are as they should be."""
    first, again, pause_s, _ = ENDLESS[what]
    with server(whole, sending(first, again, pause_s)) as port:
        found = answered(lambda: loaded(port, pattern(200), clients=2))

    assert found.answers == 0
    assert set(kind for kind, count in found.failures.items() if count) <= {"timeout", "malformed"}
    assert sum(found.failures.values()) > 0
    assert not found.own_limits
    if found.failures["malformed"]:
        assert found.malformed
        assert found.malformed.startswith("sent ")


def client_under(limit: str, port: int, *words: str) -> tuple[dict, str]:
    """The load's record of a client under a limit of the shell's, and its last words."""
    said = ["window_ms=600", "timeout_ms=1000", f"port={port}", *words]
    answer = subprocess.run(
        ["sh", "-c", f'{limit}; exec "$@"', "sh", str(built.client()), *said],
        capture_output=True,
        text=True,
        timeout=patience(60),
        check=False,
    )
    records = [json.loads(line) for line in answer.stdout.splitlines()]
    return next((one for one in records if one["record"] == "load"), {}), answer.stderr


def test_what_the_own_side_lacks_is_no_failure_of_the_server() -> None:
    """Users that keep no connection are not refused beforehand: some find no descriptor."""
    with server(whole) as port:
        load, said = client_under("ulimit -n 20", port, "clients=40", "connection=new")
    if not load:  # it may be refused beforehand, by name
        assert "open files" in said
        return

    assert load["own_limits"].keys() == {"EMFILE"}
    assert load["own_limits"]["EMFILE"] > 0
    assert set(load["failures"].values()) == {0}
    assert load["answers"] > 0


@pytest.mark.root
def test_ports_that_are_used_up_are_the_generators_own_limit() -> None:
    """In a network of the test's own, which gives out no more than four ports."""
    script = (
        "import socket, threading\n"
        "one = socket.create_server(('127.0.0.1', 80))\n"
        "def serve():\n"
        "    while True:\n"
        "        got = one.accept()[0]\n"
        "        threading.Thread(target=answer, args=(got,), daemon=True).start()\n"
        "def answer(got):\n"
        "    while got.recv(4096):\n"
        "        got.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')\n"
        "threading.Thread(target=serve, daemon=True).start()\n"
        "import subprocess, sys\n"
        "open('/proc/sys/net/ipv4/ip_local_port_range', 'w').write('50000 50007')\n"
        "sys.exit(subprocess.run(sys.argv[1:]).returncode)\n"
    )
    words = ["clients=30", "window_ms=600", "timeout_ms=1000", "port=80"]
    under = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    answer = subprocess.run(
        [*under, "python3", "-c", script, str(built.client()), *words],
        capture_output=True,
        text=True,
        timeout=patience(60),
        check=False,
    )
    if not answer.stdout:
        pytest.skip(f"no such network here: {answer.stderr.strip()[-100:]}")
    load = next(one for one in map(json.loads, answer.stdout.splitlines()) if one["record"] == "load")

    assert load["own_limits"].keys() <= {"EADDRNOTAVAIL", "EADDRINUSE"}
    assert sum(load["own_limits"].values()) > 0
    assert set(load["failures"].values()) == {0}
    assert load["answers"] > 0


def test_a_long_body_is_read_and_compared_to_its_end() -> None:
    """Its end comes within one burst, of which others' turns are between some reads."""
    body = bytes(range(256)) * 16384

    def long(connection: socket.socket, _: int) -> bool:
        connection.sendall(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return True

    with server(long) as port:
        trial = loaded_until(
            lambda one: one.answers > 0, lambda: loaded(port, pattern(5000), clients=2, window_s=0.2)
        )

    assert trial.verified == trial.answers > 0
    assert not any(trial.failures.values())


def test_each_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is ::1 first, where nobody listens, and then 127.0.0.1."""
    with server(whole) as port:
        places = [(socket.AF_INET6, ("::1", port, 0, 0)), (socket.AF_INET, ("127.0.0.1", port))]
        found = [(family, socket.SOCK_STREAM, 6, "", place) for family, place in places]
        real = socket.getaddrinfo
        monkeypatch.setattr(
            socket,
            "getaddrinfo",
            lambda host, *rest, **more: found if host == "both.example" else real(host, *rest, **more),
        )
        assert running.target(f"http://both.example:{port}/", is_allowed=False).address == "127.0.0.1"

    with socket.socket() as held:  # nobody else gets the port, and nobody listens there
        held.bind(("127.0.0.1", 0))
        free = held.getsockname()[1]
        places[:] = [(socket.AF_INET6, ("::1", free, 0, 0)), (socket.AF_INET, ("127.0.0.1", free))]
        found[:] = [(family, socket.SOCK_STREAM, 6, "", place) for family, place in places]
        with pytest.raises(SystemFailed) as caught:
            running.target(f"http://both.example:{free}/", is_allowed=False)
    assert "::1: " in str(caught.value)
    assert "127.0.0.1: Connection refused" in str(caught.value)


def test_an_ipv6_address_in_brackets_is_loaded(steelyard: Run) -> None:
    with socket.socket(socket.AF_INET6) as held:
        try:
            held.bind(("::1", 0))
        except OSError as error:
            pytest.skip(f"no IPv6 here: {error}")
        port = held.getsockname()[1]
        said = steelyard("load", f"http://[::1]:{port}/", "--for", "3s", "--trials", "1")
    assert "Connection refused" in said.stderr
