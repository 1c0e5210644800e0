"""Prints an evaluation for programs: JSON (records.md), or CSV with a row per comparison."""

import csv
import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import steelyard
from steelyard import text
from steelyard.analysis.model import (
    Comparison,
    CurveComparison,
    Evaluation,
    MachineFact,
    Multiprogramming,
    Scaling,
    Why,
)
from steelyard.analysis.remarks import Remark, Trouble
from steelyard.papers.source import Printed
from steelyard.report import answers
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import notes, remarks, wording

SCHEMA = 1  # of the JSON: one more when a key changes its meaning or goes


def print_json(evaluation: Evaluation, tables: Sequence[Printed] = ()) -> None:
    """One object; figures as they were computed, nothing rounded."""
    json.dump(
        as_object(evaluation) | {"published_tables": list(map(_published, tables))}, sys.stdout, indent=1
    )
    print()


def print_tables(tables: Sequence[Printed], *, form: str) -> None:
    """The published tables alone: as JSON, or as CSV with a figure a row."""
    if form == "json":
        json.dump(list(map(_published, tables)), sys.stdout, indent=1)
        print()
        return
    writer = csv.writer(sys.stdout)
    writer.writerow(_TABLE_COLUMNS)
    for table in tables:
        for row in table.cells:
            for heading, figure in zip(table.headings[1:], row[1:], strict=True):
                source = "paper" if heading in table.published else "today"
                values = (table.paper, table.name, table.title, row[0].text, heading, source)
                number = figure.estimate
                numbers = (number.value, number.low, number.high) if number else (None, None, None)
                writer.writerow(map(text.cell, (*values, *numbers, figure.unit, figure.text)))


_TABLE_COLUMNS = (
    "paper", "table", "title", "row", "column", "source", "value", "low", "high", "unit", "text",
)  # fmt: skip


def _published(table: Printed) -> dict[str, Any]:
    """A published table: its figures as numbers where they are such, and as they are shown."""
    return {
        "paper": table.paper,
        "table": table.name,
        "title": table.title,
        "note": table.note,
        "rows_are": table.headings[0],
        "columns": [
            {"name": name, "source": "paper" if name in table.published else "today"}
            for name in table.headings[1:]
        ],
        "rows": [
            {"name": row[0].text, "figures": [_plain(figure) for figure in row[1:]]} for row in table.cells
        ],
    }


def as_object(evaluation: Evaluation) -> dict[str, Any]:
    """The object that `--format json` prints, but for the published tables."""
    return {
        "steelyard": steelyard.__version__,
        "schema": SCHEMA,
        "experiment": evaluation.experiment.name,
        "study": evaluation.experiment.header["study"],
        "closed": evaluation.experiment.closed,
        "baseline": evaluation.baseline,
        "margin": dict(evaluation.experiment.header["margins"]),
        "blocks": evaluation.blocks,
        "trials": evaluation.trials,
        "absent": dict(evaluation.absent),
        "care": care.sentence if (care := answers.care_of(evaluation)) else None,
        "answers": [_fields(one) for one in answers.all_of(evaluation)],
        "notes": list(notes.of(evaluation)),
        "comparisons": [_of_cell(one) for one in evaluation.comparisons],
        "processor_times": [_of_cell(one) for one in evaluation.processor_times],
        "indices": [_fields(one) for one in evaluation.indices],
        "levels": [_fields(one) for one in evaluation.levels],
        "curves": [_curve(one) for one in evaluation.curves],
        "findings": [_fields(one) for one in evaluation.findings],
        "reference_means": [_fields(one) for one in evaluation.reference_means],
        "gains": [_fields(one) for one in evaluation.gains],
        "multiprogramming": [_multiprogramming(one) for one in evaluation.multiprogramming],
        "scalings": [_fields(one) for one in evaluation.scalings],
        "costs": [_fields(one) for one in evaluation.costs],
        "latencies": [_of_cell(one) for one in evaluation.latencies],
        "server_loads": [_of_cell(one) for one in evaluation.server_loads],
        "alone": [_of_cell(one) for one in evaluation.alone],
        "accounts": [_of_cell(one) for one in evaluation.accounts],
        "tallies": [_of_cell(one) for one in evaluation.tallies],
        "programs": [_fields(one) for one in evaluation.programs],
        "troubles": [_fields(one) for one in evaluation.troubles],
        "systems": [_fields(one) for one in evaluation.systems],
        "warnings": list(remarks.texts(evaluation.remarks)),
        "remarks": _facts(evaluation.remarks),
        "state": _fields(evaluation.state) if evaluation.state else None,
    }


