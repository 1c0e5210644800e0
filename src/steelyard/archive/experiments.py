"""Keeps experiments: appends what happened to a journal, closes them into Parquet, opens them for SQL.

An archive is a directory; an experiment is a directory in it:

    experiments/ID/experiment.json   what was to be done: study, systems, seed, budget, host
    experiments/ID/journal.jsonl     an event a line, each written and synced whole
    experiments/ID/*.parquet         the same when the experiment is closed; the journal then goes
    watches/ID/                      what the monitor saw (`watches` keeps them)
    measuring-HOST.lock              held while an experiment is measured on that host

Atomicity: a line is one write and one fsync; a line that a crash cut short has no newline, and is cut
off before anything is added. Parquet files are written beside their place and renamed into it, the
last of them last, so that an experiment is closed if and only if its events.parquet exists. A closed
experiment is never changed, so archives merge by copying.
"""

import fcntl
import hashlib
import json
import os
import secrets
import shutil
import socket
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from steelyard.archive import journal
from steelyard.errors import ArchiveError, UnknownName, UsageError
from steelyard.study.model import Cell
from steelyard.study.plan import Plan

VERSION = 5
HEADER = "experiment.json"
_TABLES = (
    "trials",
    "samples",
    "members",
    "counts",
    "costs",
    "accountings",
    "host_calls",
    "watches",
    "systems",
    "events",
)  # the last one's file closes the experiment

# One row a trial; copies' usage and processes stay nested, because most questions do not need them.
_TRIAL_COLUMNS = """
    block BIGINT, position BIGINT, system VARCHAR, boot BIGINT, workload VARCHAR, cell VARCHAR,
    copies BIGINT, parameters JSON, pad BIGINT, status VARCHAR, reason VARCHAR, signal BIGINT,
    code_sha256 VARCHAR, began DOUBLE, host_ns BIGINT, guest_ns BIGINT, clock_doubt_ns BIGINT,
    pressure DOUBLE,
    usage STRUCT(copy BIGINT, metric VARCHAR, operations UBIGINT, user_ns UBIGINT, system_ns UBIGINT,
                 faults_minor BIGINT, faults_major BIGINT, switches_voluntary BIGINT,
                 switches_involuntary BIGINT, blocks_read BIGINT, blocks_written BIGINT)[],
    processes STRUCT(copy BIGINT, asked_ns BIGINT, start_ns BIGINT, end_ns BIGINT, status VARCHAR,
                     signal BIGINT)[]"""
_SAMPLE_COLUMNS = """
    samples STRUCT(copy BIGINT, metric VARCHAR, operations UBIGINT, durations_ns BIGINT[], point UBIGINT,
                   bytes UBIGINT, faults_major UBIGINT)[]"""
_GROUP_COLUMNS = """
    groups STRUCT(copy BIGINT, metric VARCHAR, batch BIGINT, processors BIGINT, members BIGINT,
                  iterations UBIGINT, zero_ns BIGINT, asked_ns BIGINT[], began_ns BIGINT[], ended_ns BIGINT[],
                  reaped_ns BIGINT[], marks_ns BIGINT[][], statuses VARCHAR[], signals BIGINT[],
                  reasons VARCHAR[])[],
    counts STRUCT(copy BIGINT, metric VARCHAR, unit VARCHAR, "value" UBIGINT)[]"""
_WATCH_COLUMNS = """
    detail VARCHAR, backend VARCHAR, missing VARCHAR[], why VARCHAR,
    round BIGINT, purpose VARCHAR, operations STRUCT(metric VARCHAR, operations UBIGINT)[],
    costs STRUCT(figure VARCHAR, "value" UBIGINT)[],
    calls STRUCT(call VARCHAR, calls UBIGINT, errors UBIGINT)[]"""
_EVENT_COLUMNS = """
    kind VARCHAR, recorded DOUBLE, hello JSON, fingerprint JSON, start_s DOUBLE, blocks BIGINT,
    decided JSON, reopened JSON, note VARCHAR"""

