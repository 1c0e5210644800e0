"""Web servers that run already: what a study says of them, and that a trial loads them."""

import os
import socket
import time
from itertools import count
from pathlib import Path

import pytest
from http_servers import server, whole
from server_trials import Agent, failure, figures

from steelyard.errors import UsageError
from steelyard.servers import description

SHORT = ("clients=2", "batches=2", "operations=20", "warmup_ns=0")
FULL = """
title = "mine"
url = "http://127.0.0.1:8080/orders"
method = "PUT"
headers = ["Content-Type: text/x", "X-A: b"]
data = "one\\ntwo"
process = 4711
"""


def test_a_url_is_a_server() -> None:
    assert description.read("http://[::1]:8080/a?b").lines().split("\n") == [
        "name http://[::1]:8080/a?b",
        "running ::1",
        "port 8080",
        "host [::1]:8080",
        "path /a?b",
    ]


def test_a_file_says_what_a_running_server_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(FULL)

    assert description.read(str(file)).lines().split("\n") == [
        "name mine",
        "running 127.0.0.1",
        "port 8080",
        "host 127.0.0.1:8080",
        "path /orders",
        "method PUT",
        "header Content-Type: text/x",
        "header X-A: b",
        "data",
        "\tone",
        "\ttwo",
        "pid 4711",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('url = "http://192.0.2.1/"', "which is not this machine's loopback"),
        ('url = "ftp://127.0.0.1/"', "must be of the form http://HOST"),
        ('url = "http://127.0.0.1/"\ncommand = ["/bin/x"]', "command"),
        ('url = "http://127.0.0.1/"\nmethod = "A B"', "an HTTP method, such as POST"),
        ('url = "http://127.0.0.1/"\nheaders = ["A: b", "no colon"]', "a header such as"),
        ('url = "http://127.0.0.1/"\nprocess = 0', "process is 0, but must be a whole number"),
    ],
)
def test_what_is_wrong_with_one_is_said(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f'title = "x"\n{text}\n')

    with pytest.raises(UsageError) as caught:
        description.read(str(file)).lines()
    assert said in str(caught.value)


def test_another_host_is_loaded_where_that_is_allowed(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('title = "x"\nurl = "http://192.0.2.1/"\nallow_remote = true\n')

    assert "allow 192.0.2.1" in description.read(str(file)).lines().split("\n")


@pytest.mark.program
def test_a_running_server_is_loaded_and_its_process_watched(tmp_path: Path) -> None:
    with server(whole) as port, Agent(tmp_path) as agent:
        lines = description.read(f"http://127.0.0.1:{port}/").lines()
        unwatched = figures(agent.perform(lines, "web_requests", *SHORT))
        watched = figures(agent.perform(f"{lines}\npid {os.getpid()}", "web_requests", *SHORT))

    assert unwatched["latency_50"] <= unwatched["latency_99"]
    assert "server" not in unwatched
    assert watched["server"] > 0


@pytest.mark.program
@pytest.mark.parametrize("workload", ["web_requests", "web_saturation"])
def test_a_trial_says_that_its_server_closes_connections(workload: str, tmp_path: Path) -> None:
    def closing(connection: socket.socket, number: int) -> bool:
        whole(connection, number)
        return False

    search = (
        ("steps=2", "step_ms=1000", "limit_us=600000000", "share_permille=1")
        if workload == "web_saturation"
        else ()
    )
    with server(closing) as port, Agent(tmp_path) as agent:
        lines = description.read(f"http://127.0.0.1:{port}/").lines()
        found = figures(agent.perform(lines, workload, *(search or SHORT), "clients=2"))

    assert found["connections"] >= 1000
    assert found["connecting"] > 0


@pytest.mark.program
def test_a_trial_says_that_its_server_stood_still(tmp_path: Path) -> None:
    """For a fifth of a second, twice in 40 requests; after the two that fetch the body and 200 before."""
    numbers = count()

    def standing(connection: socket.socket, number: int) -> bool:
        if (done := next(numbers)) >= 202 and done % 20 == 10:
            time.sleep(0.2)
        return whole(connection, number)

    with server(whole, standing) as port, Agent(tmp_path) as agent:
        lines = description.read(f"http://127.0.0.1:{port}/").lines()
        words = ("clients=1", "batches=2", "operations=20", "warmup_ns=0")
        for _ in range(20):  # a host may take the load generator away for most of a pause: that is not in it
            found = figures(agent.perform(lines, "web_requests", *words))
            numbers = count()
            if found["longest_wait"] > 150_000_000:
                break

    assert found["longest_wait"] > 150_000_000
    assert 500 < found["silent"] <= 1000


@pytest.mark.program
def test_what_a_running_server_cannot_serve_is_said(tmp_path: Path) -> None:
    def moved(connection: socket.socket, _: int) -> bool:
        connection.sendall(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n")
        return True

    with server(moved) as port:
        lines = description.read(f"http://127.0.0.1:{port}/").lines()
        assert "status 302, a redirect" in failure(tmp_path, lines, "web_requests")
        assert "surge/digest: the server answers with status 302" in failure(tmp_path, lines, "web_users")
        assert "starts its server by itself" in failure(tmp_path, lines, "mail_messages")
    elsewhere = lines.replace("running 127.0.0.1", "running 192.0.2.1")
    assert "a load on another host must be allowed" in failure(tmp_path, elsewhere, "web_requests")
