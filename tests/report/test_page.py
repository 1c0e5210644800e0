"""The page: its text for fixed experiments, and the page itself in a real browser."""

import json
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import jinja2
import pytest
import synthetic
from pages import BROWSER, BROWSERS, json_of, seen_in_browser, text_of

from steelyard.analysis import evaluate
from steelyard.analysis.model import Comparison, Evaluation, Level
from steelyard.analysis.remarks import OneBoot
from steelyard.drawing import charts, figures
from steelyard.events import Outcome
from steelyard.papers import source
from steelyard.report import console, page, sentences
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate
from steelyard.study.plan import Trial

HOSTILE = '</script><script>alert("x")</script><b>&'
TABLE = source.Printed(
    "Table I", "a note", ("program", "old", "today"), (source.shown(("sieve", "7.1 (7.0)", "2 s")),)
)


def weigh_again(
    archive: Path,
    times: float = 2.0,
    *,
    systems: tuple[str, ...] = ("a", "b"),
    blocks: int = 12,
    spoil: Callable[[Trial], Outcome | None] = lambda trial: None,
    facts: dict[str, dict[str, object]] | None = None,
) -> Evaluation:
    """Weighs an experiment of three workloads in which system b takes `times` as long as system a."""
    plan = synthetic.plan(
        "sieve", "syscall", "disktest", systems=systems, blocks=max(blocks, 1), copies=(1, 2)
    )

    def measured(trial: Trial) -> Outcome:
        noise = 1 + 0.001 * ((trial.block * 7 + trial.position * 3) % 5)
        slow = times if trial.system == "b" else 1.0
        return spoil(trial) or synthetic.outcome(trial, 1000.0 * noise * slow)

    return evaluate.of(synthetic.experiment(archive, plan, measured, fingerprints=facts))


@pytest.fixture
def weighed(tmp_path: Path) -> Callable[..., Evaluation]:
    return partial(weigh_again, tmp_path / "archive")


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    return weigh_again(tmp_path_factory.mktemp("usual"))


@pytest.fixture(scope="module")
def usual_page(usual: Evaluation) -> str:
    return page.html(usual, tables=(TABLE,))


@pytest.mark.program
def test_the_verdict_stands_first_in_a_sentence(usual_page: str) -> None:
    text = text_of(usual_page)

    assert "b vs a: slower at all " in text
    assert "Overall 2.00× slower [" in text
    assert text.index("b vs a: slower") < text.index("Differences") < text.index("Every metric")


@pytest.mark.program
def test_every_comparison_is_in_the_table_with_its_verdict_and_level(
    usual: Evaluation, usual_page: str
) -> None:
    text = text_of(usual_page)

    for one in usual.comparisons:
        assert one.verdict in verdict.FIRM
        assert one.cell in text
    assert len(re.findall(r"\b2\.00?× slower", text)) >= len(usual.comparisons)
    assert "2.00 ms" not in text


@pytest.mark.program
def test_names_from_files_are_escaped(weighed: Callable[..., Evaluation]) -> None:
    def spoil(trial: Trial) -> Outcome | None:
        return synthetic.bad(trial, "failed", HOSTILE) if trial.block == 3 else None

    evaluation = weighed(systems=("a", HOSTILE), spoil=spoil, facts={"a": {"cpu_model": HOSTILE}})
    hostile_table = source.Printed(
        HOSTILE, HOSTILE, ("program", HOSTILE), (source.shown((HOSTILE, HOSTILE)),)
    )
    header = {**evaluation.experiment.header, "command": HOSTILE, "study_text": HOSTILE}
    evaluation = replace(evaluation, experiment=replace(evaluation.experiment, header=header))

    written = page.html(evaluation, tables=(hostile_table,))

    assert HOSTILE not in written
    assert 'alert("x")</script>' not in written
    assert written.count("<script") == written.count("</script>") == 5
    assert HOSTILE in text_of(written)
    assert HOSTILE in json.dumps(json_of(written, "panels"), ensure_ascii=False).replace('\\"', '"')


@pytest.mark.program
def test_nothing_is_fetched(usual_page: str) -> None:
    assert "default-src 'none'" in usual_page
    own = re.sub(r"<script>.*?</script>", "", usual_page, flags=re.DOTALL)
    assert not re.search(r"https?:|@import|url\(|<link|\bsrc=", own)


