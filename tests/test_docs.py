"""The documents: what is generated is as it would be made again, and the rest can be read as text."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
COLUMNS = 100
CELL = 120  # characters: a table holds no paragraphs


@pytest.mark.program
def test_the_page_of_the_tables_is_as_the_types_are() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "scripts" / "tables-page"], stdout=subprocess.PIPE, text=True, check=True
    )

    assert (ROOT / "docs" / "tables.md").read_text() == made.stdout, "scripts/tables-page > docs/tables.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_text_is_at_most_100_columns_wide(page: Path) -> None:
    wide = [
        number
        for number, line in enumerate(page.read_text().splitlines(), start=1)
        if len(line) > COLUMNS and re.match(r"(    |\||!\[)", line) is None and " " in line.strip()
    ]

    assert wide == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "reliability.md"], ids=lambda page: page.name
)
def test_no_cell_of_a_table_is_a_paragraph(page: Path) -> None:
    rows = [line for line in page.read_text().splitlines() if line.startswith("|")]

    assert [cell for row in rows for cell in row.split(" | ") if len(cell) > CELL] == []
