"""How throughput grows with copies: laws with known terms are found again, and too little is said to be."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import synthetic

from steelyard.analysis import evaluate
from steelyard.analysis.model import Evaluation, Scaling
from steelyard.events import Outcome
from steelyard.report import page, plain
from steelyard.report.console import print_evaluation
from steelyard.statistics import resampling, scalability
from steelyard.statistics.scalability import Law
from steelyard.statistics.signed_rank import Array
from steelyard.study import plan, study_file
from steelyard.study.plan import Trial
from steelyard.words import remarks, wording

SIGMAS = 4  # of the binomial: a test that simulates is wrong by chance once in 16 000
COUNTS = np.array([1, 2, 3, 4, 6, 8, 12, 16], float)


def _throughputs(
    chance: np.random.Generator,
    *,
    contention: float,
    coherency: float,
    blocks: int = 6,
    noise: float = 0.02,
    counts: Array = COUNTS,
) -> Array:
    """A million operations a second by one copy; each block has luck of its own."""
    exact = 1e6 * scalability.speedup(counts, contention=contention, coherency=coherency)
    luck = chance.normal(0, 0.05, (blocks, 1)) if noise else 0.0
    rows: Array = exact * np.exp(luck + chance.normal(0, noise, (blocks, len(counts))))
    return rows


def _law(contention: float, coherency: float, *, seed: int = 1, noise: float = 0.0) -> Law:
    chance = np.random.default_rng(seed)
    rows = _throughputs(chance, contention=contention, coherency=coherency, noise=noise)
    return scalability.law(COUNTS, rows, chance=chance)


# --- the law


def test_the_law_of_numbers_made_by_it_is_found_exactly() -> None:
    found = _law(0.03, 0.0008)

    assert found.is_universal
    assert found.throughput.value == pytest.approx(1e6, rel=1e-6)
    assert found.contention.value == pytest.approx(0.03, rel=1e-5)
    assert found.coherency.value == pytest.approx(0.0008, rel=1e-5)
    assert found.residual < 1e-6


def test_by_hand_two_copies_that_queue_half_the_time_do_four_thirds() -> None:
    assert scalability.speedup(np.array([1.0, 2.0]), contention=0.5, coherency=0.0) == pytest.approx(
        [1, 4 / 3]
    )


def test_without_coherency_it_is_amdahl_s_law() -> None:
    found = _law(0.05, 0.0, noise=0.01)

    assert not found.is_universal
    assert found.coherency.value == 0.0
    assert found.coherency.low == 0.0
    assert found.coherency.high is not None
    assert 0 < found.coherency.high < 0.01
    assert found.peak is None


def test_copies_that_share_nothing_have_neither_term() -> None:
    found = _law(0.0, 0.0)

    assert (found.contention.value, found.coherency.value) == (pytest.approx(0, abs=1e-9), 0.0)
    assert not found.is_universal


def test_copies_that_gain_nothing_queue_all_the_time() -> None:
    found = _law(1.0, 0.0)

    assert found.contention.value == pytest.approx(1.0)
    assert not found.is_universal


def test_more_than_a_full_gain_reads_as_no_contention_and_as_a_poor_fit() -> None:
    rows = np.tile(COUNTS**1.1, (6, 1))
    found = scalability.law(COUNTS, rows, chance=np.random.default_rng(1))

    assert found.contention.value == 0.0
    assert found.residual > 0.05


def test_the_peak_is_told_where_it_is_near_and_sure() -> None:
    near, far = _law(0.1, 0.005, noise=0.01), _law(0.03, 0.0002, noise=0.001)

    assert near.peak is not None
    assert near.peak.low is not None
    assert near.peak.high is not None
    assert near.peak.low <= math.sqrt(0.9 / 0.005) <= near.peak.high
    assert far.is_universal
    assert math.sqrt(0.97 / 0.0002) > 2 * COUNTS.max()
    assert far.peak is None


def test_few_blocks_give_the_law_without_intervals() -> None:
    chance = np.random.default_rng(1)
    rows = _throughputs(chance, contention=0.1, coherency=0.005, blocks=scalability.FEWEST_BLOCKS - 1)
    found = scalability.law(COUNTS, rows, chance=chance)

    assert found.contention.low is None
    assert found.coherency.low is None
    assert found.peak is None


def test_what_a_block_has_at_every_number_of_copies_changes_nothing() -> None:
    rows = _throughputs(np.random.default_rng(3), contention=0.1, coherency=0.005, noise=0.01)
    luck = np.array([1, 3, 0.5, 1, 1, 1])[:, None]
    one, two = (
        scalability.law(COUNTS, each, chance=np.random.default_rng(1)) for each in (rows, rows * luck)
    )

    assert two.contention.value == pytest.approx(one.contention.value, abs=0.002)
    assert two.contention.high == pytest.approx(one.contention.high, abs=0.004)


@pytest.mark.computes
@pytest.mark.parametrize(
    ("contention", "coherency", "is_universal"),
    [
        (0.03, 0.0008, True),
        (0.2, 0.01, True),
        pytest.param(0.05, 0.0, False, marks=pytest.mark.long),
        (0.0, 0.0, False),
    ],
)
def test_the_intervals_cover_and_the_right_law_is_taken(
    contention: float, coherency: float, is_universal: bool
) -> None:
    """Over 100 simulated studies of six blocks with 2 % of noise. The percentile interval of so few blocks is
    an approximation: 90 % is asked of it, not 95."""
    chance = np.random.default_rng(20261122)
    studies = 100
    found = []
    for _ in range(studies):
        rows = _throughputs(chance, contention=contention, coherency=coherency)
        found.append(scalability.law(COUNTS, rows, chance=chance))

    for truth, estimates in (
        (contention, [one.contention for one in found]),
        (coherency, [one.coherency for one in found]),
    ):
        covered = sum((one.low or 0.0) <= truth <= (one.high or 0.0) for one in estimates) / studies
        assert covered >= 0.90 - SIGMAS * math.sqrt(0.9 * 0.1 / studies) / 2
        # An interval that covers by being wide would say nothing.
        widths = [(one.high or 0.0) - (one.low or 0.0) for one in estimates]
        assert np.median(widths) < max(0.08, truth)
    assert sum(one.is_universal == is_universal for one in found) >= 0.9 * studies


def test_an_expanded_level_makes_a_normal_interval_as_wide_as_student_s() -> None:
    # n = 6: sqrt(6/5) * 2.5706 = 2.8160; beyond it lie 0.243 % of a normal on either side.
    assert resampling.expanded(0.05, count=6) / 2 == pytest.approx(0.00243, abs=1e-5)
    assert resampling.expanded(0.05, count=10_000) == pytest.approx(0.05, abs=1e-4)


# --- saturation


def _saturation(shape: Sequence[float], *, noise: float = 0.01) -> scalability.Saturation | None:
    counts = np.arange(1, len(shape) + 1, dtype=float)
    chance = np.random.default_rng(5)
    rows = np.array(shape) * np.exp(chance.normal(0, noise, (8, len(shape))))
    return scalability.saturation(counts, rows, processors=2, law=None, chance=chance)


def test_a_flat_top_is_found_with_its_height_and_how_many_copies_it_is_worth() -> None:
    found = _saturation([100, 180, 180, 180])

    assert found is not None
    assert found.capacity.value == pytest.approx(180, rel=0.02)
    assert found.copies.value == pytest.approx(1.8, rel=0.03)
    assert [one.value for one in found.kept] == pytest.approx([1, 1], rel=0.02)


def test_a_decline_beyond_the_processors_is_told_for_each_number_of_copies() -> None:
    found = _saturation([100, 200, 200, 100], noise=0.0)

    assert found is not None
    assert len(found.kept) == 2
    assert found.kept[1].value / found.kept[0].value == pytest.approx(0.5)


def test_with_a_law_it_is_the_most_that_the_law_gives_within_the_processors() -> None:
    """However gently it bends: 64 processors with 5 % of contention are worth 15.4 of them."""
    counts = np.array([1, 2, 3, 6, 11, 20, 35, 64, 128], float)
    chance = np.random.default_rng(7)
    shape = scalability.speedup(np.minimum(counts, 64), contention=0.05, coherency=0.0)
    rows = 1e6 * shape * [1, 1, 1, 1, 1, 1, 1, 1, 0.9] * np.exp(chance.normal(0, 0.01, (8, len(counts))))
    law = scalability.law(counts[:-1], rows[:, :-1], chance=chance)

    found = scalability.saturation(counts, rows, processors=64, law=law, chance=chance)

    assert found is not None
    exact = 64 / (1 + 0.05 * 63)
    assert found.copies.value == pytest.approx(exact, rel=0.02)
    assert found.capacity.value == pytest.approx(1e6 * exact, rel=0.02)
    (kept,) = found.kept
    assert kept.value == pytest.approx(0.9, abs=0.02)
    assert kept.low is not None
    assert kept.high is not None
    assert kept.low < kept.value < kept.high < 1


def test_what_still_grows_has_no_saturation() -> None:
    assert _saturation([100, 200, 300, 400]) is None


# --- from an archive to the reports


def _weigh(
    root: Path,
    copies: Sequence[int],
    *,
    processors: int | None,
    contention: float = 0.1,
    coherency: float = 0.01,
    blocks: int = 8,
    missing: Sequence[tuple[int, int]] = (),
) -> Evaluation:
    """One system whose copies keep to the law up to its processors and to what those gave beyond them."""
    made = synthetic.plan("syscall", systems=("a",), blocks=blocks, copies=copies)

    def measured(trial: Trial) -> Outcome | None:
        if (trial.block, trial.cell.copies) in missing:
            return None
        within = np.array([min(trial.cell.copies, processors or 1e9)], float)
        gain = float(scalability.speedup(within, contention=contention, coherency=coherency)[0])
        noise = 1 + 0.001 * ((trial.block * 7 + trial.cell.copies * 5) % 11)
        # Each copy's own time an operation: all of them together take 1000 / gain for one.
        return synthetic.outcome(trial, 1000.0 * noise * trial.cell.copies / gain)

    facts = {"a": {"cpu_count": processors}} if processors is not None else {}
    found = evaluate.of(synthetic.experiment(root, made, measured, fingerprints=facts))
    header = found.experiment.header | {"steelyard": "0"}
    return replace(found, experiment=replace(found.experiment, header=header))


def _printed(evaluation: Evaluation, capsys: pytest.CaptureFixture[str]) -> str:
    """What people see, without the breaks that lines have."""
    print_evaluation(evaluation, tables=())
    return " ".join(capsys.readouterr().out.split())


def _only(evaluation: Evaluation) -> Scaling:
    (one,) = evaluation.scalings
    return one


@pytest.mark.computes
def test_a_study_of_many_copies_gives_gains_efficiencies_and_the_law(tmp_path: Path) -> None:
    evaluation = _weigh(tmp_path, (1, 2, 3, 4, 6, 8, 16), processors=8)

    by_copies = {one.copies: one for one in evaluation.gains}
    assert by_copies[2].gain.value == pytest.approx(2 / 1.12, rel=0.01)
    assert by_copies[2].efficiency.value == pytest.approx(1 / 1.12, rel=0.01)
    assert by_copies[2].efficiency.low == pytest.approx((by_copies[2].gain.low or 0) / 2)
    assert by_copies[2].blocks == 8
    assert by_copies[2].cell == "syscall"
    one = _only(evaluation)
    assert one.law == "universal"
    assert one.within == (1, 2, 3, 4, 6, 8)
    assert one.contention is not None
    assert one.coherency is not None
    assert one.throughput is not None
    assert one.contention.value == pytest.approx(0.1, abs=0.01)
    assert one.coherency.value == pytest.approx(0.01, abs=0.002)
    assert one.throughput.value == pytest.approx(1e6, rel=0.02)
    assert one.unit == "operations/s"
    assert one.capacity is not None
    assert [each.copies for each in one.declines] == [16]


@pytest.mark.parametrize(("contention", "is_beyond"), [(-0.5, True), (0.0, False), (0.1, False)])
def test_a_gain_beyond_the_processors_says_that_the_one_copy_was_slow(
    contention: float, is_beyond: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = _weigh(tmp_path, (1, 2, 4), processors=2, contention=contention, coherency=0.0)

    said = [one for one in remarks.texts(evaluation.remarks) if "was slowed by" in one]
    assert len(said) == (2 if is_beyond else 0)  # with two copies, and with four on two processors
    if is_beyond:
        assert said[0].startswith("a: 2 copies of syscall gain 4.00 times [")
        assert "but 2 copies can give at most 2" in said[0]
        assert "but 2 processors can give at most 2" in said[1]
        assert "place=1" in said[0]
    assert ("was slowed by" in _printed(evaluation, capsys)) == is_beyond


def test_the_copies_of_the_gain_study_that_have_partners_are_placed() -> None:
    """Numbers of copies that do not divide among the processors would be uneven on them."""
    made = plan.make(study_file.read("gain"), systems=("native",), seed=1, processors=2)
    cells = made.cells
    placed = {cell.workload for cell in cells if dict(cell.parameters).get("place") == 1}

    assert placed == {"pipe_latency", "tcp_latency", "thread_create", "fork_exit"}
    for workload in placed:
        assert {cell.copies for cell in cells if cell.workload == workload} == {1, 2, 4}


@pytest.mark.computes
def test_copies_beyond_the_processors_are_no_part_of_the_law(tmp_path: Path) -> None:
    """They would pull its coherency up: the same archive, were they taken for processors, says so."""
    honest = _only(_weigh(tmp_path / "1", (1, 2, 3, 4, 5, 6, 12), processors=6, coherency=0.0))

    assert honest.law == "amdahl"
    assert honest.within == (1, 2, 3, 4, 5, 6)


@pytest.mark.program
@pytest.mark.parametrize(
    ("processors", "why"),
    [
        (
            2,
            "a scaling law needs 6 numbers of copies up to the number of processors; here are 2 (1, 2), "
            "with 2 processors",
        ),
        (
            1,
            "a scaling law needs 6 numbers of copies up to the number of processors; here is 1 (1), with 1 "
            "processor",
        ),
        (None, "a scaling law holds up to the number of processors, which the system does not report"),
    ],
)
def test_too_few_numbers_of_copies_have_gains_and_no_law_and_the_report_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], processors: int | None, why: str
) -> None:
    evaluation = _weigh(tmp_path, (1, 2, 3, 4), processors=processors)
    one = _only(evaluation)

    assert one.law == ""
    assert one.contention is None
    assert one.no_law is not None
    assert remarks.text(one.no_law) == why
    assert [gain.copies for gain in evaluation.gains] == [2, 3, 4]
    assert f"no scaling law (a: syscall): {why}" in wording.missing_laws(evaluation.scalings)
    assert why in _printed(evaluation, capsys)
    assert why in page.html(evaluation, tables=())


@pytest.mark.computes
def test_a_block_that_lacks_a_number_of_copies_is_left_out_of_the_law_and_not_of_the_gains(
    tmp_path: Path,
) -> None:
    copies = (1, 2, 3, 4, 5, 6)
    evaluation = _weigh(tmp_path, copies, processors=6, missing=[(0, 2), (1, 6)])

    assert _only(evaluation).blocks == 6
    assert _only(evaluation).law == "universal"
    assert {one.copies: one.blocks for one in evaluation.gains} == {2: 7, 3: 8, 4: 8, 5: 8, 6: 7}


def test_too_few_whole_blocks_have_no_law_and_say_so(tmp_path: Path) -> None:
    missing = [(block, 1 + block % 3) for block in range(4)]
    one = _only(_weigh(tmp_path, (1, 2, 3, 4, 5, 6), processors=6, missing=missing))

    assert one.law == ""
    assert one.no_law is not None
    assert remarks.text(one.no_law) == "a law needs 5 blocks with every number of copies; 4 have"


@pytest.mark.computes
def test_a_number_of_copies_that_was_never_measured_is_no_rung(tmp_path: Path) -> None:
    missing = [(block, 4) for block in range(8)]
    one = _only(_weigh(tmp_path, (1, 2, 3, 4, 5, 6, 7), processors=7, missing=missing))

    assert one.copies == (1, 2, 3, 5, 6, 7)
    assert one.law == "universal"


def test_one_number_of_copies_is_no_scaling(tmp_path: Path) -> None:
    assert _weigh(tmp_path, (1,), processors=4).scalings == ()


@pytest.mark.computes
def test_programs_get_the_scalings_whole(tmp_path: Path) -> None:
    evaluation = _weigh(tmp_path, (1, 2, 3, 4, 6, 8, 16), processors=8)
    (told,) = plain.as_object(evaluation)["scalings"]

    assert told["law"] == "universal"
    assert told["contention"].keys() == {"value", "low", "high", "level"}
    assert told["declines"][0]["copies"] == 16
    assert (
        plain.as_object(evaluation)["gains"][0]["efficiency"]["value"] == evaluation.gains[0].efficiency.value
    )


@pytest.mark.program
def test_people_get_the_terms_with_intervals_and_a_chart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = _weigh(tmp_path, (1, 2, 3, 4, 6, 8, 16), processors=8)
    printed = _printed(evaluation, capsys)
    written = page.html(evaluation, tables=())

    assert "Throughput by number of copies" in printed
    assert "universal" in printed
    one = _only(evaluation)
    assert one.contention is not None
    for text in wording.with_interval(one.contention):
        assert text in printed
        assert text in written
    assert 'data-figure="gain syscall"' in written
