"""Turns an evaluation into what a colleague would say aloud of it: the answer, the findings with the greatest
first and the alike folded, how large a difference can be elsewhere, and what is not settled.

Pure functions over the frozen evaluation; console, page and JSON show the same objects.

Each module imports only from earlier ones: model, words, compared, folding, rest, findings, sentence.
"""

from dataclasses import replace

from steelyard.analysis.model import Evaluation
from steelyard.quantities import counted_processors
from steelyard.report.answers import findings, rest, sentence, words
from steelyard.report.answers.compared import PLACES as PLACES
from steelyard.report.answers.compared import Compared
from steelyard.report.answers.compared import counts as counts
from steelyard.report.answers.compared import size_of as size_of
from steelyard.report.answers.findings import labelled as labelled
from steelyard.report.answers.model import Answer as Answer
from steelyard.report.answers.model import Finding as Finding
from steelyard.report.answers.model import Open as Open
from steelyard.report.answers.model import Same as Same
from steelyard.words import care, loads, wording
from steelyard.words.care import Care

LINES = 11  # findings of one system, where there is one; fewer of each where there are several
_LINES_LEAST = 5


def all_of(evaluation: Evaluation) -> tuple[Answer, ...]:
    """An answer for each system that was compared with the baseline."""
    compared = _compared(evaluation)
    lines = max(_LINES_LEAST, LINES // max(1, len(compared)))
    said = tuple(_answer(one, lines, is_first=one is compared[0]) for one in compared)
    return tuple(replace(one, care=care_of(evaluation)) if one is said[0] else one for one in said)


def without_comparison(evaluation: Evaluation) -> str:
    """What there is to say where nothing was compared: lines."""
    trials = words.number_of(evaluation.trials, "trial")
    if evaluation.others:
        return f"{trials} on {evaluation.baseline}: too little to compare anything with it."
    if not evaluation.went_well:
        return f"Nothing is known of {evaluation.baseline}: none of {trials} succeeded."
    if evaluation.server_loads:
        return "\n".join(loads.answers(evaluation.server_loads))
    only = f"Only {evaluation.baseline} was measured: there is nothing to compare it with."
    return f"{wording.gained(evaluation.gains, evaluation.baseline)} {only}".strip()


def care_of(evaluation: Evaluation) -> Care | None:
    """The shortages of the machine during the measurement, and their effect; None if nothing is known, or
    nothing is worth a word.
    """
    if evaluation.state is None or not evaluation.state.conditions:
        return None
    compared = _compared(evaluation)
    metrics = sum(len(one.metrics) - len(one.missing) for one in compared)
    return care.of(evaluation.state, unsettled=sum(len(one.open) for one in compared), metrics=metrics)


def _compared(evaluation: Evaluation) -> list[Compared]:
    named = {one.system for one in evaluation.comparisons}
    return [Compared(evaluation, name) for name in evaluation.others if name in named]


def blocks_of(evaluation: Evaluation) -> str:
    """The number of blocks behind the verdicts: "2 to 11 blocks", because each cell has its own."""
    header = evaluation.experiment.header
    counted = [one for one in evaluation.comparisons if counts(one, header)]
    return words.blocks(counted, begun=evaluation.blocks)


def _answer(compared: Compared, lines: int, *, is_first: bool) -> Answer:
    results = findings.of(compared, lines)
    same = tuple(rest.groups(compared))
    several = len(compared.metrics) > 1
    return Answer(
        compared.system,
        sentence.of(compared, results),
        _whole(compared),
        results if several or len(results) > 1 else (),
        same if several else (),
        rest.sentence(same) if several else "",
        rest.unsettled(compared),
        tuple(f"{compared.phrase(one)} ({compared.why_missing(one)})" for one in compared.missing),
        len(compared.metrics),
        _holds(compared, is_first=is_first),
        likely=rest.likely(compared),
        same_by_processor=rest.same_by_processor(compared),
        sizes=rest.sizes(compared),
    )


def _whole(compared: Compared) -> str:
    whole = compared.index("all")
    if whole is None or len(compared.metrics) < 2 or not (compared.items or compared.same):
        return ""
    return wording.whole(whole)


def _holds(compared: Compared, *, is_first: bool) -> str:
    """The scope of the answer: the machine (once), the number of measurements, the boots."""
    evaluation = compared.evaluation
    header = evaluation.experiment.header
    boot_machines = {header.get("machines", {}).get(name) for name in (compared.system, compared.base)}
    named = boot_machines.pop() if len(boot_machines) == 1 else None
    host = header.get("host") or {}
    if named:
        host = next(dict(one.fingerprint) for one in evaluation.systems if one.name == compared.base)
        host |= {"kernel": "", "kernel_release": ""}
    host = host if is_first else {}
    many = host.get("cpu_count")
    parts = [
        counted_processors(many, host.get("cpu_online")) if many else "",
        host.get("cpu_model") or "",
        f"{host.get('kernel') or ''} {(host.get('kernel_release') or '').partition('-')[0]}".strip(),
    ]
    machine = ", ".join(part for part in parts if part)
    named = named or "this machine"
    place = f"{named} ({machine})" if machine else named
    counts = [words.blocks(compared.metrics, begun=evaluation.blocks)]
    booted = [
        one for one in evaluation.systems if one.is_boot and one.name in (compared.system, compared.base)
    ]
    counts += [f"{words.number_of(one.boots, 'boot')} of {one.name}" for one in booted]
    is_settled = len(compared.metrics) > len(compared.missing) + len(compared.open)
    return f"Measured{'' if is_settled else ' so far'} on {place} in {words.listed(counts)}."
