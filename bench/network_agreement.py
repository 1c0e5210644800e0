"""Whether network workloads find what iperf3, netperf and programs by hand find, over the same network.

    python bench/network_agreement.py [SECONDS [PROCESSORS]]

Makes a network namespace for each side, joined by a veth pair, with Reno's congestion control: BBR, some
kernels' default, loses segments there, and any stream then varies sixfold. All sides run in turn, in random
order within a round, with each end on a processor of its own, or, where PROCESSORS is 1, both on one: then
none waits for another processor to wake, which on a virtual machine scatters most of all. Prints medians
of the ratios of rates, with 95 % intervals. Each comparison gets that many seconds (50). On a virtual machine
whose host takes processors away a run says nothing: one in which more than three hundredths of a processor
were taken is measured again.

A stream by hand (network_by_hand.c) does the same as tcp_send; with another argument it does as iperf3 does:
its receiver reads no more at once than a write has, with a select before each read. Transactions are
compared with some by hand, and, of 14 bytes, which are its least, with sockperf's.
Needs root, ip and iperf3; sockperf and netperf where they are installed.
"""

import functools
import itertools
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import machine
import numpy as np

from steelyard.programs import built
from steelyard.statistics import signed_rank

NEAR, FAR = "10.79.3.1", "10.79.3.2"
PORTS = itertools.count(6001)
STOLEN_MOST = 0.03
SIZES = (1024, 16384, 131072)
PLACES = {"near": 0, "far": 1}  # the processor of each end

Holder = subprocess.Popen[bytes]  # keeps a namespace
Measure = Callable[[], float]


def inside(holder: Holder, *command: str, end: str) -> list[str]:
    return ["nsenter", f"--net=/proc/{holder.pid}/ns/net", "taskset", "-c", str(PLACES[end]), *command]


def said(command: list[str]) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout


