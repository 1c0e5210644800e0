"""Turns the moments of many processes at once into what chapter 6 of Goncalves (1999) says of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from steelyard.analysis.crowds import Crowd
from steelyard.analysis.model import Life, Multiprogramming
from steelyard.analysis.observations import Observations
from steelyard.statistics import multiprogramming as statistics
from steelyard.statistics import order_statistics
from steelyard.statistics.signed_rank import Estimate


def all_of(observations: Observations) -> Iterable[Multiprogramming]:
    """For each cell that has many processes at once, each system."""
    for label in observations.cells:
        for system in observations.names:
            crowds = observations.crowds.get((label, system))
            if crowds:
                yield _of(observations, label, system, crowds)


def _of(observations: Observations, label: str, system: str, crowds: Sequence[Crowd]) -> Multiprogramming:
    cell = observations.cells[label]
    whole = [crowd for crowd in crowds if crowd.is_ok]

    def median(of: Callable[[Crowd], float]) -> Estimate | None:
        numbers = np.array([of(crowd) for crowd in whole])
        known = numbers[~np.isnan(numbers)]
        return order_statistics.median(known) if len(known) else None

    def delays(crowd: Crowd, quantile: float) -> float:
        return float(np.quantile(statistics.start_delays(crowd.moments), quantile))

    shown = _typical(whole or crowds)
    return Multiprogramming(
        system=system,
        workload=cell.workload,
        parameters=cell.parameters,
        cell=label,
        processes=len(crowds[0].statuses),
        processors=crowds[0].moments.processors,
        trials=len({crowd.trial for crowd in crowds}),
        created=round(float(np.median([_created(crowd) for crowd in crowds]))),
        finished=round(float(np.median([crowd.statuses.count("ok") for crowd in crowds]))),
        total=median(lambda crowd: statistics.total(crowd.moments)),
        alone=median(lambda crowd: crowd.alone_ns),
        per_process=median(lambda crowd: statistics.total(crowd.moments) / crowd.statuses.count("ok")),
        price=median(lambda crowd: statistics.price(crowd.moments, alone=crowd.alone_ns)),
        start_delay=median(lambda crowd: delays(crowd, 0.5)),
        start_delay_95=median(lambda crowd: delays(crowd, 0.95)),
        start_delay_most=median(lambda crowd: delays(crowd, 1.0)),
        elapsed=median(lambda crowd: float(statistics.elapsed(crowd.moments).mean())),
        unevenness=median(lambda crowd: statistics.spread(statistics.elapsed(crowd.moments))),
        fairness=tuple(statistics.fairness_over_time(shown.moments)),
        lives=tuple(_lives(shown)),
        failures=tuple(_failures(crowds)),
    )


def _created(crowd: Crowd) -> int:
    return sum(status not in ("not created", "not asked for") for status in crowd.statuses)


def _typical(crowds: Sequence[Crowd]) -> Crowd:
    """The one whose total is the median; of two in the middle the earlier."""
    ranked = sorted(crowds, key=lambda crowd: np.nan_to_num(statistics.total(crowd.moments), nan=-1.0))
    return ranked[(len(ranked) - 1) // 2]


def _lives(crowd: Crowd) -> Iterable[Life]:
    moments = crowd.moments
    for asked, began, ended, reaped, status in zip(
        moments.asked, moments.began, moments.ended, crowd.reaped, crowd.statuses, strict=True
    ):
        known = [None if np.isnan(moment) else float(moment) for moment in (asked, began, ended)]
        yield Life(known[0], known[1], known[2] if known[2] is not None else reaped, status)


def _failures(crowds: Sequence[Crowd]) -> Iterable[tuple[str, int]]:
    counted: Counter[str] = Counter()
    for crowd in crowds:
        for status, reason in zip(crowd.statuses, crowd.reasons, strict=True):
            if status == "not asked for":
                counted["not asked for, because one before could not be created"] += 1
            elif status != "ok":
                counted[reason or status] += 1
    yield from counted.most_common()
