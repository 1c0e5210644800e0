"""Reads a server's file, and writes it as the lines that the load program understands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from steelyard import toml_file
from steelyard.errors import UnknownName, UsageError
from steelyard.servers import running
from steelyard.servers.running import Running
from steelyard.shapes import Wrong
from steelyard.text import quoted
from steelyard.toml_file import Reader

LINES_MOST = 6000  # bytes: the load program's
_SETTING_MOST = 10**9 - 1
ENDS = ("TERM", "QUIT", "INT")
READY = ("http /PATH", "greeting TEXT", "accepts")
_MEANINGS = ("{directory}", "{kept}", "{port}", "{user}", "{found}")  # what a trial knows


@dataclass(frozen=True, slots=True)
class Server:
    """A server as its file describes it. A trial knows {directory}, {kept}, {port}, {user} and {found}."""

    name: str
    title: str
    command: tuple[str, ...]  # empty: there is nothing to start
    package: str = ""  # Debian's, for the advice to install it
    # Where its main program may be, with at most one * in each; {found} is the directory of the newest match.
    # The load program looks, because the system under test may have another file system than this machine.
    find: tuple[str, ...] = ()
    prepare: tuple[tuple[str, ...], ...] = ()  # commands that fill {kept}, once an agent
    directories: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)  # by name below {directory}
    user: str = ""  # its user, if the agent is root; "*": a user without other processes
    becomes: str = ""  # the user whose rights its processes take by themselves, where it starts as root
    speaks: str = ""  # the protocol of a database
    ready: str = "accepts"
    end: str = "TERM"
    log: str = ""  # where its last words are, besides its output
    settings: dict[str, int] = field(default_factory=dict)  # whole numbers that its files name in braces
    running: Running | None = None  # it is not started, for it runs already

    def lines(self) -> str:
        """What the load program reads."""
        if self.running is not None:
            return "\n".join([f"name {self.name}", *self.running.lines()])
        said = [
            f"name {self.name}",
            *(
                f"{key} {value}"
                for key in ("package", "user", "becomes", "speaks", "log")
                if (value := getattr(self, key))
            ),
            f"ready {self.ready}",
            f"end {self.end}",
            *(f"find {pattern}" for pattern in self.find),
            *(f"directory {name}" for name in self.directories),
        ]
        for name, contents in self._filled().items():
            said += [f"file {name}", *(f"\t{line}" for line in contents.strip("\n").split("\n"))]
        for words in self.prepare:
            said += ["prepare", *(f"\t{word}" for word in words)]
        if self.command:
            said += ["start", *(f"\t{word}" for word in self.command)]
        return "\n".join(said)

    def _filled(self) -> dict[str, str]:
        """The files with their settings' numbers."""
        filled = dict(self.files)
        for key, number in self.settings.items():
            filled = {name: text.replace(f"{{{key}}}", str(number)) for name, text in filled.items()}
        return filled


def bundled() -> dict[str, Path]:
    """Name and file of every server that comes with Steelyard."""
    folder = Path(str(resources.files("steelyard"))) / "servers"
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def read(name: str) -> Server:
    """The server of that bundled name, or in that file (a name with a slash or ending in .toml), with what
    follows the name as its settings: `apache-prefork max_clients=300`; or the one that runs at that URL.

    Raises UnknownName, or UsageError where the file cannot be read or does not describe a server, or a
    setting is none of it.
    """
    if running.is_url(name):
        return Server(name, title=name, command=(), running=Running(name))
    name, asked = _with_settings(name)
    text, path = toml_file.read("server", name, bundled())
    part = toml_file.parse("server", text, file=str(path))
    server = _server(path.stem, part)
    part.finish()
    return _within_limits(replace(server, settings=server.settings | _settings(server, asked)), part.file)


def of_part(part: Reader) -> Server:
    """The server that a study describes itself, with a name and the keys of a file. Raises UsageError."""
    server = _server(part.text("name"), part)
    part.finish()
    return server


def _within_limits(server: Server, where: str) -> Server:
    if len(server.lines().encode()) > LINES_MOST:
        advice = "; shorten its headers, or put its data into a file (data_file)" if server.running else ""
        raise UsageError(
            f"{where} has a description of more than {LINES_MOST:,} bytes, which is the limit{advice}"
        )
    return server


def known(name: str, own: Sequence[Server]) -> Server:
    """The server of that name among a study's own, or else as `read` has it."""
    found = next((one for one in own if one.name == name), None)
    return _within_limits(found, f"server {quoted(name)}") if found else read(name)


def _with_settings(text: str) -> tuple[str, list[str]]:
    """The server's name, or its file's, and the settings behind it."""
    found = re.fullmatch(r"(.*?)((?:\s+[^\s/=]+=[^\s/]*)*)\s*", text, re.DOTALL)
    return (found[1], found[2].split()) if found else (text, [])


