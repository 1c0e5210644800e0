"""The order for a watch: what to watch, and how."""

from dataclasses import dataclass

DETAILS = ("life", "budget", "calls", "profile", "latency")
BACKENDS = ("bpf", "perf", "taskstats", "ptrace", "proc")
USUAL_BUDGET = 0.005  # of one processor's time


@dataclass(frozen=True, slots=True)
class WatchOrder:
    """What to watch, and how. One of `pids`, `cgroup` and `command` is given."""

    command: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()
    cgroup: str | None = None
    detail: str | None = None  # None: what is usual, or what works here
    backend: str | None = None  # None: the best that works here
    every_ns: int | None = None
    for_ns: int | None = None
    children: int = 1
    seed: int | None = None  # of the draws which children are followed; None: a random one
    budget: float = USUAL_BUDGET
    slots: int | None = None
    threads: bool = False
    prove: bool = False
