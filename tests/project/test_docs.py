"""The documents can be read as text, and their links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import places
import pytest

from steelyard.archive import schema

ROOT = places.ROOT
GENERATED = {ROOT / "docs" / "reference" / f"{name}.md" for name in ("commands", "tables", "workloads")}
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - GENERATED)
COLUMNS = 100
CELL = 120  # characters: a table holds no paragraphs


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


def anchors(page: Path) -> set[str]:
    """The headings as links name them, after Markdown's own rule."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower()) for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_links_lead_to_a_page_and_a_heading(page: Path) -> None:
    for name, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text()):
        target = (page.parent / name).resolve() if name else page
        if target.parent == ROOT / "docs" / "papers":
            continue  # `make papers` writes it: test_papers.py
        assert target in GENERATED or target.exists(), name
        assert not anchor or target in GENERATED or anchor in anchors(target), f"{name}#{anchor}"


def test_the_site_s_menu_has_every_page() -> None:
    menu = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    listed = {ROOT / "docs" / name for name in re.findall(r": (\S+\.md)$", menu, re.MULTILINE)}

    assert {page for page in PAGES if page.is_relative_to(ROOT / "docs")} | GENERATED <= listed


@pytest.mark.program
@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("tables-page", set(schema.TABLES)),
        ("workloads-page", set(re.findall(r", (\w+)\)", (ROOT / "workloads" / "list.def").read_text()))),
    ],
)
def test_a_generated_page_has_a_heading_for_each(script: str, names: set[str]) -> None:
    words = [sys.executable, ROOT / "scripts" / script]
    made = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout

    assert names
    assert names <= set(re.findall(r"^##+ (\w+)$", made, re.MULTILINE))
