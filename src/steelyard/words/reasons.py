"""Names the costs to this host that correlate with a difference.

Shares of the time are bookkeeping, and are worded so ("of the extra time"); counts are only correlated.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.analysis.host_costs import ALL_CALLS, SHARES_MOST
from steelyard.analysis.model import Comparison, CostDifference, Why
from steelyard.analysis.spending import REST, TIMES
from steelyard.quantities import digits, size_bytes, time_ns
from steelyard.statistics import verdict

LONGEST = 110  # of the clause that a console shows
_NAME_LONGEST = 16  # of an operation, in that
SHARE_LEAST = 0.05  # of a difference in time: less of it is not worth a word
COUNT_LEAST = 0.05  # an operation; nor is less of what is counted
_SPENT = {
    "user": "in user mode",
    "system": "in system mode",
    "run": "running",
    "wait": "waiting for a processor",
    REST: "asleep",
}
# What is counted, one and several, in few words and in full. Major faults are among the faults.
_COUNTED = {
    "switches": (("switch", "switches"), ("context switch", "context switches")),
    "faults": (("fault", "faults"), ("page fault", "page faults")),
    "major faults": (("major fault", "major faults"), ("page read from disk", "pages read from disk")),
    "signals": (("signal", "signals"), ("signal", "signals")),
}
_BYTES = {"bytes read": "read from disk", "bytes written": "written to disk"}


@dataclass(frozen=True, slots=True)
class _Causes:
    """The causes of one comparison, in the order of the sentence."""

    operation: str
    is_longer: bool  # whether an operation takes more time, by the mean
    time: str  # by how much
    shares: tuple[tuple[float, str], ...]  # of that time, and where it is spent; empty: none may be said
    times: tuple[str, ...]  # instead of shares: the amounts
    agrees: bool  # whether the mean goes where the verdict does
    is_beyond: bool  # whether the parts are more than the whole
    calls: tuple[
        float, tuple[tuple[str, float], ...]
    ]  # all that are more or fewer, and those that differ most
    counts: tuple[CostDifference, ...]


def why(one: Comparison) -> str:
    """One clause for the console, as much as fits: "each call costs this host 6 more system calls, 2 more
    switches; 73 % of the extra time is spent in system mode". Empty where nothing is claimed."""
    cause = _causes(one)
    if cause is None:
        return ""
    clauses = [
        _joined(_costs(cause, times=times, counts=counts, named=named), _shares(cause, most=shares), cause)
        for shares, counts, times, named in _WAYS
    ]
    return next((one for one in clauses if 0 < len(one) <= LONGEST), min(filter(None, clauses), key=len))


# How many shares, counts, times and named calls a clause holds: the most that fits is taken.
_WAYS = (
    (3, 3, 3, 2), (3, 3, 3, 1), (2, 3, 2, 1), (2, 3, 2, 0), (1, 3, 2, 1),
    (1, 3, 2, 0), (1, 2, 2, 0), (1, 2, 1, 0), (1, 1, 1, 0), (1, 0, 1, 0),
)  # fmt: skip


def why_long(one: Comparison) -> str:
    """Sentences for the page, with all differences and the limits of the figures. Empty if nothing is
    claimed.
    """
    cause = _causes(one)
    if cause is None or one.why is None:
        return ""
    costs = _costs(cause, times=5, counts=9, named=4, in_full=True)
    words = []
    if costs:
        words.append(f"Each {cause.operation} costs this host {_listed(costs)} than on {one.baseline}.")
    shares = _shares(cause, most=5, of=f"the {cause.time} {'of extra time' if cause.is_longer else 'saved'}")
    if shares:
        words.append(shares + ".")
    words += _limits(one.why, cause)
    return " ".join(word[0].upper() + word[1:] for word in words)


def _joined(costs: Sequence[str], shares: str, causes: _Causes) -> str:
    if not costs:
        return shares
    # The console has the workload beside it, and no room for a long name of what it does.
    operation = causes.operation if len(causes.operation) <= _NAME_LONGEST else "operation"
    said = f"each {operation} costs this host {', '.join(costs)}"
    return f"{said}; {shares}" if shares else said


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _causes(one: Comparison) -> _Causes | None:
    """The significant differences worth a word; None if there are none."""
    if one.why is None or one.verdict not in verdict.CLAIMED:
        return None
    differs = [each for each in one.why.costs if each.differs]
    together = sum(abs(each.share or 0.0) for each in differs if each.cost in (*TIMES, REST))
    is_longer = one.why.time.value > 0
    # The verdict is by another lens than the mean: where the mean went the other way, its parts are no part
    # of what the verdict is about.
    agrees = is_longer == (one.verdict in (verdict.SLOWER, verdict.SLOWER_OPEN))
    has_shares = agrees and one.why.is_claimed and together <= SHARES_MOST
    shares = sorted(
        (
            (each.share, _SPENT[each.cost])
            for each in differs
            if has_shares and each.share is not None and each.share >= SHARE_LEAST
        ),
        reverse=True,
    )
    cause = _Causes(
        _operation(one.unit),
        is_longer,
        time_ns(abs(one.why.time.value)),
        tuple(shares),
        () if shares or not (agrees or not one.why.is_claimed) else tuple(_times(differs, one.why)),
        agrees,
        together > SHARES_MOST,
        _calls(one.why),
        tuple(_counts(differs)),
    )
    return cause if cause.shares or cause.times or cause.counts or any(cause.calls) else None


