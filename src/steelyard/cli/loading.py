"""load: a server of one's own under load."""

import os
import random
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from steelyard import libraries, standstill, streams
from steelyard.cli import output
from steelyard.cli.verb import Verb, option, output_option
from steelyard.cli.watch_options import SEED, process
from steelyard.errors import SteelyardError, UsageError, in_words
from steelyard.quantities import (
    duration_text,
    number_of,
    parse_duration,
    parse_number,
    parse_share,
    parse_size,
    parse_whole,
)
from steelyard.servers import running
from steelyard.shapes import Wrong
from steelyard.text import quoted

if TYPE_CHECKING:
    from steelyard.load import trials
    from steelyard.load.model import Pattern, Request, Users

_Step = TypeVar("_Step")
_PAUSE_MOST_NS = 600 * 10**9
_HEADERS_MOST = 7000  # with what else a request's head holds, in the load generator's 8,192 bytes
_DATA_MOST = 16 << 20
_TEXT_MOST = 100_000  # of one word of a command


def _counts(value: object) -> tuple[int, ...]:
    """The numbers in "1,4,16", each once. Raises Wrong."""
    try:
        return tuple(dict.fromkeys(parse_whole(part, most=1_000_000) for part in str(value).split(",")))
    except Wrong as wrong:
        raise Wrong(value, f"{wrong.allowed}, or several with commas between") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    url: str = option(metavar="URL", help="URL to request, such as http://127.0.0.1:8080/")
    clients: tuple[int, ...] | None = option(
        "--clients",
        parse=_counts,
        metavar="N[,N...]",
        help="number of concurrent clients, or several levels separated by commas (default: 1)",
    )
    model: str = option(
        "--model",
        default="clients",
        choices=("clients", "surge"),
        help="clients that request one document, or users as modelled by SURGE (default: clients)",
    )
    user_equivalents: tuple[int, ...] | None = option(
        "--user-equivalents",
        parse=_counts,
        metavar="N[,N...]",
        help="surge: number of concurrent users, instead of --clients (default: 1)",
    )
    content: str | None = option(
        "--content",
        metavar="DIRECTORY",
        help="surge: directory for the file set, which the server must serve at the URL",
    )
    files: int = option(
        "--files",
        default=2000,
        parse=partial(parse_whole, least=50, most=200_000),
        metavar="N",
        help="surge: number of files (default: 2000)",
    )
    size_most: int = option(
        "--size-most",
        default=50_000_000,
        parse=partial(parse_size, least=200_000, most=1_000_000_000),
        metavar="SIZE",
        help="surge: largest file size, such as 10M; larger draws are repeated (default: 50000000)",
    )
    off_scale: float = option(
        "--off-scale",
        default=1.0,
        parse=partial(parse_share, least=0.001, most=1000.0),
        metavar="SHARE",
        help="surge: scale of the users' pauses; 0.1 loads ten times as much (default: 1, as published)",
    )
    pauses_within: bool = option(
        "--pauses-within",
        default=False,
        action="store_true",
        help="surge: also pause between the files of an object",
    )
    parallel: int = option(
        "--parallel",
        default=2,
        parse=partial(parse_whole, most=16),
        metavar="N",
        help="surge: connections per user (default: 2)",
    )
    session: int = option(
        "--session",
        default=8,
        parse=partial(parse_whole, most=1_000_000),
        metavar="N",
        help="surge: mean number of objects before a user closes its connections (default: 8)",
    )
    for_ns: int = option(
        "--for",
        default=30 * 10**9,
        parse=parse_duration,
        metavar="TIME",
        help="total duration, such as 30s or 5m (default: 30s)",
    )
    trials: int = option(
        "--trials",
        default=6,
        parse=partial(parse_whole, most=1000),
        metavar="N",
        help="number of trials per level, in random order (default: 6)",
    )
    rate: float | None = option(
        "--rate",
        parse=partial(parse_number, least=0.001, most=10_000_000.0),
        metavar="N",
        help="send this many requests per second, however fast the server answers; latency counts from "
        "the moment each was due",
    )
    saturation_ns: int | None = option(
        "--saturation",
        parse=parse_duration,
        metavar="LATENCY",
        help="find the highest rate at which 99 %% of requests are answered within LATENCY, such as 10ms",
    )
    quantile: float | None = option(
        "--quantile",
        parse=partial(parse_share, least=0.5),
        metavar="SHARE",
        help="with --saturation: share of requests that must meet LATENCY (default: 99%%)",
    )
    arrivals: str = option(
        "--arrivals",
        default="constant",
        choices=("constant", "exponential"),
        help="with --rate: evenly spaced, or at random like independent users (default: constant)",
    )
    think_ns: int | None = option(
        "--think",
        parse=partial(parse_duration, most_ns=_PAUSE_MOST_NS),
        metavar="TIME",
        help="pause of a client between an answer and its next request (default: none)",
    )
    think_spread: str = option(
        "--think-spread",
        default="exponential",
        choices=("constant", "exponential"),
        help="distribution of the pauses (default: exponential)",
    )
    connection: str = option(
        "--connection",
        default="keep-alive",
        choices=("keep-alive", "new", "http/1.0"),
        help="one connection for many requests, one per request, or one per request with HTTP/1.0 "
        "(default: keep-alive)",
    )
    verify: float = option(
        "--verify",
        default=0.01,
        parse=partial(parse_share, least=0.0),
        metavar="SHARE",
        help="share of response bodies to compare byte by byte (default: 1%%)",
    )
    method: str | None = option(
        "--method",
        parse=running.method,
        metavar="METHOD",
        help="HTTP method (default: GET, or POST with --data)",
    )
    headers: tuple[str, ...] = option(
        "--header",
        default=(),
        action="append",
        parse=running.header,
        metavar="'NAME: VALUE'",
        help="send this header with each request; may be repeated, and replaces the usual Host, "
        "User-Agent, Accept and Content-Type",
    )
    data: str | None = option(
        "--data",
        metavar="TEXT|@FILE",
        help="body of each request: this text, or what the file holds, at most 16 MiB",
    )
    timeout_ns: int = option(
        "--timeout",
        default=10 * 10**9,
        parse=partial(parse_duration, most_ns=_PAUSE_MOST_NS),
        metavar="TIME",
        help="time limit for an answer, after which the request has failed (default: 10s)",
    )
    threads: int = option(
        "--threads",
        default=1,
        parse=partial(parse_whole, most=64),
        metavar="N",
        help="number of event loops, each on its own thread (default: 1)",
    )
    pid: str | None = option(
        "--pid",
        metavar="PID",
        help="process ID of the server's main process, to report the CPU cost per request",
    )
    seed: int | None = option("--seed", parse=SEED, metavar="N", help="random seed (default: random)")
    allow_remote: bool = option(
        "--allow-remote",
        default=False,
        action="store_true",
        help="allow a host other than this one's loopback; load only servers that are yours",
    )
    format: str = option(
        "--format", default="text", choices=("text", "json"), help="output format (default: text)"
    )
    output: Path | None = output_option()


