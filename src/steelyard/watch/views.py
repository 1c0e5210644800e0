"""Opens the displays of a running watch: a screen, an endpoint for a Prometheus, or both.

Only the requested ones are imported: other watches must not wait for that.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from steelyard import home
from steelyard.watch.monitor import RunningWatch
from steelyard.watch.order import WatchOrder
from steelyard.watch.session import Onlooker
from steelyard.watch.tally import Totals

if TYPE_CHECKING:
    from steelyard.watch.live import LiveScreen

_LOOK_NS = 1_000_000_000  # where no interval was asked for


@dataclass(slots=True)
class Views:
    """The requested displays. The endpoint answers at once; the screen appears with the watch."""

    order: WatchOrder
    tally: Totals
    screen: "LiveScreen | None"
    is_followed: bool
    output: BinaryIO | None  # where the command's writing goes while the terminal is a screen's
    running: RunningWatch | None = None

    @property
    def look_s(self) -> float:
        return (self.order.every_ns or _LOOK_NS) / 1e9

    def monitor_cpu_ns(self) -> int | None:
        return self.running.cpu_ns() if self.running else None

    @contextmanager
    def over(self, running: RunningWatch) -> Iterator[tuple[Onlooker, ...]]:
        """The onlookers of a watch that has started. When this is left, the terminal is free again, and has
        what the command wrote meanwhile."""
        self.running = running
        try:
            with ExitStack() as shown:
                if self.screen:
                    shown.enter_context(self.screen)
                    yield self.tally.look, self.screen.look
                else:
                    yield (self.tally.look,) if self.is_followed else ()
        finally:
            self.running = None
            if self.output:
                _print_all(self.output)


@contextmanager
def open_all(
    order: WatchOrder, *, live: bool, openmetrics: str | None, say: Callable[[str], None]
) -> Iterator[Views]:
    """Opens the views before anything is started, so that a view that cannot work is refused at once.
    Raises UsageError."""
    with ExitStack() as stack:
        tally = Totals()
        screen = _screen(order, tally) if live else None
        views = Views(order, tally, screen, is_followed=bool(live or openmetrics), output=None)
        if openmetrics:
            stack.enter_context(_endpoint(openmetrics, views, say))
        if live and order.command:
            views.output = stack.enter_context(home.unnamed_file("steelyard-output-"))
        yield views


def _screen(order: WatchOrder, tally: Totals) -> "LiveScreen":
    from steelyard.watch import live, sentences

    return live.LiveScreen(tally, watched=sentences.subject(order))


@contextmanager
def _endpoint(text: str, views: Views, say: Callable[[str], None]) -> Iterator[None]:
    from steelyard.watch import openmetrics

    address = openmetrics.parse(text)
    with openmetrics.serve(address, views.tally, monitor_cpu_ns=views.monitor_cpu_ns) as taken:
        say(f"metrics at http://{taken}/metrics")
        yield


def _print_all(output: BinaryIO) -> None:
    output.seek(0)
    while part := output.read(1 << 16):
        os.write(sys.stdout.fileno(), part)
