"""Prints an evaluation for people at a terminal: sentences first, then tables."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from steelyard import terminal
from steelyard.analysis.model import Comparison, Evaluation
from steelyard.papers.source import Printed
from steelyard.quantities import number_of
from steelyard.report import answers
from steelyard.report.answers import Answer, Finding
from steelyard.statistics import verdict
from steelyard.terminal import Console
from steelyard.words import loads, notes, remarks, wording

STYLES = {
    verdict.FASTER: "green",
    verdict.SLOWER: "red",
    verdict.EQUIVALENT: "cyan",
    verdict.FASTER_OPEN: "green dim",
    verdict.SLOWER_OPEN: "red dim",
    verdict.BOUNDED: "cyan",
    verdict.UNRESOLVED: "yellow",
}
_WIDTH_OF_VALUES = 110  # a narrower terminal shows the ratios without the values they are of
_PHRASE_LEAST = 24  # a narrower terminal breaks lines
_ROWS_SHORT = 8  # a longer table is shown only with everything else
_ROWS_OF_COMPARISONS = 2  # the findings say as much


@dataclass(frozen=True, slots=True)
class _Length:
    """The length of a report: the number of findings of each answer, the number of those with causes, the
    short tables, and the notes or only their number.
    """

    findings: float = math.inf
    whys: int = 2
    tables: bool = True
    notes: bool = True


# What a terminal has no room for is left out in this order, so that the answer stays on its screen.
_LENGTHS = (
    _Length(),
    _Length(tables=False),
    _Length(tables=False, findings=12),
    _Length(tables=False, findings=8, whys=1),
    _Length(tables=False, findings=8, whys=1, notes=False),
    _Length(tables=False, findings=5, whys=0, notes=False),
    _Length(tables=False, findings=3, whys=0, notes=False),
)
_ROWS_BESIDES = 2  # of a screen: the command, and the next prompt


@dataclass(frozen=True, slots=True)
class _Shown:
    """A table, the sentences under it, and with how many rows it is short enough to be shown at any time."""

    table: Table
    after: tuple[str, ...] = ()
    rows_most: float = _ROWS_SHORT

    @property
    def is_short(self) -> bool:
        """True if it is always shown; otherwise only where a study is about it."""
        return self.table.row_count <= self.rows_most and bool(
            self.table.row_count or self.rows_most == math.inf
        )


def print_tables(tables: Sequence[Printed]) -> None:
    """The published tables alone."""
    console = terminal.console()
    for table in tables:
        _print_published(console, table, in_full=True)


def print_evaluation(evaluation: Evaluation, *, tables: Sequence[Printed], everything: bool = False) -> None:
    """The answer, the findings, what is the same, what is not settled, notes; a paper's study opens on the
    paper's own tables. With `everything` every table follows, else the short ones, and on a terminal no more
    than its screen has room for, if three findings are not too many."""
    console = terminal.console()
    if everything or tables or not console.is_terminal:
        _print(console, evaluation, tables, _Length(), everything=everything)
        return
    for length in _LENGTHS:
        with console.capture() as captured:
            _print(console, evaluation, (), length)
        if captured.get().count("\n") + _ROWS_BESIDES <= console.height:
            break
    _print(console, evaluation, (), length)


def _print(
    console: Console,
    evaluation: Evaluation,
    tables: Sequence[Printed],
    length: _Length,
    *,
    everything: bool = False,
) -> None:
    results = answers.all_of(evaluation)
    care = answers.care_of(evaluation)
    if care and care.is_first:
        console.print(Text(care.sentence, style="bold yellow"))
        console.print()
    if tables:
        _print_shown(console, _multiprogramming(evaluation))
    for printed in tables:
        _print_published(console, printed, in_full=everything or console.width >= _WIDTH_OF_VALUES)
    warnings = loads.warnings(evaluation.remarks) if not evaluation.others else ()
    for warning in warnings:
        console.print(Text(f"{remarks.text(warning)}.", style="bold yellow"))
    if not results:
        console.print(Text(answers.without_comparison(evaluation), style="bold"))
        if care:
            console.print(Text(care.last))
    for answer in results:
        _print_answer(console, answer, length)
    for system, reason in evaluation.absent.items():
        console.print(Text(f"{system} could not start and is left out: {reason}", style="bold"))
    shown = [
        one
        for one in _tables(evaluation, console.width, is_paper=bool(tables))
        if one.table.row_count or one.after
    ]
    short = [one for one in shown if everything or (length.tables and one.is_short)]
    for one in short:
        _print_shown(console, one)
    noted = notes.of(evaluation, everything=everything, without=warnings)
    if length.notes:
        for note in noted:
            console.print(Text(f"note: {note}"))
    elif noted:
        console.print(Text(f"{number_of(len(noted), 'note')}: steelyard report --all"))
    console.print(Text(_provenance(evaluation, more=len(shown) > len(short)), style="dim"))


def _print_shown(console: Console, shown: _Shown) -> None:
    if shown.table.row_count:
        console.print(shown.table)
    for sentence in shown.after:
        console.print(Text(f"  {sentence}"))
    console.print()


def _print_answer(console: Console, answer: Answer, length: _Length) -> None:
    """One system: sentences, then a line a finding."""
    for line in answer.sentence.splitlines():
        console.print(Text(line, style="bold"))
    console.print(Text(answer.last))
    if answer.findings:
        console.print()
        _print_findings(console, answer.findings, length)
        console.print()
    for title, said in (*answer.rest, ("Not measured on both", answer.missing_sentence)):
        if said:
            console.print(Text.assemble((f"{title}: ", "bold"), said))
    console.print()


def _print_findings(console: Console, all_findings: Sequence[Finding], length: _Length) -> None:
    """Print the differences with sizes and intervals; for several alike the range, and as many names as fit.
    Likely causes of the largest follow below, as wide as the terminal.
    """
    more = len(all_findings) > length.findings
    findings = all_findings[: int(length.findings)] if more else all_findings
    sizes = [f"{one.size} {one.interval}".rstrip() for one in findings]
    room = max(_PHRASE_LEAST, min(console.width, terminal.WIDTH_PIPED) - max(map(len, sizes)) - 4)
    labels = [answers.labelled(one, room) for one in findings]
    room = min(room, max(map(len, labels)))
    whys = 0
    for one, label, size in zip(findings, labels, sizes, strict=True):
        style = STYLES[one.verdict]
        lines = textwrap.wrap(label, room)
        for number, line in enumerate(lines):
            mark = " " if number else wording.MARKS[one.verdict]
            last = "" if number < len(lines) - 1 else f"{'':<{room - len(line)}}  {size}"
            console.print(Text.assemble((mark, style), f" {line}", (last, style)))
        if one.why and whys < length.whys:
            whys += 1
            console.print(Padding(Text(one.why, style="dim"), (0, 0, 0, 4), expand=False))
    if more:
        console.print(
            Text(f"  and {len(all_findings) - len(findings)} more: steelyard report --all", style="dim")
        )


def _tables(evaluation: Evaluation, width: int, *, is_paper: bool) -> Iterable[_Shown]:
    """Every table; of a paper's study, but for what it has opened on. What a study without a paper is about,
    its gains and its processes, is never too long."""
    subject = _ROWS_SHORT if is_paper else math.inf
    gains = (
        _Shown(_gains(evaluation), rows_most=subject),
        _Shown(_scalings(evaluation), tuple(wording.missing_laws(evaluation.scalings)), rows_most=subject),
    )
    yield from _comparisons(evaluation, width)
    yield from _server_loads(evaluation)
    if not evaluation.comparisons:
        yield from gains
        yield _Shown(_levels(evaluation), rows_most=0 if evaluation.server_loads else math.inf)
    yield _Shown(_indices(evaluation), rows_most=0)
    yield from (_Shown(table, rows_most=math.inf) for table in _reference_means(evaluation))
    yield _Shown(_curves(evaluation))
    yield _Shown(_machine(evaluation))
    if evaluation.comparisons:
        yield from gains
    if not is_paper:
        yield _multiprogramming(evaluation)
    yield _Shown(_latencies(evaluation), rows_most=0)
    yield _Shown(_alone(evaluation), rows_most=0)
    yield _Shown(_accounts(evaluation), tuple(wording.account_notes(evaluation.accounts)))


def _table(title: str, *headings: str) -> Table:
    """An empty table as all of ours look: a title, bold headings, no lines."""
    return Table(*headings, title=title, title_justify="left", pad_edge=False, box=None, header_style="bold")


def _comparisons(evaluation: Evaluation, width: int) -> Iterable[_Shown]:
    """A table a system, and under it what is to be remarked: beside it there is no room for sentences."""
    for system in dict.fromkeys(one.system for one in evaluation.comparisons):
        ours = [
            one for one in evaluation.comparisons if one.system == system and one.verdict in wording.MARKS
        ]
        table = _table(f"{system} against {evaluation.baseline}")
        with_values = width >= _WIDTH_OF_VALUES
        table.add_column("workload", overflow="fold")
        for heading in (evaluation.baseline, system) if with_values else ():
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("ratio", justify="right", no_wrap=True)
        table.add_column("interval", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
        table.add_column("blocks", justify="right", no_wrap=True)
        with_why = with_values and any(one.why for one in ours)
        if with_why:
            table.add_column("likely cause", overflow="fold")
        for one in ours:
            said = (Text(wording.why(one)),) if with_why else ()
            table.add_row(*_cells(one, with_values=with_values), *said)
        after = []
        for one in ours:
            if not with_why and wording.why(one):
                after.append(f"{wording.label(one.cell, one.metric)}: {wording.why(one)}")
            if wording.remarks(one):
                after.append(f"{wording.label(one.cell, one.metric)}: {wording.remarks(one)}")
        yield _Shown(table, tuple(after), rows_most=_ROWS_OF_COMPARISONS)


def _cells(one: Comparison, *, with_values: bool) -> Iterable[str | Text]:
    yield Text(wording.label(one.cell, one.metric))
    for value in (one.baseline_value, one.value) if with_values else ():
        yield wording.value(value.value, one.unit) if value else "–"
    yield wording.factor(one.ratio.value) if one.ratio else "–"
    yield Text(wording.interval(one.ratio) if one.ratio else "")
    yield Text(wording.verdict_text(one), style=STYLES[one.verdict])
    yield str(one.blocks)


def _levels(evaluation: Evaluation) -> Table:
    """One system alone: what it does, with nothing to hold it against."""
    table = _table(f"{evaluation.baseline} (medians over trials)", "workload", "value", "95 % interval")
    for one in evaluation.levels:
        table.add_row(
            Text(wording.label(one.cell, one.metric)),
            wording.value(one.value.value, one.unit),
            Text(wording.value_interval(one.value, one.unit)),
        )
    return table


def _latencies(evaluation: Evaluation) -> Table:
    """One row per cell and system: quantiles of its requests, by merged histograms."""
    shares = list(evaluation.latencies[0].quantiles_ns) if evaluation.latencies else []
    table = _table("Latencies of all trials together (with 95 % intervals)", "workload", "system", "requests")
    for share in shares:
        table.add_column(f"{100 * share:g} %", justify="right")
    for one in evaluation.latencies:
        told = [
            Text(f"{wording.value(each.value, 'ns')} {wording.value_interval(each, 'ns')}")
            for each in one.quantiles_ns.values()
        ]
        table.add_row(Text(one.cell), one.system, f"{one.requests:,}", *told)
    return table


def _server_loads(evaluation: Evaluation) -> Iterable[_Shown]:
    """What loads on servers saw of them."""
    for one in loads.tables(evaluation.server_loads, of_several=bool(evaluation.others)):
        table = _table(one.title)
        for name in one.names:
            table.add_column(name, overflow="fold")
        for heading in one.headings:
            table.add_column(heading, justify="right")
        for row in one.rows:
            table.add_row(*map(Text, row))
        yield _Shown(table, one.after, rows_most=math.inf)


def _reference_means(evaluation: Evaluation) -> Iterable[Table]:
    for name in dict.fromkeys(one.name for one in evaluation.reference_means):
        ours = [one for one in evaluation.reference_means if one.name == name]
        table = _table(
            f"{ours[0].title} (1: {ours[0].reference})", "system", "index", "95 % interval", "missing"
        )
        for one in ours:
            value = wording.factor(one.value.value) if one.value else "–"
            table.add_row(
                one.system,
                value,
                Text(wording.interval(one.value) if one.value else ""),
                Text(", ".join(one.missing)),
            )
        yield table


def _curves(evaluation: Evaluation) -> Table:
    """A row for each plateau and knee of each curve: what the segments say in numbers."""
    table = _table(
        "Curves: plateaus and knees",
        "workload", "system", "part", "sizes", "level or place", "against the baseline", "verdict",
    )  # fmt: skip
    for one in evaluation.curves:
        for line in one.lines:
            for row in wording.parts_of(one, line):
                style = STYLES[row.verdict] if row.verdict else ""
                table.add_row(
                    Text(wording.label(one.cell, one.metric)),
                    line.system,
                    *(Text(text) for text in row.texts),
                    Text(f"{wording.MARKS[row.verdict]} {row.verdict}" if row.verdict else "", style=style),
                )
    return table


def _machine(evaluation: Evaluation) -> Table:
    table = _table(
        "The machine, as measured",
        "property", "system", "found", "interval", "the kernel says", "note",
    )  # fmt: skip
    for one in evaluation.findings:
        found, interval = wording.machine_fact(one)
        table.add_row(
            remarks.text(one.what),
            one.system,
            found,
            Text(interval),
            wording.quantity(one.stated, one.unit) if one.stated is not None else "",
            Text(remarks.text(one.note) if one.note else ""),
        )
    return table


def _indices(evaluation: Evaluation) -> Table:
    table = _table(
        "Geometric means of times' and rates' ratios (above 1: better than the baseline)",
        "system", "group", "ratio", "interval", "metrics", "verdict",
    )  # fmt: skip
    for index in evaluation.indices:
        if index.ratio is not None:
            table.add_row(
                index.system,
                index.group,
                wording.factor(index.ratio.value),
                Text(wording.interval(index.ratio)),
                str(index.metrics),
                Text(f"{wording.MARKS[index.verdict]} {index.verdict}", style=STYLES[index.verdict]),
            )
    return table


def _gains(evaluation: Evaluation) -> Table:
    table = _table(
        "Speed-up with several copies (full: equal to the number of copies)",
        "workload", "copies", "system", "gain", "95 % interval", "efficiency",
    )  # fmt: skip
    for one in evaluation.gains:
        table.add_row(
            Text(wording.label(one.cell, one.metric)),
            str(one.copies),
            one.system,
            wording.factor(one.gain.value) if one.is_known else "–",
            Text(wording.interval(one.gain)),
            wording.efficiency(one),
        )
    return table


def _multiprogramming(evaluation: Evaluation) -> _Shown:
    """A row a cell and system: what many processes at once cost, and how they got on."""
    table = _table(
        "Many processes at once (medians over trials; price: total time over that with free processor "
        "sharing)",
        "workload", "system", "created", "finished", "total", "one alone", "price", "begins after",
        "uneven", "fairness",
    )  # fmt: skip
    for one in evaluation.multiprogramming:
        table.add_row(Text(one.cell), one.system, *map(Text, wording.multiprogramming(one)))
    failures = tuple(
        f"{one.cell} on {one.system}: {number_of(count, 'process', 'processes')} of "
        f"{number_of(one.trials, 'trial')}: {wording.failure(reason)}"
        for one in evaluation.multiprogramming
        for reason, count in one.failures
    )
    return _Shown(table, failures, rows_most=math.inf)


def _scalings(evaluation: Evaluation) -> Table:
    """The fitted laws, and a sentence for each figure that could not be fitted."""
    table = _table(
        "Throughput by number of copies",
        "workload", "system", "law", "contention", "coherency", "most at", "maximum speed-up", "which is",
    )  # fmt: skip
    for one in evaluation.scalings:
        if one.is_fitted:
            capacity = wording.throughput(one.capacity.value, one.unit) if one.capacity else ""
            table.add_row(
                Text(wording.label(one.cell, one.metric)),
                one.system,
                wording.LAWS[one.law],
                Text(" ".join(wording.with_interval(one.contention))),
                Text(" ".join(wording.with_interval(one.coherency))),
                Text(" ".join(wording.with_interval(one.peak))),
                Text(" ".join(wording.with_interval(one.worth))),
                Text(f"{capacity}; {wording.declines(one)}".removesuffix("; ").removeprefix("; ")),
            )
    return table


def _alone(evaluation: Evaluation) -> Table:
    """A row a cell and system whose batches took turns: the same without another's work between them."""
    table = _table(
        "Alone, where batches took turns (time alone over that in turns; ratio: alone)",
        "workload", "system", "time", "interval", "ratio", "interval",
    )  # fmt: skip
    for one in evaluation.alone:
        table.add_row(Text(wording.label(one.cell, one.metric)), one.system, *map(Text, wording.alone(one)))
    return table


