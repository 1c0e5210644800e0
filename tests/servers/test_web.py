"""Web servers under load: real ones serve, and what goes wrong is said in a sentence."""

import json
import os
import signal
from pathlib import Path

import pytest
import server_trials
from installed_command import Run
from monitor_runs import until
from server_trials import Agent, descended, false, figures, running, until_loaded, working

pytestmark = pytest.mark.program

METRICS = ["time", "server", "client", "latency_50", "latency_90", "latency_99", "latency_99_9"]
WAITS = ["connections", "longest_wait", "silent"]  # and "connecting", if any connection was opened
SERVERS = ("nginx", "apache-prefork", "apache-event")
SHORT = ("batches=2", "operations=200", "warmup_ns=0")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc\n"


@pytest.mark.parametrize("build", ["glibc", "musl"])
@pytest.mark.parametrize("server", SERVERS)
def test_a_real_server_serves_many_clients(server: str, build: str, open_directory: Path) -> None:
    with Agent(open_directory, build) as agent:
        found = figures(
            agent.perform(server_trials.described(server), "web_requests", "clients=8", "size=20000", *SHORT)
        )

        assert [name for name in found if name != "connecting"] == METRICS + WAITS
        assert found["latency_50"] <= found["latency_90"] <= found["latency_99"] <= found["latency_99_9"]
        assert descended(open_directory) == []
    assert list(open_directory.iterdir()) == []


@pytest.mark.parametrize("connection", [0, 1, 2])
def test_connections_are_kept_or_made_again(connection: int, open_directory: Path) -> None:
    with Agent(open_directory) as agent:
        found = figures(
            agent.perform(
                server_trials.described("nginx"), "web_requests", f"connection={connection}", *SHORT
            )
        )

    assert found["server"] > 0
    assert found["connections"] == (1000 if connection else 0)
    assert ("connecting" in found) == bool(connection)
    assert found["longest_wait"] > 0


def test_a_series_is_as_long_as_its_requests(open_directory: Path) -> None:
    """The time is the whole series', and the rest a request's."""
    with Agent(open_directory) as agent:
        found = figures(
            agent.perform(
                server_trials.described("nginx"),
                "web_series",
                "requests=500",
                "batches=2",
                "operations=1",
                "warmup_ns=0",
            )
        )

    assert found["time"] > 100 * found["latency_50"]


@pytest.mark.bpf
def test_what_a_request_costs_its_server_is_counted_call_by_call(steelyard: Run, tmp_path: Path) -> None:
    study = tmp_path / "a.toml"
    study.write_text(
        'name = "a"\ntitle = "a"\nsystems = ["native"]\n[design]\nblocks = 2\nbudget = "60s"\n'
        '[[workload]]\nname = "web_requests"\nserver = "nginx"\n'
        "[trial]\nbatches = 2\nbatch_ns = 50000000\nwarmup_ns = 0\n"
    )
    answer = steelyard("run", str(study), "--format", "json")

    (account,) = json.loads(answer.stdout)["accounts"]
    (kept,) = json.loads(answer.stdout)["latencies"]
    assert kept["requests"] > 0
    assert list(kept["quantiles_ns"]) == ["0.5", "0.9", "0.99", "0.999"]
    assert account["metric"] == "time"
    assert {name for name in account["calls"] if not name.startswith("server ")} == {"all"}
    # Each request is one recvfrom, and the page's file is opened for it.
    assert account["calls"]["server recvfrom"][0] == pytest.approx(1, abs=0.05)
    assert account["calls"]["server openat"][0] == pytest.approx(1, abs=0.05)


SEARCH = ("web_saturation", "clients=16", "steps=4", "step_ms=50")


def test_a_search_finds_what_a_server_holds(open_directory: Path) -> None:
    with Agent(open_directory) as agent:
        found = figures(agent.perform(server_trials.described("nginx"), *SEARCH, "limit_us=600000000"))

    assert {"request", "server", "client", "latency_50", "latency_99", *WAITS} <= set(found)
    assert found["latency_50"] <= found["latency_99"]
    assert found["request"] > found["client"] > 0


def test_a_limit_that_no_rate_holds_fails_the_search(open_directory: Path) -> None:
    said = server_trials.failure(open_directory, server_trials.described("nginx"), *SEARCH, "limit_us=1")

    assert said.startswith("not even ")
    assert said.endswith(("latency rose above the limit", "own limit: it was late", "own limit: it was busy"))


