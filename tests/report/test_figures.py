"""Figures that people read: none is below nothing, none above its whole, and none says what is not known."""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from hypothesis import given, settings
from hypothesis import strategies as st
from known_records import account_of, as_json, as_text, end, head, process, reading

from steelyard import quantities
from steelyard.analysis import evaluate, spending
from steelyard.analysis.model import CostDifference, HostCost
from steelyard.analysis.spending import Spent
from steelyard.drawing import charts
from steelyard.events import Outcome
from steelyard.papers import source
from steelyard.report import console, sentences
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.study.plan import Trial
from steelyard.watch import sentences as watch_sentences
from steelyard.words import loads as load_words
from steelyard.words import wording

TIMES = int(os.environ.get("STEELYARD_EXAMPLES", "1"))
often = settings(max_examples=200 * TIMES, derandomize=TIMES == 1, database=None, deadline=None)


def _spent(time_ns: float, noise: float = 0.0, **costs: float) -> Spent:
    both = {"time": time_ns, **costs}
    if {"run", "wait"} <= costs.keys():
        both["rest"] = time_ns - costs["run"] - costs["wait"]
    return Spent(both, both, {"system": noise}, 1000.0, 0.9, True, 0.0)


def _account(*spent: Spent, time_ns: float = 808.0) -> HostCost:
    known = spending.known(spent)
    return HostCost(
        "guest", "pipe", (), "pipe", "time", len(spent), time_ns, known.costs, None, None, 0.9, known.below,
        known.overlap_ns,
    )  # fmt: skip


def test_a_cost_below_nothing_is_shown_as_a_bound() -> None:
    account = _account(_spent(808, user=900, system=-558, run=342, wait=10))

    assert "system" not in account.costs
    assert account.below == {"system": 558}
    assert wording.account(account)[2] == "below 558 ns"
    assert not any("-" in text for text in wording.account(account))


def test_the_bound_of_a_cost_is_at_least_what_its_own_noise_leaves() -> None:
    known = spending.known([_spent(808, noise=1e6, system=-5, run=342, wait=10)])

    assert known.below["system"] == pytest.approx(2 * math.sqrt(1e6) - 5)


@pytest.mark.parametrize(
    ("run", "wait", "left_out"),
    [(600, 951, {"rest", "wait"}), (1500, 51, {"rest"}), (0, 1650, {"rest", "wait"})],
)
def test_where_several_ran_at_once_what_is_no_part_of_the_time_is_left_out_with_the_reason(
    run: float, wait: float, left_out: set[str]
) -> None:
    account = _account(_spent(808, run=run, wait=wait))

    assert {"rest", "wait"} - account.costs.keys() == left_out
    (note,) = wording.account_notes([account])
    assert "on guest several processes ran or waited at once" in note
    assert "of 808 ns" in note


def test_a_little_more_than_the_time_is_a_bound_of_the_rest() -> None:
    account = _account(_spent(808, run=800, wait=30))

    assert account.overlap_ns is None
    assert account.below == {"rest": 22}
    assert wording.account(account)[5] == "below 22.0 ns"


def test_nothing_is_said_of_accounts_whose_parts_are_parts() -> None:
    assert list(wording.account_notes([_account(_spent(808, run=300, wait=30))])) == []


@pytest.mark.parametrize(("cost", "said"), [("rest", "–"), ("system", "below 743 ns")])
def test_a_side_of_a_difference_is_never_below_nothing(cost: str, said: str) -> None:
    one = CostDifference(cost, "ns", -743.0, 1.0, Estimate(744.0), 1.0, False, None)

    assert wording.cost_of(one, one.baseline_value) == said


