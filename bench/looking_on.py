"""Measures what showing a run costs while it is measured: the screen, finding out what to say, the page, and
judging.

    python bench/looking_on.py [BUDGET [SYSTEM SYSTEM ...]]

Runs the standard study (default: 60s, native native-musl) into an archive of its own, with a screen of 80
columns by 24 lines that is not shown and a page; prints what each took, and which share of the run that is.
"""

import io
import sys
import tempfile
import time
from pathlib import Path

import machine

from steelyard.analysis import interim
from steelyard.analysis.interim import Judge
from steelyard.analysis.model import Interim
from steelyard.quantities import parse_duration
from steelyard.report.during import ShownSoFar
from steelyard.running import experiment, order
from steelyard.study.plan import Plan
from steelyard.terminal import Console


class Counted(io.StringIO):
    """A terminal that counts what is written to it."""

    characters = 0

    def write(self, text: str) -> int:
        self.characters += len(text)
        return len(text)


def main() -> None:
    budget, *systems = sys.argv[1:] or ["60s"]
    judging_s: list[float] = []
    judge = interim.Judge.__call__

    def timed(one: Judge) -> Interim:
        begun = time.perf_counter()
        found = judge(one)
        judging_s.append(time.perf_counter() - begun)
        return found

    setattr(interim.Judge, "__call__", timed)  # noqa: B010
    file = Counted()
    console = Console(file=file, width=80, height=24, force_terminal=True)
    made: list[ShownSoFar] = []
    with tempfile.TemporaryDirectory() as folder:

        def onlooker(plan: Plan, judge: Judge) -> ShownSoFar:
            made.append(ShownSoFar(plan, judge, html=Path(folder) / "page.html", console=console))
            return made[0]

        names = tuple(systems or ("native", "native-musl"))
        wanted = order.Order("standard", names, (), parse_duration(budget), 1, archive=Path(folder))
        begun = time.perf_counter()
        experiment.carry_out(wanted, order.plan_of(wanted), onlooker)
        took = time.perf_counter() - begun
    seen = made[0]
    assert seen.screen is not None
    assert seen.page is not None
    print(machine.describe())
    print(f"{took:.1f} s, {file.characters} characters to the terminal")
    for what, many, seconds in (
        ("drawing", seen.screen.drawn, seen.screen.drawing_s),
        ("finding out what to say", seen.screen.known, seen.screen.knowing_s),
        ("writing the page", seen.page.written, seen.page.writing_s),
        ("judging", len(judging_s), sum(judging_s)),
    ):
        each = f"{1000 * seconds / many:.1f} ms each" if many else ""
        print(f"{what:24} {many:5} times {seconds:7.3f} s {seconds / took:7.2%} {each}")


if __name__ == "__main__":
    main()
