"""Turns the moments of many processes at once into what chapter 6 of Gonçalves (2001) says of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from steelyard.analysis.concurrent_runs import ConcurrentRun
from steelyard.analysis.model import Life, Multiprogramming
from steelyard.analysis.observations import Observations
from steelyard.statistics import multiprogramming as statistics
from steelyard.statistics import order_statistics
from steelyard.statistics.signed_rank import Estimate


def all_of(observations: Observations) -> Iterable[Multiprogramming]:
    """The figures of each cell with many concurrent processes, for each system."""
    for label in observations.cells:
        for system in observations.names:
            concurrent_runs = observations.concurrent_runs.get((label, system))
            if concurrent_runs:
                yield _of(observations, label, system, concurrent_runs)


def _of(
    observations: Observations, label: str, system: str, concurrent_runs: Sequence[ConcurrentRun]
) -> Multiprogramming:
    cell = observations.cells[label]
    whole = [concurrent_run for concurrent_run in concurrent_runs if concurrent_run.is_ok]

    def median(of: Callable[[ConcurrentRun], float]) -> Estimate | None:
        numbers = np.array([of(concurrent_run) for concurrent_run in whole])
        known = numbers[~np.isnan(numbers)]
        return order_statistics.median(known) if len(known) else None

    def delays(concurrent_run: ConcurrentRun, quantile: float) -> float:
        return float(np.quantile(statistics.start_delays(concurrent_run.moments), quantile))

    shown = _typical(whole or concurrent_runs)
    return Multiprogramming(
        system=system,
        workload=cell.workload,
        parameters=cell.parameters,
        cell=label,
        processes=len(concurrent_runs[0].statuses),
        processors=concurrent_runs[0].moments.processors,
        trials=len({concurrent_run.trial for concurrent_run in concurrent_runs}),
        created=round(float(np.median([_created(concurrent_run) for concurrent_run in concurrent_runs]))),
        finished=round(
            float(np.median([concurrent_run.statuses.count("ok") for concurrent_run in concurrent_runs]))
        ),
        total=median(lambda concurrent_run: statistics.total(concurrent_run.moments)),
        alone=median(lambda concurrent_run: concurrent_run.alone_ns),
        per_process=median(
            lambda concurrent_run: (
                statistics.total(concurrent_run.moments) / concurrent_run.statuses.count("ok")
            )
        ),
        price=median(
            lambda concurrent_run: statistics.price(concurrent_run.moments, alone=concurrent_run.alone_ns)
        ),
        start_delay=median(lambda concurrent_run: delays(concurrent_run, 0.5)),
        start_delay_95=median(lambda concurrent_run: delays(concurrent_run, 0.95)),
        start_delay_most=median(lambda concurrent_run: delays(concurrent_run, 1.0)),
        elapsed=median(lambda concurrent_run: float(statistics.elapsed(concurrent_run.moments).mean())),
        unevenness=median(
            lambda concurrent_run: statistics.spread(statistics.elapsed(concurrent_run.moments))
        ),
        fairness=tuple(statistics.fairness_over_time(shown.moments)),
        lives=tuple(_lives(shown)),
        failures=tuple(_failures(concurrent_runs)),
    )


def _created(concurrent_run: ConcurrentRun) -> int:
    return sum(status not in ("not created", "not asked for") for status in concurrent_run.statuses)


def _typical(concurrent_runs: Sequence[ConcurrentRun]) -> ConcurrentRun:
    """The one whose total is the median; of two in the middle the earlier."""
    ranked = sorted(
        concurrent_runs,
        key=lambda concurrent_run: np.nan_to_num(statistics.total(concurrent_run.moments), nan=-1.0),
    )
    return ranked[(len(ranked) - 1) // 2]


def _lives(concurrent_run: ConcurrentRun) -> Iterable[Life]:
    moments = concurrent_run.moments
    for asked, began, ended, reaped, status in zip(
        moments.asked,
        moments.began,
        moments.ended,
        concurrent_run.reaped,
        concurrent_run.statuses,
        strict=True,
    ):
        known = [None if np.isnan(moment) else float(moment) for moment in (asked, began, ended)]
        yield Life(known[0], known[1], known[2] if known[2] is not None else reaped, status)


def _failures(concurrent_runs: Sequence[ConcurrentRun]) -> Iterable[tuple[str, int]]:
    counted: Counter[str] = Counter()
    for concurrent_run in concurrent_runs:
        for status, reason in zip(concurrent_run.statuses, concurrent_run.reasons, strict=True):
            if status == "not asked for":
                counted[status] += 1  # without its own reason: an earlier one could not be created
            elif status != "ok":
                counted[reason or status] += 1
    yield from counted.most_common()
