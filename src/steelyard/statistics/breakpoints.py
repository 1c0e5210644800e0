"""The breakpoints of the continuous piecewise-linear function that fits points in the plane best.

How many: the Bayesian criterion (Schwarz 1978), which must fall by more than GAIN for each. Where: a greedy
search among the abscissae, forwards (one more at a time, or two, for a cliff) and backwards, with coordinate
descent after each, at last between the abscissae too. Least squares throughout. The model is Muggeo's
(2003); his iteration needs start values, this search does not.

A piece holds three points and is NARROW wide, or more, but for one exception: a cliff, many times steeper
than both its neighbours. One that falls between two abscissae begins at the first and ends at the second.

Condition: three points or more; errors independent and everywhere of one size. It misleads when errors of
neighbours are alike (with a correlation of one half, one straight line in eight is given a bend); when the
curve bends smoothly, for it is then cut into pieces at places that mean nothing; and when one part is many
times noisier than the rest, for that may be given bends, and the small ones of the rest are missed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from steelyard.statistics.signed_rank import Array

MOST = 6  # two for each step of a hierarchy of three caches
GAIN = 6.0  # "strong" evidence, in the words of Kass and Raftery (1995)
FEWEST_POINTS = 3
NARROW = 1.0  # in units of the abscissa: an octave
STEEP = 0.3  # the least slope of a cliff
CLIFF = 3.0  # how many times steeper than its neighbours a cliff is
FINEST = 0.005  # 0.3 %, if the ordinate is in octaves: where nothing scatters, any rounding would be a bend
_NOTHING = 1e-9
_MARGIN = 0.1  # of a piece's width
_WORTH_A_MOVE = 1e-3  # of the misfit
_SWEEPS = 10
_PARTS = 16  # into which a step from one abscissa to the next is divided, and each part once more
_GRADUATION = np.linspace(-1, 1, 2 * _PARTS + 1)


@dataclass(frozen=True, slots=True)
class Broken:
    """A fit: its breakpoints, ascending, and the sum of its squared residuals."""

    breaks: Array
    misfit: float


def find(x: Array, y: Array) -> Array:
    """The breakpoints, ascending; none where a straight line does. Shape: n ascending x, n >= 3, and n y."""
    fits = [_descended(x, y, one, step=_step(x)) for one in _searched(x, y)]
    return _thinned(x, y, _minimum(x, y, min(fits, key=lambda one: _criterion(x, one)))).breaks


def settle(x: Array, y: Array, *, start: Array) -> Array:
    """As many breakpoints as in `start`, each moved to where the misfit is smallest."""
    return _minimum(x, y, _broken(x, y, start)).breaks


def ordinates(x: Array, y: Array, *, breaks: Array) -> Array:
    """The fit at the first x, at each breakpoint, and at the last x."""
    knots = np.concatenate([x[:1], breaks, x[-1:]])
    tents = [np.interp(x, knots, tent) for tent in np.eye(len(knots))]
    return np.asarray(np.linalg.lstsq(np.stack(tents, axis=1), y, rcond=None)[0])


def slopes(x: Array, y: Array, *, breaks: Array) -> Array:
    """The fit's slope in each piece."""
    knots = np.concatenate([x[:1], breaks, x[-1:]])
    gradients: Array = np.diff(ordinates(x, y, breaks=breaks)) / np.diff(knots)
    return gradients


def pieces(x: Array, breaks: Array) -> list[slice]:
    """The points of each piece; one that is at a breakpoint belongs to both sides."""
    begins = [0, *np.searchsorted(x, breaks - _NOTHING).tolist()]
    ends = [*np.searchsorted(x, breaks + _NOTHING).tolist(), len(x)]
    return [slice(begin, end) for begin, end in zip(begins, ends, strict=True)]


def reach(x: Array, y: Array, *, breaks: Array) -> tuple[Array, Array]:
    """The range of positions of each breakpoint that the abscissae allow.

    The line through a cliff with two points inside shows where it begins and ends. With fewer, either end may
    be anywhere between two abscissae. A point so near an end that noise may have put it there does not count
    as inside.
    """
    low, high = breaks.copy(), breaks.copy()
    steepness, margin = np.abs(slopes(x, y, breaks=breaks)), _MARGIN * np.diff(breaks)
    steeper = steepness[1:-1] > np.maximum(steepness[:-2], steepness[2:])
    after = np.searchsorted(x, breaks[:-1] + margin)
    before = np.searchsorted(x, breaks[1:] - margin) - 1
    for cliff in np.flatnonzero(steeper & (before - after < 1)):
        low[cliff], high[cliff] = min(low[cliff], x[after[cliff] - 1]), x[after[cliff]]
        low[cliff + 1], high[cliff + 1] = x[before[cliff]], max(high[cliff + 1], x[before[cliff] + 1])
    return low, high


