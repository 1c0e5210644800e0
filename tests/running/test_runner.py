"""The runner, with fake agents and a fake clock on the other side of its seams."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import trial_records
from fake_laboratory import Laboratory, _run
from synthetic import plan as make_plan
from synthetic import trials as planned_trials

from steelyard.analysis.model import Horizon, Interim
from steelyard.errors import SteelyardError, Unsupported
from steelyard.events import SET_ASIDE, Earlier, Event, Look, Outcome, Pair, Started, Unbooted
from steelyard.running import allocation, dialogue
from steelyard.running.queue import TooShort
from steelyard.running.runner import Progress
from steelyard.statistics import levels
from steelyard.study import plan as plans
from steelyard.study.model import Cell
from steelyard.study.plan import Trial

SIEVE, SHELL = Cell("sieve"), Cell("shell")


def _ended(events: Iterable[Event]) -> Iterator[Event]:
    """The events of a run whose budget may end before anything can be compared."""
    with suppress(TooShort):
        yield from events


def _outcomes(events: Iterable[Event]) -> list[Outcome]:
    return [event for event in events if isinstance(event, Outcome)]


def _looks(events: Iterable[Event]) -> list[Look]:
    return [event for event in events if isinstance(event, Look)]


def _after(answers: Callable[[int], Collection[Pair]]) -> Callable[[], Interim]:
    """A judge that has decided what `answers` says of the number of rounds that are over."""
    asked = iter(range(1_000_000))
    return lambda: Interim(decided=frozenset(answers(next(asked))))


def _by_cell(trials: Iterable[Trial]) -> dict[Cell, list[Trial]]:
    found: dict[Cell, list[Trial]] = defaultdict(list)
    for trial in trials:
        found[trial.cell].append(trial)
    return found


def _visits(trials: Sequence[Trial]) -> list[list[Trial]]:
    """The trials that follow upon one another in one block of one cell."""
    found: list[list[Trial]] = []
    for trial in trials:
        if not found or (found[-1][0].cell, found[-1][0].block) != (trial.cell, trial.block):
            found.append([])
        found[-1].append(trial)
    return found


def _rounds(events: Iterable[Event]) -> list[list[Outcome]]:
    """The outcomes before each look."""
    found: list[list[Outcome]] = [[]]
    for event in events:
        if isinstance(event, Outcome):
            found[-1].append(event)
        if isinstance(event, Look):
            found.append([])
    assert found.pop() == []
    return found


@pytest.fixture(autouse=True)
def long_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of the laboratory's trials, which take a second, make a round."""
    monkeypatch.setattr(allocation, "ROUND_S", 5.0)


@pytest.fixture
def laboratory() -> Laboratory:
    return Laboratory()


# --- the order of running


def test_each_cell_runs_as_the_plan_has_it(laboratory: Laboratory) -> None:
    plan = make_plan("sieve", "shell", systems=("a", "b", "c"), blocks=6)

    ran = [outcome.trial for outcome in _outcomes(_run(laboratory, plan))]

    assert [(name, system) for name, system in laboratory.ran] == [(one.name, one.system) for one in ran]
    assert _by_cell(ran) == _by_cell(planned_trials(plan))


def test_the_trials_of_a_visit_follow_upon_one_another(laboratory: Laboratory) -> None:
    plan = make_plan("sieve", "shell", "syscall", systems=("a", "b", "c"), blocks=6)

    visits = _visits([outcome.trial for outcome in _outcomes(_run(laboratory, plan))])

    assert [len(each) for each in visits] == [3] * 3 * 6
    assert [tuple(each) for each in visits] == [
        plans.visit(plan, each[0].cell, each[0].block) for each in visits
    ]


def test_cells_come_lightest_first_and_then_in_another_order_in_each_round(laboratory: Laboratory) -> None:
    plan = make_plan("sieve", "shell", copies=(4, 2, 1), blocks=12)
    laboratory.times = {"sieve": 0.4, "shell": 0.4}

    rounds = [
        tuple(dict.fromkeys(one.trial.cell for one in outcomes))
        for outcomes in _rounds(_run(laboratory, plan))
    ]

    first = [cell for each in rounds for cell in each][:6]
    assert tuple(first) == plans.lightest_first(plan)
    later = [each for each in rounds if len(each) == 6][2:]
    assert len(set(later)) > 5


def test_no_cell_is_visited_twice_in_a_round_that_others_fill(laboratory: Laboratory) -> None:
    plan = make_plan("sieve", "shell", "syscall", copies=(1, 2, 4, 8), blocks=9)

    for outcomes in _rounds(_run(laboratory, plan)):
        visits = _visits([one.trial for one in outcomes])
        assert len({each[0].cell for each in visits}) == len(visits)


def test_few_cells_fill_a_round_by_turns_and_none_goes_beyond_its_next_look(laboratory: Laboratory) -> None:
    laboratory.times = {"sieve": 0.05, "shell": 0.05}
    plan = make_plan("sieve", "shell", blocks=48)

    rounds = _rounds(_run(laboratory, plan))

    blocks: Counter[Cell] = Counter()
    for outcomes in rounds:
        before = Counter(blocks)
        blocks.update(one.trial.cell for one in outcomes if one.trial.system == "a")
        for cell, many in blocks.items():
            assert many <= next(look for look in levels.LOOKS if look > before[cell])
    assert len(rounds) < 24


def test_every_system_is_started_first_in_the_plan_s_order_and_told_of(laboratory: Laboratory) -> None:
    laboratory.start_s = {"b": 2.5}

    events = list(_run(laboratory, make_plan(blocks=2)))

    assert events[:2] == [
        Started("a", 1, trial_records.HELLO, {"record": "system", "kernel": "a"}, 0.0),
        Started("b", 1, trial_records.HELLO, {"record": "system", "kernel": "b"}, 2.5),
    ]
    assert not any(isinstance(event, Started) for event in events[2:])


