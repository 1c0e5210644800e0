"""What the report says of an evaluation: true in every case, folded, and no longer than a screen."""

import itertools
import json
import math
import re
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from comparisons import GROUPS, compared, evaluation, open_one, same
from rich.console import Console

from steelyard import terminal
from steelyard.analysis.model import (
    Comparison,
    CurveComparison,
    Evaluation,
    Index,
    PartRatio,
    SystemFacts,
)
from steelyard.analysis.remarks import (
    ClockApart,
    Disturbed,
    FewUnits,
    GaveWay,
    GeneratorBusy,
    GeneratorLate,
    Given,
    InTail,
    Remark,
    Trouble,
)
from steelyard.programs import built
from steelyard.report import answers, console, plain
from steelyard.report.answers import Answer
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import notes, phrases


def answer(*comparisons: Comparison, **changes: Any) -> Answer:
    (one,) = answers.all_of(evaluation(*comparisons, **changes))
    return one


KERNEL = [compared(name, 20.0) for name, group in GROUPS.items() if phrases.GROUPS[group].enters_kernel]


def test_every_workload_has_a_phrase_and_every_group_words() -> None:
    catalogue = built.catalogue().workloads

    assert {one.name for one in catalogue} == set(phrases.PHRASES)
    assert {one.group for one in catalogue} - {"harness"} == set(phrases.GROUPS)
    assert len(set(phrases.PHRASES.values())) == len(phrases.PHRASES)


def test_what_differs_at_all_that_enters_the_kernel_is_said_in_one_word() -> None:
    told = answer(*KERNEL, same("sieve"), same("huffman", 0.01))

    assert told.sentence == (
        "b vs a: slower at 16 of 18 metrics. System calls 20×, processes 20×, messages between processes "
        "20×, files 20×.\nNo difference found in computing (at most 2.0 %)."
    )


def test_what_does_not_differ_in_a_group_that_does_is_counted() -> None:
    others = [one for one in KERNEL if one.workload != "clock_read"]

    told = answer(*others, same("clock_read"), same("sieve"), same("huffman", 0.01))

    assert told.sentence.startswith("b vs a: slower at 15 of 18 metrics. System calls 20×, ")
    assert told.sentence.endswith("\nNo difference found in computing and 1 other metric (at most 2.0 %).")


def test_of_a_group_whose_metrics_are_far_apart_the_least_and_the_most_are_said() -> None:
    calls = [
        compared(name, times) for name, times in (("syscall", 80), ("stat_file", 26), ("open_close", 15))
    ]
    alike = [compared(name, times) for name, times in (("fork_exec", 9), ("fork_exit", 10))]

    told = answer(*calls, *alike, open_one("sieve"))

    assert told.sentence == (
        "b vs a: slower at 5 of 6 metrics. System calls 31× (15 to 80×), processes 9.5×.\n"
        "1 metric is not settled."
    )


def test_what_is_only_bounded_widely_is_not_called_the_same() -> None:
    """A bound of 20 % is no finding: the answer says that nothing is claimed, and the rest how much it is."""
    wide = answer(compared("fork_exec", 4.0), same("sieve", 0.2), same("huffman", 0.01))
    partly = answer(*KERNEL, same("sieve", 0.01), same("huffman", 0.02), same("memory_read", 0.2))

    assert wide.sentence == (
        "b vs a: slower at 1 of 3 metrics. Starting a program (fork, exec) 4.0×.\n"
        "No difference found in computing (at most 20 %)."
    )
    assert wide.same_sentence == "computing 20 % (2)"
    assert partly.sentence.endswith(
        "\nNo difference found in memory (at most 20 %) and computing (at most 2.0 %)."
    )


def test_a_bound_that_half_of_a_group_keeps_to_is_said_so() -> None:
    bounds = (0.01, 0.02, 0.03, 0.24)
    told = answer(*(same(name, one) for name, one in zip(GROUPS, bounds, strict=False)), same("sieve", 0.04))

    assert told.same_sentence == "system calls 2.5 % (half of 4), computing 4.0 % (1); 24 % at the other half"


