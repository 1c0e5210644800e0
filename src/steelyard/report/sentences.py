"""Describes each system for the page, and the tally of its verdicts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard import quantities
from steelyard.analysis.model import HARDWARE, Comparison, SystemFacts
from steelyard.drawing import charts
from steelyard.papers.source import NOTHING
from steelyard.statistics.signed_rank import Estimate

# Facts that say where the agent ran, not what the system is.
_SILENT = ("record", "protocol")


def tallies(comparisons: Sequence[Comparison]) -> list[tuple[str, list[tuple[str, int]]]]:
    """System by system, how many comparisons have which verdict."""
    counts: dict[str, Counter[str]] = {}
    for one in comparisons:
        counts.setdefault(one.system, Counter())[one.verdict] += 1
    return [
        (system, [(word, tally[word]) for word in charts.VERDICTS if tally[word]])
        for system, tally in counts.items()
    ]


def facts(systems: Sequence[SystemFacts]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The facts that the systems report: those that differ, and those that do not; one text per system."""
    described = [_flat({**one.hello, **one.fingerprint}) for one in systems]
    differ: dict[str, list[str]] = {}
    same: dict[str, list[str]] = {}
    for name in dict.fromkeys([*HARDWARE, *(key for one in described for key in one)]):
        texts = [one.get(name, NOTHING) for one in described]
        if any(text != NOTHING for text in texts):
            (differ if len(set(texts)) > 1 else same)[name] = texts
    return differ, same


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    by_name: dict[str, str] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            by_name |= _flat(value, f"{prefix}{name}: ")
        elif name not in _SILENT:
            by_name[prefix + name] = NOTHING if value is None else str(value)
    return by_name


def tally_of(members: Sequence[Comparison]) -> str:
    """The number of each verdict: "12 slower, 3 equivalent"."""
    counts = Counter(one.verdict for one in members)
    return ", ".join(f"{counts[word]} {word}" for word in charts.VERDICTS if counts[word])


def by_group(comparisons: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    groups: dict[str, list[Comparison]] = {}
    for one in comparisons:
        groups.setdefault(one.group, []).append(one)
    return groups


def level(estimate: Estimate) -> str:
    return NOTHING if estimate.level is None else quantities.level(estimate.level)
