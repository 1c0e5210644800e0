"""The running totals of a watch, and the metrics that a Prometheus scrapes from them."""

import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import monitor_records
import monitor_runs
import pytest
from patience import patience
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from steelyard.errors import UsageError
from steelyard.text import shown
from steelyard.watch import openmetrics, records, tally

NAMES = {10: "make", 11: "cc1"}
Values = dict[tuple[str, ...], float]


def tally_of(*found: dict[str, Any], names: dict[int, str] = NAMES) -> tally.Totals:
    """A tally of these records; the programs of running processes are as `names` has them by then."""
    made = tally.Totals(name_of=lambda pid, begin_ns: names.get(pid))
    take(made, *found)
    return made


def take(into: tally.Totals, *found: dict[str, Any]) -> None:
    for line in monitor_records.lines(found).splitlines(keepends=True):
        one = records.parse(line)
        assert one is not None
        into.take(one)


def metrics(of: tally.Totals) -> dict[str, Values]:
    """What a scraper reads: of each series the values, by the program and then the other label."""
    text = generate_latest(openmetrics.Collector(of)).decode()
    assert text.endswith("# EOF\n")
    found: dict[str, Values] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = tuple(
                sample.labels[name] for name in sorted(sample.labels, key=lambda one: one != "program")
            )
            found.setdefault(sample.name, {})[labels] = sample.value
    return found


def scraped(address: openmetrics.Address, *, path: str = "/metrics", accept: str = "*/*") -> bytes:
    asked = urllib.request.Request(f"http://{address}{path}", headers={"Accept": accept})
    with urllib.request.urlopen(asked, timeout=patience(60)) as answer:
        content: bytes = answer.read()
    return content


def test_counters_add_up_by_program_and_times_are_in_seconds() -> None:
    found = metrics(
        tally_of(
            monitor_records.head(),
            monitor_records.process(10, "make", for_s=2.0),
            monitor_records.process(11, "cc1", for_s=4.0),
            monitor_records.process(12, "cc1", for_s=8.0),
        )
    )

    assert found["steelyard_cpu_seconds_total"] == {
        ("make", "user"): 0.75,
        ("make", "system"): 0.25,
        ("cc1", "user"): 4.5,
        ("cc1", "system"): 1.5,
    }
    assert found["steelyard_page_faults_total"]["cc1", "minor"] == 300
    assert found["steelyard_system_calls_total"]["cc1", "read"] == 80
    assert found["steelyard_system_call_errors_total"]["cc1", "read"] == 2
    assert found["steelyard_processes_seen_total"] == {("make",): 1, ("cc1",): 2}
    assert found["steelyard_processes"] == {("make",): 0, ("cc1",): 0}


def test_what_a_process_had_used_when_it_was_read_is_not_added_again_when_it_ends() -> None:
    of = tally_of(
        monitor_records.head(),
        monitor_records.reading(11, at_s=1, run_ns=1, faults_minor=100, calls={"read": [30, 0]}),
    )
    early = metrics(of)
    take(
        of,
        monitor_records.reading(11, at_s=2, faults_minor=140),
        monitor_records.process(11, "cc1", for_s=2.5),
    )
    late = metrics(of)

    assert early["steelyard_page_faults_total"]["cc1", "minor"] == 100
    assert early["steelyard_processes"] == {("cc1",): 1}
    assert late["steelyard_page_faults_total"]["cc1", "minor"] == 150
    assert late["steelyard_system_calls_total"] == {("cc1", "read"): 40, ("cc1", "write"): 7}
    assert late["steelyard_processes"] == {("cc1",): 0}


def test_a_process_that_executes_another_program_counts_for_it_from_then_on() -> None:
    names = {11: "sh"}
    of = tally_of(monitor_records.head(), monitor_records.reading(11, at_s=1, faults_minor=100), names=names)
    names[11] = "cc1"
    take(of, monitor_records.reading(11, at_s=2, faults_minor=120), monitor_records.process(11, "cc1"))

    assert metrics(of)["steelyard_page_faults_total"]["sh", "minor"] == 100
    assert metrics(of)["steelyard_page_faults_total"]["cc1", "minor"] == 50


def test_a_process_without_a_name_yet_is_counted_whole_when_it_ends() -> None:
    of = tally_of(monitor_records.head(), monitor_records.reading(99, at_s=1, faults_minor=100))
    assert "steelyard_page_faults_total" not in metrics(of)

    take(of, monitor_records.process(99, "gone"))

    assert metrics(of)["steelyard_page_faults_total"]["gone", "minor"] == 150


