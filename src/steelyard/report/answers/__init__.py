"""Turns a weighing into what a colleague would say aloud of it: the answer, the findings with the greatest
first and the alike folded, how large a difference can be elsewhere, and what is not settled.

Pure functions over the frozen weighing; console, page and JSON show the same objects.

Each module imports only from earlier ones: model, words, compared, folding, rest, findings, sentence.
"""

from steelyard.analysis.model import Weighing
from steelyard.report.answers import findings, rest, sentence, words
from steelyard.report.answers.compared import PLACES as PLACES
from steelyard.report.answers.compared import Compared
from steelyard.report.answers.compared import counts as counts
from steelyard.report.answers.findings import labelled as labelled
from steelyard.report.answers.findings import size_of as size_of
from steelyard.report.answers.model import Answer as Answer
from steelyard.report.answers.model import Finding as Finding
from steelyard.report.answers.model import Same as Same
from steelyard.report.answers.model import Unsettled as Unsettled
from steelyard.words import wording

LINES = 11  # findings of one system, where there is one; fewer of each where there are several
_LINES_LEAST = 5


def all_of(weighing: Weighing) -> tuple[Answer, ...]:
    """An answer for each system that was compared with the baseline."""
    systems = [name for name in weighing.experiment.header["systems"] if name != weighing.baseline]
    compared = [name for name in systems if any(one.system == name for one in weighing.comparisons)]
    lines = max(_LINES_LEAST, LINES // max(1, len(compared)))
    return tuple(_answer(Compared(weighing, name), lines, is_first=name == compared[0]) for name in compared)


def blocks_of(weighing: Weighing) -> str:
    """How many blocks the verdicts rest on: "2 to 11 blocks", because each cell has its own."""
    header = weighing.experiment.header
    counted = [one for one in weighing.comparisons if counts(one, header)]
    return words.blocks(counted, begun=weighing.blocks)


def _answer(compared: Compared, lines: int, *, is_first: bool) -> Answer:
    results = findings.of(compared, lines)
    same = tuple(rest.groups(compared))
    several = len(compared.metrics) > 1
    return Answer(
        compared.system,
        sentence.of(compared, results, same),
        _whole(compared),
        results if several or len(results) > 1 else (),
        same if several else (),
        rest.sentence(same) if several else "",
        rest.unsettled(compared),
        tuple(compared.phrase(one) for one in compared.missing),
        len(compared.metrics),
        _holds(compared, is_first=is_first),
    )


def _whole(compared: Compared) -> str:
    whole = compared.index("all")
    if whole is None or len(compared.metrics) < 2 or not (compared.items or compared.same):
        return ""
    return wording.whole(whole)


def _holds(compared: Compared, *, is_first: bool) -> str:
    """For what the answer holds: the machine (said once), how often it was measured, the boots."""
    weighing = compared.weighing
    header = weighing.experiment.header
    seats = {header.get("machines", {}).get(name) for name in (compared.system, compared.base)}
    named = seats.pop() if len(seats) == 1 else None
    host = header.get("host") or {}
    if named:
        host = next(dict(one.fingerprint) for one in weighing.systems if one.name == compared.base)
        host |= {"kernel": "", "kernel_release": ""}
    host = host if is_first else {}
    many = host.get("cpu_count")
    parts = [
        words.number_of(many, "processor") if many else "",
        host.get("cpu_model") or "",
        f"{host.get('kernel') or ''} {(host.get('kernel_release') or '').partition('-')[0]}".strip(),
    ]
    machine = ", ".join(part for part in parts if part)
    named = named or "this machine"
    conditions = [f"{named} ({machine})" if machine else named]
    conditions.append(words.blocks(compared.metrics, begun=weighing.blocks))
    booted = [one for one in weighing.systems if one.is_boot and one.name in (compared.system, compared.base)]
    conditions += [f"{words.number_of(one.boots, 'boot')} of {one.name}" for one in booted]
    is_settled = len(compared.metrics) > len(compared.missing) + len(compared.open)
    return f"{'It holds for' if is_settled else 'Measured so far:'} {words.listed(conditions)}."
