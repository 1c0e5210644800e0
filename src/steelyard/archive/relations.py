"""Holds the figures that one copy reports against each other, and against what was asked.

A system that reports wrong figures seldom makes them agree. Each function returns what cannot be, or None.
Today's records are held to these rules where a trial is led (running/records.py), older ones where they are
read (`exclusions`).
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Figures = Mapping[str, int]  # what one copy reports, by metric

# A histogram's buckets, as the load program has them: 64 to a power of two, and below the first as narrow.
_BITS, _FIRST = 6, 1024
# A part is rounded, and is at least 1: so the parts together may exceed their whole by their number.
_ROUNDED = 3
# Stolen time counts as used in one account and not in the other: a part that was not subtracted
# from its whole is at most that many times as large, and what ticks may be wrong by.
_ROUGHLY = 4
_MILLION = 1_000_000
_QUANTILE = re.compile(r"(?P<base>.*latency)_(?P<percent>\d{1,2})(?:_(?P<tenths>\d+))?")
# By the unit of a figure that describes, what it cannot exceed.
_SHARES = {"per mille": 1000, "per million": _MILLION}


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A figure that cannot be beside the others."""

    metric: str
    value: int
    allowed: str  # after "must be"

    def __str__(self) -> str:
        return f"{self.metric} was {self.value}, but must be {self.allowed}"


def quantile_of(metric: str) -> tuple[str, float] | None:
    """The base metric and the quantile of a metric: ("latency", 0.999) of "latency_99_9"; None if it is not a
    quantile.
    """
    match = _QUANTILE.fullmatch(metric)
    if match is None:
        return None
    return match["base"], float(f"{match['percent']}.{match['tenths'] or 0}") / 100


def is_quantile(metric: str, of: str) -> bool:
    return (quantile_of(metric) or ("", 0.0))[0] == of


def share_most(unit: str) -> int | None:
    """The maximum of a figure in this unit, if the unit implies one; None if it is not a share."""
    return next((most for words, most in _SHARES.items() if words in unit), None)


def contradiction(figures: Figures, *, tick_ns: float = math.inf) -> Contradiction | None:
    """The contradictions among these figures: quantiles out of order, or a part above its whole. `tick_ns` is
    the possible error of a figure that the kernel counts in clock ticks.
    """
    return _quantiles(figures) or _parts(figures, tick_ns)


def _quantiles(figures: Figures) -> Contradiction | None:
    by_base: dict[str, list[tuple[float, str]]] = {}
    for metric in figures:
        if quantile := quantile_of(metric):
            by_base.setdefault(quantile[0], []).append((quantile[1], metric))
    for metrics in by_base.values():
        for (_, lower), (_, upper) in pairwise(sorted(metrics)):
            if figures[upper] < figures[lower]:
                return Contradiction(upper, figures[upper], f"at least {figures[lower]}, which is {lower}")
    return None


def _parts(figures: Figures, tick_ns: float) -> Contradiction | None:
    """The ends of a connection and the rest make the demand; the far end counts if it is on this machine,
    which no figure says. Where the rest is not known, it was none by the account of ticks."""
    for whole, part in (("demand", "near"), ("machine", "processor")):
        if whole in figures and figures.get(part, 0) > _ROUGHLY * figures[whole] + _ROUNDED + tick_ns:
            return Contradiction(part, figures[part], f"about {figures[whole]} at most, which is {whole}")
    if not {"demand", "rest", "near"} <= figures.keys():
        return None
    demand, rest, near = (figures[name] for name in ("demand", "rest", "near"))
    if rest > demand + _ROUNDED:
        return Contradiction("rest", rest, f"at most {demand}, which is demand")
    if near > demand - rest + _ROUNDED:
        return Contradiction("near", near, f"at most {max(0, demand - rest)}, which is demand less rest")
    sums = [near + rest, near + rest + figures.get("far", 0)]
    if "far" in figures and min(abs(one - demand) for one in sums) > _ROUNDED:
        return Contradiction("demand", demand, f"{sums[0]} or {sums[1]}, the sum of its parts")
    return None


def bucket_width(value_ns: int) -> int:
    """The width of the histogram's bucket that begins there."""
    return 1 << max(value_ns, _FIRST).bit_length() - 1 - _BITS


def against_histogram(
    figures: Figures, metric: str, values_ns: Sequence[int], counts: Sequence[int]
) -> Contradiction | None:
    """The quantiles that lie outside their bucket of the histogram."""
    total = sum(counts)
    for name, value in figures.items():
        base, share = quantile_of(name) or ("", 0.0)
        if base != metric:
            continue
        below = 0
        for start, count in zip(values_ns, counts, strict=True):
            below += count
            if below >= share * total:
                if not start <= value < start + bucket_width(start):
                    end = start + bucket_width(start) - 1
                    return Contradiction(name, value, f"{start} to {end}, where its histogram has it")
                break
    return None


def sizes(*, from_: int, to: int, steps: int, grain: int) -> list[int]:
    """The sizes of a curve, ascending: as agent/sweep.c has them."""
    points: list[int] = []
    step = 0
    while from_ and steps:
        size = int(from_ * 2.0 ** (step / steps) / grain + 0.5) * grain
        if size > to:
            break
        if size and (not points or size != points[-1]):
            points.append(size)
        step += 1
    return points
