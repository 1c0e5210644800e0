"""A system is measured when it has come to rest: that is seen, and not waited for by a fixed time."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard import standstill, systems
from steelyard.systems import agent
from steelyard.systems.agent import Agent


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that goes on while one sleeps."""
    moment = [100.0]

    def sleep(seconds: float) -> None:
        moment[0] += seconds

    monkeypatch.setattr(standstill, "clock", lambda: moment[0])
    monkeypatch.setattr(standstill, "sleep", sleep)
    monkeypatch.setattr(agent.time, "monotonic_ns", lambda: round(moment[0] * 1e9))
    return moment


def _waited(
    now: list[float],
    monkeypatch: pytest.MonkeyPatch,
    *,
    busy: Callable[[float], float],
    clock_ns: Callable[[float], int] = lambda after: 30,
    settled_clock_ns: int = 0,
) -> float:
    """How long a system is waited for whose processes run for that share of the time it has been up."""
    one = Agent.__new__(Agent)
    one.system = replace(systems.find("native"), settle_most_s=1.5, settled_clock_ns=settled_clock_ns)
    begun = now[0]
    ran = [0.0]
    last = [begun]

    def run_ns() -> int:
        ran[0] += busy(now[0] - begun) * (now[0] - last[0])
        last[0] = now[0]
        return round(ran[0] * 1e9)

    monkeypatch.setattr(one, "_run_ns", run_ns, raising=False)
    monkeypatch.setattr(one, "ask", lambda *words: {"clock_cost_ns": clock_ns(now[0] - begun)}, raising=False)
    one.settle()
    return now[0] - begun


def test_one_that_rests_at_once_is_not_waited_for(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    assert _waited(now, monkeypatch, busy=lambda after: 0.0) == pytest.approx(agent._REST_S)


def test_one_that_is_busy_is_waited_for_until_it_rests(
    now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = _waited(now, monkeypatch, busy=lambda after: 1.0 if after < 0.5 else 0.01)

    assert 0.5 <= waited <= 0.5 + 3 * agent._REST_S


def test_one_that_never_rests_is_waited_for_as_long_as_it_may(
    now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 1.5 <= _waited(now, monkeypatch, busy=lambda after: 2.0) <= 1.5 + agent._REST_S + 1e-9


def test_one_whose_clock_is_slow_at_first_is_waited_for_until_it_is_not(
    now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = _waited(
        now,
        monkeypatch,
        busy=lambda after: 0.0,
        clock_ns=lambda after: 30_000 if after < 0.8 else 35,
        settled_clock_ns=1000,
    )

    assert 0.8 <= waited <= 0.8 + 2 * agent._REST_S


@pytest.mark.gvisor
@pytest.mark.program
def test_a_sandbox_reads_its_clock_without_a_call_when_it_is_measured(tmp_path: Path) -> None:
    with Agent(systems.find("gvisor"), directory=tmp_path) as one:
        cost_ns = int(one.ask("describe", "system")["clock_cost_ns"])

    assert cost_ns < 1000