def test_ways_of_doing_the_same_are_one_thing_in_the_answer() -> None:
    calm = [same(name, 0.2) for name in ("fork_exit", "thread_create", "context_switch")]
    one, near, far = (
        compared("fork_exec", times, parameters=(("size", number),))
        for number, times in enumerate((0.5, 0.4, 0.01))
    )

    assert "Starting a program 2.0 to 2.5×." in answer(one, near, *calm).sentence
    assert "2.0 to 100" not in answer(one, far, *calm).sentence


def test_the_answer_takes_four_lines_at_most_and_names_the_greatest() -> None:
    mixed = [
        compared(name, 9.0 - number if number % 2 else 1 / (9.0 - number))
        for number, name in enumerate(
            ("stat_file", "fork_exec", "unix_stream_latency", "memory_copy", "idea", "linpack")
        )
    ]

    told = answer(*mixed, *(same(name, 0.2) for name in ("sieve", "syscall", "fork_exit", "memory_read")))

    assert sum(len(textwrap.wrap(line, 80)) for line in told.sentence.splitlines()) <= 4
    assert "Looking up a file (stat) 9.0×, " in told.sentence
    assert "starting a program (fork, exec) 8.0×" in told.sentence.replace("Starting", "starting")
    assert " more" in told.sentence


def test_where_a_curve_worsens_is_no_answer_and_stands_last() -> None:
    knee = PartRatio("knee", 0, 32768, 32768, Estimate(200.0, 150.0, 250.0, 0.95), verdict.FASTER, 12)
    curve = CurveComparison(
        "memory_read", (), "memory_read", "memory", "time", "MB/s", "higher", "size", "bytes", 0.02, (), {},
        {"b": (knee,)},
    )  # fmt: skip

    told = answer(same("memory_read"), compared("sieve", 1.5), same("huffman"), curves=(curve,))

    assert "200" not in told.sentence
    assert [one.sense for one in told.findings] == ["slower", "later"]


def test_blocks_are_told_from_the_least_to_the_most() -> None:
    found = evaluation(compared("syscall", 2.0, blocks=2), compared("sieve", 2.0, blocks=11))

    assert "2 to 11 blocks" in answers.all_of(found)[0].holds
    assert answers.blocks_of(found) == "2 to 11 blocks"
    assert "in 5 blocks." in answer(compared("syscall", 2.0), compared("sieve", 2.0)).holds


def test_what_the_time_did_not_reach_is_no_metric_of_the_answer() -> None:
    told = answer(
        compared("syscall", 2.0), compared("fork_exec", None), same("sieve"), left_out=("fork_exec",)
    )

    assert (told.missing, told.metrics) == ((), 2)


def test_what_differs_everywhere_differs_at_everything() -> None:
    told = answer(*KERNEL, compared("sieve", 3.0), compared("huffman", 3.0))

    assert told.sentence.startswith("b vs a: slower at all 18 metrics. ")
    assert told.sentence.endswith("computing 3.0×.")


def test_both_directions_are_said_the_weightier_first_and_the_rest_is_bounded() -> None:
    told = answer(
        compared("fork_exec", 0.25),
        compared("thread_create", 2.0),
        same("sieve", 0.04),
        same("huffman", 0.03),
    )

    assert told.sentence == (
        "b vs a: faster at 1 of 4 metrics, slower at 1. Starting a program (fork, exec) 4.0×. Slower: "
        "starting a thread 2.0×.\nNo difference found in computing (at most 4.0 %)."
    )


def test_a_group_of_mixed_directions_is_never_called_slower_or_faster_as_a_whole() -> None:
    slow = [compared(name, 1.5) for name in ("syscall", "read_zero", "write_null", "stat_file", "fstat_file")]

    told = answer(*slow, compared("open_close", 0.5), same("sieve"), same("huffman"))

    assert "system calls" not in told.sentence.lower()
    assert "slower at 5 of 8 metrics, faster at 1." in told.sentence
    assert "Faster: opening and closing a file 2.0×." in told.sentence


def test_one_metric_is_one_sentence() -> None:
    one = answer(compared("syscall", 2.0))

    assert one.sentence == ("b vs a: 2.00× slower [1.96, 2.04] at a null system call (getppid).")
    assert (one.findings, one.same, one.whole) == ((), (), "")
    assert answer(same("syscall")).sentence.endswith("(getppid) (at most 2.0 %).")
    assert answer(open_one("syscall")).sentence.startswith("b vs a: too early to tell at a null system call")


