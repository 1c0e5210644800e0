"""Rebuilds the lines of a journal from an experiment's tables, so that a closed experiment can be resumed."""

import heapq
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any

from steelyard.archive import schema, tables
from steelyard.archive.schema import TABLES, ArchiveTable, Line


def lines(database: tables.Connection) -> Iterator[Line]:
    """The lines, in the order of their tables and of time. Facts without a column are treated as unknown.
    Raises duckdb.Error.
    """
    return heapq.merge(*(_of_form(database, form) for form in schema.FORMS), key=itemgetter("recorded"))


def losses(database: tables.Connection, again: tables.Connection) -> list[str]:
    """The tables that do not hold the same, but for the number of each trial, and for what is of no trial."""
    return [name for name in TABLES if _rows_by_name(database, name) != _rows_by_name(again, name)]


def _rows_by_name(database: tables.Connection, name: str) -> list[tuple[Any, ...]]:
    table = TABLES[name]
    number = schema.quoted(table.number or "")
    without = f" EXCLUDE ({number})" if table.number else ""
    there = f" WHERE {number} IN (SELECT {number} FROM {_main(table.form).name})" if table.number else ""
    query = f"SELECT *{without} FROM {schema.quoted(name)}{there}"
    return sorted(database.execute(query).fetchall(), key=repr)


def _main(form: str) -> ArchiveTable:
    return next(one for one in TABLES.values() if one.form == form and one.list is None)


def _of_form(database: tables.Connection, form: str) -> Iterator[Line]:
    table = _main(form)
    lists = [one for one in TABLES.values() if one.form == form and one.list is not None]
    held: dict[tuple[str | None, int], list[dict[str, Any]]] = {}
    for one in lists:
        for row in _rows(database, one):
            held.setdefault((one.list, row[one.number or ""]), []).append(row)
    rows = _rows(database, table)
    for row in sorted(rows, key=itemgetter(table.number)) if table.number else rows:
        line = {"kind": form, **_renamed(table, row)}
        for one in lists:
            line[one.list or ""] = list(_elements(one, held.get((one.list, row[one.number or ""]), ())))
        if form == "trial":
            line["recorded"] = row["began"] + (row["host_ns"] or 0) / 1e9
        yield line


def _rows(database: tables.Connection, table: ArchiveTable) -> Iterator[dict[str, Any]]:
    names = [one.name for one in table.columns]
    for row in tables.rows(database.cursor(), f"SELECT * FROM {schema.quoted(table.name)}", table):
        yield dict(zip(names, row, strict=True))


def _renamed(table: ArchiveTable, row: dict[str, Any]) -> Line:
    return {
        one.source: row[one.name] for one in table.columns if one.name not in (table.number, table.position)
    }


def _elements(table: ArchiveTable, rows: Iterable[dict[str, Any]]) -> Iterator[Line]:
    """The elements of a list: each row, or the rows that differ only in the counted column. Rows may come in
    any order, because earlier versions wrote them so.
    """
    if table.position is None:
        yield from (_renamed(table, row) for row in rows)
        return
    each = [one for one in table.columns if one.is_each]
    same = [one.name for one in table.columns if not one.is_each and one.name != table.position]
    groups: dict[str, list[dict[int, dict[str, Any]]]] = {}
    for row in rows:
        elements = groups.setdefault(repr([row[name] for name in same]), [])
        element = next((one for one in elements if row[table.position] not in one), None)
        if element is None:
            elements.append(element := {})
        element[row[table.position]] = row
    for element in (one for elements in groups.values() for one in elements):
        ordered = [element[position] for position in sorted(element)]
        lists = {one.source: [row[one.name] for row in ordered] for one in each}
        yield _with_counts(_renamed(table, ordered[0]) | lists)


def _with_counts(element: Line) -> Line:
    """The values with those that follow from them and are in no table."""
    if "statuses" not in element:
        return element
    return element | {
        "members": len(element["statuses"]),
        "created": sum(one not in ("not created", "not asked for") for one in element["statuses"]),
        "finished": sum(one is not None for one in element["ended_ns"]),
        "code_sha256": None,
    }
