"""What is asked of a load, and what was seen of it. Times are ns, rates a second."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add

from steelyard.analysis.loads import BUSY_MOST
from steelyard.statistics.signed_rank import Estimate

QUANTILES = (0.5, 0.9, 0.99, 0.999)

# So late may one request in a hundred leave before the schedule counts as slipped.
LAG_MOST_NS = 1_000_000

FETCHES = 2  # requests before each load, by connections of their own

# A silence is longer than ten slow answers: a server whose every answer takes long does not stand still.
_SILENCE_LEAST_NS, _SILENCE_TIMES = 10_000_000, 10
# From where on waiting contradicts the quantiles.
_LONG_TIMES = 10  # times what 99 % of requests took, and as long as a silence
_LONG_SHARE = 0.01  # of the time: as large as the share of requests beyond that quantile
_LONG_OF_WINDOW = 0.1  # by a single request

OWN_LIMIT = "the load generator's own limit"
# What the load generator may lack, by the error's name (loadgen/limits.c).
LIMIT_WORDS = {
    "EMFILE": "it may have no more open files (ulimit -n)",
    "ENFILE": "this machine may have no more open files",
    "EADDRNOTAVAIL": "no local port is free for another connection",
    "EADDRINUSE": "no local port is free for another connection",
    "EAGAIN": "no local port is free for another connection",
    "ENOBUFS": "this machine has no room for another socket's data",
    "ENOMEM": "it has no more memory",
    "ENOSPC": "this user may wait for no more connections (fs.epoll.max_user_watches)",
    "EPERM": "this machine does not let its packets out",
    "EACCES": "this machine does not let it connect",
    "ENETUNREACH": "this machine has no route to the server",
    "ENETDOWN": "this machine's network is down",
    "EAFNOSUPPORT": "this machine has no such network protocol",
    "EPROTONOSUPPORT": "this machine has no such network protocol",
    "ENOSYS": "this machine's kernel has no such call, or a sandbox refuses it",
}


def limit_words(own_limits: Mapping[str, int]) -> str:
    """What was lacked, the most frequent first: "EMFILE, it may have no more open files"."""
    names = sorted(own_limits, key=lambda name: -own_limits[name])
    return "; ".join(f"{name}, {LIMIT_WORDS.get(name, 'an error of its own side')}" for name in names)


@dataclass(frozen=True, slots=True)
class Request:
    """What a request holds besides its path."""

    method: str | None = None  # None: GET, or POST with data
    headers: tuple[str, ...] = ()  # each "NAME: VALUE"
    data: str | None = None  # the body, or "@" and a file that holds it


@dataclass(frozen=True, slots=True)
class Users:
    """SURGE's user equivalents, and the files that they ask for."""

    files: int
    top: int  # references of the most popular file in the whole sequence
    size_most: int
    content_seed: int
    content: str | None  # the directory into which the client writes the files
    off_permille: int  # scale of all pauses
    pauses_within: bool  # between the files of an object
    parallel: int  # connections of a user
    session: int  # mean number of objects until a user ends its connections


@dataclass(frozen=True, slots=True)
class Pattern:
    """How requests are made: by clients that wait for answers, or at a rate whatever the server does."""

    connection: str  # "keep-alive", "new", "http/1.0"
    rate: float | None  # requests a second; None: each client at its own pace
    arrivals: str  # "constant", "exponential"
    think_us: int
    think: str  # "constant", "exponential"
    verified: float  # share of the bodies that are compared byte by byte
    timeout_ms: int
    users: Users | None = None  # SURGE's; None: clients that all ask for one path
    request: Request = Request()


@dataclass(frozen=True, slots=True)
class LatencyHistogram:
    """Counts of latencies, three digits exact: least value of each bucket in ns, and how many."""

    counts: Mapping[int, int]

    def quantile(self, share: float) -> float | None:
        """The value below which lies that share of all; None without any."""
        total, below = sum(self.counts.values()), 0
        for value, count in sorted(self.counts.items()):
            below += count
            if below >= share * total:
                return float(value)
        return None

    def above(self, value: float) -> int:
        """The sum of what is longer than that."""
        return sum(each * count for each, count in self.counts.items() if each > value)

    def __add__(self, other: "LatencyHistogram") -> "LatencyHistogram":
        keys = self.counts.keys() | other.counts.keys()
        return LatencyHistogram({key: self.counts.get(key, 0) + other.counts.get(key, 0) for key in keys})


@dataclass(frozen=True, slots=True)
class Objects:
    """What users saw in one window: an object is a file and those embedded in it."""

    digest: str  # of the file set and the order of references
    offered: float  # a second, if the server took no time
    begun: int
    ended: int  # with all files right
    failed: int
    lost: int  # for want of something on the load generator's side
    sequence_permille: int  # of the sequence of references, gone through so far
    latency: LatencyHistogram  # while files of an object were under way


@dataclass(frozen=True, slots=True)
class Waits:
    """What connections a load needed, and how long it waited. Quantiles count requests, and who waits makes
    none."""

    connections: int  # opened, at any time of the load: in its warm-up, too
    connecting_ns: int  # all that took together; it is in the latency of the requests that needed them
    closed: int  # by the server, though they were to be kept
    resent: int  # requests sent once more, because the server closed their connection meanwhile
    longest_ns: int  # of a request of which any time was in the window, from when it was due
    # Spans of the window from 10 ms on in which requests waited, and none was answered.
    silences: LatencyHistogram
    stalled_ns: int  # in which the load generator itself did not run: in neither of the two before
    elapsed_ns: int  # of the whole load


