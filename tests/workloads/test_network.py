"""Network workloads between two ends: where the far end is, what each end says, and what happens when things
go wrong. What single operations do is counted in test_workloads.py."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import places
import pytest
from installed_command import COMMAND, Run
from network_ends import far_end, without_namespaces
from patience import patience

from steelyard import allowance, systems
from steelyard.errors import StudyError, Unsupported, UsageError
from steelyard.programs import built
from steelyard.running import peers
from steelyard.study import model, study_file
from steelyard.study.model import PEER, Study

FEW = ("operations=100", "batches=2", "warmup_ns=0")
NETWORK = [one for one in built.catalogue().workloads if any(each.name == PEER for each in one.parameters)]
NAMES = [one.name for one in NETWORK if one.sweeps is None]
CURVES = [one.name for one in NETWORK if one.sweeps is not None]
HOSTS = places.SUPPORT / "hosts_in_namespaces.py"


def perform(workload: str, *settings: str, under: tuple[str, ...] = ()) -> list[dict]:
    command = [*under, str(built.load("glibc")), "run", workload, *FEW, *settings]
    answer = subprocess.run(
        command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False, timeout=patience(60)
    )
    return [json.loads(line) for line in answer.stdout.splitlines()]


def end_of(*words: str, **options: tuple[str, ...]) -> dict:
    return perform(*words, **options)[-1]


def metrics(records: list[dict]) -> dict[str, float]:
    """Each metric's sum of durations by its operations; skips what is not available here."""
    if records[-1]["status"] == "unsupported":
        pytest.skip(records[-1]["reason"])
    assert records[-1]["status"] == "ok", records[-1]
    return {
        one["metric"]: sum(one["durations_ns"]) / len(one["durations_ns"]) / one["operations"]
        for one in records
        if one["record"] == "samples"
    }


# --- what is sent besides


@pytest.mark.strace
def test_nothing_is_sent_that_would_move_a_stream_off_the_lines_of_the_cache(tmp_path: Path) -> None:
    """Some processors copy to such places at a quarter of their speed (workloads/network/order.h)."""
    trace = tmp_path / "trace"
    under = ("strace", "-f", "-yy", "-e", "trace=write", "-o", str(trace))
    metrics(perform("tcp_send", "size=131072", "operations=3", under=under))

    sent = re.findall(r"^(\d+) +write\(\d+<TCP:.* = (\d+)$", trace.read_text(), re.MULTILINE)
    near = next(process for process, count in sent if count == "131072")
    assert {int(count) for process, count in sent if process == near} == {64, 131072}


# --- where the far end is


@pytest.mark.program
@pytest.mark.parametrize("peer", ["peer=loopback", "peer=namespace"])
@pytest.mark.parametrize("workload", NAMES)
@pytest.mark.parametrize("more", ["flows=1", "flows=5 ipv6=1"])
def test_every_workload_reaches_its_far_end(workload: str, peer: str, more: str) -> None:
    """With enough to do that it shows in the machine's time, which is told in steps of 10 ms."""
    found = metrics(perform(workload, peer, *more.split(), "operations=8000", "batches=1"))

    assert set(found) >= {"near", "far", "demand"}


@pytest.mark.program
@pytest.mark.parametrize("peer", ["peer=loopback", "peer=namespace"])
@pytest.mark.parametrize("workload", CURVES)
def test_curves_have_every_size(workload: str, peer: str) -> None:
    records = perform(workload, peer, "from=64" if workload == "tcp_send_sizes" else "from=1", "to=256")
    metrics(records)

    assert {one["point"] for one in records if one["record"] == "samples"} == {
        size for size in (1, 2, 4, 8, 16, 32, 64, 128, 256) if workload == "tcp_request_flows" or size >= 64
    }


@pytest.mark.program
@pytest.mark.parametrize("workload", CURVES)
def test_a_curve_of_more_than_an_end_can_have_is_refused(workload: str) -> None:
    assert "must be at most" in end_of(workload, "from=16777216", "to=67108864")["reason"]


