"""Turns a weighing into what a colleague would say aloud of it: the answer, the findings with the greatest
first and the alike folded, what is the same and within what, and what is not settled.

Pure functions over the frozen weighing; console, page and JSON show the same objects.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from steelyard.report import phrases, wording
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.weighing import Comparison, CurveComparison, Index, PartRatio, Weighing

LINES = 14  # findings of one system, where there is one; fewer of each where there are several
_LINES_LEAST = 5
_ALIKE = 0.05  # on the log scale: differences of one group that lie nearer together are one finding ...
_FEW = 6  # ... unless there are no more than so many findings anyway
_TOPICS = 3  # in the answer, in each direction, where these are single things
_NEARLY = 0.1  # a group with no larger difference, for sure, is as good as the same
_WIDELY = 0.8  # the share of a group's metrics from which on a difference is the group's
_PATIENCE_S = 1800.0  # what would take longer to settle is said to scatter too much

_BETTER = (verdict.FASTER, verdict.FASTER_OPEN)
_WORSE = (verdict.SLOWER, verdict.SLOWER_OPEN)
_SAME = (verdict.EQUIVALENT, verdict.BOUNDED)


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference that is claimed, or several of one group that are alike."""

    phrase: str  # "starting a program (fork, exec)", or "12 system calls"
    names: tuple[str, ...]  # of several, the most different first; of one, none
    group: str
    sense: str  # "slower", "faster"; of what is no speed "more", "less", "earlier", "later"
    size: str  # "4.36 times slower", "3.1 to 8.2 % slower"
    interval: str  # of one, in brackets
    verdict: str  # size open only if that of every one is
    ratio: Estimate  # of one; of several the middle, with the least and the most in the interval's place
    margin: float
    why: str  # a sentence; empty where the cause is not known
    cells: tuple[tuple[str, str], ...]  # cell and metric


@dataclass(frozen=True, slots=True)
class Same:
    """The metrics of a group in which no difference is claimed, and within what they are the same."""

    group: str
    name: str
    metrics: int
    of: int  # in the group, not settled ones included
    within: float  # no difference is larger, as a fraction
    typical: float  # half of them are within this
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Unsettled:
    """What is neither different for sure nor the same within a bound."""

    metrics: int
    names: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class Answer:
    """All that is to be said of one system, in the order in which it matters."""

    system: str
    sentence: str
    whole: str  # the one figure, with its interval; empty where one metric is all there is
    findings: tuple[Finding, ...]
    same: tuple[Same, ...]
    same_sentence: str
    unsettled: Unsettled | None
    missing: tuple[str, ...]  # metrics without a figure on both systems
    metrics: int
    holds: str = ""  # for what: the machine, the blocks, the boots


