"""Prints what there is: plans, systems, workloads, studies, builds."""

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from steelyard import systems, terminal
from steelyard.programs import built
from steelyard.quantities import clock_text, digits, number_of
from steelyard.running import order
from steelyard.study import plan as plans
from steelyard.study import study_file, tool
from steelyard.study.plan import Plan
from steelyard.text import cell, shortened, shown

if TYPE_CHECKING:
    from steelyard.running.forecast import Share

Row = dict[str, Any]
_FIGURES_SHOWN = 120  # characters


def print_plan(
    plan: Plan,
    shares: Sequence["Share"],
    *,
    based_on: str | None,
    blocks: int,
    form: str,
    lengths: Sequence[str] = (),
) -> None:
    """The first blocks of every cell, trial by trial, in the order of the first pass; for people, what
    surrounds them as well (`lengths` say how long the study's forms take), and where the time is expected to
    go, by that experiment if there is one."""
    rows = [
        {
            "block": trial.block + 1,
            "position": trial.position + 1,
            "system": trial.system,
            "workload": trial.cell.workload,
            "parameters": _parameters(trial.cell.parameters),
            "pad": trial.pad,
        }
        for number in range(min(blocks, plan.study.design.blocks))
        for cell in plans.lightest_first(plan)
        for trial in plans.visit(plan, cell, number)
    ]
    if form == "text":
        design = plan.study.design
        boots = "each round" if design.blocks_per_boot == 1 else f"every {design.blocks_per_boot} rounds"
        summary = f"{number_of(len(plan.cells), 'cell')} on {', '.join(plan.systems)}; seed {plan.seed}"
        print(f"study {plan.study.name}: {shown(summary)}")
        for sentence in (*lengths, *order.reboots(plan), *_turns(plan)):
            print(shown(sentence))
        print(
            f"Systems that boot are booted before {boots}. After the first two blocks of each cell, time "
            "goes "
            "where it settles most, so the order depends on what is measured."
        )
        _print_shares(plan, shares, based_on)
        print(f"\nThe first {number_of(min(blocks, design.blocks), 'block')} of each cell:")
    print_table(rows, form=form)


def _turns(plan: Plan) -> list[str]:
    """Which cells are measured by batches that take turns, where the study wants it; and why others not."""
    if not plan.study.design.turns:
        return []
    if not plan.in_turns:
        return ["No batches take turns: not all systems can be measured at the same time on one processor."]
    obstacles: dict[str, list[str]] = {}
    for one in plan.cells:
        if obstacle := order.obstacle_to_turns(one, plan):
            obstacles.setdefault(obstacle, []).append(one.label)
    of_all = f"{len(plan.in_turns)} of {number_of(len(plan.cells), 'cell')}"
    return [
        f"The batches of all systems take turns at {of_all}.",
        *(f"They do not at {', '.join(labels)}: {obstacle}." for obstacle, labels in obstacles.items()),
    ]


def _print_shares(plan: Plan, shares: Sequence["Share"], based_on: str | None) -> None:
    """The expected use of the time, and its results."""
    if len(plan.systems) < 2 or not shares:
        return
    if based_on:
        print(f"\nWhere the time will go, if trials are as in experiment {based_on}:")
    else:
        print(
            "\nWhere the time will go, if nothing differs, pairs scatter by 3 % and trials take as long "
            "as asked (after a first run, the plan uses its times):"
        )
    left_s = plan.study.design.budget_s - sum(one.seconds for one in shares)
    rows: list[Row] = [
        {
            "cell": one.cell.label,
            "time": f"{one.seconds:.1f} s",
            "blocks": one.blocks,
            "interval": f"± {digits(100 * one.half_width, count=2)} %" if one.half_width is not None else "–",
            "settled after": clock_text(one.settled_s)
            if one.settled_s is not None
            else "not within the budget",
        }
        for one in shares
    ]
    print_table(rows, form="text")
    print(f"{left_s:.1f} s for starts, boots, looks, and spare time when everything is settled")


def print_list(kind: str, *, form: str) -> None:
    """The systems, workloads, studies, builds or tools there are."""
    rows = {
        "systems": _systems,
        "workloads": _workloads,
        "studies": _studies,
        "builds": _builds,
        "tools": _tools,
    }[kind]
    print_table(list(rows()), form=form)


def print_table(rows: Sequence[Row], *, form: str) -> None:
    """Like rows as text, JSON or CSV."""
    if form != "text":
        _print_for_programs(rows, form)
        return
    table = Table(pad_edge=False, box=None, header_style="bold")
    for heading in rows[0] if rows else []:
        table.add_column(heading)
    for row in rows:
        table.add_row(*(shown(str(value)) for value in row.values()))
    terminal.console().print(table if rows else "nothing")


def _print_for_programs(rows: Sequence[Row], form: str) -> None:
    if form == "json":
        json.dump(list(rows), sys.stdout, indent=1)
        print()
    elif rows:
        writer = csv.DictWriter(sys.stdout, list(rows[0]))
        writer.writeheader()
        writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)


def _parameters(parameters: Iterable[tuple[str, int | str]]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters)


def _systems() -> Iterable[Row]:
    for system in systems.BUILT_IN:
        yield {
            "system": system.name,
            "summary": system.summary,
            "boot": "yes" if system.boot else "no",
            "state": systems.refusal(system) or "ready, not tried (steelyard doctor tries it)",
        }


def _workloads() -> Iterable[Row]:
    for workload in built.catalogue().workloads:
        yield {
            "workload": workload.name,
            "group": workload.group,
            "summary": workload.summary,
            "operation": workload.operation,
            "metrics": ", ".join(metric.name for metric in workload.metrics),
            "parameters": ", ".join(_levels(one) for one in workload.parameters),
        }


def _levels(parameter: built.Parameter) -> str:
    if parameter.is_text:
        return f"{parameter.name}='{parameter.initial}'"
    return f"{parameter.name}={parameter.initial} ({parameter.least} to {parameter.most})"


def _studies() -> Iterable[Row]:
    for name in study_file.bundled():
        one = study_file.read(name)
        yield {
            "study": name,
            "title": one.title,
            "systems": ", ".join(one.systems),
            "workloads": len({levels.workload for levels in one.workloads}),
            "budget": clock_text(one.design.budget_s),
        }


def _tools() -> Iterable[Row]:
    for name in tool.bundled():
        one = tool.find(name)
        yield {
            "tool": name,
            "title": one.title,
            "figures": shortened(", ".join(figure.name for figure in one.figures), _FIGURES_SHOWN),
            "tried": one.tried or "not with the tool itself",
        }


def _builds() -> Iterable[Row]:
    for name in built.builds():
        greeting = built.greeting(name)
        yield {
            "build": name,
            "compiler": greeting["compiler"],
            "libc": greeting["libc"],
            "bytes": built.load(name).stat().st_size,
            "sha256": greeting["program_sha256"],
        }
