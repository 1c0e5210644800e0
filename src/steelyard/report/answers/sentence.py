"""Says the answer: the verdict, what differs most and by how much, and what does not differ."""

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
from steelyard.report.answers.model import Finding
from steelyard.statistics import verdict
from steelyard.words import phrases, remarks, wording

_LINES, _COLUMNS = 4, 80  # that the answer may take
_TOPICS = (7, 5, 4, 3, 2, 1)  # in each direction: the most that fits
# variants of the same work are listed together if their differences are within this factor
_AKIN = math.log(3)
_APART = 1.5  # minimum and maximum of a group are given if they differ by this factor
_WIDELY = 0.8  # the share of a group's metrics from which on a difference is the group's


@dataclass(frozen=True, slots=True)
class _Topic:
    """One thing that the answer names."""

    name: str
    ratios: tuple[float, ...]
    sure: float  # how far from 1 it is for sure, on the log scale: of several metrics the greatest
    metrics: int
    aspect: str = ""  # of its metrics, where it is no group
    phrases: tuple[str, ...] = ()  # of its metrics, where it is no group
    is_least: bool = False  # the ratios are what is sure: their intervals are wide
    span: tuple[float, ...] = ()  # of a group's metrics, where they are far apart: the least and the most

    @property
    def text(self) -> str:
        """What, and how much: "system calls 180×", "processes 37× (13 to 54×)"."""
        span = f" ({words.amount(*self.span)})" if self.span else ""
        return f"{self.name} {'at least ' if self.is_least else ''}{words.amount(*self.ratios)}{span}"


@dataclass(frozen=True, slots=True)
class _Way:
    """One direction's part of the answer."""

    word: str
    metrics: int  # that differ that way
    topics: tuple[_Topic, ...]  # times first, then the greatest sure difference

    @property
    def far(self) -> float:
        """How far from 1 its topics are together, on the log scale."""
        return sum(abs(math.log(ratio)) for topic in self.topics for ratio in topic.ratios)

    def text(self, most: int) -> str:
        """That many of its topics, and how many more metrics there are."""
        most = most + 1 if len(self.topics) == most + 1 == _TOPICS[0] + 1 else most
        more = sum(topic.metrics for topic in self.topics[most:])
        listed = ", ".join(topic.text for topic in self.topics[:most])
        return f"{listed}{f' and {more} more' if more else ''}"


def of(compared: Compared, findings: Sequence[Finding]) -> str:
    """The answer."""
    if not compared.metrics:
        return f"{_lead(compared)}: there is nothing to compare."
    if len(compared.metrics) == 1 and len(findings) <= 1:
        by_processor = compared.by_processor if len(compared.by_processor) == 1 else ()
        return _of_one(compared, (*by_processor, compared.metrics[0])[0])
    if len(compared.missing) == len(compared.metrics):
        return f"{_lead(compared)}: nothing could be compared, because no metric was measured on both."
    if not findings:
        return _of_none(compared)
    claimed = {(one.cell, one.metric) for one in compared.metrics if one.verdict in (*BETTER, *WORSE)}
    whole = [one for one in compared.items if one.cell in claimed]  # parts of curves are for the findings
    ways = [
        way for better in (False, True) if (way := _way(compared, whole or compared.items, better=better))
    ]
    ways.sort(key=lambda way: (-way.metrics, -way.far))
    rounds = sorted(itertools.product(_TOPICS, repeat=2), key=lambda most: -sum(most))
    attempts = [_joined(compared, ways, most) for most in rounds]
    return next((one for one in attempts if _lines(one) <= _LINES), attempts[-1])


def _lines(sentence: str) -> int:
    return sum(len(textwrap.wrap(line, _COLUMNS)) for line in sentence.splitlines())


def _joined(compared: Compared, ways: Sequence[_Way], most: Sequence[int]) -> str:
    """The verdict and what differs most; in a second line, what does not differ."""
    first, *further = ways
    many = len(compared.metrics)
    every = "both metrics" if many == 2 else f"all {many} metrics"
    whole = every if first.metrics == many else f"{first.metrics} of {many} metrics"
    verdicts = [f"{first.word} at {whole}", *(f"{way.word} at {way.metrics}" for way in further)]
    lines = f"{_lead(compared)}: {', '.join(verdicts)}. {_sentence(first.text(most[0]))}"
    for way in further:
        lines += f" {way.word.capitalize()}: {way.text(most[1])}."
    same = _of_others(compared)
    return f"{lines}\n{same}" if same else lines


