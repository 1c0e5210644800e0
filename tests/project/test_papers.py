"""docs/papers.md: a line for each table and figure of the papers, with a study that has it."""

import re

import places
import pytest

from steelyard.study import presentation, study_file
from steelyard.study.model import Study

TEXT = (places.ROOT / "docs" / "papers.md").read_text()
ROWS = re.findall(r"^\| (?!in the paper|---)(.+?) \| (.+?) \| (.+?) \| (.+?) \|$", TEXT, re.MULTILINE)


def _has(study: Study, section: str) -> bool:
    """Whether a page of the study has that section."""
    tables = (*study.tables, *study.curve_tables, *study.cell_tables, *study.figure_tables)
    copies = any(name == "copies" for one in study.workloads for name, _ in one.levels)
    processes = any(one.workload.startswith("linpack_") for one in study.workloads)
    return bool(
        {
            "published": tables,
            "figures": study.figures,
            "indices": study.indices,
            "gains": copies,
            "processes": processes,
        }[section]
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_line_s_study_has_what_its_page_is_said_to_show(row: tuple[str, str, str, str]) -> None:
    _, _, command, link = row
    if command == "–":
        assert link == "–"
        return
    found = re.fullmatch(r"`steelyard run (\S+)`", command)
    assert found
    assert link == f"[{(section := link[1:].partition(']')[0])}](papers/{found[1]}.html#{section})"
    assert _has(study_file.read(found[1]), section)


def test_every_table_that_is_filed_has_a_line() -> None:
    names = {name.casefold() for name in re.findall(r"(?:Tables?|section) [\w.]+|, tables [\w., ]+", TEXT)}
    filed = {
        f"table {table}" if not table.startswith("section") else table
        for path in presentation.published_papers().values()
        for table in re.findall(r"^[\w-]+,([\w. ]+)[,(]", path.read_text(encoding="utf-8"), re.MULTILINE)
        if table != "table"
    }

    assert len(ROWS) >= 64
    assert {name.strip().casefold() for name in filed} <= names
