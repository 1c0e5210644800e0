"""Builds small experiments with known numbers, by the archive's own front door: create, append, close."""

import contextlib
import random
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.analysis import evaluate
from steelyard.analysis.model import Evaluation
from steelyard.archive import closing, experiments
from steelyard.archive.experiments import StoredExperiment
from steelyard.archive.journal import Journal
from steelyard.events import (
    CopyProcess,
    Event,
    Group,
    Histogram,
    Load,
    LoadCount,
    Look,
    Outcome,
    Samples,
    Started,
    Usage,
)
from steelyard.programs import built
from steelyard.study import plan as plans
from steelyard.study.model import MARGINS, Design, Levels, Study
from steelyard.study.plan import Plan, Trial

SECOND_NS = 1_000_000_000

# Workloads as a header describes them: one of each kind of lens, and one with two metrics.
GROUPS = {
    "null": "harness",
    "sieve": "cpu",
    "syscall": "syscall",
    "memory_copy": "memory",
    "memory_read": "memory",
    "context_switch": "process",
    "integer_operations": "cpu",
    "pipe_latency": "ipc",
    "shell": "process",
    "command": "process",
    "linpack_processes": "process",
    "linpack_limit": "process",
    "memory_used": "footprint",
    "tcp_echo": "network",
    "disktest": "file",
    "web_load": "server",
    "web_requests": "server",
    "web_saturation": "server",
    "web_series": "server",
}
METRICS = {
    "disktest": ("write", "read"),
    "context_switch": ("overhead", "switch"),
    "integer_operations": ("add", "add_parallel"),
    "linpack_processes": ("time",),
    "linpack_limit": ("count",),
    "memory_used": ("count",),
    "web_load": ("request", "server", "objects_offered"),
    "web_requests": ("time", "server", "client"),
    "web_saturation": ("request", "beyond_server", "beyond_client", "beyond_wait", "beyond_late"),
    "web_series": ("time", "latency_99", "connections", "connecting", "longest_wait", "silent"),
}
REPORTED = {
    ("web_load", "server"),
    ("web_load", "objects_offered"),
    ("web_requests", "server"),
    ("web_requests", "client"),
    *(("web_saturation", metric) for metric in METRICS["web_saturation"]),
    *(("web_series", metric) for metric in METRICS["web_series"][1:]),
}
UNITS = {
    ("web_series", "connections"): "connections per 1,000 requests",
    ("web_series", "silent"): "per mille of the time without any answer",
}
PER = {("web_saturation", "request"): "request"}
LESS = {("context_switch", "switch"): "overhead"}
COUNTS = {"linpack_limit": ("count", "processes"), "memory_used": ("count", "kB")}
FEWER = ("memory_used",)  # of the counts: fewer are better
BANDWIDTHS = ("memory_read",)  # the metric of these is a bandwidth, and they are curves over a size
SIZES = tuple(round(64 * 2 ** (number / 2)) * 64 for number in range(28))


def few(workload: built.Workload) -> tuple[str, ...]:
    """The settings that make one run of it no longer than it must be: of a curve one size, of a large file a
    small one, in a directory of a few; and a few processes, requests and single times."""
    wanted = {"latencies": 20}
    if workload.sweeps:
        size = {"stride": 64, "flows": 1}.get(workload.sweeps, 4096)
        wanted |= {"from": size, "to": size}
    if workload.group == "storage":
        wanted |= {"size": 65536, "files": 8, "bytes": 65536}
    wanted |= {
        "linpack_processes": {"processes": 3, "iterations": 16},
        "linpack_limit": {"most": 4},
        "disk_used": {"below": "."},
        "tcp_echo": {"requests": 20},
    }.get(workload.name, {})
    names = {parameter.name for parameter in workload.parameters}
    return tuple(f"{name}={value}" for name, value in wanted.items() if name in names)


def quick(workload: built.Workload, *, operations: int = 1) -> str:
    """The request that has a workload run once, and no longer than it must."""
    words = ("batches=1", f"operations={operations}", "warmup_ns=0", *few(workload))
    return " ".join(("trial 1", workload.name, *words))


