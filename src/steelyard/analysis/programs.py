"""Finds the programs that trials executed and that were not the same on the systems compared."""

from collections.abc import Iterable, Sequence

from steelyard.analysis.model import ProgramRun
from steelyard.analysis.remarks import FoundProgram, OtherPrograms

# What takes its programs from the system, and runs nothing of ours but the start.
ONLY_FOUND = ("command",)


def differences(runs: Sequence[ProgramRun], baseline: str) -> Iterable[OtherPrograms]:
    """The programs that are not the same on every system, or not known to be."""
    by_name: dict[str, dict[str, ProgramRun]] = {}
    for one in runs:
        by_name.setdefault(one.name, {}).setdefault(one.system, one)
    for name, by_system in sorted(by_name.items()):
        digests = {one.sha256 for one in by_system.values()}
        if baseline not in by_system or len(by_system) < 2 or (len(digests) == 1 and None not in digests):
            continue
        ordered = [by_system[baseline], *(one for one in by_system.values() if one.system != baseline)]
        yield OtherPrograms(
            name, tuple(FoundProgram(one.system, one.path, one.version, one.sha256) for one in ordered)
        )


def are_same(runs: Sequence[ProgramRun], workload: str, systems: Iterable[str]) -> bool | None:
    """True if the workload only ran programs found on the systems, and these are identical on all of them;
    None if it has not run on all of them yet.
    """
    if workload not in ONLY_FOUND:
        return False
    wanted = set(systems)
    by_cell: dict[str, dict[str, set[str | None]]] = {}
    for one in runs:
        if one.workload == workload and one.system in wanted:
            by_cell.setdefault(one.cell, {}).setdefault(one.system, set()).add(one.sha256)
    found = [set.union(*cells.values()) for cells in by_cell.values() if cells.keys() == wanted]
    return all(len(digests) == 1 and None not in digests for digests in found) if found else None
