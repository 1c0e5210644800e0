"""Where the words of the command line go: data to standard output, progress and advice to standard error."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.text import quoted

INTERRUPTED = 130  # the exit status: 128 + SIGINT, as shells have it


def archive(text: str | None) -> Path:
    """The archive of that option's text."""
    from steelyard.archive import experiments

    return Path(text) if text else experiments.default_root()


@contextmanager
def writing(option: str, path: str | Path) -> Iterator[None]:
    """Raises UsageError where the file that the option names cannot be written."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{option} is {quoted(path)}, which cannot be written: {error.strerror}") from error


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
