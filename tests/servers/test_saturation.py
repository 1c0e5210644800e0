"""The highest rate that a server holds, found by searches on servers whose highest rate is known."""

import math
import random
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import pytest
from loads import CALM
from steelyard.load import console as load_console
from steelyard.load import saturation, trials
from steelyard.load.model import LatencyHistogram, LoadTrial, Pattern
from steelyard.load.saturation import Limit
from steelyard.load.trials import LoadOrder

from steelyard.servers.running import Target

PATTERN = Pattern("keep-alive", None, "constant", 0, "constant", 0.0, 1000)
ORDER = LoadOrder(
    Target("http://127.0.0.1/", "127.0.0.1", 80, "localhost", "/", is_allowed=False),
    PATTERN,
    (64,),
    saturation.TRIALS,
    60.0,
    1,
    1,
    None,
    math.inf,
)
LIMIT = Limit(10_000_000, 0.99)
LATE: dict[str, object] = {"intended": LatencyHistogram({20_000_000: 10})}


def trial(rate: float, latency_ns: int, **changes: object) -> LoadTrial:
    """A second at that rate, all of whose requests took that long."""
    answers = round(rate)
    found = LoadTrial(
        clients=64,
        window_ns=1_000_000_000,
        answers=answers,
        bytes=answers,
        verified=0,
        is_body_fixed=True,
        requests=answers,
        started=answers,
        waited=0,
        unsent=0,
        failures={"timeout": 0},
        cpu_ns=0,
        busy_most=0.1,
        latency=LatencyHistogram({latency_ns: answers}),
        intended=LatencyHistogram({latency_ns: answers}),
        lag=LatencyHistogram({1000: answers}),
        waits=CALM,
        costs=None,
    )
    return replace(found, **changes)  # type: ignore[arg-type]


def searched(
    monkeypatch: pytest.MonkeyPatch, serve: Callable[[float | None], LoadTrial], seed: int = 1
) -> saturation.SaturationSearch:
    monkeypatch.setattr(trials, "monitor_of", lambda order: nullcontext())
    monkeypatch.setattr(trials, "perform", lambda order, *_: serve(order.pattern.rate))
    *_, found = saturation.search(replace(ORDER, seed=seed), LIMIT, lambda *_: None)
    return found


class Serve:
    """A latency of 1 ms over what is left of its capacity; it scatters from trial to trial."""

    def __init__(self, capacity: float, scatter: float) -> None:
        self.capacity, self.scatter, self.chance = capacity, scatter, random.Random(7)

    def __call__(self, rate: float | None) -> LoadTrial:
        capacity = self.capacity * math.exp(self.chance.gauss(0, self.scatter))
        if rate is None:
            return trial(capacity, 1_000_000)
        left = 1 - rate / capacity
        if left <= 0:
            return trial(capacity, 1_000_000_000, unsent=10)
        return trial(rate, int(1_000_000 / left))


