"""The events of an experiment as they are kept: types and constants only.

The laboratory produces events, the journal keeps them, the analysis reads them. A field added here is kept,
and is a column of the table of its kind (`archive.schema`). It needs a default, which stands for it in
archives of earlier versions. For a field from an agent, `Told` limits the values (`systems.protocol`). A
field's comment is the text of its column in docs/reference/tables.md; `scripts/tables-page` makes that page.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from steelyard.allowance import PROCESSORS_MOST
from steelyard.shapes import WHOLE_MOST, Digest, KeptAs, Length, Name, OneOf, Range, Record, Told
from steelyard.study.model import Cell
from steelyard.study.plan import Trial
from steelyard.watch.figures import CPU

Pair = tuple[str, Cell]  # a system and a cell


@dataclass(frozen=True, slots=True)
class Each:
    """A list in an event, of which a table has a row for each element: under this name."""

    column: str


@dataclass(frozen=True, slots=True)
class JournalOnly:
    """A field without a column, because it follows from other columns."""


# The closed list of how a trial can end. One is set aside where the laboratory itself stood still or its
# budget was over meanwhile: that is no failure, and the trial is done again. "stopped" is ours; it is
# never kept.
SET_ASIDE = "set aside"
STATUSES = ("ok", "failed", "unsupported", "timed out", "killed", SET_ASIDE)

# As the load program has them.
COPIES_MOST, BATCHES_MOST, MEMBERS_MOST, MARKS, BUCKETS_MOST = 1024, 10000, 20000, 16, 1728

Natural = Annotated[int, Range(0, 2**64 - 1)]
Positive = Annotated[int, Range(1, 2**64 - 1)]
Duration = Annotated[int, Range(0, 2**63 - 1)]
Moment = Annotated[float, Range(0, 253_402_300_799)]  # seconds since 1970, until the end of the year 9999
Status = Annotated[str, OneOf(STATUSES)]
Copy = Annotated[int, Told(Range(0, COPIES_MOST - 1))]
Signal = Annotated[int | None, Told(Range(1, 255))]
_OfMembers = Annotated[tuple[int | None, ...], Told(Length(MEMBERS_MOST))]
_Marks = Annotated[tuple[int | None, ...], Told(Length(MARKS, MARKS))]
_OfBuckets = Told(Length(BUCKETS_MOST, 1))
_Least1 = Told(Range(1, WHOLE_MOST))

# What disturbs nothing that is timed, and what counts every system call (at a price on every process here).
LIFE, CALLS = "life", "calls"

USER, SYSTEM = CPU["user"], CPU["system"]

RUN = "run_ns"  # of the monitor's figures: how long processes ran
SPAN = "span_ns"  # among a trial's figures: the time between the marks, on this host's clock

WORK, SETUP = "work", "setup"
OF_SERVER = "server "


@dataclass(frozen=True, slots=True)
class Samples:
    """The timed batches of one copy for one metric."""

    copy: Copy  # from 0
    metric: Name
    operations: Positive  # in each batch
    durations_ns: Annotated[tuple[Duration, ...], Each("duration_ns"), Told(Length(BATCHES_MOST, 1))]
    point: Annotated[Natural | None, _Least1] = None  # of a curve: the size that this is of
    bytes: Annotated[Natural | None, _Least1] = None  # that an operation moves, where a bandwidth is measured
    faults_major: Natural | None = None  # pages that had to be fetched while all these batches ran


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources used by one copy and its children in one metric's operations, with warm-up. None: the
    system does not count it.
    """

    copy: Copy
    metric: Name
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

    copy: Copy
    asked_ns: int
    start_ns: int | None
    end_ns: int | None
    status: Annotated[str, Told(OneOf(("ok", "failed", "unsupported", "killed", "not started")))]
    signal: Signal


@dataclass(frozen=True, slots=True)
class Program:
    """A program of the system's own that a trial executed."""

    name: Name  # as it was called
    path: str  # of its file, links resolved
    sha256: Digest | None  # of the file; None: it cannot be read
    version: str | None  # the first line of what it says to --version


