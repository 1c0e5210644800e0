"""Shows a running measurement: as a screen at a terminal, as a line per look elsewhere, and as a page."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from steelyard import destination, events, interruption, standstill
from steelyard.analysis.interim import Judge
from steelyard.analysis.model import Comparison
from steelyard.errors import Ended, in_words
from steelyard.events import Outcome
from steelyard.quantities import clock_text, number_of
from steelyard.report import answers
from steelyard.report.answers import Answer
from steelyard.report.screen import Screen
from steelyard.running import order, runner
from steelyard.running.progress import MakeOnlooker, RunState
from steelyard.study.plan import Plan
from steelyard.terminal import Console
from steelyard.text import quoted, shortened
from steelyard.words import care, wording

if TYPE_CHECKING:
    from steelyard.report.so_far import PageSoFar

_LINE_S = 4.5
_NAMED = 2  # of what is new, in a line
_SENTENCE_MOST = 600  # characters
_EARLY_TRIALS = 40  # after each of these the machine's state is looked at, and later after a round


class ShownSoFar:
    """Writes to standard error, and to the page's file. Use it as a context."""

    def __init__(
        self,
        plan: Plan,
        judge: Judge,
        *,
        html: Path | None = None,
        console: Console | None = None,
        clock: Callable[[], float] = standstill.clock,
    ) -> None:
        self.state = RunState(plan, judge, clock=clock)
        self._console = console or Console(stderr=True, soft_wrap=True)
        self._clock = clock
        self.screen: Screen | None = None
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self.screen = Screen(self.state, know=self._know, console=self._console, clock=clock)
        self.page: PageSoFar | None = None
        if html and destination.is_file(html):  # what is no file takes the page at its end alone
            from steelyard.report import so_far  # imports charts, and only for this

            self.page = so_far.PageSoFar(html, self.state, clock=clock)
        self._terminal = ExitStack()
        self._complained: set[tuple[str, str]] = set()
        self._boots: set[str] = set()  # systems whose machines are booted
        self._is_written = False
        self._next_line = 0.0

    def __enter__(self) -> "ShownSoFar":
        plan = self.state.plan
        self._say(
            f"{plan.study.name} on {', '.join(plan.systems)}; at most {clock_text(self.state.budget_s)}; "
            f"seed {plan.seed}; experiment {self.state.judge.experiment.name}"
        )
        for sentence in order.reboots(plan):
            self._say(sentence)
        if self.screen:
            self._terminal.enter_context(self.screen)
            self._terminal.enter_context(
                standstill.leaving_terminal(self.screen.leave, self.screen.take_again)
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._terminal.close()
        if kind is KeyboardInterrupt:
            self._say(
                "stopped; this is the interim result. It is kept; run the same command again to resume."
            )
        elif kind is Ended:
            self._say(
                "stopped; what was measured is kept. Run the same command again to resume; "
                "steelyard report shows what there is."
            )
        if kind is not None and self.page and self._is_written:
            self._try_to_write(self.page, self.page.stop)

    def begins(self, what: str, system: str) -> None:
        self.state.begins(what, system)
        if self.screen:
            self.screen.draw()

    def progress(self, now: runner.Progress) -> None:
        self.state.progress(now)
        if self.screen:
            self.screen.draw_if_due()

    def event(self, event: events.Event) -> None:
        """Says what people should know at once: the first failure of its kind. A look is shown."""
        if isinstance(event, events.Look):
            self._look()
        elif isinstance(event, events.Switching):
            self._boots.add(event.system)
            self.state.boots += 1
        elif isinstance(event, events.Unbooted):
            if event.system in self._boots:
                self._say(f"{event.system} did not come up: {event.reason}")
            else:
                self.state.absent.add(event.system)
                self._say(f"{event.system} is left out; the others are compared: {event.reason}")
        elif isinstance(event, events.Started) and event.system in self._boots and not self.screen:
            self._say(f"{event.system} started in {event.start_s:.0f} s")
        elif isinstance(event, events.Watched):
            self._say_of_watch(event)
        elif isinstance(event, events.Stood):
            self._say(
                f"the laboratory {event.reason} for {clock_text(event.stopped_s)}: that time does not "
                "count against the budget, and the interrupted trial is repeated"
            )
        elif isinstance(event, Outcome):
            self._say_of_outcome(event)

    def _say_of_outcome(self, event: Outcome) -> None:
        """Says the first failure of its kind; what the machine lacks, as soon as that is known."""
        self.state.ended(event)
        if self.state.trials < _EARLY_TRIALS:
            self._say_of_machine()
        if event.status != "ok":
            what = (event.trial.system, event.trial.cell.label)
            if what not in self._complained:
                self._complained.add(what)
                self._say(f"{what[1]} {event.status} on {what[0]}: {event.reason or 'no reason given'}")

    def _say_of_machine(self) -> None:
        """Says each condition once."""
        state = self.state.state()
        kinds = [one.kind for one in state.conditions] if state else []
        new = [kind for kind in kinds if ("machine", kind) not in self._complained]
        if not new:
            return
        self._complained |= {("machine", kind) for kind in new}
        told = care.of(state, unsettled=0, metrics=0)
        if told:
            self._say(f"{care.LEAD[0].lower()}{care.LEAD[1:]}: {told.text}")

    def _look(self) -> None:
        self.state.look()
        self._say_of_machine()
        if self.screen:
            self.screen.look()
            self.screen.draw_if_due()
        else:
            self._say_line()
        if self.page and self.page.is_due():
            self._try_to_write(self.page, self.page.write)

    def _know(self) -> tuple[Answer, ...]:
        return answers.all_of(self.state.judge.evaluation())

    def _try_to_write(self, page: "PageSoFar", write: Callable[[], None]) -> None:
        """Write the page at a look. It is a convenience: the run continues without it."""
        try:
            write()
            self._is_written = True
        except OSError as error:
            if ("page", "") not in self._complained:
                self._complained.add(("page", ""))
                self._say(f"cannot write the page {quoted(page.path)}: {in_words(error)}")

    def _say_line(self) -> None:
        """A line a look; where looks come faster than people read, only those with news, and one at times."""
        now = self.state
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
            trials = now.judge.observations.trials
            self._say(f"{when}, {number_of(trials, 'trial')}")

    def _boots_told(self) -> str:
        """The number of boots of machines, and how many more the budget allows."""
        now = self.state
        if not now.boots:
            return ""
        more = int(now.left_s / max(1.0, now.spent_s / now.boots))
        return f", {number_of(now.boots, 'boot')}, {more} more at most"

    def _newest(self, news: Sequence[Comparison]) -> str:
        if not news:
            return ""
        many = len(self.state.plan.systems) > 2
        named = []
        for one in news[:_NAMED]:
            assert one.ratio is not None
            size = answers.size_of(one)
            system = f"{one.system}: " if many else ""
            named.append(f"{system}{wording.label(one.cell, one.metric)} {size}")
        more = f" and {len(news) - _NAMED} more" if len(news) > _NAMED else ""
        return f"; newest: {', '.join(named)}{more}"

    def _say_of_watch(self, event: events.Watched) -> None:
        """Once per system and detail: its calls are being counted, or the reason why not."""
        if (event.system, event.detail) in self._complained:
            return
        self._complained.add((event.system, event.detail))
        if event.why is not None:
            what = "accounted for" if event.detail == events.LIFE else "accounted for call by call"
            self._say(f"{event.system} is not {what}: {event.why}")
        elif event.detail == events.CALLS and not self.screen:
            self._say(f"counting the system calls of {event.system}")

    def _say(self, sentence: str) -> None:
        with standstill.undivided(), interruption.deferred():
            self._console.print(shortened(f"steelyard: {sentence}", _SENTENCE_MOST))


def onlooker(html: Path | None) -> MakeOnlooker:
    """The display of a run, with a page at that path if there is one."""
    return lambda plan, judge: ShownSoFar(plan, judge, html=html)
