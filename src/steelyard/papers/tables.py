"""Turns a paper's table and today's costs into one table: the paper's columns beside today's."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.analysis import curves
from steelyard.analysis.model import Gain, ProcessorTime, Weighing
from steelyard.errors import UnknownName
from steelyard.papers import figure_tables, source
from steelyard.papers.source import NOTHING, Printed
from steelyard.statistics.signed_rank import Estimate
from steelyard.study.model import CellTable, CurveTable, Parameters, Study, Table, TableFigure, TableRow
from steelyard.words import wording

_Figures = Mapping[tuple[str, str, str], float]  # system, workload, metric: value
_Columns = dict[str, dict[tuple[int, TableFigure], str]]  # by heading: a text for each level and figure


def tables(weighing: Weighing, study: Study, *, reference: str | None = None) -> tuple[Printed, ...]:
    """Every published table of the study, today's systems in further columns.

    `reference` is the published system that the geometric means take as 1 (Fleming and Wallace, 1986);
    by default, and in a table that lacks it, the paper's own. Raises UnknownName.
    """
    columns = {table.name: _systems(figures(table.paper, table.name)) for table in study.tables}
    known = {system for systems in columns.values() for system in systems}
    if reference is not None and reference not in known:
        raise UnknownName("published system", reference, known, where=f"study {study.name}: ")
    return (
        *(_table(weighing, table, reference) for table in study.tables),
        *(_curve_table(weighing, table) for table in study.curve_tables),
        *(_cell_table(weighing, table) for table in study.cell_tables),
        *(figure_tables.table_of(weighing, table) for table in study.figure_tables),
    )


def figures(paper: str, table: str) -> dict[tuple[str, str, str], float]:
    """The figures of a published table: by system, workload and metric (real, user, sys, cpu, gain)."""
    return {
        (row["system"], row["workload"], row["metric"]): float(row["value"])
        for row in source.rows_of(paper, table)
    }


def _curve_table(weighing: Weighing, table: CurveTable) -> Printed:
    """A row for each of the paper's workloads: what the paper read off its curves by eye, and what the
    segments say of today's."""
    printed = figures(table.paper, table.name)
    theirs = _systems(printed)
    today = [system.name for system in weighing.systems]
    rows = []
    for workload, own in table.columns:
        known = {system: value for (system, name, _), value in printed.items() if name == workload}
        rows.append(
            (
                workload,
                own,
                *(f"{known[system]:g}" if system in known else NOTHING for system in theirs),
                *(_read_off(weighing, own, system, table.shows) for system in today),
            )
        )
    return Printed(table.title, table.note, ("benchmark", "today's workload", *theirs, *today), tuple(rows))


def _read_off(weighing: Weighing, workload: str, system: str, shows: str) -> str:
    for one in weighing.curves:
        for line in one.lines:
            if one.workload == workload and line.system == system:
                estimate = curves.upper_plateau(line) if shows == "plateau" else curves.degradation(line)
                if estimate is None:
                    return NOTHING
                if shows == "plateau":
                    bounds = wording.value_interval(estimate, one.unit)
                    return f"{wording.value(estimate.value, one.unit)} ({bounds})"
                bounds = wording.quantity_interval(estimate, one.sweep_unit)
                return f"{wording.quantity(estimate.value, one.sweep_unit)} ({bounds})".removesuffix(" ()")
    return NOTHING


def _cell_table(weighing: Weighing, table: CellTable) -> Printed:
    """The paper's systems and then today's, each of these in every variant. With one figure a row is a
    level; with several it is a figure, and each level of each system has a column of its own."""
    columns = _printed_columns(table) | _today_s_columns(weighing, table)
    if len(table.figures) == 1:
        headings = (table.over, *columns)
        rows = [
            (f"{level:,}", *(cells.get((level, figure), NOTHING) for cells in columns.values()))
            for level in table.levels
            for figure in table.figures
        ]
    else:
        headings = (table.over, *(f"{name}, {level:,}" for name in columns for level in table.levels))
        rows = [
            (
                figure.published,
                *(
                    cells.get((level, figure), NOTHING)
                    for cells in columns.values()
                    for level in table.levels
                ),
            )
            for figure in table.figures
        ]
    return Printed(table.title, table.note, headings, tuple(rows))


