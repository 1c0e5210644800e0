"""Selects from the output of a system or command the lines that explain its end, and limits how much is
kept.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.text import shortened, shown

LINE_MOST = 300  # characters of a line in a message
KEPT_MOST = 1 << 16  # bytes of one stream
_HEAD = KEPT_MOST // 4  # of these from its beginning, where what starts says what it is
_SEARCHED_MOST = 1 << 22  # bytes of its end, in which the line that says why is looked for
_REASONS_MOST, _LAST_MOST = 2, 3

# A kernel or a program that gives up names the cause in one line, followed by tens of lines of registers
# and backtrace. The first such line is the cause; the last may say what came of it.
_CAUSES = re.compile(
    r"Kernel panic|not syncing|VFS: (?:Unable|Cannot)|\bOops\b|\bBUG:|kernel BUG|[Uu]nable to handle|"
    r"\bOut of memory\b|Killed process|oom-kill|[Ss]egmentation fault|\bsegfault\b|general protection|"
    r"double fault|Bus error|Illegal instruction|No working init|Attempted to kill init|"
    r"^(?:panic|fatal error|FATAL(?: ERROR)?):|[Uu]nhandled exception|terminate called|Traceback \(most|"
    r"^qemu-[\w-]+: (?!warning)|^(?:runsc|ssh|linux\.uml|wine(?:64)?|podman|docker|bwrap|chroot|unshare): |"
    r"Host key verification failed|Permission denied \(|kex_exchange|^Connection (?:closed|reset|timed out)|"
    r"(?:starting|creating|running) (?:container|sandbox)|^[0-9a-f]{4}:err:",
)
# Weaker words, which lines that say nothing of the end may hold as well: the last such line is the likeliest.
_COMPLAINTS = re.compile(
    r"\b(?:error|errors|failed|failure|fatal|cannot|can't|could not|unable|denied|refused|not found|no such|"
    r"no space|not permitted|invalid|killed|aborted|corrupted|missing)\b",
    re.IGNORECASE,
)
# What repeats the cause at the end of a backtrace, and what only stands around it.
_ECHOES = re.compile(r"-+\[ (?:end|cut here)|\] *CPU: |Call Trace|\bTainted: |Rebooting in|Kernel Offset")


@dataclass(frozen=True, slots=True)
class Said:
    """The kept output of one stream: lines without control characters, and the number of bytes left out."""

    text: str = ""
    left_out: int = 0


def reasons(lines: Iterable[str]) -> list[str]:
    """The lines that say why it ended, in their order: the first cause and the last, or else the last
    complaint; none where no line sounds like either."""
    known = [line for line in lines if not _ECHOES.search(line)]
    causes = [line for line in known if _CAUSES.search(line)]
    if causes:
        return list(dict.fromkeys([causes[0], causes[-1]]))[:_REASONS_MOST]
    return [line for line in known if _COMPLAINTS.search(line)][-1:]


def summary(lines: Iterable[str]) -> list[str]:
    """At most three of these lines for a message, shortened and without control characters: those with the
    reason, and the last ones. A line "…" marks omissions.
    """
    spoken = [line for line in (shown(one.strip()) for one in lines) if line]
    last = spoken[-_LAST_MOST:]
    before = [line for line in reasons(spoken) if line not in last]
    kept = [*before, *(["…"] if before else []), *last[len(before) :]]
    return [shortened(line, LINE_MOST) for line in kept]


def last_line(text: bytes) -> str:
    """The line of a command's that says why it failed: the last that sounds so, or the last."""
    spoken = [line for line in text.decode(errors="replace").strip().splitlines() if line.strip()]
    if not spoken:
        return "no reason given"
    found = reasons(spoken)
    return shortened(shown((found or spoken)[-1].strip()), 200)


def lines_of(file: int, *, since: int = 0) -> list[str]:
    """The lines written to the file from that byte on, or its end if there are many. The file offset does not
    move: the writer may share it.
    """
    end = os.fstat(file).st_size
    return _part(file, max(since, end - _SEARCHED_MOST), end).decode(errors="replace").splitlines()


def kept(content: bytes | int) -> Said:
    """The kept part of these bytes, or of the file with that descriptor: the beginning and the end."""
    size = len(content) if isinstance(content, bytes) else os.fstat(content).st_size
    if size <= KEPT_MOST:
        return Said(_plain(_part(content, 0, size)))
    head, tail = _part(content, 0, _HEAD), _part(content, size - (KEPT_MOST - _HEAD), size)
    left_out = size - KEPT_MOST
    return Said(f"{_plain(head)}\n[{left_out} bytes are not kept]\n{_plain(tail)}", left_out)


def _part(content: bytes | int, begin: int, end: int) -> bytes:
    if isinstance(content, bytes):
        return content[begin:end]
    return os.pread(content, end - begin, begin)


def _plain(text: bytes) -> str:
    lines = text.decode(errors="replace").split("\n")
    return "\n".join(shown(line.rstrip("\r").expandtabs()) for line in lines).strip("\n")
