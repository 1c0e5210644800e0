"""Reads what a study shows beside its comparison: a paper's tables, figures, and reference indices."""

import json
from importlib import resources
from pathlib import Path

from steelyard import toml_file
from steelyard.study.model import (
    READINGS,
    CellTable,
    CurveTable,
    FigureRow,
    FigureTable,
    ReferenceIndex,
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
    table = Table(*_heading(part), tuple(rows))
    part.finish()
    _check_paper(part, table.paper)
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
    if table.shows not in ("plateau", "knee"):
        raise part.wrong("shows", table.shows, '"plateau" or "knee"')
    _check_paper(part, table.paper)
    return table


def _stated(part: Reader) -> dict[str, int | str]:
    """Parameters that tell a cell from others."""
    parameters = part.rest()
    for key, value in parameters.items():
        if not toml_file.is_text(value) and (type(value) is not int or not 0 <= value <= WHOLE_MOST):
            raise part.wrong(key, value, f"a whole number from 0 to {WHOLE_MOST}, or a text")
    return parameters


def cell_table(part: Reader) -> CellTable:
    figures = []
    for figure in part.parts("figure"):
        figures.append(
            TableFigure(
                figure.text("published"),
                figure.text("metric"),
                figure.text("per", ""),
                figure.text("moves", ""),
                figure.truth("rate", False),
            )
        )
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
    )
    part.finish()
    if not figures:
        raise part.wrong("figure", [], "at least one, with published and metric")
    fixed = [{table.over, *(key for key, _ in parameters)} for _, parameters in table.variants]
    divisors = set.intersection(*fixed)
    for one in figures:
        if one.is_rate and (one.per or one.moves):
            raise part.wrong("figure: rate", "true", "there without per and moves")
        for key, name in (("per", one.per), ("moves", one.moves)):
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
    )
    part.finish()
    if figure.kind not in ("bars", "lines", "curves"):
        raise part.wrong("kind", figure.kind, '"bars", "lines" or "curves"')
    if bool(figure.over) != (figure.kind == "lines"):
        raise part.wrong("over", figure.over, "a parameter's name, for a figure of lines and no other")
    return figure


def index(part: Reader) -> ReferenceIndex:
    index = ReferenceIndex(
        part.text("name"), part.text("title"), part.text("reference"), tuple(part.numbers("times_ns").items())
    )
    part.finish()
    if not index.times_ns:
        raise part.wrong("times_ns", {}, "a table of workloads and their ns per operation")
    return index
