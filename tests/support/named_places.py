"""The files below /proc, /sys, /dev and the like that the sources name, and the documents' table of them.

What a source fills in is a star: f"/proc/{process}/stat" and "/proc/%d/stat" are /proc/*/stat.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import places

_FOLDERS = ("agent", "base", "client", "loadgen", "monitor", "systems", "workloads")
_NAMED = re.compile(r"(?<![\w.*:)}/])/(?:proc|sys|dev|run|tmp|etc|var)(?:/[\w*.+:-]+)*/?(?![\w*])")
_TABLE = "## What may be missing"
# What Python's variables hold, where a path is put together from parts.
_HOLDS = {
    "proc": "/proc", "_PROC": "/proc", "sys": "/sys", "_SYS": "/sys", "_SYSCTLS": "/proc/sys",
    "root": "", "_UNITS": "/etc/systemd/system",
}  # fmt: skip


def named() -> dict[str, set[str]]:
    """Every path that a source names, and the sources that do."""
    found: dict[str, set[str]] = {}
    python = sorted((places.ROOT / "src").rglob("*.py"))
    c = sorted(file for folder in _FOLDERS for file in (places.ROOT / folder).rglob("*.[ch]"))
    for file in [*python, *c]:
        text = file.read_text(encoding="utf-8")
        texts = python_texts(text) if file.suffix == ".py" else c_texts(text)
        for one in texts:
            for path in _NAMED.findall(one):
                found.setdefault(path.rstrip("/."), set()).add(str(file.relative_to(places.ROOT)))
    return found


def python_texts(source: str) -> Iterator[str]:
    """The texts of a module, but for what documents it; and paths that are put together."""
    tree = ast.parse(source)
    holds = _HOLDS | {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    documents = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    parts = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
        for inner in ast.walk(node)
        if inner is not node
    }
    for node in ast.walk(tree):
        if id(node) in documents or id(node) in parts:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr | ast.BinOp):
            yield _filled(node, holds)


def _filled(node: ast.AST, holds: Mapping[str, str]) -> str:
    """The text, with a star for what is not known."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_filled(one, holds) for one in node.values)
    if isinstance(node, ast.FormattedValue):
        return _filled(node.value, holds)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"{_filled(node.left, holds)}/{_filled(node.right, holds)}"
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Path", "str") and node.args:
        return _filled(node.args[0], holds)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _filled(node.func.value, holds).replace("{}", "*")
    return holds.get(getattr(node, "id", ""), "*")


def c_texts(source: str) -> Iterator[str]:
    """The string literals, those beside each other as one, with a star for what is printed into them."""
    code = re.sub(r"/\*.*?\*/|^\s*#include[^\n]*", "", source, flags=re.DOTALL | re.MULTILINE)
    for run in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', code):
        whole = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', run))
        yield re.sub(r"%[-.0-9]*[a-z]+", "*", whole.removeprefix("%s"))


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    paths: tuple[str, ...]
    readers: str
    without: str


def table() -> list[Row]:
    """The rows of the table in docs/explanation/reliability.md."""
    page = (places.ROOT / "docs/explanation/reliability.md").read_text(encoding="utf-8")
    section = page.partition(f"{_TABLE}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return [Row(tuple(re.findall(r"`([^`]+)`", first)), readers, without) for first, readers, without in rows]


def is_in(path: str, pattern: str) -> bool:
    """Whether that entry of the table is about the path: it, or what is below a directory with a star."""
    return fnmatchcase(path, pattern)
