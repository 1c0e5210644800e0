"""A server that says what it is told to, whatever it is asked.

    false_server.py PORT END WORDS...

To each connection it sends the first of WORDS (hexadecimal, and how often: 41x3), and then the next one for
each question. In the end it closes the connection (END is "close") or says nothing more ("silence").
"""

import socket
import sys
import threading

END_OF_MAIL = b"\r\n.\r\n"
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
        while end == "silence" and connection.recv(65536):
            continue


listener = socket.create_server(("127.0.0.1", int(port)))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
