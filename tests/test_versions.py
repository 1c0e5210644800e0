"""Archives of every version are read, for ever.

tests/archives/versions.tar.xz holds, for each version, the same experiment open and closed (vN/open,
vN/closed), as that version's own code wrote it: some of everything it knew. versions.json says how many rows
each table has, and the digest of what the code of version 5 read in them; columns.json what columns it knew.
"""

import hashlib
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from steelyard.analysis import weigh
from steelyard.archive import closing, experiments, journal, reading, schema, versions
from steelyard.archive.experiments import Experiment
from steelyard.report import console, page

pytestmark = pytest.mark.computes  # each reads an archive

ARCHIVES = Path(__file__).parent / "archives"
KNOWN = json.loads((ARCHIVES / "versions.json").read_text())
COLUMNS = json.loads((ARCHIVES / "columns.json").read_text())
VERSIONS = range(1, versions.VERSION + 1)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("archives")
    with tarfile.open(ARCHIVES / "versions.tar.xz") as packed:
        packed.extractall(place, filter="data")
    return place


def _experiment(archives: Path, version: int, state: str) -> Experiment:
    (found,) = experiments.experiments(archives / f"v{version}" / state)
    return found


def _digests(found: Experiment) -> dict[str, list[Any]]:
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
    weighing = weigh.of(_experiment(archives, version, "closed"))
    console.print_weighing(weighing, tables=(), everything=True)

    assert "slower" in {one.verdict for one in weighing.comparisons if one.cell.startswith("disktest")}
    assert "native-musl" in capsys.readouterr().out
    assert "a small study" in page.html(weighing, tables=())


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
