"""The Python API: experiments, tables and verdicts of every version's archives, by docs/reference/api.md."""

import dataclasses
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import places
import pytest

import steelyard
from steelyard.archive import versions
from steelyard.errors import ArchiveError, UnknownName

ROOT = places.ROOT
VERSIONS = range(1, versions.VERSION + 1)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("archives")
    with tarfile.open(ROOT / "tests" / "archives" / "versions.tar.xz") as packed:
        packed.extractall(place, filter="data")
    return place


@pytest.mark.computes
@pytest.mark.parametrize("version", VERSIONS)
def test_an_archive_gives_experiments_tables_and_verdicts(archives: Path, version: int) -> None:
    found = []
    for state in ("open", "closed"):
        with steelyard.open(archives / f"v{version}" / state) as archive:
            (experiment,) = archive
            assert archive[experiment.name] is experiment is archive.newest
            assert experiment.closed == (state == "closed")
            assert experiment.systems == tuple(experiment.header["systems"])
            trials = experiment.trials.aggregate("count(*)").fetchall()[0][0]
            assert trials > 0
            assert set(experiment.samples.columns) >= {"trial", "metric", "duration_ns"}
            asked = "SELECT count(*) FROM samples JOIN trials USING (trial)"
            assert experiment.database.query(asked).fetchall() == [(len(experiment.samples),)]
            for table in experiment.tables:
                assert experiment.table(table).columns
            verdicts = experiment.comparisons()
            assert all(dataclasses.is_dataclass(one) for one in verdicts)
            found.append((trials, verdicts))
    assert found[0] == found[1]


@pytest.mark.computes
def test_relations_end_with_the_archive_and_what_is_wrong_is_named(archives: Path, tmp_path: Path) -> None:
    with steelyard.open(archives / f"v{VERSIONS[-1]}" / "closed") as archive:
        with pytest.raises(UnknownName, match="there is no experiment 'nothing'"):
            archive["nothing"]
        experiment = archive.newest
        assert experiment
        with pytest.raises(UnknownName, match="there is no table 'trails'; did you mean 'trials'"):
            experiment.table("trails")
        trials = experiment.trials
    with pytest.raises(Exception, match=r"[Cc]onnection"):
        trials.fetchall()
    with steelyard.open(tmp_path) as empty:
        assert (len(empty), empty.newest) == (0, None)
    (tmp_path / "experiments" / "broken").mkdir(parents=True)
    (tmp_path / "experiments" / "broken" / "experiment.json").write_text("{")
    with pytest.raises(ArchiveError):
        steelyard.open(tmp_path)


@pytest.mark.program
def test_the_example_of_the_document_runs(archives: Path, tmp_path: Path) -> None:
    (example,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "reference" / "api.md").read_text(), re.DOTALL
    )
    (tmp_path / "archive").symlink_to(archives / f"v{VERSIONS[-1]}" / "closed")

    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "native" in done.stdout


@pytest.mark.program
def test_the_package_itself_imports_nothing() -> None:
    script = (
        "import sys; before = set(sys.modules); import steelyard; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "steelyard\n"
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", steelyard.__version__)
