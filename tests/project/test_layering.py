"""The modules of each package stand in a list, and each imports only from earlier ones."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

import steelyard

ROOT = Path(steelyard.__file__).parent
PACKAGES = sorted(path.parent for path in ROOT.rglob("__init__.py"))
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py")

# Who reads an archive needs nothing that measures; who draws or tells reads no archive.
NEVER = [
    ("archive", "running"),
    ("analysis", "running"),
    ("words", "archive"),
    ("papers", "archive"),
    ("drawing", "archive"),
    ("report", "archive"),
    *((room, "duckdb") for room in ("words", "papers", "drawing", "report")),
]

# What the first needs at its start, with all that this imports, holds none of the others.
LIGHT = [
    ("cli", ("steelyard.running", "steelyard.analysis", "rich", "numpy", "duckdb", "altair", "jinja2")),
    ("report.listing", ("steelyard.analysis", "numpy", "duckdb", "altair", "jinja2")),
    ("running.order", ("steelyard.analysis", "steelyard.archive", "numpy", "duckdb", "rich")),
    ("archive.experiments", ("steelyard.running", "numpy", "duckdb", "rich")),
    ("analysis.evaluate", ("steelyard.running", "altair", "jinja2")),
    ("report.during", ("altair", "jinja2")),
]


def _name(file: Path) -> str:
    return str(file.relative_to(ROOT))


@cache
def _order(package: Path) -> list[str]:
    """The list in the package's docstring: what stands between the colon and the full stop."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    if not (members := _members(package)):
        return []
    found = re.search(r"imports only from earlier ones:(.*?)\.", " ".join(text.split()))
    assert found, f"the docstring of {package.name} has no list of its modules: {', '.join(members)}"
    return [name.strip() for name in found[1].split(",")]


def _members(package: Path) -> list[str]:
    modules = (path.stem for path in package.glob("*.py") if path.name != "__init__.py")
    return sorted([*modules, *(path.parent.name for path in package.glob("*/__init__.py"))])


def _dotted(file: Path) -> tuple[str, ...]:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _imported(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """What one statement imports, as paths below the package; of others their first name."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            parts = tuple(alias.name.split("."))
            if parts != ("steelyard",):  # which has the version, and imports nothing
                yield parts[1:] if parts[0] == "steelyard" else parts[:1]
    elif isinstance(node, ast.ImportFrom):
        parts = tuple((node.module or "").split("."))
        if parts[0] == "steelyard":
            yield from ((*parts[1:], alias.name) for alias in node.names)
        else:
            yield parts[:1]


@cache
def _nodes(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


def _imports(file: Path) -> set[tuple[str, ...]]:
    return {path for node in _nodes(file) for path in _imported(node)}


def _imports_in_functions(file: Path) -> set[tuple[str, ...]]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    inside = {child for node in _nodes(file) if isinstance(node, functions) for child in ast.walk(node)}
    return {path for node in inside for path in _imported(node)}


def _is_later(mine: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether the other module stands after mine, or beside it in no list, where their paths part."""
    package = ROOT
    for own, theirs in zip(mine, other, strict=False):
        if own != theirs:
            order = _order(package)
            return theirs in order and order.index(theirs) > order.index(own)
        package /= own
    return False


def _file(path: tuple[str, ...]) -> Path | None:
    """The module, or the package itself, of that path or of its beginning: the rest are names in it."""
    for length in range(len(path), 0, -1):
        place = ROOT.joinpath(*path[:length])
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                return file
    return None


def _needs(name: str) -> set[str]:
    """All that is imported where that module is: ours by their dotted names, of others the first names."""
    names: set[str] = set()
    ahead = {tuple(name.split("."))}
    while ahead:
        path = ahead.pop()
        file = _file(path)
        dotted = ".".join(("steelyard", *_dotted(file))) if file else path[0]
        if dotted not in names:
            names.add(dotted)
            if file:
                at_start = ast.parse(file.read_text(encoding="utf-8")).body
                ahead |= {other for node in at_start for other in _imported(node)}
                ahead |= {_dotted(file)[:-1]} - {()}
    return names


@pytest.mark.parametrize(("name", "others"), LIGHT)
def test_a_module_needs_nothing_heavy(name: str, others: tuple[str, ...]) -> None:
    needed = _needs(name)

    assert len(needed) > 10
    assert [one for one in needed for other in others if one == other or one.startswith(f"{other}.")] == []


@pytest.mark.parametrize("package", PACKAGES, ids=_name)
def test_the_list_names_every_module_once_and_nothing_else(package: Path) -> None:
    assert sorted(_order(package)) == _members(package)


@pytest.mark.parametrize("file", MODULES, ids=_name)
def test_a_module_imports_only_from_earlier_ones(file: Path) -> None:
    mine = _dotted(file)

    assert [other for other in _imports(file) if _is_later(mine, other)] == []


@pytest.mark.parametrize("package", PACKAGES, ids=_name)
def test_a_package_itself_imports_only_its_own_modules_and_earlier_ones(package: Path) -> None:
    mine = _dotted(package / "__init__.py")

    assert [other for other in _imports(package / "__init__.py") if mine and _is_later(mine, other)] == []


@pytest.mark.parametrize(("room", "other"), NEVER)
def test_some_rooms_know_nothing_of_others(room: str, other: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))

    assert files
    assert [_name(file) for file in files if any(path[0] == other for path in _imports(file))] == []


