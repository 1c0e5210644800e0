"""Prints a weighing for programs: JSON as docs/records.md has it, or CSV with a comparison a row."""

import csv
import dataclasses
import json
import sys
from collections.abc import Iterable
from typing import Any

from steelyard import text
from steelyard.analysis.model import Comparison, CurveComparison, Weighing
from steelyard.report import answers, notes
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import wording


def print_json(weighing: Weighing) -> None:
    """One object; figures as they were computed, nothing rounded."""
    json.dump(as_object(weighing), sys.stdout, indent=1)
    print()


def as_object(weighing: Weighing) -> dict[str, Any]:
    """The object that `--format json` prints."""
    return {
        "experiment": weighing.experiment.name,
        "study": weighing.experiment.header["study"],
        "closed": weighing.experiment.closed,
        "baseline": weighing.baseline,
        "margin": dict(weighing.experiment.header["margins"]),
        "blocks": weighing.blocks,
        "trials": weighing.trials,
        "answers": [dataclasses.asdict(one) for one in answers.all_of(weighing)],
        "notes": list(notes.of(weighing)),
        "comparisons": [_comparison(one) for one in weighing.comparisons],
        "indices": [dataclasses.asdict(one) for one in weighing.indices],
        "levels": [dataclasses.asdict(one) for one in weighing.levels],
        "curves": [_curve(one) for one in weighing.curves],
        "findings": [dataclasses.asdict(one) for one in weighing.findings],
        "reference_means": [dataclasses.asdict(one) for one in weighing.reference_means],
        "gains": [dataclasses.asdict(one) for one in weighing.gains],
        "multiprogramming": [_of_cell(one) for one in weighing.multiprogramming],
        "scalings": [dataclasses.asdict(one) for one in weighing.scalings],
        "costs": [dataclasses.asdict(one) for one in weighing.costs],
        "latencies": [_of_cell(one) for one in weighing.latencies],
        "accounts": [_of_cell(one) for one in weighing.accounts],
        "tallies": [_of_cell(one) for one in weighing.tallies],
        "troubles": [dataclasses.asdict(one) for one in weighing.troubles],
        "systems": [dataclasses.asdict(one) for one in weighing.systems],
        "warnings": list(weighing.warnings),
    }


def _of_cell(one: Any) -> dict[str, Any]:
    """What was found of one cell, whose parameters are pairs."""
    return {**dataclasses.asdict(one), "parameters": dict(one.parameters)}


def _comparison(one: Comparison) -> dict[str, Any]:
    return {**_of_cell(one), "flags": list(one.flags)}


def _curve(one: CurveComparison) -> dict[str, Any]:
    ratios = {name: [dataclasses.asdict(each) for each in rows] for name, rows in one.ratios.items()}
    parts = {name: [dataclasses.asdict(each) for each in rows] for name, rows in one.parts.items()}
    lines = [dataclasses.asdict(line) for line in one.lines]
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
_ESTIMATES = ("baseline_value", "value", "ratio")


def print_csv(weighing: Weighing) -> None:
    """A comparison a row; an estimate has the columns NAME, NAME_low, NAME_high, NAME_level."""
    writer = csv.writer(sys.stdout)
    bounds = [f"{name}{part}" for name in _ESTIMATES for part in ("", "_low", "_high", "_level")]
    writer.writerow([*_COLUMNS, *bounds, "flags", "why"])
    for one in weighing.comparisons:
        values = (getattr(one, name) for name in _COLUMNS)
        row = [*values, *_parts(one), "; ".join(one.flags), wording.why(one)]
        writer.writerow(map(text.cell, row))


def _parts(one: Comparison) -> Iterable[float | None]:
    for name in _ESTIMATES:
        estimate: Estimate | None = getattr(one, name)
        if estimate is None:
            yield from (None, None, None, None)
        else:
            yield from (estimate.value, estimate.low, estimate.high, estimate.level)
