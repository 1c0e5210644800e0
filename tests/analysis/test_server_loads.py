"""What is made of loads on servers: figures over all trials, and what to beware of in them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from synthetic import load, loads_on_a_server

from steelyard.analysis.model import Evaluation, ServerLoad
from steelyard.analysis.remarks import (
    BodiesChange,
    GeneratorLacked,
    GeneratorLimited,
    GeneratorStalled,
    Reconnected,
    Remark,
    RequestsFailed,
    RequestsResent,
    RequestsWaited,
    StoodStill,
)
from steelyard.events import Histogram
from steelyard.report import console
from steelyard.words import loads as words

pytestmark = pytest.mark.computes

MS, S = 10**6, 10**9
DIGEST = "0f" * 32
OF_LOADS = (
    BodiesChange,
    GeneratorLacked,
    GeneratorLimited,
    GeneratorStalled,
    Reconnected,
    RequestsFailed,
    RequestsResent,
    RequestsWaited,
    StoodStill,
)


def the(evaluation: Evaluation) -> ServerLoad:
    (one,) = evaluation.server_loads
    return one


def told(evaluation: Evaluation) -> list[Remark]:
    """What is remarked of the load."""
    return [one for one in evaluation.remarks if isinstance(one, OF_LOADS)]


# What quantiles hide

CALM: dict[str, Any] = {}
STOOD = {"longest_ns": 300 * MS, "silent_ns": 300 * MS}
CLOSED, OPEN = {"clients": 4}, {"clients": 4, "rate": 1000}


@pytest.mark.parametrize(
    ("latencies", "waits", "parameters", "silent", "are_hidden"),
    [
        ({MS: 1000}, CALM, CLOSED, 0.0, False),
        ({MS: 1000, 300 * MS: 4}, STOOD, CLOSED, 0.3, True),
        ({MS: 1000, 300 * MS: 4}, STOOD, OPEN, 0.3, True),
        # In an open load the requests that were due meanwhile are in the quantiles.
        ({MS: 700, 300 * MS: 300}, STOOD, OPEN, 0.3, False),
        # Every answer takes so long: nothing stands still.
        ({300 * MS: 12}, {"longest_ns": 300 * MS}, CLOSED, 0.0, False),
        # One client of four starves in turn while others go on.
        ({MS: 3500, 90 * MS: 5}, {"longest_ns": 90 * MS}, CLOSED, 0.0, True),
        ({MS: 3500, 90 * MS: 5}, {"longest_ns": 90 * MS}, OPEN, 0.0, False),
        ({MS: 3900, 30 * MS: 1}, {"longest_ns": 30 * MS}, CLOSED, 0.0, False),
        ({MS: 3900, 200 * MS: 1}, {"longest_ns": 200 * MS}, OPEN, 0.0, True),
        # Hiccups shorter than 10 ms are no waits, however fast the server is.
        ({20_000: 9000, 9 * MS: 80}, {"longest_ns": 9 * MS}, CLOSED, 0.0, False),
        ({}, STOOD, CLOSED, 0.3, False),  # that nothing was answered is the answer
    ],
)
def test_quantiles_hide_what_takes_more_of_the_time_than_of_the_requests(
    latencies: Mapping[int, int],
    waits: Mapping[str, int],
    parameters: Mapping[str, int],
    silent: float,
    are_hidden: bool,
    tmp_path: Path,
) -> None:
    one = load(answers=sum(latencies.values()), **waits)
    found = loads_on_a_server(tmp_path, [one], latencies, parameters=parameters)

    assert the(found).silent_share == silent
    assert the(found).waits_are_hidden == are_hidden
    assert [type(one) for one in told(found)] == [StoodStill] * are_hidden


def test_users_wait_for_as_long_as_clients_do(tmp_path: Path) -> None:
    """450 ms of what four users wait in a second are beyond the quantiles, and of a hundred users too few."""
    latencies, one = {MS: 3500, 90 * MS: 5}, load(answers=3505, longest_ns=90 * MS)

    for users, are_hidden in ((4, True), (100, False)):
        found = loads_on_a_server(
            tmp_path / str(users), [one], latencies, parameters={"user_equivalents": users}
        )
        assert the(found).waits_are_hidden == are_hidden


@pytest.mark.parametrize(
    ("parameters", "advice"),
    [(CLOSED, "; a load at a fixed rate shows what independent users see."), (OPEN, ".")],
)
def test_what_contradicts_the_quantiles_comes_first(
    parameters: Mapping[str, int], advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    latencies = {MS: 5000, 300 * MS: 4}
    found = loads_on_a_server(tmp_path, [load(**STOOD, answers=5004)], latencies, parameters=parameters)

    console.print_evaluation(found, tables=())
    said = " ".join(capsys.readouterr().out.split())

    assert said.startswith(
        f"{the(found).cell}: the server on native answered nothing for 30 % of the time (longest wait 300 "
        f"ms), although 99 % of requests took at most 1.01 ms{advice} the server "
    )


def test_one_request_that_waited_long_is_told_where_others_were_answered(tmp_path: Path) -> None:
    one = load(answers=3901, longest_ns=200 * MS)
    found = loads_on_a_server(tmp_path, [one], {MS: 3900, 200 * MS: 1}, parameters=OPEN)

    (remark,) = told(found)
    assert isinstance(remark, StoodStill)
    assert (remark.cells, remark.share, remark.longest_ns, remark.is_paced) == (1, 0.0, 200 * MS, True)
    assert remark.tail_ns == pytest.approx(MS, rel=0.02)


def test_a_load_generator_that_did_not_run_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = loads_on_a_server(tmp_path, [load(stalled_ns=S // 5)])

    console.print_evaluation(found, tables=())

    said = " ".join(capsys.readouterr().out.split())
    assert "the load generator itself did not run for 20 % of the time on native" in said
    assert told(found) == [GeneratorStalled("native", "web_load", 0.2)]
    assert told(loads_on_a_server(tmp_path / "other", [load(stalled_ns=S // 200)])) == []


# What to beware of


def test_there_is_nothing_to_say_of_a_load_that_went_well(tmp_path: Path) -> None:
    found = loads_on_a_server(tmp_path, [load()] * 6)

    assert told(found) == []
    assert (the(found).limited, the(found).failures, the(found).own_limits) == (0, {}, {})


def test_failures_are_told_by_kind_the_most_frequent_first(tmp_path: Path) -> None:
    found = loads_on_a_server(
        tmp_path,
        [
            load(answers=900, failures={"connect": 2, "timeout": 4, "malformed": 10}),
            load(failures={"timeout": 30}, malformed="sent 3 bytes and closed"),
            load(malformed="sent nothing"),
        ],
    )

    kinds = (("timeout", 34), ("malformed", 10), ("connect", 2))
    assert told(found) == [RequestsFailed("native", "web_load", 46, 2946, kinds, "sent 3 bytes and closed")]
    assert words.warnings(found.remarks) == tuple(told(found))  # before any figure
    assert tuple(the(found).failures.items()) == kinds
    assert the(found).answers == 2900  # those that failed are none


def test_what_the_load_generator_lacked_is_its_own_limit_and_no_failure(tmp_path: Path) -> None:
    lacked = load(own_limits={"ENOMEM": 1, "EMFILE": 3})
    found = loads_on_a_server(tmp_path, [lacked, load(), load(own_limits={"ENOMEM": 1})])

    assert told(found) == [
        GeneratorLacked("native", "web_load", (("EMFILE", 3), ("ENOMEM", 2))),
        GeneratorLimited("native", "web_load", 2, 3),
    ]
    assert the(found).failures == {}


@pytest.mark.parametrize(
    ("changes", "is_limited"),
    [
        ({"busiest_ns": 8 * S // 10, "client_ns": S}, False),
        ({"busiest_ns": 8 * S // 10 + 1, "client_ns": S}, True),
        # Of the whole load, with its warm-up; a window is shorter.
        ({"busiest_ns": 9 * S // 10, "client_ns": S, "elapsed_ns": 2 * S}, False),
        # Several loops use more time than passes, and none of them is busy.
        ({"busiest_ns": S // 2, "client_ns": 4 * S}, False),
        ({"late_ns": MS}, False),
        ({"late_ns": MS + 1}, True),
    ],
)
def test_a_load_generator_that_was_too_busy_or_too_late_says_nothing_about_the_server(
    changes: Mapping[str, int], is_limited: bool, tmp_path: Path
) -> None:
    found = loads_on_a_server(tmp_path, [load(**changes), load(), load(**changes)])

    assert told(found) == [GeneratorLimited("native", "web_load", 2, 3)] * is_limited
    assert the(found).limited == 2 * is_limited


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ({"waited": 20}, RequestsWaited("native", "web_load", 40, 0)),
        ({"waited": 20, "unsent": 5}, RequestsWaited("native", "web_load", 40, 10)),
        ({"resent": 3}, RequestsResent("native", "web_load", 6)),
        ({"body_fixed": False}, BodiesChange("native", "web_load")),
        (
            {"closed": 499, "connections": 503, "connecting_ns": 503 * 20_000},
            Reconnected("native", "web_load", 998, 1006, 2004, 20_000.0),
        ),
    ],
)
def test_what_else_came_of_a_load_is_a_remark(
    changes: Mapping[str, int], remark: Remark, tmp_path: Path
) -> None:
    assert told(loads_on_a_server(tmp_path, [load(**changes)] * 2)) == [remark]


def test_connections_that_last_for_ten_requests_are_no_warning(tmp_path: Path) -> None:
    """Of fewer, connecting is a large part of the figures, so it is said before these."""
    for closed, is_first in ((100, False), (101, True)):
        found = loads_on_a_server(tmp_path / str(closed), [load(requests=1000, closed=closed)])
        assert [type(one) for one in told(found)] == [Reconnected]
        assert bool(words.warnings(found.remarks)) == is_first


# Figures


def test_a_rate_is_the_median_over_trials_with_its_interval(tmp_path: Path) -> None:
    """Of six trials it reaches from the least to the most: of 32 such, one misses the median."""
    answers = (1000, 6580, 900, 1100, 1040, 1020)
    rate = the(loads_on_a_server(tmp_path, [load(answers=one) for one in answers])).rate

    assert (rate.value, rate.low, rate.high) == (1030, 900, 6580)
    assert rate.level == 0.95


def test_a_rate_is_by_the_second_however_long_the_window_was(tmp_path: Path) -> None:
    one = load(window_ns=250 * MS, elapsed_ns=S, answers=100, bytes=5000, silent_ns=100 * MS)
    found = the(loads_on_a_server(tmp_path, [one] * 3))

    assert (found.rate.value, found.bytes_rate, found.silent_share) == (400, 20_000, 0.4)


def test_bytes_and_requests_of_a_load_are_by_one_estimator(tmp_path: Path) -> None:
    """Documents of one size: bytes a second are requests a second times their size, whatever the scatter."""
    loads = [load(answers=answers, bytes=answers * 1024) for answers in (1000, 6580, 9000)]
    found = the(loads_on_a_server(tmp_path, loads))

    assert found.bytes_rate == pytest.approx(found.rate.value * 1024)


def test_what_several_copies_served_adds_up_and_the_worst_of_them_is_told(tmp_path: Path) -> None:
    """They load at the same time."""
    first = load(answers=600, bytes=60_000, busiest_ns=S // 5, longest_ns=7 * MS, verified=3)
    second = load(
        copy=1, answers=150, bytes=90_000, busiest_ns=9 * S // 10, client_ns=S, failures={"body": 1}
    )
    evaluation = loads_on_a_server(tmp_path, [(first, second)] * 2, parameters={"copies": 2})
    found = the(evaluation)

    assert (found.trials, found.rate.value, found.bytes_rate, found.answers) == (2, 750, 150_000, 1500)
    assert (found.connections, found.verified, found.failures) == (16, 26, {"body": 2})
    assert (found.longest_ns, found.busy_share, found.limited) == (7 * MS, 0.9, 2)
    assert GeneratorLimited("native", found.cell, 2, 2) in told(evaluation)


def test_latencies_and_processor_time_are_those_of_all_trials(tmp_path: Path) -> None:
    found = the(loads_on_a_server(tmp_path, [load()] * 6, {MS: 980, 20 * MS: 20}, told={"server": 30_000}))

    assert found.latency_ns[0.5].value == pytest.approx(MS, rel=0.01)
    assert found.latency_ns[0.99].value == pytest.approx(20 * MS, rel=0.01)
    assert found.server_ns is not None
    assert found.server_ns.value == 30_000
    assert the(loads_on_a_server(tmp_path / "unwatched", [load()])).server_ns is None


def test_the_mean_time_of_connecting_is_of_all_connections(tmp_path: Path) -> None:
    loads = [load(connections=1, connecting_ns=9000), load(connections=2, connecting_ns=3000)]
    assert the(loads_on_a_server(tmp_path, loads)).connecting_ns == 4000
    # Users may have none yet in a short window.
    none = load(connections=0, connecting_ns=0)
    assert the(loads_on_a_server(tmp_path / "none", [none])).connecting_ns is None


def test_what_users_saw_of_objects_is_told_beside(tmp_path: Path) -> None:
    one = load(objects=30, objects_failed=2, objects_lost=1, content_sha256=DIGEST, window_ns=S // 2)
    found = the(
        loads_on_a_server(
            tmp_path,
            [one] * 3,
            told={"objects_offered": S / 80},
            histograms=[Histogram(0, "object_latency", (40 * MS,), (32,))],
            parameters={"user_equivalents": 240},
        )
    )

    assert found.objects is not None
    assert found.objects.rate.value == 60
    assert found.objects.offered == pytest.approx(80)
    assert (found.objects.failed, found.objects.lost, found.objects.content_sha256) == (6, 3, DIGEST)
    assert found.objects.latency_ns[0.5].value == pytest.approx(40 * MS, rel=0.01)
    assert found.latency_ns[0.5].value == pytest.approx(MS, rel=0.01)  # of files
    assert the(loads_on_a_server(tmp_path / "clients", [load()])).objects is None


def test_the_highest_rate_is_the_inverse_of_the_time_between_requests(tmp_path: Path) -> None:
    """The searches end at 2,000 a second, and the load is of the rate that was held."""
    held = {"limit_ns": 10 * MS, "share_permille": 990, "answers": 1900}
    steps = ({"held": 4, "latency": 2, "unsent": 1}, {"held": 3, "latency": 4})
    found = the(
        loads_on_a_server(
            tmp_path,
            [load(steps=one, **held) for one in (*steps, *steps, *steps)],
            workload="web_saturation",
            told={"request": 500_000},
        )
    )

    assert found.saturation is not None
    assert found.saturation.rate.value == pytest.approx(2000)
    assert (found.saturation.limit_ns, found.saturation.share) == (10 * MS, 0.99)
    assert tuple(found.saturation.steps.items()) == (("held", 21), ("latency", 18), ("unsent", 3))
    assert found.rate.value == 1900
    assert not found.saturation.is_least


@pytest.mark.parametrize(
    ("steps", "is_least"),
    [
        ({"held": 24, "latency": 18}, False),
        ({"held": 24, "latency": 10, "busy": 8}, False),
        # As often as the server is not more often.
        ({"held": 24, "latency": 9, "busy": 5, "late": 4}, False),
        ({"held": 24, "latency": 8, "busy": 5, "late": 5}, True),
        ({"held": 24, "failures": 4, "unsent": 4, "busy": 10}, True),
        ({"held": 24, "busy": 18}, True),
        ({"held": 24, "late": 18}, True),
        # What it lacked may have been lacking at each rate above.
        ({"held": 24, "latency": 17, "lacked": 1}, True),
        ({"held": 42}, False),
    ],
)
def test_where_the_load_generator_gave_way_the_server_may_hold_more(
    steps: Mapping[str, int], is_least: bool, tmp_path: Path
) -> None:
    one = load(limit_ns=10 * MS, share_permille=990, steps=steps)
    found = loads_on_a_server(tmp_path, [one], workload="web_saturation", told={"request": 500_000})

    saturation = the(found).saturation
    assert saturation is not None
    assert saturation.is_least == is_least


def test_the_interval_of_the_highest_rate_is_that_of_the_times_turned_round(tmp_path: Path) -> None:
    from_rate = {"limit_ns": 10 * MS, "share_permille": 990, "steps": {"held": 7}}
    rates = (1600, 2000, 2500, 3200, 4000, 5000)
    found = the(
        loads_on_a_server(
            tmp_path,
            [load(**from_rate)] * 6,
            workload="web_saturation",
            told={"request": [S / one for one in rates]},
        )
    )

    assert found.saturation is not None
    rate = found.saturation.rate
    assert rate.low == pytest.approx(1600)
    assert rate.high == pytest.approx(5000)
    assert 2500 < rate.value < 3200


def test_a_trial_that_failed_is_in_no_figure(tmp_path: Path) -> None:
    """Its record is kept all the same."""
    lost = load(answers=0, requests=3, failures={"timeout": 3})
    found = loads_on_a_server(
        tmp_path, [load(), lost, load()], reasons=(None, "3 of 3 requests failed", None)
    )

    assert (the(found).trials, the(found).failures, the(found).rate.value) == (2, {}, 1000)
    assert told(found) == []
    assert [one.reason for one in found.troubles] == ["3 of 3 requests failed"]


def test_each_level_is_a_load_of_its_own(tmp_path: Path) -> None:
    """Clients and rates are levels of one workload, in the order of the study."""
    found = loads_on_a_server(tmp_path, [load()] * 2, parameters={"clients": (1, 16), "rate": 100})

    assert [dict(one.parameters)["clients"] for one in found.server_loads] == [1, 16]
    assert {one.workload for one in found.server_loads} == {"web_load"}
    assert [one.trials for one in found.server_loads] == [2, 2]
