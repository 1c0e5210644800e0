"""Turns the records of steelyard-watch, a JSON object a line, into a `Watch`."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from steelyard.errors import SystemFailed
from steelyard.watch.figures import COUNTED, FIGURES
from steelyard.watch.model import (
    Call,
    Head,
    Mark,
    Monitor,
    Probe,
    Process,
    Reading,
    Record,
    Refused,
    Watch,
    Window,
)

PROTOCOL = 1

_NAMES: dict[type, tuple[str, ...]] = {
    kind: tuple(field.name for field in dataclasses.fields(kind)) for kind in (Head, Process, Call, Monitor)
}


class Readings:
    """The readings in a file of records, parsed one by one whenever they are wanted."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __iter__(self) -> Iterator[Reading]:
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            if line.startswith(_READING):
                record = parse(line, number=number)
                if isinstance(record, Reading):
                    yield record


_READING = b'{"record":"reading"'


def read(file: BinaryIO) -> Watch | None:
    """The watch in a file of records; None if it does not even begin. The file stays open: readings are taken
    from it later. Raises SystemFailed for a line that is none of ours; a last one cut short is let pass."""
    head: Head | None = None
    processes: list[Process] = []
    windows: list[Window] = []
    marks: list[Mark] = []
    monitor: Monitor | None = None
    file.seek(0)
    for number, line in enumerate(file, 1):
        if line.startswith(_READING):
            continue
        match parse(line, number=number):
            case Head() as head:
                pass
            case Process() as one:
                processes.append(one)
            case Window() as window:
                windows.append(window)
            case Mark() as mark:
                marks.append(mark)
            case Monitor() as monitor:
                pass
    if head is None:
        return None
    return Watch(head, tuple(processes), tuple(windows), tuple(marks), monitor, Readings(file))


def parse(line: bytes, *, number: int = 1) -> Record | None:
    """One line's record; None for one cut short at the end of the stream, or of a kind that later versions
    may add. Raises SystemFailed."""
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
        reader = _READERS.get(record["record"])
        return reader(record) if reader else None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise SystemFailed(
            f"the monitor's record {number} cannot be read ({type(error).__name__}: {error}): {line[:80]!r}"
        ) from error


def _head(record: Mapping[str, Any]) -> Head:
    if record["protocol"] != PROTOCOL:
        raise SystemFailed(
            f"steelyard-watch speaks protocol {record['protocol']}, and this Steelyard {PROTOCOL}; "
            "build Steelyard again: make"
        )
    needed = ("version", "backend", "detail", "began", "began_ns", "processors")
    return Head(
        **_fields(Head, record, *needed)
        | {
            "refused": tuple(Refused(one["backend"], one["why"]) for one in record.get("refused") or ()),
            "children": record.get("children") or 1,
            "missing": tuple(record.get("missing") or ()),
        }
    )


def _fields(kind: type, record: Mapping[str, Any], *needed: str) -> dict[str, Any]:
    """What a record holds of that kind's fields; what is not needed may be missing."""
    return {name: record[name] if name in needed else record.get(name) for name in _NAMES[kind]}


def _process(record: Mapping[str, Any]) -> Process:
    before, calls = record.get("program_before"), record.get("calls")
    needed = ("pid", "parent", "generation", "program", "begin_ns", "watched_ns")
    return Process(
        **_fields(Process, record, *needed)
        | {
            "program": _name(record["program"]),
            "program_before": _name(before) if before else None,
            "attached": bool(record.get("attached")),
            "figures": {name: record.get(name) for name in FIGURES},
            "calls": None if calls is None else {name: _call(one) for name, one in calls.items()},
        }
    )


def _name(text: str) -> str:
    """A program's name as text. It may hold any bytes; the record has a character for each. Most are
    UTF-8."""
    try:
        return text.encode("latin-1").decode(errors="backslashreplace")
    except UnicodeEncodeError:
        return text


def _call(record: Mapping[str, Any]) -> Call:
    histogram: Sequence[int] | None = record.get("histogram")
    return Call(
        **_fields(Call, record) | {"histogram": None if histogram is None else tuple(histogram)},
    )


def _reading(record: Mapping[str, Any]) -> Reading:
    return Reading(
        at_ns=record["at_ns"],
        pid=record["pid"],
        begin_ns=record["begin_ns"],
        figures={name: record[name] for name in FIGURES if record.get(name) is not None},
        calls=_pairs(record.get("calls") or {}),
        program=_name(record["program"]) if record.get("program") else None,
    )


def _pairs(record: Mapping[str, Any]) -> dict[str, tuple[float, float | None]]:
    return {name: (one[0], one[1]) for name, one in record.items()}


def _window(record: Mapping[str, Any]) -> Window:
    return Window(record["at_ns"], record["length_ns"], record["hooked"], record["run_ns"], record["work"])


def _mark(record: Mapping[str, Any]) -> Mark:
    calls = record.get("calls")
    return Mark(
        id=record["id"],
        at_ns=record["at_ns"],
        processes=record.get("processes"),
        figures={name: record.get(name) for name in COUNTED},
        calls=None if calls is None else _pairs(calls),
    )


def _monitor(record: Mapping[str, Any]) -> Monitor:
    unfollowed, total = record.get("unfollowed_figures"), record.get("total")
    return Monitor(
        **_fields(Monitor, record, "at_ns")
        | {
            "unfollowed_figures": unfollowed and {name: unfollowed.get(name) for name in COUNTED},
            "total": _process(total) if total else None,
        }
    )


def _probe(record: Mapping[str, Any]) -> Probe:
    return Probe(record["backend"], record["works"], record.get("why"))


_READERS: dict[str, Callable[[Mapping[str, Any]], Record]] = {
    "watch": _head,
    "process": _process,
    "reading": _reading,
    "window": _window,
    "mark": _mark,
    "end": _monitor,
    "probe": _probe,
}
