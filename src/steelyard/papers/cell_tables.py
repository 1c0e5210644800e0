"""Turns a paper's table over a parameter, and today's figures of cells at the same levels, into one table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.analysis import restating
from steelyard.analysis.model import Evaluation
from steelyard.errors import UnknownName
from steelyard.papers import source
from steelyard.papers.source import NOTHING, Printed, Shown, shown
from steelyard.statistics.signed_rank import Estimate
from steelyard.study.model import OF_SERVER, CellTable, Parameters, TableFigure
from steelyard.words import wording

_Columns = dict[str, dict[int, Shown]]  # by heading: a figure for each level


def table_of(evaluation: Evaluation, table: CellTable) -> Printed:
    """A row for each level; the paper's systems, then today's, each of these in every variant. Where there
    are several figures, each of a system's is a column, as papers have them side by side."""
    theirs = _printed_columns(table)
    columns = theirs | _today_s_columns(evaluation, table)
    rows = [
        shown((f"{level:,}", *(cells.get(level, NOTHING) for cells in columns.values())))
        for level in table.levels
    ]
    headings = (table.over.replace("_", " "), *columns)
    return Printed(table.title, table.note, headings, tuple(rows), table.paper, table.name, tuple(theirs))


def _heading(table: CellTable, system: str, figure: TableFigure) -> str:
    return f"{system}, {figure.published}" if len(table.figures) > 1 else system


def _printed_columns(table: CellTable) -> _Columns:
    """The paper's own. Raises UnknownName where it has nothing of that workload over that parameter."""
    levels = {str(level): level for level in table.levels}
    rows = source.rows_of(table.paper, table.name)
    known = {f"{row['workload']} over {row['parameter']}" for row in rows}
    if f"{table.published} over {table.over}" not in known:
        where = f"paper {table.paper}, table {table.name}: "
        raise UnknownName("figures of", f"{table.published} over {table.over}", known, where=where)
    filed = {
        (row["system"], row["metric"], levels[row["level"]]): source.as_printed(row)
        for row in rows
        if (row["workload"], row["parameter"]) == (table.published, table.over) and row["level"] in levels
    }
    columns = {
        _heading(table, system, figure): {
            level: filed[system, figure.published, level]
            for level in table.levels
            if (system, figure.published, level) in filed
        }
        for system in dict.fromkeys(system for system, _, _ in filed)
        for figure in table.figures
    }
    return {heading: cells for heading, cells in columns.items() if cells}


def _today_s_columns(evaluation: Evaluation, table: CellTable) -> _Columns:
    columns: _Columns = {}
    for system in (one.name for one in evaluation.systems):
        for name, fixed in table.variants:
            titled = f"{system}, {name}" if name else system
            for figure in table.figures:
                cells = {
                    level: _today_s_cell(evaluation, figure, system, _Cell(table, level, fixed))
                    for level in table.levels
                }
                if figure.metric not in OF_SERVER or any(one.text != NOTHING for one in cells.values()):
                    columns[_heading(table, titled, figure)] = cells  # a monitor's: of systems that have one
            for figure in table.figures if table.has_variation and system != evaluation.baseline else ():
                columns[_heading(table, f"{titled}, variation", figure)] = {
                    level: _variation(evaluation, figure, system, _Cell(table, level, fixed))
                    for level in table.levels
                }
    return columns


@dataclass(frozen=True, slots=True)
class _Cell:
    """A table's cell: today's are those of its workload with these parameters."""

    table: CellTable
    level: int
    fixed: Parameters

    def has(self, workload: str, parameters: Mapping[str, int | str]) -> bool:
        levels: Parameters = () if self.table.is_constant else ((self.table.over, self.level),)
        stated = dict((*levels, *self.fixed))
        return workload == self.table.workload and stated.items() <= parameters.items()


def _today_s_cell(evaluation: Evaluation, figure: TableFigure, system: str, cell: _Cell) -> Shown:
    """The figure with its interval, of the cell that has these parameters and the fewest others."""
    matches = [
        one
        for one in _measurements(evaluation, system, figure.metric)
        if cell.has(one.workload, one.parameters)
    ]
    if not matches:
        return Shown(NOTHING)
    nearest = min(matches, key=lambda one: len(one.parameters))
    value, unit = restating.restated(nearest.value, nearest.unit, nearest.parameters, figure.stated)
    text = wording.value(value.value, unit)
    text = text if value.low is None else f"{text} ({wording.value_interval(value, unit)})"
    return Shown(text, value, unit)


def _variation(evaluation: Evaluation, figure: TableFigure, system: str, cell: _Cell) -> Shown:
    """By how many per cent the system is worse than the baseline, pair by pair: of the larger of the two
    figures, as Kretschek has it. Below 0 where it is better."""
    for one in evaluation.comparisons:
        is_it = (one.system, one.metric) == (system, figure.metric)
        if is_it and one.ratio is not None and cell.has(one.workload, dict(one.parameters)):
            low, high = (
                None if bound is None else _worse(bound) for bound in (one.ratio.high, one.ratio.low)
            )
            value = Estimate(_worse(one.ratio.value), low, high, one.ratio.level)
            return Shown(_percent_with_interval(value), value, "%")
    return Shown(NOTHING)


def _worse(ratio: float) -> float:
    """A ratio above 1 says better."""
    return 100 * (1 - ratio) if ratio <= 1 else 100 * (1 / ratio - 1)


def _percent_with_interval(value: Estimate) -> str:
    if value.low is None or value.high is None:
        return f"{value.value:.2f} %"
    return f"{value.value:.2f} % ([{value.low:.2f}, {value.high:.2f}] %)"


@dataclass(frozen=True, slots=True)
class _Measurement:
    """A figure of one cell on one system, wherever the evaluation has it."""

    workload: str
    parameters: Mapping[str, int | str]
    value: Estimate
    unit: str


def _measurements(evaluation: Evaluation, system: str, metric: str) -> Iterable[_Measurement]:
    """Every cell's figure of that name: the one place that knows what a table's `metric` may name."""
    for one in evaluation.levels:
        if (one.system, one.metric) == (system, metric):
            yield _Measurement(one.workload, dict(one.parameters), one.value, one.unit)
    for used in evaluation.tallies:
        if (used.system, used.what) == (system, metric):
            yield _Measurement(used.workload, dict(used.parameters), used.value, used.unit)
    for many in evaluation.multiprogramming:
        if many.system == system:
            figures_of = {
                "finished": (Estimate(float(many.finished)), ""),
                "total": (many.total, "ns"),
                "per_process": (many.per_process, "ns"),
                "alone": (many.alone, "ns"),
                "price": (many.price, ""),
            }
            value, unit = figures_of.get(metric, (None, ""))
            if value is not None:
                yield _Measurement(many.workload, dict(many.parameters), value, unit)