def _printed_columns(table: CellTable) -> _Columns:
    """The paper's own. Raises UnknownName where it has nothing of that workload over that parameter."""
    columns: _Columns = {}
    levels = {str(level): level for level in table.levels}
    rows = source.rows_of(table.paper, table.name)
    known = {f"{row['workload']} over {row['parameter']}" for row in rows}
    if f"{table.published} over {table.over}" not in known:
        where = f"paper {table.paper}, table {table.name}: "
        raise UnknownName("figures of", f"{table.published} over {table.over}", known, where=where)
    for row in rows:
        if (row["workload"], row["parameter"]) == (table.published, table.over) and row["level"] in levels:
            for figure in table.figures:
                if row["metric"] == figure.published:
                    cells = columns.setdefault(row["system"], {})
                    cells[levels[row["level"]], figure] = source.as_printed(row, rows)
    return columns


def _today_s_columns(weighing: Weighing, table: CellTable) -> _Columns:
    return {
        f"{system.name}, {name}" if name else system.name: {
            (level, figure): _today_s_cell(weighing, table, figure, system.name, level, fixed)
            for level in table.levels
            for figure in table.figures
        }
        for system in weighing.systems
        for name, fixed in table.variants
    }


def _today_s_cell(
    weighing: Weighing,
    table: CellTable,
    figure: TableFigure,
    system: str,
    level: int,
    fixed: Parameters,
) -> str:
    """The figure with its interval, of the cell that has these parameters and the fewest others."""
    stated = {table.over: level, **dict(fixed)}
    matches = [
        one
        for one in _measurements(weighing, system, table.workload, figure.metric)
        if stated.items() <= one.parameters.items()
    ]
    if not matches:
        return NOTHING
    nearest = min(matches, key=lambda one: len(one.parameters))
    value, unit = _stated_otherwise(nearest, figure)
    text = wording.value(value.value, unit)
    return text if value.low is None else f"{text} ({wording.value_interval(value, unit)})"


def _stated_otherwise(one: "_Measurement", figure: TableFigure) -> tuple[Estimate, str]:
    """The figure as the table has it: divided by a parameter, the bandwidth of what is moved, or a rate."""
    known = one.value
    if figure.moves or figure.is_rate:
        amount = 1000 * int(one.parameters[figure.moves]) if figure.moves else 10**9
        low, high = (None if bound is None else amount / bound for bound in (known.high, known.low))
        unit = "MB/s" if figure.moves else "/s"
        return Estimate(amount / known.value, low, high, known.level), unit
    by = int(one.parameters[figure.per]) if figure.per else 1
    low, high = (None if bound is None else bound / by for bound in (known.low, known.high))
    return Estimate(known.value / by, low, high, known.level), one.unit


@dataclass(frozen=True, slots=True)
class _Measurement:
    """A figure of one cell on one system, wherever the weighing has it."""

    parameters: Mapping[str, int | str]
    value: Estimate
    unit: str


def _measurements(weighing: Weighing, system: str, workload: str, metric: str) -> Iterable[_Measurement]:
    """Every cell's figure of that name: the one place that knows what a table's `metric` may name."""
    for one in weighing.levels:
        if (one.system, one.workload, one.metric) == (system, workload, metric):
            yield _Measurement(dict(one.parameters), one.value, one.unit)
    for many in weighing.multiprogramming:
        if (many.system, many.workload) == (system, workload):
            figures_of = {
                "finished": (Estimate(float(many.finished)), ""),
                "total": (many.total, "ns"),
                "per_process": (many.per_process, "ns"),
                "alone": (many.alone, "ns"),
                "price": (many.price, ""),
            }
            value, unit = figures_of.get(metric, (None, ""))
            if value is not None:
                yield _Measurement(dict(many.parameters), value, unit)


def _systems(printed: "_Figures") -> list[str]:
    """The columns of a published table, in its order."""
    return list(dict.fromkeys(system for system, _, _ in printed))


def _table(weighing: Weighing, table: Table, reference: str | None) -> Printed:
    printed = figures(table.paper, table.name)
    theirs = _systems(printed)
    own = next((name for name in theirs if name.startswith("PEGASUS")), theirs[0])
    chosen = reference if reference in theirs else own
    today = _Today(weighing)
    rows = [
        (row.published, f"{row.operations:,}", *_their_cells(printed, theirs, row), *today.cells(row))
        for row in table.rows
    ]
    rows.append(("geometric mean", "", *_their_means(printed, theirs, chosen), *today.means(table.rows)))
    note = (
        f"{table.note} Geometric means of real time, {chosen} = 1 for the paper's columns and "
        f"{weighing.baseline} = 1 for today's; above 1 is slower."
    )
    headings = ("program", "operations", *theirs, "gain, paper", *today.headings())
    return Printed(table.title, note, headings, tuple(rows))