def test_all_the_same_says_within_what() -> None:
    told = answer(same("syscall", 0.009), same("sieve", 0.041), same("huffman", 0.012))

    assert told.sentence == (
        "b vs a: no difference found at any of 3 metrics (at most 4.1 %, half of them 1.2 %)."
    )
    assert told.findings == ()
    assert [(one.group, one.within, one.typical) for one in told.same] == [
        ("syscall", 0.009, 0.009),
        ("cpu", 0.041, pytest.approx(0.0265)),
    ]


def test_no_difference_found_where_much_is_open_is_not_called_the_same() -> None:
    told = answer(same("sieve"), open_one("syscall"), open_one("fork_exec"))

    assert told.sentence == (
        "b vs a: no difference found at 1 of 3 metrics (at most 2.0 %); the others are not settled."
    )


def test_nothing_settled_is_said_to_be_too_early() -> None:
    index = Index("b", "all", Estimate(0.1, 0.08, 0.12, 0.95), 2, (), 1, 0.01, verdict.UNRESOLVED)

    told = answer(open_one("syscall"), open_one("fork_exec"), indices=(index,))

    assert told.sentence == (
        "b vs a: too early to tell: none of 2 metrics is settled after 5 blocks; so far it looks "
        "10× slower [8.3, 12] overall."
    )
    assert (told.findings, told.whole) == ((), "")


@pytest.mark.parametrize(
    ("ratio", "look"),
    [
        (Estimate(0.82), ""),
        (Estimate(0.01), ""),  # of one block: however far, it is not known
        (Estimate(0.82, 0.6, 1.1, 0.95), ""),
        (Estimate(0.82, 0.72, 0.93, 0.95), "; so far it looks 20 % slower [7.5, 39] overall"),
        (Estimate(0.3, 0.01, 9.0, 0.95), ""),
    ],
)
def test_what_it_looks_like_is_said_where_scatter_alone_does_not_look_like_it(
    ratio: Estimate, look: str
) -> None:
    index = Index("b", "all", ratio, 2, (), 5, 0.01, verdict.UNRESOLVED)

    told = answer(open_one("syscall"), open_one("fork_exec"), indices=(index,))

    assert told.sentence.endswith(f"none of 2 metrics is settled after 5 blocks{look}.")


def test_what_was_measured_on_one_alone_is_named_and_counts_for_nothing() -> None:
    told = answer(compared("syscall", 2.0), compared("fork_exec", None), same("sieve"))
    none = answer(compared("syscall", None), compared("fork_exec", None))

    (missing,) = told.missing
    assert missing.startswith("starting a program (fork, exec) (no ")
    assert "program" not in told.sentence
    assert none.sentence == "b vs a: nothing could be compared, because no metric was measured on both."


def test_what_was_not_measured_on_both_has_its_reason() -> None:
    trouble = Trouble("b", "fork_exec", "unsupported", 3, "there is no fork here")

    told = answer(
        compared("syscall", 2.0),
        compared("fork_exec", None, value=None),
        troubles=(trouble,),
    )

    (missing,) = told.missing
    assert "unsupported on b: there is no fork here" in missing


def test_a_figure_that_neither_has_is_not_called_missing_where_the_cell_was_measured() -> None:
    """A trial may be too short for one of its figures on every system."""
    neither = {"value": None, "baseline_value": None}
    measured, one_has = compared("syscall", 2.0), compared("syscall", None, metric="rest", **neither)
    of_one = answer(
        measured, one_has, compared("syscall", None, metric="near", value=1.0, baseline_value=None)
    )
    of_none = answer(measured, compared("fork_exec", None, **neither))

    assert len(of_one.missing) == 1
    (why,) = of_none.missing
    assert why == "starting a program (fork, exec) (no time was left on a; no time was left on b)"


def test_what_judges_nothing_is_not_judged() -> None:
    """A metric whose direction means nothing has no verdict; one that another takes away has no finding."""
    switch = {"metrics": [{"name": "overhead", "less": None}, {"name": "switch", "less": "overhead"}]}

    told = answer(
        compared("fork_exec", 3.0, word="", verdict="", direction="none"),
        compared("context_switch", 3.0, metric="overhead"),
        compared("syscall", 2.0),
        same("sieve"),
        header={"workloads": {"context_switch": switch}},
    )

    assert [one.phrase for one in told.findings] == ["a null system call (getppid)"]
    assert told.metrics == 2


