"""Closing loses nothing: what is read back from Parquet is what the journal promised; else that stays."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
import synthetic

from steelyard.analysis import evaluate
from steelyard.archive import closing, experiments, files, journal, merging, reading, schema
from steelyard.archive.experiments import StoredExperiment
from steelyard.errors import ArchiveError
from steelyard.events import Outcome
from steelyard.report import console
from steelyard.study.plan import Trial
from steelyard.words import remarks

pytestmark = pytest.mark.computes  # each closes an experiment

PLAN = synthetic.plan("sieve", "shell", blocks=6)
HALF = "half a character \ud800, \x00 and \U0001f980"


def _measured(trial: Trial) -> Outcome:
    """Slow on b; one trial fails with a reason that is JSON and no text."""
    if trial.system == "b" and trial.cell.workload == "sieve" and trial.block == 2:
        return synthetic.bad(trial, "failed", HALF)
    return synthetic.outcome(trial, 1000 * (1.5 if trial.system == "b" else 1) + trial.block % 3)


@pytest.fixture
def found(tmp_path: Path) -> StoredExperiment:
    return synthetic.experiment(tmp_path, PLAN, _measured)


def _rows(found: StoredExperiment) -> dict[str, list[Any]]:
    with reading.connect(found) as connection:
        return {
            name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall(), key=repr)
            for name in schema.TABLES
        }


def _lines(found: StoredExperiment) -> list[bytes]:
    return (found.path / journal.NAME).read_bytes().splitlines(keepends=True)


def _write(found: StoredExperiment, lines: list[bytes]) -> None:
    (found.path / journal.NAME).write_bytes(b"".join(lines))


def _drafts(found: StoredExperiment) -> list[str]:
    return [path.name for path in found.path.iterdir() if path.name.startswith(".")]


def test_what_is_json_and_no_text_is_kept(found: StoredExperiment) -> None:
    before = _rows(found)
    assert len(before["trials"]) == 6 * 4

    closing.close(found)

    assert _rows(found) == before
    with reading.connect(found) as connection:
        told = connection.execute("SELECT reason FROM trials WHERE status = 'failed'").fetchall()
    assert told == [("half a character \ufffd, \x00 and \U0001f980",)]


def _without_a_row(file: Path) -> None:
    duckdb.sql(f"COPY (SELECT * FROM '{file}' OFFSET 1) TO '{file}.new' (FORMAT parquet)")
    Path(f"{file}.new").rename(file)


def _with_a_row_more(file: Path) -> None:
    rows = f"SELECT * FROM '{file}' UNION ALL SELECT * FROM '{file}' LIMIT 1"
    duckdb.sql(f"COPY ({rows}) TO '{file}.new' (FORMAT parquet)")
    Path(f"{file}.new").rename(file)


def _with_another_value(file: Path) -> None:
    name = duckdb.sql(f"DESCRIBE SELECT * FROM '{file}'").fetchall()[0][0]
    duckdb.sql(
        f"COPY (SELECT * REPLACE ({name} + 1 AS {name}) FROM '{file}') TO '{file}.new' (FORMAT parquet)"
    )
    Path(f"{file}.new").rename(file)


def _truncated(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


@pytest.mark.parametrize("table", ["trials", "samples"])
@pytest.mark.parametrize("harm", [_without_a_row, _with_a_row_more, _with_another_value, _truncated])
def test_a_file_that_is_not_what_was_measured_leaves_the_journal_where_it_is(
    found: StoredExperiment, table: str, harm: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, text = _rows(found), _lines(found)
    draft = found.path / f".{table}.parquet"

    def fsync(handle: int) -> None:
        """As a disk that keeps something else than it was given."""
        os.fsync(handle)
        if os.path.samestat(os.fstat(handle), draft.stat() if draft.exists() else os.stat("/")):
            harm(draft)

    with monkeypatch.context() as patch:
        patch.setattr(files.calls, "fsync", fsync)
        with pytest.raises(ArchiveError, match=f"{found.name}"):
            closing.close(found)

    assert not found.closed
    assert _lines(found) == text
    assert _drafts(found) == []
    assert _rows(found) == before
    closing.close(found)
    assert _rows(found) == before


def test_a_damaged_line_is_left_out_said_and_kept_as_it_is(
    found: StoredExperiment, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = _lines(found)
    lines[9] = lines[9].replace(b'"operations":1000000', b'"operations":1.5', 1)
    lines[12] = b"\xff\x00 nothing\n"
    _write(found, lines)
    before = _rows(found)
    assert len(before["trials"]) == 6 * 4 - 2

    closing.close(found)

    assert _rows(found) == before
    evaluation = evaluate.of(found)
    console.print_evaluation(evaluation, tables=())
    assert [one for one in remarks.texts(evaluation.remarks) if "damaged" in one] == [
        "line 10 of the journal is damaged and left out: samples[0].operations is 1.5, but must be a whole "
        "number from 1 to 18446744073709551615",
        "line 13 of the journal is damaged and left out: it is b'\\xff\\x00 nothing', but must be JSON",
    ]
    assert "line 10 of the journal is damaged" in " ".join(capsys.readouterr().out.split())
    assert (found.path / experiments.DAMAGED).read_bytes() == lines[9] + lines[12]


HARM: dict[str, Callable[[dict[str, Any]], object]] = {
    "duration of 2^64": lambda line: line["samples"][0].update(durations_ns=[2**64]),
    "duration of text": lambda line: line["samples"][0].update(durations_ns=["5"]),
    "durations null": lambda line: line["samples"][0].update(durations_ns=None),
    "negative duration": lambda line: line["samples"][0].update(durations_ns=[-5]),
    "no operations": lambda line: line["samples"][0].update(operations=0),
    "operations null": lambda line: line["samples"][0].update(operations=None),
    "clock huge": lambda line: line.update(guest_ns=10**30),
    "negative count": lambda line: line.update(counts=[dict(copy=0, metric="x", unit="y", value=-1)]),
    "no metric": lambda line: line["samples"][0].pop("metric"),
    "no such cell": lambda line: line.update(cell="nothing"),
    "no such system": lambda line: line.update(system="nobody"),
    "another status": lambda line: line.update(status="fine"),
    "usage of a list": lambda line: line.update(usage=[5]),
    "began in the year 30000": lambda line: line.update(began=1e12),
    "groups of two lengths": lambda line: line.update(
        groups=[
            dict.fromkeys(
                ("copy", "batch", "processors", "members", "created", "finished", "iterations", "zero_ns"), 1
            )
            | {name: [] for name in ("asked_ns", "began_ns", "ended_ns", "reaped_ns", "marks_ns")}
            | dict(metric="x", code_sha256=None, statuses=["ok"], signals=[], reasons=[])
        ]
    ),
}


def _harmed(found: StoredExperiment, harm: str) -> int:
    """Does so to a trial, and returns the number of its line."""
    lines = _lines(found)
    number = next(n for n, line in enumerate(lines) if b'"workload":"shell"' in line)
    told = json.loads(lines[number])
    HARM[harm](told)
    lines[number] = json.dumps(told).encode() + b"\n"
    _write(found, lines)
    return number + 1


@pytest.mark.parametrize("harm", HARM)
def test_one_value_that_no_journal_may_hold_costs_that_trial_alone(
    found: StoredExperiment, harm: str
) -> None:
    whole = list(experiments.lines(found))
    number = _harmed(found, harm)

    there = list(experiments.lines(found))
    assert [n for n, (one, other) in enumerate(zip(whole, there, strict=True), 1) if one != other] == [number]
    assert f"line {number} of the journal is damaged" in there[number - 1]["note"]
    with reading.connect(closing.close(found)) as tables:
        kept = tables.execute("SELECT block, system, cell FROM trials ORDER BY trial").fetchall()
        notes = tables.execute("SELECT note FROM events WHERE kind = 'damage'").fetchall()
    trials = [one for one in there if one["kind"] == "trial"]
    assert kept == [(one["block"], one["system"], one["cell"]) for one in trials]
    assert len(kept) == 6 * 4 - 1
    assert notes == [(there[number - 1]["note"],)]


@pytest.mark.parametrize("harm", ["duration of 2^64", "no such cell"])
def test_what_is_weighed_lacks_that_trial_and_says_so(found: StoredExperiment, harm: str) -> None:
    number = _harmed(found, harm)

    for state in (found, closing.close(found)):
        evaluation = evaluate.of(state)
        assert evaluation.trials == 6 * 4 - 1
        assert [
            one
            for one in remarks.texts(evaluation.remarks)
            if f"line {number} of the journal is damaged" in one
        ]
        assert {one.cell: one.blocks for one in evaluation.comparisons} == {"sieve": 5, "shell": 5}


def test_a_line_that_is_too_long_is_left_out_and_costs_no_memory(
    found: StoredExperiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_LINE_MOST", 100_000)
    lines = _lines(found)
    lines.insert(3, b'{"kind":"note","note":"' + b"x" * 3_000_000 + b'"}\n')
    _write(found, lines)

    read = list(experiments.lines(found))

    assert [line["kind"] for line in read].count("damage") == 1
    assert "line 4 of the journal is damaged" in read[3]["note"]
    assert len(read) == len(lines)


def test_a_second_closing_adds_to_what_was_damaged_before(found: StoredExperiment) -> None:
    (found.path / experiments.DAMAGED).write_bytes(b"earlier\n")
    _write(found, [*_lines(found), b"later\n"])

    closing.close(found)

    assert (found.path / experiments.DAMAGED).read_bytes() == b"earlier\nlater\n"


def test_merging_takes_what_was_damaged_along(found: StoredExperiment, tmp_path: Path) -> None:
    _write(found, [*_lines(found), b"damaged\n"])
    closing.close(found)

    assert merging.merge(tmp_path / "there", tmp_path) == 1

    (copy,) = experiments.experiments(tmp_path / "there")
    assert {path.name: path.read_bytes() for path in copy.path.iterdir()} == {
        path.name: path.read_bytes() for path in found.path.iterdir()
    }


def test_what_was_closed_too_early_is_opened_again_and_gone_on_with(tmp_path: Path) -> None:
    few = synthetic.trials(PLAN)[:3]
    found = synthetic.experiment(
        tmp_path, PLAN, lambda one: _measured(one) if one in few else None, closed=True
    )
    before = _rows(found)
    assert experiments.unfinished(tmp_path, "same") is None

    closing.reopen(found)

    (again,) = experiments.experiments(tmp_path)
    assert _rows(again) == before
    assert experiments.unfinished(tmp_path, "same") == again
    cells = {cell.label: cell for cell in again.cells}
    earlier = journal.earlier(experiments.lines(again), cells)
    assert earlier.trials == {(one.block, one.system, one.cell) for one in few}
    assert earlier.boots == {one.system: 1 for one in few}
    with pytest.raises(ArchiveError, match="is open: run the command that began it"):
        closing.reopen(again)


def test_what_is_damaged_in_one_row_is_opened_again_without_it(found: StoredExperiment) -> None:
    closing.close(found)
    file = found.path / "trials.parquet"
    duckdb.sql(
        f"COPY (SELECT * REPLACE (CASE trial WHEN 5 THEN 'nobody' ELSE system END AS system) FROM '{file}')"
        f" TO '{file}.new' (FORMAT parquet)"
    )
    Path(f"{file}.new").rename(file)
    expected = evaluate.of(found)
    said: list[str] = []

    closing.reopen(found, said.append)

    assert said == [f"experiment {found.path}: 1 row of trials.parquet is damaged and left out"]
    for state in (found, closing.close(found)):
        evaluation = evaluate.of(state)
        assert evaluation.trials == expected.trials == 6 * 4 - 1
        assert evaluation.comparisons == expected.comparisons
        assert [
            one for one in remarks.texts(evaluation.remarks) if "1 row of trials.parquet is damaged" in one
        ]
