"""Turns the records of steelyard-watch, a JSON object a line, into a `Watch`."""

import dataclasses
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, BinaryIO

from steelyard import shapes
from steelyard.errors import SystemFailed
from steelyard.shapes import Check, Length, Member, Told, checker, object_with
from steelyard.text import quoted
from steelyard.watch.figures import COUNTED, FIGURES
from steelyard.watch.model import (
    Call,
    Calls,
    Head,
    Mark,
    Monitor,
    Probe,
    Process,
    Reading,
    Record,
    Refused,
    Sentences,
    Watch,
    Window,
)

PROTOCOL = 1
LINE_MOST = 4 << 20  # bytes: a process with each of 500 calls and a histogram of each takes 0.2 MB
_LINE_USUAL = 1 << 16

_NAMES: dict[type, tuple[str, ...]] = {
    kind: tuple(field.name for field in dataclasses.fields(kind)) for kind in (Process, Call)
}


class Readings:
    """The readings in a file of records, parsed one by one whenever they are wanted."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __iter__(self) -> Iterator[Reading]:
        self._file.seek(0)
        for at, line in enumerate(lines(self._file), 1):
            if line.startswith(_READING):
                record = parse(line, at=at)
                if isinstance(record, Reading):
                    yield record


_READING = b'{"record":"reading"'


def lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines from there on. Raises SystemFailed for one that is longer than any record."""
    while line := file.readline(_LINE_USUAL):  # Python makes room for as much as it is given
        if len(line) == _LINE_USUAL and not line.endswith(b"\n"):
            line += file.readline(LINE_MOST - _LINE_USUAL)
        if len(line) == LINE_MOST:
            raise SystemFailed(f"the monitor wrote a record of {LINE_MOST >> 20} MiB or more: {line[:80]!r}")
        yield line


def read(file: BinaryIO) -> Watch | None:
    """The watch in a file of records; None if it does not even begin. The file stays open: readings are taken
    from it later. Raises SystemFailed for a line that is none of ours; a last one cut short is let pass."""
    head: Head | None = None
    processes: list[Process] = []
    windows: list[Window] = []
    marks: list[Mark] = []
    monitor: Monitor | None = None
    file.seek(0)
    for at, line in enumerate(lines(file), 1):
        if line.startswith(_READING):
            continue
        match parse(line, at=at):
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


def parse(line: bytes, *, at: int = 1) -> Record | None:
    """One line's record; None for one cut short at the end of the stream, or of a kind that later versions
    may add. Raises SystemFailed, which names the line by its number."""
    if not line.endswith(b"\n"):
        return None
    try:
        record = shapes.read(line)
        kind = record.get("record")
        if type(kind) is not str:
            raise shapes.Wrong(kind, "a name").at("record")
        if kind == "watch" and record.get("protocol") != PROTOCOL:
            raise SystemFailed(
                f"steelyard-watch uses protocol {quoted(record.get('protocol'))}, but this Steelyard uses "
                f"{PROTOCOL}; build Steelyard again: make"
            )
        if kind not in _READERS:
            return None
        return _READERS[kind](_CHECKS[kind](record))
    except ValueError as error:
        why = str(error)
    raise SystemFailed(f"the monitor's record {at} cannot be read ({why}): {line[:80]!r}")


def _head(record: Mapping[str, Any]) -> Head:
    return Head(
        **dict(record)
        | {
            "refused": tuple(Refused(**one) for one in record["refused"] or ()),
            "children": record["children"] or 1,
            "missing": tuple(record["missing"] or ()),
        }
    )


def _process(record: Mapping[str, Any]) -> Process:
    before, calls = record["program_before"], record["calls"]
    fields: dict[str, Any] = {name: record.get(name) for name in _NAMES[Process]}
    fields["program"] = _name(record["program"])
    fields["program_before"] = _name(before) if before else None
    fields["attached"] = bool(record["attached"])
    fields["figures"] = {name: record[name] for name in FIGURES}
    fields["at_least"] = None if (least := record["at_least"]) is None else tuple(least)
    fields["calls"] = calls  # as _call has made them
    return Process(**fields)


def _name(text: str) -> str:
    """A program's name as text. It may hold any bytes; the record has a character for each. Most are
    UTF-8."""
    try:
        return text.encode("latin-1").decode(errors="backslashreplace")
    except UnicodeEncodeError:
        return text


