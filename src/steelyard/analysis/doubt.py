"""Finds the trials whose records cannot be right, and has the analysis see them as failed.

Nothing measured today is among them: the door refuses it (systems/door.py). Archives that are older, or come
from somebody else, may hold anything that is of a column's type and range (`steelyard.events`): rows that are
not are left out before (archive/tables.py).
"""

import duckdb

_DAY_NS = 86_400_000_000_000  # no trial is allowed more: the most that limit_ms can be
_PROCESSORS_MOST = 4096
_MOST = 1 << 62

# Why a trial's records cannot be right: a row for each reason.
_DOUBTS = f"""
    SELECT trial, concat('it took ', host_ns, ' ns by our clock and ', guest_ns, ' ns by its own') AS why
    FROM trials WHERE host_ns NOT BETWEEN 0 AND {_DAY_NS} OR guest_ns NOT BETWEEN 0 AND {_DAY_NS}
        OR clock_doubt_ns NOT BETWEEN 0 AND {_DAY_NS}
    UNION ALL
    SELECT trial, concat('a batch of ', metric, ' took ', duration_ns, ' ns')
    FROM samples WHERE duration_ns > {_DAY_NS}
    UNION ALL
    SELECT trial, concat('a batch of ', metric, ' had ', operations, ' operations')
    FROM samples WHERE operations > {_MOST}
    UNION ALL
    SELECT trial, concat('an operation of ', metric, ' moved ', bytes, ' bytes')
    FROM samples WHERE bytes NOT BETWEEN 1 AND {_MOST}
    UNION ALL
    SELECT trial, concat('there was a copy ', copy)
    FROM (SELECT trial, copy FROM samples UNION ALL SELECT trial, copy FROM counts) JOIN trials USING (trial)
    WHERE copy NOT BETWEEN 0 AND copies - 1
    UNION ALL
    SELECT trial, concat('it counted ', "value", ' of ', metric) FROM counts WHERE "value" > {_MOST}
    UNION ALL
    SELECT trial, concat('it used ', operations, ' operations')
    FROM (SELECT trial, unnest(usage, recursive := true) FROM trials)
    WHERE operations NOT BETWEEN 1 AND {_MOST}
    UNION ALL
    SELECT trial, concat('it used ', user_ns::DOUBLE + system_ns, ' ns')
    FROM (SELECT trial, unnest(usage, recursive := true) FROM trials)
    WHERE user_ns::DOUBLE + system_ns > {_PROCESSORS_MOST * _DAY_NS}
    UNION ALL
    SELECT trial, concat('the moments of process ', member, ' are none')
    FROM members m JOIN trials t USING (trial)
    WHERE processors < 1 OR len(marks_ns) IS DISTINCT FROM 16 OR ended_ns <= coalesce(began_ns, ended_ns)
        OR (t.status = 'ok' AND (asked_ns IS NULL OR ended_ns IS NULL OR m.status <> 'ok'))
        OR (ended_ns IS NOT NULL AND list_count(marks_ns) < 16)
        OR list_max([asked_ns, began_ns, ended_ns, reaped_ns, list_max(marks_ns)]) > {_DAY_NS}
        OR list_min([asked_ns, began_ns, ended_ns, reaped_ns, list_min(marks_ns)]) < 0"""


def _within(key: str) -> str:
    return f"CASE WHEN {key} BETWEEN 0 AND {_DAY_NS} THEN {key} END AS {key}"


# Views before the tables of the same names: whoever asks for these, sees the trials as they are to be seen.
_BELIEVED = f"""
    CREATE SCHEMA believed;
    CREATE TABLE believed.doubted AS
        SELECT trial, 'its record cannot be right: ' || min(why) AS why FROM doubts GROUP BY trial;
    CREATE VIEW believed.trials AS
        SELECT t.* REPLACE (CASE WHEN d.why IS NULL OR status <> 'ok' THEN status ELSE 'failed' END AS status,
                            coalesce(CASE WHEN status = 'ok' THEN d.why END, reason) AS reason,
                            {_within("host_ns")}, {_within("guest_ns")}, {_within("clock_doubt_ns")})
        FROM main.trials t LEFT JOIN believed.doubted d USING (trial);
    CREATE VIEW believed.members AS
        SELECT * FROM main.members WHERE trial NOT IN (SELECT trial FROM believed.doubted);
    SET search_path = 'believed,main'"""


def set_aside(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes these tables show trials that went well but cannot be right as failed, with the reason."""
    connection.execute(_BELIEVED.replace("doubts", f"({_DOUBTS})"))