def _load(options: LoadOptions) -> int:
    """Loads the server and prints what it served at each level."""
    libraries.load("steelyard.load.console", "steelyard.load.saturation", "scipy.special")
    from steelyard.load import console, trials

    pattern = _pattern(options)
    duration_s = options.for_ns / 1e9
    order = trials.LoadOrder(
        server=running.target(options.url, is_allowed=options.allow_remote),
        pattern=pattern,
        levels=_levels(options),
        trials=options.trials,
        duration_s=duration_s,
        threads=options.threads,
        seed=random.getrandbits(32) if options.seed is None else options.seed,
        process=process("--pid", options.pid) if options.pid else None,
        ends_s=standstill.begun_s() + duration_s,
    )
    if options.saturation_ns is not None:
        return _saturate(options, order)
    if options.quantile is not None:
        raise UsageError("--quantile is of the latency of --saturation; give that as well")
    planned = order.trials * len(order.levels)
    least_s = _least_s(planned)
    if duration_s < least_s:
        raise UsageError(
            f"--for is {quoted(duration_text(options.for_ns))}, but {number_of(order.trials, 'trial')} of "
            f"{number_of(len(order.levels), 'level')} need at least {least_s:g}s, from the command's start "
            "on; or give fewer --trials"
        )

    def notify(clients: int, done: int, count: int) -> None:
        what = "user_equivalents" if pattern.users else "clients"
        streams.tell(f"trial {done + 1} of {count}: {what}={clients}")

    done, status = _until_interrupted(trials.run(order, notify))
    if not status and len(done) < planned:
        streams.tell(
            f"{len(done)} of {number_of(planned, 'trial')} fitted into {duration_text(options.for_ns)}: each "
            "takes time besides its load; give a longer --for, or fewer --trials"
        )
    show = console.print_json if options.format == "json" else console.print_levels
    show(trials.levels(done, pattern), order.server, pattern)
    return status if any(one.answers for one in done) else status or 1


def _least_s(count: int) -> float:
    """The least time, in seconds, that `count` trials take."""
    from steelyard.load import trials

    return count * (trials.LEAST_S + trials.BESIDES_S)


def _saturate(options: LoadOptions, order: "trials.LoadOrder") -> int:
    """Searches for the highest rate that the server holds, and prints it."""
    from steelyard.load import console, saturation

    assert options.saturation_ns is not None
    if order.pattern.users or order.pattern.rate or order.pattern.think_us or len(order.levels) > 1:
        raise UsageError(
            "--saturation chooses its own rates: leave --rate, --think and --model out, and give one level"
        )
    limit = saturation.Limit(options.saturation_ns, 0.99 if options.quantile is None else options.quantile)
    least_s = _least_s(saturation.CAPACITY_TRIALS + saturation.SEARCHES * saturation.STEPS_LEAST)
    if order.duration_s < least_s:
        given = quoted(duration_text(options.for_ns))
        raise UsageError(
            f"--for is {given}, but --saturation needs at least {least_s:g}s, from the command's start on"
        )

    def notify(what: str, done: int, count: int) -> None:
        streams.tell(f"trial {done + 1} of {count}: {what}")

    steps, status = _until_interrupted(saturation.search(order, limit, notify))
    show = console.print_saturation_json if options.format == "json" else console.print_saturation
    show(steps[-1], order.server)
    return status


