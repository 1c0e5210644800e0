"""The types of a study: the systems, the workloads and their levels, the design; and the cells that
follow.
"""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from steelyard.errors import StudyError, UnknownName
from steelyard.servers.description import Server
from steelyard.study import bounds
from steelyard.study.tool import Tool
from steelyard.text import shortened, shown

# The parameter that names a server (steelyard.servers); any other text is a command line.
SERVER = "server"
# The parameter that says where the far end of a network workload is, and what a study may say.
PEER = "peer"
LOOPBACK, NAMESPACE, LABORATORY, SSH = "loopback", "namespace", "laboratory", "ssh"
PEERS = f"{LOOPBACK}, {NAMESPACE}, {LABORATORY}, or {SSH}:HOST"

# The smallest difference that matters, by group, unless a study says otherwise (statistics.md).
MARGINS = {
    "cpu": 0.01,
    "syscall": 0.01,
    "harness": 0.01,
    "memory": 0.02,
    "ipc": 0.02,
    "process": 0.02,
    "file": 0.05,
    "storage": 0.05,
    "network": 0.05,
    "server": 0.05,
    "footprint": 0.05,
}
PRECISION = 0.03  # half of the interval's width to which a claimed difference is to be known, as a fraction
EVERY = "every"  # as a build: each that there is for this processor
LOWER_PLATEAU = "lower plateau"  # what a table of curves shows: where a system pages
# The monitors whose account of a trial can be read.
MONITORS = ("steelyard-watch", "strace", "perf trace", "perf stat", "sar")
CALLS = "calls of "  # before a system call's name: what a monitor counted
ESTIMATED = "estimated "  # before that, where it did not count, but estimate
# What a monitor that reads at intervals says of a trial's server while it is under load: each with its unit,
# and how many of the whole numbers that are kept make one.
OF_SERVER: Mapping[str, tuple[str, int]] = {
    "server in user mode": ("%", 100),
    "server in system mode": ("%", 100),
    "server faults": ("/s", 1000),
    "server reads": ("/s", 1000),
    "server writes": ("/s", 1000),
}
AT = " at "  # behind one of these: ms from the load's beginning to the end of an interval
# Of what a monitor adds to a time: its share of the time with it, or of that without.
ITS_OWN, UNTRACED = "of its own", "of untraced"
READINGS = (ITS_OWN, UNTRACED)
THIS = "this"  # the machine that the laboratory runs on, as a host
PROCESSORS = "processors"  # the level that stands for as many copies as this machine has processors
UP_TO = "1..processors"  # the levels from one to that, all of them or, where they are many, RUNGS
TWICE = "2x processors"  # as many again
LEVELS_OF_PROCESSORS = (PROCESSORS, UP_TO, TWICE)
RUNGS = 8  # evenly spaced on a log scale, so that even 9 processors have the six that a law needs
TIMING = ("batches", "operations", "batch_ns", "warmup_ns")  # how a cell is timed: one level each

# For each workload, each parameter's least and most value, or None for a text.
Catalogue = Mapping[str, Mapping[str, tuple[int, int] | None]]
Parameters = tuple[tuple[str, int | str], ...]  # sorted by name; a text is a command line


@dataclass(frozen=True, slots=True)
class Cell:
    """One workload at one combination of levels: what a comparison is made of."""

    workload: str
    parameters: Parameters = ()

    @property
    def label(self) -> str:
        """The cell as a person writes it: `pipe_transfer copies=2`; how it is timed is no part of it."""
        settings = (
            f"{name}={shlex.quote(str(value))}" for name, value in self.parameters if name not in TIMING
        )
        return " ".join([self.workload, *settings])

    @property
    def copies(self) -> int:
        return int(dict(self.parameters).get("copies", 1))


