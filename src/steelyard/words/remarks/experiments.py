"""Has the sentences on what limits all verdicts of an experiment, and on what went wrong in it."""

import math
import re
from collections.abc import Mapping, Sequence

from steelyard.analysis import remarks
from steelyard.analysis.remarks import FoundProgram
from steelyard.events import CALLS, LIFE
from steelyard.quantities import digits, number_of, size_bytes
from steelyard.words.remarks.dispatch import said

_CELLS_NAMED = 3  # of those that were left out
_MITIGATIONS_NAMED = 4
_LEVELS_NAMED = 3
_VERSION = re.compile(r"\d+(\.\d+)+\w*")
_DIGITS = 12  # of a digest that are said where a version says too little
_NOT_ACCOUNTED = {LIFE: "was not accounted for", CALLS: "was not accounted for call by call"}
_WHY_PLACED = "such as waits that other copies fill, or what one copy brings into a cache for another"
_WHY_FREE = (
    "such as wake-ups from one processor to another, which busy processors need not: place=1 keeps each copy "
    "and its partners on one"
)


@said.register
def _(one: remarks.NotStarted, alike: Sequence[remarks.NotStarted]) -> str:
    return f"{one.system} could not start and is left out: {one.reason}"


@said.register
def _(one: remarks.NotAlwaysStarted, alike: Sequence[remarks.NotAlwaysStarted]) -> str:
    return f"{one.system} could not start at one time, and was skipped until it could: {one.reason}"


@said.register
def _(one: remarks.Damage, alike: Sequence[remarks.Damage]) -> str:
    return one.note


