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
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from steelyard.archive import journal
from steelyard.errors import ArchiveError, UnknownName
from steelyard.text import shown
from steelyard.watch.figures import FIGURES
from steelyard.watch.model import Call, Head, Monitor, Process, Reading, Refused, Watch, Window

VERSION = 1
HEADER = "watch.json"
_FOLDER = "watches"

_FIGURES = ", ".join(f"{name} BIGINT" for name in FIGURES)
_WHO = "pid BIGINT, thread BIGINT, begin_ns BIGINT"
# Whole numbers stay whole. A reading's rows are long, because most processes change in few things at a time.
_TABLES = {
    "processes": f"""{_WHO}, parent BIGINT, generation BIGINT, program VARCHAR, program_before VARCHAR,
        attached BOOLEAN, watched_ns BIGINT, end_ns BIGINT, status BIGINT, signal BIGINT, threads BIGINT,
        children BIGINT, {_FIGURES}, windows BIGINT, windows_ns BIGINT, windows_active BIGINT,
        windows_run_ns DOUBLE, windows_hook_ns DOUBLE, windows_run_squares DOUBLE, samples_user BIGINT,
        samples_kernel BIGINT, calls_seen BOOLEAN, exact BOOLEAN, missed_run_ns BIGINT,
        windows_weighted_ns DOUBLE""",
    "calls": f"""{_WHO}, program VARCHAR, call VARCHAR, calls BIGINT, errors BIGINT, time_ns BIGINT,
        histogram BIGINT[], samples BIGINT, expanded DOUBLE, expanded_errors DOUBLE,
        squares DOUBLE, products DOUBLE, in_windows BIGINT, errors_in_windows BIGINT, weighted DOUBLE,
        weighted_errors DOUBLE""",
    "readings": "at_ns BIGINT, pid BIGINT, begin_ns BIGINT, figure VARCHAR, call VARCHAR, value DOUBLE, "
    "errors DOUBLE",
}
TABLES = tuple(_TABLES)


@dataclass(frozen=True, slots=True)
class Kept:
    """A watch in the archive, by its directory and its header."""

    path: Path
    header: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.path.name


def keep(root: Path, watch: Watch, *, watched: str) -> Kept:
    """Writes the watch into the archive, which is made if it is not there. Raises ArchiveError."""
    created = time.time()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(created))
    path = root / _FOLDER / f"{stamp}-watch-{secrets.token_hex(2)}"
    header = {
        "version": VERSION,
        "created": created,
        "host": shown(socket.gethostname()),
        "watched": watched,
        "head": dataclasses.asdict(watch.head),
        "monitor": dataclasses.asdict(watch.monitor) if watch.monitor else None,
        "windows": [dataclasses.asdict(one) for one in watch.windows],
    }
    draft = path.with_name(f".{path.name}.draft")
    with journal.explained(path):
        draft.mkdir(parents=True)
        try:
            for table, rows in (
                ("processes", _processes(watch)),
                ("calls", _calls(watch)),
                ("readings", _readings(watch)),
            ):
                _write(draft / f"{table}.parquet", _TABLES[table], rows)
            (draft / HEADER).write_bytes(json.dumps(header, indent=1).encode())
            draft.rename(path)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    return Kept(path, header)


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