@pytest.mark.program
def test_both_ends_account_for_themselves_and_the_machine_is_counted_once() -> None:
    """What both ends and the rest have used is all that the machine has used, but where rounding to the
    kernel's steps makes the rest less than nothing."""
    records = perform("tcp_send", "peer=namespace", "operations=20000", "size=65536")
    found = metrics(records)

    assert found["near"] > 1
    assert found["far"] > 1
    assert found["near"] + found["far"] + found["rest"] >= 0.99 * found["demand"]
    assert 0 <= found["softirq"] <= 1000


@pytest.mark.program
def test_no_more_is_charged_than_all_processors_had() -> None:
    records = perform("tcp_request", "operations=20000", "batches=1")
    found = metrics(records)
    took_ns = records[-1]["clock_ns"] - records[0]["clock_ns"]
    step_ns = 2 * 10_000_000  # of the kernel's account of idle time, at both ends of the span

    assert 20000 * found["demand"] <= len(allowance.processors()) * (took_ns + step_ns)


@pytest.mark.quiet
@pytest.mark.program
def test_the_private_network_is_seen_by_nobody_else_and_is_gone_after_a_kill(tmp_path: Path) -> None:
    """Whoever is killed: the namespaces and the devices have no names and end with their processes."""

    def seen() -> tuple[set[str], set[str]]:
        spaces = set()
        for process in Path("/proc").glob("[0-9]*/ns/net"):
            try:
                spaces.add(os.readlink(process))
            except OSError:
                continue
        return {one.name for one in Path("/sys/class/net").iterdir()}, spaces

    metrics(perform("tcp_request", "peer=namespace"))
    before = seen()
    command = [built.load("glibc"), "run", "tcp_request", "peer=namespace", "batches=10000"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # it cannot remove its directory
    trial = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    deadline = time.monotonic() + patience(20)
    while len(seen()[1]) < len(before[1]) + 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    during = seen()
    trial.send_signal(signal.SIGKILL)
    trial.wait()
    while seen()[1] - before[1] and time.monotonic() < deadline:
        time.sleep(0.01)

    assert during[0] == before[0]
    assert len(during[1] - before[1]) == 2
    assert seen() == before


@pytest.mark.program
@pytest.mark.parametrize("workload", NAMES)
def test_an_agent_is_the_far_end_of_another_systems_trial(workload: str) -> None:
    with far_end() as (_, found):
        assert metrics(perform(workload, f"peer=127.0.0.1%20{found['port']}%20secret"))


@pytest.mark.program
def test_who_does_not_know_the_token_is_not_served() -> None:
    with far_end() as (_, found):
        end = end_of("tcp_request", f"peer=127.0.0.1%20{found['port']}%20guess")

    assert end["status"] == "failed"
    # It is closed with what we have sent unread: then the kernel may reset it.
    assert re.search(r"the far end \(127.0.0.1\) (ended the connection|has gone)", end["reason"])


# --- what goes wrong


def is_served(port: int) -> bool:
    """Whether that port of this host has a connection."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


@pytest.mark.program
def test_a_far_end_that_dies_in_the_middle_fails_the_trial_with_a_sentence() -> None:
    with far_end() as (agent, found):
        command = [built.load("glibc"), "run", "tcp_request", "batches=10000", "warmup_ns=0"]
        trial = subprocess.Popen(
            [*command, f"peer=127.0.0.1%20{found['port']}%20secret"], stdout=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + patience(20)
        while not is_served(found["port"]) and time.monotonic() < deadline:
            time.sleep(0.01)
        agent.kill()
        told, _ = trial.communicate(timeout=patience(60))

    end = json.loads(told.splitlines()[-1])
    assert end["status"] == "failed"
    assert "the far end (127.0.0.1) has gone" in end["reason"] or end["reason"].endswith(
        "ended the connection"
    )


@pytest.mark.program
def test_nobody_at_the_port_is_a_sentence() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        end = end_of("tcp_send", f"peer=127.0.0.1%20{free.getsockname()[1]}%20x")

    assert end["reason"] == "connect: no process listens at the far end (127.0.0.1)"


@pytest.mark.program
def test_a_firewall_that_swallows_packets_is_suspected_in_words() -> None:
    """A listener whose queue is full answers no more handshakes, as a firewall that drops them."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            end = end_of("tcp_send", f"peer=127.0.0.1%20{port}%20x")

    assert end["reason"] == "connect: the far end (127.0.0.1) does not answer: is there a firewall between?"


@pytest.mark.program
def test_an_address_that_is_not_this_hosts_is_refused_by_the_agent() -> None:
    with far_end("192.0.2.55") as (_, found):
        assert found["record"] == "error"
        assert found["reason"].startswith("a far end cannot listen on 192.0.2.55: ")


@pytest.mark.program
@pytest.mark.parametrize("peer", ["mars", "127.0.0.1", "127.0.0.1%20port%20x", "example.org%201%20x"])
def test_what_is_no_peer_is_quoted(peer: str) -> None:
    end = end_of("tcp_request", f"peer={peer}")

    assert end["reason"].startswith(
        f"peer is '{peer.replace('%20', ' ')}', and must be loopback, namespace, or"
    )


@pytest.mark.program
def test_more_may_be_under_way_than_both_ends_have_room_for() -> None:
    """Whoever only writes then would wait for ever."""
    full = ("outstanding=1024", "request=65507", "response=65507", "operations=2000", "latencies=2000")

    assert metrics(perform("tcp_request", *full))["time"] > 0


def room_for_files(count: int, hard: int) -> tuple[str, ...]:
    """A command under which that many files may be open, and `hard` when that is raised."""
    return ("sh", "-c", f'ulimit -Sn {count} && ulimit -Hn {hard} && exec "$@"', "sh")


@pytest.mark.program
def test_idle_connections_are_had_at_both_ends_or_refused_in_words() -> None:
    few = ("idle=300", "latencies=10")

    assert metrics(perform("tcp_request", *few, under=room_for_files(100, 1000)))["time"] > 0
    end = end_of("tcp_request", *few, under=room_for_files(100, 200))
    assert end["status"] == "unsupported"
    assert end["reason"] == "it needs 366 open files, and this system allows 200"


def peak_kib(*settings: str) -> int:
    """What the larger of a trial's processes had in memory at once."""
    program = str(built.load("glibc"))
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=2, check=True); " + (
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", code, program, "run", "tcp_request", *FEW, "latencies=10", *settings]
    return int(subprocess.run(command, capture_output=True, check=True, timeout=patience(60)).stdout)


