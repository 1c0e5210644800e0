"""The frozen objects of an evaluation: every report shows these, and only these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.analysis.remarks import Remark, Trouble
from steelyard.archive.experiments import StoredExperiment
from steelyard.events import Pair
from steelyard.statistics.signed_rank import Estimate
from steelyard.study.model import Cell

FULL_MARGIN = 0.01  # beyond a full gain, before it is questioned
CLOCK_MARGIN = 0.005  # a system's clock that differs more from the laboratory's is reported
# A difference in one of these is a difference of hardware, or of what passes for it.
HARDWARE = ("cpu_model", "cpu_count", "memory_bytes", "architecture")


@dataclass(frozen=True, slots=True)
class CostDifference:
    """One cost of an operation to this host, a system against the baseline."""

    cost: str  # "user" and "system" (or "run"), "wait", "rest" add up to the time; or what is counted
    unit: str  # "ns", or what is counted
    baseline_value: float  # an operation: medians over trials
    value: float
    difference: Estimate  # of pairs within blocks; above 0: it costs the system more
    p_adjusted: float
    differs: bool  # whether a difference is claimed
    share: float | None  # of the difference in time: of those alone, where that is claimed too


@dataclass(frozen=True, slots=True)
class CallDifference:
    """The number of calls of one host system call per operation, by the accounting trials."""

    call: str  # "all": every one
    baseline_value: float
    value: float
    differs: bool  # no trial of the one made as few (or many) as any of the other


@dataclass(frozen=True, slots=True)
class Why:
    """Costs that differ together with the time (correlation, not causation)."""

    time: Estimate  # ns more an operation on the system, by the mean of its batches
    is_claimed: bool  # whether the time differs by that mean
    costs: tuple[CostDifference, ...]
    calls: tuple[CallDifference, ...]  # empty where they were not counted on both
    blocks: int
    covered: float  # the part of what was accounted for that was spent in operations; the lesser of the two
    remarks: tuple[Remark, ...]  # what limits it


@dataclass(frozen=True, slots=True)
class OfSystem:
    """The figures of one cell on one system."""

    system: str
    workload: str
    parameters: tuple[tuple[str, int | str], ...]
    cell: str  # the workload and its parameters as one label


@dataclass(frozen=True, slots=True)
class HostCost(OfSystem):
    """The cost of an operation to this host on one system: medians over trials, without set-up."""

    metric: str
    trials: int
    time_ns: float  # by the mean of the batches
    costs: Mapping[str, float]  # by the names of CostDifference
    calls: Mapping[str, tuple[float, float | None]] | None  # calls and errors an operation; None: not counted
    setup_calls: int | None  # that a trial makes besides its operations; taken away
    covered: float  # the part of all that was accounted for, set-up too, that was spent in operations
    below: Mapping[str, float]  # what is known of costs that came out below 0 by what was taken away: a bound
    overlap_ns: float | None  # what processes ran and waited at once, where that is more than the time


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of one cell, one system against the baseline."""

    workload: str
    parameters: tuple[tuple[str, int | str], ...]
    cell: str  # the workload and its parameters as one label
    group: str
    metric: str
    unit: str  # of the values, such as "ns per call"
    direction: str  # "lower" or "higher": which is better
    lens: str
    system: str
    baseline: str
    baseline_value: Estimate | None
    value: Estimate | None
    ratio: Estimate | None  # above 1: the system is better than the baseline
    margin: float
    verdict: str
    p_adjusted: float | None
    blocks: int  # pairs that the verdict rests on
    boots: int  # of the system; 1 where its start is no boot
    blocks_needed: int | None  # to settle an open verdict, if the noise stays as it is
    remarks: tuple[Remark, ...]  # what limits the verdict, or the figures
    why: Why | None = None  # None: the trials were not accounted for, or tell their metrics not apart
    # No difference is larger, as a fraction: the farther end of the interval. None without an interval.
    bound: float | None = None
    seconds_needed: float | None = None  # of measuring this cell, until blocks_needed; None: unknown
    # The same until the difference is known to the study's precision; None if it is, or need not be.
    size_blocks_needed: int | None = None
    size_seconds_needed: float | None = None