def test_a_reading_that_falls_makes_no_rate_below_nothing() -> None:
    readings = [
        reading(1, cpu_user_ns=500_000_000),
        reading(2, cpu_user_ns=490_000_000),  # a kernel that splits run time again
        reading(3, cpu_user_ns=600_000_000),
    ]
    life: dict[str, Any] = {"end_ns": 103 * 10**9, "cpu_user_ns": 600_000_000}
    account = account_of(head(every_ns=10**9), process(**life), *readings, end(3))
    (series, *_) = as_json(account)["series"]

    values = series["rates"]["cpu_user_ns"]["values"]
    assert min(values) >= 0
    assert sum(values) == pytest.approx(600_000_000)
    assert "-" not in as_text(account).replace("--", "")


# Every way in which a number is written for people; what it may be written with.
FORMATTERS: dict[str, Callable[[float], str]] = {
    "digits": quantities.digits,
    "two digits": lambda number: quantities.digits(number, count=2),
    "count": quantities.count,
    "time": quantities.time_ns,
    "size": lambda number: quantities.size_bytes(abs(number)),
    "factor": wording.factor,
    "time per operation": lambda number: wording.value(number, "ns per call"),
    "bandwidth": lambda number: wording.value(number, "MB/s"),
    "rate": lambda number: wording.value(number, "/s"),
    "things": lambda number: wording.value(number, "processes"),
    "multiple": lambda number: wording.value(number, "times what free sharing would take"),
    "property": lambda number: wording.quantity(number, "operations"),
    "cost": lambda number: wording.cost(number, "ns"),
    "counted cost": lambda number: wording.cost(number, ""),
    "signed": wording.signed,
    "throughput": lambda number: wording.throughput(abs(number), "operations/s"),
}
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
POSITIVE = st.floats(min_value=5e-324, allow_nan=False, allow_infinity=False)
_SCALES = {"ps": 1e-3, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


@pytest.mark.parametrize("name", FORMATTERS)
@often
@given(number=NUMBERS)
def test_a_number_is_short_whatever_its_size_and_never_in_powers_of_ten(name: str, number: float) -> None:
    text = FORMATTERS[name](number)

    assert len(text) <= 60
    assert not re.search(r"\de[+-]?\d", text), text
    assert len(re.sub(r"[^0-9]", "", text)) <= 16, text


@often
@given(number=st.floats(min_value=1e-6, max_value=1e11))
def test_digits_read_back_as_the_number_within_their_digits(number: float) -> None:
    back = float(quantities.digits(number).replace(",", ""))

    assert back == pytest.approx(number, rel=0.006)


@often
@given(ns=st.floats(min_value=1e-2, max_value=1e18))
def test_a_time_reads_back_as_the_time_within_its_digits(ns: float) -> None:
    number, unit = quantities.time_ns(ns).split()

    assert float(number.replace(",", "")) * _SCALES[unit] == pytest.approx(ns, rel=0.006)


@often
@given(number=st.integers(min_value=0, max_value=10**12 - 1))
def test_an_exact_count_is_shown_exactly(number: int) -> None:
    for text in (
        quantities.count(number),
        wording.value(number, "processes"),
        wording.quantity(number, "ways"),
    ):
        assert int(text.split()[0].replace(",", "")) == number


@often
@given(share=st.floats(min_value=0.5, max_value=1, exclude_max=True))
def test_no_level_reads_as_certainty(share: float) -> None:
    text = sentences.level(Estimate(1.0, 0.5, 2.0, share))
    number = float(text.removeprefix("over ").removesuffix(" %"))

    assert number < 100
    assert abs(number - 100 * share) < 0.51


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.95, "95 %"), (0.9999, "99.99 %"), (0.999, "99.9 %"), (0.99999999, "over 99.9999 %")],
)
def test_a_level_has_as_many_decimals_as_it_needs(share: float, text: str) -> None:
    assert quantities.level(share) == text