# What a table of an earlier version may lack: 1 knew neither curves nor bandwidths, 2 no common machine code,
# 4 blocks that every cell had together, and looks after some of them.
_ADDED = {
    "samples": {"point": "UBIGINT", "bytes": "UBIGINT", "faults_major": "UBIGINT"},
    "trials": {"code_sha256": "VARCHAR"},
    "events": {"round": "BIGINT", "reopened": "JSON"},
}
# Tables that version 2 or 3 did not have, as they are when nothing is in them.
_NEW_TABLES = {
    "members": """
        trial BIGINT, copy BIGINT, metric VARCHAR, batch BIGINT, processors BIGINT, iterations UBIGINT,
        zero_ns BIGINT, member BIGINT, asked_ns BIGINT, began_ns BIGINT, ended_ns BIGINT, reaped_ns BIGINT,
        marks_ns BIGINT[], status VARCHAR, signal BIGINT, reason VARCHAR""",
    "counts": 'trial BIGINT, copy BIGINT, metric VARCHAR, unit VARCHAR, "value" UBIGINT',
    "costs": 'trial BIGINT, figure VARCHAR, "value" UBIGINT',
    "accountings": """
        accounting BIGINT, recorded DOUBLE, round BIGINT, system VARCHAR, boot BIGINT, cell VARCHAR,
        purpose VARCHAR, backend VARCHAR, status VARCHAR, reason VARCHAR,
        operations STRUCT(metric VARCHAR, operations UBIGINT)[],
        costs STRUCT(figure VARCHAR, "value" UBIGINT)[]""",
    "host_calls": "accounting BIGINT, call VARCHAR, calls UBIGINT, errors UBIGINT",
    "watches": """
        system VARCHAR, boot BIGINT, recorded DOUBLE, detail VARCHAR, backend VARCHAR, missing VARCHAR[],
        why VARCHAR""",
}

_FROM_JOURNAL = {
    "trials": "SELECT row_number() OVER (ORDER BY began, block, position) AS trial, {trial} "
    "FROM journal WHERE kind = 'trial'",
    # One row a batch. Operations and durations stay whole numbers, as they were measured.
    "samples": """
        SELECT t.trial, s.copy, s.metric, unnest(generate_series(1, len(s.durations_ns))) AS batch,
               s.operations, unnest(s.durations_ns) AS duration_ns, s.point, s.bytes,
               s.faults_major
        FROM (SELECT j.cell, j.block, j.position, j.began, unnest(j.samples) AS s
              FROM journal j WHERE kind = 'trial') AS taken
        JOIN trials t USING (cell, block, position, began)""",
    # One row a process of a group.
    "members": """
        SELECT t.trial, g.copy, g.metric, g.batch, g.processors, g.iterations, g.zero_ns,
               unnest(generate_series(0, g.members - 1)) AS member, unnest(g.asked_ns) AS asked_ns,
               unnest(g.began_ns) AS began_ns, unnest(g.ended_ns) AS ended_ns,
               unnest(g.reaped_ns) AS reaped_ns, unnest(g.marks_ns) AS marks_ns,
               unnest(g.statuses) AS status, unnest(g.signals) AS signal, unnest(g.reasons) AS reason
        FROM (SELECT j.cell, j.block, j.position, j.began, unnest(j.groups) AS g
              FROM journal j WHERE kind = 'trial') AS taken
        JOIN trials t USING (cell, block, position, began)""",
    "counts": """
        SELECT t.trial, c.copy, c.metric, c.unit, c."value"
        FROM (SELECT j.cell, j.block, j.position, j.began, unnest(j.counts) AS c
              FROM journal j WHERE kind = 'trial') AS taken
        JOIN trials t USING (cell, block, position, began)""",
    "costs": """
        SELECT t.trial, c.figure, c."value"
        FROM (SELECT j.cell, j.block, j.position, j.began, unnest(j.costs) AS c
              FROM journal j WHERE kind = 'trial') AS taken
        JOIN trials t USING (cell, block, position, began)""",
    "accountings": """
        SELECT row_number() OVER (ORDER BY recorded, purpose DESC) AS accounting, recorded, round, system,
               boot, cell, purpose, backend, status, reason, operations, costs
        FROM journal WHERE kind = 'accounting'""",
    "host_calls": """
        SELECT accounting, c.call, c.calls, c.errors
        FROM (SELECT accounting, unnest(calls) AS c
              FROM (SELECT row_number() OVER (ORDER BY recorded, purpose DESC) AS accounting, calls
                    FROM journal WHERE kind = 'accounting'))""",
    "watches": """
        SELECT system, boot, recorded, detail, backend, missing, why FROM journal WHERE kind = 'watch'""",
    "systems": """
        SELECT system, boot, recorded, hello, fingerprint, start_s FROM journal WHERE kind = 'system'""",
    "events": """
        SELECT kind, recorded, blocks, round, decided, reopened, note
        FROM journal WHERE kind IN ('look', 'note')""",
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
    told = json.dumps(
        [
            plan.study.text,
            plan.systems,
            [cell.label for cell in plan.cells],
            sorted(plan.study.margins.items()),
            plan.study.design.blocks,
            budget_s,
            list(programs),
        ]
    )
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
        "blocks": plan.study.design.blocks,
        "budget_s": budget_s,
        "seed": plan.seed,
        "created": time.time(),
        **details,
    }
    with journal.explained(path):
        path.mkdir(parents=True)
        # The header last, and whole at once: a directory without one is no experiment yet.
        _write_synced(path / journal.NAME, b"")
        draft = path / f".{HEADER}"
        _write_synced(draft, json.dumps(header, indent=1).encode())
        draft.rename(path / HEADER)
    return Experiment(path, header)


