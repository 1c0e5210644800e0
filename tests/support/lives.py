"""Children of tests/monitor/lives.c, by wait4 and by the monitor."""

from dataclasses import dataclass

from monitor_runs import Record, Watch


@dataclass(frozen=True, slots=True)
class Life:
    """A line of lives.c."""

    pid: int
    kind: str
    status: int
    user_us: int
    system_us: int
    minor: int
    major: int
    voluntary: int
    involuntary: int
    peak_kib: int
    input_blocks: int
    output_blocks: int


def told(watched: Watch) -> list[Life]:
    lines = [line.split() for line in watched.output.splitlines()]
    return [Life(int(pid), kind, *map(int, rest)) for pid, kind, *rest in lines]


def paired(watched: Watch) -> list[tuple[Life, Record]]:
    """Each child by wait4 and by the monitor. A pid may be used again: in the order of their ends."""
    records: dict[int, list[Record]] = {}
    for one in sorted(watched.processes, key=lambda one: one["begin_ns"]):
        if one["generation"] == 1:
            records.setdefault(one["pid"], []).append(one)
    return [(life, records[life.pid].pop(0)) for life in told(watched)]
