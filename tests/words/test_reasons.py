"""Why a system differs, in words: true of fewer and of more, and said only as far as it is known."""

from collections.abc import Sequence

import numpy as np
import pytest

from steelyard.analysis.model import CallDifference, Comparison, CostDifference, Why
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import reasons, wording

TIMES = ("user", "system", "run", "wait", "rest")


def _cost(
    name: str, more: float, *, share: float | None = None, base: float = 10.0, differs: bool = True
) -> CostDifference:
    unit = "ns" if name in TIMES else name
    return CostDifference(name, unit, base, base + more, Estimate(more), 0.01, differs, share)


def _calls(**more: float) -> tuple[CallDifference, ...]:
    """`together` is of all calls."""
    named = {"all": more.pop("together")} | more if "together" in more else more
    return tuple(CallDifference(name, 10.0, 10.0 + one, True) for name, one in named.items())


def _comparison(
    *costs: CostDifference,
    time: float = 1000.0,
    calls: Sequence[CallDifference] = (),
    word: str = verdict.SLOWER,
    is_claimed: bool = True,
    unit: str = "ns per call",
) -> Comparison:
    return Comparison(
        workload="syscall",
        parameters=(),
        cell="syscall",
        group="syscall",
        metric="time",
        unit=unit,
        direction="lower",
        lens="floor",
        system="b",
        baseline="a",
        baseline_value=None,
        value=None,
        ratio=Estimate(0.5),
        margin=0.01,
        verdict=word,
        p_adjusted=0.01,
        blocks=4,
        boots=1,
        blocks_needed=None,
        remarks=(),
        why=Why(Estimate(time), is_claimed, costs, tuple(calls), 4, 0.9, ()),
    )


def test_a_slower_call_has_its_calls_its_switches_and_where_its_time_is_spent() -> None:
    one = _comparison(
        _cost("system", 900.0, share=0.9), _cost("switches", 3.0), calls=_calls(together=8.0, futex=4.0)
    )

    assert wording.why(one) == (
        "each call costs this host 8 more system calls, 3 more switches; "
        "90 % of the extra time is spent in system mode"
    )
    assert wording.why_long(one) == (
        "Each call costs this host 8 more system calls (futex +4) and 3 more context switches than on a. "
        "90 % of the 1.00 µs of extra time is spent in system mode."
    )


def test_a_faster_one_saves_and_makes_fewer() -> None:
    one = _comparison(
        _cost("run", -600.0, share=0.6),
        _cost("rest", -300.0, share=0.3),
        _cost("faults", -1.0),
        time=-1000.0,
        calls=_calls(together=-0.5),
        word=verdict.FASTER,
        unit="ns per run of the script",
    )

    assert wording.why_long(one) == (
        "Each run of the script costs this host 0.50 fewer system calls and 1 fewer page fault than on a. "
        "60 % of the 1.00 µs saved was spent running, 30 % asleep."
    )


def test_times_beside_each_other_are_no_shares() -> None:
    one = _comparison(
        _cost("run", 9000.0, share=9.0),
        _cost("wait", 4000.0, share=4.0),
        _cost("rest", -12_000.0, share=-12.0),
    )

    assert wording.why(one) == (
        "each call costs this host 9.00 µs more running, 4.00 µs more waiting for a processor"
    )
    assert "%" not in wording.why_long(one)
    assert "these times are not parts of the 1.00 µs of extra time" in wording.why_long(one).lower()


def test_a_time_that_takes_another_s_place_is_no_share() -> None:
    one = _comparison(_cost("user", -4000.0, share=-4.0), _cost("system", 5000.0, share=5.0))

    assert wording.why(one) == (
        "each call costs this host 4.00 µs less in user mode, 5.00 µs more in system mode"
    )


def test_counts_alone_are_said_alone() -> None:
    assert wording.why(_comparison(_cost("switches", 1.0), _cost("signals", -2.0))) == (
        "each call costs this host 1 more switch, 2 fewer signals"
    )


def test_calls_are_named_where_their_sum_does_not_differ() -> None:
    one = _comparison(calls=_calls(futex=4.0, read=-1.0))

    assert wording.why(one) == "each call costs this host 4 more calls of futex, 1 fewer call of read"


def test_a_time_without_a_share_is_said_as_a_time() -> None:
    one = _comparison(_cost("system", 500.0), is_claimed=False)

    assert wording.why(one) == "each call costs this host 500 ns more in system mode"
    assert "not settled" in wording.why_long(one)