@pytest.mark.program
def test_an_idle_connection_takes_hardly_any_memory() -> None:
    assert peak_kib("idle=1000") - peak_kib("idle=0") < 1000 * 4


@pytest.mark.program
def test_a_wire_is_ours_alone_to_change() -> None:
    assert end_of("tcp_request", "delay_us=5")["status"] == "unsupported"
    assert end_of("tcp_request", "peer=loopback", "mtu=1500")["reason"].endswith("peer=namespace")


@pytest.mark.program
def test_a_delay_is_in_every_round_trip_or_the_kernel_lacks_netem() -> None:
    records = perform("tcp_request", "peer=namespace", "delay_us=3000", "latencies=10")
    if records[-1]["status"] == "unsupported" and "netem" in records[-1]["reason"]:
        return

    assert metrics(records)["time"] >= 2 * 3_000_000


@pytest.mark.program
def test_a_rate_is_never_exceeded() -> None:
    """1.6 MB through 10 Mbit a second, of which a burst of 64 KiB at once, takes more than a second."""
    found = metrics(perform("tcp_send", "peer=namespace", "rate_mbit=10", "operations=100", "batches=1"))

    assert found["bandwidth"] * 100 > 1e9


@pytest.mark.program
def test_packets_may_be_small() -> None:
    found = metrics(perform("tcp_request", "peer=namespace", "mtu=600", "response=5000"))

    assert found["time"] > 0


