"""Files that a study sends along to its systems: each agent keeps a copy of each in a directory of its own,
which the words of a command name {with}. So a system needs to share no file tree with this machine."""

import base64
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import UsageError, in_words
from steelyard.text import quoted

MOST_BYTES = 1 << 30  # of all of a study's
LAST_REQUEST = "carried"
_PART = 18_000  # bytes of one request: in base64 within the agent's longest line


@dataclass(frozen=True, slots=True)
class CarriedFile:
    """A file of this machine, as it was when the run began."""

    path: Path
    size: int
    sha256: str
    is_program: bool

    @property
    def name(self) -> str:
        return self.path.name

    def requests(self) -> Iterator[str]:
        """What sends it, all but the last request, which the agent answers. Raises OSError."""
        yield f"carry {self.name} {'program' if self.is_program else 'data'}"
        with open(self.path, "rb") as file:
            while part := file.read(_PART):
                yield f"bytes {base64.b64encode(part).decode('ascii')}"


def look_at(paths: Sequence[str]) -> tuple[CarriedFile, ...]:
    """The files of these paths. Raises UsageError for one that cannot be sent."""
    files = tuple(_look_at(Path(path)) for path in paths)
    if sum(file.size for file in files) > MOST_BYTES:
        raise UsageError(
            f"with names {sum(file.size for file in files):,} bytes of files, but may name at most "
            f"{MOST_BYTES:,}: each start of a system takes them along"
        )
    return files


def _look_at(path: Path) -> CarriedFile:
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"with names {quoted(path)}, but must name files")
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"with names {quoted(path)}, which cannot be read: {in_words(error)}") from error
    return CarriedFile(path, status.st_size, digest, is_program=os.access(path, os.X_OK))
