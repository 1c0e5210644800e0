"""Archives of every version are read, for ever.

tests/archives/versions.tar.xz holds, for each version, the same experiment open and closed (vN/open,
vN/closed), as that version's own code wrote it: some of everything it knew. versions.json says how many rows
each table has, and the digest of what the code of version 5 read in them; columns.json what columns it knew.
"""

import csv
import hashlib
import json
import re
import shutil
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import places
import pytest

from steelyard.analysis import evaluate
from steelyard.archive import closing, experiments, exports, journal, names, reading, schema, versions
from steelyard.archive.experiments import StoredExperiment
from steelyard.report import console, page

pytestmark = pytest.mark.computes  # each reads an archive

ARCHIVES = places.ARCHIVES
KNOWN = json.loads((ARCHIVES / "versions.json").read_text())
COLUMNS = json.loads((ARCHIVES / "columns.json").read_text())
VERSIONS = range(1, versions.VERSION + 1)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("archives")
    with tarfile.open(ARCHIVES / "versions.tar.xz") as packed:
        packed.extractall(place, filter="data")
    return place


def _experiment(archives: Path, version: int, state: str) -> StoredExperiment:
    (found,) = experiments.experiments(archives / f"v{version}" / state)
    return found


def _digests(found: StoredExperiment) -> dict[str, list[Any]]:
    """Of each table the number of rows, and their digest, whatever their order and that of their columns.
    Columns that were added since are null, and tables empty."""
    digests = {}
    with reading.connect(found) as connection:
        for name, table in schema.TABLES.items():
            texts = {one.name for one in table.columns if one.type == schema.JSON}
            names = [one.name for one in table.columns]
            rows = []
            for values in connection.execute(f"SELECT * FROM {name}").fetchall():
                row = dict(zip(names, values, strict=True))
                row |= {key: json.loads(row[key]) for key in texts if row[key] is not None}
                row.pop("recorded", None)  # when the archive was made
                assert name in COLUMNS
                assert {row.pop(key) for key in row.keys() - COLUMNS[name]} <= {None}
                rows.append(json.dumps(row, sort_keys=True))
            digest = hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()
            if name in COLUMNS:
                digests[name] = [len(rows), digest[:16]]
    return digests


def test_there_is_an_archive_of_every_version() -> None:
    assert list(KNOWN) == [str(version) for version in VERSIONS]


@pytest.mark.parametrize("state", ["open", "closed"])
@pytest.mark.parametrize("version", VERSIONS)
def test_an_archive_of_any_version_gives_the_rows_that_it_gave_then(
    archives: Path, version: int, state: str
) -> None:
    found = _experiment(archives, version, state)

    assert found.header["version"] == version
    assert found.closed == (state == "closed")
    assert _digests(found) == KNOWN[str(version)]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_experiment_that_an_earlier_version_left_open_can_be_closed(
    archives: Path, version: int, tmp_path: Path
) -> None:
    open_one = _experiment(archives, version, "open")
    place = tmp_path / "experiments" / open_one.name
    place.mkdir(parents=True)
    for file in open_one.path.iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    (found,) = experiments.experiments(tmp_path)

    closing.close(found)

    assert found.closed
    assert _digests(found) == KNOWN[str(version)]


@pytest.mark.program
@pytest.mark.parametrize("version", VERSIONS)
def test_an_archive_of_any_version_is_reported(
    archives: Path, version: int, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = evaluate.of(_experiment(archives, version, "closed"))
    console.print_evaluation(evaluation, tables=(), everything=True)

    assert "slower" in {one.verdict for one in evaluation.comparisons if one.cell.startswith("disktest")}
    assert "native-musl" in capsys.readouterr().out
    assert "a small study" in page.html(evaluation, tables=())


@pytest.mark.parametrize("version", VERSIONS)
def test_an_experiment_that_is_opened_again_is_the_same_open_and_closed(
    archives: Path, tmp_path: Path, version: int
) -> None:
    there = _experiment(archives, version, "closed")
    path = tmp_path / "experiments" / there.name
    shutil.copytree(there.path, path)
    found = experiments.find(tmp_path, there.name)
    before = _digests(found)

    closing.reopen(found)

    assert sorted(one.name for one in path.iterdir()) == [experiments.HEADER, journal.NAME]
    assert not found.closed
    assert _digests(found) == before
    assert _digests(closing.close(found)) == before


@pytest.mark.parametrize("state", ["open", "closed"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_table_is_exported_as_csv_that_every_reader_takes(
    archives: Path, tmp_path: Path, version: int, state: str
) -> None:
    """Nothing nested is left in a cell, and no value is lost: JSON has the same scalars."""
    with reading.connect(_experiment(archives, version, state)) as database:
        for table in names.OF_EXPERIMENT:
            exports.write(database, table, tmp_path / f"{table}.csv")
            exports.write(database, table, tmp_path / f"{table}.json")
    for table in names.OF_EXPERIMENT:
        with open(tmp_path / f"{table}.csv", newline="") as lines:
            title, *rows = csv.reader(lines)

        assert len(set(title)) == len(title), table
        assert {len(row) for row in rows} <= {len(title)}, table
        assert [value for row in rows for value in row if re.match(r"[\[{]", value)] == [], table
        nested = json.loads((tmp_path / f"{table}.json").read_text())
        assert len(rows) == len(nested), table
        for row, whole in zip(rows, nested, strict=True):
            told = Counter(word for value in row for word in value.split() if re.fullmatch(r"\d+", word))
            assert told >= Counter(map(str, _whole_numbers(whole))), table


def _whole_numbers(value: object) -> Iterator[int]:
    """All inside."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _whole_numbers(each)
    elif type(value) is int and value >= 0:
        yield value


def test_a_nested_value_has_a_column_for_each_of_its_values(archives: Path, tmp_path: Path) -> None:
    found = _experiment(archives, versions.VERSION, "closed")
    for table, expected in (
        ("accountings", {"operations.time": "1000", "costs.run_ns": "1000000"}),
        ("trials", {"parameters.copies": "1", "usage.1.copy": "0"}),
        ("systems", {"hello.libc": "glibc", "fingerprint.cpu_count": "2"}),
    ):
        reading.export(found, table, tmp_path / "table.csv")
        with open(tmp_path / "table.csv", newline="") as lines:
            rows = list(csv.DictReader(lines))
        assert any(expected.items() <= row.items() for row in rows), (table, rows[0])
