"""What an early claim has to be larger than: more than any one system differs by from itself.

Up to five units, a difference is claimed only if even the least of the paired differences is beyond two
limits. One is fixed: a factor of 30 after two units, 10 after three, 3 after four. The other is measured:
the second largest range of one system's own values in the family (its group of workloads), times 1.2. A
metric whose trials fall into one of two modes (two partners on one processor, or on two) looks like a
difference until both systems have met both modes; no statistic of two pairs can see that, and a study's
other metrics can.
"""

import math
from collections.abc import Sequence

from steelyard.statistics.signed_rank import Array

LAST = 5  # units; with more, none is needed
_FACTORS = {2: 30.0, 3: 10.0, 4: 3.0}
_RANGES = 1.2
_FEW = 4  # metrics: with fewer in a family the largest range counts, with more the second largest


def least(differences: Array) -> float:
    """The smallest of the differences if all point the same way; else 0."""
    if (differences > 0).all() or (differences < 0).all():
        return float(abs(differences).min())
    return 0.0


def spread(values: Sequence[Array], *, metrics: int) -> float:
    """The distance between one system's log values in a family of metrics of this size: one array for each
    metric and system; arrays with fewer than two values say nothing.
    """
    ranges = sorted((float(one.max() - one.min()) for one in values if len(one) > 1), reverse=True)
    if not ranges:
        return math.inf
    return ranges[1] if metrics >= _FEW and len(ranges) > 1 else ranges[0]


def limit(units: int, spread_found: float) -> float:
    """The limit for the smallest difference after this number of units, on the log scale."""
    if units > LAST:
        return 0.0
    return max(math.log(_FACTORS.get(units, 1.0)), _RANGES * spread_found)
