"""The tables of an experiment, as they follow from `events`: their columns, and what rows of them a journal's
line holds.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin

from steelyard import shapes
from steelyard.events import (
    Accounted,
    Called,
    Count,
    Each,
    Figure,
    Group,
    Histogram,
    JournalOnly,
    Moment,
    Noted,
    Outcome,
    Placed,
    Samples,
    Started,
    Watched,
    Words,
)
from steelyard.shapes import Check, Member, OneOf, Range
from steelyard.study.model import Cell

Line = dict[str, Any]
Row = tuple[Any, ...]
Known = Mapping[str, Collection[str]]  # the names that the header has, of what a column of that name holds

JSON = "JSON"
KNOWN = ("system", "cell")  # columns whose values stand in the experiment's header
UNSIGNED = "UBIGINT"
SCALARS = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN", Cell: "VARCHAR"}

_ALL = (Member("kind", str, True), Member("recorded", Moment, True))  # lines have these, whatever they tell
_PLACED = {member.name for member in shapes.members(Placed)} | {"trial"}
# What a line holds besides, by what it is about: that is its kind, or several are of one form.
LINES: dict[str, tuple[Member, ...]] = {
    "trial": (
        *shapes.members(Placed),
        *(one for one in shapes.members(Outcome) if one.name not in _PLACED),
    ),
    "system": shapes.members(Started),
    "watch": shapes.members(Watched),
    "accounting": shapes.members(Accounted),
    "words": shapes.members(Words),
    "noted": shapes.members(Noted),
}
_NOTED = ("look", "note", "damage", "switch", "unbooted", "stop")
_CHECKS: Mapping[str, Check] = {
    form: shapes.object_with((*_ALL, *members)) for form, members in LINES.items()
}
FORMS = tuple(LINES)


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str  # in SQL
    source: str  # the key that it has in a line
    is_each: bool = False  # a line has a list of them, a row one
    is_required: bool = True  # earlier versions had it, too
    condition: str = "true"  # in SQL: what every one fulfils

    @property
    def quoted(self) -> str:
        return quoted(self.name)

    @property
    def is_scalar(self) -> bool:
        return self.type in (*SCALARS.values(), UNSIGNED)


@dataclass(frozen=True, slots=True)
class ArchiveTable:
    """A table's rows are the lines of a form, or what stands in a list of each."""

    name: str
    form: str
    columns: tuple[Column, ...]
    list: str | None
    number: str | None  # the column with the line's number among those of its form, from 1
    position: str | None  # the column with the number of an element of the lists that are gone through,
    first: int  # counted from that


def _table(
    name: str,
    form: str,
    of: type | None = None,
    list: str | None = None,
    number: str | None = None,
    position: str | None = None,
    first: int = 1,
    besides: tuple[Member, ...] = (),
) -> ArchiveTable:
    known = shapes.members(of) if of else LINES[form]
    elsewhere = _LISTS.get(form, ()) if list is None else ()
    columns = [_counter(number)] if number else []
    for member in (*besides, *known):
        _, marks = shapes.without_marks(member.kind)
        if member.name in elsewhere or any(isinstance(one, JournalOnly) for one in marks):
            continue
        each = next((one for one in marks if isinstance(one, Each)), None)
        if each and position and position not in {one.name for one in columns}:
            columns.append(_counter(position))
        columns.append(_column(member, each.column if each else None))
    return ArchiveTable(name, form, tuple(columns), list, number, position, first)


def columns(kind: type, *names: str, without: Collection[str] = ()) -> tuple[Column, ...]:
    """The columns that hold what a dataclass does: all, or those named."""
    return tuple(
        _column(one, None)
        for one in shapes.members(kind)
        if one.name not in without and (not names or one.name in names)
    )


def table(name: str, *columns: Column) -> ArchiveTable:
    """A table that is no journal's."""
    return ArchiveTable(name, "", columns, None, None, None, 0)


def _counter(name: str) -> Column:
    return Column(name, "BIGINT", name, condition=f"{quoted(name)} IS NOT NULL")


def _column(member: Member, each: str | None) -> Column:
    kind = member.kind if each is None else get_args(shapes.without_marks(member.kind)[0])[0]
    name = each or member.name
    return Column(name, sql(kind), member.name, each is not None, member.is_required, _condition(name, kind))