# Of a system on which all workloads take long: some at each run of the tests, all on request.
SOME_OR_ALL = pytest.mark.parametrize(
    "most", [40, pytest.param(1000, marks=pytest.mark.long)], ids=["some", "all"]
)


def some(most: int) -> list[built.Workload]:
    """That many workloads at most, drawn by a seed that is printed, in their order."""
    everything = built.catalogue().workloads
    seed = random.randrange(1 << 32)
    drawn = random.Random(seed).sample(range(len(everything)), min(most, len(everything)))
    print(f"drawn by seed {seed}: {', '.join(everything[place].name for place in sorted(drawn))}")
    return [everything[place] for place in sorted(drawn)]


def metrics_of(workload: str) -> tuple[str, ...]:
    return METRICS.get(workload, ("bandwidth",) if workload in BANDWIDTHS else ("time",))


def plan(
    *workloads: str,
    systems: Sequence[str] = ("a", "b"),
    copies: Sequence[int] = (),
    blocks: int = 12,
    seed: int = 1,
    blocks_per_boot: int = 1,
    budget_s: float = 1e6,
    margins: Mapping[str, float] | None = None,
) -> Plan:
    """A plan for these workloads (`syscall` if none is named), of that many blocks a cell."""
    levels = (("copies", tuple(copies)),) if copies else ()
    study = Study(
        name="small",
        title="a small study",
        text="small",
        systems=tuple(systems),
        workloads=tuple(Levels(workload, levels) for workload in workloads or ("syscall",)),
        design=Design(blocks=blocks, blocks_per_boot=blocks_per_boot, budget_s=budget_s),
        margins=dict(margins or MARGINS),
    )
    return plans.make(study, systems=tuple(systems), processors=2, seed=seed)


def trials(made: Plan) -> list[Trial]:
    """All that the plan may hold: every visit of its cells, the first block of each first."""
    return [
        trial
        for number in range(made.study.design.blocks)
        for cell in made.cells
        for trial in plans.visit(made, cell, number)
    ]


def outcome(
    trial: Trial,
    ns: float = 1000.0,
    *,
    boot: int = 1,
    metrics: Sequence[str] | None = None,
    operations: int = 1_000_000,
    batches: int = 5,
    user: float = 0.75,
    system: float = 0.25,
    clock: float = 1.0,
    **others: Any,
) -> Outcome:
    """A trial that went well: every batch of every copy takes `ns` per operation, by a clock that runs
    `clock` times as fast as the laboratory's; `user` and `system` are shares of that time."""
    named = metrics_of(trial.cell.workload) if metrics is None else metrics
    each = [(copy, metric) for copy in range(trial.cell.copies) for metric in named]
    done = operations * batches
    fields: dict[str, Any] = {
        "host_ns": SECOND_NS,
        "guest_ns": round(SECOND_NS * clock),
        "clock_doubt_ns": 0,
        "pressure": 0.0,
        "samples": tuple(
            Samples(copy, metric, operations, (round(ns * operations),) * batches) for copy, metric in each
        ),
        "usage": tuple(
            Usage(copy, metric, done, round(ns * done * user), round(ns * done * system), *[0] * 6)
            for copy, metric in each
        ),
        "processes": tuple(
            CopyProcess(copy, 1, 2, 3, "ok", None) for copy in dict.fromkeys(copy for copy, _ in each)
        ),
    }
    return Outcome(trial, boot, "ok", **(fields | others))


def curve(
    trial: Trial, mb_per_s: Callable[[int], float], *, sizes: Sequence[int] = SIZES, faults: int = 0
) -> Outcome:
    """A trial of a bandwidth over sizes: what `mb_per_s` says at each; `faults` pages fetched per operation
    at the largest."""
    samples = tuple(
        Samples(
            0,
            "bandwidth",
            1000,
            (round(size * 1e6 / mb_per_s(size)),) * 5,
            point=size,
            bytes=size,
            faults_major=5000 * faults if size == max(sizes) else 0,
        )
        for size in sizes
    )
    return outcome(trial, metrics=("bandwidth",), samples=samples)


