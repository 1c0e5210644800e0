"""How many events there were in all, from those that were counted in windows of random phase.

Of each process it is known how long it ran in all (while events were not counted otherwise), and how long in
its windows, and what it did there. A window weighs as much as the time that it stands for is long.
What it did for each ns of run time in windows, times all of its run time, is the estimate (a ratio estimator:
Cochran 1977, chapter 6; that windows are long or short, or that it slept in some, costs nothing). Its
variance is that of what windows hold beyond their share, events - ratio x run time, less for what was seen of
the whole. Processes that met fewer than FEWEST windows are estimated together, and if those are still too
few, all are.

Windows vary too little to say this where they hold few events, and nothing at all where they hold none. But
an event is seen only if it falls into a window. Events that come one by one, at random, are seen as often as
a Poisson variable says: the interval reaches at least as far as Byar's bounds of one (Breslow and Day 1987,
section 2.3) for as many as were seen, times how many one that was seen stands for. Of none it reaches from 0
to 3.7 times that. Where nearly all the run time was in windows there is little to add: the reach is less by
the square root of the share that was not.

What counting itself took is taken off the run time in windows, by a price that differs from call to call:
half of what it makes of the estimate widens the interval.

Condition: FEWEST windows in which it ran. It misleads where a few windows hold nearly all the events, or
would if one had opened then (the interval is then too short as often as those are missed), where processes
that met no window are unlike those that did, and of several processes that do the same at the same moment:
variances are added as if they were independent.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from steelyard.statistics import student
from steelyard.statistics.signed_rank import Estimate

FEWEST = 3


@dataclass(frozen=True, slots=True)
class Exposure:
    """The share of one process that the windows saw. Sums are over windows in which it ran, each weighted,
    except for `run_in_windows` and `counting`. Without `weighted_twice` and `run_in_windows` all weights are
    1.
    """

    windows: int
    run_all: float  # its run time, in windows or not
    run: float
    run_squares: float
    counting: float = 0.0  # run time that the counting itself took, not in `run`
    weighted_twice: float | None = None  # run time in windows, each weighted by the square of its weight
    run_in_windows: float | None = None  # run time in windows

    @property
    def is_enough(self) -> bool:
        """True if it can be estimated by itself."""
        return self.windows >= FEWEST and self.run > 0

    @property
    def in_windows(self) -> float:
        """Its run time in windows."""
        return self.run if self.run_in_windows is None else self.run_in_windows


@dataclass(frozen=True, slots=True)
class Events:
    """One kind of event, as windows saw it in one process. Sums are weighted, but for `in_windows`."""

    events: float
    squares: float = 0.0  # of events
    products: float = 0.0  # of events and run time
    in_windows: float | None = None  # events in windows; None: all weights are 1


class Expansion:
    """The estimate of the events of several processes from windows. The windows' data on the processes are
    added up once, for every kind of event; the cost per kind is then proportional to the processes in which
    it was seen.
    """

    def __init__(self, exposures: Sequence[Exposure], *, level: float = 0.95) -> None:
        self._level = level
        own = [number for number, one in enumerate(exposures) if one.is_enough]
        self._strata = [exposures[number] for number in own]  # each by itself, then one for the rest; or one
        self._own = {number: stratum for stratum, number in enumerate(own)}
        self._pool: int | None = None  # the stratum of those that are not estimated by themselves
        rest = _pooled([one for one in exposures if not one.is_enough])
        if rest.run_all or rest.windows:
            if not rest.is_enough:
                self._own, self._strata = {}, []
                rest = _pooled(exposures)
            if rest.is_enough:
                self._pool = len(self._strata)
                self._strata.append(rest)
        if not self._strata:
            return
        self._stands_for = _stands_for(self._strata)
        freedom = max(sum(one.windows - 1 for one in self._strata), 1)
        self._reach = student.reach(freedom, level=level)
        self._z = NormalDist().inv_cdf((1 + level) / 2)

    def value(self, seen: Mapping[int, Events]) -> float | None:
        """Like `total`, without the interval."""
        if not self._strata:
            return None
        return math.fsum(_value(stratum, one) for stratum, one in self._by_stratum(seen))

    def total(self, seen: Mapping[int, Events]) -> Estimate | None:
        """The events of all processes together, from those that were seen, by the number of the process in
        ascending order; with an interval, which ends at what was seen for certain. None for fewer than FEWEST
        windows in all."""
        if not self._strata:
            return None
        parts = self._by_stratum(seen)
        value = math.fsum(_value(stratum, one) for stratum, one in parts)
        reach = self._reach * math.sqrt(math.fsum(_variance(stratum, one) for stratum, one in parts))
        reach += math.fsum(
            stratum.counting / stratum.in_windows / 2 * one.events / stratum.run * stratum.run_all
            for stratum, one in parts
        )
        low, high = self._of_scattered(value)
        certain = float(sum(_certain(one) for _, one in parts))
        return Estimate(
            value, max(min(value - reach, low), certain), max(value + reach, high, certain), self._level
        )

    def _by_stratum(self, seen: Mapping[int, Events]) -> list[tuple[Exposure, Events]]:
        """Strata with what was seen in them; those in which nothing was add nothing."""
        parts = [
            (self._strata[self._own[number]], one) for number, one in seen.items() if number in self._own
        ]
        if self._pool is not None:
            pooled = [one for number, one in seen.items() if number not in self._own]
            parts.append((self._strata[self._pool], _together(pooled)))
        return parts

    def _of_scattered(self, value: float) -> tuple[float, float]:
        """Byar's bounds for this number of events, each of which stands for several."""
        each, z = self._stands_for, self._z
        seen = value / each
        unseen = math.sqrt(each * (each - 1))
        above = (seen + 1) * (1 - 1 / (9 * (seen + 1)) + z / (3 * math.sqrt(seen + 1))) ** 3
        below = seen * max(1 - 1 / (9 * seen) - z / (3 * math.sqrt(seen)), 0.0) ** 3 if seen else 0.0
        return value - unseen * (seen - below), value + unseen * (above - seen)


