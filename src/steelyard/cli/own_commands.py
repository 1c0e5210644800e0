"""Options for commands of the user's own, and the work that they ask for."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.cli.verb import option, options_of, part
from steelyard.errors import UsageError
from steelyard.study import own_work
from steelyard.study import tool as tool_file
from steelyard.study.own_work import Command, OwnWork
from steelyard.study.tool import Tool
from steelyard.text import quoted

SYSTEM = "native"  # for several commands
STUDY = "the command line"  # in messages
_TRIAL_S_OWN = "trial"  # directory
_USUAL_VARIABLES = ("PATH", "HOME")
_OWN_COMMAND = "your own command"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOptions:
    """What a command of the user's finds around itself."""

    shell: bool = option(
        "--shell",
        default=False,
        action="store_true",
        group=_OWN_COMMAND,
        help="give the command to /bin/sh (default: start it directly)",
    )
    place: str | None = option(
        "--in",
        metavar="DIR",
        group=_OWN_COMMAND,
        help='run the command in this directory, or with "trial" in an empty one of each trial\'s own '
        "(default: the current directory)",
    )
    environment: tuple[str, ...] = option(
        "--env",
        default=(),
        action="append",
        metavar="NAME[=VALUE]",
        group=_OWN_COMMAND,
        help="give the command this variable, by default with the value that it has here; may be repeated "
        "(default: PATH and HOME as they are here, LC_ALL=C)",
    )
    files: tuple[str, ...] = option(
        "--with",
        default=(),
        action="append",
        metavar="FILE",
        group=_OWN_COMMAND,
        help="send this file along to each system, and use its copy where the command names it; {with} in a "
        "word is the directory of the copies; may be repeated",
    )
    input: str | None = option(
        "--input", metavar="FILE", group=_OWN_COMMAND, help="what the command reads (default: nothing)"
    )
    stdout: str | None = option(
        "--stdout", metavar="FILE", group=_OWN_COMMAND, help="where the command writes (default: /dev/null)"
    )
    setup: str | None = option(
        "--setup",
        metavar="COMMAND",
        group=_OWN_COMMAND,
        help="do this once before the runs of a trial; neither it nor the next three are timed",
    )
    prepare: str | None = option(
        "--prepare", metavar="COMMAND", group=_OWN_COMMAND, help="do this before each run of the command"
    )
    conclude: str | None = option(
        "--conclude", metavar="COMMAND", group=_OWN_COMMAND, help="do this after each run of the command"
    )
    cleanup: str | None = option(
        "--cleanup", metavar="COMMAND", group=_OWN_COMMAND, help="do this once after the runs of a trial"
    )
    tool: str | None = option(
        "--tool",
        metavar="TOOL",
        group=_OWN_COMMAND,
        help="compare the figures that the command prints itself, as this tool does; TOOL is a file, or a "
        "name (steelyard list tools)",
    )
    figures: tuple[str, ...] = option(
        "--figure",
        default=(),
        action="append",
        metavar="FIGURE",
        group=_OWN_COMMAND,
        help="compare a figure that the command prints, such as 'name=throughput unit=1/s better=higher "
        "pattern=([0-9.]+) ops'; may be repeated",
    )
    ignore_failure: bool = option(
        "--ignore-failure",
        default=False,
        action="store_true",
        group=_OWN_COMMAND,
        help="accept any exit status of the command (default: only 0)",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnOptions:
    """What is compared in place of a study's systems, and what it finds around itself."""

    commands: tuple[str, ...] = option(
        "--command",
        default=(),
        action="append",
        metavar="[NAME=]COMMAND",
        group=_OWN_COMMAND,
        help="compare this command with other ones, on one system (default: native); give two or more",
    )
    levels: tuple[str, ...] = option(
        "--level",
        default=(),
        action="append",
        metavar="NAME=A,B,C",
        group=_OWN_COMMAND,
        help="put each of these in the place of {NAME} in the command: several systems run each form, and on "
        "one system the forms are compared; may be repeated, for each combination",
    )
    surroundings: CommandOptions = part(CommandOptions)


def given(options: OwnOptions) -> str:
    """The first of these options that was given; "" if none was."""
    either = (options, options.surroundings)
    return next(
        (
            one.flags[0]
            for one in options_of(OwnOptions)
            if any(getattr(each, one.name, None) for each in either)
        ),
        "",
    )


def work_of(systems: tuple[str, ...], options: OwnOptions, command: tuple[str, ...]) -> OwnWork:
    """What is compared, systems or commands; `command` is what stands after --. Raises UsageError."""
    return own_work.sending(_work_of(systems, options, command), options.surroundings.files)


def _work_of(systems: tuple[str, ...], options: OwnOptions, command: tuple[str, ...]) -> OwnWork:
    shell, tool = options.surroundings.shell, tool_of(options.surroundings)
    surrounding = surrounded(options.surroundings)
    if command and options.commands:
        raise UsageError("give commands by --command or one after --, not both")
    if len(options.commands) > 1:
        if len(systems) > 1:
            raise UsageError(
                f"several commands are compared on one system, not on {', '.join(systems)}: a "
                "command that several systems run stands after --"
            )
        if options.levels:
            raise UsageError("--level is for one command: give it after --")
        named = own_work.named(options.commands, shell=shell)
        return OwnWork(systems or (SYSTEM,), surrounding, named, tool)
    given = command or own_work.words_of(options.commands[0])
    words = own_work.words_for(options.commands if options.commands and shell else tuple(given), shell=shell)
    if options.levels:
        return _at_levels(systems, options, replace(surrounding, words=words), tool)
    if len(systems) < 2:
        raise UsageError("compare needs two systems for one command, or two times --command for one system")
    return OwnWork(systems, replace(surrounding, words=words), tool=tool)


def _at_levels(systems: tuple[str, ...], options: OwnOptions, command: Command, tool: Tool | None) -> OwnWork:
    """Several systems run each form of the command; on one system, its forms are compared."""
    levels = own_work.levels_of(options.levels)
    for name in levels[0]:
        if not any(f"{{{name}}}" in word for word in command.words):
            raise UsageError(f"--level names {quoted(name)}, but the command has no {{{name}}}")
    forms = tuple(own_work.at_level(command.words, level) for level in levels)
    if len(systems) > 1:
        return OwnWork(systems, command, tool=tool, levels=forms)
    if len(forms) < 2:
        raise UsageError("compare needs two systems, or two levels on one")
    names = ["-".join(part for pair in level.items() for part in pair) for level in levels]
    if not all(map(own_work.is_name, names)):
        names = [f"level-{number}" for number in range(1, len(names) + 1)]
    treatments = tuple((name, Command(words)) for name, words in zip(names, forms, strict=True))
    return OwnWork(systems or (SYSTEM,), replace(command, words=()), treatments, tool)


def advice(work: OwnWork) -> str:
    """What to add where the command is a tool that is known to print figures; "" if it is none."""
    words = work.command.words or next((each.words for _, each in work.treatments if each.words), ())
    name = tool_file.known_for(words[0]) if words and not work.tool else ""
    return f"add --tool {name} to compare the figures that {words[0]} prints as well" if name else ""


def tool_of(given: CommandOptions) -> Tool | None:
    """The figures to read from what the command prints; None: none. Raises UnknownName or UsageError."""
    known = tool_file.find(given.tool) if given.tool else None
    figures = tuple(tool_file.of_words(text) for text in given.figures)
    if (known or figures) and given.stdout:
        option = "--tool" if known else "--figure"
        raise UsageError(f"{option} reads what the command prints: leave out --stdout")
    return tool_file.with_figures(known, figures)


def surrounded(given: CommandOptions) -> Command:
    """What all commands find around themselves."""
    place = str(Path.cwd()) if given.place is None else given.place
    usual = [f"{name}={os.environ[name]}" for name in _USUAL_VARIABLES if name in os.environ]
    return Command(
        directory="" if place == _TRIAL_S_OWN else str(Path(place).absolute()),
        environment=(*usual, *(_variable(one) for one in given.environment)),
        input=str(Path(given.input).absolute()) if given.input else "",
        output=str(Path(given.stdout).absolute()) if given.stdout else "",
        setup=given.setup or "",
        prepare=given.prepare or "",
        conclude=given.conclude or "",
        cleanup=given.cleanup or "",
        ignore_failure=given.ignore_failure,
    )


def _variable(text: str) -> str:
    name, equals, _ = text.partition("=")
    if not name or (not equals and name not in os.environ):
        raise UsageError(
            f"--env is {quoted(text)}, but must be NAME=VALUE, or the name of a variable set here"
        )
    return text if equals else f"{name}={os.environ[name]}"
