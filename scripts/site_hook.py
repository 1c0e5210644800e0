"""Generates the reference pages of the site, and adds the pages that stand in the root."""

import re
import subprocess
import sys
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}


def on_pre_build(**_):
    subprocess.run([ROOT / "scripts" / "reference", sys.executable], check=True)


def on_files(files, config):
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, **_):
    """The links as they are in the site: docs/ is its root, and README is its first page."""
    text = markdown.replace("](docs/", "](")
    for name, page in (PAGES | {"README.md": "index.md"}).items():
        text = re.sub(
            rf"\]\(((?:\.\./)*)(?:\.\./)?{re.escape(name)}", lambda m, page=page: f"]({m[1][3:]}{page}", text
        )
    # Pages that `make papers` writes are links where it has run.
    written = {f"papers/{page.name}" for page in (ROOT / "docs" / "papers").glob("*.html")}
    return re.sub(r"\[([^]]*)\]\((papers/[^)#]*)#?[^)]*\)", lambda m: m[0] if m[2] in written else m[1], text)
