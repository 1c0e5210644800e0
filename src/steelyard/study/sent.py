"""Files that a study sends along to its systems: how they may be named, and the words of a command that mean
them. Each system has its own copy of them in a directory that the words name {with}."""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from steelyard.text import quoted

PARAMETER = "with"  # of the workload `command`: whether {with} stands for that directory
PLACE = "{with}"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+@%=,~-]{0,199}")


def refusal(paths: Sequence[str]) -> str:
    """Why files of these paths cannot be sent under their names; "" if they can."""
    names = [Path(path).name for path in paths]
    for name in names:
        if not _NAME.fullmatch(name):
            return f"files named with letters, digits and ._+@%=,~- alone, a letter or digit first: {name!r}"
        if names.count(name) > 1:
            return f"files that each have another name, not two {quoted(name)}"
    return ""


def put_in(words: Sequence[str], paths: Sequence[str]) -> tuple[str, ...]:
    """The words, with each that is one of these files in its place."""
    places = {os.path.abspath(path): f"{PLACE}/{Path(path).name}" for path in paths}
    return tuple(places.get(os.path.abspath(word), word) if word else word for word in words)


def put_in_line(line: str, paths: Sequence[str]) -> str:
    """The same of a command line."""
    return shlex.join(put_in(shlex.split(line), paths)) if line else line


def named_here(text: str, paths: Sequence[str]) -> str:
    """The text with the files that this machine has in the place of their copies."""
    for path in paths:
        text = text.replace(f"{PLACE}/{Path(path).name}", str(path))
    return text
