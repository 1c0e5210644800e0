"""Prints what `steelyard doctor` found: one screen for people, rows for programs."""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby

from rich.table import Table
from rich.text import Text

from steelyard import terminal
from steelyard.report import listing
from steelyard.running.examination import CLOCK, MACHINE, MONITOR, NOISE, RESOLUTION, SYSTEM, Diagnosis

_HEADINGS = {
    MACHINE: "this machine",
    SYSTEM: "systems",
    MONITOR: "monitor",
    CLOCK: "clock",
    NOISE: "what disturbs",
    RESOLUTION: "what can be told",
}


def print_findings(findings: Iterable[Diagnosis], *, form: str) -> None:
    """Prints them as "text", "json" or "csv"."""
    if form != "text":
        listing.print_table([asdict(one) for one in findings], form=form)
        return
    table = Table(pad_edge=False, box=None, show_header=False)
    for part, group in groupby(findings, key=lambda one: one.part):
        heading = _HEADINGS[part]
        for one in folded(list(group)):
            table.add_row(Text(heading, "bold"), Text(one.name, "" if one.good else "yellow"), Text(one.says))
            heading = ""
    terminal.console().print(table)


def folded(findings: list[Diagnosis]) -> list[Diagnosis]:
    """All systems that work as one line: there is nothing to say of them."""
    working = [one for one in findings if one.part == SYSTEM and one.good]
    if not working:
        return findings
    first = Diagnosis(SYSTEM, "can start", True, ", ".join(one.name for one in working))
    return [first, *(one for one in findings if one not in working)]
