"""The checker of JSON: what this program wrote is read back strictly, what another one tells has bounds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, NotRequired, TypedDict, get_args, get_origin

import pytest

from steelyard import shapes
from steelyard.shapes import Length, Name, OneOf, Range, Told, Wrong, checker
from steelyard.systems import protocol
from steelyard.watch import model


@dataclass(frozen=True)
class Thing:
    name: Name
    size: int
    share: float
    least: Annotated[int, Range(-5, 5), Told(Range(1, 3))] = 2
    note: str | None = None
    parts: Annotated[tuple[int, ...], Told(Length(3))] = ()


class Head(TypedDict):
    thing: Thing
    pairs: list[tuple[str, int | str]]
    word: NotRequired[Annotated[str, OneOf(("a", "b"))]]


THING = {"name": "a", "size": 1, "share": 2, "least": 3, "note": None, "parts": [1, 2, 3]}


def _wrong(kind: Any, value: object, *, told: bool = False) -> str:
    with pytest.raises(Wrong) as wrong:
        checker(kind, told=told)(value)
    return str(wrong.value)


def test_what_is_kept_is_returned_as_it_was_and_complete() -> None:
    kept = checker(Thing)({"name": "a\x1b", "size": -1, "share": 2, "more": 1})

    assert kept == {"name": "a\x1b", "size": -1, "share": 2, "least": 2, "note": None, "parts": []}
    assert type(kept["share"]) is int


def test_what_is_told_is_for_people_alone_and_of_known_keys() -> None:
    told = checker(Thing, told=True)(THING | {"note": "a\x1b", "more": 1})

    assert told == THING | {"note": "a\\x1b"}
    assert type(told["share"]) is float


@pytest.mark.parametrize(
    ("key", "value", "kept", "told"),
    [
        ("size", -1, "", "size is -1, but must be a whole number from 0 to 9223372036854775807"),
        ("size", 1.0, "size is 1.0, but must be a whole number from -9", "size is 1.0, but must be a whole"),
        ("size", True, "size is true, but must be a whole", "size is true, but must be a whole"),
        (
            "size",
            1 << 63,
            "size is a number of about 19 digits, but",
            "size is a number of about 19 digits, but",
        ),
        ("share", float("nan"), "share is nan, but must be a number", "share is nan, but must be a number"),
        ("share", 10**400, "share is a number of about 400 digits", "share is a number of about 400 digits"),
        ("least", -5, "", "least is -5, but must be a whole number from 1 to 3"),
        ("least", 6, "least is 6, but must be a whole number from -5 to 5", "from 1 to 3"),
        ("name", "x" * 201, "", "a text of at most 200 printable characters"),
        ("note", 5, "note is 5, but must be a text", "note is 5, but must be a text"),
        ("parts", [1] * 4, "", "parts is [1, 1, 1, 1], but must be a list of 0 to 3"),
        ("parts", [1, "2"], "parts[1] is '2', but must be a whole", "parts[1] is '2', but must be a whole"),
        ("parts", [1, -1], "", "parts[1] is -1, but must be a whole number from 0"),
        ("parts", {}, "parts is {}, but must be a list", "parts is {}, but must be a list of 0 to 3"),
    ],
)
def test_what_is_wrong_is_named_quoted_and_told_what_is_allowed(
    key: str, value: object, kept: str, told: str
) -> None:
    thing = THING | {key: value}

    if kept:
        assert kept in _wrong(Thing, thing)
    else:
        assert checker(Thing)(thing)[key] == value
    assert told in _wrong(Thing, thing, told=True)


def test_what_may_be_null_may_be_left_out_where_it_is_told_and_not_where_it_is_kept() -> None:
    @dataclass
    class Nullable:
        size: int | None

    assert checker(Nullable, told=True)({}) == {"size": None}
    assert _wrong(Nullable, {}) == "size is missing"
    assert _wrong(Thing, {"size": 1, "share": 1}, told=True).startswith("name is missing, but must be a text")


def test_a_dictionary_that_is_typed_keeps_what_it_does_not_know() -> None:
    head = {"thing": THING, "pairs": [["a", 1], ["b", "c"]], "more": [1]}

    assert checker(Head)(head) == head
    assert _wrong(Head, head | {"pairs": [["a", 1, 2]]}) == "pairs[0] is ['a', 1, 2], but must be a list of 2"
    assert _wrong(Head, head | {"pairs": [["a", None]]}).startswith(
        "pairs[0][1] is null, but must be a whole"
    )
    assert _wrong(Head, head | {"thing": {}}) == "thing.name is missing"
    assert _wrong(Head, head | {"word": "c"}) == "word is 'c', but must be one of a, b"


def test_a_dictionary_of_another_program_has_names_for_keys_and_a_bound() -> None:
    assert _wrong(dict[str, int], {"a\n": 1}, told=True).startswith(
        "a\\n is 'a\\n', but must be a text of at"
    )
    assert "at most 200 keys" in _wrong(dict[str, int], {str(one): 1 for one in range(201)}, told=True)
    assert checker(dict[str, int])({"a\n": -1}) == {"a\n": -1}


def _within(kind: Any, where: str) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Every type in that one, with its marks as they are for what is told."""
    kind, marks = shapes.without_marks(kind)
    inner, may_be_none = shapes.without_none(kind)
    if may_be_none:
        yield from _within(Annotated[(inner, *marks)] if marks else inner, where)
        return
    yield where, kind, tuple(one.mark if isinstance(one, Told) else one for one in marks)
    if get_origin(kind) in (list, tuple, dict, Mapping):
        for part in get_args(kind):
            yield from _within(part, f"{where}[]")
    elif is_dataclass(kind):
        for one in shapes.members(kind):
            yield from _within(one.kind, f"{where}.{one.name}")


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        *(
            (f"{kind}.{name}", one.kind)
            for kind, known in protocol.KINDS.items()
            for name, one in known.items()
        ),
        *((kind.__name__, kind) for kind in (model.Head, model.Call, model.Window, model.Probe)),
    ],
)
def test_every_list_that_another_program_tells_has_a_bound(where: str, kind: Any) -> None:
    for place, part, marks in _within(kind, where):
        if get_origin(part) in (list, tuple):
            assert any(isinstance(one, Length) for one in marks), place
