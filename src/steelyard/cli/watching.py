"""watch: accounts for processes. What reckons and draws is imported when the watch has ended."""

import shlex
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TextIO

from steelyard import streams
from steelyard.cli import output, watch_options
from steelyard.cli.verb import Verb, given_to_steer
from steelyard.cli.watch_options import WatchOptions
from steelyard.errors import SystemFailed, UsageError
from steelyard.text import quoted

if TYPE_CHECKING:
    from steelyard.watch.model import Watch


def _watch(options: WatchOptions) -> int:
    if options.words:
        raise UsageError(
            f"{quoted(options.words[0])} stands before any --; a command is written after it: "
            f"steelyard watch -- {shlex.join(options.words)}"
        )
    top = watch_options.number("--top", options.top)
    if options.html:
        output.may_be_written("--html", options.html)
    if options.kept:
        return _report_kept(options, options.kept, top=top)
    return _measure(options, top=top)


def _measure(options: WatchOptions, *, top: int) -> int:
    """Watches, reports, and returns the command's own exit status if there is one."""
    from steelyard.watch import monitor, sentences, session, views

    order = watch_options.order(options)
    opened = _report_file(options)
    with (
        views.open_all(order, live=options.live, openmetrics=options.openmetrics, say=streams.tell) as shown,
        monitor.start(order, program=options.program, output=shown.output) as running,
        opened as file,
    ):
        with shown.over(running) as onlookers:
            session.wait(running, order, onlookers=onlookers, look_s=shown.look_s)
        watch, status = running.finish()
        # A command that could not be executed is no process: the monitor has said why.
        if watch is not None and (watch.processes or status <= 0):
            _report(watch, sentences.subject(order), options, top=top, file=file)
    if status < 0:
        left = " before it had begun" if watch is None else ": what it had told until then is reported"
        raise SystemFailed(f"the monitor was killed by signal {-status}{left}")
    return status


def _report_kept(options: WatchOptions, name: str, *, top: int) -> int:
    from steelyard.archive import watches

    if also := [*(["a command"] if options.command else []), *given_to_steer(options)]:
        raise UsageError(f"--kept reports a watch that is over, and goes without {also[0]}")
    entry = watches.find(output.archive(options.archive), name, streams.tell)
    with _report_file(options) as file:
        _report(watches.read(entry), entry.header["watched"], options, top=top, file=file)
    return 0


def _report_file(options: WatchOptions) -> AbstractContextManager[TextIO]:
    """Where the report goes: a command has standard output for itself."""
    if options.output is None:
        return nullcontext(sys.stderr if options.command else sys.stdout)
    with output.writing("--output", options.output):
        return open(options.output, "w", encoding="utf-8")


def _report(watch: "Watch", watched: str, options: WatchOptions, *, top: int, file: TextIO) -> None:
    from steelyard.watch import accounts, console, plain

    account = accounts.of(
        watch, by=options.by, group_series=options.format != "text", is_front_end=not options.kept
    )
    # Files first: whoever reads what is printed may have seen enough before its end.
    advice = []
    if options.html:
        from steelyard.report import watch_page  # draws charts: a second to import, and only for this

        with output.writing("--html", options.html):
            watch_page.write(options.html, account, watched=watched)
        advice.append(f"the page is in {options.html}")
    if options.keep:
        from steelyard.archive import watches

        root = output.archive(options.archive)
        entry = watches.keep(root, watch, watched=watched)
        advice.append(f"the watch is kept as {entry.name} in {root}")
    if options.format == "json":
        plain.print_json(account, file)
    elif options.format == "csv":
        plain.print_csv(account, file, table=options.table)
    else:
        console.print_account(account, file, watched=watched, top=top)
    for sentence in advice:
        streams.tell(sentence)


WATCH = Verb(
    "watch",
    "account for what processes cost, at almost no cost to them",
    WatchOptions,
    _watch,
    """examples:
  steelyard watch -- make -j2                  run a command and account for its whole tree
  steelyard watch -p PID [-p PID]              attach to running processes (and their children), until
                                               Ctrl-C or --for 60s
  steelyard watch --cgroup PATH                everything in a cgroup
  steelyard watch --every 5s --children 1/20 -p PID
                                               a series every 5 s, one in twenty of the children followed
  steelyard watch --detail calls --by program --format json --output calls.json -- make -j2
  steelyard watch --html make.html -- make -j2
                                               as a page: the processes' timeline, series, calls
  steelyard watch --kept 20260131-120000-watch-1a2b --by program
                                               a kept watch (--keep), once more
  steelyard watch --live -p PID                a screen, drawn anew every second
  steelyard watch --openmetrics :9435 --cgroup PATH
                                               metrics that a Prometheus scrapes, until Ctrl-C

The exit status is the command's own; 77: nothing can watch here; 2: something that was written is wrong.""",
    usage="%(prog)s [options] -- COMMAND [ARGUMENT ...]\n"
    "       %(prog)s [options] -p PID [-p PID ...]\n"
    "       %(prog)s [options] --cgroup PATH\n"
    "       %(prog)s [report options] --kept NAME",
    takes_command=True,
)
