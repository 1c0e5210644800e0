"""The figures of papers as they are filed, and what a table made of them is."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.errors import UnknownName
from steelyard.statistics.signed_rank import Estimate
from steelyard.study import presentation

NOTHING = "–"  # a figure that there is none of
ABOUT = "about "  # before a figure that the paper gives as a rough one


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure as a table shows it, and as a number where it is one."""

    text: str
    estimate: Estimate | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Printed:
    """A table ready to be shown: every row has a figure for every heading. A row's first says what it is."""

    title: str
    note: str
    headings: tuple[str, ...]
    cells: tuple[tuple[Shown, ...], ...]
    paper: str = ""
    name: str = ""
    published: tuple[str, ...] = ()  # the headings of the paper's own columns

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The texts."""
        return tuple(tuple(one.text for one in row) for row in self.cells)


def shown(texts: Iterable[str | Shown]) -> tuple[Shown, ...]:
    """A row of figures; a text is no number."""
    return tuple(Shown(one) if isinstance(one, str) else one for one in texts)


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


def number_in(row: Mapping[str, str]) -> float:
    """The figure, which may have "about" before it."""
    return float(row["value"].removeprefix(ABOUT))


def as_printed(row: Mapping[str, str]) -> Shown:
    """The figure with the decimals that the paper prints: it is filed with them. A count has no unit, nor
    does a figure without one in the paper."""
    unit = "" if row["unit"] in ("count", "(unit not stated)") else row["unit"]
    about = ABOUT if row["value"].startswith(ABOUT) else ""
    whole, point, decimals = row["value"].removeprefix(ABOUT).partition(".")
    text = f"{about}{int(whole):,}{point}{decimals} {unit}".rstrip()
    return Shown(text, Estimate(number_in(row)), unit)
