"""Says the answer in one sentence, as a colleague would say it aloud: short enough to be repeated."""

import itertools
import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from steelyard.analysis.model import Comparison, Index
from steelyard.report.answers import rest, words
from steelyard.report.answers.compared import (
    BETTER,
    OF_ASPECTS,
    SAME,
    SPEEDS,
    WORSE,
    Compared,
    Item,
    bound,
    sense,
)
from steelyard.report.answers.model import Finding, Same
from steelyard.words import phrases, wording

_LINES, _COLUMNS = 3, 80  # that the answer may take
_TOPICS = (3, 2, 1)  # in each direction, where these are single things: the most that fits
_GROUPS = (7, 4, 3)  # where they are groups
_AKIN = math.log(3)  # ways of doing the same are told together if their differences lie within this
_WIDELY = 0.8  # the share of a group's metrics from which on a difference is the group's
_PLAIN = math.log(2)  # of one block, which has no interval: the least difference of the whole worth a word


@dataclass(frozen=True, slots=True)
class _Topic:
    """One thing that the answer names."""

    name: str
    ratios: tuple[float, ...]
    sure: float  # how far from 1 it is for sure, on the log scale: of several metrics the greatest
    metrics: int
    groups: frozenset[str]  # that it stands for as a whole
    aspect: str = ""  # of its metrics, where it is no group
    phrases: tuple[str, ...] = ()  # of its metrics, where it is no group

    @property
    def far(self) -> float:
        """How far from 1 its middle is, on the log scale."""
        logs = [abs(math.log(one)) for one in self.ratios]
        return sum(logs) / len(logs)

    @property
    def amount(self) -> str:
        return words.amount(*self.ratios)


@dataclass(frozen=True, slots=True)
class _Way:
    """One direction's part of the answer."""

    word: str
    everything: str  # what the groups are together, if they are something
    topics: tuple[_Topic, ...]  # times first, then the greatest sure difference

    @property
    def groups(self) -> frozenset[str]:
        return frozenset(group for topic in self.topics for group in topic.groups)

    @property
    def weight(self) -> float:
        return sum(topic.far for topic in self.topics)

    def text(self, attempt: int) -> str:
        """Its topics, fewer with every attempt."""
        if len(self.topics) == 1 and not self.everything and ": " not in self.topics[0].name:
            return f" at {self.topics[0].name}, {self.topics[0].amount}"
        most = (_GROUPS if self.everything else _TOPICS)[attempt]
        if attempt == 0 and len(self.topics) == most + 1:
            most += 1
        more = 0 if self.everything else sum(topic.metrics for topic in self.topics[most:])
        listed = words.listed([*_amounts_at(self.topics[:most]), *([f"at {more} more"] if more else [])])
        return f"{' at ' + self.everything if self.everything else ''}: {listed}"


def of(compared: Compared, findings: Sequence[Finding], same: Sequence[Same]) -> str:
    """The answer."""
    base = compared.base
    if not compared.metrics:
        return f"{compared.system} has nothing that could be compared with {base}."
    if len(compared.metrics) == 1 and len(findings) <= 1:
        return _of_one(compared, compared.metrics[0])
    if len(compared.missing) == len(compared.metrics):
        return f"{compared.system} could not be compared with {base}: no metric has a figure on both."
    if not findings:
        return _of_none(compared)
    claimed = {(one.cell, one.metric) for one in compared.metrics if one.verdict in (*BETTER, *WORSE)}
    whole = [one for one in compared.items if one.cell in claimed]  # parts of curves are for the findings
    ways = [
        way
        for better in (False, True)
        if (way := _way(compared, whole or compared.items, same, better=better))
    ]
    ways.sort(key=lambda way: -way.weight)
    others = _of_others(compared, frozenset(group for way in ways for group in way.groups), same)
    rounds = sorted(itertools.product(range(len(_TOPICS)), repeat=2), key=sum)
    attempts = [_joined(compared, ways, others, attempt) for attempt in rounds]
    return next((one for one in attempts if len(textwrap.wrap(one, _COLUMNS)) <= _LINES), attempts[-1])


def _joined(compared: Compared, ways: Sequence[_Way], others: str, attempt: Sequence[int]) -> str:
    first, *further = ways
    clause = f"{compared.system} is {first.word} than {compared.base}{first.text(attempt[0])}"
    for way in further:
        clause += f"; it is {way.word}{way.text(attempt[1])}"
    return f"{clause}{'; ' + others if others else ''}."


