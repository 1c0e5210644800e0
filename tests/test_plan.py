"""The plan: blocks, random order within each, and nothing but the seed to decide it."""

from collections import Counter
from dataclasses import replace

import pytest
from building import plan as make_plan

from steelyard import plan as plans
from steelyard.plan import Plan, Trial
from steelyard.study import Cell

SYSTEMS = ("native", "uml", "gvisor")
WORKLOADS = ("sieve", "syscall", "shell", "pipe_latency")


def _plan(seed: int = 1, **others: object) -> Plan:
    return make_plan(*WORKLOADS, systems=SYSTEMS, looks=(12, 24, 48), seed=seed, **others)  # type: ignore[arg-type]


def _all(plan: Plan) -> list[tuple[Trial, ...]]:
    return list(plans.blocks(plan))


def test_every_cell_runs_once_on_every_system_in_every_block() -> None:
    plan = _plan()
    pairs = {(system, cell) for system in SYSTEMS for cell in plan.cells}

    for trials in _all(plan):
        assert len(trials) == len(pairs)
        assert {(trial.system, trial.cell) for trial in trials} == pairs


def test_the_systems_of_a_cell_follow_upon_one_another() -> None:
    for trials in _all(_plan()):
        for first in range(0, len(trials), len(SYSTEMS)):
            assert len({trial.cell for trial in trials[first : first + len(SYSTEMS)]}) == 1


def test_there_are_as_many_blocks_as_the_last_look_and_each_knows_its_number() -> None:
    blocks = _all(_plan())

    assert [trials[0].block for trials in blocks] == list(range(48))
    for number, trials in enumerate(blocks):
        assert {trial.block for trial in trials} == {number}
        assert [trial.position for trial in trials] == list(range(len(trials)))


def test_a_trial_s_name_is_unique() -> None:
    names = [trial.name for trials in _all(_plan()) for trial in trials]

    assert len(set(names)) == len(names)
    assert names[:2] == ["0.0", "0.1"]


def test_the_same_seed_gives_the_same_trials_and_another_gives_others() -> None:
    assert _all(_plan(7)) == _all(_plan(7))
    assert _all(_plan(7)) != _all(_plan(8))


def test_a_block_does_not_depend_on_which_blocks_were_asked_for_before() -> None:
    plan = _plan()
    forwards = [plans.block(plan, number) for number in range(10)]
    backwards = [plans.block(plan, number) for number in reversed(range(10))]

    assert forwards == backwards[::-1]


def test_a_block_does_not_depend_on_the_looks_or_the_budget() -> None:
    plan = _plan()
    design = replace(plan.study.design, looks=(7,), budget_s=1.0)
    other = replace(plan, study=replace(plan.study, design=design))

    assert plans.block(plan, 3) == plans.block(other, 3)


# So that an interrupted experiment goes on in the same order under a newer Python or Steelyard.
def test_the_order_of_a_seed_stays_what_it_was() -> None:
    plan = make_plan("sieve", "shell", seed=42)

    told = [(trial.cell.workload, trial.system, trial.pad) for trial in plans.block(plan, 0)]

    assert told == [("shell", "b", 1819), ("shell", "a", 3078), ("sieve", "a", 35), ("sieve", "b", 287)]


def test_the_order_varies_from_block_to_block() -> None:
    blocks = _all(_plan())

    orders = {tuple((trial.system, trial.cell) for trial in trials) for trials in blocks}
    cell_orders = {tuple(dict.fromkeys(trial.cell for trial in trials)) for trials in blocks}

    assert len(orders) == len(blocks)  # 24 * 6**4 orders: the same twice is most unlikely
    assert len(cell_orders) > 12  # of 24


def test_each_system_comes_first_in_a_cell_as_often_as_the_others() -> None:
    plan = _plan()
    first: Counter[str] = Counter()
    place: Counter[tuple[str, int]] = Counter()
    for number in range(600):
        for index, trial in enumerate(plans.block(plan, number)):
            if index % len(SYSTEMS) == 0:
                first[trial.system] += 1
                place[trial.cell.workload, index // len(SYSTEMS)] += 1

    expected = 600 * len(WORKLOADS) / len(SYSTEMS)
    for system in SYSTEMS:  # binomial with deviation 23: five of them
        assert abs(first[system] - expected) < 115
    for count in place.values():  # binomial (600, 1/4) with deviation 10.6
        assert abs(count - 150) < 53


def test_the_pad_is_within_a_page_and_takes_its_whole_range() -> None:
    pads = [trial.pad for trials in _all(_plan()) for trial in trials]

    assert min(pads) >= 0
    assert max(pads) <= plans.PAD_MOST
    assert min(pads) < 100
    assert max(pads) > 4000
    assert len({pad % 16 for pad in pads}) == 16


def test_leaving_pairs_out_does_not_move_the_others() -> None:
    plan = _plan()
    trials = plans.block(plan, 5)
    open_pairs = {(system, cell) for system in SYSTEMS[:2] for cell in plan.cells[1:]}

    kept = plans.remaining(trials, open_pairs)

    assert kept == tuple(trial for trial in trials if (trial.system, trial.cell) in open_pairs)
    assert len(kept) == 6
    assert plans.remaining(trials, set()) == ()


@pytest.mark.parametrize(
    ("blocks_per_boot", "afresh"), [(1, [0, 1, 2, 3, 4, 5]), (2, [0, 2, 4]), (4, [0, 4]), (100, [0])]
)
def test_a_boot_serves_as_many_blocks_as_the_study_says(blocks_per_boot: int, afresh: list[int]) -> None:
    plan = _plan(blocks_per_boot=blocks_per_boot)

    assert [number for number in range(6) if plans.starts_afresh(plan, number)] == afresh


def test_the_cells_of_a_plan_are_the_study_s() -> None:
    plan = make_plan("sieve", copies=(1, 2))

    assert plan.cells == (Cell("sieve", (("copies", 1),)), Cell("sieve", (("copies", 2),)))
