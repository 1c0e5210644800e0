"""Which cells a round visits: all of them soon, the nearest to a verdict most, none left out for good."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pytest

from steelyard.analysis.model import Horizon
from steelyard.running import allocation
from steelyard.running.allocation import Offer
from steelyard.study.model import Cell

CELLS = tuple(Cell(f"w{number:02}") for number in range(40))


def _near(blocks: int, needed: int | None, *, narrowing: float = 0.0) -> tuple[Horizon, ...]:
    """What a cell with that many blocks is worth: a verdict after that many, and narrower intervals."""
    one = Horizon(blocks + 1, narrowing or 0.5 / max(1, blocks))
    if needed is None or blocks < 1:
        return (one,)
    goal = Horizon(needed, 0.5 * (needed - blocks) / max(1, blocks), verdicts=1.0)
    return (goal,) if needed == blocks + 1 else (one, goal)


def _offers(
    blocks: Mapping[Cell, int] | int,
    *,
    cells: Sequence[Cell] = CELLS,
    cost_s: Callable[[Cell], float] = lambda cell: 0.5,
    needed: Mapping[Cell, int] | None = None,
) -> list[Offer]:
    offers = []
    for cell in cells:
        many = blocks if isinstance(blocks, int) else blocks[cell]
        offers.append(Offer(cell, many, cost_s(cell), _near(many, (needed or {}).get(cell))))
    return offers


def _chosen(
    offers: Sequence[Offer], *, seconds: float = 5.0, left_s: float = 1e6, boot_s: float = 0.0, seed: int = 1
) -> list[Offer]:
    chance = random.Random(seed)
    return allocation.visits(offers, seconds=seconds, left_s=left_s, boot_s=boot_s, chance=chance)


def _chosen_often(offers: Sequence[Offer], most: Mapping[Cell, int], *, seconds: float = 5.0) -> list[Offer]:
    return allocation.visits(offers, seconds=seconds, left_s=1e6, most=most, chance=random.Random(1))


def _course(
    cost_s: Callable[[Cell], float],
    *,
    total_s: float,
    cells: Sequence[Cell] = CELLS,
    needed: Callable[[Cell, int], int | None] = lambda cell, blocks: None,
    seed: int = 1,
) -> list[list[Cell]]:
    """The rounds of a run in which each cell costs what it is thought to, and none is ever settled."""
    chance = random.Random(seed)
    blocks = dict.fromkeys(cells, 0)
    missed: Counter[Cell] = Counter()
    rounds: list[list[Cell]] = []
    spent = 0.0
    while spent < total_s:
        offers = [
            Offer(
                cell,
                blocks[cell],
                cost_s(cell),
                _near(blocks[cell], needed(cell, blocks[cell])),
                missed[cell],
            )
            for cell in cells
        ]
        chosen = allocation.visits(offers, seconds=5.0, left_s=total_s - spent, chance=chance)
        for one in chosen:
            blocks[one.cell] += 1
            missed[one.cell] += any(each.blocks == one.blocks + 1 and each.verdicts for each in one.horizons)
            spent += one.cost_s
        rounds.append([one.cell for one in chosen])
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


def test_a_round_fills_its_time_and_holds_a_cell_at_least() -> None:
    assert len(_chosen(_offers(3, cost_s=lambda cell: 0.25))) == 20
    assert len(_chosen(_offers(3, cost_s=lambda cell: 40.0))) == 1
    assert len(_chosen(_offers(3, cells=CELLS[:3]))) == 3  # there are no more
    assert _chosen([]) == []


def test_the_rest_of_a_round_goes_to_cells_again_by_time_and_not_by_blocks() -> None:
    """Cells that are far from everything get equal time, as far as their next look lets them."""
    cells = CELLS[:4]
    short, long = cells[:2], cells[2:]
    blocks = dict.fromkeys(short, 240) | dict.fromkeys(long, 24)
    most = dict.fromkeys(cells, 1000)

    def chosen_of(blocks: dict[Cell, int], most: dict[Cell, int]) -> Counter[Cell]:
        offers = _offers(blocks, cells=cells, cost_s=lambda cell: 0.02 if cell in short else 0.2)
        return Counter(one.cell for one in _chosen_often(offers, most))

    chosen = chosen_of(blocks, most)
    behind = chosen_of(blocks | {cells[3]: 12}, most)
    few = chosen_of(blocks, most | {cells[0]: 8})

    assert sum(0.02 * chosen[cell] for cell in short) == pytest.approx(2.5, abs=0.4)
    assert sum(0.2 * chosen[cell] for cell in long) == pytest.approx(2.5, abs=0.4)
    assert behind[cells[3]] > 2 * max(1, behind[cells[2]])
    assert few[cells[0]] == 8
    assert few[cells[1]] > chosen[cells[1]]


def test_a_verdict_that_is_near_is_visited_until_it_is_there() -> None:
    cells = CELLS[:3]
    offers = _offers(24, cells=cells, cost_s=lambda cell: 0.1, needed={cells[1]: 32})

    chosen = Counter(one.cell for one in _chosen_often(offers, dict.fromkeys(cells, 100), seconds=1.0))

    assert chosen == {cells[0]: 1, cells[1]: 8, cells[2]: 1}


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
    offers = _offers(3, needed=needed, cost_s=lambda cell: costs.get(cell, 0.5))

    # To settle them takes 2.5, 1.8, 2 and 9 s.
    visits = {one.cell for one in _chosen(offers, seconds=4.0)}

    assert {CELLS[0], CELLS[1], CELLS[2]} <= visits
    assert CELLS[3] not in visits


def test_what_is_out_of_reach_is_not_hastened() -> None:
    """To settle it takes 40 s: within twice an equal share of 1,000 s, not of 600 s."""
    far = CELLS[5]
    offers = _offers(20, needed={far: 100})

    assert far in {one.cell for one in _chosen(offers, seconds=0.4, left_s=1000.0)}
    chosen = {next(iter(_chosen(offers, seconds=0.4, left_s=600.0, seed=seed))).cell for seed in range(40)}
    assert len(chosen) > 10  # anybody's turn


def test_a_verdict_that_was_promised_before_counts_for_less() -> None:
    trusted, doubted = CELLS[:2]
    offers = [
        Offer(trusted, 10, 0.5, _near(10, 14)),
        Offer(doubted, 10, 0.5, _near(10, 12), missed=3),
    ]

    (first,) = _chosen(offers, seconds=0.4)

    assert first.cell == trusted


def test_a_size_counts_for_less_than_a_verdict_and_for_more_than_nothing() -> None:
    verdict, size, neither = (
        Offer(cell, 10, 0.5, (Horizon(16, 0.1, **goals),))
        for cell, goals in zip(CELLS, ({"verdicts": 1.0}, {"sizes": 1.0}, {}), strict=False)
    )

    assert {one.cell for one in _chosen([neither, size, verdict], seconds=0.9)} == {CELLS[0], CELLS[1]}
    assert [one.cell for one in _chosen([neither, size, verdict], seconds=0.4)] == [CELLS[0]]


def test_a_boot_is_shared_by_as_many_cells_as_add_to_what_it_brings() -> None:
    """Ten cells are worth far more than the rest: without a boot they fill the round, with one that takes as
    long as all of them the others come along."""
    worths = {cell: 1.0 if number < 10 else 0.3 for number, cell in enumerate(CELLS)}
    offers = [Offer(cell, 5, 0.1, (Horizon(6, worth),)) for cell, worth in worths.items()]

    assert {one.cell for one in _chosen(offers, seconds=1.0)} == set(CELLS[:10])
    assert len(_chosen(offers, seconds=1.0, boot_s=0.5)) == 10
    assert len(_chosen(offers, seconds=1.0, boot_s=10.0)) == len(CELLS)


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
    assert min(costly) >= 3
    assert min(cheap) >= 90
    assert max(cheap) - min(cheap) <= 2
    assert max(costly) - min(costly) <= 2
    # Each has the same time: 30 times the cost, a 30th of the blocks.
    assert 10 < (sum(cheap) / len(cheap)) / (sum(costly) / len(costly)) < 45


def test_one_cell_that_costs_more_than_a_round_is_visited_and_the_others_go_on() -> None:
    giant = CELLS[0]
    rounds = _course(lambda cell: 12.0 if cell == giant else 0.2, total_s=300.0)

    blocks = Counter(cell for visits in rounds for cell in visits)
    assert blocks[giant] >= 2
    assert 12.0 * blocks[giant] < 0.2 * 300
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


def test_where_nothing_is_compared_each_cell_has_the_same_time() -> None:
    chance = random.Random(2)
    blocks = dict.fromkeys(CELLS[:6], 2)
    costs = {cell: 0.1 * (1 + number) for number, cell in enumerate(blocks)}
    for _ in range(400):
        offers = [Offer(cell, many, costs[cell]) for cell, many in blocks.items()]
        for one in allocation.visits(offers, seconds=0.5, left_s=100.0, chance=chance):
            blocks[one.cell] += 1

    times = [many * costs[cell] for cell, many in blocks.items()]
    assert max(times) < 1.3 * min(times)
