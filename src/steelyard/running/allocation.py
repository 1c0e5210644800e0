"""Decides which cells are visited next: where a second brings most.

Every open cell has a value (analysis.model.Horizon): visits narrow its intervals, and after some number of
visits there is a verdict, or the difference is known to the study's precision. The best of these
horizons by value over time counts:

(narrowing + (3 x verdicts + 1 x sizes) / (1 + missed)^2) / (visits x what a visit takes)

A verdict or a size counts only if it is within reach: if it takes at most twice an equal share of the time
that is left. It counts less if it was expected at earlier looks and was missed (`missed`). What is slow or
noisy gets more time than others, but little more: by the power 0.4 of its noise, and 0.2 of what a visit
takes. Its intervals narrow like those of all others, and most for the time where least was spent.

The choice of a cell may depend on any measurement: claims are corrected at every look (statistics/levels.py).
Within a round the order is random.
"""

import heapq
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from steelyard.analysis.model import Horizon
from steelyard.study.model import Cell

ROUND_S = 2.5  # how long a round is meant to last
FIRST_BLOCKS = 2  # this number of blocks of every cell comes first
_VERDICT, _SIZE = 3.0, 1.0  # halving an interval of four times the goal is worth 0.5
_REACH = 2  # equal shares of the time that is left
_ROUNDING = 1e-9  # seconds
_NEAR_AT_FIRST = 0.5  # the share of a round for cells near a verdict, while others lack their first blocks


@dataclass(frozen=True, slots=True)
class Offer:
    """A cell that could be visited."""

    cell: Cell
    blocks: int  # that it has
    cost_s: float  # what another one is thought to cost, on all systems that need it
    horizons: tuple[Horizon, ...] = ()  # none before a look has found a pair
    missed: int = 0  # looks at which a verdict or a size was expected, and was not there

    def worth_per_s(self, reach_s: float, *, after: int = 0) -> float:
        """The value per second by the best horizon, after that number of further visits; only verdicts and
        sizes within that time count. Without comparisons, the value of one more block.
        """
        without = 0.5 / max(1, self.blocks + after) / max(1e-6, self.cost_s)
        return max((self._worth(one, reach_s, after) for one in self.horizons), default=without)

    def _worth(self, one: Horizon, reach_s: float, after: int) -> float:
        visits = max(1, one.blocks - self.blocks)
        left = max(1, visits - after)
        goals = _VERDICT * one.verdicts + _SIZE * one.sizes
        if left * self.cost_s > reach_s or (after and one.blocks <= self.blocks + after):
            goals = 0.0
        # A block narrows an interval by the less the more there are.
        narrowing = one.narrowing / visits * self.blocks / max(1, self.blocks + after)
        return (narrowing + goals / (1 + self.missed) ** 2 / left) / max(1e-6, self.cost_s)


def visits(
    offers: Sequence[Offer],
    *,
    seconds: float,
    left_s: float,
    boot_s: float = 0.0,
    most: Mapping[Cell, int] | None = None,
    chance: random.Random,
) -> list[Offer]:
    """The visits of the next round, in random order; `offers` come lightest first. A cell comes once, or
    where that leaves time as often as `most` says. `boot_s` is what is spent on a round besides: then it
    holds as many cells as make that worth it.

    Cells that have not had their first blocks come last, the lightest first: what they cost is a guess,
    and a round that takes longer than was thought is cut short.
    """
    reach_s = _REACH * max(0.0, left_s) / max(1, len(offers))
    new = sorted(
        (one for one in offers if one.blocks < FIRST_BLOCKS), key=lambda one: (one.blocks, one.cost_s)
    )
    worths = {one.cell: one.worth_per_s(reach_s) for one in offers}
    mixed = chance.sample(list(offers), len(offers))
    known = sorted(
        (one for one in mixed if one.blocks >= FIRST_BLOCKS or one.horizons),
        key=lambda one: -worths[one.cell],
    )
    if not new:
        picked = list(_worthwhile(known, worths, seconds, boot_s))
        left_s = seconds - sum(one.cost_s for one in picked)
        again = list(_again(picked, left_s, reach_s, most or {}))
        return chance.sample(picked, len(picked)) + chance.sample(again, len(again))
    near = [one for one in known if any(each.verdicts for each in one.horizons)]
    first = list(_until(near, _NEAR_AT_FIRST * seconds, least=0))
    taken = {one.cell for one in first}
    rest = [one for one in dict.fromkeys((*new, *known)) if one.cell not in taken]
    picked = list(_until(rest, seconds - sum(one.cost_s for one in first), least=1))
    later = [one for one in picked if one.blocks < FIRST_BLOCKS]
    sooner = [*first, *(one for one in picked if one.blocks >= FIRST_BLOCKS)]
    return chance.sample(sooner, len(sooner)) + later


def _worthwhile(
    offers: Sequence[Offer], worths: dict[Cell, float], seconds: float, boot_s: float
) -> Iterator[Offer]:
    """The first of them that fill the time; and with a boot to be paid for, as long as another one adds more
    for its time than the round has brought for its own."""
    spent, worth = boot_s, 0.0
    for one in offers:
        is_full = spent - boot_s >= seconds - _ROUNDING
        if is_full and (not boot_s or worths[one.cell] * spent <= worth):
            return
        spent += one.cost_s
        worth += worths[one.cell] * one.cost_s
        yield one


def _again(
    offers: Sequence[Offer], seconds: float, reach_s: float, most: Mapping[Cell, int]
) -> Iterator[Offer]:
    """The further visits that fit into the time, each to the cell where it brings most by then."""
    worths = [(-one.worth_per_s(reach_s, after=1), number, 1) for number, one in enumerate(offers)]
    heapq.heapify(worths)
    while worths:
        _, number, done = heapq.heappop(worths)
        one = offers[number]
        if done >= most.get(one.cell, 1) or one.cost_s > seconds + _ROUNDING:
            continue
        seconds -= one.cost_s
        yield one
        heapq.heappush(worths, (-one.worth_per_s(reach_s, after=done + 1), number, done + 1))


def _until(offers: Sequence[Offer], seconds: float, *, least: int) -> Iterator[Offer]:
    """The first of them that fill the time, and at least this number."""
    spent = 0.0
    for number, one in enumerate(offers):
        if spent >= seconds and number >= least:
            return
        spent += one.cost_s
        yield one
