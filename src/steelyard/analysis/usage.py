"""Turns the usage of trials and the monitors' figures into figures of each cell on each system, for studies
that print a table of them beside a paper's.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from steelyard.analysis.model import UsageFigure
from steelyard.analysis.observations import Observations
from steelyard.analysis.rows import UsageRow
from steelyard.statistics import order_statistics
from steelyard.statistics.signed_rank import Estimate
from steelyard.study.model import AT, CALLS, ESTIMATED, ITS_OWN, OF_SERVER, READINGS, Cell, Study

TIMES = ("user time", "system time")
ALL_CALLS = "calls"
SURROUNDING = "null"  # the workload whose calls are those around any other's

_Figures = dict[str, dict[int, float]]  # by what they are of: by block


def all_of(observations: Observations) -> Iterable[UsageFigure]:
    """The figures of the cells for which the study has tables of figures. A monitor's counts are of the
    trial's whole process; "own calls of ..." exclude those of the workload `null` on the same system.
    """
    made_from = observations.experiment.study
    wanted = _wanted(made_from) if made_from else set()
    if not wanted:
        return
    by_cell = _figures_by_cell(observations)
    for label, cell in observations.cells.items():
        for system in observations.names if cell.workload in wanted else ():
            figures = _with_all_calls(by_cell[system, label])
            _add_shares(figures)
            _add_own_calls(figures, _around(observations, by_cell, system))
            for what, by_block in figures.items():
                yield _tally(system, label, cell, what, _unit(what), by_block)
            if system != observations.baseline:
                yield from _slowdowns(system, label, cell, figures, by_cell[observations.baseline, label])


def _wanted(study: Study) -> set[str]:
    """The workloads of whose cells the study shows such figures."""
    return {
        *(table.workload for table in study.figure_tables),
        *(
            table.workload
            for table in study.cell_tables
            if any(one.metric in OF_SERVER for one in table.figures)
        ),
        *(workload for one in study.figures if one.metric in OF_SERVER for workload in one.workloads),
    }


def slowdown_percent(time: float, untraced: float, reading: str) -> float:
    """The increase of one time over the other in percent: of itself, as in the paper, or of the other."""
    return 100 * (time - untraced) / (time if reading == ITS_OWN else untraced)


def _figures_by_cell(observations: Observations) -> dict[tuple[str, str], _Figures]:
    """The figures by system and cell. Times are per operation, over all metrics of a trial."""
    by_cell: dict[tuple[str, str], _Figures] = defaultdict(lambda: defaultdict(dict))
    by_trial: dict[tuple[int, str, str], list[UsageRow]] = defaultdict(list)
    for used in observations.rows.usage:
        by_trial[used.block, used.system, used.cell].append(used)
    for (block, system, cell), members in by_trial.items():
        operations = sum(one.operations for one in members)
        times = (sum(one.user_ns for one in members), sum(one.system_ns for one in members))
        for what, time in zip(TIMES, times, strict=True):
            by_cell[system, cell][what][block] = time / operations
    for count in observations.rows.counts:
        what = f"{count.metric}, watched" if count.metric in TIMES else count.metric
        _, parts = OF_SERVER.get(what.partition(AT)[0], ("", 1))
        by_cell[count.system, count.cell][what][count.block] = count.value / parts
    return by_cell


def _add_shares(figures: _Figures) -> None:
    """Adds CPU shares: of the process's lifetime by its monitor's clock, or of the whole machine if the
    monitor reports that."""
    for mode in ("user", "system"):
        watched, used = figures.get("watched", {}), figures.pop(f"{mode} time, watched", {})
        whole = figures.pop(f"processors in {mode} mode", {})
        shares = {block: 100 * used[block] / watched[block] for block in used if watched.get(block)}
        shares |= {block: hundredths / 100 for block, hundredths in whole.items()}
        if shares:
            figures[f"processor in {mode} mode"] = shares
    figures.pop("watched", None)


def _is_calls(what: str) -> bool:
    return what == ALL_CALLS or CALLS in what


def _with_all_calls(figures: _Figures) -> _Figures:
    """The same with the sum over all types of calls, where a monitor counted each."""
    sums: dict[int, float] = defaultdict(float)
    for what, by_block in figures.items():
        for block, calls in by_block.items() if what.startswith(CALLS) else ():
            sums[block] += calls
    return figures | {ALL_CALLS: dict(sums)} if sums else figures


def _around(
    observations: Observations, by_cell: Mapping[tuple[str, str], _Figures], system: str
) -> dict[str, float]:
    """The number of each call in the process of an empty trial: the median over its trials."""
    return {
        what: float(np.median(list(by_block.values())))
        for label, cell in observations.cells.items()
        if cell.workload == SURROUNDING
        for what, by_block in _with_all_calls(by_cell[system, label]).items()
        if _is_calls(what)
    }


def _add_own_calls(figures: _Figures, around: Mapping[str, float]) -> None:
    """Subtracts the calls of an empty trial, if they are known; what is fewer than in one is none. Estimates
    are left as they are: so few calls are invisible to them."""
    for what in [what for what in figures if _is_calls(what) and (around or what.startswith(ESTIMATED))]:
        less = 0.0 if what.startswith(ESTIMATED) else around.get(what, 0.0)
        figures[f"own {what}"] = {block: max(0.0, calls - less) for block, calls in figures[what].items()}


def _slowdowns(
    system: str, label: str, cell: Cell, figures: _Figures, untraced: _Figures
) -> Iterable[UsageFigure]:
    """The extra time of the system's trials over the baseline's, block by block."""
    for what in TIMES:
        for reading in READINGS:
            both = figures[what].keys() & untraced[what].keys()
            shares = {
                block: slowdown_percent(figures[what][block], untraced[what][block], reading)
                for block in sorted(both)
                if figures[what][block] and untraced[what][block]
            }
            if shares:
                yield _tally(system, label, cell, f"{what} added, {reading}", "%", shares)


def _tally(
    system: str, label: str, cell: Cell, what: str, unit: str, by_block: Mapping[int, float]
) -> UsageFigure:
    value: Estimate = order_statistics.median(np.array(list(by_block.values())))
    return UsageFigure(system, cell.workload, cell.parameters, label, what, unit, value)


def _unit(what: str) -> str:
    if what in TIMES:
        return "ns"
    if what.partition(AT)[0] in OF_SERVER:
        return OF_SERVER[what.partition(AT)[0]][0]
    return "%" if what.startswith("processor ") else "calls"
