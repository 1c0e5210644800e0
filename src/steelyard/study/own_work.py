"""Makes a study of the user's own command: the same command on several systems, or several commands (or one
in several directories) on one system. It is the text of a study's file, so that nothing else is another case.
"""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.study import sent
from steelyard.study import tool as tool_file
from steelyard.study.tool import Tool
from steelyard.text import quoted, shortened, shown

_SHELL = "/bin/sh"
_TITLE_MOST = 200  # characters


@dataclass(frozen=True, slots=True)
class Command:
    """A command as its words, or as a text for a shell; and all that it finds around itself."""

    words: tuple[str, ...] = ()
    directory: str = ""  # "": one of each trial's own
    environment: tuple[str, ...] = ()  # NAME=VALUE
    input: str = ""
    output: str = ""
    setup: str = ""  # a command line, as are those that follow
    prepare: str = ""
    conclude: str = ""
    cleanup: str = ""
    ignore_failure: bool = False

    def parameters(self, tool: Tool | None = None) -> dict[str, str | int]:
        """As the workload `command` takes them, with what has the tool print its figures."""
        texts = {
            "command": shlex.join(tool_file.asked(tool, self.words)),
            "directory": shlex.quote(self.directory) if self.directory else "",
            "environment": shlex.join(self.environment),
            "input": shlex.quote(self.input) if self.input else "",
            "output": shlex.quote(self.output) if self.output else "",
            "setup": self.setup,
            "prepare": self.prepare,
            "conclude": self.conclude,
            "cleanup": self.cleanup,
        }
        return {name: text for name, text in texts.items() if text} | (
            {"ignore_failure": 1} if self.ignore_failure else {}
        )


