"""How much each cache holds, from the latency of a random cyclic chase over areas of growing size.

A sum of logistic steps on the logarithm of the latency,
    ln latency = l + sum of h / (1 + exp(-(log2 size - c) / w)), every h above 0,
because such a chase, through a cache that evicts what was used longest ago, misses nowhere or everywhere. One
more step at a time, from its best place on a grid (non-negative least squares), and then all refined together
(robust least squares); how many, by the Bayesian criterion (Schwarz 1978), which must fall by more than GAIN
for each. Where a step is sharp, the capacity is where it begins; where it is gradual there is only an
effective capacity, about its centre. Steps of less than MAJOR are minor. Intervals by resampling trials.

Condition: six sizes or more; a chase whose order no prefetcher guesses. It misleads where the latency is a
mixture of hits and misses after all (look at the residual); where a step goes on beyond the last size, for
then its factor is a guess (`is_whole`); and where the translation of addresses makes steps of its own, which
the same with larger pages tells apart.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # a part of it is imported when it is first named, which few commands do
from numpy.typing import NDArray

from steelyard.statistics import resampling
from steelyard.statistics.signed_rank import Array, Estimate

MOST = 6  # steps
GAIN = 6.0  # "strong" evidence, in the words of Kass and Raftery (1995)
MAJOR = 1.5  # times slower
SHARP = 0.5  # octaves from a tenth of the step to nine tenths
FINEST = 0.003  # 0.3 %: where nothing scatters, any rounding would be a step
_GRID = 0.25  # octaves
_SOUGHT = 0.15  # the w of the steps on the grid
_NARROWEST, _WIDEST = 0.03, 1.2  # w
_OUTLYING = 0.03  # residuals beyond it count linearly
_ENOUGH = 1e-4  # of the misfit: where a step falls between two sizes, a finer search never ends
_TENTH = float(np.log(9))  # how many w it is from a tenth of a step to its centre
_SCALE = (1.0, 0.3, 0.3)  # of h, c and w: what is a small change


@dataclass(frozen=True, slots=True)
class CapacityStep:
    """One rise of the latency by a factor. Sizes are in the curve's unit."""

    onset: float  # where a tenth of it is done
    centre: float
    width: float  # octaves from a tenth to nine tenths
    factor: float
    is_whole: bool  # the tenth and nine tenths lie within the sizes; else factor and width are guesses

    @property
    def is_sharp(self) -> bool:
        return self.width < SHARP

    @property
    def capacity(self) -> float:
        """The size where a sharp step begins, or the centre of a gradual one: its effective capacity."""
        return self.onset if self.is_sharp else self.centre


@dataclass(frozen=True, slots=True)
class Fit:
    """A curve in steps, that at the smallest size first."""

    fastest: float  # the latency before all steps
    steps: tuple[CapacityStep, ...]
    minor: tuple[CapacityStep, ...]
    residual: float  # the standard deviation of the latencies about it, as a fraction


@dataclass(frozen=True, slots=True)
class Estimated:
    """The fit of several trials' pooled curve, with estimates for each of its steps that is not minor.

    `agreement`: the share of resamples in which a free fit finds as many; None without intervals.
    """

    fit: Fit
    onsets: tuple[Estimate, ...]
    centres: tuple[Estimate, ...]
    agreement: float | None

    @property
    def capacities(self) -> tuple[Estimate, ...]:
        """The capacity of each step, as `Step.capacity` defines it."""
        rows = zip(self.fit.steps, self.onsets, self.centres, strict=True)
        return tuple(onset if step.is_sharp else centre for step, onset, centre in rows)


@dataclass(frozen=True, slots=True)
class _Sum:
    """The level before all steps, their h, c and w in rows, and the misfit to the curve."""

    level: float
    rows: Array
    misfit: float = np.inf

    @property
    def is_major(self) -> NDArray[np.bool_]:
        return np.asarray(self.rows[:, 0] >= np.log(MAJOR))


def fit(sizes: Array, latencies: Array) -> Fit:
    """The fit of one curve. Shape: n ascending sizes, n >= 6, and n latencies above 0."""
    x, y = np.log2(sizes), np.log(latencies)
    return _described(x, y, _best_sum(x, y))


def estimate(sizes: Array, curves: Array, *, chance: np.random.Generator, alpha: float = 0.05) -> Estimated:
    """The fit of the pooled curve, with intervals. Shape of the curves: trials x sizes.

    A resample has the pooled curve's steps, each moved from where it is there. What happens between two sizes
    is known no better than that. With fewer trials than resampling.FEWEST there are no intervals.
    """
    x, y = np.log2(sizes), np.log(resampling.pooled(curves))
    model = _best_sum(x, y)
    described = _described(x, y, model)
    onsets, centres = [one.onset for one in described.steps], [one.centre for one in described.steps]
    if len(curves) < resampling.FEWEST:
        return Estimated(described, tuple(map(Estimate, onsets)), tuple(map(Estimate, centres)), None)
    redrawn = np.log(resampling.redrawn(curves, chance))
    moved = [_refined(x, curve, model).rows[model.is_major] for curve in redrawn]
    reached = np.exp2([_reach(x, rows) for rows in moved])
    freely = [_best_sum(x, curve) for curve in redrawn[: resampling.REFITTED_FREELY]]
    return Estimated(
        described,
        resampling.intervals(onsets, reached[:, 0], reached[:, 1], alpha=alpha),
        resampling.intervals(centres, reached[:, 2], reached[:, 3], alpha=alpha),
        float(np.mean([one.is_major.sum() == model.is_major.sum() for one in freely])),
    )


