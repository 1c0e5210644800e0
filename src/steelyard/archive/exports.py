"""Writes one table of the archive into a file of another kind, whole or not at all."""

import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path

import duckdb

from steelyard.archive import files
from steelyard.archive.schema import quoted
from steelyard.archive.tables import Connection, path_of
from steelyard.errors import ArchiveError, UsageError
from steelyard.text import cell

_FORMS = {".csv": "", ".json": "FORMAT json, ARRAY true", ".parquet": "FORMAT parquet"}
_ROWS_ONCE = 10_000


def check(file: Path) -> None:
    """Raises UsageError unless the file's ending says what is to be written."""
    if file.suffix not in _FORMS:
        raise UsageError(f"'{file}' ends in none of {', '.join(_FORMS)}")


def write(database: Connection, table: str, file: Path) -> None:
    """Writes the table into the file, in the form of its ending. Raises ArchiveError."""
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
        reason = str(error).splitlines()[0].rpartition(": ")[2]
        reason = (error.strerror if isinstance(error, OSError) else None) or reason
        raise ArchiveError(f"'{file}' cannot be written: {reason}; nothing of it is kept") from error
    finally:
        files.remove(draft)


def _as_csv(database: Connection, table: str) -> Iterator[bytes]:
    """The rows as text, and no text as a spreadsheet's formula."""
    described = database.execute(f"DESCRIBE {quoted(table)}").fetchall()
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(name for name, *_ in described)
    columns = ", ".join(f"{quoted(name)}::VARCHAR" for name, *_ in described)
    is_text = [kind not in _NUMBERS for _, kind, *_ in described]
    answer = database.execute(f"SELECT {columns} FROM {quoted(table)}")
    while rows := answer.fetchmany(_ROWS_ONCE):
        for row in rows:
            writer.writerow(cell(value) if one else value for value, one in zip(row, is_text, strict=True))
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


_NUMBERS = ("BIGINT", "UBIGINT", "DOUBLE", "BOOLEAN")


def _copy(database: Connection, query: str, draft: Path) -> None:
    handle = files.calls.open(
        draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666
    )
    try:
        database.execute(query.format(path_of(handle)))
        files.calls.fsync(handle)
    finally:
        os.close(handle)
