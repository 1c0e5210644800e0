"""Archives older than the checks of records, or from elsewhere, may hold anything: all are reported."""

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from synthetic import SIZES

from steelyard.analysis import evaluate
from steelyard.analysis.model import Evaluation
from steelyard.archive import exclusions, reading
from steelyard.events import Count, Group, Histogram, Outcome, Samples, Usage
from steelyard.report import console, page, plain
from steelyard.study.plan import Trial
from steelyard.words import remarks

pytestmark = pytest.mark.computes  # each weighs an experiment

# That many times as many in a run by hand, and then each time others.
TIMES = int(os.environ.get("STEELYARD_EXAMPLES", "1"))
YEARS_NS = (1 << 63) - 1


def _samples(**values: Any) -> Callable[[Outcome], Outcome]:
    return lambda one: replace(one, samples=tuple(replace(each, **values) for each in one.samples))


def _usage(**values: Any) -> Callable[[Outcome], Outcome]:
    return lambda one: replace(one, usage=tuple(replace(each, **values) for each in one.usage))


WRONG: dict[str, tuple[Callable[[Outcome], Outcome], str]] = {
    "durations of 292 years": (
        _samples(durations_ns=(YEARS_NS,) * 5),
        "a batch of time took 9223372036854775807",
    ),
    "durations that nobody knows": (_samples(durations_ns=(None,) * 5), "a batch of time took no time"),
    "durations below 0": (_samples(durations_ns=(-5,) * 5), "a batch of time took -5 ns"),
    "no operations": (_samples(operations=0), "a batch of time had 0 operations"),
    "operations that nobody knows": (_samples(operations=None), "a batch of time had no operations"),
    "2^63 operations": (_samples(operations=1 << 63), "a batch of time had 9223372036854775808 operations"),
    "copy -1": (_samples(copy=-1), "there was a copy -1"),
    "another copy": (_samples(copy=1), "there was a copy 1"),
    "a copy without a number": (_samples(copy=None), "there was a copy without a number"),
    "nothing moved": (_samples(bytes=0), "an operation of time moved 0 bytes"),
    "no metric": (_samples(metric=None), "a batch of had 1000000 operations"),
    "no operations used": (_usage(operations=0), "it used 0 operations"),
    "centuries used": (_usage(user_ns=YEARS_NS), "it used 9.22"),
    "time used that nobody knows": (_usage(system_ns=None), "it used no time"),
    "a count of nothing": (
        lambda one: replace(one, counts=(Count(0, "calls", "calls", None),)),  # type: ignore[arg-type]
        "it counted nothing of calls",
    ),
}


# Of these the archive lets go already: a line that no journal may hold is left out, and named.
LEFT_OUT = {
    "durations that nobody knows",
    "durations below 0",
    "no operations",
    "operations that nobody knows",
    "a copy without a number",
    "no metric",
    "time used that nobody knows",
    "a count of nothing",
}


