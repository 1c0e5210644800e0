"""The state of the machine is judged by absolute limits, said where a reader looks, and blamed on nobody who
has no part in it."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from comparisons import compared, evaluation, open_one

from steelyard.analysis import conditions, evaluate
from steelyard.analysis.model import Condition, Evaluation, MachineState
from steelyard.events import Outcome, Surroundings, Usage
from steelyard.report import answers, console, page, plain
from steelyard.running import dialogue
from steelyard.study.plan import Trial
from steelyard.words import care

SECOND = 1_000_000_000


def around(*, others: float = 0.0, own: float = 0.5, processors: int = 2, **more: Any) -> Surroundings:
    """A second of that many processors, and which shares of it others and the trial used."""
    had = processors * SECOND
    busy = round((others + own) * had)
    return Surroundings(had_ns=had, busy_ns=busy, own_ns=round(own * had), **({"stolen_ns": 0} | more))


def state_of(
    *members: Surroundings, pressure: float = 0.0, group: str = "syscall", copies: int = 1
) -> MachineState | None:
    """The state after twelve trials of two systems, which have these surroundings in turn."""
    trials = [
        conditions.Seen("x", group, copies, SECOND, pressure, members[number % len(members)])
        for number in range(24)
    ]
    return conditions.state_of(trials, {})


def kinds(state: MachineState | None) -> list[str]:
    assert state is not None
    return [one.kind for one in state.conditions]


def test_processors_that_are_full_from_begin_to_end_are_said() -> None:
    state = state_of(around(others=0.7, own=0.3), pressure=0.95)

    assert kinds(state) == [conditions.OTHERS]
    assert state is not None
    assert (state.waited, state.others) == (pytest.approx(0.95), pytest.approx(0.7))
    assert care.clauses(state) == [
        "in 95 % of the measured time another process waited for a processor, and other work used 70 % of "
        "CPU time"
    ]


@pytest.mark.parametrize("copies", [1, 4])
@pytest.mark.parametrize("group", ["syscall", "ipc"])
def test_a_trial_that_waits_for_itself_blames_nobody(group: str, copies: int) -> None:
    """More copies than processors, or partners on one processor: somebody always waits."""
    state = state_of(around(others=0.03, own=0.97), pressure=0.99, group=group, copies=copies)

    assert kinds(state) == []
    assert care.of(state, unsettled=5, metrics=5) is None


def test_who_waits_is_asked_where_no_trial_waits_for_itself() -> None:
    """Of a study with single processes and with partners, the partners' own waits are not in the share."""
    partners = conditions.Seen("x", "ipc", 1, SECOND, 0.9, around(others=0.3))
    copies = conditions.Seen("z", "cpu", 4, SECOND, 0.9, around(others=0.3))
    single = conditions.Seen("y", "cpu", 1, SECOND, 0.2, around(others=0.3))

    state = conditions.state_of([partners, single, copies], {})

    assert state is not None
    assert state.waited == pytest.approx(0.2)


def test_quiet_machines_raise_no_alarm() -> None:
    """A thousand experiments on machines that are as quiet as machines are: timers, a burst of a daemon now
    and then, ticks of 10 ms."""
    chance = random.Random(17)
    for number in range(1000):
        trials = []
        for _ in range(24):
            burst = 0.4 if chance.random() < 0.03 else 0.0
            noise = chance.uniform(-0.02, 0.02)  # two ticks of 10 ms of a second
            one = around(others=0.0, own=0.5, stolen_ns=round(chance.uniform(0, 0.005) * SECOND))
            busy = round((0.5 + burst + max(0.0, 0.01 + noise)) * 2 * SECOND)
            trials.append(replace(one, busy_ns=busy, memory_pressure=0.0, io_pressure=0.01, memory_hits=0))
        state = state_of(*trials, pressure=chance.uniform(0.0, 0.05))
        assert kinds(state) == [], number


