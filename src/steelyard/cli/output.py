"""Where the words of the command line go: data to standard output, progress and advice to standard error."""

import os
from pathlib import Path

from steelyard import streams
from steelyard.errors import UsageError
from steelyard.text import quoted


def say(sentence: str) -> None:
    """Tells the person, not the program that reads our output."""
    streams.say(sentence)


def archive(text: str | None) -> Path:
    """The archive of that option's text."""
    from steelyard.archive import experiments

    root = Path(text) if text else experiments.default_root()
    try:
        str(root).encode()
    except UnicodeEncodeError:  # what writes and reads Parquet takes no other
        raise UsageError(
            f"the archive is {quoted(root)}, but must be a directory with a UTF-8 name"
        ) from None
    return root


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
