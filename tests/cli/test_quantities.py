"""Durations, sizes and shares: one parser of each for every option, study key and argument of that kind."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from steelyard import quantities
from steelyard.cli import parser
from steelyard.cli.verb import Family, Option, Verb, options_of
from steelyard.errors import StudyError, UsageError
from steelyard.quantities import parse_duration, parse_number, parse_share, parse_size, parse_whole
from steelyard.shapes import Wrong
from steelyard.study import study_file
from steelyard.text import quoted

SECOND = 10**9

KINDS: dict[Callable[..., Any], str] = {
    parse_duration: "a time from ",
    parse_size: "a size from ",
    parse_share: "a share from ",
    parse_whole: "a whole number from ",
    parse_number: "a number from ",
}
METAVARS = ("TIME", "LATENCY", "SIZE", "BYTES", "PERCENT", "SHARE")
# What is no quantity of any kind, or beyond all limits.
NONE = ("", "x", "5d", "1e3s", "-5s", "5 s", "9" * 400, "9" * 400 + "h", "0.02%%", "٥s", "64MB", "nan", "inf")

STUDY = """name = "s"
title = "t"
[[workload]]
name = "sieve"
"""
MACHINE = '[machine.m]\nhost = "this"\nswitch = ["true"]\n'
# Every key of a study that is one of these kinds, and a value that it may have.
KEYS = {
    "design.budget": ("[design]\nbudget = ", "500ms", "from 1 ms to 10,000 h"),
    "design.trial_limit": ("[design]\ntrial_limit = ", "500ms", "from 1 ms to 24 h"),
    "design.precision": ("[design]\nprecision = ", "5%", "from 0.0001% to 99.9999%"),
    "margin.cpu": ("[margin]\ncpu = ", "2%", "from 0.0001% to 99.9999%"),
    "machine.m.wait": (f"{MACHINE}wait = ", "500ms", "from 1 ms to 24 h"),
    "machine.m.quiet": (f"{MACHINE}quiet = ", "500ms", "from 1 ms to 24 h"),
    "system.a.memory": ('[system.a]\nbase = "uml"\nmemory = ', "67108864", "from 1K to 1,024T"),
    "system.a.swap": ('[system.a]\nbase = "uml"\nswap = ', "64MiB", "from 1K to 1,024T"),
    "system.a.disk": ('[system.a]\nbase = "qemu"\ndisk = ', "1T", "from 1K to 1,024T"),
    "system.a.size": ('[system.a]\nbase = "native"\nfilesystem = "ext4"\nsize = ', "1G", "from 1K to 1,024T"),
}


def _verbs() -> Iterator[tuple[list[str], Verb]]:
    for one in parser.VERBS:
        if isinstance(one, Family):
            yield from (([one.name, action.name], action) for action in one.actions)
        else:
            yield [one.name], one


def _words(words: list[str], verb: Verb, option: Option, text: str) -> list[str]:
    """A command line with that option, and whatever the verb requires besides."""
    required = [
        one for one in options_of(verb.options) if not one.flags and one.words.get("nargs") in (None, "+")
    ]
    return [*words, *("native" for _ in required), f"{option.flags[-1]}={text}"]


OPTIONS = {
    f"{' '.join(words)} {option.flags[0]}": (words, verb, option)
    for words, verb in _verbs()
    for option in options_of(verb.options)
    if option.flags and option.parse is not None
}
OF_A_KIND = {
    name: one for name, one in OPTIONS.items() if getattr(one[2].parse, "func", one[2].parse) in KINDS
}


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1ms", 10**6), ("500ms", SECOND // 2), ("0.5s", SECOND // 2), ("007s", 7 * SECOND),
        ("90s", 90 * SECOND), ("1.5m", 90 * SECOND), ("1.5h", 5400 * SECOND), ("10000h", 36_000_000 * SECOND),
    ],
)  # fmt: skip
def test_a_duration_is_a_number_and_a_unit(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1024", 1024),
        ("64M", 64 << 20),
        ("64MiB", 64 << 20),
        ("512K", 512 << 10),
        ("1G", 1 << 30),
        ("2T", 2 << 40),
    ],
)
def test_a_size_is_bytes_or_has_a_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("value", "share"),
    [("2%", 0.02), ("0.5%", 0.005), ("0.02", 0.02), ("100%", 1.0), (0.02, 0.02), (1, 1.0), (1e-05, 1e-05)],
)
def test_a_share_is_a_percentage_or_a_fraction(value: object, share: float) -> None:
    assert parse_share(value) == pytest.approx(share, rel=1e-15)


@pytest.mark.parametrize("parse", KINDS)
@pytest.mark.parametrize(
    "value", [*NONE, None, True, [], {}, ["5s"], "5s\n", "+5", ".5", "5.", "1e-2", float("nan")]
)
def test_what_is_no_quantity_is_wrong(parse: Callable[..., object], value: object) -> None:
    limits = {} if parse in (parse_duration, parse_size, parse_share) else {"least": 6, "most": 9}

    with pytest.raises(Wrong) as wrong:
        parse(value, **limits)
    assert wrong.value.value is value
    assert wrong.value.allowed.startswith(KINDS[parse])


@pytest.mark.parametrize(
    ("parse", "least", "most", "below", "above", "limits"),
    [
        (
            partial(parse_duration, least_ns=SECOND, most_ns=60 * SECOND),
            "1s",
            "1m",
            "999ms",
            "60.001s",
            "from 1 s to 1 m",
        ),
        (partial(parse_size, least=1 << 20, most=1 << 30), "1M", "1G", "1048575", "1025M", "from 1M to 1G"),
        (partial(parse_size, least=0, most=1000), "0", "1000", "-1", "1K", "from 0 bytes to 1,000 bytes"),
        (partial(parse_share, least=0.5, most=0.99), "50%", "0.99", "49.9%", "99.1%", "from 50% to 99%"),
        (partial(parse_whole, least=-3, most=7), "-3", "7", "-4", "8", "from -3 to 7"),
        (partial(parse_number, least=0.5, most=7), "0.5", "7.0", "0.49", "7.1", "from 0.5 to 7"),
    ],
)
def test_limits_are_allowed_and_named(
    parse: Callable[[object], object], least: str, most: str, below: str, above: str, limits: str
) -> None:
    parse(least)
    parse(most)
    for text in (below, above):
        with pytest.raises(Wrong) as wrong:
            parse(text)
        assert limits in wrong.value.allowed


def test_a_duration_is_written_as_it_is_read() -> None:
    for text in ("1ms", "1500ms", "30s", "90s", "5m", "24h", "10000h"):
        assert quantities.duration_text(parse_duration(text)) == text


@pytest.mark.parametrize(
    "name",
    [
        f"{' '.join(words)} {one.flags[0]}"
        for words, verb in _verbs()
        for one in options_of(verb.options)
        if one.words.get("metavar") in METAVARS
    ],
)
def test_an_option_that_takes_a_quantity_is_parsed_as_one(name: str) -> None:
    assert name in OF_A_KIND


@pytest.mark.parametrize("text", NONE)
@pytest.mark.parametrize("name", OF_A_KIND)
def test_an_option_names_itself_quotes_the_value_and_says_what_is_allowed(name: str, text: str) -> None:
    words, verb, option = OF_A_KIND[name]

    with pytest.raises(UsageError) as refusal:
        parser.read(_words(words, verb, option, text))
    said = str(refusal.value)
    kind = KINDS[getattr(option.parse, "func", option.parse)]
    assert said.startswith(f"{option.flags[0]} is {quoted(text)}, but must be {kind}")
    assert " to " in said
    assert len(said) < 200


@pytest.mark.parametrize("name", OF_A_KIND)
def test_what_an_option_says_is_allowed_is_allowed(name: str) -> None:
    words, verb, option = OF_A_KIND[name]
    with pytest.raises(UsageError) as refusal:
        parser.read(_words(words, verb, option, "x"))

    limits = str(refusal.value).partition(" from ")[2].partition(", such as")[0].split(" to ")
    assert len(limits) == 2
    for limit in limits:
        text = limit.replace(",", "").replace(" bytes", "").replace(" ", "")
        parser.read(_words(words, verb, option, text))


@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_a_study_takes_what_options_take(key: str) -> None:
    lines, good, limits = KEYS[key]

    study_file.parse(f'{STUDY}{lines}"{good}"', file="s.toml")
    for value in (*(f'"{text}"' for text in NONE if text and text.isascii()), "true", "[5]", "{a = 5}"):
        with pytest.raises(StudyError) as refusal:
            study_file.parse(f"{STUDY}{lines}{value}", file="s.toml")
        said = str(refusal.value)
        assert said.startswith(f"study s.toml: {key} is ")
        assert ", but must be " in said
        assert limits in said


@pytest.mark.parametrize("value", ['"2%"', '"0.02"', "0.02"])
@pytest.mark.parametrize("key", ["design.precision", "margin.cpu"])
def test_a_share_of_a_study_is_a_percentage_or_a_fraction(key: str, value: str) -> None:
    study = study_file.parse(f"{STUDY}{KEYS[key][0]}{value}", file="s.toml")

    assert {"design.precision": study.design.precision, "margin.cpu": study.margins["cpu"]}[key] == 0.02


def test_a_budget_of_half_a_second_is_one() -> None:
    _, options = parser.read(["plan", "pegasus", "--budget", "500ms"])

    assert options.choice.budget_ns == SECOND // 2


def test_times_are_in_the_unit_that_was_asked_for_and_afterwards_in_what_suits_them() -> None:
    with quantities.times_in("ms"):
        assert [quantities.time_ns(value) for value in (0.0, 51_900.0, 2e9)] == [
            "0 ms",
            "0.0519 ms",
            "2,000 ms",
        ]
        with quantities.times_in("us"):
            assert quantities.time_ns(1234.0) == "1.23 µs"
    assert quantities.time_ns(51_900.0) == "51.9 µs"
