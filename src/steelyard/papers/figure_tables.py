"""Turns a paper's figures of one workload, and what today's trials used or monitors said, into one table."""

from collections.abc import Callable

from steelyard.analysis import usage
from steelyard.analysis.model import Evaluation, UsageFigure
from steelyard.errors import UnknownName
from steelyard.papers import source
from steelyard.papers.source import NOTHING, Printed, Shown, shown
from steelyard.quantities import count, interval
from steelyard.statistics.signed_rank import Estimate
from steelyard.study.model import CALLS, ESTIMATED, FigureRow, FigureTable
from steelyard.words import wording


def table_of(evaluation: Evaluation, table: FigureTable) -> Printed:
    """The paper's systems and then today's; those of which no figure is known are left out."""
    theirs = _printed_figures(table)
    columns = theirs | _today_s_figures(evaluation, table)
    known = {name: cells for name, cells in columns.items() if any(cell.text != NOTHING for cell in cells)}
    rows = tuple(
        shown((figure.name, *(cells[place] for cells in known.values())))
        for place, figure in enumerate(table.figures)
    )
    return Printed(table.title, table.note, ("", *known), rows, table.paper, table.name, tuple(theirs))


def _printed_figures(table: FigureTable) -> dict[str, list[Shown]]:
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

    def cell(system: str, figure: FigureRow) -> Shown:
        row = by_figure.get((system, figure.published, figure.level))
        without = by_figure.get((theirs[0], figure.published, figure.level))
        if row is None or row["unit"] == "%" or not figure.reading:
            return source.as_printed(row) if row else Shown(NOTHING)
        if system == theirs[0] or without is None:
            return Shown(NOTHING)
        slower = usage.slowdown_percent(source.number_in(row), source.number_in(without), figure.reading)
        return Shown(_percent(slower), Estimate(slower), "%")

    return {f"{system} (paper)": [cell(system, figure) for figure in table.figures] for system in theirs}


def _today_s_figures(evaluation: Evaluation, table: FigureTable) -> dict[str, list[Shown]]:
    """The figures of the workload's first cell. An estimate has `about` before it."""
    cells = [one.cell for one in evaluation.tallies if one.workload == table.workload]
    known = {(one.system, one.what): one for one in evaluation.tallies if one.cell in cells[:1]}

    def cell(system: str, figure: FigureRow) -> Shown:
        what = f"{figure.what} added, {figure.reading}" if figure.reading else figure.what
        estimated = what.replace(CALLS, ESTIMATED + CALLS)
        if (system, what) in known:
            return _tally(known[system, what])
        if (system, estimated) in known:
            one = _tally(known[system, estimated])
            return Shown(source.ABOUT + one.text, one.estimate, one.unit)
        return Shown(NOTHING)

    return {
        system.name: [cell(system.name, figure) for figure in table.figures] for system in evaluation.systems
    }


def _tally(one: UsageFigure) -> Shown:
    """The figure with its interval, which a count that was the same in every trial needs not."""
    said = _SAID[one.unit]
    if one.value.low == one.value.high:
        return Shown(said(one.value.value), one.value, one.unit)
    text = f"{said(one.value.value)} {interval(one.value.low, one.value.high, said)}".rstrip()
    return Shown(text, one.value, one.unit)


def _percent(number: float) -> str:
    return f"{number:,.2f} %"


_SAID: dict[str, Callable[[float], str]] = {
    "ns": wording.time_ns,
    "%": _percent,
    "calls": count,
}