@pytest.mark.program
def test_a_congestion_control_that_the_kernel_lacks_is_named() -> None:
    end = end_of("tcp_request", "congestion=nonesuch")

    assert end["status"] == "unsupported"
    assert "'nonesuch'" in end["reason"]


@pytest.mark.program
def test_without_the_right_to_a_namespace_a_trial_says_so() -> None:
    end = end_of("tcp_request", "peer=namespace", under=without_namespaces())

    assert end["status"] == "unsupported"
    assert end["reason"].startswith("no network namespace of its own can be made here: ")


@pytest.mark.program
def test_without_the_right_to_a_namespace_a_study_falls_back_and_says_what_that_means(archive: Path) -> None:
    command = [*without_namespaces(), COMMAND, "plan", "network", "--seed", "1", "--format", "csv"]
    environment = os.environ | {"STEELYARD_ARCHIVE": str(archive)}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    assert answer.returncode == 0
    assert "peer=loopback" in answer.stdout
    assert "peer=namespace" not in answer.stdout
    assert "no network namespace of its own can be made here" in answer.stderr
    assert "both ends then share one network stack and its loopback device" in answer.stderr


# --- UDP


@contextmanager
def lossy_far_end(lost: Callable[[int], bool]) -> Iterator[str]:
    """A far end that answers datagrams as the real one does, and loses those that it is told to; the peer.
    It does not ask who the near end is."""
    control = socket.create_server(("127.0.0.1", 0))
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("127.0.0.1", 0))

    def answer_datagrams() -> None:
        number = 0
        while True:
            try:
                sent, whence = datagrams.recvfrom(65536)
            except OSError:
                return
            number += 1
            if not lost(number) and sent != b"end":
                datagrams.sendto(sent, whence)
            if sent == b"end":
                return

    def answer_control() -> None:
        near, _ = control.accept()
        with near, near.makefile("rw") as lines:
            lines.read(64)  # the token
            for line in lines:
                port = datagrams.getsockname()[1]
                lines.write(f"port {port}\n" if line.startswith("order ") else "cost 1000 1\n")
                lines.flush()

    threads = [threading.Thread(target=one) for one in (answer_datagrams, answer_control)]
    for one in threads:
        one.start()
    yield f"peer=127.0.0.1%20{control.getsockname()[1]}%20x"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
        last.sendto(b"end", datagrams.getsockname())
    for one in threads:
        one.join()
    control.close()
    datagrams.close()


@pytest.mark.program
def test_requests_over_udp_survive_loss() -> None:
    """Each third datagram never arrives."""
    with lossy_far_end(lambda number: number % 3 == 0) as peer:
        records = perform("udp_request", peer, "timeout_ms=20", "latencies=10")

    assert records[-1]["status"] == "ok", records[-1]


@pytest.mark.program
def test_where_no_datagram_comes_back_a_trial_ends_with_a_sentence() -> None:
    with lossy_far_end(lambda number: True) as peer:
        end = end_of("udp_request", peer, "timeout_ms=1000")

    assert end["status"] == "failed"
    assert end["reason"] == "no datagram came back from the far end: is there a firewall between?"


# --- studies


def study_with(peer: str) -> Study:
    workloads = '[[workload]]\nname = "tcp_request"\n[[workload]]\nname = "syscall"\n'
    return study_file.parse(f'name = "n"\ntitle = "n"\npeer = "{peer}"\n{workloads}', file="n.toml")


def settled(study: Study, asked: str | None, *names: str) -> tuple[list[str], list[str]]:
    """Where the far ends are then, and the sentences that were said."""
    told: list[str] = []
    catalogue = built.catalogue().limits()
    members = [systems.find(name) for name in names]
    found = peers.choose(study, asked, members, catalogue=catalogue, tell=told.append)
    return [str(value) for one in found.workloads for name, (value,) in one.levels if name == PEER], told


def test_a_studys_peer_is_that_of_all_workloads_that_have_one() -> None:
    assert settled(study_with("loopback"), None, "native", "gvisor") == (["loopback"], [])
    assert settled(study_with("loopback"), "laboratory", "native") == (["laboratory"], [])


