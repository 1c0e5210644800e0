"""list, doctor: what there is, and what works here."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from steelyard.cli.verb import Verb, format_option, option, output_option

KINDS = ("systems", "workloads", "studies", "builds", "tools")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    kind: str = option(default="systems", nargs="?", choices=KINDS)
    format: str = format_option()
    output: Path | None = output_option()


def _list(options: ListOptions) -> int:
    from steelyard.report import listing

    listing.print_list(options.kind, form=options.format)
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions:
    start: bool = option(
        "--start",
        default=True,
        action=argparse.BooleanOptionalAction,
        help="start each system once, to see whether it can (the default; 90 s at most)",
    )
    format: str = format_option()
    output: Path | None = output_option()


def _doctor(options: DoctorOptions) -> int:
    from steelyard.report import diagnosis
    from steelyard.running import examination

    diagnosis.print_findings(examination.examine(start=options.start), form=options.format)
    return 0


LIST = Verb(
    "list",
    "list the systems, workloads, studies, builds or tools there are",
    ListOptions,
    _list,
    """examples:
  steelyard list systems
  steelyard list workloads --format json""",
)
DOCTOR = Verb(
    "doctor",
    "show what works on this machine, and what would disturb a measurement",
    DoctorOptions,
    _doctor,
    """examples:
  steelyard doctor
  steelyard doctor --no-start         start no system
  steelyard doctor --format json""",
)
