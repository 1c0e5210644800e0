"""What is made of a load's own figures: no verdict on a server where its generator was the limit."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import synthetic

from steelyard.analysis import evaluate, latencies
from steelyard.analysis.model import Comparison
from steelyard.events import Histogram, Outcome
from steelyard.statistics import verdict
from steelyard.study.plan import Trial
from steelyard.words import remarks

pytestmark = pytest.mark.computes


def loaded(trial: Trial, *, client_share: float) -> Outcome:
    """On b a request takes half as long again, and the server as much more; on a the generator works for that
    share of the time."""
    scatter = 1 + 1e-4 * (trial.block % 5)
    took = 1000 * scatter * (1.5 if trial.system == "b" else 1.0)
    share = client_share if trial.system == "a" else 0.1
    made = synthetic.outcome(trial, took)
    metrics = {"time": took, "server": took, "client": took * share}
    samples = [replace(one, durations_ns=(round(metrics[one.metric] * 1e6),) * 5) for one in made.samples]
    return replace(made, samples=tuple(samples))


def compared(directory: Path, client_share: float) -> dict[str, Comparison]:
    plan = synthetic.plan("web_requests", blocks=12)
    found = synthetic.experiment(directory, plan, lambda trial: loaded(trial, client_share=client_share))
    return {one.metric: one for one in evaluate.of(found).comparisons}


def test_a_generator_with_time_to_spare_is_no_matter(tmp_path: Path) -> None:
    found = compared(tmp_path, 0.79)

    assert [found[metric].verdict for metric in ("time", "server")] == [verdict.SLOWER] * 2
    assert not any("generator" in flag for one in found.values() for flag in remarks.texts(one.remarks))


def test_where_the_generator_was_the_limit_there_is_no_verdict_on_the_server(tmp_path: Path) -> None:
    found = compared(tmp_path, 0.81)

    assert found["time"].verdict == verdict.UNRESOLVED
    assert "the load generator was busy 81% of the time on a: this is no verdict on the server" in (
        remarks.texts(found["time"].remarks)
    )
    assert found["server"].verdict == verdict.SLOWER  # what it cost is known all the same


def test_the_generator_s_own_time_is_told_and_not_judged(tmp_path: Path) -> None:
    assert set(compared(tmp_path, 0.5)) == {"time", "server"}


def searched(trial: Trial, *, client_share: float, late_ns: float) -> Outcome:
    """On b the server holds two thirds of the rate."""
    scatter = 1 + 1e-4 * (trial.block % 5)
    metrics = {
        "request": 1e5 * scatter * (1.5 if trial.system == "b" else 1.0),
        "beyond_server": 0.97e9,
        "beyond_client": client_share * 1e9,
        "beyond_wait": 2.5e6,
        "beyond_late": late_ns,
    }
    made = synthetic.outcome(trial, metrics=tuple(metrics), operations=1, batches=1)
    samples = [replace(one, durations_ns=(round(metrics[one.metric]),)) for one in made.samples]
    return replace(made, samples=tuple(samples))


@pytest.mark.parametrize(
    ("share", "late_ns", "word"),
    [
        (0.5, 0.0, verdict.SLOWER),
        (0.9, 0.0, verdict.UNRESOLVED),
        (0.5, 3e6, verdict.UNRESOLVED),
    ],
)
def test_what_a_server_holds_is_compared_and_what_gave_way_is_told(
    share: float, late_ns: float, word: str, tmp_path: Path
) -> None:
    plan = synthetic.plan("web_saturation", blocks=12)
    found = synthetic.experiment(
        tmp_path, plan, lambda trial: searched(trial, client_share=share, late_ns=late_ns)
    )
    evaluation = evaluate.of(found)
    (one,) = evaluation.comparisons

    assert evaluation.troubles == ()  # a generator that was never late is no failure
    assert (one.metric, one.unit, one.verdict) == ("request", "ns per request", word)
    told = f"the server used 0.97 processors, the load generator {share:.2f}"
    assert f"above saturation on b, {told}, requests waited 2.50 ms for a connection" in remarks.texts(
        one.remarks
    )
    limits = [flag for flag in remarks.texts(one.remarks) if "no verdict on the server" in flag]
    assert bool(limits) == (share > 0.8 or late_ns > 0)
    assert all("was late" in flag for flag in limits) == (share < 0.8)


def waiting(trial: Trial, figures: dict[str, float]) -> Outcome:
    """On b the server closes connections, and stands still in one trial of four."""
    scatter = 1 + 1e-4 * (trial.block % 5)
    told = {"time": 1e5 * scatter, "latency_99": 1e5, "connections": 0, "longest_wait": 4e5, "silent": 0}
    if trial.system == "b":
        told |= {"connections": 990, "connecting": 3e4}
        told |= figures if trial.block % 4 == 1 else {}
    made = synthetic.outcome(trial, metrics=tuple(told), operations=1, batches=1)
    samples = [replace(one, durations_ns=(round(told[one.metric]),)) for one in made.samples]
    return replace(made, samples=tuple(samples))


@pytest.mark.parametrize(
    ("figures", "is_told"),
    [
        ({"silent": 300, "longest_wait": 3e8}, True),
        ({"silent": 300, "longest_wait": 9e5}, False),  # less than ten times what 99 % take
        ({"silent": 30, "longest_wait": 3e8}, False),  # less than 1 % of the time of all trials
    ],
)
def test_what_the_quantiles_of_a_server_hide_is_told(
    figures: dict[str, float], is_told: bool, tmp_path: Path
) -> None:
    found = synthetic.experiment(
        tmp_path, synthetic.plan("web_series", blocks=12), lambda trial: waiting(trial, figures)
    )
    evaluation = evaluate.of(found)
    comparisons = {one.metric: one for one in evaluation.comparisons}
    texts = remarks.texts(evaluation.remarks)

    assert evaluation.troubles == ()
    assert set(comparisons) == {"time", "latency_99"}  # the others are told, and not judged
    closed = "the server on b closed connections that were to be kept, 990 for 1,000 requests"
    assert f"web_series: {closed}" in texts
    told = (
        "web_series: the server on b answered nothing for 7.5 % of the time (longest wait 300 ms), although"
    )
    assert any(text.startswith(told) for text in texts) == is_told
    assert not any("on a" in text for text in texts)


def bucket(value: int) -> int:
    """The least value of the load program's bucket."""
    return value >> (width := max(value.bit_length() - 7, 4)) << width


