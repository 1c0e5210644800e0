"""The archive: experiments open and closed, found, merged, exported, and never half written."""

import csv
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
import synthetic

from steelyard.analysis import evaluate
from steelyard.archive import closing, experiments, journal, merging, reading
from steelyard.archive.experiments import StoredExperiment
from steelyard.archive.journal import Journal
from steelyard.errors import ArchiveError, UnknownName, UsageError
from steelyard.events import Outcome
from steelyard.report import console, page
from steelyard.study import plan as plans
from steelyard.study import study_file
from steelyard.study.model import Cell
from steelyard.study.plan import Plan, Trial

PLAN = synthetic.plan("sieve", "disktest", copies=(1, 2), blocks=3)
TABLES = (
    "trials", "samples", "members", "histograms", "counts", "costs", "accountings", "host_calls", "watches",
    "systems", "words", "events",
)  # fmt: skip


def _measured(trial: Trial) -> Outcome:
    """Some of everything: good trials, one of each bad kind."""
    if trial.system == "b" and trial.cell.workload == "sieve":
        if trial.block == 0:
            return synthetic.bad(trial, "unsupported", "no such thing")
        if trial.block == 1:
            return synthetic.bad(trial, "killed", signal=9)
    return synthetic.outcome(trial, 900 + trial.position, pressure=0.01 * trial.block)


def _experiment(root: Path, *, closed: bool = False) -> StoredExperiment:
    return synthetic.experiment(root, PLAN, _measured, closed=closed)


def _rows(found: StoredExperiment) -> dict[str, list[tuple[Any, ...]]]:
    with reading.connect(found) as connection:
        return {
            table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=repr)
            for table in TABLES
        }


def _files(found: StoredExperiment) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in found.path.iterdir()}


# --- open and closed


@pytest.mark.computes
def test_an_experiment_gives_the_same_rows_open_and_closed(tmp_path: Path) -> None:
    found = _experiment(tmp_path)
    before = _rows(found)

    closing.close(found)

    assert found.closed
    assert _rows(found) == before
    # Batches: of sieve 5 a copy, of disktest 5 a copy and metric; sieve is ok on b in the last block only.
    assert {table: len(rows) for table, rows in before.items()} == {
        "trials": 3 * 4 * 2,
        "samples": (1 + 2) * 5 * (3 + 1) + (1 + 2) * 2 * 5 * (3 + 3),
        "members": 0,
        "histograms": 0,
        "counts": 0,
        "costs": 0,
        "accountings": 0,
        "host_calls": 0,
        "words": 0,
        "watches": 0,
        "systems": 2,
        "events": 1,
    }


@pytest.mark.computes
def test_columns_have_the_same_names_and_types_open_and_closed(tmp_path: Path) -> None:
    def described(found: StoredExperiment) -> dict[str, Any]:
        with reading.connect(found) as connection:
            return {
                table: [row[:2] for row in connection.execute(f"DESCRIBE {table}").fetchall()]
                for table in TABLES
            }

    found = _experiment(tmp_path)
    before = described(found)
    closing.close(found)

    assert described(found) == before


def test_a_row_says_what_happened_in_a_trial(tmp_path: Path) -> None:
    found = _experiment(tmp_path)
    trial = plans.visit(PLAN, Cell("disktest", (("copies", 2),)), 0)[0]
    columns = "system, boot, workload, cell, copies, pad, status, host_ns, guest_ns, clock_doubt_ns, pressure"

    with reading.connect(found) as connection:
        (row,) = connection.execute(
            f"SELECT {columns} FROM trials WHERE block = 0 AND position = 0 AND cell = ?",
            [trial.cell.label],
        ).fetchall()
        (killed,) = {
            *connection.execute(
                "SELECT reason, signal, host_ns FROM trials WHERE status = 'killed'"
            ).fetchall()
        }

    assert row == (
        trial.system, 1, trial.cell.workload, trial.cell.label, trial.cell.copies, trial.pad, "ok",
        10**9, 10**9, 0, 0.0,
    )  # fmt: skip
    assert killed == (None, 9, None)