@pytest.mark.parametrize(
    ("surroundings", "kind", "clause"),
    [
        (around(stolen_ns=SECOND // 5), conditions.STOLEN, "the host stole 10 % of CPU time"),
        (
            around(quota_periods=10, throttled_periods=9),
            conditions.QUOTA,
            "a quota of 0.300 processors (control group /fs/box) stopped the work in 90 % of its periods",
        ),
        (
            around(memory_pressure=0.3),
            conditions.MEMORY,
            "in 30 % of the measured time a process waited for memory",
        ),
        (
            around(memory_hits=50),
            conditions.LIMIT,
            "the memory limit of 300 MiB (control group /fs) was reached 1,200 times",
        ),
        (around(swapped_pages=256), conditions.SWAP, "24 MiB were swapped out or in"),
        (
            around(io_pressure=0.5),
            conditions.STORAGE,
            "in 50 % of the time of work without files, a process waited for a disk",
        ),
        (around(heat_events=1), conditions.HEAT, "the processors were throttled for heat 24 times"),
        (
            around(laboratories=1),
            conditions.LABORATORY,
            "another laboratory measured on this machine all the time",
        ),
        (around(others=0.5, own=0.5), conditions.OTHERS, "other work used 50 % of CPU time"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_each_condition_has_its_clause(surroundings: Surroundings, kind: str, clause: str) -> None:
    state = state_of(surroundings)

    assert state is not None
    limits = {"quota": 0.3, "quota_group": "/fs/box", "memory_limit_bytes": 300 << 20, "memory_group": "/fs"}
    assert kinds(state) == [kind]
    assert care.clauses(replace(state, **limits)) == [clause]


def test_the_header_s_limits_are_in_the_state() -> None:
    limits = {"quota": 0.5, "quota_group": "/a", "memory_limit_bytes": 1 << 30, "memory_group": "/b"}
    trial = conditions.Seen("x", "cpu", 1, SECOND, 0.0, around())

    state = conditions.state_of([trial], {"allowance": limits})

    assert state is not None
    assert (state.quota, state.quota_group) == (0.5, "/a")
    assert (state.memory_limit_bytes, state.memory_group) == (1 << 30, "/b")


def test_what_lost_most_where_nothing_is_settled_is_the_likeliest_cause() -> None:
    """Elsewhere the host took most of the time; where it is not settled, others did."""
    stolen = conditions.Seen("x", "cpu", 1, 9 * SECOND, 0.0, around(stolen_ns=SECOND))
    crowded = conditions.Seen("y", "cpu", 1, SECOND, 0.9, around(others=0.6, own=0.4))

    both = conditions.state_of([stolen, stolen, crowded], {}, unsettled=["y"])
    assert both is not None
    assert both.likeliest == conditions.OTHERS
    assert conditions.STOLEN in kinds(both)
    said = care.of(both, unsettled=3, metrics=9)
    assert said is not None
    assert said.text.endswith(
        "The likely reason why 3 of 9 metrics are not settled: other work on this machine."
    )
    settled = conditions.state_of([stolen, crowded], {})
    assert settled is not None
    assert settled.likeliest is None


@pytest.mark.computes
def test_what_an_archive_keeps_of_it_comes_back(tmp_path: Path) -> None:
    """Open, closed, and of trials of other machines or of older archives, which do not tell."""
    crowded = around(others=0.7, own=0.3, swapped_pages=4, quota_periods=9, throttled_periods=1)

    def measured(trial: Trial) -> Outcome:
        return synthetic.outcome(trial, pressure=0.5, surroundings=crowded if trial.system == "a" else None)

    for closed in (False, True):
        found = synthetic.experiment(tmp_path / str(closed), synthetic.plan(), measured, closed=closed)
        state = evaluate.of(found).state
        assert state is not None
        assert (state.trials, state.swapped_pages) == (12, 48)
        assert (state.others, state.throttled) == (pytest.approx(0.7), pytest.approx(1 / 9))
    none = synthetic.experiment(tmp_path / "none", synthetic.plan(), synthetic.outcome)
    assert evaluate.of(none).state is None


@pytest.mark.parametrize(("own", "counted"), [(0.5, 0.5), (0.001, 1.8), (0.0, 1.8)])
def test_what_a_daemon_started_is_counted_by_the_trial_s_own_word(own: float, counted: float) -> None:
    """And what descends from the laboratory is not: a guest calls used what others took from it."""
    (trial, *_) = synthetic.trials(synthetic.plan())
    outcome = synthetic.outcome(trial, usage=(Usage(0, "time", 1, 1_500_000_000, 300_000_000, *[0] * 6),))

    found = dialogue._with_used(around(others=0.1, own=own / 2), [outcome])

    assert found.own_ns == round(counted * SECOND)


# --- where it is said

CROWDED = MachineState(
    trials=50, measured_s=20.0, waited=0.95, others=0.7,
    conditions=(Condition(conditions.OTHERS, 0.7),), likeliest=conditions.OTHERS,
)  # fmt: skip
SLIGHT = MachineState(
    trials=50, measured_s=20.0, stolen=0.03, conditions=(Condition(conditions.STOLEN, 0.03),)
)
SAID = "in 95 % of the measured time another process waited for a processor"


def printed(found: Evaluation, capsys: pytest.CaptureFixture[str]) -> list[str]:
    console.print_evaluation(found, tables=())
    return capsys.readouterr().out.splitlines()


def test_where_most_is_open_it_is_the_first_thing_said(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(
        evaluation(open_one("syscall"), open_one("sieve"), compared("idea", 2.0), state=CROWDED), capsys
    )

    assert lines[0].startswith(f"Read with care: {SAID}")
    assert "2 of 3 metrics are not settled" in " ".join(lines[:3])


def test_else_it_is_in_the_answer_s_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    found = evaluation(open_one("syscall"), compared("sieve", 3.0), compared("idea", 2.0), state=SLIGHT)
    (answer,) = answers.all_of(found)

    assert answer.last.endswith("Read with care: the host stole 3.0 % of CPU time.")
    assert not printed(found, capsys)[0].startswith("Read with care")


def test_the_last_line_says_the_worst_even_where_all_came_first() -> None:
    (answer,) = answers.all_of(evaluation(open_one("syscall"), state=CROWDED))

    assert f"Read with care: {SAID}" in answer.last


def test_of_several_systems_it_is_said_once() -> None:
    both = evaluation(
        compared("idea", 2.0), compared("idea", 2.0, system="c"), systems=("a", "b", "c"), state=CROWDED
    )

    assert [one.care is not None for one in answers.all_of(both)] == [True, False]


def test_a_quiet_machine_is_not_spoken_of(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = replace(CROWDED, waited=0.01, others=0.01, conditions=())

    assert not any(
        "with care" in line for line in printed(evaluation(open_one("syscall"), state=quiet), capsys)
    )


@pytest.mark.program
def test_one_system_alone_says_it_too_and_so_do_json_and_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crowded = around(others=0.7, own=0.3)
    alone = evaluate.of(
        synthetic.experiment(
            tmp_path,
            synthetic.plan(systems=("a",)),
            lambda trial: synthetic.outcome(trial, pressure=0.95, surroundings=crowded),
        )
    )

    assert SAID in " ".join(printed(alone, capsys)[:3])
    told = json.loads(json.dumps(plain.as_object(alone)))
    assert SAID in told["care"]
    assert told["state"]["conditions"] == [{"kind": "other work", "lost": pytest.approx(0.7)}]
    html = page.html(alone, tables=())
    assert html.index("Read with care: in 95 %") < html.index("<nav")
    assert "70 % of CPU time used by other work" in html


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.95, "95 %"), (1.0, "100 %"), (0.9996, "99.9 %"), (0.032, "3.2 %"), (0.0996, "10 %")],
)
def test_a_share_is_all_only_where_it_is_all(share: float, text: str) -> None:
    state = replace(CROWDED, waited=share)

    assert care.clauses(state)[0].startswith(f"in {text} of the measured time") == (
        share >= conditions.WAITED
    )


def test_another_laboratory_is_told_by_its_trials() -> None:
    state = state_of(*(around(laboratories=number) for number in (0, 1, 2)))

    assert state is not None
    assert kinds(state) == [conditions.LABORATORY]
    assert care.clauses(state) == ["another laboratory measured on this machine during 16 of 24 trials"]


@pytest.mark.parametrize(
    ("nice", "policy", "clause"),
    [
        (19, "other", "all ran at nice 19, which this command inherited"),
        (0, "idle", "all ran with the scheduling policy 'idle', which this command inherited"),
        (
            5,
            "batch",
            "all ran at nice 5 and with the scheduling policy 'batch', which this command inherited",
        ),
        (0, "other", None),
        (0, "", None),
    ],
)
def test_a_priority_that_is_inherited_is_told(nice: int, policy: str, clause: str | None) -> None:
    trials = [conditions.Seen("y", "cpu", 1, SECOND, 0.0, around(own=0.5))]
    state = conditions.state_of(trials, {"allowance": {"nice": nice, "policy": policy}})

    assert care.clauses(state) == ([clause] if clause else [])
