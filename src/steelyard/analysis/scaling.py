"""Turns the trials of a workload with several numbers of copies into gains and scaling laws.

A gain is computed block by block, as in the PEGASUS paper: N T(1) / T(N), where T(N) is the time of the
slowest of N copies. Throughput is all work over that time.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.analysis.comparison import exp
from steelyard.analysis.model import Decline, Gain, Scaling, SystemFacts
from steelyard.analysis.observations import COST, GROUP, Key, Observations, Value
from steelyard.analysis.remarks import (
    BeyondFull,
    FewNumbers,
    FewWholeBlocks,
    FewWithin,
    NeverBeyond,
    ProcessorsUnknown,
    Remark,
    StillGrowing,
)
from steelyard.statistics import scalability, signed_rank
from steelyard.statistics.scalability import FEWEST_BLOCKS, FEWEST_COPIES, Law, Saturation
from steelyard.statistics.signed_rank import Array, Estimate
from steelyard.study.model import Cell

_SEED = 19930421  # of the resampling: the same archive gives the same intervals
_COPIES_LEAST = 3  # fewer have no shape

_Ladder = dict[int, Key]  # by number of copies


def gains(observations: Observations, facts: Sequence[SystemFacts]) -> tuple[Gain, ...]:
    """N copies against one, pair by pair within a block, in the study's order; `facts` say how many
    processors a system has."""
    return tuple(_gains(observations, _processors(facts)))


def all_of(observations: Observations, facts: Sequence[SystemFacts]) -> tuple[Scaling, ...]:
    """Each system's scaling of everything that has more than one number of copies.

    `facts` say how many processors a system has. If a figure cannot be computed, a remark says why.
    """
    processors = _processors(facts)
    laws = []
    for (label, metric), ladder in _ladders(observations).items():
        for system in observations.names:
            measured = {
                copies: key for copies, key in sorted(ladder.items()) if observations.values[key].get(system)
            }
            if len(measured) > 1:
                laws.append(_scaling(observations, label, metric, measured, system, processors.get(system)))
    return tuple(laws)


def _processors(facts: Sequence[SystemFacts]) -> dict[str, int | None]:
    return {one.name: one.fingerprint.get("cpu_count") for one in facts}


def _without_copies(cell: Cell) -> Cell:
    return replace(cell, parameters=tuple(pair for pair in cell.parameters if pair[0] != "copies"))


def _ladders(observations: Observations) -> dict[Key, _Ladder]:
    """The cells that differ in nothing but their copies, by their label without those, and metric."""
    ladders: dict[Key, _Ladder] = {}
    for label, metric in observations.cells_and_metrics():
        cell = observations.cells[label]
        ladders.setdefault((_without_copies(cell).label, metric), {}).setdefault(cell.copies, (label, metric))
    return {key: ladder for key, ladder in ladders.items() if len(ladder) > 1}


def _gains(observations: Observations, processors: Mapping[str, int | None]) -> Iterable[Gain]:
    for (label, metric), ladder in _ladders(observations).items():
        for copies, key in sorted(ladder.items()):
            for system in observations.names if copies > 1 and 1 in ladder else ():
                one, many = (observations.values[each].get(system, {}) for each in (ladder[1], key))
                logs = _logs(one, many)
                if len(logs):
                    gain = exp(signed_rank.estimate(logs, alpha=0.05))
                    workload = observations.cells[key[0]].workload
                    efficiency = _divided(gain, copies)
                    full = min(copies, processors.get(system) or 0)
                    yield Gain(system, workload, metric, copies, gain, label, efficiency, len(logs), full)


def _logs(one: Mapping[int, Value], many: Mapping[int, Value]) -> Array:
    blocks = sorted(one.keys() & many.keys())
    return np.array(
        [math.log(one[block].lenses[COST]) - math.log(many[block].lenses[GROUP]) for block in blocks]
    )


def _divided(estimate: Estimate, by: float) -> Estimate:
    low, high = (None if bound is None else bound / by for bound in (estimate.low, estimate.high))
    return Estimate(estimate.value / by, low, high, estimate.level)


def beyond_full(
    observations: Observations, rows: Sequence[Gain], facts: Sequence[SystemFacts]
) -> Iterable[BeyondFull]:
    """The gains that lie, with their intervals, beyond what copies and processors can give: then the copy
    alone was slower than each of several, and what is wrong is the one, not the several."""
    processors = _processors(facts)
    for one in rows:
        if one.is_beyond:
            labels = (
                label
                for label, _ in observations.cells_and_metrics()
                if observations.cells[label].copies == one.copies
            )
            cells = [
                observations.cells[label]
                for label in labels
                if _without_copies(observations.cells[label]).label == one.cell
            ]
            is_placed = any(dict(cell.parameters).get("place") for cell in cells)
            yield BeyondFull(
                one.system, one.cell, one.copies, one.gain, one.full, processors.get(one.system), is_placed
            )


# Laws


def _scaling(
    observations: Observations, label: str, metric: str, ladder: _Ladder, system: str, processors: int | None
) -> Scaling:
    copies = tuple(ladder)
    throughputs = _throughputs(observations, ladder, system)
    within = tuple(count for count in copies if processors is not None and count <= processors)
    no_law = _why_no_law(processors, within, len(throughputs))
    law = None if no_law else _law(copies, throughputs, within)
    saturation, no_capacity = _saturation(copies, throughputs, processors, law)
    declines: tuple[Decline, ...] = ()
    if saturation and processors is not None:
        beyond = [count for count in copies if count > processors]
        declines = tuple(Decline(*pair) for pair in zip(beyond, saturation.kept, strict=True))
    first, _ = next(iter(ladder.values()))
    return Scaling(
        system=system,
        workload=observations.cells[first].workload,
        metric=metric,
        cell=label,
        unit="MB/s" if observations.workload(first)["measure"] == "bandwidth" else "operations/s",
        processors=processors,
        copies=copies,
        blocks=len(throughputs),
        law="" if law is None else "universal" if law.is_universal else "amdahl",
        no_law=no_law,
        within=within if law else (),
        throughput=law.throughput if law else None,
        contention=law.contention if law else None,
        coherency=law.coherency if law else None,
        aicc_gain=law.aicc_gain if law else None,
        peak=law.peak if law else None,
        residual=law.residual if law else None,
        capacity=saturation.capacity if saturation else None,
        worth=saturation.copies if saturation else None,
        no_capacity=no_capacity,
        declines=declines,
    )


def _throughputs(observations: Observations, ladder: _Ladder, system: str) -> Array:
    """A row for each block that holds every number of copies: operations a second, or MB/s."""
    by_copies = [observations.values[key][system] for key in ladder.values()]
    shared = sorted(set.intersection(*(set(by_block) for by_block in by_copies)))
    rows = [[_throughput(by_block[block]) for by_block in by_copies] for block in shared]
    return np.array(rows).reshape(len(shared), len(ladder))


def _throughput(value: Value) -> float:
    return 1e9 / value.lenses[GROUP] if value.bytes is None else value.for_people(GROUP)


def _why_no_law(processors: int | None, within: tuple[int, ...], blocks: int) -> Remark | None:
    if processors is None:
        return ProcessorsUnknown()
    if len(within) < FEWEST_COPIES:
        return FewWithin(FEWEST_COPIES, within, processors)
    return _too_few("law", blocks)


def _too_few(figure: str, blocks: int) -> Remark | None:
    return FewWholeBlocks(figure, FEWEST_BLOCKS, blocks) if blocks < FEWEST_BLOCKS else None


def _law(copies: Sequence[int], throughputs: Array, within: Sequence[int]) -> Law:
    places = [copies.index(count) for count in within]
    return scalability.law(
        np.array(within, float), throughputs[:, places], chance=np.random.default_rng(_SEED)
    )


def _saturation(
    copies: Sequence[int], throughputs: Array, processors: int | None, law: Law | None
) -> tuple[Saturation | None, Remark | None]:
    """The saturation, or why there is none."""
    if processors is None or not any(count > processors for count in copies):
        return None, NeverBeyond()
    if len(copies) < _COPIES_LEAST:
        return None, FewNumbers(_COPIES_LEAST, len(copies))
    too_few = _too_few("saturation", len(throughputs))
    if too_few:
        return None, too_few
    saturation = scalability.saturation(
        np.array(copies, float),
        throughputs,
        processors=processors,
        law=law,
        chance=np.random.default_rng(_SEED),
    )
    if saturation is None:
        return None, StillGrowing(max(copies))
    return saturation, None
