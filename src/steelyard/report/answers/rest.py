"""Gives an upper bound for differences that are not claimed, and lists what is not settled."""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from steelyard.analysis.comparison import if_equal, is_precise, precision_of
from steelyard.analysis.model import Comparison
from steelyard.report.answers import words
from steelyard.report.answers.compared import Compared, bound, size_of
from steelyard.report.answers.model import Open, Same
from steelyard.statistics import guard, verdict
from steelyard.words import phrases, wording

SMALL = 0.05  # what differs by no more is called the same in the answer
_HALVES = 4  # from this number of metrics on, the bound for half of them is worth a word
_NAMED = 3  # of what more time would bring
_PATIENCE_S = 1800.0  # metrics that need longer are called too noisy


def groups(compared: Compared) -> Iterable[Same]:
    """Each group in which something is bounded, and within what."""
    for group in dict.fromkeys(one.group for one in compared.metrics):
        ours = [one for one in compared.same if one.group == group]
        if ours:
            bounds = [bound(one) for one in ours]
            yield Same(
                group,
                phrases.of_group(group).name,
                len(ours),
                sum(one.group == group for one in compared.metrics),
                max(bounds),
                median(bounds),
                tuple((one.cell, one.metric) for one in ours),
            )


def sentence(members: Sequence[Same]) -> str:
    """The bounds group by group: "computing 3.1 % (half of 23), files 12 % (2 of 6); 25 % at the other
    halves". The bound holds for all metrics of the group, or for half of them if that for all is too large.
    """
    halved = [one for one in members if one.metrics >= _HALVES and one.within > max(SMALL, one.typical)]
    bounds = {one.group: one.typical if one in halved else one.within for one in members}
    clauses = []
    for one in sorted(members, key=lambda one: bounds[one.group]):
        many = f"{one.metrics} of {one.of}" if one.metrics < one.of else f"{one.metrics}"
        half = f"half of {one.metrics}" if one in halved else many
        clauses.append(f"{one.name} {wording.within(bounds[one.group])} ({half})")
    if not clauses:
        return ""
    said = ", ".join(clauses)
    if not halved:
        return said
    other = "half" if len(halved) == 1 else "halves"
    return f"{said}; {wording.within(max(one.within for one in halved))} at the other {other}"


def same_by_processor(compared: Compared) -> str:
    """The metrics of equal CPU time whose elapsed time is not settled."""
    same = [one for one in compared.by_processor if one.verdict == verdict.EQUIVALENT]
    if not same:
        return ""
    named = words.listed([phrases.of_metric(one.workload, (), "time") for one in same[:_NAMED]])
    more = f" and {len(same) - _NAMED} more" if len(same) > _NAMED else ""
    return f"{named}{more}, within {wording.within(max(map(bound, same)))}"


def likely(compared: Compared) -> Open | None:
    """The differences that are not claimed, but whose own interval leaves out that there is none: with more
    time they are likely to be; the largest first. Nothing about claims follows from it."""
    found = [
        one
        for one in (*compared.open, *compared.same)
        if one.verdict != verdict.EQUIVALENT
        and one.ratio
        and wording.leaves_1_out(one.ratio)
        and one.blocks > 1
    ]
    if not found:
        return None
    found.sort(key=lambda one: -_sure(one))
    named = [f"{compared.phrase(one)} {size_of(one)}{_after(one.seconds_needed)}" for one in found[:_NAMED]]
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return Open(len(found), tuple(map(compared.phrase, found)), "; ".join(named) + more)


def _sure(one: Comparison) -> float:
    """The proven distance from 1, on the log scale."""
    assert one.ratio is not None
    assert one.ratio.low is not None
    assert one.ratio.high is not None
    return min(abs(math.log(one.ratio.low)), abs(math.log(one.ratio.high)))


def _after(seconds: float | None) -> str:
    return f" ({words.duration(seconds)} more)" if seconds is not None and seconds <= _PATIENCE_S else ""


def sizes(compared: Compared) -> Open | None:
    """The differences whose size is not known as exactly as the study asks, the widest first."""
    precision = precision_of(compared.evaluation.experiment)
    asked = verdict.CLAIMED if math.isinf(if_equal(precision)) else {*verdict.CLAIMED, verdict.EQUIVALENT}
    wanted = [one for one in compared.metrics if one.verdict in asked and one.ratio]
    found = [one for one in wanted if not is_precise(one.verdict, one.ratio, precision)]
    if not found:
        return None
    found.sort(key=lambda one: -_width(one))
    named = [f"{compared.phrase(one)}{_after(one.size_seconds_needed)}" for one in found[:_NAMED]]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    many = f"{len(found)} of {words.number_of(len(wanted), 'difference')}"
    verb = "is" if len(found) == 1 else "are"
    within = f"{wording.digits(100 * math.expm1(precision), count=2)} %"
    sentence = f"{many} {verb} not yet known to {within}: {', '.join(named)}{more}"
    return Open(len(found), tuple(map(compared.phrase, found)), sentence)


def _width(one: Comparison) -> float:
    """The width of its interval, on the log scale."""
    if one.ratio is None or one.ratio.low is None or one.ratio.high is None:
        return math.inf
    return math.log(one.ratio.high) - math.log(one.ratio.low)


def unsettled(compared: Compared) -> Open | None:
    """The open metrics, and the time that they need."""
    if not compared.open:
        return None
    names = tuple(compared.phrase(one) for one in compared.open)
    return Open(len(compared.open), names, _how_long(compared.open))


def _how_long(members: Sequence[Comparison]) -> str:
    """The time to settle them: by cell, because a trial settles all its metrics."""
    many = words.number_of(len(members), "metric")
    by_cell: dict[str, list[float | None]] = {}
    for one in members:
        by_cell.setdefault(one.cell, []).append(one.seconds_needed)
    known = sorted(
        (max(float(one) for one in needs if one is not None), len(needs))
        for needs in by_cell.values()
        if all(one is not None for one in needs)
    )
    spent, settled = 0.0, 0
    for seconds, metrics in known:
        if spent + seconds <= _PATIENCE_S:
            spent, settled = spent + seconds, settled + metrics
    if settled:
        rest = len(members) - settled
        whom = f"{settled} of them" if rest else ("them" if settled > 1 else "it")
        remedy = f"{many}; {words.duration(spent)} more for {whom}"
        return f"{remedy}; the rest are too noisy here" if rest else remedy
    if known or all(one.blocks > guard.LAST for one in members):
        return f"{many}; {'they are' if len(members) > 1 else 'it is'} too noisy here"
    blocks = [one.blocks_needed for one in members if one.blocks_needed is not None]
    if blocks:
        least = math.floor(median(blocks))
        half = f"half of them need {least} blocks or more" if blocks[1:] else f"some {least} blocks"
        return f"{many}; {half}"
    return f"{many}; too few blocks to say how long it would take"
