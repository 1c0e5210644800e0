"""The types of a watch, as the monitor's records describe it: frozen, made once, handed on whole.

A figure that could not be seen is None, never 0. Times are ns of the host's clock since it booted
(CLOCK_BOOTTIME).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from steelyard.allowance import PROCESSORS_MOST
from steelyard.shapes import WHOLE_MOST, Length, Name, OneOf, Range, Told
from steelyard.watch.figures import FIGURES

_BUCKETS_MOST, _CALLS_MOST, _SENTENCES_MOST = 64, 2000, 100
_PIDS_MOST = 1 << 32
Pid = Annotated[int, Told(Range(0, _PIDS_MOST))]
Calls = Told(Length(_CALLS_MOST))
_Figure = Annotated[str, Told(OneOf(tuple(FIGURES)))]
Sentences = Told(Length(_SENTENCES_MOST))

HISTOGRAM_FIRST = 7  # bucket b holds times below 2^(b + 7) ns, the last one all others too


@dataclass(frozen=True, slots=True)
class Refused:
    """A backend that was tried before the one in use."""

    backend: str
    why: str


@dataclass(frozen=True, slots=True)
class Head:
    """The first record: what to watch, and how."""

    version: str
    backend: str
    detail: str  # "life", "budget", "calls", "profile" or "latency"
    refused: Annotated[tuple[Refused, ...], Sentences]
    began: float  # seconds since 1970
    began_ns: int
    processors: Annotated[int, Told(Range(1, PROCESSORS_MOST))]
    every_ns: Annotated[int | None, Told(Range(1, WHOLE_MOST))]  # between readings; None: no series
    children: int  # one in this number of a followed process's children is followed
    budget: float | None  # the share of one processor's time that counting may cost, all processes together
    hook_ns: float | None  # what one hit of the hook costs, as calibrated before the watch
    sample_ns: int | None  # a profile's samples lie so far apart
    missing: Annotated[tuple[str, ...], Sentences]  # sentences: what this backend cannot see
    seed: Annotated[int | None, Told(Range(0, (1 << 64) - 1))] = (
        None  # of the draws which children are followed; None: all are, or it was not kept
    )


@dataclass(frozen=True, slots=True)
class Call:
    """One type of system call, as made by one process. At detail "budget" calls and errors are the counted
    ones, and `expanded` is the estimate for all of the process.
    """

    calls: int | None
    errors: int | None
    time_ns: int | None
    histogram: Annotated[tuple[int, ...] | None, Told(Length(_BUCKETS_MOST))]
    samples: int | None
    expanded: float | None
    expanded_errors: float | None
    squares: float | None  # of the weighted calls in a window, and
    products: float | None  # of calls and run time in it: sums over windows
    # At "budget"; None in what earlier versions kept, which counted in windows alone, all of one weight.
    in_windows: int | None = None  # of the calls, and of
    errors_in_windows: int | None = None  # the errors
    weighted: float | None = None  # the same, each window weighted by what it stands for
    weighted_errors: float | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """A watched process, or with `thread` one of its threads."""

    pid: Pid
    thread: Pid | None
    parent: Pid
    generation: int  # 0: was named, or is the command; 1: its children, ...
    program: str
    program_before: str | None
    attached: bool  # it ran before the watch began, and is counted from then
    begin_ns: int
    watched_ns: int  # since when its figures count
    end_ns: int | None  # None: it ran on when the watch ended
    status: int | None
    signal: int | None
    threads: int | None
    children: int | None
    figures: Mapping[str, int | None]  # every one of figures.FIGURES
    windows: int | None
    windows_ns: int | None
    windows_active: int | None  # in which it ran,
    windows_run_ns: float | None  # for so long in all, the counting itself taken off,
    windows_hook_ns: float | None  # which was that much
    windows_run_squares: float | None  # of the run time in a window, summed over windows
    samples_user: int | None
    samples_kernel: int | None
    calls: Mapping[str, Call] | None  # None: its calls were not seen
    # Whether each of its calls was counted, at "budget"; else False of one that was not seen whole, or None.
    # None in what earlier versions kept.
    exact: bool | None = None
    missed_run_ns: int | None = None  # so long it ran while calls were counted in windows alone
    windows_weighted_ns: float | None = None  # run time in windows, weighted,
    windows_weighted_twice_ns: float | None = None  # and by the square of the weights
    # Figures that were read before its end, and are lower bounds. None in what earlier versions kept.
    at_least: Annotated[tuple[_Figure, ...] | None, Told(Length(len(FIGURES)))] = None

    @property
    def key(self) -> tuple[int, int]:
        """The identity of a process, also among processes with the same ID."""
        return self.pid, self.begin_ns


@dataclass(frozen=True, slots=True)
class Reading:
    """One process at one moment: the figures that have changed since the last one, each as it is since the
    process is watched; and so its calls, as (calls, errors), expanded to the whole at "budget"."""

    at_ns: int
    pid: Pid
    begin_ns: int
    figures: Mapping[str, int]
    calls: Mapping[str, tuple[float, float | None]]
    program: str | None = None  # where the record tells it

    @property
    def key(self) -> tuple[int, int]:
        return self.pid, self.begin_ns


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of the watch with the hook on system calls or without it, and what all watched did in it."""

    at_ns: int
    length_ns: int
    hooked: bool
    run_ns: int
    work: int


@dataclass(frozen=True, slots=True)
class Mark:
    """All watched processes together, ended or not, since the watch began, at a moment that was asked for."""

    id: Name
    at_ns: int
    processes: int | None
    figures: Mapping[str, int | None]  # those of figures.COUNTED
    calls: Mapping[str, tuple[float, float | None]] | None
    lost: int | None = None  # so far: what was not seen, and is in no figure


@dataclass(frozen=True, slots=True)
class Monitor:
    """The monitor's figures on itself, at the end."""

    at_ns: int
    cpu_user_ns: int | None
    cpu_system_ns: int | None
    memory_bytes: int | None
    memory_peak_bytes: int | None
    maps_bytes: int | None
    hook_ns: float | None
    hits: int | None
    bpf_ns: float | None
    lost_slots: int | None
    lost_calls: int | None
    lost_events: int | None
    unfollowed: int | None  # children that were left out on request
    unfollowed_figures: Mapping[str, int | None] | None  # what those cost all the same
    total: Process | None  # all that was watched, with what found no slot, as if one process had done it
    command_status: int | None
    stopped_by: str | None  # "command", "time", "signal" or "end" (no process was left)
    hits_of_all: int | None = None  # of the hook, by whichever process of the machine
    missing: Annotated[tuple[str, ...], Sentences] = ()  # sentences: what was found to be missing meanwhile


@dataclass(frozen=True, slots=True)
class Probe:
    """True if a backend works here, or the reason why not."""

    backend: str
    works: bool
    why: str | None


Record = Head | Process | Reading | Window | Mark | Monitor | Probe


@dataclass(frozen=True, slots=True)
class Watch:
    """A whole watch. Without `monitor` it ended before the monitor could say so: it was killed."""

    head: Head
    processes: tuple[Process, ...]  # those with `thread` too, in the order of their ends
    windows: tuple[Window, ...]
    marks: tuple[Mark, ...]
    monitor: Monitor | None
    readings: Iterable[Reading]  # read again, one by one, at each iteration: there may be many
