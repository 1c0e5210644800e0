"""Finds out what works on this machine, and what would disturb a measurement: for `steelyard doctor`."""

import json
import math
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, stdev
from typing import Any

from steelyard import systems
from steelyard.errors import SteelyardError
from steelyard.programs import built
from steelyard.quantities import digits, size_bytes, time_ns
from steelyard.statistics import student
from steelyard.watch import monitor
from steelyard.watch.order import DETAILS

MACHINE, SYSTEM, MONITOR = "machine", "system", "monitor"
CLOCK, NOISE, RESOLUTION = "clock", "noise", "resolution"
_QUIET_SOURCES = ("tsc", "kvm-clock", "arch_sys_counter")  # read without entering the kernel
_PRESSURE_LEAST = 1.0  # percent of ten seconds
_STOLEN_LEAST = 0.1  # percent of the time since boot
_SHORT_OF_MEMORY = 0.1
_BLOCKS = 8
_PAIRS = 6
_SAMPLED = {"computing": "funcall", "system calls": "syscall", "messages": "pipe_latency"}
# On one processor, as the standard study has them: where two partners are put changes a message tenfold.
_SHORT = ("batches=5", "batch_ns=2000000", "warmup_ns=5000000", "place=1")

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that was looked at."""

    part: str
    name: str
    good: bool  # it works; or, of noise, it does not disturb
    says: str


def examine() -> Iterator[Diagnosis]:
    """All there is to say, in the order of a report; what cannot be found out is left out, or says so."""
    try:
        fingerprint = _record_of("describe", tempfile.gettempdir())
    except SteelyardError as error:
        yield Diagnosis(MACHINE, "programs", False, str(error))
        return
    yield Diagnosis(MACHINE, "machine", True, _machine(fingerprint))
    yield from _systems()
    yield from _monitors()
    yield _clock(fingerprint)
    yield from noise(fingerprint)
    yield from _resolutions()


def _record_of(*words: str) -> Record:
    answer = subprocess.run([built.load("glibc"), *words], stdout=subprocess.PIPE, check=True)
    record: Record = json.loads(answer.stdout)
    return record


def _machine(fingerprint: Record) -> str:
    kernel = f"{fingerprint['kernel']} {fingerprint['kernel_release']}"
    count = fingerprint["cpu_count"]
    parts = [kernel, fingerprint["cpu_model"] or fingerprint["architecture"]]
    parts += [f"{count} processor{'s' if count != 1 else ''}", size_bytes(fingerprint["memory_bytes"])]
    place = f"{fingerprint['directory']} is {fingerprint['file_system']}"
    return f"{', '.join(parts)}; {place}"


def _systems() -> Iterator[Diagnosis]:
    for system in systems.BUILT_IN:
        refusal = systems.refusal(system)
        brief = (refusal or "").removeprefix(f"system '{system.name}' ").removeprefix("cannot start: ")
        yield Diagnosis(SYSTEM, system.name, refusal is None, brief)


def _monitors() -> Iterator[Diagnosis]:
    """Each backend with the details at which it works; where it works at none, why not."""
    try:
        probes = {detail: monitor.probe(detail=detail) for detail in DETAILS}
    except SteelyardError as error:
        yield Diagnosis(MONITOR, "steelyard-watch", False, str(error))
        return
    for number, first in enumerate(probes[DETAILS[0]]):
        works = [detail for detail, backends in probes.items() if backends[number].works]
        yield Diagnosis(MONITOR, first.backend, bool(works), ", ".join(works) or first.why or "")


def _clock(fingerprint: Record) -> Diagnosis:
    source = fingerprint["clock_source"]
    resolution, cost = fingerprint["clock_resolution_ns"], fingerprint["clock_cost_ns"]
    says = f"resolution {time_ns(resolution)}, read in {time_ns(cost)}"
    is_quiet = source is None or source in _QUIET_SOURCES
    more = "" if is_quiet else "; each reading enters the kernel: tsc would not (clocksource=tsc)"
    return Diagnosis(CLOCK, source or fingerprint["clock"], is_quiet, says + more)


def noise(fingerprint: Record, root: Path = Path("/")) -> Iterator[Diagnosis]:
    """What may change from one trial to the next, by the files below /proc and /sys. Where a machine does not
    tell, there is nothing."""
    yield from _frequency(fingerprint.get("frequency_governor"), root)
    if _text(root / "sys/devices/system/cpu/smt/active") == "1":
        yield Diagnosis(
            NOISE, "shared cores", False, "two processors share a core: what runs on one slows the other"
        )
    if fingerprint.get("hypervisor"):
        yield _virtual(str(fingerprint["hypervisor"]), root)
    yield from _other_load(int(fingerprint["cpu_count"]), root)
    memory = _memory(root)
    if memory is not None:
        free = f"{size_bytes(memory[0])} of {size_bytes(memory[1])} can be had"
        yield Diagnosis(NOISE, "memory", memory[0] >= _SHORT_OF_MEMORY * memory[1], free)
    allowed, count = len(os.sched_getaffinity(0)), int(fingerprint["cpu_count"])
    if allowed < count:
        yield Diagnosis(NOISE, "processors", False, f"only {allowed} of {count} may be used by this process")


def _frequency(governor: str | None, root: Path) -> Iterator[Diagnosis]:
    if governor is not None:
        is_fixed = governor == "performance"
        advice = "" if is_fixed else "; the frequency follows the load: cpupower frequency-set -g performance"
        yield Diagnosis(NOISE, "frequency", is_fixed, f"governor {governor}{advice}")
    boost = _text(root / "sys/devices/system/cpu/cpufreq/boost")
    no_turbo = _text(root / "sys/devices/system/cpu/intel_pstate/no_turbo")
    if boost == "1" or no_turbo == "0":
        yield Diagnosis(
            NOISE, "boost", False, "processors run faster while they are cool and few of them work"
        )


def _virtual(hypervisor: str, root: Path) -> Diagnosis:
    counts = [int(one) for one in (_text(root / "proc/stat") or "").partition("\n")[0].split()[1:9]]
    total = sum(counts)
    stolen = 100 * counts[7] / total if total else 0.0
    says = f"by {hypervisor}: the host took {digits(stolen)} % of the processors' time since boot"
    return Diagnosis(NOISE, "virtual machine", stolen < _STOLEN_LEAST, says)


def _other_load(processors: int, root: Path) -> Iterator[Diagnosis]:
    pressure = (_text(root / "proc/pressure/cpu") or "").partition("avg10=")[2].split()
    if pressure:
        waited = float(pressure[0])
        says = f"in {digits(waited)} % of the last 10 s something waited for a processor"
        yield Diagnosis(NOISE, "other work", waited < _PRESSURE_LEAST, says)
    elif load := _text(root / "proc/loadavg"):
        running = float(load.split()[0])
        says = f"{digits(running)} processes ran or waited, on average over a minute"
        yield Diagnosis(NOISE, "other work", running < 0.1 * processors, says)


def _memory(root: Path) -> tuple[int, int] | None:
    """What could be had now, and all, in bytes."""
    lines = (_text(root / "proc/meminfo") or "").splitlines()
    sizes = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
    if "MemAvailable" not in sizes or "MemTotal" not in sizes:
        return None
    return sizes["MemAvailable"], sizes["MemTotal"]


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _resolutions() -> Iterator[Diagnosis]:
    for name, workload in _SAMPLED.items():
        difference = resolution([_median_ns(workload) for _ in range(2 * _PAIRS)])
        says = f"{_BLOCKS} blocks tell a difference of {digits(100 * difference, count=2)} %"
        yield Diagnosis(RESOLUTION, name, True, says)


def _median_ns(workload: str) -> float:
    """The median of a short trial's ns per operation."""
    words = ["run", workload, *_SHORT]
    answer = subprocess.run([built.load("glibc"), *words], stdout=subprocess.PIPE, check=True).stdout
    records = map(json.loads, answer.splitlines())
    samples = [one for one in records if one["record"] == "samples"]
    return float(median(ns / one["operations"] for one in samples for ns in one["durations_ns"]))


def resolution(times: Sequence[float]) -> float:
    """The half-width of the 95 % interval that `_BLOCKS` blocks would have for two equal systems, as a share:
    neighbouring trials are the pairs."""
    differences = [math.log(second / first) for first, second in zip(times[::2], times[1::2], strict=True)]
    half = student.reach(_BLOCKS - 1) * stdev(differences) / math.sqrt(_BLOCKS)
    return math.expm1(half)
