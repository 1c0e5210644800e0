"""Notices when this process or its machine was stopped: Ctrl-Z, SIGSTOP, a frozen control group, a suspended
machine. Limits that ran on meanwhile must not judge others, and this time is not charged.

A stop by Ctrl-Z is known from its beginning. A stop by SIGSTOP is known when it ends, by SIGCONT; it began
after the last sign of life, which every wait gives each second. Without SIGCONT (a freezer, a paused virtual
machine) a late wake-up reveals it; a suspended machine shows in the clock that counts its sleep.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from selectors import BaseSelector
from types import SimpleNamespace

SIGN_S = 1.0  # the interval of signs of life during waits
_LATE_S = 2.0  # a waking that comes so much too late is a standstill; a busy machine's are sooner
_CONTINUED_LIMIT_S = 1.0
STOPPED, HELD, SUSPENDED = "was stopped", "could not run", "was suspended with its machine"

# The clocks, so that tests have others.
clocks = SimpleNamespace(
    monotonic=time.monotonic,
    boottime=lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
    processor=time.process_time,
)


@dataclass(frozen=True, slots=True)
class Standstill:
    """One that is over."""

    seconds: float  # at most: it began after the last sign of life
    why: str  # STOPPED, HELD or SUSPENDED


class _State:
    """The state of this process: there is only one."""

    def __init__(self) -> None:
        self.still_s = 0.0  # in which the monotonic clock went on
        self.sign_s: float = clocks.monotonic()  # the last sign of life
        self.used_s = clocks.processor()  # by then, of processors
        self.asleep_s = clocks.boottime() - clocks.monotonic()
        self.all: list[Standstill] = []
        self.has_continued = False
        self.holds = 0  # depth of `undivided`
        self.is_asked_to_stop = False
        self.terminals: list[tuple[Callable[[], None], Callable[[], None]]] = []
        self.begun_s: float = self.sign_s  # what `clock` showed when the command was given


_state = _State()


def take() -> None:
    """Takes SIGTSTP and SIGCONT from now on. What the caller had ignored stays ignored."""
    global _state
    _state = _State()  # what was before a fork is another process's
    if signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL:
        signal.signal(signal.SIGTSTP, _asked_to_stop)
    if signal.getsignal(signal.SIGCONT) == signal.SIG_DFL:
        signal.signal(signal.SIGCONT, _continued)


def begin() -> None:
    """A command begins now."""
    _state.begun_s = clock()


def begun_s() -> float:
    """The clock at the start of the command."""
    return float(_state.begun_s)


def clock() -> float:
    """Seconds of the monotonic clock in which this process could run. Limits and budgets go by it."""
    _look()
    _give_sign()
    now: float = clocks.monotonic()
    return now - _state.still_s


def all_so_far() -> tuple[Standstill, ...]:
    """Every standstill of this process, in order: more than before, and something was disturbed."""
    _look()
    return tuple(_state.all)


def wait(selector: BaseSelector, seconds: float) -> bool:
    """True if data can be read within that time, not counting time when stopped."""
    end = clock() + seconds
    while True:
        left = max(0.0, min(end - clock(), SIGN_S))
        _give_sign()
        is_ready = bool(selector.select(left))
        _notice_lateness(left)
        if is_ready or clock() >= end:
            return is_ready


def sleep(seconds: float) -> None:
    """Waits for so long, in which a standstill does not count."""
    end = clock() + seconds
    while (left := end - clock()) > 0:
        left = min(left, SIGN_S)
        _give_sign()
        time.sleep(left)
        _notice_lateness(left)


@contextmanager
def undivided() -> Iterator[None]:
    """A section that Ctrl-Z does not interrupt: the stop comes at its end."""
    _state.holds += 1
    try:
        yield
    finally:
        _state.holds -= 1
        if _state.is_asked_to_stop and not _state.holds:
            _stop()


@contextmanager
def leaving_terminal(leave: Callable[[], None], enter: Callable[[], None]) -> Iterator[None]:
    """Before Ctrl-Z stops this process, `leave` restores the terminal; `enter` takes it again after any
    stop.
    """
    pair = (leave, enter)
    _state.terminals.append(pair)
    try:
        yield
    finally:
        _state.terminals.remove(pair)


def _give_sign() -> None:
    _state.sign_s, _state.used_s = clocks.monotonic(), clocks.processor()


def _look() -> None:
    """Notices that the machine slept: then its monotonic clock did, too."""
    asleep_s = clocks.boottime() - clocks.monotonic()
    slept_s = asleep_s - _state.asleep_s
    if slept_s > _LATE_S:
        _state.asleep_s = asleep_s
        _state.all.append(Standstill(slept_s, SUSPENDED))


def _notice_lateness(asked_s: float) -> None:
    """Notice a late end of a wait of this length, which began with a sign of life."""
    late_s = clocks.monotonic() - _state.sign_s - asked_s
    if late_s > _LATE_S:
        _note(late_s, HELD)


def _note(seconds: float, why: str) -> None:
    _state.all.append(Standstill(seconds, why))
    _state.still_s += seconds
    _give_sign()


def _continued(number: int, frame: object) -> None:
    """All since the last sign of life was the stop, but for what was reckoned."""
    gap_s = clocks.monotonic() - _state.sign_s - (clocks.processor() - _state.used_s)
    _note(max(0.0, gap_s), STOPPED)
    _state.has_continued = True
    if not _state.is_asked_to_stop and not _state.holds:  # by SIGSTOP: the terminal could not be restored
        for leave, enter in _state.terminals:
            leave()
            enter()


def _asked_to_stop(number: int, frame: object) -> None:
    _state.is_asked_to_stop = True
    if not _state.holds:
        _stop()


def _stop() -> None:
    """Stop this process, as Ctrl-Z would, and return when it continues."""
    terminals = list(_state.terminals)
    for leave, _ in reversed(terminals):
        leave()
    _give_sign()
    _state.has_continued = False
    os.kill(os.getpid(), signal.SIGSTOP)
    # The signal may be another thread's to take: this one runs on for a moment.
    end = clocks.monotonic() + _CONTINUED_LIMIT_S
    while not _state.has_continued and clocks.monotonic() < end:
        time.sleep(0.01)
    _state.is_asked_to_stop = False
    for _, enter in terminals:
        enter()
