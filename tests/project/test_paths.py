"""Comments and documents name only files that exist."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import places
import pytest

ROOT = places.ROOT
MADE = re.compile(r"\..+|build.*|dist|site|__pycache__")  # folders that are no part of the source
# Another program's text, and archives that keep the text of their time.
COPIED = ("src/steelyard/report/pages/vega/", "tests/archives/", "tests/fuzz/corpus/")
# A file of Linux, of the user, or of the build. A name in capitals (NAME.toml) stands for any.
ELSEWHERE = {
    *("fs/hostfs/hostfs_kern.c", "include/linux/posix-timers_types.h", "kernel/sched/cputime.c"),
    *("kernel/tsacct.c", "linux/errqueue.h", "linux/io_uring.h", "linux/loop.h", "linux/mman.h"),
    *("linux/netlink.h", "if_addr.h", "if_link.h", "pkt_sched.h", "rtnetlink.h", "veth.h"),
    *("disks.toml", "kernels.html", "kernels.toml", "pages.toml", "pegasus.html"),
    *("box.toml", "mail.html", "make.html", "report.html", "sqlite3.h", "workloads/cpu/linp_code.c"),
}
# What `make` and `make papers` write.
GENERATED = re.compile(r"(\.\./)*(docs/)?(reference/)?(commands|tables|workloads)\.md|papers/[a-z-]+\.html")
WORD = re.compile(r"[\w./~<>{}*$%-]+")
NAMED = re.compile(r"(\.\./)*([\w-]+/)*[\w.-]*\w\.(build|c|cff|def|h|html|inc|md|options|py|toml)")


def sources() -> Iterator[Path]:
    places = [ROOT]
    while places:
        for place in sorted(places.pop().iterdir()):
            if place.is_dir() and not (place.name != ".ci" and MADE.fullmatch(place.name)):
                places.append(place)
            elif place.is_file() and not str(place.relative_to(ROOT)).startswith(COPIED):
                yield place


SOURCES = list(sources())
ENDS = "\n".join(f"/{file.relative_to(ROOT)}" for file in SOURCES) + "\n"


def python_comments(text: str) -> str:
    """Its comments, and its strings that are statements: docstrings."""
    found, before = [], tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        begins = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins):
            found.append(token.string)
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = token.type
    return "\n".join(found)


def prose(file: Path) -> str:
    """What of a file is for people."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""
    if file.suffix == ".md":
        return text
    if file.suffix in (".c", ".h", ".def"):
        return "\n".join(re.findall(r"/\*.*?\*/|//[^\n]*", text, re.DOTALL))
    if file.suffix == ".py" or re.match(r"#!.*python", text):
        return python_comments(text)
    if file.suffix in (".build", ".options", ".toml") or file.name == "Makefile" or text.startswith("#!"):
        return "\n".join(re.findall(r"(?:^|\s)#[^\n]*", text))
    return ""


def is_there(name: str, file: Path) -> bool:
    """By its path from here or from the root, or by the end of its path."""
    if name in ELSEWHERE or GENERATED.fullmatch(name) or re.fullmatch(r"[A-Z]+", Path(name).stem):
        return True
    return (file.parent / name).is_file() if name.startswith("../") else f"/{name}\n" in ENDS


def missing(file: Path, text: str) -> list[str]:
    words = {word.rstrip(".") for word in WORD.findall(text)}
    return [word for word in sorted(words) if NAMED.fullmatch(word) and not is_there(word, file)]


@pytest.mark.computes
def test_comments_and_documents_name_only_files_that_exist() -> None:
    assert len(SOURCES) > 900
    gone = [(str(file.relative_to(ROOT)), name) for file in SOURCES for name in missing(file, prose(file))]
    assert gone == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("agent/main.c", "int main; /* see ../api/workload.h */"),
        ("agent/main.c", "// harness/main.c begins"),
        ("src/steelyard/api.py", '"""Like report/tables.py."""\n'),
        ("src/steelyard/api.py", "a = 1  # gone.py\n"),
        ("meson.build", "# see src/steelyard/programs.py\n"),
        ("docs/index.md", "The file `workloads/harness/main.c`"),
    ],
)
def test_a_file_that_is_gone_would_be_noticed(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / Path(name).name
    file.write_text(text)

    assert len(missing(ROOT / name, prose(file))) == 1


def test_what_exists_may_be_named_from_anywhere() -> None:
    named = "base/record.h record.h api/workload.h src/steelyard/api.py tests/project/test_paths.py NAME.toml"

    assert missing(ROOT / "agent" / "main.c", named) == []
    assert missing(ROOT / "agent" / "posix" / "files.c", "../system.h") == []
