"""HTTP servers on loopback that answer as a test wants."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Answer = Callable[[socket.socket, int], bool]  # a connection and which answer on it; whether to go on


BODY = bytes(range(256)) * 40


def whole(connection: socket.socket, _: int) -> bool:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY))
    return True


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


class Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # it would hold each file back for 40 ms, until its head is acknowledged

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(directory: Path) -> Iterator[int]:
    handler = partial(Quiet, directory=str(directory))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
