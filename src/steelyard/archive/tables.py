"""Turns the lines of a journal into tables, tables into Parquet, and Parquet into tables again: the one place
where an archive meets SQL.

DuckDB is given descriptors and never a path, so that no name means anything to it, and no SQL is made of what
an archive holds.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import duckdb

from steelyard import home, shapes
from steelyard.archive import files, schema
from steelyard.archive.schema import JSON, KNOWN, TABLES, ArchiveTable, Line, Row, quoted, text
from steelyard.errors import ArchiveError
from steelyard.quantities import number_of
from steelyard.text import shortened, shown

Connection = duckdb.DuckDBPyConnection

_MEMORY_MOST = 1 << 32  # bytes; and never so much that the machine has no more
_LINE_LIKELY = 1 << 22  # bytes of JSON; DuckDB takes memory for two of the longest
_READ_ONCE = 1 << 20  # bytes
_ROWS_ONCE, _LINES_ONCE = 10_000, 500
# What is written is read from the first to the last row, and goes nowhere first.
_AS_PARQUET = "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false"
# What comes of a damaged file. DuckDB quotes bytes of it, which need not be text.
FAULTS = (duckdb.Error, UnicodeDecodeError)
_JSON = json.JSONEncoder(separators=(",", ":"))


def complaint(error: Exception) -> str:
    """The complaint, as far as a person can use it."""
    if isinstance(error, UnicodeDecodeError):
        return "it is damaged"
    return shortened(shown(str(error).splitlines()[0]), 300)


def connection() -> Connection:
    """An empty database in memory, which never spills into a file."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = f"{min(_MEMORY_MOST, memory // 2)}B"
    return duckdb.connect(config={"memory_limit": limit, "temp_directory": ""})


class Lines:
    """The lines of a journal as tables. They are kept in files without a name, one for each form: DuckDB
    reads files, and nothing is to be left behind."""

    def __init__(self, lines: Iterable[Line], held: ExitStack) -> None:
        self._files = {form: held.enter_context(_unnamed()) for form in schema.FORMS}
        self._longest = 0
        self._there: set[str] = set()
        for line in lines:
            form = schema.form_of(line)
            self._there.add(form)
            size = self._files[form].write(_as_json(line) + b"\n")
            self._longest = max(self._longest, size)
        for file in self._files.values():
            file.flush()

    def load(self, database: Connection) -> None:
        """Makes every table. Raises duckdb.Error."""
        for form, file in self._files.items():
            if form not in self._there:  # DuckDB takes as long to read nothing
                for table in _of_form(form):
                    database.execute(f"CREATE TABLE {quoted(table.name)} ({_declared(table)})")
                continue
            name = quoted(f"{form} lines")
            _read_lines(database, name, schema.declared(form), file.fileno(), longest=self._longest)
            for table in _of_form(form):
                database.execute(f"CREATE TABLE {quoted(table.name)} AS {_selected(table, name)}")
            database.execute(f"DROP TABLE {name}")


@contextmanager
def of_lines(lines: Iterable[Line]) -> Iterator[Connection]:
    """A database with every table of these lines of a journal. Raises duckdb.Error."""
    with ExitStack() as held:
        store = Lines(lines, held)
        database = held.enter_context(connection())
        store.load(database)
        yield database


def _of_form(form: str) -> list[ArchiveTable]:
    return [one for one in TABLES.values() if one.form == form]


def _unnamed() -> IO[bytes]:
    """A file without a name: in memory, where the kernel or a sandbox does not refuse that."""
    try:
        return os.fdopen(os.memfd_create("steelyard"), "w+b")
    except OSError:
        return home.unnamed_file()


def _as_json(value: object) -> bytes:
    line = _JSON.encode(value)
    if "\\ud" in line:
        line = _JSON.encode(shapes.without_halves(value))
    return line.encode()


def _read_lines(
    database: Connection, name: str, columns: Mapping[str, str], handle: int, *, longest: int
) -> None:
    declarations = ", ".join(f"{text(column)}: {text(kind)}" for column, kind in columns.items())
    database.execute(
        f"CREATE TABLE {name} AS SELECT * FROM read_json({path_of(handle)}, format='newline_delimited', "
        f"maximum_object_size={max(longest, _LINE_LIKELY)}, columns={{{declarations}}})"
    )


def _selected(table: ArchiveTable, lines: str) -> str:
    """The query that makes the table of a table of lines, in their order."""
    source = lines
    if table.list:
        source = f"(SELECT rowid, unnest({quoted(table.list)}, max_depth := 2) FROM {lines})"
    each = next((quoted(one.source) for one in table.columns if one.is_each), None)
    chosen = ", ".join(
        f"rowid + 1 AS {quoted(one.name)}"
        if one.name == table.number
        else f"unnest(range({table.first}, {table.first} + len({each}))) AS {quoted(one.name)}"
        if one.name == table.position
        else f"unnest({quoted(one.source)}) AS {quoted(one.name)}"
        if one.is_each
        else quoted(one.source)
        for one in table.columns
    )
    return f"SELECT {chosen} FROM {source}"


def path_of(handle: int) -> str:
    return text(f"/proc/self/fd/{handle}")


def parquet(database: Connection, table: ArchiveTable) -> Iterator[bytes]:
    """The table as a Parquet file, bit by bit. Raises duckdb.Error."""
    with _unnamed() as file:
        handle = file.fileno()
        database.execute(f"COPY {quoted(table.name)} TO {path_of(handle)} ({_AS_PARQUET})")
        os.lseek(handle, 0, os.SEEK_SET)
        while part := os.read(handle, _READ_ONCE):
            yield part


def rows(database: Connection, query: str, table: ArchiveTable) -> Iterator[Row]:
    """The rows as a journal's line has them. Raises duckdb.Error."""
    texts = [number for number, one in enumerate(table.columns) if one.type == JSON]
    answer = database.execute(query)
    while some := answer.fetchmany(_ROWS_ONCE):
        for row in some:
            if not texts:
                yield row
                continue
            values = list(row)
            for number in texts:
                values[number] = None if values[number] is None else _of_json(values[number])
            yield tuple(values)


@lru_cache(100)
def _of_json(value: str) -> Any:
    """The parsed value. It is shared by many rows: do not change it."""
    return json.loads(value)


@contextmanager
def of_files(directory: Path, *, absent: Collection[str], known: schema.Known) -> Iterator[Connection]:
    """A database with every table of a closed experiment, without rows that no journal may hold: these are
    left out and reported among the events. `absent` are the tables that its version did not have. Raises
    ArchiveError, duckdb.Error, OSError.
    """
    with connection() as database, ExitStack() as held:
        database.execute("CREATE TABLE known (kind VARCHAR, name VARCHAR)")
        for kind in KNOWN:
            database.execute("INSERT INTO known SELECT ?, unnest(?)", [kind, list(known[kind])])
        damage: list[str] = []
        for name, table in TABLES.items():
            path = directory / f"{name}.parquet"
            if name in absent and not os.path.lexists(path):
                database.execute(f"CREATE TABLE {quoted(name)} ({_declared(table)})")
                continue
            handle = held.enter_context(files.descriptor(path))
            damage += _view(database, table, handle, path, kind="TABLE" if name == "events" else "VIEW")
        for sentence in damage:
            database.execute("INSERT INTO events (kind, recorded, note) VALUES ('damage', 0, ?)", [sentence])
        yield database


def _view(
    database: Connection, table: ArchiveTable, handle: int, path: Path, *, kind: str = "VIEW"
) -> list[str]:
    """Makes the table of what of the file is sound; returns a sentence where some rows are not. Raises
    ArchiveError, duckdb.Error."""
    read = f"SELECT {_column_list(database, handle, table, path)} FROM read_parquet({path_of(handle)})"
    sound = " AND ".join(one.condition for one in table.columns)
    database.execute(f"CREATE {kind} {quoted(table.name)} AS SELECT * FROM ({read}) WHERE {sound}")
    ((left_out,),) = database.execute(
        f"SELECT count(*) FILTER (({sound}) IS NOT true) FROM ({read})"
    ).fetchall()
    be = "is" if left_out == 1 else "are"
    return [f"{number_of(left_out, 'row')} of {path.name} {be} damaged and left out"] if left_out else []


def _column_list(database: Connection, handle: int, table: ArchiveTable, path: Path) -> str:
    """The table's columns, as its file has them. Raises ArchiveError where it is no file of this table."""
    wanted = _kinds(database, table)
    described = database.execute(f"DESCRIBE SELECT * FROM read_parquet({path_of(handle)})").fetchall()
    there = {name: kind for name, kind, *_ in described}
    chosen = []
    for column in table.columns:
        name, kind = column.name, wanted[column.name]
        if name not in there and column.is_required:
            raise ArchiveError(f"{path} is damaged: it has no column {name}")
        if name not in there:
            chosen.append(f"NULL::{column.type} AS {quoted(name)}")
        elif there[name] == kind:
            chosen.append(quoted(name))
        elif kind.startswith("STRUCT") and there[name].startswith("STRUCT"):
            chosen.append(f"{quoted(name)}::{column.type} AS {quoted(name)}")  # it has fewer members
        else:
            raise ArchiveError(f"{path} is damaged: its column {name} is of type {there[name]}, not {kind}")
    return ", ".join(chosen)


_kinds_of: dict[ArchiveTable, dict[str, str]] = {}  # of those that were asked for: they never change


def _kinds(database: Connection, table: ArchiveTable) -> dict[str, str]:
    """The types of the table's columns, as DuckDB writes them."""
    if table not in _kinds_of:
        database.execute("CREATE OR REPLACE TEMP TABLE shape (" + _declared(table) + ")")
        rows = database.execute("DESCRIBE shape").fetchall()
        _kinds_of[table] = {name: kind for name, kind, *_ in rows}
    return _kinds_of[table]


def _declared(table: ArchiveTable) -> str:
    return ", ".join(f"{quoted(one.name)} {one.type}" for one in table.columns)


@contextmanager
def of_file(path: Path, table: ArchiveTable) -> Iterator[tuple[Connection, list[str]]]:
    """A database with the table that one Parquet file holds, and sentences that say what of it is left out.
    Raises ArchiveError, OSError, duckdb.Error."""
    with files.descriptor(path) as handle, connection() as database:
        yield database, _view(database, table, handle, path)


def of_rows(rows: Iterable[Mapping[str, Any]], table: ArchiveTable) -> Iterator[bytes]:
    """A Parquet file of these rows, bit by bit; they may be more than memory holds. Raises duckdb.Error."""
    with connection() as data, _unnamed() as file:
        longest = max((file.write(_as_json(row) + b"\n") for row in rows), default=0)
        file.flush()
        columns = {one.name: one.type for one in table.columns}
        _read_lines(data, quoted(table.name), columns, file.fileno(), longest=longest)
        yield from parquet(data, table)