@pytest.mark.program
def test_a_page_is_written_whole_or_not_at_all(weighed: Callable[..., Evaluation], tmp_path: Path) -> None:
    evaluation = weighed()
    target = tmp_path / "out" / "report.html"
    target.parent.mkdir()
    target.write_text("earlier")
    with pytest.raises(jinja2.UndefinedError):
        page.write(target, evaluation, tables=(None,))  # type: ignore[arg-type]
    assert target.read_text() == "earlier"

    page.write(target, evaluation, tables=())

    assert target.read_text(encoding="utf-8").endswith("</html>")
    assert [path.name for path in target.parent.iterdir()] == ["report.html"]
    assert stat.S_IMODE(target.stat().st_mode) & 0o400


@pytest.mark.program
def test_a_folder_that_is_not_there_is_an_os_error(
    weighed: Callable[..., Evaluation], tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError):
        page.write(tmp_path / "none" / "report.html", weighed(), tables=())


@pytest.mark.program
def test_too_few_blocks_are_said_to_be_too_few(weighed: Callable[..., Evaluation]) -> None:
    written = page.html(weighed(blocks=1), tables=())
    text = text_of(written)

    assert "b vs a: too early to tell: none of 8 metrics is settled after 1 block" in text
    assert "findings" not in json.dumps(list(json_of(written, "charts")["forests"]))  # type: ignore[call-overload]


@pytest.mark.program
def test_one_system_alone_is_weighed_against_nothing(weighed: Callable[..., Evaluation]) -> None:
    text = text_of(page.html(weighed(systems=("a",)), tables=()))

    assert "Only a was measured: there is nothing to compare it with." in text
    assert "How it was measured" in text


@pytest.mark.program
def test_trials_that_did_not_end_well_are_told_with_their_reason(weighed: Callable[..., Evaluation]) -> None:
    def spoil(trial: Trial) -> Outcome | None:
        if trial.system == "b" and trial.cell.workload == "disktest":
            return synthetic.bad(trial, "unsupported", "no such call")
        return None

    written = page.html(weighed(spoil=spoil), tables=())
    text = text_of(written)

    assert "24 of 144 trials failed" in text
    assert "unsupported 12 no such call" in text
    assert "no pair" in json.dumps(json_of(written, "charts"))


@pytest.mark.program
def test_a_published_table_keeps_every_figure(usual_page: str) -> None:
    text = text_of(usual_page)

    assert "Table I a note" in text
    assert "program old today sieve 7.1 (7.0) 2 s" in text


@pytest.mark.program
def test_a_paper_s_tables_stand_before_what_differs_and_after_the_answer(usual_page: str) -> None:
    text = text_of(usual_page)

    assert text.index("b vs a: slower") < text.index("Table I a note") < text.index("Differences, the")


@pytest.mark.program
def test_a_figure_names_what_was_not_measured_of_it(usual: Evaluation) -> None:
    study = """
name = "figures"
title = "Figures"
systems = ["a", "b"]
system.a.base = "native"
system.b.base = "native"
workload = [{name = "sieve"}, {name = "huffman"}, {name = "idea"}]
figure = [
    {name = "1", title = "Some of it", kind = "bars", workloads = ["sieve", "huffman"], metric = "time"},
    {name = "2", title = "None of it", kind = "bars", workloads = ["idea"], metric = "time"},
]
"""
    header = {**usual.experiment.header, "study_text": study}
    evaluation = replace(usual, experiment=replace(usual.experiment, header=header))
    text = text_of(page.html(evaluation, tables=()))

    assert "Some of it Not measured: huffman." in text
    assert "None of it Not measured." in text


@pytest.mark.program
def test_two_marks_are_no_series_but_numbers(weighed: Callable[..., Evaluation]) -> None:
    few, enough = (page.html(weighed(blocks=blocks), tables=()) for blocks in (2, 3))

    assert "data-panel=" not in few.partition("<main>")[2].partition("</main>")[0]
    assert re.search(r"a 1\.0\d µs, 1\.0\d µs; b 2\.0\d µs, 2\.0\d µs", text_of(few))
    assert enough.partition("<main>")[2].partition("</main>")[0].count("data-panel=") == 8