def experiments(root: Path) -> list[Experiment]:
    """Every experiment of the archive, the oldest first. Raises ArchiveError for one that is damaged."""
    found = []
    for path in sorted((root / "experiments").glob("[!.]*/")):
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
    return Experiment(path, _as_of_today(header))


def _as_of_today(header: dict[str, Any]) -> dict[str, Any]:
    """The header with what later versions added: workloads were described by less in version 1."""
    if header["version"] == 1:
        for workload in header.get("workloads", {}).values():
            workload["metrics"] = [{"name": name, "less": None} for name in workload["metrics"]]
            workload |= {"measure": "time", "sweeps": None, "sweep_unit": None}
    if header["version"] < 3:
        for workload in header.get("workloads", {}).values():
            workload |= {"counts": None, "groups": False}
    if header["version"] < 5:
        header.setdefault("blocks", max(header.get("looks", [0])))
    header.setdefault("watched", False)
    return header


@contextmanager
def measuring(root: Path) -> Iterator[None]:
    """Holds this host's right to measure into the archive: two experiments at once would disturb each
    other. Raises ArchiveError if another process holds it. Ends with the process, however that ends."""
    # A host may be called anything but a file's name.
    path = root / f"measuring-{urllib.parse.quote(os.fsencode(socket.gethostname()), safe='')}.lock"
    with journal.explained(root):
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


def cells_of(experiment: Experiment) -> tuple[Cell, ...]:
    """The cells of the experiment's plan, in the study's order."""
    return tuple(
        Cell(workload, tuple((name, value) for name, value in parameters))
        for workload, parameters in experiment.header["cells"]
    )


def close(experiment: Experiment) -> Experiment:
    """Turns the journal into Parquet, and then removes it. Raises ArchiveError; until the last file is
    in place the experiment stays open, with its journal. A closed one is left as it is."""
    if experiment.closed:
        (experiment.path / journal.NAME).unlink(missing_ok=True)
        return experiment
    connection = connect(experiment)
    with journal.explained(experiment.path):
        for table in _TABLES:
            draft = experiment.path / f".{table}.parquet"
            try:
                connection.execute(f"COPY {table} TO '{_quoted(draft)}' (FORMAT parquet, COMPRESSION zstd)")
                with open(draft, "rb") as file:
                    os.fsync(file.fileno())
            except (OSError, duckdb.Error) as error:
                draft.unlink(missing_ok=True)
                raise journal.cannot_write(draft, error) from error
            draft.rename(experiment.path / f"{table}.parquet")
        _sync_directory(experiment.path)
        (experiment.path / journal.NAME).unlink()
    connection.close()
    return experiment


def discard(experiment: Experiment) -> None:
    """Removes an open experiment in which nothing can be compared."""
    shutil.rmtree(experiment.path)


def is_empty(experiment: Experiment) -> bool:
    """Whether an open experiment has no trial."""
    return not any(line["kind"] == "trial" for line in journal.lines(experiment.path))


def discard_if_empty(experiment: Experiment) -> None:
    """Removes an experiment in which no trial was begun: a system could not start."""
    if is_empty(experiment):
        shutil.rmtree(experiment.path)


def merge(root: Path, source: Path) -> int:
    """Copies the closed experiments of another archive that this one lacks; returns how many. Each is
    copied beside its place and renamed into it. Raises ArchiveError if `source` is no archive."""
    if not any((source / name).is_dir() for name in ("experiments", "watches")):
        raise ArchiveError(f"'{source}' is no archive: it has no directory 'experiments'")
    copied = 0
    with journal.explained(root):
        (root / "experiments").mkdir(parents=True, exist_ok=True)
        for one in experiments(source):
            place = root / "experiments" / one.name
            if one.closed and not place.exists():
                draft = place.with_name(f".{one.name}.draft")
                shutil.rmtree(draft, ignore_errors=True)
                shutil.copytree(one.path, draft)
                draft.rename(place)
                copied += 1
    return copied


