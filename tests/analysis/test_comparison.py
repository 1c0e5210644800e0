"""From an archive to verdicts: experiments with known numbers, and what must be said of them."""

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import synthetic

from steelyard.analysis import comparison, evaluate, interim, rows
from steelyard.analysis.model import Comparison, Evaluation, Index, Interim
from steelyard.analysis.observations import COST, FLOOR, GROUP, TYPICAL, Observations, Value
from steelyard.analysis.remarks import InTail, Signal, Timeless, Trouble
from steelyard.archive import closing, journal, reading
from steelyard.archive.experiments import StoredExperiment
from steelyard.errors import UnknownName
from steelyard.events import Outcome, Samples
from steelyard.statistics import verdict
from steelyard.study.model import Cell
from steelyard.study.plan import Plan, Trial
from steelyard.words import remarks

Times = Callable[[Trial], float]
DIRECTIONS = (verdict.FASTER, verdict.SLOWER, verdict.FASTER_OPEN, verdict.SLOWER_OPEN)


def _noise(trial: Trial, deviation: float) -> float:
    """A factor of its own for every trial, whatever the order in which they are asked for."""
    words = f"{trial.block} {trial.system} {trial.cell.label}".encode()
    return math.exp(np.random.default_rng(list(words)).normal(0, deviation))


def _weigh(
    root: Path, made: Plan, measured: Callable[[Trial], Outcome | None], **others: object
) -> Evaluation:
    return evaluate.of(synthetic.experiment(root, made, measured, **others))  # type: ignore[arg-type]


def _times(times: Times) -> Callable[[Trial], Outcome]:
    return lambda trial: synthetic.outcome(trial, times(trial))


def _only(evaluation: Evaluation) -> Comparison:
    (one,) = evaluation.comparisons
    return one


@contextmanager
def _observing(found: StoredExperiment, baseline: str | None = None) -> Iterator[Observations]:
    with reading.connect(found) as connection:
        yield Observations(found, rows.read(connection), baseline=baseline)


# --- the right direction, and the right size


@pytest.mark.parametrize(("factor", "word", "ratio"), [(2.0, "slower", 0.5), (0.5, "faster", 2.0)])
def test_a_ratio_of_two_is_found_exactly_and_in_the_right_direction(
    tmp_path: Path, factor: float, word: str, ratio: float
) -> None:
    evaluation = _weigh(
        tmp_path, synthetic.plan(), _times(lambda trial: 1000 * (factor if trial.system == "b" else 1))
    )

    one = _only(evaluation)
    assert (one.workload, one.cell, one.metric, one.group) == ("syscall", "syscall", "time", "syscall")
    assert (one.system, one.baseline, one.unit, one.direction) == ("b", "a", "ns per call", "lower")
    assert one.verdict == word
    assert one.ratio is not None
    assert (one.ratio.value, one.ratio.low, one.ratio.high) == pytest.approx((ratio,) * 3)
    assert one.baseline_value is not None
    assert (one.baseline_value.value, one.baseline_value.low) == (1000.0, 1000.0)
    assert one.value is not None
    assert one.value.value == 1000.0 * factor
    assert (one.blocks, one.boots, one.blocks_needed, remarks.texts(one.remarks)) == (12, 1, None, ())
    assert one.p_adjusted == 0.0  # nothing scatters


def test_the_interval_holds_the_true_ratio_and_the_medians_their_values(tmp_path: Path) -> None:
    evaluation = _weigh(
        tmp_path,
        synthetic.plan(blocks=24),
        _times(lambda trial: 1000 * (1.3 if trial.system == "b" else 1) * _noise(trial, 0.02)),
    )

    one = _only(evaluation)
    assert one.verdict == verdict.SLOWER
    assert one.ratio is not None
    assert one.ratio.low is not None
    assert one.ratio.high is not None
    assert one.ratio.low < 1 / 1.3 < one.ratio.high
    assert one.ratio.high - one.ratio.low < 0.04
    assert one.ratio.level == pytest.approx(0.95)


def test_drift_that_all_share_changes_nothing(tmp_path: Path) -> None:
    def drifting(trial: Trial) -> float:
        return 1000 * 1.5**trial.block * (1.1 if trial.system == "b" else 1)

    one = _only(_weigh(tmp_path, synthetic.plan(), _times(drifting)))

    assert one.verdict == verdict.SLOWER
    assert one.ratio is not None
    assert one.ratio.value == pytest.approx(1 / 1.1)


def _in_turn(trial: Trial, together: float | None) -> Outcome:
    """Of batches whose times double halfway, b's are 10 % longer than a's beside them; b had more of them."""
    times = [1000.0] * 10 + [2000.0] * (10 if trial.system == "a" else 30)
    longer = 1.1 if trial.system == "b" else 1.0
    told = synthetic.outcome(trial, operations=1000)
    samples = tuple(
        replace(one, durations_ns=tuple(round(1000 * ns * longer) for ns in times)) for one in told.samples
    )
    return replace(told, samples=samples, together=together)


@pytest.mark.parametrize(
    ("together", "ratio"),
    [
        ({"a": 5.0, "b": 5.0}, 1 / 1.1),  # of neighbours
        ({"a": 5.0, "b": 6.0}, 1500 / 2200),  # they ran at other times: as trials
        ({"a": None, "b": None}, 1500 / 2200),
    ],
)
def test_batches_that_took_turns_are_compared_with_their_neighbours(
    together: dict[str, float | None], ratio: float, tmp_path: Path
) -> None:
    made = synthetic.plan("sieve", blocks=4)
    made = replace(made, in_turns=frozenset(made.cells))
    found = synthetic.experiment(tmp_path, made, lambda trial: _in_turn(trial, together[trial.system]))

    one = _only(evaluate.of(found))

    assert one.lens == "typical"
    assert one.ratio is not None
    assert one.ratio.value == pytest.approx(ratio, rel=1e-6)


@pytest.mark.computes
@pytest.mark.parametrize("blocks", [6, 12, 48])
def test_systems_that_hardly_differ_are_equivalent(tmp_path: Path, blocks: int) -> None:
    one = _only(
        _weigh(tmp_path, synthetic.plan(blocks=blocks), _times(lambda trial: 1000 * _noise(trial, 0.0015)))
    )

    assert one.verdict == verdict.EQUIVALENT
    assert one.margin == 0.01
    assert one.ratio is not None
    assert one.ratio.value == pytest.approx(1, abs=0.003)
    assert one.blocks_needed is None


