"""Records are held against each other and what was asked; what contradicts is refused, with a sentence."""

import json
import re
import time
from pathlib import Path

import pytest
import trial_records
from conversations import QUICK, Conversation, conversation
from http_servers import server, whole
from lies import RELATIONS
from loads import running
from synthetic import plan
from trial_records import Record

from steelyard.archive import relations
from steelyard.programs import built
from steelyard.running import dialogue
from steelyard.running.expectation import Expectation
from steelyard.running.records import ClockReading
from steelyard.study.model import Cell
from steelyard.study.plan import Trial
from steelyard.systems.protocol import RefusedRequest

CELLS = {
    "tcp_request": Cell("tcp_request", (*QUICK, ("latencies", 1))),
    "file_sequential_read": Cell("file_sequential_read", (*QUICK, ("size", 1 << 20))),
    "linpack_processes": Cell("linpack_processes", (("processes", 3), ("iterations", 16))),
    "memory_read": Cell("memory_read", (*QUICK, ("from", 4096), ("to", 16384))),
    "linpack_limit": Cell("linpack_limit", (("most", 4),)),
}
ONE_WINDOW = (("operations", 1), ("batches", 1), ("warmup_ns", 0), ("clients", 2))
ON_A_SERVER = {
    "web_load": Cell("web_load", (*ONE_WINDOW, ("warm_ms", 10), ("window_ms", 100))),
    "web_saturation": Cell(
        "web_saturation",
        (*ONE_WINDOW, ("steps", 4), ("step_ms", 200), ("limit_us", 600_000_000), ("share_permille", 1)),
    ),
}
MILLISECOND = 1_000_000
REPORTED = {"server": 20_000, "client": 10_000, "latency_50": 1030, "latency_90": 1039, "latency_99": 1 << 20,
            "latency_99_9": 1 << 20, "connections": 0, "connecting": 30_000, "longest_wait": 1 << 20,
            "silent": 0}  # fmt: skip
UNITS = {
    "connections": "connections per 1,000 requests",
    "silent": "per mille of the time without any answer",
}


def _of_a_server() -> Conversation:
    """What a web server's load says, without the server."""
    cell = Cell("web_requests", (("batches", 2), ("operations", 100), ("warmup_ns", 0)))
    catalogue = built.catalogue()
    workload, trial = catalogue.find(cell.workload), Trial(0, 0, "a", cell, pad=7, seed=1)
    initial = {one.name: one.initial for one in (*catalogue.parameters, *workload.parameters)}
    settings = plan().settings(trial)
    now = time.monotonic_ns()
    moments = iter(range(now, now + 100 * MILLISECOND, MILLISECOND))
    told = [
        *trial_records.trial(
            dialogue.request(trial, settings),
            clock=lambda: next(moments),
            durations_ns=lambda operations: (400_000, 410_000),
            used=250,
            metrics=("time",),
        )
    ]
    (timed,) = (one for one in told if one["record"] == "samples")
    (used,) = (one for one in told if one["record"] == "usage")
    more: list[Record] = [
        timed | {"metric": metric, "unit": UNITS.get(metric, "ns"), "operations": 1, "durations_ns": [figure]}
        for metric, figure in REPORTED.items()
    ]
    more += [used | {"metric": metric, "operations": 1} for metric in REPORTED]
    buckets = {"values_ns": [1024, 1 << 20], "counts": [190, 10]}
    more.append({"record": "histogram", "copy": 0, "metric": "latency", **buckets})
    told[2:2] = more
    lines = tuple(json.dumps(one).encode() for one in told)
    return Conversation(
        Expectation(trial, workload, settings, initial, 1),
        lines,
        ClockReading(now, now, 1000),
        ClockReading(now + 100 * MILLISECOND, now + 100 * MILLISECOND, 1000),
    )


def metrics_of(said: Conversation) -> set[str]:
    return {one["metric"] for one in map(json.loads, said.said) if one["record"] == "samples"}


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Conversation]:
    """Right records of each workload."""
    found = {name: conversation(cell, tmp_path_factory.mktemp("agent")) for name, cell in CELLS.items()}
    for _ in range(50):  # what the machine was busy is counted in ticks, of which a short trial may meet none
        if {"demand", "rest"} <= metrics_of(found["tcp_request"]):
            break
        found["tcp_request"] = conversation(CELLS["tcp_request"], tmp_path_factory.mktemp("agent"))
    return found | {"web_requests": _of_a_server()} | _on_a_server(tmp_path_factory)


def _on_a_server(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Conversation]:
    found = {}
    with server(whole) as port:
        for name, cell in ON_A_SERVER.items():
            for _ in range(20):  # a busy host may let nobody run for the whole of a window
                found[name] = conversation(cell, tmp_path_factory.mktemp("agent"), server=running(port))
                if b'"status":"ok"' in found[name].said[-1]:
                    break
    return found


@pytest.mark.program
@pytest.mark.parametrize("workload", RELATIONS)
def test_right_records_are_let_in(workload: str, right: dict[str, Conversation]) -> None:
    assert right[workload].outcome(right[workload].said).status == "ok"


@pytest.mark.program
@pytest.mark.parametrize(("workload", "name"), [(one, name) for one in RELATIONS for name in RELATIONS[one]])
def test_a_contradiction_is_refused_with_a_sentence(
    workload: str, name: str, right: dict[str, Conversation]
) -> None:
    lie, told = RELATIONS[workload][name], right[workload]
    records = [json.loads(line) for line in told.said]
    samples = {one["metric"]: one for one in records if one["record"] == "samples"}
    if workload == "tcp_request" and "softirq" not in samples:  # so short a trial meets too few ticks
        records.insert(2, samples["retransmits"] | {"metric": "softirq", "unit": "per mille of demand"})

    with pytest.raises(RefusedRequest) as refusal:
        told.outcome(lie.spoil(records))

    assert re.search(lie.found, str(refusal.value)), refusal.value


@pytest.mark.program
def test_the_sizes_of_a_curve_are_those_that_the_load_program_takes(tmp_path: Path) -> None:
    for workload, asked in (("memory_read", (512, 40_000, 3)), ("memory_line", (8, 1024, 4)),
                            ("tcp_send_sizes", (64, 9000, 2))):  # fmt: skip
        names = ("from", "to", "steps")
        told = conversation(Cell(workload, (*QUICK, *zip(names, asked, strict=True))), tmp_path)
        points = {one["point"] for one in map(json.loads, told.said) if one["record"] == "samples"}

        assert sorted(points - {None}) == relations.sizes(
            from_=asked[0], to=asked[1], steps=asked[2], grain=built.catalogue().find(workload).sweep_grain
        )


def test_a_part_may_exceed_its_whole_by_what_ticks_may_be_wrong_by() -> None:
    figures = {"demand": 100, "near": 5000}

    assert relations.contradiction(figures, tick_ns=10_000) is None
    assert str(relations.contradiction(figures, tick_ns=0)) == (
        "near was 5000, but must be about 100 at most, which is demand"
    )


@pytest.mark.parametrize(
    ("metric", "found"),
    [
        ("latency_50", ("latency", 0.5)),
        ("latency_99_9", ("latency", 0.999)),
        ("read_latency_99", ("read_latency", 0.99)),
        ("latency_mean", None),
        ("latency", None),
        ("time", None),
    ],
)
def test_a_quantile_is_known_by_its_name(metric: str, found: tuple[str, float] | None) -> None:
    assert relations.quantile_of(metric) == (found and (found[0], pytest.approx(found[1])))
