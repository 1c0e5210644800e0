"""The plan: visits, the random and mirrored order within each, and nothing but the seed to decide it."""

from collections import Counter
from dataclasses import replace

import pytest
from synthetic import plan as make_plan
from synthetic import trials as all_trials

from steelyard.study import plan as plans
from steelyard.study.model import Cell
from steelyard.study.plan import Plan, Trial

SYSTEMS = ("native", "uml", "gvisor")
WORKLOADS = ("sieve", "syscall", "shell", "pipe_latency")


def _plan(seed: int = 1, systems: tuple[str, ...] = SYSTEMS, **others: object) -> Plan:
    return make_plan(*WORKLOADS, systems=systems, blocks=48, seed=seed, **others)  # type: ignore[arg-type]


def _all(plan: Plan) -> list[tuple[Trial, ...]]:
    return [plans.visit(plan, cell, number) for number in range(48) for cell in plan.cells]


def _order(trials: tuple[Trial, ...]) -> list[str]:
    return [trial.system for trial in trials]


def test_a_visit_is_one_block_of_one_cell_on_every_system() -> None:
    plan = _plan()

    for number in range(48):
        for cell in plan.cells:
            trials = plans.visit(plan, cell, number)
            assert sorted(_order(trials)) == sorted(SYSTEMS)
            assert {(trial.cell, trial.block) for trial in trials} == {(cell, number)}
            assert [trial.position for trial in trials] == [0, 1, 2]


def test_the_trials_of_a_visit_share_the_seed_of_a_curve_s_sizes_and_visits_differ_in_it() -> None:
    seeds = [{trial.seed for trial in trials} for trials in _all(_plan())]

    assert {len(each) for each in seeds} == {1}
    assert len(set.union(*seeds)) == len(seeds)


def test_a_trial_s_name_is_its_block_and_position_and_unique_in_its_cell() -> None:
    plan = _plan()
    names = [trial.name for number in range(48) for trial in plans.visit(plan, plan.cells[1], number)]

    assert len(set(names)) == len(names)
    assert names[:4] == ["0.0", "0.1", "0.2", "1.0"]


def test_the_same_seed_gives_the_same_trials_and_another_gives_others() -> None:
    assert _all(_plan(7)) == _all(_plan(7))
    assert _all(_plan(7)) != _all(_plan(8))


def test_a_visit_does_not_depend_on_which_visits_were_asked_for_before() -> None:
    plan = _plan()
    forwards = [plans.visit(plan, plan.cells[0], number) for number in range(10)]
    backwards = [plans.visit(plan, plan.cells[0], number) for number in reversed(range(10))]

    assert forwards == backwards[::-1]


def test_a_visit_does_not_depend_on_the_other_cells_the_number_of_blocks_or_the_budget() -> None:
    plan = _plan()
    design = replace(plan.study.design, blocks=7, budget_s=1.0)
    other = replace(plan, study=replace(plan.study, design=design), cells=plan.cells[1:2])

    assert plans.visit(plan, plan.cells[1], 3) == plans.visit(other, plan.cells[1], 3)


# So that an interrupted experiment goes on in the same order under a newer Python or Steelyard.
def test_the_order_of_a_seed_stays_what_it_was() -> None:
    plan = make_plan("sieve", "shell", systems=SYSTEMS, seed=42)

    def told(number: int) -> list[tuple[str, int]]:
        return [(trial.system, trial.pad) for trial in plans.visit(plan, Cell("shell"), number)]

    assert told(0) == [("gvisor", 1378), ("uml", 1630), ("native", 2533)]
    assert told(1) == [("native", 2018), ("uml", 2167), ("gvisor", 1591)]
    assert [cell.label for cell in plans.lightest_first(plan)] == ["shell", "sieve"]


# --- mirrored orders


@pytest.mark.parametrize("systems", range(2, 6))
def test_an_odd_block_has_the_reverse_order_of_the_even_one_before(systems: int) -> None:
    plan = _plan(systems=tuple("abcde"[:systems]))

    for cell in plan.cells:
        for number in range(0, 48, 2):
            even, odd = (plans.visit(plan, cell, each) for each in (number, number + 1))
            assert _order(odd) == _order(even)[::-1]
            assert [trial.position for trial in odd] == list(range(systems))