def _until_interrupted(steps: Iterator[_Step]) -> tuple[list[_Step], int]:
    """All of them, or those before a Ctrl-C, a request to end or a failure of whatever kind; and the exit
    status. Before the first, that is the end. Nothing else keeps what was measured: so it is printed."""
    done: list[_Step] = []
    try:
        done.extend(steps)
    except KeyboardInterrupt:
        if not done:
            raise
        return done, output.INTERRUPTED
    except (SteelyardError, OSError) as error:
        if not done:
            raise
        streams.tell(f"{error}; what was measured before that:")
        return done, 1
    return done, 0


def _pattern(options: LoadOptions) -> "Pattern":
    from steelyard.load.model import Pattern

    users = _users(options)
    if users and (options.rate is not None or options.think_ns):
        raise UsageError("--model surge has its own pauses (--off-scale); leave --rate and --think out")
    if options.rate is not None and options.think_ns:
        raise UsageError("--think is each client's own pace and --rate the load's; leave one of them out")
    if options.rate is None and options.arrivals != "constant":
        raise UsageError("--arrivals says how the requests of --rate are spaced; give --rate as well")
    return Pattern(
        connection=options.connection,
        rate=options.rate,
        arrivals=options.arrivals,
        think_us=(options.think_ns or 0) // 1000,
        think=options.think_spread,
        verified=options.verify,
        timeout_ms=options.timeout_ns // 1_000_000,
        users=users,
        request=_request(options),
    )


def _request(options: LoadOptions) -> "Request":
    from steelyard.load.model import Request

    if options.model == "surge" and (options.method is not None or options.data is not None):
        raise UsageError("--model surge asks for files; leave --method and --data out")
    if sum(len(line) + 2 for line in options.headers) > _HEADERS_MOST:
        raise UsageError(
            f"--header is given {len(options.headers)} times, for more than {_HEADERS_MOST:,} bytes"
        )
    data = options.data
    if data is not None and data.startswith("@"):
        path = Path(data[1:])
        try:
            found = path.stat()
        except OSError as error:
            raise UsageError(f"--data is {quoted(data)}: {in_words(error)}") from error
        if not stat.S_ISREG(found.st_mode) or found.st_size > _DATA_MOST:
            raise UsageError(f"--data is {quoted(data)}: name a file of at most 16 MiB")
        data = f"@{path.resolve()}"
    elif data is not None and ("\0" in data or len(data.encode()) > _TEXT_MOST):
        raise UsageError(
            f"--data is a text of {len(data):,} characters; put more than {_TEXT_MOST:,} bytes into a file, "
            "and write @ and its name"
        )
    return Request(options.method, tuple(options.headers), data)


def _users(options: LoadOptions) -> "Users | None":
    from steelyard.load.model import Users

    if options.model != "surge":
        for name, given in (("--user-equivalents", options.user_equivalents), ("--content", options.content)):
            if given is not None:
                raise UsageError(f"{name} is for --model surge; give that as well")
        return None
    if options.clients is not None:
        raise UsageError("--model surge has user equivalents: give --user-equivalents in place of --clients")
    return Users(
        files=options.files,
        top=options.files,
        size_most=options.size_most,
        content_seed=1,
        content=_directory(options.content) if options.content is not None else None,
        off_permille=round(options.off_scale * 1000),
        pauses_within=options.pauses_within,
        parallel=options.parallel,
        session=options.session,
    )


def _directory(text: str) -> str:
    path = Path(text)
    if not os.path.isdir(path):
        raise UsageError(
            f"--content is {quoted(text)}, which is no directory: name one that the server serves"
        )
    return str(path.resolve())


def _levels(options: LoadOptions) -> tuple[int, ...]:
    return (options.user_equivalents if options.model == "surge" else options.clients) or (1,)


LOAD = Verb(
    "load",
    "load a server with requests; report throughput, latency and CPU cost",
    LoadOptions,
    _load,
    """examples:
  steelyard load http://127.0.0.1:8080/ --clients 64 --for 30s
  steelyard load http://127.0.0.1:8080/ --clients 1,4,16,64,256 --for 2m    at rising load
  steelyard load http://127.0.0.1:8080/ --clients 256 --rate 5000 --arrivals exponential
  steelyard load http://127.0.0.1:8080/ --clients 256 --saturation 10ms --for 2m
  steelyard load http://127.0.0.1:8080/ --model surge --content /srv/www --user-equivalents 500,1000
  steelyard load http://127.0.0.1:8080/ --clients 64 --pid 4711             with the CPU cost per request
  steelyard load http://127.0.0.1:8080/api --data @order.json --header 'Content-Type: application/json'""",
)
