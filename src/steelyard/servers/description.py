"""Reads a server's file, and writes it as the lines that the load program understands."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from steelyard import toml_file
from steelyard.errors import UsageError
from steelyard.toml_file import Reader

LINES_MOST = 6000  # bytes: the load program's
ENDS = ("TERM", "QUIT", "INT")
READY = ("http /PATH", "greeting TEXT", "accepts")
_MEANINGS = ("{directory}", "{kept}", "{port}", "{user}")  # what a trial knows


@dataclass(frozen=True, slots=True)
class Server:
    """A server as its file describes it; {directory}, {kept}, {port} and {user} are what a trial knows."""

    name: str
    title: str
    command: tuple[str, ...]  # empty: there is nothing to start
    package: str = ""  # Debian's, for the advice to install it
    prepare: tuple[tuple[str, ...], ...] = ()  # commands that fill {kept}, once an agent
    directories: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)  # by name below {directory}
    user: str = ""  # whose rights it has, where the agent is root
    speaks: str = ""  # the protocol of a database
    ready: str = "accepts"
    end: str = "TERM"
    log: str = ""  # where its last words are, besides its output

    def lines(self) -> str:
        """What the load program reads."""
        said = [
            f"name {self.name}",
            *(
                f"{key} {value}"
                for key in ("package", "user", "speaks", "log")
                if (value := getattr(self, key))
            ),
            f"ready {self.ready}",
            f"end {self.end}",
            *(f"directory {name}" for name in self.directories),
        ]
        for name, contents in self.files.items():
            said += [f"file {name}", *(f"\t{line}" for line in contents.strip("\n").split("\n"))]
        for words in self.prepare:
            said += ["prepare", *(f"\t{word}" for word in words)]
        if self.command:
            said += ["start", *(f"\t{word}" for word in self.command)]
        return "\n".join(said)


def bundled() -> dict[str, Path]:
    """Name and file of every server that comes with Steelyard."""
    folder = Path(str(resources.files("steelyard"))) / "servers"
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def read(name: str) -> Server:
    """The server of that bundled name, or in that file (a name with a slash or ending in .toml).

    Raises UnknownName, or UsageError where the file cannot be read or does not describe a server.
    """
    text, path = toml_file.read("server", name, bundled())
    part = toml_file.parse("server", text, file=str(path))
    server = _server(path.stem, part)
    part.finish()
    if len(server.lines().encode()) > LINES_MOST:
        raise UsageError(f"{part.file} is described by more than {LINES_MOST:,} bytes, which are the most")
    return server


def _server(name: str, part: Reader) -> Server:
    prepare = part.take("prepare", [])
    if not toml_file.is_list(prepare):
        raise part.wrong("prepare", prepare, "a list of commands")
    return Server(
        name=name,
        title=part.text("title"),
        command=_command(part, "command", part.take("command", None)),
        prepare=tuple(_command(part, "prepare", words) for words in prepare),
        directories=tuple(_below(part, "directories", one) for one in part.texts("directories", ())),
        files=_files(part.part("files")),
        ready=_word(part, "ready", "accepts", READY),
        end=_word(part, "end", "TERM", ENDS),
        **{key: _line(part, key) for key in ("package", "user", "speaks", "log")},
    )


def _command(part: Reader, key: str, words: Any) -> tuple[str, ...]:
    if words is None:
        return ()
    if not (isinstance(words, list) and words and all(_is_line(word) for word in words)):
        raise part.wrong(key, words, "a list of words, each without line ends")
    script = words[2] if words[0].endswith("sh") and words[1:2] == ["-c"] and words[2:] else ""
    if any(one in script for one in _MEANINGS):
        raise part.wrong(key, script, 'a text without {...}: give the shell "sh", "{directory}" and say $1')
    if not words[0].startswith("/"):
        raise part.wrong(key, words[0], "a program's whole path: none is searched for")
    return tuple(words)


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
