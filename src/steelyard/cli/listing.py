"""list: the systems, workloads, studies and builds there are."""

from dataclasses import dataclass

from steelyard.cli.verb import Verb, format_option, option


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    kind: str = option(default="systems", nargs="?", choices=("systems", "workloads", "studies", "builds"))
    format: str = format_option()


def _list(options: ListOptions) -> int:
    from steelyard.report import listing

    listing.print_list(options.kind, form=options.format)
    return 0


LIST = Verb(
    "list",
    "list the systems, workloads, studies or builds there are",
    ListOptions,
    _list,
    """examples:
  steelyard list systems
  steelyard list workloads --format json""",
)
