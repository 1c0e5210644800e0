"""Shows people how far an experiment has come: a bar on a terminal, a line a block elsewhere."""

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from steelyard import accounting, runner
from steelyard.plan import Plan
from steelyard.records import Outcome


def clock_text(seconds: float) -> str:
    """Minutes and seconds, such as 3:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Reporter:
    """Writes to standard error only. Use it as a context."""

    def __init__(self, plan: Plan, name: str) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._budget_s = plan.study.design.budget_s
        self._round = -1
        self._complained: set[tuple[str, str]] = set()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[where]}"),
            console=self._console,
            transient=True,
            auto_refresh=False,  # nobody draws while a trial runs: only before one
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("starting", total=self._budget_s, where="")
        self._console.print(
            f"steelyard: {plan.study.name} on {', '.join(plan.systems)}; at most "
            f"{clock_text(self._budget_s)}; seed {plan.seed}; experiment {name}",
            markup=False,
        )

    def __enter__(self) -> "Reporter":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        if kind is KeyboardInterrupt:
            self._console.print(
                "steelyard: stopped; what was measured is kept. The same command goes on from here, and "
                "steelyard report shows what there is.",
                markup=False,
            )

    def progress(self, now: runner.Progress) -> None:
        """Takes note of the trial that is about to begin."""
        left = clock_text(now.left_s)
        self._bar.update(
            self._task,
            description=f"{now.pairs - now.open_pairs} of {now.pairs} settled, {left} left",
            completed=min(now.spent_s, self._budget_s),
            where=f"{now.position + 1}/{now.trials} {now.trial.system}: {now.trial.cell.label}",
        )
        if self._bar.disable and now.round != self._round:
            self._console.print(
                f"steelyard: round {now.round + 1}, {now.trials} trials, "
                f"{now.pairs - now.open_pairs} of {now.pairs} settled, {left} left"
            )
        self._bar.refresh()
        self._round = now.round

    def event(self, event: runner.Event) -> None:
        """Says what people should know at once: the first failure of its kind."""
        if isinstance(event, runner.Watched):
            self._say_of_watch(event)
        if isinstance(event, Outcome) and event.status != "ok":
            what = (event.trial.system, event.trial.cell.label)
            if what not in self._complained:
                self._complained.add(what)
                self._console.print(
                    f"steelyard: {what[1]} {event.status} on {what[0]}: {event.reason or 'no reason given'}",
                    markup=False,
                )

    def _say_of_watch(self, event: runner.Watched) -> None:
        """Once a system and detail: that its calls are being counted, or why it is not accounted for."""
        if (event.system, event.detail) in self._complained:
            return
        self._complained.add((event.system, event.detail))
        if event.why is not None:
            what = "accounted for" if event.detail == accounting.LIFE else "accounted for call by call"
            self._console.print(f"steelyard: {event.system} is not {what}: {event.why}", markup=False)
        elif event.detail == accounting.CALLS:
            self._console.print(f"steelyard: counting the system calls of {event.system}", markup=False)
