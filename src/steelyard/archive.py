"""Keeps experiments: appends what happened to a journal, closes them into Parquet, opens them for SQL.

An archive is a directory; an experiment is a directory in it:

    experiments/ID/experiment.json   what was to be done: study, systems, seed, budget, host
    experiments/ID/journal.jsonl     an event a line, each written and synced whole
    experiments/ID/*.parquet         the same when the experiment is closed; the journal then goes
    measuring-HOST.lock              held while an experiment is measured on that host

Atomicity: a line is one write and one fsync; a line that a crash cut short has no newline, and is cut
off before anything is added. Parquet files are written beside their place and renamed into it, the
last of them last, so that an experiment is closed if and only if its events.parquet exists. A closed
experiment is never changed, so archives merge by copying.
"""

import dataclasses
import fcntl
import hashlib
import io
import json
import os
import secrets
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from steelyard.errors import ArchiveError, UnknownName
from steelyard.plan import Plan
from steelyard.records import Outcome
from steelyard.runner import Earlier, Event, Look, Started
from steelyard.study import Cell

VERSION = 1
JOURNAL = "journal.jsonl"
HEADER = "experiment.json"
_TABLES = ("trials", "samples", "systems", "events")  # the last one's file closes the experiment

# One row a trial; copies' usage and processes stay nested, because most questions do not need them.
_TRIAL_COLUMNS = """
    block BIGINT, position BIGINT, system VARCHAR, boot BIGINT, workload VARCHAR, cell VARCHAR,
    copies BIGINT, parameters JSON, pad BIGINT, status VARCHAR, reason VARCHAR, signal BIGINT,
    began DOUBLE, host_ns BIGINT, guest_ns BIGINT, clock_doubt_ns BIGINT, pressure DOUBLE,
    usage STRUCT(copy BIGINT, metric VARCHAR, operations UBIGINT, user_ns UBIGINT, system_ns UBIGINT,
                 faults_minor BIGINT, faults_major BIGINT, switches_voluntary BIGINT,
                 switches_involuntary BIGINT, blocks_read BIGINT, blocks_written BIGINT)[],
    processes STRUCT(copy BIGINT, asked_ns BIGINT, start_ns BIGINT, end_ns BIGINT, status VARCHAR,
                     signal BIGINT)[]"""
_SAMPLE_COLUMNS = (
    "samples STRUCT(copy BIGINT, metric VARCHAR, operations UBIGINT, durations_ns BIGINT[])[]"
)
_EVENT_COLUMNS = "kind VARCHAR, recorded DOUBLE, hello JSON, fingerprint JSON, start_s DOUBLE, blocks BIGINT, "\
    "decided JSON, note VARCHAR"

_FROM_JOURNAL = {
    "trials": "SELECT row_number() OVER (ORDER BY block, position, began) AS trial, {trial} "
              "FROM journal WHERE kind = 'trial'",
    # One row a batch. Operations and durations stay whole numbers, as they were measured.
    "samples": """
        SELECT t.trial, s.copy, s.metric, unnest(generate_series(1, len(s.durations_ns))) AS batch,
               s.operations, unnest(s.durations_ns) AS duration_ns
        FROM (SELECT j.block, j.position, j.began, unnest(j.samples) AS s
              FROM journal j WHERE kind = 'trial') AS taken
        JOIN trials t USING (block, position, began)""",
    "systems": "SELECT system, boot, recorded, hello, fingerprint, start_s FROM journal WHERE kind = 'system'",
    "events": "SELECT kind, recorded, blocks, decided, note FROM journal WHERE kind IN ('look', 'note')",
}


@dataclass(frozen=True, slots=True)
class Experiment:
    """One execution of a study, by its directory and its header."""

    path: Path
    header: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def closed(self) -> bool:
        return (self.path / "events.parquet").exists()


