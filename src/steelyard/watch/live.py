"""Turns a tally into a screen that shows what has happened since it was last looked at."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from steelyard import interruption, standstill
from steelyard.errors import UsageError
from steelyard.quantities import count, digits, size_bytes, time_ns
from steelyard.terminal import Console
from steelyard.text import shown
from steelyard.watch import figures
from steelyard.watch.model import Record
from steelyard.watch.tally import Sums, Totals, cpu_ns, total

_UNKNOWN = "–"
_CALLS_MOST = 8
_ROWS_LEAST = 3
# after this number of looks without a reading, nothing happened: the reading is not just late
_IDLE_LOOKS = 2

Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LiveRow:
    """A running process: its share of one processor, and changes per second; None: not seen."""

    pid: int
    program: str
    cpu: float | None
    user: float | None
    system: float | None
    faults: float | None
    switches: float | None
    read_bytes: float | None
    written_bytes: float | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Scene:
    """The contents of a screen: all processes together per second, the running ones, the busiest first, and
    calls by type per second with their errors.
    """

    running: int
    ends: int
    rates: Mapping[str, float] = field(default_factory=dict)
    rows: tuple[LiveRow, ...] = ()
    calls: tuple[tuple[str, float, float], ...] = ()


class Scenes:
    """Tells from one look at a tally to the next what has changed."""

    def __init__(self, tally: Totals) -> None:
        self._tally = tally
        self._at_ns = 0
        self._moments = 0
        self._processes: dict[Key, dict[str, float]] = {}
        self._whole = Sums()
        self._idle = 0
        self._last = Scene(0, 0)

    def next(self) -> Scene:
        """The changes since the last reading that was shown, or the same again if there is no newer one."""
        with self._tally.lock:
            moved_ns = self._tally.read_ns - self._at_ns if self._at_ns else 0
            self._idle = 0 if moved_ns > 0 else self._idle + 1
            if moved_ns <= 0 and self._at_ns and self._idle < _IDLE_LOOKS:
                return self._last
            seconds = self._passed_ns(max(moved_ns, 0)) / 1e9
            whole = total(self._tally.programs.values())
            rows = [self._row(key, seconds) for key in self._tally.running]
            calls = [
                (name, rate, _rate(whole.errors.get(name, 0), self._whole.errors.get(name, 0), seconds))
                for name, value in whole.calls.items()
                if (rate := _rate(value, self._whole.calls.get(name, 0), seconds))
            ]
            self._last = Scene(
                running=len(self._tally.running),
                ends=self._tally.ends,
                rates={
                    name: _rate(value, self._whole.figures.get(name, 0), seconds)
                    for name, value in whole.figures.items()
                },
                rows=tuple(sorted(rows, key=lambda row: (-(row.cpu or 0), row.pid))),
                calls=tuple(sorted(calls, key=lambda one: (-one[1], one[0]))),
            )
            if seconds or not self._at_ns:
                self._at_ns, self._moments = self._tally.read_ns, self._tally.moments
                self._whole = whole
                self._processes = {key: dict(one.now.figures) for key, one in self._tally.running.items()}
            return self._last

    def _passed_ns(self, moved_ns: int) -> float:
        """The time covered by the new readings, without intervals in which nothing changed."""
        every_ns = self._tally.head.every_ns if self._tally.head else None
        most_ns = (self._tally.moments - self._moments) * every_ns if every_ns else moved_ns
        return most_ns if moved_ns > 1.5 * most_ns else moved_ns

    def _row(self, key: Key, seconds: float) -> LiveRow:
        one = self._tally.running[key]
        now, before = one.now.figures, self._processes.get(key, {})

        def rate(*names: str) -> float | None:
            known = [name for name in names if name in now]
            return sum(_rate(now[name], before.get(name, 0), seconds) for name in known) if known else None

        return LiveRow(
            pid=key[0],
            program=one.program or _UNKNOWN,
            cpu=_rate(cpu_ns(now), cpu_ns(before), seconds) / 1e9 if cpu_ns(now) else None,
            user=_scaled(rate(figures.CPU["user"])),
            system=_scaled(rate(figures.CPU["system"])),
            faults=rate(*figures.FAULTS.values()),
            switches=rate(*figures.SWITCHES.values()),
            read_bytes=rate(figures.IO["read"]),
            written_bytes=rate(figures.IO["write"]),
            memory_bytes=one.memory_bytes,
        )


def _rate(now: float, before: float, seconds: float) -> float:
    return max(0.0, now - before) / seconds if seconds > 0 else 0.0


def _scaled(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e9


class LiveScreen:
    """The terminal, for as long as the context lasts; `look` draws it again."""

    def __init__(self, tally: Totals, *, watched: str, console: Console | None = None) -> None:
        """Raises UsageError where there is no terminal."""
        self._tally = tally
        self._scenes = Scenes(tally)
        self._subject = watched
        self._console = console or Console()
        if not self._console.is_terminal:
            raise UsageError(
                "--live is a screen, but standard output is not a terminal; leave it out, or use "
                "--openmetrics"
            )
        self._left = ExitStack()
        self._live = Live(console=self._console, screen=True, auto_refresh=False, transient=True)

    def __enter__(self) -> "LiveScreen":
        try:
            with standstill.undivided(), interruption.deferred():
                self._live.start()
                self._left.callback(self._live.stop)
                self._left.enter_context(standstill.leaving_terminal(self._live.stop, self._live.start))
        except BaseException:
            self._left.close()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        with standstill.undivided(), interruption.deferred():
            self._left.close()

    def look(self, records: Iterable[Record]) -> None:
        """Draws what is known by now. The records themselves are the tally's."""
        with standstill.undivided(), interruption.deferred():
            self._live.update(self._picture(self._scenes.next()), refresh=True)

    def _picture(self, scene: Scene) -> Group:
        calls = scene.calls[:_CALLS_MOST]
        room = self._console.height - 7 - (len(calls) + 3 if calls else 0)
        parts: list[Text | Table] = [
            *self._headed(scene),
            Text(),
            _processes(scene, max(_ROWS_LEAST, room), width=self._console.width),
        ]
        if calls:
            parts += [Text(), _calls(calls, self._what())]
        return Group(*parts)

    def _what(self) -> str:
        detail = self._tally.head.detail if self._tally.head else ""
        return {"profile": "samples", "budget": "calls (estimated)"}.get(detail, "calls")

    def _headed(self, scene: Scene) -> Iterable[Text]:
        head = self._tally.head
        how = f"by {head.backend}, at detail {head.detail}" if head else "starting"
        since = f", for {time_ns(self._tally.read_ns - head.began_ns)}" if head else ""
        heading = f"{shown(self._subject)}: {how}{since}"
        yield Text(heading, style="bold", no_wrap=True, overflow="ellipsis")
        yield Text("; ".join(self._summed(scene)), overflow="fold")

    def _summed(self, scene: Scene) -> Iterable[str]:
        """All processes together, since the last reading."""
        rates = scene.rates
        yield f"{count(scene.running)} running, {count(scene.ends)} ended"
        for words, name in {**figures.CPU, "waiting": "wait_ns"}.items():
            if name in rates:
                yield f"{words} {_percent(rates[name] / 1e9)}"
        for parts, words in ((figures.FAULTS, "faults"), (figures.SWITCHES, "switches")):
            known = [rates[name] for name in parts.values() if name in rates]
            if known:
                yield f"{_per_second(sum(known))} {words}/s"
        if scene.calls:
            yield f"{_per_second(sum(calls for _, calls, _ in scene.calls))} {self._what()}/s"


