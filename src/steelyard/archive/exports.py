"""Writes one table of the archive into a file of another kind, whole or not at all."""

import os
from pathlib import Path

import duckdb

from steelyard.archive import files, schema
from steelyard.archive.tables import Connection, path_of
from steelyard.errors import ArchiveError, UsageError

_FORMS = {".csv": "FORMAT csv, HEADER", ".json": "FORMAT json, ARRAY true", ".parquet": "FORMAT parquet"}


def check(file: Path) -> None:
    """Raises UsageError unless the file's ending says what is to be written."""
    if file.suffix not in _FORMS:
        raise UsageError(f"'{file}' ends in none of {', '.join(_FORMS)}")


def write(found: Connection, table: str, file: Path) -> None:
    """Writes the table into the file, in the form of its ending. Raises ArchiveError."""
    draft = file.with_name(f".{file.name}")
    try:
        _write(
            found,
            f"COPY {schema.quoted(table)} TO {{path}} ({_FORMS[file.suffix]}, USE_TMP_FILE false)",
            draft,
        )
        files.calls.rename(draft, file)
    except (OSError, duckdb.IOException) as error:
        files.remove(draft)
        reason = (
            error.strerror if isinstance(error, OSError) else str(error).splitlines()[0].rpartition(": ")[2]
        )
        raise ArchiveError(f"'{file}' cannot be written: {reason}; nothing of it is kept") from error


def _write(found: Connection, query: str, draft: Path) -> None:
    handle = files.calls.open(
        draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666
    )
    try:
        found.execute(query.format(path=path_of(handle)))
        files.calls.fsync(handle)
    finally:
        os.close(handle)