def test_a_study_of_one_system_has_no_answer_and_each_of_several_has_its_own() -> None:
    several = evaluation(
        compared("syscall", 2.0, system="b"), compared("syscall", 0.5, system="c"), systems=("a", "b", "c")
    )

    assert answers.all_of(evaluation(systems=("a",))) == ()
    assert [(one.system, one.sentence.partition(" [")[0]) for one in answers.all_of(several)] == [
        ("b", "b vs a: 2.00× slower"),
        ("c", "c vs a: 2.00× faster"),
    ]
    assert [("(2 processors, X, Linux 6.1.0)" in one.holds) for one in answers.all_of(several)] == [
        True,
        False,
    ]


def test_the_greatest_sure_difference_stands_first() -> None:
    unsure = compared("fork_exec", 9.0)
    wide = replace(unsure, ratio=Estimate(1 / 9, 1 / 80, 1 / 1.2, 0.95))

    told = answer(compared("sieve", 1.5), wide, compared("syscall", 3.0), open_one("stat_file"))

    assert [one.cells[0][0] for one in told.findings] == ["syscall", "sieve", "fork_exec"]
    phrases = [one.phrase for one in told.findings]
    assert sorted(phrases, key=lambda one: told.sentence.lower().index(one.lower())) == phrases


def test_the_answer_and_the_findings_have_groups_in_the_same_order() -> None:
    def wide(workload: str, times: float, least: float) -> Comparison:
        ratio = Estimate(1 / times, 1 / times / 90, 1 / least, 0.95)
        return replace(compared(workload, times), ratio=ratio)

    calls = [compared("syscall", 80.0), wide("stat_file", 15.0, 1.5), wide("open_close", 50.0, 1.5)]
    processes = [compared("fork_exit", 20.0), compared("fork_exec", 9.0)]
    told = answer(*calls, *processes, open_one("pipe_latency"))

    assert told.findings[0].group == "syscall"
    assert told.sentence.index("System calls") < told.sentence.index("processes")


def test_findings_are_folded_to_a_screen_and_lose_nobody() -> None:
    names = [name for name in GROUPS if name not in ("linpack_limit", "clock_read")]
    many = [
        compared(name, 1.03 + 0.002 * number + size, parameters=(("size", number),))
        for number in range(6)
        for size, name in enumerate(names)
    ]

    told = answer(*many)

    assert len(told.findings) <= answers.LINES
    assert sorted(cell for one in told.findings for cell in one.cells) == sorted(
        (one.cell, one.metric) for one in many
    )
    for one in told.findings:
        assert one.ratio.low is not None
        assert one.ratio.high is not None
        assert one.ratio.low <= one.ratio.value <= one.ratio.high
        assert len({GROUPS[cell.partition(" ")[0]] for cell, _ in one.cells}) == 1


def test_alike_ones_are_told_with_their_range() -> None:
    alike = [
        compared(name, times)
        for name, times in zip(
            ("syscall", "read_zero", "write_null", "stat_file", "fstat_file", "open_close", "clock_read"),
            (1.03, 1.035, 1.04, 1.05, 1.06, 1.07, 1.08),
            strict=True,
        )
    ]

    (one,) = answer(*alike, same("sieve")).findings

    assert (one.phrase, one.size) == ("all 7 system calls", "3.0 to 8.0 % slower")
    assert one.names[0] == "reading the clock"


def test_a_latency_is_never_told_as_if_it_were_the_time_of_an_operation() -> None:
    levels = [(("clients", number),) for number in range(1, 9)]
    several_open = [open_one("syscall", parameters=level) for level in levels]

    def at(times: float, metric: str) -> list[Comparison]:
        return [
            compared("stat_file", times + 0.3 * number, metric=metric, parameters=level)
            for number, level in enumerate(levels)
        ]

    told = answer(*at(2, "time"), *at(50, "latency_50"), *at(55, "latency_mean"), *several_open)

    late = [one for one in told.findings if one.ratio.value < 1 / 20]
    assert late
    assert len(late) < len(told.findings)
    assert all("latency" in one.phrase for one in late)
    assert not any("latency" in one.phrase for one in told.findings if one not in late)
    assert told.sentence.startswith(
        "b vs a: slower at 24 of 32 metrics. Looking up a file 2.0 to 4.1×, "
        "looking up a file (latency) 50 to 57×.\n"
    )


