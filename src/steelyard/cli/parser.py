"""All verbs, in the order of work, and what reads them from a command line."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from steelyard import streams
from steelyard.cli import archiving, building, listing, loading, measuring, rebooting, watching
from steelyard.cli.verb import Family, Verb, declare, make
from steelyard.errors import UnknownName
from steelyard.text import shortened

DESCRIPTION = (
    "Weighs one operating system against another: which is faster, at what kind of work, by how much, and "
    "how surely."
)
EXAMPLES = """examples:
  steelyard compare native uml              this kernel against User-mode Linux
  steelyard run pegasus                     a paper's experiment, its figures beside today's
  steelyard watch -- make -j2               what a command and its whole tree cost
  steelyard report --html report.html       the newest experiment, as a page"""
VERBS: tuple[Verb | Family, ...] = (
    measuring.COMPARE,
    measuring.RUN,
    measuring.PLAN,
    measuring.REPORT,
    watching.WATCH,
    loading.LOAD,
    building.BUILD,
    rebooting.REBOOTS,
    listing.LIST,
    listing.DOCTOR,
    archiving.ARCHIVE,
)


def read(words: Sequence[str]) -> tuple[Verb, Any]:
    """The verb that the words name, and its options. Raises UsageError, or SystemExit when argparse has
    printed its help or its complaint."""
    if words and not words[0].startswith("-") and words[0] not in (names := [one.name for one in VERBS]):
        raise UnknownName("command", words[0], names)
    words, command = _command_apart(list(words))
    given = vars(_parser(words[:1]).parse_args(words))
    verb: Verb = given.pop("verb")
    return verb, make(verb.options, given | ({"command": command} if verb.takes_command else {}))


def _command_apart(words: list[str]) -> tuple[list[str], list[str]]:
    """What stands after the first -- of some verbs is a command, whatever it looks like."""
    takers = [one.name for one in VERBS if isinstance(one, Verb) and one.takes_command]
    if not words or words[0] not in takers or "--" not in words:
        return words, []
    place = words.index("--")
    return words[:place], words[place + 1 :]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        streams.say(f"{self.prog}: {shortened(message, 400)}; see {self.prog} --help")
        self.exit(2)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        from importlib.metadata import version

        print(f"steelyard {version('steelyard')}")
        parser.exit()


def _parser(first: Sequence[str]) -> argparse.ArgumentParser:
    """Of the verb that is the first word; of all, if none is."""
    parser = _Parser(
        prog="steelyard",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    verbs = parser.add_subparsers(title="commands, in the order of work", metavar="COMMAND", required=True)
    for one in [one for one in VERBS if one.name in first] or VERBS:
        if isinstance(one, Verb):
            _add(verbs, one)
        else:
            actions = _page(verbs, one).add_subparsers(metavar="ACTION", required=True)
            for action in one.actions:
                _add(actions, action)
    return parser


def _add(parsers: "argparse._SubParsersAction[Any]", verb: Verb) -> None:
    page = _page(parsers, verb)
    page.usage = verb.usage
    declare(page, verb.options)
    page.set_defaults(verb=verb)


def _page(parsers: "argparse._SubParsersAction[Any]", one: Verb | Family) -> argparse.ArgumentParser:
    """The parser of that name, and so its help page."""
    page: argparse.ArgumentParser = parsers.add_parser(
        one.name,
        help=one.summary,
        description=f"{one.summary[0].upper()}{one.summary[1:]}.",
        epilog=one.examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return page