@said.register
def _(one: remarks.BudgetOver, alike: Sequence[remarks.BudgetOver]) -> str:
    many = number_of(len(one.cells), "cell was", "cells were")
    more = len(one.cells) - _CELLS_NAMED
    named = ", ".join(one.cells[:_CELLS_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"the budget of {digits(one.budget_s)} s was over before {many} measured: {named}"


@said.register
def _(one: remarks.OtherHardware, alike: Sequence[remarks.OtherHardware]) -> str:
    facts = "; ".join(
        f"{fact.name} is {fact.baseline} on {one.baseline} and {fact.system} on {one.system}"
        for fact in one.facts
    )
    return f"the hardware differs: {facts}"


@said.register
def _(one: remarks.Given, alike: Sequence[remarks.Given]) -> str:
    given = []
    if one.processors is not None:
        given.append(f"{number_of(one.processors, 'processor')} of {one.of_processors}")
    if one.memory_bytes is not None and one.of_memory_bytes is not None:
        given.append(f"{size_bytes(one.memory_bytes)} of memory of {size_bytes(one.of_memory_bytes)}")
    return f"{one.system} was given {' and '.join(given)}"


@said.register
def _(one: remarks.MoreProcessors, alike: Sequence[remarks.MoreProcessors]) -> str:
    has = number_of(one.processors, "processor")
    return f"{one.system} has {has} where {one.baseline} has {one.baseline_processors}"


@said.register
def _(one: remarks.Translated, alike: Sequence[remarks.Translated]) -> str:
    machine = f"on a machine that is {one.machine}"
    return f"{one.system} ran programs for {one.architecture} {machine}, by binary translation"


@said.register
def _(one: remarks.OtherBuilds, alike: Sequence[remarks.OtherBuilds]) -> str:
    ran = ", ".join(
        f"{' and '.join(build.systems)} ran {build.compiler} with {build.libc}" for build in one.builds
    )
    but = f"; except {', '.join(one.same)}, which ran the same program on each" if one.same else ""
    return f"the programs differ: {ran}{but}"


@said.register
def _(one: remarks.OtherPrograms, alike: Sequence[remarks.OtherPrograms]) -> str:
    named = _programs(one.programs)
    known = {program.sha256 for program in one.programs} - {None}
    same = "not the same program" if len(known) > 1 else "whether it is the same is not known"
    each = ", ".join(f"{named[program.system]} on {program.system}" for program in one.programs)
    return f"{one.name}: {each}: {same}"


def _programs(programs: Sequence[FoundProgram]) -> Mapping[str, str]:
    """Path and version of each, by system; the beginning of the digest where the versions are alike."""
    versions = {one.system: _version(one) for one in programs}
    by_version: dict[str, set[str | None]] = {}
    for one in programs:
        by_version.setdefault(versions[one.system], set()).add(one.sha256)
    named = {}
    for one in programs:
        digest = f"SHA-256 {(one.sha256 or 'unknown')[:_DIGITS]}"
        version = versions[one.system]
        alike = not version or len(by_version[version]) > 1
        named[one.system] = " ".join(part for part in (one.path, version, digest if alike else "") if part)
    return named


def _version(one: FoundProgram) -> str:
    """The number in its version text, or the whole text."""
    found = _VERSION.search(one.version or "")
    return found[0] if found else (one.version or "")


@said.register
def _(one: remarks.SharedNetwork, alike: Sequence[remarks.SharedNetwork]) -> str:
    return (
        f"on {one.system} every local user could reach {' and '.join(one.servers)} while it was measured, "
        f"because it could get no network of its own ({one.reason}); requests of others, if any, are in its "
        "figures"
    )


@said.register
def _(one: remarks.BootsUnlike, alike: Sequence[remarks.BootsUnlike]) -> str:
    counts = ", ".join(f"{_known(value)} in {_boots(boots)}" for value, boots in one.values)
    return f"the boots of {one.system} differed: {one.fact} was {counts}"


@said.register
def _(one: remarks.OtherSettings, alike: Sequence[remarks.OtherSettings]) -> str:
    facts = [
        f"{fact} ({', '.join(f'{_known(value)} on {system}' for system, value in values)})"
        for fact, values in one.settings
    ]
    if one.mitigations:
        more = len(one.mitigations) - _MITIGATIONS_NAMED
        named = ", ".join(one.mitigations[:_MITIGATIONS_NAMED]) + (f" and {more} more" if more > 0 else "")
        facts.append(f"mitigations ({named})")
    return (
        f"besides the system, these differ on {one.machine}: {'; '.join(facts)}; they may cause part of a "
        "difference; to require equal values, use expect"
    )


@said.register
def _(one: remarks.BusyBoots, alike: Sequence[remarks.BusyBoots]) -> str:
    return (
        f"{one.busy} of {_boots(one.boots)} did not become idle in time: up to {one.share_most:.0%} of the "
        "processors were busy; raise quiet in the machine's table"
    )


@said.register
def _(one: remarks.FailedBoots, alike: Sequence[remarks.FailedBoots]) -> str:
    return f"{_boots(one.boots)} failed, and {'was' if one.boots == 1 else 'were'} repeated: {one.reason}"


def _boots(count: int) -> str:
    return number_of(count, "boot")


def _known(value: object) -> str:
    return "unknown" if value is None else str(value)


@said.register
def _(one: remarks.BeyondFull, alike: Sequence[remarks.BeyondFull]) -> str:
    low, high = one.gain.low or 0.0, one.gain.high or 0.0
    limits = one.copies if one.processors is None else min(one.copies, one.processors)
    of = "copies" if limits == one.copies else "processors"
    return (
        f"{one.system}: {one.copies} copies of {one.cell} gain {one.gain.value:.2f} times "
        f"[{low:.2f}, {high:.2f}], but {limits} {of} can give at most {one.full}: one copy alone "
        f"was slowed by something that several are not, {_WHY_PLACED if one.is_placed else _WHY_FREE}"
    )


@said.register
def _(one: remarks.NotAccounted, alike: Sequence[remarks.NotAccounted]) -> str:
    return f"{one.system} {_NOT_ACCOUNTED[one.detail]}: {one.reason}"


@said.register
def _(one: remarks.MonitorBlind, alike: Sequence[remarks.MonitorBlind]) -> str:
    systems = ", ".join(one.systems)
    return f"the monitor ({one.backend}) of {systems} has blind spots: {'; '.join(one.missing)}"


@said.register
def _(one: remarks.OtherLevels, alike: Sequence[remarks.OtherLevels]) -> str:
    said_of = [
        f"{each.cell} takes {_two_digits(100 * abs(each.change))} % {'more' if each.change > 0 else 'less'}"
        for each in one.levels[:_LEVELS_NAMED]
    ]
    if (more := len(one.levels) - _LEVELS_NAMED) > 0:
        said_of.append(f"{more} more {'differs' if more == 1 else 'differ'} by more than 2 %")
    *first, last = said_of
    named = f"{', '.join(first)} and {last}" if first else last
    return f"values are those of batches in turns; alone, {named}"


@said.register
def _(one: remarks.CarryOver, alike: Sequence[remarks.CarryOver]) -> str:
    word = "longer" if one.effect.value > 0 else "less long"
    low, high = sorted(_percent(bound) for bound in (one.effect.low or 0.0, one.effect.high or 0.0))
    size = _two_digits(_percent(one.effect.value))
    return (
        f"carry-over: a trial right after one of {one.cell} takes {size} % {word} "
        f"[{_two_digits(low)}, {_two_digits(high)}] than usual ({number_of(one.trials, 'trial')})"
    )


@said.register
def _(one: remarks.CarryOverBalanced, alike: Sequence[remarks.CarryOverBalanced]) -> str:
    return "carry-over: each system came after such trials about as often, so it biases no comparison"


@said.register
def _(one: remarks.CarryOverMoved, alike: Sequence[remarks.CarryOverMoved]) -> str:
    return (
        f"carry-over may have moved {number_of(one.comparisons, 'comparison')}, most of all {one.cell} on "
        f"{one.system}, by {_two_digits(_percent(one.shift))} %: one of the two systems came after such "
        "trials more often"
    )


def _percent(effect: float) -> float:
    return abs(100 * math.expm1(effect))


def _two_digits(number: float) -> str:
    return digits(number, count=2)
