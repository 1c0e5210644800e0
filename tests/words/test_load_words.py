"""What is said of loads on servers: an answer a server, and the highest rate that a search found."""

from collections.abc import Mapping
from typing import Any

import pytest

from steelyard.analysis.model import HighestRate, ServerLoad
from steelyard.statistics.signed_rank import Estimate
from steelyard.words import loads

MS = 10**6
CLOSED: Mapping[str, int | str] = {"server": "nginx", "clients": 16}


def served(
    rate: float = 2000.0, parameters: Mapping[str, int | str] | None = None, **changes: Any
) -> ServerLoad:
    """A load of six trials that went well."""
    usual: dict[str, Any] = {
        "system": "native",
        "workload": "web_load",
        "parameters": tuple((CLOSED if parameters is None else parameters).items()),
        "cell": "web_load",
        "trials": 6,
        "rate": Estimate(rate, 0.9 * rate, 1.1 * rate, 0.95),
        "bytes_rate": 1024 * rate,
        "latency_ns": {0.5: Estimate(2.0 * MS), 0.99: Estimate(8.0 * MS, 7.0 * MS, 9.0 * MS, 0.95)},
        "server_ns": None,
        "answers": 12_000,
        "failures": {},
        "malformed": None,
        "own_limits": {},
        "limited": 0,
        "waited": 0,
        "unsent": 0,
        "requests": 12_096,
        "connections": 96,
        "connecting_ns": 100_000.0,
        "closed": 0,
        "resent": 0,
        "longest_ns": 20 * MS,
        "silent_share": 0.0,
        "stalled_share": 0.0,
        "verified": 120,
        "body_fixed": True,
        "objects": None,
        "saturation": None,
        "busy_share": 0.25,
    }
    return ServerLoad(**usual | changes)


def searched(steps: Mapping[str, int], *, is_least: bool = False, **changes: Any) -> ServerLoad:
    """Of six searches for what is within 10 ms."""
    rate = Estimate(2100.0, 2000.0, 2250.0, 0.95)
    found = HighestRate(rate=rate, limit_ns=10.0 * MS, share=0.99, steps=steps, is_least=is_least)
    return served(workload="web_saturation", saturation=found, **changes)


def said(*found: ServerLoad) -> str:
    """The only answer."""
    (one,) = loads.answers(found)
    return one


# The highest rate that is held

HELD = "nginx holds 2,100 [2,000, 2,250] requests a second with 99 % of requests within 10.0 ms (16 clients)."
AT_LEAST = HELD.replace("holds", "holds at least")
NOT_KNOWN = "Its saturation is not known, because of the load generator's own limit."


def test_the_highest_rate_is_said_with_what_gave_way_beyond_it() -> None:
    assert said(searched({"held": 24, "latency": 16, "unsent": 2})) == (
        f"{HELD} Beyond it latency rose above the limit (in 16 of 42 steps). Beyond it requests piled up "
        "unsent (in 2 of 42 steps). At the highest rates held, the load generator was busy 25 % of the time."
    )


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("latency", "latency rose above the limit"),
        ("failures", "requests failed"),
        ("unsent", "requests piled up unsent"),
        ("lacked", "the load generator's own limit was reached: it lacked something"),
        ("busy", "the load generator's own limit was reached: it had no time left"),
        ("late", "the load generator's own limit was reached: it was late"),
    ],
)
def test_each_way_in_which_a_rate_was_not_held_has_its_words(what: str, sentence: str) -> None:
    assert f" Beyond it {sentence} (in 3 of 7 steps). " in said(searched({"held": 4, what: 3}))


def test_where_all_steps_were_held_nothing_gave_way() -> None:
    """The rates that were tried end at 1.5 times what the clients got."""
    assert "Beyond it" not in said(searched({"held": 42}))
    assert said(searched({"held": 42})).startswith(HELD)


@pytest.mark.parametrize("is_least", [False, True])
def test_where_the_load_generator_gave_way_the_server_holds_at_least_that(is_least: bool) -> None:
    text = said(searched({"held": 24, "busy": 10, "latency": 8}, is_least=is_least))

    assert text.startswith(AT_LEAST if is_least else HELD)
    assert (NOT_KNOWN in text) == is_least


def test_the_server_s_processor_time_at_the_highest_rate_is_said_where_it_is_known() -> None:
    """1,900 requests a second were answered there, each of which took 300 µs."""
    text = said(searched({"held": 7}, rate=1900.0, server_ns=Estimate(300_000.0)))

    assert text.endswith("was busy 25 % of the time, the server 57 % of one processor.")


def test_a_search_is_the_answer_where_there_are_loads_as_well() -> None:
    assert said(served(9000.0), searched({"held": 7})).startswith(HELD)


# What was served


def test_the_answer_is_the_level_at_which_most_was_served() -> None:
    levels = [
        served(rate, {**CLOSED, "clients": clients}) for clients, rate in ((1, 700), (16, 2000), (64, 1900))
    ]

    assert said(*levels) == (
        "nginx served at most 2,000 [1,800, 2,200] requests a second (with 16 clients, 99 % of them within "
        "8.00 ms)."
    )


def test_of_a_rate_it_is_said_how_much_of_it_was_answered() -> None:
    assert said(served(1980.0, {**CLOSED, "rate": 2500})) == (
        "nginx answered 1,980 [1,780, 2,180] of the 2,500 requests a second that were due (with 16 clients, "
        "99 % of them within 8.00 ms)."
    )


@pytest.mark.parametrize(("limited", "is_said"), [(0, False), (3, False), (4, True), (6, True)])
def test_a_server_may_serve_more_where_the_load_generator_was_the_limit_of_most_trials(
    limited: int, is_said: bool
) -> None:
    said_so = "; the load generator's own limit was reached there, so the server may serve more." in said(
        served(limited=limited)
    )
    assert said_so == is_said


def test_each_server_has_an_answer_and_its_system_is_named_where_there_are_several() -> None:
    both = [served(system="a"), served(system="b"), served(500.0, {"server": "apache"}, system="b")]

    assert [one.split(" served")[0] for one in loads.answers(both)] == [
        "nginx on a",
        "nginx on b",
        "apache on b",
    ]
    assert [one.split(" served")[0] for one in loads.answers(both[1:])] == ["nginx", "apache"]


def test_without_an_answered_request_there_is_no_latency_to_say() -> None:
    assert said(served(latency_ns={})).endswith(" requests a second (with 16 clients).")


def test_a_level_is_named_by_its_clients_and_rate_and_by_what_else_differs() -> None:
    first, second = {**CLOSED, "rate": 1500, "connection": 0}, {**CLOSED, "rate": 1500, "connection": 1}
    users: dict[str, int | str] = {"server": "nginx", "user_equivalents": 8, "window_ms": 900}

    assert loads.levels([served(parameters={}), served()]) == ("1 client", "16 clients, server=nginx")
    assert loads.levels([served(parameters=first), served(parameters=second)]) == (
        "16 clients, 1,500/s, connection=0",
        "16 clients, 1,500/s, connection=1",
    )
    levels = [served(parameters={**users, "user_equivalents": number}) for number in (1, 1000)]
    assert loads.levels(levels) == ("1 user", "1,000 users")
    # How long a trial was is no level.
    assert loads.levels([served(parameters=users), served(parameters=users | {"window_ms": 800})]) == (
        "8 users",
        "8 users",
    )
