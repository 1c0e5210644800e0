"""The figures of papers as they are filed, and what a table made of them is."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.errors import UnknownName
from steelyard.study import presentation

NOTHING = "–"  # a figure that there is none of


@dataclass(frozen=True, slots=True)
class Printed:
    """A table ready to be shown: every row has a text for every heading."""

    title: str
    note: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def rows_of(paper: str, table: str) -> list[dict[str, str]]:
    """The table's figures as they are filed. Raises UnknownName."""
    papers = presentation.published_papers()
    if paper not in papers:
        raise UnknownName("paper", paper, papers)
    with open(papers[paper], encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    known = {row["table"] for row in rows}
    if table not in known:
        raise UnknownName("table", table, known, where=f"paper {paper}: ")
    return [row for row in rows if row["table"] == table]


def as_printed(row: Mapping[str, str], rows: Iterable[Mapping[str, str]]) -> str:
    """The figure with as many decimals as the table has anywhere for that metric. A count has no unit, nor
    does a figure without one in the paper."""
    decimals = max(
        len(one["value"].partition(".")[2].rstrip("0")) for one in rows if one["metric"] == row["metric"]
    )
    unit = "" if row["unit"] in ("count", "(unit not stated)") else row["unit"]
    return f"{float(row['value']):,.{decimals}f} {unit}".rstrip()