def default_root() -> Path:
    """STEELYARD_ARCHIVE, or steelyard in the user's data directory."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(os.environ.get("STEELYARD_ARCHIVE") or Path(data) / "steelyard")


def identity(plan: Plan, *, budget_s: float, programs: Sequence[str]) -> str:
    """What makes two commands the same: the one goes on where the other stopped."""
    told = json.dumps([plan.study.text, plan.systems, [cell.label for cell in plan.cells],
                       sorted(plan.study.margins.items()), plan.study.design.looks, budget_s,
                       list(programs)])
    return hashlib.sha256(told.encode()).hexdigest()


def create(root: Path, plan: Plan, *, budget_s: float, same: str, details: Mapping[str, Any]) -> Experiment:
    """A new experiment in the archive, which is made if it is not there. Raises ArchiveError."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    path = root / "experiments" / f"{stamp}-{plan.study.name}-{secrets.token_hex(2)}"
    header = {
        "version": VERSION,
        "identity": same,
        "study": plan.study.name,
        "study_text": plan.study.text,
        "systems": plan.systems,
        "cells": [[cell.workload, list(cell.parameters)] for cell in plan.cells],
        "margins": dict(plan.study.margins),
        "looks": plan.study.design.looks,
        "budget_s": budget_s,
        "seed": plan.seed,
        "created": time.time(),
        **details,
    }
    with _explained(path):
        path.mkdir(parents=True)
        _write_synced(path / HEADER, json.dumps(header, indent=1).encode())
        _write_synced(path / JOURNAL, b"")
    return Experiment(path, header)


def experiments(root: Path) -> list[Experiment]:
    """Every experiment of the archive, the oldest first. Raises ArchiveError for one that is damaged."""
    found = []
    for path in sorted((root / "experiments").glob("*/")):
        if not (path / HEADER).exists():
            continue  # killed while it was being made: nothing was measured yet
        found.append(_open(path))
    return sorted(found, key=lambda one: float(one.header["created"]))


def find(root: Path, name: str | None) -> Experiment:
    """The experiment of that name (or whose directory that is); the newest one for None."""
    if name is not None and (Path(name) / HEADER).exists():
        return _open(Path(name))
    found = experiments(root)
    if name is None and found:
        return found[-1]
    if name is None:
        raise ArchiveError(f"archive {root} holds no experiment yet; run one: steelyard compare native uml")
    for one in found:
        if one.name == name:
            return one
    raise UnknownName("experiment", name, (one.name for one in found), where=f"archive {root}: ")


def unfinished(root: Path, same: str) -> Experiment | None:
    """The newest open experiment of that identity."""
    for one in reversed(experiments(root)):
        if not one.closed and one.header["identity"] == same:
            return one
    return None