def _best_sum(x: Array, y: Array) -> _Sum:
    """The steps, in the order of their centres."""
    best = last = _refined(x, y, _Sum(float(np.median(y)), np.empty((0, 3))))
    for _ in range(min(MOST, (len(x) - 2) // 3)):  # each step has three parameters
        last = _refined(x, y, _with_one_more(x, y, last.rows))
        if _criterion(x, last) < _criterion(x, best):
            best = last
        elif len(last.rows) > len(best.rows) + 1:  # one in vain may be followed by one that lets both fit
            break
    return _Sum(best.level, best.rows[np.argsort(best.rows[:, 1])], best.misfit)


def _with_one_more(x: Array, y: Array, rows: Array) -> _Sum:
    """One more step, at the place on the grid where it helps most if all heights are free."""
    grid = np.arange(x[0], x[-1], _GRID)
    known = np.column_stack([np.ones(len(x)), scipy.special.expit((x[:, None] - rows[:, 1]) / rows[:, 2])])
    lowered = float(y.min()) - 1  # so that the level is above 0 too, as the heights must be
    steps = scipy.special.expit((x[:, None] - grid) / _SOUGHT).T
    fits = [scipy.optimize.nnls(np.column_stack([known, step]), y - lowered) for step in steps]
    best = int(np.argmin([misfit for _, misfit in fits]))
    heights = fits[best][0]
    shapes = np.vstack([rows[:, 1:], [grid[best], _SOUGHT]])
    return _Sum(lowered + float(heights[0]), np.column_stack([heights[1:], shapes]))


def _refined(x: Array, y: Array, start: _Sum) -> _Sum:
    """All parameters moved to where the robust misfit is least."""
    count = len(start.rows)
    low = np.array([-np.inf, *[0.0, x[0], _NARROWEST] * count])
    high = np.array([np.inf, *[np.inf, x[-1], _WIDEST] * count])
    solution = scipy.optimize.least_squares(
        lambda parameters: _sum(x, parameters) - y,
        np.clip(np.array([start.level, *start.rows.ravel()]), low, high),
        lambda parameters: _slopes(x, parameters),
        bounds=(low, high),
        x_scale=np.array([1.0, *_SCALE * count]),
        loss="soft_l1",
        f_scale=_OUTLYING,
        ftol=_ENOUGH,
    )
    return _Sum(float(solution.x[0]), solution.x[1:].reshape(-1, 3), 2 * float(solution.cost))


def _sum(x: Array, parameters: Array) -> Array:
    h, c, w = parameters[1:].reshape(-1, 3).T
    total: Array = parameters[0] + scipy.special.expit((x[:, None] - c) / w) @ h
    return total


def _slopes(x: Array, parameters: Array) -> Array:
    """The derivatives of the sum, one column a parameter."""
    h, c, w = parameters[1:].reshape(-1, 3).T
    away = (x[:, None] - c) / w
    done = scipy.special.expit(away)
    rate = done * (1 - done) * h / w
    slopes = np.ones((len(x), len(parameters)))
    slopes[:, 1::3], slopes[:, 2::3], slopes[:, 3::3] = done, -rate, -rate * away
    return slopes


def _criterion(x: Array, one: _Sum) -> float:
    """Schwarz's, with GAIN more for each step: the least is best."""
    points = len(x)
    scatter = one.misfit / points + FINEST**2
    return float(points * np.log(scatter) + (1 + one.rows.size) * np.log(points) + GAIN * len(one.rows))


def _described(x: Array, y: Array, model: _Sum) -> Fit:
    residual = y - _sum(x, np.array([model.level, *model.rows.ravel()]))
    steps = [
        CapacityStep(
            onset=float(np.exp2(c - _TENTH * w)),
            centre=float(np.exp2(c)),
            width=float(2 * _TENTH * w),
            factor=float(np.exp(h)),
            is_whole=bool(x[0] <= c - _TENTH * w and c + _TENTH * w <= x[-1]),
        )
        for h, c, w in model.rows
    ]
    return Fit(
        fastest=float(np.exp(model.level)),
        steps=tuple(one for one in steps if one.factor >= MAJOR),
        minor=tuple(one for one in steps if one.factor < MAJOR),
        residual=float(np.sqrt(np.mean(residual**2))),
    )


def _reach(x: Array, rows: Array) -> Array:
    """The smallest and largest onset and centre of each step that x allows.

    Two points between one tenth and nine tenths determine a step. With fewer, its ends may be anywhere
    between two points.
    """
    onset, centre, end = (rows[:, 1] + tenths * _TENTH * rows[:, 2] for tenths in (-1, 0, 1))
    after, from_end = np.searchsorted(x, onset, side="right"), np.searchsorted(x, end)
    loose = (from_end - after < 2) & (after > 0) & (from_end < len(x))
    least, last = x[np.maximum(after - 1, 0)], x[np.minimum(from_end, len(x) - 1)]
    greatest = x[np.minimum(after, len(x) - 1)]
    return np.array(
        [
            np.where(loose, least, onset),
            np.where(loose, greatest, onset),
            np.where(loose, least, centre),
            np.where(loose, last, centre),
        ]
    )