def _condition(name: str, kind: Any) -> str:
    """The condition on every value, besides its type."""
    kind, marks = shapes.without_marks(kind)
    kind, may_be_none = shapes.without_none(kind)
    kind, inner = shapes.without_marks(kind)
    column = quoted(name)
    terms = []
    for mark in (*marks, *inner):
        if isinstance(mark, Range):
            terms.append(f"{column} BETWEEN {mark.least:.0f} AND {mark.most:.0f}")
        if isinstance(mark, OneOf):
            terms.append(f"{column} IN ({', '.join(map(text, map(str, mark.values)))})")
    if kind is float:
        terms.append(f"isfinite({column})")
    if sql(kind) == JSON:
        terms.append(f"json_valid({column})")
    if name in KNOWN:
        # As a list, because a join would not keep the order of rows.
        terms.append(f"list_contains((SELECT list(name) FROM known WHERE kind = '{name}'), {column})")
    limits = " AND ".join(terms) or "true"
    if may_be_none or kind is Any:
        return f"({column} IS NULL OR {limits})"
    return f"({column} IS NOT NULL AND {limits})"


def sql(kind: Any) -> str:
    """The SQL type of what has this type in Python."""
    kind, marks = shapes.without_marks(kind)
    kind, _ = shapes.without_none(kind)
    kind, inner = shapes.without_marks(kind)
    if any(isinstance(one, Range) and kind is int and one.most > 2**63 for one in (*marks, *inner)):
        return UNSIGNED
    if kind in SCALARS:
        return SCALARS[kind]
    if get_origin(kind) is tuple:
        return f"{sql(get_args(kind)[0])}[]"
    if isinstance(kind, type) and is_dataclass(kind):
        return f"STRUCT({', '.join(f'{quoted(one.name)} {sql(one.kind)}' for one in shapes.members(kind))})"
    return JSON


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


_RECORDED = _ALL[1:]
# A line's lists that are tables of their own.
_LISTS = {"trial": ("samples", "groups", "histograms", "counts", "costs"), "accounting": ("calls",)}
TABLES = {
    one.name: one
    for one in (
        _table("trials", "trial", number="trial"),
        _table("samples", "trial", of=Samples, list="samples", number="trial", position="batch"),
        _table("members", "trial", of=Group, list="groups", number="trial", position="member", first=0),
        _table("histograms", "trial", of=Histogram, list="histograms", number="trial", position="bucket"),
        _table("counts", "trial", of=Count, list="counts", number="trial"),
        _table("costs", "trial", of=Figure, list="costs", number="trial"),
        _table("accountings", "accounting", number="accounting", besides=_RECORDED),
        _table("host_calls", "accounting", of=Called, list="calls", number="accounting"),
        _table("watches", "watch", besides=_RECORDED),
        _table("systems", "system", besides=_RECORDED),
        _table("words", "words", besides=_RECORDED),
        _table("events", "noted", besides=_ALL),
    )
}


def form_of(line: Line) -> str:
    return "noted" if line["kind"] in _NOTED else str(line["kind"])


@cache
def declared(form: str) -> Mapping[str, str]:
    """The SQL type of each key that a line of that form has."""
    return {one.name: sql(one.kind) for one in (*_ALL, *LINES[form])}


def check(line: Line) -> Line:
    """The line, complete. Raises shapes.Wrong unless it is one that a journal may hold."""
    if not isinstance(line, dict):
        raise shapes.Wrong(line, "an object")
    known = (*(form for form in FORMS if form != "noted"), *_NOTED)
    if line.get("kind") not in known:
        raise shapes.Wrong(line.get("kind"), f"one of {', '.join(known)}", "kind")
    line = _CHECKS[form_of(line)](line)
    for name, each in _EACH.get(line["kind"], ()):
        for number, element in enumerate(line[name]):
            lengths = {len(element[one]) for one in each}
            if len(lengths) > 1:
                raise shapes.Wrong(
                    sorted(lengths), f"of equal lengths: {', '.join(each)}", f"{name}[{number}]"
                )
    return line


# Of each form the lists whose elements hold lists that belong together, and those.
_EACH = {
    form: tuple(
        (one.list or "", tuple(column.source for column in one.columns if column.is_each))
        for one in TABLES.values()
        if one.form == form and one.position
    )
    for form in FORMS
}