def test_while_one_system_is_measured_all_others_are_parked(laboratory: Laboratory) -> None:
    list(_run(laboratory, make_plan(systems=("a", "b", "c"), blocks=4), boots_afresh=("b",)))

    assert len(laboratory.ran) == 12
    assert laboratory.active_with_others == []


def test_trials_whose_batches_take_turns_run_at_the_same_time_on_one_processor(
    laboratory: Laboratory,
) -> None:
    plan = make_plan("sieve", "shell", systems=("a", "b", "c"), blocks=4)
    plan = replace(plan, in_turns=frozenset(cell for cell in plan.cells if cell.workload == "sieve"))

    outcomes = _outcomes(_run(laboratory, plan))

    sieves = [one for one in outcomes if one.trial.cell.workload == "sieve"]
    assert {one.together for one in outcomes if one not in sieves} == {None}
    by_block = defaultdict(set)
    for one in sieves:
        assert one.together is not None
        by_block[one.trial.block].add(one.together)
    assert [len(moments) for moments in by_block.values()] == [1] * 4
    assert len(set.union(*by_block.values())) == 4
    assert len(laboratory.active_with_others) == 4 * 3 * 2  # and with none of the others' trials
    bound = [one.rpartition(" ")[2] for one in laboratory.log if one.startswith("bind")]
    assert [len(set(bound[begin : begin + 3])) for begin in range(0, 12, 3)] == [1] * 4
    assert sum(one.startswith("free") for one in laboratory.log) == len(bound) == 12
    requests = [one for one in laboratory.requests if " sieve " in one]
    assert all(" turns=1 " in f"{one} " for one in requests)
    assert not any(" turns=" in one for one in laboratory.requests if " shell " in one)
    assert not any(one.parked is False and not one.closed for one in laboratory.agents)


@pytest.mark.parametrize("how", ["dies", "silent"])
def test_one_that_is_lost_in_its_turns_harms_no_other(laboratory: Laboratory, how: str) -> None:
    plan = make_plan("sieve", systems=("a", "b", "c"), blocks=3)
    plan = replace(plan, in_turns=frozenset(plan.cells))
    laboratory.behave = lambda system, workload, number: how if (system, number) == ("b", 2) else "ok"

    outcomes = _outcomes(_run(laboratory, plan))

    status = "failed" if how == "dies" else "timed out"
    wrong = [one for one in outcomes if one.status != "ok"]
    assert [(one.trial.system, one.trial.block, one.status) for one in wrong] == [("b", 1, status)]
    assert len(outcomes) == 9
    assert laboratory.started == {"a": 1, "b": 2, "c": 1}


def test_a_request_names_trial_workload_levels_pad_limit_and_the_study_s_parameters(
    laboratory: Laboratory,
) -> None:
    plan = make_plan("sieve", copies=(2,), blocks=1)
    list(_run(laboratory, plan))

    first = plans.visit(plan, plan.cells[0], 0)[0]
    words = laboratory.requests[0].split()
    assert words[:3] == ["trial", "0.0", "sieve"]
    assert sorted(words[3:]) == sorted(
        ["copies=2", f"pad={first.pad}", f"seed={first.seed}", "limit_ms=30000"]
    )


def test_a_command_line_goes_as_its_words_a_newline_between_two() -> None:
    trial = Trial(0, 0, "a", Cell("command", (("command", "sh -c 'a b; %'"),)), 0)

    line = dialogue.request(trial, make_plan("sieve").settings(trial))
    assert line == "trial 0.0 command limit_ms=30000 pad=0 seed=0 command=sh%0a%2dc%0aa%20b%3b%20%25"


def test_a_cell_s_own_level_goes_before_the_study_s_parameter() -> None:
    plan = make_plan("sieve")
    plan = replace(plan, study=replace(plan.study, trial=(("batches", 1),)))
    trial = Trial(3, 4, "a", Cell("sieve", (("batches", 5),)), 99)

    line = dialogue.request(trial, plan.settings(trial))
    assert line == "trial 3.4 sieve batches=5 limit_ms=30000 pad=99 seed=0"


def test_an_outcome_holds_what_the_agent_measured(laboratory: Laboratory) -> None:
    first, *_ = _outcomes(_run(laboratory, make_plan(blocks=1)))

    assert (first.status, first.reason, first.boot) == ("ok", None, 1)
    assert first.samples[0].operations == 7
    assert first.samples[0].durations_ns == (701, 702)
    assert first.host_ns is not None
    assert first.host_ns > 0
    assert first.clock_doubt_ns is not None
    assert first.guest_ns is not None
    # The fake agent's clock is the laboratory's: they agree within the doubt, to the rounding.
    assert abs(first.guest_ns - first.host_ns) <= first.clock_doubt_ns + 2


def test_people_are_told_of_every_trial_before_it_runs(laboratory: Laboratory) -> None:
    plan = make_plan("sieve", "shell", blocks=2, budget_s=100.0)
    told: list[tuple[Progress, int]] = []

    outcomes = _outcomes(
        _run(laboratory, plan, notify=lambda progress: told.append((progress, len(laboratory.ran))))
    )

    assert [progress.trial for progress, _ in told] == [one.trial for one in outcomes]
    assert [ran for _, ran in told] == list(range(8))
    assert [progress.round for progress, _ in told] == [0] * 4 + [1] * 4
    assert [(progress.position, progress.trials) for progress, _ in told] == [
        (0, 4),
        (1, 4),
        (2, 4),
        (3, 4),
    ] * 2
    assert [progress.spent_s for progress, _ in told] == [float(second) for second in range(8)]
    assert [progress.left_s for progress, _ in told] == [100.0 - second for second in range(8)]
    assert [progress.open_pairs for progress, _ in told] == [2] * 6 + [1] * 2  # the last block of one is over
    assert {progress.pairs for progress, _ in told} == {2}