def test_what_the_mean_contradicts_is_no_part_of_the_verdict() -> None:
    one = _comparison(_cost("system", -500.0, share=1.0), _cost("switches", 2.0), time=-500.0)

    assert wording.why(one) == "each call costs this host 2 more switches"
    assert "The mean time is shorter nevertheless (by 500 ns)" in wording.why_long(one)


@pytest.mark.parametrize("word", [verdict.EQUIVALENT, verdict.UNRESOLVED, verdict.BOUNDED])
def test_without_a_claimed_difference_there_is_no_why(word: str) -> None:
    one = _comparison(_cost("system", 900.0, share=0.9), word=word)

    assert wording.why(one) == wording.why_long(one) == ""


def test_nothing_is_said_of_what_may_scatter_or_is_too_little() -> None:
    one = _comparison(
        _cost("system", 900.0, share=0.9, differs=False),
        _cost("user", 20.0, share=0.02),
        _cost("switches", 0.01),
    )

    assert wording.why(one) == wording.why_long(one) == ""


def test_nothing_at_all_was_counted() -> None:
    assert wording.why(_comparison()) == wording.why_long(_comparison()) == ""


def test_calls_that_were_not_counted_are_named_as_such() -> None:
    assert "System calls were not counted on both." in wording.why_long(_comparison(_cost("switches", 2.0)))


@pytest.mark.parametrize(
    ("unit", "operation"),
    [
        ("ns per round trip", "round trip"),
        ("MB/s", "operation"),
        ("times what free sharing takes", "operation"),
    ],
)
def test_an_operation_is_called_what_the_workload_calls_it(unit: str, operation: str) -> None:
    assert wording.why(_comparison(_cost("switches", 2.0), unit=unit)).startswith(f"each {operation} costs")


@pytest.mark.parametrize("unit", ["ns per call", "ns per pass of 3000 calculations"])
def test_the_clause_is_as_long_as_a_console_has_room_for(unit: str) -> None:
    costs = (
        _cost("system", 620.0, share=0.62),
        _cost("user", 310.0, share=0.31),
        _cost("switches", 12.345),
        _cost("faults", 1234.5),
        _cost("bytes written", 123456.0),
    )
    one = _comparison(*costs, calls=_calls(together=1650.0, ptrace=1150.0, wait4=318.0), unit=unit)

    clause = wording.why(one)

    assert len(clause) <= reasons.LONGEST
    assert "more system calls" in clause
    assert clause.endswith("62 % of the extra time is spent in system mode")
    whole = wording.why_long(one)
    for word in (
        "ptrace +1,150",
        "wait4 +318",
        "12 more context switches",
        "page faults",
        "121 KiB more written",
    ):
        assert word in whole, whole


def test_any_mixture_of_costs_is_said_in_a_clause_that_fits() -> None:
    chance = np.random.default_rng(1)
    names = (*TIMES, "switches", "faults", "major faults", "signals", "bytes read", "bytes written")
    for _ in range(400):
        drawn = {name: float(chance.normal(0, 10 ** chance.uniform(-2, 6))) for name in names}
        kept = [name for name in names if chance.random() < 0.5]
        calls = {name: float(chance.normal(0, 1000)) for name in ("together", "futex", "ptrace")}
        one = _comparison(
            *(_cost(name, drawn[name], share=drawn[name] / 1e4 if name in TIMES else None) for name in kept),
            time=float(chance.choice([-1e4, 1e4])),
            calls=_calls(**calls) if chance.random() < 0.5 else (),
            word=str(chance.choice(verdict.CLAIMED)),
            is_claimed=bool(chance.random() < 0.8),
            unit=str(chance.choice(["ns per call", "ns per pass of 500 blocks both ways", "MB/s"])),
        )

        clause = wording.why(one)

        assert len(clause) <= reasons.LONGEST
        assert bool(clause) == bool(wording.why_long(one))
        assert one.why is not None
        agrees = (one.why.time.value > 0) == (one.verdict in (verdict.SLOWER, verdict.SLOWER_OPEN))
        assert ("of the extra time" in clause) <= (agrees and one.why.is_claimed and one.why.time.value > 0)
        assert ("of the time saved" in clause) <= (agrees and one.why.is_claimed and one.why.time.value < 0)
