"""From trials that are curves to plateaus, knees and verdicts: known shapes in, known shapes out."""

import dataclasses
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic

from steelyard.analysis import comparison, curves, evaluate, rows
from steelyard.analysis.model import CurveLine, Knee, Plateau
from steelyard.analysis.observations import Key, Observations
from steelyard.analysis.remarks import NotAboveOverhead
from steelyard.archive import reading
from steelyard.events import Outcome
from steelyard.statistics import judgement, verdict
from steelyard.statistics.judgement import Pairs
from steelyard.statistics.signed_rank import Estimate
from steelyard.study.plan import Trial
from steelyard.words import remarks

pytestmark = pytest.mark.computes  # each weighs an experiment

KNEE = 1 << 20


def staircase(size: int, *, high: float, low: float, knee: int = KNEE) -> float:
    """Level up to the knee, down over an octave, level again."""
    octaves = min(1.0, max(0.0, math.log2(size / knee)))
    return high * (low / high) ** octaves


def _evaluation(tmp_path: Path, *, high: float = 1.0, low: float = 1.0, knee: int = KNEE, blocks: int = 12):
    chance = random.Random(7)

    def measured(trial: Trial) -> Outcome:
        is_other = trial.system == "b"
        luck = math.exp(chance.gauss(0, 0.003))

        def speed(size: int) -> float:
            shape = staircase(
                size,
                high=40000.0 * (high if is_other else 1.0),
                low=10000.0 * (low if is_other else 1.0),
                knee=knee if is_other else KNEE,
            )
            return shape * luck * math.exp(chance.gauss(0, 0.01))

        return synthetic.curve(trial, speed)

    plan = synthetic.plan("memory_read", blocks=blocks)
    return evaluate.of(synthetic.experiment(tmp_path, plan, measured))


def test_a_bandwidth_is_shown_as_one_and_more_of_it_is_better(tmp_path: Path) -> None:
    (one,) = _evaluation(tmp_path, high=1.2, low=1.2).comparisons

    assert (one.unit, one.direction, one.metric) == ("MB/s", "higher", "bandwidth")
    assert one.baseline_value is not None
    assert 10000 < one.baseline_value.value < 40000
    assert one.ratio is not None
    assert one.ratio.value == pytest.approx(1.2, rel=0.02)
    assert one.verdict == verdict.FASTER


def test_plateaus_and_the_knee_are_found_where_they_are(tmp_path: Path) -> None:
    (curve,) = _evaluation(tmp_path).curves

    for line in curve.lines:
        assert [one.level.value for one in line.plateaus] == pytest.approx([40000, 10000], rel=0.02)
        assert line.plateaus[0].level.low < 40000 < line.plateaus[0].level.high
        (knee,) = line.knees
        assert knee.plateau == 0
        assert knee.place.value == pytest.approx(KNEE, rel=0.1)
        assert line.paging_from is None


def test_systems_are_compared_plateau_by_plateau(tmp_path: Path) -> None:
    """The upper plateaus differ by a tenth, the lower ones not at all."""
    (curve,) = _evaluation(tmp_path, high=1.1).curves

    upper, lower, knee = curve.parts["b"]
    assert (upper.part, upper.number, upper.verdict) == ("plateau", 0, verdict.FASTER)
    assert upper.ratio.value == pytest.approx(1.1, rel=0.02)
    assert (lower.part, lower.number, lower.verdict) == ("plateau", 1, verdict.EQUIVALENT)
    assert knee.part == "knee"
    assert knee.verdict in (verdict.UNRESOLVED, verdict.EQUIVALENT)


def _line(
    system: str, *plateaus: tuple[int, int], agreement: float = 0.9, knees: Sequence[float] = ()
) -> CurveLine:
    return CurveLine(
        system=system,
        points=tuple((size, Estimate(1.0)) for size in synthetic.SIZES),
        knots=(),
        plateaus=tuple(Plateau(low, high, Estimate(1.0)) for low, high in plateaus),
        knees=tuple(
            Knee(number, Estimate(place, place / 1.1, place * 1.1, 0.95))
            for number, place in enumerate(knees)
        ),
        agreement=agreement,
        trials=20,
        paging_from=None,
    )


def _shared(ours: CurveLine, theirs: CurveLine) -> list[tuple[int, int, int, int]]:
    shape = curves._Shape(("memory_read", "bandwidth"), 0.02, {"a": ours, "b": theirs})
    return [
        (one.number, one.other, one.sizes[0], one.sizes[-1])
        for one in curves._shared_plateaus(shape, "a", "b")
    ]