def test_of_two_blocks_each_system_goes_before_each_other_in_one() -> None:
    plan = _plan()

    for first in range(0, 48, 2):
        before: Counter[tuple[str, str]] = Counter()
        for number in (first, first + 1):
            order = _order(plans.visit(plan, plan.cells[0], number))
            before.update((one, other) for one in order for other in order[order.index(one) + 1 :])
        assert len(before) == 6
        assert set(before.values()) == {1}


def test_the_order_varies_from_cell_to_cell_and_from_pair_of_blocks_to_pair() -> None:
    plan = _plan()
    orders = [
        tuple(tuple(_order(plans.visit(plan, cell, number))) for cell in plan.cells)
        for number in range(0, 48, 2)
    ]

    assert len(set(orders)) == len(orders)  # 6**4 of them: the same twice among 24 is unlikely
    assert any(len(set(each)) > 1 for each in orders)


def test_each_system_comes_first_as_often_as_the_others_in_even_blocks() -> None:
    plan = _plan()
    first = Counter(
        plans.visit(plan, cell, number)[0].system for cell in plan.cells for number in range(0, 1200, 2)
    )

    expected = 600 * len(WORKLOADS) / len(SYSTEMS)
    for system in SYSTEMS:  # binomial with deviation 23: five of them
        assert abs(first[system] - expected) < 115


def test_the_pad_is_within_a_page_and_takes_its_whole_range() -> None:
    pads = [trial.pad for trials in _all(_plan()) for trial in trials]

    assert min(pads) >= 0
    assert max(pads) <= plans.PAD_MOST
    assert min(pads) < 100
    assert max(pads) > 4000
    assert len({pad % 16 for pad in pads}) == 16


def test_leaving_systems_out_does_not_move_the_others() -> None:
    plan = _plan()
    trials = plans.visit(plan, plan.cells[0], 5)

    kept = plans.remaining(trials, SYSTEMS[:2])

    assert kept == tuple(trial for trial in trials if trial.system in SYSTEMS[:2])
    assert len(kept) == 2
    assert plans.remaining(trials, set()) == ()


# --- which cells come first, before anything is known


def test_the_lightest_cells_come_first_and_equal_ones_at_random() -> None:
    plan = make_plan("sieve", "syscall", "shell", "pipe_latency", copies=(4, 1, 2), seed=3)

    order = plans.lightest_first(plan)

    assert [cell.copies for cell in order] == [1] * 4 + [2] * 4 + [4] * 4
    assert set(order) == set(plan.cells)
    orders = {
        tuple(cell.workload for cell in plans.lightest_first(replace(plan, seed=seed))[:4])
        for seed in range(20)
    }
    assert len(orders) > 5
    assert plans.lightest_first(plan) == order


def test_what_a_cell_promises_is_the_product_of_its_numbers_without_how_it_is_timed_and_where() -> None:
    assert plans.amount(Cell("sieve")) == 1
    assert plans.amount(Cell("x", (("copies", 2), ("processes", 100)))) == 200
    assert plans.amount(Cell("x", (("copies", 0), ("command", "sleep 9")))) == 1
    assert plans.amount(Cell("x", (("batches", 50), ("place", 3), ("warmup_ns", 10**9)))) == 1


@pytest.mark.parametrize(
    ("blocks_per_boot", "afresh"), [(1, [0, 1, 2, 3, 4, 5]), (2, [0, 2, 4]), (4, [0, 4]), (100, [0])]
)
def test_a_boot_serves_as_many_rounds_as_the_study_says(blocks_per_boot: int, afresh: list[int]) -> None:
    plan = _plan(blocks_per_boot=blocks_per_boot)

    assert [number for number in range(6) if plans.starts_afresh(plan, number)] == afresh


def test_the_cells_of_a_plan_are_the_study_s() -> None:
    plan = make_plan("sieve", copies=(1, 2))

    assert plan.cells == (Cell("sieve", (("copies", 1),)), Cell("sieve", (("copies", 2),)))


def test_all_that_a_plan_holds_is_each_cell_s_blocks() -> None:
    plan = make_plan("sieve", "shell", blocks=3)

    told = all_trials(plan)

    assert len(told) == 2 * 2 * 3
    assert {(trial.block, trial.system, trial.cell) for trial in told} == {
        (block, system, cell) for block in range(3) for system in "ab" for cell in plan.cells
    }
