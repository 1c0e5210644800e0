"""One load from the load program on a server of a test's, and what it tells of it."""

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server_trials import Agent

ONE_WINDOW = ("operations=1", "batches=1", "warmup_ns=0")


@dataclass(frozen=True)
class Loaded:
    """What came of one trial of web_load: the record "load", and what is made of the others."""

    status: str
    reason: str | None
    told: Mapping[str, Any]  # the record
    latency: Mapping[int, int]  # how many requests took so long, from when each was due
    figures: Mapping[str, int]  # by metric

    def __getattr__(self, name: str) -> Any:
        """A field of the record."""
        try:
            return self.told[name]
        except KeyError:
            raise AttributeError(f"the load told no {name}: {self.status}, {self.reason}") from None

    @property
    def failures(self) -> Counter[str]:
        return Counter(self.told["failures"])

    def quantile(self, share: float) -> float:
        """What this share of the latencies does not exceed; 0 without any."""
        total, below = sum(self.latency.values()), 0
        for value, count in sorted(self.latency.items()):
            below += count
            if below >= share * total:
                return float(value)
        return 0.0


def running(port: int, *more: str, path: str = "/") -> str:
    """The description of a server that listens there, with further lines."""
    return "\n".join(["name x", "running 127.0.0.1", f"port {port}", "host localhost", f"path {path}", *more])


def loaded(
    port: int,
    *settings: str,
    clients: int = 4,
    warmup_s: float = 0.1,
    window_s: float = 1.0,
    described: str | None = None,
    workload: str = "web_load",
) -> Loaded:
    """A load with those settings besides ("rate=20"); every body is compared unless they say otherwise. A host
    that takes the processor for some tenths of a second leaves enough of that window."""
    lengths = (f"warm_ms={round(1000 * warmup_s)}", f"window_ms={round(1000 * window_s)}")
    usual = ("timeout_ms=1000", "verify_permille=1000") if workload == "web_load" else ("timeout_ms=1000",)
    named = {one.partition("=")[0] for one in settings}
    words = [
        *ONE_WINDOW,
        *(lengths if workload == "web_load" else ()),
        f"clients={clients}",
        *(one for one in usual if one.partition("=")[0] not in named),
        *settings,
    ]
    with tempfile.TemporaryDirectory() as place, Agent(Path(place)) as agent:
        return heard(agent.perform(described or running(port), workload, *words))


def heard(records: list[dict[str, Any]]) -> Loaded:
    """What the records of such a trial say."""
    end = records[-1]
    histogram = next(
        (one for one in records if one["record"] == "histogram"), {"values_ns": [], "counts": []}
    )
    return Loaded(
        end.get("status", "refused"),
        end["reason"],
        next((one for one in records if one["record"] == "load"), {}),
        dict(zip(histogram["values_ns"], histogram["counts"], strict=True)),
        {one["metric"]: one["durations_ns"][0] for one in records if one["record"] == "samples"},
    )


def answered(load: Callable[[], Loaded]) -> Loaded:
    """The first trial whose first fetch was answered: a busy host may let the server be silent that long."""
    return loaded_until(lambda one: "it sent nothing within" not in (one.reason or ""), load)


def loaded_until(is_enough: Callable[[Loaded], bool], load: Callable[[], Loaded]) -> Loaded:
    """The first of several trials of which that is so: a host may let nobody run for the whole of one."""
    for _ in range(20):
        found = load()
        if is_enough(found):
            break
    return found