@dataclass(frozen=True, slots=True)
class Level(OfSystem):
    """The value of one metric of one cell on one system, without a comparison."""

    group: str
    metric: str
    unit: str
    direction: str
    value: Estimate  # the median over trials


@dataclass(frozen=True, slots=True)
class Plateau:
    """Sizes over which a curve stays level."""

    low: float  # the smallest and the largest size, in the curve's unit of sizes
    high: float
    level: Estimate  # in the curve's unit


@dataclass(frozen=True, slots=True)
class Knee:
    """The end of a plateau, where the curve becomes worse."""

    plateau: int  # which plateau ends there, from 0
    place: Estimate  # a size


@dataclass(frozen=True, slots=True)
class CurveLine:
    """One system's curve: the median over trials at each size, and the shape that was found in it."""

    system: str
    points: tuple[tuple[int, Estimate], ...]
    knots: tuple[tuple[float, float], ...]  # the ends and breaks of the fitted segments
    plateaus: tuple[Plateau, ...]
    knees: tuple[Knee, ...]
    agreement: float | None  # the share of resamples that have as many breaks; None with too few trials
    trials: int
    paging_from: int | None  # the smallest size from which every larger one too had to fetch pages


@dataclass(frozen=True, slots=True)
class PointRatio:
    """One size of a curve, a system against the baseline."""

    point: int
    ratio: Estimate
    p_adjusted: float  # over the sizes of this curve


@dataclass(frozen=True, slots=True)
class PartRatio:
    """One plateau's level, or one knee's place, a system against the baseline; above 1 is better."""

    part: str  # "plateau" or "knee"
    number: int  # from 0, of the system's plateaus; of a knee, that which it ends
    low: float  # the sizes that both plateaus hold; of a knee, its place on the baseline twice
    high: float
    ratio: Estimate
    verdict: str
    blocks: int


@dataclass(frozen=True, slots=True)
class CurveComparison:
    """A workload that is measured over a size: every system's line, and how they differ."""

    workload: str
    parameters: tuple[tuple[str, int | str], ...]
    cell: str
    group: str
    metric: str
    unit: str
    direction: str
    sweeps: str  # what is varied
    sweep_unit: str
    margin: float
    lines: tuple[CurveLine, ...]
    ratios: Mapping[str, tuple[PointRatio, ...]]  # by system
    parts: Mapping[str, tuple[PartRatio, ...]]


@dataclass(frozen=True, slots=True)
class MachineFact:
    """A property of the machine, as a system shows it: a cache's size, how many operations overlap."""

    system: str
    what: Remark
    value: Estimate
    unit: str
    cell: str  # what it was found from
    stated: float | None  # what the kernel says, where it says so
    note: Remark | None  # what it rests on
    trials: int = 0  # that it was found from

    @property
    def is_known(self) -> bool:
        """True if it has an interval: from few trials it may be anything."""
        return self.value.low is not None


@dataclass(frozen=True, slots=True)
class ReferenceMean:
    """A study's index on one system: the geometric mean of its rates over a stated machine's."""

    name: str
    title: str
    reference: str
    system: str
    value: Estimate | None  # None if a workload is missing on every block
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """The geometric mean of ratios over a group's times and rates, or over all groups (group is "all")."""

    system: str
    group: str
    ratio: Estimate | None
    metrics: int
    missing: tuple[str, ...]  # metrics that one of the two systems lacks
    blocks: int
    margin: float
    verdict: str


@dataclass(frozen=True, slots=True)
class Gain:
    """The speed-up of N copies relative to one: a full gain is N."""

    system: str
    workload: str
    metric: str
    copies: int
    gain: Estimate
    cell: str  # the workload and its parameters but for the copies, as one label
    efficiency: Estimate  # the gain over the number of copies: 1 means full
    blocks: int  # pairs of a block's trials, with one copy and with these
    full: int = 0  # all that copies and processors can give; 0: the system's processors are not known

    @property
    def is_known(self) -> bool:
        """True if it has an interval: one block has none, and may be anything."""
        return self.gain.low is not None

    @property
    def is_beyond(self) -> bool:
        """True if it is significantly more than copies and processors allow: then the single copy was
        slowed.
        """
        return bool(self.full) and self.gain.low is not None and self.gain.low > self.full * (1 + FULL_MARGIN)


