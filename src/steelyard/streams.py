"""The standard streams, in whatever state they were inherited; and a file instead of them."""

import contextlib
import io
import os
import sys
from typing import Any, TextIO

from steelyard import text
from steelyard.errors import SteelyardError, in_words

_SENTENCE_MOST = 2000  # characters


def say(sentence: str) -> None:
    """A sentence to people, on standard error: one line, whatever is quoted in it."""
    print(text.shortened(text.shown(sentence), _SENTENCE_MOST), file=sys.stderr)


def tell(sentence: str) -> None:
    """The same, from Steelyard itself."""
    say(f"steelyard: {sentence}")


def put_in_order() -> None:
    """Prepares the standard streams. From now on a character that a stream cannot show is written out.
    Standard output that cannot be written to raises SteelyardError, or BrokenPipeError; standard error
    that cannot be written to raises nothing."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # Else the next file to be opened would be what we, or those whom we start, print into. One that
            # can only be read refuses what is written as a closed one does.
            os.set_inheritable(_nowhere() if number == 2 else _ended(), True)
    sys.stdout = _stream(sys.stdout, 1, _Output)
    sys.stderr = _stream(sys.stderr, 2, _Errors)


def _ended() -> int:
    """A new descriptor that has nothing to be read, and takes nothing."""
    end, other = os.pipe()
    os.close(other)
    return end


def _nowhere() -> int:
    """A new descriptor that takes what is not read."""
    with contextlib.suppress(OSError):
        return os.open(os.devnull, os.O_WRONLY)
    try:
        return os.memfd_create("nowhere")
    except OSError:
        return _ended()


def finish() -> int:
    """Writes what is left to be written; returns 0, or the exit status where that cannot be done."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return 0
    except SteelyardError as error:
        tell(str(error))
        return error.exit_status
    return 0


class _Output(io.FileIO):
    def write(self, part: Any) -> int:
        try:
            return super().write(part) or 0
        except OSError as error:
            # Said once: what is still to be written goes nowhere.
            os.dup2(_nowhere(), 1)
            if isinstance(error, BrokenPipeError):
                raise
            raise SteelyardError(f"standard output cannot be written: {in_words(error)}") from error


class _Errors(io.FileIO):
    def write(self, part: Any) -> int:
        with contextlib.suppress(OSError):
            super().write(part)
        return len(memoryview(part).cast("B"))


def _stream(stream: TextIO | None, number: int, kind: type[io.FileIO]) -> TextIO:
    raw = kind(number, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding if stream else "utf-8",
        errors=text.READABLE,
        line_buffering=number == 2 or raw.isatty(),
    )