@pytest.mark.parametrize("file", MODULES, ids=_name)
def test_only_the_command_line_and_reports_import_other_rooms_inside_functions(file: Path) -> None:
    if _dotted(file)[0] not in ("cli", "report", "entry"):
        rooms = set(_order(ROOT)) - {_dotted(file)[0]}
        assert [path for path in _imports_in_functions(file) if path[0] in rooms] == []


def test_one_module_of_the_analysis_asks_the_tables() -> None:
    asking = [file.stem for file in (ROOT / "analysis").glob("*.py") if ("duckdb",) in _imports(file)]

    assert asking == ["rows"]


# What the analysis may write in words: names of a few, and units and names that are composed, by which
# programs and studies ask for a figure.
_NAME = re.compile(r"\w+ (\w+ )?\w+|\w+ \| None")
_COMPOSED = {
    "concurrent_runs.py": ("DERIVED",),
    "observations.py": ("unit",),
    "usage.py": ("_figures_by_cell", "_add_shares", "_add_own_calls", "_slowdowns", "_unit"),
}


def _docstrings(tree: ast.Module) -> set[int]:
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = [node.body[0] for node in ast.walk(tree) if isinstance(node, holders)]
    return {id(node.value) for node in first if isinstance(node, ast.Expr)}


def _is_called(node: ast.AST, names: Sequence[str]) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name in names
    return isinstance(node, ast.Assign) and any(
        isinstance(one, ast.Name) and one.id in names for one in node.targets
    )


def _sentences(file: Path) -> Iterator[str]:
    """The texts of a module that are more than a name: in quotes, but for docstrings, and SQL."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    passed = _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) or _is_called(node, _COMPOSED.get(file.name, ())):
            passed |= {id(one) for one in ast.walk(node)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in passed else None
        if isinstance(text, str) and re.search(r"[a-z]", text) and " " in text and not _NAME.fullmatch(text):
            yield text


@pytest.mark.parametrize("file", sorted((ROOT / "analysis").glob("*.py")), ids=_name)
def test_the_analysis_has_facts_and_no_sentences(file: Path) -> None:
    """All that is said of results is said in words/, by what kind of fact it is."""
    is_sql = file.name == "rows.py"

    assert [one for one in _sentences(file) if not (is_sql and _SQL.search(one))] == []


_SQL = re.compile(r"\b(SELECT|INSERT|CREATE|FROM)\b|\) AS q,|\n *sum\(")


def test_no_two_classes_have_one_name() -> None:
    names = Counter(
        node.name
        for file in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )

    assert {name for name, count in names.items() if count > 1} == set()