def test_every_batch_is_a_row_under_its_trial_copy_and_metric(tmp_path: Path) -> None:
    found = _experiment(tmp_path)

    with reading.connect(found) as connection:
        rows = connection.execute(
            """SELECT copy, metric, batch, operations, duration_ns FROM samples JOIN trials USING (trial)
               WHERE block = 2 AND system = 'a' AND cell = 'disktest copies=2'
               ORDER BY copy, metric, batch"""
        ).fetchall()

    (trial,) = (
        trial for trial in plans.visit(PLAN, Cell("disktest", (("copies", 2),)), 2) if trial.system == "a"
    )
    duration = (900 + trial.position) * 1_000_000
    assert rows == [
        (copy, metric, batch, 1_000_000, duration)
        for copy in (0, 1)
        for metric in ("read", "write")
        for batch in (1, 2, 3, 4, 5)
    ]


@pytest.mark.computes
@pytest.mark.parametrize("closed", [False, True])
def test_whole_numbers_come_back_exactly_as_measured(tmp_path: Path, closed: bool) -> None:
    durations = (0, 1, 2**31, 2**53 + 1, 2**62 + 3)
    operations = 2**63 + 5

    def measured(trial: Trial) -> Outcome:
        told = synthetic.outcome(trial)
        samples = (replace(told.samples[0], operations=operations, durations_ns=durations),)
        usage = (replace(told.usage[0], operations=operations, user_ns=2**60 + 1),)
        return replace(told, samples=samples, usage=usage, guest_ns=-(2**61) - 1, host_ns=2**53 + 1)

    found = synthetic.experiment(tmp_path, synthetic.plan(blocks=1), measured, closed=closed)

    with reading.connect(found) as connection:
        sampled = connection.execute(
            "SELECT operations, duration_ns FROM samples WHERE trial = 1 ORDER BY batch"
        ).fetchall()
        clocks = connection.execute("SELECT DISTINCT host_ns, guest_ns FROM trials").fetchall()
        used = connection.execute("SELECT DISTINCT usage[1].operations, usage[1].user_ns FROM trials")

        assert sampled == [(operations, duration) for duration in durations]
        assert clocks == [(2**53 + 1, -(2**61) - 1)]
        assert used.fetchall() == [(operations, 2**60 + 1)]


def test_a_line_cut_short_is_no_row_and_the_rest_are(tmp_path: Path) -> None:
    found = _experiment(tmp_path)
    before = _rows(found)
    with open(found.path / journal.NAME, "ab") as file:
        file.write(b'{"kind":"trial","block":2,"positio')

    assert _rows(found) == before


@pytest.mark.computes
def test_an_experiment_without_a_single_event_can_be_opened_and_closed(tmp_path: Path) -> None:
    found = synthetic.new(tmp_path, PLAN)
    assert _rows(found) == {table: [] for table in TABLES}

    closing.close(found)

    assert _rows(found) == {table: [] for table in TABLES}


# --- closing


def test_closing_leaves_nothing_but_the_header_and_the_tables(tmp_path: Path) -> None:
    found = _experiment(tmp_path, closed=True)

    assert sorted(_files(found)) == sorted([experiments.HEADER, *(f"{table}.parquet" for table in TABLES)])


def test_closing_a_closed_experiment_changes_nothing(tmp_path: Path) -> None:
    found = _experiment(tmp_path, closed=True)
    before = _files(found)

    closing.close(found)

    assert _files(found) == before


@pytest.mark.computes
@pytest.mark.parametrize("renamed", range(len(TABLES)))
def test_an_experiment_whose_closing_was_cut_short_is_open_and_can_be_closed(
    tmp_path: Path, renamed: int
) -> None:
    found = _experiment(tmp_path)
    before = _rows(found)
    journal_text = (found.path / journal.NAME).read_bytes()
    closing.close(found)
    # As a crash leaves it: some tables renamed, the next one half written, the journal still there.
    for table in TABLES[renamed:]:
        (found.path / f"{table}.parquet").unlink()
    (found.path / f".{TABLES[renamed]}.parquet").write_bytes(b"PAR1 half")
    (found.path / journal.NAME).write_bytes(journal_text)

    assert not found.closed
    assert _rows(found) == before
    closing.close(found)
    assert found.closed
    assert _rows(found) == before
    assert len(_files(found)) == 1 + len(TABLES)