@dataclass(frozen=True, slots=True)
class Decline:
    """The share of the saturated throughput that is left with more copies than processors."""

    copies: int
    kept: Estimate  # below 1: less is done than with fewer copies


@dataclass(frozen=True, slots=True)
class Scaling:
    """The growth of one workload's throughput with its copies on one system; see statistics/scalability.py. A
    figure that cannot be computed is None, and a remark gives the reason.
    """

    system: str
    workload: str
    metric: str
    cell: str  # without the copies
    unit: str  # of throughputs: "operations/s" or "MB/s"
    processors: int | None  # that its agent may use, as the system says
    copies: tuple[int, ...]  # that it was measured with
    blocks: int  # that hold all of these
    law: str  # "universal", "amdahl"; "" if none was fitted
    no_law: Remark | None  # why
    within: tuple[int, ...]  # the numbers of copies that the law was fitted to
    throughput: Estimate | None  # of one copy, by the law
    contention: Estimate | None
    coherency: Estimate | None  # 0 under Amdahl's law; its upper bound says how large it may still be
    aicc_gain: float | None  # of the universal law over Amdahl's: above 4 it is taken
    peak: Estimate | None  # the number of copies with the most throughput
    residual: float | None  # how far the medians lie from the law, as a fraction
    capacity: Estimate | None  # the throughput that no number of copies exceeds
    worth: Estimate | None  # that is the worth of how many copies
    no_capacity: Remark | None
    declines: tuple[Decline, ...]

    @property
    def is_fitted(self) -> bool:
        """True if any figure was fitted."""
        return bool(self.law) or self.capacity is not None


@dataclass(frozen=True, slots=True)
class Life:
    """One process of many, in ns since the first was asked for; None where it did not come so far."""

    asked_ns: float | None
    began_ns: float | None
    ended_ns: float | None  # by its own word, or when its starter saw the end
    status: str


@dataclass(frozen=True, slots=True)
class Multiprogramming(OfSystem):
    """Many processes at once on one system: medians over trials, as chapter 6 of Gonçalves (2001) has them.

    Times are in ns. What counts (created, finished, failures) is over all trials; what is timed, over those
    in which every process finished, for else another amount of work was done; None where there are none.
    """

    processes: int  # that were to be
    processors: int  # that they could use
    trials: int
    created: int  # median over trials
    finished: int
    total: Estimate | None  # from the first start to the last end
    alone: Estimate | None  # one process alone
    per_process: Estimate | None  # the total over how many finished
    price: Estimate | None  # the total over what it would be if sharing processors were free
    start_delay: Estimate | None  # from being asked for to its beginning: median process
    start_delay_95: Estimate | None  # nineteen of twenty began sooner
    start_delay_most: Estimate | None
    elapsed: Estimate | None  # each process's own time: mean
    unevenness: Estimate | None  # its coefficient of variation
    fairness: tuple[tuple[float, float, int], ...]  # Jain's index: when (ns), index, of how many; one trial
    lives: tuple[Life, ...]  # of that same trial, whose total is the median
    failures: tuple[tuple[str, int], ...]  # how processes failed, in words, and how many over all trials


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """The CPU time of one operation on one system: medians over trials, in ns."""

    system: str
    workload: str
    copies: int
    cell: str
    metric: str
    real_ns: float
    user_ns: float
    system_ns: float


@dataclass(frozen=True, slots=True)
class Latencies(OfSystem):
    """The latencies of single requests of one cell on one system, over all its trials."""

    metric: str
    trials: int
    requests: int
    quantiles_ns: Mapping[float, Estimate]  # by share; with the interval that the trials' own quantiles give


