"""Shows a weighing, and lists, on standard output and as a page: one object, several forms.

`console` for people at a terminal, `plain` for programs (JSON, CSV), `page` for everybody else.
"""

from pathlib import Path

from steelyard import study_file
from steelyard.errors import UsageError
from steelyard.report import console, papers, plain, published
from steelyard.watch.accounts import Account
from steelyard.weighing import Weighing


def tables_of(weighing: Weighing, reference: str | None) -> tuple[papers.Printed, ...]:
    """The published tables of the study that the experiment was made from."""
    header = weighing.experiment.header
    made_from = study_file.parse(header["study_text"], file=header["study"])
    return published.tables(weighing, made_from, reference=reference)


def print_out(weighing: Weighing, *, form: str, reference: str | None, everything: bool = False) -> None:
    """Prints the weighing as "text", "json" or "csv"; with `everything` a text has every table."""
    if form == "json":
        plain.print_json(weighing)
    elif form == "csv":
        plain.print_csv(weighing)
    else:
        console.print_weighing(weighing, tables=tables_of(weighing, reference), everything=everything)


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
        raise UsageError(f"--html is '{path}', which cannot be written: {error.strerror}") from error


def write_watch_html(account: Account, path: Path, *, watched: str) -> None:
    """Writes a watch's account as one page. Raises UsageError where the file cannot be written."""
    from steelyard.report import watch_page  # as above

    try:
        watch_page.write(path, account, watched=watched)
    except OSError as error:
        raise UsageError(f"--html is '{path}', which cannot be written: {error.strerror}") from error
