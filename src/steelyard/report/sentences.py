"""Says of each system, for the page, what its comparisons come to, and what it is."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard import charts
from steelyard.report import wording
from steelyard.report.papers import NOTHING
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.weighing import HARDWARE, Comparison, SystemFacts, Weighing

# Facts that say where the agent ran, not what the system is.
_SILENT = ("record", "protocol")


def verdict_on(weighing: Weighing, system: str) -> dict[str, Any]:
    """The verdict on one system: what is said first, what is notable, and how many of each verdict."""
    ours = [one for one in weighing.comparisons if one.system == system]
    whole = next((one for one in weighing.indices if one.system == system and one.group == "all"), None)
    head = f"{system} has nothing that could be compared with {weighing.baseline}"
    word = verdict.UNRESOLVED
    if whole is not None:
        head = wording.headline(whole, weighing.baseline)
        if whole.ratio is not None and whole.ratio.level is not None:
            word = whole.verdict
            head += f"; the interval is at {level(whole.ratio)}"
    counts = Counter(one.verdict for one in ours)
    found = [(name, counts[name]) for name in charts.VERDICTS if counts[name]]
    return {
        "system": system,
        "verdict": word,
        "head": f"{head}.",
        "notable": _notable(ours),
        "metrics": len(ours),
        "counts": found,
    }


def _notable(ours: Sequence[Comparison]) -> str:
    """In a sentence: the extremes among the sure verdicts, and the groups where nothing differs for sure."""
    found = []
    for word, most, best in ((verdict.SLOWER, "slowest", min), (verdict.FASTER, "fastest", max)):
        sure = [
            (one.ratio.value, one.ratio, wording.label(one.cell, one.metric))
            for one in ours
            if one.verdict == word and one.ratio
        ]
        if sure:
            _, ratio, where = best(sure, key=lambda one: one[0])
            found.append(f"{most} at {where}: {wording.how_much(ratio)}, at {level(ratio)}")
    for word in (verdict.EQUIVALENT, verdict.UNRESOLVED):
        groups = [
            group for group, members in by_group(ours).items() if all(one.verdict == word for one in members)
        ]
        if groups:
            found.append(f"{word} on all {_listed(groups)} work")
    told = "; ".join(found)
    return f"{told[:1].upper()}{told[1:]}." if told else ""


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def facts(systems: Sequence[SystemFacts]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """What the systems say of themselves: the facts that differ, and those that do not; a text a system."""
    told = [_flat({**one.hello, **one.fingerprint}) for one in systems]
    differ: dict[str, list[str]] = {}
    same: dict[str, list[str]] = {}
    for name in dict.fromkeys([*HARDWARE, *(key for one in told for key in one)]):
        texts = [one.get(name, NOTHING) for one in told]
        if any(text != NOTHING for text in texts):
            (differ if len(set(texts)) > 1 else same)[name] = texts
    return differ, same


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{name}: ")
        elif name not in _SILENT:
            found[prefix + name] = NOTHING if value is None else str(value)
    return found


def tally_of(members: Sequence[Comparison]) -> str:
    """How many of them have which verdict: "12 slower, 3 equivalent"."""
    counts = Counter(one.verdict for one in members)
    return ", ".join(f"{counts[word]} {word}" for word in charts.VERDICTS if counts[word])


def by_group(comparisons: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    found: dict[str, list[Comparison]] = {}
    for one in comparisons:
        found.setdefault(one.group, []).append(one)
    return found


def level(estimate: Estimate) -> str:
    return NOTHING if estimate.level is None else f"{100 * estimate.level:.3g} %"