def test_a_real_difference_that_does_not_matter_yet_has_its_size_open(tmp_path: Path) -> None:
    # 1.2 % more time, with the margin at 1 %: surely slower, not surely by more than the margin.
    one = _only(
        _weigh(
            tmp_path,
            synthetic.plan(blocks=24),
            _times(lambda trial: 1000 * (1.012 if trial.system == "b" else 1) * _noise(trial, 0.004)),
        )
    )

    assert one.verdict == verdict.SLOWER_OPEN
    assert one.blocks_needed is not None
    assert one.blocks_needed > 24


@pytest.mark.parametrize(("deviation", "needed"), [(0.012, (24, 32, 48, 64)), (0.1, (None,))])
def test_noise_leaves_it_open_and_says_how_many_blocks_it_takes(
    tmp_path: Path, deviation: float, needed: tuple[int | None, ...]
) -> None:
    one = _only(_weigh(tmp_path, synthetic.plan(), _times(lambda trial: 1000 * _noise(trial, deviation))))

    assert one.verdict in (verdict.UNRESOLVED, verdict.BOUNDED)
    assert one.blocks_needed in needed  # of 10 % of noise and a margin of 1 % no look would


@pytest.mark.parametrize(("deviation", "word"), [(0.02, verdict.BOUNDED), (0.3, verdict.UNRESOLVED)])
def test_what_is_not_claimed_is_bounded_where_the_interval_is_short(
    tmp_path: Path, deviation: float, word: str
) -> None:
    one = _only(_weigh(tmp_path, synthetic.plan(), _times(lambda trial: 1000 * _noise(trial, deviation))))

    assert one.verdict == word
    assert one.ratio is not None
    assert one.ratio.low is not None
    assert one.ratio.high is not None
    assert one.bound == pytest.approx(max(1 / one.ratio.low, one.ratio.high) - 1)


@pytest.mark.computes
def test_the_margin_is_the_group_s_and_another_may_take_its_place(tmp_path: Path) -> None:
    made = synthetic.plan("sieve", "disktest", margins={"cpu": 0.01, "file": 0.2})
    found = synthetic.experiment(
        tmp_path, made, _times(lambda trial: 1000 * (1.1 if trial.system == "b" else 1))
    )

    usual = {one.group: (one.margin, one.verdict) for one in evaluate.of(found).comparisons}
    wide = {one.group: (one.margin, one.verdict) for one in evaluate.of(found, margin=0.5).comparisons}

    assert usual == {"cpu": (0.01, verdict.SLOWER), "file": (0.2, verdict.SLOWER_OPEN)}
    assert {margin for margin, _ in wide.values()} == {0.5}


def _after_blocks(root: Path, blocks: int, factor: float) -> Comparison:
    def measured(trial: Trial) -> Outcome | None:
        time = 10 * (factor if trial.system == "b" else 1) * _noise(trial, 1e-4)
        return synthetic.outcome(trial, time) if trial.block < blocks else None

    return _only(_weigh(root, synthetic.plan(), measured))


@pytest.mark.parametrize("factor", [1.0, 2.0, 1e4])
def test_one_block_has_a_ratio_and_no_more(tmp_path: Path, factor: float) -> None:
    one = _after_blocks(tmp_path, 1, factor)

    assert (one.verdict, one.blocks, remarks.texts(one.remarks)) == (
        verdict.UNRESOLVED,
        1,
        ("one block alone has no interval",),
    )
    assert one.ratio is not None
    assert one.ratio.value == pytest.approx(1 / factor, rel=0.001)
    assert one.ratio.low is None


@pytest.mark.parametrize(("blocks", "factor"), [(2, 40.0), (3, 12.0), (4, 4.0), (5, 2.0)])
def test_a_large_difference_is_claimed_early_and_says_what_it_rests_on(
    tmp_path: Path, blocks: int, factor: float
) -> None:
    one = _after_blocks(tmp_path, blocks, factor)

    assert one.verdict == verdict.SLOWER
    assert remarks.texts(one.remarks) == (
        f"rests on {blocks} blocks; one system's own trials differ by up to 1.00 times here",
    )
    assert one.blocks_needed is None


@pytest.mark.parametrize(
    ("blocks", "factor", "needed"), [(2, 20.0, 3), (2, 2.0, 5), (3, 5.0, 4), (4, 2.0, 5)]
)
def test_a_difference_that_is_not_large_enough_for_its_blocks_waits_for_more(
    tmp_path: Path, blocks: int, factor: float, needed: int
) -> None:
    one = _after_blocks(tmp_path, blocks, factor)

    assert one.verdict == verdict.UNRESOLVED
    assert remarks.texts(one.remarks) == (
        f"{blocks} blocks are too few: one system's own trials differ by up to 1.00 times here",
    )
    assert one.blocks_needed == needed


@pytest.mark.computes
def test_equality_takes_six_blocks(tmp_path: Path) -> None:
    assert _after_blocks(tmp_path / "5", 5, 1.0).verdict == verdict.BOUNDED
    assert _after_blocks(tmp_path / "5", 5, 1.0).blocks_needed == 6
    assert _after_blocks(tmp_path / "6", 6, 1.0).verdict == verdict.EQUIVALENT


def test_six_blocks_can_give_a_verdict(tmp_path: Path) -> None:
    one = _only(
        _weigh(
            tmp_path,
            synthetic.plan(blocks=6),
            _times(lambda trial: 1000 * (2 if trial.system == "b" else 1) * _noise(trial, 1e-4)),
        )
    )

    assert one.verdict == verdict.SLOWER
    assert remarks.texts(one.remarks) == ()


@pytest.mark.computes
def test_every_system_is_weighed_against_the_first_or_the_one_that_is_named(tmp_path: Path) -> None:
    times = {"a": 1000, "b": 2000, "c": 4000}
    found = synthetic.experiment(
        tmp_path, synthetic.plan(systems=("a", "b", "c")), _times(lambda trial: times[trial.system])
    )

    def ratios(baseline: str | None) -> dict[str, float]:
        evaluation = evaluate.of(found, baseline=baseline)
        return {one.system: one.ratio.value for one in evaluation.comparisons if one.ratio}

    assert ratios(None) == pytest.approx({"b": 0.5, "c": 0.25})
    assert ratios("c") == pytest.approx({"a": 4.0, "b": 2.0})
    with pytest.raises(UnknownName, match="did you mean"):
        evaluate.of(found, baseline="aa")


