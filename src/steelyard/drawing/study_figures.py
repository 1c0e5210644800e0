"""Chooses what a page's pictures show: every curve, and the figures that the study describes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from steelyard.analysis import restating
from steelyard.analysis.model import CurveComparison, Evaluation, Level, Multiprogramming, UsageFigure
from steelyard.drawing import figures, timelines
from steelyard.drawing.charts import Spec
from steelyard.quantities import number_of
from steelyard.study.model import AT, OF_SERVER, Study, StudyFigure
from steelyard.words import wording

_COPIES_LEAST = 2  # besides one: fewer make no chart
_POINTS_LEAST = 3  # of a line: fewer stand as numbers


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: as it is for wide and for narrow pages, and what it says in words."""

    title: str
    words: str
    specs: dict[str, Spec]  # "wide", and "narrow" where that is another; none if there is too little to draw


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of the page, of one or several panels; of none where nothing of it was measured."""

    title: str
    note: str
    missing: tuple[str, ...]  # workloads of which there is nothing to draw
    panels: tuple[Chart, ...] = field(default=())
    is_full_width: bool = False


def of_curve(one: CurveComparison, systems: Sequence[str]) -> Chart:
    """The chart of one curve, with its segments."""
    label = wording.label(one.cell, one.metric)
    if max((len(line.points) for line in one.lines), default=0) < _POINTS_LEAST:
        return Chart(label, "; ".join(_points(one)), {})
    spec = figures.curve(one, systems)
    summary = "; ".join(
        f"{line.system}: " + (", ".join(_texts(one, line.system)) or "no plateau") for line in one.lines
    )
    return Chart(label, f"{label} over {one.sweeps}. {summary}", {"wide": spec})


def _points(one: CurveComparison) -> Iterable[str]:
    """System by system, the values at the few sizes there are."""
    for line in one.lines:
        values = ", ".join(
            f"{wording.value(value.value, one.unit)} at {wording.quantity(size, one.sweep_unit)}"
            for size, value in line.points
        )
        yield f"{line.system} {values}"


def _texts(one: CurveComparison, system: str) -> Iterable[str]:
    for line in one.lines:
        if line.system == system:
            for part in wording.parts_of(one, line):
                yield " ".join(text for text in part.texts[:3] if text)


def of_processes(members: Sequence[Multiprogramming]) -> list[Chart]:
    """The lives of the processes of one cell, a panel a system, all over the same span of time unless one
    takes many times longer than another."""
    return [
        Chart(
            one.system,
            f"{number_of(len(one.lives), 'process', 'processes')} of {one.cell} on {one.system}, each a bar "
            f"over time. "
            f"{one.finished} of {one.processes} finished.",
            {"wide": timelines.lives(one, until_ns=timelines.span_ns(one, members))},
        )
        for one in members
    ]


def of_gains(evaluation: Evaluation) -> list[Chart]:
    """A chart of gain over copies for each workload and metric that has enough numbers of copies for one."""
    systems = [system.name for system in evaluation.systems]
    charts = []
    for cell, metric in dict.fromkeys((one.cell, one.metric) for one in evaluation.gains):
        gains = [one for one in evaluation.gains if (one.cell, one.metric) == (cell, metric)]
        scalings = [one for one in evaluation.scalings if (one.cell, one.metric) == (cell, metric)]
        if len({one.copies for one in gains}) >= _COPIES_LEAST:
            title = wording.label(cell, metric)
            summary = "; ".join(
                f"{one.system} with {number_of(one.copies, 'copy', 'copies')}: "
                f"{wording.factor(one.gain.value)}"
                for one in gains
            )
            spec = figures.gains(gains, scalings, systems)
            charts.append(Chart(title, f"Speed-up of {title} by number of copies. {summary}", {"wide": spec}))
    return charts


def of_study(evaluation: Evaluation, study: Study | None) -> list[Picture]:
    """The study's own figures, in its order."""
    systems = [system.name for system in evaluation.systems]
    return [_figure(evaluation, figure, systems) for figure in (study.figures if study else ())]


def is_drawn(one: CurveComparison, study: Study | None) -> bool:
    """True if a figure of the study already shows the curve."""
    return any(
        figure.kind == "curves" and one.workload in figure.workloads and figure.metric in ("", one.metric)
        for figure in (study.figures if study else ())
    )


