"""Prints a weighing for people at a terminal: sentences first, then tables."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from steelyard import terminal
from steelyard.analysis.model import Comparison, Weighing
from steelyard.papers.source import Printed
from steelyard.report import answers, notes
from steelyard.report.answers import Answer, Finding
from steelyard.statistics import verdict
from steelyard.terminal import Console
from steelyard.words import wording

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
    """How much of a report is shown: of each answer so many findings, the greatest; of those so many with
    what goes along; the short tables; each note, or how many there are."""

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
        """Whether it is shown at any time; sentences alone are only where they are what a study is about."""
        return self.table.row_count <= self.rows_most and bool(
            self.table.row_count or self.rows_most == math.inf
        )


def print_weighing(weighing: Weighing, *, tables: Sequence[Printed], everything: bool = False) -> None:
    """The answer, the findings, what is the same, what is not settled, notes; a paper's study opens on the
    paper's own tables. With `everything` every table follows, else the short ones, and on a terminal no more
    than its screen has room for, if three findings are not too many."""
    console = terminal.console()
    if everything or tables or not console.is_terminal:
        _print(console, weighing, tables, _Length(), everything=everything)
        return
    for length in _LENGTHS:
        with console.capture() as captured:
            _print(console, weighing, (), length)
        if captured.get().count("\n") + _ROWS_BESIDES <= console.height:
            break
    _print(console, weighing, (), length)


def _print(
    console: Console,
    weighing: Weighing,
    tables: Sequence[Printed],
    length: _Length,
    *,
    everything: bool = False,
) -> None:
    results = answers.all_of(weighing)
    if tables:
        _print_shown(console, _multiprogramming(weighing))
    for printed in tables:
        _print_published(console, printed, in_full=everything or console.width >= _WIDTH_OF_VALUES)
    if not results:
        console.print(Text(_of_no_answer(weighing), style="bold"))
    for answer in results:
        _print_answer(console, answer, length)
    shown = [
        one
        for one in _tables(weighing, console.width, is_paper=bool(tables))
        if one.table.row_count or one.after
    ]
    short = [one for one in shown if everything or (length.tables and one.is_short)]
    for one in short:
        _print_shown(console, one)
    remarks = notes.of(weighing, everything=everything)
    if length.notes:
        for note in remarks:
            console.print(Text(f"note: {note}"))
    elif remarks:
        console.print(Text(f"{len(remarks)} note{'s' * (len(remarks) > 1)}: steelyard report --all"))
    console.print(Text(_provenance(weighing, more=len(shown) > len(short)), style="dim"))


def _print_shown(console: Console, shown: _Shown) -> None:
    if shown.table.row_count:
        console.print(shown.table)
    for sentence in shown.after:
        console.print(Text(f"  {sentence}"))
    console.print()


def _of_no_answer(weighing: Weighing) -> str:
    others = [name for name in weighing.experiment.header["systems"] if name != weighing.baseline]
    if not others:
        only = f"Only {weighing.baseline} was measured: there is nothing to weigh it against."
        return f"{wording.gained(weighing.gains, weighing.baseline)} {only}".strip()
    return f"{weighing.trials} trials on {weighing.baseline}: too little to compare anything with it"


def _print_answer(console: Console, answer: Answer, length: _Length) -> None:
    """One system: sentences, then a line a finding."""
    console.print(Text(answer.sentence, style="bold"))
    console.print(Text(f"{answer.whole} {answer.holds}".strip()))
    if answer.findings:
        console.print()
        _print_findings(console, answer.findings, length)
        console.print()
    for title, said in (
        ("No difference above", answer.same_sentence),
        ("Not settled", answer.unsettled.sentence if answer.unsettled else ""),
        ("Not measured on both", answer.missing_sentence),
    ):
        if said:
            console.print(Text.assemble((f"{title}: ", "bold"), said))
    console.print()


def _print_findings(console: Console, all_findings: Sequence[Finding], length: _Length) -> None:
    """What differs, how much, and the interval; of several alike the range, and the names that have room.
    What goes along with the greatest stands under them, as wide as the terminal."""
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


def _tables(weighing: Weighing, width: int, *, is_paper: bool) -> Iterable[_Shown]:
    """Every table; of a paper's study, but for what it has opened on. What a study without a paper is about,
    its gains and its processes, is never too long."""
    subject = _ROWS_SHORT if is_paper else math.inf
    gains = (
        _Shown(_gains(weighing), rows_most=subject),
        _Shown(_scalings(weighing), tuple(wording.missing_laws(weighing.scalings)), rows_most=subject),
    )
    yield from _comparisons(weighing, width)
    if not weighing.comparisons:
        yield from gains
        yield _Shown(_levels(weighing), rows_most=math.inf)
    yield _Shown(_indices(weighing), rows_most=0)
    yield from (_Shown(table, rows_most=math.inf) for table in _reference_means(weighing))
    yield _Shown(_curves(weighing))
    yield _Shown(_machine(weighing))
    if weighing.comparisons:
        yield from gains
    if not is_paper:
        yield _multiprogramming(weighing)
    yield _Shown(_latencies(weighing), rows_most=0)
    yield _Shown(_accounts(weighing))


def _table(title: str, *headings: str) -> Table:
    """An empty table as all of ours look: a title, bold headings, no lines."""
    return Table(*headings, title=title, title_justify="left", pad_edge=False, box=None, header_style="bold")


def _comparisons(weighing: Weighing, width: int) -> Iterable[_Shown]:
    """A table a system, and under it what is to be remarked: beside it there is no room for sentences."""
    for system in dict.fromkeys(one.system for one in weighing.comparisons):
        ours = [one for one in weighing.comparisons if one.system == system and one.verdict in wording.MARKS]
        table = _table(f"{system} against {weighing.baseline}")
        with_values = width >= _WIDTH_OF_VALUES
        table.add_column("workload", overflow="fold")
        for heading in (weighing.baseline, system) if with_values else ():
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("ratio", justify="right", no_wrap=True)
        table.add_column("interval", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
        table.add_column("blocks", justify="right", no_wrap=True)
        with_why = with_values and any(one.why for one in ours)
        if with_why:
            table.add_column("why: what goes along", overflow="fold")
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


def _levels(weighing: Weighing) -> Table:
    """One system alone: what it does, with nothing to hold it against."""
    table = _table(f"{weighing.baseline} (medians over trials)", "workload", "value", "95 % interval")
    for one in weighing.levels:
        table.add_row(
            Text(wording.label(one.cell, one.metric)),
            wording.value(one.value.value, one.unit),
            Text(wording.value_interval(one.value, one.unit)),
        )
    return table


def _latencies(weighing: Weighing) -> Table:
    """A row a cell and system: what so many of its requests do not exceed, by merged histograms."""
    shares = list(weighing.latencies[0].quantiles_ns) if weighing.latencies else []
    table = _table("Latencies of all trials together (with 95 % intervals)", "workload", "system", "requests")
    for share in shares:
        table.add_column(f"{100 * share:g} %", justify="right")
    for one in weighing.latencies:
        told = [
            Text(f"{wording.value(each.value, 'ns')} {wording.value_interval(each, 'ns')}")
            for each in one.quantiles_ns.values()
        ]
        table.add_row(Text(one.cell), one.system, f"{one.requests:,}", *told)
    return table


def _reference_means(weighing: Weighing) -> Iterable[Table]:
    for name in dict.fromkeys(one.name for one in weighing.reference_means):
        ours = [one for one in weighing.reference_means if one.name == name]
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


def _curves(weighing: Weighing) -> Table:
    """A row for each plateau and knee of each curve: what the segments say in numbers."""
    table = _table(
        "Curves: plateaus and knees",
        "workload", "system", "part", "sizes", "level or place", "against the baseline", "verdict",
    )  # fmt: skip
    for one in weighing.curves:
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


def _machine(weighing: Weighing) -> Table:
    table = _table(
        "What the measurements say of the machine",
        "property", "system", "found", "interval", "the kernel says", "note",
    )  # fmt: skip
    for one in weighing.findings:
        table.add_row(
            one.what,
            one.system,
            wording.quantity(one.value.value, one.unit),
            Text(wording.quantity_interval(one.value, one.unit)),
            wording.quantity(one.stated, one.unit) if one.stated is not None else "",
            Text(one.note),
        )
    return table


def _indices(weighing: Weighing) -> Table:
    table = _table(
        "Geometric means of times' and rates' ratios (above 1: better than the baseline)",
        "system", "group", "ratio", "interval", "metrics", "verdict",
    )  # fmt: skip
    for index in weighing.indices:
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


def _gains(weighing: Weighing) -> Table:
    table = _table(
        "Gain with several copies (as many as copies: full)",
        "workload", "copies", "system", "gain", "95 % interval", "efficiency",
    )  # fmt: skip
    for one in weighing.gains:
        table.add_row(
            Text(wording.label(one.cell, one.metric)),
            str(one.copies),
            one.system,
            wording.factor(one.gain.value),
            Text(wording.interval(one.gain)),
            f"{100 * one.efficiency.value:.1f} %",
        )
    return table


def _multiprogramming(weighing: Weighing) -> _Shown:
    """A row a cell and system: what many processes at once cost, and how they got on."""
    table = _table(
        "Many processes at once (medians over trials; price: over free sharing of the processors)",
        "workload", "system", "created", "finished", "total", "one alone", "price", "begins after",
        "uneven", "fairness",
    )  # fmt: skip
    for one in weighing.multiprogramming:
        table.add_row(Text(one.cell), one.system, *map(Text, wording.multiprogramming(one)))
    failures = tuple(
        f"{one.cell} on {one.system}: {count} processes of {one.trials} trials: {reason}"
        for one in weighing.multiprogramming
        for reason, count in one.failures
    )
    return _Shown(table, failures, rows_most=math.inf)


def _scalings(weighing: Weighing) -> Table:
    """What was fitted, and a sentence for what could not be."""
    table = _table(
        "How throughput grows with the copies",
        "workload", "system", "law", "contention", "coherency", "most at", "at most, in copies", "which is",
    )  # fmt: skip
    for one in weighing.scalings:
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


def _accounts(weighing: Weighing) -> Table:
    """A row a cell and system: what an operation costs this host's processes."""
    table = _table(
        "What an operation costs this host (medians over trials)",
        "workload", "system", "time", "user", "system mode", "both", "waiting", "asleep", "switches",
        "faults", "calls",
    )  # fmt: skip
    for one in weighing.accounts:
        table.add_row(Text(wording.label(one.cell, one.metric)), one.system, *map(Text, wording.account(one)))
    return table


def _print_published(console: Console, printed: Printed, *, in_full: bool) -> None:
    """A published table may have more systems than a terminal has room for: its columns then become rows, and
    what stands in brackets is left out of a narrow one."""
    headings, *rows = printed.headings, *printed.rows
    if len(rows) < len(headings):
        headings, *rows = zip(headings, *rows, strict=True)
    table = _table(printed.title, *headings)
    table.caption, table.caption_justify = printed.note, "left"
    for row in rows:
        first, *figures = row
        table.add_row(first, *(figures if in_full else (text.partition(" (")[0] for text in figures)))
    console.print(table)
    console.print()


def _provenance(weighing: Weighing, *, more: bool) -> str:
    header = weighing.experiment.header
    return (
        f"experiment {weighing.experiment.name}: {weighing.trials} trials in "
        f"{answers.blocks_of(weighing)}, seed {header['seed']}, Steelyard {header.get('steelyard', '')}"
        f"{'; steelyard report --all: every table' if more else ''}"
    )
