"""The records of real trials, changed at random: none gets in that cannot be right, and what does is kept."""

import copy
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from conversations import QUICK, Conversation, conversation
from http_servers import server, whole
from hypothesis import given, settings
from hypothesis import strategies as st
from loads import running

from steelyard import shapes
from steelyard.analysis import evaluate
from steelyard.archive import closing, experiments, reading
from steelyard.archive.journal import Journal
from steelyard.events import Outcome
from steelyard.report import console, plain
from steelyard.running import experiment
from steelyard.study.model import Cell
from steelyard.systems import protocol
from steelyard.systems.protocol import Record, RefusedRequest
from steelyard.text import quoted

# That many times as many in a run by hand, and then each time others.
TIMES = int(os.environ.get("STEELYARD_EXAMPLES", "1"))
often = settings(max_examples=150 * TIMES, derandomize=TIMES == 1, database=None, deadline=None)

pytestmark = pytest.mark.program

CELLS = (
    Cell("null", QUICK),
    Cell("syscall", (("batches", 2), ("batch_ns", 100_000), ("warmup_ns", 0), ("copies", 2))),
    Cell("context_switch", QUICK),
    Cell("memory_read", (*QUICK, ("from", 4096), ("to", 16384))),
    Cell("linpack_processes", (("processes", 3), ("iterations", 16))),
    Cell("linpack_limit", (("most", 4),)),
)
ONE_WINDOW = (("operations", 1), ("batches", 1), ("warmup_ns", 0), ("warm_ms", 10), ("window_ms", 100))
LOAD = Cell("web_load", ONE_WINDOW)


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> list[Conversation]:
    return [conversation(cell, tmp_path_factory.mktemp("agent")) for cell in CELLS]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Conversation:
    with server(whole) as port:
        for _ in range(20):  # a busy host may let nobody run for the whole of a window
            found = conversation(LOAD, tmp_path_factory.mktemp("agent"), server=running(port))
            if found.outcome(found.said).status == "ok":
                break
    return found


# What may stand where a right value stood: near it, at the bounds of what is allowed, or anything.
NUMBERS = st.one_of(
    st.integers(),
    st.sampled_from([0, -1, 1, 2, 3, 100, (1 << 62), (1 << 63) - 1, 1 << 63, 1 << 64, 10**30]),
    st.floats(),
)
WORDS = st.one_of(
    st.text(st.characters(codec=None, exclude_categories=())),
    st.sampled_from(["ok", "failed", "time", "ns", "alone", "together", "\ud800", "\0", "x" * 3000]),
)
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=8,
)


def _places(tree: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a record, from the whole down."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(place for key, value in inner for place in _places(value, (*path, key)))]


def _put(tree: Any, path: tuple[Any, ...], value: object) -> Any:
    if not path:
        return value
    tree = copy.copy(tree)
    tree[path[0]] = _put(tree[path[0]], path[1:], value)
    return tree


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    return _at(tree[path[0]], path[1:]) if path else tree


def _near(value: object) -> st.SearchStrategy[Any]:
    """Often next to what stood there, so that some of it is let in."""
    if type(value) is int:
        near = st.sampled_from([value - 1, value + 1, value * 2, value // 2])
        return st.one_of(near, near, ANYTHING)
    return ANYTHING


@st.composite
def _changed(draw: st.DrawFn, record: Record) -> bytes:
    """The record with another value somewhere, or a key left out or added."""
    places = _places(record)
    numbers = [place for place in places if type(_at(record, place)) is int]
    path = draw(st.sampled_from(numbers if numbers and draw(st.booleans()) else places))
    value = _at(record, path)
    match draw(st.sampled_from(["put", "put", "leave out", "add"])):
        case "leave out" if path and isinstance(path[-1], str):
            holder = _at(record, path[:-1])
            left = {key: each for key, each in holder.items() if key != path[-1]}
            record = _put(record, path[:-1], left)
        case "add" if isinstance(value, dict):
            record = _put(record, path, value | {draw(WORDS): draw(ANYTHING)})
        case _:
            record = _put(record, path, draw(_near(value)))
    return json.dumps(record, separators=(",", ":")).encode()


@st.composite
def _told(draw: st.DrawFn, said: Sequence[bytes]) -> list[bytes]:
    """What was said, with a few records changed, left out, twice, or elsewhere."""
    lines = list(said)
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        number = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["change", "change", "change", "leave out", "twice", "move", "cut"])):
            case "leave out" if len(lines) > 1:
                del lines[number]
            case "twice":
                lines.insert(draw(st.integers(0, len(lines))), lines[number])
            case "move":
                lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(number))
            case "cut":
                lines[number] = lines[number][: draw(st.integers(0, len(lines[number])))]
            case _:
                try:
                    record = json.loads(lines[number])
                except ValueError:
                    continue
                lines[number] = draw(_changed(record))
    return lines