def _lead(compared: Compared) -> str:
    return f"{compared.system} vs {compared.base}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _of_one(compared: Compared, one: Comparison) -> str:
    lead, phrase = _lead(compared), compared.phrase(one)
    if one.ratio is None:
        reason = f": {remarks.text(one.remarks[0])}" if one.remarks else ""
        return f"{lead}: nothing could be compared at {phrase}{reason}."
    if one.verdict in (*BETTER, *WORSE):
        size, bracket, bounds = wording.how_much(one.ratio).partition(" [")
        about = ", but the size is open" if one.verdict in _SIZE_OPEN else ""
        said = f"{words.in_sense(size, sense(one))}{bracket}{bounds}"
        if sense(one) not in SPEEDS:
            return f"{lead}: {phrase}: {said}{about}."
        return f"{lead}: {said} at {phrase}{about}."
    if one.verdict in SAME:
        return f"{lead}: no difference found at {phrase} (at most {wording.within(bound(one))})."
    after = words.number_of(one.blocks, "block")
    if one.ratio.low is None:
        looks = f"{after} {'gives' if one.blocks == 1 else 'give'} no interval"
    else:
        looks = f"after {after} it looks {wording.how_much(one.ratio)}"
    return f"{lead}: too early to tell at {phrase}: {looks}."


_SIZE_OPEN = (verdict.FASTER_OPEN, verdict.SLOWER_OPEN)