@pytest.mark.computes
@pytest.mark.parametrize("table", TABLES)
def test_an_experiment_is_not_closed_before_every_table_is_in_its_place(tmp_path: Path, table: str) -> None:
    found = _experiment(tmp_path)
    before = _rows(found)
    (found.path / f".{table}.parquet").mkdir()  # where its draft would be written

    with pytest.raises(ArchiveError):
        closing.close(found)

    assert not found.closed
    assert _rows(found) == before


@pytest.mark.computes
def test_a_full_disk_leaves_an_experiment_open_and_closable(tmp_path: Path) -> None:
    found = _experiment(tmp_path)
    before = _rows(found)

    with synthetic.no_room_beyond(300), pytest.raises(ArchiveError, match="cannot be written"):
        closing.close(found)

    assert not found.closed
    assert _rows(found) == before
    assert [name for name in _files(found) if name.startswith(".")] == []
    closing.close(found)
    assert _rows(found) == before


def test_a_full_disk_at_the_start_leaves_the_other_experiments_to_be_read(tmp_path: Path) -> None:
    found = _experiment(tmp_path, closed=True)

    with synthetic.no_room_beyond(100), pytest.raises(ArchiveError, match="cannot be written"):
        synthetic.new(tmp_path, PLAN)

    assert [one.name for one in experiments.experiments(tmp_path)] == [found.name]


@pytest.mark.computes
@pytest.mark.parametrize("size", [0, 1])
def test_an_experiment_killed_while_it_was_made_does_not_bar_the_others(tmp_path: Path, size: int) -> None:
    found = _experiment(tmp_path, closed=True)
    # What a kill leaves, after the directory was made: nothing, or a journal of nothing.
    other = tmp_path / "experiments" / "20990101-000000-small-ffff"
    other.mkdir()
    if size:
        (other / journal.NAME).write_bytes(b"")

    assert [one.name for one in experiments.experiments(tmp_path)] == [found.name]
    assert experiments.find(tmp_path, None).name == found.name


def test_an_open_experiment_without_its_journal_is_refused_by_name(tmp_path: Path) -> None:
    # As a kill leaves it between the header and the journal, when the header is written first.
    found = synthetic.new(tmp_path, PLAN)
    (found.path / journal.NAME).unlink()

    with pytest.raises(ArchiveError, match=found.name):
        _rows(found)


def test_an_archive_that_cannot_be_made_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ArchiveError, match="--archive DIR"):
        synthetic.new(tmp_path / "file", PLAN)


# --- finding


def _created(found: StoredExperiment, moment: float) -> None:
    """As earlier versions had it, by the clock alone."""
    path = found.path / experiments.HEADER
    header = {name: value for name, value in found.header.items() if name != "after"}
    path.write_text(json.dumps(header | {"created": moment}))


def test_experiments_come_oldest_first_and_the_newest_is_found_without_a_name(tmp_path: Path) -> None:
    made = [synthetic.new(tmp_path, PLAN) for _ in range(3)]
    for one, moment in zip(made, (30.0, 10.0, 20.0), strict=True):
        _created(one, moment)

    assert [one.name for one in experiments.experiments(tmp_path)] == [
        made[1].name,
        made[2].name,
        made[0].name,
    ]
    assert experiments.find(tmp_path, None).name == made[0].name


def test_an_experiment_is_found_by_its_name_and_by_its_directory(tmp_path: Path) -> None:
    made = [synthetic.new(tmp_path, PLAN) for _ in range(2)]

    assert experiments.find(tmp_path, made[0].name).path == made[0].path
    assert experiments.find(tmp_path / "elsewhere", str(made[0].path)).path == made[0].path


def test_a_name_that_is_nearly_one_is_suggested(tmp_path: Path) -> None:
    found = synthetic.new(tmp_path, PLAN)

    with pytest.raises(UnknownName, match=f"did you mean '{found.name}'") as refusal:
        experiments.find(tmp_path, found.name[:-1])
    assert str(tmp_path) in str(refusal.value)


def test_an_archive_with_nothing_in_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="holds no experiment yet; run one"):
        experiments.find(tmp_path, None)


