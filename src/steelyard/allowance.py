"""Reads how much of the machine this process may use: its processors, and the limits of its control groups.

This is the only place that counts processors. Online processors are not all usable: taskset, a cpuset or a
container leaves a process fewer.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.text import of_file

_PROC = Path("/proc")
_OCTAL = re.compile(r"\\([0-7]{3})")  # how mountinfo has a space in a name
_UNLIMITED = 1 << 60  # bytes: version 1 has no word for "no limit", but a number near 2^63

PROCESSORS_MOST = 65536  # more than any kernel manages
PROCESSORS_LIKELY_MOST = 4096  # the largest number that can work for a trial
CPU, MEMORY = "cpu", "memory"  # controllers
_POLICIES = {
    os.SCHED_OTHER: "other",
    os.SCHED_BATCH: "batch",
    os.SCHED_IDLE: "idle",
    os.SCHED_FIFO: "fifo",
    os.SCHED_RR: "rr",
}


@dataclass(frozen=True, slots=True)
class LimitedGroup:
    """A control group that this process is in, or a parent of one."""

    version: int
    path: Path


@dataclass(frozen=True, slots=True)
class Quota:
    """The CPU quota of the tightest control group, for all its processes together."""

    processors: float  # in a second, for this number of processors
    group: Path


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The memory limit of the tightest control group, and what is left of it."""

    bytes: int
    left: int  # what can be dropped from the page cache counts as left
    group: Path


def processors() -> tuple[int, ...]:
    """Return the numbers of the processors that this process may run on, in ascending order."""
    try:
        return tuple(sorted(os.sched_getaffinity(0)))
    except OSError:  # a sandbox may refuse the question
        return tuple(range(os.cpu_count() or 1))


def nice() -> int:
    """Return the nice value of this process, which its systems inherit."""
    return os.getpriority(os.PRIO_PROCESS, 0)


def policy() -> str:
    """Return the scheduling policy of this process, which its systems inherit: "other" is the usual one.
    Empty if the kernel does not tell."""
    try:
        number = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    except OSError:  # a sandbox may refuse the question
        return ""
    return _POLICIES.get(number, str(number))


def is_usual(nice: int, policy: str) -> bool:
    """Whether processes with this nice value and policy come neither before nor after most others."""
    return nice == 0 and policy in ("", "other")


def scheduling(nice: int, policy: str) -> str:
    """Return in words how such processes run: "at nice 19"."""
    words = [f"at nice {nice}"] if nice else []
    if policy not in ("", "other"):
        words.append(f"with the scheduling policy '{policy}'")
    return " and ".join(words) or "as processes usually do"


def quota(*, proc: Path = _PROC) -> Quota | None:
    """Return the least quota of the process's group and all its parents; None without one."""
    limits = ((_quota_of(group), group.path) for group in groups(CPU, proc=proc))
    known = [Quota(share, path) for share, path in limits if share is not None]
    return min(known, key=lambda one: one.processors, default=None)


def memory(*, proc: Path = _PROC) -> MemoryLimit | None:
    """Return the limit that leaves the least memory, of the process's group and all its parents; None without
    one."""
    known = [limit for group in groups(MEMORY, proc=proc) if (limit := _memory_of(group)) is not None]
    return min(known, key=lambda one: (one.left, one.bytes), default=None)


