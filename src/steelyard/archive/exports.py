"""Writes one table of the archive into a file of another kind, whole or not at all."""

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from steelyard import destination
from steelyard.archive import files
from steelyard.archive.schema import JSON, quoted
from steelyard.archive.tables import Connection, path_of
from steelyard.errors import ArchiveError, UsageError, in_words
from steelyard.text import cell
from steelyard.text import quoted as quoted_path

_FORMS = {".csv": "", ".json": "FORMAT json, ARRAY true", ".parquet": "FORMAT parquet"}
_ROWS_ONCE, _BYTES_ONCE = 10_000, 1 << 20


def check(file: Path) -> None:
    """Raises UsageError unless the file's ending says what is to be written, and it can be a file."""
    if file.suffix not in _FORMS:
        raise UsageError(f"{quoted_path(file)} does not end in any of {', '.join(_FORMS)}")
    why = destination.why_not(file)
    if why or not destination.is_file(file):
        raise UsageError(f"{quoted_path(file)} cannot be written: {why or 'it is no plain file'}")


def write(database: Connection, table: str, file: Path) -> None:
    """Writes the table into the file, in the form of its ending. Raises ArchiveError."""
    file = Path(os.path.realpath(file))
    draft = file.with_name(f".{file.name}")
    try:
        if file.suffix == ".csv":
            files.write_synced(draft, _as_csv(database, table))
        else:
            _copy(
                database, f"COPY {quoted(table)} TO {{}} ({_FORMS[file.suffix]}, USE_TMP_FILE false)", draft
            )
        files.calls.rename(draft, file)
    except (OSError, duckdb.IOException) as error:
        said = str(error).splitlines()[0].rpartition(": ")[2]
        reason = in_words(error) if isinstance(error, OSError) else said
        raise ArchiveError(f"cannot write '{file}': {reason}; no part of it is kept") from error
    finally:
        files.remove(draft)


def _as_csv(database: Connection, table: str) -> Iterator[bytes]:
    """The rows as text for every reader of CSV: a column for each value inside a nested one (records.md
    says how it is named), and no text that is a spreadsheet's formula."""
    described = database.execute(f"DESCRIBE {quoted(table)}").fetchall()
    kinds = {name: kind for name, kind, *_ in described}
    inner: dict[str, dict[str, None]] = {name: {} for name, kind in kinds.items() if kind not in _SCALARS}
    for nested in _rows(database, table, list(inner), kinds):
        for name, value in zip(inner, nested, strict=True):
            inner[name] |= dict.fromkeys(_flat(value))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for name, paths in inner.items():
        inner[name] = paths or {"": None}
    titles = ([f"{name}{path}" for path in inner[name]] if name in inner else [name] for name in kinds)
    writer.writerow(cell(title) for group in titles for title in group)
    for row in _rows(database, table, list(kinds), kinds):
        cells: list[object] = []
        for value, (name, kind) in zip(row, kinds.items(), strict=True):
            if name in inner:
                found = _flat(value)
                cells += (cell(found.get(path)) for path in inner[name])
            else:
                cells.append(value if kind in _NUMBERS else cell(value))
        writer.writerow(cells)
        if buffer.tell() > _BYTES_ONCE:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


_NUMBERS = ("BIGINT", "UBIGINT", "DOUBLE", "BOOLEAN")
_SCALARS = (*_NUMBERS, "VARCHAR")


def _rows(
    database: Connection, table: str, names: Sequence[str], kinds: Mapping[str, str]
) -> Iterator[tuple[Any, ...]]:
    """These columns of all rows: scalars as DuckDB writes them, nested values as objects."""
    if not names:
        return
    chosen = [f"{quoted(name)}::VARCHAR" if kinds[name] in _SCALARS else quoted(name) for name in names]
    is_json = [kinds[name] == JSON for name in names]
    answer = database.execute(f"SELECT {', '.join(chosen)} FROM {quoted(table)}")
    while rows := answer.fetchmany(_ROWS_ONCE):
        for row in rows:
            yield tuple(
                json.loads(value) if one and value is not None else value
                for value, one in zip(row, is_json, strict=True)
            )


def _flat(value: object, path: str = "") -> dict[str, object]:
    """The scalars in a nested value, by their paths. An element of a list is named by its number; by its name
    where it is a name and a value. A list of scalars is one text with spaces between them."""
    if isinstance(value, dict):
        return {
            key: one for name, each in value.items() for key, one in _flat(each, f"{path}.{name}").items()
        }
    if isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        found: dict[str, object] = {}
        for number, each in enumerate(value, start=1):
            match list(each.values()) if isinstance(each, dict) else []:
                case [str(name), int() | float() | str() as only]:
                    found[f"{path}.{name}"] = only
                case _:
                    found |= _flat(each, f"{path}.{number}")
        return found
    if value is None or value == []:
        return {}
    if isinstance(value, list):
        return {path: " ".join(_word(each) for each in value)}
    return {path: _word(value) if isinstance(value, bool) else value}


def _word(value: object) -> str:
    """The scalar as DuckDB writes it."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _copy(database: Connection, query: str, draft: Path) -> None:
    handle = files.calls.open(
        draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666
    )
    try:
        database.execute(query.format(path_of(handle)))
        files.calls.fsync(handle)
    finally:
        os.close(handle)
