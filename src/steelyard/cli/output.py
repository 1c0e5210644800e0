"""Output of the command line: data to standard output, progress and advice to standard error."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from steelyard import destination
from steelyard.errors import UsageError, in_words
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
        raise UsageError(f"{option} is {quoted(path)}, which cannot be written: {in_words(error)}") from error


def may_be_written(option: str, path: Path) -> None:
    """Raises UsageError where nothing can be written: better now than when all is measured."""
    if why := destination.why_not(path):
        raise UsageError(f"{option} is {quoted(path)}, which cannot be written: {why}")


def write(option: str, path: Path, content: str) -> None:
    """Writes the text to what the option names. Raises UsageError where it cannot be written."""
    with writing(option, path):
        destination.write(path, content)


@contextmanager
def directed(path: Path | None, *, option: str = "--output") -> Iterator[None]:
    """Lets what is printed go into that file, if there is one, whole or not at all. Raises UsageError where
    it cannot be written."""
    if path is None or destination.descriptor(path) == 1:
        yield
        return
    written = io.StringIO()
    with redirect_stdout(written):
        yield
    write(option, path, written.getvalue())
