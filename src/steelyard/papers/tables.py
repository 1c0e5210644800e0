"""Turns a paper's table and today's costs into one table: the paper's columns beside today's."""

import math
from collections.abc import Callable, Iterable, Mapping

from steelyard.analysis import curves
from steelyard.analysis.model import CurveLine, Evaluation, ProcessorTime
from steelyard.errors import UnknownName
from steelyard.papers import cell_tables, figure_tables, source
from steelyard.papers.source import NOTHING, Printed, Shown, shown
from steelyard.statistics.signed_rank import Estimate
from steelyard.study.model import LOWER_PLATEAU, CurveTable, Study, Table, TableRow
from steelyard.words import wording

_Figures = Mapping[tuple[str, str, str], float]  # system, workload, metric: value


def tables(evaluation: Evaluation, study: Study, *, reference: str | None = None) -> tuple[Printed, ...]:
    """Every published table of the study, today's systems in further columns.

    `reference` is the published system that the geometric means take as 1 (Fleming and Wallace, 1986);
    by default, and in a table that lacks it, the paper's own. Raises UnknownName.
    """
    columns = {table.name: _systems(figures(table.paper, table.name)) for table in study.tables}
    known = {system for systems in columns.values() for system in systems}
    if reference is not None and reference not in known:
        raise UnknownName("published system", reference, known, where=f"study {study.name}: ")
    return (
        *(_table(evaluation, table, reference) for table in study.tables),
        *(_curve_table(evaluation, table) for table in study.curve_tables),
        *(cell_tables.table_of(evaluation, table) for table in study.cell_tables),
        *(figure_tables.table_of(evaluation, table) for table in study.figure_tables),
    )


def figures(paper: str, table: str) -> dict[tuple[str, str, str], float]:
    """The figures of a published table: by system, workload and metric (real, user, sys, cpu, gain)."""
    return {
        (row["system"], row["workload"], row["metric"]): source.number_in(row)
        for row in source.rows_of(paper, table)
    }


def _curve_table(evaluation: Evaluation, table: CurveTable) -> Printed:
    """A row for each of the paper's workloads: what the paper says of its curves, if it prints it, and what
    the segments say of today's."""
    filed = () if table.shows == LOWER_PLATEAU else source.rows_of(table.paper, table.name)
    printed = {(row["system"], row["workload"]): source.as_printed(row) for row in filed}
    theirs = list(dict.fromkeys(system for system, _ in printed))
    today = [system.name for system in evaluation.systems]
    rows = [
        shown(
            (
                workload,
                own,
                *(printed.get((system, workload), NOTHING) for system in theirs),
                *(_read_off(evaluation, own, system, table.shows) for system in today),
            )
        )
        for workload, own in table.columns
    ]
    headings = ("benchmark", "today's workload", *theirs, *today)
    return Printed(table.title, table.note, headings, tuple(rows), table.paper, table.name, tuple(theirs))


_FOUND: Mapping[str, Callable[[CurveLine], Estimate | None]] = {
    "plateau": curves.upper_plateau,
    LOWER_PLATEAU: curves.lower_plateau,
    "knee": curves.degradation,
}


def _read_off(evaluation: Evaluation, workload: str, system: str, shows: str) -> str | Shown:
    for one in evaluation.curves:
        for line in one.lines:
            if one.workload == workload and line.system == system:
                estimate = _FOUND[shows](line)
                if estimate is None:
                    return NOTHING
                if shows != "knee":
                    bounds = wording.value_interval(estimate, one.unit)
                    text = f"{wording.value(estimate.value, one.unit)} ({bounds})"
                    return Shown(text, estimate, one.unit)
                bounds = wording.quantity_interval(estimate, one.sweep_unit)
                text = f"{wording.quantity(estimate.value, one.sweep_unit)} ({bounds})".removesuffix(" ()")
                return Shown(text, estimate, one.sweep_unit)
    return NOTHING


def _systems(printed: "_Figures") -> list[str]:
    """The columns of a published table, in its order."""
    return list(dict.fromkeys(system for system, _, _ in printed))


def _table(evaluation: Evaluation, table: Table, reference: str | None) -> Printed:
    printed = figures(table.paper, table.name)
    theirs = _systems(printed)
    own = next((name for name in theirs if name.startswith("PEGASUS")), theirs[0])
    chosen = reference if reference in theirs else own
    today = _Today(evaluation)
    filed = {
        (row["system"], row["workload"], row["metric"]): row["value"]
        for row in source.rows_of(table.paper, table.name)
    }
    rows = [
        shown((row.published, f"{row.operations:,}", *_their_cells(filed, theirs, row), *today.cells(row)))
        for row in table.rows
    ]
    means = (*_their_means(printed, theirs, chosen, table.rows), *today.means(table.rows))
    rows.append(shown(("geometric mean", "", *means)))
    if bound := [row for row in table.rows if row.published in table.processor_bound]:
        names = ", ".join(row.published for row in bound)
        means = (*_their_means(printed, theirs, chosen, bound), *today.means(bound))
        rows.append(shown((f"geometric mean of {names}", "", *means)))
    if any(metric == "relation" for _, _, metric in filed):
        rows.append(shown(("as the text says", "", *_stated(filed, theirs), *today.nothing())))
    note = (
        f"{table.note} Today's times are means of an operation (medians over trials, with user and system "
        "time in brackets), and a gain is the quotient of the two times beside it; other tables have each "
        "trial's lower quartile or median, which are shorter. Geometric means of real time, "
        f"{chosen} = 1 for the paper's systems and {evaluation.baseline} = 1 for today's; above 1 is slower. "
        "Below the gains is their geometric mean, the gain of the mix."
    )
    headings = ("program", "operations", *theirs, "gain, paper", *today.headings())
    own_columns = (*theirs, "gain, paper")
    return Printed(table.title, note, headings, tuple(rows), table.paper, table.name, own_columns)


