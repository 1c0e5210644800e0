"""Finds out what works on this machine, and what would disturb a measurement: for `steelyard doctor`."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, stdev
from typing import Any

from steelyard import allowance, home, standstill, systems
from steelyard.errors import SteelyardError
from steelyard.programs import built
from steelyard.quantities import counted_processors, digits, size_bytes, time_ns
from steelyard.running import laboratories
from steelyard.statistics import student
from steelyard.systems.agent import Agent
from steelyard.text import of_file
from steelyard.watch import monitor
from steelyard.watch.order import DETAILS

MACHINE, SYSTEM, MONITOR = "machine", "system", "monitor"
CLOCK, NOISE, RESOLUTION = "clock", "noise", "resolution"
_QUIET_SOURCES = ("tsc", "kvm-clock", "arch_sys_counter")  # read without entering the kernel
_PRESSURE_LEAST = 1.0  # percent of ten seconds
_STOLEN_LEAST = 0.1  # percent of the time since boot
_STOLEN = 7  # of the counts in the first line of /proc/stat
_SIZE = re.compile(r"^(MemTotal|MemAvailable):\s+([0-9]+) kB$", re.MULTILINE)
_BEGINNING = re.compile(r"[0-9]{1,9}(\.[0-9]+)?(?!\S)")
_SHORT_OF_MEMORY = 0.1
_STARTS_MOST_S = 90.0  # for the starts of all systems together
STARTED, NOT_TRIED = "started", "not tried"
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


def examine(*, start: bool = True) -> Iterator[Diagnosis]:
    """All there is to say, in the order of a report; what cannot be found out is left out, or says so. Each
    system is started once, unless `start` is False: then only what it needs is looked for."""
    try:
        fingerprint = _record_of("describe", str(home.temporary()))
    except SteelyardError as error:
        yield Diagnosis(MACHINE, "programs", False, str(error))
        return
    yield Diagnosis(MACHINE, "machine", True, _machine(fingerprint))
    yield from _systems(start=start)
    yield from _monitors()
    yield _clock(fingerprint)
    yield from noise(fingerprint)
    yield from _resolutions()


def _record_of(*words: str) -> Record:
    record: Record = json.loads(built.answer_of(built.load("glibc"), *words))
    return record


def _machine(fingerprint: Record) -> str:
    """The known facts about the machine: a container may hide any part of /proc."""
    memory, processors = fingerprint["memory_bytes"], fingerprint["cpu_count"]
    parts = [
        " ".join(one for one in (fingerprint["kernel"], fingerprint["kernel_release"]) if one),
        fingerprint["cpu_model"] or fingerprint["architecture"],
        counted_processors(processors, fingerprint["cpu_online"]) if processors else None,
        "unknown memory" if memory is None else size_bytes(memory),
    ]
    place = f"{fingerprint['directory']} is {fingerprint['file_system'] or 'on an unknown file system'}"
    return f"{', '.join(part for part in parts if part)}; {place}"


def _systems(*, start: bool) -> Iterator[Diagnosis]:
    """Each built-in system, started once where it has what it needs: only that shows that it works here."""
    directory, left_s = home.temporary(), _STARTS_MOST_S
    for system in systems.BUILT_IN:
        reason = systems.refusal(system)
        says = NOT_TRIED
        if reason is None and start and left_s > 0:
            begun = standstill.clock()
            limit_s = min(left_s, system.start_limit_s)
            try:
                # Nothing is measured on it, so it need not come to rest.
                Agent(replace(system, start_limit_s=limit_s, settle_most_s=0.0), directory=directory).close()
                says = f"{STARTED} in {standstill.clock() - begun:.1f} s"
            except (SteelyardError, OSError) as error:  # a home directory that cannot be written, say
                reason = str(error)
            left_s -= standstill.clock() - begun
        brief = (reason or says).removeprefix(f"system '{system.name}' ").removeprefix("cannot start: ")
        yield Diagnosis(SYSTEM, system.name, reason is None, brief)


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
    known = [
        *([f"resolution {time_ns(resolution)}"] if resolution is not None else []),
        *([f"read in {time_ns(cost)}"] if cost is not None else []),
    ]
    says = ", ".join(known) or "it is unknown"
    is_quiet = source is None or source in _QUIET_SOURCES
    more = "" if is_quiet else "; each reading enters the kernel, which tsc avoids (clocksource=tsc)"
    return Diagnosis(CLOCK, source or fingerprint["clock"] or "clock", is_quiet, says + more)


def noise(fingerprint: Record, root: Path = Path("/")) -> Iterator[Diagnosis]:
    """Facts that may change from one trial to the next, by the files below /proc and /sys. Empty if the
    machine reports nothing.
    """
    yield from _frequency(fingerprint.get("frequency_governor"), root)
    if _text(root / "sys/devices/system/cpu/smt/active") == "1":
        yield Diagnosis(
            NOISE, "shared cores", False, "two processors share a core: work on one slows the other"
        )
    if fingerprint.get("hypervisor"):
        yield _virtual(str(fingerprint["hypervisor"]), root)
    yield from _other_load(int(fingerprint["cpu_count"] or len(allowance.processors())), root)
    yield from _memory(root)
    yield from _priority()
    usable, online = fingerprint.get("cpu_count"), fingerprint.get("cpu_online")
    if usable and online and usable < online:
        says = f"only {usable} of {online} may be used by this process (taskset, or a cpuset)"
        yield Diagnosis(NOISE, "processors", False, says)
    quota = allowance.quota(proc=root / "proc")
    if not allowance.tells_limits(proc=root / "proc"):
        yield _unknown("limits", "whether control groups limit this process", allowance.LIMITS_FROM)
    elif quota is not None:
        says = (
            f"control group {quota.group} has a quota of {digits(quota.processors)} processors: "
            "once it is used up, all its processes stop until the next period"
        )
        yield Diagnosis(NOISE, "processor quota", usable is not None and quota.processors >= usable, says)


def _frequency(governor: str | None, root: Path) -> Iterator[Diagnosis]:
    if governor is not None:
        is_fixed = governor == "performance"
        advice = "" if is_fixed else "; the frequency follows the load: cpupower frequency-set -g performance"
        yield Diagnosis(NOISE, "frequency", is_fixed, f"governor {governor}{advice}")
    boost = _text(root / "sys/devices/system/cpu/cpufreq/boost")
    no_turbo = _text(root / "sys/devices/system/cpu/intel_pstate/no_turbo")
    if boost == "1" or no_turbo == "0":
        yield Diagnosis(
            NOISE, "boost", False, "turbo: processors run faster while they are cool and few are busy"
        )


def _virtual(hypervisor: str, root: Path) -> Diagnosis:
    name, *counts = [*(_text(root / "proc/stat") or "").partition("\n")[0].split(), ""]
    known = [int(one) for one in counts[: _STOLEN + 1] if one.isdecimal()]
    if name != "cpu" or len(known) <= _STOLEN or not any(known):
        return _unknown("virtual machine", f"{hypervisor} guest; CPU time stolen by the host", "/proc/stat")
    stolen = 100 * known[_STOLEN] / sum(known)
    says = f"{hypervisor} guest; {digits(stolen)} % of CPU time stolen by the host since boot"
    return Diagnosis(NOISE, "virtual machine", stolen < _STOLEN_LEAST, says)


def _unknown(name: str, what: str, files: str) -> Diagnosis:
    """What could disturb, and cannot be told: so that silence is not taken for quiet."""
    return Diagnosis(NOISE, name, False, f"{what} is unknown: {files} does not tell here")


def _other_load(processors: int, root: Path) -> Iterator[Diagnosis]:
    waited = _number((_text(root / "proc/pressure/cpu") or "").partition("avg10=")[2])
    running = _number(_text(root / "proc/loadavg") or "")
    if waited is not None:
        says = f"in {digits(waited)} % of the last 10 s a process waited for a processor"
        yield Diagnosis(NOISE, "other work", waited < _PRESSURE_LEAST, says)
    elif running is not None:
        says = f"{digits(running)} processes ran or waited, on average over a minute"
        yield Diagnosis(NOISE, "other work", running < 0.1 * processors, says)
    else:
        yield _unknown("other work", "it", "/proc/pressure/cpu or /proc/loadavg")
    others = laboratories.others(proc=root / "proc")
    if others is None:
        yield _unknown("other laboratory", "whether one measures here", "/proc/net/unix")
    elif others:
        says = "another laboratory measures on this machine now: each disturbs the other"
        yield Diagnosis(NOISE, "other laboratory", False, says)


def _priority() -> Iterator[Diagnosis]:
    """How this process is scheduled, and so all that it will measure, where that is not as usual."""
    nice, policy = allowance.nice(), allowance.policy()
    if not allowance.is_usual(nice, policy):
        says = f"this process runs {allowance.scheduling(nice, policy)}, and so would all that it measures"
        yield Diagnosis(NOISE, "priority", False, says)


def _memory(root: Path) -> Iterator[Diagnosis]:
    """The available memory, by the machine's count or by the tightest control group's."""
    sizes = {name: int(kb) * 1024 for name, kb in _SIZE.findall(_text(root / "proc/meminfo") or "")}
    available, total = sizes.get("MemAvailable"), sizes.get("MemTotal")
    if available is None or not total:
        yield _unknown("memory", "how much is available", "/proc/meminfo")
        return
    says = f"{size_bytes(available)} of {size_bytes(total)} available"
    limit = allowance.memory(proc=root / "proc")
    if limit is not None and limit.bytes < total:
        available, total = min(available, limit.left), limit.bytes
        says = f"{size_bytes(available)} of the {size_bytes(total)} that control group {limit.group} allows"
    yield Diagnosis(NOISE, "memory", available >= _SHORT_OF_MEMORY * total, says)


def _text(path: Path) -> str | None:
    try:
        return of_file(path).strip()
    except OSError:
        return None


def _number(text: str) -> float | None:
    """The number that the text begins with."""
    found = _BEGINNING.match(text)
    return float(found[0]) if found else None


def _resolutions() -> Iterator[Diagnosis]:
    for name, workload in _SAMPLED.items():
        try:
            difference = resolution([_median_ns(workload) for _ in range(2 * _PAIRS)])
        except SteelyardError as error:
            yield Diagnosis(RESOLUTION, name, False, str(error))
            continue
        says = f"{_BLOCKS} blocks can resolve differences above {digits(100 * difference, count=2)} %"
        yield Diagnosis(RESOLUTION, name, True, says)


def _median_ns(workload: str) -> float:
    """The median of a short trial's ns per operation."""
    words = ["run", workload, *_SHORT]
    records = map(json.loads, built.answer_of(built.load("glibc"), *words).splitlines())
    samples = [one for one in records if one["record"] == "samples"]
    return float(median(ns / one["operations"] for one in samples for ns in one["durations_ns"]))


def resolution(times: Sequence[float]) -> float:
    """The half-width of the 95 % interval that `_BLOCKS` blocks would have for two equal systems, as a share:
    neighbouring trials are the pairs."""
    differences = [math.log(second / first) for first, second in zip(times[::2], times[1::2], strict=True)]
    half = student.reach(_BLOCKS - 1) * stdev(differences) / math.sqrt(_BLOCKS)
    return math.expm1(half)
