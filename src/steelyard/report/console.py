"""Prints a weighing for people at a terminal: sentences first, then tables."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.report import wording
from steelyard.report.papers import Printed
from steelyard.statistics import verdict
from steelyard.weighing import Comparison, Weighing

_STYLES = {
    verdict.FASTER: "green",
    verdict.SLOWER: "red",
    verdict.EQUIVALENT: "cyan",
    verdict.FASTER_OPEN: "green dim",
    verdict.SLOWER_OPEN: "red dim",
    verdict.BOUNDED: "cyan",
    verdict.UNRESOLVED: "yellow",
}
_WIDTH_PIPED = 140  # where no terminal says how wide it is
_WIDTH_OF_VALUES = 110  # a narrower terminal shows the ratios without the values they are of


def make_console() -> Console:
    """A console on standard output; wide where nobody looks at it, so that no table is broken."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDTH_PIPED)


def print_weighing(weighing: Weighing, *, tables: Sequence[Printed]) -> None:
    """The verdict in a sentence a system, then everything behind it."""
    console = make_console()
    for sentence in headlines(weighing):
        console.print(Text(sentence, style="bold"))
    _print_comparisons(console, weighing)
    if not weighing.comparisons:
        _print_levels(console, weighing)
    _print_indices(console, weighing)
    _print_reference_means(console, weighing)
    _print_curves(console, weighing)
    _print_findings(console, weighing)
    _print_gains(console, weighing)
    _print_scalings(console, weighing)
    _print_multiprogramming(console, weighing)
    _print_accounts(console, weighing)
    for printed in tables:
        _print_published(console, printed)
    for note in notes(weighing):
        console.print(Text(f"note: {note}"))
    console.print(Text(_provenance(weighing), style="dim"))


def headlines(weighing: Weighing) -> Iterable[str]:
    """The sentences that stand above everything."""
    whole = [index for index in weighing.indices if index.group == "all"]
    if not whole:
        yield f"{weighing.trials} trials on {weighing.baseline}: too little to compare anything with it"
    for index in whole:
        yield wording.headline(index, weighing.baseline)


def notes(weighing: Weighing) -> Iterable[str]:
    """What limits the verdicts, and what went wrong."""
    yield from weighing.warnings
    for one in weighing.troubles:
        trials = "trial" if one.trials == 1 else "trials"
        reason = one.reason or "no reason given"
        yield f"{one.trials} {trials} of {one.cell} {one.status} on {one.system}: {reason}"
    for system in weighing.systems:
        if system.is_boot:
            boots = "boot" if system.boots == 1 else "boots"
            yield f"{system.name}: the verdicts hold for {system.boots} {boots} of it"
    if not weighing.experiment.closed:
        yield "the experiment is not finished; the command that began it goes on with it"


def _table(title: str, *headings: str) -> Table:
    """An empty table as all of ours look: a title, bold headings, no lines."""
    return Table(*headings, title=title, title_justify="left", pad_edge=False, box=None, header_style="bold")


def _print_comparisons(console: Console, weighing: Weighing) -> None:
    """A table a system, and under it what is to be remarked: beside it there is no room for sentences."""
    for system in dict.fromkeys(one.system for one in weighing.comparisons):
        ours = [one for one in weighing.comparisons if one.system == system]
        table = _table(f"{system} against {weighing.baseline}")
        with_values = console.width >= _WIDTH_OF_VALUES
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
        console.print(table)
        for one in ours:
            if not with_why and wording.why(one):
                console.print(Text(f"  {wording.label(one.cell, one.metric)}: {wording.why(one)}"))
            if wording.remarks(one):
                console.print(Text(f"  {wording.label(one.cell, one.metric)}: {wording.remarks(one)}"))
        console.print()


def _cells(one: Comparison, *, with_values: bool) -> Iterable[str | Text]:
    yield Text(wording.label(one.cell, one.metric))
    for value in (one.baseline_value, one.value) if with_values else ():
        yield wording.value(value.value, one.unit) if value else "–"
    yield wording.factor(one.ratio.value) if one.ratio else "–"
    yield Text(wording.interval(one.ratio) if one.ratio else "")
    yield Text(wording.verdict_text(one), style=_STYLES[one.verdict])
    yield str(one.blocks)


