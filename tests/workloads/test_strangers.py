"""Other users of the machine: what they connect to, and send to, what a trial opened for itself.

A trial in a network of its own has nothing that they can reach. Where none can be made, its far end shares
the machine's loopback with everybody: there nobody is waited for, heard or counted who does not know the
trial's token, or is not the socket at the other end.
"""

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import places
import pytest
from monitor_runs import until
from network_ends import far_end, without_namespaces
from patience import patience
from processes import family, used_s

from steelyard.programs import built

NOBODY = 65534
STRANGER = (places.SUPPORT / "stranger.py").read_text()
LISTENS, HEARS_ANYBODY = "0A", "07"  # states of TCP and of UDP in /proc/net
# Each makes sockets in another way; what they do takes some tenths of a second.
WORKLOADS = {
    "tcp_latency": 5_000,
    "udp_latency": 5_000,
    "tcp_connect": 1_500,
    "tcp_echo": 6,
    "http_get": 1_000,
    "tcp_send": 2_000,
    "tcp_request": 3_000,
    "tcp_connection": 1_500,
    "tcp_connect_request": 1_500,
    "udp_request": 3_000,
    "udp_send": 6_000,
    "rpc_tcp": 1_500,
    "rpc_udp": 1_500,
}
CONNECTED = ("tcp_connect", "tcp_connection", "tcp_connect_request", "http_get")  # listen to the end
MORE_TRIES = 20
DATAGRAMS = ("udp_latency", "udp_request", "udp_send", "rpc_udp")


def sockets_of(process: int) -> set[str]:
    found = set()
    with suppress(OSError):
        for one in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                found.add(os.readlink(one).removeprefix("socket:[").removesuffix("]"))
    return found


def ports(process: int, network: str) -> set[tuple[str, str, int]]:
    """What these processes listen at in that network: kind, address and port."""
    own = {each for one in family(process) for each in sockets_of(one)}
    found = set()
    for kind, state in (("tcp", LISTENS), ("udp", HEARS_ANYBODY)):
        for name in (kind, f"{kind}6"):
            with suppress(OSError):
                for line in Path(f"{network}/net/{name}").read_text().splitlines()[1:]:
                    words = line.split()
                    if words[3] == state and words[9] in own:
                        host = "::1" if name.endswith("6") else "127.0.0.1"
                        found.add((kind, host, int(words[1].rpartition(":")[2], 16)))
    return found


@contextmanager
def stranger() -> Iterator[subprocess.Popen[str]]:
    """Another user, who is told of ports."""
    process = subprocess.Popen(
        [shutil.which("python3", path="/usr/bin") or sys.executable, "-c", STRANGER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for one in (process.stdin, process.stdout):
            if one and not one.closed:
                one.close()


def attacked(workload: str, operations: int, under: tuple[str, ...]) -> tuple[list[dict], int, int]:
    """A trial's records, while a stranger does what it can with each port that the trial opens; and to how
    many connections and datagrams it came."""
    command = [*under, str(built.load("glibc")), "run", workload]
    words = [f"operations={operations}", "batches=3", "warmup_ns=0"]
    known: set[tuple[str, str, int]] = set()
    with stranger() as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        trial = subprocess.Popen(
            [*command, *words], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )
        while trial.poll() is None:
            for one in ports(trial.pid, "/proc/self") - known:
                known.add(one)
                other.stdin.write(" ".join(map(str, one)) + "\n")
                other.stdin.flush()
            time.sleep(0.005)
        assert trial.stdout is not None
        records = [json.loads(line) for line in trial.stdout.read().splitlines()]
        trial.stdout.close()
        other.stdin.close()
        connections, datagrams = map(int, other.stdout.readline().split())
    return records, connections, datagrams


@pytest.mark.root
@pytest.mark.program
@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "shared"])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_no_other_user_holds_a_trial_up_or_is_counted(workload: str, is_shared: bool) -> None:
    under = without_namespaces() if is_shared else ()
    operations = WORKLOADS[workload]
    is_reached = is_shared and workload in CONNECTED

    records, connections, datagrams = attacked(workload, operations, under)
    for _ in range(MORE_TRIES):  # on a busy machine a trial may be over before the stranger has come
        if connections or not is_reached or records[-1]["status"] != "ok":
            break
        records, connections, datagrams = attacked(workload, operations, under)

    end = records[-1]
    if end["status"] == "unsupported":
        pytest.skip(end["reason"])
    assert end["status"] == "ok", end
    performed = {one["operations"] for one in records if one["record"] == "samples"}
    assert performed
    assert performed <= {operations, 1}
    if not is_shared:
        assert (connections, datagrams) == (0, 0)
    if is_reached:
        assert connections, "the stranger reached nothing, so that nothing was tried"


