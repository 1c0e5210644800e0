"""Which of many findings may be claimed: false discovery rate, in two stages by family.

Benjamini and Hochberg (1995); Simes (1986) for a family's own p-value; the stages after Benjamini and
Bogomolov (2014). Forty equal metrics without it: 55 % of reports contain a false claim.
"""

from collections.abc import Sequence


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Benjamini-Hochberg adjusted p-values, in the order given: claim those at or below the rate."""
    count = len(p_values)
    order = sorted(range(count), key=lambda index: p_values[index], reverse=True)
    result = [1.0] * count
    least = 1.0
    for position, index in enumerate(order):
        least = min(least, p_values[index] * count / (count - position))
        result[index] = least
    return result


def simes(p_values: Sequence[float]) -> float:
    """The p-value of "nothing in this family differs": min over i of m p(i) / i."""
    return min(adjusted(p_values))


def two_stage(families: Sequence[Sequence[float]]) -> list[list[float]]:
    """Adjusted p-values within each family, comparable with the overall rate.

    Families are selected by their Simes p-value; in a selected one, the rate is multiplied by the share
    of families selected (so its p-values are divided by it). In another, all are 1. The share is taken
    at a rate of 5 %.
    """
    rate = 0.05
    chosen = [p <= rate for p in adjusted([simes(family) for family in families])]
    share = sum(chosen) / len(families) if families else 0.0
    return [
        [min(1.0, p / share) for p in adjusted(family)] if picked else [1.0] * len(family)
        for family, picked in zip(families, chosen, strict=True)
    ]
