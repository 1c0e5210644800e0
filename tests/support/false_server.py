"""A server that says what it is told to, whatever it is asked.

    false_server.py PORT END WORDS...

To each connection it sends the first of WORDS (hexadecimal, and how often: 41x3), and then the next one for
each question. In the end it closes the connection (END is "close"), says nothing more ("silence"), or answers
one more question without end: "drip:41" with these bytes one by one, "flood:41" with as many as are read.
"""

import socket
import sys
import threading
import time
from contextlib import suppress

END_OF_MAIL = b"\r\n.\r\n"
PAUSE_S = 0.05  # much shorter than any limit of a client's
port, end, *words = sys.argv[1:]


def question(connection: socket.socket, *, is_mail: bool) -> bytes:
    """What the client sends at once; or, as mail, until its end."""
    heard = connection.recv(65536)
    while heard and is_mail and not heard.endswith(END_OF_MAIL):
        more = connection.recv(65536)
        if not more:
            break
        heard += more
    return heard


def serve(connection: socket.socket) -> None:
    with connection:
        for number, word in enumerate(words):
            if number and not question(connection, is_mail=words[number - 1].startswith(b"354".hex())):
                return
            bytes_once, _, times = word.partition("x")
            connection.sendall(bytes.fromhex(bytes_once) * int(times or 1))
        how, _, bytes_once = end.partition(":")
        if bytes_once and (not words or question(connection, is_mail=False)):
            answer_for_ever(connection, bytes.fromhex(bytes_once), is_slow=how == "drip")
        while end == "silence" and connection.recv(65536):
            continue


def answer_for_ever(connection: socket.socket, bytes_once: bytes, *, is_slow: bool) -> None:
    with suppress(OSError):  # whoever asked has gone
        while not is_slow:
            connection.sendall(bytes_once * 1000)
        while True:
            for byte in bytes_once:
                connection.sendall(bytes([byte]))
                time.sleep(PAUSE_S)


listener = socket.create_server(("127.0.0.1", int(port)))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
