"""Archives from before the door, or from somebody else, may hold anything: they are reported all the same."""

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import building
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from steelyard.analysis import weigh
from steelyard.analysis.model import Weighing
from steelyard.events import Count, Group, Outcome, Samples, Usage
from steelyard.report import console, page, plain
from steelyard.study.plan import Trial

pytestmark = pytest.mark.computes  # each weighs an experiment

# So many times as many in a run by hand, and then each time others.
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


def _reported(weighing: Weighing, capsys: pytest.CaptureFixture[str] | None = None) -> str:
    plain.print_json(weighing)
    plain.print_csv(weighing)
    console.print_weighing(weighing, tables=(), everything=True)
    return capsys.readouterr().out if capsys else ""


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_right_is_a_failed_trial_or_left_out_and_the_rest_is_reported(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, reason = WRONG[name]

    def measured(trial: Trial) -> Outcome:
        told = building.outcome(trial, 1000.0 + trial.block)
        return spoil(told) if trial.system == "b" and trial.block >= 8 else told

    weighing = weigh.of(building.experiment(tmp_path, building.plan(blocks=12), measured, closed=True))

    told = _reported(weighing, capsys)
    (one,) = weighing.comparisons
    assert (one.blocks, one.ratio.value if one.ratio else None) == (8, 1.0)
    notes = [one for one in weighing.warnings if "is damaged and left out" in one]
    if name in LEFT_OUT:
        assert (weighing.troubles, len(notes)) == ((), 4)
        assert "is damaged and left out" in told
        return
    assert not notes
    (trouble,) = weighing.troubles
    assert (trouble.system, trouble.status, trouble.trials) == ("b", "failed", 4)
    assert trouble.reason is not None
    assert " ".join(trouble.reason.split()).startswith(f"its record cannot be right: {reason}")
    assert "its record cannot be right" in told


@pytest.mark.program
def test_the_page_says_what_cannot_be_right(tmp_path: Path) -> None:
    spoil, reason = WRONG["durations of 292 years"]
    found = building.experiment(
        tmp_path, building.plan(blocks=2), lambda trial: spoil(building.outcome(trial)), closed=True
    )

    assert reason in page.html(weigh.of(found), tables=())


def test_moments_that_cannot_be_are_no_figures(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        ends = [1e9 if trial.block == 3 and trial.system == "b" else 100.0] * 3
        alone = building.group("alone", began=[0.0], ended=[50.0])
        together = building.group("together", began=[0.0] * 3, ended=ends)
        return building.outcome(trial, groups=(alone, together))

    plan = building.plan("linpack_processes", blocks=6)
    weighing = weigh.of(building.experiment(tmp_path, plan, measured))

    (trouble,) = weighing.troubles
    assert (trouble.trials, trouble.reason) == (
        1,
        "its record cannot be right: the moments of process 0 are none",
    )


def test_a_reason_of_megabytes_is_shown_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def measured(trial: Trial) -> Outcome:
        return building.bad(trial, "failed", "no room " * 400_000)

    weighing = weigh.of(building.experiment(tmp_path, building.plan(blocks=2), measured))

    trouble = weighing.troubles[0]
    assert trouble.reason is not None
    assert re.fullmatch(r"(no room )+.*….*(no room )+", trouble.reason)
    assert len(trouble.reason) == 300
    assert len(_reported(weighing, capsys)) < 100_000


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"cpu_count": "2", "memory_bytes": None, "caches": [5]},
        {"caches": {"L1": -1}, "tuning": 5, "kernel": 5},
    ],
)
def test_facts_that_cannot_be_are_left_out(facts: dict[str, Any], tmp_path: Path) -> None:
    plan = building.plan("memory_read", blocks=2)
    prints = {"b": {"cpu_count": 2, "memory_bytes": 1 << 30, "caches": {"L1": 32768}}, "a": facts}

    found = building.experiment(
        tmp_path, plan, lambda trial: building.curve(trial, lambda size: 1000.0), fingerprints=prints
    )

    assert [one.name for one in weigh.of(found).systems] == ["a", "b"]


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
    plan = building.plan("syscall", "memory_read", "linpack_processes", copies=(1, 2), blocks=3)
    told = {trial: _right(trial) for trial in building.trials(plan)}
    told |= {trial: data.draw(_spoiled(one)) for trial, one in told.items() if data.draw(st.booleans())}
    with tempfile.TemporaryDirectory() as directory:
        weighing = weigh.of(building.experiment(Path(directory), plan, told.__getitem__))
        _reported(weighing)

    assert {one.status for one in weighing.troubles} <= {"failed"}


def _right(trial: Trial) -> Outcome:
    if trial.cell.workload == "memory_read":
        return building.curve(trial, lambda size: 1e4, sizes=(64, 128, 256, 512))
    told = building.outcome(trial, 1000.0 + trial.block)
    if trial.cell.workload == "syscall":
        return told
    alone = building.group("alone", began=[0.0], ended=[50.0])
    together = building.group("together", began=[0.0, 1.0, 2.0], ended=[90.0, 95.0, 99.0])
    return replace(told, groups=(alone, together))