@contextmanager
def network() -> Iterator[tuple[Holder, Holder]]:
    """Two processes, each in a namespace of its own; all of it ends with them."""
    holders = [subprocess.Popen(["unshare", "--net", "--kill-child", "sleep", "infinity"]) for _ in range(2)]
    try:
        own = os.readlink("/proc/self/ns/net")
        while any(os.readlink(f"/proc/{one.pid}/ns/net") == own for one in holders):
            time.sleep(0.01)
        near, far = holders
        lay = ["link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", str(far.pid)]
        said(inside(near, "ip", *lay, end="near"))
        for one, address in ((near, NEAR), (far, FAR)):
            for words in (f"address add {address}/24 dev wire", "link set wire up", "link set lo up"):
                said(inside(one, "ip", *words.split(), end="near"))
            said(inside(one, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno", end="near"))
        yield near, far
    finally:
        for one in holders:
            one.kill()
            one.wait()


class Ours:
    """The load program at both ends of that network."""

    def __init__(self, near: Holder, far: Holder) -> None:
        self.near = near
        self.agent = subprocess.Popen(
            inside(far, str(built.load("glibc")), "agent", end="far"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.agent.stdin is not None
        assert self.agent.stdout is not None
        self.agent.stdin.write(f"far {FAR} bench\n")
        self.agent.stdin.flush()
        self.agent.stdout.readline()
        self.port = json.loads(self.agent.stdout.readline())["port"]

    def close(self) -> None:
        assert self.agent.stdin is not None
        self.agent.stdin.close()
        self.agent.wait()

    def rate(self, workload: str, *settings: str) -> float:
        """Operations, or bytes, a second, in batches of a tenth of a second."""
        command = [
            str(built.load("glibc")), "run", workload, f"peer={FAR}%20{self.port}%20bench", "batches=4",
            "batch_ns=100000000", "warmup_ns=100000000", *settings,
        ]  # fmt: skip
        return rate_of(said(inside(self.near, *command, end="near")))


def rate_of(told: str) -> float:
    records = [json.loads(line) for line in told.splitlines()]
    timed = next(one for one in records if one["record"] == "samples")
    done = len(timed["durations_ns"]) * timed["operations"] * (timed["bytes"] or 1)
    return float(1e9 * done / sum(timed["durations_ns"]))


@contextmanager
def far_by_hand(far: Holder, program: Path, verb: str, port: str, *words: str) -> Iterator[None]:
    """The far end by hand, once it listens, until it is not needed any more."""
    command = inside(far, str(program), verb, FAR, port, *words, end="far")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            yield
        finally:
            process.kill()


def by_hand(near: Holder, far: Holder, program: Path, size: int, *, read: int, like_iperf3: bool) -> float:
    port, like = str(next(PORTS)), str(int(like_iperf3))
    words = (str(program), "stream", FAR, port, str(size), like, "0.4")
    with far_by_hand(far, program, "sink", port, str(read), like):
        return float(said(inside(near, *words, end="near")))


def asked_by_hand(near: Holder, far: Holder, program: Path, kind: str) -> float:
    port = str(next(PORTS))
    with far_by_hand(far, program, "answer", port, kind):
        return float(said(inside(near, str(program), "ask", FAR, port, kind, "0.4", end="near")))


def sockperf(near: Holder, far: Holder, *more: str) -> float:
    """Transactions a second, from the mean latency, which is half of a round trip."""
    port = str(next(PORTS))
    words = ["sockperf", "server", "-i", FAR, "-p", port, *more]
    server = subprocess.Popen(inside(far, *words, end="far"), stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    told = said(inside(near, "sockperf", "ping-pong", "-i", FAR, "-p", port, "-t", "1", *more, end="near"))
    server.kill()
    server.wait()
    return 1e6 / 2 / float(re.findall(r"avg-latency=([\d.]+)", told)[0])


def iperf3(near: Holder, far: Holder, size: int) -> float:
    server = subprocess.Popen(
        inside(far, "iperf3", "-s", "-1", "-B", FAR, end="far"), stdout=subprocess.DEVNULL
    )
    time.sleep(0.3)
    told = said(inside(near, "iperf3", "-c", FAR, "-N", "-l", str(size), "-t", "1", "-J", end="near"))
    server.wait()
    return float(json.loads(told)["end"]["sum_received"]["bits_per_second"]) / 8


def netperf(near: Holder, test: str, *more: str) -> float:
    told = said(
        inside(near, "netperf", "-H", FAR, "-t", test, "-l", "1", "-P", "0", "-f", "B", "--", *more,
               end="near")
    )  # fmt: skip
    numbers = re.findall(r"[\d.]+", told.splitlines()[0])
    return float(numbers[-1] if "STREAM" in test else numbers[5])


def undisturbed(measure: Measure, until: float) -> float | None:
    """The figure of a run from which hardly anything was taken; None if there was none in time."""
    while time.monotonic() < until:
        began, before = time.monotonic(), machine.stolen_s()
        found = measure()
        if machine.stolen_s() - before <= STOLEN_MOST * (time.monotonic() - began):
            return found
    return None


def compare(sides: Mapping[str, Measure], pairs: Mapping[str, tuple[str, str]], seconds: float) -> None:
    until = time.monotonic() + seconds
    rows = []
    while time.monotonic() < until:
        order = random.sample(list(sides), len(sides))
        rows.append({side: undisturbed(sides[side], until) for side in order})
    for name, (one, other) in pairs.items():
        both = ((row[one], row[other]) for row in rows)
        logs = [math.log(ours / theirs) for ours, theirs in both if ours is not None and theirs is not None]
        if logs:
            ratio = signed_rank.estimate(np.array(logs), alpha=0.05)
            print(f"{name:64} {machine.ratio(ratio)}, {len(logs)} rounds", flush=True)
        else:
            print(f"{name:64} the host left no undisturbed round", flush=True)


def ping_pong(program: Path, seconds: float) -> None:
    command = [
        str(built.load("glibc")), "run", "tcp_request", f"place={len(set(PLACES.values()))}", "batches=4",
        "batch_ns=50000000", "warmup_ns=20000000", "latencies=1",
    ]  # fmt: skip
    sides: dict[str, Measure] = {
        "ours": lambda: rate_of(said(command)),
        "again": lambda: rate_of(said(command)),
        "hand": lambda: float(said([str(program), "ping", "10000", *map(str, PLACES.values())])),
    }
    names = {
        "ping-pong, loopback: tcp_request over one by hand": ("ours", "hand"),
        "ping-pong, loopback: tcp_request over itself": ("again", "ours"),
    }
    compare(sides, names, seconds)


def streams(ours: Ours, far: Holder, program: Path, size: int, seconds: float) -> None:
    near = ours.near
    sides: dict[str, Measure] = {
        "ours": lambda: ours.rate("tcp_send", f"size={size}"),
        "ours, short reads": lambda: ours.rate("tcp_send", f"size={size}", f"read={size}"),
        "hand": lambda: by_hand(near, far, program, size, read=131072, like_iperf3=False),
        "hand, as iperf3": lambda: by_hand(near, far, program, size, read=size, like_iperf3=True),
        "iperf3": lambda: iperf3(near, far, size),
    }
    names = {
        f"writes of {size}: tcp_send over a stream by hand": ("ours", "hand"),
        f"writes of {size}: tcp_send over iperf3": ("ours", "iperf3"),
        f"writes of {size}: tcp_send read={size} over iperf3": ("ours, short reads", "iperf3"),
        f"writes of {size}: by hand, as iperf3 does, over iperf3": ("hand, as iperf3", "iperf3"),
    }
    compare(sides, names, seconds)


def transactions(ours: Ours, far: Holder, program: Path, seconds: float) -> None:
    near = ours.near
    kinds = {"tcp": "tcp_request", "connect": "tcp_connect_request", "udp": "udp_request"}
    for kind, workload in kinds.items():
        sides: dict[str, Measure] = {
            "ours": functools.partial(ours.rate, workload, "latencies=1"),
            "again": functools.partial(ours.rate, workload, "latencies=1"),
            "hand": functools.partial(asked_by_hand, near, far, program, kind),
        }
        names = {
            f"{workload} over one by hand": ("ours", "hand"),
            f"{workload} over itself": ("again", "ours"),
        }
        if shutil.which("sockperf") and kind != "connect":
            more = ("--tcp",) if kind == "tcp" else ()
            sides["ours, 14 bytes"] = functools.partial(
                ours.rate, workload, "latencies=1", "request=14", "response=14"
            )
            sides["sockperf"] = functools.partial(sockperf, near, far, *more)
            names[f"{workload} of 14 bytes over sockperf"] = ("ours, 14 bytes", "sockperf")
        compare(sides, names, seconds)


def with_netperf(ours: Ours, far: Holder, seconds: float) -> None:
    near = ours.near
    server = subprocess.Popen(inside(far, "netserver", "-D", "-L", FAR, end="far"))
    time.sleep(0.3)
    tests = {
        "TCP_STREAM": ("tcp_send", ("size=16384",), ("-m", "16384", "-D")),
        "TCP_RR": ("tcp_request", (), ("-D",)),
        "TCP_CRR": ("tcp_connect_request", ("goodbye=1",), ()),
        "UDP_RR": ("udp_request", (), ()),
    }
    for test, (workload, settings, more) in tests.items():
        sides: dict[str, Measure] = {
            "ours": functools.partial(ours.rate, workload, *settings),
            "theirs": functools.partial(netperf, near, test, *more),
        }
        compare(sides, {f"{workload} over netperf {test}": ("ours", "theirs")}, seconds)
    server.kill()
    server.wait()


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 50.0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if len(sys.argv) > 2:
        PLACES["far"] = int(sys.argv[2]) - 1
    print(machine.describe())
    print(f"one over the other, as rates; [95 %]; the ends on processors {set(PLACES.values())}")
    with tempfile.TemporaryDirectory() as place, network() as (near, far):
        program = Path(place) / "by_hand"
        source = Path(__file__).with_name("network_by_hand.c")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", source, "-o", program], check=True)
        ping_pong(program, seconds)
        ours = Ours(near, far)
        transactions(ours, far, program, seconds)
        for size in SIZES:
            streams(ours, far, program, size, seconds)
        if shutil.which("netperf"):
            with_netperf(ours, far, seconds)
        else:
            print("netperf is not installed: TCP_RR, TCP_CRR and UDP_RR were not compared with it")
        ours.close()


if __name__ == "__main__":
    main()
