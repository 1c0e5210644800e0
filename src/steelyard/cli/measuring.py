"""compare, run, plan, report: a study is measured, and what was found is reported."""

import argparse
import shlex
import sys
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard import destination, libraries, quantities, standstill, streams
from steelyard.cli import output, own_commands
from steelyard.cli.verb import (
    Verb,
    archive_option,
    format_option,
    option,
    output_option,
    part,
)
from steelyard.errors import SteelyardError, Unsupported, UsageError
from steelyard.quantities import number_of, parse_whole
from steelyard.study import bounds, own_work
from steelyard.text import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.analysis.model import Evaluation
    from steelyard.archive.experiments import StoredExperiment
    from steelyard.papers.source import Printed
    from steelyard.running.experiment import CarriedOut
    from steelyard.running.order import Order

_STANDARD_STUDY = "standard"
# A run imports all of it before it measures.
_REPORTING = (
    "steelyard.analysis.evaluate",
    "steelyard.report.console",
    "steelyard.report.plain",
    "steelyard.report.markdown",
)
_RECKONING = ("scipy.special", "steelyard.report.during")  # in every round
_FITTING = "scipy.optimize"  # of several copies' gains, for a report: a large part of all that is imported
_SEED = partial(parse_whole, least=1 - 10**18, most=10**18 - 1)
_BLOCKS = partial(parse_whole, most=bounds.BLOCKS_MOST)
_DRAWING = ("steelyard.report.page", "steelyard.report.so_far")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The parts of a plan besides the study and the systems."""

    only: tuple[str, ...] = option(
        "--only",
        default=(),
        action="append",
        metavar="WORKLOAD",
        help="only this workload of the study; may be repeated",
    )
    short: bool = option(
        "--short",
        default=False,
        action="store_true",
        help="the study's short form: every table, of fewer repetitions, within three minutes",
    )
    budget_ns: int | None = option(
        "--budget",
        parse=bounds.budget_ns,
        metavar="TIME",
        help="stop measuring after this time, such as 60s or 5m (default: the study's)",
    )
    precision: float | None = option(
        "--precision",
        parse=bounds.precision,
        metavar="PERCENT",
        help="measure until each claimed difference is known to within this, such as 5%%, and below 3%% "
        "what is equal too (default: the study's)",
    )
    seed: int | None = option(
        "--seed", parse=_SEED, metavar="N", help="seed of the random order (default: random)"
    )
    peer: str | None = option(
        "--peer",
        metavar="PEER",
        help="the far end of network workloads: loopback, namespace, laboratory or ssh:HOST (default: the "
        "study's)",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    choice: Choice = part(Choice)
    directory: str | None = option(
        "--directory",
        metavar="DIR",
        help="where workloads make their files "
        "(default: the temporary directory); its file system is part of what is measured",
    )
    watch: bool = option(
        "--watch",
        default=True,
        action=argparse.BooleanOptionalAction,
        help="also measure what each trial costs this host, to explain differences (default: on, if a "
        "monitor without overhead works here)",
    )
    reboots: bool = option(
        "--reboots",
        default=False,
        action="store_true",
        help="allow repeated reboots of this machine, for systems such as this:6.1.0-32-amd64",
    )
    new: bool = option(
        "--new",
        default=False,
        action="store_true",
        help="start over instead of resuming an interrupted run",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """Where a report goes, and how long it is."""

    html: Path | None = option(
        "--html", type=Path, metavar="FILE", help="write the report as one self-contained page"
    )
    export_json: Path | None = option(
        "--export-json", type=Path, metavar="FILE", help="also write the report as JSON"
    )
    export_csv: Path | None = option(
        "--export-csv",
        type=Path,
        metavar="FILE",
        help="also write the comparisons as CSV, or the values of one system",
    )
    export_markdown: Path | None = option(
        "--export-markdown", type=Path, metavar="FILE", help="also write the comparisons as Markdown"
    )
    everything: bool = option(
        "--all",
        default=False,
        action="store_true",
        help="print every table after the answer: each metric with its values, curves, indices",
    )
    time_unit: str = option(
        "--time-unit",
        default="",
        choices=tuple(quantities.TIME_UNITS),
        help="say every time in this unit (default: in the one that suits it)",
    )
    format: str = format_option()
    output: Path | None = output_option()
    archive: str | None = archive_option()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting(Showing):
    """The same of a comparison, and what it is made with."""

    margin: float | None = option(
        "--margin",
        parse=bounds.margin,
        metavar="PERCENT",
        help="the smallest difference that matters, such as 2%% (default: by workload)",
    )
    tables: bool = option(
        "--tables",
        default=False,
        action="store_true",
        help="print the paper's tables with today's figures, and nothing else",
    )
    baseline: str | None = option(
        "--baseline", metavar="SYSTEM", help="compare with this system (default: the first)"
    )
    reference: str | None = option(
        "--reference",
        metavar="SYSTEM",
        help="normalise a paper's tables to this column of theirs (default: the paper's own)",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    systems: tuple[str, ...] = option(
        default=(),
        nargs="*",
        metavar="SYSTEM",
        help="the baseline, then the systems to compare with it; see steelyard list systems",
    )
    study: str | None = option("--study", help=f"bundled name or file (default: {_STANDARD_STUDY})")
    own: own_commands.OwnOptions = part(own_commands.OwnOptions)
    command: tuple[str, ...] = ()
    measuring: Measuring = part(Measuring)
    reporting: Reporting = part(Reporting)


def _systems_option() -> Any:
    return option("--systems", nargs="+", metavar="SYSTEM", help="systems to compare, instead of the study's")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    study: str = option(help="bundled name (see steelyard list studies) or file")
    systems: tuple[str, ...] | None = _systems_option()
    measuring: Measuring = part(Measuring)
    reporting: Reporting = part(Reporting)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    study: str = option(help="bundled name or file")
    systems: tuple[str, ...] | None = _systems_option()
    blocks: int = option(
        "--blocks", default=1, parse=_BLOCKS, metavar="N", help="number of blocks to print (default: 1)"
    )
    choice: Choice = part(Choice)
    format: str = format_option()
    output: Path | None = output_option()
    archive: str | None = archive_option()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    experiment: str | None = option(
        default=None, nargs="?", help="its name or directory (default: the newest)"
    )
    reporting: Reporting = part(Reporting)


def _compare(options: CompareOptions) -> int:
    own = options.own
    if options.command or own.commands:
        if options.study is not None or options.measuring.choice.only:
            raise UsageError("a command of your own is a study of its own: leave out --study and --only")
        work = own_commands.work_of(options.systems, own, options.command)
        if advice := own_commands.advice(work):
            streams.tell(advice)
        from steelyard.running import discovery

        text = own_work.text_of(discovery.with_figures(work))
        return _measure(own_commands.STUDY, None, options.measuring, options.reporting, text)
    if len(options.systems) < 2:
        raise UsageError("compare needs at least two systems, such as: steelyard compare native uml")
    if given := own_commands.given(own):
        raise UsageError(f"{given} is for a command of your own: steelyard compare native uml -- COMMAND")
    return _measure(options.study or _STANDARD_STUDY, options.systems, options.measuring, options.reporting)


def _run(options: RunOptions) -> int:
    return _measure(options.study, options.systems, options.measuring, options.reporting)


def _measure(
    study: str, systems: tuple[str, ...] | None, measuring: Measuring, reporting: Reporting, text: str = ""
) -> int:
    return measured(study, systems, measuring, reporting, text)[0]


def measured(
    study: str, systems: tuple[str, ...] | None, measuring: Measuring, reporting: Reporting, text: str = ""
) -> "tuple[int, Evaluation]":
    """Measures what the study asks for, or resumes where the same command stopped; then reports. `text` is
    the study itself, where it is in no file. Returns the exit status, and what was found."""
    from steelyard.running import order
    from steelyard.systems import scratch

    for sentence in scratch.clear(Path(measuring.directory)) if measuring.directory else []:
        streams.tell(sentence)
    done = carry_out(
        order.Order(
            study=study,
            study_text=text,
            systems=systems,
            margin=reporting.margin,
            archive=output.archive(reporting.archive),
            directory=measuring.directory,
            reboots=measuring.reboots,
            resume=not measuring.new,
            watch=measuring.watch,
            **asdict(measuring.choice),
        ),
        reporting.html,
    )
    evaluation = _print_report(done.experiment, reporting)
    if done.too_short:
        streams.tell(
            f"{done.too_short}; what was measured is kept as {done.experiment.name}, and the same command "
            "resumes it with its whole budget"
        )
        return 0 if evaluation.went_well else UsageError.exit_status, evaluation
    return output.INTERRUPTED if done.is_interrupted else status_of(evaluation), evaluation


def carry_out(wanted: "Order", html: Path | None = None) -> "CarriedOut":
    """Measures, and shows what is found meanwhile."""
    from steelyard.running import estimate, order

    wanted = replace(wanted, command=shown(shlex.join(["steelyard", *sys.argv[1:]])))
    schedule = order.plan_of(wanted)
    members = order.members_of(schedule)
    # How long a command of the user's takes is unknown; its limit says nothing of it.
    if too_short := "" if wanted.study_text else estimate.sentence(schedule, members):
        streams.tell(too_short)  # before what measures and reckons is imported, which takes a second
    fitting = [_FITTING] if any(cell.copies > 1 for cell in schedule.cells) else []
    libraries.load(*_REPORTING, *_RECKONING, *fitting, *(_DRAWING if html else ()))
    from steelyard.report import during
    from steelyard.running import experiment

    return experiment.carry_out(wanted, schedule, during.onlooker(html), begun_s=standstill.begun_s())


def status_of(evaluation: "Evaluation") -> int:
    """0 if any trial succeeded; otherwise say why none did."""
    if evaluation.went_well or not evaluation.trials:
        return 0
    one = evaluation.troubles[0]
    reason = f": {one.reason}" if one.reason else ""
    failed = f"{one.cell} {one.status} on {one.system}{reason}"
    streams.tell(f"none of {number_of(evaluation.trials, 'trial')} succeeded; {failed}")
    is_unsupported = {each.status for each in evaluation.troubles} == {"unsupported"}
    return Unsupported.exit_status if is_unsupported else 1


def _plan(options: PlanOptions) -> int:
    from steelyard import systems
    from steelyard.archive import experiments
    from steelyard.report import listing
    from steelyard.running import estimate, forecast, order

    wanted = order.Order(study=options.study, systems=options.systems, **asdict(options.choice))
    plan = order.plan_of(wanted)
    if options.format != "text":
        listing.print_plan(plan, (), based_on=None, blocks=options.blocks, form=options.format)
        return 0
    other = order.plan_of(replace(wanted, short=not wanted.short), tell=lambda sentence: None)
    members = [systems.find(name.partition("#")[0], plan.study.definitions) for name in plan.systems]
    starts_s = sum(system.start_s for system in members)
    boots_s = sum(system.boot_s for system in members if system.boot)
    earlier = forecast.newest(experiments.experiments(output.archive(options.archive), streams.tell), plan)
    known = forecast.guessed(plan) | (forecast.measured(earlier, plan) if earlier else {})
    shares = forecast.shares(plan, known, start_s=starts_s, boot_s=boots_s)
    listing.print_plan(
        plan,
        shares,
        based_on=earlier.name if earlier else None,
        blocks=options.blocks,
        form=options.format,
        lengths=estimate.forms(plan, other),
    )
    return 0


def _report(options: ReportOptions) -> int:
    from steelyard.archive import experiments

    root = output.archive(options.reporting.archive)
    _print_report(experiments.find(root, options.experiment, streams.tell), options.reporting)
    return 0


def _print_report(experiment: "StoredExperiment", options: Reporting) -> "Evaluation":
    with quantities.times_in(options.time_unit):
        return _print_and_draw(experiment, options)


def _print_and_draw(experiment: "StoredExperiment", options: Reporting) -> "Evaluation":
    """Prints the report; then draws the page, which takes longer, if there is to be one."""
    libraries.load(*_REPORTING, *(_DRAWING if options.html else ()))
    from steelyard.analysis import evaluate
    from steelyard.papers import tables
    from steelyard.report import console, plain

    result = evaluate.of(
        experiment,
        baseline=options.baseline,
        margin=options.margin,
        machine_facts=bool(
            options.everything or options.html or options.export_json or options.format == "json"
        ),
    )
    made_from = result.experiment.study
    published = tables.tables(result, made_from, reference=options.reference) if made_from else ()
    unread: BrokenPipeError | SteelyardError | None = None
    try:
        if options.tables:
            _print_tables(published, options.format)
        elif options.format == "json":
            plain.print_json(result, published)
        elif options.format == "csv":
            plain.print_csv(result)
        else:
            console.print_evaluation(result, tables=published, everything=options.everything)
        sys.stdout.flush()  # its reader need not wait for the page
    except (BrokenPipeError, SteelyardError) as error:
        unread = error  # the page is wanted all the same
    _export(result, published, options)
    if options.html:
        from steelyard.report import page  # draws charts: a second to import, and only for this

        with output.writing("--html", options.html):
            page.write(options.html, result, tables=published)
        if destination.is_file(options.html):
            streams.tell(f"the report is in {options.html}")
    if unread is not None:
        raise unread
    return result


def _export(result: "Evaluation", published: "Sequence[Printed]", options: Reporting) -> None:
    """Writes the report's other forms that are asked for."""
    from steelyard.report import markdown, plain

    forms = (
        ("--export-json", options.export_json, partial(plain.print_json, result, published)),
        ("--export-csv", options.export_csv, partial(plain.print_csv, result)),
        ("--export-markdown", options.export_markdown, partial(markdown.print_evaluation, result)),
    )
    for flag, path, show in forms:
        if path is not None:
            with output.directed(path, option=flag):
                show()


