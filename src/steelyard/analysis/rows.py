"""Reads an experiment's tables by SQL: one kind of row per query. No other module queries the tables.

An experiment is read once. During a measurement, events are added as rows of the same kinds, by the same
definitions, without a database, so that a look takes milliseconds. tests/analysis/test_rows.py checks that
both agree.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, TypeVar

import duckdb
import numpy as np

from steelyard.analysis.model import ProgramRun
from steelyard.archive import exclusions
from steelyard.events import Event, Load, LoadCount, Outcome, Samples, Unbooted, Usage

_Row = TypeVar("_Row")

_QUANTILES = (0.1, 0.25, 0.5, 0.9)
# One row per trial, metric and, where the trial is a curve, point: the quantiles of its batches in ns per
# operation, and its cost, which is all time over all work. With several copies, the group's time is that of
# its slowest copy, and the work is everybody's: so it is divided by the number of copies, as the PEGASUS
# paper's tables are.
_VALUES = f"""
    SELECT block, system, boot, cell, metric, point, copies, bytes, q[1], q[2], q[3], q[4], cost, "group",
           together, times
    FROM (
        SELECT t.block, t.system, t.boot, t.cell, s.metric, s.point, any_value(t.copies) AS copies,
               any_value(s.bytes) AS bytes,
               quantile_cont(s.duration_ns / s.operations, {list(_QUANTILES)}) AS q,
               sum(s.duration_ns) / sum(s.operations) AS cost,
               any_value(g.slowest) / any_value(g.operations) / any_value(t.copies) AS "group",
               any_value(t.together) AS together,
               CASE WHEN any_value(t.together) IS NOT NULL
                    THEN list(s.duration_ns / s.operations ORDER BY s.batch) END AS times
        FROM samples s
        JOIN trials t USING (trial)
        JOIN (SELECT trial, metric, point, max(total) AS slowest, any_value(operations) AS operations
              FROM (SELECT trial, metric, point, copy, sum(duration_ns) AS total,
                           sum(operations) AS operations
                    FROM samples GROUP BY trial, metric, point, copy)
              GROUP BY trial, metric, point) g
          ON g.trial = s.trial AND g.metric = s.metric AND g.point IS NOT DISTINCT FROM s.point
        WHERE t.status = 'ok'
        GROUP BY s.trial, t.block, t.system, t.boot, t.cell, s.metric, s.point)
    ORDER BY block, point"""

# What a system's clock differs by, as a fraction of the trial, beyond what the reading itself may have
# cost; towards 0, so that a slow answer is not called a wrong clock.
_TRIALS = """
    SELECT block, position, system, cell, status, reason, signal, code_sha256, pressure, began, host_ns,
           CASE WHEN host_ns > 0 THEN
               sign(guest_ns - host_ns) * greatest(0, abs(guest_ns - host_ns) - clock_doubt_ns) / host_ns
           END AS clock_apart, surroundings
    FROM trials ORDER BY block, position"""

_COUNTS = """
    SELECT t.block, t.system, t.boot, t.cell, c.metric, c."value"
    FROM counts c JOIN trials t USING (trial) WHERE t.status = 'ok' AND c.copy = 0 ORDER BY t.block"""

# Trials that failed too: what their other processes did is known. The first copy stands for all.
_CROWDS = """
    SELECT t.trial, t.block, t.system, t.boot, t.cell, t.status = 'ok' AS is_ok, m.metric,
           any_value(m.processors) AS processors,
           list(m.asked_ns ORDER BY m.member) AS asked, list(m.began_ns ORDER BY m.member) AS began,
           list(m.ended_ns ORDER BY m.member) AS ended, list(m.reaped_ns ORDER BY m.member) AS reaped,
           list(m.marks_ns ORDER BY m.member) AS marks, list(m.status ORDER BY m.member) AS statuses,
           list(m.reason ORDER BY m.member) AS reasons
    FROM members m JOIN trials t USING (trial) WHERE m.copy = 0
    GROUP BY t.trial, t.block, t.system, t.boot, t.cell, t.status, m.metric, m.batch
    ORDER BY t.block, m.metric, m.batch"""

# Of all copies together, a row a trial: buckets and how many requests each holds.
_HISTOGRAMS = """
    SELECT system, cell, metric, list(value_ns ORDER BY value_ns), list(requests ORDER BY value_ns)
    FROM (SELECT h.trial, t.block, t.system, t.cell, h.metric, h.value_ns, sum(h.requests)::BIGINT AS requests
          FROM histograms h JOIN trials t USING (trial) WHERE t.status = 'ok'
          GROUP BY h.trial, t.block, t.system, t.cell, h.metric, h.value_ns)
    GROUP BY trial, block, system, cell, metric ORDER BY block"""

# Of trials that are a load on a server, what each of their copies saw.
_LOADS = """
    SELECT system, cell, loads FROM trials WHERE status = 'ok' AND loads IS NOT NULL
    ORDER BY block, position"""

# Also of systems whose machine was booted again, and then came up.
_ABSENT = "SELECT system, reason FROM events WHERE kind = 'unbooted' ORDER BY recorded"

# The programs of the system's own that trials executed; of one that was replaced meanwhile, each.
_PROGRAMS = """
    SELECT DISTINCT system, workload, cell, ran.name, ran.path, ran.sha256, ran.version
    FROM (SELECT system, workload, cell, unnest(programs) AS ran FROM trials WHERE status = 'ok')
    ORDER BY ALL"""

# Servers that every user of their system could ask while they were measured, and why that was so.
_SHARED = "SELECT DISTINCT system, shared FROM trials WHERE shared IS NOT NULL ORDER BY ALL"

_REMARKS = "SELECT note FROM events WHERE kind = 'damage' ORDER BY recorded"

# What only a report asks for.

_FAILED_BOOTS = "SELECT system, reason FROM events WHERE kind = 'unbooted' ORDER BY recorded"

_SYSTEMS = "SELECT system, hello, fingerprint FROM systems ORDER BY recorded"

# By all copies and their children, warm-up included.
_USAGE = """
    SELECT block, system, cell, used.metric, sum(used.user_ns), sum(used.system_ns), sum(used.operations),
           sum(used.switches_voluntary)
    FROM (SELECT block, system, cell, unnest(usage) AS used FROM trials WHERE status = 'ok')
    GROUP BY block, system, cell, used.metric ORDER BY block"""

_ALONE = """
    SELECT t.block, t.system, t.boot, t.cell, s.metric, any_value(s.operations),
           list(s.duration_ns ORDER BY s.batch), any_value(t.alone_ns)
    FROM trials t JOIN samples s USING (trial) WHERE t.status = 'ok' AND len(t.alone_ns) > 0
    GROUP BY t.trial, t.block, t.system, t.boot, t.cell, s.metric ORDER BY t.block"""

# Major faults an operation at each size, the median over trials.
_FAULTS = """
    SELECT cell, metric, system, point, median(faults) FROM (
        SELECT t.cell, s.metric, t.system, s.point,
               any_value(s.faults_major) / count(*) / any_value(s.operations) AS faults
        FROM samples s JOIN trials t USING (trial)
        WHERE t.status = 'ok' AND s.copy = 0 AND s.point IS NOT NULL
        GROUP BY s.trial, t.cell, s.metric, t.system, s.point)
    GROUP BY cell, metric, system, point ORDER BY point"""

# Of a trial in which several metrics are timed, or sizes, the costs cannot be told apart: it has no row.
_COSTS = """
    WITH done AS (
        SELECT trial, any_value(used.metric) AS metric, sum(used.operations)::DOUBLE AS operations
        FROM (SELECT trial, unnest(usage) AS used FROM trials WHERE status = 'ok')
        WHERE used.metric NOT IN (SELECT metric FROM reported)
        GROUP BY trial HAVING count(DISTINCT used.metric) = 1)
    SELECT t.block, t.system, t.cell, t.copies, done.metric, done.operations,
           map(list(c.figure), list(c."value")) AS figures
    FROM trials t JOIN done USING (trial) JOIN costs c USING (trial)
    WHERE NOT EXISTS (SELECT 1 FROM samples s WHERE s.trial = t.trial AND s.point IS NOT NULL)
    GROUP BY t.trial, t.block, t.system, t.cell, t.copies, done.metric, done.operations ORDER BY t.block"""

_ACCOUNTED = """
    WITH done AS (
        SELECT accounting, any_value(one.operations)::DOUBLE AS operations
        FROM (SELECT accounting, unnest(operations) AS one FROM accountings WHERE status = 'ok')
        WHERE one.metric NOT IN (SELECT metric FROM reported)
        GROUP BY accounting HAVING count(*) = 1)"""

_SETUPS = f"""{_ACCOUNTED}
    SELECT system, cell, figure, median("value"), median(operations)
    FROM (SELECT a.system, a.cell, done.operations, unnest(a.costs, recursive := true)
          FROM accountings a JOIN done USING (accounting) WHERE a.purpose = 'setup')
    GROUP BY system, cell, figure"""

_CALLS = f"""{_ACCOUNTED}
    SELECT a.accounting, a.system, a.cell, a.purpose, done.operations, c.call, c.calls, c.errors
    FROM accountings a JOIN done USING (accounting) JOIN host_calls c USING (accounting)
    ORDER BY a.accounting"""

_WATCHES = """
    SELECT system, detail, any_value(why), max(backend), max(missing) FILTER (backend IS NOT NULL)
    FROM watches GROUP BY system, detail ORDER BY min(recorded)"""

_LOOKS = "SELECT count(*) FROM events WHERE kind = 'look'"
_SAMPLES = "SELECT count(*) FROM samples"


class TrialRow(NamedTuple):
    """One trial, whatever came of it."""

    block: int
    position: int
    system: str
    cell: str
    status: str
    reason: str | None
    signal: int | None
    code_sha256: str | None
    pressure: float | None
    began: float  # seconds since 1970
    host_ns: int | None
    clock_apart: float | None
    surroundings: Mapping[str, Any] | None = None  # as events.Surroundings has them


class ValueRow(NamedTuple):
    """The times of one trial for one metric, and of a curve one point, in ns per operation."""

    block: int
    system: str
    boot: int
    cell: str
    metric: str
    point: int | None
    copies: int
    bytes: int | None  # that an operation moves
    low: float  # a tenth of the batches is faster
    floor: float
    typical: float
    high: float  # a tenth is slower
    cost: float
    group: float
    together: float | None = None  # when the trials began that took turns with this one
    times: Sequence[float] | None = None  # of each batch, if there was one


class AloneRow(NamedTuple):
    """What the batches took of a trial that took turns, in turns and then alone."""

    block: int
    system: str
    boot: int
    cell: str
    metric: str
    operations: int  # in each batch
    in_turns_ns: Sequence[int]
    alone_ns: Sequence[int]


class CountRow(NamedTuple):
    """A count of one trial, or of its monitor."""

    block: int
    system: str
    boot: int
    cell: str
    metric: str
    value: int


class ConcurrentRunRow(NamedTuple):
    """Many processes at once in one trial; lists have an element for each of them."""

    trial: int
    block: int
    system: str
    boot: int
    cell: str
    is_ok: bool
    metric: str
    processors: int
    asked: list[int | None]
    began: list[int | None]
    ended: list[int | None]
    reaped: list[int | None]
    marks: list[list[int | None]]
    statuses: list[str]
    reasons: list[str | None]


class HistogramRow(NamedTuple):
    """The latency histogram of one trial: the lower bounds of the buckets, ascending, and their counts."""

    system: str
    cell: str
    metric: str
    values_ns: list[int]
    requests: list[int]


class LoadRow(NamedTuple):
    """What the copies of one trial saw of the server that they loaded."""

    system: str
    cell: str
    loads: tuple[Load, ...]


class SystemRow(NamedTuple):
    """A start of a system, and what it said of itself, as JSON."""

    system: str
    hello: str
    fingerprint: str


class UsageRow(NamedTuple):
    """The time that one trial used for one metric."""

    block: int
    system: str
    cell: str
    metric: str
    user_ns: int
    system_ns: int
    operations: int
    sleeps: int | None = None  # how often its processes gave up the processor by themselves


class FaultRow(NamedTuple):
    """The major faults an operation at one point of a curve."""

    cell: str
    metric: str
    system: str
    point: int
    faults: float | None


class CostRow(NamedTuple):
    """The cost of one trial to this host, by the monitor's figures."""

    block: int
    system: str
    cell: str
    copies: int
    metric: str
    operations: float
    figures: Mapping[str, int]


