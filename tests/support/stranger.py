"""A stranger: another user of the machine, who finds ports that others opened.

It reads a port a line ("tcp 127.0.0.1 PORT", "udp ..."), opens silent connections to it, or sends it
datagrams of the sizes that a far end takes, and says at the end how often each went through. It says "ready"
first, so that nothing need last until Python has started.
"""

import socket
import sys

print("ready", flush=True)
kept: list[socket.socket] = []
sent = 0
for line in sys.stdin:
    kind, host, port = line.split()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for _ in range(3):
        one = socket.socket(family, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
        one.settimeout(1)
        try:
            one.connect((host, int(port)))
            if kind == "tcp":
                kept.append(one)
                continue
            for size in (1, 8, 64, 1472):
                one.send(bytes(size))
                sent += 1
        except OSError:
            continue
print(len(kept), sent, flush=True)