def group(
    metric: str,
    *,
    began: Sequence[float | None],
    ended: Sequence[float | None],
    asked: Sequence[float | None] | None = None,
    processors: int = 2,
    statuses: Sequence[str] | None = None,
    reasons: Sequence[str | None] | None = None,
) -> Group:
    """Many processes at once, in ms; each does its work at an even pace."""

    def ns(ms: float | None) -> int | None:
        return None if ms is None else round(ms * 1e6)

    lives = list(zip(began, ended, strict=True))
    return Group(
        copy=0,
        metric=metric,
        batch=1,
        processors=processors,
        members=len(lives),
        created=len(lives),
        finished=sum(end is not None for _, end in lives),
        iterations=16,
        code_sha256="c0de",
        zero_ns=0,
        asked_ns=tuple(map(ns, asked or [0.0] * len(lives))),
        began_ns=tuple(ns(start) for start, _ in lives),
        ended_ns=tuple(ns(end) for _, end in lives),
        reaped_ns=tuple(ns(end) for _, end in lives),
        marks_ns=tuple(
            tuple(
                None if start is None or end is None else ns(start + (end - start) * part / 16)
                for part in range(1, 17)
            )
            for start, end in lives
        ),
        statuses=tuple(statuses or ["ok"] * len(lives)),
        signals=(None,) * len(lives),
        reasons=tuple(reasons or [None] * len(lives)),
    )


def load(**changes: Any) -> Load:
    """A second of a load of four clients on a server that answers a thousand requests: there is nothing to
    tell of it. Without a number of `requests` there are two more than ended in the window."""
    calm: dict[str, Any] = {
        "copy": 0,
        "window_ns": SECOND_NS,
        "elapsed_ns": SECOND_NS,
        "answers": 1000,
        "bytes": 1_024_000,
        "started": 1000,
        "waited": 0,
        "unsent": 0,
        "connections": 4,
        "connecting_ns": 400_000,
        "closed": 0,
        "resent": 0,
        "longest_ns": 5_000_000,
        "silent_ns": 0,
        "stalled_ns": 0,
        "late_ns": 0,
        "client_ns": SECOND_NS // 10,
        "busiest_ns": SECOND_NS // 10,
        "verified": 10,
        "body_fixed": True,
        "objects": 0,
        "objects_failed": 0,
        "objects_lost": 0,
        "content_sha256": None,
        "limit_ns": None,
        "share_permille": None,
        "steps": None,
        "failures": {},
        "own_limits": {},
        "malformed": None,
    }
    made = calm | changes
    made.setdefault("requests", made["answers"] + sum(made["failures"].values()) + 2)
    counts = {
        name: made[name] and tuple(LoadCount(kind, number) for kind, number in made[name].items())
        for name in ("failures", "own_limits", "steps")
    }
    return Load(**made | counts | {name: counts[name] or () for name in ("failures", "own_limits")})


def loads_on_a_server(
    root: Path,
    loads: Sequence[Load | Sequence[Load]],
    latency: Mapping[int, int] | None = None,
    *,
    parameters: Mapping[str, int | str | Sequence[int]] | None = None,
    workload: str = "web_load",
    told: Mapping[str, float | Sequence[float]] | None = None,
    histograms: Sequence[Histogram] = (),
    reasons: Sequence[str | None] = (),
) -> Evaluation:
    """What is made of a load on one system, with these parameters, of which some have several levels: a trial
    of each of `loads`, or of what its copies saw. `latency` is each trial's, in ns; `told` are further
    metrics, in ns, of all trials or of each; `reasons` are why trials failed."""
    levels = tuple(
        (name, (value,) if isinstance(value, int | str) else tuple(value))
        for name, value in (parameters or {}).items()
    )
    study = replace(plan(systems=("native",), blocks=len(loads)).study, workloads=(Levels(workload, levels),))
    made = plans.make(study, systems=("native",), processors=2, seed=1)
    metrics = {"request": 1e6} | dict(told or {})
    latency = {1_000_000: 100} if latency is None else latency
    taken = [Histogram(0, "latency", tuple(latency), tuple(latency.values()))] if latency else []

    def of(metric: str, block: int) -> int:
        value = metrics[metric]
        return round(value if isinstance(value, int | float) else value[block])

    def performed(trial: Trial) -> Outcome:
        seen = loads[trial.block]
        each = (seen,) if isinstance(seen, Load) else tuple(seen)
        if reasons and reasons[trial.block]:
            return bad(trial, "failed", reasons[trial.block], loads=each)
        one = outcome(trial, metrics=tuple(metrics), operations=1, batches=1)
        samples = (replace(part, durations_ns=(of(part.metric, trial.block),)) for part in one.samples)
        return replace(one, samples=tuple(samples), histograms=(*taken, *histograms), loads=each)

    return evaluate.of(experiment(root, made, performed))