def test_no_counter_ever_goes_down() -> None:
    of = tally_of(monitor_records.head(detail="budget"))
    before: dict[str, Values] = {}
    for moment in range(1, 30):
        pid = 10 + moment // 4
        # An estimate of the whole may shrink when more is known.
        take(
            of,
            monitor_records.reading(
                pid, at_s=moment, begin_s=0, faults_minor=moment, calls={"read": [90 - moment, 0]}
            ),
        )
        if moment % 4 == 3:
            take(of, monitor_records.process(pid, "cc1", faults_minor=moment + 1))
        now = metrics(of)
        for name, values in before.items():
            if name.endswith("_total"):
                assert all(now[name][labels] >= value for labels, value in values.items()), name
        before = now


def test_what_was_not_seen_has_no_series() -> None:
    unseen = dict.fromkeys(monitor_records.FIGURES)
    found = metrics(
        tally_of(
            monitor_records.head(detail="life"), monitor_records.process(10, "make", calls=None, **unseen)
        )
    )

    assert not {name for name in found if "cpu_seconds" in name and "monitor" not in name}
    assert not {name for name in found if "call" in name or "fault" in name}
    assert found["steelyard_processes_seen_total"] == {("make",): 1}


def test_at_budget_and_profile_the_series_say_what_they_are() -> None:
    estimated = {"read": monitor_records.call(4, errors=1, expanded=4000.5, expanded_errors=1000.0)}
    sampled = {"read": monitor_records.call(0, samples=17)}

    budget = metrics(
        tally_of(monitor_records.head(detail="budget"), monitor_records.process(10, "make", calls=estimated))
    )
    profile = metrics(
        tally_of(monitor_records.head(detail="profile"), monitor_records.process(10, "make", calls=sampled))
    )

    assert budget["steelyard_system_calls_total"] == {("make", "read"): 4000.5}
    assert budget["steelyard_system_call_errors_total"] == {("make", "read"): 1000}
    assert profile["steelyard_system_call_samples_total"] == {("make", "read"): 17}
    assert "steelyard_system_calls_total" not in profile


@pytest.mark.parametrize(
    "name", [monitor_records.HOSTILE, monitor_records.ESCAPES, 'a"b\\c\nd}', "\ud800", "é€"]
)
def test_a_name_is_data(name: str) -> None:
    found = metrics(tally_of(monitor_records.head(), monitor_records.process(10, name)))

    assert list(found["steelyard_processes"]) == [(shown(name),)]


def test_programs_that_name_themselves_again_do_not_fill_the_store() -> None:
    many = [monitor_records.process(1000 + number, f"worker {number}") for number in range(1000)]
    found = metrics(tally_of(monitor_records.head(), *many))

    assert len(found["steelyard_processes_seen_total"]) == tally.PROGRAMS_MOST + 1
    assert sum(found["steelyard_processes_seen_total"].values()) == 1000
    assert found["steelyard_processes_seen_total"][tally.OTHERS,] == 1000 - tally.PROGRAMS_MOST


def test_the_monitor_tells_its_own_cost_and_what_it_lost() -> None:
    of = tally_of(monitor_records.head(), monitor_records.end(at_s=3, lost_calls=12))
    with openmetrics.serve(openmetrics.parse(":0"), of, monitor_cpu_ns=lambda: 2_500_000_000) as address:
        text = scraped(address).decode()

    assert 'steelyard_monitor_cpu_seconds_total{part="watcher"} 2.5' in text
    assert 'steelyard_monitor_cpu_seconds_total{part="reporter"} ' in text
    assert 'steelyard_monitor_lost_total{what="calls"} 12.0' in text


# The endpoint


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        (":9435", "127.0.0.1", 9435),
        ("127.0.0.1:9435", "127.0.0.1", 9435),
        ("[::1]:0", "::1", 0),
        ("0.0.0.0:1", "0.0.0.0", 1),
        ("localhost:65535", "localhost", 65535),
    ],
)
def test_an_address_is_of_this_host_alone_unless_another_is_written_out(
    text: str, host: str, port: int
) -> None:
    assert openmetrics.parse(text) == openmetrics.Address(host, port)