class SetupRow(NamedTuple):
    """One figure of what a trial's set-up cost this host: the median over accounting trials."""

    system: str
    cell: str
    figure: str
    cost: float
    operations: float


class CallRow(NamedTuple):
    """The number of calls of one system call in one accounting trial."""

    accounting: int
    system: str
    cell: str
    purpose: str
    operations: float
    call: str
    calls: int
    errors: int | None


class WatchRow(NamedTuple):
    """The outcome of watching a system at one level of detail."""

    system: str
    detail: str
    why: str | None  # it was not watched
    backend: str | None
    missing: list[str] | None


@dataclass
class Rows:
    """All rows read so far. Those below the first seven are read at the end alone, for a report."""

    trials: list[TrialRow] = field(default_factory=list)
    values: list[ValueRow] = field(default_factory=list)
    counts: list[CountRow] = field(default_factory=list)
    concurrent_runs: list[ConcurrentRunRow] = field(default_factory=list)
    usage: list[UsageRow] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # sentences: what is damaged, and left out
    absent: dict[str, str] = field(default_factory=dict)  # systems that did not come up at some time, and why

    failed_boots: Sequence[tuple[str, str]] = ()  # of which system, and why
    systems: Sequence[SystemRow] = ()
    programs: Sequence[ProgramRun] = ()
    shared: Sequence[tuple[str, str]] = ()  # system; server and reason
    histograms: Sequence[HistogramRow] = ()
    loads: Sequence[LoadRow] = ()
    faults: Sequence[FaultRow] = ()
    alone: Sequence[AloneRow] = ()
    costs: Sequence[CostRow] = ()
    setups: Sequence[SetupRow] = ()
    calls: Sequence[CallRow] = ()
    watches: Sequence[WatchRow] = ()
    looks: int = 0
    samples: int = 0

    def add(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Adds what these tables hold: of trials that are not among the rows yet."""
        exclusions.set_aside(connection)
        known = len(self.trials)
        self.trials += _read(connection, _TRIALS, TrialRow._make)
        self.values += _read(connection, _VALUES, ValueRow._make)
        self.counts += _read(connection, _COUNTS, CountRow._make)
        self.usage += _read(connection, _USAGE, UsageRow._make)
        concurrent_runs = _read(connection, _CROWDS, ConcurrentRunRow._make)
        self.concurrent_runs += [one._replace(trial=known + one.trial) for one in concurrent_runs]
        self.absent |= dict(connection.execute(_ABSENT).fetchall())
        self.remarks += [sentence for (sentence,) in connection.execute(_REMARKS).fetchall()]

    def extend(self, more: "Rows") -> None:
        """Adds rows of the kinds that a look asks for."""
        known = len(self.trials)
        self.trials += more.trials
        self.values += more.values
        self.counts += more.counts
        self.usage += more.usage
        self.concurrent_runs += [one._replace(trial=known + one.trial) for one in more.concurrent_runs]
        self.absent |= more.absent
        self.remarks += more.remarks

    def hear(self, event: Event) -> None:
        """Adds what an event of this process adds to the tables. What `exclusions` looks for is not in
        it: the gate has let it in."""
        if isinstance(event, Unbooted):
            self.absent[event.system] = event.reason
        elif isinstance(event, Outcome):
            self.trials.append(_trial_of(event))
            self.concurrent_runs += _concurrent_runs_of(event, len(self.trials))
            if event.status == "ok":
                self.values += _values_of(event)
                self.usage += _usage_of(event)
                self.counts += [
                    CountRow(*_place(event), one.metric, one.value) for one in event.counts if one.copy == 0
                ]


def _place(outcome: Outcome) -> tuple[int, str, int, str]:
    trial = outcome.trial
    return trial.block, trial.system, outcome.boot, trial.cell.label


def _trial_of(outcome: Outcome) -> TrialRow:
    trial = outcome.trial
    apart = None
    if outcome.host_ns and outcome.guest_ns is not None and outcome.clock_doubt_ns is not None:
        more = outcome.guest_ns - outcome.host_ns
        apart = math.copysign(max(0, abs(more) - outcome.clock_doubt_ns), more) / outcome.host_ns
    return TrialRow(
        trial.block,
        trial.position,
        trial.system,
        trial.cell.label,
        outcome.status,
        outcome.reason,
        outcome.signal,
        outcome.code_sha256,
        outcome.pressure,
        outcome.began,
        outcome.host_ns,
        apart,
        asdict(outcome.surroundings) if outcome.surroundings else None,
    )


def _values_of(outcome: Outcome) -> Iterable[ValueRow]:
    """The rows that _VALUES selects."""
    by_what: dict[tuple[str, int | None], list[Samples]] = defaultdict(list)
    for one in outcome.samples:
        by_what[one.metric, one.point].append(one)
    copies = outcome.trial.cell.copies
    for (metric, point), members in by_what.items():
        times = np.concatenate([np.array(one.durations_ns) / one.operations for one in members])
        totals: dict[int, int] = defaultdict(int)
        operations: dict[int, int] = defaultdict(int)
        for one in members:
            totals[one.copy] += sum(one.durations_ns)
            operations[one.copy] += one.operations * len(one.durations_ns)
        low, floor, typical, high = map(float, np.quantile(times, _QUANTILES))
        yield ValueRow(
            *_place(outcome),
            metric,
            point,
            copies,
            members[0].bytes,
            low,
            floor,
            typical,
            high,
            sum(totals.values()) / sum(operations.values()),
            max(totals.values()) / operations[members[0].copy] / copies,
            outcome.together,
            None if outcome.together is None else times.tolist(),
        )


def _usage_of(outcome: Outcome) -> Iterable[UsageRow]:
    """The rows that _USAGE selects."""
    by_metric: dict[str, list[Usage]] = defaultdict(list)
    for one in outcome.usage:
        by_metric[one.metric].append(one)
    block, system, _, cell = _place(outcome)
    for metric, members in by_metric.items():
        sleeps = [one.switches_voluntary for one in members if one.switches_voluntary is not None]
        yield UsageRow(
            block,
            system,
            cell,
            metric,
            sum(one.user_ns for one in members),
            sum(one.system_ns for one in members),
            sum(one.operations for one in members),
            sum(sleeps) if sleeps else None,
        )


def _concurrent_runs_of(outcome: Outcome, number: int) -> Iterable[ConcurrentRunRow]:
    """The rows that _CROWDS selects."""
    for one in outcome.groups:
        if one.copy == 0:
            yield ConcurrentRunRow(
                number,
                *_place(outcome),
                outcome.status == "ok",
                one.metric,
                one.processors,
                list(one.asked_ns),
                list(one.began_ns),
                list(one.ended_ns),
                list(one.reaped_ns),
                [list(each) for each in one.marks_ns],
                list(one.statuses),
                list(one.reasons),
            )


def read(connection: duckdb.DuckDBPyConnection, *, reported: Collection[str] = ()) -> Rows:
    """The rows of a whole experiment; `reported` are the metrics that workloads report without timing
    them.
    """
    rows = Rows()
    connection.execute("CREATE OR REPLACE TEMP TABLE reported (metric VARCHAR)")
    connection.execute("INSERT INTO reported SELECT unnest(?::VARCHAR[])", [list(reported)])
    rows.add(connection)
    rows.systems = _read(connection, _SYSTEMS, SystemRow._make)
    rows.failed_boots = connection.execute(_FAILED_BOOTS).fetchall()
    rows.programs = _read(connection, _PROGRAMS, lambda row: ProgramRun(*row))
    rows.shared = connection.execute(_SHARED).fetchall()
    rows.histograms = _read(connection, _HISTOGRAMS, HistogramRow._make)
    rows.loads = _read(connection, _LOADS, _load_row)
    rows.faults = _read(connection, _FAULTS, FaultRow._make)
    rows.alone = _read(connection, _ALONE, AloneRow._make)
    rows.costs = _read(connection, _COSTS, CostRow._make)
    rows.setups = _read(connection, _SETUPS, SetupRow._make)
    rows.calls = _read(connection, _CALLS, CallRow._make)
    rows.watches = _read(connection, _WATCHES, WatchRow._make)
    ((rows.looks,),) = connection.execute(_LOOKS).fetchall()
    ((rows.samples,),) = connection.execute(_SAMPLES).fetchall()
    return rows


def _load_row(row: Iterable[Any]) -> LoadRow:
    system, cell, loads = row
    return LoadRow(system, cell, tuple(Load(**one | _counts_of(one)) for one in loads))


def _counts_of(load: Mapping[str, Any]) -> dict[str, Any]:
    """What a load counted by kind."""
    counts = {name: load[name] for name in ("failures", "own_limits", "steps")}
    return {
        name: None if found is None else tuple(LoadCount(**one) for one in found)
        for name, found in counts.items()
    }


def _read(
    connection: duckdb.DuckDBPyConnection, query: str, make: Callable[[Iterable[Any]], _Row]
) -> list[_Row]:
    return [make(row) for row in connection.execute(query).fetchall()]
