"""Has the sentences on loads on servers: what quantiles hide, what failed, what the load generator lacked."""

from collections.abc import Sequence

from steelyard.analysis import remarks
from steelyard.quantities import digits, number_of, time_ns
from steelyard.words.remarks.dispatch import said

OWN_LIMIT = "the load generator's own limit"
# What the load generator may lack, by the error's name (loadgen/limits.c).
_LACKED = {
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


def percent(share: float) -> str:
    """Two digits, and 0 % for nothing at all."""
    return f"{digits(100 * share, count=2)} %" if share else "0 %"


@said.register
def _(one: remarks.ConnectionsClosed, alike: Sequence[remarks.ConnectionsClosed]) -> str:
    return (
        f"{_most(one)}: the server on {one.system} closed connections that were to be kept, "
        f"{one.opened:.0f} for 1,000 requests"
    )


@said.register
def _(one: remarks.StoodStill, alike: Sequence[remarks.StoodStill]) -> str:
    longest = time_ns(one.longest_ns)
    stood = f"answered nothing for {percent(one.share)} of the time (longest wait {longest})"
    advice = "" if one.is_paced else "; a load at a fixed rate shows what independent users see"
    waited = stood if one.share else f"had one request wait for {longest}"
    return (
        f"{_most(one)}: the server on {one.system} {waited}, although 99 % of requests took at most "
        f"{time_ns(one.tail_ns)}{advice}"
    )


def _most(one: remarks.ConnectionsClosed | remarks.StoodStill) -> str:
    return one.cell if one.cells == 1 else f"{one.cell} (and less in {number_of(one.cells - 1, 'cell')} more)"


@said.register
def _(one: remarks.Reconnected, alike: Sequence[remarks.Reconnected]) -> str:
    connections = number_of(one.connections, "connection was", "connections were")
    return (
        f"{one.cell}: the server on {one.system} closed connections that were to be kept: {connections} "
        f"opened for {number_of(one.requests, 'request')}, each in {time_ns(one.connecting_ns)}, which is in "
        "the latencies"
    )


@said.register
def _(one: remarks.RequestsFailed, alike: Sequence[remarks.RequestsFailed]) -> str:
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in one.kinds)
    malformed = f" (the server {one.malformed})" if one.malformed else ""
    return (
        f"{one.cell}: {one.failed:,} of {number_of(one.requests, 'request')} failed on {one.system}: "
        f"{kinds}{malformed}"
    )


@said.register
def _(one: remarks.RequestsResent, alike: Sequence[remarks.RequestsResent]) -> str:
    requests = number_of(one.resent, "request")
    return f"{one.cell}: {requests} went twice, because the server on {one.system} closed the connection"


@said.register
def _(one: remarks.RequestsWaited, alike: Sequence[remarks.RequestsWaited]) -> str:
    unsent = f", and {one.unsent:,} were never sent" if one.unsent else ""
    requests = number_of(one.waited, "request")
    return f"{one.cell}: {requests} found every client busy when due on {one.system}{unsent}"


@said.register
def _(one: remarks.GeneratorLacked, alike: Sequence[remarks.GeneratorLacked]) -> str:
    lacked = "; ".join(f"{name}, {_LACKED.get(name, 'an error of its own side')}" for name, _ in one.lacked)
    number = sum(number for _, number in one.lacked)
    return (
        f"{one.cell}: {number:,} more requests were not made on {one.system}, because of {OWN_LIMIT}: "
        f"{lacked}; they are in no figure of the server's"
    )


@said.register
def _(one: remarks.GeneratorLimited, alike: Sequence[remarks.GeneratorLimited]) -> str:
    trials = number_of(one.trials, "trial")
    return (
        f"{one.cell}: the load generator was too busy, too late or lacked something in {one.limited} of "
        f"{trials} on {one.system}: there the figures say nothing about the server"
    )


@said.register
def _(one: remarks.GeneratorStalled, alike: Sequence[remarks.GeneratorStalled]) -> str:
    return (
        f"{one.cell}: the load generator itself did not run for {percent(one.share)} of the time on "
        f"{one.system}, because something else had its processor; neither wait includes that"
    )


@said.register
def _(one: remarks.BodiesChange, alike: Sequence[remarks.BodiesChange]) -> str:
    unchecked = "so neither its length nor its bytes were checked"
    return f"{one.cell}: the body changes from answer to answer, {unchecked}"
