"""Turns what limits the verdicts, and what went wrong, into few sentences: alike ones together, counted."""

from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Any

from steelyard.analysis.model import Evaluation
from steelyard.analysis.remarks import (
    Disturbed,
    FewUnits,
    HeldBack,
    MonitorBlind,
    NoPair,
    OneBoot,
    OneUnit,
    Remark,
    SameCode,
    Trouble,
)
from steelyard.quantities import number_of
from steelyard.words import remarks, wording

_AS_INTENDED = (SameCode,)
_NAMED = 2  # this number is named; of more, the first and the number of the rest
# What every report says elsewhere: how many boots and blocks it holds for, and which trials failed.
_SAID_ELSEWHERE = (OneBoot, NoPair, Trouble)


def of(
    evaluation: Evaluation, *, everything: bool = False, without: Sequence[Remark] = ()
) -> tuple[str, ...]:
    """The notes, the most important first, but for remarks that are said elsewhere. What monitors cannot see,
    and what is as it should be, is included only with `everything`."""
    notes = [
        remarks.text(one)
        for one in evaluation.remarks
        if one not in without and (everything or not isinstance(one, MonitorBlind))
    ]
    notes += _of_troubles(evaluation.troubles)
    notes += _of_comparisons(evaluation, everything)
    if evaluation.experiment.header.get("short"):
        notes.append("this is the study's short form: fewer and shorter trials, and wider intervals")
    if not evaluation.experiment.closed:
        notes.append("the experiment is not finished; run the same command again to resume it")
    return tuple(notes)


def of_monitors(evaluation: Evaluation) -> tuple[str, ...]:
    """The blind spots of the monitors that took part."""
    return remarks.texts(one for one in evaluation.remarks if isinstance(one, MonitorBlind))


def _of_troubles(troubles: Sequence[Trouble]) -> Iterable[str]:
    """A sentence for each system, outcome and reason."""
    kinds: dict[tuple[str, str, str], list[Trouble]] = {}
    for one in troubles:
        kinds.setdefault((one.system, one.status, remarks.reason(one) or "no reason given"), []).append(one)
    for (system, status, reason), members in kinds.items():
        trials = number_of(sum(one.trials for one in members), "trial")
        cells = _list_of([one.cell for one in members])
        yield f"{trials} of {cells} {status} on {system}: {reason}"


def _of_comparisons(evaluation: Evaluation, everything: bool) -> Iterable[str]:
    """The remarks on comparisons: one sentence for all remarks that differ only in numbers."""
    left_out = _SAID_ELSEWHERE if everything else (*_SAID_ELSEWHERE, *_AS_INTENDED)
    by_kind: dict[tuple[object, ...], list[tuple[Remark, str]]] = {}
    for one in evaluation.comparisons:
        for remark in one.remarks:
            if not isinstance(remark, left_out):
                kind = remarks.kind_of(remark)
                by_kind.setdefault(kind, []).append((remark, wording.label(one.cell, one.metric)))
    for members in by_kind.values():
        alike, labels = [remark for remark, _ in members], [label for _, label in members]
        yield _about(alike[0], alike, labels)


@singledispatch
def _about(one: Remark, alike: Sequence[Any], labels: Sequence[str]) -> str:
    """One sentence on these metrics; of a kind that is frequent, one that counts them where they are many."""
    return f"{_list_of(labels)}: {remarks.together(alike)}"


@_about.register
def _(one: FewUnits, alike: Sequence[FewUnits], labels: Sequence[str]) -> str:
    rest = f"{remarks.units(alike)}; {_apart(alike)}"
    if len(labels) > _NAMED:
        return f"{len(labels)} verdicts rest on {rest}"
    return f"{_list_of(labels)}: the verdict rests on {rest}"


@_about.register
def _(one: HeldBack, alike: Sequence[HeldBack], labels: Sequence[str]) -> str:
    if len(labels) > _NAMED:
        few = f"too few {one.unit}s for a claim ({remarks.number_of_units(alike)})"
        return f"{len(labels)} metrics have {few}, because {_apart(alike)}"
    return f"{_list_of(labels)}: {remarks.units(alike)} are too few for a claim, because {_apart(alike)}"


@_about.register
def _(one: OneUnit, alike: Sequence[OneUnit], labels: Sequence[str]) -> str:
    if len(labels) > _NAMED:
        return f"{len(labels)} metrics have one {one.unit} only, so no interval"
    return f"{_list_of(labels)}: one {one.unit} alone has no interval"


@_about.register
def _(one: Disturbed, alike: Sequence[Disturbed], labels: Sequence[str]) -> str:
    names, disturbed, blocks = _list_of(labels), remarks.disturbed_blocks(alike), remarks.all_blocks(alike)
    many = len(labels) if len(labels) > _NAMED else 0
    match one.without:
        case "same" if many:
            return (
                f"{many} metrics had blocks disturbed by other work ({disturbed} of {blocks}); their "
                "verdicts are unchanged without them"
            )
        case "same":
            were = f"{disturbed} of {blocks} blocks were disturbed by other work"
            return f"{names}: {were}; the verdict is unchanged without them"
        case "none" if many:
            return f"{many} metrics have no undisturbed block ({blocks} each)"
        case "none":
            return f"{names}: every block was disturbed by other work ({blocks})"
    return f"{names}: {remarks.together(alike)}"


def _apart(alike: Sequence[FewUnits | HeldBack]) -> str:
    return f"single trials of one system differ by up to {remarks.apart(alike)} here"


def _list_of(names: Sequence[str]) -> str:
    """The names, or the first and how many there are besides."""
    different = list(dict.fromkeys(names))
    if len(different) <= _NAMED:
        return " and ".join(different)
    return f"{different[0]} and {len(different) - 1} others"