@pytest.mark.computes
def test_open_and_closed_experiments_weigh_the_same(tmp_path: Path) -> None:
    found = synthetic.experiment(
        tmp_path, synthetic.plan("sieve", "shell"), _times(lambda trial: 1000 * _noise(trial, 0.01))
    )
    before = evaluate.of(found)
    closing.close(found)
    after = evaluate.of(found)

    assert after.comparisons == before.comparisons
    assert after.indices == before.indices
    assert after.costs == before.costs
    assert after == before


@pytest.mark.computes
def test_costs_stand_in_the_study_s_order(tmp_path: Path) -> None:
    workloads = ("shell", "sieve", "syscall", "disktest")
    evaluation = _weigh(tmp_path, synthetic.plan(*workloads, systems=("b", "a")), _times(lambda trial: 1000))

    metrics = [(workload, metric) for workload in workloads for metric in synthetic.metrics_of(workload)]
    assert [(cost.workload, cost.metric, cost.system) for cost in evaluation.costs] == [
        (workload, metric, system) for workload, metric in metrics for system in ("b", "a")
    ]


def test_an_experiment_with_nothing_in_it_is_weighed_without_a_verdict(tmp_path: Path) -> None:
    one = _only(_weigh(tmp_path, synthetic.plan(), lambda trial: None))

    assert (one.verdict, one.ratio, one.blocks) == (verdict.UNRESOLVED, None, 0)
    assert remarks.texts(one.remarks) == ("no block has measured both systems",)


# --- lenses


def test_each_lens_is_as_by_hand(tmp_path: Path) -> None:
    # Five batches of ten operations: 1, 2, 3, 4 and 90 ns each. The lower quartile is 2, the median 3.
    def measured(trial: Trial) -> Outcome:
        samples = (Samples(0, "time", 10, (10, 20, 30, 40, 900)),)
        return synthetic.outcome(trial, samples=samples)

    found = synthetic.experiment(tmp_path, synthetic.plan("sieve", "pipe_latency"), measured)

    with _observing(found) as seen:
        lenses = seen.values["sieve", "time"]["a"][0].lenses
        assert (lenses[FLOOR], lenses[TYPICAL], lenses[COST], lenses[GROUP]) == (2.0, 3.0, 20.0, 20.0)
        assert (seen.lens("sieve"), seen.lens("pipe_latency")) == (FLOOR, TYPICAL)
        median = seen.median(("pipe_latency", "time"), "b")
        assert median is not None
        assert median.value == 3.0


