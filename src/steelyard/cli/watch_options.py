"""The options of `steelyard watch`, and the `Order` that they mean, or a sentence about what is wrong."""

import argparse
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from steelyard.cli.verb import archive_option, format_option, option
from steelyard.errors import UnknownName, UsageError
from steelyard.quantities import parse_duration, parse_share, parse_whole, parsed
from steelyard.shapes import Wrong
from steelyard.text import of_file, quoted
from steelyard.watch.order import BACKENDS, DETAILS, USUAL_BUDGET, WatchOrder

_MOST_PIDS = 4096
_MOST = 2**31 - 1
SEED = partial(parse_whole, least=0, most=2**32 - 1)
_USUAL_EVERY_NS = 10**9  # the display of a running watch, or its page
_WHAT = "what to watch, with all descendants"
_HOW = "how closely"
_DURING = "while watching"
_REPORT = "the report"


def one_in(value: object) -> int:
    """The 20 in "1/20". Raises Wrong."""
    match = re.fullmatch(r"1/([1-9][0-9]{0,8})", str(value))
    if not match:
        raise Wrong(value, '1/N with N from 1 to 999999999, such as "1/20"')
    return int(match[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """The options as given, except for argparse's checks. Options that control the watch are refused with
    --kept.
    """

    command: tuple[str, ...] = ()  # what stands after --
    words: tuple[str, ...] = option(default=(), nargs="*", help=argparse.SUPPRESS)

    pids: tuple[str, ...] = option(
        "-p",
        "--pid",
        default=(),
        group=_WHAT,
        steers=True,
        action="append",
        metavar="PID",
        help="process to watch; may be repeated",
    )
    cgroup: str | None = option(
        "--cgroup",
        group=_WHAT,
        steers=True,
        metavar="PATH",
        help="everything in a control group, by its directory",
    )
    kept: str | None = option(
        "--kept",
        group=_WHAT,
        metavar="NAME",
        help="watch nothing; report a watch kept in the archive (steelyard archive list --watches)",
    )
    children: int | None = option(
        "--children",
        parse=one_in,
        group=_WHAT,
        steers=True,
        metavar="1/N",
        help="follow one in N of each process's children, chosen at random (default: all)",
    )
    seed: int | None = option(
        "--seed",
        parse=SEED,
        group=_WHAT,
        steers=True,
        metavar="N",
        help="random seed of --children (default: random)",
    )
    for_ns: int | None = option(
        "--for",
        parse=parse_duration,
        group=_WHAT,
        steers=True,
        metavar="TIME",
        help="duration, such as 60s (default: until the command ends, or Ctrl-C)",
    )

    detail: str | None = option(
        "--detail",
        group=_HOW,
        steers=True,
        choices=DETAILS,
        help="life: all but system calls, at no cost a call; budget: every call counted as long as that fits "
        "--budget, else estimated from short windows, with intervals; calls: every call counted; profile: "
        "which call it is in, by samples; latency: every call timed (default: budget)",
    )
    budget: float | None = option(
        "--budget",
        parse=parse_share,
        group=_HOW,
        steers=True,
        metavar="PERCENT",
        help="the share of one processor that counting may use, over all processes (default: 0.5%%)",
    )
    every_ns: int | None = option(
        "--every",
        parse=parse_duration,
        group=_HOW,
        steers=True,
        metavar="TIME",
        help="also keep a series, read at this interval, such as 5s or 250ms",
    )
    threads: bool = option(
        "--threads",
        default=False,
        group=_HOW,
        steers=True,
        action="store_true",
        help="account for each thread as well",
    )
    prove: bool = option(
        "--prove",
        default=False,
        group=_HOW,
        steers=True,
        action="store_true",
        help="measure what the monitor costs the watched processes, by windows with and without it",
    )
    backend: str | None = option(
        "--backend",
        group=_HOW,
        steers=True,
        metavar="NAME",
        help="bpf, perf, taskstats, ptrace or proc (default: the best that works)",
    )
    slots: int | None = option(
        "--slots",
        parse=partial(parse_whole, most=1 << 20),
        group=_HOW,
        steers=True,
        metavar="N",
        help="the most processes and threads at one time (default: by the detail)",
    )
    program: Path | None = option(
        "--program",
        group=_HOW,
        steers=True,
        type=Path,
        metavar="FILE",
        help="use this steelyard-watch, such as one with capabilities, and not the installed one",
    )

    live: bool = option(
        "--live",
        default=False,
        group=_DURING,
        steers=True,
        action="store_true",
        help="show a live screen, updated at every reading; a command's output appears when it has ended",
    )
    openmetrics: str | None = option(
        "--openmetrics",
        group=_DURING,
        steers=True,
        metavar="ADDRESS",
        help="metrics for a Prometheus at http://ADDRESS/metrics, such as :9435 (of this host alone) or "
        "192.0.2.1:9435; port 0 takes a free one",
    )

    by: str = option(
        "--by",
        default="process",
        group=_REPORT,
        choices=("process", "program", "generation"),
        help="one row for each (default: process)",
    )
    top: int = option(
        "--top",
        default=20,
        group=_REPORT,
        parse=partial(parse_whole, most=_MOST),
        metavar="N",
        help="maximum number of rows of a table (default: 20)",
    )
    format: str = format_option(_REPORT)
    table: str = option(
        "--table",
        default="processes",
        group=_REPORT,
        choices=("processes", "calls", "series"),
        help="table to print with --format csv (default: processes)",
    )
    output: Path | None = option(
        "--output",
        group=_REPORT,
        type=Path,
        metavar="FILE",
        help="file for the report (default: standard error with a command, whose output goes to standard "
        "output; else standard output)",
    )
    html: Path | None = option(
        "--html",
        group=_REPORT,
        type=Path,
        metavar="FILE",
        help="also write the report as one self-contained page",
    )
    keep: bool = option(
        "--keep",
        default=False,
        group=_REPORT,
        steers=True,
        action="store_true",
        help="keep the watch in the archive, as Parquet",
    )
    archive: str | None = archive_option(_REPORT)

    @property
    def needs_series(self) -> bool:
        return bool(self.html or self.live or self.openmetrics)


def order(options: WatchOptions) -> WatchOrder:
    """What to watch, checked as far as possible before anything is started. Raises UsageError."""
    _check_what(options)
    if options.budget is not None and options.detail not in (None, "budget"):
        raise UsageError(
            f"--budget is for --detail budget, but --detail is {quoted(options.detail)}; leave out one"
        )
    if options.backend is not None and options.backend not in BACKENDS:
        raise UnknownName("backend", options.backend, BACKENDS)
    return WatchOrder(
        command=options.command,
        pids=_pids(options.pids),
        cgroup=options.cgroup,
        detail=options.detail,
        backend=options.backend,
        every_ns=options.every_ns or (_USUAL_EVERY_NS if options.needs_series else None),
        for_ns=options.for_ns,
        children=options.children or 1,
        seed=options.seed,
        budget=options.budget or USUAL_BUDGET,
        slots=options.slots,
        threads=options.threads,
        prove=options.prove,
    )


def _check_what(options: WatchOptions) -> None:
    """Raises UsageError unless one thing is to be watched, and can be."""
    command, pids, cgroup = options.command, options.pids, options.cgroup
    if not (command or pids or cgroup):
        raise UsageError(
            "nothing to watch: give -p PID, --cgroup PATH, or -- COMMAND, such as: steelyard watch -- make"
        )
    if command and (pids or cgroup):
        also = f"-p {pids[0]}" if pids else f"--cgroup {cgroup}"
        raise UsageError(
            f"{quoted(command[0])} is a command, and a command is watched alone; leave out {also}, or the "
            "command"
        )
    if options.seed is not None and options.children is None:
        raise UsageError(f"--seed is {options.seed}, but it needs --children")
    if pids and cgroup:
        raise UsageError(f"-p {pids[0]} and --cgroup {cgroup} cannot be combined; give one of them")
    if cgroup and not os.path.exists(Path(cgroup) / "cgroup.procs"):
        raise UsageError(f"--cgroup is {quoted(Path(cgroup))}, which is not a control group's directory")


def process(option: str, text: str) -> int:
    """The number of a process that runs, and of no thread. Raises UsageError."""
    pid = parsed(option, partial(parse_whole, most=_MOST), text)
    file = Path(f"/proc/{pid}/status")
    try:
        lines = of_file(file).splitlines()
        status = {name: value for name, _, value in (line.partition(":") for line in lines)}
        group, state, threads = int(status["Tgid"]), status["State"].strip()[:1], int(status["Threads"])
    except (OSError, KeyError, ValueError) as error:
        if not _lives(pid):
            raise UsageError(f"{option} is {quoted(text)}, but there is no such process") from None
        why = getattr(error, "strerror", None) or "it says something else"
        raise UsageError(
            f"{option} is {quoted(text)}, a process that this user cannot look at: {file}: {why} (proc(5), "
            "hidepid)"
        ) from None
    if group != pid:
        raise UsageError(
            f"{option} is {quoted(text)}, which is a thread of process {group}; watch -p {group}"
        )
    if state in "ZX" and threads <= 1:
        raise UsageError(f"{option} is {quoted(text)}, which has ended; its parent has not waited for it yet")
    return pid


def _lives(pid: int) -> bool:
    """Whether there is such a process, whatever /proc shows."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _pids(texts: Sequence[str]) -> tuple[int, ...]:
    if len(texts) > _MOST_PIDS:
        raise UsageError(f"-p is given {len(texts)} times, but at most {_MOST_PIDS} processes are allowed")
    return tuple(dict.fromkeys(process("-p", text) for text in texts))
