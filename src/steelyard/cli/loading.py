"""load: a server of one's own under load."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from steelyard import streams
from steelyard.cli import output
from steelyard.cli.verb import Verb, option
from steelyard.cli.watch_options import duration_ns, number, process, share
from steelyard.errors import Ended, SystemFailed, UsageError
from steelyard.text import quoted

if TYPE_CHECKING:
    from steelyard.load import trials
    from steelyard.load.model import Pattern, Users

_Step = TypeVar("_Step")
_TRIAL_LEAST_S = 0.5
_CLIENTS_MOST = 1_000_000
_RATE_MOST = 10_000_000.0
_FILES_LEAST, _FILES_MOST = 50, 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    url: str = option(metavar="URL", help="what is asked for, such as http://127.0.0.1:8080/")
    clients: str | None = option(
        "--clients",
        metavar="N[,N...]",
        help="how many clients at once; several levels with commas between (default: 1)",
    )
    model: str = option(
        "--model",
        default="clients",
        choices=("clients", "surge"),
        help="clients that ask for one document, or users as SURGE models them (default: clients)",
    )
    user_equivalents: str | None = option(
        "--user-equivalents",
        metavar="N[,N...]",
        help="with surge: how many users at once, in place of --clients (default: 1)",
    )
    content: str | None = option(
        "--content",
        metavar="DIRECTORY",
        help="with surge: write the file set there, which the server must serve at the URL",
    )
    files: str = option("--files", default="2000", metavar="N", help="with surge (default: 2000)")
    size_most: str = option(
        "--size-most",
        default="50000000",
        metavar="BYTES",
        help="with surge: of a file; larger sizes are drawn again (default: 50000000)",
    )
    off_scale: str = option(
        "--off-scale",
        default="1",
        metavar="SHARE",
        help="with surge: of the users' pauses as published; 0.1 loads ten times as much (default: 1)",
    )
    pauses_within: bool = option(
        "--pauses-within",
        default=False,
        action="store_true",
        help="with surge: pause between the files of an object, too",
    )
    parallel: str = option(
        "--parallel", default="2", metavar="N", help="with surge: connections of a user (default: 2)"
    )
    session: str = option(
        "--session",
        default="8",
        metavar="N",
        help="with surge: objects until a user ends its connections, in the mean (default: 8)",
    )
    until: str = option(
        "--for", default="30s", metavar="TIME", help="how long in all, such as 30s or 5m (default: 30s)"
    )
    trials: str = option(
        "--trials", default="6", metavar="N", help="trials of each level, in random order (default: 6)"
    )
    rate: float | None = option(
        "--rate",
        type=float,
        metavar="N",
        help="so many requests a second, whatever the server does; latency counts from when each was due",
    )
    saturation: str | None = option(
        "--saturation",
        metavar="LATENCY",
        help="find the highest rate at which 99 %% of requests are answered within LATENCY, such as 10ms",
    )
    quantile: str | None = option(
        "--quantile", metavar="SHARE", help="with --saturation: of the requests (default: 99%%)"
    )
    arrivals: str = option(
        "--arrivals",
        default="constant",
        choices=("constant", "exponential"),
        help="with --rate: evenly spaced, or at random as independent users come (default: constant)",
    )
    think: str | None = option(
        "--think", metavar="TIME", help="a client's pause between answer and request (default: none)"
    )
    think_spread: str = option(
        "--think-spread",
        default="exponential",
        choices=("constant", "exponential"),
        help="how pauses are distributed (default: exponential)",
    )
    connection: str = option(
        "--connection",
        default="keep-alive",
        choices=("keep-alive", "new", "http/1.0"),
        help="one for many requests, one for each, or one for each by HTTP/1.0 (default: keep-alive)",
    )
    verify: str = option(
        "--verify", default="1%", metavar="SHARE", help="of the bodies, compared byte by byte (default: 1%%)"
    )
    timeout: str = option(
        "--timeout",
        default="10s",
        metavar="TIME",
        help="for an answer; then the request failed (default: 10s)",
    )
    threads: str = option(
        "--threads", default="1", metavar="N", help="event loops, each on a thread (default: 1)"
    )
    pid: str | None = option(
        "--pid", metavar="PID", help="the server's first process: what a request costs is said, too"
    )
    seed: int | None = option("--seed", type=int, metavar="N", help="of all that is random (default: drawn)")
    allow_remote: bool = option(
        "--allow-remote",
        default=False,
        action="store_true",
        help="load a host that is not this one's loopback; be sure that it is yours",
    )
    format: str = option(
        "--format", default="text", choices=("text", "json"), help="of what is printed (default: text)"
    )


def _load(options: LoadOptions) -> int:
    """Loads the server and prints what it served at each level."""
    from steelyard.load import client, console, trials

    pattern = _pattern(options)
    order = trials.Order(
        server=client.target(options.url, is_allowed=options.allow_remote),
        pattern=pattern,
        levels=_levels(options),
        trials=number("--trials", options.trials, most=1000),
        duration_s=duration_ns("--for", options.until) / 1e9,
        threads=number("--threads", options.threads, most=64),
        seed=random.getrandbits(32) if options.seed is None else _whole("--seed", options.seed, 0, 2**32 - 1),
        process=process("--pid", options.pid) if options.pid else None,
    )
    if options.saturation is not None:
        return _saturate(options, order)
    if options.quantile is not None:
        raise UsageError("--quantile is of the latency of --saturation; give that as well")
    if order.trial_s < _TRIAL_LEAST_S:
        least = _TRIAL_LEAST_S * order.trials * len(order.levels)
        raise UsageError(
            f"--for is {quoted(options.until)}, but {order.trials} trials of {len(order.levels)} levels need "
            f"at least {least:g}s"
        )

    def notify(clients: int, done: int, count: int) -> None:
        what = "user_equivalents" if pattern.users else "clients"
        streams.tell(f"trial {done + 1} of {count}: {what}={clients}")

    done, status = _until_interrupted(trials.run(order, notify))
    show = console.print_json if options.format == "json" else console.print_levels
    show(trials.levels(done), order.server, pattern)
    return status if any(one.answers for one in done) else status or 1


def _saturate(options: LoadOptions, order: "trials.Order") -> int:
    """Searches for the highest rate that the server holds, and prints it."""
    from steelyard.load import console, saturation

    assert options.saturation is not None
    if order.pattern.users or order.pattern.rate or order.pattern.think_us or len(order.levels) > 1:
        raise UsageError(
            "--saturation chooses its own rates: leave --rate, --think and --model out, and give one level"
        )
    limit = saturation.Limit(
        duration_ns("--saturation", options.saturation),
        share("--quantile", options.quantile or "99%", least=0.5),
    )
    order = replace(order, trials=saturation.TRIALS)
    if order.trial_s < _TRIAL_LEAST_S:
        least = _TRIAL_LEAST_S * saturation.TRIALS
        raise UsageError(f"--for is {quoted(options.until)}, but --saturation needs at least {least:g}s")

    def notify(what: str, done: int, count: int) -> None:
        streams.tell(f"trial {done + 1} of {count}: {what}")

    steps, status = _until_interrupted(saturation.search(order, limit, notify))
    show = console.print_saturation_json if options.format == "json" else console.print_saturation
    show(steps[-1], order.server)
    return status


def _until_interrupted(steps: Iterator[_Step]) -> tuple[list[_Step], int]:
    """All of them, or those before a Ctrl-C or a failure; and the exit status. Before the first, that is the
    end."""
    done: list[_Step] = []
    try:
        done.extend(steps)
    except Ended:
        raise
    except KeyboardInterrupt:
        if not done:
            raise
        return done, output.INTERRUPTED
    except SystemFailed as error:
        if not done:
            raise
        streams.tell(f"{error}; what was measured before that:")
        return done, 1
    return done, 0


def _pattern(options: LoadOptions) -> "Pattern":
    from steelyard.load.model import Pattern

    users = _users(options)
    if users and (options.rate is not None or options.think):
        raise UsageError("--model surge has its own pauses (--off-scale); leave --rate and --think out")
    if options.rate is not None and not 0.001 <= options.rate <= _RATE_MOST:
        raise UsageError(f"--rate is {options.rate:g}, but must be from 0.001 to {_RATE_MOST:,.0f} a second")
    if options.rate is not None and options.think:
        raise UsageError("--think is each client's own pace and --rate the load's; leave one of them out")
    if options.rate is None and options.arrivals != "constant":
        raise UsageError("--arrivals says how the requests of --rate are spaced; give --rate as well")
    return Pattern(
        connection=options.connection,
        rate=options.rate,
        arrivals=options.arrivals,
        think_us=_whole("--think", duration_ns("--think", options.think) // 1000, 1, 600_000_000)
        if options.think
        else 0,
        think=options.think_spread,
        verified=share("--verify", options.verify, least=0.0),
        timeout_ms=_whole("--timeout", duration_ns("--timeout", options.timeout) // 1_000_000, 1, 600_000),
        users=users,
    )


def _users(options: LoadOptions) -> "Users | None":
    from steelyard.load.model import Users

    if options.model != "surge":
        for name, given in (("--user-equivalents", options.user_equivalents), ("--content", options.content)):
            if given is not None:
                raise UsageError(f"{name} is for --model surge; give that as well")
        return None
    if options.clients is not None:
        raise UsageError("--model surge has user equivalents: give --user-equivalents in place of --clients")
    files = _whole("--files", number("--files", options.files, most=_FILES_MOST), _FILES_LEAST, _FILES_MOST)
    most = number("--size-most", options.size_most, most=1_000_000_000)
    return Users(
        files=files,
        top=files,
        size_most=_whole("--size-most", most, 200_000, 1_000_000_000),
        content_seed=1,
        content=_directory(options.content) if options.content is not None else None,
        off_permille=_permille("--off-scale", options.off_scale),
        pauses_within=options.pauses_within,
        parallel=number("--parallel", options.parallel, most=16),
        session=number("--session", options.session, most=1_000_000),
    )


def _permille(name: str, text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.001 <= value <= 1000:
        raise UsageError(f"{name} is {quoted(text)}, but must be a number from 0.001 to 1000")
    return round(value * 1000)


def _directory(text: str) -> str:
    path = Path(text)
    if not path.is_dir():
        raise UsageError(
            f"--content is {quoted(text)}, which is no directory: name one that the server serves"
        )
    return str(path.resolve())


def _levels(options: LoadOptions) -> tuple[int, ...]:
    name, text = "--clients", options.clients
    if options.model == "surge":
        name, text = "--user-equivalents", options.user_equivalents
    return tuple(dict.fromkeys(number(name, part, most=_CLIENTS_MOST) for part in (text or "1").split(",")))


def _whole(name: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise UsageError(f"{name} is {value}, but must be from {least} to {most}")
    return value


LOAD = Verb(
    "load",
    "load a server with requests, and say what it served, how fast, and at what cost",
    LoadOptions,
    _load,
    """examples:
  steelyard load http://127.0.0.1:8080/ --clients 64 --for 30s
  steelyard load http://127.0.0.1:8080/ --clients 1,4,16,64,256 --for 2m    until it serves no more
  steelyard load http://127.0.0.1:8080/ --clients 256 --rate 5000 --arrivals exponential
  steelyard load http://127.0.0.1:8080/ --clients 256 --saturation 10ms --for 2m
  steelyard load http://127.0.0.1:8080/ --model surge --content /srv/www --user-equivalents 500,1000
  steelyard load http://127.0.0.1:8080/ --clients 64 --pid 4711             and what a request costs it""",
)