def test_plateaus_are_compared_over_the_sizes_that_both_hold() -> None:
    """The one of a whole curve has a slow end that the shorter one has not."""
    whole = (4096, 1 << 25)

    assert _shared(_line("a", (4096, KNEE)), _line("b", whole)) == [(0, 0, 4096, KNEE)]
    assert _shared(_line("a", whole), _line("b", (4096, KNEE))) == [(0, 0, 4096, KNEE)]
    assert _shared(_line("a", (4096, KNEE)), _line("b", (4 * KNEE, 1 << 25))) == []
    assert _shared(_line("a"), _line("b", whole)) == []


def test_a_plateau_stands_against_one_alone() -> None:
    """Where one system's curve was cut at another place, what is left over has no counterpart."""
    cut = _line("a", (4096, 1 << 15), (1 << 16, KNEE), (4 * KNEE, 1 << 25))
    uncut = _line("b", (4096, KNEE), (4 * KNEE, 1 << 25))

    assert _shared(cut, uncut) in (
        [(0, 0, 4096, 1 << 15), (2, 1, 4 * KNEE, 1 << 25)],
        [(1, 0, 1 << 16, KNEE), (2, 1, 4 * KNEE, 1 << 25)],
    )


def test_the_same_curves_that_are_cut_differently_do_not_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise decides whether the end of a slope belongs to the plateau; it is as slow on both systems."""
    chance = random.Random(3)
    whole = curves._line
    longest = {"a": KNEE, "b": max(synthetic.SIZES)}

    def line(observations: Observations, key: Key, system: str, direction: str) -> CurveLine:
        found = whole(observations, key, system, direction)
        return dataclasses.replace(found, plateaus=(Plateau(4096, longest[system], Estimate(1.0)),), knees=())

    def measured(trial: Trial) -> Outcome:
        return synthetic.curve(trial, lambda size: 40000.0 * size**-0.05 * math.exp(chance.gauss(0, 0.01)))

    monkeypatch.setattr(curves, "_line", line)
    found = evaluate.of(synthetic.experiment(tmp_path, synthetic.plan("memory_read", blocks=24), measured))

    assert [one.verdict for one in found.curves[0].parts["b"]] == [verdict.EQUIVALENT]


@pytest.mark.parametrize(("agreement", "expected"), [(0.9, verdict.FASTER), (0.4, verdict.UNRESOLVED)])
def test_a_knee_that_most_resamples_do_not_have_is_none_to_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agreement: float, expected: str
) -> None:
    whole = curves._line

    def line(*asked: Any) -> CurveLine:
        return dataclasses.replace(whole(*asked), agreement=agreement)

    monkeypatch.setattr(curves, "_line", line)
    (curve,) = _evaluation(tmp_path, knee=2 * KNEE).curves

    assert [one.verdict for one in curve.parts["b"] if one.part == "knee"] == [expected]


def test_the_more_knees_the_surer_a_claim_must_be() -> None:
    one = Estimate(0.3, 0.1, 0.5, 0.95)

    widths = [curves._widened(one, count=20, knees=knees) for knees in (1, 4, 16)]
    lows = [each.low for each in widths]
    assert lows == sorted(lows, reverse=True)
    assert lows[0] < 0.1  # few trials ask for more as well
    assert widths[0].value == 0.3


def test_a_plateau_is_judged_beside_all_else_that_is_compared(tmp_path: Path) -> None:
    """The least difference that would be claimed of it alone is none among metrics that do not differ."""
    chance = random.Random(5)
    plan = synthetic.plan("syscall", "sieve", "pipe_latency", "disktest", blocks=8)
    found = synthetic.experiment(
        tmp_path, plan, lambda trial: synthetic.outcome(trial, 100 * math.exp(chance.gauss(0, 0.02)))
    )
    with reading.connect(found) as connection:
        observations = Observations(found, rows.read(connection, reported=set()))
    noise = np.random.default_rng(5).normal(0, 0.02, 8)
    plateaus = [Pairs(np.zeros(8), noise + far, True, ("b", "memory")) for far in np.arange(0, 0.1, 0.001)]

    def claimed_alone(one: Pairs) -> bool:
        return judgement.judge([one], [0.01], noise=comparison.noise_of(observations)).all[0].is_claimed

    least = next(one for one in plateaus if claimed_alone(one))
    largest = plateaus[-1]
    words = [comparison.beside_all(observations, [one], margins=[0.01])[0][1] for one in (least, largest)]
    assert [word in verdict.CLAIMED for word in words] == [False, True]


def test_a_knee_that_lies_further_is_better(tmp_path: Path) -> None:
    (curve,) = _evaluation(tmp_path, knee=2 * KNEE).curves

    knee = next(one for one in curve.parts["b"] if one.part == "knee")
    assert knee.ratio.value == pytest.approx(2.0, rel=0.15)
    assert knee.verdict == verdict.FASTER


def test_every_size_has_its_ratio_and_p_value(tmp_path: Path) -> None:
    (curve,) = _evaluation(tmp_path, high=1.1).curves

    ratios = {one.point: one for one in curve.ratios["b"]}
    assert list(ratios) == list(synthetic.SIZES)
    assert ratios[4096].ratio.value == pytest.approx(1.1, rel=0.02)
    assert ratios[4096].p_adjusted < 0.01
    assert ratios[max(synthetic.SIZES)].ratio.value == pytest.approx(1.0, rel=0.02)


def test_systems_are_compared_over_the_sizes_that_both_have(tmp_path: Path) -> None:
    """The slow end that only one of them could measure does not make it the slower one."""

    def measured(trial: Trial) -> Outcome:
        sizes = synthetic.SIZES if trial.system == "a" else synthetic.SIZES[:8]
        return synthetic.curve(trial, lambda size: staircase(size, high=40000.0, low=100.0), sizes=sizes)

    found = evaluate.of(synthetic.experiment(tmp_path, synthetic.plan("memory_read"), measured))

    assert found.comparisons[0].ratio is not None
    assert found.comparisons[0].ratio.value == pytest.approx(1.0)
    assert [len(line.points) for line in found.curves[0].lines] == [28, 8]
    assert len(found.curves[0].ratios["b"]) == 8


def test_it_is_told_from_which_size_a_system_pages(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        faults = 3 if trial.system == "b" else 0
        return synthetic.curve(trial, lambda size: 1000.0, faults=faults)

    (curve,) = evaluate.of(synthetic.experiment(tmp_path, synthetic.plan("memory_read"), measured)).curves

    assert [line.paging_from for line in curve.lines] == [None, max(synthetic.SIZES)]


def test_an_overhead_is_subtracted_trial_by_trial(tmp_path: Path) -> None:
    """3 us of which 1 us is overhead, against 2 us of which 1 us is: twice as fast, not 1.5 times."""

    def measured(trial: Trial) -> Outcome:
        switch = 3000.0 if trial.system == "a" else 2000.0
        told = synthetic.outcome(trial, metrics=("overhead",)).samples
        return synthetic.outcome(
            trial, samples=(*told, *synthetic.outcome(trial, switch, metrics=("switch",)).samples)
        )

    found = evaluate.of(synthetic.experiment(tmp_path, synthetic.plan("context_switch"), measured))

    switch = next(one for one in found.comparisons if one.metric == "switch")
    assert switch.baseline_value is not None
    assert switch.baseline_value.value == pytest.approx(2000)
    assert switch.ratio is not None
    assert switch.ratio.value == pytest.approx(2)


def test_what_is_not_more_than_its_overhead_is_said_not_to_be_resolved(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        return synthetic.outcome(trial)  # both phases take the same time

    found = evaluate.of(synthetic.experiment(tmp_path, synthetic.plan("context_switch"), measured))

    switch = next(one for one in found.comparisons if one.metric == "switch")
    assert switch.ratio is None
    assert any(isinstance(one.reason, NotAboveOverhead) for one in found.troubles)


def test_operations_that_overlap_are_a_finding(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        alone = synthetic.outcome(trial, 1.0, metrics=("add",)).samples
        several = synthetic.outcome(trial, 0.25, metrics=("add_parallel",)).samples
        return synthetic.outcome(trial, samples=(*alone, *several))

    found = evaluate.of(
        synthetic.experiment(tmp_path, synthetic.plan("integer_operations"), measured)
    ).findings

    assert [(one.system, remarks.text(one.what)) for one in found] == [
        ("a", "integer_operations: add at once"),
        ("b", "integer_operations: add at once"),
    ]
    assert found[0].value.value == pytest.approx(4)


def test_the_lower_plateau_is_the_last_where_the_system_pages() -> None:
    """After the decline; none of a curve that is still falling, or that never pages."""
    plateaus = (
        Plateau(1, 8, Estimate(900.0)),
        Plateau(16, 64, Estimate(300.0)),
        Plateau(256, 512, Estimate(5.0)),
    )

    def lower(count: int, paging_from: int | None) -> Estimate | None:
        return curves.lower_plateau(CurveLine("a", (), (), plateaus[:count], (), None, 12, paging_from))

    assert lower(3, 100) == Estimate(5.0)
    assert lower(2, 100) is None
    assert lower(3, None) is None
