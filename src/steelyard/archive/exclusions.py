"""Finds the trials whose records cannot be right, and has the analysis see them as failed.

Nothing measured today is among them: systems/protocol.py refuses it. Archives that are older, or come
from somebody else, may hold anything that is of a column's type and range (`steelyard.events`): rows that are
not are left out before (archive/tables.py).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import duckdb

from steelyard.allowance import PROCESSORS_LIKELY_MOST
from steelyard.archive import relations
from steelyard.quantities import DAY_NS  # no trial is allowed more: the most that limit_ms can be

_MOST = 1 << 62
_EVENTS_MOST = 100  # in a nanosecond: faults, switches, blocks
# What a figure of a network workload cannot exceed by its unit, which the tables do not hold.
_SHARES = "('softirq', 1000), ('lost', 1000000)"
# How many requests an operation makes: of a series many, of a load as many as it says.
_REQUESTS = """
    CASE WHEN workload = 'web_series' THEN coalesce(TRY_CAST(parameters ->> 'requests' AS BIGINT), 1e6)
    WHEN loads IS NOT NULL THEN list_sum([one.requests::DOUBLE + one.unsent FOR one IN loads])
    ELSE 1 END"""

# Why a trial's records cannot be right: a row for each reason.
_DOUBTS = f"""
    SELECT trial, concat('it took ', host_ns, ' ns by our clock and ', guest_ns, ' ns by its own') AS why
    FROM trials WHERE host_ns NOT BETWEEN 0 AND {DAY_NS} OR guest_ns NOT BETWEEN 0 AND {DAY_NS}
        OR clock_doubt_ns NOT BETWEEN 0 AND {DAY_NS}
    UNION ALL
    SELECT trial, concat('a batch of ', metric, ' took ', duration_ns, ' ns')
    FROM samples WHERE duration_ns > {DAY_NS}
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
    WHERE user_ns::DOUBLE + system_ns > {PROCESSORS_LIKELY_MOST * DAY_NS}
    UNION ALL
    SELECT trial, concat('it used ', user_ns::DOUBLE + system_ns, ' ns in ', host_ns, ' ns')
    FROM (SELECT trial, host_ns, unnest(usage, recursive := true) FROM trials)
    WHERE user_ns::DOUBLE + system_ns > {PROCESSORS_LIKELY_MOST} * (2.0 * host_ns + 1e6)
    UNION ALL
    SELECT trial, concat('it made ', requests, ' requests in ', host_ns, ' ns')
    FROM (SELECT trial, host_ns, unnest(loads, recursive := true) FROM trials)
    WHERE requests > {_EVENTS_MOST} * (2.0 * host_ns + 1e6) OR answers > requests
        OR longest_ns > 2.0 * host_ns + 1e6
    UNION ALL
    SELECT trial, concat('it had ', most, ' events in ', host_ns, ' ns')
    FROM (SELECT trial, host_ns, greatest(faults_minor, faults_major, switches_voluntary,
                                          switches_involuntary, blocks_read, blocks_written) AS most
          FROM (SELECT trial, host_ns, unnest(usage, recursive := true) FROM trials))
    WHERE most > {_EVENTS_MOST} * (2.0 * host_ns + 1e6)
    UNION ALL
    SELECT trial, concat('it counted ', "value", ' of at most ', parameters ->> 'most')
    FROM counts JOIN trials USING (trial)
    WHERE unit = 'processes' AND "value" > TRY_CAST(parameters ->> 'most' AS BIGINT)
    UNION ALL
    SELECT trial, concat(metric, ' was ', duration_ns, ' of at most ', most)
    FROM samples JOIN (VALUES {_SHARES}) shares (metric, most) USING (metric) WHERE duration_ns > most
    UNION ALL
    SELECT h.trial, concat('its histogram holds ', sum(h.requests), ' requests of ', any_value(u.most))
    FROM histograms h JOIN (
        SELECT trial, used.copy AS copy,
               max(used.operations::DOUBLE * {_REQUESTS}) AS most
        FROM (SELECT trial, workload, parameters, loads, unnest(usage) AS used FROM trials)
        GROUP BY trial, used.copy) u ON u.trial = h.trial AND u.copy = h.copy
    GROUP BY h.trial, h.copy, h.metric HAVING sum(h.requests) > any_value(u.most)
    UNION ALL
    SELECT trial, concat('its curve has ', sizes, ' of ', most, ' sizes')
    FROM (SELECT trial, sizes, is_bounded,
                 max(sizes) OVER (PARTITION BY cell, metric, whose) AS most
          FROM (SELECT trial, t.cell, metric, count(DISTINCT point) AS sizes,
                       any_value(coalesce(TRY_CAST(t.parameters ->> 'to' AS BIGINT), 0) > 0) AS is_bounded,
                       any_value(CASE WHEN TRY_CAST(t.parameters ->> 'to' AS BIGINT) > 0 THEN ''
                                 ELSE t.system END) AS whose
                FROM samples JOIN trials t USING (trial) WHERE point IS NOT NULL AND t.status = 'ok'
                GROUP BY trial, t.cell, metric))
    WHERE sizes < (CASE WHEN is_bounded THEN most ELSE most / 2 END)
    UNION ALL
    SELECT trial, concat('its group has ', members, ' of ', processes, ' processes')
    FROM (SELECT trial, count(*) AS members,
                 any_value(TRY_CAST(parameters ->> 'processes' AS BIGINT)) AS processes
          FROM members JOIN trials USING (trial) WHERE metric = 'together'
          GROUP BY trial, members.copy, metric, batch)
    WHERE members <> processes
    UNION ALL
    SELECT trial, concat('the moments of process ', member, ' are none')
    FROM members m JOIN trials t USING (trial)
    WHERE processors NOT BETWEEN 1 AND 65536 OR (m.status = 'ok' AND ended_ns IS NULL)
        OR len(marks_ns) IS DISTINCT FROM 16 OR ended_ns <= coalesce(began_ns, ended_ns)
        OR (t.status = 'ok' AND (asked_ns IS NULL OR ended_ns IS NULL OR m.status <> 'ok'))
        OR (ended_ns IS NOT NULL AND list_count(marks_ns) < 16)
        OR list_max([asked_ns, began_ns, ended_ns, reaped_ns, list_max(marks_ns)]) > {DAY_NS}
        OR list_min([asked_ns, began_ns, ended_ns, reaped_ns, list_min(marks_ns)]) < 0"""


def _within(key: str) -> str:
    return f"CASE WHEN {key} BETWEEN 0 AND {DAY_NS} THEN {key} END AS {key}"


# Views before the tables of the same names: queries of these names see the trials without the excluded ones.
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


# What the workload itself reports of latencies and processor time, trial by trial. A tool's figures are
# samples of many operations (running/printed.py).
_FIGURES = """
    SELECT trial, copy, metric, max(duration_ns), any_value(host_ns)
    FROM samples JOIN trials USING (trial)
    WHERE point IS NULL AND duration_ns IS NOT NULL AND operations = 1
      AND (metric LIKE '%latency\\_%' ESCAPE '\\'
           OR metric IN ('demand', 'near', 'far', 'rest', 'machine', 'processor'))
    GROUP BY trial, copy, metric"""
_HISTOGRAMS = """
    SELECT trial, copy, metric, list(value_ns ORDER BY value_ns), list(requests ORDER BY value_ns)
    FROM histograms GROUP BY trial, copy, metric"""

_Copy = tuple[int, int]  # a trial and a copy of it


def set_aside(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes these tables show trials that went well but cannot be right as failed, with the reason."""
    connection.execute("CREATE OR REPLACE TEMP TABLE contradicted (trial BIGINT, why VARCHAR)")
    contradicted = list(_contradictions(connection))
    if contradicted:
        connection.executemany("INSERT INTO contradicted VALUES (?, ?)", contradicted)
    doubts = f"{_DOUBTS} UNION ALL SELECT trial, why FROM contradicted"
    connection.execute(_BELIEVED.replace("doubts", f"({doubts})"))


def _contradictions(connection: duckdb.DuckDBPyConnection) -> Iterable[tuple[int, str]]:
    """The trials whose figures contradict each other, and how."""
    figures: dict[_Copy, dict[str, int]] = defaultdict(dict)
    for trial, copy, metric, figure, host_ns in connection.execute(_FIGURES).fetchall():
        figures[trial, copy][metric] = figure
        if host_ns is not None and relations.quantile_of(metric) and figure > 2.1 * host_ns + 1e6:
            yield trial, f"{metric} was {figure} ns in a trial of {host_ns} ns"
    for (trial, _), own in figures.items():
        if found := relations.contradiction(own):
            yield trial, str(found)
    yield from _against_histograms(connection, figures)


def _against_histograms(
    connection: duckdb.DuckDBPyConnection, figures: Mapping[_Copy, Mapping[str, int]]
) -> Iterable[tuple[int, str]]:
    for trial, copy, metric, values_ns, counts in connection.execute(_HISTOGRAMS).fetchall():
        if found := relations.against_histogram(figures.get((trial, copy), {}), metric, values_ns, counts):
            yield trial, str(found)
