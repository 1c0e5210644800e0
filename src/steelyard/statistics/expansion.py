"""How many events there were in all, from those that were counted in windows of random phase.

Of each process it is known how long it ran in all (while events were not counted otherwise), and how long in
its windows, and what it did there. A window weighs as much as the time that it stands for is long.
What it did for each ns of run time in windows, times all of its run time, is the estimate (a ratio estimator:
Cochran 1977, chapter 6; that windows are long or short, or that it slept in some, costs nothing). Its
variance is that of what windows hold beyond their share, events - ratio x run time, less for what was seen of
the whole. Processes that met fewer than FEWEST windows are estimated together, and if those are still too
few, all are.

What counting itself took is taken off the run time in windows, by a price that differs from call to call:
half of what it makes of the estimate widens the interval.

Condition: FEWEST windows in which it ran. It misleads where a few windows hold nearly all the events (the
interval is then too short as often as those are missed), where processes that met no window are unlike those
that did, and of several processes that do the same at the same moment: variances are added as if they were
independent.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.statistics import student
from steelyard.statistics.signed_rank import Estimate

FEWEST = 3


@dataclass(frozen=True, slots=True)
class Part:
    """What windows saw of one process and one kind of event. Sums are over windows in which it ran, each
    weighted, but for `run_in_windows`, `events_in_windows` and `counting`. Without the first two all weights
    are 1."""

    windows: int
    run_all: float  # its run time, in windows or not
    run: float
    run_squares: float
    events: float = 0
    squares: float = 0.0  # of events
    products: float = 0.0  # of events and run time
    counting: float = 0.0  # run time that the counting itself took, not in `run`
    run_in_windows: float | None = None  # run time in windows
    events_in_windows: int | None = None  # events in windows


def total(parts: Iterable[Part], *, level: float = 0.95) -> Estimate | None:
    """The events of all parts together with an interval, which ends at what was seen for certain; None for
    fewer than FEWEST windows in all."""
    strata = _strata(tuple(parts))
    if strata is None:
        return None
    value = math.fsum(one.events / one.run * one.run_all for one in strata)
    freedom = max(sum(one.windows - 1 for one in strata), 1)
    reach = student.reach(freedom, level=level) * math.sqrt(math.fsum(map(_variance, strata)))
    reach += math.fsum(
        one.counting / _run_in_windows(one) / 2 * one.events / one.run * one.run_all for one in strata
    )
    certain = float(sum(map(_events_in_windows, strata)))
    return Estimate(value, max(value - reach, certain), max(value + reach, certain), level)


def _run_in_windows(part: Part) -> float:
    return part.run if part.run_in_windows is None else part.run_in_windows


def _events_in_windows(part: Part) -> float:
    return part.events if part.events_in_windows is None else part.events_in_windows


def _strata(parts: Sequence[Part]) -> list[Part] | None:
    """Those with windows enough, each by itself, and one for the rest; or one for all; or None."""
    own = [part for part in parts if _is_enough(part)]
    rest = _pooled([part for part in parts if not _is_enough(part)])
    if not rest.run_all and not rest.windows:
        return own or None
    if _is_enough(rest):
        return [*own, rest]
    whole = _pooled(parts)
    return [whole] if _is_enough(whole) else None


def _is_enough(part: Part) -> bool:
    return part.windows >= FEWEST and part.run > 0


def _pooled(parts: Sequence[Part]) -> Part:
    return Part(
        windows=sum(part.windows for part in parts),
        run_all=math.fsum(part.run_all for part in parts),
        run=math.fsum(part.run for part in parts),
        run_squares=math.fsum(part.run_squares for part in parts),
        counting=math.fsum(part.counting for part in parts),
        events=sum(part.events for part in parts),
        squares=math.fsum(part.squares for part in parts),
        products=math.fsum(part.products for part in parts),
        run_in_windows=math.fsum(map(_run_in_windows, parts)),
        events_in_windows=round(math.fsum(map(_events_in_windows, parts))),
    )


def _variance(part: Part) -> float:
    """The variance of its total."""
    ratio = part.events / part.run
    beyond = part.squares - 2 * ratio * part.products + ratio * ratio * part.run_squares
    unseen = max(1 - _run_in_windows(part) / part.run_all, 0.0) if part.run_all else 0.0
    spread = part.windows / (part.windows - 1) * max(beyond, 0.0)
    return spread * unseen * (part.run_all / part.run) ** 2
