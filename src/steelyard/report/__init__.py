"""Shows a weighing, and lists, on standard output and as a page: one object, several forms.

`console` for people at a terminal, `plain` for programs (JSON, CSV), `page` for everybody else.

Each module imports only from earlier ones: answers, notes, sentences, template, console, plain, listing,
diagnosis, page, so_far, screen, during, watch_page.
"""

from pathlib import Path

from steelyard.analysis.model import Weighing
from steelyard.analysis.standing import Judge
from steelyard.errors import UsageError
from steelyard.papers import source, tables
from steelyard.report import console, plain
from steelyard.running.progress import MakeOnlooker, Onlooker
from steelyard.study.plan import Plan
from steelyard.text import quoted
from steelyard.watch.accounts import Account


def tables_of(weighing: Weighing, reference: str | None) -> tuple[source.Printed, ...]:
    """The published tables of the study that the experiment was made from."""
    made_from = weighing.experiment.study
    return tables.tables(weighing, made_from, reference=reference) if made_from else ()


def print_out(weighing: Weighing, *, form: str, reference: str | None, everything: bool = False) -> None:
    """Prints the weighing as "text", "json" or "csv"; with `everything` a text has every table."""
    if form == "json":
        plain.print_json(weighing)
    elif form == "csv":
        plain.print_csv(weighing)
    else:
        console.print_weighing(weighing, tables=tables_of(weighing, reference), everything=everything)


def onlooker(html: Path | None) -> MakeOnlooker:
    """Who shows a run while it goes on, with a page at that path if there is one."""
    from steelyard.report import during  # for this alone

    def made(plan: Plan, judge: Judge) -> Onlooker:
        return during.Shown(plan, judge, html=html)

    return made


def prepare_html() -> None:
    """Begins, beside what else is done, what takes longest about a page: its charts' program."""
    from steelyard.report import template

    template.prepare()


def write_html(weighing: Weighing, path: Path, *, reference: str | None) -> None:
    """Writes the weighing as one page. Raises UsageError where the file cannot be written."""
    from steelyard.report import page  # draws charts: a second to import, and only for this

    try:
        page.write(path, weighing, tables=tables_of(weighing, reference))
    except OSError as error:
        raise UsageError(f"--html is {quoted(path)}, which cannot be written: {error.strerror}") from error


def write_watch_html(account: Account, path: Path, *, watched: str) -> None:
    """Writes a watch's account as one page. Raises UsageError where the file cannot be written."""
    from steelyard.report import watch_page  # as above

    try:
        watch_page.write(path, account, watched=watched)
    except OSError as error:
        raise UsageError(f"--html is {quoted(path)}, which cannot be written: {error.strerror}") from error
