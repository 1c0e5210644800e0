"""Says what is claimed, the greatest first and the alike folded."""

import math
from collections.abc import Sequence

from steelyard.report.answers import folding, words
from steelyard.report.answers.compared import Compared, Item
from steelyard.report.answers.model import Finding
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import phrases, wording


def of(compared: Compared, lines: int) -> tuple[Finding, ...]:
    """The findings, folded to at most this number of lines where possible."""
    return tuple(_finding(compared, cluster) for cluster in folding.folded(compared.items, lines))


def labelled(one: Finding, room: int) -> str:
    """The finding's phrase; of several, with the names that their workloads have in the tables, as far as
    there is room."""
    workloads = list(dict.fromkeys(cell.partition(" ")[0] for cell, _ in one.cells))
    for many in range(len(workloads), 0, -1):
        names = ", ".join(workloads[:many]) + (", …" if many < len(workloads) else "")
        if len(workloads) > 1 and len(f"{one.phrase} ({names})") <= room:
            return f"{one.phrase} ({names})"
    return one.phrase


def _finding(compared: Compared, cluster: Sequence[Item]) -> Finding:
    first = cluster[0]
    if len(cluster) == 1:
        size, _, bounds = wording.how_much(first.ratio).partition(" [")
        return Finding(
            first.phrase,
            (),
            first.group,
            first.sense,
            words.in_sense(size, first.sense),
            f"[{bounds}" if bounds else "",
            first.verdict,
            first.ratio,
            first.margin,
            first.why,
            (first.cell,),
            first.why_long,
        )
    ratios = [one.ratio.value for one in cluster]
    middle = math.exp(sum(math.log(one) for one in ratios) / len(ratios))
    sure = [one.verdict for one in cluster if one.verdict in (verdict.FASTER, verdict.SLOWER)]
    explained = next((one for one in cluster if one.why), None)
    return Finding(
        _several(compared, cluster),
        tuple(one.phrase for one in cluster),
        first.group,
        first.sense,
        words.span([one.ratio for one in cluster], first.sense),
        "",
        sure[0] if sure else first.verdict,
        Estimate(middle, min(ratios), max(ratios)),
        first.margin,
        f"{explained.phrase}: {explained.why}" if explained else "",
        tuple(one.cell for one in cluster),
        f"{explained.phrase}: {explained.why_long}" if explained else "",
    )


def _several(compared: Compared, cluster: Sequence[Item]) -> str:
    workloads = {one.workload for one in cluster}
    group, aspect = cluster[0].group, cluster[0].aspect
    if len(workloads) == 1:
        phrase, common = phrases.shared([one.phrase for one in cluster])
        told = phrases.with_aspect(aspect, common)
        return f"{phrase}{': ' if told else ''}{', '.join(told)}, {len(cluster)} cases"
    named = phrases.of_group(group)
    members = sum(one.group == group for one in compared.metrics)
    every = "all " if {one.cell for one in cluster} == compared.cells_of(group) else ""
    return f"{every}{members if every else len(cluster)} {named.many}{': ' if aspect else ''}{aspect}"