def test_one_system_alone_runs_to_the_most_blocks(laboratory: Laboratory) -> None:
    events = list(_run(laboratory, make_plan(systems=("a",), blocks=5)))

    assert [one.trial.block for one in _outcomes(events)] == [0, 1, 2, 3, 4]
    assert [look.round for look in _looks(events)] == [1, 2, 3, 4, 5]


# --- systems that die


def test_a_system_that_dies_fails_that_trial_and_does_the_rest_when_it_is_started_again(
    laboratory: Laboratory,
) -> None:
    plan = make_plan("sieve", "shell", blocks=4)
    laboratory.behave = lambda system, workload, number: "dies" if (system, number) == ("b", 3) else "ok"

    events = list(_run(laboratory, plan))

    by_block = [[one.status for one in _outcomes(events) if one.trial.block == block] for block in range(4)]
    assert by_block[0] == by_block[2] == by_block[3] == ["ok"] * 4
    assert sorted(by_block[1]) == ["failed", "ok", "ok", "ok"]
    failed = [one for one in _outcomes(events) if one.status == "failed"]
    assert [(one.trial.system, one.trial.block) for one in failed] == [("b", 1)]
    assert {one.reason for one in failed} == {"system 'b' has ended"}
    assert [(event.system, event.boot) for event in events if isinstance(event, Started)] == [
        ("a", 1),
        ("b", 1),
        ("b", 2),
    ]
    assert {one.boot for one in _outcomes(events) if one.trial.system == "b" and one.trial.block > 1} == {2}


def test_a_cell_is_not_given_up_because_its_system_died_once_in_a_round_that_visits_it_again(
    laboratory: Laboratory,
) -> None:
    laboratory.trial_s = {"a": 0.1, "b": 0.1}
    laboratory.behave = lambda system, workload, number: "dies" if (system, number) == ("b", 20) else "ok"

    events = list(_run(laboratory, make_plan("sieve", blocks=60)))

    assert [one.status for one in _outcomes(events) if one.status != "ok"] == ["failed"]
    assert {one.trial.block for one in _outcomes(events) if one.trial.system == "b"} == set(range(60))


def test_a_system_that_dies_is_closed_once(laboratory: Laboratory) -> None:
    laboratory.behave = lambda system, workload, number: "dies" if (system, number) == ("b", 1) else "ok"

    list(_run(laboratory, make_plan(blocks=3)))

    assert [agent.closed for agent in laboratory.agents] == [1, 1, 1]
    assert [agent.system for agent in laboratory.agents] == ["a", "b", "b"]


def test_a_system_that_falls_silent_has_timed_out_and_is_started_again(laboratory: Laboratory) -> None:
    laboratory.behave = lambda system, workload, number: "silent" if (system, number) == ("b", 2) else "ok"

    outcomes = _outcomes(_run(laboratory, make_plan(blocks=4)))

    assert [one.status for one in outcomes if one.trial.system == "b"] == ["ok", "timed out", "ok", "ok"]
    (silent,) = (one for one in outcomes if one.status == "timed out")
    assert silent.reason == "the agent did not answer for 35 s"
    assert laboratory.started == {"a": 1, "b": 2}


def test_a_system_that_cannot_come_up_again_stays_failed_while_the_rest_goes_on(
    laboratory: Laboratory,
) -> None:
    laboratory.behave = lambda system, workload, number: "dies" if (system, number) == ("c", 1) else "ok"
    laboratory.starts = lambda system, number: (
        Unsupported("system 'c' cannot start: no memory") if system == "c" and number > 1 else None
    )

    outcomes = _outcomes(_run(laboratory, make_plan(systems=("a", "b", "c"), blocks=5)))

    of_c = [(one.status, one.reason) for one in outcomes if one.trial.system == "c"]
    assert of_c == [
        ("failed", "system 'c' has ended"),
        ("failed", "system 'c' cannot start: no memory"),
    ]
    assert [one.status for one in outcomes if one.trial.system == "b"] == ["ok"] * 5
    assert [one.status for one in outcomes if one.trial.system == "a"] == ["ok"] * 5


def test_a_system_that_cannot_start_at_the_beginning_ends_the_run_and_closes_the_others(
    laboratory: Laboratory,
) -> None:
    laboratory.starts = lambda system, number: Unsupported("no runsc") if system == "b" else None

    with pytest.raises(Unsupported, match="no runsc"):
        list(_run(laboratory, make_plan(blocks=2)))

    assert laboratory.log == ["start a", "start b", "close a"]


def test_of_several_systems_one_that_cannot_start_is_left_out(laboratory: Laboratory) -> None:
    laboratory.starts = lambda system, number: Unsupported("no runsc") if system == "b" else None

    events = list(_run(laboratory, make_plan(systems=("a", "b", "c"), blocks=3)))

    assert [(one.system, one.reason) for one in events if isinstance(one, Unbooted)] == [("b", "no runsc")]
    outcomes = [one for one in events if isinstance(one, Outcome)]
    assert Counter(one.trial.system for one in outcomes) == {"a": 3, "c": 3}
    assert laboratory.started == {"a": 1, "b": 1, "c": 1}, "it is not tried again"


@pytest.mark.parametrize(("cannot", "told"), [("bc", "no c"), ("a", "no a"), ("abc", "no a")])
def test_without_the_baseline_or_another_system_nothing_is_measured(
    laboratory: Laboratory, cannot: str, told: str
) -> None:
    laboratory.starts = lambda system, number: Unsupported(f"no {system}") if system in cannot else None

    with pytest.raises(Unsupported, match=told):
        list(_run(laboratory, make_plan(systems=("a", "b", "c"), blocks=2)))

    assert laboratory.ran == []
    assert laboratory.up() == []


def test_a_failed_trial_leaves_the_system_up(laboratory: Laboratory) -> None:
    laboratory.behave = lambda system, workload, number: "failed" if (system, number) == ("b", 2) else "ok"

    outcomes = _outcomes(_run(laboratory, make_plan(blocks=4)))

    assert [one.status for one in outcomes if one.trial.system == "b"] == ["ok", "failed", "ok", "ok"]
    assert laboratory.started == {"a": 1, "b": 1}


