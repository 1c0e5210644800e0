"""Keeps watches in an archive, beside its experiments, as Parquet.

    watches/ID/watch.json          what was watched, when, on which host, and what the monitor says of itself
    watches/ID/processes.parquet   a row a process (and thread, where asked for)
    watches/ID/calls.parquet       a row a process and type of system call
    watches/ID/readings.parquet    a row a reading and figure or type of call that had changed

A watch is written beside its place and renamed into it, and never changed: archives merge by copying.
"""

import dataclasses
import itertools
import json
import os
import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from steelyard import shapes
from steelyard.archive import experiments, exports, files, journal, schema, sequence, tables
from steelyard.archive.experiments import Tell
from steelyard.archive.schema import ArchiveTable, Column
from steelyard.errors import ArchiveError, UnknownName, in_words
from steelyard.events import Moment
from steelyard.shapes import Wrong
from steelyard.text import shown
from steelyard.watch.figures import FIGURES
from steelyard.watch.model import Call, Head, Monitor, Process, Reading, Refused, Watch, Window

VERSION = 1
HEADER = "watch.json"
_FOLDER = "watches"
_HEADER_MOST = 1 << 28  # bytes


class _Header(TypedDict):
    version: int
    created: Moment
    after: NotRequired[str]  # the watch that was the newest of its archive when it was kept
    host: str
    watched: str
    head: Head
    monitor: Monitor | None
    windows: list[Window]


@dataclass(frozen=True, slots=True)
class _Change:
    """A reading of one figure, or of one type of call."""

    at_ns: int
    pid: int
    begin_ns: int
    figure: str | None = None
    call: str | None = None
    value: float | None = None
    errors: float | None = None


# Whole numbers stay whole. A reading's rows are long, because most processes change in few things at a time.
TABLES: Mapping[str, ArchiveTable] = {
    one.name: one
    for one in (
        schema.table(
            "processes",
            *schema.columns(Process, without=("figures", "calls")),
            *(Column(name, "BIGINT", name, is_required=False) for name in FIGURES),
            Column("calls_seen", "BOOLEAN", "calls_seen"),
        ),
        schema.table(
            "calls",
            *schema.columns(Process, "pid", "thread", "begin_ns", "program"),
            Column("call", "VARCHAR", "call", condition="call IS NOT NULL"),
            *schema.columns(Call),
        ),
        schema.table("readings", *schema.columns(_Change)),
    )
}


@dataclass(frozen=True, slots=True)
class KeptWatch:
    """A watch in the archive, by its directory and its header."""

    path: Path
    header: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.path.name


def keep(root: Path, watch: Watch, *, watched: str) -> KeptWatch:
    """Writes the watch into the archive, which is made if it is not there. Raises ArchiveError."""
    created = time.time()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(created))
    path = root / _FOLDER / f"{stamp}-watch-{secrets.token_hex(4)}"
    before = None
    with suppress(ArchiveError):  # what is wrong there is said where it is written to
        before = next(reversed(watches(root, tell=lambda sentence: None)), None)
    header = {
        "version": VERSION,
        "created": created,
        **({"after": before.name} if before else {}),
        "host": shown(socket.gethostname()),
        "watched": watched,
        "head": dataclasses.asdict(watch.head),
        "monitor": dataclasses.asdict(watch.monitor) if watch.monitor else None,
        "windows": [dataclasses.asdict(one) for one in watch.windows],
    }
    rows = {"processes": _processes(watch), "calls": _calls(watch), "readings": _readings(watch)}
    try:
        with journal.explained(path), files.drafted(path) as draft:
            for name, table in TABLES.items():
                files.write_synced(draft / _file_of(name), tables.of_rows(rows[name], table))
            files.write_synced(draft / HEADER, [json.dumps(header, indent=1).encode()])
    except tables.FAULTS as error:
        raise ArchiveError(f"{path} cannot be written: {tables.complaint(error)}") from error
    return KeptWatch(path, header)