def _reported(evaluation: Evaluation, capsys: pytest.CaptureFixture[str] | None = None) -> str:
    plain.print_json(evaluation)
    plain.print_csv(evaluation)
    console.print_evaluation(evaluation, tables=(), everything=True)
    return capsys.readouterr().out if capsys else ""


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_right_is_a_failed_trial_or_left_out_and_the_rest_is_reported(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, reason = WRONG[name]

    def measured(trial: Trial) -> Outcome:
        told = synthetic.outcome(trial, 1000.0 + trial.block)
        return spoil(told) if trial.system == "b" and trial.block >= 8 else told

    evaluation = evaluate.of(synthetic.experiment(tmp_path, synthetic.plan(blocks=12), measured, closed=True))

    told = _reported(evaluation, capsys)
    (one,) = evaluation.comparisons
    assert (one.blocks, one.ratio.value if one.ratio else None) == (8, 1.0)
    notes = [one for one in remarks.texts(evaluation.remarks) if "is damaged and left out" in one]
    if name in LEFT_OUT:
        assert (evaluation.troubles, len(notes)) == ((), 4)
        assert "is damaged and left out" in told
        return
    assert not notes
    (trouble,) = evaluation.troubles
    assert (trouble.system, trouble.status, trouble.trials) == ("b", "failed", 4)
    assert trouble.reason is not None
    assert " ".join(trouble.reason.split()).startswith(f"its record cannot be right: {reason}")
    assert "its record cannot be right" in told


def _reports(**figures: int) -> Callable[[Outcome], Outcome]:
    """It reports these as well."""
    more = tuple(Samples(0, metric, 1, (figure,)) for metric, figure in figures.items())
    return lambda one: replace(one, samples=(*one.samples, *more))


def _histogram(
    values_ns: tuple[int, ...], counts: tuple[int, ...], **figures: int
) -> Callable[[Outcome], Outcome]:
    told = (Histogram(0, "latency", values_ns, counts),)
    return lambda one: replace(_reports(**figures)(one), histograms=told)


CONTRADICTED: dict[str, Callable[[Outcome], Outcome]] = {
    "latency_99 was 500, but must be at least 1030, which is latency_50": _reports(
        latency_50=1030, latency_99=500
    ),
    "softirq was 1001 of at most 1000": _reports(softirq=1001),
    "near was 90, but must be at most 20, which is demand less rest": _reports(demand=100, rest=80, near=90),
    "rest was 101, but must be at most 90, which is demand": _reports(demand=90, rest=101, near=1),
    "latency_50 was 3600000000000 ns in a trial of 1000000000 ns": _reports(latency_50=3600 * 10**9),
    "its histogram holds 9223372036854775808 requests of": _histogram((1024,), (1 << 63,)),
    "latency_50 was 5000, but must be 1024 to 1039, where its histogram has it": _histogram(
        (1024,), (100,), latency_50=5000
    ),
    "it had 4611686018427387904 events in 1000000000 ns": _usage(faults_minor=1 << 62),
    "it used 9.22": _usage(user_ns=YEARS_NS),
}


def test_figures_that_contradict_each_other_are_no_figures(tmp_path: Path) -> None:
    lies = list(CONTRADICTED.items())

    def measured(trial: Trial) -> Outcome:
        told = synthetic.outcome(trial)
        return lies[trial.block][1](told) if trial.system == "b" and trial.block < len(lies) else told

    found = synthetic.experiment(tmp_path, synthetic.plan(blocks=len(lies) + 1), measured)
    with reading.connect(found) as connection:
        exclusions.set_aside(connection)
        reasons = dict(
            connection.execute("SELECT block, reason FROM trials WHERE status = 'failed'").fetchall()
        )

    assert sorted(reasons) == list(range(len(lies)))
    for block, (reason, _) in enumerate(lies):
        assert reasons[block].startswith(f"its record cannot be right: {reason}"), reasons[block]


def test_a_curve_that_lacks_sizes_is_no_curve(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        few = trial.block == 2 and trial.system == "b"
        return synthetic.curve(trial, lambda size: 1000.0, sizes=SIZES[:1] if few else SIZES)

    found = synthetic.experiment(tmp_path, synthetic.plan("memory_read", blocks=4), measured)
    (one,) = evaluate.of(found).troubles

    assert (one.system, one.trials) == ("b", 1)
    assert one.reason == f"its record cannot be right: its curve has 1 of {len(SIZES)} sizes"


@pytest.mark.program
def test_the_page_says_what_cannot_be_right(tmp_path: Path) -> None:
    spoil, reason = WRONG["durations of 292 years"]
    found = synthetic.experiment(
        tmp_path, synthetic.plan(blocks=2), lambda trial: spoil(synthetic.outcome(trial)), closed=True
    )

    assert reason in page.html(evaluate.of(found), tables=())


def test_moments_that_cannot_be_are_no_figures(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        ends = [1e9 if trial.block == 3 and trial.system == "b" else 100.0] * 3
        alone = synthetic.group("alone", began=[0.0], ended=[50.0])
        together = synthetic.group("together", began=[0.0] * 3, ended=ends)
        return synthetic.outcome(trial, groups=(alone, together))

    plan = synthetic.plan("linpack_processes", blocks=6)
    evaluation = evaluate.of(synthetic.experiment(tmp_path, plan, measured))

    (trouble,) = evaluation.troubles
    assert (trouble.trials, trouble.reason) == (
        1,
        "its record cannot be right: the moments of process 0 are none",
    )


def test_a_reason_of_megabytes_is_shown_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def measured(trial: Trial) -> Outcome:
        return synthetic.bad(trial, "failed", "no room " * 400_000)

    evaluation = evaluate.of(synthetic.experiment(tmp_path, synthetic.plan(blocks=2), measured))

    trouble = evaluation.troubles[0]
    assert trouble.reason is not None
    assert re.fullmatch(r"(no room )+.*….*(no room )+", trouble.reason)
    assert len(trouble.reason) == 300
    assert len(_reported(evaluation, capsys)) < 100_000


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"cpu_count": "2", "memory_bytes": None, "caches": [5]},
        {"caches": {"L1": -1}, "tuning": 5, "kernel": 5},
    ],
)
def test_facts_that_cannot_be_are_left_out(facts: dict[str, Any], tmp_path: Path) -> None:
    plan = synthetic.plan("memory_read", blocks=2)
    prints = {"b": {"cpu_count": 2, "memory_bytes": 1 << 30, "caches": {"L1": 32768}}, "a": facts}

    found = synthetic.experiment(
        tmp_path, plan, lambda trial: synthetic.curve(trial, lambda size: 1000.0), fingerprints=prints
    )

    assert [one.name for one in evaluate.of(found).systems] == ["a", "b"]


