"""What the monitor costs Apache (prefork) saturated over loopback with pages of 1 KB, every child followed.

    python bench/watch_apache.py [--blocks 40] [--seconds 2] [--peers 0]

A server of its own: a fixed number of children, keep-alive, a page of 1,024 bytes, on a free port of
loopback; the load is wrk's, or ab's where there is no wrk. A block is one visit of every condition in
random order: the monitor is attached to the server's first process and follows all others, the load runs,
the monitor is taken away. Shown: the throughput unwatched / watched is paired within a block; the Hodges-
Lehmann estimate of the log-ratios with the exact interval of the signed-rank test (95 %), as loss of
throughput. "unwatched again" is the same compared with itself: what the interval is when nothing differs.
"""

import argparse
import math
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import machine
import monitors
import numpy as np

from steelyard.statistics import signed_rank

CHILDREN, CONNECTIONS, PAGE = 8, 8, 1024
MODULES = Path("/usr/lib/apache2/modules")
CONDITIONS: dict[str, monitors.Condition] = {
    "unwatched": monitors.unwatched,
    "unwatched again": monitors.unwatched,
    "empty, exit": monitors.empty("exit"),
    **{
        f"watch {detail}": monitors.steelyard(detail)
        for detail in ("life", "budget", "profile", "calls", "latency")
    },
}


@contextmanager
def apache() -> Iterator[tuple[int, str]]:
    """A server that answers: its first process, and a page's address."""
    with tempfile.TemporaryDirectory(prefix="steelyard-apache-") as name, socket.socket() as free:
        directory = Path(name)
        directory.chmod(0o755)
        (directory / "page").write_bytes(b"x" * PAGE)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        (directory / "conf").write_text(_configuration(directory, port))
        command = ["apache2", "-f", directory / "conf", "-DFOREGROUND"]
        server = subprocess.Popen(command, start_new_session=True)
        try:
            _answers(port, server)
            yield server.pid, f"http://127.0.0.1:{port}/page"
        finally:
            server.terminate()
            server.wait()


def _configuration(directory: Path, port: int) -> str:
    user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
    return (
        f"LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so\n"
        f"LoadModule authz_core_module {MODULES}/mod_authz_core.so\n"
        f"ServerRoot {directory}\nServerName 127.0.0.1\nListen 127.0.0.1:{port}\nPidFile {directory}/pid\n"
        f"DefaultRuntimeDir {directory}\nErrorLog {directory}/errors\nDocumentRoot {directory}\n{user}"
        f"StartServers {CHILDREN}\nMinSpareServers {CHILDREN}\nMaxSpareServers {CHILDREN}\n"
        f"ServerLimit {CHILDREN}\nMaxRequestWorkers {CHILDREN}\nMaxConnectionsPerChild 0\n"
        "KeepAlive On\nMaxKeepAliveRequests 0\nKeepAliveTimeout 60\n"
    )


def _answers(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(500):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if server.poll() is not None:
            break
        time.sleep(0.02)
    raise SystemExit("apache2 does not answer")


def throughput(address: str, seconds: float) -> float:
    """Requests a second; every one must have been answered in full."""
    if shutil.which("wrk"):
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:g}s", address]
        told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        bad = re.search(r"Non-2xx|Socket errors", told)
        rate = re.search(r"Requests/sec:\s*([\d.]+)", told)
    else:
        command = ["ab", "-q", "-k", "-c", str(CONNECTIONS), "-t", f"{seconds:g}", "-n", "100000000", address]
        told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        bad = re.search(r"Non-2xx|Failed requests: +[1-9]", told)
        rate = re.search(r"Requests per second:\s*([\d.]+)", told)
    if bad or not rate:
        raise SystemExit(f"the load went wrong:\n{told}")
    return float(rate[1])


def lines(found: dict[str, dict[int, float]]) -> Iterator[str]:
    base = found["unwatched"]
    yield f"{'condition':18} {'requests/s':>11} {'loss':>8} {'interval (95 %)':>20} blocks"
    for name, rates in found.items():
        shared = sorted(set(rates) & set(base))
        median = np.median(list(rates.values())) if rates else math.nan
        if name == "unwatched" or not shared:
            yield f"{name:18} {median:11.0f}" + ("" if rates else " not visited")
            continue
        logs = np.array([math.log(rates[block] / base[block]) for block in shared])
        one = signed_rank.estimate(logs, alpha=0.05)
        reach = "too few blocks"
        if one.low is not None and one.high is not None:
            reach = f"[{-math.expm1(one.high):+.2%}, {-math.expm1(one.low):+.2%}]"
        yield f"{name:18} {median:11.0f} {-math.expm1(one.value):+8.2%} {reach:>20} {len(shared)}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=2.0, help="of load in a visit; wrk takes whole ones")
    parser.add_argument(
        "--peers", type=int, default=0, help="blocks in which strace and perf trace are visited"
    )
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(machine.describe(), flush=True)
    order = random.Random(arguments.seed)
    peers = (
        {name: monitors.PEERS[name] for name in ("strace -f -c", "perf trace -s")} if arguments.peers else {}
    )
    everything = {**CONDITIONS, **peers}
    found: dict[str, dict[int, float]] = {name: {} for name in everything}
    with apache() as (pid, address):
        throughput(address, max(1, arguments.seconds))
        for block in range(arguments.blocks):
            names = [name for name in everything if name not in peers or block < arguments.peers]
            for name in order.sample(names, len(names)):
                # A peer follows only whom it is given, or who is born later.
                pids = [pid, *_children(pid)] if name in peers else [pid]
                try:
                    with everything[name](pids):
                        found[name][block] = throughput(address, arguments.seconds)
                except (RuntimeError, FileNotFoundError) as error:
                    print(f"{name}: {error}", flush=True)
    print("\n".join(lines(found)))


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


if __name__ == "__main__":
    main()
