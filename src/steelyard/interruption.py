"""Takes Ctrl-C and requests to terminate: the first Ctrl-C as KeyboardInterrupt, whatever comes after it, and
whatever else asks us to go, as Ended."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from steelyard.errors import Ended

_requests: list[type[KeyboardInterrupt]] = []  # so far


def take() -> None:
    """Takes the signals from now on. One that the caller had ignored (nohup ignores SIGHUP) stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _asked_to_go)


def ignore() -> None:
    """Ignores the signals from now on: everything is done, and the process is about to end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


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


def _asked_to_go(number: int, frame: object) -> None:
    _requests.append(KeyboardInterrupt if number == signal.SIGINT and not _requests else Ended)
    raise _requests[-1]


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
