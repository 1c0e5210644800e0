"""A figure as a paper states it: a rate or a bandwidth in place of a time, or a part of it."""

from collections.abc import Mapping

from steelyard.statistics.signed_rank import Estimate
from steelyard.study.model import Restatement


def restated(
    value: Estimate, unit: str, parameters: Mapping[str, int | str], stated: Restatement
) -> tuple[Estimate, str]:
    """The estimate and its unit. A rate or a bandwidth needs a time above 0; `per` and `moves` name one of
    the parameters. The lower bound of a time becomes the upper bound of its rate."""
    if stated.moves or stated.is_rate:
        amount = 1000 * int(parameters[stated.moves]) if stated.moves else 10**9
        low, high = (amount / bound if bound else None for bound in (value.high, value.low))
        return Estimate(amount / value.value, low, high, value.level), "MB/s" if stated.moves else "/s"
    if not stated.per:
        return value, unit
    by = int(parameters[stated.per])
    low, high = (None if bound is None else bound / by for bound in (value.low, value.high))
    return Estimate(value.value / by, low, high, value.level), unit