def test_a_request_that_the_agent_refuses_is_a_failed_trial(laboratory: Laboratory) -> None:
    laboratory.behave = lambda system, workload, number: "error" if (system, number) == ("b", 1) else "ok"

    outcomes = _outcomes(_run(laboratory, make_plan(blocks=2)))

    (failed,) = (one for one in outcomes if one.status != "ok")
    assert (failed.status, failed.reason, failed.trial.system) == ("failed", "no such workload", "b")


# --- pairs that are given up


def test_unsupported_is_not_tried_again_and_the_baseline_not_for_it_alone(laboratory: Laboratory) -> None:
    laboratory.behave = lambda system, workload, number: (
        "unsupported" if (system, workload) == ("b", "shell") else "ok"
    )

    outcomes = _outcomes(_run(laboratory, make_plan("sieve", "shell", blocks=4)))

    ran = [(one.trial.block, one.trial.system, one.status) for one in outcomes if one.trial.cell == SHELL]
    assert [entry for entry in ran if entry[0] > 0] == []
    assert ("b", "unsupported") in {(system, status) for _, system, status in ran}
    assert len([one for one in outcomes if one.trial.cell == SIEVE]) == 8


def test_unsupported_on_one_system_does_not_stop_the_other(laboratory: Laboratory) -> None:
    laboratory.behave = lambda system, workload, number: "unsupported" if system == "b" else "ok"

    outcomes = _outcomes(_run(laboratory, make_plan(systems=("a", "b", "c"), blocks=4)))

    assert len([one for one in outcomes if one.trial.system == "b"]) == 1
    assert len([one for one in outcomes if one.trial.system == "c"]) == 4
    assert len([one for one in outcomes if one.trial.system == "a"]) == 4


def test_two_failures_in_a_row_and_a_pair_is_given_up(laboratory: Laboratory) -> None:
    laboratory.behave = lambda system, workload, number: (
        "failed" if system == "b" and number in (2, 4, 5) else "ok"
    )

    outcomes = _outcomes(_run(laboratory, make_plan(blocks=12)))

    assert [one.status for one in outcomes if one.trial.system == "b"] == [
        "ok",
        "failed",
        "ok",
        "failed",
        "failed",
    ]


def test_what_the_baseline_cannot_do_is_not_tried_on_anybody_again(laboratory: Laboratory) -> None:
    laboratory.behave = lambda system, workload, number: (
        "unsupported" if (system, workload) == ("a", "shell") else "ok"
    )

    outcomes = _outcomes(_run(laboratory, make_plan("sieve", "shell", systems=("a", "b", "c"), blocks=3)))

    assert {one.trial.block for one in outcomes if one.trial.cell == SHELL} == {0}
    assert len([one for one in outcomes if one.trial.cell == SIEVE]) == 9


# --- decided pairs


def test_a_decided_pair_drops_out_but_the_baseline_stays_while_anybody_needs_it(
    laboratory: Laboratory,
) -> None:
    plan = make_plan("sieve", "shell", systems=("a", "b", "c"), blocks=6)
    laboratory.trial_s = dict.fromkeys("abc", 0.1)  # so that every round has time for both cells
    early, late = [("b", SIEVE)], [("b", SIEVE), ("c", SIEVE), ("b", SHELL)]

    events = list(
        _run(
            laboratory, plan, judge=_after(lambda rounds: late if rounds > 3 else early if rounds > 1 else [])
        )
    )

    ran = [{(one.trial.system, one.trial.cell) for one in _outcomes(events) if one.trial.block == block}
           for block in range(6)]  # fmt: skip
    everything = {(system, cell) for system in "abc" for cell in (SIEVE, SHELL)}
    assert ran[0] == ran[1] == everything
    assert ran[2] == ran[3] == everything - {("b", SIEVE)}
    assert ran[4] == ran[5] == {("a", SHELL), ("c", SHELL)}
    assert _looks(events) == [
        Look(1, ()),
        Look(2, (("b", SIEVE),)),
        Look(3, ()),
        Look(4, (("b", SHELL), ("c", SIEVE))),
        Look(5, ()),
        Look(6, ()),
    ]


def test_what_is_left_of_a_visit_stays_in_its_order(laboratory: Laboratory) -> None:
    plan = make_plan("sieve", "shell", systems=("a", "b", "c"), blocks=3)

    ran = [
        one.trial
        for one in _outcomes(
            _run(laboratory, plan, judge=_after(lambda rounds: [("b", SIEVE)] if rounds else []))
        )
    ]

    kept = [
        trial
        for trial in planned_trials(plan)
        if trial.block == 0 or (trial.system, trial.cell) != ("b", SIEVE)
    ]
    assert _by_cell(ran) == _by_cell(kept)


def test_the_run_ends_when_everything_is_decided(laboratory: Laboratory) -> None:
    plan = make_plan("sieve", blocks=6)

    events = list(_run(laboratory, plan, judge=_after(lambda rounds: [("b", SIEVE)] if rounds > 2 else [])))

    assert len(_outcomes(events)) == 6
    assert events[-1] == Look(3, (("b", SIEVE),))


def test_a_pair_that_is_no_longer_decided_is_opened_again_and_told_of(laboratory: Laboratory) -> None:
    plan = make_plan("sieve", "shell", systems=("a", "b", "c"), blocks=6)

    events = list(
        _run(laboratory, plan, judge=_after(lambda rounds: [("b", SIEVE)] if rounds in (2, 3) else []))
    )

    assert _looks(events)[1:4] == [
        Look(2, (("b", SIEVE),)),
        Look(3, ()),
        Look(4, (), (("b", SIEVE),)),
    ]
    of_b = [
        one.trial.block for one in _outcomes(events) if (one.trial.system, one.trial.cell) == ("b", SIEVE)
    ]
    assert of_b[0] == 0
    assert of_b[-1] == 5
    assert 3 <= len(of_b) < 6  # it resumes with the others' next block: pairs are of one time
    of_a = [
        one.trial.block for one in _outcomes(events) if (one.trial.system, one.trial.cell) == ("a", SIEVE)
    ]
    assert of_a == list(range(6))