def _of_none(compared: Compared) -> str:
    """A sentence for a system without a claimed difference: how large one can be."""
    lead, many = _lead(compared), len(compared.metrics)
    bounds = sorted(bound(one) for one in compared.same)
    if len(bounds) == many:
        return f"{lead}: no difference found at any of {many} metrics ({_at_most(bounds)})."
    if bounds and bounds[-1] <= rest.SMALL:
        settled = f"{len(bounds)} of {many} metrics"
        return f"{lead}: no difference found at {settled} ({_at_most(bounds)}); the others are not settled."
    if 2 * len(bounds) >= many:
        # What is open has wider bounds than what is bounded, so that these are the narrower half of all.
        half = bounds[(many + 1) // 2 - 1]
        return (
            f"{lead}: no difference found at any of {many} metrics (at half of them at most "
            f"{wording.within(half)})."
        )
    blocks = words.blocks(compared.metrics, begun=compared.evaluation.blocks)
    settled = f"{len(bounds)} of {many} metrics {'is' if len(bounds) == 1 else 'are'}"
    if not bounds:
        settled = f"none of {many} metrics is"
    return f"{lead}: too early to tell: {settled} settled after {blocks}{_look(compared.index('all'))}."


def _at_most(bounds: Sequence[float]) -> str:
    """How large a difference can still be, and at half of them: "at most 4.1 %, half of them 1.2 %"."""
    largest, half = wording.within(max(bounds)), wording.within(median(bounds))
    return f"at most {largest}" + (f", half of them {half}" if half != largest else "")


def _look(whole: Index | None) -> str:
    """The current trend, if the interval excludes no difference."""
    if whole is None or whole.ratio is None or not wording.leaves_1_out(whole.ratio):
        return ""
    return f"; so far it looks {wording.how_much(whole.ratio)} overall"


# The ways


def _way(compared: Compared, items: Sequence[Item], *, better: bool) -> _Way | None:
    """The part of the answer for one direction: groups that differ as a whole, and single metrics."""
    ours = [one for one in items if one.is_better == better]
    if not ours:
        return None
    wide = _wide_groups(compared, better)
    single = [_of_item(one) for one in ours if one.group not in wide]
    topics = [*(_of_group(compared, group, better) for group in wide), *_akin(single)]
    word = SPEEDS[not better] if _are_speeds(ours) else ("better" if better else "worse")
    # What one waits for comes before a latency or processor time, however sure these are.
    topics.sort(key=lambda topic: (topic.aspect in OF_ASPECTS, -topic.sure))
    return _Way(word, len({one.cell for one in ours}), tuple(topics))


def _are_speeds(items: Sequence[Item]) -> bool:
    """True if they are speeds, with or without latency and CPU time, which the answer names as such. Latency
    and CPU time alone are not.
    """
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


# The topics


def _of_group(compared: Compared, group: str, better: bool) -> _Topic:
    """A group that differs widely: by its geometric mean, or its members' where it has none."""
    ours = [one for one in compared.items if one.group == group and one.is_better == better]
    times = [one for one in ours if not one.aspect] or ours
    index = compared.index(group)
    is_known = index is not None and index.ratio is not None and index.ratio.low is not None
    if is_known and index and index.ratio and (index.ratio.value > 1) == better:
        ratio, is_least = wording.quotable(index.ratio), wording.is_wide(index.ratio)
    else:
        is_least = any(wording.is_wide(one.ratio) for one in times)
        ratio = math.exp(sum(abs(math.log(wording.quotable(one.ratio))) for one in times) / len(times))
    sizes = [max(one, 1 / one) for one in (wording.quotable(each.ratio) for each in times)]
    span = (min(sizes), max(sizes)) if max(sizes) > _APART * min(sizes) else ()
    name = phrases.of_group(group).name
    # Where the mean is not known well, the least and the most say more than what of it is sure.
    ratios, span = (span, ()) if is_least and span else ((ratio,), span)
    sure = max(one.sure for one in ours)
    return _Topic(name, ratios, sure, len(ours), is_least=is_least and len(ratios) == 1, span=span)


def _of_item(one: Item) -> _Topic:
    is_least = wording.is_wide(one.ratio)
    ratios = (wording.quotable(one.ratio),)
    return _Topic(one.phrase, ratios, one.sure, 1, one.aspect, (one.phrase,), is_least)


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
            is_least = other.is_least or topic.is_least
            subjects[akin] = _Topic(name, ratios, sure, metrics, topic.aspect, told, is_least)
    names = Counter(topic.name for topic in subjects)
    return [_told_apart(topic) if names[topic.name] > 1 else topic for topic in subjects]


def _told_apart(topic: _Topic) -> _Topic:
    """The topic, with the common parts of all its members."""
    _, common = phrases.shared(topic.phrases)
    told = phrases.with_aspect(topic.aspect, common)
    return replace(topic, name=f"{_general(topic.name)} ({', '.join(told)})") if common else topic


def _are_akin(one: _Topic, other: _Topic) -> bool:
    """True if the other is a variant of the first, in the same aspect, with nearly the same difference."""
    fars = [abs(math.log(each)) for each in (*one.ratios, *other.ratios)]
    is_way = f"{_general(other.name)} ".startswith(f"{_general(one.name)} ")
    return is_way and one.aspect == other.aspect and max(fars) - min(fars) < _AKIN


def _general(phrase: str) -> str:
    """The phrase without what tells it from its like."""
    return phrase.partition(" (")[0].partition(": ")[0]


# What does not differ


def _of_others(compared: Compared) -> str:
    """A sentence about the metrics that do not differ: how large a difference can be at most where that is
    known, and how many are not settled."""
    claimed = {one.cell for one in compared.items}
    others = [one for one in compared.metrics if one.ratio and (one.cell, one.metric) not in claimed]
    bounds: dict[str, list[float]] = {}
    for one in others:
        if one.verdict in SAME:
            bounds.setdefault(one.group, []).append(bound(one))
    touched = {one.group for one in compared.metrics if one not in others or one.verdict not in SAME}
    known = [
        (phrases.of_group(group).name, wording.within(max(most)))
        for group, most in sorted(bounds.items(), key=lambda each: -max(each[1]))
        if group not in touched
    ]
    if left := [most for group, each in bounds.items() if group in touched for most in each]:
        more = words.number_of(len(left), "other metric" if known else "metric")
        known.append((more, wording.within(max(left))))
    found = f"No difference found in {_bounded(known)}." if known else ""
    unsettled = sum(one.verdict not in SAME for one in others)
    still = f"{words.number_of(unsettled, 'metric is', 'metrics are')} not settled." if unsettled else ""
    return " ".join(part for part in (found, still) if part)


def _bounded(known: Sequence[tuple[str, str]]) -> str:
    """The topics, each with its largest possible difference; once, if it is the same for all."""
    if len({most for _, most in known}) == 1:
        return f"{words.listed([name for name, _ in known])} (at most {known[0][1]})"
    return words.listed([f"{name} (at most {most})" for name, most in known])