def _of_cell(one: Any) -> dict[str, Any]:
    """The findings on one cell, whose parameters are pairs."""
    return {**_fields(one), "parameters": dict(one.parameters)}


def _fields(one: Any) -> dict[str, Any]:
    """The fields of a dataclass. What is remarked stands there twice: as text, and beside it as a fact."""
    fields: dict[str, Any] = {}
    for name in (field.name for field in dataclasses.fields(one)):
        value = getattr(one, name)
        if name == "remarks":
            fields |= {_TEXTS[type(one)]: list(remarks.texts(value)), name: _facts(value)}
        elif name in _EXPLAINED.get(type(one), ()):
            fact = value if isinstance(value, Remark) else None
            fields |= {
                name: remarks.text(fact) if fact else value if name == "reason" else "",
                f"{name}_fact": _fact(fact) if fact else None,
            }
        else:
            fields[name] = _plain(value)
    return fields


# Where the text of remarks stands, and which fields hold one.
_TEXTS: Mapping[type, str] = {Comparison: "flags", Why: "notes"}
_EXPLAINED: Mapping[type, Sequence[str]] = {
    Trouble: ("reason",),
    MachineFact: ("what", "note"),
    Scaling: ("no_law", "no_capacity"),
}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(each) for each in value)
    return _fields(value) if dataclasses.is_dataclass(value) else value


def _facts(found: Iterable[Remark]) -> list[dict[str, Any]]:
    return [_fact(one) for one in found]


def _fact(one: Remark) -> dict[str, Any]:
    """Its kind, which is the name of its class in lower case ("clock_apart"), and its fields."""
    kind = re.sub(r"(?<!^)(?=[A-Z])", "_", type(one).__name__).lower()
    return {"kind": kind, **_fields(one)}


def _multiprogramming(one: Multiprogramming) -> dict[str, Any]:
    failures = [(wording.failure(reason), processes) for reason, processes in one.failures]
    return {**_of_cell(one), "failures": failures}


def _curve(one: CurveComparison) -> dict[str, Any]:
    ratios = {name: [_fields(each) for each in rows] for name, rows in one.ratios.items()}
    parts = {name: [_fields(each) for each in rows] for name, rows in one.parts.items()}
    lines = [_fields(line) for line in one.lines]
    plain = dataclasses.replace(one, lines=(), ratios={}, parts={})
    return {
        **_of_cell(plain),
        "lines": lines,
        "ratios": ratios,
        "parts": parts,
    }


_COLUMNS = (
    "cell",
    "metric",
    "unit",
    "direction",
    "lens",
    "system",
    "baseline",
    "margin",
    "verdict",
    "bound",
    "p_adjusted",
    "blocks",
    "boots",
)
_COLUMNS_OF_VALUES = ("cell", "metric", "unit", "direction", "system")
_ESTIMATES = ("baseline_value", "value", "ratio")


def print_csv(evaluation: Evaluation) -> None:
    """A comparison a row, or of one system alone a value a row; an estimate has the columns NAME, NAME_low,
    NAME_high, NAME_level."""
    writer = csv.writer(sys.stdout)
    if not evaluation.others:
        writer.writerow([*_COLUMNS_OF_VALUES, *_bounds("value")])
        for level in evaluation.levels:
            values = (getattr(level, name) for name in _COLUMNS_OF_VALUES)
            writer.writerow(map(text.cell, (*values, *_of_estimate(level.value))))
        return
    writer.writerow([*_COLUMNS, *(bound for name in _ESTIMATES for bound in _bounds(name)), "flags", "why"])
    for one in evaluation.comparisons:
        values = (getattr(one, name) for name in _COLUMNS)
        row = [*values, *_parts(one), "; ".join(remarks.texts(one.remarks)), wording.why(one)]
        writer.writerow(map(text.cell, row))


def _parts(one: Comparison) -> Iterable[float | None]:
    for name in _ESTIMATES:
        yield from _of_estimate(getattr(one, name))


def _bounds(name: str) -> Sequence[str]:
    return [f"{name}{part}" for part in ("", "_low", "_high", "_level")]


def _of_estimate(estimate: Estimate | None) -> Sequence[float | None]:
    if estimate is None:
        return (None, None, None, None)
    return (estimate.value, estimate.low, estimate.high, estimate.level)
