"""Trials whose batches take turns, led by the laboratory: the order, who falls out, and a whole run."""

import json
import os
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import synthetic
import trial_records
from hypothesis import given
from hypothesis import strategies as some
from installed_command import Run

from steelyard import allowance
from steelyard.archive import experiments, reading
from steelyard.errors import SystemFailed
from steelyard.events import Outcome, Samples
from steelyard.programs import built
from steelyard.running import turns
from steelyard.running.dialogue import Silent
from steelyard.running.expectation import Expectation
from steelyard.running.order import Order, obstacle_to_turns, plan_of
from steelyard.running.records import ClockReading, TrialParser
from steelyard.study import turns as batches_of
from steelyard.systems.protocol import RefusedRequest


@given(some.integers(1, 6), some.integers(1, 60), some.integers(1, 3), some.integers())
def test_in_each_cycle_every_system_has_a_batch_and_every_second_order_is_reversed(
    partners: int, cycles: int, times: int, seed: int
) -> None:
    runs = list(turns.runs(partners, cycles=cycles, times=times, chance=random.Random(seed)))

    each = [number for number, batches in runs for _ in range(batches)]
    assert Counter(each) == dict.fromkeys(range(partners), cycles)
    orders = [
        list(dict.fromkeys(each[begin : begin + partners * times]))
        for begin in range(0, len(each), partners * times)
    ]
    assert all(sorted(order) == list(range(partners)) for order in orders)
    assert all(order == (orders[0][::-1] if number % 2 else orders[0]) for number, order in enumerate(orders))
    if partners > 1:
        assert max(batches for _, batches in runs) <= 2 * times
        assert all(one != other for (one, _), (other, _) in pairwise(runs))


def test_short_batches_have_turns_of_four() -> None:
    assert [batches_of.in_a_row(batches) for batches in (3, 10, 71, 72)] == [1, 1, 1, 2]


class FakeLed:
    """A trial that goes as it should until the turn that `ends` it, by that error."""

    def __init__(
        self, name: str, *, ends: int = -1, by: Exception | str | None = None, batches: int = 10
    ) -> None:
        self.batches_most = batches
        self.trial = SimpleNamespace(name=name)
        self.agent = SimpleNamespace(
            send=self._hear,
            step_aside=lambda: self._move(is_there=False),
            step_back=lambda: self._move(is_there=True),
        )
        self.is_there = True  # on the processor of the turns
        self.is_over = False
        self.batches = 0
        self._asked = 0
        self._ends, self._by = ends, by

    def _move(self, *, is_there: bool) -> None:
        self.is_there = is_there

    def _hear(self, request: str) -> None:
        word, name, batches = request.split()
        assert (word, name) == ("turn", self.trial.name)
        assert not self.is_over
        assert self.is_there
        self._asked += 1
        self.batches += int(batches)

    def ask(self) -> None:
        """It goes well."""

    def listen(self, kind: str | None = None) -> dict[str, int] | None:
        if self._asked == self._ends and isinstance(self._by, Exception):
            raise self._by
        if kind is None or (self._asked == self._ends and self._by == "is over"):
            self.is_over = True
            return None
        return {"batches": self.batches_most} if kind == turns.WAITING else {}

    def outcome(self) -> Outcome:
        done = Samples(0, "time", 1, tuple(range(1, self.batches + 1)))
        return Outcome(self.trial, 1, "ok", samples=(done,) if self.batches else ())  # type: ignore[arg-type]

    def refused(self, refusal: RefusedRequest) -> Outcome:
        return Outcome(self.trial, 1, "failed", "it was refused")  # type: ignore[arg-type]


def done(one: turns.Partner) -> tuple[int, int]:
    """How many batches of the trial were in turns, and how many alone."""
    assert one.outcome is not None
    return sum(len(each.durations_ns) for each in one.outcome.samples), len(one.outcome.alone_ns or ())


@pytest.mark.parametrize(
    ("by", "outcome"),
    [
        (RefusedRequest("it lied"), "failed"),
        (SystemFailed("it has ended"), SystemFailed),
        (Silent(), Silent),
        ("is over", "ok"),
    ],
    ids=["refused", "lost", "silent", "over"],
)
def test_the_others_go_on_when_one_falls_out(by: Any, outcome: Any) -> None:
    leds: list[Any] = [FakeLed("a"), FakeLed("b", ends=2, by=by), FakeLed("c")]

    a, b, c = turns.perform(leds, seed=1)

    assert (done(a), done(c)) == ((8, 2), (8, 2))
    assert leds[1].batches < 5
    if isinstance(outcome, str):
        assert b.error is None
        assert b.outcome is not None
        assert b.outcome.status == outcome
        assert b.outcome.alone_ns is None
    else:
        assert isinstance(b.error, outcome)
        assert b.outcome is None


