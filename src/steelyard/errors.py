"""Everything that can go wrong in a way a person can mend, as one tree.

    SteelyardError               exit status 1
    ├── UsageError               2   what the user wrote: names the thing, quotes it, says what is allowed
    │   ├── StudyError           2   in a study's or a server's file
    │   └── UnknownName          2   no such system, workload, study...; suggests the nearest
    ├── Unsupported              77  a system cannot start here; says what to install
    ├── SystemFailed             1   a system started and then died or fell silent
    ├── BootFailed               1   a machine did not come up as it was asked to
    │   └── Stuck                1   and it is of no use to ask again
    ├── Rebooting                0   this machine reboots; the experiment goes on by itself
    └── ArchiveError             1   the archive cannot be written or read

A trial that fails is not among them: that is an outcome, and data.
"""

import difflib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from steelyard.text import quoted, shortened, shown

_KNOWN_MOST = 400  # characters of the names that there are
_COMPARED_MOST = 40  # characters of a name that another one may be near to


class SteelyardError(Exception):
    """An error that a person can mend. Its text is one sentence, ready to print."""

    exit_status = 1


class UsageError(SteelyardError):
    """Something the user wrote is wrong."""

    exit_status = 2


class StudyError(UsageError):
    """A study's or a server's file is wrong: names the file, the key, the value, and what is allowed."""

    def __init__(self, file: str, key: str, value: object, allowed: str) -> None:
        where = f"{file}: {shortened(shown(key), 120)}"
        value_text = "missing" if value is None else quoted(value)
        super().__init__(f"{where} is {value_text}, but must be {allowed}")


class UnknownName(UsageError):
    """An unknown name; the nearest known name is suggested."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str = "") -> None:
        names = sorted(known)
        like = [one for one in names if len(one) <= _COMPARED_MOST] if len(name) <= _COMPARED_MOST else []
        near = difflib.get_close_matches(name, like, n=1, cutoff=0.5)
        known_ones = f"known are: {_listed(names)}" if names else "there are none"
        advice = f"did you mean {quoted(near[0])}?" if near else known_ones
        super().__init__(f"{where}there is no {kind} {quoted(name)}; {advice}")


def _listed(names: Sequence[str]) -> str:
    """The first of them, as many as a sentence holds, and how many there are besides."""
    text = ""
    for number, name in enumerate(names):
        more = f"{', ' if text else ''}{shortened(shown(name), 60)}"
        if len(text) + len(more) > _KNOWN_MOST:
            return f"{text} and {len(names) - number} more"
        text += more
    return text


class Unsupported(SteelyardError):
    """A system cannot start here."""

    exit_status = 77


class SystemFailed(SteelyardError):
    """A system died, fell silent, or spoke nonsense."""


@contextmanager
def starting(program: str | Path, *, raises: type[SteelyardError] = SystemFailed) -> Iterator[None]:
    """Names the program where the kernel refuses to start it: a sandbox or a limit may refuse any fork, and
    the kernel's own words name nothing."""
    try:
        yield
    except OSError as error:
        raise raises(f"{Path(program).name} cannot be started: {why_not(error, program)}") from error


def in_words(error: OSError) -> str:
    """The kernel's words for it, or Python's own where the kernel did not refuse anything."""
    return error.strerror or str(error)


def why_not(error: OSError, program: str | Path) -> str:
    """The kernel's words on a program that it did not start, with the file where that is another: the program
    itself may lack nothing."""
    words = in_words(error)
    file = os.fsdecode(error.filename or program)
    return words if file == os.fsdecode(program) else f"{quoted(file)}: {words}"


class BootFailed(SteelyardError):
    """A machine did not come up as the system that it was asked for."""

    def __init__(self, sentence: str, *, said: bytes = b"") -> None:
        """`said` is what the command that should have brought it there wrote."""
        super().__init__(sentence)
        self.said = said


class Stuck(BootFailed):
    """Another attempt is useless until a person has mended something."""


class Rebooting(SteelyardError):
    """This machine reboots, and the experiment resumes by itself afterwards."""

    exit_status = 0


class ArchiveError(SteelyardError):
    """The archive cannot be written or read."""


class Ended(KeyboardInterrupt):
    """Asked to end at once, by a second Ctrl-C or a signal: all is put in order, and nothing is reported."""