def _searched(x: Array, y: Array) -> Iterable[Broken]:
    """The best found of each number of breakpoints, all at abscissae."""
    best = {0: _broken(x, y, np.empty(0))}

    def offer(one: Broken | None) -> None:
        if one is None or len(one.breaks) > MOST:
            return
        known = best.get(len(one.breaks))
        if known is None or one.misfit < known.misfit - _NOTHING:
            best[len(one.breaks)] = _descended(x, y, one, step=None)

    for number in range(MOST):
        if number in best:
            offer(_with_one_more(x, y, best[number].breaks))
            offer(_with_a_cliff_more(x, y, best[number].breaks))
    for number in range(MOST, 1, -1):
        if number in best:
            offer(_least(_without(x, y, best[number].breaks, range(number))))
    return best.values()


def _minimum(x: Array, y: Array, start: Broken) -> Broken:
    near = _descended(x, y, start, step=_step(x))
    return _descended(x, y, near, step=_step(x) / _PARTS)


def _step(x: Array) -> float:
    """The mean distance from one abscissa to the next."""
    return float(x[-1] - x[0]) / (len(x) - 1)


def _thinned(x: Array, y: Array, fit: Broken) -> Broken:
    """Without breakpoints that stand too close, nor those that are worth it no more once these are gone."""
    thinned = False
    while len(fit.breaks):
        close = _closest(x, y, fit.breaks)
        if not close and not thinned:
            break
        fewer = _without(x, y, fit.breaks, close or range(len(fit.breaks)))
        best = _least(_minimum(x, y, _descended(x, y, one, step=None)) for one in fewer)
        if not close and _criterion(x, best) > _criterion(x, fit):
            break
        fit, thinned = best, True
    return fit


def _closest(x: Array, y: Array, breaks: Array) -> tuple[int, ...]:
    """The two breakpoints closest together of those that are less than NARROW apart and make no cliff."""
    steepness, widths = np.abs(slopes(x, y, breaks=breaks)), np.diff(breaks)
    around = np.maximum(steepness[:-2], steepness[2:])
    cliff = (steepness[1:-1] > STEEP) & (steepness[1:-1] > CLIFF * around)
    widths = np.where(cliff, np.inf, widths)
    if not np.any(widths < NARROW - _NOTHING):
        return ()
    first = int(np.argmin(widths))
    return first, first + 1


def _criterion(x: Array, one: Broken) -> float:
    """Schwarz's, with GAIN more for each breakpoint: the least is best."""
    points, number = len(x), len(one.breaks)
    scatter = one.misfit / points + FINEST**2
    return float(points * np.log(scatter) + (2 * number + 2) * np.log(points) + GAIN * number)


def _descended(x: Array, y: Array, start: Broken, *, step: float | None) -> Broken:
    """Each breakpoint in turn moved to the best abscissa, or place within a step, until no move gains."""
    now, number = start, len(start.breaks)
    idle = 0
    for turn in range(_SWEEPS * number):
        which = turn % number
        others = np.concatenate([now.breaks[:which], now.breaks[which + 1 :]])
        if step is None:
            moved = _with_one_more(x, y, others)
        else:
            moved = _best(y, _additions(x, others, *_bends(x, _places(x, now.breaks[which], step))))
        gain = now.misfit - moved.misfit if moved else 0.0
        idle = 0 if gain > _WORTH_A_MOVE * now.misfit + _NOTHING else idle + 1
        if moved and gain > 0:
            now = moved
        if idle == number:
            break
    return now


def _places(x: Array, middle: float, step: float) -> Array:
    """Places within a step of the middle, abscissae among them."""
    places = np.concatenate([middle + step * _GRADUATION, x[np.abs(x - middle) <= step]])
    within: Array = places[(places > x[0]) & (places < x[-1])]
    return within


@dataclass(frozen=True, slots=True)
class Additions:
    """The breakpoints that may be added to a fit. Nothing here depends on the ordinates."""

    rows: Array  # of each: all breakpoints then, ascending
    good: NDArray[np.bool_]  # whether each piece then has enough points
    fresh: Array  # of each, a column: the function that it adds, orthogonal to those there
    sizes: Array  # squares of their lengths
    spanning: Array  # of those that are there


def _with_one_more(x: Array, y: Array, breaks: Array) -> Broken | None:
    """One more breakpoint, at the best abscissa; None if each would leave a piece too few points."""
    return _best(y, _at_abscissae(x.tobytes(), breaks.tobytes(), cliff=False))