_EXPORTS = {".csv": "FORMAT csv, HEADER", ".json": "FORMAT json, ARRAY true", ".parquet": "FORMAT parquet"}


def export(experiment: Experiment, table: str, file: Path) -> None:
    """Writes one table of the experiment to the file, by the file's ending. Raises UsageError for another
    ending, ArchiveError if the file cannot be written."""
    form = _form_of(file)
    with connect(experiment) as connection:
        _copy(connection, table, file, form)


def export_file(parquet: Path, file: Path) -> None:
    """The same of one Parquet file."""
    form = _form_of(file)
    with duckdb.connect() as connection:
        _copy(connection, f"(SELECT * FROM read_parquet('{_quoted(parquet)}'))", file, form)


def _form_of(file: Path) -> str:
    form = _EXPORTS.get(file.suffix)
    if form is None:
        raise UsageError(f"'{file}' ends in none of {', '.join(_EXPORTS)}")
    return form


def _copy(connection: duckdb.DuckDBPyConnection, what: str, file: Path, form: str) -> None:
    try:
        connection.execute(f"COPY {what} TO '{_quoted(file)}' ({form})")
    except duckdb.Error as error:
        raise ArchiveError(f"'{file}' cannot be written: {error}") from error


def connect(experiment: Experiment) -> duckdb.DuckDBPyConnection:
    """A connection with the views or tables trials, samples, systems and events of the experiment,
    whether it is open or closed; docs/records.md has their columns. Raises ArchiveError."""
    connection = duckdb.connect()
    try:
        if experiment.closed:
            for table in _TABLES:
                if table in _NEW_TABLES and not (experiment.path / f"{table}.parquet").exists():
                    connection.execute(f"CREATE TABLE {table} ({_NEW_TABLES[table]})")
                    continue
                file = _quoted(experiment.path / f"{table}.parquet")
                described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet('{file}')").fetchall()
                lacking = _ADDED.get(table, {}).keys() - {name for name, *_ in described}
                added = "".join(f", NULL::{_ADDED[table][name]} AS {name}" for name in sorted(lacking))
                connection.execute(f"CREATE VIEW {table} AS SELECT *{added} FROM read_parquet('{file}')")
        else:
            _read_journal(connection, experiment)
    except duckdb.Error as error:
        raise ArchiveError(f"experiment {experiment.path} cannot be read: {error}") from error
    return connection


@dataclass
class Growing:
    """An open experiment that is being measured by this process, read bit by bit."""

    experiment: Experiment
    _read: int = 0  # bytes of its journal

    def more(self) -> duckdb.DuckDBPyConnection:
        """A connection with the tables of what was added since the last time. Raises ArchiveError."""
        with open(self.experiment.path / journal.NAME, "rb") as file:
            file.seek(self._read)
            lines = file.read()
        self._read += len(lines)
        connection = duckdb.connect()
        # A file without a name: DuckDB reads files, and nothing is to be left behind.
        handle = os.memfd_create("steelyard-journal")
        try:
            with open(handle, "wb", closefd=False) as memory:
                memory.write(lines)
            _read_lines(connection, f"/proc/self/fd/{handle}")
        except duckdb.Error as error:
            raise ArchiveError(f"experiment {self.experiment.path} cannot be read: {error}") from error
        finally:
            os.close(handle)
        return connection


def _read_journal(connection: duckdb.DuckDBPyConnection, experiment: Experiment) -> None:
    for _ in journal.lines(experiment.path):
        pass  # a damaged line is named with its number, before SQL meets it
    _read_lines(connection, str(experiment.path / journal.NAME))


def _read_lines(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    columns = f"{_EVENT_COLUMNS}, {_TRIAL_COLUMNS}, {_SAMPLE_COLUMNS}, {_GROUP_COLUMNS}, {_WATCH_COLUMNS}"
    connection.execute(f"CREATE TABLE shape ({columns})")
    described = connection.execute("DESCRIBE shape").fetchall()
    spec = "{" + ", ".join(f"'{name}': '{kind}'" for name, kind, *_ in described) + "}"
    # ignore_errors: the last line may be cut short; every whole line was checked above.
    connection.execute(
        f"CREATE TABLE journal AS SELECT * FROM read_json(?, format='newline_delimited', "
        f"ignore_errors=true, maximum_object_size=268435456, columns={spec})",
        [path],
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
