"""While a run goes on people are told where it stands, at a cost that is bounded, and nothing of it stays."""

import io
import json
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest
import synthetic
import terminals
from installed_command import Run
from rich.console import Console

from steelyard import interruption
from steelyard.analysis.interim import Judge
from steelyard.analysis.model import Comparison, Evaluation
from steelyard.analysis.model import Interim as Decided
from steelyard.archive.experiments import StoredExperiment
from steelyard.errors import Ended
from steelyard.events import Look, Surroundings
from steelyard.report import answers, so_far
from steelyard.report.answers import Answer, Finding, Open, Same
from steelyard.report.during import ShownSoFar
from steelyard.report.screen import Screen
from steelyard.report.so_far import PageSoFar
from steelyard.running import progress, runner
from steelyard.running.order import Order, plan_of
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.study.model import Cell
from steelyard.study.plan import Plan, Trial
from steelyard.words.care import Care

HEADER = {
    "study": "standard",
    "systems": ["native", "gvisor"],
    "steelyard": "1",
    "host": {},
    "workloads": {},
    "margins": {},
}


@dataclass
class Judged:
    """What a judge knows, scripted."""

    comparisons: tuple[Comparison, ...] = ()
    interim: Decided = field(default_factory=Decided)
    observations: None = None
    experiment: StoredExperiment = field(
        default_factory=lambda: StoredExperiment(Path("an experiment"), HEADER)
    )

    def settle(self, *cells: Cell) -> None:
        self.interim = Decided(frozenset(("gvisor", cell) for cell in cells))

    def evaluation(self) -> Evaluation:
        return a_evaluation(self.comparisons)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Slow(io.StringIO):
    """A terminal on which everything that is written takes so long."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__()
        self.clock, self.seconds, self.writes = clock, seconds, 0

    def write(self, text: str) -> int:
        self.clock.now += self.seconds
        self.writes += 1
        return super().write(text)


def made(systems: str = "native gvisor") -> Plan:
    order = Order("standard", tuple(systems.split()), ("syscall", "pipe_latency"), 300 * 10**9, 1)
    return plan_of(order)


def of(workload: str, ratio: float, *, system: str = "gvisor", word: str = verdict.SLOWER) -> Comparison:
    return Comparison(
        workload=workload,
        parameters=(),
        cell=workload,
        group="syscall",
        metric="time",
        unit="ns per call",
        direction="lower",
        lens="floor",
        system=system,
        baseline="native",
        baseline_value=None,
        value=None,
        ratio=Estimate(ratio, ratio / 1.1, ratio * 1.1, 0.95),
        margin=0.01,
        verdict=word,
        p_adjusted=0.001,
        blocks=5,
        boots=1,
        blocks_needed=None,
        remarks=(),
        bound=0.02,
    )


def at(plan: Plan, spent_s: float, block: int = 0) -> runner.Progress:
    trial = replace(next(iter(_trials(plan))), block=block)
    return runner.Progress(0, trial, 0, 4, 3, 3, spent_s, 300 - spent_s)


def _trials(plan: Plan) -> list[Trial]:
    return [Trial(0, 0, plan.systems[1], cell, 0) for cell in plan.cells]


def shown(plan: Plan, judged: Judged, file: io.StringIO, clock: Clock) -> ShownSoFar:
    return ShownSoFar(plan, cast(Judge, judged), console=Console(file=file, width=200), clock=clock)


def test_a_line_says_how_far_it_is_and_only_what_is_new() -> None:
    plan, judged, file, clock = made(), Judged(), io.StringIO(), Clock()
    with shown(plan, judged, file, clock) as seen:
        for spent, comparisons in (
            (5, (of("fork_exec", 0.25), of("shell", 1.0, word=verdict.EQUIVALENT))),
            (10, (of("fork_exec", 0.25), of("spawn", 1.2, word=verdict.UNRESOLVED))),
            (20, (of("fork_exec", 0.2), of("pipe", 0.5), of("open", 0.01), of("stat", 0.1), of("read", 3))),
        ):
            clock.now = 1000.0 + spent
            judged.comparisons = comparisons
            judged.settle(*plan.cells[: spent // 10])
            seen.progress(at(plan, spent))
            seen.event(Look(1, ()))
    lines = file.getvalue().splitlines()[1:]

    assert lines == [
        f"steelyard: 0:05 of 5:00, 0 of {len(plan.cells)} settled; newest: fork_exec 4.0× slower [3.6, 4.4]",
        f"steelyard: 0:10 of 5:00, 1 of {len(plan.cells)} settled",
        f"steelyard: 0:20 of 5:00, 2 of {len(plan.cells)} settled; newest: open 100× slower "
        "[90.9, 110], stat 10.0× slower [9.09, 11.0] and 2 more",
    ]


def test_a_difference_that_turns_round_is_news_and_systems_are_named_where_there_are_several() -> None:
    plan, judged, file, clock = made("native gvisor native-musl"), Judged(), io.StringIO(), Clock()
    with shown(plan, judged, file, clock) as seen:
        judged.comparisons = (of("pipe", 0.5),)
        seen.event(Look(1, ()))
        judged.comparisons = (of("pipe", 2.0, word=verdict.FASTER),)
        seen.event(Look(2, ()))

    assert [line.partition("newest: ")[2] for line in file.getvalue().splitlines()[1:]] == [
        "gvisor: pipe 2.0× slower [1.8, 2.2]",
        "gvisor: pipe 2.0× faster [1.8, 2.2]",
    ]


def test_what_the_machine_lacks_is_said_after_a_few_trials_and_each_condition_once() -> None:
    plan, file, clock = made(), io.StringIO(), Clock()
    groups = {cell.workload: {"group": "syscall"} for cell in plan.cells}
    judged = Judged(experiment=StoredExperiment(Path("an experiment"), HEADER | {"workloads": groups}))
    full = Surroundings(had_ns=2 * 10**9, busy_ns=2 * 10**9, own_ns=6 * 10**8, stolen_ns=0)
    with shown(plan, judged, file, clock) as seen:
        for number, around in enumerate([full] * 4 + [replace(full, stolen_ns=10**9)] * 4):
            trial = replace(_trials(plan)[0], block=number)
            seen.event(synthetic.outcome(trial, pressure=0.95, surroundings=around))
    first, second = file.getvalue().splitlines()[1:]

    waits = "in 95 % of the measured time another process waited for a processor"
    assert first.startswith(f"steelyard: read with care: {waits}, and other work used 70 % of")
    assert "the host stole 10 % of CPU time" in second


def test_a_quiet_machine_or_another_one_is_not_spoken_of_while_it_is_measured() -> None:
    plan, judged, file = made(), Judged(), io.StringIO()
    with shown(plan, judged, file, Clock()) as seen:
        for number in range(4):
            seen.event(synthetic.outcome(replace(_trials(plan)[0], block=number), pressure=0.95))

    assert len(file.getvalue().splitlines()) == 1


def test_lines_without_news_come_no_faster_than_people_read() -> None:
    plan, judged, file, clock = made(), Judged(), io.StringIO(), Clock()
    with shown(plan, judged, file, clock) as seen:
        for number in range(100):
            clock.now += 0.1
            seen.event(Look(number, ()))

    assert len(file.getvalue().splitlines()) - 1 == 3  # at once, and twice in ten seconds


def test_the_harness_itself_is_no_news() -> None:
    plan, judged, file, clock = made(), Judged(), io.StringIO(), Clock()
    judged.comparisons = (replace(of("null", 0.5), group="harness"),)
    with shown(plan, judged, file, clock) as seen:
        seen.event(Look(1, ()))

    assert "newest" not in file.getvalue()


def test_the_time_is_booked_to_what_was_done() -> None:
    clock, plan = Clock(), made()
    state = progress.RunState(plan, cast(Judge, Judged()), clock=clock)
    clock.now += 2
    state.begins(progress.BOOTING, "gvisor")
    clock.now += 3
    state.progress(at(plan, 0))
    clock.now += 5
    state.progress(at(plan, 5, block=1))
    clock.now += 7
    state.progress(at(plan, 12, block=2))
    clock.now += 11
    state.look()
    state.begins(progress.COUNTING, "gvisor")
    clock.now += 13
    state.progress(at(plan, 36, block=2))

    assert state.time_s == {
        progress.STARTING: 2,
        progress.BOOTING: 3,
        progress.FIRST: 12,
        progress.SETTLING: 11,
        progress.COUNTING: 13,
    }
    assert dict(state.spent_on()).keys() == state.time_s.keys()


# The screen


def an_answer(findings: int, system: str = "gvisor") -> Answer:
    found = tuple(
        Finding(
            f"work of kind {number} (such as that)",
            (),
            "syscall",
            "slower",
            "4.36× slower",
            "[4.1, 4.5]",
            verdict.SLOWER,
            Estimate(0.25),
            0.01,
            "",
            ((f"work{number}", "time"),),
        )
        for number in range(findings)
    )
    same = (Same("cpu", "computing", 20, 20, 0.01, 0.005, ()),)
    return Answer(
        system,
        f"{system} vs native: slower at 76 of 96 metrics. System calls 640×, messages between processes "
        "180×, processes 17×.\nNo difference found in computing (at most 2.0 %).",
        "Overall 12.2× slower [11.1, 13.3] (geometric mean of 96 metrics).",
        found,
        same,
        "computing within 1.0 % (20)",
        Open(3, (), "3 metrics; 4 minutes more for them"),
        (),
        96,
    )


def screen(known: tuple[Answer, ...], clock: Clock, console: Console, *, plan: Plan | None = None) -> Screen:
    state = progress.RunState(plan or made(), cast(Judge, Judged()), clock=clock)
    state.progress(at(state.plan, 42))
    return Screen(state, know=lambda: known, console=console, clock=clock)


def terminal(file: io.StringIO, width: int = 80, height: int = 24) -> Console:
    return Console(file=file, width=width, height=height, force_terminal=True, color_system=None)


def drawn(known: tuple[Answer, ...], width: int, height: int) -> list[str]:
    """The lines of a screen of that size."""
    console = terminal(io.StringIO(), width, height)
    one = screen(known, Clock(), console)
    one.look()
    one._find_out()
    with console.capture() as captured:
        console.print(one, end="")
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", captured.get()).split("\n")[:-1]


def test_a_screen_says_first_what_the_machine_lacks() -> None:
    care = Care("in 95 % of it others worked; and more.", "in 95 % of it others worked.", False)

    lines = drawn((replace(an_answer(3), care=care),), 80, 24)

    assert any(line.startswith("Read with care: in 95 % of it others worked.") for line in lines[:6])


@pytest.mark.parametrize("width", [20, 33, 60, 80, 132, 300])
@pytest.mark.parametrize("height", [5, 12, 24, 60])
@pytest.mark.parametrize("findings", [0, 1, 13, 40])
@pytest.mark.parametrize("systems", [0, 1, 3])
def test_a_screen_never_needs_more_room_than_there_is(
    width: int, height: int, findings: int, systems: int
) -> None:
    lines = drawn(tuple(an_answer(findings, f"gvisor{number}") for number in range(systems)), width, height)

    assert len(lines) < height
    assert all(len(line) < width for line in lines)


def test_a_screen_says_how_far_what_and_why_and_counts_what_it_has_no_room_for() -> None:
    lines = drawn((an_answer(40),), 80, 24)
    text = "\n".join(lines)

    assert lines[0].startswith("standard: gvisor against native")
    assert lines[0].endswith("0:42 of 5:00, 4:18 left")
    assert "first blocks of everything: gvisor: " in lines[1]
    assert "gvisor vs native: slower at 76 of 96" in text
    shown = sum("work of kind" in line for line in lines)
    assert shown >= 8
    assert f"and {40 - shown} more" in text
    assert "No difference above: computing within 1.0 % (20)" in text
    assert "Not settled: 3 metrics; 4 minutes more for them" in text


def test_every_system_has_its_share_of_a_screen() -> None:
    text = "\n".join(drawn((an_answer(13, "gvisor"), an_answer(13, "uml")), 80, 24))

    assert "gvisor vs native: slower" in text
    assert "uml vs native: slower" in text


def test_nothing_is_written_between_two_drawings() -> None:
    clock = Clock()
    file = Slow(clock, 0.0)
    with screen((an_answer(3),), clock, terminal(file)) as one:
        before = file.writes
        for _ in range(20):
            clock.now += 0.01
            one.draw_if_due()
        assert file.writes == before
        clock.now += 0.1
        one.draw_if_due()
        assert file.writes > before


@pytest.mark.computes
@pytest.mark.parametrize("seconds", [0.0001, 0.01, 0.5])
def test_drawing_and_finding_out_what_to_draw_take_one_percent_of_the_time(seconds: float) -> None:
    clock = Clock()

    def know() -> tuple[Answer, ...]:
        clock.now += 10 * seconds
        return (an_answer(5),)

    state = progress.RunState(made(), cast(Judge, Judged()), clock=clock)
    one = Screen(state, know=know, console=terminal(Slow(clock, seconds)), clock=clock)
    with one:
        begun, spent = clock.now, one.drawing_s + one.knowing_s
        for _ in range(1500):
            clock.now += 0.5
            one.look()
            one.draw_if_due()
        took = clock.now - begun

    # What was drawn last is paid for by the time that comes after it.
    assert one.drawing_s + one.knowing_s - spent <= 0.0102 * took + 30 * seconds
    assert one.knowing_s > 0


def test_a_smaller_terminal_is_cleared_because_nobody_knows_where_its_lines_went() -> None:
    file, clock = io.StringIO(), Clock()
    console = terminal(file)
    with screen((), clock, console) as one:
        one.draw()
        assert "\x1b[2J" not in file.getvalue()
        console.size = (60, 20)  # type: ignore[assignment]
        one.draw()
        assert file.getvalue().count("\x1b[2J") == 1
        one.draw()
        assert file.getvalue().count("\x1b[2J") == 1


@pytest.mark.parametrize("height", [6, 24])
def test_nothing_of_a_screen_stays(height: int) -> None:
    file = io.StringIO()
    print("what stood there before", file=file)
    with screen((an_answer(5),), Clock(), terminal(file, 80, height)) as one:
        for _ in range(3):
            one.look()
            one.draw()
        assert any("of 5:00" in line for line in terminals.shown(file.getvalue()))
        one._console.print("a message")
    print("the report", file=file)

    assert terminals.shown(file.getvalue()) == ["what stood there before", "a message", "the report"]


class Interrupted(io.StringIO):
    """A terminal at which Ctrl-C is typed just before the text of that number is written."""

    def __init__(self, before: str, at: int) -> None:
        super().__init__()
        super().write(before)
        self.at, self.writes = at, 0

    def write(self, text: str) -> int:
        self.writes += 1
        if self.writes == self.at:
            signal.raise_signal(signal.SIGINT)
        return super().write(text)


@pytest.fixture
def requests_taken() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    interruption.take()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("at", range(1, 8))
def test_ctrl_c_amid_a_drawing_erases_nothing_above_it(at: int, requests_taken: None) -> None:
    file = Interrupted("what stood there before\n", at)

    def draw() -> None:
        with screen((an_answer(5),), Clock(), terminal(file)) as one:
            for _ in range(4):
                one.look()
                one.draw()

    with pytest.raises(KeyboardInterrupt):
        draw()
    assert file.writes >= at

    assert terminals.shown(file.getvalue()) == ["what stood there before"]
    assert file.getvalue().rindex("\x1b[?25h") > file.getvalue().rindex("\x1b[?25l")  # the cursor is there


# The page


def a_evaluation(comparisons: tuple[Comparison, ...]) -> Evaluation:
    return Evaluation(
        experiment=StoredExperiment(Path("an experiment"), HEADER),
        baseline="native",
        comparisons=comparisons,
        blocks=5,
        trials=50,
    )


def a_state(clock: Callable[[], float]) -> progress.RunState:
    state = progress.RunState(made(), cast(Judge, Judged()), clock=clock)
    state.progress(at(state.plan, 80))
    return state


def test_a_page_of_a_run_that_goes_on_loads_itself_and_says_so() -> None:
    found = a_evaluation((of("fork_exec", 0.25), of("spawn", 0.5)))
    going = so_far.html(found, a_state(Clock()))
    over = so_far.html(found, a_state(Clock()), is_over=True)

    assert '<meta http-equiv="refresh" content="10">' in going
    assert "Still being measured: 1:20 of 5:00." in going
    assert 'http-equiv="refresh"' not in over
    assert "Stopped after 1:20 of 5:00." in over
    for page in (going, over):
        assert answers.all_of(found)[0].sentence in page
        assert "<script" not in page


def test_a_page_is_written_as_often_as_two_percent_of_the_time_allow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    def slowly(evaluation: Evaluation, state: progress.RunState) -> str:
        clock.now += 0.3
        return "a page"

    monkeypatch.setattr(so_far, "html", slowly)
    page = PageSoFar(tmp_path / "page.html", a_state(clock), clock=clock)
    begun, written = clock.now, 0
    while clock.now < begun + 600:
        clock.now += 1
        if page.is_due():
            page.write()
            written += 1
    assert (tmp_path / "page.html").read_text() == "a page"
    assert page.writing_s <= 0.02 * (clock.now - begun) + 0.3
    assert written >= 30


def test_a_page_that_cannot_be_written_any_more_is_said_once_and_ends_nothing(tmp_path: Path) -> None:
    clock, file = Clock(), io.StringIO()
    folder = tmp_path / "away"
    plan, console = made(), Console(file=file, width=200)
    with ShownSoFar(
        plan, cast(Judge, Judged()), html=folder / "page.html", console=console, clock=clock
    ) as seen:
        for _ in range(3):
            clock.now += 100
            seen.event(Look(1, ()))
        folder.mkdir()
        clock.now += 100
        seen.event(Look(1, ()))

    assert (
        file.getvalue().count(f"cannot write the page '{folder}/page.html': No such file or directory") == 1
    )
    assert "Still being measured" in (folder / "page.html").read_text()


def test_a_page_of_a_run_that_was_ended_waits_for_nothing(tmp_path: Path) -> None:
    page, console = tmp_path / "page.html", Console(file=io.StringIO(), width=200)
    seen = ShownSoFar(made(), cast(Judge, Judged()), html=page, console=console, clock=Clock())
    seen.event(Look(1, ()))
    seen.__exit__(Ended, Ended(), None)

    assert 'http-equiv="refresh"' not in page.read_text()
    assert "Stopped after" in page.read_text()


@pytest.mark.parametrize(
    ("name", "why"), [("nowhere/page.html", "no such directory"), (".", "it is a directory")]
)
def test_a_page_that_cannot_be_written_is_refused_before_anything_is_measured(
    steelyard: Run, write_study: Callable[..., str], archive: Path, tmp_path: Path, name: str, why: str
) -> None:
    study = write_study(systems={"one": "", "two": ""})
    answer = steelyard("run", study, "--html", str(tmp_path / name), TMPDIR=str(tmp_path))

    assert answer.returncode == 2
    assert answer.stderr == f"steelyard: --html is '{tmp_path / name}', which cannot be written: {why}\n"
    assert not list(archive.glob("experiments/*"))


def test_in_a_pipe_a_run_prints_lines_and_its_page_is_whole_at_the_end(
    steelyard: Run, write_study: Callable[..., str], tmp_path: Path
) -> None:
    study = write_study(systems={"one": "time=1000", "two": "time=4000"}, workloads="syscall sieve")
    page = tmp_path / "page.html"
    answer = steelyard("run", study, "--html", str(page), "--format", "json")

    assert answer.returncode == 0, answer.stderr
    assert re.search(r"steelyard: 0:0\d of 1:00, \d of 2 settled; newest: \w+ 4\.\d+× slower", answer.stderr)
    assert "\x1b" not in answer.stderr
    assert json.loads(answer.stdout)["closed"]
    assert 'http-equiv="refresh"' not in page.read_text()
    assert "How it was measured" in page.read_text()
