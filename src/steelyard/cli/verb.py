"""Defines a verb of the command line: its name, its table of options, and its action.

The table is a frozen dataclass whose fields carry their spelling. `declare` gives the table to argparse, and
`make` turns argparse's result into the object: no other code sees a namespace. Help, manual pages and
completion derive from the same table.
"""

import argparse
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.quantities import parsed

FORMATS = ("text", "json", "csv")
# The options that name a file to be written.
WRITTEN = ("output", "html", "export_json", "export_csv", "export_markdown")


@dataclass(frozen=True, slots=True)
class Option:
    """The spelling of a field."""

    name: str  # the field's
    flags: tuple[str, ...]  # none: an operand
    words: Mapping[str, Any]  # for argparse: help, metavar, choices, action, nargs, type
    group: str  # its heading in the help; "": none
    parse: Callable[[object], Any] | None  # from what was written to the value; raises Wrong
    steers: bool  # whether it says what is measured or how: a report of what is over goes without
    default: Any

    @property
    def help(self) -> str:
        """The text of the help page."""
        return str(self.words.get("help", "")).replace("%%", "%")


@dataclass(frozen=True, slots=True)
class Verb:
    """A command, or an action of one."""

    name: str
    summary: str
    options: type[Any]
    run: Callable[[Any], int]
    examples: str = ""
    usage: str | None = None
    takes_command: bool = False  # whether what follows -- is a command, kept in the field `command`
    shares_output: bool = False  # with a command that it runs, so that its own goes elsewhere by itself


@dataclass(frozen=True, slots=True)
class Family:
    """A command with actions, one of which is given after its name."""

    name: str
    summary: str
    actions: tuple[Verb, ...]
    examples: str


def option(
    *flags: str,
    default: Any = dataclasses.MISSING,
    group: str = "",
    parse: Callable[[object], Any] | None = None,
    steers: bool = False,
    **words: Any,
) -> Any:
    """A field that is written so; without flags it is an operand. A flag without a default has None, an
    operand without one is required. `parse` is one of `quantities`, with its limits."""
    if flags and default is dataclasses.MISSING:
        default = None
    return dataclasses.field(
        default=default,
        metadata={"flags": flags, "words": words, "group": group, "parse": parse, "steers": steers},
    )


def part(table: type[Any]) -> Any:
    """A field that is itself a table, shared by several verbs."""
    return dataclasses.field(metadata={"table": table})


def format_option(group: str = "") -> Any:
    return option(
        "--format",
        default="text",
        group=group,
        choices=FORMATS,
        help="output format (default: text)",
    )


def output_option(group: str = "") -> Any:
    return option(
        "--output",
        group=group,
        type=Path,
        metavar="FILE",
        help="write the output to this file, complete or not at all; - is standard output (default: that)",
    )


def archive_option(group: str = "") -> Any:
    return option(
        "--archive",
        group=group,
        metavar="DIR",
        help="where experiments are kept (default: STEELYARD_ARCHIVE, or ~/.local/share/steelyard)",
    )


def options_of(table: type[Any]) -> Iterator[Option]:
    """Every option of the table and its parts, in the order of the help."""
    for field in dataclasses.fields(table):
        if inner := field.metadata.get("table"):
            yield from options_of(inner)
        elif field.metadata:
            yield Option(field.name, default=field.default, **field.metadata)


def declare(parser: argparse.ArgumentParser, table: type[Any]) -> None:
    """Tells argparse the table. A flag that is not given leaves nothing behind."""
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for one in options_of(table):
        if one.group not in groups:
            groups[one.group] = parser.add_argument_group(one.group)
        words = dict(one.words)
        if one.flags:
            words |= {"dest": one.name, "default": argparse.SUPPRESS}
        elif one.default is not dataclasses.MISSING:
            words["default"] = one.default
        groups[one.group].add_argument(*(one.flags or (one.name,)), **words)


def make(table: type[Any], given: Mapping[str, Any]) -> Any:
    """The object of that table, from the fields' names and what was given for them. Raises UsageError for a
    quantity that is none, or beyond its limits."""
    values = {}
    for field in dataclasses.fields(table):
        if inner := field.metadata.get("table"):
            values[field.name] = make(inner, given)
        elif field.name in given:
            value = given[field.name]
            if parse := field.metadata.get("parse"):
                value = _parsed(field.metadata["flags"][0], parse, value)
            values[field.name] = tuple(value) if isinstance(value, list) else value
    return table(**values)


def _parsed(flag: str, parse: Callable[[object], Any], value: Any) -> Any:
    """The value, or each of several; of an option that may be given again, too."""
    if isinstance(value, list):
        return [parsed(flag, parse, one) for one in value]
    return parsed(flag, parse, value)


def given_to_steer(options: Any) -> list[str]:
    """The flags, as they were most shortly written, of what steers the measuring and is not as usual."""
    return [
        one.flags[0]
        for one in options_of(type(options))
        if one.steers and getattr(options, one.name) != one.default
    ]


def written_by(options: Any) -> dict[str, Path]:
    """The files that are to be written, by their flags, in whichever table these are."""
    found: dict[str, Path] = {}
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if "table" in field.metadata:
            found |= written_by(value)
        elif field.name in WRITTEN and value is not None:
            found[f"--{field.name.replace('_', '-')}"] = value
    return found
