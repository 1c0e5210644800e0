"""Places the marks of each cell and metric in a plot: block by block, the systems side by side."""

from collections.abc import Iterable, Sequence
from typing import Any

from steelyard.analysis.model import PlotMark


def placed(marks: Iterable[PlotMark], systems: Sequence[str]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The marks that `charts.samples` shows, by cell and metric."""
    by_key: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for mark in marks:
        aside = (systems.index(mark.system) - (len(systems) - 1) / 2) * 0.7 / len(systems)
        by_key.setdefault((mark.cell, mark.metric), []).append(
            {
                "x": round((mark.number + 0.5 + aside) * mark.blocks + 0.5, 2),
                "system": mark.system,
                "block": mark.number * mark.blocks + 1,
                **{name: float(f"{getattr(mark, name):.4g}") for name in ("value", "low", "high")},
            }
        )
    return by_key
