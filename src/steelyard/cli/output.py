"""Output of the command line: data to standard output, progress and advice to standard error."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from steelyard import streams
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
    if path.exists() and not path.is_dir() and not path.is_file():  # a pipe, a device
        return
    folder = path.absolute().parent
    for wrong, why in (
        (not folder.is_dir(), "no such directory"),
        (path.is_dir(), "it is a directory"),
        (not os.access(folder, os.W_OK), "its directory is not writable"),
    ):
        if wrong:
            raise UsageError(f"{option} is {quoted(path)}, which cannot be written: {why}")


@contextmanager
def directed(path: Path | None) -> Iterator[None]:
    """Lets what is printed go into that file, if there is one, whole or not at all. Raises UsageError where
    it cannot be written."""
    if path is None:
        yield
        return
    may_be_written("--output", path)
    written = io.StringIO()
    with redirect_stdout(written):
        yield
    with writing("--output", path):
        streams.write_whole(path, written.getvalue())
