"""How much a metric's pairs scatter, judged by its own pairs and by those of the study's other metrics.

Two to six differences say little of their own scatter: two trials that agree by luck look perfectly steady.
The other metrics of the study were measured on the same machine in the same hour, so their scatter is
evidence too.
The moderated variance (Smyth 2004; limma) weighs both: variances are taken to be drawn from a scaled inverse
chi-square distribution, whose two parameters are fitted to all of them, and each metric's own is shrunk
towards it.

The weight of the others is capped at four differences' worth: metrics differ in kind, and without the cap
11 to 15 % of reports on equal systems had a false claim after two blocks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # a part of it is imported when it is first named, which few commands do

from steelyard.statistics import trimmed
from steelyard.statistics.signed_rank import Array

WEIGHT_MOST = 4.0  # degrees of freedom that the other metrics may count for
_NEGLIGIBLE = 1e-5  # of the median variance: smaller ones are taken to be as large
_MANY = 1000.0  # degrees of freedom that stand for "all metrics scatter alike"


@dataclass(frozen=True, slots=True)
class Prior:
    """The evidence of a study's metrics about each other: a variance, and its degrees of freedom."""

    freedom: float = 0.0
    variance: float = 0.0


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of paired differences and its error: `error` is its standard error, with `freedom` degrees of
    freedom; `deviation` is that of one difference.
    """

    value: float
    error: float
    freedom: float
    deviation: float

    def p_two_sided(self) -> float:
        """P of a mean at least so far from 0, if it were 0."""
        if self.error == 0:
            return 1.0 if self.value == 0 else 0.0
        return float(2 * scipy.special.stdtr(self.freedom, -abs(self.value) / self.error))

    def p_outside(self, far: float) -> float:
        """P of a mean at least so near to 0, if it were `far` away on either side: the larger of two
        one-sided p-values."""
        if self.error == 0:
            return 0.0 if abs(self.value) < far else 1.0
        return float(scipy.special.stdtr(self.freedom, -(far - abs(self.value)) / self.error))

    def reach(self, alpha: float) -> float:
        """Half of the width of the 1 - alpha interval."""
        return float(quantile(self.freedom, alpha)) * self.error


def quantile(freedom: float, alpha: float) -> float:
    """The t that is exceeded on either side with probability alpha in all."""
    return float(-scipy.special.stdtrit(freedom, alpha / 2))


def prior(samples: Sequence[Array]) -> Prior:
    """The prior from these metrics' differences; metrics with fewer than two say nothing.

    A single metric has no others to learn from: no degrees of freedom.
    """
    repeated = [one for one in samples if len(one) > 1]
    if len(repeated) < 2:
        return Prior()
    freedom = np.array([trimmed.freedom(len(one)) for one in repeated], float)
    variances = np.array([trimmed.variance(one) for one in repeated])
    variances = np.maximum(variances, _NEGLIGIBLE * float(np.median(variances)))
    if not variances.all():
        return Prior()  # most metrics do not scatter at all: nothing to learn about noise
    logs = np.log(variances) - scipy.special.digamma(freedom / 2) + np.log(freedom / 2)
    spread = float(logs.var(ddof=1)) - float(np.mean(scipy.special.polygamma(1, freedom / 2)))
    fitted = min(_MANY, 2 * trigamma_inverse(spread)) if spread > 0 else _MANY
    variance = math.exp(float(logs.mean()) + float(scipy.special.digamma(fitted / 2)) - math.log(fitted / 2))
    return Prior(min(fitted, WEIGHT_MOST, (len(repeated) - 1) / 4), variance)


def moderated(differences: Array, others: Prior) -> Mean:
    """The mean of at least two differences, with the error that it has by their scatter and the others'."""
    own = trimmed.freedom(len(differences))
    freedom = others.freedom + own
    squares = others.freedom * others.variance + own * trimmed.variance(differences)
    deviation = math.sqrt(squares / freedom)
    error = deviation / math.sqrt(trimmed.kept(len(differences)))
    return Mean(trimmed.centre(differences), error, freedom, deviation)


def trigamma_inverse(value: float) -> float:
    """The y with trigamma(y) = value, by Newton's method (Smyth 2004, appendix)."""
    if value > 1e7:
        return 1 / math.sqrt(value)
    if value < 1e-6:
        return 1 / value
    root = 0.5 + 1 / value
    for _ in range(30):
        trigamma = float(scipy.special.polygamma(1, root))
        step = trigamma * (1 - trigamma / value) / float(scipy.special.polygamma(2, root))
        root += step
        if abs(step) < 1e-8 * root:
            break
    return root