def _processes(scene: Scene, most: int, *, width: int) -> Table:
    left = len(scene.rows) - most
    more = f"; {count(left)} more" if left > 0 else ""
    table = Table(
        title=f"Most CPU time since the last reading{more}",
        title_justify="left",
        pad_edge=False,
        box=None,
        header_style="bold",
    )
    table.add_column("pid", justify="right", no_wrap=True)
    table.add_column("program", no_wrap=True, max_width=16)
    columns = [one for one in _COLUMNS if width >= one[1]]
    for heading, *_ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in scene.rows[:most]:
        values = ((getattr(row, name), said) for _, _, name, said in columns)
        cells = (_UNKNOWN if value is None else said(value) for value, said in values)
        table.add_row(str(row.pid), Text(shown(row.program)), *cells)
    return table


def _calls(calls: Iterable[tuple[str, float, float]], what: str) -> Table:
    table = Table(pad_edge=False, box=None, header_style="bold")
    table.add_column("system call", no_wrap=True)
    table.add_column(f"{what}/s", justify="right")
    table.add_column("errors/s", justify="right")
    for name, rate, errors in calls:
        table.add_row(Text(shown(name)), _per_second(rate), _per_second(errors) if errors else "")
    return table


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _per_second(rate: float) -> str:
    return count(rate) if rate >= 100 else digits(rate)


def _size(size: float) -> str:
    return size_bytes(round(size))


# What a row says: its heading, from which width of the terminal on, the field, and how that is said.
_COLUMNS: tuple[tuple[str, int, str, Callable[[float], str]], ...] = (
    ("cpu", 0, "cpu", _percent), ("user", 92, "user", _percent), ("system", 92, "system", _percent),
    ("faults/s", 68, "faults", _per_second), ("switches/s", 68, "switches", _per_second),
    ("read/s", 116, "read_bytes", _size), ("written/s", 116, "written_bytes", _size),
    ("memory", 0, "memory_bytes", _size),
)  # fmt: skip