def _with_a_cliff_more(x: Array, y: Array, breaks: Array) -> Broken | None:
    """Two more breakpoints, one or two abscissae apart, where that is best."""
    return _best(y, _at_abscissae(x.tobytes(), breaks.tobytes(), cliff=True))


@lru_cache(maxsize=2048)
def _at_abscissae(x_bytes: bytes, breaks_bytes: bytes, *, cliff: bool) -> Additions:
    """Resamples of one curve have its abscissae, and mostly its breakpoints."""
    x, breaks = np.frombuffer(x_bytes), np.frombuffer(breaks_bytes)
    return _additions(x, breaks, *(_cliffs(x) if cliff else _bends(x, x[1:-1])))


def _bends(x: Array, places: Array) -> tuple[Array, Array]:
    """A breakpoint at each place, and the functions that have it."""
    return places[:, None], _hinges(x, places)


def _cliffs(x: Array) -> tuple[Array, Array]:
    """Two breakpoints, and the functions that are 0 up to the first and 1 from the second."""
    begin, end = np.concatenate([x[1:-2], x[1:-3]]), np.concatenate([x[2:-1], x[3:-1]])
    return np.column_stack([begin, end]), (_hinges(x, begin) - _hinges(x, end)) / (end - begin)


def _additions(x: Array, breaks: Array, added: Array, columns: Array) -> Additions:
    """Shape: alternatives x breakpoints, points x alternatives."""
    rows = np.empty((len(added), len(breaks) + added.shape[1]))
    rows[:, : len(breaks)], rows[:, len(breaks) :] = breaks, added
    rows.sort(axis=1)
    spanning = _spanning(x, breaks)
    fresh = columns - spanning @ (spanning.T @ columns)
    sizes = np.einsum("ij,ij->j", fresh, fresh)
    good = _supported(x, rows) & (sizes > _NOTHING)
    return Additions(rows, good, fresh, np.maximum(sizes, _NOTHING), spanning)


def _best(y: Array, additions: Additions) -> Broken | None:
    """The one that lessens the misfit most; None if each would leave a piece too few points."""
    if not additions.good.any():
        return None
    residual = y - additions.spanning @ (y @ additions.spanning)
    gain = np.where(additions.good, (residual @ additions.fresh) ** 2 / additions.sizes, -1.0)
    best = int(gain.argmax())
    return Broken(additions.rows[best], float(residual @ residual - gain[best]))


def _supported(x: Array, rows: Array) -> NDArray[np.bool_]:
    """For each row of breakpoints, True if all its pieces have FEWEST_POINTS, or two and may be cliffs."""
    points = np.full((len(rows), rows.shape[1] + 1), len(x))
    points[:, :-1] = np.searchsorted(x, rows + _NOTHING)
    points[:, 1:] -= np.searchsorted(x, rows - _NOTHING)
    enough = points >= FEWEST_POINTS
    good = enough.copy()
    good[:, 1:-1] |= (points[:, 1:-1] == 2) & enough[:, :-2] & enough[:, 2:]
    apart = np.diff(rows, axis=1) > _NOTHING
    return np.asarray(good.all(axis=1) & apart.all(axis=1))


def _without(x: Array, y: Array, breaks: Array, which: Iterable[int]) -> list[Broken]:
    """The fits without one of the breakpoints."""
    return [_broken(x, y, np.delete(breaks, one)) for one in which]


def _least(fits: Iterable[Broken]) -> Broken:
    return min(fits, key=lambda one: one.misfit)


def _broken(x: Array, y: Array, breaks: Array) -> Broken:
    spanning = _spanning(x, breaks)
    residual = y - spanning @ (y @ spanning)
    return Broken(breaks, float(residual @ residual))


def _spanning(x: Array, breaks: Array) -> Array:
    """An orthonormal basis of all functions that break there."""
    basis = np.ones((len(x), 2 + len(breaks)), order="F")
    basis[:, 1] = x - x[0]
    basis[:, 2:] = _hinges(x, breaks)
    # What numpy's qr does, without what it does besides: it is called a hundred thousand times.
    factors, scales, _, _ = lapack.dgeqrf(basis, overwrite_a=True)
    spanning: Array = lapack.dorgqr(factors, scales, overwrite_a=True)[0]
    return spanning


def _hinges(x: Array, breaks: Array) -> Array:
    """Columns that are 0 up to a breakpoint and rise from there."""
    rising: Array = np.maximum(0.0, x[:, None] - breaks)
    return rising
