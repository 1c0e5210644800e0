"""The remarks: a closed family of frozen facts that limit a verdict or a figure, or report a failure.

They hold fields and no text: `words.remarks` has a sentence for each kind. A verdict depends on a kind.
"""

from dataclasses import dataclass

from steelyard.statistics.signed_rank import Estimate


@dataclass(frozen=True, slots=True)
class Remark:
    """One fact of any kind. Its kinds are the classes below, and no others."""


# Of one comparison


@dataclass(frozen=True, slots=True)
class Signal(Remark):
    """A signal ended a trial that gave no reason."""

    number: int


@dataclass(frozen=True, slots=True)
class Timeless(Remark):
    """A metric took no time by the system's clock."""

    metric: str


@dataclass(frozen=True, slots=True)
class NotAboveOverhead(Remark):
    """A metric is not more than the overhead that is to be subtracted from it."""

    metric: str


@dataclass(frozen=True, slots=True)
class Trouble(Remark):
    """Trials of one cell on one system that did not end well."""

    system: str
    cell: str
    status: str
    trials: int
    reason: str | Signal | Timeless | NotAboveOverhead | None  # a text is the system's own, or the archive's


@dataclass(frozen=True, slots=True)
class NoPair(Remark):
    """No block has both systems."""


@dataclass(frozen=True, slots=True)
class OneUnit(Remark):
    """There is one block, or one boot, so no interval."""

    unit: str  # "block" or "boot": what is replicated


@dataclass(frozen=True, slots=True)
class HeldBack(Remark):
    """A difference is not claimed because it would rest on few blocks or boots."""

    units: int
    unit: str
    times_apart: float  # one system's own trials differ by so much, as a ratio


@dataclass(frozen=True, slots=True)
class FewUnits(Remark):
    """A verdict rests on few blocks or boots."""

    units: int
    unit: str
    times_apart: float


@dataclass(frozen=True, slots=True)
class OneBoot(Remark):
    """The system was booted once: the verdict holds for this boot."""

    system: str


@dataclass(frozen=True, slots=True)
class ClockApart(Remark):
    """A system's clock runs faster or slower than the laboratory's."""

    system: str
    apart: float  # as a fraction; above 0: faster


@dataclass(frozen=True, slots=True)
class SameCode(Remark):
    """Both systems ran the same machine code."""

    sha256: str


@dataclass(frozen=True, slots=True)
class OtherCode(Remark):
    """The systems did not run the same machine code."""

    baseline: str
    baseline_sha256: tuple[str, ...]
    system: str
    sha256: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GaveWay(Remark):
    """The facts on the lowest rate that a server did not hold."""

    system: str
    server: float | None  # processors that the server used
    client: float  # processors that the load's generator used
    wait_ns: float | None  # of a request, for a connection


@dataclass(frozen=True, slots=True)
class Disturbed(Remark):
    """Other work disturbed some of the blocks. The verdict without them is the same, another, or cannot be
    had because there are no others."""

    disturbed: int
    blocks: int
    without: str  # "same", "other" or "none"


@dataclass(frozen=True, slots=True)
class RestsOnDisturbed(Remark):
    """The verdict would be another without the disturbed blocks."""


@dataclass(frozen=True, slots=True)
class InTail(Remark):
    """The verdict by the mean of the batches is different."""

    verdict: str


@dataclass(frozen=True, slots=True)
class OtherAlone(Remark):
    """Alone, without another's work between its batches, the ratio is another one than in turns."""

    ratio: float  # alone, with its interval
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class GeneratorBusy(Remark):
    """The load's generator had hardly any time to spare, and may be what was measured."""

    system: str
    share: float  # of the time, in which it worked


@dataclass(frozen=True, slots=True)
class GeneratorLate(Remark):
    """The load's generator was late, and may be what was measured."""

    system: str


# What these are said of has no verdict.
UNSETTLING = (RestsOnDisturbed, GeneratorBusy, GeneratorLate)


# Of the whole experiment


@dataclass(frozen=True, slots=True)
class NotStarted(Remark):
    """The system could not start, and is left out."""

    system: str
    reason: str


@dataclass(frozen=True, slots=True)
class NotAlwaysStarted(Remark):
    """The system could not start at one time, and was left out until it could."""

    system: str
    reason: str


@dataclass(frozen=True, slots=True)
class Damage(Remark):
    """Records of the archive are damaged and left out."""

    note: str  # as the archive has it


@dataclass(frozen=True, slots=True)
class BudgetOver(Remark):
    """The time was over before these cells were measured."""

    budget_s: float
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of the baseline's hardware and of the system's."""

    name: str  # one of model.HARDWARE
    baseline: object
    system: object


@dataclass(frozen=True, slots=True)
class OtherHardware(Remark):
    """The two systems' hardware differs."""

    baseline: str
    system: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Given(Remark):
    """The part of the baseline's machine that a guest had. None: all of it."""

    system: str
    processors: int | None
    of_processors: int | None
    memory_bytes: int | None
    of_memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class MoreProcessors(Remark):
    """A guest has more processors than the machine on which it and the baseline run."""

    system: str
    processors: int
    baseline: str
    baseline_processors: int | None


