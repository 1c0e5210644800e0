"""watch: accounts for processes. What reckons and draws is imported before the watch begins."""

import io
import shlex
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from steelyard import destination, libraries, streams
from steelyard.cli import output, watch_options
from steelyard.cli.verb import Verb, given_to_steer
from steelyard.cli.watch_options import WatchOptions
from steelyard.errors import SteelyardError, SystemFailed, UsageError
from steelyard.text import quoted

if TYPE_CHECKING:
    from steelyard.watch.accounts import Account
    from steelyard.watch.model import Watch


def _watch(options: WatchOptions) -> int:
    if options.words:
        raise UsageError(
            f"{quoted(options.words[0])} stands before any --; a command is written after it: "
            f"steelyard watch -- {shlex.join(options.words)}"
        )
    if options.kept:
        return _report_kept(options, options.kept)
    return _measure(options)


def _measure(options: WatchOptions) -> int:
    """Watches, reports, and returns the command's own exit status if there is one."""
    libraries.load(*_reporting(options))
    from steelyard.watch import monitor, sentences, session, views

    order = watch_options.order(options)
    with (
        views.open_all(order, live=options.live, openmetrics=options.openmetrics, say=streams.tell) as shown,
        monitor.start(order, program=options.program, output=shown.output) as running,
    ):
        with shown.over(running) as onlookers:
            session.wait(running, order, onlookers=onlookers, look_s=shown.look_s)
        watch, status = running.finish()
        # A command that could not be executed is no process: the monitor has said why.
        if watch is not None and (watch.processes or status <= 0):
            _report(watch, sentences.subject(order), options)
    if status < 0:
        left = " before it began" if watch is None else ": the report has what it recorded until then"
        raise SystemFailed(f"the monitor was killed by signal {-status}{left}")
    return status


def _report_kept(options: WatchOptions, name: str) -> int:
    from steelyard.archive import watches

    if also := [*(["a command"] if options.command else []), *given_to_steer(options)]:
        raise UsageError(f"--kept reports a finished watch, and cannot be combined with {also[0]}")
    entry = watches.find(output.archive(options.archive), name, streams.tell)
    _report(watches.read(entry), entry.header["watched"], options)
    return 0


def _reporting(options: WatchOptions) -> list[str]:
    """The modules that the report needs."""
    drawing = ["steelyard.report.watch_page"] if options.html else []
    keeping = ["steelyard.archive.watches"] if options.keep else []
    return [
        "steelyard.watch.accounts",
        "steelyard.watch.console",
        "steelyard.watch.plain",
        *drawing,
        *keeping,
    ]


def _report(watch: "Watch", watched: str, options: WatchOptions) -> None:
    """Keep the watch, print the report and draw the page, in this order: the measurement exists nowhere else,
    and a page takes long. A failure of one does not prevent the others.
    """
    libraries.load(*_reporting(options))
    from steelyard.watch import accounts

    @cache
    def account() -> "Account":
        is_text = options.format == "text"
        return accounts.of(
            watch,
            by=options.by,
            with_groups=is_text or options.by != "process",  # JSON and CSV have processes by themselves
            group_series=not is_text,
            is_front_end=not options.kept,
        )

    steps: list[Callable[[], str]] = [lambda: _print(account(), watched, options)]
    if options.keep:
        steps.insert(0, lambda: _keep(watch, watched, options))
    if page := options.html:
        steps.append(lambda: _draw(account(), watched, page))
    advice: list[str] = []
    failures: list[SteelyardError | OSError] = []
    for step in steps:
        try:
            advice.append(step())
        except (SteelyardError, OSError) as error:
            failures.append(error)
    for sentence in [*filter(None, advice), *map(str, failures[1:])]:
        streams.tell(sentence)
    if failures:
        raise failures[0]


def _keep(watch: "Watch", watched: str, options: WatchOptions) -> str:
    from steelyard.archive import watches

    root = output.archive(options.archive)
    entry = watches.keep(root, watch, watched=watched)
    return f"the watch is kept as {entry.name} in {root}"


def _print(account: "Account", watched: str, options: WatchOptions) -> str:
    """Prints the report: a command keeps standard output for itself."""
    from steelyard.watch import console, plain

    written = io.StringIO()
    file: TextIO = written if options.output else sys.stderr if options.command else sys.stdout
    if options.format == "json":
        plain.print_json(account, file)
    elif options.format == "csv":
        plain.print_csv(account, file, table=options.table)
    else:
        console.print_account(account, file, watched=watched, top=options.top)
    file.flush()  # its reader need not wait for the page
    if options.output:
        output.write("--output", options.output, written.getvalue())
    return ""


def _draw(account: "Account", watched: str, page: Path) -> str:
    from steelyard.report import watch_page

    with output.writing("--html", page):
        watch_page.write(page, account, watched=watched)
    return f"the page is in {page}" if destination.is_file(page) else ""


WATCH = Verb(
    "watch",
    "measure the CPU time, memory and system calls of processes, with almost no overhead",
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
                                               report a kept watch (--keep) again
  steelyard watch --live -p PID                a live screen, updated every second
  steelyard watch --openmetrics :9435 --cgroup PATH
                                               metrics that a Prometheus scrapes, until Ctrl-C

The exit status is the command's own; 77: no monitor works here; 2: usage error.""",
    usage="%(prog)s [options] -- COMMAND [ARGUMENT ...]\n"
    "       %(prog)s [options] -p PID [-p PID ...]\n"
    "       %(prog)s [options] --cgroup PATH\n"
    "       %(prog)s [report options] --kept NAME",
    takes_command=True,
    shares_output=True,
)