@dataclass(frozen=True, slots=True)
class Levels:
    """A workload of a study and the levels of each parameter that is varied."""

    workload: str
    levels: tuple[tuple[str, tuple[int | str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Design:
    """The design of the measurement; docs/explanation/statistics.md has the reasons."""

    blocks: int = 4096  # of each cell, at most
    blocks_per_boot: int = 1  # rounds, rather: a cell comes once in each
    budget_s: float = 300.0  # a limit: what is settled sooner ends sooner
    trial_limit_s: float = 30.0
    # How exactly claimed differences are to be known: half of an interval's width, as a fraction. One below
    # the usual holds for all intervals.
    precision: float = PRECISION
    turns: bool = True  # whether batches take turns where they can (study/turns.py)


@dataclass(frozen=True, slots=True)
class ShortForm:
    """What a study's short form has in place of its own: all of its tables, of fewer and shorter trials."""

    budget_s: float = 150.0
    blocks: int | None = None  # None: as many as the study
    trial_limit_s: float | None = None  # likewise
    systems: tuple[str, ...] = ()  # (): the study's
    trial: Parameters = ()  # besides the study's, or in place of one
    # By parameter: the levels in every workload that states it.
    levels: tuple[tuple[str, tuple[int | str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Tuning:
    """The settings of this machine while a system runs on it, and the limits of the system's processes."""

    huge_pages: str = ""  # "": as they are
    sysctl: tuple[tuple[str, str], ...] = ()
    processors: tuple[int, ...] = ()
    nice: int | None = None
    memory: str = ""  # the limit of a control group, as are the two that follow
    swap: str = ""
    processes: int = 0

    @property
    def is_limit(self) -> bool:
        """True if its processes may exhaust their limits without harm to the machine."""
        return bool(self.memory or self.processes)

    def __bool__(self) -> bool:
        return self != Tuning()

    def __str__(self) -> str:
        processors = " and ".join(map(str, self.processors))
        words = [
            f"huge pages {self.huge_pages}" if self.huge_pages else "",
            *(f"{name} {value}" for name, value in self.sysctl),
            f"on processor{'s' if len(self.processors) > 1 else ''} {processors}" if processors else "",
            f"nice {self.nice}" if self.nice is not None else "",
            f"{self.memory} of memory" if self.memory else "",
            f"{'no' if self.swap == '0' else self.swap + ' of'} swap" if self.swap else "",
            f"at most {self.processes} processes" if self.processes else "",
        ]
        return ", ".join(word for word in words if word)


@dataclass(frozen=True, slots=True)
class Machine:
    """Hardware that runs one system at a time, and how it is brought from one to another."""

    name: str
    host: str  # "ssh:HOST", or THIS
    switch: tuple[str, ...]  # a command, run here; {system} stands for the system's name
    console: tuple[str, ...] = ()  # a command, run here, that prints what the machine's console shows
    wait_s: float = 300.0  # until the host answers after its reboot
    quiet_s: float = 60.0  # until it has nothing else to do


@dataclass(frozen=True, slots=True)
class FileSystem:
    """A fresh file system for a system's files."""

    kind: str = ""  # "": none, files are where they are
    size: str = ""  # "": the usual
    mkfs: tuple[str, ...] = ()
    options: str = ""  # of the mount
    aged: int = 0  # how often it is churned before
    image_directory: str = ""  # "": where the system works
    device: str = ""  # a block device instead of an image

    def __bool__(self) -> bool:
        return bool(self.kind)


@dataclass(frozen=True, slots=True)
class SystemDefinition:
    """A system that the user describes: by the command that starts its agent, or as a variant."""

    name: str
    command: tuple[str, ...] = ()
    base: str = ""
    program: str = ""
    boot: bool = False
    memory: str = ""  # of a guest, as is swap
    swap: str = ""
    cpus: int = 1
    kernel: str = ""  # a file
    disk: str = ""  # its size
    accelerator: str = ""
    root: str = ""  # a userland's directory
    image: str = ""  # a container engine's name for one
    under: tuple[str, ...] = ()  # a monitor's command, under which each trial's process is started
    reads: str = ""  # one of MONITORS, if its output is kept
    tuning: Tuning = Tuning()
    machine: Machine | None = None
    expect: tuple[tuple[str, str], ...] = ()  # of its fingerprint: a key, and a pattern with * and ?
    file_system: FileSystem = FileSystem()
    trial: Parameters = ()  # of its trials, in place of the workload's: two of these are two treatments


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a published table and the workload that stands for it today."""

    published: str
    workload: str
    operations: int


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A paper's table to print beside today's figures."""

    name: str
    title: str
    paper: str
    note: str


@dataclass(frozen=True, slots=True)
class Table(PublishedTable):
    """A published table to print with today's systems as further columns."""

    rows: tuple[TableRow, ...]
    processor_bound: tuple[str, ...] = ()  # the paper's names of the rows that have a mean of their own


@dataclass(frozen=True, slots=True)
class CurveTable(PublishedTable):
    """A published table of what curves say: of each workload's plateau (the upper one), its lower one, of
    which a paper may print no figures, or its knee."""

    shows: str  # "plateau", LOWER_PLATEAU or "knee"
    columns: tuple[tuple[str, str], ...]  # the paper's workload, and the one that stands for it today


@dataclass(frozen=True, slots=True)
class Restatement:
    """How a paper states what is measured here: as it is, by at most one of these. See analysis.restating."""

    per: str = ""  # the parameter that it is divided by
    moves: str = ""  # the parameter whose bytes an operation moves: a bandwidth
    is_rate: bool = False  # the operations of a second


@dataclass(frozen=True, slots=True)
class TableFigure:
    """A published figure of a table's cells, and today's figure beside it."""

    published: str  # the paper's metric
    metric: str  # a metric of the workload, or what a finding or a usage figure is of
    stated: Restatement = Restatement()


@dataclass(frozen=True, slots=True)
class CellTable(PublishedTable):
    """A published table over a parameter's levels, each of which is a cell of a workload today.

    `variants` are the parameters that today's columns differ in besides the system, each with a name. Where
    the workload today has no such parameter (`is_constant`), its figure is the same at every level.
    """

    published: str  # the paper's workload
    workload: str
    over: str  # the parameter
    levels: tuple[int, ...]
    figures: tuple[TableFigure, ...]
    variants: tuple[tuple[str, Parameters], ...]
    has_variation: bool = False  # each system but the first has its variation from the first as well
    is_constant: bool = False


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One of the figures of a published table of figures, and what says it today."""

    name: str  # in the table
    published: str  # the paper's metric
    level: str  # of the paper's, where the metric has levels; else ""
    what: str  # of today's tallies
    reading: (
        str  # "", or which share of the time a monitor adds; computed of the paper's times in the same way
    )


@dataclass(frozen=True, slots=True)
class FigureTable(PublishedTable):
    """A published table of figures of one workload on several systems, and today's, of one cell."""

    published: str  # the paper's workload
    workload: str
    figures: tuple[FigureRow, ...]


@dataclass(frozen=True, slots=True)
class StudyFigure:
    """A picture of several cells: "bars" (a row a cell), "lines" (over a parameter), "curves", or "series"
    (over time, a panel for each of a parameter's levels)."""

    name: str
    title: str
    kind: str
    workloads: tuple[str, ...]
    over: str  # the parameter on the axis of a figure of lines, or that the panels of series differ in
    metric: str  # "": every one
    note: str
    stated: Restatement = Restatement()
    levels: tuple[int, ...] = ()  # of the parameter, of which series are drawn


@dataclass(frozen=True, slots=True)
class ReferenceIndex:
    """An index as NBench has them: the geometric mean of a system's rates over a stated machine's."""

    name: str
    title: str
    reference: str  # what the reference figures were measured on
    times_ns: tuple[tuple[str, float], ...]  # by workload: ns per operation


@dataclass(frozen=True, slots=True)
class Study:
    """A study, as read; made once and handed on whole."""

    name: str
    title: str
    text: str  # the file, byte for byte, for the archive
    systems: tuple[str, ...]
    workloads: tuple[Levels, ...]
    design: Design = Design()
    margins: Mapping[str, float] = field(default_factory=lambda: dict(MARGINS))
    trial: Parameters = ()  # for every trial, and no part of a cell's name
    definitions: tuple[SystemDefinition, ...] = ()
    tables: tuple[Table, ...] = ()
    # A factor: every system runs each of these builds of the load program; EVERY is each that there is.
    builds: tuple[str, ...] = ()
    curve_tables: tuple[CurveTable, ...] = ()
    cell_tables: tuple[CellTable, ...] = ()
    figure_tables: tuple[FigureTable, ...] = ()
    figures: tuple[StudyFigure, ...] = ()
    indices: tuple[ReferenceIndex, ...] = ()
    peer: str = ""  # where the far end of its network workloads is, unless they say; "": as they have it
    tool: Tool | None = None  # whose figures are read from what its commands print
    files: tuple[str, ...] = ()  # that are sent along to each system (`sent`)
    servers: tuple[Server, ...] = ()  # of its own, which its workloads can name
    short: ShortForm = ShortForm()
    is_short: bool = False


def in_short(study: Study) -> Study:
    """The study's short form."""
    short, design = study.short, study.design
    in_place = dict(short.levels)
    return replace(
        study,
        systems=short.systems or study.systems,
        workloads=tuple(
            replace(one, levels=tuple((name, in_place.get(name, values)) for name, values in one.levels))
            for one in study.workloads
        ),
        design=replace(
            design,
            budget_s=min(short.budget_s, design.budget_s),
            blocks=short.blocks or design.blocks,
            trial_limit_s=short.trial_limit_s or design.trial_limit_s,
        ),
        trial=tuple(sorted((dict(study.trial) | dict(short.trial)).items())),
        is_short=True,
    )


def only(study: Study, workloads: Sequence[str]) -> Study:
    """The study with these of its workloads alone. Raises UnknownName for one it has not."""
    known = {levels.workload for levels in study.workloads}
    for name in workloads:
        if name not in known:
            raise UnknownName("workload", name, known, where=f"study {study.name}: ")
    choice = tuple(levels for levels in study.workloads if levels.workload in workloads)
    return replace(study, workloads=choice)


def is_peer(text: str) -> bool:
    kind, _, host = text.partition(":")
    if kind == SSH:
        return bool(host) and not host.startswith("-") and not any(one.isspace() for one in host)
    return text in (LOOPBACK, NAMESPACE, LABORATORY)


def with_peer(study: Study, peer: str, catalogue: Catalogue) -> Study:
    """The study with that far end for all workloads that can have one and do not name another."""
    workloads = tuple(
        replace(one, levels=tuple(sorted([*one.levels, (PEER, (peer,))])))
        if PEER in catalogue.get(one.workload, {}) and PEER not in dict(one.levels)
        else one
        for one in study.workloads
    )
    return replace(study, workloads=workloads, peer=peer)


def cells(study: Study, *, processors: int) -> tuple[Cell, ...]:
    """Every cell of the study, once each: of those that differ in their timing alone, the first. The levels
    that depend on the processors become numbers. Raises UsageError where they are too many."""
    numbers = [
        [[number for value in values for number in _numbers(value, processors)] for _, values in one.levels]
        for one in study.workloads
    ]
    many = sum(math.prod(map(len, known)) for known in numbers)
    if many > bounds.CELLS_MOST:
        many_text = f"{many:,}" if many < 10**12 else "over 10^12"
        raise bounds.refusal(study.name, f"levels that make {many_text} cells", f"{bounds.CELLS_MOST:,}")
    by_label: dict[str, Cell] = {}
    for levels, known in zip(study.workloads, numbers, strict=True):
        names = [name for name, _ in levels.levels]
        for values in product(*known):
            cell = Cell(levels.workload, tuple(sorted(zip(names, values, strict=True))))
            by_label.setdefault(cell.label, cell)
    return tuple(by_label.values())


def _numbers(value: int | str, processors: int) -> tuple[int | str, ...]:
    """The number that a level stands for on a machine with this number of processors."""
    if value == UP_TO:
        if processors <= RUNGS:
            return tuple(range(1, processors + 1))
        return tuple(sorted({round(processors ** (rung / (RUNGS - 1))) for rung in range(RUNGS)}))
    return ({PROCESSORS: processors, TWICE: 2 * processors}.get(str(value), value),)


def check(study: Study, catalogue: Catalogue, *, file: str) -> None:
    """Raises unless every workload and parameter is in the catalogue, within its limits."""
    file = shortened(shown(file), 200)
    for levels in study.workloads:
        if levels.workload not in catalogue:
            raise UnknownName("workload", levels.workload, catalogue, where=f"study {file}: ")
        limits = catalogue[levels.workload]
        if SERVER in limits and SERVER not in dict(levels.levels):
            key = f"workload {levels.workload}: {SERVER}"
            raise StudyError(
                f"study {file}", key, "", "the name of a server, such as nginx (docs/explanation/servers.md)"
            )
        for value in dict(levels.levels).get(PEER, ()) if PEER in limits else ():
            if not is_peer(str(value)):
                raise StudyError(f"study {file}", f"workload {levels.workload}: {PEER}", value, PEERS)
        own = [one for definition in study.definitions for one in definition.trial]
        for name, values in [*levels.levels, *((name, (value,)) for name, value in (*study.trial, *own))]:
            where = f"study {file}: workload {levels.workload}: "
            if name not in limits:
                raise UnknownName("parameter", name, limits, where=where)
            for value in values:
                allowed = _refusal(value, limits[name])
                if allowed:
                    raise StudyError(f"study {file}", f"workload {levels.workload}: {name}", value, allowed)


def _refusal(value: int | str, limits: tuple[int, int] | None) -> str | None:
    """The allowed values, if this one is not allowed; None if it is."""
    if limits is None:
        return None if _is_command(value) else "a command line, quoted as for a shell (none is started)"
    if value in LEVELS_OF_PROCESSORS or (isinstance(value, int) and limits[0] <= value <= limits[1]):
        return None
    return f'a whole number from {limits[0]} to {limits[1]}, "{PROCESSORS}", "{UP_TO}" or "{TWICE}"'


def _is_command(value: int | str) -> bool:
    try:
        return isinstance(value, str) and bool(shlex.split(value))
    except ValueError:
        return False
