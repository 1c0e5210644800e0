"""Holds values out of JSON against Python's types: the strict door of everything that is read back.

A type is a scalar, an optional one, a list, a dictionary, a dataclass or a TypedDict, annotated with
`events.Range` or `events.OneOf` where not every value will do.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from steelyard.events import OneOf, Range
from steelyard.study.model import Cell
from steelyard.text import quoted, shortened, shown

Check = Callable[[Any], None]

_WHOLE = Range(-(2**63), 2**63 - 1)


class Wrong(ValueError):
    """A value that its type does not allow. Its text says where it is and what is allowed."""

    def __init__(self, value: object, allowed: str, path: str = "") -> None:
        super().__init__(path, value, allowed)
        self.path, self.value, self.allowed = path, value, allowed

    def within(self, outer: str) -> "Wrong":
        """The same, seen from one step further out."""
        return Wrong(self.value, self.allowed, outer + self.path)

    def __str__(self) -> str:
        if isinstance(self.value, Lacking):
            return f"{shown(self.path.lstrip('.'))} is missing"
        place = shortened(shown(self.path.lstrip(".")), 120) or "it"
        return f"{place} is {quoted(self.value)}, but must be {self.allowed}"


class Lacking:
    """Stands for a key that is not there."""


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a dataclass or a key of a TypedDict."""

    name: str
    kind: Any
    is_required: bool
    default: Any = None


@cache
def members(kind: Any) -> tuple[Member, ...]:
    """What an object of the type holds, in its order."""
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
def checker(kind: Any) -> Check:
    """A function that raises Wrong for a value that is none of the type. It makes an object complete (what
    earlier versions did not know has its default) and drops from it what is not known."""
    kind, marks = without_marks(kind)
    inner, may_be_none = without_none(kind)
    if may_be_none:
        return _maybe(checker(_marked(inner, marks)))
    if get_origin(kind) in (Union, UnionType):
        return _any_of(kind)
    if get_origin(kind) in (tuple, list):
        return _list(get_args(kind))
    if get_origin(kind) in (dict, Mapping):
        return _dictionary(checker(get_args(kind)[1]))
    if is_typeddict(kind) or (is_dataclass(kind) and kind is not Cell):
        return object_with(members(kind), is_open=is_typeddict(kind))
    if kind is int:
        return _whole(_limits_of(_marked(kind, marks)) or _WHOLE)
    limits = next((one for one in marks if isinstance(one, Range)), None)
    texts = next((one.texts for one in marks if isinstance(one, OneOf)), None)
    if kind is float:
        return _number(limits)
    if kind is Any:
        return lambda value: None
    allowed = {str: "a text", bool: "true or false", Cell: "a text"}[kind]
    type_ = str if kind is Cell else kind

    def check_text(value: Any) -> None:
        if not isinstance(value, type_):
            raise Wrong(value, allowed)
        if texts is not None and value not in texts:
            raise Wrong(value, f"one of {', '.join(texts)}")

    return check_text


def _maybe(check_value: Check) -> Check:
    def check(value: Any) -> None:
        if value is not None:
            check_value(value)

    return check


def _marked(kind: Any, marks: tuple[Any, ...]) -> Any:
    return Annotated[(kind, *marks)] if marks else kind


def _limits_of(kind: Any) -> Range | None:
    """What whole numbers of the type may be; None where it is of others."""
    kind, marks = without_marks(kind)
    return next((one for one in marks if isinstance(one, Range)), _WHOLE) if kind is int else None


def _whole(limits: Range) -> Check:
    least, most = limits.least, limits.most
    allowed = "a whole number"
    if math.isfinite(least):
        allowed += f" from {int(least)} to {int(most)}"

    def check(value: Any) -> None:
        if type(value) is not int or not least <= value <= most:
            raise Wrong(value, allowed)

    return check


def _number(limits: Range | None) -> Check:
    allowed = f"a number from {limits.least:g} to {limits.most:g}" if limits else "a number"

    def check(value: Any) -> None:
        if type(value) not in (int, float) or not math.isfinite(_as_float(value)):
            raise Wrong(value, allowed)
        if limits and not limits.least <= value <= limits.most:
            raise Wrong(value, allowed)

    return check


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _any_of(kind: Any) -> Check:
    checks = [checker(one) for one in get_args(kind)]

    def check(value: Any) -> None:
        wrong = []
        for one in checks:
            try:
                return one(value)
            except Wrong as error:
                wrong.append(error.allowed)
        raise Wrong(value, " or ".join(wrong))

    return check


def _list(kinds: tuple[Any, ...]) -> Check:
    """Of one type, any number of them; or of so many types, one of each."""
    is_open = len(kinds) == 1 or kinds[-1] is Ellipsis
    checks = [checker(one) for one in kinds if one is not Ellipsis]
    limits = _limits_of(kinds[0]) if is_open else None
    least, most = (limits.least, limits.most) if limits else (0, -1)

    def check(value: Any) -> None:
        if type(value) is not list and type(value) is not tuple:
            raise Wrong(value, "a list")
        # Most are whole numbers, and many: these are looked at together.
        is_known = least <= most and value and set(map(type, value)) == {int}
        if is_known and least <= min(value) and max(value) <= most:
            return
        if not is_open and len(value) != len(checks):
            raise Wrong(value, f"a list of {len(checks)}")
        number = -1
        try:
            for number, element in enumerate(value):
                (checks[0] if is_open else checks[number])(element)
        except Wrong as error:
            raise error.within(f"[{number}]") from None

    return check


def _dictionary(check_value: Check) -> Check:
    def check(value: Any) -> None:
        if not isinstance(value, dict):
            raise Wrong(value, "an object")
        for name, one in value.items():
            try:
                check_value(one)
            except Wrong as error:
                raise error.within(f".{name}") from None

    return check


def object_with(known: Iterable[Member], *, is_open: bool = False) -> Check:
    """The same for an object with these members; what else it holds stays only where it is open."""
    members = tuple(known)
    checks = [(one.name, checker(one.kind)) for one in members]
    names = frozenset(one.name for one in members)

    def check(value: Any) -> None:
        if type(value) is not dict:
            raise Wrong(value, "an object")
        if not value.keys() >= names:
            complete(value)
        name = ""
        try:
            for name, check_member in checks:
                if not is_open or name in value:
                    check_member(value[name])
        except Wrong as error:
            raise error.within(f".{name}") from None
        if len(value) != len(names) and not is_open:
            for name in value.keys() - names:
                del value[name]

    def complete(value: dict[str, Any]) -> None:
        for member in members:
            if member.name not in value:
                if member.is_required:
                    raise Wrong(Lacking(), "", f".{member.name}")
                if not is_open:
                    value[member.name] = [] if member.default == () else member.default

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
