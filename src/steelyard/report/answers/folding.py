"""Folds what is claimed of single metrics into as many clusters as a screen has lines for."""

import itertools
from collections.abc import Iterable, Mapping, Sequence

from steelyard.report.answers.compared import PLACES, Item

ALIKE = 0.05  # on the log scale: differences of one group that lie nearer together are one finding ...
FEW = 6  # ... unless there are at most this number of findings

_Kind = tuple[str, str, str]  # group, aspect and sense


def folded(items: Sequence[Item], lines: int) -> list[list[Item]]:
    """The items in clusters, each of one group, aspect and sense, the greatest sure difference first; what is
    no difference in speed or amount but in a curve's shape last: those that are alike together, and then the
    nearest, until there are no more clusters than lines. What a reader loses by a fold is how far its members
    lie apart; so the least spread is folded first."""
    by_kind: dict[_Kind, list[list[Item]]] = {}
    for one in sorted(items, key=lambda one: -one.far):
        by_kind.setdefault((one.group, one.aspect, one.sense), []).append([one])
    clusters = sum(map(len, by_kind.values()))
    alike = ALIKE if clusters > FEW else -1.0
    while True:
        nearest = min(_neighbours(by_kind), default=None)
        if nearest is None or (clusters <= lines and nearest[0] > alike):
            break
        _, kind, number = nearest
        series = by_kind[kind]
        series[number : number + 2] = [series[number] + series[number + 1]]
        clusters -= 1
    every = [cluster for series in by_kind.values() for cluster in series]
    return sorted(every, key=lambda cluster: (cluster[0].sense in PLACES, -max(one.sure for one in cluster)))


def _neighbours(by_kind: Mapping[_Kind, Sequence[Sequence[Item]]]) -> Iterable[tuple[float, _Kind, int]]:
    """The spread of every two neighbouring clusters together; half of that if they are cases of one
    workload.
    """
    for kind, clusters in by_kind.items():
        for number, (above, below) in enumerate(itertools.pairwise(clusters)):
            spread = above[0].far - below[-1].far
            workloads = {one.workload for one in (*above, *below)}
            yield (spread if len(workloads) > 1 else spread / 2), kind, number
