"""Judges the load generator of a server by its own time: whether it may be the limit."""

from collections.abc import Mapping
from statistics import mean, median

from steelyard.analysis.remarks import ConnectionsClosed, GaveWay, StoodStill

TIME, CLIENT, SERVER = "time", "client", "server"  # metrics, in ns a request
BETWEEN = "request"  # the time between two, in ns, of what a load served or held
# At the lowest rate that a server did not hold: processor time in each second, and a wait in ns.
BEYOND = BEYOND_SERVER, BEYOND_CLIENT, BEYOND_WAIT = "beyond_server", "beyond_client", "beyond_wait"
# How late requests left there, where that is why it was not held, in ns; else 0.
BEYOND_LATE = "beyond_late"
# Connections opened for 1,000 requests; the longest wait, in ns; time without any answer, per mille.
CONNECTIONS, LONGEST, SILENT = "connections", "longest_wait", "silent"
# Whose clients keep their connections for all requests; those of web_users are a session's.
KEEPING = ("web_requests", "web_series", "web_saturation")
_CLOSED_LEAST = 100.0  # that many connections for 1,000 requests are not kept
_SILENT_LEAST = 10.0  # as large a share as that of the requests beyond the quantile
_LONG_TIMES = 10.0  # times the quantile
# Whose record says more of its waits (server_loads).
RECORDED = "web_load"
# More or less of these is not better by itself: the generator's cost, what was offered, what gave way.
NEUTRAL = (CLIENT, "offered", "objects_offered", *BEYOND, BEYOND_LATE, "connecting", LONGEST)
# A generator that is busier than that may be what is measured, and not the server.
BUSY_MOST = 0.8
# Whose clients are event loops of one processor each: one, or as many as the cell says.
_BY_LOOPS = ("web_load", "web_requests", "web_users", "web_saturation")


def busy(
    workload: str,
    loops: int,
    times: Mapping[int, float],
    clients: Mapping[int, float],
    beyond: Mapping[int, float],
) -> float | None:
    """The share of its time in which the generator worked, where it may have been the limit: the median over
    blocks of its processor time a request over the time a request, by its event loops, or of what it used
    beyond the rate that was held. None where there is no such generator, or no block."""
    shares = [one / 1e9 for one in beyond.values()]
    shares = shares or [clients[block] / times[block] for block in times.keys() & clients.keys()]
    return median(shares) / loops if workload in _BY_LOOPS and shares else None


def gave_way(
    system: str, metric: str, server: float | None, client: float | None, wait: float | None
) -> GaveWay | None:
    """The facts on the lowest rate that was not held; None if there are none."""
    if metric != BETWEEN or client is None:
        return None
    return GaveWay(system, server / 1e9 if server else None, client / 1e9, wait or None)


def closed(system: str, cell: str, connections: Mapping[int, float]) -> ConnectionsClosed | None:
    """The fact that a server closes the connections which a load would keep; None if it keeps them."""
    opened = mean(connections.values()) if connections else 0.0
    return ConnectionsClosed(system, cell, 1, opened) if opened >= _CLOSED_LEAST else None


def stood_still(
    system: str,
    cell: str,
    silent: Mapping[int, float],
    longest: Mapping[int, float],
    tail: Mapping[int, float],
) -> StoodStill | None:
    """The fact that a server answered nothing for a share of the time that its quantiles hide; None if they
    do not. One trial of many counts, so the share is the mean."""
    share = mean(silent.values()) if silent else 0.0
    if share < _SILENT_LEAST or not longest or not tail:
        return None
    if max(longest.values()) < _LONG_TIMES * median(tail.values()):
        return None
    return StoodStill(system, cell, 1, share / 1000, max(longest.values()), median(tail.values()))


def depends_on_client(metric: str) -> bool:
    """True if a load generator that is too busy spoils the metric."""
    return metric != SERVER