def test_the_header_alone_says_what_was_to_be_done(tmp_path: Path) -> None:
    found = synthetic.new(tmp_path, PLAN)
    again = experiments.find(tmp_path, found.name)

    assert again.header["study_text"] == PLAN.study.text
    assert again.header["systems"] == ["a", "b"]
    assert again.header["seed"] == PLAN.seed
    assert again.cells == PLAN.cells


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff"])
def test_a_damaged_header_is_named(tmp_path: Path, content: bytes) -> None:
    found = synthetic.new(tmp_path, PLAN)
    (found.path / experiments.HEADER).write_bytes(content)

    with pytest.raises(ArchiveError, match=f"{found.name} is damaged"):
        experiments.find(tmp_path, str(found.path))


def test_an_experiment_of_a_later_version_is_refused(tmp_path: Path) -> None:
    found = synthetic.new(tmp_path, PLAN)
    header = dict(found.header) | {"version": experiments.VERSION + 1}
    (found.path / experiments.HEADER).write_text(json.dumps(header))

    with pytest.raises(
        ArchiveError, match=f"of version {experiments.VERSION + 1}; this Steelyard reads up to"
    ):
        experiments.find(tmp_path, found.name)


# --- going on with an unfinished experiment


def test_the_newest_open_experiment_of_the_same_identity_is_gone_on_with(tmp_path: Path) -> None:
    older, newer, other = (synthetic.new(tmp_path, PLAN, same=same) for same in ("x", "x", "y"))
    for one, moment in ((older, 1.0), (newer, 2.0), (other, 3.0)):
        _created(one, moment)

    found = experiments.unfinished(tmp_path, "x")
    assert found is not None
    assert found.name == newer.name
    closing.close(newer)
    found = experiments.unfinished(tmp_path, "x")
    assert found is not None
    assert found.name == older.name
    assert experiments.unfinished(tmp_path, "z") is None


def _identity(made: Plan, *, budget_s: float = 60.0, programs: tuple[str, ...] = ("p", "q")) -> str:
    return experiments.identity(made, budget_s=budget_s, programs=programs)


def _with_study(**changes: Any) -> Plan:
    return replace(PLAN, study=replace(PLAN.study, **changes))


def test_the_same_command_has_the_same_identity_whatever_the_seed() -> None:
    assert _identity(PLAN) == _identity(replace(PLAN, seed=99))
    assert _identity(PLAN) == _identity(
        synthetic.plan("sieve", "disktest", copies=(1, 2), blocks=3, budget_s=77.0)
    )


