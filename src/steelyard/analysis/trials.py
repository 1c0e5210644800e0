"""Reads how trials ended, how long they took, and whether they were disturbed."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

import numpy as np

from steelyard.analysis.remarks import Signal, Trouble
from steelyard.analysis.rows import TrialRow
from steelyard.statistics import order_statistics
from steelyard.statistics.signed_rank import Array
from steelyard.text import shortened

_REASON_SHOWN = 300  # characters of why a trial failed; the archive has more
_PRESSURE_LEAST = 0.05  # below that share of waiting, a trial is not called disturbed

_Where = tuple[str, str]  # a system and a cell
_Found = TypeVar("_Found")


class Trials:
    """The trials so far. The results for one system and cell are computed on request, and recomputed only
    after more trials.
    """

    def __init__(self) -> None:
        self.many = 0
        self._codes: dict[_Where, set[str]] = defaultdict(set)
        self._endings: dict[tuple[str, str, str], list[tuple[str | None, int | None]]] = defaultdict(list)
        self._clocks = _Growing(_median)
        self._spans = _Growing(_median)
        self._pressures = _Growing(_limit)
        self._pressure: dict[tuple[int, str, str], float] = {}

    def add(self, rows: Iterable[TrialRow]) -> None:
        for one in rows:
            self.many += 1
            where = one.system, one.cell
            if one.code_sha256 is not None:
                self._codes[where].add(one.code_sha256)
            if one.host_ns is not None:
                self._spans.add(where, one.host_ns / 1e9)
            if one.status != "ok":
                self._endings[one.system, one.cell, one.status].append((one.reason, one.signal))
                continue
            if one.clock_apart is not None:
                self._clocks.add(where, one.clock_apart)
            if one.pressure is not None:
                self._pressures.add(where, one.pressure)
                self._pressure[one.block, one.system, one.cell] = one.pressure

    def troubles(self) -> list[Trouble]:
        """The number of failed trials of each system, cell and status; the alphabetically first reason stands
        for all.
        """
        return [
            Trouble(*what, len(reasons), _of_all(reasons)) for what, reasons in sorted(self._endings.items())
        ]

    def codes(self, system: str, cell: str) -> tuple[str, ...] | None:
        """The digests of the machine code of a workload; None if it has none of its own."""
        codes = self._codes.get((system, cell))
        return tuple(sorted(codes)) if codes else None

    @property
    def clocks(self) -> Mapping[_Where, float]:
        """The relative deviation of a system's clock from the laboratory's: the median over trials."""
        return self._clocks.found()

    @property
    def seconds(self) -> Mapping[_Where, float]:
        """The median duration of a trial of a cell on a system, by the laboratory's clock."""
        return self._spans.found()

    def is_disturbed(self, block: int, system: str, cell: str) -> bool:
        """True if processes waited unusually long for a processor in that trial, by the median and median
        absolute deviation of the same cell on the same system.
        """
        pressure = self._pressure.get((block, system, cell), 0.0)
        return pressure > _PRESSURE_LEAST and pressure > self._pressures.found()[system, cell]


def _of_all(reasons: Iterable[tuple[str | None, int | None]]) -> str | Signal | None:
    given = [reason for reason, _ in reasons if reason]
    signals = [signal for _, signal in reasons if signal]
    if given:
        return shortened(min(given), _REASON_SHOWN)
    return Signal(min(signals)) if signals else None


class _Growing(Generic[_Found]):
    """Numbers of each system and cell, and what is found of them."""

    def __init__(self, find: Callable[[Array], _Found]) -> None:
        self._find = find
        self._numbers: dict[_Where, array[float]] = defaultdict(lambda: array("d"))
        self._found: dict[_Where, _Found] = {}
        self._new: set[_Where] = set()

    def add(self, where: _Where, number: float) -> None:
        self._numbers[where].append(number)
        self._new.add(where)

    def found(self) -> Mapping[_Where, _Found]:
        for where in self._new:
            self._found[where] = self._find(np.array(self._numbers[where]))
        self._new.clear()
        return self._found


def _median(numbers: Array) -> float:
    return float(np.median(numbers))


def _limit(pressures: Array) -> float:
    """The share of waiting above which a trial is disturbed."""
    return float(np.median(pressures)) + 4 * order_statistics.robust_deviation(pressures)