@dataclass(frozen=True, slots=True)
class Translated(Remark):
    """The system ran programs for another processor than the machine's."""

    system: str
    architecture: str
    machine: str


@dataclass(frozen=True, slots=True)
class Build:
    """A build of the load program, and the systems that ran it."""

    compiler: str | None
    libc: str | None
    systems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OtherBuilds(Remark):
    """The systems ran different load programs."""

    builds: tuple[Build, ...]  # the baseline's first
    same: tuple[str, ...]  # workloads that ran the same programs all the same


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """A program that a system has, as its trials ran it."""

    system: str
    path: str
    version: str | None
    sha256: str | None


@dataclass(frozen=True, slots=True)
class OtherPrograms(Remark):
    """A program is not the same on every system."""

    name: str
    programs: tuple[FoundProgram, ...]  # the baseline's first


@dataclass(frozen=True, slots=True)
class SharedNetwork(Remark):
    """Servers of a system had no network of their own."""

    system: str
    servers: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class ConnectionsClosed(Remark):
    """A server closed connections that were to be kept, so that the figures are those of connecting, too."""

    system: str
    cell: str  # where it did so most
    cells: int  # where it did so
    opened: float  # connections for 1,000 requests, in that cell


@dataclass(frozen=True, slots=True)
class StoodStill(Remark):
    """A server answered nothing for a share of the time, which the quantiles of its latencies hide."""

    system: str
    cell: str  # where it did so most
    cells: int  # where it did so
    share: float  # of the time in which requests waited, in that cell
    longest_ns: float  # that one waited
    tail_ns: float  # that 99 % of them do not exceed
    is_paced: bool = False  # a load at a rate: it has asked while it waited


@dataclass(frozen=True, slots=True)
class Reconnected(Remark):
    """A server closed connections of a load that were to be kept. The latencies contain connecting."""

    system: str
    cell: str
    closed: int
    connections: int  # opened
    requests: int  # that they were opened for
    connecting_ns: float  # the mean of one


@dataclass(frozen=True, slots=True)
class RequestsFailed(Remark):
    """Requests of a load failed; they are in its latencies, and not in its rate."""

    system: str
    cell: str
    failed: int
    requests: int  # in all
    kinds: tuple[tuple[str, int], ...]  # the most frequent first
    malformed: str | None  # what the server did in the first answer that was no HTTP: "sent ..."


@dataclass(frozen=True, slots=True)
class RequestsResent(Remark):
    """Requests of a load went twice, because the server closed the connection while it was used."""

    system: str
    cell: str
    resent: int


@dataclass(frozen=True, slots=True)
class RequestsWaited(Remark):
    """Requests of a load at a rate found every client busy when they were due."""

    system: str
    cell: str
    waited: int
    unsent: int  # of these: never sent


@dataclass(frozen=True, slots=True)
class GeneratorLacked(Remark):
    """A load generator could not make requests. They are in no figure of the server's."""

    system: str
    cell: str
    lacked: tuple[tuple[str, int], ...]  # an error's name, and how many; the most frequent first


@dataclass(frozen=True, slots=True)
class GeneratorLimited(Remark):
    """A load generator was too busy or too late in some trials: these say nothing of the server."""

    system: str
    cell: str
    limited: int
    trials: int


@dataclass(frozen=True, slots=True)
class GeneratorStalled(Remark):
    """A load generator itself did not run for some of the time. That is in neither wait."""

    system: str
    cell: str
    share: float


@dataclass(frozen=True, slots=True)
class BodiesChange(Remark):
    """The body changes from answer to answer, so that neither its length nor its bytes were checked."""

    system: str
    cell: str


@dataclass(frozen=True, slots=True)
class BootsUnlike(Remark):
    """A fact changed from boot to boot of one system."""

    system: str
    fact: str
    values: tuple[tuple[object, int], ...]  # each, and in how many boots; the most frequent first


@dataclass(frozen=True, slots=True)
class OtherSettings(Remark):
    """The systems of one machine differ in more than themselves."""

    machine: str
    settings: tuple[tuple[str, tuple[tuple[str, object], ...]], ...]  # each fact: on which system which value
    mitigations: tuple[str, ...]  # those that are not the same


@dataclass(frozen=True, slots=True)
class BusyBoots(Remark):
    """Boots of a machine that did not come to rest in time."""

    busy: int
    boots: int
    share_most: float  # of the processors that were busy


@dataclass(frozen=True, slots=True)
class FailedBoots(Remark):
    """Boots of a machine that failed, and were repeated."""

    boots: int
    reason: str


