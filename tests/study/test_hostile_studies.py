"""A study may be somebody else's: whatever it says, it is a study or one short sentence, and soon."""

import os
import random
import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard import cli, toml_file
from steelyard.errors import UsageError
from steelyard.programs import built
from steelyard.study import bounds, model, plan, study_file
from steelyard.text import quoted

# That many times as many in a run by hand.
TIMES = int(os.environ.get("STEELYARD_EXAMPLES", "1"))
_SENTENCE_MOST = 1000
BUNDLED = [file.read_text(encoding="utf-8") for file in study_file.bundled().values()]
LIMITS = built.catalogue().limits()

bounded = settings(derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))


def planned(text: str, *, file: str = "hostile.toml") -> plan.Plan:
    study = study_file.parse(text, file=file)
    model.check(study, LIMITS, file=file)
    return plan.make(study, systems=study.systems, processors=64, seed=1)


def refusal(text: str) -> str | None:
    """The sentence that refuses it; None if it is a study."""
    try:
        planned(text)
    except UsageError as error:
        sentence = str(error)
        assert len(sentence) < _SENTENCE_MOST, sentence
        assert sentence.isprintable(), sentence
        return sentence
    return None


# What TOML is made of, and what hostile people make of it.
_WORDS = (
    "[[workload]]\n", "[design]\n", "[system.a]\n", "[trial]\n", "[margin]\n", "[[table]]\n", "name = ",
    "title = ", "systems = ", "builds = ", "budget = ", "blocks = ", "base = ", "command = ", "copies = ",
    "= ", "\n", ", ", '"', '"""', "'", "'''", "[", "]", "{", "}", "\\", "#", ".", "-", "+", "0x", "1e", "inf",
    "nan", "true", '"null"\n', '"native"\n', '["native", "native-musl"]\n', '"1..processors"\n',
    "1979-05-27T07:32:00Z\n", "\x1b[31m", "\u202e", "\x00", "\r", "\ufeff", "[red]", "=cmd|calc!A1",
)  # fmt: skip
_PIECES = st.one_of(
    st.sampled_from(_WORDS),
    st.integers().map(str),
    st.integers(min_value=19, max_value=60).map(lambda many: "9" * many),
    st.floats().map(str),
    st.text(max_size=20),
)
_REPEATED = st.tuples(_PIECES, st.sampled_from([1, 1, 1, 2, 30, 3000])).map(lambda pair: pair[0] * pair[1])
_TEXTS = st.lists(_REPEATED, max_size=30).map("".join)


@pytest.mark.computes
@settings(bounded, max_examples=150 * TIMES)
@given(st.booleans(), _TEXTS)
def test_any_text_is_a_study_or_a_sentence(begun: bool, text: str) -> None:
    refusal(("name = 'a'\ntitle = 'b'\n" if begun else "") + text)


@pytest.mark.computes
@settings(bounded, max_examples=150 * TIMES)
@given(st.randoms(use_true_random=False), st.lists(_REPEATED, min_size=1, max_size=4))
def test_a_bundled_study_with_spoiled_parts_is_a_study_or_a_sentence(
    chance: random.Random, pieces: list[str]
) -> None:
    text = chance.choice(BUNDLED)
    for piece in pieces:
        at = chance.randrange(len(text) + 1)
        match chance.randrange(3):
            case 0:  # between
                text = text[:at] + piece + text[at:]
            case 1:  # in place of a value
                values = list(re.finditer(r"(?<== ).*", text))
                one = chance.choice(values) if values else None
                text = text[: one.start()] + piece + text[one.end() :] if one else piece
            case 2:  # lines in another place, or twice
                lines = text.split("\n")
                first, last = sorted(chance.randrange(len(lines)) for _ in range(2))
                text = "\n".join(lines[: last + 1] + lines[first:])
    refusal(text)


@pytest.mark.computes
@settings(bounded, max_examples=60 * TIMES)
@given(st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary()),
                    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner))))  # fmt: skip
def test_any_value_is_quoted_on_one_short_line(value: object) -> None:
    assert len(quoted(value)) <= 62
    assert quoted(value).isprintable()


