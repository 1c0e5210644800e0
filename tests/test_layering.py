"""Modules import only from earlier ones in a list; workloads and harness meet in workloads/api/."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import steelyard

PACKAGE = Path(steelyard.__file__).parent


def _order() -> list[str]:
    """The list in the package's docstring: what stands between the colon and the full stop."""
    found = re.search(r"imports only from earlier ones:(.*?)\.", steelyard.__doc__ or "", re.DOTALL)
    assert found, "the package's docstring has no list of modules"
    return [name.strip() for name in found[1].split(",")]


ORDER = _order()
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def _layer(file: Path) -> str:
    """The name under which the list knows a file: a package counts as one."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imported(node: ast.AST, file: Path) -> Iterator[str]:
    """The names, as the list knows them, that one statement imports."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            top, _, rest = alias.name.partition(".")
            if top == "steelyard":
                yield rest.partition(".")[0]
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if node.level:
            around = ("steelyard", *file.relative_to(PACKAGE).parts[:-1])
            module = ".".join([*around[: len(around) - node.level + 1], *filter(None, [module])])
        top, _, rest = module.partition(".")
        if top == "steelyard":
            yield from [rest.partition(".")[0]] if rest else [alias.name for alias in node.names]


def _imports(file: Path, *, in_functions_only: bool = False) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    roots: list[ast.AST] = [tree]
    if in_functions_only:
        functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        roots = [node for node in ast.walk(tree) if isinstance(node, functions)]
    return {name for root in roots for node in ast.walk(root) for name in _imported(node, file)}


def _siblings(file: Path) -> set[str]:
    """Within a package, modules may import one another."""
    return {_layer(file)} if file.parent != PACKAGE else set()


def _name(file: Path) -> str:
    return str(file.relative_to(PACKAGE))


def test_the_list_names_every_module_once_and_nothing_else() -> None:
    assert sorted(ORDER) == sorted({_layer(file) for file in FILES})


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_a_module_imports_only_from_earlier_ones(file: Path) -> None:
    mine = _layer(file)
    allowed = set(ORDER[: ORDER.index(mine)]) | _siblings(file)

    assert _imports(file) - allowed == set()


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_only_the_command_line_imports_inside_functions(file: Path) -> None:
    if _layer(file) != "cli":
        assert _imports(file, in_functions_only=True) - _siblings(file) == set()


WORKLOADS = Path(__file__).parent.parent / "workloads"
LISTED = re.findall(r"WORKLOAD\((\w+), (\w+)\)", (WORKLOADS / "list.def").read_text())
GROUPS = {group for group, _ in LISTED} - {"harness"}
ROOMS = {"api": {"api"}, "harness": {"api", "harness"}, **{group: {"api", *GROUPS} for group in GROUPS}}


def _included(file: Path) -> set[str]:
    """The folders of workloads/ from which a C file includes headers; list.def and its like are none."""
    names = re.findall(r'^# *include "(.+\.[ch])"', file.read_text(encoding="utf-8"), re.MULTILINE)
    return {(file.parent / name).resolve().relative_to(WORKLOADS.resolve()).parts[0] for name in names}


@pytest.mark.parametrize("room", ROOMS)
def test_workloads_and_harness_know_of_each_other_what_api_says(room: str) -> None:
    files = sorted((WORKLOADS / room).rglob("*.[ch]"))

    assert files
    assert [str(file) for file in files if _included(file) - ROOMS[room]] == []


def test_no_workload_includes_a_header_of_the_harness() -> None:
    """Whichever folder it lies in: `null` is beside the harness."""
    files = [WORKLOADS / group / f"{name}.c" for group, name in LISTED]

    assert [str(file) for file in files if "harness" in _included(file)] == []
