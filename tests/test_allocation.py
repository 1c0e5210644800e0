"""Which cells a round visits: all of them soon, the nearest to a verdict most, none left out for good."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pytest

from steelyard.running import allocation
from steelyard.running.allocation import Offer
from steelyard.study.model import Cell

CELLS = tuple(Cell(f"w{number:02}") for number in range(40))


def _offers(
    blocks: Mapping[Cell, int] | int,
    *,
    cells: Sequence[Cell] = CELLS,
    cost_s: Callable[[Cell], float] = lambda cell: 0.5,
    needed: Mapping[Cell, int] | None = None,
) -> list[Offer]:
    return [
        Offer(
            cell,
            blocks if isinstance(blocks, int) else blocks[cell],
            cost_s(cell),
            (needed or {}).get(cell),
        )
        for cell in cells
    ]


def _chosen(offers: Sequence[Offer], *, seconds: float = 5.0, seed: int = 1) -> list[Offer]:
    return allocation.visits(offers, seconds=seconds, chance=random.Random(seed))


def _course(
    cost_s: Callable[[Cell], float],
    *,
    total_s: float,
    cells: Sequence[Cell] = CELLS,
    needed: Callable[[Cell, int], int | None] = lambda cell, blocks: None,
    seed: int = 1,
) -> list[list[Cell]]:
    """The rounds of a run in which each cell costs what it is thought to."""
    chance = random.Random(seed)
    blocks = dict.fromkeys(cells, 0)
    rounds: list[list[Cell]] = []
    spent = 0.0
    while spent < total_s:
        offers = [Offer(cell, blocks[cell], cost_s(cell), needed(cell, blocks[cell])) for cell in cells]
        visits = [one.cell for one in allocation.visits(offers, seconds=5.0, chance=chance)]
        for cell in visits:
            blocks[cell] += 1
            spent += cost_s(cell)
        rounds.append(visits)
    return rounds


def _half_costly(cell: Cell) -> float:
    return 3.0 if int(cell.workload[1:]) % 2 else 0.1


@pytest.mark.parametrize("blocks", [0, 1, 2, 9])
@pytest.mark.parametrize("seconds", [0.3, 5.0, 60.0])
def test_no_cell_is_twice_in_a_round(blocks: int, seconds: float) -> None:
    needed = {cell: blocks + 1 + number for number, cell in enumerate(CELLS[::3])}

    visits = [one.cell for one in _chosen(_offers(blocks, needed=needed), seconds=seconds)]

    assert visits
    assert len(set(visits)) == len(visits)


def test_a_round_fills_its_time_and_holds_eight_cells_at_least() -> None:
    assert len(_chosen(_offers(3, cost_s=lambda cell: 0.25))) == 20
    assert len(_chosen(_offers(3, cost_s=lambda cell: 4.0))) == allocation.CELLS_LEAST == 8
    assert len(_chosen(_offers(3, cells=CELLS[:3]))) == 3  # there are no more
    assert _chosen([]) == []


def test_the_same_seed_gives_the_same_round_and_another_another() -> None:
    offers = _offers({cell: 2 + number % 5 for number, cell in enumerate(CELLS)}, needed={CELLS[3]: 8})

    assert _chosen(offers, seed=4) == _chosen(offers, seed=4)
    assert len({tuple(_chosen(offers, seed=seed)) for seed in range(10)}) == 10


def test_cells_are_visited_in_another_order_than_they_were_chosen_in() -> None:
    orders = {tuple(one.cell for one in _chosen(_offers(5, cells=CELLS[:6]), seed=seed)) for seed in range(8)}

    assert len(orders) > 4
    assert {frozenset(order) for order in orders} == {frozenset(CELLS[:6])}


# --- first blocks


def test_without_a_block_the_first_offers_come_first_in_their_order() -> None:
    """They come lightest first, and what they cost is a guess, the same of all."""
    assert [one.cell for one in _chosen(_offers(0))] == list(CELLS[:10])


@pytest.mark.parametrize("seed", range(5))
def test_every_cell_gets_its_first_block_before_any_gets_its_third_unless_it_is_near(seed: int) -> None:
    near = set(CELLS[7:9])
    blocks: Counter[Cell] = Counter()

    for visits in _course(
        _half_costly,
        total_s=200.0,
        needed=lambda cell, count: 4 if count >= 2 and cell in near and count < 4 else None,
        seed=seed,
    ):
        for cell in visits:
            blocks[cell] += 1
        if any(blocks[cell] > 2 for cell in CELLS if cell not in near):
            break

    assert all(blocks[cell] >= 2 for cell in CELLS)


def test_what_has_no_block_comes_last_in_a_round_the_cheapest_first() -> None:
    blocks = {cell: 0 if number < 5 else 4 for number, cell in enumerate(CELLS)}
    costs = {cell: 0.5 - 0.05 * number for number, cell in enumerate(CELLS[:5])}

    visits = _chosen(_offers(blocks, cost_s=lambda cell: costs.get(cell, 0.1)))

    new = [one for one in visits if one.blocks == 0]
    assert [one.cell for one in new] == list(CELLS[:5])[::-1]
    assert visits[-5:] == new


def test_first_blocks_of_all_take_at_most_twice_their_time_whatever_is_near() -> None:
    """Half of a round goes to what is near; the other half suffices for the rest."""
    total = 2 * 40 * 0.5
    rounds = _course(
        lambda cell: 0.5, total_s=2 * total + 5, needed=lambda cell, count: count + 1 if count else None
    )

    blocks = Counter(cell for visits in rounds for cell in visits)
    assert min(blocks[cell] for cell in CELLS) >= 2


# --- cells that are near


def test_what_is_cheapest_to_settle_comes_first() -> None:
    needed = {CELLS[0]: 4, CELLS[1]: 5, CELLS[2]: 5, CELLS[3]: 12}
    costs = {CELLS[0]: 2.5, CELLS[1]: 0.9, CELLS[2]: 1.0, CELLS[3]: 1.0}
    offers = _offers(3, needed=needed, cost_s=lambda cell: costs.get(cell, 0.1))

    # To settle them takes 2.5, 1.8, 2 and 9 s; a visit of the first three fills 85 % of the round.
    visits = {one.cell for one in _chosen(offers)}

    assert {CELLS[0], CELLS[1], CELLS[2]} <= visits
    assert CELLS[3] not in visits


@pytest.mark.parametrize(("blocks", "share"), [(1, 0.5), (2, 0.85), (10, 0.85)])
def test_near_cells_get_their_share_of_a_round_and_no_more(blocks: int, share: float) -> None:
    near = dict.fromkeys(CELLS[10:], blocks + 2)
    told = [
        one.blocks_needed is not None
        for seed in range(20)
        for one in _chosen(
            _offers(blocks, cells=CELLS, needed=near, cost_s=lambda cell: 0.05), seconds=1.0, seed=seed
        )[:20]
    ]

    # The rest is anybody's, the near ones' too where they come by turns.
    assert share <= sum(told) / len(told) <= share + (1 - share) * 0.9


def test_a_cell_near_its_verdict_gets_there_sooner_than_by_turns() -> None:
    near = CELLS[20]

    def settled_after(needed: Callable[[Cell, int], int | None]) -> int:
        blocks = 0
        rounds = _course(lambda cell: 0.25, total_s=400.0, needed=needed)
        for number, visits in enumerate(rounds):
            blocks += near in visits
            if blocks == 8:
                return number
        return len(rounds)

    by_turns = settled_after(lambda cell, blocks: None)
    hastened = settled_after(lambda cell, blocks: 8 if cell == near and 2 <= blocks < 8 else None)

    assert hastened < 0.7 * by_turns


# --- breadth


def test_no_cell_starves_and_a_costly_one_does_not_take_the_others_time() -> None:
    rounds = _course(_half_costly, total_s=600.0)

    blocks = Counter(cell for visits in rounds for cell in visits)
    cheap = [blocks[cell] for cell in CELLS if _half_costly(cell) < 1]
    costly = [blocks[cell] for cell in CELLS if _half_costly(cell) > 1]
    assert min(costly) >= 5
    assert min(cheap) >= 30
    assert max(cheap) - min(cheap) <= 2
    assert max(costly) - min(costly) <= 2
    # Blocks go with the cost to the power of minus two thirds: 30 times the cost, a 9.7th of the blocks.
    assert 5 < (sum(cheap) / len(cheap)) / (sum(costly) / len(costly)) < 13


def test_one_cell_that_costs_more_than_a_round_is_visited_and_the_others_go_on() -> None:
    giant = CELLS[0]
    rounds = _course(lambda cell: 12.0 if cell == giant else 0.2, total_s=300.0)

    blocks = Counter(cell for visits in rounds for cell in visits)
    assert blocks[giant] >= 2
    assert 12.0 * blocks[giant] < 0.6 * 300
    assert min(blocks[cell] for cell in CELLS[1:]) > 2 * blocks[giant]


@pytest.mark.program
def test_cells_that_are_near_for_ever_do_not_starve_the_rest() -> None:
    rounds = _course(
        lambda cell: 0.25,
        total_s=300.0,
        needed=lambda cell, blocks: blocks + 1 if cell in CELLS[:20] and blocks >= 2 else None,
    )

    blocks = Counter(cell for visits in rounds for cell in visits)
    assert min(blocks[cell] for cell in CELLS[20:]) >= 6
    assert min(blocks[cell] for cell in CELLS[:15]) > 2 * max(blocks[cell] for cell in CELLS[20:])