def test_opposite_directions_are_never_folded() -> None:
    up = [compared(name, 1.04) for name in ("syscall", "read_zero", "write_null", "stat_file")]
    down = [compared(name, 0.96) for name in ("fstat_file", "open_close", "clock_read")]

    found = answer(*up, *down).findings

    assert {one.sense for one in found} == {"slower", "faster"}
    assert all((one.ratio.high or 0) < 1 or (one.ratio.low or 0) > 1 for one in found)


def test_what_is_no_speed_is_said_to_be_less() -> None:
    few = compared("linpack_limit", 4.0, metric="count", unit="processes", direction="higher")
    much = compared("memory_used", 3.0, metric="count", unit="kB", direction="lower")

    assert answer(few, same("sieve")).findings[0].size == "4.00× less"
    assert answer(much, same("sieve")).findings[0].size == "3.00× more"


@pytest.mark.parametrize(
    ("metric", "times", "said"),
    [
        ("server", 2.0, "2.00× more"),
        ("demand", 0.5, "2.00× less"),
        ("latency_99", 2.0, "2.00× longer"),
        ("latency_50", 0.5, "2.00× shorter"),
        ("time", 2.0, "2.00× slower"),
    ],
)
def test_processor_time_is_more_and_a_latency_longer(metric: str, times: float, said: str) -> None:
    assert answer(compared("syscall", times, metric=metric), same("sieve")).findings[0].size == said


def test_of_what_is_no_speed_alone_a_system_is_not_called_slow() -> None:
    one = compared("syscall", 2.0, metric="server")
    two = compared("fork_exec", 9.0, metric="latency_99")

    assert answer(one).sentence == (
        "b vs a: a null system call (getppid): the server's processor time: 2.00× more [1.96, 2.04]."
    )
    assert answer(one, two, same("sieve")).sentence.startswith("b vs a: worse at 2 of 3 metrics. ")
    told = answer(one, two, compared("sieve", 1.5)).sentence
    assert told.startswith("b vs a: slower at all 3 metrics. The sieve of Eratosthenes 1.5×, ")


def test_a_mean_that_is_not_known_well_gives_way_to_the_least_and_the_most() -> None:
    files = [compared("file_create", 2.0), compared("file_remove", 10.0)]

    def said(low: float) -> str:
        mean = Index("b", "file", Estimate(1 / 4.5, low, 1 / 1.2), 2, (), 5, 0.01, verdict.SLOWER)
        return answer(*files, open_one("sieve"), indices=(mean,)).sentence.splitlines()[0]

    assert said(1 / 17) == "b vs a: slower at 2 of 3 metrics. Files 2.0 to 10×."
    assert said(1 / 3.5) == "b vs a: slower at 2 of 3 metrics. Files 4.5× (2.0 to 10×)."


def test_the_only_group_differs_by_as_much_as_the_whole() -> None:
    index = Index("b", "all", Estimate(1 / 3, 1 / 4, 1 / 2), 4, (), 5, 0.01, verdict.SLOWER)
    ways = [
        compared(name, times, metric=metric)
        for name in ("syscall", "stat_file")
        for metric, times in (("time", 3.0), ("latency_99", 90.0))
    ]

    assert answer(*ways, indices=(index,)).sentence == "b vs a: slower at all 4 metrics. System calls 3.0×."
    assert answer(*ways).sentence == "b vs a: slower at all 4 metrics. System calls 3.0×."


def test_parameters_are_said_where_they_tell_cells_apart() -> None:
    told = answer(
        compared("pipe_latency", 3.0, parameters=(("place", 1),)),
        compared("pipe_latency", 2.0, parameters=(("place", 2),)),
        compared("file_create", 2.0, parameters=(("size", 0),)),
    )

    assert [one.phrase for one in told.findings] == [
        "pipe round trip: one processor",
        "pipe round trip: 2 processors",
        "creating a file",
    ]


