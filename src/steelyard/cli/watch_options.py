"""The options of `steelyard watch`, and the `Order` that they mean, or a sentence about what is wrong."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.cli.verb import archive_option, format_option, option
from steelyard.errors import UnknownName, UsageError
from steelyard.text import quoted
from steelyard.watch.order import BACKENDS, DETAILS, USUAL_BUDGET, WatchOrder

_UNITS = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SHORTEST_NS = 10**6  # a reading costs tens of microseconds at the least
_LONGEST_NS = 10_000 * 3600 * 10**9
_MOST_PIDS = 4096
_MOST = 2**31 - 1
_USUAL_EVERY = "1s"  # where a watch is shown as it goes on, or drawn
_WHAT = "what is watched, with all its descendants"
_HOW = "how closely"
_DURING = "while it goes on"
_REPORT = "the report"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """As they were written, but for what argparse knows to check. What steers is refused with --kept."""

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
        help="may be given again",
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
    children: str | None = option(
        "--children",
        group=_WHAT,
        steers=True,
        metavar="1/N",
        help="follow one in N of a followed process's children (default: all)",
    )
    until: str | None = option(
        "--for",
        group=_WHAT,
        steers=True,
        metavar="TIME",
        help="how long, such as 60s (default: until the command ends, or Ctrl-C)",
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
    budget: str | None = option(
        "--budget",
        group=_HOW,
        steers=True,
        metavar="PERCENT",
        help="the share of one processor that counting may use, over all processes (default: 0.5%%)",
    )
    every: str | None = option(
        "--every",
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
    slots: str | None = option(
        "--slots",
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
        help="show a screen, redrawn at every reading; a command's output appears when it has ended",
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
        help="what a row is (default: process)",
    )
    top: str = option(
        "--top", default="20", group=_REPORT, metavar="N", help="rows of a table at most (default: 20)"
    )
    format: str = format_option(_REPORT)
    table: str = option(
        "--table",
        default="processes",
        group=_REPORT,
        choices=("processes", "calls", "series"),
        help="with --format csv (default: processes)",
    )
    output: Path | None = option(
        "--output",
        group=_REPORT,
        type=Path,
        metavar="FILE",
        help="where it goes (default: standard error with a command, which has standard output; else "
        "standard output)",
    )
    html: Path | None = option(
        "--html",
        group=_REPORT,
        type=Path,
        metavar="FILE",
        help="write it as one self-contained page as well",
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


def duration_ns(option: str, text: str) -> int:
    """The ns in "250ms", "5s", "1.5m" or "1h". Raises UsageError."""
    match = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)(ms|s|m|h)", text)
    value = round(float(match[1]) * _UNITS[match[2]]) if match else 0
    if not _SHORTEST_NS <= value <= _LONGEST_NS:
        raise UsageError(
            f"{option} is {quoted(text)}, but must be a time of 1ms or more: a number (below 10000h) and ms, "
            "s, m or h, such as 5s"
        )
    return value


def one_in(text: str) -> int:
    """The 20 in "1/20". Raises UsageError."""
    match = re.fullmatch(r"1/([1-9][0-9]{0,8})", text)
    if not match:
        raise UsageError(
            f"--children is {quoted(text)}, but must be one in so many, such as 1/20; 1/1 is all"
        )
    return int(match[1])


def share(option: str, text: str, *, least: float = 1e-6) -> float:
    """The 0.005 in "0.5%". Raises UsageError."""
    match = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)%", text)
    value = float(match[1]) / 100 if match else -1.0
    if not least <= value <= 1:
        allowed = f"a share from {100 * least:g}% to 100%, such as {'0.5%' if least <= 0.005 else '99%'}"
        raise UsageError(f"{option} is {quoted(text)}, but must be {allowed}")
    return value


def number(option: str, text: str, *, most: int = _MOST) -> int:
    """A whole number from 1 to `most`. Raises UsageError."""
    if not re.fullmatch(r"[1-9][0-9]{0,11}", text) or int(text) > most:
        raise UsageError(f"{option} is {quoted(text)}, but must be a whole number from 1 to {most}")
    return int(text)


def order(options: WatchOptions) -> WatchOrder:
    """What is to be watched, checked as far as it can be before anything is started. Raises UsageError."""
    _check_what(options)
    if options.budget and options.detail not in (None, "budget"):
        raise UsageError(
            f"--budget is {quoted(options.budget)}, but --detail {options.detail} keeps to none; "
            "leave out one"
        )
    if options.backend is not None and options.backend not in BACKENDS:
        raise UnknownName("backend", options.backend, BACKENDS)
    every = options.every or (_USUAL_EVERY if options.needs_series else None)
    return WatchOrder(
        command=options.command,
        pids=_pids(options.pids),
        cgroup=options.cgroup,
        detail=options.detail,
        backend=options.backend,
        every_ns=duration_ns("--every", every) if every else None,
        for_ns=duration_ns("--for", options.until) if options.until else None,
        children=one_in(options.children) if options.children else 1,
        budget=share("--budget", options.budget) if options.budget else USUAL_BUDGET,
        slots=number("--slots", options.slots, most=1 << 20) if options.slots else None,
        threads=options.threads,
        prove=options.prove,
    )


def _check_what(options: WatchOptions) -> None:
    """Raises UsageError unless one thing is to be watched, and can be."""
    command, pids, cgroup = options.command, options.pids, options.cgroup
    if not (command or pids or cgroup):
        raise UsageError("watch what? -p PID, --cgroup PATH, or -- COMMAND, such as: steelyard watch -- make")
    if command and (pids or cgroup):
        also = f"-p {pids[0]}" if pids else f"--cgroup {cgroup}"
        raise UsageError(
            f"{quoted(command[0])} is a command, which is watched alone; leave out {also}, or it"
        )
    if pids and cgroup:
        raise UsageError(f"-p {pids[0]} and --cgroup {cgroup} are not watched together; give one of them")
    if cgroup and not (Path(cgroup) / "cgroup.procs").exists():
        raise UsageError(f"--cgroup is {quoted(Path(cgroup))}, which is no directory of a control group")


def process(option: str, text: str) -> int:
    """The number of a process that there is. Raises UsageError."""
    pid = number(option, text)
    if not Path(f"/proc/{pid}").exists():
        raise UsageError(f"{option} is {quoted(text)}, but there is no such process")
    return pid


def _pids(texts: Sequence[str]) -> tuple[int, ...]:
    if len(texts) > _MOST_PIDS:
        raise UsageError(f"-p is given {len(texts)} times, but {_MOST_PIDS} processes are the most")
    return tuple(dict.fromkeys(process("-p", text) for text in texts))
