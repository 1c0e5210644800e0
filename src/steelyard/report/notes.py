"""Turns what limits the verdicts, and what went wrong, into few sentences: alike ones together, counted."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.analysis.model import Trouble, Weighing
from steelyard.words import wording

_OF_MONITORS = "the monitor ("  # how a sentence on what a monitor cannot see begins
_AS_INTENDED = "same machine code"
_NAMED = 2  # so many are named; of more the first and how many besides
# What every report says elsewhere: how many boots and blocks it holds for, and which trials failed.
_SAID_ELSEWHERE = re.compile(
    r"holds for this boot only|only \d+ pairs?:|\d+ trials? .* on |no block has both"
)
_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")
_SHA = re.compile(r",? ?(: )?SHA-256 .*")


@dataclass(frozen=True, slots=True)
class _Form:
    """How a remark is said: of one or two metrics, and of many. A name in braces is what the pattern calls
    so, from the least to the most of all; "most_" and the name the most alone."""

    pattern: re.Pattern[str]
    few: str
    many: str


_APART = r"one system's own trials differ by up to (?P<times>[\d.e+]+) times here"
_FORMS = (
    _Form(
        re.compile(rf"rests on (?P<units>\d+) (?P<what>blocks|boots); {_APART}"),
        "{names}: the verdict rests on {units} {most_what}; single trials of one system differ by up to "
        "{most_times} times here",
        "{many} verdicts rest on {units} {most_what}; single trials of one system differ by up to "
        "{most_times} times here",
    ),
    _Form(
        re.compile(rf"(?P<units>\d+) (?P<what>blocks|boots) are too few: {_APART}"),
        "{names}: {units} {most_what} are too few for a claim, because single trials of one system differ "
        "by up to {most_times} times here",
        "{many} metrics have too few {most_what} for a claim ({units}), because single trials of one system "
        "differ by up to {most_times} times here",
    ),
    _Form(
        re.compile(r"one (?P<what>block|boot) alone has no interval"),
        "{names}: one {most_what} alone has no interval",
        "{many} metrics have one {most_what} only, and so no interval",
    ),
    _Form(
        re.compile(r"(?P<away>\d+) of (?P<all>\d+) blocks disturbed by other work; unchanged without them"),
        "{names}: {away} of {all} blocks were disturbed by other work; unchanged without them",
        "{many} metrics had blocks disturbed by other work ({away} of {all}); their verdicts are unchanged "
        "without them",
    ),
    _Form(
        re.compile(r"\d+ of (?P<all>\d+) blocks disturbed by other work; none without them to check"),
        "{names}: every block was disturbed by other work ({all})",
        "{many} metrics have no block that was not disturbed by other work ({all} each)",
    ),
)


def of(weighing: Weighing, *, everything: bool = False) -> tuple[str, ...]:
    """The notes, the most important first. What monitors cannot see, and what is as it should be, is
    included only with `everything`."""
    notes = [one for one in weighing.warnings if everything or not one.startswith(_OF_MONITORS)]
    notes += _of_troubles(weighing.troubles)
    notes += _of_flags(weighing, everything)
    if not weighing.experiment.closed:
        notes.append("the experiment is not finished; the command that began it goes on with it")
    return tuple(notes)


def of_monitors(weighing: Weighing) -> tuple[str, ...]:
    """What the monitors that took part cannot see."""
    return tuple(one for one in weighing.warnings if one.startswith(_OF_MONITORS))


def _of_troubles(troubles: Sequence[Trouble]) -> Iterable[str]:
    """A sentence for each system, outcome and reason."""
    kinds: dict[tuple[str, str, str], list[Trouble]] = {}
    for one in troubles:
        kinds.setdefault((one.system, one.status, one.reason or "no reason given"), []).append(one)
    for (system, status, reason), members in kinds.items():
        trials = sum(one.trials for one in members)
        cells = _list_of([one.cell for one in members])
        yield f"{trials} {'trial' if trials == 1 else 'trials'} of {cells} {status} on {system}: {reason}"


def _of_flags(weighing: Weighing, everything: bool) -> Iterable[str]:
    """What is remarked on comparisons: a sentence for all whose remarks differ in numbers alone."""
    alike: dict[_Form | str, list[tuple[str, str]]] = {}
    for one in weighing.comparisons:
        for flag in one.flags:
            if not _SAID_ELSEWHERE.search(flag) and (everything or not flag.startswith(_AS_INTENDED)):
                form = next((form for form in _FORMS if form.pattern.fullmatch(flag)), None)
                kind = form or _NUMBER.sub("#", _SHA.sub("", flag))
                alike.setdefault(kind, []).append((flag, wording.label(one.cell, one.metric)))
    for kind, members in alike.items():
        flags, labels = [flag for flag, _ in members], [label for _, label in members]
        if isinstance(kind, _Form):
            yield _in_form(kind, flags, labels)
        elif len(set(flags)) == 1:
            yield f"{_list_of(labels)}: {flags[0]}"
        else:
            yield f"{_list_of(labels)}: {_ranged([_SHA.sub('', flag) for flag in flags])}"


def _in_form(form: _Form, flags: Sequence[str], labels: Sequence[str]) -> str:
    matches = [match.groupdict() for flag in flags if (match := form.pattern.fullmatch(flag))]
    values = {"names": _list_of(labels), "many": str(len(labels))}
    for name in matches[0]:
        numbers = [one[name] for one in matches]
        values |= {name: _range(numbers), f"most_{name}": max(numbers, key=_value)}
    return (form.many if len(labels) > _NAMED else form.few).format(**values)


def _ranged(flags: Sequence[str]) -> str:
    """Remarks that differ in numbers alone as one, with each number's range."""
    numbers = zip(*([match[0] for match in _NUMBER.finditer(flag)] for flag in flags), strict=True)
    ranges = iter([_range(values) for values in numbers])
    return _NUMBER.sub(lambda _: next(ranges), flags[0])


def _range(numbers: Sequence[str]) -> str:
    """The range from the least to the most: "4", "4 or 5", "2 to 11"."""
    low, high = min(numbers, key=_value), max(numbers, key=_value)
    if _value(low) == _value(high):
        return low
    return f"{low} or {high}" if low.isdigit() and int(low) + 1 == _value(high) else f"{low} to {high}"


def _value(number: str) -> float:
    try:
        return float(number)
    except ValueError:
        return 0.0


def _list_of(names: Sequence[str]) -> str:
    """The names, or the first and how many there are besides."""
    different = list(dict.fromkeys(names))
    if len(different) <= _NAMED:
        return " and ".join(different)
    return f"{different[0]} and {len(different) - 1} others"
