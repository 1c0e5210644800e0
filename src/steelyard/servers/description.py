"""Reads a server's file, and writes it as the lines that the load program understands."""

import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from steelyard.errors import UnknownName, UsageError
from steelyard.text import quoted, shortened

LINES_MOST = 6000  # bytes: the load program's
ENDS = ("TERM", "QUIT", "INT")
READY = ("http /PATH", "greeting TEXT", "accepts")
_MEANINGS = ("{directory}", "{kept}", "{port}", "{user}")  # what a trial knows
_KEYS = {
    "title": str,
    "package": str,
    "command": list,
    "prepare": list,
    "directories": list,
    "files": dict,
    "user": str,
    "speaks": str,
    "ready": str,
    "end": str,
    "log": str,
}


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
    known = bundled()
    path = Path(name) if "/" in name or name.endswith(".toml") else known.get(name)
    if path is None:
        raise UnknownName("server", name, known)
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else shortened(str(error), 200)
        raise UsageError(f"server {quoted(name)} cannot be read: {reason}") from error
    return _server(path.stem, tree, file=str(path))


def _server(name: str, tree: dict[str, Any], *, file: str) -> Server:
    for key, value in tree.items():
        if key not in _KEYS:
            raise _wrong(file, key, value, f"left out; there are {', '.join(_KEYS)}")
        if type(value) is not _KEYS[key]:
            raise _wrong(file, key, value, {str: "a text", list: "a list", dict: "a table"}[_KEYS[key]])
    for key in ("title",):
        if not tree.get(key):
            raise _wrong(file, key, tree.get(key, ""), "there")
    commands = [*tree.get("prepare", []), *([tree["command"]] if "command" in tree else [])]
    for words in commands:
        if not (isinstance(words, list) and words and all(_is_line(word) for word in words)):
            raise _wrong(file, "command", words, "a list of words, each without line ends")
        if (
            words[0].endswith("sh")
            and words[1:2] == ["-c"]
            and any(one in "".join(words[2:3]) for one in _MEANINGS)
        ):
            raise _wrong(
                file,
                "command",
                words[2:3],
                'a text without {...}: give the shell "sh", "{directory}" and say $1',
            )
        if not words[0].startswith("/"):
            raise _wrong(file, "command", words[0], "a program's whole path: none is searched for")
    for key in ("directories", "files"):
        for one in tree.get(key, ()):
            if not _is_line(one) or one.startswith("/") or ".." in one.split("/"):
                raise _wrong(file, key, one, "a name below the server's directory")
    if not all(isinstance(contents, str) for contents in tree.get("files", {}).values()):
        raise _wrong(file, "files", "", "texts by name")
    for key in ("package", "user", "speaks", "log", "ready"):
        if not _is_line(tree.get(key, "-")):
            raise _wrong(file, key, tree[key], "a text without line ends")
    if tree.get("end", "TERM") not in ENDS:
        raise _wrong(file, "end", tree["end"], f"one of {', '.join(ENDS)}")
    if tree.get("ready", "accepts").split(" ")[0] not in [one.split(" ")[0] for one in READY]:
        raise _wrong(file, "ready", tree["ready"], f"one of {', '.join(READY)}")
    server = Server(
        name=name,
        title=tree["title"],
        command=tuple(tree.get("command", ())),
        prepare=tuple(tuple(words) for words in tree.get("prepare", ())),
        directories=tuple(tree.get("directories", ())),
        **{
            key: tree[key]
            for key in ("package", "files", "user", "speaks", "ready", "end", "log")
            if key in tree
        },
    )
    if len(server.lines().encode()) > LINES_MOST:
        raise UsageError(f"server {file} is described by more than {LINES_MOST:,} bytes, which are the most")
    return server


def _is_line(value: object) -> bool:
    return isinstance(value, str) and bool(value) and value.isprintable()


def _wrong(file: str, key: str, value: object, allowed: str) -> UsageError:
    return UsageError(f"server {file}: {key} is {quoted(value)}, and must be {allowed}")
