"""Prints what `steelyard doctor` found: one screen for people, rows for programs."""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby

from rich.table import Table
from rich.text import Text

from steelyard import terminal
from steelyard.report import listing
from steelyard.running.examination import (
    CLOCK,
    MACHINE,
    MONITOR,
    NOISE,
    NOT_TRIED,
    RESOLUTION,
    STARTED,
    SYSTEM,
    Diagnosis,
)

_HEADINGS = {
    MACHINE: "this machine",
    SYSTEM: "systems",
    MONITOR: "monitor",
    CLOCK: "clock",
    NOISE: "what disturbs",
    RESOLUTION: "resolution",
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
    """One line for all systems that started, and one for all that were not tried: they need no detail."""
    lines: list[Diagnosis] = []
    folded_ones: list[Diagnosis] = []
    for word in (STARTED, NOT_TRIED):
        members = [one for one in findings if one.part == SYSTEM and one.good and one.says.startswith(word)]
        folded_ones += members
        if members:
            lines.append(Diagnosis(SYSTEM, word, True, ", ".join(one.name for one in members)))
    return [*lines, *(one for one in findings if one not in folded_ones)]
