"""How many events there were in all, from those that were counted in windows of random phase.

Time is cut into periods, and in each a window stands at a random place: x, the events in the window times
period over window, is what it says of its period, without bias whatever the events do. Their sum estimates
the total; its variance is that of the windows' answers, times their number (stratified sampling with one draw
a stratum, the strata taken as if they were alike, which errs on the safe side: Cochran, 1977, chapter 5).
Condition: FEWEST windows or more. It misleads where a few windows hold nearly all the events (the interval is
then too short as often as those are missed), and of several processes where they do the same at the same
moment: their variances are added as if they were independent.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.statistics import student
from steelyard.statistics.signed_rank import Estimate

FEWEST = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """What one process's windows saw of one kind of event. `total` and `squares` are the sums of x and of its
    square over all of its windows."""

    windows: int
    events: int
    total: float
    squares: float


def total(parts: Iterable[Seen], *, level: float = 0.95) -> Estimate | None:
    """The events of all parts together with an interval, which ends at what was seen for certain; None for
    fewer than FEWEST windows in all."""
    parts = tuple(parts)
    windows = sum(part.windows for part in parts)
    if windows < FEWEST:
        return None
    value = math.fsum(part.total for part in parts)
    reach = student.reach(windows - 1, level=level) * math.sqrt(math.fsum(map(_variance, parts)))
    seen = sum(part.events for part in parts)
    return Estimate(value, max(value - reach, float(seen)), value + reach, level)


def _variance(part: Seen) -> float:
    """Of its total. A process that lived for a window or two might as well have met none or another: for it
    the sum of squares stands, as for events that come by chance (Poisson)."""
    if part.windows < FEWEST:
        return part.squares
    mean = part.total / part.windows
    spread = max(part.squares - part.windows * mean * mean, 0.0) / (part.windows - 1)
    return part.windows * spread
