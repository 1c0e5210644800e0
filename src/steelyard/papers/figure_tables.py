"""Turns a paper's figures of one workload, and what today's trials used or monitors said, into one table."""

from collections.abc import Callable

from steelyard.analysis import usage
from steelyard.analysis.model import UsageFigure, Weighing
from steelyard.errors import UnknownName
from steelyard.papers import source
from steelyard.papers.source import NOTHING, Printed
from steelyard.study.model import CALLS, ESTIMATED, FigureRow, FigureTable
from steelyard.words import wording


def table_of(weighing: Weighing, table: FigureTable) -> Printed:
    """The paper's systems and then today's; those of which no figure is known are left out."""
    columns = _printed_figures(table) | _today_s_figures(weighing, table)
    known = {name: cells for name, cells in columns.items() if any(cell != NOTHING for cell in cells)}
    rows = (
        (figure.name, *(cells[place] for cells in known.values()))
        for place, figure in enumerate(table.figures)
    )
    return Printed(table.title, table.note, ("", *known), tuple(rows))


def _printed_figures(table: FigureTable) -> dict[str, list[str]]:
    """The paper's own. What a monitor adds in a reading that the paper has not is computed of its times, the
    first system's being those without a monitor."""
    rows = source.rows_of(table.paper, table.name)
    known = {row["workload"] for row in rows}
    if table.published not in known:
        where = f"paper {table.paper}, table {table.name}: "
        raise UnknownName("figures of", table.published, known, where=where)
    filed = [row for row in rows if row["workload"] == table.published]
    theirs = list(dict.fromkeys(row["system"] for row in filed))
    by_figure = {(row["system"], row["metric"], row["level"]): row for row in filed}

    def cell(system: str, figure: FigureRow) -> str:
        row = by_figure.get((system, figure.published, figure.level))
        without = by_figure.get((theirs[0], figure.published, figure.level))
        if row is None or row["unit"] == "%" or not figure.reading:
            return source.as_printed(row, filed) if row else NOTHING
        if system == theirs[0] or without is None:
            return NOTHING
        return _percent(usage.slowdown_percent(float(row["value"]), float(without["value"]), figure.reading))

    return {f"{system} (paper)": [cell(system, figure) for figure in table.figures] for system in theirs}


def _today_s_figures(weighing: Weighing, table: FigureTable) -> dict[str, list[str]]:
    """The figures of the workload's first cell. An estimate has `about` before it."""
    cells = [one.cell for one in weighing.tallies if one.workload == table.workload]
    known = {(one.system, one.what): one for one in weighing.tallies if one.cell in cells[:1]}

    def cell(system: str, figure: FigureRow) -> str:
        what = f"{figure.what} added, {figure.reading}" if figure.reading else figure.what
        estimated = what.replace(CALLS, ESTIMATED + CALLS)
        if (system, what) in known:
            return _tally(known[system, what])
        return f"about {_tally(known[system, estimated])}" if (system, estimated) in known else NOTHING

    return {
        system.name: [cell(system.name, figure) for figure in table.figures] for system in weighing.systems
    }


def _tally(one: UsageFigure) -> str:
    """The figure with its interval, which a count that was the same in every trial needs not."""
    said = _SAID[one.unit]
    if one.value.low is None or one.value.high is None or one.value.low == one.value.high:
        return said(one.value.value)
    return f"{said(one.value.value)} [{said(one.value.low)}, {said(one.value.high)}]"


def _percent(number: float) -> str:
    return f"{number:,.2f} %"


_SAID: dict[str, Callable[[float], str]] = {
    "ns": wording.time_ns,
    "%": _percent,
    "calls": "{:,.0f}".format,
}
