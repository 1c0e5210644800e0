"""Carries a watch through: from the order to the whole of what the monitor has written."""

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from steelyard.watch.model import Record
from steelyard.watch.monitor import RunningWatch
from steelyard.watch.order import WatchOrder

# The display of a running watch: called from time to time with the new records.
Onlooker = Callable[[Iterable[Record]], None]
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def wait(
    running: RunningWatch, order: WatchOrder, *, onlookers: Sequence[Onlooker] = (), look_s: float = 1.0
) -> None:
    """Return when the watch has ended: by itself, or on request (Ctrl-C, SIGTERM, SIGHUP). With a command,
    Ctrl-C is the command's affair: the terminal has sent it the signal too. Without a display, nothing is
    read and nothing runs here.
    """
    with _stopping(running, order):
        if not onlookers:
            running.wait()
            return
        ended = False
        while not ended:
            ended = running.wait(look_s)
            records = tuple(running.new_records())
            for onlooker in onlookers:
                onlooker(records)


@contextmanager
def _stopping(running: RunningWatch, order: WatchOrder) -> Iterator[None]:
    """Takes requests to stop for the length of the with statement. What was ignored stays ignored."""

    def stop(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGINT or not order.command:
            running.stop()

    before = {number: signal.getsignal(number) for number in _STOPS}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
