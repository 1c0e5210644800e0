"""All verbs, in the order of work, and what reads them from a command line."""

import argparse
import difflib
from collections.abc import Sequence
from typing import Any, NoReturn

from steelyard import streams
from steelyard.cli import archiving, building, gating, listing, loading, measuring, rebooting, watching
from steelyard.cli.verb import Family, Verb, declare, make
from steelyard.errors import UnknownName, UsageError
from steelyard.text import quoted, shortened

DESCRIPTION = (
    "Compares operating systems: which is faster, at what kind of work, by how much, and with what "
    "confidence."
)
EXAMPLES = """examples:
  steelyard compare native uml              this kernel against User-mode Linux
  steelyard run pegasus                     a paper's experiment, its figures beside today's
  steelyard watch -- make -j2               what a command and its whole tree cost
  steelyard report --html report.html       the newest experiment, as a page"""
VERBS: tuple[Verb | Family, ...] = (
    measuring.COMPARE,
    gating.GATE,
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


# What else a person may call them.
OTHER_WORDS = {
    **dict.fromkeys(("diff", "versus", "benchmark", "measure"), "compare"),
    **dict.fromkeys(("start", "resume", "continue"), "run"),
    **dict.fromkeys(("print", "html", "page"), "report"),
    **dict.fromkeys(("trace", "top", "monitor", "account"), "watch"),
    **dict.fromkeys(("check", "diagnose"), "doctor"),
    **dict.fromkeys(("compile", "make"), "build"),
    **dict.fromkeys(("ls", "experiments", "history"), "archive list"),
    **dict.fromkeys(("info", "describe"), "archive show"),
    **dict.fromkeys(("import", "copy"), "archive merge"),
    **dict.fromkeys(("dump", "save"), "archive export"),
    **{kind: f"list {kind}" for kind in listing.KINDS},
    "watches": "archive list --watches",
    "help": "--help",
    "version": "--version",
}
_REMOVING = ("remove", "delete", "rm", "discard")
_NEAR, _COMPARED_MOST = 0.6, 40  # as difflib reckons; characters


def read(words: Sequence[str]) -> tuple[Verb, Any]:
    """The verb that the words name, and its options. Raises UsageError, or SystemExit when argparse has
    printed its help or its complaint."""
    _check_names(words)
    words, command = _command_apart(list(words))
    given = vars(parser_of(words[:1]).parse_args(words))
    verb: Verb = given.pop("verb")
    return verb, make(verb.options, given | ({"command": command} if verb.takes_command else {}))


def _check_names(words: Sequence[str]) -> None:
    """Raises UsageError unless the first words name a verb, or say plainly that they name none."""
    if not words or words[0].startswith("-"):
        return
    verbs = {one.name: one for one in VERBS}
    verb = verbs.get(words[0])
    if verb is None:
        raise _unknown("command", words[0], [*verbs])
    if isinstance(verb, Family) and len(words) > 1 and not words[1].startswith("-"):
        actions = [one.name for one in verb.actions]
        if words[1] not in actions:
            raise _unknown(f"{verb.name} command", words[1], actions)


def _unknown(kind: str, name: str, expected: Sequence[str]) -> UsageError:
    """Suggests the nearest command, by its own name, its name in a family, or another word for it."""
    if name in _REMOVING:
        return UsageError(
            f"there is no {kind} {quoted(name)}: an experiment is a directory below experiments/ of the "
            "archive; steelyard archive list names them"
        )
    verbs = {one.name: one.name for one in VERBS}
    families = [one for one in VERBS if isinstance(one, Family)]
    actions = {action.name: f"{one.name} {action.name}" for one in families for action in one.actions}
    known = OTHER_WORDS | (actions | verbs if expected == [*verbs] else verbs | actions)
    near = difflib.get_close_matches(name, known, n=1, cutoff=_NEAR) if len(name) <= _COMPARED_MOST else []
    if not near:
        return UnknownName(kind, name, expected)
    return UsageError(f"there is no {kind} {quoted(name)}; did you mean {quoted(known[near[0]])}?")


def _command_apart(words: list[str]) -> tuple[list[str], list[str]]:
    """Split off the command after the first -- of some verbs, whatever it looks like. Raises UsageError for
    none there."""
    takers = [one.name for one in VERBS if isinstance(one, Verb) and one.takes_command]
    if not words or words[0] not in takers or "--" not in words:
        return words, []
    place = words.index("--")
    if not words[place + 1 :]:
        raise UsageError(f"{words[0]}: a command must come after --, such as: -- sort numbers.txt")
    return words[:place], words[place + 1 :]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        streams.say(f"{self.prog}: {shortened(message, 400)}; see {self.prog} --help")
        self.exit(2)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        import steelyard

        print(f"steelyard {steelyard.__version__}")
        parser.exit()


def parser_of(first: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the verb that is the first word, or of all verbs if there is none."""
    parser = _Parser(
        prog="steelyard",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action=_Version, nargs=0, help="print the version")
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
