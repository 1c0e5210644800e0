"""Keeps the interim result of an experiment: its verdicts at each look, and the work that is left."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard import interruption
from steelyard.analysis import comparison, conditions, indices, rows
from steelyard.analysis.comparison import AtLook
from steelyard.analysis.model import Comparison, Evaluation, Horizon, Interim
from steelyard.analysis.observations import Observations
from steelyard.archive import experiments, reading
from steelyard.archive.experiments import StoredExperiment
from steelyard.events import Event
from steelyard.statistics import boots, verdict
from steelyard.statistics.prospects import Outlook
from steelyard.study.model import Cell

_EXPLAINED_FROM = 1.2  # people ask for the cause of a difference by this factor


class Judge:
    """Receives the events of an open experiment, and judges all of it at each look."""

    def __init__(self, experiment: StoredExperiment) -> None:
        """Begins with what the experiment's journal holds. Raises ArchiveError."""
        self.experiment = experiment
        self.comparisons: tuple[Comparison, ...] = ()  # of the last look
        self.interim = Interim()
        self._cells = {cell.label: cell for cell in experiment.cells}
        self._processor_times: tuple[Comparison, ...] = ()
        self._new = rows.Rows()
        before = rows.Rows()
        if experiments.has_trials(experiment):
            with interruption.told_apart(), reading.connect(experiment) as connection:
                before.add(connection)
        self.observations = Observations(experiment, before)
        self._looking = comparison.Looking(self.observations)

    def hear(self, event: Event) -> None:
        """Something happened, and is in the journal."""
        self._new.hear(event)

    def __call__(self) -> Interim:
        """Return the interim result. If no comparison has reached another look, it is the previous one."""
        new, self._new = self._new, rows.Rows()
        self.observations.add(new)
        look = self._looking.look()
        if look is not None:
            self.comparisons, self._processor_times = look.comparisons, look.processor_times
            self.interim = replace(
                result_at(look, self._cells, precision=comparison.precision_of(self.experiment)),
                boot_ratios=_boot_ratios(self.observations, self._cells),
            )
        return self.interim

    def evaluation(self) -> Evaluation:
        """The result of the last look: verdicts and their means. It has no curves, causes, or anything else
        that must be read from the archive, so that every look is cheap.
        """
        observations = self.observations
        return Evaluation(
            experiment=self.experiment,
            baseline=observations.baseline,
            comparisons=self.comparisons,
            processor_times=self._processor_times,
            indices=indices.of(observations, self.comparisons),
            troubles=tuple(observations.troubles),
            blocks=max((one.blocks for one in self.comparisons), default=0),
            trials=observations.trials,
            absent=observations.absent,
            state=conditions.of_rows(observations.rows.trials, self.experiment, self.comparisons),
        )


def _boot_ratios(observations: Observations, cells: Mapping[str, Cell]) -> dict[Cell, float]:
    """By cell, the variation of pairs within a boot, relative to that between boots, over its metrics and the
    systems that boot. It uses pairs, because drift makes single trials of one boot alike, and those of two
    boots not.
    """
    ratios: dict[Cell, list[float]] = defaultdict(list)
    for key in filter(observations.is_judged, observations.cells_and_metrics()):
        for system in observations.others:
            by_boot: dict[tuple[int, ...], list[float]] = defaultdict(list)
            for block, difference in observations.differences(key, system, observations.lens(key[0])).items():
                by_boot[observations.boots_of(key, system, block)].append(difference)
            ratio = boots.ratio([np.array(differences) for differences in by_boot.values()])
            if ratio is not None:
                ratios[cells[key[0]]].append(ratio)
    return {cell: statistics.median(found) for cell, found in ratios.items()}


def result_at(look: AtLook, cells: Mapping[str, Cell], *, precision: float = math.inf) -> Interim:
    """The work that the comparisons leave. A pair is decided when all its verdicts are firm and its claimed
    differences have the given precision, on the log scale.
    """
    by_pair: dict[tuple[str, str], list[tuple[Comparison, Outlook | None]]] = defaultdict(list)
    for one, outlook in zip(look.comparisons, look.outlooks, strict=True):
        by_pair[one.system, one.cell].append((one, outlook))
    decided, explain = set(), set()
    open_ones: dict[Cell, list[OpenComparison]] = defaultdict(list)
    for (system, label), members in by_pair.items():
        still = [each for each in members if not is_settled(each[0], precision)]
        if not still:
            decided.add((system, cells[label]))
        open_ones[cells[label]] += [
            OpenComparison(outlook, one.blocks, one.blocks_needed, one.size_blocks_needed)
            for one, outlook in still
            if outlook is not None
        ]
        if any(_is_large(one) for one, _ in members):
            explain.add((system, cells[label]))
    found = {cell: tuple(horizons(members)) for cell, members in open_ones.items() if members}
    return Interim(frozenset(decided), found, frozenset(explain))


def is_settled(one: Comparison, precision: float) -> bool:
    """True if the verdict is firm, and a claimed difference has that precision."""
    return one.verdict in verdict.FIRM and comparison.is_precise(one.verdict, one.ratio, precision)


@dataclass(frozen=True, slots=True)
class OpenComparison:
    """A comparison of a cell that needs more blocks."""

    outlook: Outlook
    blocks: int  # that it has
    verdict_at: int | None  # blocks at which a verdict is expected; None: it has one, or none is in sight
    size_at: int | None  # and the size of its difference

    def narrowing(self, blocks: int) -> float:
        """The expected reduction of the interval by this number of blocks."""
        per_unit = self.blocks / self.outlook.units
        units = self.outlook.units + (blocks - self.blocks) / per_unit
        return self.outlook.excess(self.outlook.units) - self.outlook.excess(units)


def horizons(members: Sequence[OpenComparison]) -> Iterable[Horizon]:
    """The value of one more block of a cell, and of as many as each verdict and each size needs."""
    now = max(one.blocks for one in members)
    goals = {
        blocks
        for one in members
        for blocks in (one.verdict_at, one.size_at)
        if blocks is not None and blocks > now
    }
    for blocks in sorted({now + 1, *goals}):
        yield Horizon(
            blocks,
            sum(one.narrowing(blocks) for one in members) / len(members),
            sum(_is_within(one.verdict_at, blocks) for one in members) / len(members),
            sum(_is_within(one.size_at, blocks) for one in members) / len(members),
        )


def _is_within(needed: int | None, blocks: int) -> bool:
    return needed is not None and needed <= blocks


def _is_large(one: Comparison) -> bool:
    if one.ratio is None or one.verdict not in (verdict.FASTER, verdict.SLOWER):
        return False
    return abs(math.log(one.ratio.value)) > math.log(_EXPLAINED_FROM)
