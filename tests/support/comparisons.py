"""Comparisons and reports with known numbers, without an archive."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.analysis.model import (
    Comparison,
    Evaluation,
    Level,
    SystemFacts,
)
from steelyard.archive.experiments import StoredExperiment
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate

GROUPS = {
    "syscall": "syscall", "read_zero": "syscall", "write_null": "syscall", "stat_file": "syscall",
    "fstat_file": "syscall", "open_close": "syscall", "clock_read": "syscall",
    "fork_exec": "process", "fork_exit": "process", "thread_create": "process", "context_switch": "process",
    "pipe_latency": "ipc", "unix_stream_latency": "ipc",
    "file_create": "file", "file_remove": "file",
    "memory_read": "memory", "memory_copy": "memory",
    "sieve": "cpu", "huffman": "cpu", "idea": "cpu", "linpack": "cpu",
    "linpack_limit": "process", "memory_used": "footprint",
}  # fmt: skip


def compared(
    workload: str,
    times: float | None,
    *,
    word: str = "",
    bound: float | None = None,
    metric: str = "time",
    system: str = "b",
    **changes: Any,
) -> Comparison:
    """A comparison in which the system takes `times` as long, known within 2 %."""
    ratio = None if times is None else Estimate(1 / times, 1 / times / 1.02, 1 / times * 1.02, 0.95)
    found = word or (verdict.SLOWER if times and times > 1 else verdict.FASTER)
    parameters = changes.get("parameters", ())
    cell = " ".join([workload, *(f"{name}={level}" for name, level in parameters)])
    made = Comparison(
        workload=workload,
        parameters=parameters,
        cell=cell,
        group=GROUPS[workload],
        metric=metric,
        unit="ns per operation",
        direction="lower",
        lens="floor",
        system=system,
        baseline="a",
        baseline_value=None,
        value=None,
        ratio=ratio,
        margin=0.01,
        verdict=verdict.UNRESOLVED if times is None else found,
        p_adjusted=None,
        blocks=0 if times is None else 5,
        boots=1,
        blocks_needed=None,
        remarks=(),
        bound=bound,
    )
    return replace(made, **changes)


def same(workload: str, bound: float = 0.02, **changes: Any) -> Comparison:
    return compared(workload, 1.001, word=verdict.BOUNDED, bound=bound, **changes)


def open_one(workload: str, seconds: float | None = None, **changes: Any) -> Comparison:
    return compared(workload, 1.1, word=verdict.UNRESOLVED, bound=0.5, seconds_needed=seconds, **changes)


def evaluation(
    *comparisons: Comparison,
    systems: Sequence[str] = ("a", "b"),
    header: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Evaluation:
    whole = {
        "systems": list(systems), "study": "small", "seed": 7, "steelyard": "0", "margins": {},
        "workloads": {},
        "host": {"cpu_count": 2, "cpu_model": "X", "kernel": "Linux", "kernel_release": "6.1.0-9"},
    }  # fmt: skip
    made = Evaluation(
        experiment=StoredExperiment(Path("/nowhere"), whole | dict(header or {})),
        baseline="a",
        comparisons=comparisons,
        blocks=5,
        trials=50,
    )
    return replace(made, **changes)


def of_one_system(*levels: Level) -> Evaluation:
    """A report that compares nothing: what `native` does."""
    return Evaluation(
        experiment=StoredExperiment(Path("none"), {}),
        baseline="native",
        systems=(SystemFacts("native", 1, False, {}, {}, None),),
        comparisons=(),
        gains=(),
        costs=(),
        blocks=0,
        trials=0,
        levels=levels,
    )
