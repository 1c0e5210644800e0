"""What an experiment's tables say trial by trial, read by SQL, as plain rows.

A closed experiment is read once; one that is being measured is read bit by bit, as it grows, and the bits are
put together. So verdicts at a look and verdicts in a report come from the same rows by the same code.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import duckdb

from steelyard.analysis import doubt

# One row per trial, metric and, where the trial is a curve, point: the quantiles of its batches in ns per
# operation, and its cost, which is all time over all work. With several copies, the group's time is that of
# its slowest copy, and the work is everybody's: so it is divided by the number of copies, as the PEGASUS
# paper's tables are.
METRICS_OF_TRIALS = """
    SELECT t.block, t.system, t.boot, t.cell, s.metric, s.point, any_value(t.copies) AS copies,
           any_value(s.bytes) AS bytes,
           quantile_cont(s.duration_ns / s.operations, [0.1, 0.25, 0.5, 0.9]) AS q,
           sum(s.duration_ns) / sum(s.operations) AS cost,
           any_value(g.slowest) / any_value(g.operations) / any_value(t.copies) AS "group"
    FROM samples s
    JOIN trials t USING (trial)
    JOIN (SELECT trial, metric, point, max(total) AS slowest, any_value(operations) AS operations
          FROM (SELECT trial, metric, point, copy, sum(duration_ns) AS total, sum(operations) AS operations
                FROM samples GROUP BY trial, metric, point, copy)
          GROUP BY trial, metric, point) g
      ON g.trial = s.trial AND g.metric = s.metric AND g.point IS NOT DISTINCT FROM s.point
    WHERE t.status = 'ok'
    GROUP BY s.trial, t.block, t.system, t.boot, t.cell, s.metric, s.point"""

_VALUES = f"""
    SELECT block, system, boot, cell, metric, point, bytes, q[2] AS floor, q[3] AS typical, cost, "group"
    FROM ({METRICS_OF_TRIALS}) ORDER BY block, point"""

# What a system's clock differs by, as a fraction of the trial, beyond what the reading itself may have
# cost; towards 0, so that a slow answer is not called a wrong clock.
_TRIALS = """
    SELECT block, position, system, cell, status, reason, signal, code_sha256, pressure, host_ns,
           CASE WHEN host_ns > 0 THEN
               sign(guest_ns - host_ns) * greatest(0, abs(guest_ns - host_ns) - clock_doubt_ns) / host_ns
           END AS clock_apart
    FROM trials ORDER BY block, position"""

_COUNTS = """
    SELECT t.block, t.system, t.boot, t.cell, c.metric, c."value"
    FROM counts c JOIN trials t USING (trial) WHERE t.status = 'ok' AND c.copy = 0 ORDER BY t.block"""

# Trials that failed too: what their other processes did is known. The first copy stands for all.
_MEMBERS = """
    SELECT t.trial, t.block, t.system, t.boot, t.cell, t.status = 'ok' AS is_ok, m.metric, m.batch,
           any_value(m.processors) AS processors, any_value(m.zero_ns) AS zero_ns,
           list(m.asked_ns ORDER BY m.member) AS asked, list(m.began_ns ORDER BY m.member) AS began,
           list(m.ended_ns ORDER BY m.member) AS ended, list(m.reaped_ns ORDER BY m.member) AS reaped,
           list(m.marks_ns ORDER BY m.member) AS marks, list(m.status ORDER BY m.member) AS statuses,
           list(m.reason ORDER BY m.member) AS reasons
    FROM members m JOIN trials t USING (trial) WHERE m.copy = 0
    GROUP BY t.trial, t.block, t.system, t.boot, t.cell, t.status, m.metric, m.batch
    ORDER BY t.block, m.metric, m.batch"""


_REMARKS = "SELECT note FROM events WHERE kind = 'damage' ORDER BY recorded"


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
    host_ns: int | None
    clock_apart: float | None


@dataclass
class Rows:
    """All rows read so far."""

    trials: list[TrialRow] = field(default_factory=list)
    values: list[tuple[Any, ...]] = field(default_factory=list)
    counts: list[tuple[Any, ...]] = field(default_factory=list)
    members: list[tuple[Any, ...]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # sentences: what is damaged, and left out

    def add(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Adds what these tables hold: of trials that are not among the rows yet."""
        doubt.set_aside(connection)
        known = len(self.trials)
        self.trials += [TrialRow(*row) for row in _all(connection, _TRIALS)]
        self.values += _all(connection, _VALUES)
        self.counts += _all(connection, _COUNTS)
        self.remarks += [sentence for (sentence,) in _all(connection, _REMARKS)]
        self.members += [(known + trial, *rest) for trial, *rest in _all(connection, _MEMBERS)]


def read(connection: duckdb.DuckDBPyConnection) -> Rows:
    """The rows of a whole experiment."""
    rows = Rows()
    rows.add(connection)
    return rows


def _all(connection: duckdb.DuckDBPyConnection, query: str) -> Sequence[tuple[Any, ...]]:
    return connection.execute(query).fetchall()