def _open(path: Path) -> Experiment:
    try:
        header = json.loads((path / HEADER).read_bytes())
        version = header["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArchiveError(f"experiment {path} is damaged: {HEADER} cannot be read ({error})") from error
    if version > VERSION:
        raise ArchiveError(f"experiment {path} is of version {version}; this Steelyard reads up to {VERSION}")
    return Experiment(path, header)


@contextmanager
def measuring(root: Path) -> Iterator[None]:
    """Holds this host's right to measure into the archive: two experiments at once would disturb each
    other. Raises ArchiveError if another process holds it. Ends with the process, however that ends."""
    path = root / f"measuring-{socket.gethostname()}.lock"
    with _explained(root):
        root.mkdir(parents=True, exist_ok=True)
        file = open(path, "a+b")  # noqa: SIM115 -- held until the with statement ends
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().decode(errors="replace").strip()
            raise ArchiveError(
                f"another experiment is being measured into {root} by process {holder}; two at once "
                "would disturb each other: wait for it, or stop it"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
        yield


class Journal:
    """An open experiment's journal. Each append is on the disk, whole, when it returns."""

    def __init__(self, experiment: Experiment) -> None:
        """Opens the journal and cuts off a line that a crash cut short. Raises ArchiveError."""
        self._path = experiment.path / JOURNAL
        with _explained(experiment.path):
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
            # Also when interrupted in the middle of a line. Shrinking needs no space, and what a crash now would leave is cut off when opened again.
            self._file.truncate(self._size)
            self._file.seek(self._size)
            if isinstance(error, OSError):
                raise _cannot_write(self._path, error) from error
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
    if isinstance(event, Look):
        decided = [[system, cell.workload, list(cell.parameters)] for system, cell in event.decided]
        return {"kind": "look", "recorded": now, "blocks": event.blocks, "decided": decided}
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
        **{field.name: _plain(getattr(event, field.name))
           for field in dataclasses.fields(event) if field.name != "trial"},
    }


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [dataclasses.asdict(one) for one in value]
    return value


def earlier(experiment: Experiment) -> Earlier:
    """What an open experiment's journal says has been done, so that a run can go on from there."""
    done: set[tuple[int, str, Cell]] = set()
    boots: dict[str, int] = {}
    looks: list[Look] = []
    failures: dict[tuple[str, Cell], list[str]] = {}
    spent = 0.0
    cells = {cell.label: cell for cell in cells_of(experiment)}
    last_at: float | None = None
    for line in _lines(experiment):
        # A gap of more than a minute between events is a time when nobody measured.
        if last_at is not None and 0 <= line["recorded"] - last_at < 60:
            spent += line["recorded"] - last_at
        last_at = line["recorded"]
        if line["kind"] == "system":
            boots[line["system"]] = line["boot"]
        elif line["kind"] == "look":
            looks.append(Look(line["blocks"], tuple(
                (system, Cell(workload, tuple((name, value) for name, value in parameters)))
                for system, workload, parameters in line["decided"])))
        elif line["kind"] == "trial":
            cell = cells[line["cell"]]
            done.add((line["block"], line["system"], cell))
            failures.setdefault((line["system"], cell), []).append(line["status"])
    hopeless = {pair for pair, statuses in failures.items()
                if "unsupported" in statuses or (len(statuses) > 1 and "ok" not in statuses[-2:])}
    return Earlier(frozenset(done), boots, tuple(looks), frozenset(hopeless), spent)


def cells_of(experiment: Experiment) -> tuple[Cell, ...]:
    """The cells of the experiment's plan, in the study's order."""
    return tuple(
        Cell(workload, tuple((name, value) for name, value in parameters))
        for workload, parameters in experiment.header["cells"]
    )


def _lines(experiment: Experiment) -> Iterator[dict[str, Any]]:
    path = experiment.path / JOURNAL
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return  # cut short by a crash: it never happened
            try:
                yield json.loads(line)
            except ValueError:
                raise ArchiveError(f"{path}, line {number} is damaged: {line[:60]!r}...") from None


def close(experiment: Experiment) -> Experiment:
    """Turns the journal into Parquet, and then removes it. Raises ArchiveError; until the last file is
    in place the experiment stays open, with its journal."""
    connection = connect(experiment)
    with _explained(experiment.path):
        for table in _TABLES:
            draft = experiment.path / f".{table}.parquet"
            try:
                connection.execute(f"COPY {table} TO '{_quoted(draft)}' (FORMAT parquet, COMPRESSION zstd)")
                with open(draft, "rb") as file:
                    os.fsync(file.fileno())
            except (OSError, duckdb.Error) as error:
                draft.unlink(missing_ok=True)
                raise _cannot_write(draft, error) from error
            draft.rename(experiment.path / f"{table}.parquet")
        _sync_directory(experiment.path)
        (experiment.path / JOURNAL).unlink()
    connection.close()
    return experiment


def connect(experiment: Experiment) -> duckdb.DuckDBPyConnection:
    """A connection with the views or tables trials, samples, systems and events of the experiment,
    whether it is open or closed; docs/records.md has their columns. Raises ArchiveError."""
    connection = duckdb.connect()
    try:
        if experiment.closed:
            for table in _TABLES:
                file = _quoted(experiment.path / f"{table}.parquet")
                connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{file}')")
        else:
            _read_journal(connection, experiment)
    except duckdb.Error as error:
        raise ArchiveError(f"experiment {experiment.path} cannot be read: {error}") from error
    return connection


def _read_journal(connection: duckdb.DuckDBPyConnection, experiment: Experiment) -> None:
    for _ in _lines(experiment):
        pass  # a damaged line is named with its number, before SQL meets it
    columns = f"{_EVENT_COLUMNS}, {_TRIAL_COLUMNS}, {_SAMPLE_COLUMNS}"
    connection.execute(f"CREATE TABLE shape ({columns})")
    described = connection.execute("DESCRIBE shape").fetchall()
    spec = "{" + ", ".join(f"'{name}': '{kind}'" for name, kind, *_ in described) + "}"
    # ignore_errors: the last line may be cut short; every whole line was checked above.
    connection.execute(
        f"CREATE TABLE journal AS SELECT * FROM read_json(?, format='newline_delimited', "
        f"ignore_errors=true, maximum_object_size=268435456, columns={spec})",
        [str(experiment.path / JOURNAL)],
    )
    connection.execute(f"CREATE TABLE trial_shape ({_TRIAL_COLUMNS})")
    names = ", ".join(row[0] for row in connection.execute("DESCRIBE trial_shape").fetchall())
    for table, query in _FROM_JOURNAL.items():
        connection.execute(f"CREATE TABLE {table} AS {query.replace('{trial}', names)}")


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _write_synced(path: Path, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cannot_write(path: Path, error: Exception) -> ArchiveError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ArchiveError(
        f"{path} cannot be written: {reason}; choose another place with --archive DIR, or make room and "
        "give the same command again: it goes on where it stopped"
    )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turns the operating system's refusals into an ArchiveError that names the place."""
    try:
        yield
    except OSError as error:
        raise _cannot_write(Path(error.filename or path), error) from error
