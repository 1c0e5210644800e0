"""Tables of the dissertation besides 6.1: what stands beside what, and what there is to print."""

import pytest
from comparisons import of_one_system

from steelyard.analysis.model import Level
from steelyard.papers import tables
from steelyard.papers.source import NOTHING, Printed
from steelyard.programs import built
from steelyard.statistics.signed_rank import Estimate
from steelyard.study import model, study_file


def _printed(study: str, *levels: Level) -> tuple[Printed, ...]:
    return tables.tables(of_one_system(*levels), study_file.read(study))


def test_table_6_2_has_the_paper_s_ten_rows() -> None:
    table = _printed("goncalves-web")[0]

    assert [row[0] for row in table.rows] == [f"{number:,}" for number in range(1000, 11_000, 1000)]
    assert [row[1] for row in table.rows][::9] == ["342.8 s", "3,189.0 s"]
    assert NOTHING not in {cell for row in table.rows for cell in row[1:3]}


def test_the_300_processes_stand_beside_the_cell_that_repeats_them_and_no_other() -> None:
    fitting, paging = _printed("goncalves-processes")

    assert [row[0] for row in fitting.rows] == ["100", "200"]
    assert [row[0] for row in paging.rows] == ["300"]
    assert "Linux, processes completed" in paging.headings
    study = study_file.read("goncalves-processes")
    cells = [dict(cell.parameters) for cell in model.cells(study, processors=2)]
    (table,) = (one for one in study.cell_tables if one.levels == (300,))
    (fixed,) = (dict(parameters) for _, parameters in table.variants)
    assert {"processes": 300, **fixed} in cells


def test_the_limits_of_then_stand_beside_today_s() -> None:
    limit = Level(
        system="native",
        workload="linpack_limit",
        parameters=(),
        cell="linpack_limit",
        group="process",
        metric="count",
        unit="processes",
        direction="higher",
        value=Estimate(640.0, 630.0, 650.0),
    )

    (table,) = _printed("goncalves-limit", limit)

    by_heading = {heading: [row[place] for row in table.rows] for place, heading in enumerate(table.headings)}
    assert by_heading["processes"] == ["200", "300"]
    assert by_heading["Windows NT"] == ["172", NOTHING]
    assert by_heading["Linux"] == ["200", "243"]
    assert [text.partition(" (")[0] for text in by_heading["native"]] == ["640 processes"] * 2


def test_the_compilers_figures_are_the_text_s() -> None:
    (table,) = _printed("goncalves-compilers")

    assert table.headings[1] == "Windows NT (GCC for DOS)"
    assert [row[:2] for row in table.rows] == [("1", "6 %"), ("10", "about 50 %")]


def test_every_build_is_each_that_this_processor_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    made = (
        "glibc",
        "clang-musl-O0",
        "zig-aarch64-linux-musl-O2",
        "zig-x86_64-linux-musl-O3",
        "zig-x86-linux-musl-O1",
    )
    monkeypatch.setattr(built, "builds", lambda: made)
    monkeypatch.setattr(built.os, "uname", lambda: type("", (), {"machine": "x86_64"}))

    assert built.native_builds() == ("glibc", "clang-musl-O0", "zig-x86_64-linux-musl-O3")
