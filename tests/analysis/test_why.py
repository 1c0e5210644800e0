"""Costs to this host, an operation: from marks around trials to the costs that go along with the time."""

import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import synthetic
from fake_laboratory import FakeAgent, Laboratory
from installed_command import Run
from stand_in_monitor import FAKE_WATCH

from steelyard.analysis import evaluate, rows
from steelyard.analysis.host_costs import Costs
from steelyard.analysis.model import Comparison, Evaluation, Interim
from steelyard.analysis.observations import Observations
from steelyard.archive import closing, experiments, reading
from steelyard.archive.experiments import StoredExperiment
from steelyard.archive.journal import Journal, earlier
from steelyard.errors import SystemFailed, Unsupported
from steelyard.events import (
    SETUP,
    WORK,
    Accounted,
    Called,
    Done,
    Earlier,
    Event,
    Figure,
    Look,
    Outcome,
    Watched,
)
from steelyard.report import plain
from steelyard.running import runner
from steelyard.statistics import verdict
from steelyard.study import plan as plans
from steelyard.study.model import Cell
from steelyard.study.plan import Plan, Trial
from steelyard.watch.model import Head, Mark, Process
from steelyard.words import remarks, wording

pytestmark = pytest.mark.computes  # each weighs an experiment

# --- the runner: what is watched, and when


class FakeWatching:
    """A monitor that counts its own marks: each says 100 more of everything."""

    def __init__(self, laboratory: Laboratory, system: str, detail: str) -> None:
        self.laboratory = laboratory
        self.name = f"{system} {detail}"
        self.head = Head(
            "fake", "bpf", detail, (), 0.0, 0, 2, None, 1, None, None, None, ("swap is not seen",)
        )
        self.exits: list[Process] = []
        self.marks = 0
        self.last = 1 << 30  # the last mark that it gives
        self.loses = 0  # so much from mark to mark
        self.closed = 0

    def mark(self) -> Mark | None:
        self.laboratory.log.append(f"mark {self.name}")
        self.marks += 1
        if self.marks > self.last:
            return None
        figures = {"cpu_user_ns": 100 * self.marks, "wait_ns": None}
        calls = {"getppid": (7 * self.marks, 0)} if self.name.endswith("calls") else None
        return Mark(str(self.marks), 10 * self.marks, 1, figures, calls, lost=self.loses * self.marks)

    def close(self) -> None:
        self.closed += 1
        self.laboratory.log.append(f"close {self.name}")


