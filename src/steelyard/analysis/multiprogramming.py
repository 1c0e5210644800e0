"""Turns the moments of many processes at once into what chapter 6 of Goncalves (1999) says of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from steelyard.analysis.model import Life, Multiprogramming
from steelyard.analysis.observations import Group, Observations
from steelyard.statistics import multiprogramming as statistics
from steelyard.statistics import order_statistics
from steelyard.statistics.signed_rank import Estimate


def all_of(seen: Observations) -> Iterable[Multiprogramming]:
    """For each cell that has groups of processes, each system."""
    for label in seen.cells:
        for system in seen.names:
            groups = seen.groups.get((label, system))
            if groups:
                yield _of(seen, label, system, groups)


def _of(seen: Observations, label: str, system: str, groups: Sequence[Group]) -> Multiprogramming:
    cell = seen.cells[label]
    whole = [group for group in groups if group.is_ok]

    def median(of: Callable[[Group], float]) -> Estimate | None:
        numbers = np.array([of(group) for group in whole])
        known = numbers[~np.isnan(numbers)]
        return order_statistics.median(known) if len(known) else None

    def delays(group: Group, quantile: float) -> float:
        return float(np.quantile(statistics.start_delays(group.moments), quantile))

    shown = _typical(whole or groups)
    return Multiprogramming(
        system=system,
        workload=cell.workload,
        parameters=cell.parameters,
        cell=label,
        processes=len(groups[0].statuses),
        processors=groups[0].moments.processors,
        trials=len({group.trial for group in groups}),
        created=round(float(np.median([_created(group) for group in groups]))),
        finished=round(float(np.median([group.statuses.count("ok") for group in groups]))),
        total=median(lambda group: statistics.total(group.moments)),
        alone=median(lambda group: group.alone_ns),
        per_process=median(lambda group: statistics.total(group.moments) / group.statuses.count("ok")),
        price=median(lambda group: statistics.price(group.moments, alone=group.alone_ns)),
        start_delay=median(lambda group: delays(group, 0.5)),
        start_delay_95=median(lambda group: delays(group, 0.95)),
        start_delay_most=median(lambda group: delays(group, 1.0)),
        elapsed=median(lambda group: float(statistics.elapsed(group.moments).mean())),
        unevenness=median(lambda group: statistics.spread(statistics.elapsed(group.moments))),
        fairness=tuple(statistics.fairness_over_time(shown.moments)),
        lives=tuple(_lives(shown)),
        failures=tuple(_failures(groups)),
    )


def _created(group: Group) -> int:
    return sum(status not in ("not created", "not asked for") for status in group.statuses)


def _typical(groups: Sequence[Group]) -> Group:
    """The one whose total is the median; of two in the middle the earlier."""
    ranked = sorted(groups, key=lambda group: np.nan_to_num(statistics.total(group.moments), nan=-1.0))
    return ranked[(len(ranked) - 1) // 2]


def _lives(group: Group) -> Iterable[Life]:
    moments = group.moments
    for asked, began, ended, reaped, status in zip(
        moments.asked, moments.began, moments.ended, group.reaped, group.statuses, strict=True
    ):
        known = [None if np.isnan(moment) else float(moment) for moment in (asked, began, ended)]
        yield Life(known[0], known[1], known[2] if known[2] is not None else reaped, status)


def _failures(groups: Sequence[Group]) -> Iterable[tuple[str, int]]:
    counted: Counter[str] = Counter()
    for group in groups:
        for status, reason in zip(group.statuses, group.reasons, strict=True):
            if status == "not asked for":
                counted["not asked for, because one before could not be created"] += 1
            elif status != "ok":
                counted[reason or status] += 1
    yield from counted.most_common()
