"""reboots: an experiment that reboots this machine: where it stands, its end; a boot into a kernel."""

import os
from dataclasses import dataclass
from pathlib import Path

from steelyard import streams
from steelyard.cli.verb import Verb, format_option, option, output_option
from steelyard.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class RebootsOptions:
    what: str = option(
        default="status",
        nargs="?",
        choices=("status", "stop", "into"),
        help="status: show its progress (default); stop: end it, without further reboots; into: reboot "
        "into a kernel now",
    )
    format: str = format_option()
    output: Path | None = output_option()
    kernel: str | None = option(
        default=None, nargs="?", help="with into: the kernel's release, as printed by uname -r"
    )


def _reboots(options: RebootsOptions) -> int:
    from steelyard.report import listing
    from steelyard.running import continuation
    from steelyard.systems import this_machine

    if (options.what == "into") != (options.kernel is not None):
        raise UsageError("into needs a kernel, such as: steelyard reboots into 6.1.0-32-amd64")
    if options.kernel is not None:
        this_machine.boot_into(options.kernel)
        return 0
    run = continuation.standing()
    if run is None:
        told = (
            f"; the output of the last one is in {continuation.LOG}"
            if os.path.exists(continuation.LOG)
            else ""
        )
        print(f"no experiment reboots this machine{told}")
        return 0
    if options.what == "stop":
        ends = f"process {run.process} ends, and " if continuation.stop(run) else ""
        streams.tell(
            f"{ends}this machine will not be rebooted again; what was measured is kept, and the "
            "same command resumes it"
        )
        return 0
    facts = continuation.facts(run)
    if options.format != "text":
        listing.print_table([facts], form=options.format)
        return 0
    for fact, value in facts.items():
        print(f"{fact:12}{value}")
    return 0


REBOOTS = Verb(
    "reboots",
    "show or stop an experiment that reboots this machine",
    RebootsOptions,
    _reboots,
    """examples:
  steelyard reboots
  steelyard reboots stop
  steelyard reboots into 6.1.0-32-amd64      reboot into this kernel once, now""",
)
