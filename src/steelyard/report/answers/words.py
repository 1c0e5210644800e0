"""The words in which an answer says sizes, ranges and numbers."""

import math
from collections.abc import Iterable, Sequence

from steelyard.analysis.model import Comparison
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import wording


def short(ratio: Estimate) -> str:
    """How much, without the interval."""
    return wording.how_much(Estimate(ratio.value))


def in_sense(size: str, sense: str) -> str:
    """The size with the word for what is compared: "2.00 times slower" becomes "2.00 times more"."""
    return f"{size.rpartition(' ')[0]} {sense}"


def amount(*ratios: float) -> str:
    """How much, to two digits and without a direction: "640 times", "3.1 %"; of several from the least to
    the most: "2.2 to 2.7 times"."""
    low, *_, high = sorted([max(one, 1 / one) for one in ratios] * 2)
    if high < 1.25:
        least, most = (wording.digits(100 * (one - 1), count=2) for one in (low, high))
        unit = "%"
    else:
        least, most = (wording.digits(one, count=2) for one in (low, high))
        unit = "times"
    return f"{least} to {most} {unit}" if least != most else f"{most} {unit}"


def span(ratios: Sequence[float], sense: str) -> str:
    """The range from the least to the most: "3.1 to 8.2 % slower", "1.2 to 640 times slower"."""
    low, high = sorted(max(one, 1 / one) for one in (min(ratios), max(ratios)))
    if high < 1.25:
        return f"{amount(low, high)} {sense}"
    least, most = (wording.digits(one, count=3 if one < 10 else 2) for one in (low, high))
    return f"{least} to {most} times {sense}" if least != most else f"{most} times {sense}"


def duration(seconds: float) -> str:
    """A time to wait."""
    if seconds < 90:
        return f"{max(1, math.ceil(seconds))} s"
    return f"{math.ceil(seconds / 60)} minutes"


def number_of(number: int, noun: str) -> str:
    """The number and the noun, of which there is one or several."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def blocks(comparisons: Iterable[Comparison], *, begun: int) -> str:
    """How many blocks the comparisons rest on, from the least to the most: each cell has its own.
    `begun` is how many there are where nothing was compared."""
    many = [one.blocks for one in comparisons if one.ratio is not None] or [begun]
    return f"{min(many)} to {max(many)} blocks" if min(many) < max(many) else number_of(max(many), "block")


def listed(words: Sequence[str]) -> str:
    """The words with commas, and "and" before the last; with a comma too where it stands in one of them."""
    *first, last = words
    if not first:
        return last
    return f"{', '.join(first)}{',' if ' and ' in ' '.join(words) else ''} and {last}"
