"""A watch as a page, and as a live screen."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import monitor_records
import places
import pytest
from installed_command import COMMAND, Run
from monitor_runs import until
from pages import BROWSER, BROWSERS, json_of, seen_in_browser, text_of
from patience import patience
from rich.console import Console

from steelyard.drawing import lanes
from steelyard.errors import UsageError
from steelyard.report import watch_page
from steelyard.watch import accounts, live, records, tally
from steelyard.watch.accounts import Account

FAKE = places.SUPPORT / "fake_monitor.py"
SHOWN = r"\x1b[31m\x1b]0;x\x07"  # of monitor_records.ESCAPES
NAMES = (monitor_records.HOSTILE, monitor_records.ESCAPES, "</script><b>", '"&amp;')


def account_of(*found: dict[str, Any]) -> Account:
    watch = records.read(io.BytesIO(monitor_records.lines(found)))
    assert watch is not None
    return accounts.of(watch)


def make(**more: Any) -> Account:
    """A make with two compilers below it, read twice."""
    return account_of(
        monitor_records.head(**more),
        monitor_records.reading(
            10, at_s=1, cpu_user_ns=10**8, faults_minor=40, memory_end=1 << 20, calls={"read": [10, 0]}
        ),
        monitor_records.reading(11, at_s=1, begin_s=0.5, cpu_user_ns=10**7, calls={"read": [5, 0]}),
        monitor_records.process(11, "cc1", at_s=0.5, for_s=1.0, parent=10, generation=1),
        monitor_records.process(
            12, "cc1", at_s=1.6, for_s=0.2, parent=10, generation=1, status=None, signal=9
        ),
        monitor_records.process(10, "make", for_s=2.0),
        monitor_records.end(at_s=2.0),
    )


def page_of(account: Account) -> str:
    return watch_page.html(account, watched="make -j2")


@pytest.mark.program
def test_the_totals_stand_first_and_what_watching_cost_below_all_figures() -> None:
    text = text_of(page_of(make(missing=["nothing of the vDSO"])))

    first = text.index("3 processes used 1.60 s of processor time in 2.00 s: 80.0 % of one processor")
    cost = text.index("The monitor: 7.00 ms of processor time (0.350 % of one processor)")
    assert first < text.index("cc1 [11]") < cost < text.index("Missing or inexact")
    assert "Nothing of the vDSO." in text
    assert "1 ended badly" in text


@pytest.mark.program
def test_every_program_call_and_process_is_in_a_table() -> None:
    page = page_of(make())
    text = text_of(page)

    assert "cc1 2 1 450 ms" in text
    assert "read 120 85.1 % 3" in text
    assert "cc1 [12] child of 10" in text
    assert text.index("make [10]") < text.index("cc1 [11]") < text.index("cc1 [12]")
    assert "SIGKILL" in text


@pytest.mark.program
def test_a_monitor_that_was_killed_and_what_was_lost_are_said() -> None:
    killed = account_of(monitor_records.head(), monitor_records.process(10, "make"))
    lossy = account_of(
        monitor_records.head(), monitor_records.process(10, "make"), monitor_records.end(at_s=1, lost_slots=3)
    )

    assert "the monitor was killed before it ended" in text_of(page_of(killed)).lower()
    assert "3 lost" in text_of(page_of(lossy))
    assert "3 processes or threads had no slot" in text_of(page_of(lossy))


@pytest.mark.program
def test_names_are_data() -> None:
    processes = [monitor_records.process(10 + number, name) for number, name in enumerate(NAMES)]
    account = account_of(monitor_records.head(), *processes, monitor_records.end(at_s=1))

    page = watch_page.html(account, watched=f"{monitor_records.HOSTILE} {monitor_records.ESCAPES}")

    bare = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not any(name in bare for name in (monitor_records.HOSTILE, "\x1b", "\x07", "</script><b>"))
    assert page.count("<script") == page.count("</script>") == 5
    assert SHOWN in text_of(page)
    assert monitor_records.HOSTILE in text_of(page)


@pytest.mark.program
def test_nothing_is_fetched() -> None:
    page = page_of(make())

    assert "default-src 'none'" in page
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"https?:|@import|url\(|<link|\bsrc=", own)


@pytest.mark.program
def test_a_histogram_is_drawn_and_read_at_latency() -> None:
    histogram = [0, 90, 0, 10, *[0] * 24]
    calls = {"read": monitor_records.call(100, time_ns=200_000, histogram=histogram)}
    page = page_of(
        account_of(
            monitor_records.head(detail="latency"),
            monitor_records.process(10, "cat", calls=calls),
            monitor_records.end(at_s=1),
        )
    )

    assert "read 100 100.0 % 200 µs 100.0 % 2.00 µs 256 ns 1.02 µs" in text_of(page)
    (spark,) = re.findall(r'<svg class="spark".*?<path d="(.*?)"', page)
    assert [float(height) for height in re.findall(r"v-([\d.]+)h3", spark)] == [20.0, 6.7]


@pytest.mark.program
def test_estimates_have_their_intervals_and_what_is_not_resolved_says_so() -> None:
    # It ran for half a second, a hundredth of it in windows: in each for 50 µs, with half a call on average.
    windows: dict[str, Any] = {
        "windows": 100,
        "windows_ns": 10**8,
        "windows_active": 100,
        "windows_run_ns": 5e6,
        "windows_run_squares": 100 * 5e4**2,
    }
    seen = monitor_records.call(50, expanded=5000.0, expanded_errors=0.0, squares=50.0, products=50 * 5e4)
    resolved = account_of(
        monitor_records.head(detail="budget", budget=0.005),
        monitor_records.process(10, "cat", calls={"read": seen}, **windows),
        monitor_records.end(at_s=1),
    )
    few = account_of(
        monitor_records.head(detail="budget", budget=0.005),
        monitor_records.process(10, "cat", calls={"read": seen}, **(windows | {"windows_active": 2})),
        monitor_records.end(at_s=1),
    )

    assert re.search(r"read 5,000 \[\d,\d{3}, \d,\d{3}\]", text_of(page_of(resolved)))
    assert "read ≥ 50 not resolved" in text_of(page_of(few))


@pytest.mark.program
def test_a_watch_without_readings_has_no_series_and_one_at_life_no_calls() -> None:
    account = account_of(
        monitor_records.head(detail="life", every_ns=None),
        monitor_records.process(10, "make", calls=None),
        monitor_records.end(at_s=1),
    )
    page = page_of(account)

    assert "Over time" not in page
    assert "System calls" not in page
    assert set(json_of(page, "figure-specs")) == {"lives"}


def storm() -> Account:
    """Ten thousand processes one after the other, some next to one another."""
    processes = [
        monitor_records.process(
            100 + number, "true" if number % 7 else "date", at_s=number * 0.002, for_s=0.003
        )
        for number in range(10_000)
    ]
    return account_of(monitor_records.head(every_ns=None), *processes, monitor_records.end(at_s=20.1))


@pytest.mark.program
def test_ten_thousand_processes_stay_a_small_page() -> None:
    page = page_of(storm())
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)

    assert len(own) < 1_000_000
    assert "The 1,000 largest of 10,000" in text_of(page)
    assert "9,000 more processes, each of which used" in text_of(page)


# Lanes


def life(begin: int, end: int, program: str = "a") -> lanes.Span:
    return lanes.Span(begin, end, program, "")


def test_a_lane_is_used_again_when_its_process_has_ended() -> None:
    found = lanes.of([life(0, 100, "make"), life(10, 40), life(40, 90), life(20, 60)])

    assert [(one.lane, one.begin_ns, one.end_ns) for one in found.bars] == [
        (0, 0, 100),
        (1, 10, 40),
        (1, 40, 90),
        (2, 20, 60),
    ]


def test_short_neighbours_become_one_bar_and_none_is_left_out() -> None:
    lives = [life(0, 10**9, "make"), *(life(1000 * number, 1000 * number + 900) for number in range(1000))]
    found = lanes.of(lives)

    assert sum(one.lives for one in found.bars) == 1001
    assert len(found.bars) == 2
    assert found.bars[1].about == "1000 processes, most of them a"


def test_thousands_at_once_are_drawn_as_fewer_lines() -> None:
    found = lanes.of([life(number, 10**9) for number in range(5000)])

    assert found.lanes_per_row * found.count >= 5000
    assert found.count <= 240
    assert sum(one.lives for one in found.bars) == 5000


def test_no_process_at_all_is_no_bar() -> None:
    assert lanes.of([]).bars == ()


# In a browser


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(BROWSERS)} is installed")
@pytest.mark.parametrize("account", [make, storm])
def test_a_browser_draws_every_chart_on_a_phone(account: Callable[[], Account], tmp_path: Path) -> None:
    seen = seen_in_browser(page_of(account()), tmp_path)

    assert seen["drawn"] == "all"
    assert seen["charts"] == seen["svgs"]
    assert seen["beyond"] == 0, "the page scrolls sideways"
    assert seen["fetched"] == 0


# The screen


def tally_of(*found: dict[str, Any]) -> tally.Totals:
    made = tally.Totals(
        name_of=lambda pid, begin_ns: {10: "make", 11: "cc1", 12: monitor_records.ESCAPES}.get(pid)
    )
    take(made, *found)
    return made


def take(into: tally.Totals, *found: dict[str, Any]) -> None:
    for line in monitor_records.lines(found).splitlines(keepends=True):
        one = records.parse(line)
        assert one is not None
        into.take(one)


def used(pid: int, at_s: float, cpu_s: float, **more: Any) -> dict[str, Any]:
    return monitor_records.reading(pid, at_s=at_s, cpu_user_ns=round(cpu_s * 1e9), cpu_system_ns=0, **more)


def test_a_scene_is_what_happened_since_the_one_before() -> None:
    of = tally_of(monitor_records.head())
    scenes = live.Scenes(of)
    scenes.next()
    take(of, used(10, 1, 0.5, calls={"read": [100, 0]}), used(11, 1, 0.75))
    first = scenes.next()
    take(of, used(10, 2, 1.0, calls={"read": [200, 5]}), used(11, 2, 0.75))
    second = scenes.next()

    assert [(row.program, row.cpu) for row in first.rows] == [("cc1", 0.75), ("make", 0.5)]
    assert [(row.program, row.cpu) for row in second.rows] == [("make", 0.5), ("cc1", 0.0)]
    assert second.calls == (("read", 100.0, 5.0),)
    assert second.rates["cpu_user_ns"] == 0.5e9


def test_a_late_reading_leaves_the_scene_and_an_idle_one_empties_it() -> None:
    of = tally_of(monitor_records.head())
    scenes = live.Scenes(of)
    scenes.next()
    take(of, used(10, 1, 0.5))

    shares = [scenes.next().rows[0].cpu for _ in range(3)]
    take(of, used(10, 9, 0.75))  # nothing was written while nothing happened

    assert shares == [0.5, 0.5, 0.0]
    assert scenes.next().rows[0].cpu == 0.25


def test_an_ended_process_leaves_the_screen_and_stays_in_its_totals() -> None:
    of = tally_of(monitor_records.head(), used(10, 1, 0.25), monitor_records.process(10, "make", for_s=1.0))
    scene = live.Scenes(of).next()

    assert (scene.running, scene.ends, scene.rows) == (0, 1, ())
    assert of.programs["make"].figures["cpu_user_ns"] == 375_000_000


def test_a_screen_shows_the_busiest_and_no_name_reaches_the_terminal_as_a_command() -> None:
    file = io.StringIO()
    terminal = Console(file=file, force_terminal=True, width=120, height=30, color_system=None)
    of = tally_of(monitor_records.head())
    with live.LiveScreen(of, watched=monitor_records.ESCAPES, console=terminal) as screen:
        screen.look(())
        take(of, used(12, 1, 0.5, calls={"read": [100, 0]}))
        screen.look(())
    drawn = file.getvalue()

    assert re.search(rf"12 +{re.escape(SHOWN[:15])}… +50\.0 %", drawn)
    assert "\x1b[31m" not in drawn
    assert "\x1b]0;x" not in drawn
    assert re.search(r"read +100", drawn)


def test_without_a_terminal_there_is_no_screen() -> None:
    with pytest.raises(UsageError, match="--live is a screen, but standard output is not a terminal"):
        live.LiveScreen(tally_of(), watched="make", console=Console(file=io.StringIO()))


# By the command


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., str]:
    """Stands in for steelyard-watch, and writes these records; a text is what fake_monitor.py obeys."""

    def made(*script: dict[str, Any] | str) -> str:
        lines = [one if isinstance(one, str) else json.dumps(one, separators=(",", ":")) for one in script]
        (tmp_path / "script").write_text("\n".join(lines) + "\n")
        path = tmp_path / "steelyard-watch"
        path.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} {tmp_path / "script"} "$@"\n')
        path.chmod(0o755)
        return str(path)

    return made


def test_html_writes_the_page_and_asks_for_a_series(
    steelyard: Run, program: Callable[..., str], tmp_path: Path
) -> None:
    fake = program(monitor_records.head(), monitor_records.process(10, "true"), monitor_records.end(at_s=1))
    done = steelyard(
        "watch", "--program", fake, "--html", str(tmp_path / "page.html"), "--", "true",
        ARGUMENTS=str(tmp_path / "arguments"),
    )  # fmt: skip
    words = json.loads((tmp_path / "arguments").read_text())

    assert done.returncode == 0, done.stderr
    assert words[words.index("--every") + 1] == "1000000000"
    assert "the page is in" in done.stderr
    assert (tmp_path / "page.html").read_text().endswith("</html>")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--live"], "standard output is not a terminal"),
        (["--openmetrics", "9435"], "--openmetrics is '9435', but must be"),
        (["--html", "/nowhere/page.html"], "which cannot be written: no such directory"),
        (["--html", "/"], "which cannot be written: it is a directory"),
    ],
)
def test_what_cannot_be_shown_is_a_sentence(
    steelyard: Run, program: Callable[..., str], words: list[str], sentence: str
) -> None:
    fake = program(monitor_records.head(), monitor_records.process(10, "true"), monitor_records.end(at_s=1))
    done = steelyard("watch", "--program", fake, *words, "--", "true")

    assert done.returncode == 2
    assert sentence in done.stderr


@pytest.mark.program
def test_metrics_are_served_while_the_watch_goes_on(program: Callable[..., str], tmp_path: Path) -> None:
    fake = program(
        monitor_records.head(),
        monitor_records.process(10, monitor_records.HOSTILE),
        "await",
        monitor_records.end(at_s=1),
    )
    command = [
        str(COMMAND),
        "watch",
        "--program",
        fake,
        "--openmetrics",
        ":0",
        "--every",
        "50ms",
        "-p",
        str(os.getpid()),
    ]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True
    ) as started:
        assert started.stderr
        address = started.stderr.readline().rpartition(" ")[2].strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", address)
        told = ""

        def has_read() -> bool:
            nonlocal told
            with urllib.request.urlopen(address, timeout=patience(60)) as answer:
                told = answer.read().decode()
            return 'call="read"' in told

        until(has_read, "its first figures")
        started.terminate()
        started.communicate(timeout=patience(60))

    assert f'steelyard_system_calls_total{{call="read",program="{monitor_records.HOSTILE}"}} 40.0' in told
    assert 'steelyard_monitor_cpu_seconds_total{part="watcher"}' in told


@pytest.mark.program
def test_the_commands_own_writing_is_shown_when_the_screen_has_gone(program: Callable[..., str]) -> None:
    fake = program(
        monitor_records.head(), "run", monitor_records.process(10, "echo"), monitor_records.end(at_s=1)
    )
    ours, theirs = pty.openpty()
    command = [
        str(COMMAND),
        "watch",
        "--program",
        fake,
        "--live",
        "--every",
        "50ms",
        "--",
        "echo",
        "hallo there",
    ]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE) as started:
        os.close(theirs)
        drawn = b""
        while part := _read(ours):
            drawn += part
        _, report = started.communicate(timeout=patience(60))
    os.close(ours)

    screen, left, after = drawn.partition(b"\x1b[?1049l")
    assert left
    assert b"hallo there\r\n" not in screen
    assert b"hallo there" in after
    assert b"by bpf, at detail calls" in screen
    assert b"echo 'hallo there'" in report


def _read(file: int) -> bytes:
    try:
        return os.read(file, 1 << 16)
    except OSError:  # nobody holds the other end any more
        return b""