def bad(trial: Trial, status: str, reason: str | None = None, **others: Any) -> Outcome:
    """A trial that did not end well."""
    return Outcome(trial, others.pop("boot", 1), status, reason, **others)


def details(boot_systems: Sequence[str] = ()) -> dict[str, Any]:
    """What a header says besides the plan, as far as the analysis reads it."""
    return {
        "boot_systems": list(boot_systems),
        "workloads": {
            name: {
                "group": group,
                "summary": name,
                "operation": "call",
                "metrics": [
                    {
                        "name": one,
                        "less": LESS.get((name, one)),
                        "reported": (name, one) in REPORTED,
                        "per": PER.get((name, one)),
                        "unit": UNITS.get((name, one), "ns"),
                    }
                    for one in metrics_of(name)
                ],
                "measure": "bandwidth" if name in BANDWIDTHS else COUNTS.get(name, ("time",))[0],
                "counts": COUNTS.get(name, ("", None))[1],
                "fewer": name in FEWER,
                "groups": name == "linpack_processes",
                "sweeps": "size" if name in BANDWIDTHS else None,
                "sweep_unit": "bytes" if name in BANDWIDTHS else None,
            }
            for name, group in GROUPS.items()
        },
    }


def started(system: str, boot: int = 1, **fingerprint: Any) -> Started:
    hello = {"protocol": 1, "program_sha256": "00ff" * 16, "compiler": "gcc", "libc": "glibc"}
    return Started(system, boot, hello, {"kernel": system, **fingerprint}, 0.5)


def new(root: Path, made: Plan, *, boot_systems: Sequence[str] = (), same: str = "same") -> StoredExperiment:
    """An experiment with nothing in it yet."""
    return experiments.create(root, made, budget_s=100.0, same=same, details=details(boot_systems))


def append(found: StoredExperiment, event: Event) -> None:
    """Adds an event to its journal."""
    with contextlib.closing(Journal(found.path)) as kept:
        kept.append(event)


def experiment(
    root: Path,
    made: Plan,
    measured: Callable[[Trial], Outcome | None],
    *,
    boot_systems: Sequence[str] = (),
    fingerprints: Mapping[str, Mapping[str, Any]] | None = None,
    hellos: Mapping[str, Mapping[str, Any]] | None = None,
    closed: bool = False,
) -> StoredExperiment:
    """An experiment in which every trial of the plan went as `measured` says; None: it was not run.

    Each system's start is written before its first trial, and again for each further boot.
    """
    found = new(root, made, boot_systems=boot_systems)
    journal = Journal(found.path)
    up: set[tuple[str, int]] = set()
    count = 0
    for trial in trials(made):
        told = measured(trial)
        if told is None:
            continue
        if (trial.system, told.boot) not in up:
            up.add((trial.system, told.boot))
            facts = (fingerprints or {}).get(trial.system, {})
            start = started(trial.system, told.boot, **facts)
            hello = start.hello | dict((hellos or {}).get(trial.system, {}))
            journal.append(replace(start, hello=hello))
        count += 1
        journal.append(replace(told, began=float(count)))
    journal.append(Look(1, ()))
    journal.close()
    return closing.close(found) if closed else found


@contextmanager
def no_room_beyond(size: int) -> Iterator[None]:
    """No file can be longer than that: writes beyond it fail as on a full disk (Python ignores the
    signal). The limit is this process's soft one, and is put back."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