def _write(file: Path, columns: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Rows into one Parquet file, by way of a file of JSON lines: rows may be more than memory holds."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".jsonl", prefix="steelyard-") as lines:
        for row in rows:
            lines.write(json.dumps(row) + "\n")
        lines.flush()
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE shape ({columns})")
            described = connection.execute("DESCRIBE shape").fetchall()
            spec = "{" + ", ".join(f"'{name}': '{kind}'" for name, kind, *_ in described) + "}"
            try:
                connection.execute(
                    f"COPY (SELECT * FROM read_json('{_quoted(lines.name)}', format='newline_delimited', "
                    f"columns={spec})) TO '{_quoted(file)}' (FORMAT parquet, COMPRESSION zstd)"
                )
            except duckdb.Error as error:
                raise journal.cannot_write(file, error) from error


def read(kept: Kept) -> Watch:
    """The watch as it was kept, but for its marks, which are not. Raises ArchiveError."""
    header = kept.header
    try:
        head = header["head"]
        refused = tuple(Refused(**one) for one in head["refused"])
        calls = _calls_by_process(kept)
        return Watch(
            head=Head(**head | {"refused": refused, "missing": tuple(head["missing"])}),
            processes=tuple(_process(row, calls) for row in _rows(kept, "processes")),
            windows=tuple(Window(**one) for one in header["windows"]),
            marks=(),
            monitor=_monitor(header["monitor"]) if header["monitor"] else None,
            readings=_Readings(kept),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ArchiveError(f"watch {kept.path} is damaged: {error}") from error


def _rows(kept: Kept, table: str) -> Iterator[dict[str, Any]]:
    """In the order in which they were written. Raises ArchiveError."""
    with duckdb.connect() as connection:
        try:
            found = connection.execute(f"SELECT * FROM read_parquet('{_quoted(kept.path / table)}.parquet')")
            names = [column[0] for column in found.description or ()]
            while rows := found.fetchmany(10_000):
                for row in rows:
                    yield dict(zip(names, row, strict=True))
        except duckdb.Error as error:
            raise ArchiveError(f"watch {kept.path} is damaged: {table}.parquet: {error}") from error


_Who = tuple[int, int | None, int]


def _who(row: Mapping[str, Any]) -> _Who:
    return row["pid"], row["thread"], row["begin_ns"]


def _calls_by_process(kept: Kept) -> dict[_Who, dict[str, Call]]:
    found: dict[_Who, dict[str, Call]] = {}
    for row in _rows(kept, "calls"):
        # Earlier versions kept fewer.
        fields = {field.name: row[field.name] for field in dataclasses.fields(Call) if field.name in row}
        histogram = None if row["histogram"] is None else tuple(row["histogram"])
        found.setdefault(_who(row), {})[row["call"]] = Call(**fields | {"histogram": histogram})
    return found


def _process(row: Mapping[str, Any], calls: Mapping[_Who, Mapping[str, Call]]) -> Process:
    fields = {field.name: row.get(field.name) for field in dataclasses.fields(Process)}
    figures = {name: row.get(name) for name in FIGURES}
    seen = calls.get(_who(row), {}) if row["calls_seen"] else None
    return Process(**fields | {"figures": figures, "calls": seen})


def _monitor(told: Mapping[str, Any]) -> Monitor:
    total = told["total"]
    if total is None:
        return Monitor(**told)
    calls = total["calls"] and {
        name: Call(**one | {"histogram": one["histogram"] and tuple(one["histogram"])})
        for name, one in total["calls"].items()
    }
    figures = {name: total["figures"].get(name) for name in FIGURES}
    return Monitor(**dict(told) | {"total": Process(**total | {"figures": figures, "calls": calls})})


class _Readings:
    """The readings of a kept watch, read from its file whenever they are wanted."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def __iter__(self) -> Iterator[Reading]:
        same = itertools.groupby(
            _rows(self._kept, "readings"), key=lambda row: (row["at_ns"], row["pid"], row["begin_ns"])
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


def _quoted(path: object) -> str:
    return str(path).replace("'", "''")


def kept(root: Path) -> list[Kept]:
    """Every watch of the archive, the oldest first. Raises ArchiveError for one that is damaged."""
    return sorted(
        (_open(path) for path in (root / _FOLDER).glob("[!.]*/")),
        key=lambda one: float(one.header["created"]),
    )


def find(root: Path, name: str) -> Kept:
    """The watch of that name. Raises UnknownName."""
    for one in kept(root):
        if one.name == name:
            return one
    raise UnknownName("watch", name, (one.name for one in kept(root)), where=f"archive {root}: ")


def _open(path: Path) -> Kept:
    try:
        header = json.loads((path / HEADER).read_bytes())
        version = header["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArchiveError(f"watch {path} is damaged: {HEADER} cannot be read ({error})") from error
    if version > VERSION:
        raise ArchiveError(f"watch {path} is of version {version}; this Steelyard reads up to {VERSION}")
    return Kept(path, header)


def merge(root: Path, source: Path) -> int:
    """Copies the watches of another archive that this one lacks; returns how many."""
    copied = 0
    with journal.explained(root):
        for one in kept(source):
            place = root / _FOLDER / one.name
            if not place.exists():
                draft = place.with_name(f".{one.name}.draft")
                shutil.rmtree(draft, ignore_errors=True)
                shutil.copytree(one.path, draft)
                draft.rename(place)
                copied += 1
    return copied
