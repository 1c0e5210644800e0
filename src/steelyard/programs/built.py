"""Finds the built programs and asks them what they can do."""

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from steelyard import commands, home
from steelyard.errors import SystemFailed, Unsupported, why_not
from steelyard.last_words import last_line
from steelyard.study import turns
from steelyard.text import quoted

_LIMIT_S = 60  # a program that is asked for a fact or for one short trial

_FILES = {"glibc": "steelyard-load", "musl": "steelyard-load-musl", "windows": "steelyard-load.exe"}
_ADVICE = {
    "glibc": "build Steelyard again: make",
    "musl": "install musl-tools and build Steelyard again: apt-get install musl-tools && make",
    "windows": (
        "install gcc-mingw-w64-x86-64 and build Steelyard again: apt-get install gcc-mingw-w64-x86-64 && make"
    ),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that a request may set, or a text (its initial value is one) of at most `most` bytes."""

    name: str
    summary: str
    initial: int | str
    least: int
    most: int

    @property
    def is_text(self) -> bool:
        return isinstance(self.initial, str)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a workload; `less` names another of its metrics, which the analysis subtracts."""

    name: str
    less: str | None = None
    reported: bool = False  # by the workload itself, once a trial: no time between two readings of the clock
    per: str | None = None  # what it is for, where that is no operation: "KB"
    unit: str = "ns"  # if another one, the metric describes, and nothing is judged by it


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload as the load program describes it."""

    name: str
    group: str
    summary: str
    operation: str
    metrics: tuple[Metric, ...]
    measure: str  # "time" of an operation, the "bandwidth" of what it moves, or a "count"
    counts: str | None  # what it counts: "processes"
    fewer: bool  # of a count: fewer are better
    code_sha256: str | None  # of the machine code that it runs, the same bytes on every system
    groups: bool  # whether it tells each one's start and end of many processes
    sweeps: str | None  # what a trial varies, where it is a curve: "size"
    sweep_unit: str | None
    sweep_grain: int  # every size of it is a multiple of this; 0 where it is no curve
    parameters: tuple[Parameter, ...]
    performances: int  # batches of one operation each, unless the request has another number; 0: as usual
    takes_turns: bool  # whether its batches can alternate with those of other trials
    passes: bool  # those are of as many operations as the system finds, unless the request says how many
    calls: Mapping[str, int]  # system calls an operation makes
    counted_address: int | None  # of a function entered once an operation
    instructions: int  # machine instructions an operation takes at least; 0 if it does not say


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All workloads, and the parameters that each of them has."""

    workloads: tuple[Workload, ...]
    parameters: tuple[Parameter, ...]

    def limits(self) -> dict[str, dict[str, tuple[int, int] | None]]:
        """The minimum and maximum of each parameter of each workload, or None for a text: the argument of
        `study.check`.
        """
        return {
            workload.name: {
                parameter.name: None if parameter.is_text else (parameter.least, parameter.most)
                for parameter in (*self.parameters, *workload.parameters)
            }
            for workload in self.workloads
        }

    def find(self, name: str) -> Workload:
        return next(workload for workload in self.workloads if workload.name == name)


def load(build: str) -> Path:
    """The load program of that build: "glibc", "musl" or "windows", or one that `steelyard build` has made.
    Raises Unsupported."""
    if build not in _FILES:
        path = build_place(build)
        if not os.path.isfile(path):
            raise Unsupported(f"there is no build '{build}'; {_how_to_make(build)}")
        return path
    path = _built("agent", _FILES[build])
    if not os.path.isfile(path):
        raise Unsupported(f"the load program for {build} is not built; {_ADVICE[build]}")
    return path


def monitor() -> Path:
    """The program that watches processes; STEELYARD_WATCH names another one. Raises Unsupported."""
    if given := os.environ.get("STEELYARD_WATCH"):
        if not _is_program(Path(given)):
            raise Unsupported(
                f"STEELYARD_WATCH is {quoted(Path(given))}, but must be a program that can be started"
            )
        return Path(given)
    path = _built("monitor", "steelyard-watch")
    if not os.path.isfile(path):
        raise Unsupported("the monitor is not built; build Steelyard again: make")
    return path


def uml_registers() -> Path:
    """The library that User-mode Linux needs on processors with AMX. Raises Unsupported."""
    path = _built("systems", "steelyard-uml-registers.so")
    if not os.path.isfile(path):
        raise Unsupported(
            "what User-mode Linux needs on a processor with AMX is not built; build again: make"
        )
    return path


def _root() -> Path:
    """The source tree, or what of it was installed: the same names stand below."""
    package = Path(str(resources.files("steelyard")))
    tree = package.parents[1]
    return tree if os.path.isfile(tree / "meson.build") else package / "programs"


def _built(folder: str, name: str) -> Path:
    return _root() / "build" / folder / name


def source() -> Path:
    """The directory of the load program's source: base/, loadgen/, workloads/ and agent/ in it."""
    return _root()


def machine_code() -> Path:
    """The C source that holds the machine code which all programs of this architecture share."""
    return _built("workloads", "linp_code.c")


def build_place(name: str) -> Path:
    """The path of a further build of that name, whether it exists or not: in STEELYARD_PROGRAMS, or the
    user's data. Raises Unsupported."""
    root = os.environ.get("STEELYARD_PROGRAMS") or home.data() / "steelyard" / "programs"
    return Path(root) / name


def builds() -> tuple[str, ...]:
    """The names of all builds for this kernel. Builds for Windows are not among them."""
    own = [
        name for name, file in _FILES.items() if name != "windows" and os.path.isfile(_built("agent", file))
    ]
    try:
        root = build_place("x").parent
    except Unsupported:  # none can have been made there
        return tuple(own)
    with contextlib.suppress(OSError):  # it is not there, or no one else's business
        return (*own, *sorted(path.name for path in root.iterdir() if _is_program(path)))
    return tuple(own)


def _is_program(path: Path) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def native_builds() -> tuple[str, ...]:
    """Those of them that this processor runs without a translator."""
    foreign = re.compile(rf"zig-(?!{re.escape(os.uname().machine)}-linux)")
    return tuple(name for name in builds() if not foreign.match(name))


def _how_to_make(name: str) -> str:
    match = re.fullmatch(r"(\w+)-(glibc|musl)-(O\w+)(-shared)?", name)
    zig = re.fullmatch(r"zig-(\w+-\w+(?:-\w+)?)-(O\w+)", name)
    if zig:
        return f"make it: steelyard build --cc zig --target {zig[1]} --level {zig[2]}"
    if not match:
        return f"there are {', '.join(builds())}; see steelyard build --help"
    shared = " --shared" if match[4] else ""
    return f"make it: steelyard build --cc {match[1]} --libc {match[2]} --level {match[3]}{shared}"


def greeting(build: str) -> dict[str, Any]:
    """The record `hello` of the load program of that build."""
    record: dict[str, Any] = json.loads(answer_of(load(build), "--version"))
    return record


def answer_of(program: Path, *words: str | Path) -> bytes:
    """The standard output of one of our programs. Raises SystemFailed if it fails, or does not end within
    `_LIMIT_S`.
    """
    what = " ".join(map(str, (program.name, *words)))
    try:
        answer = commands.run([program, *words], limit_s=_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise SystemFailed(f"{what} did not end within {_LIMIT_S} s") from None
    except OSError as error:
        raise SystemFailed(f"{what} cannot be started: {why_not(error, program)}") from error
    if answer.returncode:
        raise SystemFailed(f"{what} failed ({answer.returncode}): {_reason(answer)}")
    return answer.stdout


def _reason(answer: subprocess.CompletedProcess[bytes]) -> str:
    """The reason in its last record or line."""
    with contextlib.suppress(ValueError, TypeError, KeyError, IndexError):
        return str(json.loads(answer.stdout.splitlines()[-1])["reason"])
    return last_line(answer.stderr or answer.stdout)


@cache
def catalogue() -> Catalogue:
    """The list of the native load program, as recorded when it was built."""
    load("glibc")
    record = json.loads(_built("agent", "catalogue.json").read_text(encoding="utf-8"))
    return Catalogue(
        tuple(_workload(one) for one in record["workloads"]),
        tuple(Parameter(**one) for one in record["parameters"] if one["name"] != turns.PARAMETER),
    )


def _workload(record: dict[str, Any]) -> Workload:
    parameters = tuple(Parameter(**one) for one in record.pop("parameters"))
    metrics = tuple(Metric(**one) for one in record.pop("metrics"))
    return Workload(parameters=parameters, metrics=metrics, **record)
