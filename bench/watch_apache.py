"""What the monitor costs Apache (prefork) saturated over loopback with pages of 1 KB, every child followed.

    python bench/watch_apache.py [--blocks 40] [--seconds 0.2] [--peers 0] [--only NAME ...]

A server of its own: a fixed number of children, keep-alive, a page of 1,024 bytes, on a free port of
loopback, under one load without a pause (load.c). A block is one visit of every condition in random order:
the monitor is attached to the server's first process and follows all others, answers are counted for so
many seconds, the monitor is taken away. The shorter a visit, the less the machine has changed between two of
them. Shown: the throughput unwatched / watched is paired within a block; the Hodges-Lehmann estimate of the
log-ratios with the interval of the signed-rank test (95 %), as loss of throughput. "unwatched again" is the
same compared with itself: what the interval is when nothing differs.

On a virtual machine the host takes processors away, which scatters more than any monitor costs. Bound to one
processor (taskset -c 1 python bench/watch_apache.py), which server and load then share and use up, throughput
is also what both get done in a second of the processor time that they had, by the scheduler's clock, which
stands while the processor is away. Where they are so bound, this is shown, too. The hooks are in that time;
the monitor's own process is not, but takes its part of the clock's.
"""

import argparse
import math
import mmap
import os
import random
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import machine
import monitors
import numpy as np

from steelyard.statistics import signed_rank

CHILDREN, CONNECTIONS, PAGE = 8, 8, 1024
SETTLES_S = 0.4  # the beginning of one watch and the end of another are felt for a while
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
def apache() -> Iterator[tuple[int, int]]:
    """A server that answers: its first process, and its port."""
    with tempfile.TemporaryDirectory(prefix="steelyard-apache-") as name, socket.socket() as free:
        directory = Path(name)
        directory.chmod(0o755)
        (directory / "page").write_bytes(b"x" * PAGE)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        (directory / "conf").write_text(_configuration(directory, port))
        command = ["apache2", "-f", str(directory / "conf"), "-DFOREGROUND"]
        server = subprocess.Popen(command, start_new_session=True)
        try:
            _answers(port, server)
            yield server.pid, port
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


@contextmanager
def load(port: int) -> Iterator[tuple[int, Callable[[], int]]]:
    """A load that has begun: its process, and what says how many answers it has got so far."""
    program = monitors.build("load")
    with tempfile.NamedTemporaryFile(prefix="steelyard-load-") as file:
        file.truncate(mmap.PAGESIZE)
        command = [str(program), file.name, str(port), "/page", str(CONNECTIONS)]
        client = subprocess.Popen(command, stdin=subprocess.PIPE)
        with mmap.mmap(file.fileno(), mmap.PAGESIZE) as shared:

            def answers() -> int:
                if client.poll() is not None:
                    raise SystemExit("the load went wrong")
                return int.from_bytes(shared[:8], "little")

            try:
                yield client.pid, answers
            finally:
                client.communicate()


def had_ns(pids: list[int]) -> int:
    """The processor time that they have had: exact of those that are not running."""
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids)


def throughput(answers: Callable[[], int], pids: list[int], seconds: float) -> tuple[float, float]:
    """Answers a second, and a second of those processes' time, from a moment after now on."""
    time.sleep(SETTLES_S)
    before, had, begin = answers(), had_ns(pids), time.monotonic_ns()
    time.sleep(seconds)
    after, have, end = answers(), had_ns(pids), time.monotonic_ns()
    if after == before:
        raise SystemExit("the server does not answer")
    return (after - before) / (end - begin) * 1e9, (after - before) / (have - had) * 1e9


def lines(found: dict[str, dict[int, float]], unit: str) -> Iterator[str]:
    base = found["unwatched"]
    yield f"{'condition':18} {unit:>11} {'loss':>8} {'interval (95 %)':>20} blocks"
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
    parser.add_argument("--seconds", type=float, default=0.2, help="that a visit counts")
    parser.add_argument("--only", action="append", help="a condition, with `unwatched` (default: all)")
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
    chosen = ["unwatched", *(arguments.only or list(CONDITIONS)[1:])]
    everything = {**{name: CONDITIONS[name] for name in chosen}, **peers}
    by_clock: dict[str, dict[int, float]] = {name: {} for name in everything}
    by_processor: dict[str, dict[int, float]] = {name: {} for name in everything}
    with apache() as (pid, port), load(port) as (client, answers):
        working = [client, pid, *_children(pid)]
        throughput(answers, working, 1)
        for block in range(arguments.blocks):
            names = [name for name in everything if name not in peers or block < arguments.peers]
            for name in order.sample(names, len(names)):
                # A peer follows only whom it is given, or who is born later.
                pids = [pid, *_children(pid)] if name in peers else [pid]
                try:
                    with everything[name](pids):
                        told = throughput(answers, working, arguments.seconds)
                        by_clock[name][block], by_processor[name][block] = told
                except (RuntimeError, FileNotFoundError) as error:
                    print(f"{name}: {error}", flush=True)
    print("\n".join(lines(by_clock, "requests/s")))
    if len(os.sched_getaffinity(0)) == 1:
        print("\n".join(lines(by_processor, "a CPU s")))


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


if __name__ == "__main__":
    main()
