"""The runner's rounds by boot, with fake machines on the other side of its seams."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import pytest
from fake_laboratory import Laboratory
from synthetic import plan as make_plan

from steelyard.analysis.model import Interim
from steelyard.errors import BootFailed, Stuck
from steelyard.events import Earlier, Event, Look, Outcome, Started, Switching, Unbooted
from steelyard.running import runner
from steelyard.running.running_systems import BOOTS_MOST
from steelyard.study.model import Cell
from steelyard.study.plan import Plan

SIEVE, SHELL = Cell("sieve"), Cell("shell")


class BootMachines:
    """All systems but `free` on one machine. `fails` are the starts, from 1, that go wrong."""

    def __init__(self, *, free: Collection[str] = (), coming: str | None = None, away_s: float = 0.0) -> None:
        self.free = free
        self.away = away_s
        self.coming = coming
        self.asked: list[str] = []

    def machine(self, system: str) -> str | None:
        return None if system in self.free else "box"

    def is_on_its_way(self, system: str) -> bool:
        found, self.coming = self.coming == system, None
        return found

    def away_s(self) -> float:
        return self.away

    def identity(self, system: str) -> str | None:
        self.asked.append(system)
        return str(len(self.asked))


def run(
    laboratory: Laboratory,
    plan: Plan,
    boot_machines: BootMachines | None = None,
    *,
    earlier: Earlier = Earlier(),  # noqa: B008 -- frozen
    ratios: Mapping[Cell, float] = {},
) -> Iterator[Event]:
    laboratory.start_s = laboratory.start_s or dict.fromkeys(plan.systems, 10.0)
    return runner.run(
        plan,
        start=laboratory.start,
        boots_afresh=plan.systems,
        judge=lambda: Interim(boot_ratios=ratios),
        notify=lambda progress: None,
        earlier=earlier,
        boot_machines=boot_machines or BootMachines(),
        clock=laboratory.clock,
    )


def outcomes(events: Collection[Event]) -> list[Outcome]:
    return [event for event in events if isinstance(event, Outcome)]


def boots(events: Collection[Event]) -> list[list[str]]:
    """The systems that came up, round by round."""
    found: list[list[str]] = [[]]
    for event in events:
        if isinstance(event, Started):
            found[-1].append(event.system)
        if isinstance(event, Look):
            found.append([])
    return [one for one in found if one]


def by_boot(events: Collection[Event]) -> Mapping[tuple[str, int], list[tuple[Cell, int]]]:
    found: Mapping[tuple[str, int], list[tuple[Cell, int]]] = defaultdict(list)
    for one in outcomes(events):
        found[one.trial.system, one.boot].append((one.trial.cell, one.trial.block))
    return found


def test_a_round_boots_each_system_once_and_the_next_in_the_reverse_order() -> None:
    events = list(run(Laboratory(), make_plan("sieve", systems=("a", "b", "c"), blocks=12)))

    rounds = boots(events)

    assert len(rounds) == 6
    assert all(sorted(one) == ["a", "b", "c"] for one in rounds)
    for first, second in zip(rounds[::2], rounds[1::2], strict=True):
        assert second == first[::-1]


def test_all_systems_do_the_same_in_their_boots_of_a_round() -> None:
    found = by_boot(list(run(Laboratory(), make_plan("sieve", "shell", blocks=8))))

    assert {boot for _, boot in found} == {1, 2, 3, 4}
    for boot in (1, 2, 3, 4):
        assert sorted(found["a", boot], key=str) == sorted(found["b", boot], key=str)
        assert Counter(cell for cell, _ in found["a", boot]) == {SIEVE: 2, SHELL: 2}


def test_one_system_alone_is_up() -> None:
    laboratory = Laboratory()
    for event in run(laboratory, make_plan("sieve", systems=("a", "b", "c"), blocks=4)):
        if isinstance(event, Outcome):
            assert laboratory.up() == [event.trial.system]
    assert laboratory.up() == []


def test_a_system_that_excludes_none_stays_up_beside_them() -> None:
    laboratory = Laboratory()
    plan = make_plan("sieve", systems=("free", "a", "b"), blocks=4)
    events = list(run(laboratory, plan, BootMachines(free=("free",))))

    assert laboratory.started["free"] == 1
    assert laboratory.started["a"] == laboratory.started["b"] == 2
    assert Counter(one.trial.system for one in outcomes(events)) == dict.fromkeys(("free", "a", "b"), 4)
    assert laboratory.active_with_others == []


@pytest.mark.parametrize(("ratio", "passes"), [(0.01, 1), (1.0, 3), (float("inf"), 10)])
def test_another_boot_is_weighed_against_more_trials(ratio: float, passes: int) -> None:
    """A pass takes a tenth of what booting does."""
    laboratory = Laboratory()
    laboratory.start_s = {"a": 10.0, "b": 10.0}
    events = list(run(laboratory, make_plan("sieve", blocks=42), ratios={SIEVE: ratio}))

    third = by_boot(events)["a", 3]

    assert len(third) == passes


def test_a_cell_whose_boots_differ_less_than_its_trials_has_more_trials_a_boot() -> None:
    laboratory = Laboratory()
    laboratory.start_s = {"a": 10.0, "b": 10.0}
    plan = make_plan("sieve", "shell", blocks=60)

    third = by_boot(list(run(laboratory, plan, ratios={SIEVE: 0.01, SHELL: 100.0})))["a", 3]

    passes = Counter(cell for cell, _ in third)
    assert passes[SIEVE] == 1
    assert passes[SHELL] > 5
    assert sorted(third, key=lambda one: (one[0].label, one[1])) == sorted(
        set(third), key=lambda one: (one[0].label, one[1])
    )


def test_boots_count_against_the_budget_and_a_round_that_was_begun_is_finished() -> None:
    laboratory = Laboratory()
    laboratory.start_s = {"a": 60.0, "b": 60.0}
    events = list(run(laboratory, make_plan("sieve", blocks=100, budget_s=600.0)))

    rounds = boots(events)

    assert len(rounds) == 4  # of 124 s each
    assert all(len(one) == 2 for one in rounds)
    assert laboratory.now <= 600.0


def test_a_boot_that_fails_is_asked_for_again_and_nothing_is_measured_in_it() -> None:
    laboratory = Laboratory()
    laboratory.starts = lambda system, number: (
        BootFailed("it came up as another system") if (system, number) in (("a", 1), ("b", 2)) else None
    )
    events = list(run(laboratory, make_plan("sieve", blocks=8)))

    assert [one.system for one in events if isinstance(one, Unbooted)] in (["a", "b"], ["b", "a"])
    asked = sum(isinstance(one, Switching) for one in events)
    assert asked == sum(map(len, boots(events))) + 2
    assert all(one.status == "ok" for one in outcomes(events))
    assert len(outcomes(events)) == 16


def test_a_machine_that_does_not_come_up_is_left_alone_and_what_was_measured_stays() -> None:
    laboratory = Laboratory()
    laboratory.starts = lambda system, number: BootFailed("no answer") if number > 2 else None
    events: list[Event] = []
    with pytest.raises(Stuck, match=r"box failed 3 times in a row to boot into .*no answer"):
        events.extend(run(laboratory, make_plan("sieve", blocks=8)))

    assert len(outcomes(events)) == 8
    assert sum(isinstance(one, Unbooted) for one in events) == BOOTS_MOST
    assert laboratory.up() == []


def test_failures_of_an_earlier_run_count() -> None:
    laboratory = Laboratory()
    laboratory.starts = lambda system, number: BootFailed("no answer")
    with pytest.raises(Stuck):
        list(run(laboratory, make_plan("sieve"), earlier=Earlier(failed_boots=BOOTS_MOST - 1)))
    assert sum(laboratory.started.values()) == 1


def test_where_asking_again_is_of_no_use_it_is_not_done() -> None:
    laboratory = Laboratory()
    laboratory.starts = lambda system, number: Stuck("a host key that ssh does not know")
    with pytest.raises(Stuck, match="a host key that ssh does not know"):
        list(run(laboratory, make_plan("sieve")))
    assert sum(laboratory.started.values()) == 1


def test_a_machine_that_dies_in_a_trial_costs_that_trial_and_the_rest_of_its_boot() -> None:
    laboratory = Laboratory()
    laboratory.behave = lambda system, workload, number: "dies" if (system, number) == ("a", 2) else "ok"
    events = list(run(laboratory, make_plan("sieve", blocks=8)))

    failed = [one for one in outcomes(events) if one.status != "ok"]

    assert [(one.trial.system, one.boot) for one in failed] == [("a", 1)]
    assert len(by_boot(events)["b", 1]) == 2
    assert [len(by_boot(events)["a", boot]) for boot in (2, 3, 4)] == [2, 2, 2]


@pytest.mark.parametrize("until", range(1, 16))
def test_a_run_that_was_killed_goes_on_with_the_boots_that_its_round_lacks(until: int) -> None:
    """Nothing is measured twice, and no system's boots are without their partners'."""
    plan = make_plan("sieve", "shell", blocks=6)
    first: list[Event] = []
    events = run(Laboratory(), plan)
    for event in events:
        first.append(event)
        if len(outcomes(first)) == until:
            break
    events.close()  # type: ignore[attr-defined]

    last = max((number for number, one in enumerate(first) if isinstance(one, Look)), default=-1)
    done = frozenset((one.trial.block, one.trial.system, one.trial.cell) for one in outcomes(first))
    unfinished = outcomes(first[last + 1 :])
    earlier = Earlier(
        trials=done,
        rounds=sum(isinstance(one, Look) for one in first),
        boots=Counter(one.system for one in first if isinstance(one, Started)),
        unfinished=frozenset((one.trial.block, one.trial.system, one.trial.cell) for one in unfinished),
    )
    both = first + list(run(Laboratory(), plan, earlier=earlier))

    found = by_boot(both)
    again = Counter((one.trial.system, one.trial.cell, one.trial.block) for one in outcomes(both))
    assert set(again.values()) == {1}
    assert [boots(both)[number] for number in (0, 1)] == [*boots(list(run(Laboratory(), plan)))][:2]
    pairs = defaultdict(set)
    for (system, boot), slots in found.items():
        for slot in slots:
            pairs[slot].add((system, boot))
    whole = [members for members in pairs.values() if len(members) == 2]
    assert all(len({boot for _, boot in members}) == 1 for members in whole)
    assert len(whole) >= 2 * 6 - 3  # what an interruption can cost: the rest of a boot


def test_a_boot_that_is_on_its_way_is_not_asked_for_again() -> None:
    plan = make_plan("sieve", blocks=4)
    first = boots(list(run(Laboratory(), plan)))[0][0]
    boot_machines = BootMachines(coming=first)
    events = list(run(Laboratory(), plan, boot_machines))

    assert len(boot_machines.asked) == sum(map(len, boots(events))) - 1


def test_a_boot_that_ended_its_process_counts_against_the_budget() -> None:
    plan = make_plan("sieve", blocks=100, budget_s=70.0)
    first, _ = boots(list(run(Laboratory(), plan)))[0]
    laboratory = Laboratory()
    laboratory.start_s = {"a": 0.5, "b": 0.5}

    events = list(run(laboratory, plan, BootMachines(coming=first, away_s=59.5)))

    assert [one.start_s for one in events if isinstance(one, Started)] == [60.0, 0.5]
    assert len(boots(events)) == 1


def test_what_trials_and_boots_cost_is_known_after_an_interruption() -> None:
    """As many passes as without one: a pass takes a tenth of what booting does."""
    laboratory = Laboratory()
    laboratory.start_s = {"a": 10.0, "b": 10.0}
    plan = make_plan("sieve", blocks=42)
    earlier = Earlier(
        trials=frozenset((block, system, SIEVE) for block in range(4) for system in "ab"),
        rounds=2,
        costs={("a", SIEVE): 1.0, ("b", SIEVE): 1.0},
        boot_costs={"a": 10.0, "b": 10.0},
    )
    found = by_boot(list(run(laboratory, plan, earlier=earlier, ratios={SIEVE: 1.0})))
    assert len(found["a", 1]) == len(found["b", 1]) == 3


def test_the_order_of_a_trial_s_block_is_that_of_the_boots() -> None:
    events = list(run(Laboratory(), make_plan("sieve", blocks=4)))
    for order, number in zip(boots(events), (1, 2), strict=True):
        for one in outcomes(events):
            if one.boot == number:
                assert one.trial == replace(one.trial, position=order.index(one.trial.system))