def test_an_open_load_keeps_its_rate_whatever_the_server_does(open_directory: Path) -> None:
    settings = ("rate=500", "poisson=1", "clients=50", "batches=2", "operations=250", "warmup_ns=0")
    with Agent(open_directory) as agent:
        records = agent.perform(server_trials.described("nginx"), "web_requests", *settings)

    end = records[-1]
    assert end["status"] == "ok", end
    time_ns = next(one for one in records if one.get("metric") == "time" and one["record"] == "samples")
    # 250 arrivals at 500 a second take a half second on the average, with a standard deviation of 32 ms.
    assert all(0.3e9 < one < 0.9e9 or one > 0.9e9 for one in time_ns["durations_ns"])
    assert min(time_ns["durations_ns"]) > 0.3e9


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (false(b"", b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"), "status"),
        (false(b"", ANSWER), "length"),
        (false(b"", ANSWER.replace(b"4\r", b"1024\r")), "closed"),
        (false(b"", b"no HTTP at all\r\n\r\n"), "malformed"),
        (false(b"", end="silence"), "timeout"),
        (false(b""), "closed"),
    ],
)
def test_an_answer_that_is_not_the_document_fails_the_trial(server: str, reason: str, tmp_path: Path) -> None:
    said = server_trials.failure(tmp_path, server, "web_requests", "operations=3")

    assert "requests failed: " in said
    assert reason in said


def test_a_server_that_is_never_ready_says_its_last_words(tmp_path: Path) -> None:
    server = false(b"", ready="greeting 220").replace("name false", "name false\nlog {directory}/words")

    assert "greeting" not in server.replace("ready greeting", "")
    with Agent(tmp_path) as agent:
        agent.begin(server, "web_requests", *SHORT, "limit_ms=1500")
        end = agent.records()[-1]
    assert end["status"] == "timed out"


def test_a_server_that_ends_at_once_is_quoted(tmp_path: Path) -> None:
    lines = "name mine\nready accepts\nstart\n\t/bin/sh\n\t-c\n\techo the port is no good; exit 3"

    assert server_trials.failure(tmp_path, lines, "web_requests") == (
        "mine ended with status 3; it said: the port is no good"
    )


def test_another_port_is_taken_where_the_first_is(tmp_path: Path) -> None:
    """A server that finds its port taken says so, and is started three times in all."""
    counted = tmp_path / "counted"
    script = f"echo x >> {counted}; echo bind: Address already in use >&2; exit 1"
    lines = f"name mine\nready accepts\nstart\n\t/bin/sh\n\t-c\n\t{script}"

    assert "Address already in use" in server_trials.failure(tmp_path, lines, "web_requests")
    assert counted.read_text().count("x") == 3


def test_a_server_that_dies_under_load_is_named(open_directory: Path) -> None:
    with Agent(open_directory) as agent:
        agent.begin(server_trials.described("nginx"), "web_requests", "batches=1", "operations=100000000")
        running(open_directory, "nginx")
        until_loaded(open_directory)
        for process, name in working(open_directory).items():
            if name == "nginx":
                os.kill(process, signal.SIGKILL)
        end = agent.records()[-1]
        assert descended(open_directory) == []
    assert end["status"] == "failed"
    assert "nginx was killed by signal 9" in end["reason"] or "requests failed" in end["reason"]


def test_nothing_is_left_of_a_server_when_its_trial_is_killed(open_directory: Path) -> None:
    """The agent is killed, and its trial with it: neither can do anything any more."""
    agent = Agent(open_directory)
    agent.begin(
        server_trials.described("apache-prefork"), "web_requests", "batches=1", "operations=100000000"
    )
    running(open_directory, "apache2")
    agent.process.kill()
    agent.process.communicate()

    until(lambda: not descended(open_directory), "its end")


def test_a_server_without_its_program_says_what_to_install(tmp_path: Path) -> None:
    server = server_trials.described("nginx").replace("/usr/sbin/nginx", "/usr/sbin/no-nginx")
    with Agent(tmp_path) as agent:
        end = agent.perform(server, "web_requests")[-1]

    assert end["status"] == "unsupported"
    assert end["reason"] == "there is no program '/usr/sbin/no-nginx' on this system: install nginx-light"


@pytest.mark.root
def test_too_few_open_files_are_said_before_anything_is_started(open_directory: Path) -> None:
    os.chown(open_directory, 65534, 65534)
    user = ("setpriv", "--reuid=65534", "--clear-groups", "prlimit", "--nofile=120:120")
    with Agent(open_directory, under=user) as agent:
        end = agent.perform(server_trials.described("nginx"), "web_requests", "clients=200")[-1]

    assert (end["status"], end["reason"]) == (
        "unsupported",
        "it needs 264 open files, and this system allows 120",
    )


def test_without_a_server_nothing_is_measured(tmp_path: Path) -> None:
    with Agent(tmp_path) as agent:
        end = agent.perform("", "web_requests")[-1]

    assert (end["status"], end["reason"]) == ("unsupported", "no server is named: set server=")
