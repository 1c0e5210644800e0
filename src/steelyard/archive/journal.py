"""An open experiment's journal: appends events, and tells what an interrupted run left behind.

A line an event, written and synced whole before anything else happens. A line that a crash cut short has
no newline; it never happened, and is cut off before anything is added.
"""

import dataclasses
import io
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.archive.events import Accounted, Earlier, Event, Look, Started, Watched
from steelyard.errors import ArchiveError
from steelyard.study.model import Cell

NAME = "journal.jsonl"
GOING_ON = "going on"  # a note: before it nobody measured, since the event that it follows


class Journal:
    """An open experiment's journal. Each append is on the disk, whole, when it returns."""

    def __init__(self, directory: Path) -> None:
        """Opens the journal and cuts off a line that a crash cut short. Raises ArchiveError."""
        self._path = directory / NAME
        with explained(directory):
            self._file = open(self._path, "r+b", buffering=0)  # noqa: SIM115
            self._size = _whole_lines(self._file)
            self._file.truncate(self._size)
            self._file.seek(self._size)

    def append(self, event: Event | str) -> None:
        """Adds one event, or a note. Raises ArchiveError; the journal is then as it was before."""
        line = json.dumps(_journal_line(event), separators=(",", ":")).encode() + b"\n"
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:]) or 0
            os.fsync(self._file.fileno())
        except BaseException as error:
            # Also when interrupted in the middle of a line. Shrinking needs no space, and what a crash
            # now would leave is cut off when the journal is opened again.
            self._file.truncate(self._size)
            self._file.seek(self._size)
            if isinstance(error, OSError):
                raise cannot_write(self._path, error) from error
            raise
        self._size += len(line)

    def close(self) -> None:
        self._file.close()


def _whole_lines(file: io.FileIO) -> int:
    """How many bytes of the file are whole lines."""
    size = file.seek(0, os.SEEK_END)
    while size:
        start = max(0, size - 65536)
        file.seek(start)
        newline = file.read(size - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        size = start
    return 0


def _journal_line(event: Event | str) -> dict[str, Any]:
    now = time.time()
    if isinstance(event, str):
        return {"kind": "note", "recorded": now, "note": event}
    if isinstance(event, Started):
        return {"kind": "system", "recorded": now, **dataclasses.asdict(event)}
    if isinstance(event, Watched):
        return {"kind": "watch", "recorded": now, **dataclasses.asdict(event)}
    if isinstance(event, Accounted):
        told = dataclasses.asdict(event)
        operations = [{"metric": metric, "operations": count} for metric, count in event.operations]
        told |= {"cell": event.cell.label, "operations": operations}
        return {"kind": "accounting", "recorded": now, **told}
    if isinstance(event, Look):
        decided = [[system, cell.workload, list(cell.parameters)] for system, cell in event.decided]
        reopened = [[system, cell.workload, list(cell.parameters)] for system, cell in event.reopened]
        told = {"round": event.round, "decided": decided, "reopened": reopened}
        return {"kind": "look", "recorded": now, **told}
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


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [dataclasses.asdict(one) for one in value]
    return value


def earlier(directory: Path, cells: Mapping[str, Cell]) -> Earlier:
    """What the journal says has been done, so that a run can go on from there; `cells` by their labels."""
    done: set[tuple[int, str, Cell]] = set()
    boots: dict[str, int] = {}
    rounds = 0
    failures: dict[tuple[str, Cell], list[str]] = {}
    accounted: set[tuple[int, str, Cell]] = set()
    spent = 0.0
    last_at: float | None = None  # None: nobody measures yet
    for line in lines(directory):
        if line["kind"] == "trial" and last_at is None:
            last_at = min(line["began"], line["recorded"])
        if line["kind"] == "note" and line["note"] == GOING_ON:
            last_at = None
        if last_at is not None:
            spent += max(0.0, line["recorded"] - last_at)
            last_at = line["recorded"]
        if line["kind"] == "system":
            boots[line["system"]] = line["boot"]
        elif line["kind"] == "accounting":
            accounted.add((line["round"], line["system"], cells[line["cell"]]))
        elif line["kind"] == "look":
            rounds = max(rounds, line.get("round") or 0)
        elif line["kind"] == "trial":
            cell = cells[line["cell"]]
            done.add((line["block"], line["system"], cell))
            failures.setdefault((line["system"], cell), []).append(line["status"])
    hopeless = {
        pair
        for pair, statuses in failures.items()
        if "unsupported" in statuses or (len(statuses) > 1 and "ok" not in statuses[-2:])
    }
    return Earlier(frozenset(done), boots, rounds, frozenset(hopeless), spent, frozenset(accounted))


def lines(directory: Path) -> Iterator[dict[str, Any]]:
    path = directory / NAME
    if not path.exists():
        raise ArchiveError(f"experiment {directory} is damaged: it is open, and has no {NAME}")
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return  # cut short by a crash: it never happened
            try:
                yield json.loads(line)
            except ValueError:
                raise ArchiveError(f"{path}, line {number} is damaged: {line[:60]!r}...") from None


def cannot_write(path: Path, error: Exception) -> ArchiveError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ArchiveError(
        f"{path} cannot be written: {reason}; choose another place with --archive DIR, or make room and "
        "give the same command again: it goes on where it stopped"
    )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns the operating system's refusals into an ArchiveError that names the place."""
    try:
        yield
    except OSError as error:
        raise cannot_write(Path(error.filename or path), error) from error
