"""The monitor's records become accounts: sums, series, estimates, and a clear word about what is missing."""

import csv
import errno
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import monitor_runs
import places
import pytest
from hypothesis import given
from hypothesis import strategies as st
from installed_command import COMMAND, Run
from known_records import (
    BEGAN,
    SECOND,
    Line,
    account_of,
    as_json,
    as_text,
    call,
    end,
    head,
    process,
    reading,
    told,
    watch_of,
)
from patience import patience
from processes import is_alive
from scipy.stats import chi2 as scipy_chi2
from scipy.stats import t as scipy_t

from steelyard import cli
from steelyard.archive import watches
from steelyard.cli import parser, watch_options
from steelyard.errors import SystemFailed, UsageError
from steelyard.statistics import description, expansion, impact, student
from steelyard.text import shown
from steelyard.watch import accounts, console, indented, monitor, plain, records
from steelyard.watch.figures import FIGURES
from steelyard.watch.model import Call

FAKE = places.SUPPORT / "fake_monitor.py"


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda values: st.lists(values) | st.lists(values).map(tuple) | st.dictionaries(st.text(), values),
)


@given(PLAIN)
def test_an_account_is_written_as_json_itself_would_indent_it(value: object) -> None:
    assert "".join(indented.parts(value)) == json.dumps(value, indent=1)


def test_what_json_does_not_know_is_refused_as_json_refuses_it() -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        "".join(indented.parts({"set": [set()]}))


# The records


@pytest.mark.program
def test_the_figures_are_those_of_the_monitor_in_its_order() -> None:
    keys = list(monitor_runs.watch("--detail", "life", "--", "true").processes[0])

    assert tuple(keys[keys.index("children") + 1 : keys.index("at_least")]) == FIGURES


def test_what_could_not_be_seen_is_null_and_never_0() -> None:
    found = as_json(account_of(head(), process(wait_ns=None, calls=None), end(hits=None, bpf_ns=None)))

    assert found["processes"][0]["wait_ns"] is None
    assert found["processes"][0]["calls"] is None
    assert found["totals"]["wait_ns"] is None
    assert found["totals"]["calls"] is None
    assert found["monitor"]["bpf_ns"] is None


def test_a_sum_with_parts_that_are_not_known_says_so() -> None:
    account = account_of(head(), process(7, wait_ns=None), process(8, wait_ns=5), end())

    assert account.total.figures["wait_ns"] == 5
    assert account.total.lacking == {"wait_ns": 1}
    assert "≥ 5.00 ns" in as_text(account)


def test_a_record_of_a_kind_that_is_not_known_yet_is_let_pass() -> None:
    assert len(watch_of(head(), {"record": "weather"}, process(), end()).processes) == 1


def test_a_last_line_that_was_cut_short_is_let_pass() -> None:
    file = io.BytesIO(told(head(), process()) + b'{"record":"process","pi')

    found = records.read(file)

    assert found is not None
    assert len(found.processes) == 1


@pytest.mark.parametrize("line", [b"nonsense\n", b'{"record":"process","pid":7}\n', b"[]\n", b"\xff\n"])
def test_a_damaged_line_is_named(line: bytes) -> None:
    with pytest.raises(SystemFailed, match="record 2 cannot be read"):
        records.read(io.BytesIO(told(head()) + line))


