"""Turns the trials of a workload with several numbers of copies into gains and scaling laws.

A gain is had block by block, as the PEGASUS paper has it: N T(1) / T(N), where T(N) is the time of the
slowest of N copies. Throughput is all work over that time.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.analysis.comparison import exp
from steelyard.analysis.model import Decline, Gain, Scaling, SystemFacts
from steelyard.analysis.observations import COST, GROUP, Key, Observations, Value
from steelyard.statistics import scalability, signed_rank
from steelyard.statistics.scalability import FEWEST_BLOCKS, FEWEST_COPIES, Law, Saturation
from steelyard.statistics.signed_rank import Array, Estimate
from steelyard.study.model import Cell

_SEED = 19930421  # of the resampling: the same archive gives the same intervals
_COPIES_LEAST = 3  # fewer have no shape
_FULL_MARGIN = 0.01  # beyond a full gain, before it is worth a warning

_Ladder = dict[int, Key]  # by number of copies


def gains(observations: Observations) -> tuple[Gain, ...]:
    """N copies against one, pair by pair within a block, in the study's order."""
    return tuple(_gains(observations))


def all_of(observations: Observations, facts: Sequence[SystemFacts]) -> tuple[Scaling, ...]:
    """Each system's scaling of everything that has more than one number of copies.

    `facts` say how many processors a system has. If a figure cannot be computed, a sentence says why.
    """
    processors = {one.name: one.fingerprint.get("cpu_count") for one in facts}
    laws = []
    for (label, metric), ladder in _ladders(observations).items():
        for system in observations.names:
            measured = {
                copies: key for copies, key in sorted(ladder.items()) if observations.values[key].get(system)
            }
            if len(measured) > 1:
                laws.append(_scaling(observations, label, metric, measured, system, processors.get(system)))
    return tuple(laws)


def _without_copies(cell: Cell) -> Cell:
    return replace(cell, parameters=tuple(pair for pair in cell.parameters if pair[0] != "copies"))


def _ladders(observations: Observations) -> dict[Key, _Ladder]:
    """The cells that differ in nothing but their copies, by their label without those, and metric."""
    ladders: dict[Key, _Ladder] = {}
    for label, metric in observations.cells_and_metrics():
        cell = observations.cells[label]
        ladders.setdefault((_without_copies(cell).label, metric), {}).setdefault(cell.copies, (label, metric))
    return {key: ladder for key, ladder in ladders.items() if len(ladder) > 1}


def _gains(observations: Observations) -> Iterable[Gain]:
    for (label, metric), ladder in _ladders(observations).items():
        for copies, key in sorted(ladder.items()):
            for system in observations.names if copies > 1 and 1 in ladder else ():
                one, many = (observations.values[each].get(system, {}) for each in (ladder[1], key))
                logs = _logs(one, many)
                if len(logs):
                    gain = exp(signed_rank.estimate(logs, alpha=0.05))
                    workload = observations.cells[key[0]].workload
                    efficiency = _divided(gain, copies)
                    yield Gain(system, workload, metric, copies, gain, label, efficiency, len(logs))


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
) -> Iterable[str]:
    """A sentence for each gain that lies, with its interval, beyond what copies and processors can give: then
    the copy alone was slower than each of several, and what is wrong is the one, not the several."""
    processors = {one.name: one.fingerprint.get("cpu_count") for one in facts}
    for one in rows:
        has = processors.get(one.system)
        full = min(one.copies, has or one.copies)
        low, high = one.gain.low, one.gain.high
        if low is None or high is None or low <= full * (1 + _FULL_MARGIN):
            continue
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
        yield (
            f"{one.system}: {one.copies} copies of {one.cell} gain {one.gain.value:.2f} times "
            f"[{low:.2f}, {high:.2f}], and {full} is all that {_what_limits(one.copies, has)} can give: "
            f"one copy alone was slowed by what several are not, {_WHY_PLACED if is_placed else _WHY_FREE}"
        )


_WHY_PLACED = "such as waits that other copies fill, or what one copy brings into a cache for another"
_WHY_FREE = (
    "such as wake-ups from one processor to another, which busy processors need not: place=1 keeps each copy "
    "and its partners on one"
)


def _what_limits(copies: int, processors: int | None) -> str:
    return f"{copies} copies" if processors is None or copies <= processors else f"{processors} processors"


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


def _why_no_law(processors: int | None, within: Sequence[int], blocks: int) -> str:
    if processors is None:
        return "a law holds within the processors, and the system does not say how many it has"
    if len(within) < FEWEST_COPIES:
        has = "1 processor" if processors == 1 else f"{processors} processors"
        are = "here is 1" if len(within) == 1 else f"here are {len(within)}"
        listed = f" ({', '.join(str(count) for count in within)})" if within else ""
        return (
            f"a law needs {FEWEST_COPIES} numbers of copies within the processors; {are}{listed}, with {has}"
        )
    return _too_few("a law", blocks)


def _too_few(what: str, blocks: int) -> str:
    if blocks >= FEWEST_BLOCKS:
        return ""
    have = "1 has" if blocks == 1 else f"{blocks} have"
    return f"{what} needs {FEWEST_BLOCKS} blocks with every number of copies; {have}"


def _law(copies: Sequence[int], throughputs: Array, within: Sequence[int]) -> Law:
    places = [copies.index(count) for count in within]
    return scalability.law(
        np.array(within, float), throughputs[:, places], chance=np.random.default_rng(_SEED)
    )


def _saturation(
    copies: Sequence[int], throughputs: Array, processors: int | None, law: Law | None
) -> tuple[Saturation | None, str]:
    """The saturation, or a sentence that says why there is none."""
    if processors is None or not any(count > processors for count in copies):
        return None, "it was not measured with more copies than processors"
    if len(copies) < _COPIES_LEAST:
        return None, f"a saturation needs {_COPIES_LEAST} numbers of copies; here are {len(copies)}"
    too_few = _too_few("a saturation", len(throughputs))
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
        return None, f"throughput still grows with {max(copies)} copies, as far as can be told"
    return saturation, ""
