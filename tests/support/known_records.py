"""Records of the monitor with known numbers, and the accounts that are made of them."""

import io
import json
from typing import Any

from steelyard.watch import accounts, console, plain, records
from steelyard.watch.accounts import Account
from steelyard.watch.figures import FIGURES
from steelyard.watch.model import Watch

SECOND = 10**9


BEGAN = 100 * SECOND


Line = dict[str, Any]


def head(**more: Any) -> Line:
    return {
        "record": "watch", "protocol": 1, "version": "0", "backend": "bpf", "detail": "calls", "refused": [],
        "began": 1e9, "began_ns": BEGAN, "processors": 2, "every_ns": None, "children": 1, "budget": None,
        "sample_ns": None, "missing": [],
    } | more  # fmt: skip


def process(pid: int = 7, **more: Any) -> Line:
    return {
        "record": "process", "pid": pid, "thread": None, "parent": 1, "generation": 0, "program": "make",
        "program_before": None, "attached": False, "begin_ns": BEGAN, "watched_ns": BEGAN,
        "end_ns": BEGAN + SECOND, "status": 0, "signal": None, "threads": 1, "children": 0,
        **dict.fromkeys(FIGURES, 0), "windows": None, "windows_ns": None, "samples_user": None,
        "samples_kernel": None, "calls": None,
    } | more  # fmt: skip


def call(calls: int = 0, errors: int = 0, **more: Any) -> Line:
    names = ("time_ns", "histogram", "samples", "expanded", "expanded_errors", "squares", "products")
    return {"calls": calls, "errors": errors} | dict.fromkeys(names) | more


def reading(at_s: float, pid: int = 7, *, calls: Line | None = None, **figures: int) -> Line:
    moment = {"record": "reading", "at_ns": BEGAN + round(at_s * SECOND), "pid": pid, "begin_ns": BEGAN}
    return moment | figures | {"calls": calls or {}}


def end(at_s: float = 1, **more: Any) -> Line:
    return {
        "record": "end", "at_ns": BEGAN + round(at_s * SECOND), "cpu_user_ns": 1000, "cpu_system_ns": 2000,
        "memory_bytes": 1 << 20, "memory_peak_bytes": 2 << 20, "maps_bytes": 1 << 20, "hook_ns": 80,
        "hits": 100, "bpf_ns": 8000, "lost_slots": 0, "lost_calls": 0, "lost_events": 0, "unfollowed": 0,
        "unfollowed_figures": None, "command_status": 0, "stopped_by": "command",
    } | more  # fmt: skip


def told(*lines: Line) -> bytes:
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()


def watch_of(*lines: Line) -> Watch:
    found = records.read(io.BytesIO(told(*lines)))
    assert found is not None
    return found


def account_of(*lines: Line, by: str = "process") -> Account:
    return accounts.of(watch_of(*lines), by=by)


def as_json(account: Account) -> Any:
    file = io.StringIO()
    plain.print_json(account, file)
    return json.loads(file.getvalue())


def as_text(account: Account) -> str:
    file = io.StringIO()
    console.print_account(account, file, watched="make", top=20)
    return file.getvalue()