@pytest.mark.parametrize(
    ("lie", "told_of"),
    [
        (process(children=-1), "children is -1, but must be a whole number"),
        (process(run_ns=1 << 70), "run_ns is "),
        (process(run_ns="7"), "run_ns is '7'"),
        (process(pid=True), "pid is true"),
        (process(program=7), "program is 7"),
        (process(program="x" * 100_000), "program is 'x"),
        (process(at_least=["run_ns"] * 1000), "at_least is "),
        (process(at_least=[["run_ns"]]), r"at_least\[0\] is "),
        (process(calls={"read": call(histogram=[1] * 100_000)}), "calls.read.histogram is "),
        (process(calls={f"call{number}": call() for number in range(5000)}), "calls is "),
        (process(calls={"read": call(expanded=[])}), "calls.read.expanded is "),
        (process(calls=[]), "calls is "),
        (process(calls={"re\x1bad": call(1)}), r"calls.re\\x1bad is "),
        (reading(1, calls={"read": [1]}), "calls.read is "),
        (reading(1, calls={"read": [1, "1"]}), r"calls.read\[1\] is "),
        (end(hits=-5), "hits is -5"),
        (end(unfollowed_figures={"run_ns": -1}), "unfollowed_figures.run_ns is -1"),
        (end(total=process(pid=-1)), "total.pid is -1"),
        ({"record": ["process"]}, "record is "),
        (head(processors=0), "processors is 0"),
        (head(every_ns=0), "every_ns is 0"),
        (head(missing=["x"] * 100_000), "missing is "),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_value_that_cannot_be_is_named(lie: Line, told_of: str) -> None:
    def read() -> None:
        found = records.read(io.BytesIO(told(head(), lie, end())))
        list(found.readings if found else ())

    with pytest.raises(SystemFailed, match=f"^the monitor's record 2 cannot be read.*{told_of}"):
        read()


def test_a_line_without_an_end_is_not_taken_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "records"
    with path.open("wb") as file:
        file.write(told(head()) + b'{"record":"process","program":"')
        file.truncate(1 << 33)  # bytes, none of which is a line's end
    with path.open("rb") as file, pytest.raises(SystemFailed, match="a record of 4 MiB or more"):
        records.read(file)


def test_another_protocol_is_refused_with_what_to_do() -> None:
    with pytest.raises(SystemFailed, match=r"protocol 2.*make"):
        watch_of(head(protocol=2))


def test_nothing_at_all_is_no_watch() -> None:
    assert records.read(io.BytesIO(b"")) is None


@pytest.mark.parametrize(
    ("program", "name"),
    [("ma\u00c3\u00bc", "maü"), ("a\u00ffb", r"a\xffb"), ("plain", "plain")],
)
def test_names_are_the_bytes_that_they_were(program: str, name: str) -> None:
    """The monitor writes a character for each byte."""
    assert watch_of(head(), process(program=program)).processes[0].program == name


# Accounts


def test_processes_are_summed_by_program_and_generation() -> None:
    lines = (
        head(),
        process(7, program="make", cpu_user_ns=1, memory_peak=10),
        process(8, program="cc", generation=1, cpu_user_ns=2, memory_peak=30),
        process(9, program="cc", generation=1, cpu_user_ns=4, memory_peak=20, status=1),
        end(),
    )

    by_program = {one.name: one for one in account_of(*lines, by="program").groups}
    by_generation = {one.name: one for one in account_of(*lines, by="generation").groups}

    assert by_program["cc"].figures["cpu_user_ns"] == 6
    assert by_program["cc"].figures["memory_peak"] == 30, "of a level the largest"
    assert (by_program["cc"].processes, by_program["cc"].failed) == (2, 1)
    assert by_generation["generation 1"].figures["cpu_user_ns"] == 6
    assert account_of(*lines).total.figures["cpu_user_ns"] == 7


def test_a_number_that_was_used_again_is_another_process() -> None:
    again = process(7, begin_ns=BEGAN + 5, watched_ns=BEGAN + 5, cpu_user_ns=2)

    account = account_of(head(), process(7, cpu_user_ns=1), again, end())

    assert [one.figures["cpu_user_ns"] for one in account.groups] == [2, 1]


def test_threads_are_listed_and_not_counted_twice() -> None:
    account = account_of(head(), process(7, cpu_user_ns=3), process(7, thread=8, cpu_user_ns=3), end())

    assert account.total.processes == 1
    assert account.total.figures["cpu_user_ns"] == 3
    assert [one["thread"] for one in as_json(account)["processes"]] == [None, 8]


def test_calls_counted_exactly_are_added_and_ordered() -> None:
    first, second = {"read": call(5, 1), "write": call(2)}, {"read": call(10, 2)}

    found = account_of(head(), process(7, calls=first), process(8, calls=second), end()).total.calls

    assert found is not None
    assert list(found) == ["read", "write"]
    assert found["read"].calls is not None
    assert (found["read"].calls.value, found["read"].calls.low) == (15, None)
    assert found["read"].errors is not None
    assert found["read"].errors.value == 3


def in_windows(pid: int, ran_ns: int, windows: Sequence[tuple[float, int]], **more: Any) -> Line:
    """A process that ran so long in all, and in each window for a time in which it made that many reads."""
    made = sum(calls for _, calls in windows)
    ran = sum(run for run, _ in windows)
    expanded = made * ran_ns / ran if ran else None
    seen = call(
        made, 0, expanded=expanded, expanded_errors=0.0, squares=float(sum(calls**2 for _, calls in windows)),
        products=sum(run * calls for run, calls in windows),
    )  # fmt: skip
    return process(
        pid, run_ns=ran_ns, windows=len(windows), windows_ns=len(windows), windows_active=len(windows),
        windows_run_ns=ran, windows_hook_ns=0.0, windows_run_squares=sum(run * run for run, _ in windows),
        calls={"read": seen} if made else {}, **more,
    )  # fmt: skip


BUDGET = head(detail="budget", budget=0.005)


def test_an_estimate_from_windows_has_the_interval_of_a_ratio() -> None:
    """Four windows of 10 ns, a tenth of what it ran, with 10, 20, 30 and 40 calls: of 25 a window."""
    one = in_windows(7, 400, [(10, 10), (10, 20), (10, 30), (10, 40)])

    found = as_json(account_of(BUDGET, one, end()))["totals"]["calls"]["read"]

    reach = scipy_t.ppf(0.975, 3) * (4 / 3 * (15**2 + 5**2 + 5**2 + 15**2) * (1 - 0.1) * 10**2) ** 0.5
    assert found["calls"] == 1000
    assert found["calls_high"] == pytest.approx(1000 + reach)
    assert found["calls_low"] == pytest.approx(1000 - reach)
    assert (found["seen"], found["errors"]) == (100, 0)


def test_what_no_window_held_may_have_been_all_the_same() -> None:
    """Windows of a tenth of the run time: a call that was seen stands for 10, and none for up to 37."""
    one = in_windows(7, 400, [(10, 9), (10, 9), (10, 9), (10, 9)])
    account = account_of(BUDGET, one, end())

    found = as_json(account)
    high = found["totals"]["calls_unlisted_high"]
    assert high == pytest.approx((10 * 9) ** 0.5 * scipy_chi2.ppf(0.975, 2) / 2, rel=0.01)
    assert found["processes"][0]["calls_unlisted_high"] == high
    assert f"0 to {round(high)} times (95 %)" in as_text(account)


@pytest.mark.parametrize("seen", [1, 2, 5, 40])
def test_few_events_have_the_interval_of_a_poisson_variable(seen: int) -> None:
    """Though no window differs from another, for each of them holds one."""
    windows = [(10, 1)] * seen + [(10, 0)] * (2000 - seen)
    one = in_windows(7, 2_000_000, windows)

    found = as_json(account_of(BUDGET, one, end()))["totals"]["calls"]["read"]

    assert found["calls"] == pytest.approx(100 * seen)
    assert found["calls_high"] >= 100 * scipy_chi2.ppf(0.975, 2 * (seen + 1)) / 2 * 0.97
    assert found["calls_low"] <= max(100 * scipy_chi2.ppf(0.025, 2 * seen) / 2 * 1.06, seen)


def test_what_was_counted_before_the_windows_is_no_bound_of_what_came_after() -> None:
    """One getrandom was counted one by one, and then there were windows alone, which held none."""
    one = also_counted(in_windows(7, 400, [(10, 9)] * 4), 0, ran_ns=100)
    one["calls"]["getrandom"] = call(1, 0, expanded=1.0, in_windows=0, weighted=0.0, weighted_errors=0.0)

    found = as_json(account_of(BUDGET, one, end()))["totals"]["calls"]["getrandom"]

    assert (found["calls"], found["calls_low"], found["seen"]) == (1, 1, 1)
    assert found["calls_high"] > 30


def test_where_each_call_was_counted_none_was_missed() -> None:
    found = as_json(account_of(BUDGET, counted_exactly(7, 20), end()))

    assert found["totals"]["calls_unlisted_high"] == 0
    assert as_json(account_of(head(), process(calls={}), end()))["totals"]["calls_unlisted_high"] is None


def test_where_all_the_time_was_in_windows_little_is_left_to_have_been_missed() -> None:
    exposure = expansion.Exposure(100, 1000, 999.0, 100 * 9.99**2)
    found = expansion.Expansion([exposure]).total({})

    assert found is not None
    assert found.high is not None
    assert found.high < 1


def test_a_process_that_missed_calls_is_never_called_exact() -> None:
    """It was taken in late: its calls before that are missing, and it ran through no window."""
    late = counted_exactly(7, 20) | {"exact": False}
    found = as_json(account_of(BUDGET, late, end()))["totals"]

    assert found["exact"] is False
    assert (found["calls"]["read"]["calls"], found["calls"]["read"]["seen"]) == (None, 20)
    assert found["calls_unlisted_high"] is None


def test_no_interval_goes_below_what_was_seen() -> None:
    found = account_of(BUDGET, in_windows(7, 400, [(10, 0), (10, 0), (10, 9)]), end()).total.calls

    assert found is not None
    assert found["read"].calls is not None
    assert found["read"].calls.low == 9


def also_counted(one: Line, sure: int, *, ran_ns: int) -> Line:
    """The same process, of which besides, while it ran so long more, that many calls were counted."""
    made = one["calls"]["read"]
    made |= {"in_windows": made["calls"], "errors_in_windows": 0, "weighted_errors": 0.0}
    made |= {
        "weighted": float(made["calls"]),
        "calls": made["calls"] + sure,
        "expanded": made["expanded"] + sure,
    }
    more = {"exact": False, "missed_run_ns": one["run_ns"], "windows_weighted_ns": one["windows_run_ns"]}
    return one | more | {"run_ns": one["run_ns"] + ran_ns}


def counted_exactly(pid: int, reads: int) -> Line:
    calls = {"read": call(reads, 1, expanded=float(reads), expanded_errors=1.0, in_windows=0, weighted=0.0)}
    more = {"exact": True, "missed_run_ns": 0, "windows": 0, "windows_active": 0, "windows_run_ns": 0.0}
    return process(pid, run_ns=500, windows_weighted_ns=0.0, calls=calls, **more)


def test_an_estimate_begins_from_what_was_counted_one_by_one() -> None:
    """As in the test before, and 1000 calls besides that are sure."""
    plain = in_windows(7, 400, [(10, 1), (10, 2), (10, 3), (10, 4)])
    alone = as_json(account_of(BUDGET, plain, end()))["totals"]["calls"]["read"]
    account = account_of(BUDGET, also_counted(plain, 1000, ran_ns=9000), end())

    found = as_json(account)["totals"]["calls"]["read"]

    assert found["calls"] == 1100
    assert found["calls_low"] == pytest.approx(1000 + alone["calls_low"])
    assert found["calls_high"] == pytest.approx(1000 + alone["calls_high"])
    assert found["seen"] == 1010
    assert not as_json(account)["processes"][0]["exact"]
    assert "(system calls estimated)" in as_text(account)


def test_what_was_counted_one_by_one_has_no_interval_and_says_so() -> None:
    account = account_of(BUDGET, counted_exactly(7, 20), counted_exactly(8, 22), end())

    found = as_json(account)["totals"]
    assert (found["exact"], found["calls_lacking"]) == (True, 0)
    assert (found["calls"]["read"]["calls"], found["calls"]["read"]["errors"]) == (42, 2)
    assert found["calls"]["read"]["calls_low"] is None
    text = as_text(account)
    assert "(every system call counted)" in text
    assert "interval" not in text
    assert "≈" not in text


def test_each_process_says_whether_its_calls_are_counts() -> None:
    """The exact one adds its count to the sum, and nothing to the interval."""
    estimated = also_counted(in_windows(7, 400, [(10, 1), (10, 2), (10, 3)]), 5, ran_ns=100)
    alone = as_json(account_of(BUDGET, estimated, end()))["totals"]["calls"]["read"]
    account = account_of(BUDGET, estimated, counted_exactly(8, 1000), end())

    whole = as_json(account)["totals"]["calls"]["read"]

    assert [one["exact"] for one in as_json(account)["processes"]] == [False, True]
    assert whole["calls"] == alone["calls"] + 1000
    assert whole["calls_high"] - whole["calls_low"] == pytest.approx(alone["calls_high"] - alone["calls_low"])
    assert "(system calls of 1 of 2 processes estimated)" in as_text(account)
    assert re.search(r"make\[7\].* ≈ 85 ", as_text(account))
    assert re.search(r"make\[8\].* 1,000 ", as_text(account))


def test_what_met_too_few_windows_was_called_at_least_as_often_as_was_counted() -> None:
    account = account_of(BUDGET, also_counted(in_windows(7, 400, [(10, 5)]), 100, ran_ns=100), end())

    found = as_json(account)["totals"]["calls"]["read"]

    assert (found["calls"], found["seen"]) == (None, 105)
    assert as_text(account).count("≥ 105") == 2  # of the process, and of the call


def test_a_window_counts_for_as_much_time_as_it_stands_for() -> None:
    """One of weight 1 with 100 calls in 10 ns, and three of weight 3 with 300 calls each."""
    squares = 3 * 30.0**2 + 10.0**2
    exposure = expansion.Exposure(4, 1000, 100.0, squares, weighted_twice=3 * 90.0 + 10.0, run_in_windows=40)
    seen = expansion.Events(2800.0, 3 * 900.0**2 + 100**2, 3 * 27000 + 1000, in_windows=1000)

    found = expansion.Expansion([exposure]).total({0: seen})

    assert found is not None
    assert found.value == 28000
    residuals = 3 * (900 - 28 * 30) ** 2 + (100 - 28 * 10) ** 2
    reach = scipy_t.ppf(0.975, 3) * (4 / 3 * residuals * (1 - 40 / 1000) * 10**2) ** 0.5
    assert found.high == pytest.approx(28000 + reach)


def test_fewer_than_three_windows_resolve_nothing() -> None:
    account = account_of(BUDGET, in_windows(7, 400, [(10, 5), (10, 5)]), end())

    found = as_json(account)["totals"]["calls"]["read"]

    assert (found["calls"], found["calls_low"], found["errors"]) == (None, None, None)
    assert "not resolved" in as_text(account)
    assert "2 of 3 windows" in as_text(account)


def test_a_process_that_met_no_window_has_unknown_calls_and_counts_in_the_whole() -> None:
    """It is taken to do what the others did in the same time."""
    account = account_of(BUDGET, in_windows(7, 300, [(10, 5)] * 3), in_windows(8, 100, []), end())

    assert [one.calls is None for one in account.groups] == [False, True]
    assert account.total.calls is not None
    assert account.total.calls["read"].calls is not None
    assert account.total.calls["read"].calls.value == 200


class Counted(dict[str, int | None]):
    """Figures that count how often one of them is taken."""

    taken = 0

    def __getitem__(self, name: str) -> int | None:
        type(self).taken += name == "run_ns"
        return super().__getitem__(name)


def taken_by_summing_up(*, types: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the run times of twenty processes are taken that made calls of `types` types."""
    windows = {
        f"call_{number}": call(5, 1, expanded=50.0, squares=9.0, products=9.0) for number in range(types)
    }
    lines = [in_windows(pid, 400, [(10, 5)] * 4) | {"calls": windows} for pid in range(1, 21)]
    watch = watch_of(BUDGET, *lines, end())
    watch = replace(
        watch, processes=tuple(replace(one, figures=Counted(one.figures)) for one in watch.processes)
    )
    monkeypatch.setattr(Counted, "taken", 0)
    plain.print_json(accounts.of(watch, by="program"), io.StringIO())
    return Counted.taken


def test_what_windows_saw_of_processes_is_added_up_once_for_all_types_of_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, many = (taken_by_summing_up(types=types, monkeypatch=monkeypatch) for types in (1, 40))

    assert few == many > 0


def test_calls_of_groups_that_no_report_shows_are_not_reckoned() -> None:
    class Closed(dict[str, Call]):
        def items(self) -> NoReturn:
            raise AssertionError("these calls were reckoned")

    watch = watch_of(
        head(), *(process(pid, cpu_user_ns=pid, calls={"read": call(1)}) for pid in (1, 2, 3)), end()
    )
    idle, *busy = watch.processes
    watch = replace(watch, processes=(replace(idle, calls=Closed(idle.calls or {})), *busy))

    account = accounts.of(watch)

    assert [one.pid for one in account.groups] == [3, 2, 1]
    assert account.groups[0].calls is not None
    with pytest.raises(AssertionError, match="these calls were reckoned"):
        account.groups[-1].calls  # noqa: B018 -- asked for, they are


@pytest.mark.computes
def test_windows_cover_the_truth_as_often_as_they_say() -> None:
    """Calls by chance at a rate that changes; it runs in some of 40 periods; windows of one twentieth."""
    chance = random.Random(1)
    hits, repeats = 0, 300
    for _ in range(repeats):
        awake = [chance.random() < 0.7 for _ in range(40)]
        draws = [chance.random() * 40 for _ in range(2000)] + [chance.triangular(0, 40) for _ in range(2000)]
        moments = sorted(each for each in draws if awake[int(each)])
        windows = []
        for period in range(40):
            place = period + chance.random() * 0.95
            made = bisect(moments, place + 0.05) - bisect(moments, place)
            if awake[period]:
                windows.append((0.05, made))
        run = sum(each for each, _ in windows)
        exposure = expansion.Exposure(len(windows), sum(awake), run, sum(each * each for each, _ in windows))
        seen = expansion.Events(
            sum(made for _, made in windows),
            sum(made * made for _, made in windows),
            sum(each * made for each, made in windows),
        )
        estimate = expansion.Expansion([exposure]).total({0: seen})
        assert estimate is not None
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= len(moments) <= estimate.high
    assert 0.92 <= hits / repeats <= 0.99


def watched_lives(
    chance: random.Random, made: Sequence[int], *, periods: Sequence[float], window: float
) -> tuple[expansion.Exposure, expansion.Events]:
    """What windows see of lives of length 1, one after the other, each with the calls of `made` at random
    moments. A window lies at random in each period, and weighs as much as that is long."""
    moments = sorted(life + chance.random() for life, count in enumerate(made) for _ in range(count))
    begin, part = 0.0, []
    for length in periods:
        place = begin + chance.random() * (length - window)
        seen = bisect(moments, place + window) - bisect(moments, place)
        part.append((length, seen))
        begin += length
    weighted = [(length * window, length * seen) for length, seen in part]
    exposure = expansion.Exposure(
        len(part), begin, sum(run for run, _ in weighted), sum(run * run for run, _ in weighted),
        weighted_twice=sum(length * length * window for length, _ in part), run_in_windows=window * len(part),
    )  # fmt: skip
    return exposure, expansion.Events(
        sum(seen for _, seen in weighted), sum(seen * seen for _, seen in weighted),
        sum(run * seen for run, seen in weighted), in_windows=sum(seen for _, seen in part),
    )  # fmt: skip


@pytest.mark.computes
@pytest.mark.parametrize("often", ["never", "once", "three times", "in one life of fifty", "in each life"])
@pytest.mark.parametrize("growth", [1.0, 1.15])
def test_the_interval_holds_however_rare_a_call_is(often: str, growth: float) -> None:
    """2,000 short lives, 30 windows; with growing periods later calls are seen less often than earlier."""
    chance = random.Random(3)
    lengths = [growth**number for number in range(30)]
    periods = [2000 * each / sum(lengths) for each in lengths]
    hits, repeats = 0, 200
    for _ in range(repeats):
        made = [0] * 2000
        if often == "in each life":
            made = [1 + chance.randrange(3) for _ in made]
        elif often == "in one life of fifty":
            made = [int(chance.random() < 0.02) * 2 for _ in made]
        else:
            for _ in range({"never": 0, "once": 1, "three times": 3}[often]):
                made[chance.randrange(2000)] += 1
        exposure, seen = watched_lives(chance, made, periods=periods, window=1.5)
        found = expansion.Expansion([exposure]).total({0: seen})
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= sum(made) <= found.high
    assert hits / repeats >= 0.93


def test_samples_are_processor_time_and_no_calls() -> None:
    lines = (
        head(detail="profile", sample_ns=10**7),
        process(cpu_user_ns=SECOND, samples_user=3, samples_kernel=1, calls={"read": call(samples=5)}),
        end(),
    )

    found = as_json(account_of(*lines))["totals"]["calls"]["read"]

    assert (found["calls"], found["time_ns"], found["samples"]) == (None, 5 * 10**7, 5)
    assert "5.0 %" in as_text(account_of(*lines))


def test_histograms_are_added_and_read_from_their_upper_ends() -> None:
    low, high = [0] * 28, [0] * 28
    low[0], high[3] = 98, 2
    one = call(98, time_ns=98 * 100, histogram=low)
    other = call(2, time_ns=2 * 1000, histogram=high)
    account = account_of(
        head(detail="latency"), process(7, calls={"read": one}), process(8, calls={"read": other}), end()
    )

    assert account.total.calls is not None
    histogram = account.total.calls["read"].histogram
    assert histogram is not None
    assert (histogram[0], histogram[3]) == (98, 2)
    row = next(line for line in as_text(account).splitlines() if line.startswith("read"))
    assert row.split()[-4:] == ["128", "ns", "1.02", "µs"], "half below 2^7 ns, 99 % below 2^10"


# Series


def series_lines() -> tuple[Line, ...]:
    """Two processes, read every second: one lives on, the other ends half a second after a reading."""
    return (
        head(every_ns=SECOND),
        reading(1, 7, faults_minor=10, memory_end=100, calls={"read": [4, 0]}),
        reading(1, 8, faults_minor=1, memory_end=50),
        reading(2, 7, faults_minor=30, calls={"read": [6, 0]}),
        process(8, program="cc", faults_minor=3, end_ns=BEGAN + round(2.5 * SECOND), memory_end=50),
        reading(4, 7, faults_minor=40, memory_end=300),
        process(7, faults_minor=41, end_ns=None, memory_end=300, calls={"read": call(9)}),
        end(4.2),
    )


def test_a_series_is_what_was_done_in_each_interval() -> None:
    whole = account_of(*series_lines()).series[0]

    faults = whole.rates["faults_minor"]
    assert [round(each, 6) for each in faults.values] == [11, 20, 2, 10, 5], "1 in the last 0.2 s: 5 a second"
    assert whole.levels["memory_end"].values == (150, 150, 100, 300, 300)
    assert [round(each, 6) for each in whole.calls["read"].values] == [4, 2, 0, 0, 15]
    assert faults.over_intervals is not None
    assert faults.over_intervals.count == 4, "an interval much too short is no interval"
    assert faults.over_intervals.median == 10.5


def test_a_group_has_a_series_from_its_begin_to_its_end() -> None:
    _, first, second = account_of(*series_lines()).series

    lives = {one.name: len(one.ends_ns) for one in (first, second)}
    assert lives == {"make[7]": 5, "cc[8]": 3}


def test_late_readings_make_no_peak() -> None:
    """A second read after two seconds holds twice as much, and is no peak."""
    lines = (head(every_ns=SECOND), reading(1, reads=100), reading(2.4, reads=240), reading(3, reads=300))

    whole = account_of(*lines, process(reads=300, end_ns=None), end(3)).series[0]

    assert [round(each) for each in whole.rates["reads"].values] == [100, 100, 100]


def test_nothing_is_lost_between_readings_and_totals() -> None:
    account = account_of(*series_lines())
    whole = account.series[0]
    lengths = [(ended - began) / SECOND for began, ended in zip(whole.begins_ns, whole.ends_ns, strict=True)]

    added = sum(
        rate * length for rate, length in zip(whole.rates["faults_minor"].values, lengths, strict=True)
    )

    assert round(added) == account.total.figures["faults_minor"] == 44


def test_without_an_interval_there_is_no_series() -> None:
    assert account_of(head(), process(), end()).series == ()


def test_a_description_has_what_the_paper_has_and_percentiles() -> None:
    found = description.of([4, 1, 3, 2, 5])

    assert found is not None
    assert (found.mean, found.median, found.least, found.most) == (3, 3, 1, 5)
    assert found.deviation == pytest.approx(2.5**0.5)
    assert found.variation == pytest.approx(2.5**0.5 / 3)
    assert found.percentiles == pytest.approx({5: 1.2, 25: 2, 75: 4, 95: 4.8, 99: 4.96})


def test_a_description_of_one_value_has_no_deviation_and_of_none_nothing() -> None:
    one = description.of([2.0])

    assert one is not None
    assert one.deviation is None
    assert description.of([]) is None


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_students_reach_is_that_of_the_tables(level: float) -> None:
    for freedom in (*range(1, 40), 299, 300, 301, 302, 1000, 10**6):
        assert student.reach(freedom, level=level) == pytest.approx(
            scipy_t.ppf((1 + level) / 2, freedom), rel=1e-7
        )


# What the monitor does to the watched


@pytest.mark.computes
def test_the_impact_is_found_and_covered() -> None:
    chance = random.Random(2)
    hits = 0
    for _ in range(40):
        pairs = []
        for _ in range(30):
            speed = 1000 * chance.uniform(0.5, 2)
            hooked, free = (chance.gauss(1, 0.05) * speed for _ in range(2))
            pairs.append(((0.98 * hooked, 1.0), (free, 1.0)))
        found = impact.ratio(pairs)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 0.98 <= found.high
    assert hits >= 34


@pytest.mark.program
def test_windows_are_paired_with_their_neighbours() -> None:
    def window(hooked: bool, work: int) -> Line:
        return {
            "record": "window",
            "at_ns": BEGAN,
            "length_ns": 5,
            "hooked": hooked,
            "run_ns": 10,
            "work": work,
        }

    windows = [window(index % 2 == 0, 90 if index % 2 == 0 else 100) for index in range(20)]

    account = account_of(head(), *windows, process(), end())

    assert account.impact is not None
    assert (account.impact.value, account.impact_pairs) == (pytest.approx(0.9), 10)
    assert "0.9000 times [0.9000, 0.9000]" in as_text(account)


def test_windows_without_work_tell_nothing() -> None:
    idle = {"record": "window", "at_ns": BEGAN, "length_ns": 5, "run_ns": 0, "work": 0}

    account = account_of(head(), idle | {"hooked": True}, idle | {"hooked": False}, process(), end())

    assert account.impact is None
    assert "could not be measured" in as_text(account)


def test_what_the_monitor_cost_stands_in_every_report() -> None:
    account = account_of(head(), process(cpu_user_ns=80_000, cpu_system_ns=0), end())

    found = as_json(account)["monitor"]
    text = as_text(account)

    assert (found["cpu_ns"], found["bpf_ns"], found["memory_bytes"], found["lost"]) == (
        3000,
        8000,
        2 << 20,
        0,
    )
    assert found["memory_peak_bytes"] == 2 << 20
    assert "the monitor: 3.00 µs of processor time" in text
    assert "nothing lost" in text
    assert "10.0 % of their processor time" in text


def test_what_was_lost_and_left_out_is_said() -> None:
    text = as_text(
        account_of(head(missing=["swap is not seen"]), process(), end(lost_slots=3, unfollowed=19))
    )

    assert "3 processes or threads had no slot" in text
    assert "19 children were left out" in text
    assert "swap is not seen" in text


def test_what_was_found_to_be_missing_is_said_and_nothing_is_called_exact() -> None:
    account = account_of(
        head(), process(calls={"read": call(5)}), end(lost_events=1, missing=["1 process was not seen"])
    )

    text, found = as_text(account), as_json(account)
    assert "note: 1 process was not seen" in text
    assert "nothing lost" not in text
    assert "1 process was not seen" in found["monitor"]["missing"]
    assert [one["exact"] for one in found["processes"]] == [True]
    assert found["totals"]["exact"] is False


@pytest.mark.parametrize("detail", ["life", "calls", "latency"])
def test_a_process_that_was_not_seen_whole_is_not_called_exact(detail: str) -> None:
    calls = None if detail == "life" else {"read": call(5, 1), "close": call(2)}
    torn = process(7, exact=False, calls=calls, run_ns=10, at_least=["run_ns"])
    account = account_of(head(detail=detail), torn, process(8, calls=calls), end())

    found = as_json(account)
    assert [one["exact"] for one in found["processes"]] == [False, None if detail == "life" else True]
    assert found["totals"]["exact"] is False
    assert "sums over all processes are lower bounds" in as_text(account)
    if calls:
        reads = [one["calls"]["read"] for one in found["processes"]]
        assert [(one["calls"], one["seen"]) for one in reads] == [(None, 5), (5, 5)]
        assert found["totals"]["calls"]["read"]["calls"] is None
        assert found["totals"]["calls"]["read"]["seen"] == 10
        assert re.search(r"make\[7\].* ≥ 7 ", as_text(account))
        assert re.search(r"read +≥ 10 ", as_text(account))


def test_a_killed_monitor_is_said_and_what_it_wrote_is_shown() -> None:
    account = account_of(
        head(every_ns=SECOND), process(7, cpu_user_ns=5), reading(1, 8, cpu_user_ns=9), reading(2, 8, reads=4)
    )

    found = as_json(account)

    assert found["monitor"]["killed"] is True
    assert found["monitor"]["cpu_ns"] is None
    assert "was killed" in as_text(account)
    assert [(one["name"], one["cpu_user_ns"], one["reads"]) for one in found["groups"]] == []
    assert account.total.figures["cpu_user_ns"] == 14, "and the one that was only read"


# Names are data


NASTY = "e\x1b[31mvil[b]\u202e"


@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_no_name_reaches_a_terminal_as_a_command(form: str) -> None:
    account = account_of(head(), process(program=NASTY, calls={"read": call(1)}), end(), by="program")
    file = io.StringIO()
    if form == "text":
        console.print_account(account, file, watched=shown("\x1b[2J"), top=20)
        assert r"e\x1b[31mvil[b]\u202e" in file.getvalue()
    elif form == "json":
        plain.print_json(account, file)
    else:
        for table in plain.TABLES:
            plain.print_csv(account, file, table=table)

    assert "\x1b" not in file.getvalue()
    assert "\u202e" not in file.getvalue()


def test_tables_of_csv_are_rectangular_and_nothing_known_is_left_out() -> None:
    for table in plain.TABLES:
        file = io.StringIO()
        plain.print_csv(account_of(*series_lines()), file, table=table)
        rows = list(csv.DictReader(io.StringIO(file.getvalue())))
        assert rows
        assert all(None not in row and None not in row.values() for row in rows)


# The order


@pytest.mark.parametrize("text", ["", "20", "1/0", "2/20", "1/-2", "1/2/3", "1 / 20", "1/1.5", "1/05"])
def test_shares_of_children_that_are_none_are_quoted(text: str) -> None:
    with pytest.raises(UsageError, match=f"--children is '{re.escape(text)}', but must be"):
        parser.read(["watch", f"--children={text}"])


def test_an_order_becomes_the_monitors_command_line() -> None:
    written = (
        "watch --every 5s --children 1/20 --budget 0.25% --for 1m --slots 100 --threads --prove "
        "--backend perf -- make -- -j2"
    )
    _, options = parser.read(written.split())

    words = monitor.words(watch_options.order(options), records_file=5, control_file=6)

    options, command = words[: words.index("--")], words[words.index("--") + 1 :]
    assert command == ["make", "--", "-j2"]
    assert " ".join(options) == (
        "--backend perf --every 5000000000 --for 60000000000 --children 20 --budget 2500 "
        f"--slots 100 --except {os.getpid()} --records 5 --control 6 --threads --prove"
    )


# The command line


Watching = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., str]:
    """A monitor that writes a script's records; see fake_monitor.py."""

    def make(*script: Line | str) -> str:
        lines = [one + "\n" if isinstance(one, str) else told(one).decode() for one in script]
        (tmp_path / "script").write_text("".join(lines))
        file = tmp_path / "steelyard-watch"
        file.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "{tmp_path}/script" "$@"\n')
        file.chmod(0o755)
        return str(file)

    return make


def test_help_shows_the_ways_to_watch(steelyard: Run) -> None:
    text = steelyard("watch", "--help").stdout

    for example in (
        "steelyard watch -- make -j2",
        "steelyard watch -p PID [-p PID]",
        "steelyard watch --cgroup PATH",
        "steelyard watch --every 5s --children 1/20 -p PID",
    ):
        assert example in text


def test_a_command_has_standard_output_for_itself(steelyard: Run, program: Callable[..., str]) -> None:
    fake = program(head(), "run", process(), end())

    done = steelyard("watch", "--program", fake, "--", "echo", "hello")

    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "the monitor: " in done.stderr


def test_the_report_goes_where_it_is_told(
    steelyard: Run, program: Callable[..., str], tmp_path: Path
) -> None:
    fake = program(head(), "run", process(), end())
    file = tmp_path / "report.json"

    done = steelyard(
        "watch", "--program", fake, "--format", "json", "--output", str(file), "--", "sh", "-c", "exit 5",
        TMPDIR=str(tmp_path),
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")
    assert json.loads(file.read_text())["processes"][0]["pid"] == 7


def test_of_running_processes_the_report_is_standard_output(
    steelyard: Run, program: Callable[..., str]
) -> None:
    done = steelyard("watch", "--program", program(head(), process(), end()), "-p", str(os.getpid()))

    assert done.returncode == 0
    assert "make[7]" in done.stdout


@pytest.mark.program
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_watch_that_is_stopped_reports_all_the_same(program: Callable[..., str], number: int) -> None:
    """Ctrl-C reaches the whole group; a signal to the front end alone ends the control pipe."""
    words = [
        COMMAND,
        "watch",
        "--program",
        program(head(), "await", process(), end()),
        "-p",
        str(os.getpid()),
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as running:
        _wait_for_child(running.pid)
        if number == signal.SIGINT:
            os.killpg(running.pid, number)
        else:
            os.kill(running.pid, number)
        out, _ = running.communicate(timeout=patience(60))

    assert running.returncode == 0
    assert "make[7]" in out


def _wait_for_child(pid: int) -> None:
    """Until its child has become the fake and waits."""

    def waits() -> bool:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if not children or b"fake_monitor" not in Path(f"/proc/{children[0]}/cmdline").read_bytes():
            return False
        is_reading = Path(f"/proc/{children[0]}/syscall").read_text().split()[0] == "0"
        return is_reading or "pipe_read" in Path(f"/proc/{children[0]}/wchan").read_text()

    monitor_runs.until(waits, "the monitor")


@pytest.mark.program
def test_a_killed_front_end_ends_the_monitor(program: Callable[..., str]) -> None:
    words = [
        COMMAND,
        "watch",
        "--program",
        program(head(), "await", process(), end()),
        "-p",
        str(os.getpid()),
    ]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as running:
        _wait_for_child(running.pid)
        child = int(Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text())
        running.kill()
    monitor_runs.until(lambda: not is_alive(child), "the monitor's end")


def test_a_monitor_killed_shows_what_it_wrote_and_fails(steelyard: Run, program: Callable[..., str]) -> None:
    done = steelyard("watch", "--program", program(head(), process(), "kill"), "-p", str(os.getpid()))

    assert done.returncode == 1
    assert "make[7]" in done.stdout
    assert "was killed" in done.stdout


def test_a_monitor_killed_before_it_began_is_said(steelyard: Run, program: Callable[..., str]) -> None:
    done = steelyard("watch", "--program", program("kill"), "-p", str(os.getpid()))

    assert (done.returncode, done.stdout) == (1, "")
    assert "killed by signal 9 before it began" in done.stderr


def test_where_nothing_can_watch_the_status_is_77(steelyard: Run, program: Callable[..., str]) -> None:
    assert steelyard("watch", "--program", program("exit 77"), "--", "true").returncode == 77


@pytest.mark.program
def test_a_closed_pipe_ends_quietly(program: Callable[..., str], tmp_path: Path) -> None:
    fake = program(head(), *(process(pid) for pid in range(1, 2000)), end())
    words = f"TMPDIR={tmp_path} {COMMAND} watch --format csv --program {fake} -p {os.getpid()} | head -1"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=patience(60))

    assert done.stdout.startswith("pid,")
    assert done.stderr == ""


@pytest.mark.program
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "nothing to watch"),
        (["make"], "'make' stands before any --; a command is written after it: steelyard watch -- make"),
        (["-p", "x"], "-p is 'x', but must be a whole number"),
        (["-p", "2147483600"], "-p is '2147483600', but there is no such process"),
        (["-p", "{own}", "--", "true"], "leave out -p {own}"),
        (["--cgroup", "/nowhere"], "--cgroup is '/nowhere'"),
        (["--every", "5", "-p", "{own}"], "--every is '5', but must be a time"),
        (["--children", "20", "-p", "{own}"], "--children is '20'"),
        (["--budget", "1%", "--detail", "calls", "-p", "{own}"], "--budget is for --detail budget"),
        (["--backend", "bpg", "-p", "{own}"], "did you mean 'bpf'?"),
        (["--top", "0", "-p", "{own}"], "--top is '0'"),
        (["--output", "/nowhere/x", "-p", "{own}"], "--output is '/nowhere/x', which cannot be written"),
    ],
)
def test_what_is_wrong_is_named_and_quoted(
    capsys: pytest.CaptureFixture[str], words: Sequence[str], sentence: str
) -> None:
    """Were it not refused, this process would be watched, and not all of the machine's."""
    own = os.getpid()

    assert cli.main(["watch", *(word.format(own=own) for word in words)]) == 2
    assert sentence.format(own=own) in capsys.readouterr().err


@pytest.mark.program
def test_a_watch_is_kept_listed_exported_and_merged(
    program: Callable[..., str], tmp_path: Path, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = {"read": call(3, 1)}
    fake = program(
        head(every_ns=SECOND), reading(1, reads=2, calls={"read": [3, 1]}), process(calls=calls), end(2)
    )
    other, table = tmp_path / "other", tmp_path / "calls.csv"

    def words(*more: str) -> list[str]:
        return [*more, "--archive", str(other)]

    cli.main(words("watch", "--program", fake, "--keep", "-p", str(os.getpid())))
    kept = capsys.readouterr().err
    cli.main(words("archive", "list", "--watches", "--format", "json"))
    listed = json.loads(capsys.readouterr().out)
    cli.main(words("archive", "export", "--table", "calls", listed[0]["watch"], str(table)))
    cli.main(["archive", "merge", str(other), "--archive", str(archive)])
    merged = capsys.readouterr().err

    assert f"kept as {listed[0]['watch']}" in kept
    assert next(csv.DictReader(table.read_text().splitlines()))["calls"] == "3"
    assert "1 watch copied" in merged
    place = other / "watches" / listed[0]["watch"]
    assert {path.name for path in place.iterdir()} == {
        watches.HEADER,
        *(f"{name}.parquet" for name in watches.TABLES),
    }
    rows = duckdb.sql(f"SELECT figure, call, value, errors FROM '{place}/readings.parquet'").fetchall()
    assert rows == [("reads", None, 2.0, None), (None, "read", 3.0, 1.0)]


@pytest.mark.program
@pytest.mark.parametrize(
    "form", [["--format", "json"], ["--format", "csv", "--table", "series"], ["--by", "program"]]
)
def test_a_kept_watch_is_reported_again_as_it_was(
    program: Callable[..., str], archive: Path, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    fake = program(
        head(every_ns=SECOND),
        reading(1, reads=2, calls={"read": [3, 1]}),
        reading(2, reads=4, calls={"read": [5, 1]}),
        process(calls={"read": call(5, 1, time_ns=70, histogram=[5] + 27 * [0])}),
        end(2),
    )
    words = ["watch", *form, "--archive", str(archive)]

    cli.main([*words, "--program", fake, "--keep", "-p", str(os.getpid())])
    first = capsys.readouterr()
    name = re.search(r"kept as (\S+)", first.err)
    assert name
    cli.main([*words, "--kept", name[1]])
    again = capsys.readouterr()

    def without_front_end(text: str) -> list[str]:
        return [line for line in text.splitlines() if not re.search("front.end", line)]

    assert without_front_end(again.out) == without_front_end(first.out)
    assert without_front_end(again.out)


@pytest.mark.program
def test_a_watch_that_was_kept_before_a_figure_was_counted_is_read(
    program: Callable[..., str], archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["watch", "--archive", str(archive), "--format", "json"]
    fake = program(head(), process(), end(2, total=process()))
    cli.main([*words, "--program", fake, "--keep", "-p", str(os.getpid())])
    [kept] = watches.watches(archive)
    table = kept.path / "processes.parquet"
    duckdb.sql(f"CREATE TABLE earlier AS SELECT * EXCLUDE swap_end FROM read_parquet('{table}')")
    duckdb.sql(f"COPY earlier TO '{table}'; DROP TABLE earlier")
    header = json.loads((kept.path / watches.HEADER).read_text())
    del header["monitor"]["total"]["figures"]["swap_end"]
    (kept.path / watches.HEADER).write_text(json.dumps(header))
    capsys.readouterr()

    assert cli.main([*words, "--kept", kept.name]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["processes"][0]["swap_end"] is None
    assert found["totals"]["swap_end"] is None
    assert found["totals"]["memory_end"] == 0


def test_a_kept_watch_is_over(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["watch", "--archive", str(archive), "--kept", "nothing"]

    for option in (["-p", str(os.getpid())], ["--every", "1s"], ["--detail", "life"], ["--live"], ["--keep"]):
        assert cli.main([*words, *option]) == 2
        assert f"cannot be combined with {option[0]}" in capsys.readouterr().err
    assert cli.main([*words, "--", "true"]) == 2
    assert "cannot be combined with a command" in capsys.readouterr().err
    assert cli.main(words) == 2
    assert "nothing" in capsys.readouterr().err


@pytest.mark.program
@pytest.mark.parametrize("table", watches.TABLES)
def test_a_damaged_watch_ends_in_a_sentence(
    program: Callable[..., str], archive: Path, capsys: pytest.CaptureFixture[str], table: str
) -> None:
    fake = program(head(every_ns=SECOND), reading(1, reads=2), process(calls={"read": call(3, 1)}), end(2))
    words = ["watch", "--archive", str(archive)]
    cli.main([*words, "--program", fake, "--keep", "-p", str(os.getpid())])
    [kept] = watches.watches(archive)
    (kept.path / f"{table}.parquet").write_bytes(b"nothing")
    capsys.readouterr()

    assert cli.main([*words, "--format", "json", "--kept", kept.name]) != 0
    assert f"damaged: {table}.parquet" in capsys.readouterr().err


@pytest.mark.program
def test_the_text_of_a_watch_comes_before_its_page_is_drawn(
    program: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from steelyard.report import watch_page

    printed_before: list[str] = []
    monkeypatch.setattr(watch_page, "write", lambda *_, **__: printed_before.append(capsys.readouterr().out))
    words = ["watch", "--program", program(head(), process(), end()), "-p", str(os.getpid())]
    assert cli.main([*words, "--html", str(tmp_path / "page.html")]) == 0

    (printed,) = printed_before
    assert "make" in printed


@pytest.mark.program
def test_a_watch_whose_page_cannot_be_drawn_is_printed_and_kept(
    program: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from steelyard.report import watch_page

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(watch_page, "write", fail)
    words = ["watch", "--program", program(head(), process(), end()), "-p", str(os.getpid())]
    words += ["--keep", "--archive", str(tmp_path / "archive"), "--html", str(tmp_path / "page.html")]
    status = cli.main(words)

    printed, said = capsys.readouterr()
    assert status == 2
    assert "make" in printed
    assert "No space left on device" in said
    assert "the watch is kept as" in said
    assert "Traceback" not in said


def test_the_memory_of_each_process_stands_at_its_beginning_and_its_end() -> None:
    memory = {"virtual_begin": 1 << 20, "virtual_end": 4 << 20, "memory_begin": None, "memory_end": 2 << 20}
    text = as_text(
        account_of(
            head(), process(7, **memory), process(8, program="cc", **(memory | {"memory_begin": 4096})), end()
        )
    )

    table = text[text.index("Memory at the beginning") :].splitlines()
    rows = {line.split("[")[0]: re.split(r"\s{2,}", line.strip())[1:] for line in table[2:4]}
    assert re.split(r"\s{2,}", table[1])[1:] == [
        "virtual, begin", "virtual, end", "resident, begin", "resident, end"
    ]  # fmt: skip
    assert rows["make"] == ["1 MiB", "4 MiB", "–", "2 MiB"]
    assert rows["cc"] == ["1 MiB", "4 MiB", "4 KiB", "2 MiB"]
    assert "Memory at the beginning" not in as_text(
        account_of(head(), process(**dict.fromkeys(memory)), end())
    )
