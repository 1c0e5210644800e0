"""What a gate decides, from verdicts and intervals."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from steelyard.analysis import gating
from steelyard.analysis.gating import Gate, Gated
from steelyard.analysis.model import Comparison
from steelyard.cli.gating import exit_status
from steelyard.report import gate as forms
from steelyard.statistics import verdict
from steelyard.statistics.signed_rank import Estimate

COMPARISON = Comparison(
    workload="command", parameters=(), cell="a|b", group="process", metric="time", unit="ns per command",
    direction="lower", lens="typical", system="new", baseline="old", baseline_value=Estimate(1e6),
    value=Estimate(1.1e6), ratio=Estimate(0.91, 0.89, 0.93), margin=0.03, verdict=verdict.SLOWER,
    p_adjusted=0.01,
    blocks=12, boots=1, blocks_needed=None, remarks=(),
)  # fmt: skip


@pytest.mark.parametrize(
    ("word", "ratio", "state"),
    [
        (verdict.SLOWER, Estimate(0.9, 0.88, 0.93), gating.WORSE),
        (verdict.SLOWER_OPEN, Estimate(0.96, 0.94, 0.99), gating.OPEN),
        (verdict.SLOWER_OPEN, Estimate(0.985, 0.98, 0.99), gating.RULED_OUT),
        (verdict.EQUIVALENT, Estimate(1.0, 0.98, 1.02), gating.RULED_OUT),
        (verdict.BOUNDED, Estimate(1.0, 0.9, 1.1), gating.OPEN),
        (verdict.BOUNDED, Estimate(1.1, 0.98, 1.3), gating.RULED_OUT),
        (verdict.FASTER, Estimate(1.5, 1.4, 1.6), gating.RULED_OUT),
        (verdict.UNRESOLVED, Estimate(0.9), gating.OPEN),
        (verdict.UNRESOLVED, None, gating.FAILED),
    ],
)
def test_a_slowdown_is_found_ruled_out_or_open(word: str, ratio: Estimate | None, state: str) -> None:
    one = replace(COMPARISON, verdict=word, ratio=ratio, value=COMPARISON.value if ratio else None)

    assert gating._state(one) == state


def test_what_was_measured_on_neither_is_open() -> None:
    one = replace(COMPARISON, ratio=None, value=None, baseline_value=None)

    assert gating._state(one) == gating.OPEN


def gate(*states: str) -> Gate:
    return Gate("old", "new", tuple(Gated(replace(COMPARISON, cell=f"{state}|"), state) for state in states))


@pytest.mark.parametrize(
    ("states", "status", "lenient", "bisect"),
    [
        ([gating.RULED_OUT], 0, 0, 0),
        ([gating.RULED_OUT, gating.OPEN], 3, 0, 125),
        ([gating.OPEN, gating.WORSE], 1, 1, 1),
        ([gating.FAILED], 1, 1, 1),
        ([], 3, 0, 125),
    ],
)
def test_the_status_says_it(states: list[str], status: int, lenient: int, bisect: int) -> None:
    decided = gate(*states)

    assert exit_status(decided, lenient=False, bisect=False) == status
    assert exit_status(decided, lenient=True, bisect=False) == lenient
    assert exit_status(decided, lenient=False, bisect=True) == bisect


def test_every_form_says_the_verdict_and_each_metric() -> None:
    decided = gate(gating.WORSE, gating.OPEN, gating.RULED_OUT)

    assert forms.text(decided).startswith(
        "new vs old: worse at 1 of 3 metrics.\n  ▼ worse|: +9.9 % [+7.5, +12.4]"
    )
    comment = forms.markdown(decided)
    assert comment.startswith("**new vs old: worse at 1 of 3 metrics**\n")
    assert "| worse\\| | 1.00 ms | 1.10 ms | +9.9 % \\[+7.5, +12.4\\] | worse |" in comment
    told = json.loads(forms.as_json(decided))
    assert (told["status"], [one["state"] for one in told["metrics"]]) == (1, ["worse", "open", "ruled out"])
    suite = ElementTree.fromstring(forms.junit(decided))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [[child.tag for child in case] for case in suite] == [["failure"], ["skipped"], ["system-out"]]
    measures = json.loads(forms.bencher(decided))
    assert measures["worse|"]["latency"]["value"] == pytest.approx(1.1e6)
