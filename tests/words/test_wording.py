"""Figures in words: three digits, a unit that suits them, and no rounding to a lie."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.analysis.model import Comparison, Gain, Index, MachineFact
from steelyard.analysis.remarks import CacheLine, ClockApart, OneBoot
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import wording

_FACTORS = {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1.0, "ps": 1e-3}


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _read_ns(text: str) -> float:
    """The time that a text says, back in ns."""
    match = re.fullmatch(r"([\d.,]+) (s|ms|µs|ns|ps)", text)
    assert match, text
    return _number(match[1]) * _FACTORS[match[2]]


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (1.0, "1.00 ns"),
        (1.234, "1.23 ns"),
        (51.87, "51.9 ns"),
        (519.4, "519 ns"),
        (1000.0, "1.00 µs"),
        (51_870.0, "51.9 µs"),
        (1.5e6, "1.50 ms"),
        (2e9, "2.00 s"),
        (0.25, "250 ps"),
        (0.002, "2.00 ps"),
        (3.6e12, "3,600 s"),
    ],
)
def test_a_time_has_three_digits_and_the_unit_that_suits_it(ns: float, text: str) -> None:
    assert wording.time_ns(ns) == text


@pytest.mark.parametrize(
    "ns",
    [
        0.9994,
        0.9996,
        999.4,
        999.5,
        999.6,
        999_499.0,
        999_600.0,
        9.996e8,
        9.999e11,
        1.234e13,
        0.0019996,
        1e-12,
    ],
)
def test_rounding_makes_no_lie_and_no_power_of_ten_of_a_time(ns: float) -> None:
    assert _read_ns(wording.time_ns(ns)) == pytest.approx(ns, rel=0.005)


def test_no_time_at_all_is_nothing() -> None:
    assert _read_ns(wording.time_ns(0.0)) == 0


def test_a_longer_time_never_reads_as_a_shorter_one() -> None:
    told = [_read_ns(wording.time_ns(10 ** (power / 200))) for power in range(-500, 2600)]

    assert told == sorted(told)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (0.00512, "0.00512"),
        (427.4, "427"),
        (1.03, "1.03"),
        (12_345.0, "12,300"),
        (999.6, "1,000"),
        (9.996, "10.0"),
        (-5.0, "-5.00"),
        (-0.0400, "-0.0400"),
    ],
)
def test_a_number_has_three_significant_digits(number: float, text: str) -> None:
    assert wording.digits(number) == text


def test_a_number_may_have_another_count_of_digits() -> None:
    assert wording.digits(1234.5, count=2) == "1,200"
    assert wording.digits(1.23456, count=5) == "1.2346"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.0, "1.000"),
        (1.03, "1.030"),
        (0.9812, "0.981"),
        (0.9996, "1.000"),
        (1.2496, "1.250"),
        (2.3456, "2.35"),
        (0.5, "0.500"),
        (0.1, "0.100"),
        (12.345, "12.3"),
        (99.96, "100"),
        (427.4, "427"),
        (5_000_000.0, "5,000,000"),
        (0.0512, "0.0512"),
        (0.00512, "0.00512"),
    ],
)
def test_a_ratio_has_three_digits_and_near_one_three_decimals(ratio: float, text: str) -> None:
    assert wording.factor(ratio) == text


@pytest.mark.parametrize("ratio", [0.09996, 0.9996, 9.996, 99.96, 999.6, 1e-4, 5.12e-5, 1e-9, 1e-12, 1e12])
def test_rounding_makes_no_lie_and_no_power_of_ten_of_a_ratio(ratio: float) -> None:
    text = wording.factor(ratio)

    assert re.fullmatch(r"[\d.,]+", text)
    assert _number(text) == pytest.approx(ratio, rel=0.005)


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(1.0, 0.9, 1.1, 0.95), "[0.900, 1.100]"),
        (Estimate(100.0, 9.5, 200.0, 0.95), "[9.50, 200]"),
        (Estimate(1.0), "no interval"),
    ],
)
def test_an_interval_goes_from_low_to_high_or_there_is_none(estimate: Estimate, text: str) -> None:
    assert wording.interval(estimate) == text


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.5, 0.4, 0.625), "2.0× slower [1.6, 2.5]"),
        (Estimate(2.0, 1.6, 2.5), "2.0× faster [1.6, 2.5]"),
        (Estimate(0.002, 0.001, 0.004), "at least 250× slower [250, 1,000]"),
        (Estimate(0.8, 0.75, 0.85), "1.25× slower [1.18, 1.33]"),
        (Estimate(1.25, 1.2, 1.3), "1.25× faster [1.20, 1.30]"),
        (Estimate(1.012, 1.008, 1.016), "1.2 % faster [0.80, 1.6]"),
        (Estimate(1 / 1.012, 1 / 1.016, 1 / 1.008), "1.2 % slower [0.80, 1.6]"),
        (Estimate(1 / 1.1, 1 / 1.25, 1 / 0.95), "10 % slower [-5.0, 25]"),
        (Estimate(1.1, 0.95, 1.25), "10 % faster [-5.0, 25]"),
        (Estimate(0.5, 0.25, 2.0), "2× slower [0.50, 4.0]"),
        (Estimate(2.0), "2.0× faster"),
        (Estimate(1.1), "10 % faster"),
        (Estimate(1 / 183, 1 / 2071, 1 / 16), "at least 16× slower [16, 2,100]"),
        (Estimate(1 / 183, 1 / 20710, 1 / 16), "at least 16× slower [not yet known]"),
        (Estimate(1 / 180, 1 / 215, 1 / 150), "180× slower [150, 220]"),
        (Estimate(2.31, 2.26, 2.36), "2.31× faster [2.26, 2.36]"),
        (Estimate(0.5, 0.25, 0.7), "2× slower [1.4, 4.0]"),
    ],
)
def test_how_much_is_said_as_people_say_it_with_the_interval_from_low_to_high(
    estimate: Estimate, text: str
) -> None:
    assert wording.how_much(estimate) == text


@pytest.mark.parametrize("ratio", [0.3, 0.79, 0.81, 0.93, 0.999, 1.001, 1.07, 1.24, 1.26, 3.0, 400.0])
def test_exchanging_the_two_exchanges_the_word_alone(ratio: float) -> None:
    estimate = Estimate(ratio, ratio / 1.1, ratio * 1.2)
    exchanged = Estimate(1 / ratio, 1 / (ratio * 1.2), 1 / (ratio / 1.1))
    words = {"faster": "slower", "slower": "faster"}

    told = re.sub("faster|slower", lambda match: words[match[0]], wording.how_much(estimate))

    assert wording.how_much(exchanged) == told


@pytest.mark.parametrize("ratio", [0.9996, 1.0004, 0.99999, 1.00001])
def test_a_difference_is_not_rounded_to_none_and_yet_given_a_direction(ratio: float) -> None:
    told = wording.how_much(Estimate(ratio))
    number = float(told.split()[0])

    assert number != 0
    assert number == pytest.approx(abs(ratio - 1) * 100, rel=0.05)


def test_no_bound_is_minus_nothing() -> None:
    low, high = wording.how_much(Estimate(1.002, 0.99998, 1.004)).partition("[")[2].rstrip("]").split(", ")

    assert _number(low) == pytest.approx(-0.002, rel=0.005)
    assert _number(high) == pytest.approx(0.4, rel=0.005)


def _index(word: str, ratio: Estimate | None, *, metrics: int = 6, missing: tuple[str, ...] = ()) -> Index:
    return Index("uml", "all", ratio, metrics, missing, 12, 0.01, word)


RATIO = Estimate(0.5, 0.4, 0.625, 0.95)


@pytest.mark.parametrize(
    ("index", "told"),
    [
        (
            _index(verdict.SLOWER, RATIO),
            "Overall 2.0× slower [1.6, 2.5] (geometric mean of 6 metrics).",
        ),
        (
            _index(verdict.EQUIVALENT, Estimate(1.002, 0.999, 1.005, 0.95)),
            "Overall 0.2 % faster [-0.10, 0.50] (geometric mean of 6 metrics): no proven difference.",
        ),
        (_index(verdict.UNRESOLVED, None), "No overall figure: no block has every metric."),
        (
            _index(verdict.UNRESOLVED, Estimate(0.5)),
            "No overall figure yet: 12 blocks are too few for an interval.",
        ),
        (
            _index(verdict.SLOWER, RATIO, missing=("shell time",)),
            "Overall 2.0× slower [1.6, 2.5] (geometric mean of 6 metrics, 1 missing).",
        ),
    ],
)
def test_the_whole_says_how_much_and_over_what(index: Index, told: str) -> None:
    assert wording.whole(index) == told


def _comparison(**changes: object) -> Comparison:
    fields: dict[str, object] = {
        "workload": "syscall", "parameters": (), "cell": "syscall", "group": "syscall", "metric": "time",
        "unit": "ns per call", "direction": "lower", "lens": "floor", "system": "uml", "baseline": "native",
        "baseline_value": None, "value": None, "ratio": RATIO, "margin": 0.01, "verdict": verdict.UNRESOLVED,
        "p_adjusted": 0.5, "blocks": 12, "boots": 1, "blocks_needed": 48, "remarks": (),
    }  # fmt: skip
    return Comparison(**(fields | changes))  # type: ignore[arg-type]


def test_every_verdict_has_a_mark_of_its_own_besides_its_word() -> None:
    words = [
        verdict.FASTER,
        verdict.SLOWER,
        verdict.EQUIVALENT,
        verdict.FASTER_OPEN,
        verdict.SLOWER_OPEN,
        verdict.BOUNDED,
        verdict.UNRESOLVED,
    ]
    told = [wording.verdict_text(_comparison(verdict=word)) for word in words]

    assert len({text[0] for text in told}) == len(words)
    assert [text[2:] for text in told] == words


def test_remarks_are_the_blocks_that_it_takes_and_what_limits_the_verdict() -> None:
    clock = "the clock of b differs from this machine's by +1.00%"
    both = (ClockApart("b", 0.01), OneBoot("b"))
    assert wording.remarks(_comparison(remarks=both)) == (
        f"about 48 blocks would resolve 1 %; {clock}; valid for this boot only"
    )
    assert wording.remarks(_comparison(blocks_needed=None, remarks=both[:1])) == clock
    assert wording.remarks(_comparison(blocks=0)) == ""


@pytest.mark.parametrize(("margin", "text"), [(0.005, "0.5"), (0.015, "1.5"), (0.001, "0.1"), (0.02, "2")])
def test_a_margin_is_said_as_it_is(margin: float, text: str) -> None:
    assert re.search(rf"resolve {text}\s*%", wording.remarks(_comparison(margin=margin)))


# Rounding happens in the report alone: nothing before it makes a figure into a text.
@pytest.mark.parametrize(
    "module",
    [
        "analysis/comparison",
        "analysis/observations",
        "archive/experiments",
        "archive/journal",
        "running/records",
    ],
)
def test_nothing_is_rounded_before_the_report(module: str) -> None:
    text = (Path(wording.__file__).parents[1] / f"{module}.py").read_text(encoding="utf-8")

    assert "round(" not in text


def _gain(
    name: str, copies: int, value: float, *, known: bool = True, full: int = 2, blocks: int = 5
) -> Gain:
    gain = Estimate(value, 0.9 * value, 1.1 * value, 0.95) if known else Estimate(value)
    return Gain("a", name, "time", copies, gain, name, Estimate(value / copies), blocks, min(full, copies))


def test_gains_are_said_by_copies_from_the_least_to_the_most_with_intervals() -> None:
    gains = [_gain("x", 4, 1.8), _gain("x", 2, 1.7), _gain("y", 2, 2.0)]

    assert wording.gained(gains, "a") == (
        "Throughput relative to one copy on a: 2 copies 1.7 [1.5, 1.9] to 2.0 [1.8, 2.2] times, "
        "4 copies 1.8 [1.6, 2.0] times as much."
    )
    assert wording.gained(gains, "b") == ""


def test_a_gain_of_one_block_is_left_out_with_the_reason() -> None:
    gains = [
        _gain("x", 2, 1.7),
        _gain("x", 4, 8.1, known=False, blocks=1),
        _gain("x", 8, 3, known=False, blocks=1),
    ]

    said = wording.gained(gains, "a")

    assert "8.1" not in said
    assert said.endswith("Throughput on a with 4 and 8 copies is not yet known: 1 block has no interval.")
    assert wording.gained(gains[1:], "a").startswith("Throughput on a with 4 and 8 copies is not")
    assert wording.efficiency(gains[1]) == "–"


def test_a_gain_beyond_the_processors_is_questioned_where_it_is_said() -> None:
    gains = [_gain("x", 2, 1.9), _gain("y", 4, 8.1)]

    said = wording.gained(gains, "a")

    assert "4 copies 8.1" not in said
    assert said.endswith(
        "Questionable: 8.10 times [7.29, 8.91] with 4 copies of y is more than the copies and processors "
        "allow; see the notes."
    )
    assert wording.efficiency(gains[1]) == "202.5 % (?: 2 would be all)"
    assert not _gain("y", 4, 2.1).is_beyond  # its interval holds what the processors can give
    assert not _gain("y", 4, 8.1, full=0).is_beyond  # of a system that does not say how many it has


def test_a_property_of_the_machine_without_an_interval_is_not_yet_known() -> None:
    one = MachineFact("a", CacheLine(), Estimate(128.0), "bytes", "memory_line", 64.0, None, 1)
    known = replace(one, value=Estimate(64.0, 64.0, 64.0, 0.95), trials=7)

    assert wording.machine_fact(one) == ("not yet known", "1 trial")
    assert wording.machine_fact(known) == ("64 bytes", "[64 bytes, 64 bytes]")