def timed(trial: Trial, chance: np.random.Generator) -> tuple[Outcome, list[int]]:
    """Two copies of 2,000 requests each; every third trial is slow throughout."""
    slow = 50.0 if trial.block % 3 == 0 else 1.0
    values = [int(one) for one in chance.lognormal(12, 0.8, 4000) * slow]
    told = []
    for copy, part in enumerate((values[:2000], values[2000:])):
        counts = sorted(Counter(map(bucket, part)).items())
        told.append(Histogram(copy, "latency", *zip(*counts, strict=True)))
    return replace(synthetic.outcome(trial), histograms=tuple(told)), values


@pytest.mark.parametrize("is_closed", [False, True])
def test_quantiles_of_all_trials_are_those_of_all_requests(is_closed: bool, tmp_path: Path) -> None:
    """Their trials' own quantiles lie fifty times apart, so no average of these comes near."""
    chance = np.random.default_rng(1)
    requests: dict[str, list[int]] = {"a": [], "b": []}

    def performed(trial: Trial) -> Outcome:
        outcome, values = timed(trial, chance)
        requests[trial.system] += values
        return outcome

    plan = synthetic.plan("web_requests", blocks=9)
    found = evaluate.of(synthetic.experiment(tmp_path, plan, performed, closed=is_closed)).latencies

    assert [(one.system, one.metric, one.trials) for one in found] == [
        ("a", "latency", 9),
        ("b", "latency", 9),
    ]
    for one in found:
        assert one.requests == len(requests[one.system]) == 36_000
        for share, estimate in one.quantiles_ns.items():
            assert estimate.value == pytest.approx(np.quantile(requests[one.system], share), rel=0.02)
            assert estimate.low is not None
            assert estimate.high is not None
            assert estimate.low <= estimate.value <= estimate.high


def test_a_quantile_lies_within_its_bucket() -> None:
    assert latencies.quantile({1 << 20: 4}, 0.5) == (1 << 20) + (1 << 13)
    assert latencies.quantile({0: 1, 1 << 20: 1}, 0.5) == 16