def test_a_group_s_time_is_that_of_its_slowest_copy_over_all_its_work(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        samples = (Samples(0, "time", 10, (100, 100)), Samples(1, "time", 10, (300, 300)))
        return synthetic.outcome(trial, samples=samples, metrics=("time",))

    found = synthetic.experiment(tmp_path, synthetic.plan("sieve", copies=(2,)), measured)

    with _observing(found) as seen:
        lenses = seen.values["sieve copies=2", "time"]["a"][0].lenses
        assert lenses[GROUP] == 600 / 20 / 2  # 600 ns for 20 operations of each of 2 copies
        assert seen.lens("sieve copies=2") == GROUP


def test_a_difference_in_the_tail_alone_is_said(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        rare = 400_000_000 if trial.system == "b" else 100_000_000
        batches = (*[100_000_000] * 19, rare)
        return synthetic.outcome(trial, samples=(Samples(0, "time", 1_000_000, batches),))

    one = _only(_weigh(tmp_path, synthetic.plan(), measured))

    assert one.verdict == verdict.EQUIVALENT
    assert one.remarks == (InTail(verdict.SLOWER),)


# --- boots


def _in_boots(blocks_per_boot: int, effect: float) -> Callable[[Trial], Outcome]:
    """On b each boot has a factor of its own; a does not boot."""

    def measured(trial: Trial) -> Outcome:
        if trial.system == "a":
            return synthetic.outcome(trial, 1000 * _noise(trial, 1e-4))
        boot = trial.block // blocks_per_boot + 1
        return synthetic.outcome(trial, 1000 * effect * (1 + 0.05 * (boot % 2)), boot=boot)

    return measured


@pytest.mark.computes
def test_where_a_system_boots_its_boots_are_what_is_counted(tmp_path: Path) -> None:
    found = synthetic.experiment(
        tmp_path, synthetic.plan(blocks_per_boot=4), _in_boots(4, 2.0), boot_systems=("b",)
    )

    with _observing(found) as seen:
        key = ("syscall", "time")
        by_block = seen.differences(key, "b", FLOOR)
        units = seen.units(key, "b", by_block)

    assert len(by_block) == 12
    assert list(units) == pytest.approx(
        [np.mean([by_block[block] for block in range(first, first + 4)]) for first in (0, 4, 8)]
    )
    one = _only(evaluate.of(found))
    assert (one.blocks, one.boots, one.verdict) == (12, 3, verdict.UNRESOLVED)
    assert "3 boots are too few: one system's own trials differ by up to 1.05 times here" in remarks.texts(
        one.remarks
    )


@pytest.mark.computes
def test_enough_boots_give_a_verdict(tmp_path: Path) -> None:
    one = _only(
        _weigh(tmp_path, synthetic.plan(blocks_per_boot=2, blocks=16), _in_boots(2, 2.0), boot_systems=("b",))
    )

    assert (one.blocks, one.boots, one.verdict, remarks.texts(one.remarks)) == (16, 8, verdict.SLOWER, ())


def test_a_start_that_is_no_boot_is_no_unit(tmp_path: Path) -> None:
    one = _only(_weigh(tmp_path, synthetic.plan(), _in_boots(4, 2.0)))

    assert (one.blocks, one.boots, one.verdict) == (12, 1, verdict.SLOWER)


@pytest.mark.parametrize("baseline", ["a", "b"])
def test_one_boot_alone_is_flagged_whichever_of_the_two_it_is(tmp_path: Path, baseline: str) -> None:
    found = synthetic.experiment(
        tmp_path,
        synthetic.plan(blocks_per_boot=100),
        _times(lambda trial: 1000 * (2 if trial.system == "b" else 1)),
        boot_systems=("b",),
    )

    one = _only(evaluate.of(found, baseline=baseline))

    assert one.verdict in (verdict.SLOWER, verdict.FASTER)
    assert any("this boot only" in flag for flag in remarks.texts(one.remarks))


def test_two_systems_that_boot_are_paired_boot_by_boot(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        return synthetic.outcome(trial, 1000, boot=trial.block // 3 + 1)

    found = synthetic.experiment(tmp_path, synthetic.plan(), measured, boot_systems=("a", "b"))

    with _observing(found) as seen:
        key = ("syscall", "time")
        assert len(seen.units(key, "b", seen.differences(key, "b", FLOOR))) == 4


# --- troubles


def test_trials_that_failed_appear_as_troubles_and_flags(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        if trial.system == "b" and trial.block in (3, 7):
            return synthetic.bad(trial, "failed", "write: No space left on device")
        if trial.system == "a" and trial.block == 5:
            return synthetic.bad(trial, "killed", signal=9)
        return synthetic.outcome(trial, 1000 * (2 if trial.system == "b" else 1))

    evaluation = _weigh(tmp_path, synthetic.plan(), measured)

    one = _only(evaluation)
    assert evaluation.troubles == (
        Trouble("a", "syscall", "killed", 1, Signal(9)),
        Trouble("b", "syscall", "failed", 2, "write: No space left on device"),
    )
    assert (one.blocks, one.verdict) == (9, verdict.SLOWER)
    assert set(remarks.texts(one.remarks)) == {
        "1 trial killed on a: signal 9",
        "2 trials failed on b: write: No space left on device",
    }
    assert (evaluation.blocks, evaluation.trials) == (12, 24)


@pytest.mark.computes
def test_another_cell_s_or_system_s_trouble_is_not_flagged_here(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        if trial.block == 0 and (trial.system, trial.cell.workload) == ("c", "shell"):
            return synthetic.bad(trial, "timed out")
        return synthetic.outcome(trial)

    evaluation = _weigh(tmp_path, synthetic.plan("sieve", "shell", systems=("a", "b", "c")), measured)

    flagged = [(one.system, one.workload) for one in evaluation.comparisons if remarks.texts(one.remarks)]
    assert flagged == [("c", "shell")]


def test_what_a_system_cannot_do_is_said_with_its_reason_and_never_a_zero(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        if trial.system == "b" and trial.cell.workload == "shell":
            return synthetic.bad(trial, "unsupported", "there is no /bin/sh")
        return synthetic.outcome(trial)

    evaluation = _weigh(tmp_path, synthetic.plan("sieve", "shell"), measured)

    (shell,) = (one for one in evaluation.comparisons if one.workload == "shell")
    assert (shell.verdict, shell.ratio, shell.value, shell.p_adjusted) == (
        verdict.UNRESOLVED,
        None,
        None,
        None,
    )
    assert remarks.texts(shell.remarks) == ("12 trials unsupported on b: there is no /bin/sh",)
    assert shell.baseline_value is not None
    (whole,) = (index for index in evaluation.indices if index.group == "all")
    assert whole.missing == ("shell time",)
    assert whole.metrics == 1
    assert whole.ratio is not None
    assert whole.ratio.value == pytest.approx(1.0)


@pytest.mark.computes
def test_a_missing_metric_is_in_the_index_s_missing(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        metrics = ("write",) if trial.system == "b" else ("write", "read")
        return synthetic.outcome(trial, metrics=metrics)

    evaluation = _weigh(tmp_path, synthetic.plan("disktest"), measured)

    (index,) = evaluation.indices
    assert index.missing == ("disktest read",)
    assert {one.metric: one.blocks for one in evaluation.comparisons} == {"write": 12, "read": 0}


def test_a_metric_that_took_no_time_by_its_clock_is_a_trouble_and_not_a_number(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        if trial.system == "b":
            return synthetic.outcome(trial, samples=(Samples(0, "time", 10, (0, 0, 0)),))
        return synthetic.outcome(trial)

    evaluation = _weigh(tmp_path, synthetic.plan(), measured)

    assert _only(evaluation).value is None
    assert evaluation.troubles == (Trouble("b", "syscall", "failed", 12, Timeless("time")),)


# --- clocks


@pytest.mark.parametrize(
    ("clock", "doubt_ns", "flag"),
    [
        (1.0, 0, None),
        (1.004, 0, None),
        (1.006, 0, "+0.60%"),
        (0.99, 0, "-1.00%"),
        (1.006, 2_000_000, None),  # 6 ms apart, of which 2 ms may be the asking's
        (1.02, 2_000_000, "+1.80%"),
        (0.98, 20_000_000, None),
    ],
)
def test_a_clock_that_differs_beyond_half_a_percent_and_its_doubt_is_flagged(
    tmp_path: Path, clock: float, doubt_ns: int, flag: str | None
) -> None:
    def measured(trial: Trial) -> Outcome:
        if trial.system == "a":
            return synthetic.outcome(trial)
        return synthetic.outcome(trial, clock=clock, clock_doubt_ns=doubt_ns)

    evaluation = _weigh(tmp_path, synthetic.plan(), measured)

    text = f"the clock of b differs from this machine's by {flag}"
    assert remarks.texts(_only(evaluation).remarks) == (() if flag is None else (text,))
    assert remarks.texts(evaluation.remarks) == (() if flag is None else (text,))


def test_the_baseline_s_clock_is_checked_as_well(tmp_path: Path) -> None:
    evaluation = _weigh(
        tmp_path,
        synthetic.plan(),
        lambda trial: synthetic.outcome(trial, clock=1.05 if trial.system == "a" else 1.0),
    )

    assert remarks.texts(_only(evaluation).remarks) == (
        "the clock of a differs from this machine's by +5.00%",
    )


def test_one_late_answer_does_not_make_a_wrong_clock(tmp_path: Path) -> None:
    evaluation = _weigh(
        tmp_path,
        synthetic.plan(),
        lambda trial: synthetic.outcome(trial, clock=2.0 if trial.block == 4 else 1.0),
    )

    assert remarks.texts(_only(evaluation).remarks) == ()


# --- disturbed blocks


def _disturbed(blocks: Callable[[Trial], bool], slow: float) -> Callable[[Trial], Outcome]:
    """In some blocks other processes waited on b, and its trial took so much longer; b is else equal."""

    def measured(trial: Trial) -> Outcome:
        hit = trial.system == "b" and blocks(trial)
        time = 1000 * _noise(trial, 1e-4) * (slow if hit else 1)
        return synthetic.outcome(trial, time, pressure=0.6 if hit else 0.01 + 0.001 * (trial.block % 3))

    return measured


def test_disturbed_blocks_that_change_nothing_are_counted_and_kept(tmp_path: Path) -> None:
    one = _only(_weigh(tmp_path, synthetic.plan(), _disturbed(lambda trial: trial.block in (2, 9), 1.0)))

    assert (one.blocks, one.verdict) == (12, verdict.EQUIVALENT)
    assert remarks.texts(one.remarks) == ("2 of 12 blocks disturbed by other work; unchanged without them",)


def test_a_verdict_that_rests_on_disturbed_blocks_is_withdrawn(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        # In 15 of 32 blocks, where others waited, b is far slower; else it is a little faster, mostly.
        hit = trial.system == "b" and trial.block < 15
        factors = [1.5] * 15 + [1.004] * 4 + [0.998] * 13
        factor = factors[trial.block] if trial.system == "b" else 1.0
        return synthetic.outcome(trial, 1000 * factor * _noise(trial, 1e-5), pressure=0.9 if hit else 0.0)

    found = synthetic.experiment(tmp_path, synthetic.plan(blocks=32), measured)
    one = _only(evaluate.of(found))

    assert one.verdict == verdict.UNRESOLVED
    assert remarks.texts(one.remarks)[:2] == (
        "15 of 32 blocks disturbed by other work",
        "the verdict rests on disturbed blocks",
    )
    assert one.blocks == 32
    assert one.blocks_needed is not None


def test_where_every_pair_is_disturbed_there_is_nothing_to_check_by(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        if trial.system == "a" and trial.block > 2:
            return synthetic.bad(trial, "failed")
        return _disturbed(lambda trial: trial.block < 3, 1.0)(trial)

    one = _only(_weigh(tmp_path, synthetic.plan(blocks=8), measured))

    assert (
        remarks.texts(one.remarks)[-1] == "3 of 3 blocks disturbed by other work; none without them to check"
    )


@pytest.mark.parametrize("pressure", [None, 0.0, 0.04])
def test_waiting_that_is_usual_or_slight_or_unknown_disturbs_nothing(
    tmp_path: Path, pressure: float | None
) -> None:
    def measured(trial: Trial) -> Outcome:
        return synthetic.outcome(trial, pressure=pressure if trial.block == 3 else 0.0)

    assert remarks.texts(_only(_weigh(tmp_path, synthetic.plan(), measured)).remarks) == ()


def test_a_cell_that_waits_by_nature_is_not_called_disturbed(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        return synthetic.outcome(trial, pressure=0.9 + 0.01 * (trial.block % 5))

    assert remarks.texts(_only(_weigh(tmp_path, synthetic.plan("pipe_latency"), measured)).remarks) == ()


# --- sums


def _indices(evaluation: Evaluation) -> dict[str, Index]:
    return {index.group: index for index in evaluation.indices}


def test_the_index_is_the_geometric_mean_in_which_groups_weigh_the_same(tmp_path: Path) -> None:
    # cpu: b takes 2 times as long. file: write 8 times, read 2 times: 4 in the mean. All: sqrt 8.
    factors = {"sieve": {"time": 2.0}, "disktest": {"write": 8.0, "read": 2.0}}

    def measured(trial: Trial) -> Outcome:
        of_b = factors[trial.cell.workload]
        samples = tuple(
            Samples(0, metric, 1000, (round(1e6 * (factor if trial.system == "b" else 1)),) * 4)
            for metric, factor in of_b.items()
        )
        return synthetic.outcome(trial, samples=samples)

    indices = _indices(_weigh(tmp_path, synthetic.plan("sieve", "disktest"), measured))

    values = {group: index.ratio.value for group, index in indices.items() if index.ratio}
    assert values == pytest.approx({"cpu": 1 / 2, "file": 1 / 4, "all": 8**-0.5})
    assert {group: index.metrics for group, index in indices.items()} == {"cpu": 1, "file": 2, "all": 3}
    assert {index.verdict for index in indices.values()} == {verdict.SLOWER}


def test_the_index_is_of_the_times_and_not_of_what_is_reported_beside_them(tmp_path: Path) -> None:
    factors = {
        "web_requests": {"time": 2.0, "server": 32.0, "client": 0.01},
        "web_saturation": {"request": 8.0, "beyond_server": 100.0},  # measures no time but its first
    }

    def measured(trial: Trial) -> Outcome:
        samples = tuple(
            Samples(0, metric, 1000, (round(1e6 * (factor if trial.system == "b" else 1)),) * 4)
            for metric, factor in factors[trial.cell.workload].items()
        )
        return synthetic.outcome(trial, samples=samples)

    evaluation = _weigh(tmp_path, synthetic.plan("web_requests", "web_saturation"), measured)

    assert any(one.metric == "server" and one.ratio for one in evaluation.comparisons)
    (index,) = evaluation.indices
    assert index.metrics == 2
    assert index.ratio is not None
    assert index.ratio.value == pytest.approx(1 / 4)


def test_the_empty_loop_is_no_part_of_the_index(tmp_path: Path) -> None:
    def times(trial: Trial) -> float:
        return 1000 * (5 if (trial.system, trial.cell.workload) == ("b", "null") else 1)

    evaluation = _weigh(tmp_path, synthetic.plan("null", "sieve"), _times(times))

    assert list(_indices(evaluation)) == ["all"]
    index = _indices(evaluation)["all"]
    assert index.metrics == 1
    assert index.ratio is not None
    assert index.ratio.value == pytest.approx(1.0)


@pytest.mark.computes
def test_the_geometric_mean_is_the_inverse_when_the_baseline_is_exchanged(tmp_path: Path) -> None:
    factors = {"sieve": 2.0, "shell": 1.0, "syscall": 0.5, "pipe_latency": 1.7}
    found = synthetic.experiment(
        tmp_path,
        synthetic.plan(*factors),
        _times(
            lambda trial: (
                1000 * (factors[trial.cell.workload] if trial.system == "b" else 1) * _noise(trial, 0.02)
            )
        ),
    )

    forth, back = (_indices(evaluate.of(found, baseline=name)) for name in ("a", "b"))

    assert list(forth) == list(back)
    for group in forth:
        one, other = forth[group].ratio, back[group].ratio
        assert one is not None
        assert other is not None
        assert one.value == pytest.approx(1 / other.value)
        assert one.low == pytest.approx(1 / other.high)  # type: ignore[operator]
        assert one.high == pytest.approx(1 / other.low)  # type: ignore[operator]


@pytest.mark.computes
def test_comparisons_turn_round_when_the_baseline_is_exchanged(tmp_path: Path) -> None:
    found = synthetic.experiment(
        tmp_path,
        synthetic.plan("sieve", "shell"),
        _times(lambda trial: 1000 * (1.2 if trial.system == "b" else 1) * _noise(trial, 0.01)),
    )

    forth, back = (evaluate.of(found, baseline=name).comparisons for name in ("a", "b"))

    for one, other in zip(forth, back, strict=True):
        assert (one.verdict, other.verdict) == (verdict.SLOWER, verdict.FASTER)
        assert one.ratio is not None
        assert other.ratio is not None
        assert one.ratio.value == pytest.approx(1 / other.ratio.value)
        assert one.p_adjusted == pytest.approx(other.p_adjusted)


def test_every_metric_brings_the_blocks_it_has_to_the_index(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome | None:
        if trial.cell.workload == "shell" and trial.block >= 8:
            return None
        slow = 4 if (trial.system, trial.cell.workload) == ("b", "shell") else 1
        return synthetic.outcome(trial, 1000 * slow * _noise(trial, 0.001))

    index = _indices(_weigh(tmp_path, synthetic.plan("sieve", "shell"), measured))["all"]

    assert (index.metrics, index.blocks, index.missing) == (2, 8, ())  # the fewest that a metric has
    assert index.ratio is not None
    assert index.ratio.value == pytest.approx(0.5, rel=0.01)
    assert index.verdict == verdict.SLOWER


@pytest.mark.computes
def test_metrics_need_no_common_block_for_the_index(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome | None:
        even = trial.block % 2 == 0
        return synthetic.outcome(trial) if even == (trial.cell.workload == "sieve") else None

    index = _indices(_weigh(tmp_path, synthetic.plan("sieve", "shell"), measured))["all"]

    assert (index.metrics, index.blocks) == (2, 6)
    assert index.ratio is not None
    assert index.ratio.value == 1.0


def test_without_a_pair_there_is_no_index(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome | None:
        return synthetic.outcome(trial) if trial.system == "a" else None

    index = _indices(_weigh(tmp_path, synthetic.plan("sieve", "shell"), measured))["all"]

    assert (index.ratio, index.blocks, index.verdict) == (None, 0, verdict.UNRESOLVED)
    assert index.missing == ("sieve time", "shell time")


@pytest.mark.computes
@pytest.mark.parametrize(("together", "gain"), [(1.0, 2.0), (2.0, 1.0), (4.0, 0.5)])
def test_the_gain_is_p_when_p_copies_take_the_same_time_as_one(
    tmp_path: Path, together: float, gain: float
) -> None:
    def times(trial: Trial) -> float:
        return 1000 * (together if trial.cell.copies == 2 else 1) * (3 if trial.system == "b" else 1)

    evaluation = _weigh(tmp_path, synthetic.plan("sieve", copies=(1, 2)), _times(times))

    assert [(one.system, one.workload, one.metric, one.copies) for one in evaluation.gains] == [
        ("a", "sieve", "time", 2),
        ("b", "sieve", "time", 2),
    ]
    assert [one.gain.value for one in evaluation.gains] == pytest.approx([gain, gain])


def test_a_gain_needs_the_cell_with_one_copy(tmp_path: Path) -> None:
    assert _weigh(tmp_path, synthetic.plan("sieve", copies=(2,)), _times(lambda trial: 1000)).gains == ()


def test_an_operation_s_costs_are_real_user_and_sys(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        slow = 2 if trial.system == "b" else 1
        return synthetic.outcome(trial, 1000 * slow, user=0.5, system=0.125)

    evaluation = _weigh(tmp_path, synthetic.plan("sieve", copies=(1, 2)), measured)

    told = {
        (cost.system, cost.copies): (cost.real_ns, cost.user_ns, cost.system_ns) for cost in evaluation.costs
    }
    # Two copies share the time between them; what each operation uses of a processor stays.
    assert told == {
        ("a", 1): (1000.0, 500.0, 125.0),
        ("a", 2): (500.0, 500.0, 125.0),
        ("b", 1): (2000.0, 1000.0, 250.0),
        ("b", 2): (1000.0, 1000.0, 250.0),
    }


# --- what limits every verdict


@pytest.mark.parametrize(
    ("fact", "own", "other"),
    [("cpu_model", "1", "2"), ("cpu_count", 1, 2), ("memory_bytes", 1, 2), ("architecture", "1", "2")],
)
def test_other_hardware_is_warned_of_and_another_kernel_is_not(
    tmp_path: Path, fact: str, own: object, other: object
) -> None:
    prints = {"a": {fact: own, "kernel": "x"}, "b": {fact: other, "kernel": "y"}}

    evaluation = _weigh(tmp_path, synthetic.plan(), _times(lambda trial: 1000), fingerprints=prints)

    assert remarks.texts(evaluation.remarks) == (f"the hardware differs: {fact} is 1 on a and 2 on b",)


def test_a_guest_of_this_machine_has_no_other_hardware_but_was_given_less(tmp_path: Path) -> None:
    prints = {
        "native": {"cpu_model": "X", "cpu_count": 2, "memory_bytes": 8 << 30},
        "uml": {"cpu_model": "UML", "cpu_count": 1, "memory_bytes": 512 << 20},
        "gvisor": {"cpu_model": "unknown", "cpu_count": 2, "memory_bytes": 8 << 30},
    }
    plan = synthetic.plan(systems=tuple(prints))

    evaluation = _weigh(tmp_path, plan, _times(lambda trial: 1000), fingerprints=prints)

    assert remarks.texts(evaluation.remarks) == (
        "uml was given 1 processor of 2 and 512 MiB of memory of 8 GiB",
    )


def test_a_guest_for_another_processor_was_translated(tmp_path: Path) -> None:
    prints = {"native": {"architecture": "x86_64"}, "qemu-aarch64": {"architecture": "aarch64"}}
    plan = synthetic.plan(systems=tuple(prints))

    evaluation = _weigh(tmp_path, plan, _times(lambda trial: 1000), fingerprints=prints)
    (said,) = remarks.texts(evaluation.remarks)

    assert said == (
        "qemu-aarch64 ran programs for aarch64 on a machine that is x86_64, by binary translation"
    )


def test_all_hardware_that_differs_is_one_warning(tmp_path: Path) -> None:
    prints = {"native": {"cpu_model": "X", "cpu_count": 2}, "ssh:far": {"cpu_model": "Y", "cpu_count": 4}}
    plan = synthetic.plan(systems=tuple(prints))

    evaluation = _weigh(tmp_path, plan, _times(lambda trial: 1000), fingerprints=prints)

    assert remarks.texts(evaluation.remarks) == (
        "the hardware differs: cpu_model is X on native and Y on ssh:far; "
        "cpu_count is 2 on native and 4 on ssh:far",
    )


def test_the_systems_are_told_of_as_they_described_themselves(tmp_path: Path) -> None:
    evaluation = _weigh(tmp_path, synthetic.plan(blocks_per_boot=4), _in_boots(4, 1.0), boot_systems=("b",))

    assert [(one.name, one.boots, one.is_boot) for one in evaluation.systems] == [
        ("a", 1, False),
        ("b", 3, True),
    ]
    assert evaluation.systems[1].fingerprint["kernel"] == "b"
    assert evaluation.systems[1].clock_apart == 0.0


# --- what is decided early


@pytest.mark.computes
def test_a_pair_is_decided_when_its_every_metric_is(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        loud = _noise(trial, 0.3)
        if trial.cell.workload == "disktest":
            samples = tuple(
                Samples(0, metric, 1000, (round(1e6 * noise),) * 4)
                for metric, noise in (("write", loud), ("read", 1.0))
            )
            return synthetic.outcome(trial, samples=samples)
        return synthetic.outcome(trial, 1000 * (loud if trial.cell.workload == "shell" else 1))

    found = synthetic.experiment(
        tmp_path, synthetic.plan("sieve", "shell", "disktest", systems=("a", "b", "c")), measured
    )

    told = interim.Judge(found)()

    assert told.decided == {("b", Cell("sieve")), ("c", Cell("sieve"))}
    assert told.explain == frozenset()


def test_nothing_is_decided_before_anything_is_measured(tmp_path: Path) -> None:
    assert interim.Judge(synthetic.new(tmp_path, synthetic.plan()))() == Interim()


def test_what_is_firm_and_large_is_to_be_explained_and_what_is_near_is_told(tmp_path: Path) -> None:
    factors = {"sieve": 3.0, "syscall": 1.1, "shell": 1.0, "memory_copy": 3.0}

    def measured(trial: Trial) -> Outcome | None:
        if trial.cell.workload == "memory_copy" and trial.block > 1:
            return None  # two blocks, three times: that is not firm yet
        factor = factors[trial.cell.workload] if trial.system == "b" else 1.0
        return synthetic.outcome(trial, 1000 * factor * _noise(trial, 0.001))

    told = interim.Judge(synthetic.experiment(tmp_path, synthetic.plan(*factors, blocks=8), measured))()

    assert told.decided == {("b", Cell(name)) for name in ("sieve", "syscall", "shell")}
    assert told.explain == {("b", Cell("sieve"))}
    assert set(told.horizons) == {Cell("memory_copy")}
    goals = [one.blocks for one in told.horizons[Cell("memory_copy")] if one.verdicts]
    assert goals[0] == 5


@pytest.mark.computes
@pytest.mark.parametrize("boot_systems", [(), ("b",)])
def test_verdicts_while_it_is_measured_are_those_of_all_that_is_there(
    tmp_path: Path, boot_systems: tuple[str, ...]
) -> None:
    def measured(trial: Trial) -> Outcome:
        if (trial.system, trial.cell.workload, trial.block) == ("b", "sieve", 3):
            return synthetic.bad(trial, "failed", "no room")
        factor = 1.3 if trial.system == "b" and trial.cell.workload == "shell" else 1.0
        boot = trial.block // 2 + 1 if trial.system in boot_systems else 1
        return synthetic.outcome(trial, 1000 * factor * _noise(trial, 0.02), boot=boot)

    made = synthetic.plan("sieve", "shell", "disktest", systems=("a", "b", "c"), blocks=9)
    events = [measured(trial) for trial in synthetic.trials(made)]
    growing = synthetic.new(tmp_path / "growing", made, boot_systems=boot_systems)
    judge = interim.Judge(growing)

    words = set()
    for many in (3, 1, 7, 20, 0, 1, 19, 16):
        for event in events[:many]:
            synthetic.append(growing, event)
            judge.hear(event)
        del events[:many]
        told = judge()
        with _observing(growing) as seen:
            look = comparison.Looking(seen).look()
        assert look is not None
        assert [one.verdict for one in judge.comparisons] == [one.verdict for one in look.comparisons]
        for one, other in zip(judge.comparisons, look.comparisons, strict=True):
            assert one.blocks == other.blocks
            assert (one.ratio is None) == (other.ratio is None)
            if one.ratio and other.ratio:
                assert one.ratio.value == pytest.approx(other.ratio.value, rel=1e-12)
        cells = {cell.label: cell for cell in made.cells}
        assert told.decided == interim.result_at(look, cells, precision=math.log1p(0.1)).decided
        again = interim.Judge(growing)()  # that reads the journal
        assert (again.decided, set(again.horizons)) == (told.decided, set(told.horizons))
        words |= {one.verdict for one in look.comparisons}
    assert verdict.UNRESOLVED in words
    assert boot_systems or verdict.SLOWER in words


def _looked(observations: Observations) -> tuple[Comparison, ...]:
    look = comparison.Looking(observations).look()
    assert look is not None
    return look.comparisons


def test_at_looks_a_comparison_rests_on_the_blocks_of_its_last_look(tmp_path: Path) -> None:
    found = synthetic.experiment(
        tmp_path,
        synthetic.plan("sieve", "shell", blocks=11),
        lambda trial: (
            synthetic.outcome(trial, 1000 * _noise(trial, 0.1))
            if trial.block < (7 if trial.cell.workload == "sieve" else 11)
            else None
        ),
    )

    with _observing(found) as seen:
        looked = {one.workload: one.blocks for one in _looked(seen)}
        whole = {one.workload: one.blocks for one in comparison.all_of(seen)}

    assert looked == {"sieve": 6, "shell": 8}
    assert whole == {"sieve": 7, "shell": 11}


def test_at_looks_whole_boots_count(tmp_path: Path) -> None:
    found = synthetic.experiment(tmp_path, synthetic.plan(blocks=21), _in_boots(3, 2.0), boot_systems=("b",))

    with _observing(found) as seen:
        (looked,) = _looked(seen)

    assert looked.blocks == 18  # six of seven boots


@pytest.mark.computes
@pytest.mark.parametrize("seed", [1, 2])
def test_verdicts_do_not_depend_on_the_order_of_the_rows(tmp_path: Path, seed: int) -> None:
    factors = {"sieve": 1.05, "shell": 1.3, "disktest": 1.0, "syscall": 20.0}
    found = synthetic.experiment(
        tmp_path,
        synthetic.plan(*factors, systems=("a", "b", "c"), blocks=9),
        lambda trial: (
            synthetic.bad(trial, "failed", "no room")
            if (trial.block, trial.system) == (4, "c")
            else synthetic.outcome(
                trial,
                1000 * (factors[trial.cell.workload] if trial.system == "b" else 1) * _noise(trial, 0.02),
            )
        ),
    )
    before = evaluate.of(found)
    path = found.path / journal.NAME
    lines = path.read_bytes().splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    path.write_bytes(b"".join(lines))

    after = evaluate.of(found)

    assert len({one.verdict for one in before.comparisons}) > 2
    assert after.comparisons == before.comparisons
    assert after.indices == before.indices
    assert after.troubles == before.troubles


# --- a system against itself


CELLS = ("sieve", "syscall", "memory_copy", "pipe_latency", "shell")


def _simulated(
    observations: Observations,
    chance: np.random.Generator,
    *,
    deviation: float,
    blocks: int,
    effect: float = 0.0,
) -> tuple[Comparison, ...]:
    """The comparisons of an experiment whose numbers are drawn and not read: `effect` on b, as a log."""
    for key in observations.cells_and_metrics():
        shared = chance.normal(0, 3 * deviation, size=blocks)  # what a block does to both
        for system in observations.names:
            own = chance.standard_t(3, size=blocks) * deviation + effect * (system == "b")
            observations.values[key][system] = {
                block: Value(1, dict.fromkeys((FLOOR, TYPICAL, COST, GROUP), math.exp(log)))
                for block, log in enumerate(shared + own)
            }
    return comparison.all_of(observations)


@pytest.fixture
def observations(tmp_path: Path) -> Iterator[Observations]:
    """The observations of an experiment of five workloads, to be filled."""
    made = synthetic.plan(*CELLS, blocks=24)
    with _observing(synthetic.experiment(tmp_path, made, synthetic.outcome)) as made_up:
        yield made_up


@pytest.mark.computes
@pytest.mark.parametrize("blocks", [12, 24])
def test_a_system_against_itself_differs_in_few_reports(observations: Observations, blocks: int) -> None:
    reports = 250
    chance = np.random.default_rng(blocks)
    with_claim = wrong = 0
    for _ in range(reports):
        words = [one.verdict for one in _simulated(observations, chance, deviation=0.02, blocks=blocks)]
        with_claim += any(word in DIRECTIONS for word in words)
        wrong += sum(word in (verdict.FASTER, verdict.SLOWER) for word in words)

    assert with_claim / reports < 0.05 + 4 * math.sqrt(0.05 * 0.95 / reports)
    assert wrong / reports / len(CELLS) < 0.01


@pytest.mark.computes
def test_a_quiet_system_against_itself_is_equivalent(observations: Observations) -> None:
    chance = np.random.default_rng(5)
    words = [
        one.verdict for _ in range(60) for one in _simulated(observations, chance, deviation=0.001, blocks=24)
    ]

    assert words.count(verdict.EQUIVALENT) / len(words) > 0.95


@pytest.mark.computes
def test_what_is_exactly_at_the_margin_is_seldom_called_equivalent_or_beyond_it(
    observations: Observations,
) -> None:
    chance = np.random.default_rng(6)
    found = [
        one
        for _ in range(150)
        for one in _simulated(observations, chance, deviation=0.004, blocks=24, effect=math.log(1.02))
        if one.margin == 0.02
    ]

    share = len(found)
    assert share == 150 * 3
    bound = 0.05 + 4 * math.sqrt(0.05 * 0.95 / share)
    assert sum(one.verdict == verdict.EQUIVALENT for one in found) / share < bound
    assert sum(one.verdict == verdict.SLOWER for one in found) / share < bound


@pytest.mark.computes
def test_archives_of_a_system_against_itself_hold_few_differences(tmp_path: Path) -> None:
    made = synthetic.plan(*CELLS, "disktest")
    claims = total = 0
    for number in range(12):
        chance = np.random.default_rng([number, 99])
        evaluation = _weigh(
            tmp_path / str(number),
            made,
            lambda trial, chance=chance: synthetic.outcome(trial, 1000 * math.exp(chance.normal(0, 0.03))),  # type: ignore[misc]
        )
        claims += sum(one.verdict in DIRECTIONS for one in evaluation.comparisons)
        total += len(evaluation.comparisons)

    assert total == 12 * 7
    assert claims <= 4


@pytest.mark.parametrize(
    ("blocks", "word"), [(2, verdict.UNRESOLVED), (4, verdict.SLOWER), (7, verdict.SLOWER)]
)
def test_seven_times_is_firm_after_four_blocks(tmp_path: Path, blocks: int, word: str) -> None:
    chance = random.Random(5)

    def measured(trial: Trial) -> Outcome:
        times = 7.0 if trial.system == "b" and trial.cell.workload == "sieve" else 1.0
        return synthetic.outcome(trial, 1000 * times * math.exp(chance.gauss(0, 0.05)))

    plan = synthetic.plan("sieve", "syscall", "memory_copy", "shell", blocks=blocks)

    (one,) = (each for each in _weigh(tmp_path, plan, measured).comparisons if each.workload == "sieve")
    assert one.verdict == word
    assert one.blocks_needed == (4 if blocks == 2 else None)