@dataclass(frozen=True, slots=True)
class Group:
    """Many processes started one after another: a column for each thing known of every one of them, in the
    order in which they were asked for. Times are ns since `zero_ns`, None where it did not come so far."""

    copy: Copy
    metric: Name
    batch: Annotated[int, Told(Range(1, BATCHES_MOST))]  # from 1
    processors: Annotated[int, Told(Range(1, PROCESSORS_MOST))]  # that they could use
    members: Annotated[int, JournalOnly(), Told(Range(1, MEMBERS_MOST))]
    created: Annotated[int, JournalOnly(), Told(Range(0, MEMBERS_MOST))]
    finished: Annotated[int, JournalOnly(), Told(Range(0, MEMBERS_MOST))]
    iterations: Annotated[Natural, _Least1]  # of each
    code_sha256: Annotated[str | None, JournalOnly()]
    zero_ns: int  # when the first was asked for, on the system's clock
    asked_ns: Annotated[_OfMembers, Each("asked_ns")]  # since zero_ns, as are all that follow
    began_ns: Annotated[_OfMembers, Each("began_ns")]
    ended_ns: Annotated[_OfMembers, Each("ended_ns")]  # by its own word
    reaped_ns: Annotated[_OfMembers, Each("reaped_ns")]  # when its starter saw that it had ended
    # a list: the moments when 1/16, 2/16, ... of its iterations were done
    marks_ns: Annotated[tuple[_Marks, ...], Each("marks_ns"), Told(Length(MEMBERS_MOST))]
    # "ok", "failed", "killed", "not created" or "not asked for"
    statuses: Annotated[tuple[str, ...], Each("status")]
    signals: Annotated[tuple[int | None, ...], Each("signal")]
    reasons: Annotated[tuple[str | None, ...], Each("reason")]


@dataclass(frozen=True, slots=True)
class Histogram:
    """The latencies of single requests of one copy, in all measured batches together."""

    copy: Copy
    metric: Name  # "latency": of it the metrics "latency_50" and so on are quantiles
    values_ns: Annotated[
        tuple[Natural, ...], Each("value_ns"), _OfBuckets
    ]  # the least that belongs to the bucket
    counts: Annotated[tuple[Positive, ...], Each("requests"), _OfBuckets]  # that took so long


@dataclass(frozen=True, slots=True)
class LoadCount:
    """How many of a load's requests or steps were of one kind."""

    kind: str
    number: Positive


@dataclass(frozen=True, slots=True)
class Load:
    """What one copy's load on a server saw in its window, and in the whole load where that is said. Times are
    ns."""

    copy: Copy
    window_ns: Positive
    elapsed_ns: Positive  # of the whole load: with its warm-up, and what was still under way at its end
    answers: Natural
    bytes: Natural  # of their bodies
    requests: Natural  # that ended in the whole load, whatever came of them
    started: Natural  # whose time was in the window
    waited: Natural  # that found no client free at their time
    unsent: Natural  # and those that found none until the end
    connections: Natural  # opened in the whole load, in connecting_ns together, which latencies contain
    connecting_ns: Natural
    closed: Natural  # of them by the server, though they were to be kept
    resent: Natural  # requests that went twice, because the server closed their connection meanwhile
    longest_ns: Natural  # of a request of which any time was in the window, from when it was due
    silent_ns: Natural  # in which requests waited and none was answered, in pauses beyond a slow answer
    stalled_ns: Natural  # of the whole load: in which the load generator itself did not run
    late_ns: Natural  # how late one request in a hundred was sent, though a client was free
    client_ns: Natural  # the load generator's processor time in the whole load,
    busiest_ns: Natural  # and that of its busiest event loop
    verified: Natural  # bodies that were compared to the last byte
    body_fixed: bool  # every answer has the same body, so that all lengths are checked
    objects: Natural  # of users: that ended in the window with all their files right,
    objects_failed: Natural  # that ended without,
    objects_lost: Natural  # and that ended so for what the load generator lacked
    content_sha256: Digest | None  # of the users' files and the order in which they are asked for
    # Of a search for the highest rate that is held; the rest is of that rate.
    limit_ns: Natural | None  # that a request could take,
    share_permille: Natural | None  # and the share of those that had to take no longer
    steps: tuple[LoadCount, ...] | None  # how many of its steps were held, or what gave way in them
    failures: tuple[LoadCount, ...]  # the server's, by kind
    own_limits: tuple[LoadCount, ...]  # requests that could not be made, by what was lacked: an error's name
    malformed: str | None  # what the server did in the first answer that was no HTTP: "sent ..."


@dataclass(frozen=True, slots=True)
class Count:
    """The count of one copy, if a count is the workload's result."""

    copy: Copy
    metric: Name
    unit: Name
    value: Natural


@dataclass(frozen=True, slots=True)
class Figure:
    """One cost of all processes of a system together between two marks."""

    figure: (
        str  # a figure of the monitor's (docs/explanation/monitor.md), or span_ns: the time between the marks
    )
    value: Natural  # ns, bytes or a number


