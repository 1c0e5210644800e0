"""The command `steelyard load`: what it says of a server, also of one that hangs, dies or is not there."""

import csv
import io
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from http_servers import BODY, server, whole
from installed_command import COMMAND, Run
from patience import patience

from steelyard.archive import experiments, reading

pytestmark = pytest.mark.program


def silent(connection: socket.socket, _: int) -> bool:
    time.sleep(3)
    return False


@pytest.mark.parametrize(
    "words",
    [
        ("--clients", "0"),
        ("--clients", "1,,2"),
        ("--clients", "9" * 400),
        ("--for", "1s"),
        ("--rate", "nan"),
        ("--rate", "-1"),
        ("--rate", "0.5"),
        ("--think", "5ms", "--rate", "5"),
        ("--arrivals", "exponential"),
        ("--verify", "2"),
        ("--pid", "0"),
        ("--trials", "0"),
        ("--threads", "1000"),
        ("--quantile", "0.9"),
        ("--saturation", "10ms", "--rate", "5"),
        ("--saturation", "10ms", "--clients", "1,2"),
        ("--user-equivalents", "5"),
        ("--content", "/"),
        ("--model", "surge", "--clients", "5"),
        ("--model", "surge", "--rate", "5"),
        ("--connection", "often"),
    ],
)
def test_a_wrong_option_is_a_sentence_that_names_it(steelyard: Run, words: tuple[str, ...]) -> None:
    answer = steelyard("load", "http://127.0.0.1:1/", *words)

    assert answer.returncode == 2
    assert words[0] in answer.stderr
    assert len(answer.stderr) < 400
    assert answer.stdout == ""


def test_levels_and_costs_are_said(steelyard: Run, tmp_path: Path) -> None:
    with server(whole) as port:
        url, exported = f"http://127.0.0.1:{port}/", tmp_path / "load.json"
        words = ("--clients", "1,4", "--for", "4s", "--trials", "2", "--pid", str(os.getpid()))
        answer = steelyard("load", url, *words, "--export-json", str(exported))
    levels = json.loads(exported.read_text())["server_loads"]

    assert answer.returncode == 0, answer.stderr
    assert f"{url} served at most" in answer.stdout
    assert "requests a second" in answer.stdout
    assert [one["parameters"]["clients"] for one in levels] == [1, 4]
    for level in levels:
        clients = level["parameters"]["clients"]
        assert level["rate"]["value"] > 0
        assert level["bytes_rate"] == pytest.approx(level["rate"]["value"] * len(BODY))
        assert list(level["latency_ns"]) == ["0.5", "0.9", "0.99", "0.999"]
        assert level["server_ns"]["value"] > 0
        assert level["failures"] == {}
        # Of two trials, or where the machine stood still of the one for which there was time.
        assert level["connections"] in (clients, 2 * clients)
        assert level["longest_ns"] > 0
        assert f"\n{clients} client" in answer.stdout


def test_a_load_has_every_form_of_a_report(steelyard: Run, tmp_path: Path) -> None:
    page, exported = tmp_path / "page.html", tmp_path / "load.json"
    with server(whole) as port:
        url = f"http://127.0.0.1:{port}/"
        words = ("--for", "3s", "--trials", "1", "--format", "csv")
        answer = steelyard("load", url, *words, "--html", str(page), "--export-json", str(exported))
    told = json.loads(steelyard("report", "--format", "json").stdout)

    assert answer.returncode == 0, answer.stderr
    header, *rows = csv.reader(io.StringIO(answer.stdout))
    assert {"cell", "metric"} <= {*header}
    assert {len(row) for row in rows} <= {len(header)}
    assert f"{url} served at most" in page.read_text()
    assert json.loads(exported.read_text())["server_loads"] == told["server_loads"]
    assert told["server_loads"][0]["answers"] > 0
    assert told["study"] == "load"


