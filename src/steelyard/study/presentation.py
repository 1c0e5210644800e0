"""Reads what a study shows beside its comparison: a paper's tables, figures, and reference indices."""

import json
from importlib import resources
from pathlib import Path

from steelyard import toml_file
from steelyard.study.model import (
    LOWER_PLATEAU,
    OF_SERVER,
    READINGS,
    CellTable,
    CurveTable,
    FigureRow,
    FigureTable,
    ReferenceIndex,
    Restatement,
    StudyFigure,
    Table,
    TableFigure,
    TableRow,
)
from steelyard.toml_file import WHOLE_MOST, Reader


def published_papers() -> dict[str, Path]:
    """Name and file of every paper whose figures come with Steelyard."""
    folder = Path(str(resources.files("steelyard"))) / "papers" / "published"
    return {file.stem: file for file in sorted(folder.glob("*.csv"))}


def _heading(part: Reader) -> tuple[str, str, str, str]:
    """The fields of a PublishedTable."""
    return part.text("name"), part.text("title"), part.text("paper"), part.text("note", "")


def _check_paper(part: Reader, paper: str) -> None:
    papers = published_papers()
    if paper not in papers:
        raise part.wrong("paper", paper, f"one of {', '.join(papers)}")


def table(part: Reader) -> Table:
    rows = []
    for row in part.parts("row"):
        rows.append(TableRow(row.text("published"), row.text("workload"), row.whole("operations", 1, 1)))
        row.finish()
    names = [row.published for row in rows]
    table = Table(*_heading(part), tuple(rows), tuple(part.texts("processor_bound", ())))
    part.finish()
    _check_paper(part, table.paper)
    if not set(table.processor_bound) <= set(names):
        raise part.wrong(
            "processor_bound", list(table.processor_bound), f"some of the rows: {', '.join(names)}"
        )
    return table


def curve_table(part: Reader) -> CurveTable:
    columns = []
    for column in part.parts("column"):
        columns.append((column.text("published"), column.text("workload")))
        column.finish()
    table = CurveTable(
        *_heading(part),
        part.text("shows"),
        tuple(columns),
    )
    part.finish()
    if table.shows not in ("plateau", LOWER_PLATEAU, "knee"):
        raise part.wrong("shows", table.shows, f'"{LOWER_PLATEAU}", "plateau" or "knee"')
    _check_paper(part, table.paper)
    return table


def _stated(part: Reader) -> dict[str, int | str]:
    """Parameters that tell a cell from others."""
    parameters = part.rest()
    for key, value in parameters.items():
        if not toml_file.is_text(value) and (type(value) is not int or not 0 <= value <= WHOLE_MOST):
            raise part.wrong(key, value, f"a whole number from 0 to {WHOLE_MOST}, or a text")
    return parameters


def _restatement(part: Reader) -> Restatement:
    stated = Restatement(part.text("per", ""), part.text("moves", ""), part.truth("rate", False))
    if stated.is_rate and (stated.per or stated.moves):
        raise part.wrong("rate", "true", "there without per and moves")
    return stated


def cell_table(part: Reader) -> CellTable:
    figures = []
    for figure in part.parts("figure"):
        figures.append(TableFigure(figure.text("published"), figure.text("metric"), _restatement(figure)))
        figure.finish()
    variants = []
    for variant in part.parts("variant"):
        name = variant.text("name")
        variants.append((name, tuple(sorted(_stated(variant).items()))))
    table = CellTable(
        *_heading(part),
        published=part.text("published"),
        workload=part.text("workload"),
        over=part.text("over"),
        levels=tuple(part.wholes("levels", ())),
        figures=tuple(figures),
        variants=tuple(variants) or (("", ()),),
        has_variation=part.truth("variation", False),
        is_constant=part.truth("constant", False),
    )
    part.finish()
    if not figures:
        raise part.wrong("figure", [], "at least one, with published and metric")
    fixed = [{table.over, *(key for key, _ in parameters)} for _, parameters in table.variants]
    divisors = set.intersection(*fixed)
    for one in figures:
        for key, name in (("per", one.stated.per), ("moves", one.stated.moves)):
            if name and name not in divisors:
                raise part.wrong(f"figure: {key}", name, f"one of {', '.join(sorted(divisors))}, or left out")
    _check_paper(part, table.paper)
    return table


def figure_table(part: Reader) -> FigureTable:
    figures = []
    for figure in part.parts("figure"):
        published, reading = figure.text("published"), figure.text("reading", "")
        named = figure.text("name", published)
        row = FigureRow(named, published, figure.text("level", ""), figure.text("what"), reading)
        figure.finish()
        if row.reading not in ("", *READINGS):
            raise figure.wrong("reading", reading, " or ".join(map(json.dumps, READINGS)))
        figures.append(row)
    table = FigureTable(
        *_heading(part),
        published=part.text("published"),
        workload=part.text("workload"),
        figures=tuple(figures),
    )
    part.finish()
    if not figures:
        raise part.wrong("figure", [], "at least one, with published and what")
    _check_paper(part, table.paper)
    return table


def figure(part: Reader) -> StudyFigure:
    figure = StudyFigure(
        name=part.text("name"),
        title=part.text("title"),
        kind=part.text("kind"),
        workloads=tuple(part.texts("workloads", (), least=1)),
        over=part.text("over", ""),
        metric=part.text("metric", ""),
        note=part.text("note", ""),
        stated=_restatement(part),
        levels=tuple(part.wholes("levels", ())) if part.text("kind") == "series" else (),
    )
    part.finish()
    if figure.kind in ("curves", "series") and figure.stated != Restatement():
        raise part.wrong("kind", figure.kind, '"bars" or "lines", for a figure with per, moves or rate')
    if figure.kind not in ("bars", "lines", "curves", "series"):
        raise part.wrong("kind", figure.kind, '"bars", "lines", "curves" or "series"')
    if bool(figure.over) != (figure.kind in ("lines", "series")):
        raise part.wrong("over", figure.over, "a parameter's name, for lines or series and no other figure")
    if figure.kind == "series" and figure.metric not in OF_SERVER:
        raise part.wrong("metric", figure.metric, f"one of {', '.join(OF_SERVER)}, for series")
    return figure


def index(part: Reader) -> ReferenceIndex:
    index = ReferenceIndex(
        part.text("name"), part.text("title"), part.text("reference"), tuple(part.numbers("times_ns").items())
    )
    part.finish()
    if not index.times_ns:
        raise part.wrong("times_ns", {}, "a table of workloads and their ns per operation")
    return index