@pytest.mark.parametrize("capacity", [50.0, 4000.0, 90_000.0])
def test_the_rate_at_which_latency_reaches_the_limit_is_found(
    capacity: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 ms are ten times 1 ms: at nine tenths of the capacity."""
    found = searched(monkeypatch, Serve(capacity, 0.0))

    assert found.rate is not None
    assert found.rate.value == pytest.approx(0.9 * capacity, rel=0.02)
    assert set(found.gave_way) <= {saturation.LATE, saturation.UNSENT}
    assert found.below is not None
    assert found.below.rate <= 0.91 * capacity


def test_the_interval_holds_the_truth_where_the_server_scatters(monkeypatch: pytest.MonkeyPatch) -> None:
    """By 3 % a trial. Of 100 intervals that hold with 97 %, fewer than 90 do so once in 10,000 times."""
    held = 0
    for seed in range(100):
        serve = Serve(1000.0, 0.03)
        serve.chance = random.Random(seed)
        rate = searched(monkeypatch, serve, seed).rate
        assert rate is not None
        assert rate.low is not None
        assert rate.high is not None
        held += rate.low <= 900 <= rate.high
    assert held >= 90


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"failures": {"timeout": 1}}, saturation.FAILED),
        ({"unsent": 1_000_000}, saturation.UNSENT),
        (LATE, saturation.LATE),
        ({"busy_most": 0.9}, saturation.CLIENT_BUSY),
        (LATE | {"lag": LatencyHistogram({2_000_000: 10})}, saturation.CLIENT_LATE),
    ],
)
def test_what_gave_way_is_said_and_no_rate_is_made_of_it(
    change: dict[str, object], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "monitor_of", lambda order: nullcontext())
    monkeypatch.setattr(
        trials, "perform", lambda order, *_: trial(order.pattern.rate or 1000.0, 1_000_000, **change)
    )
    *_, found = saturation.search(ORDER, LIMIT, lambda *_: None)

    assert found.gave_way == {what: saturation.SEARCHES * saturation.STEPS}
    assert found.below is None
    assert found.is_client_limited == (what in (saturation.CLIENT_BUSY, saturation.CLIENT_LATE))


@pytest.mark.parametrize("change", [{"unsent": 9}, {"lag": LatencyHistogram({2_000_000: 10})}])
def test_what_does_not_keep_a_request_in_a_hundred_above_the_limit_holds(
    change: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few that found no client free when the window closed; and a lag that is within the limit."""
    found = searched(monkeypatch, lambda rate: trial(1000.0, 1_000_000, **change))

    assert not found.gave_way
    assert found.below is not None


def test_a_rate_at_which_the_load_generator_was_late_once_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slips = LATE | {"lag": LatencyHistogram({20_000_000: 10})}
    serve, tries = Serve(4000.0, 0.0), 0

    def slipping(rate: float | None) -> LoadTrial:
        nonlocal tries
        tries += 1
        return trial(rate or 1000.0, 1_000_000, **slips) if rate and tries % 3 else serve(rate)

    found = searched(monkeypatch, slipping)

    assert found.rate is not None
    assert found.rate.value == pytest.approx(3600, rel=0.02)
    assert saturation.CLIENT_LATE not in found.gave_way


class Clock:
    """Time that goes on by what trials take: their load, and so much besides."""

    def __init__(self, besides_s: float) -> None:
        self.now_s, self.besides_s = 100.0, besides_s

    def clock(self) -> float:
        return self.now_s

    def perform(self, order: LoadOrder, *_: object) -> LoadTrial:
        self.now_s += order.trial_s + self.besides_s
        return trial(order.pattern.rate or 1000, 1_000_000)


def paced(monkeypatch: pytest.MonkeyPatch, besides_s: float) -> Clock:
    clock = Clock(besides_s)
    monkeypatch.setattr(trials, "monitor_of", lambda order: nullcontext())
    monkeypatch.setattr(trials, "perform", clock.perform)
    monkeypatch.setattr(trials, "standstill", clock)
    return clock


@pytest.mark.parametrize("besides_s", [0.0, 0.1, 0.5, 3.0])
def test_trials_end_in_time_whatever_comes_with_each(
    besides_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every level has as many as every other. What a trial takes besides is known when one has been done."""
    clock = paced(monkeypatch, besides_s)
    order = replace(ORDER, levels=(1, 4), trials=6, ends_s=clock.now_s + 12)
    done = list(trials.run(order, lambda *_: None))

    assert len(done) % 2 == 0
    assert len(done) == 12 or besides_s > 0.5
    assert clock.now_s <= order.ends_s + besides_s
    assert done


@pytest.mark.parametrize("besides_s", [0.0, 0.1, 0.4])
def test_a_search_ends_in_time_with_fewer_steps(besides_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = paced(monkeypatch, besides_s)
    order = replace(ORDER, ends_s=clock.now_s + 25)
    *_, found = saturation.search(order, LIMIT, lambda *_: None)

    assert found.ends
    assert clock.now_s <= order.ends_s + besides_s


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"busy_most": 0.9}, "it was too busy or too late"),
        (LATE | {"lag": LatencyHistogram({2_000_000: 10})}, "it was too busy or too late"),
        ({"own_limits": {"EMFILE": 3}}, r"EMFILE, it may have no more open files \(ulimit -n\)"),
    ],
)
@pytest.mark.parametrize("gives_way_at", [0.0, 3000.0])
def test_a_saturation_that_is_the_load_generator_s_own_is_none_of_the_server_s(
    change: dict[str, object],
    why: str,
    gives_way_at: float,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def serve(rate: float | None) -> LoadTrial:
        is_beyond = rate is not None and rate >= gives_way_at
        return trial(rate or 4000.0, 1_000_000, **(change if is_beyond else {}))

    found = searched(monkeypatch, serve)
    load_console.print_saturation(found, ORDER.server)
    said = " ".join(capsys.readouterr().out.split())

    own = f"the load generator's own limit: {why}"
    if gives_way_at:
        assert re.search(r"holds at least [0-9,.]+ .*requests a second", said)
        assert re.search(f"Its saturation is not known, because of {own}", said)
    else:
        assert re.search(f"^None of [0-9]+ rates could be tried on .*{own}", said)


def test_a_saturation_that_is_the_server_s_is_not_the_load_generator_s(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load_console.print_saturation(searched(monkeypatch, Serve(4000.0, 0.0)), ORDER.server)

    said = " ".join(capsys.readouterr().out.split())
    assert "at least" not in said
    assert "own limit" not in said
