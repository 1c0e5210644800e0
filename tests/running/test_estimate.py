"""What is said of a budget before anything is measured."""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from steelyard.running import estimate
from steelyard.study import plan as plans
from steelyard.study import study_file
from steelyard.study.plan import Plan
from steelyard.systems.system import System

pytestmark = pytest.mark.program  # the load program is asked what its workloads are


def planned(name: str, budget_s: float, *systems: str) -> Plan:
    study = study_file.read(name)
    study = replace(study, design=replace(study.design, budget_s=budget_s))
    return plans.make(study, systems=systems or study.systems, processors=2, seed=1)


def members(plan: Plan, start_s: float) -> Mapping[str, System]:
    known: dict[str, Any] = {label: SimpleNamespace(start_s=start_s) for label in plan.systems}
    return cast(Mapping[str, System], known)


def budget_that_would_do(sentence: str | None) -> float:
    assert sentence is not None
    (number, unit) = re.findall(r"--budget (\d+)([sm])", sentence)[-1]
    return int(number) * (60 if unit == "m" else 1)


def test_a_budget_below_one_pair_is_named_with_one_that_would_do() -> None:
    plan = planned("brief", 5, "native", "uml")
    said = estimate.sentence(plan, members(plan, 30))

    assert said is not None
    assert said.startswith("the budget of 5 s is too short")
    enough = planned("brief", budget_that_would_do(said), "native", "uml")
    assert estimate.sentence(enough, members(enough, 30)) is None


def test_a_budget_that_holds_one_pair_and_not_all_says_what_would() -> None:
    plan = planned("standard", 10, "native", "native-musl")
    said = estimate.sentence(plan, members(plan, 0.2))

    assert said is not None
    assert "too short for all of it" in said
    enough = planned("standard", budget_that_would_do(said), "native", "native-musl")
    assert estimate.sentence(enough, members(enough, 0.2)) is None


def test_a_study_of_long_trials_says_how_long_one_may_take() -> None:
    plan = planned("panalyser", 170)
    said = estimate.sentence(plan, members(plan, 0.2))

    assert said is not None
    assert f"may take up to {plan.study.design.trial_limit_s:g} s" in said
    enough = planned("panalyser", budget_that_would_do(said))
    assert "may take" not in (estimate.sentence(enough, members(enough, 0.2)) or "")
