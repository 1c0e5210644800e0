"""The load generator's own limits, and servers whose answers do not end: who is blamed, and for what."""

import resource
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import loads
import pytest
import refused_calls
from http_servers import server, whole
from installed_command import Run
from loads import ONE_WINDOW, answered, heard, loaded, loaded_until
from monitor_runs import until
from processes import family
from server_trials import Agent

from steelyard.errors import SystemFailed
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


@pytest.mark.parametrize("what", ENDLESS)
def test_what_the_first_fetch_does_not_get_to_the_end_of_is_said(what: str) -> None:
    first, again, pause_s, said = ENDLESS[what]
    with server(sending(first, again, pause_s)) as port:
        found = loaded(port, "timeout_ms=500")

    assert found.status == "failed"
    assert said in (found.reason or "")


@pytest.mark.parametrize("what", ENDLESS)
def test_a_request_without_an_end_fails_and_the_load_goes_on(what: str) -> None:
    """After two fetches that are as they should be."""
    first, again, pause_s, _ = ENDLESS[what]
    with server(whole, sending(first, again, pause_s)) as port:
        found = answered(lambda: loaded(port, "timeout_ms=200", clients=2))

    assert found.answers == 0
    assert found.failures.keys() <= {"timeout", "malformed"}
    assert found.failures.total() > 0
    assert not found.own_limits
    if found.failures["malformed"]:
        assert found.malformed
        assert found.malformed.startswith("sent ")


SHORT = (*ONE_WINDOW, "window_ms=600", "timeout_ms=1000")


def test_too_few_open_files_are_said_beforehand(tmp_path: Path) -> None:
    with server(whole) as port, Agent(tmp_path, under=("prlimit", "--nofile=80:80")) as agent:
        found = heard(agent.perform(loads.running(port), "web_load", *SHORT, "clients=40"))

    assert (found.status, found.reason) == (
        "unsupported",
        "it needs 104 open files, and this system allows 80",
    )


@pytest.mark.parametrize("connection", [1, 2])
def test_what_the_own_side_lacks_is_no_failure_of_the_server(connection: int, tmp_path: Path) -> None:
    """While it loads, it may open no more than 20 files."""
    came: list[int] = []

    def once(to: socket.socket, number: int) -> bool:
        came.append(number)
        whole(to, number)
        return False

    settings = (*SHORT, "warm_ms=1500", "clients=40", f"connection={connection}")
    with server(once) as port, Agent(tmp_path) as agent:
        agent.begin(loads.running(port), "web_load", *settings)
        until(lambda: len(came) > 100, "the load")
        for process in family(agent.process.pid)[1:]:
            resource.prlimit(process, resource.RLIMIT_NOFILE, (20, 20))
        found = heard(agent.records())

    assert found.status == "ok"
    assert found.own_limits.keys() == {"EMFILE"}
    assert found.failures == {}
    assert found.answers > 0
    assert found.figures["failed"] == 0


@pytest.mark.parametrize("call", ["socket", "connect", "setsockopt", "epoll_ctl"])
def test_what_its_kernel_refuses_is_the_generators_own_limit(call: str, tmp_path: Path) -> None:
    refused_calls.skip_unless_known()
    refusing = (sys.executable, refused_calls.__file__, "ENOSYS", call)
    with server(whole) as port, Agent(tmp_path, under=refusing) as agent:
        found = heard(agent.perform(loads.running(port), "web_load", *SHORT))

    assert found.status == "failed"
    assert (found.reason or "").startswith("the load generator's own limit: ")


@pytest.mark.root
def test_ports_that_are_used_up_are_the_generators_own_limit(tmp_path: Path) -> None:
    """In a network of the test's own, which gives out no more than eight ports."""
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
    network = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
    with Agent(tmp_path, under=(*network, "python3", "-c", script)) as agent:
        try:
            records = agent.perform(loads.running(80), "web_load", *SHORT, "clients=30")
        except BrokenPipeError:
            records = []
    if not records:
        pytest.skip("no network of its own can be made here")
    found = heard(records)

    assert found.own_limits.keys() <= {"EADDRNOTAVAIL", "EADDRINUSE"}
    assert sum(found.own_limits.values()) > 0
    assert found.failures == {}
    assert found.answers > 0


def test_a_long_body_is_read_and_compared_to_its_end() -> None:
    """Its end comes within one burst, of which others' turns are between some reads."""
    body = bytes(range(256)) * 16384

    def long(connection: socket.socket, _: int) -> bool:
        connection.sendall(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return True

    with server(long) as port:
        found = loaded_until(
            lambda one: one.status == "ok",
            lambda: loaded(port, "timeout_ms=5000", clients=2, window_s=0.2),
        )

    assert found.verified == found.answers > 0
    assert found.failures == {}


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
    assert said.returncode == 1
    assert said.stderr.endswith("the server does not answer: Connection refused\n")
