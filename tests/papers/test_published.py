"""Published tables: the paper's figures as printed, and today's beside them."""

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.analysis.model import Evaluation, Gain, ProcessorTime, SystemFacts
from steelyard.archive.experiments import StoredExperiment
from steelyard.errors import UnknownName
from steelyard.papers import tables
from steelyard.papers.source import NOTHING, Printed
from steelyard.report import plain
from steelyard.statistics.signed_rank import Estimate
from steelyard.study import study_file
from steelyard.study.model import Study

STUDY = study_file.read("pegasus")
WORKLOADS = ("sieve", "syscall", "funcall", "pipe_transfer", "shell", "disktest")


def _evaluation(
    costs: Sequence[ProcessorTime] = (),
    gains: Sequence[Gain] = (),
    systems: Sequence[str] = ("native", "uml"),
) -> Evaluation:
    facts = tuple(SystemFacts(name, 1, False, {}, {}, None) for name in systems)
    return Evaluation(
        experiment=StoredExperiment(Path("none"), {}),
        baseline="native",
        systems=facts,
        comparisons=(),
        gains=tuple(gains),
        costs=tuple(costs),
        blocks=0,
        trials=0,
    )


def _cost(
    system: str, workload: str, real_ns: float, *, copies: int = 1, metric: str = "time"
) -> ProcessorTime:
    cell = f"{workload} copies={copies}"
    return ProcessorTime(system, workload, copies, cell, metric, real_ns, real_ns * 0.75, real_ns * 0.25)


def _gain(gain: float) -> Gain:
    return Gain("native", "sieve", "time", 2, Estimate(gain), "sieve", Estimate(gain / 2), 12)


def _table(name: str, evaluation: Evaluation | None = None, reference: str | None = None) -> Printed:
    one = replace(STUDY, tables=tuple(table for table in STUDY.tables if table.name == name))
    (table,) = tables.tables(evaluation or _evaluation(), one, reference=reference)
    return table


def _column(table: Printed, heading: str) -> dict[str, str]:
    place = table.headings.index(heading)
    return {row[0]: row[place] for row in table.rows}


# As printed in the paper: seconds, real (cpu) or real (user + sys), and the gain.
TABLE_1 = {
    "AT&T 3B2": ["7.1 (7.0)", "3.5 (3.4)", "48.0 (47.8)", "10.2 (5.3)", "30.3 (12.5)"],
    "ALTOS 586-30": ["7.0 (6.9)", "5.5 (4.8)", "37.0 (36.8)", "11.0 (6.5)", "70.0 (15.1)"],
    "ZILOG 11+": ["5.0 (4.9)", "4.0 (4.0)", "15.0 (14.9)", "9.0 (3.9)", "30.0 (10.7)"],
    "PEGASUS 32.1": [
        "3.1 (3.0+0.0)",
        "1.5 (0.1+1.4)",
        "18.9 (18.8+0.1)",
        "10.5 (0.1+4.6)",
        "33.8 (0.2+15.1)",
    ],
    "PEGASUS 32.2": ["1.7 (2.6+0.1)", "1.4 (0.2+2.4)", "10.6 (19.4+0.3)", "7.9 (0.2+6.9)", "33.9 (0.2+15.7)"],
    "gain, paper": ["1.8", "1.1", "1.8", "1.3", "1.0"],
}
TABLE_2 = {
    "VAX-780": ["1.7 (1.5+0.1)", "4.8 (0.4+4.0)", "3.3 (0.3+1.8)", "3.2 (0.1+1.2)"],
    "VAX-750": ["2.4 (1.7+0.1)", "7.0 (0.8+6.2)", "3.8 (0.4+1.5)", "4.6 (0.2+2.1)"],
    "PDP-11/70": ["2.3 (1.6+0.1)", "8.0 (0.2+7.5)", "4.0 (0.2+1.7)", "8.1 (0.0+3.4)"],
    "PEGASUS 32.1": ["1.6 (1.5+0.0)", "3.8 (0.3+3.5)", "3.6 (0.3+2.8)", "4.5 (0.0+2.0)"],
    "PEGASUS 32.2": ["0.8 (1.3+0.1)", "3.1 (0.3+6.1)", "3.1 (0.3+2.0)", "3.8 (0.1+3.3)"],
    "gain, paper": ["2.0", "1.2", "1.2", "1.2"],
}


@pytest.mark.parametrize(("name", "columns"), [("I", TABLE_1), ("II", TABLE_2)])
def test_the_paper_s_figures_appear_as_printed(name: str, columns: dict[str, list[str]]) -> None:
    table = _table(name)

    assert table.headings[2 : 2 + len(columns)] == tuple(columns)
    for heading, figures in columns.items():
        assert list(_column(table, heading).values())[: len(figures)] == figures