@pytest.mark.program
def test_what_judges_nothing_is_shown_without_a_verdict_and_plots_nothing(
    weighed: Callable[..., Evaluation], capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = weighed()
    first, *others = evaluation.comparisons
    evaluation = replace(
        evaluation, comparisons=(replace(first, verdict="", direction="none", cell="xyzzy"), *others)
    )

    written = page.html(evaluation, tables=())
    console.print_evaluation(evaluation, tables=(), everything=True)

    assert "xyzzy" not in text_of(written)
    assert "xyzzy" not in capsys.readouterr().out
    assert "8 metrics" not in text_of(written).partition("Differences")[2].partition("By group")[0]


@pytest.mark.program
def test_facts_that_differ_stand_apart_and_hardware_is_marked(weighed: Callable[..., Evaluation]) -> None:
    facts = {
        "a": {"cpu_model": "X", "mitigations": {"l1tf": "none", "mds": "same"}, "page_bytes": 4096},
        "b": {"cpu_model": "Y", "mitigations": {"l1tf": "PTI", "mds": "same"}, "page_bytes": 4096},
    }
    evaluation = weighed(facts=facts)

    differ, same = sentences.facts(evaluation.systems)

    assert differ == {"cpu_model": ["X", "Y"], "kernel": ["a", "b"], "mitigations: l1tf": ["none", "PTI"]}
    assert same["mitigations: mds"] == ["same", "same"]
    assert "cpu model hardware X Y" in text_of(page.html(evaluation, tables=()))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("steelyard compare a b", "steelyard compare a b --seed 7"),
        ("steelyard compare a b --seed 7", "steelyard compare a b --seed 7"),
        (None, None),
    ],
)
def test_the_command_to_repeat_it_has_the_seed(command: str | None, expected: str | None) -> None:
    assert page.again({"command": command, "seed": 7}) == expected


# Charts


def row(value: float, *, group: str = "cpu", word: str = verdict.SLOWER, spread: float = 1.1) -> charts.Row:
    ratio = Estimate(value, value / spread, value * spread, 0.95)
    return charts.Row(group, "sieve", "b", ratio, word, 0.01, "slower")


def test_every_verdict_has_a_shape_of_its_own() -> None:
    looks = [(shape.path, shape.is_filled) for shape in charts.VERDICTS.values()]

    assert list(charts.VERDICTS) == [
        verdict.FASTER,
        verdict.SLOWER,
        verdict.EQUIVALENT,
        verdict.FASTER_OPEN,
        verdict.SLOWER_OPEN,
        verdict.BOUNDED,
        verdict.UNRESOLVED,
    ]
    assert len(set(looks)) == len(looks)


def test_a_long_label_is_wrapped_where_the_page_is_narrow() -> None:
    """A phone's 390 pixels have room for some 50 letters."""
    label = "messages to a mail server: the server's processor time, 16 clients, postfix"
    spec = charts.forest([replace(row(2.0), label=label)], baseline="a", is_wide=False)
    lines = [one for one in json.dumps(spec).split('"') if one and one in label and len(one) > 10]

    assert len(lines) > 1
    assert " ".join(dict.fromkeys(lines)) == label
    assert max(map(len, lines)) <= charts.LINE_NARROW


