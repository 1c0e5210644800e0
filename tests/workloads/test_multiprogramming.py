"""Many processes at once: from their moments to the price of multiprogramming, and to the report."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import synthetic

from steelyard.analysis import evaluate
from steelyard.analysis.model import Evaluation, Multiprogramming
from steelyard.archive import experiments, reading
from steelyard.drawing import timelines
from steelyard.events import Count, Outcome, Samples
from steelyard.report import plain
from steelyard.statistics import multiprogramming as statistics
from steelyard.statistics.multiprogramming import Moments
from steelyard.study.plan import Trial
from steelyard.words import remarks


def moments(began: list[float], ended: list[float], *, processors: int = 2) -> Moments:
    """Processes that work at an even pace, asked for at 0."""
    starts, ends = np.array(began), np.array(ended)
    parts = np.arange(1, 17) / 16
    marks = starts[:, None] + (ends - starts)[:, None] * parts
    return Moments(np.zeros(len(starts)), starts, ends, marks, processors)


def test_the_total_is_from_the_first_start_to_the_last_end() -> None:
    assert statistics.total(moments([1.0, 2.0, 3.0], [9.0, 8.0, 7.0])) == 8.0


def test_the_total_leaves_out_what_did_not_finish() -> None:
    assert statistics.total(moments([1.0, 2.0], [9.0, np.nan])) == 8.0
    assert np.isnan(statistics.total(moments([1.0], [np.nan])))


def test_sharing_is_free_when_all_take_no_longer_than_one_after_the_other() -> None:
    """Four processes of 10 each on two processors in 20; on one in 40."""
    assert statistics.price(moments([0.0] * 4, [20.0] * 4), alone=10.0) == 1.0
    assert statistics.price(moments([0.0] * 4, [40.0] * 4, processors=1), alone=10.0) == 1.0
    assert statistics.price(moments([0.0] * 4, [25.0] * 4), alone=10.0) == 1.25


def test_one_process_alone_uses_one_processor_only() -> None:
    assert statistics.price(moments([0.0], [10.0]), alone=10.0) == 1.0


def test_the_price_is_for_those_that_finished() -> None:
    assert statistics.price(moments([0.0] * 3, [10.0, 10.0, np.nan]), alone=10.0) == 1.0


def test_the_dissertation_s_own_figures_have_the_price_that_it_says() -> None:
    """Section 6.2.3: 243 processes in 26,930 s on one processor, one alone in 45.05 s."""
    found = statistics.price(moments([0.0] * 243, [26930.0] * 243, processors=1), alone=45.05)

    assert found == pytest.approx(110.8 / 45.05, rel=1e-3)


@pytest.mark.parametrize(
    ("shares", "index"),
    [([1.0, 1.0, 1.0], 1.0), ([1.0, 0.0, 0.0, 0.0], 0.25), ([2.0, 1.0], 0.9)],
)
def test_jain_s_index(shares: list[float], index: float) -> None:
    assert statistics.jain(np.array(shares)) == pytest.approx(index)


def test_processes_that_take_turns_are_fair_at_every_moment() -> None:
    series = statistics.fairness_over_time(moments([0.0] * 5, [100.0] * 5), windows=10)

    assert [index for _, index, _ in series] == pytest.approx([1.0] * 10)
    assert [count for _, _, count in series] == [5] * 10


def test_where_one_gets_on_three_times_faster_fairness_is_what_jain_says() -> None:
    """While both are there; then one alone is left, and there is nothing to be fair about."""
    series = statistics.fairness_over_time(moments([0.0, 0.0], [100.0, 300.0]), windows=6)

    assert [count for _, _, count in series] == [2, 2]
    assert [index for _, index, _ in series] == pytest.approx([statistics.jain(np.array([3.0, 1.0]))] * 2)


def test_only_processes_that_are_there_for_a_whole_window_count() -> None:
    series = statistics.fairness_over_time(moments([0.0, 50.0, 0.0], [100.0, 100.0, 100.0]), windows=2)

    assert [count for _, _, count in series] == [2, 3]


def group_trial(trial: Trial, *, alone: float, total: float, processes: int = 4) -> Outcome:
    """Everybody begins after 1 ms and runs for `total` (ms), the last one for nine tenths of it."""
    own = [synthetic.group("alone", began=[1.0], ended=[1.0 + alone])]
    ends = [*[1.0 + total] * (processes - 1), 1.0 + 0.9 * total]
    all_of_them = synthetic.group("together", began=[1.0] * processes, ended=ends)
    samples = (Samples(0, "time", 1, (round(total * 1e6),)),)
    return synthetic.outcome(
        trial,
        metrics=("time",),
        samples=samples,
        groups=(*own, all_of_them),
        code_sha256="c0de" * 16,
    )


def weighed(tmp_path: Path, *, closed: bool = False, failing: str = "") -> Evaluation:
    made = synthetic.plan("linpack_processes", blocks=8)

    def measured(trial: Trial) -> Outcome:
        if trial.system == failing:
            lost = synthetic.group(
                "together",
                began=[1.0, 1.0, None],
                ended=[30.0, None, None],
                statuses=["ok", "killed", "not created"],
                reasons=[None, "ended by signal 9", "could not be created: no"],
            )
            return synthetic.bad(trial, "failed", "1 of 3 finished", groups=(lost,))
        slower = 1.5 if trial.system == "b" else 1.0
        return group_trial(trial, alone=10.0, total=20.0 * slower)

    return evaluate.of(synthetic.experiment(tmp_path, made, measured, closed=closed))


def of_system(evaluation: Evaluation, system: str) -> Multiprogramming:
    return next(one for one in evaluation.multiprogramming if one.system == system)


@pytest.mark.computes
@pytest.mark.parametrize("closed", [False, True])
def test_the_price_goes_from_the_records_to_a_verdict(tmp_path: Path, closed: bool) -> None:
    evaluation = weighed(tmp_path, closed=closed)
    one = of_system(evaluation, "b")
    price = next(found for found in evaluation.comparisons if found.metric == "price")

    assert (one.created, one.finished, one.processes, one.trials) == (4, 4, 4, 8)
    assert one.price is not None
    assert one.price.value == pytest.approx(1.5)
    assert one.total is not None
    assert one.total.value == pytest.approx(30e6)
    assert one.start_delay is not None
    assert one.start_delay.value == pytest.approx(1e6)
    assert price.verdict == "slower"
    assert price.ratio is not None
    assert price.ratio.value == pytest.approx(1 / 1.5)
    assert price.unit.startswith("times")


@pytest.mark.computes
def test_the_same_bytes_are_said_to_be_the_same(tmp_path: Path) -> None:
    for one in weighed(tmp_path).comparisons:
        assert "same machine code, SHA-256 c0dec0dec0dec0de" in remarks.texts(one.remarks)


@pytest.mark.computes
def test_other_bytes_are_said_to_differ(tmp_path: Path) -> None:
    made = synthetic.plan("linpack_processes", blocks=8)

    def measured(trial: Trial) -> Outcome:
        told = group_trial(trial, alone=10.0, total=20.0)
        return dataclasses.replace(told, code_sha256=trial.system * 64)

    evaluation = evaluate.of(synthetic.experiment(tmp_path, made, measured))

    said = f"the machine code differs: SHA-256 {'a' * 16} on a, {'b' * 16} on b"
    assert all(said in remarks.texts(one.remarks) for one in evaluation.comparisons)


def test_what_failed_is_told_and_not_timed(tmp_path: Path) -> None:
    one = of_system(weighed(tmp_path, failing="b"), "b")

    assert (one.created, one.finished) == (2, 1)
    assert one.total is None
    assert one.price is None
    assert dict(one.failures) == {"ended by signal 9": 8, "could not be created: no": 8}
    assert [life.status for life in one.lives] == ["ok", "killed", "not created"]


@pytest.mark.computes
def test_what_is_derived_is_in_no_geometric_mean(tmp_path: Path) -> None:
    """One metric, the time of all together, and none that follows from it."""
    assert {index.metrics for index in weighed(tmp_path).indices} == {1}


@pytest.mark.computes
def test_json_has_each_process_s_life(tmp_path: Path) -> None:
    told = json.loads(json.dumps(plain.as_object(weighed(tmp_path))))["multiprogramming"][0]

    assert told["parameters"] == {}
    assert told["lives"][0] == {"asked_ns": 0.0, "began_ns": 1e6, "ended_ns": 21e6, "status": "ok"}
    assert told["price"]["value"] == pytest.approx(1.0)


@pytest.mark.computes
def test_a_count_that_is_higher_is_better(tmp_path: Path) -> None:
    made = synthetic.plan("linpack_limit", blocks=8)

    def measured(trial: Trial) -> Outcome:
        value = 300 if trial.system == "b" else 200
        return synthetic.outcome(
            trial, metrics=("count",), samples=(), counts=(Count(0, "count", "processes", value),)
        )

    (one,) = evaluate.of(synthetic.experiment(tmp_path, made, measured, closed=True)).comparisons

    assert (one.unit, one.direction, one.verdict) == ("processes", "higher", "faster")
    assert one.value is not None
    assert one.value.value == pytest.approx(300)
    assert one.ratio is not None
    assert one.ratio.value == pytest.approx(1.5)


@pytest.mark.computes
def test_the_members_can_be_asked_for_by_sql(tmp_path: Path) -> None:
    evaluation = weighed(tmp_path, closed=True)
    with reading.connect(evaluation.experiment) as connection:
        rows = connection.execute(
            "SELECT count(*), min(began_ns), max(ended_ns) FROM members WHERE metric = 'together'"
        ).fetchone()

    assert rows == (64, 1_000_000, 31_000_000)


@pytest.mark.computes
def test_an_experiment_of_an_earlier_version_has_no_members(tmp_path: Path) -> None:
    found = synthetic.experiment(tmp_path, synthetic.plan("sieve", "shell"), synthetic.outcome, closed=True)
    evaluation = evaluate.of(found)
    for table in ("members", "counts"):
        (found.path / f"{table}.parquet").unlink()
    header = json.loads((found.path / experiments.HEADER).read_text())
    (found.path / experiments.HEADER).write_text(json.dumps(header | {"version": 2}))

    again = evaluate.of(experiments.find(tmp_path, None))

    assert again.multiprogramming == ()
    assert len(again.comparisons) == len(evaluation.comparisons) > 0


@pytest.mark.computes
def test_a_thousand_processes_are_drawn_one_by_one(tmp_path: Path) -> None:
    made = synthetic.plan("linpack_processes", blocks=6, systems=("a",))

    def measured(trial: Trial) -> Outcome:
        return group_trial(trial, alone=10.0, total=5000.0, processes=1000)

    evaluation = evaluate.of(synthetic.experiment(tmp_path, made, measured))
    (one,) = evaluation.multiprogramming
    spec = timelines.lives(one, until_ns=timelines.span_ns(one, [one]))
    bars = spec["datasets"][spec["vconcat"][0]["data"]["name"]] if "datasets" in spec else []

    assert len([bar for bar in bars if bar["state"] == "running"]) == 1000
    assert spec["vconcat"][0]["height"] >= 900
    assert len(json.dumps(spec)) < 400_000