def test_a_part_of_a_curve_that_differs_is_found_where_the_whole_does_not() -> None:
    part = PartRatio("plateau", 0, 4096, 32768, Estimate(0.5, 0.45, 0.55, 0.95), verdict.SLOWER, 12)
    knee = PartRatio("knee", 0, 32768, 32768, Estimate(2.0, 1.8, 2.2, 0.95), verdict.FASTER, 12)
    curve = CurveComparison(
        "memory_read", (), "memory_read", "memory", "time", "MB/s", "higher", "size", "bytes", 0.02, (), {},
        {"b": (part, knee)},
    )  # fmt: skip

    told = answer(same("memory_read"), same("sieve"), curves=(curve,))
    whole = answer(compared("memory_read", 2.0), same("sieve"), curves=(curve,))

    assert [(one.phrase, one.size) for one in told.findings] == [
        ("reading memory, 4 KiB to 32 KiB", "2.0× slower"),
        ("reading memory: knee after 32 KiB", "2.0× later"),
    ]
    assert [one.phrase for one in whole.findings] == [
        "reading memory",
        "reading memory: knee after 32 KiB",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        ((60.0, 60.0), "2 metrics; 2 minutes more for them"),
        ((30.0,), "1 metric; 30 s more for it"),
        ((60.0, 1e6), "2 metrics; 60 s more for 1 of them; the rest are too noisy here"),
        ((1e6, 1e6), "2 metrics; they are too noisy here"),
        ((None,), "1 metric; too few blocks to say how long it would take"),
    ],
)
def test_what_is_not_settled_says_how_long_it_would_take(
    seconds: tuple[float | None, ...], said: str
) -> None:
    names = list(GROUPS)
    ours = [open_one(name, need) for name, need in zip(names, seconds, strict=False)]

    told = answer(*ours, same("sieve")).unsettled

    assert told is not None
    assert told.sentence == said


def test_cells_that_are_measured_together_are_waited_for_once() -> None:
    ours = [open_one("syscall", 60.0, metric=name) for name in ("one", "two")]

    told = answer(*ours, same("sieve")).unsettled

    assert told is not None
    assert told.sentence == "2 metrics; 60 s more for them"


def test_a_bound_is_never_rounded_down() -> None:
    for bound in (0.00901, 0.0449, 0.1001, 0.0999, 1.234):
        said = answer(same("syscall", bound)).sentence.partition("at most ")[2].removesuffix(" %).")
        assert bound * 100 <= float(said) <= bound * 100 * 1.12 + 0.1


def test_remarks_that_differ_in_numbers_alone_are_one_note() -> None:
    names = ("syscall", "read_zero", "write_null", "stat_file")
    disturbed = [
        compared(name, 2.0, remarks=(Disturbed(number, 9, "same"),)) for number, name in enumerate(names)
    ]
    tail = "by the mean of its batches it is faster: the difference is in the tail"
    troubles = tuple(Trouble("b", name, "unsupported", 2, "no such call") for name in GROUPS)

    told = notes.of(
        evaluation(*disturbed, compared("sieve", 2.0, remarks=(InTail(verdict.FASTER),)), troubles=troubles)
    )

    assert told == (
        f"{2 * len(GROUPS)} trials of syscall and {len(GROUPS) - 1} others unsupported on b: no such call",
        "4 metrics had blocks disturbed by other work (0 to 3 of 9); their verdicts are unchanged without "
        "them",
        f"sieve: {tail}",
        "the experiment is not finished; run the same command again to resume it",
    )


def test_verdicts_from_few_blocks_are_one_note_with_the_range_of_its_numbers() -> None:
    few = [
        compared(name, 9.0, remarks=(FewUnits(units, "block", times),))
        for name, units, times in (("syscall", 4, 1.2), ("read_zero", 5, 2.5), ("sieve", 4, 1.7))
    ]
    clock = [
        compared(name, 9.0, remarks=(ClockApart("b", far),))
        for name, far in (("idea", 0.01), ("huffman", 0.02), ("linpack", 0.03))
    ]

    told = notes.of(evaluation(*few, *clock))
    one = notes.of(evaluation(few[0]))

    assert (
        told[0]
        == "3 verdicts rest on 4 or 5 blocks; single trials of one system differ by up to 2.50 times here"
    )
    assert "by +1.00 to +3.00%" in told[1]
    assert one[0].startswith("syscall: the verdict rests on 4 blocks; single trials of one system")


