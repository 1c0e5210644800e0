"""An open experiment's journal: appends events, reads them back, and tells what an interrupted run left.

A line an event, written and synced whole before anything else happens. A line that a crash cut short has
no newline; it never happened, and is cut off before anything is added. Any other line that is not what was
written is damaged: what reads the journal reads the others.
"""

import dataclasses
import json
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from steelyard import shapes
from steelyard.archive import files, schema
from steelyard.archive.schema import Line
from steelyard.errors import ArchiveError, in_words
from steelyard.events import (
    SET_ASIDE,
    Accounted,
    Earlier,
    Event,
    Look,
    Started,
    Stood,
    Switching,
    Unbooted,
    Watched,
    Words,
)
from steelyard.shapes import Wrong
from steelyard.study.model import Cell

NAME = "journal.jsonl"
GOING_ON = "going on"  # a note: there was no measuring between the event before it and the note

_LINE_MOST = 1 << 28  # bytes
_READ_ONCE = 1 << 16


class Journal:
    """An open experiment's journal. Each append is on the disk, whole, when it returns."""

    def __init__(self, directory: Path) -> None:
        """Opens the journal and cuts off a line that a crash cut short. Raises ArchiveError."""
        self._path = directory / NAME
        self._handle: int | None = None
        with explained(self._path):
            handle = files.calls.open(self._path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                self._size = _whole_lines(handle)
                self._cut(handle)
            except BaseException:
                os.close(handle)
                raise
            self._handle = handle

    def append(self, event: Event | str) -> None:
        """Adds one event, or a note. Raises ArchiveError; the journal is then as it was before."""
        line = json.dumps(_journal_line(event), separators=(",", ":")).encode() + b"\n"
        with explained(self._path):
            handle = self._open_handle()
            try:
                files.write_all(handle, line)
                files.calls.fsync(handle)
            except BaseException:
                # Also when interrupted in the middle of a line. Shrinking needs no space, and what a crash
                # now would leave is cut off when the journal is opened again; so is what cannot be cut off.
                try:
                    self._cut(handle)
                except OSError:
                    self.close()
                raise
        self._size += len(line)

    def _open_handle(self) -> int:
        if self._handle is None:
            raise ArchiveError(f"{self._path} could not be written earlier, and is closed")
        return self._handle

    def _cut(self, handle: int) -> None:
        files.calls.truncate(handle, self._size)
        os.lseek(handle, self._size, os.SEEK_SET)

    def close(self) -> None:
        if self._handle is not None:
            handle, self._handle = self._handle, None
            os.close(handle)


def _whole_lines(handle: int) -> int:
    """The number of bytes of the file in complete lines."""
    size = os.lseek(handle, 0, os.SEEK_END)
    while size:
        start = max(0, size - _READ_ONCE)
        os.lseek(handle, start, os.SEEK_SET)
        newline = b"".join(files.parts(handle, most=size - start)).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        size = start
    return 0


def _journal_line(event: Event | str) -> dict[str, Any]:
    now = time.time()
    if isinstance(event, str):
        return {"kind": "note", "recorded": now, "note": event}
    if isinstance(event, Switching):
        return {"kind": "switch", "recorded": now, **dataclasses.asdict(event)}
    if isinstance(event, Unbooted):
        return {"kind": "unbooted", "recorded": now, **dataclasses.asdict(event)}
    if isinstance(event, Stood):
        return {"kind": "stop", "recorded": now, **dataclasses.asdict(event)}
    if isinstance(event, Words):
        return {"kind": "words", "recorded": now, **dataclasses.asdict(event)}
    if isinstance(event, Started):
        return {"kind": "system", "recorded": now, **dataclasses.asdict(event)}
    if isinstance(event, Watched):
        return {"kind": "watch", "recorded": now, **dataclasses.asdict(event)}
    if isinstance(event, Accounted):
        members = dataclasses.asdict(event) | {"cell": event.cell.label}
        return {"kind": "accounting", "recorded": now, **members}
    if isinstance(event, Look):
        decided = [[system, cell.workload, list(cell.parameters)] for system, cell in event.decided]
        reopened = [[system, cell.workload, list(cell.parameters)] for system, cell in event.reopened]
        members = {"round": event.round, "decided": decided, "reopened": reopened}
        return {"kind": "look", "recorded": now, **members}
    trial = event.trial
    return {
        "kind": "trial",
        "recorded": now,
        "block": trial.block,
        "position": trial.position,
        "system": trial.system,
        "workload": trial.cell.workload,
        "cell": trial.cell.label,
        "copies": trial.cell.copies,
        "parameters": dict(trial.cell.parameters),
        "pad": trial.pad,
        **{
            field.name: _plain(getattr(event, field.name))
            for field in dataclasses.fields(event)
            if field.name != "trial"
        },
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    is_one = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return dataclasses.asdict(value) if is_one else value


def earlier(lines: Iterable[Line], cells: Mapping[str, Cell]) -> Earlier:
    """The progress recorded in these lines of a journal, for a run that resumes; `cells` by their labels."""
    done: set[tuple[int, str, Cell]] = set()
    boots: dict[str, int] = {}
    rounds = 0
    failures: dict[tuple[str, Cell], list[str]] = {}
    accounted: set[tuple[int, str, Cell]] = set()
    unfinished: set[tuple[int, str, Cell]] = set()
    identities: set[str] = set()
    switching: Switching | None = None
    switching_at = 0.0
    costs: dict[tuple[str, Cell], float] = {}
    boot_costs: dict[str, float] = {}
    failed_boots = 0
    spent = 0.0
    last_at: float | None = None  # None: no measuring yet
    for line in lines:
        if line["kind"] == "note" and line["note"] == GOING_ON:
            last_at = None
        elif line["kind"] != "damage":
            begun_at = _begun_at(line) if last_at is None else last_at
            spent += max(0.0, line["recorded"] - begun_at - (line.get("stopped_s") or 0.0))
            last_at = line["recorded"]
        if line["kind"] == "switch":
            switching, switching_at = Switching(line["system"], line["identity"]), line["recorded"]
        elif line["kind"] == "unbooted" and switching is not None:  # otherwise no machine was about to boot
            switching, failed_boots = None, failed_boots + 1
        elif line["kind"] == "system":
            if switching is not None and line["system"] == switching.system:
                switching, failed_boots = None, 0
            boots[line["system"]] = line["boot"]
            boot_costs[line["system"]] = line["start_s"]
            identities.add(str(line["fingerprint"].get("boot_id")))
        elif line["kind"] == "accounting":
            accounted.add((line["round"], line["system"], cells[line["cell"]]))
        elif line["kind"] == "look":
            rounds = max(rounds, line["round"] or 0)
            unfinished.clear()
        elif line["kind"] == "trial":
            cell = cells[line["cell"]]
            if line["host_ns"] is not None:
                costs[line["system"], cell] = line["host_ns"] / 1e9
            if line["status"] == SET_ASIDE:
                continue  # it must be repeated
            done.add((line["block"], line["system"], cell))
            unfinished.add((line["block"], line["system"], cell))
            failures.setdefault((line["system"], cell), []).append(line["status"])
    hopeless = {
        pair
        for pair, statuses in failures.items()
        if "unsupported" in statuses or (len(statuses) > 1 and "ok" not in statuses[-2:])
    }
    return Earlier(
        trials=frozenset(done),
        boots=boots,
        rounds=rounds,
        hopeless=frozenset(hopeless),
        spent_s=spent,
        accounted=frozenset(accounted),
        unfinished=frozenset(unfinished),
        identities=frozenset(identities),
        switching=switching,
        switching_at=switching_at,
        costs=costs,
        boot_costs=boot_costs,
        failed_boots=failed_boots,
    )


def _begun_at(line: Line) -> float:
    """The start time of the event in the first line of a session."""
    if line["kind"] == "trial":
        return float(min(line["began"], line["recorded"]))
    return float(line["recorded"] - line["start_s"] if line["kind"] == "system" else line["recorded"])


def lines(
    directory: Path,
    *,
    check: Callable[[Line], Line] = schema.check,
    begin: int = 0,
    damaged: Callable[[bytes], None] = lambda line: None,
) -> Iterator[Line]:
    """The journal's complete lines, from that byte on. A line that is damaged, or that `check` finds Wrong,
    is replaced by one of the kind "damage" that names it; `damaged` receives the line itself. Raises
    ArchiveError if there is no readable journal.
    """
    path = directory / NAME
    try:
        with files.descriptor(path) as handle, closing(_split(handle, begin)) as whole:
            for number, line in enumerate(whole, start=1):
                try:
                    yield _read(line, check)
                except Wrong as wrong:
                    damaged(line)
                    yield _damage(f"line {number} of the journal is damaged and left out: {wrong}")
    except FileNotFoundError as error:
        raise ArchiveError(f"experiment {directory} is damaged: it is open, and has no {NAME}") from error
    except OSError as error:
        raise ArchiveError(f"{path} cannot be read: {in_words(error)}") from error


def _split(handle: int, begin: int) -> Generator[bytes, None, None]:
    """The whole lines. Of one that is too long to be one of ours, as much as a line may be."""
    os.lseek(handle, begin, os.SEEK_SET)
    rest: list[bytes] = []
    size = 0
    for part in files.parts(handle):
        first, *others = part.split(b"\n")
        if size <= _LINE_MOST:
            rest.append(first)
            size += len(first)
        for line in others:
            yield b"".join(rest)
            rest, size = [line], len(line)


def _read(line: bytes, check: Callable[[Line], Line]) -> Line:
    """Raises Wrong."""
    if len(line) > _LINE_MOST:
        raise Wrong(line[:_LINE_MOST], f"of at most {_LINE_MOST} bytes")
    try:
        record: Line = _JSON.decode(line.decode(errors="strict"))
    except (ValueError, RecursionError):
        raise Wrong(line, "JSON") from None
    if b"\\ud" in line or b"\\uD" in line:
        record = shapes.without_halves(record)
    return check(record)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_JSON = json.JSONDecoder(parse_constant=_refuse)


def _damage(sentence: str) -> Line:
    return schema.check({"kind": "damage", "recorded": 0.0, "note": sentence})


def cannot_write(path: Path, error: OSError) -> ArchiveError:
    return ArchiveError(
        f"{path} cannot be written: {in_words(error)}; choose another place with --archive DIR, or "
        "make room and run the same command again to resume"
    )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns the operating system's refusals into an ArchiveError that names the place."""
    try:
        yield
    except OSError as error:
        raise cannot_write(Path(error.filename or path), error) from error