def _accounts(evaluation: Evaluation) -> Table:
    """A row a cell and system: what an operation costs this host's processes."""
    table = _table(
        "What an operation costs this host (medians over trials)",
        "workload", "system", "time", "user", "system mode", "both", "waiting", "asleep", "switches",
        "faults", "calls",
    )  # fmt: skip
    for one in evaluation.accounts:
        table.add_row(Text(wording.label(one.cell, one.metric)), one.system, *map(Text, wording.account(one)))
    return table


def _print_published(console: Console, printed: Printed, *, in_full: bool) -> None:
    """A published table has the paper's rows and columns. Where a terminal has no room for them, columns
    become rows; what stands in brackets is left out of a narrow one."""
    rows = [
        (row[0], *(row[1:] if in_full else (text.partition(" (")[0] for text in row[1:])))
        for row in printed.rows
    ]
    table = _published_table(printed, printed.headings, rows)
    needed = Measurement.get(console, console.options.update(max_width=10_000), table).maximum
    if needed > console.width and len(rows) < len(printed.headings):
        turned = [tuple(column) for column in zip(printed.headings, *rows, strict=True)]
        table = _published_table(printed, turned[0], turned[1:])
    console.print(table)
    console.print()


def _published_table(printed: Printed, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = _table(printed.title, *headings)
    table.caption, table.caption_justify = printed.note, "left"
    for row in rows:
        table.add_row(*row)
    return table


def _provenance(evaluation: Evaluation, *, more: bool) -> str:
    header = evaluation.experiment.header
    return (
        f"experiment {evaluation.experiment.name}: {number_of(evaluation.trials, 'trial')} in "
        f"{answers.blocks_of(evaluation)}, seed {header['seed']}, Steelyard {header.get('steelyard', '')}"
        f"{'; steelyard report --all: every table' if more else ''}"
    )
