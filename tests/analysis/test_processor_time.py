"""Processor time as a metric of its own: where the clock on the wall is hopeless, it is not."""

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic

from steelyard.analysis import evaluate
from steelyard.analysis.model import Comparison, Evaluation
from steelyard.analysis.observations import PROCESSOR_TIME
from steelyard.events import Outcome, Usage
from steelyard.report import answers
from steelyard.statistics import verdict
from steelyard.study.plan import Trial

pytestmark = pytest.mark.computes


def _measured(
    trial: Trial,
    *,
    slower: float = 1.0,
    sleeps: int = 0,
    tick_ns: int = 0,
    noise: float = 0.01,
    chance: random.Random,
) -> Outcome:
    """A trial on a machine that takes the processor away as it likes: its time scatters by a factor of two,
    its processor time by `noise`."""
    one = synthetic.outcome(trial, 1000 * math.exp(chance.gauss(0, 0.7)))
    times = slower if trial.system == "b" else 1.0
    usage = []
    for used in one.usage:
        spent_ns = round(used.operations * 1000 * times * math.exp(chance.gauss(0, noise)))
        if tick_ns:
            spent_ns = max(1, round(spent_ns / tick_ns)) * tick_ns
        usage.append(Usage(0, used.metric, used.operations, spent_ns, 0, 0, 0, sleeps, 0, 0, 0))
    return replace(one, usage=tuple(usage))


def _weighed(
    root: Path, *workloads: str, seed: int = 1, boots: tuple[str, ...] = (), **how: float
) -> Evaluation:
    chance = random.Random(seed)
    made = synthetic.plan(*workloads, blocks=24)
    found = synthetic.experiment(
        root,
        made,
        lambda trial: _measured(trial, chance=chance, **how),
        boot_systems=boots,  # type: ignore[arg-type]
    )
    return evaluate.of(found)


def _only(evaluation: Evaluation) -> Comparison:
    (one,) = evaluation.processor_times
    return one


def test_it_is_judged_beside_the_time_and_shown_where_only_it_is_firm(tmp_path: Path) -> None:
    evaluation = _weighed(tmp_path, "sieve", slower=1.1)

    (wall,) = evaluation.comparisons
    assert wall.verdict == verdict.UNRESOLVED
    one = _only(evaluation)
    assert (one.metric, one.verdict) == (PROCESSOR_TIME, verdict.SLOWER)
    assert one.ratio is not None
    assert one.ratio.value == pytest.approx(1 / 1.1, rel=0.02)
    (answer,) = answers.all_of(evaluation)
    assert "processor time" in answer.sentence
    assert "more" in answer.sentence


def test_it_is_in_no_mean(tmp_path: Path) -> None:
    by_time, beside = (
        evaluate.of(synthetic.experiment(tmp_path / name, synthetic.plan(blocks=8), _of(factor)))
        for name, factor in (("same", 1.0), ("other", 3.0))
    )

    assert [one.ratio for one in by_time.indices] == [one.ratio for one in beside.indices]
    assert _only(beside).ratio != _only(by_time).ratio


def _of(factor: float):  # type: ignore[no-untyped-def]
    def measured(trial: Trial) -> Outcome:
        one = synthetic.outcome(trial, 1000 + trial.block)
        (used,) = one.usage
        spent_ns = round(used.user_ns * (factor if trial.system == "b" else 1.0)) + 7 * trial.block + 1
        return replace(one, usage=(replace(used, user_ns=spent_ns, switches_voluntary=0),))

    return measured


def test_what_takes_as_much_is_said_where_the_time_is_open(tmp_path: Path) -> None:
    evaluation = _weighed(tmp_path, "sieve", noise=0.002)

    assert _only(evaluation).verdict == verdict.EQUIVALENT
    (answer,) = answers.all_of(evaluation)
    assert answer.same_by_processor


@pytest.mark.parametrize(
    ("workload", "how"),
    [
        ("sieve", {"sleeps": 1000}),  # it waits for something
        ("sieve", {"tick_ns": 10_000_000}),  # its kernel counts ticks
        ("disktest", {}),  # files: waiting for them is part of it
        ("pipe_latency", {}),  # two take turns
    ],
)
def test_it_is_compared_only_of_what_computes_and_is_counted_exactly(
    tmp_path: Path, workload: str, how: dict[str, float]
) -> None:
    weighed = _weighed(tmp_path, workload, **how)

    assert weighed.processor_times == ()


def test_a_guest_s_own_count_is_not_held_against_its_host_s(tmp_path: Path) -> None:
    assert _weighed(tmp_path, "sieve", boots=("b",)).processor_times == ()


@pytest.mark.parametrize("seed", range(12))
def test_equal_systems_are_not_called_different_by_it(tmp_path: Path, seed: int) -> None:
    evaluation = _weighed(tmp_path, "sieve", "syscall", "memory_copy", "integer_operations", seed=seed)

    assert not [one for one in evaluation.processor_times if one.verdict in verdict.CLAIMED]
