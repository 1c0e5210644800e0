"""What a load on a server says of itself: the generator's own time, and whether it may be what limits."""

from collections.abc import Mapping
from statistics import median

TIME, CLIENT, SERVER = "time", "client", "server"  # metrics, in ns a request
# More or less of these is not better by itself: the generator's cost, and what was offered to the server.
NEUTRAL = (CLIENT, "offered")
# A generator that is busier than that may be what is measured, and not the server.
BUSY_MOST = 0.8
# Whose clients are all one event loop, and so have one processor at most.
_ONE_LOOP = ("web_requests", "web_users")


def busy(workload: str, times: Mapping[int, float], clients: Mapping[int, float]) -> float | None:
    """The share of its time in which the generator worked: the median over blocks of its processor time a
    request over the time a request. None where there is no such generator, or no block."""
    shares = [clients[block] / times[block] for block in times.keys() & clients.keys()]
    return median(shares) if workload in _ONE_LOOP and shares else None


def depends_on_client(metric: str) -> bool:
    """Whether a generator that is too busy spoils the metric."""
    return metric != SERVER
