"""Turns an experiment's samples into what its panels show: a mark a trial, the spread of its batches.

A million samples become some thousands of marks here, by SQL; the page never sees the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from steelyard.analysis.observations import COST, FLOOR, GROUP, TYPICAL
from steelyard.analysis.rows import METRICS_OF_TRIALS

_BINS = 100  # a panel with more blocks than this shows neighbouring blocks as one mark

# One row a mark: that many neighbouring blocks together, so that the page stays small. With several copies
# everything is divided by their number, as the comparison does.
_MARKS = f"""
    WITH per_trial AS (SELECT * FROM ({METRICS_OF_TRIALS}) WHERE point IS NULL),
         widths AS (SELECT cell, metric, ceil((max(block) + 1) / {_BINS})::BIGINT AS width
                    FROM per_trial GROUP BY cell, metric)
    SELECT cell, metric, system, block // width AS bin, any_value(width), count(*),
           median(q[2] / copies), median(q[3] / copies), median(cost / copies), median("group"),
           min(q[1] / copies), max(q[4] / copies)
    FROM per_trial JOIN widths USING (cell, metric)
    GROUP BY cell, metric, system, bin ORDER BY cell, metric, system, bin"""


@dataclass(frozen=True, slots=True)
class Panel:
    """The marks of one cell and metric, and how many blocks each stands for."""

    blocks_per_mark: int
    marks: list[dict[str, Any]]


def of(
    connection: duckdb.DuckDBPyConnection, *, systems: Sequence[str], lenses: Mapping[tuple[str, str], str]
) -> dict[tuple[str, str], Panel]:
    """By cell and metric, what `charts.samples` shows; `lenses` says which number stands for a trial."""
    found: dict[tuple[str, str], Panel] = {}
    for cell, metric, system, number, width, _, *values, low, high in connection.execute(_MARKS).fetchall():
        numbers = dict(zip((FLOOR, TYPICAL, COST, GROUP), values, strict=True))
        panel = found.setdefault((cell, metric), Panel(width, []))
        aside = (systems.index(system) - (len(systems) - 1) / 2) * 0.7 / len(systems)
        value = numbers[lenses.get((cell, metric), TYPICAL)]
        if min(value, low) > 0:
            panel.marks.append(
                {
                    "x": round((number + 0.5) * width + 0.5 + aside * width, 2),
                    "system": system,
                    "block": number * width + 1,
                    **{
                        name: float(f"{ns:.4g}")
                        for name, ns in (("value", value), ("low", low), ("high", high))
                    },
                }
            )
    return found
