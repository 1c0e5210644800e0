"""Which cells are measured by batches that take turns, and how; docs/explanation/statistics.md has the reasons.

A trial that takes turns waits after its set-up, and does a batch when it is told to: so all systems can do a
cell at the same time, batch by batch, on the same processor.
"""

from collections.abc import Mapping

from steelyard.programs.built import Workload
from steelyard.study.model import PEER, SERVER, TIMING, Cell

CYCLES = 40  # in each of them every system does a batch
_BATCH_NS = 500_000  # longer than a change of turns by far, and shorter than the scheduler's slice
_WARMUP_NS = 5_000_000
_GROUPS = ("cpu", "memory", "syscall", "harness")
# What a study says of its batches itself is what it gets.
_OWN = {*TIMING, "operations", "performances"}


def settings() -> dict[str, int]:
    """Of a trial that takes turns, in place of those of the study."""
    return {"turns": 1, "batches": CYCLES, "batch_ns": _BATCH_NS, "warmup_ns": _WARMUP_NS}


def obstacle(workload: Workload, cell: Cell, trial: Mapping[str, int | str]) -> str | None:
    """Why the cell's batches cannot take turns; None if they can."""
    known = {one.name: one.initial for one in workload.parameters} | dict(cell.parameters)
    if not workload.takes_turns:
        return "its trial measures several things, one after the other"
    if workload.group not in _GROUPS:
        return "its operations take longer than a turn, or several processes"
    if cell.copies > 1:
        return "several copies work at once"
    if workload.sweeps is not None and known.get("from") != known.get("to"):
        return "its trial is a curve"
    if SERVER in known or PEER in known:
        return "its other end is not parked"
    if _OWN & dict(cell.parameters).keys():
        return "the study says how long its batches are"
    return None
