"""Checks JSON values against the types that hold them: the one checker of everything that is read.

A type is a scalar, an optional one, a list, a dictionary, a dataclass or a TypedDict; `Range`, `OneOf` and
`Length` limit its values. Files of this program are read back as they are. Values `told` by another program
are not trusted: whole numbers begin at 0, texts are for people only, every list and dictionary has a limit,
optional fields may be missing, and unknown keys are dropped. `Told` marks the limits that hold only for
these. A line is read within limits on nesting and digits.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from steelyard.text import quoted, shortened, shown

Record = dict[str, Any]
Check = Callable[[Any], Any]  # the value as it is kept; raises Wrong
_Mark = TypeVar("_Mark")

WHOLE_MOST = (1 << 63) - 1  # what a column of the archive holds
REASON_MOST = 2000  # characters that are kept of a reason, or of a fact
PRINTED_MOST = 1 << 18  # characters of a part of what a command printed
_NAME_MOST = 200  # characters
_KEYS_MOST = 200  # of a dictionary
_DIGITS_MOST = 40
_NESTED_MOST = 8  # brackets in one another; no record has more than four


@dataclass(frozen=True, slots=True)
class Range:
    """The allowed numbers of a field."""

    least: float
    most: float


@dataclass(frozen=True, slots=True)
class OneOf:
    """The allowed texts, or numbers, of a field."""

    values: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Length:
    """The allowed number of elements of a list or a dictionary."""

    most: int
    least: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """A limit of what another program tells: a mark as above, or a function that checks the value."""

    mark: Range | OneOf | Length | Check


@dataclass(frozen=True, slots=True)
class KeptAs:
    """The type that a value has in JSON, if that is another one."""

    kind: Any


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a dataclass or a key of a TypedDict."""

    name: str
    kind: Any
    is_required: bool = True
    default: Any = None


class _Missing:
    """Stands for a key that is not there."""

    def __repr__(self) -> str:
        return "missing"


class Wrong(ValueError):
    """A value that its type does not allow. Its text says where it is and what is allowed."""

    def __init__(self, value: object, allowed: str, where: str = "") -> None:
        self.where, self.value, self.allowed = where, value, allowed

    def at(self, place: str | int) -> "Wrong":
        """The same, seen from one step further out."""
        name = f"[{place}]" if isinstance(place, int) else shortened(shown(place), 60)
        joint = "." if self.where and not self.where.startswith("[") else ""
        self.where = f"{name}{joint}{self.where}"
        return self

    def __str__(self) -> str:
        place = shortened(shown(self.where), 120) or "it"
        return f"{place} is {quoted(self.value)}" + (f", but must be {self.allowed}" if self.allowed else "")


@cache
def members(kind: Any) -> tuple[Member, ...]:
    """The members of an object of the type, in order."""
    hints = get_type_hints(kind, include_extras=True)
    if is_typeddict(kind):
        required = kind.__required_keys__
        return tuple(Member(name, _told_apart(hint), name in required) for name, hint in hints.items())
    entries = []
    for one in fields(kind):
        is_required = one.default is MISSING and one.default_factory is MISSING
        entries.append(Member(one.name, hints[one.name], is_required, None if is_required else one.default))
    return tuple(entries)


def _told_apart(hint: Any) -> Any:
    """The type of a key, whether it is required or not."""
    return get_args(hint)[0] if get_origin(hint) in (Required, NotRequired) else hint