def _reading(record: Mapping[str, Any]) -> Reading:
    return Reading(
        at_ns=record["at_ns"],
        pid=record["pid"],
        begin_ns=record["begin_ns"],
        figures={name: record[name] for name in FIGURES if record[name] is not None},
        calls=_pairs(record["calls"] or {}),
        program=_name(record["program"]) if record["program"] else None,
    )


def _pairs(record: Mapping[str, Any]) -> dict[str, tuple[float, float | None]]:
    return {name: (one[0], one[1]) for name, one in record.items()}


def _mark(record: Mapping[str, Any]) -> Mark:
    calls = record["calls"]
    return Mark(
        id=record["id"],
        at_ns=record["at_ns"],
        processes=record["processes"],
        figures={name: record[name] for name in COUNTED},
        calls=None if calls is None else _pairs(calls),
        lost=record["lost"],
    )


def _monitor(record: Mapping[str, Any]) -> Monitor:
    unfollowed, total = record["unfollowed_figures"], record["total"]
    return Monitor(
        **dict(record)
        | {
            "unfollowed_figures": unfollowed,
            "total": _process(total) if total else None,
            "missing": tuple(record["missing"] or ()),
        }
    )


def _program(value: Any) -> str:
    """A program's name, a character for each of its bytes, whatever those are."""
    if type(value) is not str or len(value) > _NAME_MOST:
        raise shapes.Wrong(value, f"a text of at most {_NAME_MOST} characters")
    return value


_NAME_MOST = 4096
_CALL = checker(Call, told=True)
_values_of = operator.itemgetter(*_NAMES[Call])


def _call(value: Any) -> Call:
    """Most calls of many short processes are alike: equal ones are checked once, and are one object."""
    try:
        if type(value) is dict:
            return _call_of(*_values_of(value))
    except (KeyError, TypeError):  # it lacks something that may be missing, or has a histogram
        pass
    return _made(_CALL(value))


@lru_cache(maxsize=4096, typed=True)
def _call_of(*values: Any) -> Call:
    return _made(_CALL(dict(zip(_NAMES[Call], values, strict=True))))


def _made(record: Mapping[str, Any]) -> Call:
    histogram = record["histogram"]
    return Call(**dict(record) | {"histogram": None if histogram is None else tuple(histogram)})


def _members(kind: type, counts: Iterable[str] = (), **others: Any) -> tuple[Member, ...]:
    """The keys of a record of that type: its fields, where `others` has none in their place (None: no key);
    and counts."""
    known = {one.name: one.kind for one in shapes.members(kind)} | dict.fromkeys(counts, int | None) | others
    return tuple(Member(name, one) for name, one in known.items() if one is not None)


_Program = Annotated[str, Told(_program)]
_Calls = Annotated[dict[str, Annotated[Call, Told(_call)]] | None, Calls]
_Pair = Annotated[list[float | None], Told(Length(2, 2))]
_Pairs = Annotated[dict[str, _Pair] | None, Calls]
_PROCESS = object_with(
    _members(
        Process, FIGURES, figures=None, calls=_Calls, program=_Program, program_before=_Program | None,
        attached=bool | None,
    ),
    told=True,
)  # fmt: skip
_COUNTS = object_with((Member(name, int | None) for name in COUNTED), told=True)
_CHECKS: dict[str, Check] = {
    "watch": object_with(
        _members(
            Head,
            refused=Annotated[list[Refused] | None, Sentences],
            missing=Annotated[list[str] | None, Sentences],
            children=int | None,
        ),
        told=True,
    ),
    "process": _PROCESS,
    "reading": object_with(
        _members(Reading, FIGURES, figures=None, calls=_Pairs, program=_Program | None), told=True
    ),
    "window": object_with(_members(Window, run_ns=int | None, work=int | None), told=True),
    "mark": object_with(_members(Mark, COUNTED, figures=None, calls=_Pairs), told=True),
    "end": object_with(
        _members(
            Monitor,
            unfollowed_figures=Annotated[Any, Told(_COUNTS)] | None,
            total=Annotated[Any, Told(_PROCESS)] | None,
            missing=Annotated[list[str] | None, Sentences],
        ),
        told=True,
    ),
    "probe": checker(Probe, told=True),
}
_READERS: dict[str, Callable[[Mapping[str, Any]], Record]] = {
    "watch": _head,
    "process": _process,
    "reading": _reading,
    "window": lambda record: Window(**record),
    "mark": _mark,
    "end": _monitor,
    "probe": lambda record: Probe(**record),
}
