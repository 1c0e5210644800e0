"""Closes experiments, journal into Parquet, and opens them again.

Parquet files are written beside their place and renamed into it, the last of them last: with it there, the
experiment is closed.
"""

import contextlib
import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from steelyard.archive import experiments, files, journal, names, readback, reading, reopening, tables
from steelyard.archive.experiments import StoredExperiment, Tell
from steelyard.archive.schema import TABLES
from steelyard.errors import ArchiveError


def close(experiment: StoredExperiment) -> StoredExperiment:
    """Turn the journal into Parquet, read that back, and remove the journal if nothing is missing.

    Raises ArchiveError; until the last file is in place the experiment stays open, with its journal. A closed
    experiment is left as it is.
    """
    path = experiment.path
    if experiment.closed:
        files.remove(path / journal.NAME)
        return experiment
    damaged: list[bytes] = []
    drafts = {name: f".{experiments.file_of(name)}" for name in TABLES}
    with reading.readable(path), journal.explained(path), ExitStack() as held:
        held.callback(_remove, path, drafts.values())
        promised = readback.ReadBack()
        store = tables.Lines(promised.noting(experiments.lines(experiment, damaged=damaged.append)), held)
        with tables.connection() as database:
            store.load(database)
            for name, table in TABLES.items():
                files.write_synced(path / drafts[name], tables.parquet(database, table))
        difference = promised.first_difference(path, drafts)
        if difference:
            raise ArchiveError(
                f"experiment {path} stays open, with its {journal.NAME}: what was read back from Parquet is "
                f"not what was measured: {difference}"
            )
        if damaged:
            _keep_damaged(path, damaged)
        for name in TABLES:
            files.calls.rename(path / drafts[name], path / experiments.file_of(name))
        files.sync_directory(path)
    files.remove(path / journal.NAME)
    return experiment


def reopen(experiment: StoredExperiment, tell: Tell = experiments.refuse) -> None:
    """Turn the tables of a closed experiment into a journal again, so that the same command can resume it.
    `tell` receives damaged parts, which are left out. Raises ArchiveError; the experiment is then still
    closed.
    """
    path = experiment.path
    if not experiment.closed:
        raise ArchiveError(f"experiment {path} is open: run the command that began it again to resume it")
    with reading.readable(path), journal.explained(path):
        with reading.connect(experiment) as database:
            records = (json.dumps(line, separators=(",", ":")).encode() for line in reopening.lines(database))
            files.write(path / journal.NAME, (line + b"\n" for line in records))
            with tables.of_lines(experiments.lines(experiment)) as again:
                lost = reopening.losses(database, again)
            remarks = database.execute("SELECT note FROM events WHERE kind = 'damage'").fetchall()
        if lost:
            files.remove(path / journal.NAME)
            raise ArchiveError(f"experiment {path} stays closed: a journal cannot hold its {lost[0]}")
        files.sync_directory(path)  # the journal is there before a table goes
        files.calls.unlink(path / experiments.file_of(names.LAST))
        files.sync_directory(path)
        _remove(path, map(experiments.file_of, TABLES))
    for (sentence,) in remarks:
        tell(f"experiment {path}: {sentence}")


def _remove(path: Path, file_names: Iterable[str]) -> None:
    for name in file_names:
        files.remove(path / name)


def _keep_damaged(path: Path, damaged: Sequence[bytes]) -> None:
    """Keep unreadable lines as they are."""
    before, further = b"", b"".join(line + b"\n" for line in damaged)
    with contextlib.suppress(FileNotFoundError):
        before = files.read(path / experiments.DAMAGED, most=1 << 30)
    if not before.endswith(further):  # as a closing left it that was cut short after this
        files.write(path / experiments.DAMAGED, [before, further])