@pytest.mark.parametrize("is_wide", [True, False])
def test_a_forest_plot_holds_every_interval_and_the_line_at_one(is_wide: bool) -> None:
    spec = charts.forest([row(0.002), row(3.0, group="file")], baseline="a", is_wide=is_wide)
    low, high = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]

    assert low < 0.002 / 1.1 < 1 < 3.3 < high
    assert spec["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"


def test_what_lies_near_one_is_shown_again_only_where_the_scale_hides_it() -> None:
    near = row(0.99, spread=1.01)

    assert charts.near_one([near, row(0.01)]) == [near]
    assert charts.near_one([near, row(0.8)]) == []


def test_a_comparison_without_pairs_has_a_line_and_no_mark() -> None:
    empty = charts.Row("cpu", "sieve", "b", None, verdict.UNRESOLVED, 0.01, "no pair")
    told = json.dumps(charts.forest([empty], baseline="a", is_wide=True))

    assert "no pair" in told
    assert "NaN" not in told


@pytest.mark.program
def test_panels_show_the_number_that_the_comparison_uses(weighed: Callable[..., Evaluation]) -> None:
    evaluation = weighed(2.0)
    panels = json_of(page.html(evaluation, tables=()), "panels")["marks"]
    assert isinstance(panels, dict)

    alone, pair = panels["cpu"]

    for marks, copies in ((alone, 1), (pair, 2)):
        values = sorted(mark["value"] for mark in marks if mark["system"] == "b")
        assert len(values) == 12
        compared = next(one for one in evaluation.comparisons if one.cell == f"sieve copies={copies}")
        assert compared.value
        assert values[5] <= compared.value.value * 1.001
        assert values[6] >= compared.value.value * 0.999
        assert all(mark["low"] <= mark["value"] <= mark["high"] for mark in marks)


@pytest.mark.program
def test_a_long_experiment_stays_a_small_page(tmp_path: Path) -> None:
    plan = synthetic.plan("syscall", blocks=250)
    found = synthetic.experiment(tmp_path, plan, synthetic.outcome)
    panels = json_of(page.html(evaluate.of(found), tables=()), "panels")["marks"]
    assert isinstance(panels, dict)

    assert len(panels["syscall"][0]) <= 2 * 100
    assert "a mark is 3 blocks" in page.html(evaluate.of(found), tables=())


# In a browser


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(BROWSERS)} is installed")
def test_a_browser_draws_every_chart_on_a_phone_without_fetching_anything(
    weighed: Callable[..., Evaluation], tmp_path: Path
) -> None:
    evaluation = weighed(50.0, facts={"a": {"kernel_command_line": "x" * 400 + HOSTILE}})

    wide = source.Printed(
        "Wide",
        "",
        ("levels of a long name", *map(str, range(30))),
        (source.shown(["a row", *["123 s"] * 30]),),
    )
    seen = seen_in_browser(page.html(evaluation, tables=(TABLE, wide)), tmp_path)

    comparisons = len(evaluation.comparisons)
    assert seen["drawn"] == "all"
    assert seen["charts"] == seen["svgs"] == 3 + comparisons
    marks = seen["marks"]
    assert isinstance(marks, int)
    assert marks >= comparisons + 12 * 2 * comparisons
    assert seen["beyond"] == 0, "the page scrolls sideways"
    assert seen["fetched"] == 0
    scrolling, pinned = seen["scrolling"], seen["pinned"]
    assert isinstance(scrolling, list)
    assert isinstance(pinned, list)
    assert "Wide" in scrolling, "it is not said that the table scrolls"
    assert "Table I" not in scrolling
    assert pinned[scrolling.index("Wide")], "its first column goes away"


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(BROWSERS)} is installed")
@pytest.mark.parametrize(("times", "label"), [(1.9, "0.6"), (12, "1/10")])
def test_only_round_parts_are_written_as_parts(tmp_path: Path, times: float, label: str) -> None:
    seen = seen_in_browser(page.html(weigh_again(tmp_path / "archive", times), tables=()), tmp_path)

    texts = seen["forests"]
    assert isinstance(texts, list)
    labels = {text for text in texts if re.fullmatch(r"[0-9./]+", text)}
    assert label in labels
    assert not any(len(one) > 5 for one in labels)


@pytest.mark.program
def test_one_comparison_may_be_shown_by_hand(weighed: Callable[..., Evaluation]) -> None:
    """A flag, a direction and a unit that no workload of today has."""
    evaluation = weighed()
    first = evaluation.comparisons[0]
    odd: Comparison = replace(first, unit="MB/s", direction="higher", remarks=(OneBoot("b"),))

    text = text_of(page.html(replace(evaluation, comparisons=(odd, *evaluation.comparisons[1:])), tables=()))

    assert "valid for this boot only" in text
    assert "bandwidth" in text
    assert "GB/s" in text or "MB/s" in text


@pytest.mark.parametrize(
    ("over", "places", "in_bytes"),
    [
        ("size", (64, 16384), True),
        ("size", (100, 10000), False),
        ("block", (4096, 65536), True),
        ("clients", (1, 1024), False),
    ],
)
def test_places_that_are_bytes_are_labelled_as_such(over: str, places: Sequence[int], in_bytes: bool) -> None:
    levels = [
        Level(
            "a",
            "tcp_send",
            ((over, place),),
            f"tcp_send {over}={place}",
            "network",
            "time",
            "ns per operation",
            "lower",
            Estimate(1.0, 0.9, 1.1, 0.95),
        )
        for place in places
    ]

    (drawn,) = figures.lines(levels, ["a"], over=over).values()

    axis = drawn["layer"][0]["encoding"]["x"]["axis"]
    assert axis["values"] == list(places)
    assert ("KiB" in axis.get("labelExpr", "")) == in_bytes
