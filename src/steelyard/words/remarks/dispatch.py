"""Finds the sentence of a remark by its kind; the modules after this one have the sentences."""

from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch
from typing import Any

from steelyard.analysis.remarks import Remark


@singledispatch
def said(one: Remark, alike: Sequence[Any]) -> str:
    """Return one sentence for remarks of a kind that differ in numbers alone; `one` is the first of them."""
    raise NotImplementedError(f"no sentence for {type(one).__name__}")


def span(numbers: Iterable[float], form: Callable[[float], str], unit: str = "") -> str:
    """Return the range from the least to the most: "4", "4 or 5", "-0.90 to -0.60%"."""
    known = list(numbers)
    low, high = form(min(known)), form(max(known))
    if low == high:
        return f"{low}{unit}"
    follow = low.isdigit() and high.isdigit() and int(low) + 1 == int(high)
    return f"{low} {'or' if follow else 'to'} {high}{unit}"
