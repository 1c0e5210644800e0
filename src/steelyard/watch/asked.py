"""Turns what a person wrote after `steelyard watch` into an `Order`, or a sentence about what is wrong."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from steelyard.errors import UnknownName, UsageError
from steelyard.watch.monitor import BACKENDS, USUAL_BUDGET, Order

_UNITS = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SHORTEST_NS = 10**6  # a reading costs tens of microseconds at the least
_MOST_PIDS = 4096
_MOST = 2**31 - 1


def duration_ns(option: str, text: str) -> int:
    """The ns in "250ms", "5s", "1.5m" or "1h". Raises UsageError."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)", text)
    value = round(float(match[1]) * _UNITS[match[2]]) if match else 0
    if value < _SHORTEST_NS:
        raise UsageError(
            f"{option} is '{text}', but must be a time of 1ms or more: a number and ms, s, m or h, such as 5s"
        )
    return value


def one_in(text: str) -> int:
    """The 20 in "1/20". Raises UsageError."""
    match = re.fullmatch(r"1/([1-9][0-9]{0,8})", text)
    if not match:
        raise UsageError(f"--children is '{text}', but must be one in so many, such as 1/20; 1/1 is all")
    return int(match[1])


def share(text: str) -> float:
    """The 0.005 in "0.5%". Raises UsageError."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", text)
    value = float(match[1]) / 100 if match else 0.0
    if not 1e-6 <= value <= 1:
        raise UsageError(f"--budget is '{text}', but must be a share from 0.0001% to 100%, such as 0.5%")
    return value


def number(option: str, text: str, *, most: int = _MOST) -> int:
    """A whole number from 1 to `most`. Raises UsageError."""
    if not re.fullmatch(r"[1-9][0-9]{0,11}", text) or int(text) > most:
        raise UsageError(f"{option} is '{text}', but must be a whole number from 1 to {most}")
    return int(text)


def may_be_written(option: str, path: Path) -> None:
    """Raises UsageError where a file is to be made that cannot be: better now than when the watch is over."""
    folder = path.absolute().parent
    for wrong, why in (
        (not folder.is_dir(), "there is no such directory"),
        (path.is_dir(), "it is a directory"),
        (not os.access(folder, os.W_OK), "its directory may not be written"),
    ):
        if wrong:
            raise UsageError(f"{option} is '{path}', which cannot be written: {why}")


def order(
    *,
    command: Sequence[str],
    pids: Sequence[str],
    cgroup: str | None,
    detail: str | None,
    backend: str | None = None,
    every: str | None = None,
    until: str | None = None,
    children: str | None = None,
    budget: str | None = None,
    slots: str | None = None,
    threads: bool = False,
    prove: bool = False,
) -> Order:
    """What is to be watched, checked as far as it can be before anything is started. Raises UsageError."""
    if not (command or pids or cgroup):
        raise UsageError("watch what? -p PID, --cgroup PATH, or -- COMMAND, such as: steelyard watch -- make")
    if command and (pids or cgroup):
        also = f"-p {pids[0]}" if pids else f"--cgroup {cgroup}"
        raise UsageError(f"'{command[0]}' is a command, which is watched alone; leave out {also}, or it")
    if pids and cgroup:
        raise UsageError(f"-p {pids[0]} and --cgroup {cgroup} are not watched together; give one of them")
    if budget and detail not in (None, "budget"):
        raise UsageError(
            f"--budget is '{budget}', but --detail {detail} keeps to none; leave one of them out"
        )
    if backend is not None and backend not in BACKENDS:
        raise UnknownName("backend", backend, BACKENDS)
    if cgroup and not (Path(cgroup) / "cgroup.procs").exists():
        raise UsageError(f"--cgroup is '{cgroup}', which is no directory of a control group")
    return Order(
        command=tuple(command),
        pids=_pids(pids),
        cgroup=cgroup,
        detail=detail,
        backend=backend,
        every_ns=duration_ns("--every", every) if every else None,
        for_ns=duration_ns("--for", until) if until else None,
        children=one_in(children) if children else 1,
        budget=share(budget) if budget else USUAL_BUDGET,
        slots=number("--slots", slots, most=1 << 20) if slots else None,
        threads=threads,
        prove=prove,
    )


def _pids(texts: Sequence[str]) -> tuple[int, ...]:
    if len(texts) > _MOST_PIDS:
        raise UsageError(f"-p is given {len(texts)} times, but {_MOST_PIDS} processes are the most")
    pids = tuple(dict.fromkeys(number("-p", text) for text in texts))
    for pid in pids:
        if not Path(f"/proc/{pid}").exists():
            raise UsageError(f"-p is '{pid}', but there is no such process")
    return pids
