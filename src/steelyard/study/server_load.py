"""Makes a study of a load on a server that runs: one system, and a cell for each level of the load. It is the
text of a study's file, so that nothing else is another case.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.servers.running import Running

SYSTEM = "native"
LOAD, SATURATION = "web_load", "web_saturation"  # workloads
WARM_SHARE = 0.1  # of a trial's time, before its window
TRIAL_LEAST_S = 0.4  # of a trial's load
BESIDES_S = (
    0.1  # what a trial takes besides: its processes, two fetches, what is under way when a window closes
)
COMMAND_S = 1.0  # what the command takes besides
STEPS, STEPS_LEAST = 7, 4  # of a search: the last of seven halves a range of 3 %, that of four one of 24 %
_STEP_PARTS = 1.5  # of a step's length: it settles for a quarter, and may go on for another
_CAPACITY_STEPS = 1  # of a search, by clients that ask as fast as they can
_SPARE_STEPS = 2  # of a search, for rates that are tried again because the load generator was late

Parameters = Mapping[str, int | str]


@dataclass(frozen=True, slots=True)
class WantedLoad:
    """A load as it is asked for."""

    server: Running
    workload: str
    over: str  # the parameter whose levels are loaded one after another: clients, or user_equivalents
    levels: tuple[int, ...]
    trials: int  # of each level
    duration_s: float  # of all together, from the command's start on
    parameters: Parameters = field(default_factory=dict)  # that tell this load from others
    settings: Parameters = field(default_factory=dict)  # that do not
    systems: tuple[str, ...] = (SYSTEM,)

    @property
    def least_s(self) -> float:
        """The least time in which all of it fits."""
        steps = (STEPS_LEAST + _CAPACITY_STEPS + _SPARE_STEPS) if self.workload == SATURATION else 1
        return COMMAND_S + self._count * (steps * TRIAL_LEAST_S + BESIDES_S)

    @property
    def _count(self) -> int:
        return self.trials * len(self.levels) * len(self.systems)

    def lengths(self) -> Parameters:
        """How long a trial loads, in milliseconds, so that all of them fit into the time."""
        trial_s = max(TRIAL_LEAST_S, (self.duration_s - COMMAND_S) / self._count - BESIDES_S)
        if self.workload == LOAD:
            return {
                "warm_ms": round(1e3 * trial_s * WARM_SHARE),
                "window_ms": round(1e3 * trial_s * (1 - WARM_SHARE)),
            }
        fits = int(trial_s / TRIAL_LEAST_S) - _CAPACITY_STEPS - _SPARE_STEPS
        steps = min(STEPS, max(STEPS_LEAST, fits))
        return {
            "steps": steps,
            "step_ms": round(1e3 * trial_s / (steps + _CAPACITY_STEPS + _SPARE_STEPS) / _STEP_PARTS),
        }


def text_of(load: WantedLoad) -> str:
    """The study's file."""
    server = load.server
    described: dict[str, object] = {
        "name": server.url,
        "title": server.url,
        "url": server.url,
        "allow_remote": server.is_allowed,
        "method": server.method,
        "headers": list(server.headers) or None,
        "data": server.data,
        "data_file": server.data_file,
        "process": server.process,
    }
    trial = {**load.lengths(), **load.settings}
    workload = {
        "name": load.workload,
        "server": [server.url],
        load.over: list(load.levels),
        **load.parameters,
    }
    parts: Sequence[tuple[str, Mapping[str, object]]] = (
        (
            "[design]",
            {"budget": f"{round(1e3 * load.duration_s)}ms", "blocks": load.trials, "trial_limit": "1h"},
        ),
        ("[trial]", trial),
        ("[[server]]", described),
        ("[[workload]]", workload),
    )
    lines = [
        "# Written by Steelyard from a command line.",
        *_digest(server.data_file),
        'name = "load"',
        f"title = {_toml(f'a load on {server.url}')}",
        f"systems = {_toml(list(load.systems))}",
    ]
    for heading, keys in (*parts, *_figures(load)):
        lines += [heading, *(f"{key} = {_toml(value)}" for key, value in keys.items() if value is not None)]
    return "\n".join(lines) + "\n"


def _figures(load: WantedLoad) -> Sequence[tuple[str, Mapping[str, object]]]:
    """What a page draws over several levels."""
    if len(load.levels) < 2:
        return ()
    shared = {"kind": "lines", "workloads": [load.workload], "over": load.over}
    served = {"name": "served", "title": "Requests a second", "metric": "request", "rate": True}
    waited = {"name": "waited", "title": "What 99 of 100 requests do not exceed", "metric": "latency_99"}
    return (("[[figure]]", served | shared), ("[[figure]]", waited | shared))


def _digest(path: str | None) -> list[str]:
    """Another body is another load, and is not resumed as the same."""
    if path is None:
        return []
    return [f"# {json.dumps(path)}: sha256 {hashlib.sha256(Path(path).read_bytes()).hexdigest()}"]


def _toml(value: object) -> str:
    """JSON's texts, numbers, lists and truths are TOML's as well."""
    return json.dumps(value, ensure_ascii=False)