def test_the_judge_is_asked_at_the_beginning_and_after_every_round(laboratory: Laboratory) -> None:
    asked = []

    def judge() -> Interim:
        asked.append(len(laboratory.ran))
        return Interim()

    events = list(_run(laboratory, make_plan(blocks=4), judge=judge))

    assert asked == [0, 2, 4, 6, 8]
    assert [look.round for look in _looks(events)] == [1, 2, 3, 4]
    assert isinstance(events[-1], Look)


def test_what_is_decided_at_the_beginning_is_not_run(laboratory: Laboratory) -> None:
    plan = make_plan("sieve", "shell", blocks=2)

    ran = _outcomes(_run(laboratory, plan, judge=_after(lambda rounds: [("b", SIEVE)])))

    assert {one.trial.cell for one in ran} == {SHELL}


def test_a_cell_that_is_near_its_verdict_comes_before_one_that_no_block_can_settle(
    laboratory: Laboratory,
) -> None:
    # Each visit takes 2 s, so a round holds one or two of these.
    plan = make_plan("sieve", "shell", copies=tuple(range(1, 9)), blocks=20, budget_s=200.0)
    near = plan.cells[3]
    horizons = {cell: (Horizon(1, 0.1),) for cell in plan.cells}
    horizons[near] += (Horizon(20, 0.5, verdicts=1.0),)
    standing = Interim(horizons=horizons)

    blocks = Counter(
        one.trial.cell
        for one in _outcomes(_run(laboratory, plan, judge=lambda: standing))
        if one.trial.system == "b"
    )

    assert blocks[near] == max(blocks.values())
    assert blocks[near] > 1.5 * sorted(blocks.values())[8]
    assert min(blocks.values()) >= 2


