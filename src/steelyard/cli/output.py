"""Where the words of the command line go: data to standard output, progress and advice to standard error."""

import os
from pathlib import Path

from steelyard import streams
from steelyard.errors import UsageError
from steelyard.text import quoted

INTERRUPTED = 130  # the exit status: 128 + SIGINT, as shells have it


def say(sentence: str) -> None:
    """Tells the person, not the program that reads our output."""
    streams.say(sentence)


def tell(sentence: str) -> None:
    """The same of what is damaged and left out."""
    say(f"steelyard: {sentence}")


def archive(text: str | None) -> Path:
    """The archive of that option's text."""
    from steelyard.archive import experiments

    return Path(text) if text else experiments.default_root()


def may_be_written(option: str, path: Path) -> None:
    """Raises UsageError where a file is to be made that cannot be: better now than when all is measured."""
    folder = path.absolute().parent
    for wrong, why in (
        (not folder.is_dir(), "there is no such directory"),
        (path.is_dir(), "it is a directory"),
        (not os.access(folder, os.W_OK), "its directory may not be written"),
    ):
        if wrong:
            raise UsageError(f"{option} is {quoted(path)}, which cannot be written: {why}")
