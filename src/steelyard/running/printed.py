"""Reads a tool's own figures from what its command printed, and adds them to the outcome of its trial."""

import csv
import json
import math
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from steelyard.errors import SystemFailed
from steelyard.events import Outcome, Samples
from steelyard.study.tool import ONLY, UNIT, Tool, ToolFigure
from steelyard.text import quoted, shortened, shown

_NUMBER = re.compile(r"[+-]?(?:\d[\d,']*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"\w")
_MOST = 8e12  # of a figure; DAY_NS bounds what a sample holds
_EXPONENTS = range(18, 0, -1)
_READ_S = 5.0
_TOO_LONG = f"to find the figures in what it printed took more than {_READ_S:g} s: give plainer patterns"
_LINES_SHOWN, _LINE_MOST = 3, 200
_LINE_READ_MOST = 10_000  # characters of a line that a pattern is held against
_OF: Mapping[str, Callable[[Sequence[float]], float]] = {
    "first": lambda found: found[0],
    "last": lambda found: found[-1],
    "sum": math.fsum,
    "mean": lambda found: math.fsum(found) / len(found),
    "least": min,
    "most": max,
}


class _TooLong(BaseException):
    """The time for reading is over. No handler on the way may take it for another error."""


@contextmanager
def _bounded() -> Iterator[None]:
    """Ends what takes more processor time: a regular expression may try more ways than there is time."""

    def end(*_: object) -> None:
        raise _TooLong

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, _READ_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class _Absent(Exception):
    """A figure is not there; the reason, after its name."""


class _Wrong(Exception):
    """What stands in a figure's place is none; the reason likewise."""


def with_figures(outcome: Outcome, tool: Tool | None, printed: Mapping[int, str]) -> Outcome:
    """The outcome with the tool's figures as further metrics; failed, where one is not as it should be, or
    the tool says that it failed."""
    if tool is None or outcome.status not in ("ok", "failed"):
        return outcome
    try:
        with _bounded():
            return _read(outcome, tool, printed)
    except _TooLong:
        return replace(outcome, status="failed", reason=_TOO_LONG)


def _read(outcome: Outcome, tool: Tool, printed: Mapping[int, str]) -> Outcome:
    if outcome.status == "failed":
        text = next((one for one in printed.values() if one.strip()), "")
        failure = _failure(tool, text)
        return _failed(outcome, outcome.reason or "it failed", failure or text) if text else outcome
    samples = list(outcome.samples)
    for copy, text in sorted(printed.items()):
        if failure := _failure(tool, text):
            return replace(outcome, status="failed", reason=f"{tool.name or 'the command'} says: {failure}")
        for figure in tool.figures:
            try:
                number = _number(figure, text)
            except _Absent as absent:
                if not figure.optional:
                    return _failed(outcome, f"{figure.name}: {absent}", text)
                continue
            except _Wrong as wrong:
                return _failed(outcome, f"{figure.name}: {wrong}", text)
            if number or not figure.optional:
                samples.append(_sample(copy, figure.name, number))
        if not any(one.copy == copy for one in samples[len(outcome.samples) :]):
            return _failed(outcome, "it printed none of the figures that are looked for", text)
    return replace(outcome, samples=tuple(samples))


def _failed(outcome: Outcome, reason: str, text: str) -> Outcome:
    return replace(outcome, status="failed", reason=f"{reason}{end_of(text)}")


def _sample(copy: int, name: str, number: float) -> Samples:
    """The figure as a sample: durations are whole numbers, so it is kept as many at once, and their sum."""
    exponent = next((one for one in _EXPONENTS if number * 10.0**one <= 10 * _MOST), _EXPONENTS[-1])
    return Samples(copy, name, 10**exponent, (round(number * 10**exponent),))


def _failure(tool: Tool, text: str) -> str:
    """The line that says that the tool failed; "" if none does."""
    if not tool.failure:
        return ""
    line = next((one for one in text.splitlines() if re.search(tool.failure, one[:_LINE_READ_MOST])), "")
    return shortened(shown(line.strip()), _LINE_MOST)


def end_of(text: str) -> str:
    """The last lines with words of what was printed, for a message."""
    lines = [shortened(shown(one.strip()), _LINE_MOST) for one in text.splitlines() if _WORD.search(one)]
    return f"; it printed: {' | '.join(lines[-_LINES_SHOWN:])}" if lines else "; it printed nothing"


def values(tool: Tool, text: str) -> dict[str, list[str]]:
    """Of each figure that stands for several, by its name: the values that tell these apart, in the text's
    order. Raises SystemFailed where the text cannot be read."""
    found: dict[str, list[str]] = {}
    try:
        with _bounded():
            for figure in tool.figures:
                if figure.each:
                    named = (row.named(figure.each) for row in _where(figure, text))
                    found[figure.name] = list(dict.fromkeys(one for one in named if one))
    except _TooLong:
        raise SystemFailed(f"{_TOO_LONG}{end_of(text)}") from None
    except (_Absent, _Wrong) as wrong:
        raise SystemFailed(f"{wrong}{end_of(text)}") from None
    return found


def _number(figure: ToolFigure, text: str) -> float:
    """The one number that the figure is, in the unit that it is kept in. Raises _Absent or _Wrong."""
    found = [row.number() * _factor(figure, row) for row in _where(figure, text)]
    if not found:
        raise _Absent(f"there is no {figure.place.removeprefix('a ').removeprefix('the ')}")
    if figure.take == ONLY and len(found) > 1:
        raise _Wrong(f'{figure.place} is there {len(found)} times: say which counts, such as take = "last"')
    number = found[0] if figure.take == ONLY else _OF[figure.take](found)
    if not math.isfinite(number) or not 0 <= number <= _MOST:
        raise _Wrong(f"it was {number:g}, but must be from 0 to {_MOST:g}: give it another unit, and a scale")
    return number


def _factor(figure: ToolFigure, row: "_Row") -> float:
    unit = row.unit()
    try:
        return figure.factor(unit)
    except KeyError:
        raise _Wrong(f"{row.where} has the unit {quoted(str(unit))}, which is not known") from None


@dataclass(frozen=True, slots=True)
class _Row:
    """One place where a figure may stand."""

    where: str  # for messages
    number: Callable[[], float]  # raises _Absent or _Wrong
    named: Callable[[str], str | None]  # what else is there
    unit: Callable[[], str | None] = lambda: None


def _where(figure: ToolFigure, text: str) -> Iterable[_Row]:
    """Every place in the text where the figure stands. Raises _Absent or _Wrong."""
    rows = _lines if figure.pattern else _members if figure.pointer else _of_table
    for row in rows(figure, text):
        if all(row.named(key) == value for key, value in figure.where):
            yield row


def _parsed(text: str, where: str) -> float:
    """The number that the text is; 1,234.5 too. Raises _Wrong."""
    if not _NUMBER.fullmatch(text.strip()):
        raise _Wrong(f"{where} has {quoted(text)}, which is no number")
    return float(text.strip().replace(",", "").replace("'", ""))


def _lines(figure: ToolFigure, text: str) -> Iterable[_Row]:
    known = re.compile(figure.pattern)
    number = next(one for one in range(1, known.groups + 1) if one not in known.groupindex.values())
    for line in text.splitlines():
        if match := known.search(line[:_LINE_READ_MOST]):
            where = f"the line {quoted(shortened(line.strip(), _LINE_MOST))}"
            # Columns that are filled with spaces are no part of a name.
            groups = {name: value and " ".join(value.split()) for name, value in match.groupdict().items()}
            yield _Row(
                where,
                partial(_parsed, match[number] or "", where),
                groups.get,
                partial(groups.get, UNIT),
            )


def _members(figure: ToolFigure, text: str) -> Iterable[_Row]:
    whole = _json(text)
    if not figure.among:
        yield _row_of_json(figure, whole)
        return
    members = _at(whole, figure.among)
    if not isinstance(members, list | dict):
        raise _Wrong(f"the JSON pointer {quoted(figure.among)} has neither a list nor an object")
    for member in members if isinstance(members, list) else members.values():
        with suppress(_Absent):
            _at(member, figure.pointer)
            yield _row_of_json(figure, member)


def _row_of_json(figure: ToolFigure, member: Any) -> _Row:
    def named(pointer: str) -> str | None:
        with suppress(_Absent):
            value = _at(member, pointer)
            return value if isinstance(value, str) else json.dumps(value)
        return None

    where = f"the JSON pointer {quoted(figure.pointer)}"
    unit = partial(named, figure.unit_at) if figure.unit_at else lambda: None
    return _Row(where, lambda: _number_of_json(_at(member, figure.pointer), where), named, unit)


def _number_of_json(value: Any, where: str) -> float:
    if isinstance(value, str):
        return _parsed(value, where)
    if type(value) not in (int, float):
        raise _Wrong(f"{where} has {quoted(shortened(json.dumps(value), _LINE_MOST))}, which is no number")
    return float(value)


def _at(value: Any, pointer: str) -> Any:
    """What the pointer leads to, by RFC 6901. Raises _Absent."""
    for part in pointer[1:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            known = sorted(map(str, value)) if isinstance(value, dict) else []
            there = f"; there are {', '.join(map(quoted, known[:10]))}" if known else ""
            raise _Absent(f"the JSON pointer {quoted(pointer)} leads nowhere at {quoted(key)}{there}")
    return value


def _json(text: str) -> Any:
    """The first value of JSON that begins a line: a tool may write words before and after. Raises
    _Wrong."""
    reader, reason = json.JSONDecoder(), "there is no JSON"
    for match in re.finditer(r"^(?=[\[{])", text, re.MULTILINE):
        try:
            return reader.raw_decode(text, match.end())[0]
        except RecursionError:
            raise _Wrong("its JSON is nested too deeply") from None
        except ValueError as error:
            reason = f"its JSON cannot be read: {error}"
    raise _Wrong(reason)


def _of_table(figure: ToolFigure, text: str) -> Iterable[_Row]:
    """The rows begin after the first line that has the columns."""
    wanted = {figure.column, *dict(figure.where), *([figure.each] if figure.each else [])}
    heading: list[str] = []
    for row in csv.reader(text.splitlines()):
        cells = [one.strip() for one in row]
        if not heading:
            heading = cells if wanted <= set(cells) else []
            continue
        by_name = dict(zip(heading, cells, strict=False))
        if figure.column in by_name:
            where = f"the row {quoted(shortened(','.join(row), _LINE_MOST))}"
            yield _Row(where, partial(_parsed, by_name[figure.column], where), by_name.get)