def _numbers_and_texts(tree: object) -> list[int | str]:
    if isinstance(tree, dict):
        return [one for value in tree.values() for one in _numbers_and_texts(value)]
    if isinstance(tree, list):
        return [one for value in tree for one in _numbers_and_texts(value)]
    return [] if tree is None else [tree]  # type: ignore[list-item]


def _is_a_sentence(refusal: RefusedRequest) -> None:
    assert str(refusal).isprintable()
    assert len(str(refusal)) < 400


def test_what_real_trials_say_is_let_in_whole(conversations: list[Conversation]) -> None:
    for one in conversations:
        outcome = one.outcome(one.said)
        assert (outcome.status, outcome.reason) == ("ok", None), one.expected.workload.name
        for line in one.said:
            assert protocol.read(line) == json.loads(line)


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("Bücherei".encode(), "Bücherei"),
        ("Büch".encode()[:2], "B\\xc3"),
        (b"\xff", "ÿ"),
        ("日本".encode(), "日本"),
        ("x\u202e".encode(), "x\\u202e"),
    ],
)
def test_bytes_are_read_as_utf_8_where_they_are_that(told: bytes, kept: str) -> None:
    line = json.dumps({"record": "error", "trial": None, "reason": told.decode("latin-1")}).encode()
    record = protocol.read(line)

    assert record is not None
    assert record["reason"] == kept
    assert protocol.known_part("error", record)["reason"] == kept


@often
@given(st.data())
def test_a_changed_record_is_refused_or_within_bounds(
    conversations: list[Conversation], data: st.DataObject
) -> None:
    one = data.draw(st.sampled_from(conversations))
    line = data.draw(_changed(json.loads(data.draw(st.sampled_from(one.said)))))
    try:
        record = protocol.read(line)
    except RefusedRequest as refusal:
        _is_a_sentence(refusal)
        return
    if record is None:
        return
    assert record.keys() == {"record", *protocol.KINDS[record["record"]]}
    for value in _numbers_and_texts(record):
        assert type(value) in (int, str)
        if isinstance(value, str):
            assert value.isprintable()
            assert len(value) <= shapes.REASON_MOST
        else:
            assert 0 <= value < 1 << 63


@often
@given(
    st.binary(max_size=200), st.sampled_from(['{"record":', '{"record":"samples",', '{"record":"end"}', ""])
)
def test_any_bytes_are_a_record_or_none_or_refused(rest: bytes, start: str) -> None:
    try:
        record = protocol.read(start.encode() + rest)
    except RefusedRequest as refusal:
        _is_a_sentence(refusal)
    else:
        assert record is None or record["record"] in protocol.KINDS


@often
@given(ANYTHING)
def test_any_value_is_quoted_on_one_short_line(value: object) -> None:
    assert len(quoted(value)) <= 60
    assert quoted(value).isprintable()


def test_whatever_is_said_a_trial_is_refused_or_kept_as_it_was_told(
    conversations: list[Conversation], tmp_path: Path
) -> None:
    accepted: list[Outcome] = []

    @often
    @given(st.data())
    def refused_or_accepted(data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(conversations))
        try:
            outcome = one.outcome(data.draw(_told(one.said)))
        except RefusedRequest as refusal:
            _is_a_sentence(refusal)
        else:
            block = len(accepted) // 2
            system = "ab"[len(accepted) % 2]
            accepted.append(replace(outcome, trial=replace(outcome.trial, block=block, system=system)))

    refused_or_accepted()

    assert len(accepted) > 10
    found = _archived(accepted, tmp_path)
    assert _kept(found) == [_flat(one) for one in accepted]
    assert evaluate.of(found).blocks == len({one.trial.block for one in accepted})


