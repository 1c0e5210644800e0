"""How many trials a boot is worth: what differs from boot to boot against what differs within one.

Kalibera and Jones, Rigorous benchmarking in reasonable time (ISMM 2013), for two levels: the number of trials
per boot that the sum of both variances falls fastest for the time it takes. Misleading where a boot warms up:
its trials are then no sample of it.
"""

import math
from collections.abc import Sequence

import numpy as np

from steelyard.statistics.signed_rank import Array

_FURTHER_LEAST = 8  # trials: fewer of the same boots say next to nothing of how such trials differ
TRIALS_MOST = 10  # of a cell in one boot: more tell next to nothing of it
_RATIO_FIRST = 4.0  # before it is known: where no more than that would make a difference, none is looked for


def ratio(groups: Sequence[Array]) -> float | None:
    """The variance of trials within a boot over that between boots; `groups` are one system's log values, an
    array per boot. None if it cannot be known: it takes two boots, and eight trials that are not the first of
    theirs. Infinite if boots differ by no more than their trials explain.
    """
    known = [one for one in groups if len(one)]
    trials, boots = sum(map(len, known)), len(known)
    if boots < 2 or trials - boots < _FURTHER_LEAST:
        return None
    means = np.array([one.mean() for one in known])
    sizes = np.array([len(one) for one in known], float)
    grand = float((means * sizes).sum() / trials)
    within = sum(float(((one - one.mean()) ** 2).sum()) for one in known) / (trials - boots)
    among = float((sizes * (means - grand) ** 2).sum()) / (boots - 1)
    typical = (trials - float((sizes**2).sum()) / trials) / (boots - 1)
    between = (among - within) / typical
    return within / between if between > 0 else math.inf


def trials(*, boot_s: float, trial_s: float, ratio: float | None) -> int:
    """The number of trials per boot, for these durations of a boot and a trial. While the ratio is not known,
    two, so that it becomes so; one where a second could not be worth its time."""
    if ratio is None:
        return min(2, trials(boot_s=boot_s, trial_s=trial_s, ratio=_RATIO_FIRST))
    wanted = math.sqrt(ratio * boot_s / max(trial_s, 1e-9))
    return max(1, min(TRIALS_MOST, round(min(wanted, TRIALS_MOST))))
