"""Sums up the comparisons of a system in one figure."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from steelyard.analysis.comparison import exp
from steelyard.analysis.model import Comparison, Index
from steelyard.analysis.observations import Observations
from steelyard.statistics import levels, verdict, weighted_mean
from steelyard.statistics.signed_rank import Estimate

_MARGIN = 0.01
_KNOWN = math.log(100)  # an interval of the whole that is wider than a hundred times is none


def of(
    observations: Observations, comparisons: Sequence[Comparison], *, margin: float | None = None
) -> tuple[Index, ...]:
    """One index per system over everything, and one per group if there are several groups."""
    return tuple(_indices(observations, comparisons, margin or _MARGIN))


def _indices(observations: Observations, comparisons: Sequence[Comparison], margin: float) -> Iterable[Index]:
    systems = len(observations.others)
    for system in observations.others:
        ours = [
            one
            for one in comparisons
            if one.system == system
            and one.group != "harness"
            and observations.is_in_mean(one.cell, one.metric)
        ]
        groups = list(dict.fromkeys(one.group for one in ours))
        for group in groups if len(groups) > 1 else []:
            members = [one for one in ours if one.group == group]
            yield _index(observations, system, group, members, margin, beside=len(groups) * systems)
        if ours:
            yield _index(observations, system, "all", ours, margin, beside=systems)


def _index(
    observations: Observations,
    system: str,
    group: str,
    members: Sequence[Comparison],
    margin: float,
    *,
    beside: int,
) -> Index:
    """The weighted mean of log ratios: equal weights for the groups, for the workloads in a group, and for
    the metrics of a workload's cells. Every metric uses the blocks that it has. A difference is claimed by an
    interval corrected for the number of means `beside` each other (Bonferroni); its size has a 95 % interval,
    like that of a single metric.
    """
    present = [one for one in members if one.blocks and one.ratio]
    missing = tuple(f"{one.cell} {one.metric}" for one in members if not one.blocks)
    if not present:
        return Index(system, group, None, 0, missing, 0, margin, verdict.UNRESOLVED)
    groups = {one.group for one in present}
    workloads = Counter(group for group, _ in {(one.group, one.workload) for one in present})
    metrics = Counter(one.workload for one in present)
    parts = [
        _part(observations, system, one, 1 / len(groups) / workloads[one.group] / metrics[one.workload])
        for one in present
    ]
    blocks = min(one.blocks for one in present)
    estimate = weighted_mean.estimate(parts, alpha=levels.usual(blocks))
    wide = weighted_mean.estimate(parts, alpha=levels.usual(blocks) / beside)
    narrow = weighted_mean.estimate(parts, alpha=2 * levels.claim(blocks))
    if estimate.low is not None and estimate.high is not None and estimate.high - estimate.low > _KNOWN:
        estimate = wide = narrow = Estimate(estimate.value)  # so few blocks say nothing of the whole's error
    word = verdict.word(wide, narrow, margin=margin)
    if word in verdict.CLAIMED:
        estimate = weighted_mean.estimate(parts, alpha=levels.SIZE)
    return Index(system, group, exp(estimate), len(present), missing, blocks, margin, word)


def _part(
    observations: Observations, system: str, one: Comparison, weight: float
) -> weighted_mean.WeightedPart:
    """The contribution of a metric to the mean. Differences of one boot share its effect; otherwise those of
    one trial do.
    """
    key = (one.cell, one.metric)
    by_block = observations.differences(key, system, one.lens)
    units = observations.units(key, system, by_block)
    if len(units) < len(by_block):
        clusters: list[Hashable] = list(
            dict.fromkeys(observations.boots_of(key, system, block) for block in by_block)
        )
    else:
        clusters = [observations.boots_of(key, system, block) or (one.cell, block) for block in by_block]
        if len(set(clusters)) == 1:
            clusters = [(one.cell, block) for block in by_block]
    assert one.ratio is not None
    return weighted_mean.WeightedPart(weight, math.log(one.ratio.value), units.tolist(), clusters)