@dataclass(frozen=True, slots=True)
class BeyondFull(Remark):
    """A gain is, with its interval, beyond what copies and processors can give: one copy alone was slowed."""

    system: str
    cell: str
    copies: int
    gain: Estimate
    full: int
    processors: int | None
    is_placed: bool  # whether each copy and its partners are kept on one processor


@dataclass(frozen=True, slots=True)
class NotAccounted(Remark):
    """The cost of a system's trials was not measured."""

    system: str
    detail: str  # "life": at all; "calls": call by call
    reason: str


@dataclass(frozen=True, slots=True)
class MonitorBlind(Remark):
    """The blind spots of a monitor on these systems."""

    backend: str
    systems: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OtherLevel:
    """A cell, and the time alone over that in turns less 1, on the system where it is farthest from 0."""

    cell: str
    change: float


@dataclass(frozen=True, slots=True)
class OtherLevels(Remark):
    """Cells that take another time alone than in turns."""

    levels: tuple[OtherLevel, ...]  # the farthest from 0 first


@dataclass(frozen=True, slots=True)
class CarryOver(Remark):
    """Trials take another time than usual right after one of that cell."""

    cell: str
    effect: Estimate  # on the log scale; above 0: longer
    trials: int


@dataclass(frozen=True, slots=True)
class CarryOverBalanced(Remark):
    """Each system came after such trials about as often, so that no comparison rests on them."""


@dataclass(frozen=True, slots=True)
class CarryOverMoved(Remark):
    """One of the two systems came after such trials more often."""

    comparisons: int  # that may have moved by more than half of their margin
    cell: str  # of the comparison that may have moved most
    system: str
    shift: float  # by so much, on the log scale


# Of what a system's operations cost this host


@dataclass(frozen=True, slots=True)
class CoveredLittle(Remark):
    """Little of what was accounted for was spent in operations: no shares are said."""

    covered: float


@dataclass(frozen=True, slots=True)
class SetupKept(Remark):
    """The cost of set-up was not measured on both systems: counts include it."""


@dataclass(frozen=True, slots=True)
class FewTicks(Remark):
    """The trials met too few clock ticks to tell user from system mode."""


@dataclass(frozen=True, slots=True)
class SharesBeyondWhole(Remark):
    """Several processes ran at once, or one saved what another cost."""


# Properties of the machine, and what they rest on


@dataclass(frozen=True, slots=True)
class CacheCapacity(Remark):
    """The capacity of one of the caches that the kernel names."""

    name: str


@dataclass(frozen=True, slots=True)
class LatencyStep(Remark):
    """The start of a latency step that matches none of the caches that the kernel names."""

    number: int  # from 1


@dataclass(frozen=True, slots=True)
class CacheLine(Remark):
    """The size of a line of the caches."""


@dataclass(frozen=True, slots=True)
class TranslationReach(Remark):
    """The number of pages that address translation covers."""


@dataclass(frozen=True, slots=True)
class OperationsAtOnce(Remark):
    """The number of a workload's operations that overlap."""

    workload: str
    operation: str


@dataclass(frozen=True, slots=True)
class LoadsInFlight(Remark):
    """The number of memory loads that overlap."""


@dataclass(frozen=True, slots=True)
class Step(Remark):
    """A step of the latency."""

    is_sharp: bool
    octaves: float  # that it takes
    times: float  # by so much it is slower beyond
    agreement: float | None  # the share of resamples with as many steps


@dataclass(frozen=True, slots=True)
class ByTrials(Remark):
    """The share of trials that give the same result on their own."""

    share: float


@dataclass(frozen=True, slots=True)
class PagesBeyond(Remark):
    """The number of pages above which address translation costs time."""

    page_bytes: int


@dataclass(frozen=True, slots=True)
class AtSize(Remark):
    """The value is that of the largest size; the maximum is at another size."""

    size: int
    most_at: int


# Why there is no scaling law, or no saturation


@dataclass(frozen=True, slots=True)
class ProcessorsUnknown(Remark):
    """A law holds within the processors, and the system does not say how many it has."""


@dataclass(frozen=True, slots=True)
class FewWithin(Remark):
    """Few numbers of copies lie within the processors."""

    needed: int
    within: tuple[int, ...]
    processors: int


@dataclass(frozen=True, slots=True)
class FewWholeBlocks(Remark):
    """Few blocks have every number of copies."""

    figure: str  # "law" or "saturation"
    needed: int
    blocks: int


@dataclass(frozen=True, slots=True)
class NeverBeyond(Remark):
    """Not measured with more copies than processors."""


@dataclass(frozen=True, slots=True)
class FewNumbers(Remark):
    """There are few numbers of copies."""

    needed: int
    numbers: int


@dataclass(frozen=True, slots=True)
class StillGrowing(Remark):
    """The throughput still grows with the most copies, as far as is known."""

    copies: int
