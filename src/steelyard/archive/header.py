"""The type of an experiment's header, and its strict reader."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from steelyard import shapes
from steelyard.archive import files, versions
from steelyard.errors import ArchiveError, in_words
from steelyard.events import Moment
from steelyard.shapes import OneOf, Range, Wrong
from steelyard.study.model import Cell

NAME = "experiment.json"

_BYTES_MOST = 1 << 26

Whole = Annotated[int, Range(-math.inf, math.inf)]


class ArchivedMetric(TypedDict):
    name: str
    less: str | None  # the metric that is subtracted from it
    reported: NotRequired[bool]  # by the workload itself: no time between two readings of the clock
    unit: NotRequired[str]  # "ns", or of what describes only, unless `better` says which is better
    # Of a figure that was read from what a tool printed: which is better.
    better: NotRequired[Annotated[str, OneOf(("higher", "lower", "none"))]]


class ArchivedWorkload(TypedDict):
    group: str
    summary: str
    operation: str
    metrics: list[ArchivedMetric]
    measure: Annotated[str, OneOf(("time", "bandwidth", "count"))]
    counts: str | None  # what it counts
    groups: bool  # whether it starts many processes
    sweeps: str | None  # what a curve is over
    sweep_unit: str | None


class Allowance(TypedDict):
    """The share of its machine that the laboratory could use when the experiment began."""

    processors: list[Annotated[int, Range(0, 2**31)]]  # their numbers
    quota: Annotated[float, Range(0, 1e6)] | None  # processors whose time the tightest control group allows
    quota_group: str  # its directory; empty without one
    memory_limit_bytes: Annotated[int, Range(0, 2**63)] | None
    memory_group: str
    nice: NotRequired[Annotated[int, Range(-20, 19)]]  # of the laboratory's processes
    policy: NotRequired[str]  # by which they are scheduled; "other" is the usual one


class Header(TypedDict):
    version: int
    identity: str  # what makes two commands the same
    study: str
    study_text: str  # the file as it was read
    systems: list[str]  # the first is the baseline
    cells: list[tuple[str, list[tuple[str, Whole | str]]]]  # workload and parameters
    margins: dict[str, Annotated[float, Range(0, 1)]]  # by group of workloads
    blocks: Annotated[int, Range(0, 2**31)]  # of a cell, at most
    budget_s: Annotated[float, Range(0, 1e12)]
    precision: NotRequired[Annotated[float, Range(0, 1)]]  # that claimed differences were to be known to
    seed: Whole
    created: Moment  # seconds since 1970, by its clock
    after: NotRequired[str]  # the experiment that was the newest of its archive when it was made
    boot_systems: list[str]
    workloads: dict[str, ArchivedWorkload]
    watched: bool  # false with --no-watch
    short: NotRequired[bool]  # whether it is of the study's short form
    in_turns: NotRequired[list[str]]  # cells whose batches take turns on all systems
    servers: NotRequired[dict[str, str]]  # their descriptions, as the load program read them
    command: NotRequired[str]
    steelyard: NotRequired[str]
    python: NotRequired[str]
    directory: NotRequired[str]
    host: NotRequired[dict[str, Any]]  # the fingerprint
    allowance: NotRequired[Allowance]
    systems_here: NotRequired[list[str]]  # those that ran on this machine; absent in older ones
    machines: NotRequired[dict[str, str]]  # of systems that exclude each other: which hardware each runs on
    system_summaries: NotRequired[dict[str, str]]


def read(path: Path) -> versions.Written:
    """The header of the experiment in that directory, as of today. Raises ArchiveError."""
    try:
        header = json.loads(files.read(path / NAME, most=_BYTES_MOST))
        version = header["version"]
        if type(version) is not int or version < 1:
            raise Wrong(version, "a whole number from 1", "version")
        if version > versions.VERSION:
            raise ArchiveError(
                f"experiment {path} is of version {version}; this Steelyard reads up to {versions.VERSION}"
            )
        written = versions.as_of_today(header)
        written.header = shapes.checker(Header)(written.header)
        _check(written.header)
    except Wrong as wrong:
        raise ArchiveError(f"experiment {path} is damaged: in {NAME} {wrong}") from None
    except OSError as error:
        raise ArchiveError(
            f"experiment {path} is damaged: {NAME} cannot be read: {in_words(error)}"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ArchiveError(f"experiment {path} is damaged: {NAME} is not a header ({error})") from error
    return written


def _check(header: Mapping[str, Any]) -> None:
    """Check what types cannot express. Raises Wrong."""
    if not header["systems"] or len(set(header["systems"])) < len(header["systems"]):
        raise Wrong(header["systems"], "one system or more, each once", "systems")
    for number, cell in enumerate(cells(header)):
        where = f"cells[{number}]"
        if cell.workload not in header["workloads"]:
            raise Wrong(cell.workload, "one of workloads", where)
        group = header["workloads"][cell.workload]["group"]
        if group not in header["margins"]:
            raise Wrong(group, "one of margins", f"the group of {where}")
        copies = dict(cell.parameters).get("copies", 1)
        if not isinstance(copies, int) or copies < 1:
            raise Wrong(copies, "a whole number from 1", f"{where}: copies")


def cells(header: Mapping[str, Any]) -> tuple[Cell, ...]:
    """The cells of the experiment's plan, in the study's order."""
    return tuple(
        Cell(workload, tuple((name, value) for name, value in parameters))
        for workload, parameters in header["cells"]
    )
