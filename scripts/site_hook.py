"""Takes the pages that stand in the root into the site: README, CONTRIBUTING and CHANGELOG."""

from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}


def on_files(files, config):
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=_linked(text)))
    return files


def on_page_markdown(markdown, **_):
    return _linked(markdown.replace("](../", "]("))


def _linked(text):
    for name, page in PAGES.items():
        text = text.replace(f"]({name})", f"]({page})")
    return text