@pytest.mark.parametrize(
    ("name", "programs"),
    [
        ("I", ["sieve", "syscall", "funcall", "piper", "disktest"]),
        ("II", ["sieve", "syscall", "shell", "piper"]),
    ],
)
def test_the_rows_are_the_paper_s_programs_and_their_mean(name: str, programs: list[str]) -> None:
    bound = ", ".join(one for one in programs if one in ("sieve", "syscall", "funcall"))
    means = ["geometric mean", f"geometric mean of {bound}", "as the text says"]
    assert [row[0] for row in _table(name).rows] == [*programs, *means]


def test_every_row_has_a_text_for_every_heading() -> None:
    gain = _gain(1.9)
    for evaluation in (_evaluation(), _evaluation([_cost("native", "sieve", 1e6)], [gain])):
        for table in tables.tables(evaluation, STUDY):
            assert {len(row) for row in table.rows} == {len(table.headings)}


# --- geometric means


@pytest.mark.parametrize("name", ["I", "II"])
def test_the_paper_s_own_system_is_one(name: str) -> None:
    table = _table(name)

    assert _column(table, "PEGASUS 32.1")["geometric mean"] == "1.00"
    assert "PEGASUS 32.1 = 1" in table.note
    assert "native = 1" in table.note


def test_the_paper_s_means_are_as_by_hand() -> None:
    # Table II: (1.7/1.6 * 4.8/3.8 * 3.3/3.6 * 3.2/4.5)^(1/4) = 0.967, and so on.
    means = {heading: _column(_table("II"), heading)["geometric mean"] for heading in TABLE_2}

    assert means == {
        "VAX-780": "0.97",
        "VAX-750": "1.31",
        "PDP-11/70": "1.57",
        "PEGASUS 32.1": "1.00",
        "PEGASUS 32.2": "0.74",
        "gain, paper": "1.4",
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("I", {"AT&T 3B2": "2.0", "ALTOS 586-30": "2.1", "ZILOG 11+": "1.5"}),
        ("II", {"VAX-780": "1.0", "VAX-750": "1.4", "PDP-11/70": "1.6"}),
    ],
)
def test_what_the_paper_s_text_says_stands_below_the_means(name: str, said: dict[str, str]) -> None:
    """The six ratios to PEGASUS with one processor, and the gain of the mix."""
    table = _table(name)

    stated = {heading: _column(table, heading)["as the text says"] for heading in table.headings[2:]}
    own = {"PEGASUS 32.1": "1.0", "PEGASUS 32.2": NOTHING, "gain, paper": "1.4"}
    assert stated == said | own | {"native, 1 copy": NOTHING, "uml, 1 copy": NOTHING}


def test_the_means_of_what_the_processor_bounds_are_as_by_hand() -> None:
    # Table II: (1.7/1.6 * 4.8/3.8)^(1/2) = 1.16, and the gains (2.0 * 1.2)^(1/2) = 1.55.
    table = _table("II")

    row = "geometric mean of sieve, syscall"
    assert _column(table, "VAX-780")[row] == "1.16"
    assert _column(table, "gain, paper")[row] == "1.5"


def test_the_means_can_be_taken_over_another_of_the_paper_s_systems() -> None:
    table = _table("II", reference="VAX-780")

    assert _column(table, "VAX-780")["geometric mean"] == "1.00"
    assert _column(table, "PEGASUS 32.1")["geometric mean"] == "1.03"  # 1 / 0.967
    assert "VAX-780 = 1" in table.note


def test_a_reference_that_one_table_has_leaves_the_others_at_their_own() -> None:
    first, second = tables.tables(_evaluation(), STUDY, reference="VAX-780")

    assert _column(first, "PEGASUS 32.1")["geometric mean"] == "1.00"
    assert _column(second, "VAX-780")["geometric mean"] == "1.00"


@pytest.mark.parametrize(("reference", "near"), [("VAX-781", "VAX-780"), ("PEGASUS", "PEGASUS 32")])
def test_a_reference_that_the_paper_has_not_is_refused_and_the_nearest_suggested(
    reference: str, near: str
) -> None:
    with pytest.raises(UnknownName, match=rf"no published system '{reference}'; did you mean '{near}"):
        _table("II", reference=reference)


# --- today's systems


def test_today_s_costs_are_for_the_operations_in_the_second_column() -> None:
    table = _table("I", _evaluation([_cost("native", "sieve", 1_000_000.0), _cost("uml", "syscall", 4000.0)]))

    assert _column(table, "operations")["sieve"] == "10"
    assert _column(table, "operations")["syscall"] == "10,000"
    assert _column(table, "native, 1 copy")["sieve"] == "10.0 ms (7.50 ms+2.50 ms)"
    assert _column(table, "uml, 1 copy")["syscall"] == "40.0 ms (30.0 ms+10.0 ms)"


