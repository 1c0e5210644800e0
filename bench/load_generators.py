"""What a request costs the load generator and the server, and how many are served, beside wrk and h2load.

    python bench/load_generators.py [ROUNDS]

Starts nginx (one worker) on processor 0 and each client in turn on processor 1, in random order within a
round, a second each; prints medians of the ratios, ours over theirs, with their intervals. What a client
costs is the processor time of the whole command of wrk and h2load. Of ours it is that of the load alone
(`client_ns` of the record "load"): the rest of its command starts an agent and a trial, once.
Needs nginx, wrk and h2load (Debian: nghttp2-client).
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import machine
import numpy as np
import trials

from steelyard.statistics import signed_rank

PORT = 7399
PAGES = {"1 KB": 1000, "10 KB": 10_000, "100 KB": 100_000}
CONNECTIONS = (1, 16, 64, 256)

CONFIGURATION = """
daemon off; worker_processes 1; worker_cpu_affinity 0001; pid {place}/pid; error_log {place}/error;
events {{ worker_connections 1024; }}
http {{ access_log off; sendfile on; tcp_nopush off; keepalive_requests 100000000;
 client_body_temp_path {place}/a; proxy_temp_path {place}/b; fastcgi_temp_path {place}/c;
 uwsgi_temp_path {place}/d; scgi_temp_path {place}/e;
 server {{ listen 127.0.0.1:{port}; root {place}/pages; }} }}
"""


def spent(words: list[str]) -> tuple[float, str]:
    """The command's processor time in seconds, and what it printed."""
    before = os.times()
    answer = subprocess.run(words, capture_output=True, text=True, check=True)
    after = os.times()
    children = after.children_user + after.children_system - before.children_user - before.children_system
    return children, answer.stdout


def ours(page: int, connections: int) -> tuple[float, float, float]:
    """Processor seconds, the number of requests, and requests a second."""
    # Its clients begin one after the other, within 100 ms: before the window, or the rate looks lower.
    load = trials.load(url(page), f"clients={connections}", "warm_ms=100", "window_ms=1000")
    return load["client_ns"] / 1e9, load["requests"], trials.rate(load)


def url(page: int) -> str:
    return f"http://127.0.0.1:{PORT}/{page}"


def wrk(page: int, connections: int) -> tuple[float, float, float]:
    seconds, text = spent(["wrk", "-t1", f"-c{connections}", "-d1", url(page)])
    total = int(re.findall(r"(\d+) requests in", text)[0])
    return seconds, total, float(re.findall(r"Requests/sec:\s*([\d.]+)", text)[0])


def h2load(page: int, connections: int) -> tuple[float, float, float]:
    seconds, text = spent(["h2load", "--h1", "-t1", f"-c{connections}", "-D1", url(page)])
    total = int(re.findall(r"(\d+) done", text)[0])
    return seconds, total, float(re.findall(r"([\d.]+) req/s", text)[0])


GENERATORS = {"ours": ours, "wrk": wrk, "h2load": h2load}


def worker_ns(server: int) -> int:
    """The processor time that the server's only worker has used."""
    (worker,) = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    return int(Path(f"/proc/{worker}/schedstat").read_text().split()[0])


@contextmanager
def nginx() -> Iterator[int]:
    """Serves the pages on processor 0, and leaves processor 1 to what is started meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "pages").mkdir()
        for size in PAGES.values():
            (place / "pages" / str(size)).write_bytes(os.urandom(size))
        (place / "nginx.conf").write_text(CONFIGURATION.format(place=place, port=PORT))
        server = subprocess.Popen(
            ["nginx", "-p", folder, "-c", f"{place}/nginx.conf"], stderr=subprocess.DEVNULL
        )
        try:
            time.sleep(0.5)
            os.sched_setaffinity(0, {1})
            yield server.pid
        finally:
            server.terminate()
            server.wait()


def need(*programs: str) -> None:
    """Ends the program where one of those is missing."""
    missing = [name for name in programs if not shutil.which(name, path="/usr/sbin:" + os.defpath)]
    if missing:
        sys.exit(f"not installed: {', '.join(missing)}")


def main(rounds: int) -> None:
    need("nginx", "wrk", "h2load")
    print(machine.describe())
    with nginx() as server:
        compare(rounds, server)


def compare(rounds: int, server: int) -> None:
    print(f"{rounds} rounds; ours over theirs [95 % interval]; below 1 costs less, above 1 serves more")
    for name, page in PAGES.items():
        for connections in CONNECTIONS:
            found: dict[str, list[tuple[float, ...]]] = {who: [] for who in GENERATORS}
            for _ in range(rounds):
                for who in random.sample(list(GENERATORS), len(GENERATORS)):
                    before = worker_ns(server)
                    seconds, total, rate = GENERATORS[who](page, connections)
                    used = worker_ns(server) - before
                    found[who].append((seconds * 1e6 / total, used / 1000 / total, rate))
            own = np.array(found["ours"])
            client_us, server_us, _ = np.median(own, axis=0)
            medians = f"{client_us:.1f} µs a request, server {server_us:.1f} µs"
            print(f"{name:>7}, {connections:3} connections: {medians}")
            for who in ("wrk", "h2load"):
                ratios = np.log(own / np.array(found[who]))
                cost, server_cost, served = (shown(signed_rank.estimate(one, alpha=0.05)) for one in ratios.T)
                print(f"{'over ' + who:>24}: cost {cost}, server's cost {server_cost}, rate {served}")


def shown(one: signed_rank.Estimate) -> str:
    interval = (
        f" [{np.exp(one.low):.2f}, {np.exp(one.high):.2f}]"
        if one.low is not None and one.high is not None
        else ""
    )
    return f"{np.exp(one.value):.2f}{interval}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