@pytest.mark.computes
@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_decided_pairs_are_complete_and_each_trial_runs_once(seed: int) -> None:
    """Cells of all costs, pairs that are decided and opened again at random, a budget that ends it."""
    laboratory = Laboratory()
    chance = random.Random(seed)
    workloads = ("sieve", "shell", "syscall", "null", "memory_copy")
    plan = make_plan(
        *workloads, systems=("a", "b", "c"), copies=(1, 2, 3), blocks=12, budget_s=400.0, seed=seed
    )
    laboratory.times = {name: chance.choice((0.1, 0.3, 1.0, 4.0)) for name in workloads}
    pairs = [(system, cell) for system in "bc" for cell in plan.cells]
    standings = [Interim()]

    def judge() -> Interim:
        needed = {
            cell: (Horizon(chance.randint(1, 12), 0.1, verdicts=1.0),)
            for cell in chance.sample(plan.cells, 4)
        }
        standings.append(Interim(frozenset(chance.sample(pairs, len(pairs) // 4)), needed))
        return standings[-1]

    events = list(_run(laboratory, plan, judge=judge))

    rounds = _rounds(events)
    ran = [one.trial for outcomes in rounds for one in outcomes]
    assert len(set(ran)) == len(ran)
    last = _visits(ran)[-1]
    orders: dict[Cell, list[tuple[Trial, ...]]] = defaultdict(list)
    for outcomes, standing in zip(rounds, standings[1:], strict=False):
        visits = _visits([one.trial for one in outcomes])
        for visit in visits:
            cell, block = visit[0].cell, visit[0].block
            needed = {system for system in "bc" if (system, cell) not in standing.decided}
            whole = plans.visit(plan, cell, block)
            expected = [trial for trial in whole if trial.system in {"a", *needed}]
            assert needed
            assert visit == (expected[: len(visit)] if visit == last else expected)
            assert block == len(orders[cell])  # the cell's own count
            orders[cell].append(whole)
    for each in orders.values():
        for even, odd in zip(each[::2], each[1::2], strict=False):
            assert [trial.system for trial in odd] == [trial.system for trial in even][::-1]


# --- boots


def _boots(laboratory: Laboratory, system: str) -> list[int]:
    """How many trials of the system there were before each of its starts."""
    found, trials = [], 0
    for line in laboratory.log:
        trials += line == f"trial {system}"
        if line == f"start {system}":
            found.append(trials)
    return found


@pytest.mark.parametrize(
    ("blocks_per_boot", "boots"), [(1, [0, 1, 2, 3, 4, 5]), (2, [0, 2, 4]), (4, [0, 4]), (6, [0])]
)
def test_a_system_whose_start_is_a_boot_is_booted_between_rounds_as_the_study_says(
    laboratory: Laboratory, blocks_per_boot: int, boots: list[int]
) -> None:
    plan = make_plan(blocks=6, blocks_per_boot=blocks_per_boot)

    events = list(_run(laboratory, plan, boots_afresh=("b",)))

    assert _boots(laboratory, "b") == boots
    assert _boots(laboratory, "a") == [0]
    expected = [1 + block // blocks_per_boot for block in range(6)]
    assert [one.boot for one in _outcomes(events) if one.trial.system == "b"] == expected
    assert {one.boot for one in _outcomes(events) if one.trial.system == "a"} == {1}


def test_before_a_boot_the_old_one_is_closed(laboratory: Laboratory) -> None:
    list(_run(laboratory, make_plan(blocks=3), boots_afresh=("b",)))

    of_b = [line for line in laboratory.log if line.endswith(" b")]
    assert of_b == ["start b", "trial b", "close b"] * 3


def test_a_system_with_nothing_left_to_do_is_not_booted_again(laboratory: Laboratory) -> None:
    plan = make_plan(systems=("a", "b", "c"), blocks=6)

    list(
        _run(
            laboratory,
            plan,
            boots_afresh=("b", "c"),
            judge=_after(lambda rounds: [("b", Cell("syscall"))] if rounds > 1 else []),
        )
    )

    assert laboratory.started == {"a": 1, "b": 2, "c": 6}


# --- the budget


def test_the_budget_ends_the_run_before_a_visit_that_does_not_fit(laboratory: Laboratory) -> None:
    laboratory.trial_s = {"a": 1.0, "b": 2.0}

    events = list(_run(laboratory, make_plan(blocks=100, budget_s=10.0)))

    assert len(_outcomes(events)) == 6  # three visits of 3 s; a fourth would end at 12 s
    assert laboratory.now == 9.0


def test_a_visit_that_fits_exactly_is_run(laboratory: Laboratory) -> None:
    assert len(_outcomes(_run(laboratory, make_plan(blocks=100, budget_s=8.0)))) == 8


def test_a_run_that_the_budget_ends_is_looked_at_once_more(laboratory: Laboratory) -> None:
    events = list(_run(laboratory, make_plan(blocks=100, budget_s=10.0)))

    assert [look.round for look in _looks(events)] == [1, 2, 3, 4, 5]
    assert events[-1] == Look(5, ())


@pytest.mark.parametrize("seed", range(10))
def test_the_end_comes_within_one_trial_of_the_budget(seed: int) -> None:
    """Cells of all costs, among them some that take ten times as long now and then."""
    laboratory = Laboratory()
    chance = random.Random(seed)
    workloads = ("sieve", "shell", "syscall", "null", "memory_copy", "pipe_latency")
    laboratory.times = {name: chance.choice((0.05, 0.2, 1.0, 3.0)) for name in workloads}
    longest = 0.0

    def behave(system: str, workload: str, number: int) -> str:
        nonlocal longest
        more = laboratory.times[workload] * (9.0 if chance.random() < 0.02 else 0.0)
        laboratory.now += more
        longest = max(longest, laboratory.times[workload] + more)
        return "ok"

    laboratory.behave = behave
    plan = make_plan(*workloads, systems=("a", "b", "c"), copies=(1, 2), blocks=128, budget_s=60.0, seed=seed)

    list(_run(laboratory, plan))

    assert 60.0 - 3 * longest <= laboratory.now <= 60.0 + longest


def test_the_budget_counts_from_the_command_s_beginning_and_starts_are_part_of_it(
    laboratory: Laboratory,
) -> None:
    laboratory.start_s = {"a": 2.0, "b": 3.0}
    laboratory.now = 101.5

    events = _run(laboratory, make_plan(blocks=100, budget_s=20.0), begun_s=100.0)

    assert len(_outcomes(events)) == 12
    assert laboratory.now <= 120.0


def test_a_system_whose_start_does_not_fit_is_not_started(laboratory: Laboratory) -> None:
    laboratory.start_s = {"a": 1.0, "b": 1.0, "c": 50.0}
    plan = make_plan(systems=("a", "b", "c"), blocks=100, budget_s=10.0)

    ran = _outcomes(_run(laboratory, plan, starts_s=laboratory.start_s))

    assert "c" not in laboratory.started
    assert {one.trial.system for one in ran} == {"a", "b"}
    assert {one.status for one in ran} == {"ok"}
    assert laboratory.now <= 10.0


def test_a_start_gets_no_more_time_than_there_is(laboratory: Laboratory) -> None:
    list(_run(laboratory, make_plan(blocks=4, budget_s=60.0), begun_s=-10.0))

    assert {agent.terms.limit_s for agent in laboratory.agents if agent.system == "b"} == {50.0}


def test_a_trial_that_cannot_end_in_time_is_not_begun_and_one_that_does_not_is_set_aside(
    laboratory: Laboratory,
) -> None:
    """The first is known to take too long, of the second nothing is known before."""
    laboratory.times = {"sieve": 1.0, "shell": 100.0}
    plan = make_plan("sieve", "shell", blocks=64, budget_s=30.0)

    outcomes = _outcomes(_run(laboratory, plan))

    cut = [one for one in outcomes if one.trial.cell == SHELL]
    assert [one.status for one in cut] == [SET_ASIDE]
    assert "the budget ended" in str(cut[0].reason)
    assert {one.status for one in outcomes if one.trial.cell == SIEVE} == {"ok"}
    assert laboratory.now <= 30.0 + 2.0  # the shortest that such a trial can be


def test_a_trial_that_the_budget_ended_is_no_failure_and_is_done_again(laboratory: Laboratory) -> None:
    laboratory.times = {"sieve": 8.0}
    plan = make_plan("sieve", blocks=2, budget_s=5.0)
    with pytest.raises(TooShort) as refusal:
        list(_run(laboratory, plan))
    (first,) = laboratory.ran

    again = Laboratory()
    again.times = laboratory.times
    cut = {(first[1], SIEVE): 5.0}
    outcomes = _outcomes(_ended(_run(again, plan, earlier=Earlier(costs=cut))))

    assert "takes more than 5.3 s" in str(refusal.value)
    assert outcomes[0].status == "ok"  # it was given twice the time


def test_the_same_command_comes_to_a_pair_however_short_its_budget_is(laboratory: Laboratory) -> None:
    """Each time it does one trial at least, and does not do again what was done."""
    plan = make_plan("sieve", systems=("a", "b", "c"), blocks=2, budget_s=0.5)
    done: set[tuple[int, str, Cell]] = set()
    for _ in range(2):
        again = Laboratory()
        again.now, again.trial_s = 10.0, {"a": 0.4, "b": 0.4, "c": 0.4}
        ran = [
            one.trial
            for one in _outcomes(
                _ended(_run(again, plan, begun_s=0.0, earlier=Earlier(trials=frozenset(done))))
            )
        ]
        assert len(ran) == 1
        assert not done & {(one.block, one.system, one.cell) for one in ran}
        done |= {(one.block, one.system, one.cell) for one in ran}

    assert {block for block, _, _ in done} == {0}
    assert {system for _, system, _ in done} > {"a"}


def test_some_of_many_systems_are_compared_where_all_of_them_do_not_fit(laboratory: Laboratory) -> None:
    laboratory.trial_s = dict.fromkeys("abcdefg", 3.0)
    plan = make_plan("sieve", systems=tuple("abcdefg"), blocks=2, budget_s=10.0)
    costs = {(system, SIEVE): 3.0 for system in "abcdefg"}

    outcomes = _outcomes(_run(laboratory, plan, earlier=Earlier(costs=costs)))

    assert "a" in {one.trial.system for one in outcomes}
    assert len(outcomes) == 3
    assert laboratory.now <= 10.0


def test_a_cell_that_no_longer_fits_is_left_out_while_cheaper_ones_go_on(laboratory: Laboratory) -> None:
    laboratory.times = {"sieve": 0.5, "shell": 10.0}

    ran = [
        one.trial
        for one in _outcomes(_run(laboratory, make_plan("sieve", "shell", budget_s=55.0, blocks=128)))
    ]

    assert Counter(trial.cell for trial in ran if trial.system == "b")[SHELL] == 2
    assert {trial.cell for trial in ran[-10:]} == {SIEVE}
    assert {len(visit) for visit in _visits(ran)} == {2}
    assert laboratory.now == 55.0


def test_a_cell_that_is_thought_too_dear_is_not_begun(laboratory: Laboratory) -> None:
    # What has four copies costs at least what has one: 20 s, and 12 s are left after it.
    laboratory.times = {"shell": 10.0}

    ran = [one.trial for one in _outcomes(_run(laboratory, make_plan("shell", copies=(4, 1), budget_s=32.0)))]

    assert {trial.cell.copies for trial in ran} == {1}
    assert laboratory.now == 20.0


def test_a_budget_that_is_over_before_a_pair_says_what_a_pair_takes(laboratory: Laboratory) -> None:
    laboratory.trial_s = {"a": 6.0, "b": 6.0}

    with pytest.raises(TooShort) as refusal:
        list(_run(laboratory, make_plan("sieve", "shell", budget_s=5.0)))

    told = str(refusal.value)
    for words in ("the budget of 5 s", "takes more than 5.3 s", "2 cells", "would do"):
        assert words in told
    assert "sieve" in told or "shell" in told
    assert refusal.value.exit_status == 2
    assert laboratory.up() == []
    assert len(laboratory.ran) == 1


def test_a_budget_for_one_pair_is_enough(laboratory: Laboratory) -> None:
    laboratory.trial_s = {"a": 6.0, "b": 6.0}

    events = list(_run(laboratory, make_plan("sieve", "shell", budget_s=12.5)))

    assert [one.status for one in _outcomes(events)] == ["ok"] * 2
    assert len(_looks(events)) == 1


def test_a_run_that_has_one_pair_from_before_is_not_too_short(laboratory: Laboratory) -> None:
    laboratory.trial_s = {"a": 6.0, "b": 6.0}
    done = frozenset((0, system, SIEVE) for system in "ab")

    events = list(
        _run(laboratory, make_plan("sieve", budget_s=15.0), earlier=Earlier(trials=done, spent_s=12.0))
    )

    assert len(_outcomes(events)) <= 2


@pytest.mark.parametrize("system", ["a", "b"])
def test_a_run_that_was_interrupted_in_its_first_pair_still_measures_it(
    laboratory: Laboratory, system: str
) -> None:
    laboratory.trial_s = {"a": 6.0, "b": 6.0}
    done = frozenset({(0, system, SIEVE)})
    before = Earlier(trials=done, unfinished=done, spent_s=60.0)

    events = list(_run(laboratory, make_plan("sieve", budget_s=15.0), earlier=before))

    told = [(one.trial.block, one.trial.system) for one in _outcomes(events)]
    assert told[0] == (0, "ba"["ab".index(system)])
    assert sum(block == 1 for block, _ in told) <= 2


def test_where_nothing_can_be_done_at_all_the_budget_is_not_to_blame(laboratory: Laboratory) -> None:
    laboratory.behave = lambda system, workload, number: "unsupported"

    events = list(_run(laboratory, make_plan("sieve", "shell", budget_s=5.0)))

    assert {one.status for one in _outcomes(events)} == {"unsupported"}


def test_boots_count_against_the_budget(laboratory: Laboratory) -> None:
    laboratory.start_s = {"b": 8.0}

    events = list(_run(laboratory, make_plan(blocks=100, budget_s=40.0), boots_afresh=("b",)))

    assert len(_outcomes(events)) == 8  # four visits of 2 s, and three boots of 8 s between them
    assert laboratory.now <= 8.0 + 40.0


def test_a_boot_that_leaves_no_time_for_a_trial_is_not_begun(laboratory: Laboratory) -> None:
    laboratory.start_s = {"b": 8.0}

    events = list(_run(laboratory, make_plan(blocks=100, budget_s=43.0), boots_afresh=("b",)))

    assert len(_outcomes(events)) == 8
    assert laboratory.now == 8.0 + 4 * 2.0 + 3 * 8.0
    assert laboratory.started["b"] == 4


def test_what_an_earlier_run_spent_counts_against_the_budget(laboratory: Laboratory) -> None:
    laboratory.now = 1000.0
    done = frozenset((0, system, Cell("syscall")) for system in "ab")
    earlier = Earlier(trials=done, spent_s=6.0)

    events = list(_run(laboratory, make_plan(blocks=100, budget_s=10.0), earlier=earlier))

    assert len(_outcomes(events)) == 4


def test_a_round_that_takes_much_longer_than_thought_is_cut_short_between_visits(
    laboratory: Laboratory,
) -> None:
    laboratory.trial_s = {"a": 3.0, "b": 3.0}  # nothing is known of them in the first round
    plan = make_plan("sieve", "shell", "syscall", "null", blocks=2)

    rounds = _rounds(_run(laboratory, plan))

    assert len(rounds[0]) == 2  # 6 s: more than the 5 s of a round
    assert {len(visit) for outcomes in rounds for visit in _visits([one.trial for one in outcomes])} == {2}
    assert _by_cell(one.trial for outcomes in rounds for one in outcomes) == _by_cell(planned_trials(plan))


# --- going on where an earlier run stopped


def _identities(trials: Iterable[Trial]) -> frozenset[tuple[int, str, Cell]]:
    return frozenset((trial.block, trial.system, trial.cell) for trial in trials)


def test_earlier_work_is_not_repeated(laboratory: Laboratory) -> None:
    plan = make_plan("sieve", "shell", blocks=4)
    planned = planned_trials(plan)
    earlier = Earlier(trials=_identities(planned[:6]), boots={"a": 1, "b": 3}, rounds=2)

    events = list(_run(laboratory, plan, earlier=earlier))

    assert _by_cell(one.trial for one in _outcomes(events)) == _by_cell(planned[6:])
    assert [(one.system, one.boot) for one in events if isinstance(one, Started)] == [("a", 2), ("b", 4)]
    assert [look.round for look in _looks(events)] == list(range(3, 3 + len(_looks(events))))


def test_what_was_interrupted_in_the_middle_of_a_visit_is_completed_in_its_order(
    laboratory: Laboratory,
) -> None:
    plan = make_plan("sieve", systems=("a", "b", "c"), blocks=3)
    planned = planned_trials(plan)

    ran = [
        one.trial
        for one in _outcomes(_run(laboratory, plan, earlier=Earlier(trials=_identities(planned[:4]))))
    ]

    assert ran == planned[4:]


def test_pairs_that_were_given_up_earlier_stay_given_up(laboratory: Laboratory) -> None:
    plan = make_plan("sieve", "shell", blocks=2)

    events = list(_run(laboratory, plan, earlier=Earlier(hopeless=frozenset({("b", SHELL)}))))

    assert {one.trial.cell for one in _outcomes(events)} == {SIEVE}


@pytest.mark.parametrize("until", [*range(1, 12), 17, 23, 29])
def test_an_interrupted_run_and_its_continuation_are_together_the_plan(
    laboratory: Laboratory, until: int
) -> None:
    plan = make_plan("sieve", "shell", systems=("a", "b", "c"), blocks=5)
    first: list[Trial] = []
    rounds = 0
    events = _run(laboratory, plan)
    for event in events:
        rounds += isinstance(event, Look)
        if isinstance(event, Outcome):
            first.append(event.trial)
        if len(first) == until:
            break
    events.close()  # type: ignore[attr-defined]

    earlier = Earlier(trials=_identities(first), rounds=rounds)
    second = [one.trial for one in _outcomes(_run(Laboratory(), plan, earlier=earlier))]

    assert len(first) == until
    assert _by_cell([*first, *second]) == _by_cell(planned_trials(plan))


def test_a_system_that_had_not_needed_a_cell_is_not_made_to_run_its_old_blocks(
    laboratory: Laboratory,
) -> None:
    """b was decided for three blocks, and is open again now: its partners of then are of another hour."""
    plan = make_plan("sieve", systems=("a", "b", "c"), blocks=8)
    done = _identities(trial for trial in planned_trials(plan) if trial.block < 5)
    done -= {(block, "b", SIEVE) for block in (2, 3, 4)}

    ran = [one.trial for one in _outcomes(_run(laboratory, plan, earlier=Earlier(trials=done)))]

    assert [trial for trial in ran if trial.block < 4] == []
    whole = [trial for trial in planned_trials(plan) if trial.block > 4]
    assert [trial for trial in ran if trial.block > 4] == whole


# --- whatever happens, agents are closed


def test_agents_are_closed_when_the_run_is_over(laboratory: Laboratory) -> None:
    list(_run(laboratory, make_plan(blocks=3), boots_afresh=("b",)))

    assert laboratory.up() == []
    assert {agent.closed for agent in laboratory.agents} == {1}


@pytest.mark.parametrize("events", range(1, 9))
def test_agents_are_closed_when_the_run_is_given_up_early(laboratory: Laboratory, events: int) -> None:
    running = _run(laboratory, make_plan(blocks=3), boots_afresh=("b",))
    for _ in range(events):
        next(running)
    running.close()  # type: ignore[attr-defined]

    assert laboratory.agents
    assert laboratory.up() == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a defect")])
def test_agents_are_closed_when_a_trial_is_interrupted(laboratory: Laboratory, error: BaseException) -> None:
    laboratory.behave = lambda system, workload, number: error if number == 2 else "ok"

    with pytest.raises(type(error)):
        list(_run(laboratory, make_plan(blocks=3)))

    assert laboratory.up() == []


@pytest.mark.parametrize("where", ["judge", "notify"])
def test_agents_are_closed_when_the_caller_s_part_fails(laboratory: Laboratory, where: str) -> None:
    def fails(*_: object) -> Any:
        raise SteelyardError("no room")

    with pytest.raises(SteelyardError, match="no room"):
        list(_run(laboratory, make_plan(blocks=3), **{where: fails}))

    assert laboratory.up() == []


def test_agents_are_closed_when_a_boot_is_interrupted(laboratory: Laboratory) -> None:
    laboratory.starts = lambda system, number: KeyboardInterrupt() if (system, number) == ("b", 2) else None

    with pytest.raises(KeyboardInterrupt):
        list(_run(laboratory, make_plan(blocks=3), boots_afresh=("b",)))

    assert laboratory.up() == []


def test_an_agent_that_cannot_be_closed_does_not_keep_the_others_open(laboratory: Laboratory) -> None:
    running = _run(laboratory, make_plan(systems=("a", "b", "c"), blocks=3))
    for _ in range(4):
        next(running)

    def refuse() -> None:
        raise KeyboardInterrupt

    laboratory.agents[0].close = refuse  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        running.close()  # type: ignore[attr-defined]

    assert laboratory.up() == ["a"]
