"""Turns an experiment's samples into what its panels show: a mark a trial, the spread of its batches.

A million samples become some thousands of marks here, by SQL; the page never sees the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from steelyard.observations import COST, FLOOR, GROUP, TYPICAL

_BINS = 100  # a panel with more blocks than this shows neighbouring blocks as one mark

# One row a trial and metric: the number the comparison uses, for whichever lens, and where the middle
# 80 % of its batches lie. With several copies everything is divided by their number, as the comparison does.
_TRIALS = """
    SELECT t.cell, s.metric, t.system, t.block, any_value(t.copies) AS copies,
           quantile_cont(s.duration_ns / s.operations, [0.1, 0.25, 0.5, 0.9]) AS q,
           sum(s.duration_ns) / sum(s.operations) AS cost,
           any_value(g.slowest) / any_value(g.operations) AS "group"
    FROM samples s
    JOIN trials t USING (trial)
    JOIN (SELECT trial, metric, max(total) AS slowest, any_value(operations) AS operations
          FROM (SELECT trial, metric, copy, sum(duration_ns) AS total, sum(operations) AS operations
                FROM samples GROUP BY trial, metric, copy)
          GROUP BY trial, metric) g ON g.trial = s.trial AND g.metric = s.metric
    WHERE t.status = 'ok'
    GROUP BY s.trial, t.cell, s.metric, t.system, t.block"""

# One row a mark: that many neighbouring blocks together, so that the page stays small.
_MARKS = f"""
    WITH per_trial AS ({_TRIALS}),
         widths AS (SELECT cell, metric, ceil((max(block) + 1) / {_BINS})::BIGINT AS width
                    FROM per_trial GROUP BY cell, metric)
    SELECT cell, metric, system, block // width AS bin, any_value(width), count(*),
           median(q[2] / copies), median(q[3] / copies), median(cost / copies), median("group" / copies),
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