def test_what_was_not_measured_is_a_dash_and_never_a_zero() -> None:
    table = _table("I", _evaluation([_cost("native", "sieve", 1_000_000.0)]))

    assert _column(table, "uml, 1 copy") == dict.fromkeys((row[0] for row in table.rows), NOTHING)
    assert _column(table, "native, 1 copy")["disktest"] == NOTHING


def test_the_metrics_of_a_workload_are_told_together() -> None:
    costs = [_cost("native", "disktest", 1e9, metric=metric) for metric in ("write", "read")]

    assert _column(_table("I", _evaluation(costs)), "native, 1 copy")["disktest"] == "2.00 s (1.50 s+500 ms)"


def test_several_copies_and_their_gain_have_columns_of_their_own() -> None:
    costs = [_cost("native", "sieve", 1e6), _cost("native", "sieve", 5.5e5, copies=2)]
    gains = [_gain(1.82)]

    table = _table("I", _evaluation(costs, gains))

    assert [heading for heading in table.headings if "native" in heading] == [
        "native, 1 copy",
        "native, 2 copies",
        "gain, native",
    ]
    assert _column(table, "native, 2 copies")["sieve"] == "5.50 ms (4.12 ms+1.38 ms)"
    assert _column(table, "gain, native")["sieve"] == "1.8"
    assert _column(table, "gain, uml")["sieve"] == NOTHING


def test_today_s_means_are_over_the_baseline_s_column_for_one_copy() -> None:
    costs = [
        _cost(system, workload, 1000.0 * factor, copies=copies)
        for system, copies, factor in (("native", 1, 1), ("native", 2, 0.5), ("uml", 1, 4), ("uml", 2, 2))
        for workload in WORKLOADS
    ]
    gains = [_gain(2.0)]

    table = _table("I", _evaluation(costs, gains))

    means = {heading: _column(table, heading)["geometric mean"] for heading in table.headings[-6:]}
    assert means == {
        "native, 1 copy": "1.00",
        "native, 2 copies": "0.50",
        "gain, native": "2.0",
        "uml, 1 copy": "4.00",
        "uml, 2 copies": "2.00",
        "gain, uml": "2.0",
    }


def test_a_study_without_tables_prints_none() -> None:
    assert tables.tables(_evaluation(), replace(STUDY, tables=())) == ()


def _with(study: Study, **changes: str) -> Study:
    return replace(study, tables=(replace(study.tables[0], **changes),))  # type: ignore[arg-type]


@pytest.mark.parametrize("changes", [{"paper": "nobody"}, {"name": "IX"}])
def test_a_table_that_nobody_published_is_refused_by_name(changes: dict[str, str]) -> None:
    (wrong,) = changes.values()

    with pytest.raises(UnknownName, match=f"'{wrong}'"):
        tables.tables(_evaluation(), _with(STUDY, **changes))


# --- what curves say


def test_a_plateau_of_which_the_paper_prints_no_figures_has_today_s_alone() -> None:
    """Kassalias' lower one, between the tables that have the paper's columns too."""
    study = study_file.read("kassalias")

    upper, lower, knee = tables.tables(_evaluation(), study)

    assert lower.headings == ("benchmark", "today's workload", "native", "uml")
    assert [row[0] for row in lower.rows] == ["bw_mem_rd", "bw_mem_wr", "bw_mem_cp"]
    assert upper.headings[2:-2] == knee.headings[2:-2] != ()
    assert "means of its plateaus" in upper.note


# --- for programs


def test_every_figure_is_a_row_of_csv_and_says_whose_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    costs = [_cost("native", "sieve", 1_000_000.0)]

    plain.print_tables([_table("I", _evaluation(costs))], form="csv")

    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    sieve = {row["column"]: row for row in rows if row["row"] == "sieve"}
    assert (sieve["PEGASUS 32.1"]["source"], sieve["PEGASUS 32.1"]["value"]) == ("paper", "3.1")
    assert sieve["PEGASUS 32.1"]["text"] == "3.1 (3.0+0.0)"
    assert (sieve["native, 1 copy"]["source"], float(sieve["native, 1 copy"]["value"])) == ("today", 1e7)
    assert (sieve["native, 1 copy"]["unit"], sieve["uml, 1 copy"]["value"]) == ("ns", "")


def test_json_has_the_tables_with_their_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    plain.print_tables([_table("I")], form="json")

    (table,) = json.loads(capsys.readouterr().out)
    assert (table["paper"], table["table"], table["rows_are"]) == ("silva-pegasus", "I", "program")
    names = [column["name"] for column in table["columns"] if column["source"] == "paper"]
    assert names == list(TABLE_1)
    figure = table["rows"][0]["figures"][1 + names.index("PEGASUS 32.1")]
    assert (figure["text"], figure["estimate"]["value"]) == ("3.1 (3.0+0.0)", 3.1)