def test_a_changed_load_is_refused_or_kept_as_it_was_told(
    load: Conversation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    accepted: list[Outcome] = []

    @often
    @given(st.data())
    def refused_or_accepted(data: st.DataObject) -> None:
        changed = [
            data.draw(_changed(json.loads(line))) if line.startswith(b'{"record":"load"') else line
            for line in load.said
        ]
        try:
            outcome = load.outcome(changed)
        except RefusedRequest as refusal:
            _is_a_sentence(refusal)
        else:
            block, system = len(accepted) // 2, "ab"[len(accepted) % 2]
            accepted.append(replace(outcome, trial=replace(outcome.trial, block=block, system=system)))

    refused_or_accepted()

    assert len(accepted) > 10
    found = _archived(accepted, tmp_path, (LOAD,))
    with reading.connect(found) as connection:
        kept = connection.execute("SELECT loads FROM trials ORDER BY trial").fetchall()
    assert [_as_json(one or ()) for (one,) in kept] == [
        _as_json([asdict(each) for each in one.loads or ()]) for one in accepted
    ]
    found.header["workloads"].update(experiment.workloads_known())
    evaluation = evaluate.of(found)
    assert [one.trials for one in evaluation.server_loads] == [
        sum(bool(one.loads) for one in accepted if one.trial.system == system) for system in "ab"
    ]
    plain.print_json(evaluation)
    assert json.loads(capsys.readouterr().out)["server_loads"]
    console.print_evaluation(evaluation, tables=(), everything=True)
    assert "Loads on servers" in capsys.readouterr().out


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _archived(
    outcomes: Sequence[Outcome], directory: Path, cells: Sequence[Cell] = CELLS
) -> experiments.StoredExperiment:
    made = replace(synthetic.plan(), cells=tuple(cells))
    found = synthetic.new(directory, made)
    journal = Journal(found.path)
    for system in made.systems:
        journal.append(synthetic.started(system))
    for number, one in enumerate(outcomes):
        journal.append(replace(one, began=float(number)))
    journal.close()
    return closing.close(found)


def _flat(one: Outcome) -> dict[str, Any]:
    """All that an outcome holds, as the tables have it."""
    return {
        "trial": (one.status, one.reason, one.signal, one.host_ns, one.guest_ns, one.clock_doubt_ns),
        "usage": [asdict(each) for each in one.usage],
        "processes": [asdict(each) for each in one.processes],
        "samples": sorted(
            (
                each.copy,
                each.metric,
                number,
                each.operations,
                ns,
                each.point or 0,
                each.bytes,
                each.faults_major,
            )
            for each in one.samples
            for number, ns in enumerate(each.durations_ns, 1)
        ),
        "counts": [(each.copy, each.metric, each.unit, each.value) for each in one.counts],
        "members": sorted(
            (each.metric, each.batch, number, *columns[:4], list(columns[4]), *columns[5:])
            for each in one.groups
            for number, columns in enumerate(
                zip(
                    each.asked_ns,
                    each.began_ns,
                    each.ended_ns,
                    each.reaped_ns,
                    each.marks_ns,
                    each.statuses,
                    each.signals,
                    each.reasons,
                    strict=True,
                )
            )
        ),
    }


def _kept(found: experiments.StoredExperiment) -> list[dict[str, Any]]:
    with reading.connect(found) as connection:

        def rows(columns: str, table: str, number: int) -> list[tuple[Any, ...]]:
            query = f"SELECT {columns} FROM {table} WHERE trial = {number} ORDER BY ALL"
            return connection.execute(query).fetchall()

        return [
            {
                "trial": told,
                "usage": usage,
                "processes": processes,
                "samples": rows(
                    "copy, metric, batch, operations, duration_ns, coalesce(point, 0), bytes, faults_major",
                    "samples",
                    number,
                ),
                "counts": rows('copy, metric, unit, "value"', "counts", number),
                "members": rows(
                    "metric, batch, member, asked_ns, began_ns, ended_ns, reaped_ns, marks_ns, status, "
                    "signal, reason",
                    "members",
                    number,
                ),
            }
            for number, usage, processes, *told_list in connection.execute(
                "SELECT trial, usage, processes, status, reason, signal, host_ns, guest_ns, clock_doubt_ns "
                "FROM trials ORDER BY trial"
            ).fetchall()
            for told in [tuple(told_list)]
        ]


@pytest.mark.parametrize(
    ("metric", "per", "at_most", "is_kept"),
    [
        ("latency_99", None, "1 trial", True),
        ("latency_99", None, "2 trials", False),
        ("near", None, "2 trials", True),  # processor time, of two processors
        ("near", None, "5000 trials", False),
        ("near", "second", "6 seconds", True),  # of every second, by six processors
        ("near", "second", "5000 seconds", False),
    ],
)
def test_what_a_workload_reports_is_bounded_by_what_it_is(
    metric: str, per: str | None, at_most: str, is_kept: bool, tmp_path: Path
) -> None:
    found = conversation(Cell("tcp_request", QUICK), tmp_path)
    number, _, unit = at_most.partition(" ")
    records = [json.loads(line) for line in found.said]
    (begin,) = (one["clock_ns"] for one in records if one["record"] == "begin")
    (end,) = (one["clock_ns"] for one in records if one["record"] == "end")
    value = int(number) * (end - begin if unit.startswith("trial") else 10**9)
    (rest,) = (one for one in records if one["record"] == "samples" and one["metric"] == "time")
    done = 1 if metric.startswith("latency") or per else len(rest["durations_ns"]) * rest["operations"]
    value //= done  # what the trial has in all is for all its operations
    # What would have to agree with it is left out.
    records = [one for one in records if one["record"] != "samples" or one["metric"] in ("time", metric)]
    for one in records:
        if one["record"] == "samples" and one["metric"] == metric:
            one["durations_ns"] = [value]
    metrics = tuple(replace(one, per=per or one.per) for one in found.expected.workload.metrics)
    workload = replace(found.expected.workload, metrics=metrics)
    told = replace(found, expected=replace(found.expected, workload=workload))
    lines = [json.dumps(one).encode() for one in records]

    if is_kept:
        assert value in [one for each in told.outcome(lines).samples for one in each.durations_ns]
    else:
        with pytest.raises(RefusedRequest, match=f"'samples' cannot be right: durations_ns is {value}, "):
            told.outcome(lines)