def a_long_evaluation() -> Evaluation:
    names = [name for name in GROUPS if GROUPS[name] not in ("cpu", "memory")]
    many = [
        compared(
            name,
            1.2 * 1.5**number,
            parameters=(("size", size), ("place", 1)),
            remarks=(ClockApart("b", 0.01 * (size + 1)),),
        )
        for number, name in enumerate(names)
        for size in range(4)
    ]
    calm = [same(name, 0.01 * (number + 1)) for number, name in enumerate(("sieve", "huffman", "idea"))]
    facts = SystemFacts("b", 3, True, {}, {}, None)
    found = evaluation(*many, *calm, systems=("a", "b"), remarks=(Given("b", 1, 2, None, None),))
    return replace(found, systems=(facts,))


def test_a_standard_report_fits_80_columns_by_40_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = a_long_evaluation()
    monkeypatch.setattr(terminal, "console", lambda: Console(highlight=False, width=80))

    console.print_evaluation(found, tables=())
    lines = capsys.readouterr().out.splitlines()
    console.print_evaluation(found, tables=(), everything=True)
    everything = capsys.readouterr().out

    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert "3 boots of b" in " ".join(" ".join(lines).split())
    assert lines[-1].endswith("every table") or "--all" in lines[-1]
    assert all(one.cell.partition(" ")[0] in everything for one in found.comparisons)


@pytest.mark.parametrize("height", [24, 30, 60])
def test_on_a_terminal_the_answer_is_not_scrolled_away(
    height: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What there is no room for is counted; a terminal as high as the report has all of it."""
    found = a_long_evaluation()

    def a_console(**of: Any) -> Console:
        return Console(highlight=False, color_system=None, width=80, **of)

    monkeypatch.setattr(terminal, "console", a_console)
    console.print_evaluation(found, tables=())
    whole = capsys.readouterr().out.splitlines()
    monkeypatch.setattr(terminal, "console", lambda: a_console(force_terminal=True, height=height))
    console.print_evaluation(found, tables=())
    lines = capsys.readouterr().out.splitlines()

    assert len(lines) <= height - 2
    assert lines[0] == whole[0]
    assert (lines == whole) == (len(whole) <= height - 2)
    assert lines == whole or re.search(r"and \d+ more: steelyard report --all", "\n".join(lines))


def test_programs_get_the_answer_too() -> None:
    found = plain.as_object(evaluation(compared("syscall", 2.0), same("sieve")))

    (one,) = found["answers"]
    assert one["findings"][0]["cells"] == (("syscall", "time"),)
    assert math.isclose(one["findings"][0]["ratio"]["value"], 0.5)
    assert json.dumps(found)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (-0.006, -0.009, "-0.90 to -0.60%"),
        (-0.009, -0.006, "-0.90 to -0.60%"),
        (0.006, 0.009, "+0.60 to +0.90%"),
        (-0.006, 0.009, "-0.60 to +0.90%"),
        (-0.006, -0.006, "-0.60%"),
    ],
)
def test_a_range_keeps_both_signs(first: float, second: float, told: str) -> None:
    two = [
        compared(name, 2.0, remarks=(ClockApart("b", apart),))
        for name, apart in (("syscall", first), ("sieve", second))
    ]

    assert notes.of(evaluation(*two))[0] == (
        f"syscall and sieve: the clock of b differs from this machine's by {told}"
    )


@pytest.mark.parametrize(
    "systems",
    [("debian-6-1", "debian-6-12"), ("native+gcc-glibc-O2", "native+gcc-glibc-O3"), ("uml-64m", "uml-256m")],
)
@pytest.mark.parametrize(
    "remark",
    [
        lambda system, number: ClockApart(system, number / 100),
        lambda system, number: GeneratorBusy(system, 0.8 + number / 100),
        lambda system, number: GeneratorLate(system),
        lambda system, number: GaveWay(system, 1.0, number / 10, None),
    ],
)
def test_systems_whose_names_differ_in_a_number_are_two_notes(
    remark: Callable[[str, int], Remark], systems: tuple[str, str]
) -> None:
    both = [
        compared(workload, 2.0, system=system, remarks=(remark(system, number),))
        for number, (workload, system) in enumerate(
            itertools.product(("syscall", "sieve", "idea"), systems), start=1
        )
    ]

    told = notes.of(evaluation(*both, systems=("a", *systems)))

    for system in systems:
        assert sum(system in re.split(r"[ ,:]", one) for one in told) == 1
    assert len(told) == len(systems) + 1
