"""Records as the monitor writes them, of processes that never were."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from steelyard.watch.figures import FIGURES

BEGAN_NS = 1_000_000_000_000
HOSTILE = "<script>alert(1"  # as much as the kernel keeps of a name
ESCAPES = "\x1b[31m\x1b]0;x\x07"


def lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


def head(**more: Any) -> dict[str, Any]:
    return {
        "record": "watch",
        "protocol": 1,
        "version": "0.1.0",
        "backend": "bpf",
        "detail": "calls",
        "refused": [],
        "began": 1_760_000_000.5,
        "began_ns": BEGAN_NS,
        "processors": 2,
        "every_ns": 1_000_000_000,
        "children": 1,
        "budget": None,
        "hook_ns": 92.5,
        "missing": [],
        **more,
    }


def process(
    pid: int, program: str, *, at_s: float = 0.0, for_s: float | None = 1.0, **more: Any
) -> dict[str, Any]:
    """One that begins so long after the watch and lives so long; half of that on a processor."""
    begin_ns = BEGAN_NS + round(at_s * 1e9)
    lived_ns = round((for_s if for_s is not None else 1.0) * 1e9)
    figures: dict[str, Any] = {
        **dict.fromkeys(FIGURES),
        "cpu_user_ns": lived_ns * 3 // 8,
        "cpu_system_ns": lived_ns // 8,
        "run_ns": lived_ns // 2,
        "wait_ns": lived_ns // 10,
        "blocked_ns": lived_ns * 4 // 10,
        "faults_minor": 150,
        "faults_major": 1,
        "switches_voluntary": 20,
        "switches_involuntary": 5,
        "signals": 0,
        "reads": 40,
        "characters_read": 4000,
        "writes": 7,
        "characters_written": 700,
        "bytes_read": 0,
        "bytes_written": 4096,
        "memory_begin": 1 << 20,
        "memory_end": 2 << 20,
        "memory_peak": 3 << 20,
    }
    return {
        "record": "process",
        "pid": pid,
        "thread": None,
        "parent": 1,
        "generation": 0,
        "program": program,
        "program_before": None,
        "attached": False,
        "begin_ns": begin_ns,
        "watched_ns": begin_ns,
        "end_ns": None if for_s is None else begin_ns + lived_ns,
        "status": None if for_s is None else 0,
        "signal": None,
        "threads": 1,
        "children": 0,
        **figures,
        "windows": None,
        "windows_ns": None,
        "windows_active": None,
        "windows_run_ns": None,
        "windows_hook_ns": None,
        "windows_run_squares": None,
        "samples_user": None,
        "samples_kernel": None,
        "calls": {"read": call(40, errors=1), "write": call(7)},
        **more,
    }


def call(calls: int, *, errors: int = 0, **more: Any) -> dict[str, Any]:
    absent = ("time_ns", "histogram", "samples", "expanded", "expanded_errors", "squares", "products")
    return {"calls": calls, "errors": errors, **dict.fromkeys(absent), **more}


def reading(pid: int, *, at_s: float, begin_s: float = 0.0, **more: Any) -> dict[str, Any]:
    return {
        "record": "reading",
        "at_ns": BEGAN_NS + round(at_s * 1e9),
        "pid": pid,
        "begin_ns": BEGAN_NS + round(begin_s * 1e9),
        **more,
    }


def end(*, at_s: float, **more: Any) -> dict[str, Any]:
    return {
        "record": "end",
        "at_ns": BEGAN_NS + round(at_s * 1e9),
        "cpu_user_ns": 2_000_000,
        "cpu_system_ns": 5_000_000,
        "memory_bytes": 3 << 20,
        "memory_peak_bytes": 4 << 20,
        "maps_bytes": 10 << 20,
        "hook_ns": 92.5,
        "hits": 47,
        "bpf_ns": 47 * 92.5,
        "lost_slots": 0,
        "lost_calls": 0,
        "lost_events": 0,
        "unfollowed": 0,
        "unfollowed_figures": None,
        "command_status": 0,
        "stopped_by": "command",
        **more,
    }