def _stands_for(strata: Sequence[Exposure]) -> float:
    """The number of events that a seen one represents, on average over the run time: 1 or more."""
    whole = math.fsum(one.run_all for one in strata)
    if not whole:
        return 1.0
    return max(math.fsum(one.run_all * _stands_for_in(one) for one in strata) / whole, 1.0)


def _stands_for_in(one: Exposure) -> float:
    """The number of events that a seen one represents in each period: in a period of weight w, w times that
    of weight 1; the run time in such periods is w times that in windows there.
    """
    if one.weighted_twice is None:
        return one.run_all / one.in_windows
    return one.weighted_twice / one.run * one.run_all / one.run


def _pooled(parts: Sequence[Exposure]) -> Exposure:
    return Exposure(
        windows=sum(part.windows for part in parts),
        run_all=math.fsum(part.run_all for part in parts),
        run=math.fsum(part.run for part in parts),
        run_squares=math.fsum(part.run_squares for part in parts),
        counting=math.fsum(part.counting for part in parts),
        weighted_twice=(
            None
            if any(part.weighted_twice is None for part in parts)
            else math.fsum(part.weighted_twice or 0.0 for part in parts)
        ),
        run_in_windows=math.fsum(part.in_windows for part in parts),
    )


def _together(parts: Sequence[Events]) -> Events:
    return Events(
        events=sum(part.events for part in parts),
        squares=math.fsum(part.squares for part in parts),
        products=math.fsum(part.products for part in parts),
        in_windows=round(math.fsum(map(_certain, parts))),
    )


def _certain(one: Events) -> float:
    return one.events if one.in_windows is None else one.in_windows


def _value(stratum: Exposure, one: Events) -> float:
    return one.events / stratum.run * stratum.run_all


def _variance(stratum: Exposure, one: Events) -> float:
    """The variance of its total."""
    ratio = one.events / stratum.run
    beyond = one.squares - 2 * ratio * one.products + ratio * ratio * stratum.run_squares
    unseen = max(1 - stratum.in_windows / stratum.run_all, 0.0) if stratum.run_all else 0.0
    spread = stratum.windows / (stratum.windows - 1) * max(beyond, 0.0)
    return spread * unseen * (stratum.run_all / stratum.run) ** 2