class Monitors:
    """Starts fake monitors, as the runner asks for them; `refuse` says which not, and why."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory
        self.refuse: Callable[[str, str], str | None] = lambda system, detail: None
        self.last = 1 << 30
        self.loses = 0
        self.made: list[FakeWatching] = []

    def __call__(self, system: str, agent: object, detail: str) -> FakeWatching:
        assert isinstance(agent, FakeAgent)
        assert agent.system == system
        why = self.refuse(system, detail)
        if why:
            raise Unsupported(why)
        self.made.append(FakeWatching(self.laboratory, system, detail))
        self.made[-1].last = self.last
        self.made[-1].loses = self.loses
        return self.made[-1]


@pytest.fixture
def laboratory() -> Laboratory:
    return Laboratory()


@pytest.fixture
def monitors(laboratory: Laboratory) -> Monitors:
    return Monitors(laboratory)


def _run(
    laboratory: Laboratory,
    plan: Plan,
    watch: Monitors,
    *,
    before: Earlier = Earlier(),  # noqa: B008 -- frozen
    boots_afresh: Sequence[str] = (),
    explained: bool = True,
) -> list[Event]:
    """The events of a run in which all cells are to be explained from the beginning, or none."""
    others = plan.systems[1:] if explained else ()
    explain = frozenset((system, cell) for system in others for cell in plan.cells)
    return list(
        runner.run(
            plan,
            start=laboratory.start,
            boots_afresh=boots_afresh,
            judge=lambda: Interim(explain=explain),
            notify=lambda progress: None,
            earlier=before,
            watch=watch,
            clock=laboratory.clock,
        )
    )


def _of(events: Sequence[Event], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def _last(lines: Sequence[str], word: str) -> int:
    return max(number for number, line in enumerate(lines) if word in line)


def test_every_trial_is_between_two_marks_of_its_system_s_monitor(
    laboratory: Laboratory, monitors: Monitors
) -> None:
    events = _run(laboratory, synthetic.plan(systems=("a", "b"), blocks=3), monitors)

    outcomes = _of(events, Outcome)
    assert len(outcomes) == 6
    assert {one.costs for one in outcomes} == {(Figure("span_ns", 10), Figure("cpu_user_ns", 100))}
    lines = laboratory.log
    for number, line in enumerate(lines):
        if line.startswith("trial") and number > _last(lines, "calls"):
            system = line.removeprefix("trial ")
            assert lines[number - 1] == lines[number + 1] == f"mark {system} life"


def test_where_a_monitor_lost_something_a_trial_s_costs_are_unknown(
    laboratory: Laboratory, monitors: Monitors
) -> None:
    monitors.loses = 1
    events = _run(laboratory, synthetic.plan(systems=("a", "b"), blocks=3), monitors)

    assert {one.costs for one in _of(events, Outcome)} == {(Figure("span_ns", 10),)}
    assert _of(events, Accounted) == []


def test_timed_trials_are_never_watched_call_by_call(laboratory: Laboratory, monitors: Monitors) -> None:
    open_at_trials = []

    def behave(system: str, workload: str, number: int) -> str:
        open_at_trials.append(any(one.name.endswith("calls") and not one.closed for one in monitors.made))
        return "ok"

    laboratory.behave = behave
    events = _run(laboratory, synthetic.plan("syscall", "sieve", blocks=40), monitors)

    in_order = [isinstance(one, Accounted) for one in events if isinstance(one, Accounted | Outcome)]
    assert open_at_trials == in_order
    assert True in in_order
    assert in_order[-1] is False  # they came in between


def test_what_is_to_be_explained_gets_its_rounds_on_each_system_and_they_are_no_outcomes(
    laboratory: Laboratory, monitors: Monitors
) -> None:
    plan = synthetic.plan("syscall", "sieve", blocks=2)
    events = _run(laboratory, plan, monitors)

    accounted = _of(events, Accounted)
    assert [(one.round, one.system, one.cell, one.purpose) for one in accounted] == [
        (number, system, cell, purpose)
        for system in ("a", "b")
        for number in range(3)
        for cell in plans.lightest_first(plan)
        for purpose in (WORK, SETUP)
    ]
    assert {one.calls for one in accounted} == {(Called("getppid", 7, 0),)}
    assert events.index(accounted[0]) > events.index(_of(events, Outcome)[-1])
    assert len(_of(events, Outcome)) == 8
    assert laboratory.active_with_others == []


def test_what_is_not_to_be_explained_is_not_counted(laboratory: Laboratory, monitors: Monitors) -> None:
    events = _run(laboratory, synthetic.plan("syscall", "sieve", blocks=30), monitors, explained=False)

    assert _of(events, Accounted) == []
    assert {one.detail for one in _of(events, Watched)} == {"life"}
    assert all(one.costs for one in _of(events, Outcome))


def test_everything_that_was_opened_is_closed_once(laboratory: Laboratory, monitors: Monitors) -> None:
    plan = synthetic.plan(blocks=4, blocks_per_boot=1)
    laboratory.behave = lambda system, workload, number: "dies" if (system, number) == ("b", 3) else "ok"

    events = _run(laboratory, plan, monitors, boots_afresh=("a",))

    assert {one.closed for one in monitors.made} == {1}
    lives = [one.name for one in monitors.made if one.name.endswith("life")]
    assert lives.count("a life") == laboratory.started["a"]
    assert lives.count("b life") == laboratory.started["b"] == 2
    assert [one.system for one in _of(events, Watched) if one.detail == "life"].count("b") == 2


def test_a_system_that_cannot_be_watched_runs_as_it_would_without(
    laboratory: Laboratory, monitors: Monitors
) -> None:
    monitors.refuse = lambda system, detail: "it runs on another host" if system == "b" else None

    events = _run(laboratory, synthetic.plan(blocks=2), monitors)

    by_system = {one.trial.system: one.costs for one in _of(events, Outcome)}
    assert by_system["b"] == ()
    assert by_system["a"] != ()
    assert {one.why for one in _of(events, Watched) if one.system == "b"} == {"it runs on another host"}
    assert {one.system for one in _of(events, Accounted)} == {"a"}
    assert {one.status for one in _of(events, Outcome)} == {"ok"}


def test_where_calls_cannot_be_counted_trials_are_accounted_for_all_the_same(
    laboratory: Laboratory, monitors: Monitors
) -> None:
    monitors.refuse = lambda system, detail: "not root" if detail == "calls" else None

    events = _run(laboratory, synthetic.plan(blocks=2), monitors)

    assert _of(events, Accounted) == []
    assert all(one.costs for one in _of(events, Outcome))
    assert [one.why for one in _of(events, Watched) if one.detail == "calls"] == ["not root"] * 2


def test_a_monitor_that_ends_costs_its_figures_and_nothing_else(
    laboratory: Laboratory, monitors: Monitors
) -> None:
    monitors.last = 3

    outcomes = _of(_run(laboratory, synthetic.plan(systems=("a",), blocks=3), monitors), Outcome)

    assert [bool(one.costs) for one in outcomes] == [True, False, False]
    assert {one.status for one in outcomes} == {"ok"}


@pytest.mark.parametrize("how", ["dies", "silent", "failed", "unsupported", "error"])
def test_whatever_goes_wrong_in_an_accounting_trial_the_run_goes_on(
    laboratory: Laboratory, monitors: Monitors, how: str
) -> None:
    laboratory.behave = lambda system, workload, number: how if (system, number) == ("a", 3) else "ok"

    events = _run(laboratory, synthetic.plan(blocks=2), monitors)

    outcomes = _of(events, Outcome)
    assert [one.status for one in outcomes] == ["ok"] * 4
    assert all(one.costs for one in outcomes)


def test_accounting_waits_for_cells_or_for_time_and_leaves_most_of_it_to_what_is_timed(
    laboratory: Laboratory, monitors: Monitors
) -> None:
    plan = synthetic.plan("syscall", "sieve", blocks=100, budget_s=100.0)

    events = _run(laboratory, plan, monitors)

    # A trial takes 1 s here, and two cells wait for their explanation from the beginning.
    before = [one for one in events[: events.index(_of(events, Accounted)[0])] if isinstance(one, Outcome)]
    assert 20 <= len(before) < 26
    assert len(_of(events, Accounted)) == 24
    assert 2 * 3 * 2 * 2 + len(_of(events, Outcome)) == laboratory.now == 100


def test_accounting_begins_at_once_where_eight_cells_wait(laboratory: Laboratory, monitors: Monitors) -> None:
    laboratory.trial_s = {"a": 0.1, "b": 0.1}
    plan = synthetic.plan("syscall", copies=tuple(range(1, 9)), blocks=100, budget_s=20.0)

    events = _run(laboratory, plan, monitors)

    before = events[: events.index(_of(events, Accounted)[0])]
    assert len(_of(before, Look)) == 1  # after the first round


def test_an_interrupted_run_goes_on_with_the_accounting_that_is_missing(
    laboratory: Laboratory, monitors: Monitors
) -> None:
    cell = Cell("syscall")
    done = {(number, system, cell) for number in range(3) for system in ("a", "b")} - {(1, "b", cell)}

    events = _run(laboratory, synthetic.plan(blocks=2), monitors, before=Earlier(accounted=frozenset(done)))

    assert [(one.round, one.system) for one in _of(events, Accounted)] == [(1, "b")] * 2


def test_an_accounting_trial_is_short_whatever_study_and_cell_ask_for(
    laboratory: Laboratory, monitors: Monitors
) -> None:
    _run(laboratory, synthetic.plan(copies=(2,), blocks=1), monitors)

    words = dict(word.split("=") for word in laboratory.requests[-1].split()[3:])
    assert (words["copies"], words["batches"], words["warmup_ns"]) == ("2", "1", "0")
    assert int(words["limit_ms"]) <= 10_000
    assert "batches" not in laboratory.requests[0]


# --- journal and archive


def _accounted(
    system: str,
    calls: Mapping[str, int],
    *,
    purpose: str = WORK,
    number: int = 0,
    operations: int = 1000,
    cell: Cell = Cell("syscall"),  # noqa: B008 -- frozen
    metrics: Sequence[str] = ("time",),
) -> Accounted:
    return Accounted(
        number,
        system,
        1,
        cell,
        purpose,
        "bpf",
        "ok",
        None,
        tuple(Done(metric, operations) for metric in metrics),
        (Figure("span_ns", 5), Figure("cpu_user_ns", 3)),
        tuple(Called(name, count, 0) for name, count in calls.items()),
    )


def _costs(operations: int, **an_operation: float) -> tuple[Figure, ...]:
    """Figures of the monitor for that many operations, and the span that those take at 1000 ns."""
    return tuple(Figure(name, round(value * operations)) for name, value in an_operation.items())


def _experiment(
    root: Path,
    plan: Plan,
    measured: Callable[[Trial], Outcome | None],
    more: Sequence[Event] = (),
    *,
    closed: bool = False,
    **others: Any,
) -> StoredExperiment:
    found = synthetic.experiment(root, plan, measured, **others)
    journal = Journal(found.path)
    for event in more:
        journal.append(event)
    journal.close()
    return closing.close(found) if closed else found


EVENTS: tuple[Event, ...] = (
    Watched("a", 1, "life", "bpf", ("swap is not seen",), None),
    Watched("b", 1, "life", None, (), "b runs on another host, whose processes are not watched"),
    _accounted("a", {"getppid": 1000, "read": 3}),
    _accounted("a", {}, purpose=SETUP, operations=1),
    _accounted("b", {"getppid": 2000}),
)


@pytest.mark.parametrize("closed", [False, True])
def test_what_was_accounted_for_is_in_the_tables(tmp_path: Path, closed: bool) -> None:
    def measured(trial: Trial) -> Outcome:
        return synthetic.outcome(trial, costs=(Figure("span_ns", 10), Figure("wait_ns", 2**60)))

    found = _experiment(tmp_path, synthetic.plan(blocks=1), measured, EVENTS, closed=closed)

    with reading.connect(found) as connection:
        costs = connection.execute("SELECT * FROM costs ORDER BY ALL").fetchall()
        calls = connection.execute("SELECT * FROM host_calls ORDER BY ALL").fetchall()
        watches = connection.execute("SELECT system, detail, backend, missing, why FROM watches").fetchall()
        accountings = connection.execute(
            "SELECT accounting, round, system, boot, cell, purpose, backend, status, operations, "
            "costs[1].figure FROM accountings ORDER BY accounting"
        ).fetchall()

    assert costs == [(1, "span_ns", 10), (1, "wait_ns", 2**60), (2, "span_ns", 10), (2, "wait_ns", 2**60)]
    assert calls == [(1, "getppid", 1000, 0), (1, "read", 3, 0), (3, "getppid", 2000, 0)]
    assert sorted(watches) == [
        ("a", "life", "bpf", ["swap is not seen"], None),
        ("b", "life", None, [], "b runs on another host, whose processes are not watched"),
    ]
    done = [{"metric": "time", "operations": 1000}]
    assert accountings[0] == (1, 0, "a", 1, "syscall", "work", "bpf", "ok", done, "span_ns")
    assert [row[5] for row in accountings] == ["work", "setup", "work"]


def test_the_journal_says_which_accounting_trials_were_made(tmp_path: Path) -> None:
    found = _experiment(tmp_path, synthetic.plan(blocks=1), lambda trial: None, EVENTS)

    cell = Cell("syscall")
    assert earlier(experiments.lines(found), {"syscall": cell}).accounted == {(0, "a", cell), (0, "b", cell)}


def test_an_experiment_of_an_earlier_version_has_empty_tables(tmp_path: Path) -> None:
    found = synthetic.experiment(tmp_path, synthetic.plan(), synthetic.outcome, closed=True)
    header = json.loads((found.path / experiments.HEADER).read_text())
    header.pop("watched", None)
    (found.path / experiments.HEADER).write_text(json.dumps(header | {"version": 3}))
    for table in ("costs", "accountings", "host_calls", "watches"):
        (found.path / f"{table}.parquet").unlink()

    again = experiments.find(tmp_path, None)

    assert again.header["watched"] is False
    evaluation = evaluate.of(again)
    assert evaluation.accounts == ()
    assert {one.why for one in evaluation.comparisons} == {None}


# --- the why


OPERATIONS = 5_000_000  # of synthetic.outcome


def _noise(trial: Trial, what: str, deviation: float) -> float:
    words = f"{trial.block} {trial.system} {trial.cell.label} {what}".encode()
    return float(np.random.default_rng(list(words)).normal(0, deviation))


def _trial(trial: Trial, *, covered: float = 0.95, **an_operation: float) -> Outcome:
    """A trial whose operations take what their costs add up to, the rest asleep; with a little noise."""
    costs = {
        name: value * (1 + _noise(trial, name, 0.001))
        for name, value in an_operation.items()
        if name != "rest"
    }
    times = sum(costs.get(name, 0.0) for name in ("cpu_user_ns", "cpu_system_ns", "wait_ns"))
    ns = times + an_operation.get("rest", 0.0)
    figures = (*_costs(OPERATIONS, **costs), Figure("span_ns", round(ns * OPERATIONS / covered)))
    return synthetic.outcome(trial, ns, costs=figures)


BASE = {
    "cpu_user_ns": 200.0,
    "cpu_system_ns": 300.0,
    "wait_ns": 10.0,
    "switches_voluntary": 0.001,
    "switches_involuntary": 0.002,
    "faults_minor": 0.0,
    "faults_major": 0.0,
}
GUEST = {
    **BASE,
    "cpu_user_ns": 2200.0,
    "cpu_system_ns": 4300.0,
    "switches_voluntary": 4.0,
    "rest": 500.0,
}


def _setup(system: str, calls: Mapping[str, int] = MappingProxyType({}), **figures: int) -> Accounted:
    costs = tuple(Figure(name, value) for name, value in figures.items())
    return replace(_accounted(system, calls, purpose=SETUP, operations=1), costs=costs)


# Of both systems, a set-up that costs nothing and makes a call.
SETUPS = tuple(_setup(system, {"execve": 1}, run_ns=0) for system in ("a", "b"))


def _weigh(root: Path, other: Mapping[str, float], *more: Event, blocks: int = 12) -> Evaluation:
    return evaluate.of(
        _experiment(
            root,
            synthetic.plan(blocks=blocks),
            lambda trial: _trial(trial, **(BASE if trial.system == "a" else other)),
            more,
        )
    )


def _only(evaluation: Evaluation) -> Comparison:
    (one,) = evaluation.comparisons
    return one


def test_shares_of_the_time_add_up_and_are_those_that_were_put_in(tmp_path: Path) -> None:
    one = _only(_weigh(tmp_path, GUEST, *SETUPS))

    assert one.verdict == verdict.SLOWER
    assert one.why is not None
    assert one.why.is_claimed
    assert one.why.time.value == pytest.approx(6500, rel=0.01)
    shares = {each.cost: each.share for each in one.why.costs if each.share is not None}
    assert shares == pytest.approx(
        {"user": 2000 / 6500, "system": 4000 / 6500, "wait": 0.0, "rest": 500 / 6500}, abs=0.01
    )
    assert sum(shares.values()) == pytest.approx(1.0, abs=0.01)
    assert {each.cost for each in one.why.costs if each.differs} == {"user", "system", "rest", "switches"}
    (switches,) = (each for each in one.why.costs if each.cost == "switches")
    assert switches.difference.value == pytest.approx(4, rel=0.01)
    assert (switches.unit, switches.share) == ("switches", None)
    assert remarks.texts(one.why.remarks) == ()
    assert one.why.blocks == 12


def test_the_sentence_names_calls_and_counts_then_where_the_time_is_spent(tmp_path: Path) -> None:
    counted = [
        _accounted(
            system, {"getppid": 1000, "ptrace": 2000 if system == "b" else 0, "write": 4}, number=number
        )
        for system in ("a", "b")
        for number in range(3)
    ]
    one = _only(_weigh(tmp_path, GUEST, *SETUPS, *counted))

    assert wording.why(one) == (
        "each call costs this host 2 more system calls, 4 more switches; 62 % of the extra time is spent in "
        "system mode"
    )
    assert wording.why_long(one) == (
        "Each call costs this host 2 more system calls (ptrace +2) and 4 more context switches than on a. "
        "62 % of the 6.50 µs of extra time is spent in system mode, 31 % in user mode, 8 % asleep."
    )


def test_a_table_row_ends_with_the_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain.print_csv(_weigh(tmp_path, {**BASE, "cpu_user_ns": 1200.0}))

    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["why"] == "all of the extra time is spent in user mode"


def test_a_cost_that_only_scatters_is_not_named(tmp_path: Path) -> None:
    one = _only(_weigh(tmp_path, {**BASE, "cpu_user_ns": 1200.0}))

    assert one.why is not None
    assert [each.cost for each in one.why.costs if each.differs] == ["user"]
    assert wording.why(one) == "all of the extra time is spent in user mode"


def test_where_the_time_does_not_differ_nothing_is_said(tmp_path: Path) -> None:
    one = _only(_weigh(tmp_path, BASE))

    assert one.verdict == verdict.EQUIVALENT
    assert one.why is not None
    assert not one.why.is_claimed
    assert {each.share for each in one.why.costs} == {None}
    assert wording.why(one) == ""


def _as_if(root: Path, other: Mapping[str, float], word: str, *, blocks: int) -> Comparison:
    """The comparison with its why, if its verdict were this word."""
    found = _experiment(
        root,
        synthetic.plan(blocks=blocks),
        lambda trial: _trial(trial, **(BASE if trial.system == "a" else other)),
        SETUPS,
    )
    (one,) = evaluate.of(found).comparisons
    with reading.connect(found) as connection:
        costs = Costs(Observations(found, rows.read(connection)))
        (explained,) = costs.explained([replace(one, verdict=word, why=None)])
    return explained


@pytest.mark.parametrize("blocks", [3, 4, 5, 8, 12, 16])
def test_costs_that_truly_differ_are_claimed_from_few_blocks_on(tmp_path: Path, blocks: int) -> None:
    one = _as_if(tmp_path, GUEST, verdict.SLOWER, blocks=blocks)

    assert one.why is not None
    assert one.why.is_claimed
    assert {each.cost for each in one.why.costs if each.differs} == {"user", "system", "rest", "switches"}
    for each in one.why.costs:
        assert each.difference.low is not None
        assert each.difference.low <= each.difference.value
        assert not each.differs or each.difference.low > 0


@pytest.mark.parametrize("word", [verdict.UNRESOLVED, verdict.EQUIVALENT, verdict.BOUNDED])
def test_no_cost_is_claimed_of_a_difference_that_is_not(tmp_path: Path, word: str) -> None:
    one = _as_if(tmp_path, GUEST, word, blocks=12)

    assert one.why is not None
    assert not one.why.is_claimed
    assert not any(each.differs or each.share is not None for each in one.why.costs)


def test_one_block_claims_nothing(tmp_path: Path) -> None:
    one = _only(_weigh(tmp_path, GUEST, *SETUPS, blocks=1))

    assert one.why is not None
    assert not any(each.differs or each.share is not None for each in one.why.costs)
    assert {each.difference.low for each in one.why.costs} == {None}
    assert wording.why(one) == ""


def test_where_set_up_is_much_of_what_was_accounted_for_no_share_is_said(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        return _trial(trial, covered=0.4, **(BASE if trial.system == "a" else GUEST))

    one = _only(evaluate.of(_experiment(tmp_path, synthetic.plan(), measured, SETUPS)))

    assert one.why is not None
    assert one.why.covered == pytest.approx(0.4, rel=0.01)
    assert {each.share for each in one.why.costs} == {None}
    assert remarks.texts(one.why.remarks) == (
        "only 40 % of the accounted time was spent in operations: the costs include too much of set-up for "
        "shares",
    )
    assert wording.why(one) == (
        "each call costs this host 2.00 µs more in user mode, 4.00 µs more in system mode, 4 more switches"
    )


@pytest.mark.parametrize("more", [(), SETUPS[:1], SETUPS[1:]])
def test_where_set_up_is_not_known_of_both_no_count_is_claimed(tmp_path: Path, more: Sequence[Event]) -> None:
    # All that differs may be what the guest's set-up makes: thousands of switches, in a trial of a few calls.
    one = _only(_weigh(tmp_path, GUEST, *more))

    assert one.why is not None
    assert {each.cost for each in one.why.costs if each.differs} == {"user", "system", "rest"}
    assert remarks.texts(one.why.remarks) == (
        "the cost of set-up was not measured on both: counts include it, and no difference is claimed",
    )


def test_a_time_that_set_up_could_be_is_not_claimed(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        return _trial(trial, covered=0.4, **(BASE if trial.system == "a" else GUEST))

    one = _only(evaluate.of(_experiment(tmp_path, synthetic.plan(), measured)))

    assert one.why is not None
    assert not any(each.differs for each in one.why.costs)
    assert wording.why(one) == ""


def test_waiting_that_may_be_set_up_s_is_not_claimed(tmp_path: Path) -> None:
    # Set-up's waiting stays in the trial's: this much of it is as much as half of the difference, and more.
    def waiting(setup_ns: float) -> bool:
        setups = [_setup(system, run_ns=0, wait_ns=round(setup_ns * OPERATIONS)) for system in ("a", "b")]
        one = _only(_weigh(tmp_path / str(setup_ns), {**GUEST, "wait_ns": 1010.0}, *setups))
        assert one.why is not None
        return next(each.differs for each in one.why.costs if each.cost == "wait")

    assert waiting(300.0)
    assert not waiting(700.0)


def test_set_up_that_is_known_of_one_system_is_taken_from_neither(tmp_path: Path) -> None:
    setup = _setup("b", cpu_user_ns=round(0.1 * OPERATIONS * BASE["cpu_user_ns"]))

    one = _only(_weigh(tmp_path, BASE, setup))

    assert one.why is not None
    (user,) = (each for each in one.why.costs if each.cost == "user")
    assert user.value == pytest.approx(user.baseline_value, rel=0.01)


def test_processes_that_run_at_once_have_shares_beyond_the_whole_and_it_is_said(tmp_path: Path) -> None:
    one = _only(_weigh(tmp_path, {**GUEST, "rest": -4000.0}, *SETUPS))

    assert one.why is not None
    (rest,) = (each for each in one.why.costs if each.cost == "rest")
    assert rest.share is not None
    assert rest.share < -1
    assert remarks.texts(one.why.remarks) == (
        "several processes ran at once, or one saved what another cost: shares exceed 100 %",
    )


def test_what_one_system_does_not_know_is_compared_on_neither(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        told = _trial(trial, **(BASE if trial.system == "a" else GUEST))
        if trial.system == "b":
            told = synthetic.outcome(
                trial, 7000.0, costs=tuple(one for one in told.costs if one.figure != "wait_ns")
            )
        return told

    evaluation = evaluate.of(_experiment(tmp_path, synthetic.plan(), measured))

    one = _only(evaluation)
    assert one.why is not None
    assert {each.cost for each in one.why.costs} == {"user", "system", "switches", "faults", "major faults"}
    known = {each.system: set(each.costs) for each in evaluation.accounts}
    assert known["a"] - known["b"] == {"wait", "rest"}


def test_a_trial_of_several_metrics_tells_their_costs_not_apart(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        return synthetic.outcome(trial, costs=(*_costs(OPERATIONS, **BASE), Figure("span_ns", 10**9)))

    evaluation = evaluate.of(_experiment(tmp_path, synthetic.plan("disktest", "syscall"), measured))

    assert {one.workload: one.why is None for one in evaluation.comparisons} == {
        "disktest": True,
        "syscall": False,
    }
    assert {one.workload for one in evaluation.accounts} == {"syscall"}


def test_boots_are_what_is_replicated_where_a_start_is_a_boot(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        boot = 1 + trial.block // 6 if trial.system == "b" else 1
        guest = {**BASE, "cpu_user_ns": 2200.0 * boot}
        told = _trial(trial, **(BASE if trial.system == "a" else guest))
        return synthetic.outcome(trial, told.samples[0].durations_ns[0] / 1e6, costs=told.costs, boot=boot)

    one = _only(
        evaluate.of(_experiment(tmp_path, synthetic.plan(blocks_per_boot=6), measured, boot_systems=("b",)))
    )

    assert one.boots == 2  # twelve blocks that agree, but two boots that do not
    assert one.why is not None
    assert not any(each.differs for each in one.why.costs)


def test_what_a_trial_of_one_operation_costs_is_taken_away(tmp_path: Path) -> None:
    operations = 1001

    def measured(trial: Trial) -> Outcome:
        costs = {"cpu_user_ns": 30_000_000, "cpu_system_ns": 0, "run_ns": 30_000_000, "wait_ns": 5_000_000}
        figures = tuple(Figure(*one) for one in {**costs, "faults_minor": 3070, "faults_major": 0}.items())
        return synthetic.outcome(trial, 40_000.0, operations=operations, batches=1, costs=figures)

    setup = _setup("a", run_ns=10_000_000, wait_ns=4_000_000, faults_minor=70, faults_major=0)
    first, second = evaluate.of(_experiment(tmp_path, synthetic.plan(), measured, (setup,))).accounts

    assert first.costs["run"] == 20_000_000 / 1000
    assert first.costs["faults"] == 3.0
    assert first.costs["wait"] == 5_000_000 / 1000  # of the machine, not of set-up
    assert second.costs["run"] == 30_000_000 / operations


def test_a_difference_that_set_up_alone_makes_is_not_claimed(tmp_path: Path) -> None:
    # The same costs on both; the set-up that was measured for b is 1 % of them too large.
    setups = [
        _setup(system, cpu_user_ns=user, cpu_system_ns=0, run_ns=user)
        for system, user in (("a", 0), ("b", 10_000_000))
    ]
    one = _only(_weigh(tmp_path, BASE, *setups))

    assert one.why is not None
    assert not any(each.differs for each in one.why.costs)


def test_trials_too_short_for_clock_ticks_do_not_tell_user_from_system_mode(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        ns = 1000.0 if trial.system == "a" else 3000.0
        user = round(ns * 2000)
        figures = (Figure("cpu_user_ns", user), Figure("cpu_system_ns", 0), Figure("run_ns", user))
        more = (Figure("wait_ns", 0), Figure("span_ns", user))
        return synthetic.outcome(trial, ns, operations=1000, batches=2, costs=(*figures, *more))

    one = _only(evaluate.of(_experiment(tmp_path, synthetic.plan(), measured, SETUPS)))

    assert wording.why(one) == "all of the extra time is spent running"
    assert one.why is not None
    assert remarks.texts(one.why.remarks) == (
        "the trials met too few clock ticks to tell user from system mode: both are in run",
    )


# --- system calls


def test_calls_of_set_up_cancel_where_both_kinds_of_trials_were_made(tmp_path: Path) -> None:
    counted = [
        _accounted("a", {"getppid": 1000, "execve": 1, "read": 40}, number=number) for number in range(3)
    ]
    counted.append(_accounted("a", {"getppid": 1, "execve": 1, "read": 40}, purpose=SETUP, operations=1))
    (account, *_) = _weigh(tmp_path, GUEST, *counted).accounts

    assert account.calls is not None
    assert account.calls["getppid"] == (1.0, 0.0)
    assert account.calls["execve"] == account.calls["read"] == (0.0, 0.0)
    assert account.calls["all"][0] == 1.0
    assert account.setup_calls == 41
    assert wording.most_called(account) == "1.00 (getppid 1.00)"


def test_calls_without_a_set_up_trial_hold_set_up(tmp_path: Path) -> None:
    (account, *_) = _weigh(tmp_path, GUEST, _accounted("a", {"fork": 20, "read": 40}, operations=20)).accounts

    assert account.calls == {"fork": (1.0, 0.0), "read": (2.0, 0.0), "all": (3.0, 0.0)}
    assert account.setup_calls is None


def test_a_call_that_overlaps_between_the_systems_is_not_named(tmp_path: Path) -> None:
    counted = [
        _accounted(system, {"read": count}, number=number)
        for system, counts in {"a": (1000, 1200, 1100), "b": (1150, 1400, 1300)}.items()
        for number, count in enumerate(counts)
    ]
    one = _only(_weigh(tmp_path, GUEST, *counted))

    assert one.why is not None
    assert {(each.call, each.differs) for each in one.why.calls} == {("read", False), ("all", False)}


def test_what_was_counted_on_one_system_alone_is_no_difference(tmp_path: Path) -> None:
    evaluation = _weigh(tmp_path, GUEST, _accounted("a", {"read": 1000}))

    one = _only(evaluation)
    assert one.why is not None
    assert one.why.calls == ()
    assert [each.calls is None for each in evaluation.accounts] == [False, True]


def _counted(number: int, system: str, calls: Mapping[str, int]) -> Accounted:
    return _accounted(system, calls, number=number)


def test_calls_that_hold_set_up_are_not_compared(tmp_path: Path) -> None:
    one = _only(
        _weigh(tmp_path, GUEST, SETUPS[0], _counted(0, "a", {"read": 9}), _counted(0, "b", {"read": 9000}))
    )

    assert one.why is not None
    assert {(each.call, each.differs) for each in one.why.calls if each.call == "read"} == {("read", False)}


def test_calls_that_set_up_s_scatter_could_be_are_not_named(tmp_path: Path) -> None:
    setups = [_setup("a", {"read": 10}), _setup("b", {"ptrace": 1000}), _setup("b", {"ptrace": 1400})]
    made = {"a": {"read": 1000}, "b": {"read": 3000, "ptrace": 1700}}

    one = _only(_weigh(tmp_path, GUEST, *setups, *(_counted(7, *each) for each in made.items())))

    assert one.why is not None
    differs = {each.call: each.differs for each in one.why.calls}
    assert differs["read"]
    assert not differs["ptrace"]


@pytest.mark.parametrize("rounds", [(4,), (2, 9), (0, 1, 2)])
def test_accounting_rounds_count_however_they_are_numbered(tmp_path: Path, rounds: Sequence[int]) -> None:
    made = {"a": {"getppid": 1000}, "b": {"getppid": 1000, "ptrace": 5000}}
    counted = [_counted(number, *each) for number in rounds for each in made.items()]

    one = _only(_weigh(tmp_path, GUEST, *counted, *SETUPS))

    assert one.why is not None
    assert {each.call for each in one.why.calls if each.differs} == {"all", "ptrace"}
    assert one.why.calls[0].value - one.why.calls[0].baseline_value == pytest.approx(5, rel=0.01)


def test_few_rounds_name_large_differences_only(tmp_path: Path) -> None:
    made = {"a": {"futex": 1000}, "b": {"futex": 1100}}

    def differs(root: Path, rounds: int) -> bool:
        counted = [_counted(number, *each) for number in range(rounds) for each in made.items()]
        one = _only(_weigh(root, GUEST, *counted, *SETUPS))
        assert one.why is not None
        return {each.call: each.differs for each in one.why.calls}["futex"]

    assert not differs(tmp_path / "two", 2)
    assert differs(tmp_path / "three", 3)


def test_a_third_system_and_a_second_cell_need_no_accounting_trials(tmp_path: Path) -> None:
    costs = {"a": BASE, "b": GUEST, "c": GUEST}
    made = {"a": {"getppid": 1000}, "b": {"getppid": 3000}}

    evaluation = evaluate.of(
        _experiment(
            tmp_path,
            synthetic.plan("syscall", "sieve", systems=("a", "b", "c")),
            lambda trial: _trial(trial, **costs[trial.system]),
            (*SETUPS, *(_counted(5, *each) for each in made.items())),
        )
    )

    whys = {(one.system, one.cell): one.why for one in evaluation.comparisons}
    assert all(whys.values())
    assert {key for key, why in whys.items() if why and why.calls} == {("b", "syscall")}
    said = {(one.system, one.cell): wording.why(one) for one in evaluation.comparisons}
    assert "2 more system calls" in said["b", "syscall"]
    assert (
        said["c", "sieve"] == "62 % of the extra time is spent in system mode, 31 % in user mode, 8 % asleep"
    )


# --- what is said


def test_what_could_not_be_watched_is_said_once_a_system(tmp_path: Path) -> None:
    evaluation = _weigh(
        tmp_path,
        BASE,
        Watched("a", 1, "life", "proc", ("processes that live shorter than a look are lost",), None),
        Watched("a", 2, "life", "proc", ("processes that live shorter than a look are lost",), None),
        Watched("a", 1, "calls", None, (), "not root"),
        Watched("b", 1, "life", None, (), "b runs on another host"),
    )

    assert remarks.texts(evaluation.remarks) == (
        "a was not accounted for call by call: not root",
        "b was not accounted for: b runs on another host",
        "the monitor (proc) of a has blind spots: processes that live shorter than a look are lost",
    )


# --- the whole way, with fakes at both ends


def _fake(words: str = "") -> dict[str, str]:
    return {"STEELYARD_WATCH": str(FAKE_WATCH), "STEELYARD_FAKE_WATCH": words}


def test_run_with_watch_ends_in_accounts_and_a_why(
    steelyard: Run, write_study: Callable[..., str], tmp_path: Path
) -> None:
    study = write_study(systems={"a": "time=1000", "b": "time=2000"}, blocks=6)

    done = steelyard(
        "run", study, "--watch", "--format", "json", "--html", str(tmp_path / "page.html"), **_fake()
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(one["system"], one["trials"]) for one in found["accounts"]] == [("a", 5), ("b", 5)]
    assert found["accounts"][0]["calls"]["getppid"] == [1.0, 0.0]
    assert found["accounts"][0]["costs"]["switches"] == (8000 + 9000) / 5000
    assert found["comparisons"][0]["why"]["blocks"] == 5  # two times is firm by then
    page = (tmp_path / "page.html").read_text()
    assert "What an operation costs this host" in page
    assert "counting the system calls of a" in done.stderr

    said = steelyard("report")
    assert "What an operation costs this host" in said.stdout


def test_run_without_watch_starts_no_monitor(
    steelyard: Run, write_study: Callable[..., str], tmp_path: Path
) -> None:
    study = write_study(systems={"a": "", "b": ""}, blocks=2)

    done = steelyard("run", study, "--no-watch", "--format", "json", **_fake(f"log={tmp_path / 'log'}"))

    assert done.returncode == 0
    assert not (tmp_path / "log").exists()
    assert json.loads(done.stdout)["accounts"] == []


@pytest.mark.parametrize("words", ["refuse", "die=2"])
def test_a_monitor_that_fails_never_fails_the_run(
    steelyard: Run, write_study: Callable[..., str], words: str
) -> None:
    study = write_study(systems={"a": "", "b": ""}, blocks=2)

    done = steelyard("run", study, "--watch", "--format", "json", **_fake(words))

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["trials"] == 4
    assert found["troubles"] == []
    if words == "refuse":
        assert "a is not accounted for: the monitor has ended: no backend works here" in done.stderr
        assert len(found["warnings"]) >= 2


def test_no_monitor_is_left_when_a_run_ends(
    steelyard: Run, write_study: Callable[..., str], tmp_path: Path
) -> None:
    study = write_study(systems={"a": "", "b": "die=3"}, blocks=3)

    steelyard("run", study, "--watch", **_fake(f"log={tmp_path / 'log'}"))

    lines = (tmp_path / "log").read_text().splitlines()
    pids = {line.split()[0] for line in lines}
    assert {line.split()[0] for line in lines if line.endswith(" end")} == pids
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


# --- and for real


REAL = """
name = "small"
title = "small"
systems = ["native"]
[design]
looks = [2]
budget = "60s"
[trial]
batches = 3
batch_ns = 2000000
warmup_ns = 0
[[workload]]
name = "syscall"
[[workload]]
name = "fork_exit"
"""


def test_an_operation_of_a_native_system_makes_the_calls_that_it_should(
    steelyard: Run,
    real: Path,
    tmp_path: Path,
) -> None:
    (tmp_path / "real.toml").write_text(REAL)

    done = steelyard("run", str(tmp_path / "real.toml"), "--watch", "--format", "json")

    assert done.returncode == 0, done.stderr
    accounts = {one["workload"]: one for one in json.loads(done.stdout)["accounts"]}
    assert accounts["syscall"]["trials"] == 2
    assert accounts["syscall"]["calls"]["getppid"] == [pytest.approx(1.0, abs=1e-9), 0.0]
    assert accounts["syscall"]["setup_calls"] > 10
    assert accounts["syscall"]["costs"]["run"] > 0
    # Of each child: a fork, its exit and the wait for it; a first one before sizing is set-up's.
    calls = accounts["fork_exit"]["calls"]
    for call in ("exit_group", "wait4"):
        assert calls[call][0] == pytest.approx(1.0, abs=0.02), calls
    assert accounts["fork_exit"]["costs"]["faults"] > 1


def test_the_fake_agent_s_failure_is_the_system_s(laboratory: Laboratory, monitors: Monitors) -> None:
    laboratory.behave = lambda system, workload, number: (
        SystemFailed("gone") if (system, number) == ("b", 2) else "ok"
    )

    outcomes = _of(_run(laboratory, synthetic.plan(blocks=3), monitors), Outcome)

    assert [one.status for one in outcomes if one.trial.system == "b"].count("failed") == 1