def _print_levels(console: Console, weighing: Weighing) -> None:
    """One system alone: what it does, with nothing to hold it against."""
    table = _table(f"{weighing.baseline} (medians over trials)", "workload", "value", "95 % interval")
    for one in weighing.levels:
        table.add_row(
            Text(wording.label(one.cell, one.metric)),
            wording.value(one.value.value, one.unit),
            Text(wording.value_interval(one.value, one.unit)),
        )
    if table.row_count:
        console.print(table)


def _print_reference_means(console: Console, weighing: Weighing) -> None:
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
        console.print(table)


def _print_curves(console: Console, weighing: Weighing) -> None:
    """A row for each plateau and knee of each curve: what the segments say in numbers."""
    table = _table(
        "Curves: plateaus and knees",
        "workload", "system", "part", "sizes", "level or place", "against the baseline", "verdict",
    )  # fmt: skip
    for one in weighing.curves:
        for line in one.lines:
            for row in wording.parts_of(one, line):
                style = _STYLES[row.verdict] if row.verdict else ""
                table.add_row(
                    Text(wording.label(one.cell, one.metric)),
                    line.system,
                    *(Text(text) for text in row.texts),
                    Text(f"{wording.MARKS[row.verdict]} {row.verdict}" if row.verdict else "", style=style),
                )
    if table.row_count:
        console.print(table)


def _print_findings(console: Console, weighing: Weighing) -> None:
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
    if table.row_count:
        console.print(table)


def _print_indices(console: Console, weighing: Weighing) -> None:
    table = _table(
        "Geometric means of the ratios (above 1: better than the baseline)",
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
                Text(f"{wording.MARKS[index.verdict]} {index.verdict}", style=_STYLES[index.verdict]),
            )
    if table.row_count:
        console.print(table)


def _print_gains(console: Console, weighing: Weighing) -> None:
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
    if table.row_count:
        console.print(table)


def _print_multiprogramming(console: Console, weighing: Weighing) -> None:
    """A row a cell and system: what many processes at once cost, and how they got on."""
    table = _table(
        "Many processes at once (medians over trials; price: over free sharing of the processors)",
        "workload", "system", "created", "finished", "total", "one alone", "price", "begins after",
        "uneven", "fairness",
    )  # fmt: skip
    for one in weighing.multiprogramming:
        table.add_row(Text(one.cell), one.system, *map(Text, wording.multiprogramming(one)))
    if table.row_count:
        console.print(table)
    for one in weighing.multiprogramming:
        for reason, count in one.failures:
            console.print(
                Text(f"  {one.cell} on {one.system}: {count} processes of {one.trials} trials: {reason}")
            )


def _print_scalings(console: Console, weighing: Weighing) -> None:
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
    if table.row_count:
        console.print(table)
    for sentence in wording.missing_laws(weighing.scalings):
        console.print(Text(f"  {sentence}"))


def _print_accounts(console: Console, weighing: Weighing) -> None:
    """A row a cell and system: what an operation costs this host's processes."""
    table = _table(
        "What an operation costs this host (medians over trials)",
        "workload", "system", "time", "user", "system mode", "both", "waiting", "asleep", "switches",
        "faults", "calls",
    )  # fmt: skip
    for one in weighing.accounts:
        table.add_row(Text(wording.label(one.cell, one.metric)), one.system, *map(Text, wording.account(one)))
    if table.row_count:
        console.print(table)


def _print_published(console: Console, printed: Printed) -> None:
    """A published table may have more systems than a terminal has room for: its columns then become rows."""
    headings, *rows = printed.headings, *printed.rows
    if len(rows) < len(headings):
        headings, *rows = zip(headings, *rows, strict=True)
    table = _table(printed.title, *headings)
    table.caption, table.caption_justify = printed.note, "left"
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _provenance(weighing: Weighing) -> str:
    header = weighing.experiment.header
    return (
        f"experiment {weighing.experiment.name}: {weighing.trials} trials in {weighing.blocks} blocks, "
        f"seed {header['seed']}, Steelyard {header['steelyard']}"
    )
