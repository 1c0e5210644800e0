"""The dissertation's requests over TCP: what the workload does, and table 6.1 beside today's."""

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic
from patience import patience

from steelyard.analysis import evaluate
from steelyard.analysis.model import Evaluation
from steelyard.errors import UnknownName
from steelyard.events import Outcome
from steelyard.papers import tables
from steelyard.papers.source import NOTHING, Printed
from steelyard.programs import built
from steelyard.study import plan as plans
from steelyard.study import study_file
from steelyard.study.model import CellTable, Restatement, Study, TableFigure
from steelyard.study.plan import Trial

STUDY = study_file.read("goncalves-tcp")
(TABLE,) = STUDY.cell_tables
LEVELS = (5000, 12000, 25000, 50000, 100000)
# As printed in the dissertation, in seconds.
PAPER = {
    "Linux": ["0.79 s", "1.90 s", "4.03 s", "8.11 s", "15.64 s"],
    "Windows NT": ["1.75 s", "4.24 s", "8.98 s", "17.59 s", "36.00 s"],
    "Windows NT (MFC)": ["8.80 s", "21.20 s", "44.18 s", "88.88 s", "176.20 s"],
}


# --- table 6.1


def _study(**changes: object) -> Study:
    return replace(STUDY, cell_tables=(replace(TABLE, **changes),), systems=("native", "uml"))  # type: ignore[arg-type]


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    """Ten microseconds a request on one system and four times that on the other; half as much again through
    the library; and nothing of 100,000 requests through it on the slower one."""
    made = plans.make(
        replace(_study(), design=replace(STUDY.design, blocks=6)),
        systems=("native", "uml"),
        processors=2,
        seed=1,
    )

    def measured(trial: Trial) -> Outcome | None:
        parameters = dict(trial.cell.parameters)
        requests, library = (int(parameters[name]) for name in ("requests", "library"))
        if (trial.system, requests, library) == ("uml", 100000, 1):
            return None
        each = (10_000 if trial.system == "native" else 40_000) * (1.5 if library else 1)
        return synthetic.outcome(trial, each * requests, operations=1, batches=1)

    return evaluate.of(synthetic.experiment(tmp_path, made, measured))


def _table(evaluation: Evaluation, **changes: object) -> Printed:
    (found,) = tables.tables(evaluation, _study(**changes))
    return found


def _column(table: Printed, heading: str) -> list[str]:
    place = table.headings.index(heading)
    return [row[place] for row in table.rows]


@pytest.mark.computes
def test_the_paper_s_columns_stand_first_as_printed(evaluation: Evaluation) -> None:
    table = _table(evaluation)

    assert table.headings == (
        "requests",
        *PAPER,
        "native, sockets",
        "native, stdio",
        "uml, sockets",
        "uml, stdio",
    )
    assert _column(table, "requests") == ["5,000", "12,000", "25,000", "50,000", "100,000"]
    for heading, cells in PAPER.items():
        assert _column(table, heading) == cells


@pytest.mark.computes
def test_today_s_columns_have_their_own_cell_s_time_with_its_interval(evaluation: Evaluation) -> None:
    table = _table(evaluation)

    assert _column(table, "native, sockets")[0] == "50.0 ms ([50.0 ms, 50.0 ms])"
    assert _column(table, "native, stdio")[4] == "1.50 s ([1.50 s, 1.50 s])"
    assert _column(table, "uml, sockets")[2] == "1.00 s ([1.00 s, 1.00 s])"


@pytest.mark.computes
def test_what_was_not_measured_is_a_dash(evaluation: Evaluation) -> None:
    assert _column(_table(evaluation), "uml, stdio")[4] == NOTHING
    assert _column(_table(evaluation), "uml, stdio")[3] != NOTHING


@pytest.mark.computes
def test_several_figures_are_columns_of_each_system_and_every_level_is_a_row(evaluation: Evaluation) -> None:
    """As papers have them, Kretschek's table 4 among them: throughput and latency of each system."""
    figures = (
        TableFigure("time", "time"),
        TableFigure("time per request", "time", Restatement(per="requests")),
    )
    table = _table(evaluation, figures=figures, levels=(5000, 100000), variants=TABLE.variants[:1])

    assert table.headings[:2] == ("requests", "Linux, time")
    assert table.headings[-2:] == ("uml, sockets, time", "uml, sockets, time per request")
    assert _column(table, "requests") == ["5,000", "100,000"]
    assert _column(table, "Linux, time") == ["0.79 s", "15.64 s"]
    assert _column(table, "native, sockets, time")[1] == "1.00 s ([1.00 s, 1.00 s])"
    assert _column(table, "native, sockets, time per request")[1] == "10.0 µs ([10.0 µs, 10.0 µs])"


