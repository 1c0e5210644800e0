"""The trimmed mean of paired differences, and its error (Tukey and McLaughlin 1963; Yuen 1974).

On shared machines one trial in ten or twenty is hit hard. A mean of ten differences is then as wide as its
worst one, and so is the interval of signed ranks, which at these levels leaves out hardly any difference.
Without a fifth of the differences at either end the mean stays, and its error comes from the winsorized
variance, which counts what was left out as large as what is left. From 8 differences on; of fewer, two modes
of a metric look like one and an outlier.

The literature gives that variance as many degrees of freedom as differences are kept, less one. At the levels
of looks and of many metrics that is too many: with normal noise 1.3 times as many intervals miss as may at
0.65 %, and twice as many at 0.01 %. With one less for each difference left out at one end 0.8 to 1.0 times as
many do, and 0.2 to 1.2 (bench/interval_widths.py).
"""

import numpy as np

from steelyard.statistics.signed_rank import Array

FROM = 8  # differences
_SHARE = 0.2  # of them is left out at either end


def kept(count: int) -> int:
    """The number of differences that the mean uses."""
    return count - 2 * _left_out(count)


def freedom(count: int) -> int:
    """The degrees of freedom of the variance."""
    return kept(count) - 1 - _left_out(count)


def centre(differences: Array) -> float:
    """The mean of what is kept."""
    out = _left_out(len(differences))
    return float(np.sort(differences)[out : len(differences) - out].mean())


def variance(differences: Array) -> float:
    """The variance for this number of kept differences: divided by their number it is the mean's squared
    error.
    """
    count, out = len(differences), _left_out(len(differences))
    ordered = np.sort(differences)
    winsorized = np.clip(ordered, ordered[out], ordered[count - out - 1])
    return float(winsorized.var()) * count / (kept(count) - 1)


def _left_out(count: int) -> int:
    return int(_SHARE * count) if count >= FROM else 0
