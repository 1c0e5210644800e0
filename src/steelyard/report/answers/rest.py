"""Says of what is not claimed to differ how large a difference can be at most, and what is not settled."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from steelyard.analysis.model import Comparison
from steelyard.report.answers import words
from steelyard.report.answers.compared import Compared, bound
from steelyard.report.answers.model import Same, Unsettled
from steelyard.statistics import guard
from steelyard.words import phrases, wording

SMALL = 0.05  # what differs by no more is called the same in the answer
_NEARLY = 0.1  # a group with no larger difference, for sure, is as good as the same
_WIDELY = 0.8  # the share of a group's metrics from which on a difference is the group's
_HALVES = 4  # of so many metrics, what half of them keep to is worth a word
_PATIENCE_S = 1800.0  # what would take longer to settle is said to scatter too much


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


def nearly(compared: Compared, group: str, same: Sequence[Same]) -> Same | None:
    """The group as one that is the same: most of it is, the rest differs by little or is not settled."""
    match = next((one for one in same if one.group == group), None)
    items = [one for one in compared.items if one.group == group]
    if match is None or match.metrics < _WIDELY * match.of or any(one.most > _NEARLY for one in items):
        return None
    return replace(match, within=max([match.within, *(one.most for one in items)]))


def within(most: float, typical: float) -> str:
    """Within what several are the same; and half of them, where that says much more."""
    if wording.within(most) == wording.within(typical) or most <= 2 * typical:
        return f"within {wording.within(most)}"
    return f"within {wording.within(most)}, half of the metrics within {wording.within(typical)}"


def briefly(members: Sequence[Same]) -> str:
    """Groups that are the same: "computing is the same (within 2 %)", or "computing is the same within 1 %,
    files within 4 %"."""
    ordered = sorted(members, key=lambda one: one.within)
    first, *others = ordered
    names = words.listed([one.name for one in ordered])
    verb = "are" if others else phrases.of_group(first.group).verb
    word = "nearly the same" if any(one.metrics < one.of for one in ordered) else "the same"
    if len({wording.within(one.within) for one in ordered}) == 1:
        half = within(first.within, first.typical) if not others else f"within {wording.within(first.within)}"
        return f"{names} {verb} {word} ({half})"
    lead = f"{first.name} {phrases.of_group(first.group).verb} {word} within {wording.within(first.within)}"
    return ", ".join([lead, *(f"{one.name} within {wording.within(one.within)}" for one in others)])


def sentence(members: Sequence[Same]) -> str:
    """Group by group above what there is no difference: "computing 3.1 % (half of 23), files 12 % (2 of 6);
    25 % at the other halves". The bound holds for all that the group has, or for half of it where that of
    all says too little."""
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


def unsettled(compared: Compared) -> Unsettled | None:
    """What is open, and how long it would take."""
    if not compared.open:
        return None
    names = tuple(compared.phrase(one) for one in compared.open)
    return Unsettled(len(compared.open), names, _how_long(compared.open))


def _how_long(members: Sequence[Comparison]) -> str:
    """How long it would take to settle them: by cell, because a trial settles all the metrics it has."""
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
        return f"{remedy}, the rest scatter too much here" if rest else remedy
    if known or all(one.blocks > guard.LAST for one in members):
        return f"{many}; {'they scatter' if len(members) > 1 else 'it scatters'} too much here"
    blocks = [one.blocks_needed for one in members if one.blocks_needed is not None]
    if blocks:
        least = math.floor(median(blocks))
        half = f"half of them need {least} blocks or more" if blocks[1:] else f"some {least} blocks"
        return f"{many}; {half}"
    return f"{many}; too few blocks to say how long it would take"
