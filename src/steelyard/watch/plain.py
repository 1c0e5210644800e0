"""Prints an account for programs: JSON (docs/explanation/monitor.md), or CSV. Nothing is rounded."""

import csv
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from steelyard import text
from steelyard.statistics.description import Description
from steelyard.watch import groups, indented
from steelyard.watch.accounts import Account
from steelyard.watch.figures import FIGURES
from steelyard.watch.groups import CallSum, ProcessGroup
from steelyard.watch.model import Process
from steelyard.watch.series import Described, Series

TABLES = ("processes", "calls", "series")
Row = dict[str, Any]


def print_json(account: Account, file: TextIO) -> None:
    """One object; control characters in names are escaped by the form itself."""
    file.writelines(indented.parts(as_object(account)))
    file.write("\n")


def as_object(account: Account) -> Row:
    """The object that `--format json` prints."""
    head = account.watch.head
    return {
        "watch": {
            **_members(head, "version", "began", "began_ns"),
            "elapsed_ns": account.elapsed_ns,
            **_members(head, "processors", "every_ns", "children", "seed", "budget", "sample_ns"),
            "by": account.by,
        },
        "processes": [_process(one, account) for one in account.processes],
        "groups": [_group(one) for one in account.groups] if account.by != "process" else [],
        "totals": _group(account.total),
        "spread": {name: _description(one) for name, one in account.spread.items()},
        "spread_calls": {name: _description(one) for name, one in account.spread_calls.items()},
        "series": [_series(one) for one in account.series],
        "impact": {**dataclasses.asdict(account.impact), "pairs": account.impact_pairs}
        if account.impact
        else None,
        "monitor": _monitor(account),
    }


def _members(one: object, *names: str) -> Row:
    return {name: getattr(one, name) for name in names}


def _process(one: Process, account: Account) -> Row:
    windows = ("windows", "windows_ns", "windows_active", "windows_run_ns", "windows_hook_ns")
    return {
        **_identity(one, account),
        **one.figures,
        "at_least": list(one.at_least or ()),
        **_members(one, "samples_user", "samples_kernel", "missed_run_ns", *windows),
        "calls": _calls(groups.calls_of([one], account.watch)),
        "calls_unlisted_high": groups.unlisted([one], account.watch),
    }


def _identity(one: Process, account: Account) -> Row:
    head = account.watch.head

    def moment(ns: int | None) -> float | None:
        return None if ns is None else head.began + (ns - head.began_ns) / 1e9

    return {
        **_members(one, "pid", "thread", "parent", "generation", "program", "program_before", "attached"),
        "begin": moment(one.begin_ns),
        "end": moment(one.end_ns),
        **_members(one, "begin_ns", "watched_ns", "end_ns", "status", "signal", "threads", "children"),
        "exact": groups.exact([one], account.watch),
    }


def _group(one: ProcessGroup) -> Row:
    return {
        **_members(one, "name", "pid", "generation", "processes", "threads", "running", "failed"),
        **_members(one, "begin_ns", "end_ns", "lifetime_ns", "calls_unlisted_high", "calls_lacking", "exact"),
        **_members(one, "windows", "samples_user", "samples_kernel", "cpu_ns"),
        **one.figures,
        "lacking": dict(one.lacking),
        "calls": _calls(one.calls),
    }


def _calls(calls: Mapping[str, CallSum] | None) -> Row | None:
    return None if calls is None else {name: _call(one) for name, one in calls.items()}


def _call(one: CallSum) -> Row:
    row: Row = {
        "calls": one.calls.value if one.calls else None,
        "errors": one.errors.value if one.errors else None,
        "time_ns": one.time_ns,
        "histogram": None if one.histogram is None else list(one.histogram),
        "samples": one.samples,
        "seen": one.seen,
        "calls_low": one.calls.low if one.calls else None,
        "calls_high": one.calls.high if one.calls else None,
    }
    return row


def _description(one: Description | None) -> Row | None:
    if one is None:
        return None
    row = dataclasses.asdict(one)
    del row["percentiles"]
    return row | {f"p{percent}": value for percent, value in one.percentiles.items()}


def _series(one: Series) -> Row:
    return {
        "name": one.name,
        "begins_ns": list(one.begins_ns),
        "ends_ns": list(one.ends_ns),
        "rates": _described(one.rates),
        "levels": _described(one.levels),
        "calls": _described(one.calls),
    }


def _described(by_name: Mapping[str, Described]) -> Row:
    return {
        name: {"values": list(one.values), **(_description(one.over_intervals) or {})}
        for name, one in by_name.items()
    }


def _monitor(account: Account) -> Row:
    head, monitor, cost = account.watch.head, account.watch.monitor, account.cost
    lost = ("lost_slots", "lost_calls", "lost_events", "unfollowed", "unfollowed_figures")
    known = dict.fromkeys(("stopped_by", "hook_ns", "hits", "hits_of_all", *lost))
    return {
        **_members(head, "backend", "detail"),
        **_members(cost, "cpu_ns", "bpf_ns", "memory_bytes", "memory_peak_bytes", "lost"),
        "missing": list(account.notes),
        "killed": monitor is None,
        **(_members(monitor, *known) if monitor else known | {"hook_ns": head.hook_ns}),
        **_members(cost, "front_end_cpu_ns", "front_end_memory_bytes"),
    }


def print_csv(account: Account, file: TextIO, *, table: str) -> None:
    """One of TABLES: a row a process; or a process and type of call; or a series, figure and interval."""
    columns, rows = {"processes": _process_rows, "calls": _call_rows, "series": _series_rows}[table](account)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([text.cell(each) for each in row])


Printed = tuple[Sequence[str], Iterable[Iterable[object]]]


def _process_rows(account: Account) -> Printed:
    rows = [_identity(one, account) | dict(one.figures) for one in account.processes]
    columns = list(rows[0]) if rows else ["pid", *FIGURES]
    return columns, (row.values() for row in rows)


def _call_rows(account: Account) -> Printed:
    who = ("pid", "thread", "program", "begin_ns")
    what = ("calls", "calls_low", "calls_high", "errors", "seen", "time_ns", "samples")

    def rows() -> Iterable[Iterable[object]]:
        for one in account.processes:
            for name, call in (groups.calls_of([one], account.watch) or {}).items():
                row = _call(call)
                yield *(getattr(one, each) for each in who), name, *(row[each] for each in what)

    return (*who, "call", *what), rows()


def _series_rows(account: Account) -> Printed:
    def rows() -> Iterable[Iterable[object]]:
        for one in account.series:
            for kind, by_name in (("rate", one.rates), ("level", one.levels), ("calls", one.calls)):
                for name, described in by_name.items():
                    for begin, end, value in zip(one.begins_ns, one.ends_ns, described.values, strict=True):
                        yield one.name, kind, name, begin, end, value

    return ("group", "kind", "figure", "begin_ns", "end_ns", "value"), rows()