@dataclass(frozen=True, slots=True)
class LoadTrial:
    """What one window of load saw."""

    clients: int
    window_ns: int
    answers: int
    bytes: int
    verified: int  # bodies compared to the last byte
    is_body_fixed: bool  # every answer has the same body, so that all lengths are checked
    requests: int  # that ended at any time: before, in and after the window
    started: int  # whose time was in the window
    waited: int  # requests that found no client free at their time
    unsent: int  # and those that found none until the end
    failures: Mapping[str, int]  # the server's, by kind
    cpu_ns: int  # of the client, for all requests
    busy_most: float  # of the client's busiest loop: its processor time over its time
    latency: LatencyHistogram  # from the sending
    intended: LatencyHistogram  # from the moment when it was to be sent
    lag: LatencyHistogram  # from that moment to the sending, where a client was free
    waits: Waits
    costs: Mapping[str, int] | None  # of the watched server, for all requests, by figure; None: not watched
    objects: Objects | None = None  # of SURGE
    # Requests that could not be made, by what the load generator lacked: an error's name.
    own_limits: Mapping[str, int] = field(default_factory=dict)
    malformed: str | None = None  # what the server did in the first answer that was no HTTP: "sent ..."

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answers * 1e9 / self.window_ns

    @property
    def is_client_limited(self) -> bool:
        """Whether the client was too busy, or too late, or lacked too much to say anything of the server."""
        late = self.lag.quantile(0.99)
        return (
            bool(self.own_limits) or self.busy_most > BUSY_MOST or (late is not None and late > LAG_MOST_NS)
        )


@dataclass(frozen=True, slots=True)
class WaitLevel:
    """What all trials at one level say of connections and of waiting."""

    connections: int  # opened
    connection_requests: int  # that they were opened for
    connecting_ns: float | None  # the mean of one; None: none was opened
    closed: int  # by the server, though they were to be kept
    resent: int  # requests sent once more, because the server closed their connection meanwhile
    longest_ns: int
    silent_share: float  # of the windows: in silences that are longer than this
    silent_least_ns: float
    stalled_share: float  # of the time: in which the load generator itself did not run
    # The quantiles hide waits: more of the time than of the requests lies beyond them, or one request waited
    # for a large part of a window.
    are_hidden: bool


def wait_level(trials: Sequence[LoadTrial], *, is_closed: bool) -> WaitLevel:
    """Of at least one trial."""
    waits = [one.waits for one in trials]
    connections = sum(one.connections for one in waits)
    windows_ns = sum(one.window_ns for one in trials)
    latency = reduce(add, (one.latency for one in trials))
    usual, tail = latency.quantile(0.5) or 0.0, reduce(add, (one.intended for one in trials)).quantile(0.99)
    least_ns = max(float(_SILENCE_LEAST_NS), _SILENCE_TIMES * usual)
    longest_ns = max(one.longest_ns for one in waits)
    silent_share = min(1.0, reduce(add, (one.silences for one in waits)).above(least_ns) / windows_ns)
    long_ns = max(_SILENCE_LEAST_NS, _LONG_TIMES * (math.inf if tail is None else tail))
    # In an open load requests do not wait for each other, so the sum of their latencies is no time.
    clients_ns = sum(one.clients * one.window_ns for one in trials)
    long_share = max(silent_share, latency.above(long_ns) / clients_ns if is_closed else 0.0)
    is_long = longest_ns >= _LONG_OF_WINDOW * trials[0].window_ns
    return WaitLevel(
        connections=connections,
        connection_requests=sum(max(0, one.requests - FETCHES) for one in trials),
        connecting_ns=sum(one.connecting_ns for one in waits) / connections if connections else None,
        closed=sum(one.closed for one in waits),
        resent=sum(one.resent for one in waits),
        longest_ns=longest_ns,
        silent_share=silent_share,
        silent_least_ns=least_ns,
        stalled_share=min(1.0, sum(one.stalled_ns for one in waits) / sum(one.elapsed_ns for one in waits)),
        are_hidden=longest_ns >= long_ns and (long_share >= _LONG_SHARE or is_long),
    )


@dataclass(frozen=True, slots=True)
class ObjectLevel:
    """What all trials at one level say of objects."""

    digest: str
    rate: Estimate  # ended with all files right, a second
    offered: float
    failed: int
    lost: int
    sequences: float  # the most that a trial went through
    latency_ns: Mapping[float, Estimate]


@dataclass(frozen=True, slots=True)
class LoadLevel:
    """What all trials at one level of load say together."""

    clients: int
    trials: int
    rate: Estimate  # answers a second
    bytes_rate: float  # a second: the median over trials, as of the rate
    latency_ns: Mapping[float, Estimate]  # by quantile; counted from the intended time in an open load
    sent_latency_ns: Mapping[float, Estimate]  # by quantile, counted from the sending
    failures: Mapping[str, int]  # the server's, by kind, those that occurred
    own_limits: Mapping[str, int]  # requests that could not be made, by what the load generator lacked
    malformed: str | None
    requests: int  # answered or failed
    waited: int
    unsent: int
    verified: int
    is_body_fixed: bool
    client_limited: int  # trials
    client_us: float  # the client's processor time a request
    costs: Mapping[str, Estimate]  # of the server's processes, a request, by figure
    waits: WaitLevel
    objects: ObjectLevel | None = None
