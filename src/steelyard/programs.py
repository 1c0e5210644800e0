"""Finds the built programs and asks them what they can do."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from steelyard.errors import Unsupported

_FILES = {"glibc": "steelyard-load", "musl": "steelyard-load-musl"}
_ADVICE = {
    "glibc": "build Steelyard again: make",
    "musl": "install musl-tools and build Steelyard again: apt-get install musl-tools && make",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a request may set: a number from `least` to `most`, or a text of at most `most` bytes."""

    name: str
    summary: str
    initial: int | str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Workload:
    """What the load program says of one of its workloads."""

    name: str
    group: str
    summary: str
    operation: str
    metrics: tuple[str, ...]
    measure: str  # "time" or "bandwidth"
    sweeps: str | None  # what a curve varies
    sweep_unit: str | None
    parameters: tuple[Parameter, ...]
    instructions: int  # machine instructions an operation takes at least; 0: no claim
    calls: Mapping[str, int]  # system calls an operation makes
    counted_address: int | None  # of a function entered once an operation


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All workloads, and the parameters that each of them has."""

    workloads: tuple[Workload, ...]
    parameters: tuple[Parameter, ...]

    def limits(self) -> dict[str, dict[str, tuple[int, int]]]:
        """For each workload, each parameter's least and most value: what `study.check` wants."""
        return {
            workload.name: {
                parameter.name: (parameter.least, parameter.most)
                for parameter in (*self.parameters, *workload.parameters)
            }
            for workload in self.workloads
        }

    def find(self, name: str) -> Workload:
        return next(workload for workload in self.workloads if workload.name == name)


def load(libc: str) -> Path:
    """The load program built with that libc, "glibc" or "musl". Raises Unsupported."""
    path = Path(str(resources.files("steelyard").joinpath("programs", _FILES[libc])))
    if not path.is_file():
        raise Unsupported(f"the load program for {libc} is not built; {_ADVICE[libc]}")
    return path


@cache
def catalogue() -> Catalogue:
    """What the native load program lists."""
    answer = subprocess.run(
        [load("glibc"), "list"], stdout=subprocess.PIPE, check=True, stdin=subprocess.DEVNULL
    )
    record = json.loads(answer.stdout)
    return Catalogue(
        tuple(_workload(one) for one in record["workloads"]),
        tuple(Parameter(**one) for one in record["parameters"]),
    )


def _workload(record: dict[str, Any]) -> Workload:
    parameters = tuple(Parameter(**one) for one in record.pop("parameters"))
    metrics = tuple(one["name"] for one in record.pop("metrics"))
    return Workload(parameters=parameters, metrics=metrics, **record)
