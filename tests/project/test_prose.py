"""Words that people who know the field stumble over are in no text of the project."""

import re
from collections.abc import Iterator
from pathlib import Path

import places
import pytest

FOLDERS = (
    "agent", "base", "bench", "docs", "examples", "loadgen", "monitor", "scripts", "src", "systems",
    "tests", "workloads",
)  # fmt: skip
KINDS = {"", ".build", ".c", ".css", ".def", ".h", ".html", ".js", ".md", ".py", ".toml"}
INSTEAD = {
    "anew": "again",
    "be had": "available",
    "goes along": "likely cause",
    "goes on with": "resumes",
    "so many": "that many, or the parameter's name",
}
PATTERN = re.compile(rf"\b({'|'.join(INSTEAD)})\b", re.IGNORECASE)


def texts(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.suffix in KINDS and path.is_file() and path.name not in ("bundle.js", Path(__file__).name):
            yield path


@pytest.mark.parametrize("folder", [*FOLDERS, "."])
def test_no_text_has_words_for_which_the_field_has_better_ones(folder: str) -> None:
    paths = texts(places.ROOT / folder) if folder != "." else places.ROOT.glob("*.md")
    found = [
        f"{path}:{number}: {word[1]}: {INSTEAD[word[1].lower()]}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        for word in PATTERN.finditer(line)
    ]

    assert found == []
