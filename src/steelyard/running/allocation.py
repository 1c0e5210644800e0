"""Decides which cells are visited next: where the time that is left settles most.

A round holds, for a share of its time, the cells that are nearest to a verdict for what they cost; for the
rest of it all others, those with the fewest blocks first, so that nothing starves and the noise of all is
known. Which cell is visited may depend on anything that was measured: claims are paid for at every look
(statistics/levels.py). Within a round the order is random.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.study.model import Cell

ROUND_S = 5.0  # how long a round is meant to last
CELLS_LEAST = 8
FIRST_BLOCKS = 2  # so many of every cell come first
_NEAR_AT_FIRST, _NEAR = 0.5, 0.85  # the share of a round for cells that are near a verdict

# So many pairs at so much each bound a cell's difference best, summed over cells, if the number of its
# pairs goes with the cost to the power of minus two thirds (half widths go with one over the square root).
_COST_POWER = 2 / 3


@dataclass(frozen=True, slots=True)
class Offer:
    """A cell that could be visited."""

    cell: Cell
    blocks: int  # that it has
    cost_s: float  # what another one is thought to cost, on all systems that need it
    blocks_needed: int | None  # until all its comparisons are settled; None: no look would, or not known


def visits(offers: Sequence[Offer], *, seconds: float, chance: random.Random) -> list[Offer]:
    """The visits of the next round, in random order, each cell once; `offers` come lightest first.

    Cells that have not had their first blocks come last, the lightest first: what they cost is a guess,
    and a round that takes longer than was thought is cut short.
    """
    first = any(one.blocks < FIRST_BLOCKS for one in offers)
    near = list(_until(_near(offers), (_NEAR_AT_FIRST if first else _NEAR) * seconds, least=0))
    taken = {one.cell for one in near}
    rest = [one for one in _widening(offers, chance) if one.cell not in taken]
    spent = sum(one.cost_s for one in near)
    picked = [*near, *_until(rest, seconds - spent, least=CELLS_LEAST - len(near))]
    known = [one for one in picked if one.blocks >= FIRST_BLOCKS or one in near]
    return chance.sample(known, len(known)) + [one for one in picked if one not in known]


def _near(offers: Sequence[Offer]) -> list[Offer]:
    """Those that are known to be settled by more blocks, the cheapest to settle first."""
    known = [
        (one.cost_s * (one.blocks_needed - one.blocks), number)
        for number, one in enumerate(offers)
        if one.blocks_needed
    ]
    return [offers[number] for _, number in sorted(known)]


def _widening(offers: Sequence[Offer], chance: random.Random) -> list[Offer]:
    """All of them: first what has not had its first blocks, then by what a further block tells."""
    mixed = chance.sample(range(len(offers)), len(offers))

    def urgency(number: int) -> tuple[float, float, int]:
        one = offers[number]
        if one.blocks < FIRST_BLOCKS:
            return one.blocks, one.cost_s, number
        return FIRST_BLOCKS, one.blocks * one.cost_s**_COST_POWER, mixed[number]

    return [offers[number] for number in sorted(range(len(offers)), key=urgency)]


def _until(offers: Sequence[Offer], seconds: float, *, least: int) -> Iterator[Offer]:
    """The first of them that fill the time, and at least so many."""
    spent = 0.0
    for number, one in enumerate(offers):
        if spent >= seconds and number >= least:
            return
        spent += one.cost_s
        yield one
