"""reboots: an experiment that reboots this machine: where it stands, its end; a boot into a kernel."""

from dataclasses import dataclass

from steelyard import streams
from steelyard.cli.verb import Verb, format_option, option
from steelyard.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class RebootsOptions:
    what: str = option(
        default="status",
        nargs="?",
        choices=("status", "stop", "into"),
        help="where it stands (the default); stop, and reboot no more; or reboot into a kernel, now",
    )
    format: str = format_option()
    kernel: str | None = option(default=None, nargs="?", help="for into: its release, as uname -r says it")


def _reboots(options: RebootsOptions) -> int:
    from steelyard.report import listing
    from steelyard.running import continuation
    from steelyard.systems import this_machine

    if (options.what == "into") != (options.kernel is not None):
        raise UsageError("a kernel goes with into, such as: steelyard reboots into 6.1.0-32-amd64")
    if options.kernel is not None:
        this_machine.boot_into(options.kernel)
        return 0
    run = continuation.standing()
    if run is None:
        told = f"; what the last one said is in {continuation.LOG}" if continuation.LOG.exists() else ""
        print(f"no experiment reboots this machine{told}")
        return 0
    if options.what == "stop":
        ends = f"process {run.process} ends, and " if continuation.stop(run) else ""
        streams.tell(
            f"{ends}this machine is not rebooted any more; what was measured is kept, and the "
            "same command goes on with it"
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
    "an experiment that reboots this machine: where it stands, and its end",
    RebootsOptions,
    _reboots,
    """examples:
  steelyard reboots
  steelyard reboots stop
  steelyard reboots into 6.1.0-32-amd64      this machine, now, once: the switch command of this:KERNEL""",
)