def _times(differs: Sequence[CostDifference], why: Why) -> Iterable[str]:
    """The times, active ones first. A negative rest is not sleep: processes ran or waited while others did,
    and both are counted already; so it is left out.
    """
    least = SHARE_LEAST * abs(why.time.value)
    for name in (*TIMES, REST):
        for each in differs:
            more = each.difference.value
            overlaps = name == REST and (each.value < 0 or each.baseline_value < 0)
            if each.cost == name and abs(more) >= least and not overlaps:
                yield f"{time_ns(abs(more))} {_more(more)} {_SPENT[name]}"


def _calls(why: Why) -> tuple[float, tuple[tuple[str, float], ...]]:
    named = {each.call: each.value - each.baseline_value for each in why.calls if each.differs}
    together = named.pop(ALL_CALLS, 0.0)
    return together, tuple(named.items())


def _counts(differs: Sequence[CostDifference]) -> Iterable[CostDifference]:
    for name in (*_COUNTED, *_BYTES):
        for each in differs:
            if each.cost == name and abs(each.difference.value) >= COUNT_LEAST:
                yield each


def _costs(causes: _Causes, *, times: int, counts: int, named: int, in_full: bool = False) -> list[str]:
    """The extra and saved costs of an operation: times, where they are not shares, system calls, other
    counts.
    """
    words = list(causes.times[:times])
    together, calls = causes.calls
    if together:
        each = ", ".join(f"{name} {_signed(more)}" for name, more in calls[:named])
        words.append(
            f"{_number(together)} {_more(together, is_number=True)} system {_plural('call', together)}"
        )
        words[-1] += f" ({each})" if each else ""
    else:
        words += [
            f"{_number(more)} {_more(more, is_number=True)} {_plural('call', more)} of {name}"
            for name, more in calls[: max(1, named)]
        ]
    words += [_how_many_more(each, in_full=in_full) for each in causes.counts]
    return words[: len(causes.times[:times]) + counts]


def _how_many_more(each: CostDifference, *, in_full: bool) -> str:
    more = each.difference.value
    if each.cost in _BYTES:
        return f"{size_bytes(abs(more))} {_more(more)} {_BYTES[each.cost]}"
    one, several = _COUNTED[each.cost][in_full]
    number = _number(more)
    return f"{number} {_more(more, is_number=True)} {one if number == '1' else several}"


def _shares(causes: _Causes, *, most: int, of: str = "") -> str:
    """The parts of the extra or saved time: "90 % of the extra time is spent asleep"."""
    if not causes.shares:
        return ""
    (share, first), *others = causes.shares[:most]
    of = of or ("the extra time" if causes.is_longer else "the time saved")
    is_spent = "is spent" if causes.is_longer else "was spent"
    if share >= 0.995:
        return f"all of {of} {is_spent} {first}"
    more = "".join(f", {_percent(each)} {where}" for each, where in others)
    return f"{_percent(share)} of {of} {is_spent} {first}{more}"


def _limits(why: Why, causes: _Causes) -> Iterable[str]:
    """The reasons why shares are not given, and the missing figures."""
    if not why.is_claimed:
        yield "it is not settled whether the mean time differs, so its shares are not given."
    elif not causes.agrees:
        less = "longer" if causes.is_longer else "shorter"
        yield f"the mean time is {less} nevertheless (by {causes.time}): its batches disagree."
    elif causes.times and causes.is_beyond:
        whole = f"the {causes.time} {'of extra time' if causes.is_longer else 'saved'}"
        yield (
            f"these times are not parts of {whole}: several processes ran or waited at once, or one kind of "
            "time took another's place."
        )
    if not why.calls:
        yield "system calls were not counted on both."


def _operation(unit: str) -> str:
    """The workload's name for an operation: "call" of "ns per call"."""
    before, _, named = unit.partition("ns per ")
    return named if named and not before and named != "nothing" else "operation"


def _more(number: float, *, is_number: bool = False) -> str:
    if number > 0:
        return "more"
    return "fewer" if is_number else "less"


def _plural(word: str, number: float) -> str:
    return word if _number(number) == "1" else f"{word}s"


def _number(number: float) -> str:
    """The magnitude without sign: whole if nearly whole, otherwise to two digits."""
    size = abs(number)
    if size >= 0.95 and abs(size - round(size)) <= 0.02 * size:
        return f"{round(size):,}" if size < 100 else digits(size, count=3)
    return digits(size, count=2)


def _signed(number: float) -> str:
    return f"{'+' if number > 0 else '−'}{_number(number)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