def _of_one(compared: Compared, one: Comparison) -> str:
    base, phrase = compared.base, compared.phrase(one)
    if one.ratio is None:
        reason = f": {one.flags[0]}" if one.flags else ""
        return f"{compared.system} could not be compared with {base} at {phrase}{reason}."
    if one.verdict in (*BETTER, *WORSE):
        size, bracket, bounds = wording.how_much(one.ratio).partition(" [")
        about = ", by how much is open" if one.verdict.endswith("open") else ""
        said = f"{words.in_sense(size, sense(one))}{bracket}{bounds}"
        if sense(one) not in SPEEDS:
            return f"{phrase[0].upper()}{phrase[1:]}: {said} on {compared.system} than on {base}{about}."
        return f"{compared.system} is {said} than {base} at {phrase}{about}."
    if one.verdict in SAME:
        return (
            f"{compared.system} and {base} are the same at {phrase}: "
            f"no difference above {wording.within(bound(one))}."
        )
    return (
        f"It is too early to tell {compared.system} from {base} at {phrase}: after "
        f"{words.number_of(one.blocks, 'block')} it looks {wording.how_much(one.ratio)}."
    )


def _of_none(compared: Compared) -> str:
    """A sentence for a system without a claimed difference: how large one can be."""
    system, base, many = compared.system, compared.base, len(compared.metrics)
    bounds = sorted(bound(one) for one in compared.same)
    if len(bounds) == many:
        return (
            f"{system} and {base} are the same: none of {many} metrics differs by more than "
            f"{wording.within(bounds[-1])}, and half of them by no more than "
            f"{wording.within(median(bounds))}."
        )
    if bounds and bounds[-1] <= rest.SMALL:
        return (
            f"{system} and {base} do not differ where that is settled: {len(bounds)} of {many} "
            f"metrics are the same within {wording.within(bounds[-1])}, half of these within "
            f"{wording.within(median(bounds))}."
        )
    if 2 * len(bounds) >= many:
        # What is open has wider bounds than what is bounded, so that these are the narrower half of all.
        half = bounds[(many + 1) // 2 - 1]
        return (
            f"No difference between {system} and {base} is found at any of {many} metrics; if there is one, "
            f"it is at half of them no larger than {wording.within(half)}."
        )
    looks = _look(compared.index("all"))
    blocks = words.blocks(compared.metrics, begun=compared.weighing.blocks)
    settled = f"only {len(bounds)} of {many} metrics are" if bounds else f"none of {many} metrics is"
    return f"It is too early to tell {system} from {base}: {settled} settled after {blocks}{looks}."


def _look(whole: Index | None) -> str:
    """What it looks like so far, if the interval leaves out that there is no difference; before there is an
    interval, if the difference is one that scatter does not make."""
    if whole is None or whole.ratio is None:
        return ""
    ratio = whole.ratio
    if ratio.low is None or ratio.high is None:
        is_plain = abs(math.log(ratio.value)) >= _PLAIN
    else:
        is_plain = not ratio.low <= 1 <= ratio.high
    return f": so far it looks {wording.how_much(ratio)} on the whole" if is_plain else ""


# The ways


def _way(compared: Compared, items: Sequence[Item], same: Sequence[Same], *, better: bool) -> _Way | None:
    """What the answer says of one direction; small differences in groups that are otherwise the same are
    left to the findings where whole groups differ."""
    ours = [one for one in items if one.is_better == better]
    if not ours:
        return None
    wide = _wide_groups(compared, better)
    small = {group for group in compared.groups() if wide and rest.nearly(compared, group, same)}
    single = [_of_item(one) for one in ours if one.group not in (*wide, *small)]
    topics = [*(_of_group(compared, group, better) for group in wide), *_akin(single)]
    if not topics:
        return None
    word = SPEEDS[not better] if _are_speeds(ours) else ("better" if better else "worse")
    everything = _everything(compared, wide, better)
    # What one waits for comes before a latency or processor time, however sure these are.
    topics.sort(key=lambda topic: (topic.aspect in OF_ASPECTS, -topic.sure))
    return _Way(word, everything, tuple(topics))


def _are_speeds(items: Sequence[Item]) -> bool:
    """Whether they are speeds, and what goes with these: latency and processor time, which the answer names
    as such. These alone are none."""
    senses = {one.sense for one in items if one.aspect not in OF_ASPECTS}
    return bool(senses) and senses <= set(SPEEDS)


def _wide_groups(compared: Compared, better: bool) -> list[str]:
    """The groups nearly all of whose metrics differ in that direction, and none in the other."""
    groups = []
    for group in dict.fromkeys(one.group for one in compared.metrics):
        able = [
            one
            for one in compared.metrics
            if one.group == group
            and one.ratio
            and (phrases.enters_kernel(one.workload, group) or not phrases.of_group(group).enters_kernel)
        ]
        ours = {one.cell for one in compared.items if one.group == group and one.is_better == better}
        against = [one for one in compared.items if one.group == group and one.is_better != better]
        claimed = sum((one.cell, one.metric) in ours for one in able)
        if len(able) > 1 and not against and claimed >= _WIDELY * len(able):
            groups.append(group)
    return groups


def _everything(compared: Compared, wide: Sequence[str], better: bool) -> str:
    """What the groups that differ widely are together, if they are something."""
    groups = compared.groups()
    kernel = [group for group in groups if phrases.of_group(group).enters_kernel]
    claimed = {one.cell for one in compared.items if one.is_better == better}

    def whole(able: Sequence[Comparison]) -> str:
        every = all((one.cell, one.metric) in claimed for one in able)
        return "" if every else "nearly "

    measured = [one for one in compared.metrics if one.ratio]
    if len(groups) > 1 and set(wide) == set(groups):
        return f"{whole(measured)}everything"
    if len(kernel) > 1 and set(wide) == set(kernel):
        able = [one for one in measured if phrases.enters_kernel(one.workload, one.group)]
        return f"{whole(able)}everything that enters the kernel"
    return ""


# The topics


def _of_group(compared: Compared, group: str, better: bool) -> _Topic:
    """A group that differs widely: by its geometric mean, or its members' where it has none."""
    ours = [one for one in compared.items if one.group == group and one.is_better == better]
    index = compared.index(group)
    if index is not None and index.ratio is not None and (index.ratio.value > 1) == better:
        ratio = index.ratio.value
    else:
        times = [one for one in ours if not one.aspect] or ours
        ratio = math.exp(sum(one.far for one in times) / len(times))
    sure = max(one.sure for one in ours)
    return _Topic(phrases.of_group(group).name, (ratio,), sure, len(ours), frozenset([group]))


def _of_item(one: Item) -> _Topic:
    return _Topic(one.phrase, (one.ratio.value,), one.sure, 1, frozenset(), one.aspect, (one.phrase,))


def _akin(topics: Sequence[_Topic]) -> list[_Topic]:
    """The topics; those that are ways of doing the same ("starting a program" by fork, by posix_spawn, by a
    shell) as one, from the least to the most."""
    subjects: list[_Topic] = []
    for topic in sorted(topics, key=lambda one: len(_general(one.name))):
        akin = next((number for number, other in enumerate(subjects) if _are_akin(other, topic)), None)
        if akin is None:
            subjects.append(topic)
        else:
            other = subjects[akin]
            ratios, metrics = other.ratios + topic.ratios, other.metrics + topic.metrics
            told, sure = other.phrases + topic.phrases, max(other.sure, topic.sure)
            name = _general(other.name) + (f" ({topic.aspect})" if topic.aspect else "")
            subjects[akin] = _Topic(name, ratios, sure, metrics, frozenset(), topic.aspect, told)
    names = Counter(topic.name for topic in subjects)
    return [_told_apart(topic) if names[topic.name] > 1 else topic for topic in subjects]


def _told_apart(topic: _Topic) -> _Topic:
    """The topic, with what all that belongs to it has in common."""
    _, common = phrases.shared(topic.phrases)
    told = phrases.with_aspect(topic.aspect, common)
    return replace(topic, name=f"{_general(topic.name)} ({', '.join(told)})") if common else topic


def _are_akin(one: _Topic, other: _Topic) -> bool:
    """Whether the other is a way of doing the one, in the same aspect, and differs by nearly as much."""
    fars = [abs(math.log(each)) for each in (*one.ratios, *other.ratios)]
    is_way = f"{_general(other.name)} ".startswith(f"{_general(one.name)} ")
    return is_way and one.aspect == other.aspect and max(fars) - min(fars) < _AKIN


def _general(phrase: str) -> str:
    """The phrase without what tells it from its like."""
    return phrase.partition(" (")[0].partition(": ")[0]


def _amounts_at(topics: Sequence[_Topic]) -> list[str]:
    """What, and how much: "640 times at system calls", "17 at processes", "3 % at files"."""
    amounts = []
    unit = ""
    for topic in topics:
        number, _, ours = topic.amount.rpartition(" ")
        amounts.append(f"{number if ours == unit == 'times' else topic.amount} at {topic.name}")
        unit = ours
    return amounts


# What does not differ


def _of_others(compared: Compared, named: frozenset[str], same: Sequence[Same]) -> str:
    """A sentence about the metrics that do not differ: they are the same, if the bound is small for whole
    groups or for all; else only that no difference is claimed."""
    claimed = {one.cell for one in compared.items}
    others = [one for one in compared.metrics if one.ratio and (one.cell, one.metric) not in claimed]
    if not others:
        return ""
    nearly = [
        one
        for group in compared.groups()
        if group not in named and (one := rest.nearly(compared, group, same)) and one.within <= rest.SMALL
    ]
    if named and nearly:
        return rest.briefly(nearly)
    bounds = [bound(one) for one in compared.same]
    many = len(compared.metrics)
    if len(bounds) == len(others) and max(bounds) <= rest.SMALL:
        within = rest.within(max(bounds), median(bounds))
        return f"the other {len(others)} of {many} metrics are the same ({within})"
    open_ones = f"at the other {len(others)} of {many} metrics no difference is claimed"
    return f"{rest.briefly(nearly)}; {open_ones}" if nearly else open_ones
