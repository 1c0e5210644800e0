"""The interface of a system: the command that starts its agent, and a check beforehand whether it can
start.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.errors import Unsupported
from steelyard.study.model import LABORATORY, LOOPBACK, NAMESPACE, SSH, THIS, Machine, Tuning
from steelyard.systems import tuning
from steelyard.systems.carried import CarriedFile

EVERY_PEER = (LOOPBACK, NAMESPACE, LABORATORY, SSH)  # of a system with this machine's network, or a host's


@dataclass(frozen=True, slots=True)
class Place:
    """The working place of an agent: its own directory, removed when it has ended."""

    program: Path  # the load program
    scratch: Path


def _nothing(place: Place) -> None:
    """Most systems need no preparation."""


def _no_lines(place: Place) -> list[list[str]]:
    """Most systems leave nothing that does not end with their processes."""
    return []


def _no_records(place: Place) -> list[dict[str, Any]]:
    """Most systems say of a trial what their agent says."""
    return []


def _no_watcher(threads: Sequence[int]) -> int | None:
    """The threads of most systems' processes are all at work for what runs in it."""
    return None


def _ready() -> None:
    """Most systems need nothing but what is installed."""


@dataclass(frozen=True, slots=True)
class BootEntry:
    """A system's place on a machine that runs one at a time."""

    machine: Machine
    name: str  # as the machine's switch command knows the system
    expect: tuple[tuple[str, str], ...]

    @property
    def is_here(self) -> bool:
        """True if it is the laboratory's own machine."""
        return self.machine.host == THIS

    @property
    def host(self) -> str:
        return self.machine.host.removeprefix("ssh:")


@dataclass(frozen=True, slots=True)
class System:
    """A system, by the command that starts its agent on the two standard streams."""

    name: str
    summary: str
    command: Callable[[Place], list[str]]
    program: str = "glibc"  # the build of the load program that runs in it
    boot: bool = False  # whether a start is a boot of its own kernel
    needs: tuple[tuple[str, str], ...] = ()  # (executable, the Debian package that brings it)
    ready: Callable[[], None] = _ready  # raises Unsupported or UsageError for what else is missing
    prepare: Callable[[Place], None] = _nothing  # before the command; raises Unsupported
    undo: Callable[[Place], list[list[str]]] = _no_lines  # the ledger's lines: what outlives its processes
    monitor_records: Callable[[Place], list[dict[str, Any]]] = (
        _no_records  # after each trial: records of a monitor's
    )
    # After the agent's greeting it is waited for until the system has come to rest, at most so long; it has
    # when its processes hardly run, and reading its clock takes no more than that (0: whatever it takes).
    settle_most_s: float = 0.0
    settled_clock_ns: int = 0
    start_limit_s: float = 30.0  # a start that takes longer has failed
    start_s: float = 0.1  # what a start is thought to take before there was one
    # Of the threads of one of its own processes, oldest first, the one that looks after the others: it stays
    # free to use other processors where the system is kept on one.
    watcher: Callable[[Sequence[int]], int | None] = _no_watcher
    starts_at_once: int = 1  # that many come to rest in little more time than one
    memory_bytes: int = 0  # of each of them, roughly
    here: bool = True  # runs on this machine: can be parked and tuned, and its clock can be checked
    host: str = ""  # of a system on another host: its name as ssh knows it
    # Where the far end of a network workload can be.
    peers: tuple[str, ...] = (LOOPBACK,)
    boot_entry: BootEntry | None = None  # of a system whose start is a boot of a whole machine
    is_watched: bool = False  # each trial's process is started under a monitor
    tuning: Tuning = field(default_factory=Tuning)
    files: tuple[CarriedFile, ...] = ()  # that each agent gets copies of
    file_system: str = ""  # how the one that its files are on is made for it, in words; "": it is not

    @property
    def boot_s(self) -> float:
        """What a boot is thought to take where one follows the other."""
        return self.start_s / self.starts_at_once

    @property
    def takes_turns(self) -> bool:
        """True if it can be measured at the same time as others, on the processor that they are on."""
        changes = self.tuning.huge_pages or self.tuning.sysctl or self.tuning.processors
        return self.here and self.boot_entry is None and not changes and not self.is_watched


def check(system: System) -> None:
    """Raises Unsupported, saying what to install, if an executable that the system needs is missing, what
    `ready` raises, and what tuning.check raises if it cannot be tuned as it should be."""
    for executable, package in system.needs:
        if shutil.which(executable) is None:
            raise Unsupported(
                f"system '{system.name}' cannot start: {executable} is not installed "
                f"(on Debian: apt-get install {package})"
            )
    system.ready()
    tuning.check(system.name, system.tuning)