def test_all_do_as_many_batches_as_the_slowest_would_by_itself() -> None:
    leds: list[Any] = [FakeLed("a", batches=16), FakeLed("b", batches=3), FakeLed("c", batches=9)]

    turns.perform(leds, seed=1)

    assert [one.batches for one in leds] == [3, 3, 3]


def test_the_last_of_the_batches_are_done_alone_and_kept_apart() -> None:
    leds: list[Any] = [FakeLed("a", batches=72), FakeLed("b", batches=80)]

    partners = turns.perform(leds, seed=1)

    for one in partners:
        assert one.outcome is not None
        (samples,) = one.outcome.samples
        assert samples.durations_ns == tuple(range(1, 65))
        assert one.outcome.alone_ns == tuple(range(65, 73))


@given(some.integers(0, 200))
def test_few_of_the_batches_are_done_alone(batches: int) -> None:
    assert 0 <= 5 * batches_of.alone(batches) <= batches
    assert batches_of.alone(batches) <= 8


def test_one_that_is_over_before_its_first_turn_does_not_stop_the_others() -> None:
    leds: list[Any] = [FakeLed("a", ends=0, by="is over", batches=0), FakeLed("b"), FakeLed("c")]

    turns.perform(leds, seed=1)

    assert [one.batches for one in leds] == [0, 10, 10]


def test_the_laboratory_is_where_it_was_afterwards() -> None:
    before = os.sched_getaffinity(0)
    with turns.beside(min(before)):
        assert os.sched_getaffinity(0) == {min(before)}
    assert os.sched_getaffinity(0) == before
    with turns.beside(allowance.PROCESSORS_MOST - 1):  # there is none
        assert os.sched_getaffinity(0) == before


def test_the_laboratory_gives_way_to_whose_turn_it_is() -> None:
    policies: list[int] = []

    class Watched(FakeLed):
        def listen(self, kind: str | None = None) -> dict[str, int] | None:
            policies.append(os.sched_getscheduler(0))
            return super().listen(kind)

    before = os.sched_getscheduler(0)
    assert before == os.SCHED_OTHER
    turns.perform([Watched("a"), Watched("b", ends=1, by=Silent())], seed=1)  # type: ignore[list-item]

    assert set(policies) == {os.SCHED_BATCH}
    assert os.sched_getscheduler(0) == before


def test_batches_that_took_another_time_than_was_told_after_their_turn_are_refused() -> None:
    trial = synthetic.trials(synthetic.plan("sieve"))[0]
    workload = built.catalogue().find("sieve")
    wanted = {"turns": 1, "batches": 2, "operations": 10}
    request = f"trial {trial.name} sieve turns=1 batches=2 operations=10"

    def heard(told: list[int]) -> TrialParser:
        clock = iter(range(10**6, 10**9, 10**6))
        parser = TrialParser(Expectation(trial, workload, wanted, {}, 1))
        records = list(
            trial_records.trial(request, clock=lambda: next(clock), durations_ns=lambda _: [500, 600])
        )
        for one in (records[0], {"record": "turn", "trial": trial.name, "durations_ns": told}, *records[1:]):
            parser.ends_with(one)
        return parser

    begun, ended = ClockReading(0, 0, 10**9), ClockReading(10**8, 10**8, 10**9)
    assert heard([500, 600]).outcome(1, began=0.0, before=begun, after=ended).status == "ok"
    with pytest.raises(RefusedRequest, match="must be as after each turn"):
        heard([500, 601]).outcome(1, began=0.0, before=begun, after=ended)


STUDY = """
name = "turns"
title = "turns"
systems = ["native", "native-musl"]
[design]
blocks = 2
budget = "60s"
[[workload]]
name = "sieve"
[[workload]]
name = "memory_copy"
from = 4096
to = 4096
[[workload]]
name = "pipe_latency"
batches = 2
"""


