"""Has the sentences on what limits one comparison's verdict."""

from collections.abc import Sequence

from steelyard.analysis import remarks
from steelyard.analysis.remarks import Remark
from steelyard.quantities import digits, time_ns
from steelyard.words.remarks.dispatch import said, span

_DIGITS = 16  # of a digest that are said
_NOT_THE_SERVER = "this is no verdict on the server"


@said.register
def _(one: remarks.Trouble, alike: Sequence[remarks.Trouble]) -> str:
    trials = sum(each.trials for each in alike)
    why = one.reason
    why = said(why, [why]) if isinstance(why, Remark) else why
    ended = f"{trials} {'trial' if trials == 1 else 'trials'} {one.status} on {one.system}"
    return f"{ended}: {why}" if why else ended


@said.register
def _(one: remarks.NoPair, alike: Sequence[remarks.NoPair]) -> str:
    return "no block has measured both systems"


@said.register
def _(one: remarks.OneUnit, alike: Sequence[remarks.OneUnit]) -> str:
    return f"one {one.unit} alone has no interval"


@said.register
def _(one: remarks.HeldBack, alike: Sequence[remarks.HeldBack]) -> str:
    return f"{units(alike)} are too few: one system's own trials differ by up to {apart(alike)} here"


@said.register
def _(one: remarks.FewUnits, alike: Sequence[remarks.FewUnits]) -> str:
    return f"rests on {units(alike)}; one system's own trials differ by up to {apart(alike)} here"


@said.register
def _(one: remarks.OneBoot, alike: Sequence[remarks.OneBoot]) -> str:
    return "valid for this boot only"


@said.register
def _(one: remarks.ClockApart, alike: Sequence[remarks.ClockApart]) -> str:
    apart = span((100 * each.apart for each in alike), lambda percent: f"{percent:+.2f}", "%")
    return f"the clock of {one.system} differs from this machine's by {apart}"


@said.register
def _(one: remarks.SameCode, alike: Sequence[remarks.SameCode]) -> str:
    digests = {each.sha256 for each in alike}
    return "same machine code" + (f", SHA-256 {one.sha256[:_DIGITS]}" if len(digests) == 1 else "")


@said.register
def _(one: remarks.OtherCode, alike: Sequence[remarks.OtherCode]) -> str:
    if len(set(alike)) > 1:
        return "the machine code differs"
    theirs, ours = (
        ", ".join(each[:_DIGITS] for each in digests) for digests in (one.baseline_sha256, one.sha256)
    )
    return f"the machine code differs: SHA-256 {theirs} on {one.baseline}, {ours} on {one.system}"


@said.register
def _(one: remarks.GaveWay, alike: Sequence[remarks.GaveWay]) -> str:
    servers = [each.server for each in alike if each.server is not None]
    waits = [each.wait_ns for each in alike if each.wait_ns is not None]
    clauses = [f"the server used {span(servers, _hundredths)} processors"] if servers else []
    clauses.append(f"the load generator {span((each.client for each in alike), _hundredths)}")
    if waits:
        clauses.append(f"requests waited {span(waits, time_ns)} for a connection")
    return f"above saturation on {one.system}, {', '.join(clauses)}"


@said.register
def _(one: remarks.Disturbed, alike: Sequence[remarks.Disturbed]) -> str:
    disturbed = f"{disturbed_blocks(alike)} of {all_blocks(alike)} blocks disturbed by other work"
    return (
        disturbed
        + {
            "none": "; none without them to check",
            "same": "; unchanged without them",
            "other": "",
        }[one.without]
    )


@said.register
def _(one: remarks.RestsOnDisturbed, alike: Sequence[remarks.RestsOnDisturbed]) -> str:
    return "the verdict rests on disturbed blocks"


@said.register
def _(one: remarks.InTail, alike: Sequence[remarks.InTail]) -> str:
    return f"by the mean of its batches it is {one.verdict}: the difference is in the tail"


@said.register
def _(one: remarks.OtherAlone, alike: Sequence[remarks.OtherAlone]) -> str:
    low, high = min(each.low for each in alike), max(each.high for each in alike)
    ratio = span((each.ratio for each in alike), digits)
    return f"alone, and not in turns, the ratio is {ratio} [{digits(low)}, {digits(high)}]"


@said.register
def _(one: remarks.GeneratorBusy, alike: Sequence[remarks.GeneratorBusy]) -> str:
    worked = span((100 * each.share for each in alike), lambda percent: f"{percent:.0f}", "%")
    return f"the load generator was busy {worked} of the time on {one.system}: {_NOT_THE_SERVER}"


@said.register
def _(one: remarks.GeneratorLate, alike: Sequence[remarks.GeneratorLate]) -> str:
    return f"the load generator was late on {one.system}: {_NOT_THE_SERVER}"


def units(alike: Sequence[remarks.FewUnits | remarks.HeldBack]) -> str:
    """Return how many blocks or boots: "4 or 5 blocks"."""
    return f"{number_of_units(alike)} {alike[0].unit}s"


def number_of_units(alike: Sequence[remarks.FewUnits | remarks.HeldBack]) -> str:
    """Return the number alone: "4 or 5"."""
    return span((one.units for one in alike), str)


def apart(alike: Sequence[remarks.FewUnits | remarks.HeldBack]) -> str:
    """Return how far single trials of one system are apart, at most: "2.5 times"."""
    return f"{digits(max(one.times_apart for one in alike))} times"


def disturbed_blocks(alike: Sequence[remarks.Disturbed]) -> str:
    """Return how many blocks were disturbed."""
    return span((one.disturbed for one in alike), str)


def all_blocks(alike: Sequence[remarks.Disturbed]) -> str:
    """Return of how many."""
    return span((one.blocks for one in alike), str)


def _hundredths(number: float) -> str:
    return f"{number:.2f}"
