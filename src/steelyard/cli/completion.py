"""Completes command lines in a shell.

The scripts in scripts/completion ask; argcomplete answers from the parser that reads the command line.
"""

import argparse
import os
import shutil
from collections.abc import Callable, Iterable, Iterator

import argcomplete
from argcomplete.completers import DirectoriesCompleter, FilesCompleter

from steelyard import systems
from steelyard.cli import output, parser
from steelyard.errors import SteelyardError
from steelyard.programs import builds, built
from steelyard.study import study_file, tool
from steelyard.watch.order import BACKENDS

Names = Callable[[argparse.Namespace], Iterable[str]]


def answer() -> None:
    """Tells the shell, by the descriptor that it reads, and ends this process."""
    whole = parser.parser_of(())
    for action in _actions(whole):
        action.completer = _completer(action)  # type: ignore[attr-defined]
    argcomplete.autocomplete(whole, always_complete_options=False)


def _actions(page: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The actions of the parser and of its subparsers that take a value."""
    for action in page._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from _actions(one)
        elif action.choices is None:
            yield action


def _completer(action: argparse.Action) -> Callable[..., Iterable[str]]:
    """The completer, by the help's name of the value, or by the option's name."""
    names = _NAMES.get(str(action.metavar)) or _NAMES.get(action.dest.upper())
    files = _FILES.get(str(action.metavar)) or _FILES.get(action.dest.upper())

    def complete(prefix: str, parsed_args: argparse.Namespace, **rest: object) -> list[str]:
        try:
            known = [*names(parsed_args)] if names else []
        except (SteelyardError, OSError):
            known = []
        found = [one for one in known if one.startswith(prefix)]
        return [*found, *(files(prefix) if files else ())]

    return complete


def _systems(_: argparse.Namespace) -> Iterator[str]:
    yield from (system.name for system in systems.BUILT_IN if system.name != "ssh")
    yield "ssh:"


def _experiments(given: argparse.Namespace) -> Iterator[str]:
    return _in_archive(given, "experiments")


def _watches(given: argparse.Namespace) -> Iterator[str]:
    return _in_archive(given, "watches")


def _in_archive(given: argparse.Namespace, folder: str) -> Iterator[str]:
    """The newest first. Their names are enough: nothing is read."""
    place = output.archive(getattr(given, "archive", None)) / folder
    found = [one.name for one in place.iterdir() if os.path.isdir(one) and not one.name.startswith(".")]
    return iter(sorted(found, reverse=True))


def _commands(given: argparse.Namespace) -> Iterator[str]:
    """The executables, where a command is expected."""
    before = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0"))]
    if " -- " in before and not getattr(given, "words", None):
        for folder in os.get_exec_path():
            if os.path.isdir(folder):
                yield from (one for one in os.listdir(folder) if shutil.which(one, path=folder))


def _command_files(prefix: str) -> Iterable[str]:
    before = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0"))]
    return FilesCompleter()(prefix) if " -- " in before else ()


_NAMES: dict[str, Names] = {
    "SYSTEM": _systems,
    "STUDY": lambda _: study_file.bundled(),
    "WORKLOAD": lambda _: (one.name for one in built.catalogue().workloads),
    "TOOL": lambda _: tool.bundled(),
    "COMPILER": lambda _: builds.COMPILERS,
    "LIBC": lambda _: builds.LIBCS,
    "LEVEL": lambda _: builds.LEVELS,
    "TARGET": lambda _: builds.TARGETS,
    "BACKEND": lambda _: BACKENDS,
    "EXPERIMENT": _experiments,
    "KEPT": _watches,
    "WORDS": _commands,
}
_FILES: dict[str, Callable[[str], Iterable[str]]] = {
    **dict.fromkeys(("FILE", "STUDY", "TOOL"), FilesCompleter()),
    **dict.fromkeys(("DIR", "DIRECTORY", "PATH", "EXPERIMENT"), DirectoriesCompleter()),
    "WORDS": _command_files,
}
