"""Draws the progress of a run on a terminal: the answer so far, the findings, the current work, the time.

The machine that draws is also the one that is measured. So the screen is drawn only on request, is laid out
only at looks, and takes a limited share of the time.
"""

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from steelyard import interruption, standstill
from steelyard.quantities import clock_text
from steelyard.report import answers
from steelyard.report.answers import Answer, Finding
from steelyard.report.console import STYLES
from steelyard.running.progress import BOOTING, COUNTING, FIRST, SETTLING, STARTING, RunState
from steelyard.words import wording

_EVERY_S = 0.25  # no sooner than that after the last time ...
_SHARE = 0.005  # ... nor so soon that drawing takes more of the time; finding out what to say, as much again
_HEAD_LINES = 3
_CARE_LINES = 2  # at most
_SENTENCE_LINES = 6  # at most; the report has all of it
_WHOLE_FROM = 20  # lower terminals leave the figure over everything to the report
_INTERVALS_FROM = 72  # narrower terminals leave intervals to the report
_PHRASE_LEAST = 12
_DOING_SHORT = {
    STARTING: "starting",
    FIRST: "first blocks",
    SETTLING: "settling",
    BOOTING: "boots",
    COUNTING: "counting",
}

Line = Sequence[Segment]


class Screen:
    """The lower part of a terminal, for as long as the context lasts; nothing of it stays."""

    def __init__(
        self,
        state: RunState,
        *,
        know: Callable[[], tuple[Answer, ...]],
        console: Console,
        clock: Callable[[], float] = standstill.clock,
    ) -> None:
        """`know` finds out what can be said since the last look."""
        self.drawing_s, self.drawn = 0.0, 0  # what it has cost, and how often
        self.knowing_s, self.known = 0.0, 0
        self._know = know
        self._state = state
        self._console = console
        self._clock = clock
        self._answers: tuple[Answer, ...] = ()
        self._body: list[Line] = []
        self._size = (0, 0)
        self._is_stale = False
        self._next = self._next_known = 0.0
        self._live = Live(self, console=console, transient=True, auto_refresh=False)

    def __enter__(self) -> "Screen":
        self._size = self._console.size
        try:
            with standstill.undivided(), interruption.deferred():
                self._live.start()
            self.draw()
        except BaseException:
            self.leave()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        with standstill.undivided(), interruption.deferred():
            self._live.stop()

    def leave(self) -> None:
        """Gives the terminal back, with its cursor, until it is taken again."""
        with interruption.deferred():
            self._live.stop()

    def take_again(self) -> None:
        self._size, self._body = self._console.size, []
        with interruption.deferred():
            self._live.start()
            self._live.refresh()

    def look(self) -> None:
        """There are new results."""
        self._is_stale = True

    def draw_if_due(self) -> None:
        """Redraw, unless that was done just now."""
        if self._clock() >= self._next:
            self.draw()

    def draw(self) -> None:
        with standstill.undivided():
            self._draw()

    def _draw(self) -> None:
        if self._is_stale and self._clock() >= self._next_known:
            self._find_out()
        begun = self._clock()
        size = self._console.size
        if size != self._size:
            # If a terminal rewraps long lines, the start of the old picture is unknown.
            if size.width < self._size[0] or size.height < self._size[1]:
                self._console.clear()
            self._size, self._body = size, []
        with interruption.deferred():
            # What rich drew last is known before it is written: interrupted in between, it would erase lines
            # above the picture.
            self._live.refresh()
        now = self._clock()
        self.drawing_s, self.drawn = self.drawing_s + now - begun, self.drawn + 1
        self._next = now + max(_EVERY_S, (now - begun) / _SHARE)

    def _find_out(self) -> None:
        begun = self._clock()
        self._answers, self._body, self._is_stale = self._know(), [], False
        now = self._clock()
        self.knowing_s, self.known = self.knowing_s + now - begun, self.known + 1
        self._next_known = now + (now - begun) / _SHARE

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """A line less than there is room for, and a column: so nothing scrolls, and no line is broken."""
        height = console.height - 1
        width = console.width - 1
        options = options.update(width=width, height=None, no_wrap=True, overflow="ellipsis")
        head = [self._line(console, options, text) for text in self._head(width)]
        if not self._body:
            self._body = list(self._lines(console, options, height - len(head)))
        for line in (head + self._body)[:height]:
            yield from line
            yield Segment.line()

    def _line(self, console: Console, options: ConsoleOptions, text: Text) -> Line:
        lines = console.render_lines(text, options, pad=False)
        return lines[0] if lines else []

    def _head(self, width: int) -> Iterable[Text]:
        """The subject, the progress, the current work, and the use of the time."""
        now = self._state
        others = ", ".join(now.plan.systems[1:])
        against = f" against {now.plan.systems[0]}" if others else ""
        times = f"{clock_text(now.spent_s)} of {clock_text(now.budget_s)}"
        left = f", {clock_text(now.left_s)} left"
        title = f"{now.plan.study.name}: {others or now.plan.systems[0]}{against}"
        if len(title) + len(times) + len(left) + 2 <= width:
            times += left
        room = max(8, width - len(times) - 2)
        title = title if len(title) <= room else f"{title[: room - 1]}…"
        yield Text.assemble((title, "bold"), " " * max(2, width - len(title) - len(times)), times)
        settled = f"{now.pairs_settled} of {now.pairs} settled; " if now.pairs else ""
        yield Text(f"{settled}{now.doing}{f': {now.where}' if now.where else ''}")
        spent = ", ".join(
            f"{_DOING_SHORT[what]} {clock_text(seconds)}" for what, seconds in now.spent_on() if seconds >= 1
        )
        yield Text(f"time so far: {spent}" if spent else "", style="dim")

    def _lines(self, console: Console, options: ConsoleOptions, room: int) -> Iterable[Line]:
        """The answers, each with the same share of the lines."""
        if not self._answers:
            yield []
            yield self._line(console, options, Text("Nothing is known before the first two blocks."))
            return
        share = max(1, room // len(self._answers))
        for answer in self._answers:
            yield from self._of_one(console, options, answer, share)

    def _of_one(self, console: Console, options: ConsoleOptions, answer: Answer, room: int) -> Iterable[Line]:
        """An empty line, the sentence, and as many findings as there is room for; what is the same and what
        is not settled in a line each."""
        wrapped = options.update(no_wrap=False, overflow="fold")
        said = [Text(line, style="bold") for line in answer.sentence.splitlines()]
        most = max(1, min(_SENTENCE_LINES, room - 1))
        lines: list[Line] = [[]]
        if answer.care:
            care = Text(answer.care.short, style="yellow")
            lines += console.render_lines(care, wrapped, pad=False)[:_CARE_LINES]
        lines += [line for one in said for line in console.render_lines(one, wrapped, pad=False)][:most]
        if answer.whole and room >= _WHOLE_FROM - _HEAD_LINES - 1:
            lines.append(self._line(console, options, Text(answer.whole)))
        rest = [
            self._line(console, options, Text.assemble((f"{title}: ", "bold"), text))
            for title, text in answer.rest
        ]
        left = room - len(lines)
        if answer.findings and left >= 3:
            with_rest = left - len(rest) >= 4
            lines += self._findings(console, options, answer.findings, left - (len(rest) if with_rest else 0))
        yield from (lines + rest)[:room]

    def _findings(
        self, console: Console, options: ConsoleOptions, findings: Sequence[Finding], room: int
    ) -> list[Line]:
        """An empty line, and a line each; the last one counts those that there is no room for."""
        shown = findings if len(findings) < room else findings[: max(1, room - 2)]
        sizes = [
            f"{one.size} {one.interval}".rstrip() if options.max_width >= _INTERVALS_FROM else one.size
            for one in shown
        ]
        phrase = max(_PHRASE_LEAST, options.max_width - max(map(len, sizes)) - 4)
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=phrase)
        table.add_column(no_wrap=True, overflow="ellipsis")
        for one, size in zip(shown, sizes, strict=True):
            style = STYLES[one.verdict]
            label = answers.labelled(one, phrase - 2)
            table.add_row(Text.assemble((wording.MARKS[one.verdict], style), " ", label), Text(size, style))
        lines: list[Line] = [[], *console.render_lines(table, options, pad=False)]
        if more := len(findings) - len(shown):
            lines.append(self._line(console, options, Text(f"  and {more} more", style="dim")))
        return lines
