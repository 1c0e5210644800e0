"""What a request holds: method, headers and body, as the server gets them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from loads import CLOSED, loaded
from steelyard.load.model import Request

from steelyard.cli import main

Seen = list[tuple[str, dict[str, str], bytes]]


@contextmanager
def recorder() -> Iterator[tuple[int, Seen]]:
    """A server that keeps each request, and answers with 3 bytes, or with what would be their length."""
    seen: Seen = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            seen.append((self.command, dict(self.headers), body))
            answer = b"" if self.command == "HEAD" else b"abc"
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + answer)

        do_GET = do_HEAD = do_POST = do_PUT = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1], seen
        finally:
            server.shutdown()


def asked(request: Request) -> Seen:
    """What the server got, each of which was answered rightly."""
    with recorder() as (port, seen):
        for _ in range(20):  # the server is Python: beside other tests it may answer nothing for so long
            seen.clear()
            trial = loaded(port, replace(CLOSED, request=request), clients=2, warmup_s=0.02, window_s=0.1)
            if trial.answers:
                break
    assert trial.answers > 0
    assert not any(trial.failures.values())
    assert len(seen) >= trial.requests
    return seen


@pytest.mark.program
def test_data_are_posted_as_a_form_unless_it_is_said_otherwise(tmp_path: Path) -> None:
    for method, headers, body in asked(Request(data="a=1&b=2")):
        assert (method, body) == ("POST", b"a=1&b=2")
        assert headers["Content-Type"] == "application/x-www-form-urlencoded"

    long = bytes(range(256)) * 4096
    (tmp_path / "long").write_bytes(long)
    request = Request("PUT", ("Content-Type: text/x", "host: other", "X-A: b: c"), f"@{tmp_path / 'long'}")
    for method, headers, body in asked(request):
        assert (method, body == long) == ("PUT", True)
        assert (headers["Content-Type"], headers["host"], headers["X-A"]) == ("text/x", "other", "b: c")
        assert "Host" not in headers


@pytest.mark.program
def test_an_answer_to_head_has_a_length_and_no_body() -> None:
    assert {method for method, _, _ in asked(Request("HEAD"))} == {"HEAD"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--header", "no colon"], "a header such as 'Accept: text/html', in one line"),
        (["--header", "A: b\r\nC: d"], "a header such as"),
        (["--header", "A: " + "b" * 8000], "more than 7,000 bytes"),
        (["--method", "GET /"], "an HTTP method, such as POST"),
        (["--data", "@/nowhere/at/all"], "No such file or directory"),
        (["--data", "@/"], "name a file of at most 16 MiB"),
        (["--data", "x" * 100_001], "put more than 100,000 bytes into a file"),
        (["--model", "surge", "--data", "x"], "leave --method and --data out"),
    ],
)
def test_what_is_no_request_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["load", "http://127.0.0.1:1/", *words])

    assert status == 2
    assert said in capsys.readouterr().err