def test_counts_have_no_unit_and_section_6_2_can_be_printed(evaluation: Evaluation) -> None:
    table = _table(
        evaluation,
        name="section 6.2",
        published="linpack-100x100",
        over="processes",
        levels=(100, 200, 300),
        figures=tuple(
            TableFigure(name, name) for name in ("processes completed", "total time", "time per process")
        ),
    )

    assert _column(table, "Windows NT, processes completed") == ["100", "172", NOTHING]
    assert _column(table, "Linux, total time") == ["about 15,000 s", "30,031 s", "26,930 s"]
    assert _column(table, "Linux, time per process") == ["150 s", "150.2 s", "110.8 s"]


@pytest.mark.computes
@pytest.mark.parametrize(
    "changes", [{"published": "tcp-echo"}, {"over": "request"}, {"name": "6.10"}, {"paper": "nobody"}]
)
def test_what_nobody_published_is_refused_by_name(evaluation: Evaluation, changes: dict[str, str]) -> None:
    (wrong,) = changes.values()

    with pytest.raises(UnknownName, match=wrong):
        _table(evaluation, **changes)


@pytest.mark.computes
def test_the_variation_is_that_of_pairs_as_a_share_of_the_larger(evaluation: Evaluation) -> None:
    table = _table(evaluation, has_variation=True, variants=TABLE.variants[:1])

    assert "native, sockets, variation" not in table.headings
    assert _column(table, "uml, sockets, variation")[0].startswith("75.00 % ([")


@pytest.mark.computes
def test_a_rate_is_the_operations_of_a_second(evaluation: Evaluation) -> None:
    table = _table(evaluation, figures=(TableFigure("time", "time", Restatement(is_rate=True)),))

    assert _column(table, "native, sockets")[0] == "20.0 /s ([20.0 /s, 20.0 /s])"
    assert table.cells[0][-2].estimate is not None
    assert table.cells[0][-2].unit == "/s"


@pytest.mark.computes
def test_every_row_has_a_text_for_every_heading(evaluation: Evaluation) -> None:
    assert isinstance(TABLE, CellTable)
    assert {len(row) for row in _table(evaluation).rows} == {1 + len(PAPER) + 4}


# --- the workload


def _perform(*settings: str, under: tuple[str, ...] = ()) -> dict[str, object]:
    command = [*under, str(built.load("glibc")), "run", "tcp_echo", *settings]
    answer = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    end: dict[str, object] = json.loads(answer.stdout.splitlines()[-1])
    return end


def _calls(tmp_path: Path, *settings: str) -> Counter[str]:
    """What client and server ask of the kernel for their sockets: they also read the settings of the
    machine's network, of which there are more where it has more interfaces.
    """
    trace = tmp_path / "trace"
    end = _perform(*settings, under=("strace", "-f", "-y", "-qq", "-o", str(trace)))
    assert end["status"] == "ok", end
    said = trace.read_text(errors="replace")
    return Counter(re.findall(r"^\d+ +(\w+)\(\d+<(?:socket|TCP)", said, re.MULTILINE))


@pytest.mark.strace
@pytest.mark.parametrize(
    ("library", "used", "unused"),
    [(0, ("sendto", "recvfrom"), ("read", "write")), (1, ("write", "read"), ("sendto", "recvfrom"))],
)
def test_a_request_is_sent_and_received_twice_by_sockets_or_by_the_library(
    tmp_path: Path, library: int, used: tuple[str, ...], unused: tuple[str, ...]
) -> None:
    """A buffered stream asks the kernel as often, if it is any good. (Numbers of as many digits.)"""
    few, many = (_calls(tmp_path, f"requests={count}", f"library={library}") for count in (112, 129))

    assert {name: many[name] - few[name] for name in used} == dict.fromkeys(used, 2 * 17)
    assert {name: many[name] - few[name] for name in unused} == dict.fromkeys(unused, 0)


@pytest.mark.program
@pytest.mark.parametrize("library", [0, 1])
@pytest.mark.parametrize("size", [1, 63, 4096, 5000, 65536])
def test_requests_of_any_size_come_back_whole(size: int, library: int) -> None:
    assert _perform(f"size={size}", "requests=50", f"library={library}")["status"] == "ok"


@pytest.mark.program
@pytest.mark.parametrize("library", [0, 1])
def test_a_server_that_dies_fails_the_trial_with_the_reason(library: int) -> None:
    command = [str(built.load("glibc")), "run", "tcp_echo", "requests=100000000", f"library={library}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as agent:
        os.kill(_grandchild(agent.pid), signal.SIGKILL)
        assert agent.stdout is not None
        end = json.loads(agent.stdout.read().splitlines()[-1])

    assert end["status"] == "failed"
    assert re.match("the server ended the connection|(recv|send|fread|fwrite): ", end["reason"])


def _grandchild(process: int) -> int:
    """The server: the child of the trial's process, which is a child of that one."""
    until = time.monotonic() + patience(20)
    while time.monotonic() < until:
        found = _children(process)
        servers = [grandchild for child in found for grandchild in _children(child)]
        if servers:
            return servers[0]
        time.sleep(0.05)
    raise AssertionError("no server was started")


def _children(process: int) -> list[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]
