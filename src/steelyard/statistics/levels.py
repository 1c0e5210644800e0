"""The looks of an experiment, and the error rates that let it be looked at so often.

An experiment is looked at after 2, 3, 4, ... units (blocks, or boots), and may stop at each look. Testing at
5 % each time would raise a false alarm in 28 % of comparisons. So each look has a nominal level of its own,
chosen so that all looks together keep 5 % (Pocock 1977; Jennison and Turnbull 2000, chapter 9). The figures
are from 200,000 simulated paths (bench/looks.py prints them again): claims 4.9 %, intervals that miss 5.0 %.
"""

from bisect import bisect_right

LOOKS = (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)

USUAL = 0.0065  # of the interval at each look: 95 % for all looks together
_EARLY, _LATE, _LATE_FROM = 0.003, 0.008, 8


def claim(units: int) -> float:
    """The nominal two-sided level of a claim that rests on so many units."""
    return _EARLY if units < _LATE_FROM else _LATE


def widened(p: float, units: int) -> float:
    """The p-value of one look as a p-value of all looks together: held against 5 % by what comes after."""
    return min(1.0, p * 0.05 / claim(units))


def last_look(units: int) -> int:
    """The latest look that so many units have reached; 0 before the first."""
    reached = bisect_right(LOOKS, units)
    return LOOKS[reached - 1] if reached else 0


def after(units: int) -> tuple[int, ...]:
    """The looks that are still to come after so many units."""
    return LOOKS[bisect_right(LOOKS, units) :]
