"""What is known of an experiment while it is measured: its verdicts at each look, and what is left to do."""

import math
import statistics
from collections import defaultdict
from dataclasses import replace

import numpy as np

from steelyard import interruption
from steelyard.analysis import comparison, indices, rows
from steelyard.analysis.model import Comparison, Standing, Weighing
from steelyard.analysis.observations import Observations
from steelyard.archive.experiments import Experiment
from steelyard.archive.reading import Growing
from steelyard.statistics import boots, verdict
from steelyard.study.model import Cell

_EXPLAINED_FROM = 1.2  # a difference of so many times makes people ask why


class Judge:
    """Reads what was added to an open experiment, and judges all of it anew."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.comparisons: tuple[Comparison, ...] = ()  # of the last look
        self.standing = Standing()
        self.observations: Observations | None = None  # what these rest on
        self._growing = Growing(experiment)
        self._rows = rows.Rows()
        self._cells = {cell.label: cell for cell in experiment.cells}

    def __call__(self) -> Standing:
        """What is known by now. Raises ArchiveError."""
        with interruption.told_apart(), self._growing.more() as connection:
            self._rows.add(connection)
        self.observations = Observations(self.experiment, self._rows)
        self.comparisons = comparison.all_of(self.observations, at_looks=True)
        self.standing = replace(
            standing(self.comparisons, self._cells), boot_ratio=_boot_ratio(self.observations)
        )
        return self.standing

    def weighing(self) -> Weighing:
        """What the last look says: verdicts and their means. No curves, no causes, nothing that would have to
        be read from the archive: it costs little enough for every look."""
        observations = self.observations
        assert observations is not None  # it was asked before
        return Weighing(
            experiment=self.experiment,
            baseline=observations.baseline,
            comparisons=self.comparisons,
            indices=indices.of(observations, self.comparisons),
            troubles=tuple(observations.troubles),
            blocks=max((one.blocks for one in self.comparisons), default=0),
            trials=observations.trials,
        )


def _boot_ratio(observations: Observations) -> float | None:
    """How trials within a boot differ, beside boots, on machines that are booted: the median over metrics."""
    ratios = []
    for key in filter(observations.is_judged, observations.cells_and_metrics()):
        for system in observations.experiment.header.get("machines", {}):
            by_boot: dict[int, list[float]] = defaultdict(list)
            for one in observations.values[key].get(system, {}).values():
                by_boot[one.boot].append(math.log(one.lenses[observations.lens(key[0])]))
            ratio = boots.ratio([np.array(logs) for logs in by_boot.values()])
            if ratio is not None:
                ratios.append(ratio)
    return statistics.median(ratios) if ratios else None


def standing(comparisons: tuple[Comparison, ...], cells: dict[str, Cell]) -> Standing:
    """What the comparisons leave to be done: a cell needs what its slowest comparison needs, of those that
    more blocks can settle."""
    by_pair: dict[tuple[str, str], list[Comparison]] = defaultdict(list)
    for one in comparisons:
        by_pair[one.system, one.cell].append(one)
    decided, explain = set(), set()
    needed: dict[Cell, int] = {}
    for (system, label), members in by_pair.items():
        cell = cells[label]
        still = [one for one in members if one.verdict not in verdict.FIRM]
        if not still:
            decided.add((system, cell))
        elif known := [one.blocks_needed for one in still if one.blocks_needed]:
            needed[cell] = max(*known, needed.get(cell, 0))
        if any(_is_large(one) for one in members):
            explain.add((system, cell))
    return Standing(frozenset(decided), needed, frozenset(explain))


def _is_large(one: Comparison) -> bool:
    if one.ratio is None or one.verdict not in (verdict.FASTER, verdict.SLOWER):
        return False
    return abs(math.log(one.ratio.value)) > math.log(_EXPLAINED_FROM)
