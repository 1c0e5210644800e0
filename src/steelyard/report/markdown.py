"""Shows a comparison as Markdown: for a comment, an issue, or a page of notes."""

from collections.abc import Iterable, Sequence

from steelyard.analysis.model import Comparison, Evaluation, Level
from steelyard.report import answers
from steelyard.words import loads, remarks, wording


def print_evaluation(found: Evaluation) -> None:
    """Prints for each system the answer in words, then a table of its metrics with a verdict; of one system
    alone its values."""
    lines: list[str] = [] if answers.all_of(found) else _without_comparison(found)
    for answer in answers.all_of(found):
        heading, *more = answer.sentence.splitlines()
        ours = [
            one
            for one in found.comparisons
            if one.system == answer.system and one.verdict in wording.MARKS and one.ratio
        ]
        lines += [f"**{cell(heading)}**", "", *(f"{cell(one)}  " for one in more)]
        lines += [cell(answer.last), ""]
        lines += table(
            ("metric", found.baseline, answer.system, "ratio", "interval", "verdict"), map(_row, ours)
        )
    print("\n".join(lines))


def _without_comparison(found: Evaluation) -> list[str]:
    lines = [f"**{cell(line)}**  " for line in answers.without_comparison(found).splitlines()] + [""]
    lines += [f"{cell(remarks.text(one))}.  " for one in loads.warnings(found.remarks)]
    shown = loads.tables(found.server_loads, of_several=bool(found.others))
    for one in shown:
        lines += [f"{cell(one.title)}:", "", *table((*one.names, *one.headings), one.rows)]
    return (
        lines
        if shown
        else lines + table(("metric", "system", "value", "interval"), map(_level, found.levels))
    )


def _level(one: Level) -> Sequence[str]:
    value, between = wording.value(one.value.value, one.unit), wording.value_interval(one.value, one.unit)
    return wording.label(one.cell, one.metric), one.system, value, between


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table, and an empty one."""
    return [row(headings), row(["---"] * len(headings), is_text=False), *map(row, rows), ""]


def row(cells: Iterable[str], *, is_text: bool = True) -> str:
    return "| " + " | ".join(cell(one) if is_text else one for one in cells) + " |"


def cell(words: str) -> str:
    """Text that is no markup."""
    return "".join(f"\\{each}" if each in "\\`*_{}[]<>#|~&" else each for each in words)


def _row(one: Comparison) -> Sequence[str]:
    assert one.ratio is not None
    return (
        wording.label(one.cell, one.metric),
        *(wording.value(each.value, one.unit) if each else "–" for each in (one.baseline_value, one.value)),
        wording.factor(one.ratio.value),
        wording.interval(one.ratio),
        wording.verdict_text(one),
    )
