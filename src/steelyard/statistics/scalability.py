"""How throughput grows with the number of copies: the Universal Scalability Law, Amdahl's, and saturation.

Within the processors: X(N) = g N / (1 + a (N - 1) + b N (N - 1)). a is contention: the share of an operation
for which the copies queue (Amdahl, 1967); b is coherency: what each pair of copies costs by keeping up with
each other, so that X falls again beyond N = sqrt((1 - a) / b) (Gunther, 1993; 2007). Amdahl's law is b = 0;
the other is taken only if the corrected Akaike criterion (Hurvich and Tsai, 1989) gains more than AICC_GAIN.

N / X is linear in 1/g, a/g and b/g: so the fit is one of least squares without negative parts (Lawson and
Hanson, 1974), of relative errors, with one best answer and no starting values. What is fitted is the median
over blocks at each N, after what a block has in common at all N (its luck) was taken away. Intervals come of
blocks drawn again, at the level that makes up for their being few (Hesterberg, 2015).

Condition: FEWEST_COPIES different N, none above the number of processors, FEWEST_BLOCKS blocks that hold
them all. It misleads where processors are not alike (two threads of one core; a clock that falls as more are
busy): that reads as contention; and where N does not go far enough to tell the laws apart, b hides in a (a's
95 % interval then covered 81 % in simulations; with N far enough, 92 to 98). Beyond the processors there is
no law: see `saturation`.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # a part of it is imported when it is first named, which few commands do

from steelyard.statistics import resampling
from steelyard.statistics.signed_rank import Array, Estimate

FEWEST_COPIES = 6
FEWEST_BLOCKS = resampling.FEWEST
AICC_GAIN = 4.0
PEAK_BEYOND = 2.0  # a peak further off than this many times the most copies cannot be estimated from them
_RESAMPLES = 1000  # the wider level that few blocks ask for lies far out
_NO_ERROR = 1e-12  # a squared relative deviation that is none: the logarithm of it is taken


@dataclass(frozen=True, slots=True)
class Law:
    """The fitted law, with intervals. a and b are pure numbers; throughput is in the data's unit. Under
    Amdahl's law the coherency is 0, and its upper bound says how large it may still be.
    """

    is_universal: bool  # else Amdahl's
    throughput: Estimate  # g: of one copy
    contention: Estimate  # a
    coherency: Estimate  # b
    aicc_gain: float  # of the universal law over Amdahl's
    peak: (
        Estimate | None
    )  # N with the most throughput, where the coherency is above 0 for sure, and it is near
    residual: float  # root of the mean squared relative deviation of the medians from the law


@dataclass(frozen=True, slots=True)
class Saturation:
    """The maximum throughput."""

    capacity: Estimate  # c, in the data's unit
    copies: Estimate  # c / g: the maximum in copies
    kept: tuple[Estimate, ...]  # X(N) / c for each N above the processors; below 1 it declines


def speedup(copies: Array, *, contention: float, coherency: float) -> Array:
    """X(N) / g of the law."""
    grown: Array = copies / (1 + contention * (copies - 1) + coherency * copies * (copies - 1))
    return grown


def law(copies: Array, throughputs: Array, *, chance: np.random.Generator, alpha: float = 0.05) -> Law:
    """The law of these throughputs. Shape: n different numbers of copies; blocks x n, all above 0. The caller
    checks the condition above; fewer blocks than FEWEST_BLOCKS give no intervals.
    """
    logs = _without_luck(np.log(throughputs))
    middle = np.median(logs, axis=0)
    universal, amdahl = (_fitted(copies, np.exp(middle), is_universal=one) for one in (True, False))
    gain = _aicc(copies, logs, amdahl, parts=2) - _aicc(copies, logs, universal, parts=3)
    is_universal = gain > AICC_GAIN
    g, a, b = universal if is_universal else amdahl
    predicted = np.log(g * speedup(copies, contention=a, coherency=b))
    residual = float(np.sqrt(np.mean((middle - predicted) ** 2)))
    if len(throughputs) < FEWEST_BLOCKS:
        return Law(is_universal, Estimate(g), Estimate(a), Estimate(b), gain, None, residual)
    redrawn = np.exp(_redrawn(logs, chance))
    freely = np.array([_fitted(copies, one, is_universal=True) for one in redrawn])
    chosen = freely
    if not is_universal:
        chosen = np.array([_fitted(copies, one, is_universal=False) for one in redrawn])
    blocks = len(throughputs)
    coherency = _interval(b, freely[:, 2], blocks=blocks, alpha=alpha)
    peak = _peak(copies, (g, a, b), freely, coherency, blocks=blocks, alpha=alpha) if is_universal else None
    return Law(
        is_universal,
        _interval(g, chosen[:, 0], blocks=blocks, alpha=alpha),
        _interval(a, chosen[:, 1], blocks=blocks, alpha=alpha),
        coherency,
        gain,
        peak,
        residual,
    )


def saturation(
    copies: Array,
    throughputs: Array,
    *,
    processors: int,
    law: Law | None,
    chance: np.random.Generator,
    alpha: float = 0.05,
) -> Saturation | None:
    """The most that is possible, and how much of it is left with more copies than processors.

    Shape as for the law, but with numbers of copies above the processors, and at least three. Where there is
    a law, c is the most that it gives within the processors. Where there is none, min(g N, c) is fitted by
    least squares of ln X; then None if throughput still grows, as far as one can tell, with the last copy,
    and it misleads where the curve bends gently. Condition: FEWEST_BLOCKS.
    """
    logs = _without_luck(np.log(throughputs))
    middle, redrawn = np.median(logs, axis=0)[None], _redrawn(logs, chance)

    def fitted(rows: Array) -> tuple[Array, Array]:
        if law is None:
            return _saturated(copies, rows)
        return _topped(copies, rows, processors=processors, is_universal=law.is_universal)

    (slope, top), (slopes, tops) = fitted(middle), fitted(redrawn)

    def interval(one: Array, many: Array) -> Estimate:
        return _interval(float(np.exp(one)[0]), np.exp(many), blocks=len(logs), alpha=alpha)

    worth = interval(top - slope, tops - slopes)
    if law is None and (worth.high is None or worth.high >= copies.max()):
        return None
    beyond = np.flatnonzero(copies > processors)
    shares = tuple(interval(middle[:, place] - top, redrawn[:, place] - tops) for place in beyond)
    return Saturation(interval(top, tops), worth, shares)


def _without_luck(logs: Array) -> Array:
    """The logs less what each block has in common: its median deviation from the medians over blocks."""
    common = np.median(logs - np.median(logs, axis=0), axis=1, keepdims=True)
    levelled: Array = logs - common
    return levelled


def _redrawn(logs: Array, chance: np.random.Generator) -> Array:
    """The medians of as many blocks drawn with replacement. Shape: resamples x numbers of copies."""
    drawn = chance.integers(0, len(logs), size=(_RESAMPLES, len(logs)))
    middle: Array = np.median(logs[drawn], axis=1)
    return middle


def _fitted(copies: Array, throughputs: Array, *, is_universal: bool) -> tuple[float, float, float]:
    """g, a and b, with 0 <= a <= 1 and b >= 0.

    With 1/g = u + a/g, N/X = u + (a/g) N + (b/g) N (N - 1): so that u >= 0 keeps a from exceeding 1.
    """
    scale = float(throughputs.max())
    target = copies * scale / throughputs
    columns = [np.ones_like(copies), copies, copies * (copies - 1)]
    matrix = np.column_stack(columns[: 3 if is_universal else 2]) / target[:, None]
    weights, _ = scipy.optimize.nnls(matrix, np.ones_like(copies))
    inverse = max(float(weights[0] + weights[1]), np.finfo(float).tiny)
    return scale / inverse, float(weights[1]) / inverse, float(weights[2]) / inverse if is_universal else 0.0


def _aicc(copies: Array, logs: Array, fitted: tuple[float, float, float], *, parts: int) -> float:
    """The corrected criterion over all observations, less those that the blocks' luck has used up."""
    g, a, b = fitted
    deviations = logs - np.log(g * speedup(copies, contention=a, coherency=b))
    count = logs.size - (len(logs) - 1)
    squares = max(float(np.sum(deviations**2)) / count, _NO_ERROR)
    free = parts + 1  # and the variance
    return float(count * np.log(squares)) + 2 * free + 2 * free * (free + 1) / max(count - free - 1, 1)


