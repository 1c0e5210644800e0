"""Reads what earlier versions wrote: a function for each, which brings what it wrote up to the next one.

A column that was added since has a default (`events`), and needs nothing here.
"""

from dataclasses import dataclass, field
from typing import Any

VERSION = 6


@dataclass
class Written:
    """A header, as far as it has been brought up, and the tables that its experiment does not have."""

    header: dict[str, Any]
    absent: set[str] = field(default_factory=set)

    @property
    def workloads(self) -> list[dict[str, Any]]:
        return list(self.header.get("workloads", {}).values())


def _from_1(one: Written) -> None:
    """It knew neither curves nor bandwidths, and of a metric its name."""
    for workload in one.workloads:
        workload["metrics"] = [{"name": name, "less": None} for name in workload["metrics"]]
        workload |= {"measure": "time", "sweeps": None, "sweep_unit": None}


def _from_2(one: Written) -> None:
    """It knew no groups of processes and no counts."""
    for workload in one.workloads:
        workload |= {"counts": None, "groups": False}
    one.absent |= {"members", "counts"}


def _from_3(one: Written) -> None:
    """It accounted for nothing."""
    one.header.setdefault("watched", False)
    one.absent |= {"costs", "accountings", "host_calls", "watches"}


def _from_4(one: Written) -> None:
    """A block was a pass over all cells, and looks came after so many of them."""
    one.header.setdefault("blocks", max(one.header.get("looks", [0])))


def _from_5(one: Written) -> None:
    """It kept quantiles of latencies alone."""
    one.absent.add("histograms")


_UPGRADES = (_from_1, _from_2, _from_3, _from_4, _from_5)


def as_of_today(header: dict[str, Any]) -> Written:
    """What the header says, as today's version would have written it. Raises KeyError, TypeError or the like
    where it is no header."""
    draft = Written(header)
    for upgrade in _UPGRADES[header["version"] - 1 :]:
        upgrade(draft)
    draft.header.setdefault("watched", False)
    return draft
