"""Reads what earlier versions wrote: a function for each, which brings what it wrote up to the next one.

A column that was added since has a default (`events`), and needs nothing here.
"""

from dataclasses import dataclass, field
from typing import Any

VERSION = 7


@dataclass
class Written:
    """A header, as far as it has been brought up, and the tables that its experiment does not have."""

    header: dict[str, Any]
    absent: set[str] = field(default_factory=set)

    @property
    def workloads(self) -> list[dict[str, Any]]:
        return list(self.header.get("workloads", {}).values())


def _from_1(one: Written) -> None:
    """Version 1 had neither curves nor bandwidths, and only the name of a metric."""
    for workload in one.workloads:
        workload["metrics"] = [{"name": name, "less": None} for name in workload["metrics"]]
        workload |= {"measure": "time", "sweeps": None, "sweep_unit": None}


def _from_2(one: Written) -> None:
    """Version 2 had no groups of processes and no counts."""
    for workload in one.workloads:
        workload |= {"counts": None, "groups": False}
    one.absent |= {"members", "counts"}


def _from_3(one: Written) -> None:
    """Version 3 had no accounts."""
    one.header.setdefault("watched", False)
    one.absent |= {"costs", "accountings", "host_calls", "watches"}


def _from_4(one: Written) -> None:
    """In version 4 a block was a pass over all cells, with looks after fixed numbers of blocks."""
    one.header.setdefault("blocks", max(one.header.get("looks", [0])))


def _from_5(one: Written) -> None:
    """Version 5 kept only quantiles of latencies."""
    one.absent.add("histograms")


def _from_6(one: Written) -> None:
    """Version 6 kept no output of systems besides their records."""
    one.absent.add("words")


_UPGRADES = (_from_1, _from_2, _from_3, _from_4, _from_5, _from_6)


def as_of_today(header: dict[str, Any]) -> Written:
    """The header in the form of today's version. Raises KeyError, TypeError or the like if it is not a
    header.
    """
    draft = Written(header)
    for upgrade in _UPGRADES[header["version"] - 1 :]:
        upgrade(draft)
    draft.header.setdefault("watched", False)
    return draft