@pytest.mark.program
def test_a_study_is_measured_in_turns_where_that_can_be(
    steelyard: Run, archive: Path, tmp_path: Path
) -> None:
    study = tmp_path / "turns.toml"
    study.write_text(STUDY)

    answer = steelyard("run", str(study), "--format", "json", "--new")

    assert answer.returncode == 0, answer.stderr
    found = experiments.find(archive, None)
    in_turns = ["memory_copy from=4096 to=4096", "sieve"]
    assert found.header["in_turns"] == in_turns
    with reading.connect(found) as tables:
        trials = tables.execute(
            "SELECT cell, block, together, len(list(s.duration_ns)), any_value(len(t.alone_ns)) "
            "FROM trials t JOIN samples s USING (trial) WHERE t.status = 'ok' "
            "GROUP BY t.trial, cell, block, system, together"
        ).fetchall()
    for cell in in_turns:
        for block in {one[1] for one in trials if one[0] == cell}:
            both = [one for one in trials if one[:2] == (cell, block)]
            assert len(both) == 2
            assert len({one[2:] for one in both}) == 1
            for _, _, together, batches, alone in both:
                assert together
                assert 3 <= batches <= 64
                assert alone == batches_of.alone(batches + alone)
    assert {(one[2], one[4]) for one in trials if one[0] == "pipe_latency"} == {(None, None)}
    compared = {one["cell"]: one for one in json.loads(answer.stdout)["comparisons"]}
    assert {compared[cell]["lens"] for cell in in_turns} == {"typical"}
    assert all(compared[cell]["blocks"] >= 2 for cell in in_turns)


@pytest.mark.program
def test_the_runs_of_a_command_alternate_with_those_of_another(
    steelyard: Run, archive: Path, tmp_path: Path
) -> None:
    """Each writes down when it runs. There is no set-up of the one between two runs of the other either."""
    times = tmp_path / "times"
    script = f'echo "$0" $(date +%s%N) >> {times}; sleep 0.02; echo "$0" $(date +%s%N) >> {times}'
    (tmp_path / "script").write_text(script)
    commands = [f"{name}=sh -c '. {tmp_path}/script' {name}" for name in ("a", "b")]

    answer = steelyard(
        *("compare", *(word for one in commands for word in ("--command", one))),
        *("--budget", "3s", "--new"),
    )

    assert answer.returncode == 0, answer.stderr
    found = experiments.find(archive, None)
    assert len(found.header["in_turns"]) == 1
    with reading.connect(found) as tables:
        trials = tables.execute(
            "SELECT block, together, list(s.metric ORDER BY s.metric), count(*) FILTER (s.metric = 'time') "
            "FROM trials t JOIN samples s USING (trial) WHERE t.status = 'ok' "
            "GROUP BY t.trial, block, together, system ORDER BY block"
        ).fetchall()
    assert all(together for _, together, _, _ in trials)
    assert {tuple(sorted(set(metrics))) for _, _, metrics, _ in trials} == {("peak memory", "time")}
    assert all(3 <= runs <= 5 for *_, runs in trials)
    assert len({(block, runs) for block, _, _, runs in trials}) == len(trials) / 2
    runs = [line.split() for line in times.read_text().splitlines()]
    assert all(first[0] == last[0] for first, last in zip(runs[::2], runs[1::2], strict=True))
    order = "".join(name for name, _ in runs[::2])
    assert "abba" in order
    assert "baab" in order


@pytest.mark.program
def test_a_long_command_is_run_once_in_a_trial_in_turns_too(
    steelyard: Run, archive: Path, tmp_path: Path
) -> None:
    study = tmp_path / "long.toml"
    study.write_text(
        'name = "long"\ntitle = "long"\nsystems = ["native", "native-musl"]\n'
        '[design]\nblocks = 2\nbudget = "60s"\ntrial_limit = "2s"\n'
        '[[workload]]\nname = "command"\ncommand = "sleep 1.1"\n'
    )

    answer = steelyard("run", str(study), "--new")

    assert answer.returncode == 0, answer.stderr
    with reading.connect(experiments.find(archive, None)) as tables:
        found = tables.execute(
            "SELECT count(*), min(s.duration_ns) FROM trials t JOIN samples s USING (trial) "
            "WHERE t.status = 'ok' AND s.metric = 'time' GROUP BY t.trial"
        ).fetchall()
    assert [runs for runs, _ in found] == [1] * 4  # the limit is of each one, not of both
    assert all(1.1e9 < shortest < 1.9e9 for _, shortest in found)


