"""Keeps experiments: makes and finds them, and appends what happened to their journals.

An archive is a directory; an experiment is a directory in it:

    experiments/ID/experiment.json   what was to be done: study, systems, seed, budget, host
    experiments/ID/journal.jsonl     an event a line, each written and synced whole
    experiments/ID/*.parquet         the same when the experiment is closed; the journal then goes
    watches/ID/                      what the monitor saw (`watches` keeps them)
    measuring-HOST.lock              held while an experiment is measured on that host

Atomicity: a line is one write and one fsync; a line that a crash cut short has no newline, and is cut
off before anything is added. Parquet files are written beside their place and renamed into it, the
last of them last, so that an experiment is closed if and only if its events.parquet exists. A closed
experiment is never changed, so archives merge by copying (`merging`); `reopen` makes an open one of it.
"""

import fcntl
import hashlib
import json
import os
import secrets
import socket
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from steelyard import home
from steelyard.archive import files, journal, names, schema, sequence, versions
from steelyard.archive import header as headers
from steelyard.archive.schema import Line
from steelyard.errors import ArchiveError, UnknownName, in_words
from steelyard.shapes import Wrong
from steelyard.study import study_file
from steelyard.study.model import Cell, Study
from steelyard.study.plan import Plan

HEADER = headers.NAME
VERSION = versions.VERSION
DAMAGED = "damaged.jsonl"

Tell = Callable[[str], None]  # what is damaged, in a sentence


def refuse(sentence: str) -> None:
    """The handler of damage for callers without one. Raises ArchiveError."""
    raise ArchiveError(sentence)


@dataclass(frozen=True, slots=True)
class StoredExperiment:
    """One execution of a study, by its directory and its header."""

    path: Path
    header: Mapping[str, Any]
    absent: frozenset[str] = frozenset()  # the tables that its version did not have

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def study(self) -> Study | None:
        """The study that it was made from; None if this version cannot read it."""
        return _study_of(self.header["study_text"], self.header.get("short", False))

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of its plan, in the study's order."""
        return headers.cells(self.header)

    @property
    def closed(self) -> bool:
        return os.path.lexists(self.path / file_of(names.LAST))


@cache
def _study_of(text: str, is_short: bool) -> Study | None:
    return study_file.archived(text, is_short=is_short)


def file_of(table: str) -> str:
    return f"{table}.parquet"


def default_root() -> Path:
    """STEELYARD_ARCHIVE, or steelyard in the user's data directory. Raises Unsupported if there is none."""
    given = os.environ.get("STEELYARD_ARCHIVE")
    return Path(given) if given else home.data() / "steelyard"


def identity(plan: Plan, *, budget_s: float, programs: Sequence[str]) -> str:
    """The identity of a command: the same command resumes its experiment."""
    text = json.dumps(
        [
            plan.study.text,
            plan.systems,
            [cell.label for cell in plan.cells],
            sorted(plan.study.margins.items()),
            plan.study.design.blocks,
            plan.study.design.precision,
            budget_s,
            list(programs),
            *([sorted(plan.servers.items())] if plan.servers else []),
        ]
    )
    return hashlib.sha256(text.encode()).hexdigest()


def create(
    root: Path, plan: Plan, *, budget_s: float, same: str, details: Mapping[str, Any]
) -> StoredExperiment:
    """A new experiment in the archive, which is made if it is not there. Raises ArchiveError."""
    created = time.time()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(created))
    path = root / "experiments" / f"{stamp}-{plan.study.name}-{secrets.token_hex(4)}"
    before = None
    with suppress(ArchiveError):  # what is wrong there is said where it is written to
        before = next(reversed(experiments(root, tell=lambda sentence: None)), None)
    header = {
        "version": VERSION,
        "identity": same,
        "study": plan.study.name,
        "study_text": plan.study.text,
        "systems": plan.systems,
        "cells": [[cell.workload, list(cell.parameters)] for cell in plan.cells],
        "margins": dict(plan.study.margins),
        "blocks": plan.study.design.blocks,
        "precision": plan.study.design.precision,
        "budget_s": budget_s,
        "seed": plan.seed,
        "created": created,
        **({"after": before.name} if before else {}),
        **({"servers": dict(plan.servers)} if plan.servers else {}),
        **({"short": True} if plan.study.is_short else {}),
        **({"in_turns": sorted(cell.label for cell in plan.in_turns)} if plan.in_turns else {}),
        **details,
    }
    with journal.explained(path), files.drafted(path) as draft:
        files.write_synced(draft / journal.NAME, ())
        files.write_synced(draft / HEADER, [json.dumps(header, indent=1).encode()])
    return StoredExperiment(path, json.loads(json.dumps(header)))


def dated_later(root: Path, experiment: StoredExperiment) -> StoredExperiment | None:
    """The one that was there when that was made, and has a later date: a clock was wrong."""
    for one in experiments(root, lambda sentence: None):
        if (
            one.name == experiment.header.get("after")
            and one.header["created"] > experiment.header["created"]
        ):
            return one
    return None