@dataclass(frozen=True, slots=True)
class Called:
    """The number of calls of one system call between two marks, and of failures."""

    call: str  # its name; behind "server ", what the server that a trial starts made of them
    calls: Natural
    errors: Natural | None  # that failed


@dataclass(frozen=True, slots=True)
class Done:
    """The number of operations of one metric in all copies."""

    metric: str
    operations: Natural


@dataclass(frozen=True, slots=True)
class Placed:
    """The position of a trial in the plan, as it is kept."""

    block: int  # of its cell, from 0
    position: int  # in the block, from 0: the order of the systems
    system: str
    boot: int  # from 1
    workload: str
    cell: str  # its label
    copies: int
    parameters: Record
    pad: int  # bytes added to the environment


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Events on the laboratory's machine during a trial, on the processors that the laboratory may use. None:
    the kernel does not report it.
    """

    memory_pressure: float | None = None  # share of the time in which some process waited for memory
    io_pressure: float | None = None  # share of the time in which some process waited for a device
    had_ns: Natural | None = None  # what the processors had: the time, times how many they are
    busy_ns: Natural | None = None  # in which they were neither idle nor taken away by their host
    own_ns: Natural | None = None  # which the trial, its system and the laboratory used; all, with a
    # server that runs by itself
    stolen_ns: Natural | None = None  # which their host took
    quota_periods: Natural | None = None  # of a control group's processor quota
    throttled_periods: Natural | None = None  # of these: in which the quota was used up
    memory_hits: Natural | None = None  # how often a control group reached a limit of memory
    swapped_pages: Natural | None = None  # from and to swap, of the whole machine
    heat_events: Natural | None = None  # how often a processor was slowed for its heat
    laboratories: Natural | None = None  # how many others measured on this machine


@dataclass(frozen=True, slots=True)
class Outcome:
    """The status of a trial, and all its measurements."""

    trial: Trial
    boot: int
    status: Status
    reason: str | None = None
    signal: int | None = None
    code_sha256: str | None = None  # of the machine code that it ran, where that is the same everywhere
    began: Moment = 0.0  # seconds since 1970, on the laboratory's clock
    host_ns: int | None = None  # from before to after the trial, on the laboratory's clock
    guest_ns: int | None = None  # the same span on the system's clock
    clock_doubt_ns: int | None = None  # the uncertainty of the difference, because reading takes time
    pressure: float | None = None  # share of host_ns in which some process waited for a processor
    surroundings: Surroundings | None = None  # of a trial on this machine
    samples: tuple[Samples, ...] = ()
    usage: tuple[Usage, ...] = ()  # as the records have it
    processes: tuple[CopyProcess, ...] = ()  # as the records have it
    programs: tuple[Program, ...] | None = None  # of the system's own, which the trial executed; None: none
    shared: str | None = None  # the server that every user of the system could reach, and why; None: none
    groups: tuple[Group, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    loads: tuple[Load, ...] | None = None  # on a server, where a window of it is the trial; None: none
    counts: tuple[Count, ...] = ()
    costs: tuple[Figure, ...] = ()  # what the system's processes on this host cost meanwhile, if watched
    together: Moment | None = None  # when the trials began that took turns, the same for each; None: no turns
    alone_ns: tuple[Duration, ...] | None = None  # of batches of one turn after the samples; None: no turns


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
class Words:
    """The output of a system in one start, besides records: a kernel's console, a program's error
    messages.
    """

    speaker: str  # a system, or "far end at PEER"
    boot: int  # from 1
    ended: str | None  # why it was ended or did not come up; null: it was no longer needed
    output: str  # on the stream of its records, the last lines; control characters are written out
    errors: str  # on the other one, the beginning and the end
    left_out: Natural  # bytes that are not kept


@dataclass(frozen=True, slots=True)
class Stood:
    """The laboratory was stopped: this time counts against no process and no budget."""

    reason: str  # "was stopped", "could not run" or "was suspended with its machine"
    stopped_s: Annotated[float, Range(0, 1e12)]  # for how long, at most


@dataclass(frozen=True, slots=True)
class Accounted:
    """An accounting trial: what was counted, and no time."""

    round: int  # from 0
    system: str
    boot: int
    cell: Annotated[Cell, KeptAs(str)]  # its label
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
    reason: str | None = None  # why it did not come up; how the laboratory stood still
    note: str | None = None  # "going on": no measuring before it; or what was damaged, and is left out
    # for how long the laboratory stood still, at most ("stop"); its reason says how
    stopped_s: Annotated[float, Range(0, 1e12)] | None = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """The progress of an interrupted run of the same plan."""

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


Event = Started | Switching | Unbooted | Watched | Accounted | Outcome | Look | Words | Stood
