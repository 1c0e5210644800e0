"""archive: what was measured is listed, shown, merged, reopened and exported."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard import libraries, streams
from steelyard.archive import names
from steelyard.cli import output
from steelyard.cli.verb import Family, Verb, archive_option, format_option, option, output_option
from steelyard.quantities import number_of
from steelyard.text import shown

if TYPE_CHECKING:
    from steelyard.archive.experiments import StoredExperiment
    from steelyard.archive.watches import KeptWatch


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveListOptions:
    watches: bool = option(
        "--watches", default=False, action="store_true", help="list watches kept by steelyard watch --keep"
    )
    format: str = format_option()
    output: Path | None = output_option()
    archive: str | None = archive_option()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions:
    experiment: str | None = option(default=None, nargs="?")
    words: bool = option(
        "--words",
        default=False,
        action="store_true",
        help="print what its systems wrote besides records: kernel consoles, error messages",
    )
    format: str = format_option()
    output: Path | None = output_option()
    archive: str | None = archive_option()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOptions:
    source: Path = option(type=Path, metavar="DIR")
    archive: str | None = archive_option()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenOptions:
    experiment: str = option()
    archive: str | None = archive_option()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    experiment: str = option()
    file: Path = option(type=Path, help="ending in .csv, .json or .parquet")
    table: str = option(
        "--table",
        default="samples",
        choices=names.OF_EXPERIMENT + names.OF_WATCH,
        help="table to write; the last three belong to a watch (default: samples)",
    )
    archive: str | None = archive_option()


def _list(options: ArchiveListOptions) -> int:
    from steelyard.archive import experiments
    from steelyard.report import listing

    root = output.archive(options.archive)
    if options.watches:
        from steelyard.archive import watches  # needs DuckDB

        rows = [_watch_row(one) for one in watches.watches(root, streams.tell)]
    else:
        rows = [_experiment_row(one) for one in experiments.experiments(root, streams.tell)]
    listing.print_table(rows, form=options.format)
    return 0


def _experiment_row(one: "StoredExperiment") -> dict[str, Any]:
    return {
        "experiment": one.name,
        "study": one.header["study"],
        "systems": ", ".join(one.header["systems"]),
        "begun": _moment(one.header["created"]),
        "state": "closed" if one.closed else "open",
    }


def _watch_row(one: "KeptWatch") -> dict[str, Any]:
    return {
        "watch": one.name,
        "watched": one.header["watched"],
        "host": one.header["host"],
        "detail": one.header["head"]["detail"],
        "backend": one.header["head"]["backend"],
        "begun": _moment(one.header["head"]["began"]),
    }


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds)) + " UTC"


def _show(options: ShowOptions) -> int:
    from steelyard.archive import experiments
    from steelyard.report import listing

    experiment = experiments.find(output.archive(options.archive), options.experiment, streams.tell)
    if options.words:
        return _show_words(experiment, options.format)
    if options.format == "json":
        print(json.dumps(dict(experiment.header), indent=1))
        return 0
    rows = [
        {"key": key, "value": value if isinstance(value, str) else json.dumps(value)}
        for key, value in experiment.header.items()
        if key not in ("study_text", "workloads", "host", "cells")
    ]
    listing.print_table(rows, form=options.format)
    return 0


def _show_words(experiment: "StoredExperiment", form: str) -> int:
    """Print the output of each start, with a heading, or a row per start."""
    libraries.load("steelyard.archive.reading")
    from steelyard.archive import reading
    from steelyard.report import listing

    with reading.connect(experiment) as database:
        answer = database.execute("SELECT * FROM words ORDER BY recorded")
        names = [name for name, *_ in answer.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
    if form != "text":
        listing.print_table(rows, form=form)
        return 0
    for row in rows:
        print(f"{shown(row['speaker'])}, start {row['boot']}: {shown(row['ended'] or 'ended normally')}")
        for stream in ("output", "errors"):
            for line in row[stream].splitlines():
                print(f"    {shown(line)}")
    if not rows:
        streams.tell(f"{experiment.name}: its systems wrote nothing besides their records")
    return 0


def _merge(options: MergeOptions) -> int:
    from steelyard.archive import experiments, merging, watches

    libraries.load("steelyard.archive.reading")
    root = output.archive(options.archive)
    count = merging.merge(root, options.source, streams.tell)
    for one in experiments.experiments(options.source, lambda sentence: None):
        if not one.closed:
            streams.tell(f"{one.path} is open, and left out: resume it there with the command that began it")
    watched = watches.merge(root, options.source, streams.tell)
    also = f" and {number_of(watched, 'watch', 'watches')}" if watched else ""
    streams.tell(f"{number_of(count, 'experiment')}{also} copied into {root}")
    return 0


def _reopen(options: ReopenOptions) -> int:
    from steelyard.archive import closing, experiments

    root = output.archive(options.archive)
    experiment = experiments.find(root, options.experiment, streams.tell)
    with experiments.measuring(root):
        closing.reopen(experiment, streams.tell)
    streams.tell(f"{experiment.name} is open again; run the command that began it to resume it")
    return 0


def _export(options: ExportOptions) -> int:
    libraries.load("steelyard.archive.reading", "steelyard.archive.watches")
    from steelyard.archive import experiments, reading, watches

    root = output.archive(options.archive)
    if options.table in names.OF_WATCH:
        watch = watches.find(root, options.experiment, streams.tell)
        watches.export(watch, options.table, options.file)
    else:
        experiment = experiments.find(root, options.experiment, streams.tell)
        reading.export(experiment, options.table, options.file)
    return 0


ARCHIVE = Family(
    "archive",
    "list, show, merge, reopen or export experiments",
    (
        Verb("list", "list experiments, or kept watches", ArchiveListOptions, _list),
        Verb("show", "describe an experiment", ShowOptions, _show),
        Verb("merge", "copy another archive's experiments into this one", MergeOptions, _merge),
        Verb("reopen", "reopen a closed experiment, to continue it", ReopenOptions, _reopen),
        Verb("export", "write a table of an experiment as CSV, JSON or Parquet", ExportOptions, _export),
    ),
    """examples:
  steelyard archive list
  steelyard archive merge /mnt/other/archive
  steelyard archive export 20260131-120000-pegasus-1a2b samples.csv""",
)
