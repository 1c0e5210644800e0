"""compare, run, plan, report: a study is measured, and what was found is reported."""

import argparse
import re
import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard import streams
from steelyard.cli import output
from steelyard.cli.verb import Verb, archive_option, format_option, option, part
from steelyard.errors import Unsupported, UsageError
from steelyard.text import quoted, shown

if TYPE_CHECKING:
    from steelyard.analysis.model import Weighing
    from steelyard.archive.experiments import Experiment

_STANDARD_STUDY = "standard"


def _whole(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"{quoted(text)} is no whole number of at most 18 digits")
    return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a plan follows from, besides the study and the systems."""

    only: tuple[str, ...] = option(
        "--only",
        default=(),
        action="append",
        metavar="WORKLOAD",
        help="only this workload of the study; may be given again",
    )
    budget: str | None = option(
        "--budget", metavar="TIME", help="stop measuring after that, such as 60s or 5m (default: the study's)"
    )
    seed: int | None = option("--seed", type=_whole, metavar="N", help="of the random order (default: drawn)")
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
        help="account for what every trial costs this host, and say what goes along with a difference (the "
        "default, where a monitor works that costs what is timed nothing)",
    )
    reboots: bool = option(
        "--reboots",
        default=False,
        action="store_true",
        help="allow this machine to be rebooted, again and again, for systems such as this:6.1.0-32-amd64",
    )
    new: bool = option(
        "--new",
        default=False,
        action="store_true",
        help="begin anew, even if the same command was interrupted earlier",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    margin: str | None = option(
        "--margin",
        metavar="PERCENT",
        help="the smallest difference that matters, such as 2%% (default: by workload)",
    )
    html: Path | None = option(
        "--html", type=Path, metavar="FILE", help="write the report as one self-contained page"
    )
    everything: bool = option(
        "--all",
        default=False,
        action="store_true",
        help="print every table after the answer: each metric with its values, curves, indices",
    )
    baseline: str | None = option(
        "--baseline", metavar="SYSTEM", help="compare with this system (default: the first)"
    )
    reference: str | None = option(
        "--reference",
        metavar="SYSTEM",
        help="normalise a paper's tables to this column of theirs (default: the paper's own)",
    )
    format: str = format_option()
    archive: str | None = archive_option()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    systems: tuple[str, ...] = option(
        nargs="+",
        metavar="SYSTEM",
        help="the baseline, then what is compared with it; see steelyard list systems",
    )
    study: str = option(
        "--study", default=_STANDARD_STUDY, help=f"bundled name or file (default: {_STANDARD_STUDY})"
    )
    measuring: Measuring = part(Measuring)
    reporting: Reporting = part(Reporting)


def _systems_option() -> Any:
    return option("--systems", nargs="+", metavar="SYSTEM", help="in place of the study's")


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
        "--blocks", default=1, type=_whole, metavar="N", help="print so many blocks (default: 1)"
    )
    choice: Choice = part(Choice)
    format: str = format_option()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    experiment: str | None = option(
        default=None, nargs="?", help="its name or directory (default: the newest)"
    )
    reporting: Reporting = part(Reporting)


def _compare(options: CompareOptions) -> int:
    if len(options.systems) < 2:
        raise UsageError("compare needs at least two systems, such as: steelyard compare native uml")
    return _run(options)


def _run(options: CompareOptions | RunOptions) -> int:
    """Measures what the study asks for, or goes on where the same command stopped; then reports."""
    from steelyard.report import during
    from steelyard.running import experiment, order
    from steelyard.systems import scratch

    measuring, reporting = options.measuring, options.reporting
    for sentence in scratch.clear(Path(measuring.directory)) if measuring.directory else []:
        streams.tell(sentence)
    if reporting.html:
        output.may_be_written("--html", reporting.html)
    wanted = order.Order(
        study=options.study,
        systems=options.systems,
        margin=reporting.margin,
        archive=output.archive(reporting.archive),
        directory=measuring.directory,
        reboots=measuring.reboots,
        resume=not measuring.new,
        command=shown(shlex.join(["steelyard", *sys.argv[1:]])),
        watch=measuring.watch,
        **asdict(measuring.choice),
    )
    done = experiment.carry_out(wanted, during.onlooker(reporting.html))
    weighing = _print_report(done, reporting)
    if not done.closed:
        return output.INTERRUPTED
    return _status(weighing)


def _status(weighing: "Weighing") -> int:
    """Whether any trial went well; else it is said why none did."""
    if weighing.went_well or not weighing.trials:
        return 0
    one = weighing.troubles[0]
    reason = f": {one.reason}" if one.reason else ""
    failed = f"{one.cell} {one.status} on {one.system}{reason}"
    streams.tell(f"none of {weighing.trials} trials went well; {failed}")
    is_unsupported = {each.status for each in weighing.troubles} == {"unsupported"}
    return Unsupported.exit_status if is_unsupported else 1


def _plan(options: PlanOptions) -> int:
    from steelyard.report import listing
    from steelyard.running import order

    wanted = order.Order(study=options.study, systems=options.systems, **asdict(options.choice))
    listing.print_plan(order.plan_of(wanted), blocks=options.blocks, form=options.format)
    return 0


def _report(options: ReportOptions) -> int:
    from steelyard.archive import experiments

    root = output.archive(options.reporting.archive)
    _print_report(experiments.find(root, options.experiment, streams.tell), options.reporting)
    return 0


def _print_report(experiment: "Experiment", options: Reporting) -> "Weighing":
    if options.html:
        from steelyard.report import template

        template.prepare()
    from steelyard.analysis import weigh
    from steelyard.papers import tables
    from steelyard.report import console, plain
    from steelyard.study import model

    margin = model.fraction(options.margin) if options.margin else None
    result = weigh.of(
        experiment,
        baseline=options.baseline,
        margin=margin,
        machine_facts=options.everything or bool(options.html) or options.format == "json",
    )
    made_from = result.experiment.study
    published = tables.tables(result, made_from, reference=options.reference) if made_from else ()
    if options.html:
        from steelyard.report import page  # draws charts: a second to import, and only for this

        with output.writing("--html", options.html):
            page.write(options.html, result, tables=published)
        streams.tell(f"the report is in {options.html}")
    if options.format == "json":
        plain.print_json(result)
    elif options.format == "csv":
        plain.print_csv(result)
    else:
        console.print_weighing(result, tables=published, everything=options.everything)
    return result


COMPARE = Verb(
    "compare",
    "compare systems with each other",
    CompareOptions,
    _compare,
    """examples:
  steelyard compare native uml gvisor --study pegasus --html report.html
  steelyard compare native uml --only syscall --watch   and what the host does for each call
  steelyard compare native native --budget 60s          a machine with itself: finds nothing
  steelyard compare native ssh:server2 --only syscall --margin 2%
  steelyard compare ssh:a ssh:b --study network --peer ssh:control
  steelyard compare this:6.1.0-32-amd64 this:6.12.9-amd64 --reboots --budget 4h""",
)
RUN = Verb(
    "run",
    "run a study; the same command goes on where it was interrupted",
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
    "report an experiment, again",
    ReportOptions,
    _report,
    """examples:
  steelyard report
  steelyard report --all
  steelyard report --html report.html
  steelyard report 20260131-120000-pegasus-1a2b --baseline uml --format json""",
)