CHANGES: dict[str, Callable[[], str]] = {
    "study": lambda: _identity(_with_study(text="another")),
    "systems": lambda: _identity(replace(PLAN, systems=("a", "c"))),
    "order of systems": lambda: _identity(replace(PLAN, systems=("b", "a"))),
    "cells": lambda: _identity(replace(PLAN, cells=PLAN.cells[:-1])),
    "levels": lambda: _identity(synthetic.plan("sieve", "disktest", copies=(1, 3), blocks=3)),
    "margins": lambda: _identity(_with_study(margins=dict(PLAN.study.margins) | {"cpu": 0.03})),
    "blocks": lambda: _identity(synthetic.plan("sieve", "disktest", copies=(1, 2), blocks=4)),
    "budget": lambda: _identity(PLAN, budget_s=61.0),
    "programs": lambda: _identity(PLAN, programs=("p", "r")),
    "order of programs": lambda: _identity(PLAN, programs=("q", "p")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_identity_changes_with_whatever_matters(change: str) -> None:
    assert CHANGES[change]() != _identity(PLAN)


# --- one measurement at a time


def test_two_experiments_are_not_measured_at_once(tmp_path: Path) -> None:
    with (
        experiments.measuring(tmp_path),
        pytest.raises(ArchiveError, match="another experiment is being measured"),
        experiments.measuring(tmp_path),
    ):
        pass

    with experiments.measuring(tmp_path):
        pass  # it is free again


@pytest.mark.program
def test_the_holder_is_named_and_its_end_frees_the_place(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib; from steelyard.archive import experiments\n"
        "with experiments.measuring(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(ArchiveError, match=f"by process {holder.pid}"), experiments.measuring(tmp_path):
            pass
        holder.kill()

    with experiments.measuring(tmp_path):
        pass


# --- the order


def test_the_newest_is_what_was_made_last_whatever_the_clocks_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that was a day ahead once, and one that went back to 1970 at each start."""
    made = []
    for now in (1_800_000_000, 1_800_086_400, 1_800_000_060, 1_800_000_120, 60, 120, 1_900_000_000, 30):
        monkeypatch.setattr(time, "time", lambda now=now: float(now))
        made.append(_experiment(tmp_path))
        assert experiments.find(tmp_path, None).name == made[-1].name
    monkeypatch.undo()

    assert [one.name for one in experiments.experiments(tmp_path)] == [one.name for one in made]
    assert experiments.dated_later(tmp_path, made[1]) is None
    late = experiments.dated_later(tmp_path, made[2])
    assert late is not None
    assert late.name == made[1].name


def test_an_order_that_contradicts_itself_is_one_all_the_same(tmp_path: Path) -> None:
    """As an archive from outside may have it: in a circle, or after what is not there."""
    names = [_experiment(tmp_path).name for _ in range(3)]
    for name, after in zip(names, (names[2], names[0], names[1]), strict=True):
        path = tmp_path / "experiments" / name / experiments.HEADER
        path.write_text(json.dumps(json.loads(path.read_text()) | {"after": after}))
    assert sorted(one.name for one in experiments.experiments(tmp_path)) == sorted(names)

    path.write_text(json.dumps(json.loads(path.read_text()) | {"after": "none"}))
    assert len(experiments.experiments(tmp_path)) == 3


# --- merging


@pytest.mark.computes
def test_merging_copies_closed_experiments_once_and_open_ones_not(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    closed = _experiment(there, closed=True)
    _experiment(there)

    assert merging.merge(here, there) == 1
    assert merging.merge(here, there) == 0
    (copy,) = experiments.experiments(here)
    assert copy.path != closed.path
    assert _files(copy) == _files(closed)
    assert _rows(copy) == _rows(closed)


@pytest.mark.computes
def test_merging_does_not_touch_what_is_there(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    mine = _experiment(here, closed=True)
    before = _files(mine)
    _experiment(there, closed=True)

    assert merging.merge(here, there) == 1
    assert len(experiments.experiments(here)) == 2
    assert _files(mine) == before


@pytest.mark.computes
def test_a_merge_that_was_cut_short_can_be_done_again(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    closed = _experiment(there, closed=True)
    draft = here / "experiments" / f".{closed.name}.draft"
    draft.mkdir(parents=True)
    (draft / experiments.HEADER).write_text("{")

    assert experiments.experiments(here) == []
    assert merging.merge(here, there) == 1
    assert not draft.exists()
    assert _files(experiments.experiments(here)[0]) == _files(closed)


def _part_of(whole: StoredExperiment, root: Path, lines: int) -> StoredExperiment:
    """A copy of an open experiment with the first lines of its journal, as made while it was measured."""
    place = root / "experiments" / whole.name
    place.mkdir(parents=True)
    (place / experiments.HEADER).write_bytes((whole.path / experiments.HEADER).read_bytes())
    first = (whole.path / journal.NAME).read_bytes().splitlines(keepends=True)[:lines]
    (place / journal.NAME).write_bytes(b"".join(first))
    return experiments.at(place)


@pytest.mark.computes
@pytest.mark.parametrize("end", [b"", b'{"kind": "tri'], ids=["whole lines", "a line cut short"])
def test_a_part_of_an_experiment_is_completed(tmp_path: Path, end: bytes) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    whole = _experiment(there)
    part = _part_of(whole, here, 9)
    with (part.path / journal.NAME).open("ab") as file:
        file.write(end)
    closing.close(whole)
    told: list[str] = []

    assert merging.merge(here, there, told.append) == 1
    assert merging.merge(here, there, told.append) == 0
    (found,) = experiments.experiments(here)
    assert found.closed
    assert _files(found) == _files(whole)
    assert _rows(found) == _rows(whole)
    assert told == [f"{part.name} was a part of the same experiment there, and is completed"]


@pytest.mark.computes
def test_a_closed_part_is_completed_and_does_not_replace_the_whole(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    whole = _experiment(there)
    part = _part_of(whole, here, 9)
    closing.close(part)
    closing.close(whole)
    before = _files(whole)

    assert merging.merge(there, here) == 0
    assert _files(whole) == before
    told: list[str] = []
    assert merging.merge(here, there, told.append) == 1
    assert _rows(experiments.at(part.path)) == _rows(whole)


@pytest.mark.computes
def test_two_experiments_of_one_name_are_both_kept(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    whole = _experiment(there)
    part = _part_of(whole, here, 9)
    text = (part.path / journal.NAME).read_text().splitlines(keepends=True)
    trial = next(number for number, line in enumerate(text) if json.loads(line)["kind"] == "trial")
    changed = json.loads(text[trial]) | {"began": 4711.0}
    text[trial] = json.dumps(changed) + "\n"
    (part.path / journal.NAME).write_text("".join(text))
    before = _files(part)
    closing.close(whole)
    told: list[str] = []

    assert merging.merge(here, there, told.append) == 1
    assert merging.merge(here, there, told.append) == 0
    assert _files(part) == before
    both = {one.name: one for one in experiments.experiments(here)}
    assert len(both) == 2
    (other,) = both.keys() - {part.name}
    assert told == [f"{part.name} is another experiment there: that one is kept as {other}"]
    assert _rows(both[other]) == _rows(whole)


@pytest.mark.computes
def test_a_part_into_which_something_is_measured_is_left_alone(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    whole = _experiment(there)
    part = _part_of(whole, here, 9)
    closing.close(whole)
    before = _files(part)
    told: list[str] = []

    with experiments.measuring(here):
        assert merging.merge(here, there, told.append) == 0
    assert "another experiment is being measured" in told[0]
    assert _files(part) == before


def test_what_is_no_archive_cannot_be_merged(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="is not an archive"):
        merging.merge(tmp_path / "here", tmp_path)


# --- exporting


def _read(name: str, value: str) -> str | int | None:
    """A value of a CSV row: what is null (here, what curves and bandwidths have) is empty there."""
    return value if name == "metric" else int(value) if value else None


@pytest.mark.computes
def test_an_export_s_form_follows_its_ending(tmp_path: Path) -> None:
    found = _experiment(tmp_path)
    expected = _rows(found)["samples"]
    files = {ending: tmp_path / f"samples{ending}" for ending in (".csv", ".json", ".parquet")}
    for file in files.values():
        reading.export(found, "samples", file)

    with open(files[".csv"], newline="") as lines:
        told = [tuple(_read(name, value) for name, value in row.items()) for row in csv.DictReader(lines)]
    assert sorted(told, key=repr) == expected
    assert (
        sorted((tuple(row.values()) for row in json.loads(files[".json"].read_text())), key=repr) == expected
    )
    rows = duckdb.sql(f"SELECT * FROM read_parquet('{files['.parquet']}')").fetchall()
    assert sorted(rows, key=repr) == expected


@pytest.mark.parametrize("name", ["samples.xlsx", "samples", "samples.csv.gz"])
def test_an_export_of_another_ending_is_refused(tmp_path: Path, name: str) -> None:
    found = _experiment(tmp_path)

    with pytest.raises(UsageError, match=r"\.csv, \.json, \.parquet"):
        reading.export(found, "samples", tmp_path / name)


def test_an_export_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    found = _experiment(tmp_path)

    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "samples.csv").mkdir()
    for name in ("nowhere/samples.csv", "pipe.csv", "samples.csv"):
        with pytest.raises(UsageError, match=rf"{re.escape(name)}' cannot be written"):
            reading.export(found, "samples", tmp_path / name)
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["pipe.csv", "samples.csv"]


# A glob's characters, too: DuckDB takes a path with them for a pattern.
@pytest.mark.computes
@pytest.mark.parametrize("name", ["it's a place", 'a "place"', "ünïcode", "a [1] place", "what? *"])
def test_an_archive_may_lie_in_any_directory(tmp_path: Path, name: str) -> None:
    found = _experiment(tmp_path / name)
    before = _rows(found)

    closing.close(found)
    reading.export(found, "trials", tmp_path / name / "out put's.csv")

    assert _rows(found) == before
    assert (tmp_path / name / "out put's.csv").exists()


def test_cells_come_back_from_the_header_as_they_went_in(tmp_path: Path) -> None:
    made = synthetic.plan("sieve", copies=(1, 2))
    found = experiments.find(tmp_path, synthetic.new(tmp_path, made).name)

    assert found.cells == (Cell("sieve", (("copies", 1),)), Cell("sieve", (("copies", 2),)))


def test_a_journal_written_in_two_sittings_is_one_experiment(tmp_path: Path) -> None:
    whole = synthetic.experiment(tmp_path / "one", PLAN, _measured)
    parts = synthetic.new(tmp_path / "two", PLAN)
    text = (whole.path / journal.NAME).read_bytes().splitlines(keepends=True)
    (parts.path / journal.NAME).write_bytes(b"".join(text[:9]) + text[9][:30])
    Journal(parts.path).close()
    with open(parts.path / journal.NAME, "ab") as file:
        file.writelines(text[9:])

    assert _rows(parts) == _rows(whole)


# --- archives of the version before: blocks of all cells together, looks after some of them


def _of_version_4(found: StoredExperiment) -> StoredExperiment:
    """The experiment as version 4 would have written it: its header, its trials' positions in whole passes,
    and looks that say after how many blocks."""
    header = dict(found.header) | {"version": 4, "looks": [3, 6, 8], "steelyard": "0.1.0"}
    del header["blocks"]
    (found.path / experiments.HEADER).write_text(json.dumps(header))
    if found.closed:
        _rewrite(found.path / "trials.parquet", "* REPLACE (trial - 1 AS position)")
        _rewrite(found.path / "events.parquet", "* EXCLUDE (round, reopened) REPLACE (3::BIGINT AS blocks)")
    else:
        path = found.path / journal.NAME
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        position = 0
        for line in lines:
            if line["kind"] == "trial":
                line["position"] = position
                position += 1
            if line["kind"] == "look":
                del line["round"], line["reopened"]
                line["blocks"] = 3
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return experiments.find(found.path.parent.parent, found.name)


def _rewrite(file: Path, columns: str) -> None:
    draft = file.with_suffix(".draft")
    duckdb.sql(f"COPY (SELECT {columns} FROM read_parquet('{file}')) TO '{draft}' (FORMAT parquet)")
    draft.rename(file)


@pytest.mark.computes
@pytest.mark.parametrize("closed", [False, True])
def test_an_archive_of_version_4_gives_the_same_verdicts(tmp_path: Path, closed: bool) -> None:
    def measured(trial: Trial) -> Outcome:
        return synthetic.outcome(trial, 1000 * (1.5 if trial.system == "b" else 1) + trial.block % 3)

    made = synthetic.plan("sieve", "disktest", copies=(1, 2), blocks=8)
    found = synthetic.experiment(tmp_path, made, measured, closed=closed)
    expected = evaluate.of(found)

    old = _of_version_4(found)

    evaluation = evaluate.of(old)
    assert old.header["version"] == 4
    assert evaluation.comparisons == expected.comparisons
    assert {one.verdict for one in evaluation.comparisons} == {"slower"}
    assert evaluation.indices == expected.indices
    with reading.connect(old) as connection:
        looks = connection.execute(
            "SELECT blocks, round, reopened FROM events WHERE kind = 'look'"
        ).fetchall()
    assert looks == [(3, None, None)]


@pytest.mark.program
@pytest.mark.parametrize("closed", [False, True])
def test_an_archive_of_version_4_can_be_shown_and_exported(
    tmp_path: Path, closed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    made = synthetic.plan("sieve", "shell", blocks=8)
    study = 'name = "small"\ntitle = "small"\n[design]\nlooks = [3, 6, 8]\nscales = true\n'
    study += '[[workload]]\nname = "sieve"\n'
    made = replace(made, study=replace(made.study, text=study))
    old = _of_version_4(synthetic.experiment(tmp_path, made, synthetic.outcome, closed=closed))

    evaluation = evaluate.of(old)
    console.print_evaluation(evaluation, tables=())
    told = page.html(evaluation, tables=())
    reading.export(old, "events", tmp_path / "events.csv")

    assert "no difference found" in capsys.readouterr().out
    assert "of at most 8" in told
    assert study_file.archived(old.header["study_text"]) is not None
    assert len((tmp_path / "events.csv").read_text().splitlines()) == 2