def test_a_system_with_a_network_of_its_own_has_its_far_end_at_loopback() -> None:
    found, told = settled(study_with("namespace"), None, "native", "gvisor")

    assert found == ["loopback"]
    assert "system 'gvisor' is measured over its own loopback only" in told[0]


@pytest.mark.parametrize("peer", ["namespace", "laboratory", "ssh:x"])
@pytest.mark.parametrize("name", ["gvisor", "uml", "wine"])
def test_a_peer_that_a_system_cannot_reach_is_refused_when_it_is_asked_for(name: str, peer: str) -> None:
    with pytest.raises(Unsupported, match=f"system '{name}' is measured over its own loopback only.*{peer}"):
        settled(study_with("loopback"), peer, "native", name)


@pytest.mark.parametrize("peer", ["mars", "ssh:", "ssh:-oProxyCommand=x", "ssh:a b", "10.0.0.1"])
def test_what_is_no_peer_is_refused_before_anything_starts(peer: str) -> None:
    with pytest.raises(UsageError, match="--peer is"):
        settled(study_with("loopback"), peer, "native")
    with pytest.raises(StudyError, match="peer is"):
        study_with(peer)


def test_a_workloads_own_peer_stays() -> None:
    study = study_file.parse(
        'name = "n"\ntitle = "n"\n[[workload]]\nname = "tcp_request"\npeer = "loopback"\n', file="n.toml"
    )

    assert settled(study, "laboratory", "native")[0] == ["loopback"]


def test_the_bundled_studies_ask_for_a_private_network() -> None:
    for name in ("network", "korunic-network"):
        study = study_file.read(name)
        model.check(study, built.catalogue().limits(), file=name)
        assert study.peer == "namespace"


STUDY = """
name = "few"
title = "few"
[design]
budget = "60s"
blocks = 2
[trial]
batches = 2
batch_ns = 1000000
warmup_ns = 0
[[workload]]
name = "tcp_request"
latencies = 10
[[workload]]
name = "udp_send"
"""


def test_the_laboratory_is_a_far_end(steelyard: Run, tmp_path: Path) -> None:
    (tmp_path / "few.toml").write_text(STUDY)
    answer = steelyard(
        "compare", "native", "native", "--study", str(tmp_path / "few.toml"), "--peer", "laboratory",
        "--format", "json",
    )  # fmt: skip

    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)["comparisons"]
    assert {one["parameters"]["peer"] for one in found} == {"laboratory"}
    assert all(one["value"] for one in found), found


NAMED = """
[system.one]
base = "ssh:a"
[system.two]
base = "ssh:b"
"""


@pytest.mark.ssh
@pytest.mark.root
@pytest.mark.parametrize(
    ("pair", "peer"), [(("ssh:a", "ssh:b"), "ssh:control"), (("one", "two"), "laboratory")]
)
def test_two_hosts_are_compared_with_a_third_as_their_far_end(
    pair: tuple[str, str], peer: str, archive: Path, tmp_path: Path
) -> None:
    """Each with an ssh server in a network namespace of its own, as the paper had its machines."""
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed (iproute2)")
    (tmp_path / "few.toml").write_text(STUDY + NAMED)
    wanted = [COMMAND, "compare", *pair, "--study", tmp_path / "few.toml", "--peer", peer]
    answer = subprocess.run(
        ["unshare", "--net", sys.executable, HOSTS, tmp_path, *wanted,
         "--format", "json"],
        capture_output=True, text=True, check=False, timeout=patience(120), stdin=subprocess.DEVNULL,
        env=os.environ | {"STEELYARD_ARCHIVE": str(archive)},
    )  # fmt: skip

    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)["comparisons"]
    assert {(one["system"], one["parameters"]["peer"]) for one in found} == {(pair[1], peer)}
    surely = {"time", "demand", "near", "far", "bandwidth"}  # a machine may have done nothing else
    assert {one["metric"] for one in found} >= surely
    assert all(one["value"] for one in found if one["metric"] in surely), found
