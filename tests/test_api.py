"""What workloads and the harness know of each other: workloads/api/, and nothing else."""

import re
from pathlib import Path

import pytest

WORKLOADS = Path(__file__).resolve().parent.parent / "workloads"
LISTED = re.findall(r"WORKLOAD\((\w+), (\w+)\)", (WORKLOADS / "list.def").read_text())
GROUPS = sorted({group for group, _ in LISTED} - {"harness"})
MAY_INCLUDE = {"api": {"api"}, "harness": {"api", "harness"}, **{group: {"api", *GROUPS} for group in GROUPS}}
for group in ("server", "network", "storage", "harness"):
    MAY_INCLUDE[group] |= {"client"}  # the load generator, beside workloads/


def included(file: Path) -> set[str]:
    """The folders of workloads/, or beside it, from which a C file includes headers."""
    names = re.findall(r'^# *include "(.+\.[ch])"', file.read_text(encoding="utf-8"), re.MULTILINE)
    found = [(file.parent / name).resolve() for name in names]
    return {
        one.relative_to(WORKLOADS if one.is_relative_to(WORKLOADS) else WORKLOADS.parent).parts[0]
        for one in found
    }


@pytest.mark.parametrize("folder", MAY_INCLUDE)
def test_workloads_and_harness_include_api_and_not_each_other(folder: str) -> None:
    files = sorted((WORKLOADS / folder).rglob("*.[ch]"))

    assert files
    assert [str(file) for file in files if included(file) - MAY_INCLUDE[folder]] == []


def test_no_workload_includes_a_header_of_the_harness() -> None:
    """Whichever folder it is in: `null` is in the harness's."""
    files = [WORKLOADS / group / f"{name}.c" for group, name in LISTED]

    assert [str(file) for file in files if "harness" in included(file)] == []
