"""What happens in an experiment, as it is kept: types and constants only.

The laboratory produces events, the journal keeps them, the analysis reads them. A field added here is kept,
and is a column of the table of its kind (`archive.schema`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.study.model import Cell
from steelyard.study.plan import Trial
from steelyard.watch.figures import CPU

Record = dict[str, Any]
Pair = tuple[str, Cell]  # a system and a cell

# The closed list of how a trial can end. "stopped" is ours; it is never kept.
STATUSES = ("ok", "failed", "unsupported", "timed out", "killed")

# What disturbs nothing that is timed, and what counts every system call (at a price on every process here).
LIFE, CALLS = "life", "calls"

USER, SYSTEM = CPU["user"], CPU["system"]

SPAN = "span_ns"  # among a trial's figures: the time between the marks, on this host's clock

WORK, SETUP = "work", "setup"


@dataclass(frozen=True, slots=True)
class Samples:
    """The timed batches of one copy for one metric."""

    copy: int
    metric: str
    operations: int  # in each batch
    durations_ns: tuple[int, ...]
    point: int | None = None  # of a curve: the size that this is of
    bytes: int | None = None  # that an operation moves, where a bandwidth is measured
    faults_major: int | None = None  # pages that had to be fetched while these batches ran


@dataclass(frozen=True, slots=True)
class Usage:
    """What one copy and its children used in one metric's operations, warm-up included; None: the system does
    not count it."""

    copy: int
    metric: str
    operations: int
    user_ns: int
    system_ns: int
    faults_minor: int | None
    faults_major: int | None
    switches_voluntary: int | None
    switches_involuntary: int | None
    blocks_read: int | None
    blocks_written: int | None


@dataclass(frozen=True, slots=True)
class Process:
    """One copy's life, by the system's own clock; None where it did not come so far."""

    copy: int
    asked_ns: int
    start_ns: int | None
    end_ns: int | None
    status: str
    signal: int | None


@dataclass(frozen=True, slots=True)
class Group:
    """Many processes started one after another: a column for each thing known of every one of them, in the
    order in which they were asked for. Times are ns since `zero_ns` on the system's clock, None where it did
    not come so far; `marks_ns` are the moments when 1/16, 2/16, ... of its iterations were done."""

    copy: int
    metric: str
    batch: int  # from 1
    processors: int  # that they could use
    members: int
    created: int
    finished: int
    iterations: int
    code_sha256: str
    zero_ns: int
    asked_ns: tuple[int | None, ...]
    began_ns: tuple[int | None, ...]
    ended_ns: tuple[int | None, ...]
    reaped_ns: tuple[int | None, ...]  # when its starter saw that it had ended
    marks_ns: tuple[tuple[int | None, ...], ...]
    statuses: tuple[str, ...]  # "ok", "failed", "killed", "not created", "not asked for"
    signals: tuple[int | None, ...]
    reasons: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """What one copy counted, where that is the workload's result."""

    copy: int
    metric: str
    unit: str
    value: int


@dataclass(frozen=True, slots=True)
class Figure:
    """What all processes of a system cost together between two marks, in one respect."""

    figure: str  # as the monitor calls it, or SPAN
    value: int


@dataclass(frozen=True, slots=True)
class Called:
    """How often they made one system call between two marks, and how often it failed."""

    call: str
    calls: int
    errors: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial went, and all that it measured."""

    trial: Trial
    boot: int
    status: str
    reason: str | None = None
    signal: int | None = None
    code_sha256: str | None = None  # of the machine code that it ran, where that is the same everywhere
    began: float = 0.0  # seconds since 1970, on the laboratory's clock
    host_ns: int | None = None  # from before to after the trial, on the laboratory's clock
    guest_ns: int | None = None  # the same span on the system's clock
    clock_doubt_ns: int | None = None  # how far apart the two may be read to be, for the asking's sake
    pressure: float | None = None  # share of host_ns in which some process waited for a processor
    samples: tuple[Samples, ...] = ()
    usage: tuple[Usage, ...] = ()
    processes: tuple[Process, ...] = ()
    groups: tuple[Group, ...] = ()
    counts: tuple[Count, ...] = ()
    costs: tuple[
        Figure, ...
    ] = ()  # what the system's processes on this host cost meanwhile; () if not watched


@dataclass(frozen=True, slots=True)
class Started:
    """A system has come up: its agent's greeting and its fingerprint."""

    system: str
    boot: int
    hello: Record
    fingerprint: Record
    start_s: float


@dataclass(frozen=True, slots=True)
class Watched:
    """A system's processes on this host are accounted for from now on; or why they are not."""

    system: str
    boot: int
    detail: str
    backend: str | None
    missing: tuple[str, ...]  # sentences: what the backend cannot see
    why: str | None  # they are not


@dataclass(frozen=True, slots=True)
class Accounted:
    """An accounting trial: what was counted, and no time."""

    round: int  # from 0
    system: str
    boot: int
    cell: Cell
    purpose: str  # WORK or SETUP
    backend: str
    status: str
    reason: str | None
    operations: tuple[tuple[str, int], ...]  # by metric, of all copies
    costs: tuple[Figure, ...]
    calls: tuple[Called, ...] | None


@dataclass(frozen=True, slots=True)
class Look:
    """A round is over: which pairs it has settled, and which it has opened again."""

    round: int  # from 1
    decided: tuple[Pair, ...]  # that were not at the look before
    reopened: tuple[Pair, ...] = ()  # that were


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an interrupted run of the same plan left behind."""

    done: frozenset[tuple[int, str, Cell]] = frozenset()
    boots: Mapping[str, int] = field(default_factory=dict)
    rounds: int = 0
    hopeless: frozenset[Pair] = frozenset()
    spent_s: float = 0.0
    accounted: frozenset[tuple[int, str, Cell]] = frozenset()  # by round


Event = Started | Watched | Accounted | Outcome | Look