def _file_of(table: str) -> str:
    return f"{table}.parquet"


def _processes(watch: Watch) -> Iterable[dict[str, Any]]:
    for one in watch.processes:
        row = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
        del row["figures"], row["calls"]
        yield row | dict(one.figures) | {"calls_seen": one.calls is not None}


def _calls(watch: Watch) -> Iterable[dict[str, Any]]:
    for one in watch.processes:
        for name, call in (one.calls or {}).items():
            yield {
                "pid": one.pid,
                "thread": one.thread,
                "begin_ns": one.begin_ns,
                "program": one.program,
                "call": name,
                **dataclasses.asdict(call),
            }


def _readings(watch: Watch) -> Iterable[dict[str, Any]]:
    for one in watch.readings:
        moment = {"at_ns": one.at_ns, "pid": one.pid, "begin_ns": one.begin_ns}
        for name, value in one.figures.items():
            yield moment | {"figure": name, "value": value}
        for name, (calls, errors) in one.calls.items():
            yield moment | {"call": name, "value": calls, "errors": errors}


def read(entry: KeptWatch) -> Watch:
    """The watch as it was kept, but for its marks, which are not. Raises ArchiveError."""
    header = entry.header
    head = header["head"]
    calls = _calls_by_process(entry)
    return Watch(
        head=Head(
            **head
            | {"refused": tuple(Refused(**one) for one in head["refused"]), "missing": tuple(head["missing"])}
        ),
        processes=tuple(_process(row, calls) for row in _rows(entry, "processes")),
        windows=tuple(Window(**one) for one in header["windows"]),
        marks=(),
        monitor=_monitor(header["monitor"]) if header["monitor"] else None,
        readings=_Readings(entry),
    )


@contextmanager
def connect(entry: KeptWatch, table: str) -> Iterator[tables.Connection]:
    """A database with that table of the watch. Raises ArchiveError, also for rows that are none."""
    path = entry.path / _file_of(table)
    try:
        with tables.of_file(path, TABLES[table]) as (database, damage):
            if damage:
                raise ArchiveError(f"watch {entry.path} is damaged: {damage[0]}")
            yield database
    except tables.FAULTS as error:
        raise ArchiveError(
            f"watch {entry.path} is damaged: {path.name}: {tables.complaint(error)}"
        ) from error
    except OSError as error:
        raise ArchiveError(f"watch {entry.path} is damaged: {path.name}: {in_words(error)}") from error


def export(entry: KeptWatch, table: str, file: Path) -> None:
    """Writes one table of the watch to the file, by the file's ending. Raises UsageError, ArchiveError."""
    exports.check(file)
    with connect(entry, table) as database:
        exports.write(database, table, file)


def _rows(entry: KeptWatch, table: str) -> Iterator[dict[str, Any]]:
    """The rows in the order in which they were written. Raises ArchiveError."""
    names = [one.name for one in TABLES[table].columns]
    with connect(entry, table) as database:
        for row in tables.rows(database, f"SELECT * FROM {table}", TABLES[table]):
            yield dict(zip(names, row, strict=True))


_Who = tuple[int, int | None, int]


def _who(row: Mapping[str, Any]) -> _Who:
    return row["pid"], row["thread"], row["begin_ns"]


def _calls_by_process(entry: KeptWatch) -> dict[_Who, dict[str, Call]]:
    by_process: dict[_Who, dict[str, Call]] = {}
    for row in _rows(entry, "calls"):
        # Earlier versions kept fewer.
        fields = {field.name: row[field.name] for field in dataclasses.fields(Call) if field.name in row}
        histogram = None if row["histogram"] is None else tuple(row["histogram"])
        by_process.setdefault(_who(row), {})[row["call"]] = Call(**fields | {"histogram": histogram})
    return by_process