def _interval(value: float, redrawn: Array, *, blocks: int, alpha: float) -> Estimate:
    """The percentile interval at the level at which one for a mean of so few would be Student's."""
    outer = resampling.expanded(alpha, count=blocks)
    low = float(np.quantile(redrawn, outer / 2, method="lower"))
    high = float(np.quantile(redrawn, 1 - outer / 2, method="higher"))
    return Estimate(value, min(low, value), max(high, value), 1 - alpha)


def _peak(
    copies: Array,
    fitted: tuple[float, float, float],
    freely: Array,
    coherency: Estimate,
    *,
    blocks: int,
    alpha: float,
) -> Estimate | None:
    _, a, b = fitted
    if not coherency.low or b == 0:
        return None
    value = float(np.sqrt((1 - a) / b))
    if value >= PEAK_BEYOND * float(copies.max()):
        return None
    with np.errstate(divide="ignore"):
        peaks = np.sqrt((1 - freely[:, 1]) / freely[:, 2])
    return _interval(value, peaks, blocks=blocks, alpha=alpha)


def _saturated(copies: Array, logs: Array) -> tuple[Array, Array]:
    """ln g and ln c of each row: of all ways to part the numbers of copies into those that still grow and
    those at the top, the one with the least squares."""
    best = np.full(len(logs), np.inf)
    slope, top = np.zeros(len(logs)), np.zeros(len(logs))
    for first in range(1, len(copies)):
        grows = logs[:, :first] - np.log(copies[:first])
        ln_g, ln_c = grows.mean(axis=1), logs[:, first:].mean(axis=1)
        squares = ((grows.T - ln_g) ** 2).sum(axis=0) + ((logs[:, first:].T - ln_c) ** 2).sum(axis=0)
        is_better = squares < best
        best, slope, top = (
            np.where(is_better, new, old) for new, old in ((squares, best), (ln_g, slope), (ln_c, top))
        )
    return slope, top


def _topped(copies: Array, logs: Array, *, processors: int, is_universal: bool) -> tuple[Array, Array]:
    """ln g and ln c of each row, by the law: c is the most that it gives with any number of copies within."""
    within = copies <= processors
    counts = np.arange(1, processors + 1, dtype=float)
    pairs = []
    for row in np.exp(logs[:, within]):
        g, a, b = _fitted(copies[within], row, is_universal=is_universal)
        pairs.append((g, g * float(speedup(counts, contention=a, coherency=b).max())))
    slope, top = np.log(np.array(pairs)).T
    return slope, top