@pytest.mark.root
@pytest.mark.program
@pytest.mark.parametrize("workload", DATAGRAMS)
def test_once_a_trial_measures_no_socket_of_it_hears_everybody(workload: str) -> None:
    """A socket for datagrams that is not connected has whatever anybody sends to its port."""
    command = [*without_namespaces(), str(built.load("glibc")), "run", workload]
    with subprocess.Popen(
        [*command, "operations=1000", "batches=2000", "warmup_ns=0"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    ) as trial:
        # It has used a hundred times what it takes to get ready.
        until(lambda: sum(map(used_s, family(trial.pid))) > 0.5 or trial.poll() is not None, "its measuring")
        heard = [one for one in ports(trial.pid, "/proc/self") if one[0] == "udp"]
        has_ended = trial.poll() is not None
        trial.kill()

    assert not has_ended
    assert heard == []


MESSAGE, DATAGRAM = 64, struct.Struct("!II")


def greeting(role: str, token: str) -> bytes:
    return (role + token).encode().ljust(MESSAGE, b"\0")


@pytest.mark.program
def test_a_far_end_counts_the_datagrams_of_its_near_end_and_of_nobody_else() -> None:
    """Sent from the same host, before and after the near end has said who it is."""
    token, host = "secret", "127.0.0.1"
    with far_end() as (_, found), socket.create_connection((host, found["port"])) as control:
        service_udp, send = 2, ord("s")
        control.sendall(greeting("c", token))
        numbers = "100 100 0 1 0 1 0 0 0"
        control.sendall(f"order {service_udp} {send} - {numbers}\n".encode())
        lines = control.makefile("r")
        port = int(lines.readline().split()[1])
        near, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        with near, other:
            for one in (near, other):
                one.connect((host, port))
                one.settimeout(5)
            foreign = DATAGRAM.pack(7, 1000) + bytes(92)
            for _ in range(50):
                other.send(foreign)
            other.send(greeting("s", "a guess"))
            near.send(greeting("s", token))
            assert near.recv(100) == greeting("s", token)
            for _ in range(30):
                with suppress(ConnectionRefusedError):  # told of what was sent before
                    other.send(foreign)
                near.send(DATAGRAM.pack(1, 30) + bytes(92))
            assert near.recv(100) == DATAGRAM.pack(1, 30)
            control.sendall(b"cost\n")
            _, _, counted = lines.readline().split()
            other.settimeout(0.1)
            with pytest.raises((TimeoutError, ConnectionRefusedError)):
                other.recv(100)

    assert int(counted) == 30


@pytest.mark.program
def test_a_thousand_silent_connections_keep_nobody_from_a_far_end() -> None:
    """Nor do those that send half of a token; and each of them is a descriptor and no process."""
    with far_end() as (agent, found):
        silent = []
        for number in range(300):
            one = socket.create_connection(("127.0.0.1", found["port"]))
            one.sendall(greeting("c", "sec")[: number % 5])
            silent.append(one)
        assert len(family(agent.pid)) <= 3  # with who removes its directory if it is killed
        command = [built.load("glibc"), "run", "tcp_request", "operations=100", "batches=2", "warmup_ns=0"]
        answer = subprocess.run(
            [*command, f"peer=127.0.0.1%20{found['port']}%20secret"],
            capture_output=True,
            timeout=patience(60),
        )
        for one in silent:
            one.close()

    assert json.loads(answer.stdout.splitlines()[-1])["status"] == "ok", answer.stdout


@pytest.mark.root
@pytest.mark.program
@pytest.mark.parametrize("peer", ["peer=loopback", "peer=namespace"])
def test_a_network_of_the_trials_own_has_this_machines_settings(peer: str) -> None:
    """A new namespace begins with the kernel's own: a study that sets them would not measure what it set.
    Here the machine is a network namespace, so that nothing of the real one is changed."""
    ports_from, ports_to = 45_000, 45_100
    setting = f"echo {ports_from} {ports_to} > /proc/sys/net/ipv4/ip_local_port_range"
    command = ["unshare", "--net", "sh", "-c", f'{setting} && exec "$@"', "sh", str(built.load("glibc"))]
    seen: set[int] = set()
    with subprocess.Popen(
        [*command, "run", "tcp_request", "operations=1000", "batches=2000", "warmup_ns=0", peer],
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    ) as trial:
        deadline = time.monotonic() + patience(60)
        while len(seen) < 3 and time.monotonic() < deadline and trial.poll() is None:
            for one in family(trial.pid):
                with suppress(OSError):
                    rows = [row.split() for row in Path(f"/proc/{one}/net/tcp").read_text().splitlines()[1:]]
                    own = sockets_of(one)
                    seen |= {int(row[1].rpartition(":")[2], 16) for row in rows if row[9] in own}
            time.sleep(0.02)
        trial.kill()

    assert len(seen) >= 3
    assert all(ports_from <= one <= ports_to for one in seen)