def without_marks(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type itself, and what it is annotated with."""
    marks: tuple[Any, ...] = ()
    while get_origin(kind) is not None and hasattr(kind, "__metadata__"):
        marks += kind.__metadata__
        kind = kind.__origin__
    return kind, marks


def without_none(kind: Any) -> tuple[Any, bool]:
    """The type, and whether it may be None besides."""
    if get_origin(kind) in (Union, UnionType):
        others = [one for one in get_args(kind) if one is not NoneType]
        if len(others) == 1:
            return others[0], len(others) < len(get_args(kind))
    return kind, False


@cache
def checker(kind: Any, *, told: bool = False) -> Check:
    """A function that returns a value of the type as it is kept, or raises Wrong. An object is then complete:
    what earlier versions did not know has its default."""
    kind, marks = without_marks(kind)
    marks = tuple(_as_told(one) if told else one for one in marks if told or not isinstance(one, Told))
    inner, may_be_none = without_none(kind)
    if may_be_none:
        return _maybe(checker(_marked(inner, marks, told), told=told), told=told)
    for mark in marks:
        if callable(mark):
            checked: Check = mark
            return checked
    if kept := _last(marks, KeptAs):
        return checker(kept.kind, told=told)
    if one_of := _last(marks, OneOf):
        return _one_of(one_of.values)
    if get_origin(kind) in (Union, UnionType):
        return _any_of([checker(one, told=told) for one in get_args(kind)])
    if get_origin(kind) in (tuple, list):
        return _list(get_args(kind), _last(marks, Length), told=told)
    if get_origin(kind) in (dict, Mapping):
        return _dictionary(checker(get_args(kind)[1], told=told), _last(marks, Length), told=told)
    if is_typeddict(kind) or is_dataclass(kind):
        return object_with(members(kind), is_open=is_typeddict(kind), told=told)
    limits = _last(marks, Range)
    if kind is int:
        return _whole(limits or _whole_limits(told))
    if kind is float:
        return _number(limits, told=told)
    return {Any: lambda value: value, bool: _truth, str: prose if told else _text}[kind]


def _as_told(mark: Any) -> Any:
    """The mark as it is for what another program tells."""
    if isinstance(mark, Range):
        return Range(max(mark.least, 0), min(mark.most, WHOLE_MOST))
    return mark.mark if isinstance(mark, Told) else mark


def _last(marks: tuple[Any, ...], kind: type[_Mark]) -> _Mark | None:
    """The innermost mark of that kind: a mark for told values comes after the general one."""
    return next((one for one in reversed(marks) if isinstance(one, kind)), None)


def _marked(kind: Any, marks: tuple[Any, ...], told: bool) -> Any:
    again = tuple(Told(one) if told else one for one in marks)
    return Annotated[(kind, *again)] if again else kind


def _maybe(check_value: Check, *, told: bool) -> Check:
    def check(value: Any) -> Any:
        if value is None or (told and value is _MISSING):
            return None
        return check_value(value)

    return check


def _whole_limits(told: bool) -> Range:
    return Range(0, WHOLE_MOST) if told else Range(-WHOLE_MOST - 1, WHOLE_MOST)


def _whole(limits: Range) -> Check:
    least, most = limits.least, limits.most
    allowed = "a whole number"
    if math.isfinite(least):
        allowed += f" from {int(least)} to {int(most)}"

    def check(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise Wrong(value, allowed)
        return value

    return check


def _number(limits: Range | None, *, told: bool) -> Check:
    allowed = f"a number from {limits.least:g} to {limits.most:g}" if limits else "a number"

    def check(value: Any) -> float:
        if type(value) not in (int, float) or not math.isfinite(number := _as_float(value)):
            raise Wrong(value, allowed)
        if limits and not limits.least <= value <= limits.most:
            raise Wrong(value, allowed)
        return number if told else value

    return check


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise Wrong(value, "true or false")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise Wrong(value, "a text")
    return value


def name(value: Any) -> str:
    """A name: shown as it is, and held against others."""
    if type(value) is not str or len(value) > _NAME_MOST or not value.isprintable():
        raise Wrong(value, f"a text of at most {_NAME_MOST} printable characters")
    return value


def prose(value: Any) -> str:
    """Text for people only: escaped and shortened, so that no terminal obeys it."""
    return shortened(shown(shortened(of_bytes(_text(value)), REASON_MOST)), REASON_MOST)


def of_bytes(value: str) -> str:
    """The agent writes each byte as a character. Where these are UTF-8 they are read so; a last character
    that was cut short is written out, and what is no UTF-8 stays as it is."""
    if value.isascii():
        return value
    try:
        octets = value.encode("latin-1")
        return octets.decode(errors="strict")
    except UnicodeEncodeError:
        return value
    except UnicodeDecodeError as error:
        is_cut = error.reason == "unexpected end of data"
        return octets.decode(errors="backslashreplace") if is_cut else value


def printed(value: Any) -> str:
    """A part of what another program printed: to be read, and not to be shown as it is. Each byte is a
    character, for `of_bytes`."""
    if len(text := _text(value)) > PRINTED_MOST:
        raise Wrong(shortened(text, 100), f"a text of at most {PRINTED_MOST} characters")
    return text


def digest(value: Any) -> str:
    if type(value) is not str or not re.fullmatch("[0-9a-f]{64}", value):
        raise Wrong(value, "64 hexadecimal digits")
    return value


Name = Annotated[str, Told(name)]
Digest = Annotated[str, Told(digest)]
Printed = Annotated[str, Told(printed)]


def _one_of(values: tuple[str | int, ...]) -> Check:
    allowed = f"one of {', '.join(map(str, values))}" if len(values) > 1 else str(values[0])

    def check(value: Any) -> str | int:
        if type(value) not in (str, int) or value not in values:
            raise Wrong(value, allowed)
        known: str | int = value
        return known

    return check


def _any_of(checks: Sequence[Check]) -> Check:
    def check(value: Any) -> Any:
        wrong = []
        for one in checks:
            try:
                return one(value)
            except Wrong as error:
                wrong.append(error.allowed)
        raise Wrong(value, " or ".join(wrong))

    return check


def _list(kinds: tuple[Any, ...], length: Length | None, *, told: bool) -> Check:
    """A list of one type with any number of elements, or of several types with one element each."""
    is_open = len(kinds) == 1 or kinds[-1] is Ellipsis
    checks = [checker(one, told=told) for one in kinds if one is not Ellipsis]
    if not is_open:
        length = Length(len(checks), len(checks))
    # Most are whole numbers, and many: these are looked at together.
    element, may_be_none = without_none(kinds[0])
    element, marks = without_marks(element)
    least, most = 0.0, -1.0
    if is_open and element is int and not any(isinstance(one, OneOf) for one in marks):
        ranges = [_as_told(one) if told else one for one in marks if told or not isinstance(one, Told)]
        limits = _last(tuple(ranges), Range) or _whole_limits(told)
        least, most = limits.least, limits.most
    types = {int, NoneType} if may_be_none else {int}

    def check(value: Any) -> Any:
        if type(value) is not list and type(value) is not tuple:
            raise Wrong(value, allowed)
        if length and not length.least <= len(value) <= length.most:
            raise Wrong(value, allowed)
        if least <= most and value and types.issuperset(map(type, value)):
            known = value if not may_be_none else [one for one in value if one is not None]
            if not known or (least <= min(known) and max(known) <= most):
                return value
        kept = []
        try:
            if is_open:
                for one in value:
                    kept.append(checks[0](one))
            else:
                for one, check_one in zip(value, checks, strict=True):
                    kept.append(check_one(one))
        except Wrong as wrong:
            raise wrong.at(len(kept)) from None
        return kept

    if length is None:
        allowed = "a list"
    else:
        several = f"{length.least} to {length.most}" if length.least < length.most else f"{length.most}"
        allowed = f"a list of {several}"
    return check


def _dictionary(check_value: Check, length: Length | None, *, told: bool) -> Check:
    """A dictionary with any keys."""
    most = length.most if length else _KEYS_MOST if told else None
    allowed = "an object" if most is None else f"an object of at most {most} keys"

    def check(value: Any) -> Record:
        if type(value) is not dict or (most is not None and len(value) > most):
            raise Wrong(value, allowed)
        kept = {}
        key = ""
        try:
            for key, one in value.items():
                kept[name(key) if told else key] = check_value(one)
        except Wrong as wrong:
            raise wrong.at(key) from None
        return kept

    return check


def object_with(known: Iterable[Member], *, is_open: bool = False, told: bool = False) -> Check:
    """The same for an object with these members; what else it holds stays only where it is open."""
    entries = tuple((one.name, one, checker(one.kind, told=told)) for one in known)

    def check(value: Any) -> Record:
        if type(value) is not dict:
            raise Wrong(value, "an object")
        kept = dict(value) if is_open else {}
        key = ""
        try:
            for key, member, check_member in entries:
                if key in value or told:
                    kept[key] = check_member(value.get(key, _MISSING))
                elif member.is_required:
                    raise Wrong(_MISSING, "")
                elif not is_open:
                    kept[key] = [] if member.default == () else member.default
        except Wrong as wrong:
            raise wrong.at(key) from None
        return kept

    return check


def without_halves(value: Any) -> Any:
    """The same, half characters of UTF-16 replaced: JSON may hold them, no table can."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return [without_halves(one) for one in value]
    if isinstance(value, dict):
        return {without_halves(name): without_halves(one) for name, one in value.items()}
    return value


_MISSING = _Missing()


def read(line: bytes) -> Record:
    """The object in the line. Raises ValueError."""
    if not _is_flat(line):
        raise ValueError(f"cut short, or nested more than {_NESTED_MOST} deep")
    try:
        decoded = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from None
    has_long = _DIGITS_TOO_MANY in line.translate(_ANY_DIGIT)
    try:
        record = json.loads(
            decoded,
            object_pairs_hook=_object,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_short if has_long else None,
        )
    except RecursionError:
        raise ValueError(f"nested more than {_NESTED_MOST} deep") from None
    if type(record) is not dict:
        raise ValueError("no object")
    return record


_ANY_DIGIT = bytes.maketrans(b"0123456789", b"0" * 10)
_DIGITS_TOO_MANY = b"0" * (_DIGITS_MOST + 1)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def _is_flat(line: bytes) -> bool:
    """True if its brackets match, with limited nesting: Python's JSON parser recurses with them."""
    return _is_reduced(line) or _is_reduced(_STRING.sub(b"", line))  # few lines have brackets in strings


def _is_reduced(line: bytes) -> bool:
    shape = line.translate(None, _NO_BRACKETS)
    for _ in range(_NESTED_MOST):
        shape = shape.replace(b"[]", b"").replace(b"{}", b"")
    return not shape


def _object(pairs: Sequence[tuple[str, Any]]) -> Record:
    record: Record = dict(pairs)
    if len(record) == len(pairs):
        return record
    record = {}
    for key, value in pairs:
        if key in record:
            raise ValueError(f"the key {quoted(key)} is repeated")
        record[key] = value
    return record


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")


def _short(digits: str) -> int:
    if len(digits) > _DIGITS_MOST:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{quoted(digits)} is out of range")
    return value
