"""What happens in an experiment, as it is kept: types and constants only.

The laboratory produces events, the journal keeps them, the analysis reads them. A field added here is kept,
and is a column of the table of its kind (`archive.schema`); it needs a default, which stands for it
in what earlier versions kept. A field's comment is what docs/tables.md says of its column;
`scripts/tables-page` makes that page.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from steelyard.study.model import Cell
from steelyard.study.plan import Trial
from steelyard.watch.figures import CPU

Record = dict[str, Any]
Pair = tuple[str, Cell]  # a system and a cell


@dataclass(frozen=True, slots=True)
class Range:
    """Which numbers a field may hold."""

    least: float
    most: float


@dataclass(frozen=True, slots=True)
class OneOf:
    """Which texts a field may hold."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Each:
    """A list in an event, of which a table has a row for each element: under this name."""

    column: str


@dataclass(frozen=True, slots=True)
class JournalOnly:
    """What no table has, because it follows from what it has."""


# The closed list of how a trial can end. "stopped" is ours; it is never kept.
STATUSES = ("ok", "failed", "unsupported", "timed out", "killed")

Natural = Annotated[int, Range(0, 2**64 - 1)]
Positive = Annotated[int, Range(1, 2**64 - 1)]
Duration = Annotated[int, Range(0, 2**63 - 1)]
Moment = Annotated[float, Range(0, 253_402_300_799)]  # seconds since 1970, until the end of the year 9999
Status = Annotated[str, OneOf(STATUSES)]

# What disturbs nothing that is timed, and what counts every system call (at a price on every process here).
LIFE, CALLS = "life", "calls"

USER, SYSTEM = CPU["user"], CPU["system"]

SPAN = "span_ns"  # among a trial's figures: the time between the marks, on this host's clock

WORK, SETUP = "work", "setup"
OF_SERVER = "server "


@dataclass(frozen=True, slots=True)
class Samples:
    """The timed batches of one copy for one metric."""

    copy: int  # from 0
    metric: str
    operations: Positive  # in each batch
    durations_ns: Annotated[tuple[Duration, ...], Each("duration_ns")]
    point: Natural | None = None  # of a curve: the size that this is of
    bytes: Natural | None = None  # that an operation moves, where a bandwidth is measured
    faults_major: Natural | None = None  # pages that had to be fetched while all these batches ran


@dataclass(frozen=True, slots=True)
class Usage:
    """What one copy and its children used in one metric's operations, warm-up included; None: the system does
    not count it."""

    copy: int
    metric: str
    operations: Natural
    user_ns: Natural
    system_ns: Natural
    faults_minor: int | None
    faults_major: int | None
    switches_voluntary: int | None
    switches_involuntary: int | None
    blocks_read: int | None
    blocks_written: int | None


@dataclass(frozen=True, slots=True)
class CopyProcess:
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
    order in which they were asked for. Times are ns since `zero_ns`, None where it did not come so far."""

    copy: int
    metric: str
    batch: int  # from 1
    processors: int  # that they could use
    members: Annotated[int, JournalOnly()]
    created: Annotated[int, JournalOnly()]
    finished: Annotated[int, JournalOnly()]
    iterations: Natural  # of each
    code_sha256: Annotated[str | None, JournalOnly()]
    zero_ns: int  # when the first was asked for, on the system's clock
    asked_ns: Annotated[tuple[int | None, ...], Each("asked_ns")]  # since zero_ns, as are all that follow
    began_ns: Annotated[tuple[int | None, ...], Each("began_ns")]
    ended_ns: Annotated[tuple[int | None, ...], Each("ended_ns")]  # by its own word
    reaped_ns: Annotated[tuple[int | None, ...], Each("reaped_ns")]  # when its starter saw that it had ended
    # a list: the moments when 1/16, 2/16, ... of its iterations were done
    marks_ns: Annotated[tuple[tuple[int | None, ...], ...], Each("marks_ns")]
    # "ok", "failed", "killed", "not created" or "not asked for"
    statuses: Annotated[tuple[str, ...], Each("status")]
    signals: Annotated[tuple[int | None, ...], Each("signal")]
    reasons: Annotated[tuple[str | None, ...], Each("reason")]


@dataclass(frozen=True, slots=True)
class Histogram:
    """How long single requests of one copy took, in all measured batches together."""

    copy: int
    metric: str  # "latency": of it the metrics "latency_50" and so on are quantiles
    values_ns: Annotated[tuple[Natural, ...], Each("value_ns")]  # the least that belongs to the bucket
    counts: Annotated[tuple[Positive, ...], Each("requests")]  # that took so long


@dataclass(frozen=True, slots=True)
class Count:
    """What one copy counted, where that is the workload's result."""

    copy: int
    metric: str
    unit: str
    value: Natural


@dataclass(frozen=True, slots=True)
class Figure:
    """What all processes of a system cost together between two marks, in one respect."""

    figure: str  # a figure of the monitor's (docs/monitor.md), or span_ns: the time between the marks
    value: Natural  # ns, bytes or a number