def _their_cells(
    filed: Mapping[tuple[str, str, str], str], theirs: Iterable[str], row: TableRow
) -> Iterable[Shown]:
    """The paper's figures with its own decimals, and the gain from the first of its systems that has one."""
    gain = Shown(NOTHING)
    for system in theirs:
        real, cpu, user, kernel, gained = (
            filed.get((system, row.published, part)) for part in ("real", "cpu", "user", "sys", "gain")
        )
        gain = Shown(gained, Estimate(float(gained))) if gained is not None else gain
        more = (
            f" ({user}+{kernel})" if user is not None and kernel is not None else f" ({cpu})" if cpu else ""
        )
        yield Shown(NOTHING) if real is None else Shown(real + more, Estimate(float(real)), "s")
    yield gain


def _their_means(
    printed: _Figures, theirs: Iterable[str], reference: str, rows: Iterable[TableRow]
) -> Iterable[str]:
    """Of each of the paper's systems over its reference, and of the gain, over these rows."""
    programs = [row.published for row in rows]
    for system in theirs:
        yield _mean(
            printed[system, program, "real"] / printed[reference, program, "real"]
            for program in programs
            if {(system, program, "real"), (reference, program, "real")} <= printed.keys()
        )
    gains = (printed.get((system, program, "gain")) for program in programs for system in theirs)
    yield _mean((gain for gain in gains if gain is not None), decimals=1)


def _mean(factors: Iterable[float], *, decimals: int = 2) -> str:
    """The geometric mean, as text."""
    logs = [math.log(one) for one in factors]
    return f"{math.exp(sum(logs) / len(logs)):.{decimals}f}" if logs else NOTHING


def _stated(filed: Mapping[tuple[str, str, str], str], theirs: Iterable[str]) -> Iterable[Shown]:
    """What the paper's text says of its systems: the time of programs that the processor bounds over its own
    system's, and the gain of the mix."""
    known = {system: value for (system, _, metric), value in filed.items() if metric == "relation"}
    mix = next((value for (_, _, metric), value in filed.items() if metric == "mean gain"), None)
    for value in (*(known.get(system) for system in theirs), mix):
        yield Shown(NOTHING) if value is None else Shown(value, Estimate(float(value)))


class _Today:
    """Today's systems as columns: for each, one copy, P copies (time divided by P), and the gain."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._systems = [system.name for system in evaluation.systems]
        self._copies = max((gain.copies for gain in evaluation.gains), default=1)

    def headings(self) -> Iterable[str]:
        for system in self._systems:
            yield f"{system}, 1 copy"
            if self._copies > 1:
                yield f"{system}, {self._copies} copies"
                yield f"gain, {system}"

    def cells(self, row: TableRow) -> Iterable[str | Shown]:
        for system in self._systems:
            yield self._cost(system, row, 1)
            if self._copies > 1:
                yield self._cost(system, row, self._copies)
                yield self._gain(system, row.workload)

    def means(self, rows: Iterable[TableRow]) -> Iterable[str]:
        """The geometric mean of each column over the baseline's column for one copy, and of each gain."""
        workloads = [row.workload for row in rows]
        base = {workload: self._real(self._evaluation.baseline, workload, 1) for workload in workloads}
        for system in self._systems:
            for copies in (1, self._copies) if self._copies > 1 else (1,):
                yield _mean(
                    real / first
                    for workload in workloads
                    if (real := self._real(system, workload, copies)) and (first := base[workload])
                )
            if self._copies > 1:
                gains = (self._quotient(system, workload) for workload in workloads)
                yield _mean((gain for gain in gains if gain is not None), decimals=1)

    def nothing(self) -> Iterable[str]:
        """A text for each column of what the paper alone says."""
        return (NOTHING for _ in self.headings())

    def _costs(self, system: str, workload: str, copies: int) -> list[ProcessorTime]:
        """The costs of every metric of the workload's first cell with that many copies."""
        costs = [
            cost
            for cost in self._evaluation.costs
            if cost.system == system and cost.workload == workload and cost.copies == copies
        ]
        return [cost for cost in costs if cost.cell == costs[0].cell]

    def _real(self, system: str, workload: str, copies: int) -> float | None:
        return sum(cost.real_ns for cost in self._costs(system, workload, copies)) or None

    def _cost(self, system: str, row: TableRow, copies: int) -> str | Shown:
        """real (user + sys) of all the workload's metrics together, for the row's operations."""
        costs = self._costs(system, row.workload, copies)
        if not costs:
            return NOTHING
        real, user, kernel = (
            sum(getattr(cost, part) for cost in costs) * row.operations
            for part in ("real_ns", "user_ns", "system_ns")
        )
        text = f"{wording.time_ns(real)} ({wording.time_ns(user)}+{wording.time_ns(kernel)})"
        return Shown(text, Estimate(real), "ns")

    def _gain(self, system: str, workload: str) -> str | Shown:
        gain = self._quotient(system, workload)
        return NOTHING if gain is None else Shown(f"{gain:.1f}", Estimate(gain))

    def _quotient(self, system: str, workload: str) -> float | None:
        """Of the two times beside it."""
        one, several = (self._real(system, workload, copies) for copies in (1, self._copies))
        return one / several if one and several else None
