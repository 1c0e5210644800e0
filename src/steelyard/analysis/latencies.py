"""Quantiles of latencies of all trials together, from histograms that add up: an average of quantiles is not
one."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from steelyard.analysis.model import Latencies
from steelyard.analysis.observations import Observations
from steelyard.archive import relations
from steelyard.statistics import order_statistics

SHARES = (0.5, 0.9, 0.99, 0.999)


def all_of(observations: Observations) -> Iterable[Latencies]:
    """Quantiles of all requests of each cell and system, with the interval of the trials' own."""
    trials: dict[tuple[str, str, str], list[Mapping[int, int]]] = defaultdict(list)
    for row in observations.rows.histograms:
        counts = dict(zip(row.values_ns, row.requests, strict=True))
        trials[row.cell, row.metric, row.system].append(counts)
    for (label, metric, system), found in sorted(trials.items()):
        cell = observations.cells[label]
        together: Counter[int] = Counter()
        for one in found:
            together.update(one)
        quantiles = {
            share: order_statistics.around(
                quantile(together, share), np.array([quantile(one, share) for one in found])
            )
            for share in SHARES
        }
        requests = together.total()
        yield Latencies(
            system, cell.workload, cell.parameters, label, metric, len(found), requests, quantiles
        )


def quantile(counts: Mapping[int, int], share: float) -> float:
    """The value in ns that this share of all does not exceed, interpolated evenly within its bucket."""
    wanted, below = share * sum(counts.values()), 0
    value = 0
    for value, count in sorted(counts.items()):
        if below + count >= wanted:
            return value + relations.bucket_width(value) * (wanted - below) / count
        below += count
    return float(value)
