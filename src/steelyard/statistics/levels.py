"""The looks of an experiment, and the error rates that let it be looked at so often.

An experiment is looked at after 2, 3, 4, ... units (blocks, or boots), and may stop at each look. Testing at
5 % each time would raise a false alarm in 32 % of comparisons. So each look has a nominal level of its own,
chosen so that all looks together keep 5 % (Pocock 1977; Lan and DeMets 1983; Jennison and Turnbull 2000,
chapters 4 and 9). Late looks have the least, because more units make up for it. The figures are from 200,000
simulated paths (bench/looks.py prints them again): claims 5.0 %, intervals that miss 5.0 %.
"""

from bisect import bisect_right

LOOKS = (
    *(2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128),
    *(192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096),
)

_MIDDLE_FROM, _LATE_FROM, _LAST_FROM = 8, 129, 1025
_EARLY, _MIDDLE, _LATE, _LAST = 0.003, 0.0065, 0.0022, 0.0008  # of a claim
_USUAL, _USUAL_LATE, _USUAL_LAST = 0.0055, 0.0018, 0.0008
# Of the interval in which a claimed difference is quoted, at whatever look measuring stops: it stops for how
# narrow the interval is, and hardly for where it lies (bench/claimed_intervals.py).
SIZE = 0.05


def claim(units: int) -> float:
    """The nominal two-sided level of a claim that rests on this number of units."""
    if units < _MIDDLE_FROM:
        return _EARLY
    if units < _LATE_FROM:
        return _MIDDLE
    return _LATE if units < _LAST_FROM else _LAST


def usual(units: int) -> float:
    """The error rate of the interval at that look, such that all looks together keep 95 %."""
    if units < _LATE_FROM:
        return _USUAL
    return _USUAL_LATE if units < _LAST_FROM else _USUAL_LAST


def widened(p: float, units: int) -> float:
    """The p-value of one look as a p-value of all looks together: held against 5 % by what comes after."""
    return min(1.0, p * 0.05 / claim(units))


def last_look(units: int) -> int:
    """The latest look that this number of units has reached; 0 before the first."""
    reached = bisect_right(LOOKS, units)
    return LOOKS[reached - 1] if reached else 0


def after(units: int) -> tuple[int, ...]:
    """The looks after this number of units."""
    return LOOKS[bisect_right(LOOKS, units) :]
