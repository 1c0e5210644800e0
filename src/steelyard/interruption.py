"""Takes Ctrl-C and requests to terminate: the first Ctrl-C as KeyboardInterrupt, whatever comes after it, and
whatever else asks us to go, as Ended."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from steelyard.errors import Ended

_AGAIN_S = 0.01  # after which a request that came at a bad time is looked at again
_WAIT_MOST_S = 5.0  # after which it is obeyed all the same
_IMPORTING = "<frozen importlib._bootstrap>"
_held: list[tuple[int, float]] = []  # signals that came at a bad time, and until when they may wait
_requests: list[type[KeyboardInterrupt]] = []  # so far
_deferring = [0]  # the depth of `deferred`


def take() -> None:
    """Takes the signals from now on. One that the caller had ignored (nohup ignores SIGHUP) stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _asked_to_go)


def ignore() -> None:
    """Ignores the signals from now on: everything is done, and the process is about to end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if _held:
        _held.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def ignored() -> Iterator[None]:
    """Ignores the signals, also after the context unless it ends by an exception: what is done in it ends
    this process, and may ask it to go before it is ready."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    ignore()
    try:
        yield
    except BaseException:
        for number, handler in before.items():
            signal.signal(number, handler)
        raise


@contextmanager
def deferred() -> Iterator[None]:
    """A section of milliseconds that no request interrupts: it is obeyed at its end."""
    _deferring[0] += 1
    try:
        yield
    finally:
        _deferring[0] -= 1
    if not _deferring[0]:
        _look_again(signal.SIGALRM, None)


def _asked_to_go(number: int, frame: FrameType | None) -> None:
    _obey(number, frame, time.monotonic() + _WAIT_MOST_S)


def _obey(number: int, frame: FrameType | None, latest: float) -> None:
    # What raises in the middle of an import may be swallowed there, or come out as another error.
    if waits := bool(_deferring[0] or _is_importing(frame)) and time.monotonic() < latest:
        _held.append((number, latest))
    if _held:
        signal.signal(signal.SIGALRM, _look_again)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
    if not waits:
        _requests.append(KeyboardInterrupt if number == signal.SIGINT and not _requests else Ended)
        raise _requests[-1]


def _look_again(_: int, frame: FrameType | None) -> None:
    if _held:
        number, latest = _held.pop(0)
        _obey(number, frame, latest)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            return True
        frame = frame.f_back
    return False


@contextmanager
def told_apart() -> Iterator[None]:
    """DuckDB ends a query that is interrupted with a plain RuntimeError: this raises what it was."""
    known = len(_requests)
    try:
        yield
    except RuntimeError:
        if len(_requests) > known:
            raise _requests[-1] from None
        raise
