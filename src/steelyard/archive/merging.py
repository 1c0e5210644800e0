"""Merges archives: experiments that one lacks are copied, and those of which it has a part are completed."""

import filecmp
import hashlib
import os
from collections import Counter
from pathlib import Path

from steelyard.archive import experiments, files, journal, names, reading, schema
from steelyard.archive.experiments import DAMAGED, HEADER, StoredExperiment, Tell, file_of
from steelyard.archive.schema import TABLES
from steelyard.errors import ArchiveError

_Rows = Counter[str]


def merge(root: Path, source: Path, tell: Tell = experiments.refuse) -> int:
    """Copies the closed experiments of another archive that this one lacks, or has only a part of; returns
    how many. One of the same name that is another is kept beside it, under a name of its own.

    Each is copied beside its place and renamed into it. `tell` receives what is left out, and what is not
    simply copied. Raises ArchiveError if `source` is no archive, or while something is measured into a part.
    """
    if not any(os.path.isdir(source / name) for name in ("experiments", "watches")):
        raise ArchiveError(f"'{source}' is not an archive: it has no directory 'experiments'")
    missing, done = [], 0
    for theirs in experiments.experiments(source, tell):
        place = root / "experiments" / theirs.name
        if not theirs.closed:
            continue
        if not os.path.lexists(place):
            missing.append(theirs)
            continue
        try:
            done += _reconciled(root, place, theirs, tell)
        except ArchiveError as error:
            tell(f"{theirs.path} is left out: {error}")
    return done + experiments.copied(missing, root / "experiments", _files(), tell)


def _files() -> tuple[str, ...]:
    return (HEADER, DAMAGED, *map(file_of, names.OF_EXPERIMENT))


def _reconciled(root: Path, place: Path, theirs: StoredExperiment, tell: Tell) -> int:
    """Makes this archive hold what both have of an experiment; returns 1 if it has more now."""
    ours = experiments.at(place)
    if ours.closed and all(_is_same(place / name, theirs.path / name) for name in _files()):
        return 0
    our_rows, their_rows = _rows(ours), _rows(theirs)
    if all(their_rows[name] <= our_rows[name] for name in TABLES):
        return 0
    if all(our_rows[name] <= their_rows[name] for name in TABLES):
        _complete(root, ours, theirs)
        tell(f"{ours.name} was a part of the same experiment there, and is completed")
        return 1
    content = repr([sorted(rows.elements()) for rows in their_rows.values()])
    digest = hashlib.sha256(content.encode()).hexdigest()[:8]
    beside = place.with_name(f"{theirs.name}-{digest}")
    if os.path.lexists(beside):
        return 0
    with journal.explained(beside), files.drafted(beside) as draft:
        _copy(theirs.path, draft)
    tell(f"{theirs.name} is another experiment there: that one is kept as {beside.name}")
    return 1


def _is_same(ours: Path, theirs: Path) -> bool:
    try:
        return filecmp.cmp(ours, theirs, shallow=False)
    except FileNotFoundError:
        return os.path.exists(ours) == os.path.exists(theirs)
    except OSError:
        return False


def _rows(experiment: StoredExperiment) -> dict[str, _Rows]:
    """What each table holds, but for the number of each trial, in which a part and the whole may differ."""
    found = {}
    with reading.connect(experiment) as database, reading.readable(experiment.path):
        for name, table in TABLES.items():
            without = f" EXCLUDE ({schema.quoted(table.number)})" if table.number else ""
            whole = " WHERE kind <> 'damage'" if name == names.LAST else ""  # a copy may have been cut short
            query = f"SELECT *{without} FROM {schema.quoted(name)}{whole}"
            found[name] = Counter(map(repr, database.execute(query).fetchall()))
    return found


def _complete(root: Path, ours: StoredExperiment, theirs: StoredExperiment) -> None:
    """As closing does it: it is closed when the last table is in its place."""
    path = ours.path
    with experiments.measuring(root), journal.explained(path):
        drafts = {name: f".{file_of(name)}" for name in names.OF_EXPERIMENT if _has(theirs, name)}
        try:
            for name, draft in drafts.items():
                files.write_synced(path / draft, experiments.parts_of(theirs.path / file_of(name)))
        except BaseException:
            for draft in drafts.values():
                files.remove(path / draft)
            raise
        for name, draft in drafts.items():
            files.calls.rename(path / draft, path / file_of(name))
        files.sync_directory(path)
        files.remove(path / journal.NAME)


def _has(experiment: StoredExperiment, table: str) -> bool:
    return os.path.lexists(experiment.path / file_of(table))


def _copy(source: Path, draft: Path) -> None:
    for name in _files():
        if os.path.lexists(source / name):
            files.write_synced(draft / name, experiments.parts_of(source / name))