@pytest.mark.parametrize(
    "text", ["", "9435", ":", ":65536", ":-1", ":+1", ":１", "::1:9435", "[127.0.0.1", "a:b:1"]
)
def test_a_bad_address_is_a_sentence(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--openmetrics is '.*', but must be an address and a port"):
        openmetrics.parse(text)


def test_who_opens_many_connections_and_says_nothing_keeps_nobody_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They do not go by themselves while this looks."""
    monkeypatch.setattr(openmetrics, "_SILENCE_S", 600)
    with openmetrics.serve(openmetrics.Address("127.0.0.1", 0), tally_of()) as address:
        before = threading.active_count()
        silent = [socket.create_connection((address.host, address.port)) for _ in range(200)]

        assert scraped(address).endswith(b"# EOF\n")
        monitor_runs.until(lambda: threading.active_count() <= before + 40, "the end of most")
        for one in silent:
            one.close()


def test_who_asks_byte_by_byte_is_not_heard_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes long before its silence would end the connection."""
    monkeypatch.setattr(openmetrics, "_SILENCE_S", 600)
    monkeypatch.setattr(openmetrics, "_WHOLE_S", 1.0)
    with (
        openmetrics.serve(openmetrics.Address("127.0.0.1", 0), tally_of()) as address,
        socket.create_connection((address.host, address.port), timeout=0.1) as slow,
    ):
        end = time.monotonic() + monitor_runs.ENOUGH_S
        answered = None
        while answered is None and time.monotonic() < end:
            with suppress(TimeoutError):
                slow.sendall(b"x")
                answered = slow.recv(1)
        assert answered == b""
        assert scraped(address).endswith(b"# EOF\n")


def test_all_addresses_of_a_name_are_listened_at(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (place, 0)) for place in ("127.0.0.1", "127.0.0.2")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: known)
    with openmetrics.serve(openmetrics.Address("a name", 0), tally_of()) as address:
        monkeypatch.undo()
        for place in ("127.0.0.1", "127.0.0.2"):
            assert scraped(openmetrics.Address(place, address.port)).endswith(b"# EOF\n")
    for place in ("127.0.0.1", "127.0.0.2"):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((place, address.port))


def test_a_port_that_is_taken_is_a_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = openmetrics.Address("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(UsageError, match="already in use"), openmetrics.serve(address, tally_of()):
            pass


def test_a_host_that_is_not_there_is_a_sentence() -> None:
    with (
        pytest.raises(UsageError, match="cannot listen there"),
        openmetrics.serve(openmetrics.Address("no such host", 0), tally_of()),
    ):
        pass


def test_old_scrapers_get_the_old_format_and_other_paths_nothing() -> None:
    with openmetrics.serve(openmetrics.parse(":0"), tally_of(monitor_records.head())) as address:
        assert b"# EOF" not in scraped(address, accept="text/plain;version=0.0.4")
        assert scraped(address, accept="application/openmetrics-text;q=0.5,text/plain;q=0.2").endswith(
            b"# EOF\n"
        )
        with pytest.raises(urllib.error.HTTPError, match="404"):
            scraped(address, path="/")


# A real Prometheus


@contextmanager
def prometheus(target: openmetrics.Address, folder: Path) -> Iterator[str]:
    """One that scrapes the target every second; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        here = f"127.0.0.1:{free.getsockname()[1]}"
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\n"
        f"scrape_configs: [{{job_name: steelyard, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    command = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'store'}",
        f"--web.listen-address={here}",
    ]
    log = folder / "prometheus.log"
    with open(log, "wb") as written:
        server = subprocess.Popen(command, stdout=written, stderr=written, stdin=subprocess.DEVNULL)
    try:
        yield here
    finally:
        server.terminate()
        server.wait(timeout=patience(60))


def asked(here: str, query: str) -> dict[str, float]:
    """The query's answer by the label "call"; nothing while Prometheus has none."""
    address = f"http://{here}/api/v1/query?query={urllib.parse.quote(query)}"
    try:
        with urllib.request.urlopen(address, timeout=patience(60)) as answer:
            found = json.load(answer)["data"]["result"]
    except OSError:
        return {}
    return {one["metric"].get("call", ""): float(one["value"][1]) for one in found}


def until(here: str, query: str, wanted: dict[str, float]) -> dict[str, float]:
    deadline = time.monotonic() + patience(30)
    while (found := asked(here, query)) != wanted and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


@pytest.mark.program
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")
def test_a_prometheus_scrapes_the_known_figures(tmp_path: Path) -> None:
    query = f"steelyard_system_calls_total{{program={json.dumps(monitor_records.HOSTILE)}}}"
    of = tally_of(monitor_records.head(), monitor_records.process(10, monitor_records.HOSTILE, for_s=2.0))

    with (
        openmetrics.serve(openmetrics.parse(":0"), of) as address,
        prometheus(address, tmp_path) as here,
    ):
        assert until(here, query, {"read": 40, "write": 7}) == {"read": 40, "write": 7}
        assert asked(here, "sum(steelyard_cpu_seconds_total)") == {"": 1.0}
        take(of, monitor_records.process(11, monitor_records.HOSTILE, for_s=2.0))
        assert until(here, query, {"read": 80, "write": 14}) == {"read": 80, "write": 14}
