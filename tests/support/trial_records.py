"""What an agent says of a trial, whole and right: the records that fake agents tell."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

Record = dict[str, Any]

HELLO: Record = {
    "record": "hello",
    "protocol": 1,
    "version": "fake",
    "program_sha256": "0" * 64,
    "compiler": "none",
    "libc": "none",
    "clock": "fake",
    "clock_resolution_ns": 1,
    "clock_cost_ns": 1,
}
_USED = ("user_ns", "system_ns", "faults_minor", "faults_major", "switches_voluntary",
         "switches_involuntary", "blocks_read", "blocks_written")  # fmt: skip


def settings_of(request: str) -> dict[str, int | str]:
    words = (word.partition("=") for word in request.split()[3:])
    return {name: int(value) if value.isdigit() else value for name, _, value in words}


def trial(
    request: str,
    *,
    clock: Callable[[], int],
    durations_ns: Callable[[int], Sequence[int]],
    operations: int = 1000,
    used: int = 0,
    metrics: Sequence[str] = ("time",),
    points: Sequence[int | None] = (None,),
    moved: int | None = None,
    status: str = "ok",
    reason: str | None = None,
) -> Iterator[Record]:
    """The records that answer the request, each made when it is asked for. `durations_ns` says what batches
    take, of that many operations, at each of the `points` of a curve. Where the request does not say how many
    a batch has, it has `operations`; `used` is how many there were in all, at least."""
    _, name, workload, *_ = request.split()
    asked = settings_of(request)
    copies, done = int(asked.get("copies", 1)), int(asked.get("operations", operations))
    began = clock()  # a copy lives as long as its trial: who asks may wait before the next record
    yield {
        "record": "begin",
        "trial": name,
        "workload": workload,
        "code_sha256": None,
        "parameters": asked,
        "clock_ns": began,
    }
    for copy, metric in [(copy, metric) for copy in range(copies) for metric in metrics] * (status == "ok"):
        batches = 0
        for point in points:
            took = list(durations_ns(done))[: int(asked.get("batches", 20))]
            took += took[-1:] * (int(asked.get("batches", 20)) - len(took)) * ("operations" in asked)
            batches += len(took)
            yield {
                "record": "samples",
                "copy": copy,
                "metric": metric,
                "unit": "ns",
                "point": point,
                "bytes": moved,
                "faults_major": 0,
                "operations": done,
                "durations_ns": took,
                "code_sha256": None,
            }
        yield {
            "record": "usage",
            "copy": copy,
            "metric": metric,
            "operations": max(used, done * batches),
            **dict.fromkeys(_USED, 5000),
        }
    lives = [
        {
            "copy": copy,
            "asked_ns": began,
            "start_ns": began,
            "end_ns": clock(),
            "status": status,
            "signal": None,
        }
        for copy in range(copies)
    ]
    yield {"record": "processes", "trial": name, "processes": lives}
    yield {
        "record": "end",
        "trial": name,
        "status": status,
        "reason": reason,
        "signal": None,
        "clock_ns": clock(),
    }
