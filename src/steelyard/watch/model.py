"""What a watch is, as the monitor's records tell it: frozen, made once, handed on whole.

What could not be seen is None, never 0. Times are ns of the host's clock since it booted (CLOCK_BOOTTIME).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

HISTOGRAM_FIRST = 7  # bucket b holds times below 2^(b + 7) ns, the last one all others too


@dataclass(frozen=True, slots=True)
class Refused:
    """A backend that was tried before the one in use."""

    backend: str
    why: str


@dataclass(frozen=True, slots=True)
class Head:
    """What was to be watched, and how: the first record."""

    version: str
    backend: str
    detail: str  # "life", "budget", "calls", "profile" or "latency"
    refused: tuple[Refused, ...]
    began: float  # seconds since 1970
    began_ns: int
    processors: int
    every_ns: int | None  # between readings; None: no series
    children: int  # one in so many of a followed process's children is followed
    budget: float | None  # the share of one processor's time that counting may cost, all processes together
    hook_ns: float | None  # what one hit of the hook costs, as calibrated before the watch
    sample_ns: int | None  # a profile's samples lie so far apart
    missing: tuple[str, ...]  # sentences: what this backend cannot see


@dataclass(frozen=True, slots=True)
class Call:
    """One type of system call, as one process made it. At detail "budget" calls and errors are those that
    were really counted, and `expanded` is what they say of all that the process did."""

    calls: int | None
    errors: int | None
    time_ns: int | None
    histogram: tuple[int, ...] | None
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

    pid: int
    thread: int | None
    parent: int
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
    # At "budget"; None in what earlier versions kept.
    exact: bool | None = None  # whether each of its calls was counted
    missed_run_ns: int | None = None  # so long it ran while calls were counted in windows alone
    windows_weighted_ns: float | None = None  # run time in windows, weighted

    @property
    def key(self) -> tuple[int, int]:
        """What tells it from another process of the same number."""
        return self.pid, self.begin_ns


@dataclass(frozen=True, slots=True)
class Reading:
    """One process at one moment: the figures that have changed since the last one, each as it is since the
    process is watched; and so its calls, as (calls, errors), expanded to the whole at "budget"."""

    at_ns: int
    pid: int
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

    id: str
    at_ns: int
    processes: int | None
    figures: Mapping[str, int | None]  # those of figures.COUNTED
    calls: Mapping[str, tuple[float, float | None]] | None


@dataclass(frozen=True, slots=True)
class Monitor:
    """What the monitor says of itself at the end."""

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
    stopped_by: str | None  # "command", "time", "signal" or "end" (nothing was left to be watched)
    hits_of_all: int | None = None  # of the hook, by whichever process of the machine


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a backend works here; if not, why."""

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
    readings: Iterable[Reading]  # read anew, one by one, each time they are gone through: they may be many
