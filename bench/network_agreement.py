"""Whether network workloads find what iperf3, netperf and a ping-pong by hand find, over the same network.

    python bench/network_agreement.py [ROUNDS [SECONDS]]

Makes a network namespace for each side, joined by a veth pair. Both sides of each comparison run in turn, in
random order within a round, with each end on a processor of its own; prints medians of the ratios, ours over
theirs, with 95 % intervals. Needs root, ip and iperf3; netperf where it is installed.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import machine
import numpy as np

from steelyard.programs import built
from steelyard.statistics import signed_rank

NEAR, FAR = "10.79.3.1", "10.79.3.2"
PORT = 5201
SIZES = (1024, 16384, 131072)


def inside(holder: subprocess.Popen[bytes], *command: str, processor: int) -> list[str]:
    return ["nsenter", f"--net=/proc/{holder.pid}/ns/net", "taskset", "-c", str(processor), *command]


def said(command: list[str]) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout


@contextmanager
def network() -> Iterator[tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """Two processes, each in a namespace of its own; all of it ends with them."""
    holders = [subprocess.Popen(["unshare", "--net", "--kill-child", "sleep", "infinity"]) for _ in range(2)]
    try:
        own = os.readlink("/proc/self/ns/net")
        while any(os.readlink(f"/proc/{one.pid}/ns/net") == own for one in holders):
            time.sleep(0.01)
        near, far = holders
        lay = ["link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", str(far.pid)]
        said(inside(near, "ip", *lay, processor=0))
        for one, address in ((near, NEAR), (far, FAR)):
            for words in (f"address add {address}/24 dev wire", "link set wire up", "link set lo up"):
                said(inside(one, "ip", *words.split(), processor=0))
        yield near, far
    finally:
        for one in holders:
            one.kill()
            one.wait()


class Ours:
    """The load program at both ends of that network."""

    def __init__(self, near: subprocess.Popen[bytes], far: subprocess.Popen[bytes], seconds: float) -> None:
        self.near, self.seconds = near, seconds
        self.agent = subprocess.Popen(
            inside(far, str(built.load("glibc")), "agent", processor=1),
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
        """Operations, or bytes, a second."""
        batch_ns = int(self.seconds * 1e9 / 10)
        command = [
            str(built.load("glibc")), "run", workload, f"peer={FAR}%20{self.port}%20bench", "batches=10",
            f"batch_ns={batch_ns}", f"warmup_ns={batch_ns}", *settings,
        ]  # fmt: skip
        records = [json.loads(line) for line in said(inside(self.near, *command, processor=0)).splitlines()]
        timed = next(one for one in records if one["record"] == "samples")
        done = len(timed["durations_ns"]) * timed["operations"] * (timed["bytes"] or 1)
        return float(1e9 * done / sum(timed["durations_ns"]))


def iperf3(near: subprocess.Popen[bytes], far: subprocess.Popen[bytes], size: int, seconds: float) -> float:
    server = subprocess.Popen(
        inside(far, "iperf3", "-s", "-1", "-B", FAR, processor=1), stdout=subprocess.DEVNULL
    )
    time.sleep(0.3)
    told = said(
        inside(near, "iperf3", "-c", FAR, "-N", "-l", str(size), "-t", str(max(1, round(seconds))), "-J",
               processor=0)
    )  # fmt: skip
    server.wait()
    return float(json.loads(told)["end"]["sum_received"]["bits_per_second"]) / 8


def netperf(near: subprocess.Popen[bytes], test: str, seconds: float, *more: str) -> float:
    told = said(
        inside(near, "netperf", "-H", FAR, "-t", test, "-l", str(max(1, round(seconds))), "-P", "0",
               "-f", "B", "--", *more, processor=0)
    )  # fmt: skip
    numbers = re.findall(r"[\d.]+", told.splitlines()[0])
    return float(numbers[-1] if "STREAM" in test else numbers[5])


def compare(name: str, sides: dict[str, Callable[[], float]], rounds: int) -> None:
    logs = []
    for _ in range(rounds):
        found = {}
        for side in random.sample(list(sides), 2):
            found[side] = sides[side]()
        logs.append(np.log(found["ours"] / found["theirs"]))
    found = signed_rank.estimate(np.array(logs), alpha=0.05)
    print(f"{name:34} {machine.ratio(found)}", flush=True)


def by_hand(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / "ping"
        source = Path(__file__).with_name("network_ping_pong.c")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", source, "-o", program], check=True)

        def ours() -> float:
            told = said([str(built.load("glibc")), "run", "tcp_request", "place=2", "batch_ns=100000000"])
            timed = next(one for one in map(json.loads, told.splitlines()) if one["record"] == "samples")
            return float(timed["operations"] / np.mean(timed["durations_ns"]))

        compare(
            "a ping-pong by hand, loopback",
            {"ours": ours, "theirs": lambda: 1 / float(said([str(program), "20000", "0", "1"]))},
            rounds,
        )


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
    print(machine.describe())
    print("ours over theirs, as rates; [95 %]")
    by_hand(rounds)
    with network() as (near, far):
        ours = Ours(near, far, seconds)
        for size in SIZES:
            compare(
                f"iperf3, writes of {size}",
                {
                    "ours": lambda size=size: ours.rate("tcp_send", f"size={size}"),  # type: ignore[misc]
                    "theirs": lambda size=size: iperf3(near, far, size, seconds),  # type: ignore[misc]
                },
                rounds,
            )
        if shutil.which("netperf"):
            server = subprocess.Popen(inside(far, "netserver", "-D", "-L", FAR, processor=1))
            time.sleep(0.3)
            tests = {
                "TCP_STREAM": ("tcp_send", ("size=16384",), ("-m", "16384", "-D")),
                "TCP_RR": ("tcp_request", (), ("-D",)),
                "TCP_CRR": ("tcp_connect_request", ("goodbye=1",), ()),
                "UDP_RR": ("udp_request", (), ()),
            }
            for test, (workload, settings, more) in tests.items():
                compare(
                    f"netperf {test}",
                    {
                        "ours": lambda one=workload, how=settings: ours.rate(one, *how),  # type: ignore[misc]
                        "theirs": lambda one=test, how=more: netperf(near, one, seconds, *how),  # type: ignore[misc]
                    },
                    rounds,
                )
            server.kill()
            server.wait()
        else:
            print("netperf is not installed: TCP_RR, TCP_CRR and UDP_RR were not compared with it")
        ours.close()


if __name__ == "__main__":
    main()