def available_memory(*, proc: Path = _PROC) -> int | None:
    """Return the bytes that processes started from here can still have: by the machine, and by the tightest
    limit. None where the kernel does not tell."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        sizes = dict(line.split(":", 1) for line in _lines(proc / "meminfo"))
        available = int(sizes["MemAvailable"].strip().removesuffix("kB")) * 1024
        limit = memory(proc=proc)
        return available if limit is None else min(available, limit.left)
    return None


def groups(controller: str, *, proc: Path = _PROC) -> tuple[LimitedGroup, ...]:
    """Return the groups whose limits of that controller hold for this process: its own, then each parent up
    to the root of what is mounted. Of a container that is its own group, whatever it is called outside.
    """
    try:
        own = dict(own_groups(proc))
        mounted = list(hierarchies(proc))
    except (OSError, ValueError, IndexError):
        return ()
    found: dict[Path, LimitedGroup] = {}
    for version, mount, root, options in mounted:
        name = own.get(controller if version == 1 else "")
        if name is None or (version == 1 and controller not in options):
            continue
        place = mount / below(name, root)
        while True:
            if os.path.isdir(place):
                found.setdefault(place, LimitedGroup(version, place))
            if place == mount or mount not in place.parents:
                break
            place = place.parent
    return tuple(found.values())


LIMITS_FROM = "/proc/self/cgroup, or the place where they are mounted,"


def tells_limits(*, proc: Path = _PROC) -> bool:
    """Whether the kernel says which groups this process is in, and they can be seen: else a limit may hold
    that is unknown."""
    try:
        own = dict(own_groups(proc))
    except (OSError, ValueError):
        return False
    limiting = {CPU, MEMORY} if own.keys() == {""} else {CPU, MEMORY} & own.keys()
    return all(groups(one, proc=proc) for one in limiting)


def _quota_of(group: LimitedGroup) -> float | None:
    if group.version == 2:
        words = _words(group.path / "cpu.max")
    else:
        words = _words(group.path / "cpu.cfs_quota_us") + _words(group.path / "cpu.cfs_period_us")
    try:
        allowed, period = (int(word) for word in words)
    except ValueError:  # "max", or no such file
        return None
    return allowed / period if allowed > 0 and period > 0 else None


def _memory_of(group: LimitedGroup) -> MemoryLimit | None:
    names = ("memory.max", "memory.high") if group.version == 2 else ("memory.limit_in_bytes",)
    limits = [limit for name in names if (limit := number(group.path / name)) is not None]
    most = min(limits, default=_UNLIMITED)
    if most >= _UNLIMITED:
        return None
    used = number(group.path / ("memory.current" if group.version == 2 else "memory.usage_in_bytes")) or 0
    counts = counters(group.path / "memory.stat")
    cached = counts.get("total_inactive_file", counts.get("inactive_file", 0))
    return MemoryLimit(most, max(0, most - max(0, used - cached)), group.path)


def number(file: Path) -> int | None:
    """Return the number that the file holds; None for another text, or no file."""
    words = _words(file)
    return int(words[0]) if len(words) == 1 and words[0].isdecimal() else None


def counters(file: Path) -> dict[str, int]:
    """Return the counters of a file with a name and a number on each line; empty without the file."""
    try:
        lines = [line.split() for line in of_file(file).splitlines()]
    except OSError:
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}


def _words(file: Path) -> list[str]:
    try:
        return of_file(file).split()
    except OSError:
        return []


# What the kernel says of control groups


def below(group: str, root: str) -> str:
    """Return the group's path under a mount that shows the hierarchy from `root` on."""
    if root != "/" and group.startswith(root):
        group = group[len(root) :]
    return group.strip("/")


def own_groups(proc: Path) -> Iterator[tuple[str, str]]:
    """Yield controller and group; "" is version 2's. Raises OSError."""
    for line in _lines(proc / "self/cgroup"):
        _, controllers, group = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, group


def hierarchies(proc: Path) -> Iterator[tuple[int, Path, str, set[str]]]:
    """Yield version, mount, the group that is its root, and options of each hierarchy. Raises OSError."""
    for line in _lines(proc / "self/mountinfo"):
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            fields = before.split(" ")
            mount, root = _unescaped(fields[4]), _unescaped(fields[3])
            yield 2 if kind == "cgroup2" else 1, Path(mount), root, set(options.split(","))


def _unescaped(name: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), name)


def _lines(file: Path) -> list[str]:
    """The file's lines, as they can be names of files again, whatever bytes are in them."""
    return [line for line in os.fsdecode(file.read_bytes()).split("\n") if line]