@dataclass(frozen=True, slots=True)
class ServerLoad(OfSystem):
    """What a load on a server saw of it, over all trials of one cell on one system. Numbers without another
    word are sums over trials, times are ns."""

    trials: int
    rate: Estimate  # answers a second: median over trials
    bytes_rate: float  # of their bodies, a second: median over trials
    latency_ns: Mapping[float, Estimate]  # by share, from when a request was due; those that failed, too
    server_ns: Estimate | None  # the server's processor time a request; None: not known
    answers: int
    failures: Mapping[str, int]  # the server's, by kind, the most frequent first
    malformed: str | None  # what the server did in the first answer that was no HTTP: "sent ..."
    own_limits: Mapping[str, int]  # requests that could not be made, by what the load generator lacked
    limited: int  # trials in which the load generator lacked something, or was too busy or too late
    waited: int  # requests that found no client free when they were due
    unsent: int  # and those that found none until the end
    requests: int  # for which connections were opened: those of the warm-up, too
    connections: int
    connecting_ns: float | None  # the mean of one; None: none was opened
    closed: int  # by the server, though they were to be kept
    resent: int  # requests that went twice, because the server closed their connection meanwhile
    longest_ns: int  # that a request waited
    silent_share: float  # of the time: in which requests waited and none was answered
    stalled_share: float  # of the time: in which the load generator itself did not run
    verified: int  # bodies that were compared to the last byte
    body_fixed: bool  # every answer had the same body, so that all lengths were checked
    objects: "ObjectLoad | None"  # of users; None: clients that ask for one document
    saturation: "HighestRate | None"  # the search whose highest rate this is; None: it was not searched for
    busy_share: float  # of its time in which the load generator's busiest event loop worked
    waits_are_hidden: bool = False  # the quantiles do not show how long it was waited


@dataclass(frozen=True, slots=True)
class HighestRate:
    """The highest rate that a server held, by several searches. The load beside it is of those rates."""

    rate: Estimate  # requests a second: median over searches
    limit_ns: float  # that a request could take
    share: float  # of the requests that had to take no longer
    steps: Mapping[str, int]  # of all searches: how many were held, or what gave way, the most frequent first
    is_least: bool  # the load generator gave way more often, or lacked something: the server may hold more


@dataclass(frozen=True, slots=True)
class ObjectLoad:
    """What users saw of objects: of files with those embedded in them."""

    rate: Estimate  # with all files right, a second: median over trials
    offered: float  # a second, if the server took no time
    latency_ns: Mapping[float, Estimate]  # by share, while files of an object were under way
    failed: int  # without all files being right
    lost: int  # for what the load generator lacked
    content_sha256: str  # of the files and the order in which they are asked for


@dataclass(frozen=True, slots=True)
class Alone(OfSystem):
    """What one system's operation takes alone, of a cell whose batches took turns. The intervals of an
    experiment hold together."""

    metric: str
    trials: int
    level: Estimate  # the time alone over that in turns: below 1, it takes less alone
    ratio: Estimate | None  # alone, to the baseline; above 1: the system is better. None: of the baseline
    shift: Estimate | None  # that ratio over the one in turns


@dataclass(frozen=True, slots=True)
class UsageFigure(OfSystem):
    """A figure of one cell on one system besides the workload's own metrics: what its trials used, or what a
    monitor said of them. The median over trials."""

    what: str  # "user time", "calls of read", ...: see usage.py
    unit: str  # "ns", "calls" or "%"
    value: Estimate


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A program of a system's own that trials of a cell executed."""

    system: str
    workload: str
    cell: str
    name: str
    path: str
    sha256: str | None
    version: str | None


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """A system as it described itself when it first came up."""

    name: str
    boots: int
    is_boot: bool
    hello: Mapping[str, Any]
    fingerprint: Mapping[str, Any]
    clock_apart: float | None  # its clock against the laboratory's: median over trials, as a fraction


@dataclass(frozen=True, slots=True)
class Condition:
    """A shortage or disturbance of this machine during the measurement."""

    kind: str  # one of analysis.conditions.KINDS
    lost: float  # about which part of its time or processors a trial lost by it, for ranking


@dataclass(frozen=True, slots=True)
class MachineState:
    """The state of the laboratory's machine while trials ran on it: shares over all their time. None: the
    kernel does not tell."""

    trials: int  # that tell of it
    measured_s: float  # how long they took
    waited: float | None = None  # of the time: in which a process waited for a processor
    others: float | None = None  # of the processors' time: used by what is neither trial nor laboratory
    stolen: float | None = None  # of the processors' time: that their host took
    throttled: float | None = None  # of the periods of a control group's quota: in which it was used up
    memory_waited: float | None = None  # of the time: in which a process waited for memory
    storage_waited: float | None = None  # of the time of work without files: in which one waited for a device
    memory_hits: int | None = None  # how often a control group reached its limit of memory
    swapped_pages: int | None = None
    heat_events: int | None = None  # how often a processor was slowed for its heat
    quota: float | None = None  # processors whose time the tightest control group allows; None: no quota
    quota_group: str = ""
    memory_limit_bytes: int | None = None  # that the tightest control group allows
    memory_group: str = ""
    nice: int = 0  # of the laboratory's processes
    policy: str = ""  # by which they were scheduled; empty: unknown
    crowded_trials: int = 0  # of those: while another laboratory measured
    conditions: tuple[Condition, ...] = ()  # that are worth a word, the worst first
    likeliest: str | None = None  # the kind that is worst in the trials of what is not settled


