"""The floors of C: each folder includes from those below it, and from no other."""

import re
from pathlib import Path

import places
import pytest

ROOT = places.ROOT
LIST = ROOT / "workloads" / "list.def"
GROUPS = {f"workloads/{group}" for group, _ in re.findall(r"WORKLOAD\((\w+), (\w+)\)", LIST.read_text())}
# From the ground up. An agent knows the workloads by what api/ says of all, and by their list.
FLOORS: dict[str, set[str]] = {
    "base": set(),
    "loadgen": {"base"},
    "workloads/api": {"base"},
    **{
        group: {"base", "loadgen", "workloads/api", "workloads/list.def", *GROUPS} for group in sorted(GROUPS)
    },
    "agent": {"base", "loadgen", "workloads/api", "workloads/list.def"},
    "monitor": {"base"},
    "systems": set(),
}
# Made by the build, of what lies in the same folder.
MADE = {"accounting.skel.h", "calls_native.inc", "calls_32.inc"}


def included(file: Path) -> set[Path]:
    """Which files a C file includes, but those of the system and those that the build makes."""
    names = set(re.findall(r'^[ \t]*# *include "(.+)"', file.read_text(encoding="utf-8"), re.MULTILINE))
    places = (file.parent, ROOT / "monitor") if file.is_relative_to(ROOT / "monitor") else (file.parent,)
    found = set()
    for name in names - MADE:
        (place,) = [place for place in places if (place / name).is_file()][:1] or [None]
        assert place, f"{file} includes {name}, which is not there"
        found.add((place / name).resolve().relative_to(ROOT))
    return found


def may_include(folder: str, name: Path) -> bool:
    return any(name.is_relative_to(floor) for floor in (folder, *FLOORS[folder]))


@pytest.mark.parametrize("folder", FLOORS)
def test_a_folder_includes_only_from_the_floors_below(folder: str) -> None:
    files = sorted(file for file in (ROOT / folder).rglob("*") if file.suffix in (".c", ".h", ".def"))
    upward = [
        f"{file.relative_to(ROOT)} includes {name}"
        for file in files
        for name in sorted(included(file))
        if not may_include(folder, name)
    ]

    assert files
    assert upward == []


def test_every_c_file_of_the_programs_lies_on_a_floor() -> None:
    places = {file.relative_to(ROOT) for file in ROOT.glob("[!.]*/**/*.c")}
    outside = {"bench", "examples", "tests", "src"}  # not parts of the programs
    programs = {place for place in places if place.parts[0] not in outside | {"build", "site"}}
    programs = {place for place in programs if not place.parts[0].startswith("build")}

    assert [str(place) for place in sorted(programs) if not any(map(place.is_relative_to, FLOORS))] == []


@pytest.mark.parametrize("folder", sorted({floor.split("/")[0] for floor in FLOORS}))
def test_a_folder_compiles_its_own_files_and_links_the_others_libraries(folder: str) -> None:
    """So that each file is compiled once, and what it needs is said by its folder."""
    text = (ROOT / folder / "meson.build").read_text(encoding="utf-8")

    assert re.findall(r"'[^']*\.\./[^']*\.c'", text) == []