def _settings(server: Server, asked: Sequence[str]) -> dict[str, int]:
    settings = {}
    for text in asked:
        key, sign, number = text.partition("=")
        if not sign or key not in server.settings:
            raise UnknownName(
                "setting", text, [f"{one}=NUMBER" for one in server.settings], where=f"server {server.name}: "
            )
        if not re.fullmatch("[0-9]{1,9}", number):
            allowed = f"a whole number from 0 to {_SETTING_MOST:,}"
            raise UsageError(f"server {server.name}: setting {key} {number!r}: {allowed}")
        settings[key] = int(number)
    return settings


def _server(name: str, part: Reader) -> Server:
    if url := part.text("url", ""):
        return _running(name, url, part)
    prepare = part.take("prepare", [])
    if not toml_file.is_list(prepare):
        raise part.wrong("prepare", prepare, "a list of commands")
    server = Server(
        name=name,
        title=part.text("title"),
        find=tuple(_pattern(part, one) for one in part.texts("find", ())),
        command=_command(part, "command", part.take("command", None)),
        prepare=tuple(_command(part, "prepare", words) for words in prepare),
        directories=tuple(_below(part, "directories", one) for one in part.texts("directories", ())),
        files=_files(part.part("files")),
        ready=_word(part, "ready", "accepts", READY),
        end=_word(part, "end", "TERM", ENDS),
        settings=_numbers(part.part("settings")),
        package=_line(part, "package"),
        user=_line(part, "user"),
        becomes=_line(part, "becomes"),
        speaks=_line(part, "speaks"),
        log=_line(part, "log"),
    )
    if not server.find and "{found}" in server.lines():
        raise UsageError(f"{part.file} uses {{found}}, but has no key 'find' for what to look for")
    return server


def _running(name: str, url: str, part: Reader) -> Server:
    return Server(
        name,
        title=part.text("title"),
        command=(),
        running=Running(
            url,
            is_allowed=part.truth("allow_remote", False),
            method=part.quantity("method", None, running.method),
            headers=tuple(_header(part, line) for line in part.texts("headers", ())),
            data=part.text("data", "") or None,
            data_file=_data_file(part),
            process=part.number("process", 1, 1 << 22),
        ),
    )


def _header(part: Reader, line: str) -> str:
    try:
        return running.header(line)
    except Wrong as wrong:
        raise part.wrong("headers", line, wrong.allowed) from None


def _data_file(part: Reader) -> str | None:
    path = _line(part, "data_file")
    if path and not path.startswith("/"):
        raise part.wrong("data_file", path, "an absolute path")
    return path or None


def _pattern(part: Reader, text: str) -> str:
    if not _is_line(text) or not text.startswith("/") or text.endswith("/") or text.count("*") > 1:
        raise part.wrong("find", text, "an absolute path of a program with at most one * in it")
    return text


def _command(part: Reader, key: str, words: Any) -> tuple[str, ...]:
    if words is None:
        return ()
    if not (isinstance(words, list) and words and all(_is_line(word) for word in words)):
        raise part.wrong(key, words, "a list of words, each without line ends")
    script = words[2] if words[0].endswith("sh") and words[1:2] == ["-c"] and words[2:] else ""
    if any(one in script for one in _MEANINGS):
        raise part.wrong(key, script, 'a text without {...}: give the shell "sh", "{directory}" and say $1')
    if not words[0].startswith(("/", "{found}/")):
        raise part.wrong(key, words[0], "an absolute path of a program")
    return tuple(words)


def _numbers(part: Reader) -> dict[str, int]:
    numbers = part.rest()
    for key, number in numbers.items():
        if not re.fullmatch(r"[a-z][a-z_]*", key) or f"{{{key}}}" in _MEANINGS:
            raise part.wrong(key, number, "another name, of small letters and _")
        if type(number) is not int or not 0 <= number <= _SETTING_MOST:
            raise part.wrong(key, number, f"a whole number from 0 to {_SETTING_MOST:,}")
    return numbers


def _files(part: Reader) -> dict[str, str]:
    files = part.rest()
    for name, contents in files.items():
        _below(part, name, name)
        if not isinstance(contents, str):
            raise part.wrong(name, contents, "a text")
    return files


def _below(part: Reader, key: str, name: str) -> str:
    if not _is_line(name) or name.startswith("/") or ".." in name.split("/"):
        raise part.wrong(key, name, "a name below the server's directory")
    return name


def _line(part: Reader, key: str, default: str = "") -> str:
    value = part.text(key, default)
    if not value.isprintable():
        raise part.wrong(key, value, "a text without line ends")
    return value


def _word(part: Reader, key: str, default: str, known: Sequence[str]) -> str:
    """A line that begins with a word of those."""
    value = _line(part, key, default)
    if value.split(" ")[0] not in [one.split(" ")[0] for one in known]:
        raise part.wrong(key, value, f"one of {', '.join(known)}")
    return value


def _is_line(value: object) -> bool:
    return isinstance(value, str) and bool(value) and value.isprintable()
