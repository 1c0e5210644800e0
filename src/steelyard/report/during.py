"""Shows a run that goes on: as a screen at a terminal, as a line a look elsewhere, and as a page."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from steelyard import events
from steelyard.analysis.model import Comparison
from steelyard.analysis.standing import Judge
from steelyard.errors import Ended
from steelyard.events import Outcome
from steelyard.quantities import clock_text
from steelyard.report import answers
from steelyard.report.answers import Answer
from steelyard.report.screen import Screen
from steelyard.running import allocation, order, runner
from steelyard.running.progress import MakeOnlooker, RunState
from steelyard.study.plan import Plan
from steelyard.terminal import Console
from steelyard.text import shortened
from steelyard.words import wording

if TYPE_CHECKING:
    from steelyard.report.so_far import PageSoFar

_LINE_S = 0.9 * allocation.ROUND_S
_NAMED = 2  # of what is new, in a line
_SENTENCE_MOST = 600  # characters


class Shown:
    """Writes to standard error, and to the page's file. Use it as a context."""

    def __init__(
        self,
        plan: Plan,
        judge: Judge,
        *,
        html: Path | None = None,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.standing = RunState(plan, judge, clock=clock)
        self._console = console or Console(stderr=True, soft_wrap=True)
        self._clock = clock
        self.screen: Screen | None = None
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self.screen = Screen(self.standing, know=self._know, console=self._console, clock=clock)
        self.page: PageSoFar | None = None
        if html:
            from steelyard.report import so_far  # imports charts, and only for this

            self.page = so_far.PageSoFar(html, self.standing, clock=clock)
        self._complained: set[tuple[str, str]] = set()
        self._boots: set[str] = set()  # systems whose machines are booted
        self._is_written = False
        self._next_line = 0.0

    def __enter__(self) -> "Shown":
        plan = self.standing.plan
        self._say(
            f"{plan.study.name} on {', '.join(plan.systems)}; at most {clock_text(self.standing.budget_s)}; "
            f"seed {plan.seed}; experiment {self.standing.judge.experiment.name}"
        )
        for sentence in order.reboots(plan):
            self._say(sentence)
        if self.screen:
            self.screen.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.screen:
            self.screen.__exit__(kind, error, trace)
        if kind is KeyboardInterrupt:
            self._say(
                "stopped; this is what is known by now. It is kept, and the same command goes on from here."
            )
        elif kind is Ended:
            self._say(
                "stopped; what was measured is kept. The same command goes on from here, and "
                "steelyard report shows what there is."
            )
        if kind is not None and self.page and self._is_written:
            self._try_to_write(self.page.stop)

    def begins(self, what: str, system: str) -> None:
        self.standing.begins(what, system)
        if self.screen:
            self.screen.draw()

    def progress(self, now: runner.Progress) -> None:
        self.standing.progress(now)
        if self.screen:
            self.screen.draw_if_due()

    def event(self, event: events.Event) -> None:
        """Says what people should know at once: the first failure of its kind. A look is shown."""
        if isinstance(event, events.Look):
            self._look()
        elif isinstance(event, events.Switching):
            self._boots.add(event.system)
            self.standing.boots += 1
        elif isinstance(event, events.Unbooted):
            self._say(f"{event.system} did not come up: {event.reason}")
        elif isinstance(event, events.Started) and event.system in self._boots and not self.screen:
            self._say(f"{event.system} is up, {event.start_s:.0f} s after it was asked for")
        elif isinstance(event, events.Watched):
            self._say_of_watch(event)
        elif isinstance(event, Outcome) and event.status != "ok":
            what = (event.trial.system, event.trial.cell.label)
            if what not in self._complained:
                self._complained.add(what)
                self._say(f"{what[1]} {event.status} on {what[0]}: {event.reason or 'no reason given'}")

    def _look(self) -> None:
        self.standing.look()
        if self.screen:
            self.screen.look()
            self.screen.draw_if_due()
        else:
            self._say_line()
        if self.page and self.page.is_due():
            self._try_to_write(self.page.write)

    def _know(self) -> tuple[Answer, ...]:
        return answers.all_of(self.standing.judge.weighing())

    def _try_to_write(self, write: Callable[[], None]) -> None:
        """The page at a look is for convenience: the run goes on without it."""
        try:
            write()
            self._is_written = True
        except OSError as error:
            if ("page", "") not in self._complained:
                self._complained.add(("page", ""))
                self._say(f"the page cannot be written now: {error.strerror}")

    def _say_line(self) -> None:
        """A line a look; where looks come faster than people read, only those with news, and one at times."""
        now = self.standing
        news = [one for one in now.news() if answers.counts(one, now.judge.experiment.header)]
        if not news and self._clock() < self._next_line:
            return
        self._next_line = self._clock() + _LINE_S
        when = f"{clock_text(now.spent_s)} of {clock_text(now.budget_s)}"
        if now.pairs:
            self._say(
                f"{when}{self._boots_told()}, {now.pairs_settled} of {now.pairs} settled{self._newest(news)}"
            )
        else:
            self._say(f"{when}, {now.judge.observations.trials if now.judge.observations else 0} trials")

    def _boots_told(self) -> str:
        """How many boots of machines there were, and how many more the budget holds at most."""
        now = self.standing
        if not now.boots:
            return ""
        more = int(now.left_s / max(1.0, now.spent_s / now.boots))
        return f", {now.boots} boots, {more} more at most"

    def _newest(self, news: Sequence[Comparison]) -> str:
        if not news:
            return ""
        many = len(self.standing.plan.systems) > 2
        named = []
        for one in news[:_NAMED]:
            assert one.ratio is not None
            size = answers.size_of(one)
            system = f"{one.system}: " if many else ""
            named.append(f"{system}{wording.label(one.cell, one.metric)} {size}")
        more = f" and {len(news) - _NAMED} more" if len(news) > _NAMED else ""
        return f"; newest: {', '.join(named)}{more}"

    def _say_of_watch(self, event: events.Watched) -> None:
        """Once a system and detail: that its calls are being counted, or why it is not accounted for."""
        if (event.system, event.detail) in self._complained:
            return
        self._complained.add((event.system, event.detail))
        if event.why is not None:
            what = "accounted for" if event.detail == events.LIFE else "accounted for call by call"
            self._say(f"{event.system} is not {what}: {event.why}")
        elif event.detail == events.CALLS and not self.screen:
            self._say(f"counting the system calls of {event.system}")

    def _say(self, sentence: str) -> None:
        self._console.print(shortened(f"steelyard: {sentence}", _SENTENCE_MOST))


def onlooker(html: Path | None) -> MakeOnlooker:
    """Who shows a run while it goes on, with a page at that path if there is one."""
    return lambda plan, judge: Shown(plan, judge, html=html)
