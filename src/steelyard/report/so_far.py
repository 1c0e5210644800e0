"""Writes a page with the interim result during a run: it says so, and reloads itself until the run ends."""

import time
from collections.abc import Callable
from pathlib import Path

from steelyard import destination
from steelyard.analysis.model import Evaluation
from steelyard.drawing import charts
from steelyard.quantities import clock_text
from steelyard.report import answers, template
from steelyard.running.progress import RunState
from steelyard.words import wording

_SHARE = 0.02  # of the time, at most
_RELOAD_S = 10


class PageSoFar:
    """The page of a run in progress. It has no charts: drawing them takes seconds."""

    def __init__(self, path: Path, state: RunState, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.writing_s, self.written = 0.0, 0  # what it has cost, and how often
        self.path = path
        self._state = state
        self._clock = clock
        self._next = 0.0

    def is_due(self) -> bool:
        """True if writing the page again stays within its share of the time."""
        return self._clock() >= self._next

    def write(self) -> None:
        """Writes the page, whole or not at all. Raises OSError."""
        begun = self._clock()
        destination.write(self.path, html(self._state.judge.evaluation(), self._state))
        now = self._clock()
        self.writing_s, self.written = self.writing_s + now - begun, self.written + 1
        self._next = now + (now - begun) / _SHARE

    def stop(self) -> None:
        """The last page of a run that is not reported any more: it waits for nothing. Raises OSError."""
        evaluation = self._state.judge.evaluation()
        destination.write(self.path, html(evaluation, self._state, is_over=True))


def html(evaluation: Evaluation, state: RunState, *, is_over: bool = False) -> str:
    """The whole page."""
    header = evaluation.experiment.header
    spent = f"{clock_text(state.spent_s)} of {clock_text(state.budget_s)}"
    others = list(evaluation.others)
    shown = {
        "header": header,
        "version": header.get("steelyard", ""),
        "title": wording.title(others or [evaluation.baseline], evaluation.baseline if others else None),
        "others": others,
        "reload_s": None if is_over else _RELOAD_S,
        "state": f"Stopped after {spent}." if is_over else f"Still being measured: {spent}.",
        "settled": f"{state.pairs_settled} of {state.pairs} settled" if state.pairs else "",
        "doing": f"{state.doing}: {state.where}" if state.where else state.doing,
        "answers": answers.all_of(evaluation),
        "care": answers.care_of(evaluation),
        "evaluation": evaluation,
        "comparisons": [one for one in evaluation.comparisons if one.verdict in wording.MARKS and one.ratio],
        "verdicts": charts.VERDICTS,
        "label": wording.label,
    }
    filters: dict[str, Callable[..., str]] = {"factor": wording.factor, "interval": wording.interval}
    return template.render_plain("so_far.html", shown, filters=filters)
