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
                found = parse(line, number=number)
                if isinstance(found, Reading):
                    yield found


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
        found = json.loads(line)
        reader = _READERS.get(found["record"])
        return reader(found) if reader else None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise SystemFailed(
            f"the monitor's record {number} cannot be read ({type(error).__name__}: {error}): {line[:80]!r}"
        ) from error


def _head(found: Mapping[str, Any]) -> Head:
    if found["protocol"] != PROTOCOL:
        raise SystemFailed(
            f"steelyard-watch speaks protocol {found['protocol']}, and this Steelyard {PROTOCOL}; "
            "build Steelyard again: make"
        )
    needed = ("version", "backend", "detail", "began", "began_ns", "processors")
    return Head(
        **_fields(Head, found, *needed)
        | {
            "refused": tuple(Refused(one["backend"], one["why"]) for one in found.get("refused") or ()),
            "children": found.get("children") or 1,
            "missing": tuple(found.get("missing") or ()),
        }
    )


def _fields(kind: type, found: Mapping[str, Any], *needed: str) -> dict[str, Any]:
    """What a record holds of that kind's fields; what is not needed may be missing."""
    return {name: found[name] if name in needed else found.get(name) for name in _NAMES[kind]}


def _process(found: Mapping[str, Any]) -> Process:
    before, calls = found.get("program_before"), found.get("calls")
    needed = ("pid", "parent", "generation", "program", "begin_ns", "watched_ns")
    return Process(
        **_fields(Process, found, *needed)
        | {
            "program": _name(found["program"]),
            "program_before": _name(before) if before else None,
            "attached": bool(found.get("attached")),
            "figures": {name: found.get(name) for name in FIGURES},
            "calls": None if calls is None else {name: _call(one) for name, one in calls.items()},
        }
    )


def _name(told: str) -> str:
    """A program's name may be any bytes, and is told as a character for each. Mostly they are UTF-8."""
    try:
        return told.encode("latin-1").decode(errors="backslashreplace")
    except UnicodeEncodeError:
        return told


def _call(found: Mapping[str, Any]) -> Call:
    histogram: Sequence[int] | None = found.get("histogram")
    return Call(
        **_fields(Call, found) | {"histogram": None if histogram is None else tuple(histogram)},
    )


def _reading(found: Mapping[str, Any]) -> Reading:
    return Reading(
        at_ns=found["at_ns"],
        pid=found["pid"],
        begin_ns=found["begin_ns"],
        figures={name: found[name] for name in FIGURES if found.get(name) is not None},
        calls=_pairs(found.get("calls") or {}),
        program=_name(found["program"]) if found.get("program") else None,
    )


def _pairs(found: Mapping[str, Any]) -> dict[str, tuple[float, float | None]]:
    return {name: (one[0], one[1]) for name, one in found.items()}


def _window(found: Mapping[str, Any]) -> Window:
    return Window(found["at_ns"], found["length_ns"], found["hooked"], found["run_ns"], found["work"])


def _mark(found: Mapping[str, Any]) -> Mark:
    calls = found.get("calls")
    return Mark(
        id=found["id"],
        at_ns=found["at_ns"],
        processes=found.get("processes"),
        figures={name: found.get(name) for name in COUNTED},
        calls=None if calls is None else _pairs(calls),
    )


def _monitor(found: Mapping[str, Any]) -> Monitor:
    unfollowed, total = found.get("unfollowed_figures"), found.get("total")
    return Monitor(
        **_fields(Monitor, found, "at_ns")
        | {
            "unfollowed_figures": unfollowed and {name: unfollowed.get(name) for name in COUNTED},
            "total": _process(total) if total else None,
        }
    )


def _probe(found: Mapping[str, Any]) -> Probe:
    return Probe(found["backend"], found["works"], found.get("why"))


_READERS: dict[str, Callable[[Mapping[str, Any]], Record]] = {
    "watch": _head,
    "process": _process,
    "reading": _reading,
    "window": _window,
    "mark": _mark,
    "end": _monitor,
    "probe": _probe,
}
