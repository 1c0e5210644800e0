"""load: a server of one's own under load."""

import os
import shlex
import stat
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from steelyard import streams, toml_file
from steelyard.cli import measuring
from steelyard.cli.verb import Verb, option, options_of, part
from steelyard.cli.watch_options import SEED, process
from steelyard.errors import UsageError, in_words
from steelyard.quantities import (
    duration_text,
    number_of,
    parse_duration,
    parse_share,
    parse_size,
    parse_whole,
)
from steelyard.servers import running
from steelyard.servers.running import Running
from steelyard.shapes import Wrong
from steelyard.study import server_load
from steelyard.study.server_load import LOAD as WINDOW
from steelyard.study.server_load import SATURATION, WantedLoad
from steelyard.text import quoted

_STUDY = "the command line"  # in messages
_PAUSE_MOST_NS = 600 * 10**9
_DATA_MOST = 16 << 20
_TRIALS = {WINDOW: ("trial", "trials"), SATURATION: ("search", "searches")}
_VERIFIED = 0.01  # of the bodies
_CONNECTIONS = ("keep-alive", "new", "http/1.0")  # by the workload's number
# Parameters that a load has by itself: not said, so that the names of cells are short.
_USUAL = {"connection": 0, "threads": 1, "rate": 0, "poisson": 0, "think_us": 0, "think_spread": 1}


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
        help="number of trials per level, or of searches for the saturation, in random order (default: 6)",
    )
    rate: int | None = option(
        "--rate",
        parse=partial(parse_whole, most=10_000_000),
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
        default=_VERIFIED,
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
    allow_remote: bool = option(
        "--allow-remote",
        default=False,
        action="store_true",
        help="allow a host other than this one's loopback; load only servers that are yours",
    )
    seed: int | None = option("--seed", parse=SEED, metavar="N", help="random seed (default: random)")
    new: bool = option(
        "--new",
        default=False,
        action="store_true",
        help="start over instead of resuming an interrupted load",
    )
    showing: measuring.Showing = part(measuring.Showing)


def _load(options: LoadOptions) -> int:
    """Loads the server and prints what it served at each level."""
    load = _wanted(options)
    if load.duration_s < load.least_s:
        number = number_of(load.trials, *_TRIALS[load.workload])
        raise UsageError(
            f"--for is {quoted(duration_text(options.for_ns))}, but {number} of "
            f"{number_of(len(load.levels), 'level')} need at least {load.least_s:g}s, from the command's "
            "start on; or give fewer --trials"
        )
    how = measuring.Measuring(choice=measuring.Choice(seed=options.seed), watch=False, new=options.new)
    shown = measuring.Reporting(**asdict(options.showing))
    status, found = measuring.measured(_STUDY, None, how, shown, server_load.text_of(load))
    fewest = min((one.trials for one in found.server_loads), default=load.trials)
    if not status and fewest < load.trials:
        each = number_of(load.trials, *_TRIALS[load.workload])
        streams.tell(
            f"{fewest} of {each} of a level fitted into {duration_text(options.for_ns)}; give a longer --for "
            "or fewer --trials"
        )
    return status


def _wanted(options: LoadOptions) -> WantedLoad:
    is_surge, is_search = options.model == "surge", options.saturation_ns is not None
    _check(options, is_surge=is_surge, is_search=is_search)
    shared: dict[str, int | str] = {
        "connection": _CONNECTIONS.index(options.connection),
        "threads": options.threads,
    }
    settings: dict[str, int | str] = {"timeout_ms": options.timeout_ns // 1_000_000}
    if is_search:
        shared |= _searched(options)
    else:
        shared |= _paced(options) | (_users(options) if is_surge else {})
        settings |= {"verify_permille": round(options.verify * 1000)} | _content(options)
    return WantedLoad(
        server=_server(options),
        workload=SATURATION if is_search else WINDOW,
        over="user_equivalents" if is_surge else "clients",
        levels=(options.user_equivalents if is_surge else options.clients) or (1,),
        trials=options.trials,
        duration_s=options.for_ns / 1e9,
        parameters={name: value for name, value in shared.items() if value != _USUAL.get(name)},
        settings=settings,
    )


def _check(options: LoadOptions, *, is_surge: bool, is_search: bool) -> None:
    """Raises UsageError where options do not belong together."""
    is_paced = options.rate is not None or options.think_ns is not None
    if is_search and (is_surge or is_paced or len(options.clients or ()) > 1):
        raise UsageError(
            "--saturation chooses its own rates: leave --rate, --think and --model out, and give one level"
        )
    if options.verify != _VERIFIED and is_search:
        raise UsageError("--verify is of a load with one rate: leave it out with --saturation")
    if options.quantile is not None and not is_search:
        raise UsageError("--quantile is of the latency of --saturation; give that as well")
    if is_surge and is_paced:
        raise UsageError("--model surge has its own pauses (--off-scale); leave --rate and --think out")
    if is_surge and (options.method is not None or options.data is not None):
        raise UsageError("--model surge asks for files; leave --method and --data out")
    if is_surge and options.clients is not None:
        raise UsageError("--model surge has user equivalents: give --user-equivalents in place of --clients")
    if options.rate is not None and options.think_ns:
        raise UsageError("--think is each client's own pace and --rate the load's; leave one of them out")
    if options.rate is None and options.arrivals != "constant":
        raise UsageError("--arrivals says how the requests of --rate are spaced; give --rate as well")
    if not is_surge and (given := _given_of_surge(options)):
        raise UsageError(f"{given} is for --model surge; give that as well")
    if options.think_spread != "exponential" and options.think_ns is None:
        raise UsageError("--think-spread is the distribution of the pauses; give --think as well")


def _given_of_surge(options: LoadOptions) -> str:
    """The first option of SURGE's users that is not as usual; "" if all are."""
    return next(
        (
            one.flags[0]
            for one in options_of(LoadOptions)
            if one.help.startswith("surge: ") and getattr(options, one.name, None) != one.default
        ),
        "",
    )


def _searched(options: LoadOptions) -> dict[str, int | str]:
    assert options.saturation_ns is not None
    return {
        "limit_us": max(1, round(options.saturation_ns / 1000)),
        "share_permille": round(1000 * (0.99 if options.quantile is None else options.quantile)),
    }


def _paced(options: LoadOptions) -> dict[str, int | str]:
    """How clients come to their requests."""
    return {
        "rate": options.rate or 0,
        "poisson": int(options.arrivals == "exponential"),
        "think_us": (options.think_ns or 0) // 1000,
        "think_spread": int(options.think_spread == "exponential"),
    }


def _users(options: LoadOptions) -> dict[str, int | str]:
    return {
        "files": options.files,
        "size_most": options.size_most,
        "off_permille": round(options.off_scale * 1000),
        "pauses_within": int(options.pauses_within),
        "parallel": options.parallel,
        "session": options.session,
    }


def _content(options: LoadOptions) -> dict[str, int | str]:
    if options.content is None:
        return {}
    path = Path(options.content)
    if not os.path.isdir(path):
        raise UsageError(
            f"--content is {quoted(options.content)}, which is no directory: name one that the server serves"
        )
    return {"content": shlex.quote(str(path.resolve()))}


def _server(options: LoadOptions) -> Running:
    text, file = _data(options.data)
    return Running(
        options.url,
        is_allowed=options.allow_remote,
        method=options.method,
        headers=tuple(options.headers),
        data=text,
        data_file=file,
        process=process("--pid", options.pid) if options.pid else None,
    )


def _data(data: str | None) -> tuple[str | None, str | None]:
    """The body as a text, or the file that holds it."""
    if data is None or not data.startswith("@"):
        if data and not toml_file.is_text(data):
            raise UsageError(
                f"--data is a text of {len(data):,} characters; put more than {toml_file.TEXT_MOST:,} of "
                "them, or what is not printable, into a file, and write @ and its name"
            )
        return data, None
    path = Path(data[1:])
    try:
        found = path.stat()
    except OSError as error:
        raise UsageError(f"--data is {quoted(data)}: {in_words(error)}") from error
    if not stat.S_ISREG(found.st_mode) or found.st_size > _DATA_MOST:
        raise UsageError(f"--data is {quoted(data)}: name a file of at most 16 MiB")
    return None, str(path.resolve())


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