def _their_cells(printed: _Figures, theirs: Iterable[str], row: TableRow) -> Iterable[str]:
    gain = NOTHING
    for system in theirs:
        real = printed.get((system, row.published, "real"))
        cpu = printed.get((system, row.published, "cpu"))
        user, kernel = (printed.get((system, row.published, part)) for part in ("user", "sys"))
        if (system, row.published, "gain") in printed:
            gain = f"{printed[system, row.published, 'gain']:.1f}"
        if real is None:
            yield NOTHING
        elif user is not None and kernel is not None:
            yield f"{real:.1f} ({user:.1f}+{kernel:.1f})"
        else:
            yield f"{real:.1f}" + (f" ({cpu:.1f})" if cpu is not None else "")
    yield gain


def _their_means(printed: _Figures, theirs: Iterable[str], reference: str) -> Iterable[str]:
    base = {
        workload: value
        for (system, workload, metric), value in printed.items()
        if system == reference and metric == "real"
    }
    for system in theirs:
        logs = [
            math.log(printed[system, workload, "real"] / value)
            for workload, value in base.items()
            if (system, workload, "real") in printed
        ]
        yield f"{math.exp(sum(logs) / len(logs)):.2f}" if logs else NOTHING
    yield ""


class _Today:
    """Today's systems as columns: for each, one copy, P copies (time divided by P), and the gain."""

    def __init__(self, weighing: Weighing) -> None:
        self._weighing = weighing
        self._systems = [system.name for system in weighing.systems]
        self._copies = max((gain.copies for gain in weighing.gains), default=1)

    def headings(self) -> Iterable[str]:
        for system in self._systems:
            yield f"{system}, 1 copy"
            if self._copies > 1:
                yield f"{system}, {self._copies} copies"
                yield f"gain, {system}"

    def cells(self, row: TableRow) -> Iterable[str]:
        for system in self._systems:
            yield self._cost(system, row, 1)
            if self._copies > 1:
                yield self._cost(system, row, self._copies)
                yield self._gain(system, row.workload)

    def means(self, rows: Iterable[TableRow]) -> Iterable[str]:
        """The geometric mean of each column over the baseline's column for one copy."""
        workloads = [row.workload for row in rows]
        base = {workload: self._real(self._weighing.baseline, workload, 1) for workload in workloads}
        for system in self._systems:
            for copies in (1, self._copies) if self._copies > 1 else (1,):
                logs = [
                    math.log(real / first)
                    for workload in workloads
                    if (real := self._real(system, workload, copies)) and (first := base[workload])
                ]
                yield f"{math.exp(sum(logs) / len(logs)):.2f}" if logs else NOTHING
            if self._copies > 1:
                yield ""

    def _costs(self, system: str, workload: str, copies: int) -> list[ProcessorTime]:
        """The costs of every metric of the workload's first cell with so many copies."""
        costs = [
            cost
            for cost in self._weighing.costs
            if cost.system == system and cost.workload == workload and cost.copies == copies
        ]
        return [cost for cost in costs if cost.cell == costs[0].cell]

    def _real(self, system: str, workload: str, copies: int) -> float | None:
        return sum(cost.real_ns for cost in self._costs(system, workload, copies)) or None

    def _cost(self, system: str, row: TableRow, copies: int) -> str:
        """real (user + sys) of all the workload's metrics together, for the row's operations."""
        costs = self._costs(system, row.workload, copies)
        if not costs:
            return NOTHING
        real, user, kernel = (
            sum(getattr(cost, part) for cost in costs) * row.operations
            for part in ("real_ns", "user_ns", "system_ns")
        )
        return f"{wording.time_ns(real)} ({wording.time_ns(user)}+{wording.time_ns(kernel)})"

    def _gain(self, system: str, workload: str) -> str:
        gains: list[Gain] = [
            gain for gain in self._weighing.gains if gain.system == system and gain.workload == workload
        ]
        if not gains:
            return NOTHING
        logs = [math.log(gain.gain.value) for gain in gains]
        return f"{math.exp(sum(logs) / len(logs)):.1f}"