def _print_tables(tables: "Sequence[Printed]", form: str) -> None:
    from steelyard.report import console, plain

    if not tables:
        streams.tell("the study has no published tables (steelyard list studies)")
    if form == "text":
        console.print_tables(tables)
    else:
        plain.print_tables(tables, form=form)


COMPARE = Verb(
    "compare",
    "compare systems with each other",
    CompareOptions,
    _compare,
    """examples:
  steelyard compare native uml gvisor --study pegasus --html report.html
  steelyard compare native gvisor -- sort -n numbers.txt
  steelyard compare --command './old numbers.txt' --command './new numbers.txt'
  steelyard compare native uml --tool fio -- fio job.fio
  steelyard compare native uml --only syscall --watch   with the host's work for each call
  steelyard compare native native --budget 60s          a machine against itself: finds no difference
  steelyard compare native ssh:server2 --only syscall --margin 2%
  steelyard compare ssh:a ssh:b --study network --peer ssh:control
  steelyard compare this:6.1.0-32-amd64 this:6.12.9-amd64 --reboots --budget 4h""",
    usage="%(prog)s [options] SYSTEM SYSTEM ... [-- COMMAND [ARGUMENT ...]]\n"
    "       %(prog)s [options] [SYSTEM] --command COMMAND --command COMMAND ...",
    takes_command=True,
)
RUN = Verb(
    "run",
    "run a study; run an interrupted command again to resume it",
    RunOptions,
    _run,
    """examples:
  steelyard run pegasus
  steelyard run pegasus --systems native uml --budget 10m
  steelyard run ./my-study.toml --seed 1""",
)
PLAN = Verb(
    "plan",
    "print what a study would run, in which order, for how long",
    PlanOptions,
    _plan,
    """examples:
  steelyard plan pegasus
  steelyard plan pegasus --systems native uml --seed 1 --format csv""",
)
REPORT = Verb(
    "report",
    "print the report of an experiment again",
    ReportOptions,
    _report,
    """examples:
  steelyard report
  steelyard report --all
  steelyard report --tables --format csv                a paper's tables, a figure a row
  steelyard report --html report.html
  steelyard report 20260131-120000-pegasus-1a2b --baseline uml --format json""",
)
