"""The words in which an answer says sizes, ranges and numbers."""

import math
from collections.abc import Iterable, Sequence

from steelyard.analysis.model import Comparison
from steelyard.quantities import number_of as number_of
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import wording


def short(ratio: Estimate) -> str:
    """The size, without the interval."""
    return wording.how_much(Estimate(ratio.value))


def in_sense(size: str, sense: str) -> str:
    """The size with the word for what is compared: "2.00× slower" becomes "2.00× more"."""
    return f"{size.rpartition(' ')[0]} {sense}"


def amount(*ratios: float) -> str:
    """The size to two digits, without a direction: "640×", "3.1 %"; for several, from the smallest to the
    largest: "2.2 to 2.7×".
    """
    low, *_, high = sorted([max(one, 1 / one) for one in ratios] * 2)
    if high < 1.25:
        least, most = (wording.digits(100 * (one - 1), count=2) for one in (low, high))
        unit = " %"
    else:
        least, most = (wording.digits(one, count=2) for one in (low, high))
        unit = "×"
    return f"{least} to {most}{unit}" if least != most else f"{most}{unit}"


def span(ratios: Sequence[Estimate], sense: str) -> str:
    """The range from the least to the most: "3.1 to 8.2 % slower", "1.2 to 640× slower"; where the
    interval of one is wide, "1.2 to at least 300× slower"."""

    def far(one: Estimate) -> float:
        return max(wording.quotable(one), 1 / wording.quotable(one))

    first, last = min(ratios, key=far), max(ratios, key=far)
    low, high = far(first), far(last)
    if high < 1.25:
        sure = "at least " if wording.is_wide(first) or wording.is_wide(last) else ""
        return f"{sure}{amount(low, high)} {sense}"
    least, most = (
        f"{'at least ' if wording.is_wide(one) else ''}{wording.digits(times, count=3 if times < 10 else 2)}"
        for one, times in ((first, low), (last, high))
    )
    return f"{least} to {most}× {sense}" if least != most else f"{most}× {sense}"


def duration(seconds: float) -> str:
    """A time to wait."""
    if seconds < 90:
        return f"{max(1, math.ceil(seconds))} s"
    return f"{math.ceil(seconds / 60)} minutes"


def blocks(comparisons: Iterable[Comparison], *, begun: int) -> str:
    """The number of blocks behind the comparisons, from the fewest to the most: each cell has its own.
    `begun` is the number if nothing was compared.
    """
    many = [one.blocks for one in comparisons if one.ratio is not None] or [begun]
    return f"{min(many)} to {max(many)} blocks" if min(many) < max(many) else number_of(max(many), "block")


def listed(words: Sequence[str]) -> str:
    """The words with commas, and "and" before the last; with a comma too where it stands in one of them."""
    *first, last = words
    if not first:
        return last
    return f"{', '.join(first)}{',' if ' and ' in ' '.join(words) else ''} and {last}"
