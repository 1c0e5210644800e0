"""Turns what limits the verdicts, and what went wrong, into few sentences: alike ones together, counted."""

import re
from collections.abc import Iterable, Sequence

from steelyard.report import wording
from steelyard.weighing import Trouble, Weighing

_OF_MONITORS = "the monitor ("  # how a sentence on what a monitor cannot see begins
_AS_INTENDED = "same machine code"
_NAMED = 2  # so many are named; of more the first and how many besides
# What every report says elsewhere: how many boots and blocks it holds for, and which trials failed.
_SAID_ELSEWHERE = re.compile(
    r"holds for this boot only|only \d+ pairs?:|\d+ trials? .* on |no block has both"
)
_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")
_DISTURBED = re.compile(r"^\d+ of \d+ blocks disturbed by other work(; .*)?$")


def of(weighing: Weighing, *, everything: bool = False) -> tuple[str, ...]:
    """The notes, those that matter most first. What monitors cannot see, and
    what is as it should be, is told only with `everything`."""
    found = [one for one in weighing.warnings if everything or not one.startswith(_OF_MONITORS)]
    found += _of_troubles(weighing.troubles)
    found += _of_flags(weighing, everything)
    if not weighing.experiment.closed:
        found.append("the experiment is not finished; the command that began it goes on with it")
    return tuple(found)


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
        cells = _named([one.cell for one in members])
        yield f"{trials} {'trial' if trials == 1 else 'trials'} of {cells} {status} on {system}: {reason}"


def _of_flags(weighing: Weighing, everything: bool) -> Iterable[str]:
    """What is remarked on comparisons: a sentence for all whose remarks differ in numbers alone."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for one in weighing.comparisons:
        for flag in one.flags:
            if not _SAID_ELSEWHERE.search(flag) and (everything or not flag.startswith(_AS_INTENDED)):
                alike.setdefault(_kind(flag), []).append((flag, wording.label(one.cell, one.metric)))
    for kind, members in alike.items():
        flags = {flag for flag, _ in members}
        said = flags.pop() if len(flags) == 1 else kind
        yield f"{_named([label for _, label in members])}: {said}"


def _kind(flag: str) -> str:
    """The flag without what differs between metrics."""
    disturbed = _DISTURBED.match(flag)
    if disturbed:
        return f"some blocks disturbed by other work{disturbed[1] or ''}"
    if "SHA-256" in flag:
        return re.sub(r",? ?(: )?SHA-256 .*", "", flag)
    return _NUMBER.sub("some", flag)


def _named(names: Sequence[str]) -> str:
    """The names, or the first and how many there are besides."""
    different = list(dict.fromkeys(names))
    if len(different) <= _NAMED:
        return " and ".join(different)
    return f"{different[0]} and {len(different) - 1} others"