def test_a_plan_says_which_cells_take_turns_and_why_others_do_not(steelyard: Run, tmp_path: Path) -> None:
    study = tmp_path / "turns.toml"
    study.write_text(STUDY)
    said = " ".join(steelyard("plan", str(study)).stdout.split())
    assert "The batches of all systems take turns at 2 of 3 cells." in said
    assert "They do not at pipe_latency: " in said

    study.write_text(
        STUDY.replace("native-musl", "other") + '[system.other]\nbase = "native"\nprocessors = [0]\n'
    )
    said = " ".join(steelyard("plan", str(study)).stdout.split())
    assert "No batches take turns: not all systems can be measured at the same time" in said


@pytest.mark.parametrize(
    ("workload", "obstacle"),
    [
        ('name = "sieve"', None),
        ('name = "sieve"\nbatch_ns = 3000000', None),
        ('name = "pipe_latency"\nplace = 1', None),
        ('name = "pipe_latency"\nplace = 1\noperations = 9', "the study says how many operations"),
        ('name = "file_create"\noperations = 20', None),
        ('name = "file_read_cached"\nsize = 1048576', None),
        ('name = "file_read_cached"', "its file would not stay in the cache"),
        ('name = "tcp_latency"\nplace = 1', None),
        ('name = "tcp_latency"\nplace = 2', "it may use several processors"),
        ('name = "syscall"', "it may use several processors"),
        ('name = "sieve"\ncopies = 2', "several copies work at once"),
        ('name = "sieve"\nbatch_ns = 3000001', "the study lets a batch last longer than a turn"),
        ('name = "memory_copy"', "its trial is a curve"),
        ('name = "memory_copy"\nfrom = 2097152\nto = 2097152', "its memory would not stay in the cache"),
        ('name = "context_switch"\nplace = 1', "its trial measures several things, one after the other"),
        ('name = "file_commit"\nplace = 1', "its trial measures several things, one after the other"),
        ('name = "command"\ncommand = "true"', None),
        ('name = "command"\ncommand = "true"\noperations = 1', None),
        ('name = "command"\ncommand = "true"\nprepare = "true"', "what is done before and after a run"),
        ('name = "command"\ncommand = "true"\ncleanup = "true"', "what is done before and after a run"),
        ('name = "command"\ncommand = "true"\ncopies = 2', "several copies work at once"),
    ],
)
def test_whether_a_cell_takes_turns(workload: str, obstacle: str | None, tmp_path: Path) -> None:
    study = tmp_path / "one.toml"
    study.write_text(f'name = "one"\ntitle = "one"\nsystems = ["native"]\n[[workload]]\n{workload}\n')

    schedule = plan_of(Order(str(study), ("native", "native-musl"), (), None, 1))

    (cell,) = schedule.cells
    assert (obstacle_to_turns(cell, schedule) or "").startswith(obstacle or "")
    assert bool(schedule.in_turns) == (obstacle is None)


@pytest.mark.parametrize(
    ("systems", "definition"),
    [
        (("native",), ""),
        (("native", "tuned"), '[system.tuned]\nbase = "native"\nhuge_pages = "never"\n'),
        (("native", "traced"), '[system.traced]\nbase = "native"\nunder = ["strace", "-f"]\n'),
        (("native", "wide"), '[system.wide]\nbase = "native"\ntrial = { copies = 2 }\n'),
        (("native", "ssh:elsewhere"), ""),
    ],
    ids=["alone", "machine's settings", "under a monitor", "other trials", "elsewhere"],
)
def test_systems_that_cannot_take_turns(systems: tuple[str, ...], definition: str, tmp_path: Path) -> None:
    study = tmp_path / "one.toml"
    study.write_text(
        f'name = "one"\ntitle = "one"\nsystems = ["native"]\n{definition}[[workload]]\nname = "sieve"\n'
    )
    assert not plan_of(Order(str(study), systems, (), None, 1)).in_turns


def test_a_study_says_that_no_batches_take_turns(steelyard: Run, tmp_path: Path) -> None:
    study = tmp_path / "turns.toml"
    study.write_text(STUDY.replace("[design]", "[design]\nturns = false"))
    assert "take turns" not in steelyard("plan", str(study)).stdout


def test_the_parameter_is_the_laboratory_s(steelyard: Run, tmp_path: Path) -> None:
    study = tmp_path / "turns.toml"
    study.write_text(STUDY + '[[workload]]\nname = "syscall"\nturns = 1\n')
    answer = steelyard("plan", str(study))
    assert answer.returncode == 2
    assert "no parameter 'turns'" in answer.stderr