def _figure(evaluation: Evaluation, figure: StudyFigure, systems: Sequence[str]) -> Picture:
    def is_shown(one: Level | CurveComparison) -> bool:
        return one.workload in figure.workloads and figure.metric in ("", one.metric)

    def picture(shown: Sequence[Level | CurveComparison], panels: Iterable[Chart]) -> Picture:
        there = {one.workload for one in shown}
        missing = tuple(one for one in figure.workloads if one not in there)
        return Picture(figure.title, figure.note, missing, tuple(panels), figure.kind == "bars")

    if figure.kind == "curves":
        curves = [one for one in evaluation.curves if is_shown(one)]
        return picture(curves, (of_curve(one, systems) for one in curves))
    if figure.kind == "series":
        points = [one for one in evaluation.tallies if one.what.startswith(figure.metric + AT)]
        return Picture(figure.title, figure.note, (), tuple(_over_time(points, systems, figure)))
    order = list(figure.workloads)
    levels = sorted(
        _stated((one for one in (*evaluation.levels, *_used(evaluation)) if is_shown(one)), figure),
        key=lambda one: order.index(one.workload),
    )
    if figure.kind == "lines":
        return picture(levels, _lines(levels, systems, figure.over))
    if not levels:
        return picture((), ())
    specs = {width: figures.bars(levels, systems, is_wide=width == "wide") for width in ("wide", "narrow")}
    words = f"{figure.title}: a bar for each system, on a log scale. The tables carry the same numbers."
    return picture(levels, [Chart("", words, specs)])


def _used(evaluation: Evaluation) -> Iterable[Level]:
    """What monitors said of servers, as levels."""
    for one in evaluation.tallies:
        if one.what in OF_SERVER:
            yield Level(
                one.system, one.workload, one.parameters, one.cell, "", one.what, one.unit, "", one.value
            )


def _over_time(points: Sequence[UsageFigure], systems: Sequence[str], figure: StudyFigure) -> Iterable[Chart]:
    """A panel for each cell that has one of the levels: the systems' values over the time under load."""
    cells = {one.cell: dict(one.parameters) for one in points if one.workload in figure.workloads}
    for level in figure.levels:
        for cell in (cell for cell, parameters in cells.items() if parameters.get(figure.over) == level):
            shown = [one for one in points if one.cell == cell]
            spec = figures.over_time(shown, systems)
            title = f"{figure.over} = {level:,}"
            yield Chart(title, f"{figure.metric} over the time under load, {title}", {"wide": spec})


def _stated(levels: Iterable[Level], figure: StudyFigure) -> Iterable[Level]:
    """The levels as the paper states them. On a log scale nothing is 0, and what has no such parameter is
    left out."""
    needed = {figure.stated.per, figure.stated.moves} - {""}
    for one in levels:
        parameters = dict(one.parameters)
        if one.value.value > 0 and needed <= parameters.keys():
            value, unit = restating.restated(one.value, one.unit, parameters, figure.stated)
            yield replace(one, value=value, unit=unit)


def _lines(levels: Sequence[Level], systems: Sequence[str], over: str) -> Iterable[Chart]:
    """A chart of each metric over a parameter, or its numbers where there are too few places for a line."""
    places = {dict(one.parameters).get(over) for one in levels} - {None}
    if len(places) < _POINTS_LEAST:
        yield from _few(levels, over)
        return
    for title, spec in figures.lines(levels, systems, over=over).items():
        yield Chart(title, f"{title} over {over}, for each system", {"wide": spec})


def _few(levels: Sequence[Level], over: str) -> Iterable[Chart]:
    """A panel of numbers for each workload and metric that has too few places for a line."""
    for workload, metric in dict.fromkeys((one.workload, one.metric) for one in levels):
        summary = "; ".join(
            f"{one.system} {wording.value(one.value.value, one.unit)} "
            f"with {over} {dict(one.parameters)[over]}"
            for one in levels
            if (one.workload, one.metric) == (workload, metric) and over in dict(one.parameters)
        )
        if summary:
            yield Chart(wording.label(workload, metric), summary, {})