def experiments(root: Path, tell: Tell = refuse) -> list[StoredExperiment]:
    """Every experiment of the archive, the first made first (`sequence`). Calls `tell` for each that cannot
    be read."""
    entries = []
    paths, others = files.directories(root / "experiments")
    for sentence in others:
        tell(sentence)
    for path in paths:
        if not os.path.lexists(path / HEADER):
            continue  # an earlier version was killed while it was being made: nothing was measured yet
        try:
            entries.append(at(path))
        except ArchiveError as error:
            tell(str(error))
    return sequence.in_order(entries)


def find(root: Path, name: str | None, tell: Tell = refuse) -> StoredExperiment:
    """The experiment of that name, or whose directory that is; the newest one for None. Calls `tell` for
    others that cannot be read. Raises UnknownName, ArchiveError."""
    if name is not None and os.path.exists(Path(name) / HEADER):
        return at(Path(name))
    unread: list[str] = []

    def told(sentence: str) -> None:
        unread.append(sentence)
        tell(sentence)

    entries = experiments(root, told)
    if name is None and entries:
        return entries[-1]
    if name is None and unread:
        raise ArchiveError(f"archive {root} holds no experiment that can be read")
    if name is None:
        raise ArchiveError(f"archive {root} holds no experiment yet; run one: steelyard compare native uml")
    for one in entries:
        if one.name == name:
            return one
    if "/" not in name and os.path.lexists(root / "experiments" / name / HEADER):
        return at(root / "experiments" / name)
    raise UnknownName("experiment", name, (one.name for one in entries), where=f"archive {root}: ")


def unfinished(root: Path, same: str, tell: Tell = refuse) -> StoredExperiment | None:
    """The newest open experiment of that identity."""
    for one in reversed(experiments(root, tell)):
        if not one.closed and one.header["identity"] == same:
            return one
    return None


def at(path: Path) -> StoredExperiment:
    """The one in that directory. Raises ArchiveError."""
    written = headers.read(path)
    return StoredExperiment(path, written.header, frozenset(written.absent))


@contextmanager
def measuring(root: Path) -> Iterator[None]:
    """Holds this host's right to measure into the archive: two experiments at once would disturb each
    other. Raises ArchiveError if another process holds it. Ends with the process, however that ends."""
    # A host may be called anything but a file's name.
    path = root / f"measuring-{urllib.parse.quote(os.fsencode(socket.gethostname()), safe='')}.lock"
    with ExitStack() as held:
        with journal.explained(path):
            files.make_directories(root)
            handle = files.calls.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            held.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(handle, 64).decode(errors="replace").strip()
                raise ArchiveError(
                    f"another experiment is being measured into {root} by process {holder}; two at once "
                    "would disturb each other: wait for it, or stop it"
                ) from None
            files.calls.truncate(handle, 0)
            files.write_all(handle, str(os.getpid()).encode())
        yield


def known_names(experiment: StoredExperiment) -> schema.Known:
    """The names that the experiment's tables may hold, by their column."""
    cells = [cell.label for cell in experiment.cells]
    return {"system": frozenset(experiment.header["systems"]), "cell": frozenset(cells)}


def lines(
    experiment: StoredExperiment, *, begin: int = 0, damaged: Callable[[bytes], None] = lambda line: None
) -> Iterator[Line]:
    """The lines of an open experiment's journal, from that byte on. A damaged line is replaced by one that
    says so; `damaged` receives the line itself. Raises ArchiveError.
    """
    known = known_names(experiment)

    def check(line: Line) -> Line:
        line = schema.check(line)
        for key, values in known.items():
            if line.get(key) is not None and line[key] not in values:
                raise Wrong(line[key], f"a {key} of the experiment", key)
        return line

    return journal.lines(experiment.path, check=check, begin=begin, damaged=damaged)


def discard(experiment: StoredExperiment) -> None:
    """Removes an open experiment."""
    with journal.explained(experiment.path):
        files.discard(experiment.path)


def has_trials(experiment: StoredExperiment) -> bool:
    """True if an open experiment has a trial, even a damaged one."""
    return any(line["kind"] in ("trial", "damage") for line in lines(experiment))


def discard_if_empty(experiment: StoredExperiment) -> None:
    """Removes an experiment in which nothing has happened. A system that came up, one that did not, and what
    it said are facts."""
    if not any(line["kind"] != "note" for line in lines(experiment)):
        discard(experiment)


class Named(Protocol):
    """A directory of an archive, by its name."""

    @property
    def path(self) -> Path: ...
    @property
    def name(self) -> str: ...


def copied(ones: Sequence[Named], folder: Path, names: Sequence[str], tell: Tell) -> int:
    """Copies files of these names, where they are there, into directories of the same names in the folder;
    returns how many directories. Raises ArchiveError."""
    done = 0
    for one in ones:
        try:
            with files.drafted(folder / one.name) as draft:
                for name in names:
                    if os.path.lexists(one.path / name):
                        files.write_synced(draft / name, parts_of(one.path / name))
            done += 1
        except ArchiveError as error:
            tell(f"{one.path} is left out: {error}")
        except OSError as error:
            raise ArchiveError(
                f"{one.path} cannot be copied into {folder}: {in_words(error)}; {done} of {len(ones)} were "
                "copied, run the same command again to copy the others"
            ) from error
    return done


def parts_of(path: Path) -> Iterator[bytes]:
    """The file's content. Raises ArchiveError."""
    try:
        with files.descriptor(path) as handle:
            yield from files.parts(handle)
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {in_words(error)}") from error
