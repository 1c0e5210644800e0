"""The documents as a site: built strictly, with every page, and nothing that is fetched from elsewhere."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import places
import pytest

ROOT = places.ROOT
pytestmark = pytest.mark.builds


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed")
def test_the_site_has_every_page_and_fetches_nothing(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    made = {str(path.relative_to(tmp_path).with_suffix(".md")) for path in tmp_path.rglob("*.html")}
    assert {*pages, "contributing.md", "changes.md", "reference/workloads.md"} <= made
    loads = r'<(?:script|img|iframe)[^>]* src="?https?:|<link[^>]* rel="?stylesheet[^>]*href="?https?:'
    for file in tmp_path.rglob("*.html"):
        assert re.search(loads, file.read_text()) is None, file
    for file in tmp_path.rglob("*.css"):
        assert re.search(r"url\(['\"]?(https?:)?//|@import", file.read_text()) is None, file
