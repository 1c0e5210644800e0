"""Remarks are facts; each kind has one sentence, and what differs in numbers alone is said together."""

import dataclasses
import itertools
from typing import Any, get_type_hints

import pytest

from steelyard.analysis import remarks as kinds
from steelyard.analysis.remarks import Build, Fact, FoundProgram, OtherLevel, OtherLevels, Remark
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import remarks

KINDS = [
    one
    for one in vars(kinds).values()
    if isinstance(one, type) and issubclass(one, Remark) and one is not Remark
]
# Two values of each type that a field may have.
VALUES: dict[Any, tuple[Any, Any]] = {
    str: ("debian-6-1", "debian-6-12"),
    int: (3, 4),
    float: (0.006, 0.009),
    bool: (False, True),
    Estimate: (Estimate(2.0, 1.5, 2.5, 0.95), Estimate(3.0, 2.5, 3.5, 0.95)),
}
CHOSEN: dict[str, tuple[Any, Any]] = {
    "without": ("same", "other"),
    "detail": ("life", "calls"),
    "figure": ("law", "saturation"),
    "facts": ((Fact("cpu_count", 1, 2),), (Fact("cpu_count", 1, 3),)),
    "builds": ((Build("gcc 12", "glibc", ("a",)),), (Build("gcc 13", "glibc", ("a",)),)),
    "programs": (
        (FoundProgram("a", "/bin/sort", "9.1", "1"),),
        (FoundProgram("a", "/bin/sort", "9.4", "2"),),
    ),
    "levels": ((OtherLevel("sieve", -0.1),), (OtherLevel("idea", -0.1),)),
    "kinds": ((("timeout", 2),), (("closed", 2),)),
    "lacked": ((("EMFILE", 2),), (("ENOMEM", 2),)),
    "values": (((1, 2), (2, 1)), ((1, 3), (2, 1))),
    "settings": ((("swap_bytes", (("a", 0), ("b", 1))),), (("swap_bytes", (("a", 0), ("b", 2))),)),
}


def values_of(field: str, hint: Any) -> tuple[Any, Any]:
    if field in CHOSEN:
        return CHOSEN[field]
    named = [*getattr(hint, "__args__", ()), hint]
    first, second = next(VALUES[one] for one in named if one in VALUES)
    return ((first,), (second,)) if str(hint).startswith("tuple") else (first, second)


def made(kind: type[Remark], *, second: frozenset[str] = frozenset()) -> Remark:
    """A remark of that kind; the fields `second` have their second value."""
    hints = get_type_hints(kind)
    fields = [one.name for one in dataclasses.fields(kind)]
    return kind(**{name: values_of(name, hints[name])[name in second] for name in fields})


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_frozen_and_has_a_sentence(kind: type[Remark]) -> None:
    one = made(kind)

    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert len(remarks.text(one).split()) > 1 or kind is kinds.Damage  # whose sentence is the archive's
    assert remarks.text(one) == remarks.together([one, one]) or kind is kinds.Trouble  # which adds trials


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_differs_in_numbers_is_said_together(kind: type[Remark]) -> None:
    """A name is no number, and neither is a number in a name."""
    hints = get_type_hints(kind)
    first = made(kind)
    for name in (one.name for one in dataclasses.fields(kind)):
        other = made(kind, second=frozenset([name]))
        is_number = isinstance(getattr(first, name), int | float) and hints[name] is not bool
        is_digest = name.endswith("sha256") or kind is kinds.OtherCode
        assert (remarks.kind_of(first) == remarks.kind_of(other)) == (is_number or is_digest), name


@pytest.mark.parametrize("kind", [kinds.ClockApart, kinds.GeneratorBusy, kinds.FewUnits, kinds.HeldBack])
def test_a_range_goes_from_the_least_to_the_most_in_any_order(kind: Any) -> None:
    number = next(name for name, hint in get_type_hints(kind).items() if hint in (int, float))
    ones = [dataclasses.replace(made(kind), **{number: value}) for value in (0.6, 0.9, 0.7)]

    said = {remarks.together(each) for each in itertools.permutations(ones)}

    assert len(said) == 1


def test_levels_that_differ_alone_are_named_the_farthest_first_and_counted() -> None:
    changes = {"a": -0.3, "b": 0.1, "c": -0.05, "d": 0.03, "e": -0.03}
    levels = tuple(OtherLevel(cell, change) for cell, change in changes.items())

    said = [remarks.text(OtherLevels(levels[:count])).removeprefix(BEGINNING) for count in range(1, 6)]

    assert said == [
        "",
        " and b takes 10 % more",
        ", b takes 10 % more and c takes 5.0 % less",
        ", b takes 10 % more, c takes 5.0 % less and 1 more differs by more than 2 %",
        ", b takes 10 % more, c takes 5.0 % less and 2 more differ by more than 2 %",
    ]


BEGINNING = "values are those of batches in turns; alone, a takes 30 % less"
