"""Writes a page of what is known while it is measured: it says so, and loads itself anew until it is over."""

import time
from collections.abc import Callable
from pathlib import Path

from steelyard.analysis.model import Weighing
from steelyard.drawing import charts
from steelyard.quantities import clock_text
from steelyard.report import answers, template
from steelyard.running.progress import RunState
from steelyard.words import wording

_SHARE = 0.02  # of the time, at most
_RELOAD_S = 10


class PageSoFar:
    """The page at a path, of a run that goes on. It has no charts: drawing them takes seconds."""

    def __init__(
        self, path: Path, standing: RunState, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.writing_s, self.written = 0.0, 0  # what it has cost, and how often
        self._path = path
        self._standing = standing
        self._clock = clock
        self._next = 0.0

    def is_due(self) -> bool:
        """Whether writing the page once more would leave it within its share of the time."""
        return self._clock() >= self._next

    def write(self) -> None:
        """Writes the page, whole or not at all. Raises OSError."""
        begun = self._clock()
        template.write(self._path, html(self._standing.judge.weighing(), self._standing))
        now = self._clock()
        self.writing_s, self.written = self.writing_s + now - begun, self.written + 1
        self._next = now + (now - begun) / _SHARE

    def stop(self) -> None:
        """The last page of a run that is not reported any more: it waits for nothing. Raises OSError."""
        weighing = self._standing.judge.weighing()
        template.write(self._path, html(weighing, self._standing, is_over=True))


def html(weighing: Weighing, standing: RunState, *, is_over: bool = False) -> str:
    """The whole page."""
    header = weighing.experiment.header
    spent = f"{clock_text(standing.spent_s)} of {clock_text(standing.budget_s)}"
    others = [name for name in header["systems"] if name != weighing.baseline]
    shown = {
        "header": header,
        "version": header.get("steelyard", ""),
        "title": wording.title(others or [weighing.baseline], weighing.baseline if others else None),
        "others": others,
        "reload_s": None if is_over else _RELOAD_S,
        "state": f"Stopped after {spent}." if is_over else f"Still being measured: {spent}.",
        "settled": f"{standing.pairs_settled} of {standing.pairs} settled" if standing.pairs else "",
        "doing": f"{standing.doing}: {standing.where}" if standing.where else standing.doing,
        "answers": answers.all_of(weighing),
        "weighing": weighing,
        "comparisons": [one for one in weighing.comparisons if one.verdict in wording.MARKS and one.ratio],
        "verdicts": charts.VERDICTS,
        "label": wording.label,
    }
    filters: dict[str, Callable[..., str]] = {"factor": wording.factor, "interval": wording.interval}
    return template.render_plain("so_far.html", shown, filters=filters)