SIGNED = st.one_of(
    st.none(), st.integers(-(1 << 63), (1 << 63) - 1), st.sampled_from([0, -1, 1, 5, 1000, 10**9, YEARS_NS])
)
UNSIGNED = st.one_of(
    st.none(), st.integers(0, (1 << 64) - 1), st.sampled_from([0, 1, 5, 1000, 10**9, YEARS_NS, (1 << 64) - 1])
)


_TEXTS = ("str", "tuple[str, ...]", "tuple[str | None, ...]", str, tuple[str, ...], tuple[str | None, ...])


@st.composite
def _spoiled(draw: st.DrawFn, one: Outcome) -> Outcome:
    """The outcome with a few values that a column can hold, and no record should."""
    for _ in range(draw(st.integers(1, 3))):
        part = draw(st.sampled_from(["samples", "usage", "own", *["groups"] * 3 * bool(one.groups)]))
        if part == "own":
            key = draw(st.sampled_from(["host_ns", "guest_ns", "clock_doubt_ns", "signal"]))
            one = replace(one, **{key: draw(SIGNED)})
            continue
        kind = {"samples": Samples, "usage": Usage, "groups": Group}[part]
        keys = [each.name for each in fields(kind) if each.type not in _TEXTS and each.name != "members"]
        key = draw(st.sampled_from(keys))
        is_unsigned = key in ("operations", "user_ns", "system_ns", "point", "bytes") or (
            (part, key) == ("samples", "faults_major")
        )
        value: Any = draw(UNSIGNED if is_unsigned else SIGNED)
        if key in ("durations_ns", "asked_ns", "began_ns", "ended_ns", "reaped_ns", "signals"):
            value = tuple(draw(st.lists(SIGNED, max_size=4)))
        if key == "marks_ns":
            value = tuple(tuple(draw(st.lists(SIGNED, min_size=14, max_size=17))) for _ in range(3))
        records = getattr(one, part)
        number = draw(st.integers(0, len(records) - 1))
        changed = (*records[:number], replace(records[number], **{key: value}), *records[number + 1 :])
        one = replace(one, **{part: changed})
    return one


# Without shrinking: an example takes half a second.
@settings(
    max_examples=8 * TIMES,
    derandomize=TIMES == 1,
    database=None,
    deadline=None,
    phases=[Phase.generate],
)
@given(st.data())
def test_whatever_an_archive_holds_it_is_reported(data: st.DataObject) -> None:
    plan = synthetic.plan("syscall", "memory_read", "linpack_processes", copies=(1, 2), blocks=3)
    told = {trial: _right(trial) for trial in synthetic.trials(plan)}
    told |= {trial: data.draw(_spoiled(one)) for trial, one in told.items() if data.draw(st.booleans())}
    with tempfile.TemporaryDirectory() as directory:
        evaluation = evaluate.of(synthetic.experiment(Path(directory), plan, told.__getitem__))
        _reported(evaluation)

    assert {one.status for one in evaluation.troubles} <= {"failed"}


def _right(trial: Trial) -> Outcome:
    if trial.cell.workload == "memory_read":
        return synthetic.curve(trial, lambda size: 1e4, sizes=(64, 128, 256, 512))
    told = synthetic.outcome(trial, 1000.0 + trial.block)
    if trial.cell.workload == "syscall":
        return told
    alone = synthetic.group("alone", began=[0.0], ended=[50.0])
    together = synthetic.group("together", began=[0.0, 1.0, 2.0], ended=[90.0, 95.0, 99.0])
    return replace(told, groups=(alone, together))
