"""What a system says is a record that can be right, or is refused with a sentence; and the run goes on."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import lies
import places
import pytest
import synthetic
from lies import LIES

from steelyard.analysis import evaluate
from steelyard.analysis.model import Interim
from steelyard.archive import closing, reading
from steelyard.archive.experiments import StoredExperiment
from steelyard.archive.journal import Journal
from steelyard.errors import Unsupported
from steelyard.events import STATUSES, Earlier, Outcome
from steelyard.report import console, page, plain
from steelyard.running import dialogue, runner
from steelyard.study.plan import Plan
from steelyard.systems import protocol
from steelyard.systems.agent import Agent
from steelyard.systems.system import Place, System

pytestmark = pytest.mark.program
LIAR = places.SUPPORT / "hostile_agent.py"
QUICK = (("batches", 3), ("operations", 1000), ("warmup_ns", 0))


def _systems(count: Path) -> dict[str, System]:
    def lying(place: Place) -> list[str]:
        return [sys.executable, str(LIAR), str(place.program), str(place.scratch), str(count)]

    def honest(place: Place) -> list[str]:
        return [str(place.program), "agent", str(place.scratch)]

    return {"honest": System("honest", "", honest), "liar": System("liar", "", lying)}


def _plan(blocks: int) -> Plan:
    plan = synthetic.plan("null", systems=("honest", "liar"), blocks=blocks)
    design = replace(plan.study.design, trial_limit_s=2.0)
    return replace(plan, study=replace(plan.study, trial=QUICK, design=design))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Outcome], StoredExperiment]:
    """Every lie once, each followed by the truth, with an honest system beside; and what was kept of it."""
    directory = tmp_path_factory.mktemp("lies")
    count = directory / "count"
    count.write_text("0")
    made, known = _plan(2 * len(LIES)), _systems(count)
    found = synthetic.new(directory / "archive", made)
    journal = Journal(found.path)
    outcomes = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dialogue, "GRACE_S", 2.0)
        patch.setattr(protocol, "LINE_MOST", lies.LINE_MOST)
        patch.setattr(protocol, "SAID_MOST", lies.SAID_MOST)
        for event in runner.run(
            made,
            start=lambda name, terms: Agent(known[name], directory=directory, hear=terms.hear),
            boots_afresh=(),
            judge=Interim,
            notify=lambda progress: None,
            earlier=Earlier(),
        ):
            journal.append(event)
            if isinstance(event, Outcome):
                outcomes.append(event)
    journal.close()
    return outcomes, closing.close(found)


def _of(outcomes: list[Outcome], system: str) -> list[Outcome]:
    return sorted((one for one in outcomes if one.trial.system == system), key=lambda one: one.trial.block)


@pytest.mark.parametrize("name", LIES)
def test_a_lie_fails_its_trial_with_a_sentence_that_quotes_it(
    name: str, told: tuple[list[Outcome], StoredExperiment]
) -> None:
    lie, outcome = LIES[name], _of(told[0], "liar")[2 * list(LIES).index(name)]

    assert outcome.status == lie.status, outcome.reason
    assert outcome.status in STATUSES
    assert bool(outcome.samples) or outcome.status != "ok"
    if lie.found:
        assert outcome.reason is not None
        assert re.search(lie.found, outcome.reason), outcome.reason
        assert outcome.reason.isprintable()
        assert len(outcome.reason) <= (2000 if "xxxx" in outcome.reason else 300)


@pytest.mark.parametrize("name", LIES)
def test_the_trial_after_a_lie_hears_only_its_own_records(
    name: str, told: tuple[list[Outcome], StoredExperiment]
) -> None:
    outcome = _of(told[0], "liar")[2 * list(LIES).index(name) + 1]

    assert (outcome.status, outcome.reason) == ("ok", None)
    assert [one.operations for one in outcome.samples] == [1000]
    assert len(outcome.samples[0].durations_ns) == 3


def test_lies_do_no_harm_to_the_system_beside_them(told: tuple[list[Outcome], StoredExperiment]) -> None:
    assert {one.status for one in _of(told[0], "honest")} == {"ok"}
    assert len(_of(told[0], "honest")) == 2 * len(LIES)


def test_what_was_measured_among_lies_is_kept_and_reported(
    told: tuple[list[Outcome], StoredExperiment],
) -> None:
    outcomes, found = told

    with reading.connect(found) as connection:
        kept = connection.execute("SELECT status, reason FROM trials ORDER BY began").fetchall()
    assert kept == [(one.status, one.reason) for one in outcomes]
    evaluation = evaluate.of(found)
    (one,) = evaluation.comparisons
    assert one.blocks == sum(outcome.status == "ok" for outcome in _of(outcomes, "liar"))
    assert one.ratio is not None
    assert 0.5 < one.ratio.value < 2


def _reported(found: StoredExperiment, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str, str]:
    """The report in each form: what can be kept must be shown."""
    evaluation = evaluate.of(found)
    plain.print_json(evaluation)
    known = json.loads(capsys.readouterr().out)
    console.print_evaluation(evaluation, tables=(), everything=True)
    return known, capsys.readouterr().out, page.html(evaluation, tables=())


def test_the_report_says_what_was_not_believed(
    told: tuple[list[Outcome], StoredExperiment], capsys: pytest.CaptureFixture[str]
) -> None:
    known, text, shown = _reported(told[1], capsys)

    bad = sum(lie.status == "failed" for lie in LIES.values())
    (counted,) = (one for one in known["troubles"] if one["status"] == "failed")
    assert (counted["system"], counted["trials"]) == ("liar", bad)
    reasons = [one.reason for one in _of(told[0], "liar") if one.status == "failed" and one.reason]
    assert counted["reason"] == min(reasons)
    assert min(reasons)[:15] in " ".join(text.split())
    assert {len(shown) < 3_000_000, len(text) < 20_000, "\x1b[31m" not in text + shown} == {True}


@pytest.mark.parametrize(
    ("said", "found"), [one[1:] for one in lies.hellos()], ids=[one[0] for one in lies.hellos()]
)
def test_a_greeting_that_is_none_is_a_start_that_failed(said: bytes, found: str, tmp_path: Path) -> None:
    greeting = tmp_path / "greeting"
    greeting.write_bytes(said + b"\n")
    (tmp_path / "work").mkdir()
    system = System("liar", "", lambda place: ["cat", str(greeting), "-"], start_limit_s=1.0)

    with pytest.raises(Unsupported, match=found) as refusal:
        Agent(system, directory=tmp_path / "work")

    assert str(refusal.value).startswith("system 'liar' cannot start: it ")
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 400
    assert list((tmp_path / "work").iterdir()) == []