@dataclass(frozen=True, slots=True)
class Called:
    """How often they made one system call between two marks, and how often it failed."""

    call: str  # its name; behind "server ", what the server that a trial starts made of them
    calls: Natural
    errors: Natural | None  # that failed


@dataclass(frozen=True, slots=True)
class Done:
    """How many operations of one metric all copies did."""

    metric: str
    operations: Natural


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a trial stands in the plan, as it is kept."""

    block: int  # of its cell, from 0
    position: int  # in the block, from 0: who went first
    system: str
    boot: int  # from 1
    workload: str
    cell: str  # its label
    copies: int
    parameters: Record
    pad: int  # bytes added to the environment


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial went, and all that it measured."""

    trial: Trial
    boot: int
    status: Status
    reason: str | None = None
    signal: int | None = None
    code_sha256: str | None = None  # of the machine code that it ran, where that is the same everywhere
    began: Moment = 0.0  # seconds since 1970, on the laboratory's clock
    host_ns: int | None = None  # from before to after the trial, on the laboratory's clock
    guest_ns: int | None = None  # the same span on the system's clock
    clock_doubt_ns: int | None = None  # how far apart the two may be read to be, for the asking's sake
    pressure: float | None = None  # share of host_ns in which some process waited for a processor
    samples: tuple[Samples, ...] = ()
    usage: tuple[Usage, ...] = ()  # as the records have it
    processes: tuple[CopyProcess, ...] = ()  # as the records have it
    groups: tuple[Group, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    counts: tuple[Count, ...] = ()
    costs: tuple[Figure, ...] = ()  # what the system's processes on this host cost meanwhile, if watched


@dataclass(frozen=True, slots=True)
class Started:
    """A system has come up: its agent's greeting and its fingerprint."""

    system: str
    boot: int  # from 1
    hello: Record
    fingerprint: Record
    start_s: float


@dataclass(frozen=True, slots=True)
class Switching:
    """A system's machine is about to be brought to it."""

    system: str
    identity: str | None  # of the boot that it is in; None: it does not answer


@dataclass(frozen=True, slots=True)
class Unbooted:
    """The system's machine did not come up as it should."""

    system: str
    reason: str


@dataclass(frozen=True, slots=True)
class Watched:
    """A system's processes on this host are accounted for from now on; or why they are not."""

    system: str
    boot: int
    detail: str  # "life" or "calls"
    backend: str | None  # the one that works
    missing: tuple[str, ...]  # sentences: what the backend cannot see
    why: str | None  # no backend works


@dataclass(frozen=True, slots=True)
class Accounted:
    """An accounting trial: what was counted, and no time."""

    round: int  # from 0
    system: str
    boot: int
    cell: Cell  # its label
    purpose: str  # "work", or "setup": of one operation
    backend: str
    status: str
    reason: str | None
    operations: tuple[Done, ...]  # by metric, of all copies
    costs: tuple[Figure, ...]
    calls: tuple[Called, ...] | None


@dataclass(frozen=True, slots=True)
class Look:
    """A round is over: which pairs it has settled, and which it has opened again."""

    round: int  # from 1
    decided: tuple[Pair, ...]  # that were not at the look before
    reopened: tuple[Pair, ...] = ()  # that were


@dataclass(frozen=True, slots=True)
class Noted:
    """A look, a note or what became of a machine, as it is kept."""

    blocks: int | None = None  # up to version 4: after how many the look was
    round: int | None = None  # from 1, of which the look is the end
    decided: Any = None  # systems, workloads and parameters of what was settled
    reopened: Any = None  # the same of what no longer is
    system: str | None = (
        None  # whose machine is about to be booted ("switch"), or did not come up ("unbooted")
    )
    identity: str | None = None  # of the boot that the machine was in before a switch
    reason: str | None = None  # why it did not come up
    note: str | None = None  # "going on": before it nobody measured; or what was damaged, and is left out


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an interrupted run of the same plan left behind."""

    trials: frozenset[tuple[int, str, Cell]] = frozenset()
    boots: Mapping[str, int] = field(default_factory=dict)
    rounds: int = 0
    hopeless: frozenset[Pair] = frozenset()
    spent_s: float = 0.0
    accounted: frozenset[tuple[int, str, Cell]] = frozenset()  # by round
    unfinished: frozenset[tuple[int, str, Cell]] = frozenset()  # what was done of the round that it left
    identities: frozenset[str] = frozenset()  # of the boots of machines
    switching: Switching | None = None  # what it left a machine at
    switching_at: float = 0.0  # when, in seconds since 1970
    costs: Mapping[Pair, float] = field(default_factory=dict)  # seconds of the last trial
    boot_costs: Mapping[str, float] = field(default_factory=dict)  # seconds of the last start
    failed_boots: int = 0  # in a row


Event = Started | Switching | Unbooted | Watched | Accounted | Outcome | Look