def _with_interval(low: float, high: float) -> list[str]:
    """Every way in which an interval is written."""
    one = Estimate(low * (high / low) ** 0.5, low, high, 0.95)
    return [
        wording.interval(one),
        wording.how_much(one),
        wording.value_interval(one, "ns per call"),
        wording.quantity_interval(one, "bytes"),
        " ".join(wording.with_interval(one)),
        watch_sentences.bounds(one),
        load_words._with(one, quantities.digits),
        quantities.interval(low, high, quantities.digits),
    ]


@often
@given(low=st.floats(min_value=1e-300, max_value=1e290), factor=st.floats(min_value=1001, max_value=1e9))
def test_an_interval_that_says_nothing_is_not_yet_known(low: float, factor: float) -> None:
    for text in _with_interval(low, low * factor):
        assert quantities.NOT_KNOWN in text
        assert len(text) <= 120


@often
@given(low=st.floats(min_value=1e-6, max_value=1e9), factor=st.floats(min_value=1, max_value=999))
def test_an_interval_that_says_something_is_shown(low: float, factor: float) -> None:
    assert not any(quantities.NOT_KNOWN in text for text in _with_interval(low, low * factor))


def test_a_wide_interval_moves_no_axis() -> None:
    def row(ratio: Estimate) -> charts.Row:
        return charts.Row("g", "a", "b", ratio, verdict.UNRESOLVED, 0.01, "1.1 times")

    known = [row(Estimate(1.1, 1.05, 1.2, 0.95))]
    wide = row(Estimate(1.1, 3.58e-20, 1.9e22, 0.95))

    assert charts._domain([*known, wide]) == charts._domain(known)
    assert (charts._mark(wide, 1.0, False)["low"], charts._mark(wide, 1.0, False)["high"]) == (None, None)


@pytest.mark.parametrize(
    ("number", "noun", "several", "text"),
    [(1, "cell", "", "1 cell"), (0, "cell", "", "0 cells"), (8179, "cell", "", "8,179 cells"),
     (1, "copy", "copies", "1 copy"), (2, "process", "processes", "2 processes")],
)  # fmt: skip
def test_one_is_not_several(number: int, noun: str, several: str, text: str) -> None:
    assert quantities.number_of(number, noun, several) == text


def test_a_paper_s_figure_keeps_the_paper_s_digits() -> None:
    fourth, fifth = (source.rows_of("kretschek-panalyser", table) for table in "45")

    said = {source.as_printed(row).text for row in (*fourth, *fifth)}

    assert {"793.2 requests/s", "0.63 %", "0.00 %", "176.20 1/s", "1,181.6 requests/s"} <= said


def test_figures_of_a_load_have_three_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers of requests and connections are counts: they are exact."""
    one = synthetic.load(
        answers=4567, bytes=4567 * 1501, connections=1234, connecting_ns=1234 * 98_765, longest_ns=34_567_890,
        silent_ns=12_345_678, failures={"timeout": 1234},
    )  # fmt: skip
    latency = {1_234_567: 1000}
    found = synthetic.loads_on_a_server(
        tmp_path, [one] * 6, latency, told={"server": 30_123}, parameters={"clients": 16}
    )

    console.print_evaluation(found, tables=())
    said = " ".join(capsys.readouterr().out.split())

    assert "served at most 4,570 [4,570, 4,570] requests a second (with 16 clients" in said
    quantiles = "1.24 ms 1.25 ms 1.25 ms 1.25 ms"
    assert f"16 clients 6 4,570 [4,570, 4,570] 6.54 MiB {quantiles} 7,404 30.1 µs" in said
    assert "16 clients 7,404 34,818 98.8 µs 34.6 ms 1.2 %" in said


def test_what_no_system_can_have_is_not_listed_as_unresolved(tmp_path: Path) -> None:
    def measured(trial: Trial) -> Outcome:
        return synthetic.outcome(trial, metrics=("time", "server"))

    evaluation = evaluate.of(
        synthetic.experiment(tmp_path, synthetic.plan("web_requests", blocks=3), measured)
    )

    assert {one.metric for one in evaluation.comparisons} == {"time", "server"}