def all_of(weighing: Weighing) -> tuple[Answer, ...]:
    """An answer for each system that was compared with the baseline."""
    systems = [name for name in weighing.experiment.header["systems"] if name != weighing.baseline]
    compared = [name for name in systems if any(one.system == name for one in weighing.comparisons)]
    lines = max(_LINES_LEAST, LINES // max(1, len(compared)))
    found = (_Answering(weighing, name).answer(lines) for name in compared)
    return tuple(
        replace(one, holds=_holds(weighing, one, is_first=one.system == compared[0])) for one in found
    )


def _holds(weighing: Weighing, answer: Answer, *, is_first: bool) -> str:
    """For what the answer holds: the machine (said once), how often it was measured, the boots."""
    system = answer.system
    host = (weighing.experiment.header.get("host") or {}) if is_first else {}
    many = host.get("cpu_count")
    parts = [
        f"{many} {'processor' if many == 1 else 'processors'}" if many else "",
        host.get("cpu_model") or "",
        f"{host.get('kernel') or ''} {(host.get('kernel_release') or '').partition('-')[0]}".strip(),
    ]
    machine = ", ".join(part for part in parts if part)
    words = [f"this machine ({machine})" if machine else "this machine", _counted(weighing.blocks, "block")]
    booted = [one for one in weighing.systems if one.is_boot and one.name in (system, weighing.baseline)]
    words += [f"{_counted(one.boots, 'boot')} of {one.name}" for one in booted]
    is_settled = answer.metrics > len(answer.missing) + (answer.unsettled.metrics if answer.unsettled else 0)
    return f"{'It holds for' if is_settled else 'Measured so far:'} {_listed(words)}."


def labelled(one: Finding, room: int) -> str:
    """The finding's phrase; of several, with the names that their workloads have in the tables, as far as
    there is room."""
    workloads = list(dict.fromkeys(cell.partition(" ")[0] for cell, _ in one.cells))
    for many in range(len(workloads), 0, -1):
        told = ", ".join(workloads[:many]) + (", …" if many < len(workloads) else "")
        if len(workloads) > 1 and len(f"{one.phrase} ({told})") <= room:
            return f"{one.phrase} ({told})"
    return one.phrase


# Items: what is claimed of one metric, or of one part of a curve


@dataclass(frozen=True, slots=True)
class _Item:
    phrase: str
    workload: str
    group: str
    sense: str
    ratio: Estimate
    verdict: str
    margin: float
    why: str
    cell: tuple[str, str]

    @property
    def is_better(self) -> bool:
        return self.verdict in _BETTER

    @property
    def far(self) -> float:
        """How far from 1 it is, on the log scale."""
        return abs(math.log(self.ratio.value))

    @property
    def most(self) -> float:
        """No difference is larger, as a fraction."""
        bounds = [one for one in (self.ratio.low, self.ratio.high) if one is not None]
        return max((max(one, 1 / one) for one in bounds), default=math.inf) - 1

    @property
    def sure(self) -> float:
        """How far from 1, beyond the margin, it is for sure."""
        bounds = [one for one in (self.ratio.low, self.ratio.high) if one is not None]
        nearest = min((abs(math.log(one)) for one in bounds), default=0.0)
        beyond = all((one > 1) == (self.ratio.value > 1) for one in bounds)
        return (nearest if beyond else 0.0) - math.log1p(self.margin)


def _sense(better: bool, unit: str, direction: str) -> str:
    if unit.startswith("ns") or unit.endswith("/s"):
        return "faster" if better else "slower"
    return "more" if better == (direction == "higher") else "less"


class _Answering:
    """What is said of one system."""

    def __init__(self, weighing: Weighing, system: str) -> None:
        self.weighing = weighing
        self.system = system
        self.told = (
            phrases.varied({one.cell: (one.workload, one.parameters) for one in weighing.levels}.values())
            if weighing.levels
            else {}
        )
        ours = [one for one in weighing.comparisons if one.system == system]
        if not self.told:
            self.told = phrases.varied({one.cell: (one.workload, one.parameters) for one in ours}.values())
        self.metrics = [one for one in ours if self._counts(one)]
        self.items = [self._item(one) for one in self.metrics if one.verdict in (*_BETTER, *_WORSE)]
        self.items += self._parts()
        self.same = [one for one in self.metrics if one.verdict in _SAME]
        self.open = [one for one in self.metrics if one.ratio and one.verdict == verdict.UNRESOLVED]
        self.missing = [one for one in self.metrics if one.ratio is None]

    def _counts(self, one: Comparison) -> bool:
        """Not what judges nothing, nor the harness's own loop, nor what another metric has taken away."""
        if one.verdict not in wording.MARKS or one.group == "harness":
            return False
        workload = self.weighing.experiment.header.get("workloads", {}).get(one.workload, {})
        return all(metric.get("less") != one.metric for metric in workload.get("metrics", ()))

    def phrase(self, one: Comparison | CurveComparison) -> str:
        told = self.told.get(one.workload, ())
        return phrases.of_metric(one.workload, one.parameters, one.metric, told=told)

    def _item(self, one: Comparison) -> _Item:
        assert one.ratio is not None
        return _Item(
            self.phrase(one),
            one.workload,
            one.group,
            _sense(one.verdict in _BETTER, one.unit, one.direction),
            one.ratio,
            one.verdict,
            one.margin,
            wording.why(one),
            (one.cell, one.metric),
        )

    def _parts(self) -> Iterable[_Item]:
        """What is claimed of a curve's plateaus and knees, where it is not what is claimed of the whole."""
        whole = {(one.cell, one.metric): one.verdict for one in self.metrics}
        for curve in self.weighing.curves:
            for part in curve.parts.get(self.system, ()):
                better = part.verdict in _BETTER
                alike = _BETTER if better else _WORSE
                if part.verdict in (*_BETTER, *_WORSE) and whole.get((curve.cell, curve.metric)) not in alike:
                    yield self._part(curve, part, better)

    def _part(self, curve: CurveComparison, part: PartRatio, better: bool) -> _Item:
        low, high = (wording.quantity(size, curve.sweep_unit) for size in (part.low, part.high))
        if part.part == "knee":
            phrase, sense = f"{self.phrase(curve)}: where it worsens after {low}", ("later", "earlier")
        else:
            phrase, sense = f"{self.phrase(curve)}, {low} to {high}", ("faster", "slower")
        return _Item(
            phrase,
            curve.workload,
            curve.group,
            sense[not better],
            part.ratio,
            part.verdict,
            curve.margin,
            "",
            (curve.cell, curve.metric),
        )

    def answer(self, lines: int) -> Answer:
        findings = tuple(self._finding(cluster) for cluster in _folded(self.items, lines))
        same = tuple(self._same_groups())
        return Answer(
            self.system,
            self._sentence(findings, same),
            self._whole(),
            findings if len(self.metrics) > 1 or len(findings) > 1 else (),
            same if len(self.metrics) > 1 else (),
            _same_sentence(same) if len(self.metrics) > 1 else "",
            self._unsettled(),
            tuple(self.phrase(one) for one in self.missing),
            len(self.metrics),
        )

    # Findings

    def _finding(self, cluster: Sequence[_Item]) -> Finding:
        first = cluster[0]
        if len(cluster) == 1:
            size, _, bounds = wording.how_much(first.ratio).partition(" [")
            return Finding(
                first.phrase,
                (),
                first.group,
                first.sense,
                _in_sense(size, first.sense),
                f"[{bounds}" if bounds else "",
                first.verdict,
                first.ratio,
                first.margin,
                first.why,
                (first.cell,),
            )
        ratios = [one.ratio.value for one in cluster]
        middle = math.exp(sum(math.log(one) for one in ratios) / len(ratios))
        sure = [one.verdict for one in cluster if one.verdict in (verdict.FASTER, verdict.SLOWER)]
        return Finding(
            self._several(cluster),
            tuple(one.phrase for one in cluster),
            first.group,
            first.sense,
            _range(ratios, first.sense),
            "",
            sure[0] if sure else first.verdict,
            Estimate(middle, min(ratios), max(ratios)),
            first.margin,
            next((f"{one.phrase}: {one.why}" for one in cluster if one.why), ""),
            tuple(one.cell for one in cluster),
        )

    def _several(self, cluster: Sequence[_Item]) -> str:
        workloads = {one.workload for one in cluster}
        if len(workloads) == 1:
            phrase = phrases.of_metric(cluster[0].workload, (), "time")
            return f"{phrase}, {len(cluster)} cases"
        group = cluster[0].group
        words = phrases.of_group(group)
        members = sum(one.group == group for one in self.metrics)
        every = "all " if {one.cell for one in cluster} == self._cells_of(group) else ""
        return f"{every}{members if every else len(cluster)} {words.many}"

    def _cells_of(self, group: str) -> set[tuple[str, str]]:
        return {(one.cell, one.metric) for one in self.metrics if one.group == group}

    # The same, and the unsettled

    def _same_groups(self) -> Iterable[Same]:
        for group in dict.fromkeys(one.group for one in self.metrics):
            ours = [one for one in self.same if one.group == group]
            if ours:
                bounds = [_bound(one) for one in ours]
                yield Same(
                    group,
                    phrases.of_group(group).name,
                    len(ours),
                    sum(one.group == group for one in self.metrics),
                    max(bounds),
                    median(bounds),
                    tuple((one.cell, one.metric) for one in ours),
                )

    def _unsettled(self) -> Unsettled | None:
        if not self.open:
            return None
        names = tuple(self.phrase(one) for one in self.open)
        return Unsettled(len(self.open), names, _how_long(self.open))

    # Sentences

    def _whole(self) -> str:
        whole = self._index("all")
        if whole is None or len(self.metrics) < 2 or not (self.items or self.same):
            return ""
        return wording.whole(whole)

    def _index(self, group: str) -> Index | None:
        return next(
            (one for one in self.weighing.indices if (one.system, one.group) == (self.system, group)), None
        )

    def _sentence(self, findings: Sequence[Finding], same: Sequence[Same]) -> str:
        base = self.weighing.baseline
        if not self.metrics:
            return f"{self.system} has nothing that could be compared with {base}."
        if len(self.metrics) == 1 and len(findings) <= 1:
            return self._of_one(self.metrics[0])
        if len(self.missing) == len(self.metrics):
            return f"{self.system} could not be compared with {base}: no metric has a figure on both."
        if not findings:
            return self._of_none(same)
        worse = self._way(findings, same, better=False)
        better = self._way(findings, same, better=True)
        ways = [way for way in (worse, better) if way]
        if better and worse and better.weight > worse.weight:
            ways.reverse()
        first, *others = ways
        told = f"{self.system} is {first.word} than {base}{first.told}"
        for other in others:
            told += f"; it is {other.word}{other.told}"
        rest = self._rest(frozenset(group for way in ways for group in way.groups), same)
        return f"{told}{'; ' + rest if rest else ''}."

    def _of_one(self, one: Comparison) -> str:
        base, phrase = self.weighing.baseline, self.phrase(one)
        if one.ratio is None:
            reason = f": {one.flags[0]}" if one.flags else ""
            return f"{self.system} could not be compared with {base} at {phrase}{reason}."
        if one.verdict in (*_BETTER, *_WORSE):
            size, bracket, bounds = wording.how_much(one.ratio).partition(" [")
            sense = _sense(one.verdict in _BETTER, one.unit, one.direction)
            about = ", by how much is open" if one.verdict.endswith("open") else ""
            return (
                f"{self.system} is {_in_sense(size, sense)}{bracket}{bounds} than {base} at {phrase}{about}."
            )
        if one.verdict in _SAME:
            return (
                f"{self.system} and {base} are the same at {phrase}: "
                f"no difference above {wording.within(_bound(one))}."
            )
        blocks = _counted(one.blocks, "block")
        return (
            f"It is too early to tell {self.system} from {base} at {phrase}: after {blocks} it looks "
            f"{wording.how_much(one.ratio)}."
        )

    def _of_none(self, same: Sequence[Same]) -> str:
        base, many = self.weighing.baseline, len(self.metrics)
        bounds = sorted(_bound(one) for one in self.same)
        if len(bounds) == many:
            return (
                f"{self.system} and {base} are the same: none of {many} metrics differs by more than "
                f"{wording.within(bounds[-1])}, and half of them by no more than "
                f"{wording.within(median(bounds))}."
            )
        if bounds:
            return (
                f"{self.system} and {base} do not differ where that is settled: {len(bounds)} of {many} "
                f"metrics are the same within {wording.within(bounds[-1])}, half of these within "
                f"{wording.within(median(bounds))}."
            )
        whole = self._index("all")
        looks = f": so far it looks {_short(whole.ratio)} on the whole" if whole and whole.ratio else ""
        return (
            f"It is too early to tell {self.system} from {base}: none of {many} metrics is settled after "
            f"{_counted(self.weighing.blocks, 'block')}{looks}."
        )

    def _way(self, findings: Sequence[Finding], same: Sequence[Same], *, better: bool) -> "_Way | None":
        """What the answer says of one direction; small differences in groups that are otherwise the same are
        left to the findings where whole groups differ."""
        ours = [one for one in findings if (one.verdict in _BETTER) == better]
        if not ours:
            return None
        wide = self._wide_groups(better)
        everything = self._everything(wide, better)
        topics = [self._of_group(group, better) for group in wide]
        small = {group for group in self._groups() if wide and self._nearly(group, same)}
        topics += [self._of_finding(one) for one in ours if one.group not in (*wide, *small)]
        if not topics:
            return None
        topics.sort(key=lambda topic: -topic.far)
        speeds = all(one.sense in ("slower", "faster") for one in ours)
        word = ("faster" if better else "slower") if speeds else ("better" if better else "worse")
        weight = sum(topic.far for topic in topics)
        groups = frozenset(group for topic in topics for group in topic.groups)
        most = len(topics) if everything or len(topics) == _TOPICS + 1 else _TOPICS
        listed = _amounts_at(topics[:most])
        if more := sum(topic.metrics for topic in topics[most:]):
            listed = f"{listed.replace(' and ', ', ')} and at {more} more"
        if len(topics) == 1 and not everything:
            told = f" at {topics[0].name}, {topics[0].amount}"
        else:
            told = f"{' at ' + everything if everything else ''}: {listed}"
        return _Way(word, told, groups, weight)

    def _wide_groups(self, better: bool) -> list[str]:
        """The groups nearly all of whose metrics differ in that direction, and none in the other."""
        found = []
        for group in dict.fromkeys(one.group for one in self.metrics):
            able = [
                one
                for one in self.metrics
                if one.group == group
                and one.ratio
                and (phrases.enters_kernel(one.workload, group) or not phrases.of_group(group).enters_kernel)
            ]
            ours = {one.cell for one in self.items if one.group == group and one.is_better == better}
            against = [one for one in self.items if one.group == group and one.is_better != better]
            claimed = sum((one.cell, one.metric) in ours for one in able)
            if len(able) > 1 and not against and claimed >= _WIDELY * len(able):
                found.append(group)
        return found

    def _everything(self, wide: Sequence[str], better: bool) -> str:
        """What the groups that differ widely are together, if they are something."""
        groups = self._groups()
        kernel = [group for group in groups if phrases.of_group(group).enters_kernel]
        claimed = {one.cell for one in self.items if one.is_better == better}

        def whole(able: Sequence[Comparison]) -> str:
            every = all((one.cell, one.metric) in claimed for one in able)
            return "" if every else "nearly "

        measured = [one for one in self.metrics if one.ratio]
        if len(groups) > 1 and set(wide) == set(groups):
            return f"{whole(measured)}everything"
        if len(kernel) > 1 and set(wide) == set(kernel):
            able = [one for one in measured if phrases.enters_kernel(one.workload, one.group)]
            return f"{whole(able)}everything that enters the kernel"
        return ""

    def _of_group(self, group: str, better: bool) -> "_Topic":
        """A group that differs widely: by its geometric mean, or its members' where it has none."""
        ours = [one for one in self.items if one.group == group and one.is_better == better]
        index = self._index(group)
        if index is not None and index.ratio is not None and (index.ratio.value > 1) == better:
            far = abs(math.log(index.ratio.value))
        else:
            far = sum(one.far for one in ours) / len(ours)
        return _Topic(
            far, phrases.of_group(group).name, _amount(math.exp(far)), len(ours), frozenset([group])
        )

    def _of_finding(self, one: Finding) -> "_Topic":
        amount = _amount(one.ratio.value) if len(one.cells) == 1 else one.size.rpartition(" ")[0]
        far = abs(math.log(one.ratio.value))
        return _Topic(far, one.phrase, amount, len(one.cells), frozenset())

    def _rest(self, told: frozenset[str], same: Sequence[Same]) -> str:
        """What is said of the metrics that do not differ: of whole groups, or else how many."""
        nearly = [
            one for one in (self._nearly(group, same) for group in self._groups() if group not in told) if one
        ]
        if nearly and told:
            return _same_briefly(nearly)
        if not self.same:
            return ""
        bounds = [_bound(one) for one in self.same]
        within = _within(max(bounds), median(bounds))
        others = len(self.metrics) - len({one.cell for one in self.items})
        if len(self.same) == others:
            return f"the other {others} of {len(self.metrics)} metrics are the same ({within})"
        return f"{len(self.same)} of {len(self.metrics)} metrics are the same ({within})"

    def _groups(self) -> list[str]:
        return list(dict.fromkeys(one.group for one in self.metrics if one.ratio))

    def _nearly(self, group: str, same: Sequence[Same]) -> Same | None:
        """The group as one that is the same: most of it is, the rest differs by little or is not settled."""
        found = next((one for one in same if one.group == group), None)
        items = [one for one in self.items if one.group == group]
        if found is None or found.metrics < _WIDELY * found.of or any(one.most > _NEARLY for one in items):
            return None
        return replace(found, within=max([found.within, *(one.most for one in items)]))


@dataclass(frozen=True, slots=True)
class _Topic:
    """One thing that the answer names."""

    far: float
    name: str
    amount: str
    metrics: int
    groups: frozenset[str]  # that it stands for as a whole


@dataclass(frozen=True, slots=True)
class _Way:
    """One direction's part of the answer."""

    word: str
    told: str
    groups: frozenset[str]
    weight: float


# Folding


def _folded(items: Sequence[_Item], lines: int) -> list[list[_Item]]:
    """The items in clusters, each of one group and sense, the greatest sure difference first: those that are
    alike together, and then the nearest, until there are no more clusters than lines. What a reader loses by
    a fold is how far its members lie apart; so the least spread is folded first."""
    by_kind: dict[tuple[str, str], list[list[_Item]]] = {}
    for one in sorted(items, key=lambda one: -one.far):
        by_kind.setdefault((one.group, one.sense), []).append([one])
    clusters = sum(map(len, by_kind.values()))
    alike = _ALIKE if clusters > _FEW else -1.0
    while True:
        nearest = min(_neighbours(by_kind), default=None)
        if nearest is None or (clusters <= lines and nearest[0] > alike):
            break
        _, kind, number = nearest
        found = by_kind[kind]
        found[number : number + 2] = [found[number] + found[number + 1]]
        clusters -= 1
    every = [cluster for found in by_kind.values() for cluster in found]
    return sorted(every, key=lambda cluster: -max(one.sure for one in cluster))


def _neighbours(
    by_kind: Mapping[tuple[str, str], Sequence[Sequence[_Item]]],
) -> Iterable[tuple[float, tuple[str, str], int]]:
    """For every two neighbouring clusters, how far the two together would spread; half that if they are
    cases of one workload."""
    for kind, found in by_kind.items():
        for number, (above, below) in enumerate(itertools.pairwise(found)):
            spread = above[0].far - below[-1].far
            workloads = {one.workload for one in (*above, *below)}
            yield (spread if len(workloads) > 1 else spread / 2), kind, number


# Words


def _bound(one: Comparison) -> float:
    return one.bound if one.bound is not None else one.margin


def _short(ratio: Estimate) -> str:
    return wording.how_much(Estimate(ratio.value))


def _in_sense(size: str, sense: str) -> str:
    """The size with the word for what is compared: "2.00 times slower" becomes "2.00 times more"."""
    return f"{size.rpartition(' ')[0]} {sense}"


def _amount(ratio: float) -> str:
    """How much, to two digits and without a direction: "640 times", "3.1 %"."""
    far = max(ratio, 1 / ratio)
    if far < 1.25:
        return f"{wording.digits(100 * (far - 1), count=2)} %"
    return f"{wording.digits(far, count=2)} times"


def _range(ratios: Sequence[float], sense: str) -> str:
    """From the least to the most: "3.1 to 8.2 % slower", "1.2 to 640 times slower"."""
    low, high = sorted(max(one, 1 / one) for one in (min(ratios), max(ratios)))
    if high < 1.25:
        least, most = (wording.digits(100 * (one - 1), count=2) for one in (low, high))
        return f"{least} to {most} % {sense}" if least != most else f"{most} % {sense}"
    least, most = (wording.digits(one, count=3 if one < 10 else 2) for one in (low, high))
    return f"{least} to {most} times {sense}" if least != most else f"{most} times {sense}"


def _amounts_at(topics: Sequence[_Topic]) -> str:
    """A list of what, and how much: "640 times at system calls, 17 at processes and 3 % at files"."""
    words = []
    unit = ""
    for topic in topics:
        number, _, ours = topic.amount.rpartition(" ")
        words.append(f"{number if ours == unit == 'times' else topic.amount} at {topic.name}")
        unit = ours
    return _listed(words)


def _within(most: float, typical: float) -> str:
    """Within what several are the same; and half of them, where that says much more."""
    if wording.within(most) == wording.within(typical) or most <= 2 * typical:
        return f"within {wording.within(most)}"
    return f"within {wording.within(most)}, half of the metrics within {wording.within(typical)}"


def _same_briefly(groups: Sequence[Same]) -> str:
    """Groups that are the same: "computing is the same (within 2 %)", or "computing is the same within 1 %,
    files within 4 %"."""
    ordered = sorted(groups, key=lambda one: one.within)
    first, *others = ordered
    names = _listed([one.name for one in ordered])
    verb = "are" if others else phrases.of_group(first.group).verb
    word = "nearly the same" if any(one.metrics < one.of for one in ordered) else "the same"
    if len({wording.within(one.within) for one in ordered}) == 1:
        half = (
            _within(first.within, first.typical) if not others else f"within {wording.within(first.within)}"
        )
        return f"{names} {verb} {word} ({half})"
    told = f"{first.name} {phrases.of_group(first.group).verb} {word} within {wording.within(first.within)}"
    return ", ".join([told, *(f"{one.name} within {wording.within(one.within)}" for one in others)])


def _same_sentence(groups: Sequence[Same]) -> str:
    """Group by group how many metrics are the same, and within what."""
    told = []
    for one in sorted(groups, key=lambda one: one.within):
        many = f"{one.metrics}" if one.metrics == one.of else f"{one.metrics} of {one.of}"
        half = f", half within {wording.within(one.typical)}" if one.metrics > 3 else ""
        told.append(f"{one.name} within {wording.within(one.within)} ({many}{half})")
    return "; ".join(told)


def _how_long(members: Sequence[Comparison]) -> str:
    """How long it would take to settle them: by cell, because a trial settles all the metrics it has."""
    many = _counted(len(members), "metric")
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
        told = f"{many}; {_duration(spent)} more for {whom}"
        return f"{told}, the rest scatter too much here" if rest else told
    blocks = [one.blocks_needed for one in members if one.blocks_needed is not None]
    if known:
        return (
            f"{many}; they scatter too much here"
            if len(members) > 1
            else f"{many}; it scatters too much here"
        )
    if blocks:
        least = int(median(sorted(blocks)))
        return (
            f"{many}; {f'half of them need {least} blocks or more' if blocks[1:] else f'some {least} blocks'}"
        )
    return f"{many}; too few blocks to say how long it would take"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, math.ceil(seconds))} s"
    return f"{math.ceil(seconds / 60)} minutes"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