@dataclass(frozen=True, slots=True)
class PlotMark:
    """One system's trials of some neighbouring blocks, as one time in ns per operation and copy."""

    cell: str
    metric: str
    system: str
    number: int  # from 0
    blocks: int  # that it stands for
    value: float  # the median over trials
    low: float  # a tenth of a trial's batches is faster: the least over trials
    high: float


@dataclass(frozen=True, slots=True)
class Extent:
    """The time span and the size of an experiment."""

    began: float | None = None  # of the first trial, seconds since 1970
    ended: float | None = None  # the last trial
    busy_s: float = 0.0  # in trials
    looks: int = 0
    samples: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The complete evaluation of an experiment; console, CSV, JSON and HTML show the same object. Parts that
    were not requested, such as those left out during a measurement, are empty.
    """

    experiment: StoredExperiment
    baseline: str
    systems: tuple[SystemFacts, ...] = ()
    comparisons: tuple[Comparison, ...]
    processor_times: tuple[Comparison, ...] = ()  # beside them, of work that computes; in no mean
    indices: tuple[Index, ...] = ()
    levels: tuple[Level, ...] = ()
    curves: tuple[CurveComparison, ...] = ()
    findings: tuple[MachineFact, ...] = ()
    reference_means: tuple[ReferenceMean, ...] = ()
    gains: tuple[Gain, ...] = ()
    multiprogramming: tuple[Multiprogramming, ...] = ()
    scalings: tuple[Scaling, ...] = ()
    costs: tuple[ProcessorTime, ...] = ()
    tallies: tuple[UsageFigure, ...] = ()
    programs: tuple[ProgramRun, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    blocks: int
    trials: int
    remarks: tuple[Remark, ...] = ()  # what limits all verdicts, or went wrong
    latencies: tuple[Latencies, ...] = ()
    server_loads: tuple[ServerLoad, ...] = ()
    alone: tuple[Alone, ...] = ()
    accounts: tuple[HostCost, ...] = ()  # with --watch
    left_out: tuple[str, ...] = ()  # cells that the time did not reach
    marks: tuple[PlotMark, ...] = ()
    extent: Extent = Extent()
    went_well: int = 0  # of the trials
    state: MachineState | None = None  # None: no trial tells of it
    absent: Mapping[str, str] = field(default_factory=dict)  # systems that could not start, and why

    @property
    def others(self) -> tuple[str, ...]:
        """The systems that were compared with the baseline, in the study's order."""
        away = {self.baseline, *self.absent}
        return tuple(name for name in self.experiment.header["systems"] if name not in away)


@dataclass(frozen=True, slots=True)
class Horizon:
    """The value of a cell at this number of blocks, if its noise stays as it is: a mean over its comparisons,
    so that a cell with many metrics counts as much as one with a single metric.
    """

    blocks: int
    narrowing: float  # of the intervals, as statistics.prospects has it
    verdicts: float = 0.0  # the share of comparisons that would have got a verdict
    sizes: float = 0.0  # the share of them whose difference would have become known to the precision


@dataclass(frozen=True, slots=True)
class Interim:
    """The interim result at a look: the verdicts that would be printed now."""

    decided: frozenset[Pair] = frozenset()  # need no more blocks: a verdict, and the size of a difference
    horizons: Mapping[Cell, tuple[Horizon, ...]] = field(default_factory=dict)  # of what is open
    explain: frozenset[Pair] = frozenset()  # differ for sure, and by so much that people ask why
    # The variance of a cell's trials within a boot over that of boots (statistics.boots), where it is known.
    boot_ratios: Mapping[Cell, float] = field(default_factory=dict)