def _process(row: Mapping[str, Any], calls: Mapping[_Who, Mapping[str, Call]]) -> Process:
    fields = {field.name: row.get(field.name) for field in dataclasses.fields(Process)}
    figures = {name: row.get(name) for name in FIGURES}
    counts = calls.get(_who(row), {}) if row["calls_seen"] else None
    return Process(**fields | {"figures": figures, "calls": counts, "at_least": _names(row.get("at_least"))})


def _names(kept: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if kept is None else tuple(kept)


def _monitor(record: Mapping[str, Any]) -> Monitor:
    record = dict(record) | {"missing": tuple(record.get("missing") or ())}
    total = record["total"]
    if total is None:
        return Monitor(**record)
    calls = total["calls"] and {
        name: Call(**one | {"histogram": one["histogram"] and tuple(one["histogram"])})
        for name, one in total["calls"].items()
    }
    figures = {name: total["figures"].get(name) for name in FIGURES}
    more = {"calls": calls, "figures": figures, "at_least": _names(total.get("at_least"))}
    return Monitor(**record | {"total": Process(**total | more)})


class _Readings:
    """The readings of a kept watch, read from its file whenever they are wanted."""

    def __init__(self, entry: KeptWatch) -> None:
        self._entry = entry

    def __iter__(self) -> Iterator[Reading]:
        same = itertools.groupby(
            _rows(self._entry, "readings"), key=lambda row: (row["at_ns"], row["pid"], row["begin_ns"])
        )
        for (at_ns, pid, begin_ns), rows in same:
            figures: dict[str, int] = {}
            calls: dict[str, tuple[float, float | None]] = {}
            for row in rows:
                if row["call"] is None:
                    figures[row["figure"]] = int(row["value"])
                else:
                    calls[row["call"]] = row["value"], row["errors"]
            yield Reading(at_ns, pid, begin_ns, figures, calls)


def watches(root: Path, tell: Tell = experiments.refuse) -> list[KeptWatch]:
    """Every watch of the archive, the oldest first. Calls `tell` for each that cannot be read."""
    entries = []
    paths, others = files.directories(root / _FOLDER)
    for sentence in others:
        tell(sentence)
    for path in paths:
        try:
            entries.append(_open(path))
        except ArchiveError as error:
            tell(str(error))
    return sequence.in_order(entries)


def find(root: Path, name: str, tell: Tell = experiments.refuse) -> KeptWatch:
    """The watch of that name. Raises UnknownName, ArchiveError."""
    if "/" not in name and os.path.lexists(root / _FOLDER / name):
        return _open(root / _FOLDER / name)
    raise UnknownName("watch", name, (one.name for one in watches(root, tell)), where=f"archive {root}: ")


def _open(path: Path) -> KeptWatch:
    try:
        header = json.loads(files.read(path / HEADER, most=_HEADER_MOST))
        version = header["version"]
        if type(version) is int and version > VERSION:
            raise ArchiveError(f"watch {path} is of version {version}; this Steelyard reads up to {VERSION}")
        header = shapes.checker(_Header)(header)
        shapes.checker(Moment)(header["head"]["began"])
    except Wrong as wrong:
        raise ArchiveError(f"watch {path} is damaged: in {HEADER} {wrong}") from None
    except OSError as error:
        raise ArchiveError(f"watch {path} is damaged: {HEADER} cannot be read: {in_words(error)}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ArchiveError(f"watch {path} is damaged: {HEADER} is not a header ({error})") from error
    return KeptWatch(path, header)


def merge(root: Path, source: Path, tell: Tell = experiments.refuse) -> int:
    """Copies the watches of another archive that this one lacks; returns how many. Raises ArchiveError."""
    missing = [one for one in watches(source, tell) if not os.path.lexists(root / _FOLDER / one.name)]
    return experiments.copied(missing, root / _FOLDER, (HEADER, *map(_file_of, TABLES)), tell)
