"""The command line: one function per verb, which wires the parts together and prints.

Standard output is data, standard error is progress and advice. The modules that reckon and draw are
imported by the verbs that need them, so that --help answers at once.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from steelyard import interruption
from steelyard.archive import schema
from steelyard.errors import SteelyardError, SystemFailed, UnknownName, UsageError

if TYPE_CHECKING:
    from steelyard.archive.experiments import Experiment
    from steelyard.watch.model import Watch

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_STANDARD_STUDY = "standard"
_USUAL_EVERY = "1s"  # where a watch is shown as it goes on, or drawn


def main(argv: Sequence[str] | None = None) -> int:
    """Does what the arguments say and returns the exit status: 0 done, 1 failed, 2 usage, 77
    unsupported here, 130 interrupted."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if words and not words[0].startswith("-") and words[0] not in _VERBS:
            raise UnknownName("command", words[0], _VERBS)
        words, command = _command_apart(words)
        arguments = _parser().parse_args(words)
        arguments.command = command
        _put_in_order()
        with interruption.told_apart():
            return int(arguments.verb(arguments))
    except SystemExit as leaving:  # argparse has printed its help or its complaint
        return int(leaving.code or 0)
    except SteelyardError as error:
        _say(f"steelyard: {error}")
        return error.exit_status
    except KeyboardInterrupt:
        _say("steelyard: interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        _close_output()
        return 0
    except OSError as error:
        _say(f"steelyard: {error}")
        return 1


def _command_apart(words: list[str]) -> tuple[list[str], list[str]]:
    """What stands after the first -- of `watch` is a command, whatever it looks like."""
    if words[:1] != ["watch"] or "--" not in words:
        return words, []
    place = words.index("--")
    return words[:place], words[place + 1 :]


def entry() -> NoReturn:
    """The installed command. The first Ctrl-C ends what is being done, and what is known is reported; a
    second one, and a request to terminate, end that too: all is put in order first."""
    interruption.take()
    status = main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _close_output()
    interruption.ignore()
    sys.exit(status)


def _put_in_order() -> None:
    """What a run that was killed together with its guards has left is put back first, whatever is asked."""
    from steelyard.systems import ledger

    for sentence in ledger.put_back_leftovers():
        _say(f"steelyard: {sentence}")


def _close_output() -> None:
    """Whoever read us has seen enough; Python would complain again when it flushes at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _tell(sentence: str) -> None:
    _say(f"steelyard: {sentence}")


# The verbs


def _compare(arguments: argparse.Namespace) -> int:
    if len(arguments.systems) < 2:
        raise UsageError("compare needs at least two systems, such as: steelyard compare native uml")
    return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    """Measures what the study asks for, or goes on where the same command stopped; then reports."""
    from steelyard import report
    from steelyard.running import experiment
    from steelyard.watch import asked

    html = Path(arguments.html) if arguments.html else None
    if html:
        asked.may_be_written("--html", html)
    order = experiment.Order(
        study=arguments.study,
        systems=tuple(arguments.systems) if arguments.systems else None,
        only=tuple(arguments.only),
        budget=arguments.budget,
        margin=arguments.margin,
        seed=arguments.seed,
        archive=_archive(arguments),
        directory=arguments.directory,
        resume=not arguments.new,
        command=shlex.join(["steelyard", *sys.argv[1:]]),
        watch=arguments.watch,
    )
    done = experiment.carry_out(order, report.onlooker(html))
    _print_report(done, arguments)
    return 0 if done.closed else _INTERRUPTED


def _report(arguments: argparse.Namespace) -> int:
    from steelyard.archive import experiments

    return _print_report(experiments.find(_archive(arguments), arguments.experiment, _tell), arguments)


def _print_report(experiment: "Experiment", arguments: argparse.Namespace) -> int:
    from steelyard import report
    from steelyard.analysis import weigh
    from steelyard.study import model

    margin = model.fraction(arguments.margin) if arguments.margin else None
    if arguments.html:
        report.prepare_html()
    found = weigh.of(experiment, baseline=arguments.baseline, margin=margin)
    if arguments.html:
        report.write_html(found, Path(arguments.html), reference=arguments.reference)
        _say(f"steelyard: the report is in {arguments.html}")
    report.print_out(
        found, form=arguments.format, reference=arguments.reference, everything=arguments.everything
    )
    return 0


def _plan(arguments: argparse.Namespace) -> int:
    from steelyard.report import listing
    from steelyard.running import experiment

    order = experiment.Order(
        study=arguments.study,
        systems=tuple(arguments.systems) if arguments.systems else None,
        only=tuple(arguments.only),
        budget=arguments.budget,
        seed=arguments.seed,
    )
    listing.print_plan(experiment.plan_of(order), blocks=arguments.blocks, form=arguments.format)
    return 0


def _watch(arguments: argparse.Namespace) -> int:
    """Accounts for processes. What reckons and draws is imported when the watch has ended."""
    from steelyard.watch import asked, monitor, sentences, session, views

    if arguments.words:
        raise UsageError(
            f"'{arguments.words[0]}' stands before any --; a command is written after it: "
            f"steelyard watch -- {shlex.join(arguments.words)}"
        )
    top = asked.number("--top", arguments.top)
    if arguments.html:
        asked.may_be_written("--html", Path(arguments.html))
    if arguments.kept:
        return _report_kept(arguments, top=top)
    order = asked.order(
        command=arguments.command,
        pids=arguments.pid,
        cgroup=arguments.cgroup,
        detail=arguments.detail,
        backend=arguments.backend,
        every=arguments.every or (_USUAL_EVERY if _needs_series(arguments) else None),
        until=arguments.until,
        children=arguments.children,
        budget=arguments.budget,
        slots=arguments.slots,
        threads=arguments.threads,
        prove=arguments.prove,
    )
    output = _report_file(arguments)
    program = Path(arguments.program) if arguments.program else None
    with (
        views.opened(order, live=arguments.live, openmetrics=arguments.openmetrics, say=_say) as seen,
        monitor.start(order, program=program, output=seen.output) as running,
        output as file,
    ):
        with seen.over(running) as onlookers:
            session.wait(running, order, onlookers=onlookers, look_s=seen.look_s)
        found, status = running.finish()
        # A command that could not be executed is no process: the monitor has said why.
        if found is not None and (found.processes or not status):
            _report_watch(found, sentences.watched(order), arguments, top=top, file=file)
    if found is None and status < 0:
        raise SystemFailed(f"the monitor was killed by signal {-status} before it had begun")
    return status if status >= 0 else SystemFailed.exit_status


def _needs_series(arguments: argparse.Namespace) -> bool:
    return bool(arguments.html or arguments.live or arguments.openmetrics)


def _report_file(arguments: argparse.Namespace) -> AbstractContextManager[TextIO]:
    """Where the report of a watch goes: a command has standard output for itself."""
    if arguments.output is None:
        return nullcontext(sys.stderr if arguments.command else sys.stdout)
    try:
        return open(arguments.output, "w", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"--output is '{arguments.output}', which cannot be written: {error.strerror}"
        ) from error


def _report_kept(arguments: argparse.Namespace, *, top: int) -> int:
    from steelyard.archive import watches

    others = {
        "a command": arguments.command,
        "-p": arguments.pid,
        "--cgroup": arguments.cgroup,
        "--keep": arguments.keep,
        "--live": arguments.live,
        "--openmetrics": arguments.openmetrics,
        "--every": arguments.every,
        "--for": arguments.until,
        "--children": arguments.children,
        "--budget": arguments.budget,
        "--backend": arguments.backend,
        "--slots": arguments.slots,
        "--threads": arguments.threads,
        "--prove": arguments.prove,
        "--program": arguments.program,
    }
    if also := [name for name, given in others.items() if given]:
        raise UsageError(f"--kept reports a watch that is over, and goes without {also[0]}")
    kept = watches.find(_archive(arguments), arguments.kept, _tell)
    with _report_file(arguments) as file:
        _report_watch(watches.read(kept), kept.header["watched"], arguments, top=top, file=file)
    return 0


def _report_watch(
    found: "Watch", watched: str, arguments: argparse.Namespace, *, top: int, file: TextIO
) -> None:
    from steelyard.watch import accounts, console, plain

    account = accounts.of(
        found,
        by=arguments.by,
        group_series=arguments.format != "text",
        is_front_end=not arguments.kept,
    )
    # Files first: whoever reads what is printed may have seen enough before its end.
    said = []
    if arguments.html:
        from steelyard import report

        report.write_watch_html(account, Path(arguments.html), watched=watched)
        said.append(f"steelyard: the page is in {arguments.html}")
    if arguments.keep:
        from steelyard.archive import watches

        kept = watches.keep(_archive(arguments), found, watched=watched)
        said.append(f"steelyard: the watch is kept as {kept.name} in {_archive(arguments)}")
    if arguments.format == "json":
        plain.print_json(account, file)
    elif arguments.format == "csv":
        plain.print_csv(account, file, table=arguments.table)
    else:
        console.print_account(account, file, watched=watched, top=top)
    for sentence in said:
        _say(sentence)


def _build(arguments: argparse.Namespace) -> int:
    """Compiles a further build of the load program; prints its name."""
    from steelyard.programs import builds

    level = arguments.level.removeprefix("-")
    build = builds.Build(arguments.cc, arguments.libc, level, arguments.shared, arguments.target)
    place = builds.make(build)
    advice = "" if arguments.target else f"; a system runs it as, for example, native+{build.name}"
    _say(f"steelyard: {place} is built{advice}")
    print(build.name)
    return 0


def _list(arguments: argparse.Namespace) -> int:
    from steelyard.report import listing

    listing.print_list(arguments.kind, form=arguments.format)
    return 0


def _archive_verb(arguments: argparse.Namespace) -> int:
    from steelyard.archive import experiments, watches
    from steelyard.report import listing

    root = _archive(arguments)
    if arguments.action == "list" and arguments.watches:
        listing.print_watches(watches.kept(root, _tell), form=arguments.format)
    elif arguments.action == "list":
        listing.print_experiments(experiments.experiments(root, _tell), form=arguments.format)
    elif arguments.action == "show":
        listing.print_header(experiments.find(root, arguments.experiment, _tell), form=arguments.format)
    elif arguments.action == "merge":
        count = experiments.merge(root, Path(arguments.source), _tell)
        watched = watches.merge(root, Path(arguments.source), _tell)
        also = f" and {watched} watches" if watched else ""
        _say(f"steelyard: {count} experiments{also} copied into {root}")
    elif arguments.table in watches.TABLES:
        kept = watches.find(root, arguments.experiment, _tell)
        watches.export(kept, arguments.table, Path(arguments.file))
    else:
        found = experiments.find(root, arguments.experiment, _tell)
        experiments.export(found, arguments.table, Path(arguments.file))
    return 0


# Arguments


def _archive(arguments: argparse.Namespace) -> Path:
    from steelyard.archive import experiments

    return Path(arguments.archive) if arguments.archive else experiments.default_root()


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="steelyard",
        description="Weighs one operating system against another: which is faster, at what kind of work, "
        "by how much, and how surely.",
        epilog=_EXAMPLES["steelyard"],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    verbs = parser.add_subparsers(title="commands, in the order of work", metavar="COMMAND", required=True)
    for name, (function, summary, declare) in _VERBS.items():
        verb = verbs.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=_EXAMPLES[name],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        declare(verb)
        verb.set_defaults(verb=function)
    return parser


def _declare_place(verb: argparse._ActionsContainer) -> None:
    verb.add_argument(
        "--archive",
        metavar="DIR",
        help="where experiments are kept (default: STEELYARD_ARCHIVE, or ~/.local/share/steelyard)",
    )


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        from importlib.metadata import version

        print(f"steelyard {version('steelyard')}")
        parser.exit()


def _declare_choice(verb: argparse.ArgumentParser) -> None:
    """What a plan follows from, besides the study and the systems."""
    verb.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="WORKLOAD",
        help="only this workload of the study; may be given again",
    )
    verb.add_argument(
        "--budget", metavar="TIME", help="stop measuring after that, such as 60s or 5m (default: the study's)"
    )
    verb.add_argument("--seed", type=int, metavar="N", help="of the random order (default: drawn)")


def _declare_measuring(verb: argparse.ArgumentParser) -> None:
    _declare_choice(verb)
    verb.add_argument(
        "--directory",
        metavar="DIR",
        help="where workloads make their files "
        "(default: the temporary directory); its file system is part of what is measured",
    )
    verb.add_argument(
        "--watch",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="account for what every trial costs this host, and say what goes along with a difference (the "
        "default, where a monitor works that costs what is timed nothing)",
    )
    verb.add_argument(
        "--new", action="store_true", help="begin anew, even if the same command was interrupted before"
    )


def _declare_reporting(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--margin",
        metavar="PERCENT",
        help="the smallest difference that matters, such as 2%% (default: by workload)",
    )
    verb.add_argument("--html", metavar="FILE", help="write the report as one self-contained page")
    verb.add_argument(
        "--all",
        dest="everything",
        action="store_true",
        help="print every table after the answer: each metric with its values, curves, indices",
    )
    verb.add_argument("--baseline", metavar="SYSTEM", help="compare with this system (default: the first)")
    verb.add_argument(
        "--reference",
        metavar="SYSTEM",
        help="normalise a paper's tables to this column of theirs (default: the paper's own)",
    )
    _declare_format(verb)
    _declare_place(verb)


def _declare_format(verb: argparse._ActionsContainer) -> None:
    verb.add_argument(
        "--format", choices=("text", "json", "csv"), default="text", help="of what is printed (default: text)"
    )


def _declare_compare(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "systems",
        nargs="+",
        metavar="SYSTEM",
        help="the baseline, then what is compared with it; see steelyard list systems",
    )
    verb.add_argument("--study", default=_STANDARD_STUDY, help="bundled name or file (default: %(default)s)")
    _declare_measuring(verb)
    _declare_reporting(verb)


def _declare_run(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("study", help="bundled name (see steelyard list studies) or file")
    verb.add_argument("--systems", nargs="+", metavar="SYSTEM", help="in place of the study's")
    _declare_measuring(verb)
    _declare_reporting(verb)


def _declare_plan(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("study", help="bundled name or file")
    verb.add_argument("--systems", nargs="+", metavar="SYSTEM", help="in place of the study's")
    verb.add_argument("--blocks", type=int, default=1, metavar="N", help="print so many blocks (default: 1)")
    _declare_choice(verb)
    _declare_format(verb)


def _declare_report(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("experiment", nargs="?", help="its name or directory (default: the newest)")
    _declare_reporting(verb)


def _declare_watch(verb: argparse.ArgumentParser) -> None:
    verb.usage = (
        "%(prog)s [options] -- COMMAND [ARGUMENT ...]\n"
        "       %(prog)s [options] -p PID [-p PID ...]\n"
        "       %(prog)s [options] --cgroup PATH\n"
        "       %(prog)s [report options] --kept NAME"
    )
    verb.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    what = verb.add_argument_group("what is watched, with all its descendants")
    what.add_argument("-p", "--pid", action="append", default=[], metavar="PID", help="may be given again")
    what.add_argument("--cgroup", metavar="PATH", help="everything in a control group, by its directory")
    what.add_argument(
        "--kept",
        metavar="NAME",
        help="nobody: report a watch of the archive again (steelyard archive list --watches)",
    )
    what.add_argument(
        "--children", metavar="1/N", help="follow one in N of a followed process's children (default: all)"
    )
    what.add_argument(
        "--for", dest="until", metavar="TIME", help="so long, such as 60s (default: until it ends, or Ctrl-C)"
    )
    how = verb.add_argument_group("how closely")
    how.add_argument(
        "--detail",
        choices=("life", "budget", "calls", "profile", "latency"),
        default="budget",
        help="life: all but system calls, at no cost a call; budget: every call counted as long as that fits "
        "--budget, else estimated from short windows, with intervals; calls: every call counted; profile: "
        "which call it is in, by samples; latency: every call timed (default: budget)",
    )
    how.add_argument(
        "--budget",
        metavar="PERCENT",
        help="the share of one processor that counting may cost, all processes together (default: 0.5%%)",
    )
    how.add_argument("--every", metavar="TIME", help="a series as well, read so often, such as 5s or 250ms")
    how.add_argument("--threads", action="store_true", help="account for each thread as well")
    how.add_argument(
        "--prove",
        action="store_true",
        help="measure what the monitor costs the watched, by windows with and without it",
    )
    how.add_argument(
        "--backend",
        metavar="NAME",
        help="bpf, perf, taskstats, ptrace or proc (default: the best that works)",
    )
    how.add_argument(
        "--slots", metavar="N", help="processes and threads at one time (default: by the detail)"
    )
    how.add_argument(
        "--program",
        metavar="FILE",
        help="another steelyard-watch than the installed one: one with capabilities",
    )
    _declare_watch_report(verb)


def _declare_watch_report(verb: argparse.ArgumentParser) -> None:
    during = verb.add_argument_group("while it goes on")
    during.add_argument(
        "--live",
        action="store_true",
        help="a screen, drawn anew at every reading; what a command writes is shown when it has ended",
    )
    during.add_argument(
        "--openmetrics",
        metavar="ADDRESS",
        help="metrics for a Prometheus at http://ADDRESS/metrics, such as :9435 (of this host alone) or "
        "192.0.2.1:9435; port 0 takes a free one",
    )
    report = verb.add_argument_group("the report")
    report.add_argument(
        "--by",
        choices=("process", "program", "generation"),
        default="process",
        help="what a row is (default: process)",
    )
    report.add_argument("--top", default="20", metavar="N", help="rows of a table at most (default: 20)")
    _declare_format(report)
    report.add_argument(
        "--table",
        choices=("processes", "calls", "series"),
        default="processes",
        help="with --format csv (default: processes)",
    )
    report.add_argument(
        "--output",
        metavar="FILE",
        help="where it goes (default: standard error with a command, which has standard output; else "
        "standard output)",
    )
    report.add_argument("--html", metavar="FILE", help="write it as one self-contained page as well")
    report.add_argument("--keep", action="store_true", help="keep the watch in the archive, as Parquet")
    _declare_place(report)


def _declare_build(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--cc", default="gcc", metavar="COMPILER", help="gcc, clang or zig (default: %(default)s)"
    )
    verb.add_argument(
        "--target",
        default="",
        metavar="TARGET",
        help="with --cc zig, in place of --libc: another processor or system, such as aarch64-linux-musl",
    )
    verb.add_argument("--libc", default="glibc", metavar="LIBC", help="glibc or musl (default: %(default)s)")
    verb.add_argument(
        "--level",
        default="O2",
        metavar="LEVEL",
        help="of optimisation: O0, O1, O2, O3, Os or Ofast (default: O2)",
    )
    verb.add_argument(
        "--shared",
        action="store_true",
        help="link with the system's shared libraries, and its RPC library if there is one",
    )


def _declare_list(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "kind", nargs="?", choices=("systems", "workloads", "studies", "builds"), default="systems"
    )
    _declare_format(verb)


def _declare_archive(verb: argparse.ArgumentParser) -> None:
    actions = verb.add_subparsers(dest="action", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="every experiment, or every watch")
    listed.add_argument("--watches", action="store_true", help="what steelyard watch --keep has kept")
    _declare_format(listed)
    show = actions.add_parser("show", help="what an experiment was")
    show.add_argument("experiment", nargs="?")
    _declare_format(show)
    merge = actions.add_parser("merge", help="copy another archive's experiments into this one")
    merge.add_argument("source", metavar="DIR")
    export = actions.add_parser("export", help="write a table of an experiment as CSV, JSON or Parquet")
    export.add_argument("experiment")
    export.add_argument("file", help="ending in .csv, .json or .parquet")
    export.add_argument(
        "--table",
        choices=tuple(dict.fromkeys((*schema.TABLES, "processes", "calls", "readings"))),
        default="samples",
        help="the last three are a watch's (default: samples)",
    )
    for action in (listed, show, merge, export):
        _declare_place(action)


_Declare = Callable[[argparse.ArgumentParser], None]
_VERBS: dict[str, tuple[Callable[[argparse.Namespace], int], str, _Declare]] = {
    "compare": (_compare, "compare systems with each other", _declare_compare),
    "run": (_run, "run a study; the same command goes on where it was interrupted", _declare_run),
    "plan": (_plan, "print what a study would run, in which order, for how long", _declare_plan),
    "report": (_report, "report an experiment, again", _declare_report),
    "watch": (_watch, "account for what processes cost, at almost no cost to them", _declare_watch),
    "build": (
        _build,
        "make a further build of the load program: compiler, libc, optimisation",
        _declare_build,
    ),
    "list": (_list, "list the systems, workloads, studies or builds there are", _declare_list),
    "archive": (_archive_verb, "list, show, merge or export experiments", _declare_archive),
}

_EXAMPLES = {
    "steelyard": """examples:
  steelyard compare native uml              this kernel against User-mode Linux
  steelyard run pegasus                     a paper's experiment, its figures beside today's
  steelyard watch -- make -j2               what a command and its whole tree cost
  steelyard report --html report.html       the newest experiment, as a page""",
    "compare": """examples:
  steelyard compare native uml gvisor --study pegasus --html report.html
  steelyard compare native uml --only syscall --watch   and what the host does for each call
  steelyard compare native native --budget 60s          a machine with itself: finds nothing
  steelyard compare native ssh:server2 --only syscall --margin 2%""",
    "run": """examples:
  steelyard run pegasus
  steelyard run pegasus --systems native uml --budget 10m
  steelyard run ./my-study.toml --seed 1""",
    "plan": """examples:
  steelyard plan pegasus
  steelyard plan pegasus --systems native uml --seed 1 --format csv""",
    "report": """examples:
  steelyard report
  steelyard report --all
  steelyard report --html report.html
  steelyard report 20260131-120000-pegasus-1a2b --baseline uml --format json""",
    "watch": """examples:
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
    "build": """examples:
  steelyard build --cc clang --libc musl
  steelyard build --level O3
  steelyard build --cc zig --target aarch64-linux-musl       for the system qemu-aarch64
  steelyard compare native native+gcc-glibc-O3 --study nbench""",
    "list": """examples:
  steelyard list systems
  steelyard list workloads --format json""",
    "archive": """examples:
  steelyard archive list
  steelyard archive merge /mnt/other/archive
  steelyard archive export 20260131-120000-pegasus-1a2b samples.csv""",
}
