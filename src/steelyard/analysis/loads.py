"""Judges the load generator of a server by its own time: whether it may be the limit."""

from collections.abc import Mapping
from statistics import median

from steelyard.analysis.remarks import GaveWay

TIME, CLIENT, SERVER = "time", "client", "server"  # metrics, in ns a request
# At the lowest rate that a server did not hold: processor time in each second, and a wait in ns.
BEYOND = BEYOND_SERVER, BEYOND_CLIENT, BEYOND_WAIT = "beyond_server", "beyond_client", "beyond_wait"
# How late requests left there, where that is why it was not held, in ns; else 0.
BEYOND_LATE = "beyond_late"
# More or less of these is not better by itself: the generator's cost, what was offered, what gave way.
NEUTRAL = (CLIENT, "offered", *BEYOND, BEYOND_LATE)
# A generator that is busier than that may be what is measured, and not the server.
BUSY_MOST = 0.8
# Whose clients are all one event loop, and so have one processor at most.
_ONE_LOOP = ("web_requests", "web_users", "web_saturation")


def busy(
    workload: str, times: Mapping[int, float], clients: Mapping[int, float], beyond: Mapping[int, float]
) -> float | None:
    """The share of its time in which the generator worked, where it may have been the limit: the median over
    blocks of its processor time a request over the time a request, or of what it used beyond the rate that
    was held. None where there is no such generator, or no block."""
    shares = [one / 1e9 for one in beyond.values()]
    shares = shares or [clients[block] / times[block] for block in times.keys() & clients.keys()]
    return median(shares) if workload in _ONE_LOOP and shares else None


def gave_way(
    system: str, metric: str, server: float | None, client: float | None, wait: float | None
) -> GaveWay | None:
    """The facts on the lowest rate that was not held; None if there are none."""
    if metric != "request" or client is None:
        return None
    return GaveWay(system, server / 1e9 if server else None, client / 1e9, wait or None)


def depends_on_client(metric: str) -> bool:
    """True if a load generator that is too busy spoils the metric."""
    return metric != SERVER
