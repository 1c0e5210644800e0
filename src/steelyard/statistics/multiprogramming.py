"""Computes the cost of many concurrent processes, and how evenly they progress, from each one's moments.

All times are in ns on one clock. A moment that a process did not reach is NaN.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WINDOWS_LEAST, WINDOWS_MOST = 20, 1000  # parts of the whole time with a fairness each


@dataclass(frozen=True, slots=True)
class Moments:
    """A group of processes: when each was asked for, began and ended; and when it had done each further
    equal part of its work (a row a process)."""

    asked: Array
    began: Array
    ended: Array
    marks: Array
    processors: int


def total(group: Moments) -> float:
    """From the first start to the last end of those that finished: the dissertation's total time (Gonçalves,
    2001, section 5.2). NaN if none finished."""
    done = ~np.isnan(group.ended)
    if not done.any():
        return float("nan")
    return float(group.ended[done].max() - group.began[done].min())


def price(group: Moments, *, alone: float) -> float:
    """The total time over what it would be if sharing processors were free: those that finished, each for
    the time that one takes alone, spread over the processors. 1 means free."""
    finished = int((~np.isnan(group.ended)).sum())
    if not finished:
        return float("nan")
    return total(group) * min(group.processors, finished) / (finished * alone)


def start_delays(group: Moments) -> Array:
    """The time from being asked for to beginning to work, of those that began."""
    delays = group.began - group.asked
    times: Array = delays[~np.isnan(delays)]
    return times


def elapsed(group: Moments) -> Array:
    """Each finished process's own time, from its beginning to its end."""
    own = group.ended - group.began
    times: Array = own[~np.isnan(own)]
    return times


def spread(values: Array) -> float:
    """The coefficient of variation: standard deviation over mean; NaN with fewer than two values."""
    return float(values.std(ddof=1) / values.mean()) if len(values) > 1 else float("nan")


def jain(shares: Array) -> float:
    """Jain's index of fairness (Jain, Chiu and Hawe, 1984): 1 if all have the same, 1/n if one has all."""
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (len(shares) * squares) if squares else float("nan")


def fairness_over_time(group: Moments, *, windows: int | None = None) -> list[tuple[float, float, int]]:
    """For equal parts of the total time: the end of the part (ns from the first start), Jain's index of the
    processes' progress in it, and their number. Only processes that were there for the whole part count; a
    part with fewer than two is left out. Work between two marks is assumed to progress evenly. By default the
    number of parts is such that half of the processes are there for two of them.
    """
    done = ~np.isnan(group.ended)
    if not done.any():
        return []
    began, ended, marks = group.began[done], group.ended[done], group.marks[done]
    if windows is None:
        needed = 2 * float((ended.max() - began.min()) / np.median(ended - began))
        windows = int(min(max(np.ceil(needed), WINDOWS_LEAST), WINDOWS_MOST))
    parts = np.linspace(0.0, 1.0, marks.shape[1] + 1)
    edges = np.linspace(began.min(), ended.max(), windows + 1)
    progress = np.array(
        [
            np.interp(edges, np.concatenate(([start], row)), parts)
            for start, row in zip(began, marks, strict=True)
        ]
    )
    points = []
    for number in range(windows):
        there = (began <= edges[number]) & (ended >= edges[number + 1])
        if there.sum() >= 2:
            gained = progress[there, number + 1] - progress[there, number]
            index = jain(gained)
            if not np.isnan(index):
                points.append((float(edges[number + 1] - edges[0]), index, int(there.sum())))
    return points
