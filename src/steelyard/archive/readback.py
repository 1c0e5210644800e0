"""Holds Parquet files against what the lines of a journal promised, column by column, in Python: what DuckDB
made of lines is compared with what it never saw.
"""

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.archive import files, schema, tables
from steelyard.archive.schema import TABLES, ArchiveTable, Column, Line
from steelyard.archive.tables import Connection
from steelyard.quantities import number_of
from steelyard.text import quoted

_LINES_ONCE = 500
_ROWS_ONCE = 1 << 18
_as_json = json.JSONEncoder(separators=(",", ":")).encode


class ReadBack:
    """The columns of every table, as they follow from lines. They may be many: whole numbers are packed, and
    what is no scalar is kept as text."""

    def __init__(self) -> None:
        self._parts: dict[str, list[list[Any]]] = {name: [] for name in TABLES}
        self._noted = dict.fromkeys(schema.FORMS, 0)

    def noting(self, lines: Iterable[Line]) -> Iterator[Line]:
        """The same lines; what was taken of them is promised."""
        rest = iter(lines)
        while some := list(islice(rest, _LINES_ONCE)):
            forms = [schema.form_of(line) for line in some]
            for form in set(forms):
                self._note(form, [line for line, one in zip(some, forms, strict=True) if one == form])
            yield from some

    def _note(self, form: str, lines: list[Line]) -> None:
        for name, table in TABLES.items():
            if table.form == form:
                self._parts[name].append(_columns(table, lines, begin=self._noted[form] + 1))
        self._noted[form] += len(lines)

    def first_difference(self, directory: Path, names: Mapping[str, str]) -> str | None:
        """The first difference between the files of that directory, by the tables' names, and these rows in
        this order; None if there is none. Raises duckdb.Error, OSError.
        """
        with tables.connection() as database:
            for name, file in names.items():
                promised = list(map(np.concatenate, zip(*self._parts[name], strict=True)))
                with files.descriptor(directory / file) as handle:
                    if difference := _difference(database, handle, TABLES[name], promised):
                        return f"{name} {difference}"
        return None


def _columns(table: ArchiveTable, lines: Sequence[Line], *, begin: int) -> list[Any]:
    """The contents of each of the table's columns, computed from lines of its form; `begin` is the number of
    the first line.
    """
    elements, numbers = lines, np.arange(begin, begin + len(lines))
    if table.list is not None:
        held = [line[table.list] or () for line in lines]
        elements, numbers = list(chain.from_iterable(held)), np.repeat(numbers, list(map(len, held)))
    each = next((one.source for one in table.columns if one.is_each), None)
    times = np.array([1 if each is None else len(element[each]) for element in elements], dtype=np.int64)
    columns = []
    for one in table.columns:
        values = map(itemgetter(one.source), elements)
        if one.name == table.number:
            columns.append(np.repeat(numbers, times))
        elif one.name == table.position:
            columns.append(np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times) + table.first)
        elif one.is_each:
            columns.append(_packed(chain.from_iterable(values), one))
        else:
            columns.append(np.repeat(_packed(values, one), times))
    return columns


def _packed(values: Iterable[Any], column: Column) -> Any:
    """An array of int64 if all are such; else of objects."""
    if not column.is_scalar:
        return np.array([None if one is None else _as_json(one) for one in values], dtype=object)
    listed = list(values)
    try:
        return np.array(array("q", listed), dtype=np.int64)
    except (TypeError, OverflowError):
        return np.array(listed, dtype=object)


def _difference(database: Connection, handle: int, table: ArchiveTable, promised: list[Any]) -> str | None:
    source = f"read_parquet({tables.path_of(handle)}, file_row_number = true)"
    chosen = ", ".join(
        one.quoted if one.is_scalar else f"to_json({one.quoted})::VARCHAR AS {one.quoted}"
        for one in table.columns
    )
    ((rows,),) = database.execute(f"SELECT count(*) FROM {source}").fetchall()
    wanted = len(promised[0]) if promised else 0
    if rows != wanted:
        return f"should have {number_of(wanted, 'row')} and has {rows:,}"
    for begin in range(0, rows, _ROWS_ONCE):
        end = begin + _ROWS_ONCE
        where = f"file_row_number BETWEEN {begin} AND {end - 1}"
        written = database.execute(f"SELECT {chosen} FROM {source} WHERE {where}").fetchnumpy()
        for column, values in zip(table.columns, promised, strict=True):
            for row, ours, theirs in _apart(values[begin:end], written[column.name], column):
                difference = f"should hold {quoted(ours)} and holds {quoted(theirs)}"
                return f"{difference} as {column.name} in row {begin + row}"
    return None


def _apart(ours: Any, theirs: Any, column: Column) -> Iterator[tuple[int, Any, Any]]:
    """The rows that are not the same."""
    if ours.dtype == theirs.dtype == np.int64 and not np.ma.isMA(theirs) and np.array_equal(ours, theirs):
        return
    promised, written = ours.tolist(), theirs.tolist()
    if promised == written:
        return
    for row, (one, other) in enumerate(zip(promised, written, strict=True), start=1):
        if one != other and (column.is_scalar or None in (one, other) or not _means_the_same(one, other)):
            yield row, one, other


def _means_the_same(one: str, other: str) -> bool:
    return bool(json.loads(one) == json.loads(other))
