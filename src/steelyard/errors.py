"""Everything that can go wrong in a way a person can mend, as one tree.

    SteelyardError               exit status 1
    ├── UsageError               2   what the user wrote: names the thing, quotes it, says what is allowed
    │   ├── StudyError           2   in a study file
    │   └── UnknownName          2   no such system, workload, study...; suggests the nearest
    ├── Unsupported              77  a system cannot start here; says what to install
    ├── SystemFailed             1   a system started and then died or fell silent
    └── ArchiveError             1   the archive cannot be written or read

A trial that fails is not among them: that is an outcome, and data.
"""

import difflib
import reprlib
from collections.abc import Iterable

QUOTED_MOST = 60  # characters of a wrong value that a message quotes


class _Quoting(reprlib.Repr):
    """Bounded in time and memory, whatever the value; null, true and false as files have them."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = QUOTED_MOST

    def repr_int(self, value: int, level: int) -> str:
        # Python refuses to write a number of more than 4,300 digits.
        if value.bit_length() > 200:
            return f"a number of {round(value.bit_length() * 0.30103):,} digits"
        return repr(value)

    def repr_bytes(self, value: bytes, level: int) -> str:
        return repr(value[: QUOTED_MOST + 1])

    def repr_bool(self, value: bool, level: int) -> str:
        return "true" if value else "false"

    def repr_NoneType(self, value: None, level: int) -> str:  # noqa: N802 -- the type's name
        return "null"


_QUOTING = _Quoting()


def quoted(value: object) -> str:
    """The value as a message quotes it: on one line, escaped, of at most QUOTED_MOST characters."""
    text = _QUOTING.repr(value)
    return text if len(text) <= QUOTED_MOST else text[: QUOTED_MOST - 3] + "..."


def shortened(text: str, most: int) -> str:
    """The text, or its beginning and how long it is."""
    if len(text) <= most:
        return text
    told = f"... ({len(text):,} characters)"
    return text[: max(0, most - len(told))] + told


class SteelyardError(Exception):
    """What a person can mend. Its text is one sentence, ready to be shown."""

    exit_status = 1


class UsageError(SteelyardError):
    """Something the user wrote is wrong."""

    exit_status = 2


class StudyError(UsageError):
    """A study file is wrong: names the file, the key, the value, and what is allowed."""

    def __init__(self, file: str, key: str, value: object, allowed: str) -> None:
        super().__init__(f"study {file}: {key} is {value!r}, but must be {allowed}")


class UnknownName(UsageError):
    """There is no such thing; the nearest known name is suggested."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str = "") -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        advice = f"did you mean '{near[0]}'?" if near else f"known are: {', '.join(names)}"
        super().__init__(f"{where}there is no {kind} '{name}'; {advice}")


class Unsupported(SteelyardError):
    """A system cannot start here."""

    exit_status = 77


class SystemFailed(SteelyardError):
    """A system died, fell silent, or spoke nonsense."""


class ArchiveError(SteelyardError):
    """The archive cannot be written or read."""


class Ended(KeyboardInterrupt):
    """Asked to end at once, by a second Ctrl-C or a signal: all is put in order, and nothing is reported."""
