"""The words a comparison ends in, from two intervals and one margin.

All on the log scale, positive where the system is better than the baseline.
"""

import math

from steelyard.statistics.signed_rank import Estimate

FASTER = "faster"
SLOWER = "slower"
EQUIVALENT = "equivalent"
FASTER_OPEN = "faster, size open"
SLOWER_OPEN = "slower, size open"
BOUNDED = "bounded"  # no difference is claimed, and none can be larger than the interval says
UNRESOLVED = "unresolved"

CLAIMED = (FASTER, SLOWER, FASTER_OPEN, SLOWER_OPEN)  # that there is a difference
FIRM = (FASTER, SLOWER, EQUIVALENT)  # need no more blocks


def word(difference: Estimate, equivalence: Estimate, *, margin: float) -> str:
    """The verdict: `difference` with its 95 % interval, `equivalence` with its 90 % interval (that is,
    two one-sided tests), `margin` the smallest difference that matters, as a fraction."""
    far = math.log1p(margin)
    if difference.low is None or difference.high is None:
        return UNRESOLVED
    if difference.low > far:
        return FASTER
    if difference.high < -far:
        return SLOWER
    low, high = equivalence.low, equivalence.high
    if low is not None and high is not None and -far < low and high < far:
        return EQUIVALENT
    if difference.low > 0:
        return FASTER_OPEN
    if difference.high < 0:
        return SLOWER_OPEN
    return UNRESOLVED