WORKLOAD = 'name = "a"\ntitle = "b"\n[[workload]]\nname = "null"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('a = "' + "x" * toml_file.FILE_MOST + '"', "more than 1 MiB of text"),
        ("a = " + "[" * 100_000, "more than 20 brackets in brackets in line 1"),
        ("a = " + "[" * 100_000 + "]" * 100_000, "more than 20 brackets in brackets in line 1"),
        ("a = " + "{b = " * 100_000, "more than 20 brackets in brackets in line 1"),
        ("\n" + "a." * 100_000 + "a = 1", "more than 20 dots in a key in line 2"),
        ('"a".' * 100_000 + "a = 1", "more than 20 dots in a key in line 1"),
        ("[" + "a." * 100_000 + "a]", "more than 20 dots in a key in line 1"),
        ("a = " + "9" * 5000, "a number of 5,000 characters, but at most 40 characters are allowed"),
        ("a = 0x" + "f" * 5000, "a number of 5,002 characters"),
        ("a = -" + "9_" * 5000 + "9", "a number of 10,002 characters"),
        (WORKLOAD + "[design]\nblocks = 99999999999999999999", "about 20 digits, but must be a whole"),
        (WORKLOAD + '[design]\nbudget = "' + "9" * 400 + 'h"', "from 1 ms to 10,000 h"),
        (WORKLOAD + '[design]\nbudget = "0.0001s"', "from 1 ms to 10,000 h"),
        (WORKLOAD + '[design]\ntrial_limit = "25h"', "from 1 ms to 24 h"),
        ("x" * 20_000 + " = 1\n" + WORKLOAD, "there is no key 'xxx"),
        (WORKLOAD + "y" * 20_000 + " = 1", "there is no parameter 'yyy"),
        ('title = "a\\u001b[31m"\nname = "b"', "'a\\x1b[31m', but must be a text"),
        ('title = "a\\u202e"\nname = "b"', "'a\\u202e', but must be a text"),
        (WORKLOAD + '["system"."a\\nb"]\nbase = "native"', "system is 'a\\nb', but must be a name of"),
        ('name = "' + "n" * 101 + '"\ntitle = "t"', "100 at most"),
    ],
)  # fmt: skip
def test_what_is_too_much_is_refused_with_its_limit(text: str, said: str) -> None:
    sentence = refusal(text)
    assert sentence is not None
    assert said in sentence


def exploding(factor: int) -> str:
    levels = list(range(1, factor + 1))
    return f'name = "a"\ntitle = "b"\n[[workload]]\nname = "fork_exit"\ncopies = {levels}\npad = {levels}\n'


@pytest.mark.parametrize(("factor", "cells"), [(300, "90,000"), (1000, "1,000,000")])
def test_levels_that_explode_are_counted_before_they_are_enumerated(factor: int, cells: str) -> None:
    began = time.process_time()
    sentence = refusal(exploding(factor))
    assert sentence == f"study a has levels that make {cells} cells, but at most 10,000 are allowed"
    assert time.process_time() - began < 10  # of what took minutes and gigabytes


def test_as_many_cells_as_may_be_are_planned() -> None:
    assert len(planned(exploding(100)).cells) == bounds.CELLS_MOST


@pytest.mark.computes
def test_ten_thousand_workloads_are_planned() -> None:
    parts = "".join(f'[[workload]]\nname = "command"\ncommand = "true {n}"\n' for n in range(1, 10_001))
    assert len(planned('name = "a"\ntitle = "b"\n' + parts).cells) == 10_000


@pytest.mark.parametrize("text", BUNDLED)
def test_the_bounds_leave_every_bundled_study_as_it_is(text: str) -> None:
    assert planned(text).cells


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(UsageError, match="at most 1,048,576 bytes are allowed"):
        study_file.read("/dev/zero")


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "pegasus", "--budget", "9" * 400 + "h"],
        ["plan", "pegasus", "--seed", "9" * 5000],
        ["plan", "pegasus", "--seed", "9" * 19],
        ["plan", "pegasus", "--blocks", "9" * 5000],
        ["plan", "pegasus", "--systems", "native" + "+glibc" * 1000],
        ["plan", "pegasus", "--systems", "x" * 5000],
        ["plan", "pegasus", "--systems", *["native"] * 1000],
        ["plan", "x" * 5000],
        ["plan", "pegasus", "--only", "\x1b[31m" * 100],
        ["plan", "pegasus", "--only", b"\xff\xfe"],
        ["plan", b"\xff.toml"],
        ["plan", b"./\xff\n"],
        [b"\xff"],
        ["plan", "pegasus", "--format", b"\xff\x1b"],
        ["plan", "pegasus", b"--\xff\x1b"],
        ["watch", "-p", "9" * 5000],
        ["watch", "--every", "9" * 5000 + "s", "--", "true"],
        ["watch", "--top", b"\xff", "--", "true"],
        ["watch", "--openmetrics", "\x1b" * 5000, "--", "true"],
    ],
)
def test_hostile_arguments_are_refused_in_one_short_line(
    words: list[str | bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([os.fsdecode(word) for word in words]) == 2
    # What an interrupted run of somebody else has left may have been told of first.
    sentence = capsys.readouterr().err.removesuffix("\n").rpartition("\n")[2]
    assert sentence.startswith("steelyard")
    assert sentence.isprintable()
    assert len(sentence) < _SENTENCE_MOST
