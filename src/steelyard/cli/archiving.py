"""archive: what was measured is listed, shown, merged, reopened and exported."""

from dataclasses import dataclass
from pathlib import Path

from steelyard.archive import schema
from steelyard.cli import output
from steelyard.cli.verb import Family, Verb, archive_option, format_option, option

_WATCH_TABLES = ("processes", "calls", "readings")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    watches: bool = option(
        "--watches", default=False, action="store_true", help="what steelyard watch --keep has kept"
    )
    format: str = format_option()
    archive: str | None = archive_option()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions:
    experiment: str | None = option(default=None, nargs="?")
    format: str = format_option()
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
        choices=(*schema.TABLES, *_WATCH_TABLES),
        help="the last three are a watch's (default: samples)",
    )
    archive: str | None = archive_option()


def _list(options: ListOptions) -> int:
    from steelyard.archive import experiments, watches
    from steelyard.report import listing

    root = output.archive(options.archive)
    if options.watches:
        listing.print_watches(watches.kept(root, output.tell), form=options.format)
    else:
        listing.print_experiments(experiments.experiments(root, output.tell), form=options.format)
    return 0


def _show(options: ShowOptions) -> int:
    from steelyard.archive import experiments
    from steelyard.report import listing

    found = experiments.find(output.archive(options.archive), options.experiment, output.tell)
    listing.print_header(found, form=options.format)
    return 0


def _merge(options: MergeOptions) -> int:
    from steelyard.archive import experiments, watches

    root = output.archive(options.archive)
    count = experiments.merge(root, options.source, output.tell)
    watched = watches.merge(root, options.source, output.tell)
    also = f" and {watched} watches" if watched else ""
    output.say(f"steelyard: {count} experiments{also} copied into {root}")
    return 0


def _reopen(options: ReopenOptions) -> int:
    from steelyard.archive import experiments

    root = output.archive(options.archive)
    found = experiments.find(root, options.experiment, output.tell)
    with experiments.measuring(root):
        experiments.reopen(found, output.tell)
    output.say(f"steelyard: {found.name} is open again; the command that began it goes on with it")
    return 0


def _export(options: ExportOptions) -> int:
    from steelyard.archive import experiments, watches

    root = output.archive(options.archive)
    if options.table in _WATCH_TABLES:
        kept = watches.find(root, options.experiment, output.tell)
        watches.export(kept, options.table, options.file)
    else:
        found = experiments.find(root, options.experiment, output.tell)
        experiments.export(found, options.table, options.file)
    return 0


ARCHIVE = Family(
    "archive",
    "list, show, merge, reopen or export experiments",
    (
        Verb("list", "every experiment, or every watch", ListOptions, _list),
        Verb("show", "what an experiment was", ShowOptions, _show),
        Verb("merge", "copy another archive's experiments into this one", MergeOptions, _merge),
        Verb("reopen", "open a closed experiment, so that it goes on", ReopenOptions, _reopen),
        Verb("export", "write a table of an experiment as CSV, JSON or Parquet", ExportOptions, _export),
    ),
    """examples:
  steelyard archive list
  steelyard archive merge /mnt/other/archive
  steelyard archive export 20260131-120000-pegasus-1a2b samples.csv""",
)