@dataclass(frozen=True, slots=True)
class OwnWork:
    """What a command line asks for in place of a study."""

    systems: tuple[str, ...]  # with one command; else the one that all treatments run on
    command: Command = field(default_factory=Command)
    treatments: tuple[tuple[str, Command], ...] = ()  # by name; each holds what differs from `command`
    tool: Tool | None = None  # whose figures are read from what it prints
    levels: tuple[tuple[str, ...], ...] = ()  # the words of each form of `command`, where it has several
    sent: tuple[str, ...] = ()  # files that are sent along to each system

    @property
    def is_one_run(self) -> bool:
        """Whether a batch is one run of the command, and not as many as fill its time."""
        return bool(self.command.prepare or self.command.conclude or self.tool)

    def files(self) -> dict[str, str]:
        """The digest of each program of these that is a file here: another build is another study, and is not
        resumed as the same."""
        found = {}
        for each in (self.command, *(command for _, command in self.treatments)):
            words, directory = each.words or self.command.words, each.directory or self.command.directory
            path = Path(directory) / words[0] if words and "/" in words[0] else None
            if path and os.path.isfile(path):
                with suppress(OSError), open(path, "rb") as file:
                    found[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
        return found


def sending(work: OwnWork, paths: Sequence[str]) -> OwnWork:
    """The work with these files sent along, each in the place of the words that name it. Raises UsageError
    where nothing names one."""
    if allowed := sent.refusal(paths):
        raise UsageError(f"--with is {', '.join(map(quoted, paths))}, but must be {allowed}")
    made = replace(
        work,
        command=_sending(work.command, paths),
        treatments=tuple((name, _sending(each, paths)) for name, each in work.treatments),
        levels=tuple(sent.put_in(words, paths) for words in work.levels),
        sent=tuple(os.path.abspath(path) for path in paths),
    )
    if paths and sent.PLACE not in text_of(made):
        raise UsageError(
            f"--with is {', '.join(map(quoted, paths))}, but no word of the command names it, or holds "
            f"{sent.PLACE}"
        )
    return made


def _sending(command: Command, paths: Sequence[str]) -> Command:
    (read,) = sent.put_in([command.input], paths)
    return replace(
        command,
        words=sent.put_in(command.words, paths),
        input=read,
        setup=sent.put_in_line(command.setup, paths),
        prepare=sent.put_in_line(command.prepare, paths),
        conclude=sent.put_in_line(command.conclude, paths),
        cleanup=sent.put_in_line(command.cleanup, paths),
    )


def words_of(text: str) -> tuple[str, ...]:
    """The words of a command line, as a shell would have them; none is started. Raises UsageError."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"the command {quoted(text)} cannot be read: {str(error).lower()}") from None
    if not words:
        raise UsageError(f"the command is {quoted(text)}, but must have a word")
    return words


def words_for(words: tuple[str, ...], *, shell: bool) -> tuple[str, ...]:
    """The command's words; for a shell, one word is its whole text."""
    if not shell:
        return words
    return (_SHELL, "-c", words[0] if len(words) == 1 else shlex.join(words))


def named(texts: Sequence[str], *, shell: bool) -> tuple[tuple[str, Command], ...]:
    """The commands by their names: `NAME=COMMAND LINE`, or the command line's first word that tells them
    apart, or their number. Raises UsageError for two of one name."""
    pairs = [_named(text) for text in texts]
    plain = [name or words_of(text)[0].rpartition("/")[2] for name, text in pairs]
    if len(set(plain)) < len(plain) or not all(map(is_name, plain)):
        plain = [name or f"command-{number}" for number, (name, _) in enumerate(pairs, 1)]
    for name in plain:
        if plain.count(name) > 1:
            raise UsageError(
                f"two commands are named {quoted(name)}; give each its own: --command NAME=COMMAND"
            )
    return tuple(
        (name, Command(words_for((text,), shell=True) if shell else words_of(text)))
        for name, (_, text) in zip(plain, pairs, strict=True)
    )


def levels_of(texts: Sequence[str]) -> list[dict[str, str]]:
    """Each combination of the levels that `NAME=A,B,C` give. Raises UsageError."""
    by_name: dict[str, list[str]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        if not is_name(name) or not all(values.split(",")) or name in by_name:
            raise UsageError(f"--level is {quoted(text)}, but must be NAME=A,B,C, each name once")
        by_name[name] = values.split(",")
    return [dict(zip(by_name, values, strict=True)) for values in product(*by_name.values())]


def at_level(words: tuple[str, ...], level: Mapping[str, str]) -> tuple[str, ...]:
    """The words with {NAME} replaced by that level's value."""
    return tuple(
        re.sub(r"\{([A-Za-z0-9._-]+)\}", lambda match: level.get(match[1], match[0]), word) for word in words
    )


def _named(text: str) -> tuple[str, str]:
    """A name and the command line: what stands before the first `=` is the name, if it can be one."""
    name, equals, rest = text.partition("=")
    return (name, rest) if equals and is_name(name) else ("", text)


def is_name(text: str) -> bool:
    """Whether it can name a system without being taken for another one."""
    return bool(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", text))


def text_of(work: OwnWork, *, budget: str = "1m") -> str:
    """The study's file. Raises UsageError where the command holds what no file can."""
    shared = work.command.parameters(work.tool)
    levels = [shlex.join(tool_file.asked(work.tool, words)) for words in work.levels]
    if levels:
        del shared["command"]
    differing = {name: each.parameters(work.tool) for name, each in work.treatments}
    for value in [*shared.values(), *levels, *(one for each in differing.values() for one in each.values())]:
        if "\n" in str(value):
            raise UsageError(f"the command is {quoted(str(value))}, but must be without line breaks")
    commands = [shared["command"]] if "command" in shared else levels
    title = " and ".join(
        map(str, commands or (each.get("command", name) for name, each in differing.items()))
    )
    names = [name for name, _ in work.treatments] or list(work.systems)
    lines = [
        "# Written by Steelyard from a command line.",
        *(f"# {json.dumps(path)}: sha256 {digest}" for path, digest in work.files().items()),
        'name = "command"',
        f"title = {_toml(shortened(shown(str(title)), _TITLE_MOST))}",
        f"systems = {_toml(names)}",
        *([f"with = {_toml(list(work.sent))}"] if work.sent else []),
        f'[design]\nbudget = "{budget}"\nprecision = "5%"\ntrial_limit = "1h"',
        f"[trial]\nbatches = {1 if work.tool else 5}\nwarmup_ns = 10000000",
        *(["operations = 1"] if work.is_one_run else []),
        *(f"{name} = {_toml(value)}" for name, value in shared.items()),
        '[[workload]]\nname = "command"',
        *([f"command = {_toml(levels)}"] if levels else []),
    ]
    for name, each in differing.items():
        own = ", ".join(f"{key} = {_toml(value)}" for key, value in each.items())
        lines.append(f"[system.{_toml(name)}]\nbase = {_toml(work.systems[0])}\ntrial = {{ {own} }}")
    return "\n".join(lines) + "\n" + (tool_file.text_of(work.tool) if work.tool else "")


def _toml(value: str | int | list[str]) -> str:
    """JSON's texts, numbers and lists are TOML's as well."""
    return json.dumps(value, ensure_ascii=False)