def test_a_server_that_hangs_has_served_nothing(steelyard: Run) -> None:
    words = ("--trials", "1", "--timeout", "300ms")
    with server(whole, silent) as port:
        answer = steelyard("load", f"http://127.0.0.1:{port}/", "--for", "2s", *words)
    with server(whole, silent) as port:
        url = f"http://127.0.0.1:{port}/"
        searched = steelyard("load", url, "--for", "5s", *words, "--saturation", "10ms")

    assert answer.returncode == searched.returncode == 1
    assert "none of 1 trial succeeded" in answer.stdout
    assert "requests failed: timeout " in answer.stderr.splitlines()[-1]
    assert "none of 1 trial succeeded" in searched.stdout
    assert "no request was answered within " in searched.stderr.splitlines()[-1]


def test_a_server_that_is_not_there_is_a_sentence(steelyard: Run) -> None:
    with socket.socket() as held:  # nobody else gets the port, and nobody listens there
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/"
        answer = steelyard("load", url, "--for", "4s", "--trials", "2")

    assert answer.returncode == 1
    last = answer.stderr.splitlines()[-1]
    assert url in last
    assert last.endswith("failed on native: the server does not answer: Connection refused")


def test_what_was_measured_before_a_server_dies_is_printed(steelyard: Run, tmp_path: Path) -> None:
    """It closes connections after the first trial's three, of which two fetch the body."""
    came = iter(range(1_000_000))

    def until_it_dies(connection: socket.socket, number: int) -> bool:
        return (number > 0 or next(came) < 3) and whole(connection, number)

    with server(until_it_dies) as port:
        words = ("--for", "8s", "--trials", "3", "--export-json", str(tmp_path / "json"))
        answer = steelyard("load", f"http://127.0.0.1:{port}/", *words)
    told = json.loads((tmp_path / "json").read_text())

    assert answer.returncode == 0
    assert "served at most" in answer.stdout
    assert [one["trials"] for one in told["server_loads"]] == [1]
    (failed,) = told["troubles"]
    assert (failed["status"], failed["trials"]) == ("failed", told["trials"] - 1)
    assert failed["reason"] in " ".join(answer.stdout.split())
    assert "the server sent nothing, and ended the connection" in failed["reason"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_an_interrupted_load_says_what_it_has_and_the_same_command_resumes(
    number: int, status: int, steelyard: Run, archive: Path
) -> None:
    """Nothing is left that runs: tests/support/bounds.py fails whatever leaves a process."""

    def journal() -> list[dict[str, Any]]:
        """The trials that are kept, while the experiment is open."""
        files = archive.glob("experiments/*/journal.jsonl")
        events = [json.loads(line) for one in files for line in one.read_bytes().split(b"\n")[:-1]]
        return [one for one in events if one["kind"] == "trial"]

    with server(whole) as port:
        words = ["load", f"http://127.0.0.1:{port}/", "--for", "6s", "--trials", "3"]
        running = subprocess.Popen(
            [COMMAND, *words, "--archive", archive],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        assert running.stderr is not None
        while "1 trial" not in running.stderr.readline():  # which is on the disk then
            assert running.poll() is None
        if number == signal.SIGINT:  # as a terminal sends it
            os.killpg(running.pid, number)
        else:
            running.send_signal(number)
        text, said = running.communicate(timeout=patience(60))
        before = journal()
        (name,) = (one.name for one in archive.glob("experiments/*"))
        resumed = steelyard(*words, "--format", "json")

    assert running.returncode == status, said
    assert ("served at most" in text) == (number == signal.SIGINT)
    assert before
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming" in resumed.stderr
    assert json.loads(resumed.stdout)["experiment"] == name
    with reading.connect(experiments.find(archive, None, print)) as connection:
        kept = connection.execute("SELECT block, began FROM trials WHERE status = 'ok'").fetchall()
    assert [block for block, _ in sorted(kept)] == list(range(len(kept)))
    assert {(one["block"], one["began"]) for one in before} <= {*kept}
    assert len(kept) > len(before)
