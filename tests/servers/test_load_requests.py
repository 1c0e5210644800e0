"""What a request holds: method, headers and body, as the server gets them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from installed_command import Run
from loads import loaded, loaded_until, running

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


def asked(*lines: str) -> Seen:
    """What the server got by a description with these lines, each of which was answered rightly. Beside other
    tests it may answer nothing within a window."""
    with recorder() as (port, seen):
        words = running(port, *lines)
        found = loaded_until(
            lambda one: one.status == "ok",
            lambda: loaded(port, clients=2, warmup_s=0.02, window_s=0.1, described=words),
        )
    assert found.answers > 0
    assert found.failures == {}
    assert len(seen) >= found.requests
    return seen


@pytest.mark.program
def test_data_are_posted_as_a_form_unless_it_is_said_otherwise(tmp_path: Path) -> None:
    for method, headers, body in asked("data", "\ta=1&b=2"):
        assert (method, body) == ("POST", b"a=1&b=2")
        assert headers["Content-Type"] == "application/x-www-form-urlencoded"

    long = bytes(range(256)) * 4096
    (tmp_path / "long").write_bytes(long)
    own = ("Content-Type: text/x", "host: other", "X-A: b: c")
    for method, headers, body in asked(
        "method PUT", *(f"header {one}" for one in own), f"data_file {tmp_path / 'long'}"
    ):
        assert (method, body == long) == ("PUT", True)
        assert (headers["Content-Type"], headers["host"], headers["X-A"]) == ("text/x", "other", "b: c")
        assert "Host" not in headers


@pytest.mark.program
def test_an_answer_to_head_has_a_length_and_no_body() -> None:
    assert {method for method, _, _ in asked("method HEAD")} == {"HEAD"}


TEXT = '\none "two" \\three Ünï\n\ttab = [[server]]\n\n'


@pytest.mark.parametrize("is_file", [False, True])
def test_the_command_s_request_comes_to_the_server_to_the_byte(
    is_file: bool, steelyard: Run, tmp_path: Path
) -> None:
    """Though it is in a study between."""
    body = bytes(range(256)) if is_file else TEXT.encode()
    (tmp_path / 'a "file"').write_bytes(body)
    data = f'@{tmp_path}/a "file"' if is_file else body.decode()
    with recorder() as (port, seen):
        done = steelyard(
            "load", f"http://127.0.0.1:{port}/a?b=%22c", "--for", "2s", "--trials", "1", "--verify", "1",
            "--method", "PUT", "--header", 'X-A: "b" \\c', "--header", "content-type: text/x", "--data", data,
        )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert len(seen) > 2
    for method, headers, got in seen:
        assert (method, got) == ("PUT", body)
        assert (headers["X-A"], headers["content-type"]) == ('"b" \\c', "text/x")
        assert headers["Host"] == f"127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--header", "no colon"], "a header such as 'Accept: text/html', in one line"),
        (["--header", "A: b\r\nC: d"], "a header such as"),
        (["--header", "A: " + "b" * 8000], "in one line of at most 4,000 characters"),
        (["--header", "A: " + "b" * 3990, "--header", "B: " + "b" * 3990], "more than 6,000 bytes"),
        (["--method", "GET /"], "an HTTP method, such as POST"),
        (["--data", "@/nowhere/at/all"], "No such file or directory"),
        (["--data", "@/"], "name a file of at most 16 MiB"),
        (["--data", "x" * 4001], "put more than 4,000 of them, or what is not printable, into a file"),
        (["--data", "a\0b"], "what is not printable, into a file"),
        (["--model", "surge", "--data", "x"], "leave --method and --data out"),
    ],
)
def test_what_is_no_request_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["load", "http://127.0.0.1:1/", *words])

    assert status == 2
    assert said in capsys.readouterr().err
