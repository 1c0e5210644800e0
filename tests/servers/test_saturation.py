"""The highest rate that a server holds, found by searches on servers whose highest rate is known."""

import math
import socket
import threading
import time

import pytest
from http_servers import Answer, server, whole
from loads import Loaded, loaded, loaded_until

pytestmark = pytest.mark.program

MS, S = 10**6, 10**9
STEPS = 4
ANSWER_S = 0.004
CAPACITY = 1 / ANSWER_S  # requests a second
WHATEVER = ("limit_us=600000000", "share_permille=1")  # a limit that every rate is within


def one_at_a_time() -> Answer:
    """As a server of one thread does whose answers take 4 ms each, whoever asks."""
    turn = threading.Lock()

    def answer(connection: socket.socket, number: int) -> bool:
        with turn:
            time.sleep(ANSWER_S)
        return whole(connection, number)

    return answer


def searched(port: int, *settings: str, clients: int = 16, steps: int = STEPS) -> Loaded:
    return loaded(port, f"steps={steps}", *settings, workload="web_saturation", clients=clients)


def rate_of(found: Loaded) -> float:
    """The rate that is found, in requests a second; 0: none."""
    return S / found.figures["request"] if found.status == "ok" else 0.0


def test_the_rate_that_is_found_is_below_what_the_server_can_serve() -> None:
    """A wide band: in a step that is so short, some more than the capacity may be held."""

    def load() -> Loaded:
        with server(whole, one_at_a_time()) as port:
            return searched(port, "limit_us=40000", "step_ms=500")

    found = loaded_until(lambda one: rate_of(one) > CAPACITY / 4, load)

    assert found.status == "ok", found.reason
    assert CAPACITY / 4 < rate_of(found) < 1.3 * CAPACITY
    assert sum(found.steps.values()) == STEPS
    assert found.steps["held"] > 0
    assert found.steps.keys() & {"latency", "unsent"}  # 1.5 times the capacity is in the range
    assert (found.limit_ns, found.share_permille) == (40 * MS, 990)
    # The record is of the highest rate that was held.
    assert found.quantile(0.99) <= 40 * MS
    assert found.window_ns == 500 * MS
    assert 0 < found.answers <= 1.3 * CAPACITY / 2
    assert not found.failures


def test_a_lower_limit_is_held_at_a_lower_rate() -> None:
    """The more requests a second, the longer do they wait for each other."""

    def load() -> tuple[Loaded, Loaded]:
        with server(whole, one_at_a_time()) as port:
            low, high = (searched(port, f"limit_us={us}", "step_ms=500") for us in (12_000, 60_000))
        return low, high

    for _ in range(20):  # a busy host may take the processor for longer than the lower limit
        low, high = load()
        if rate_of(low) > CAPACITY / 10:
            break

    assert 0 < rate_of(low) < 0.9 * rate_of(high)


@pytest.mark.parametrize("limit", [("limit_us=100000", "share_permille=990"), WHATEVER])
def test_a_server_that_fails_under_an_open_load_holds_nothing(limit: tuple[str, ...]) -> None:
    """The first load, as fast as four clients go, is answered; each later one has connections of its own."""
    clients: set[object] = set()

    def failing(connection: socket.socket, number: int) -> bool:
        clients.add(connection)
        if len(clients) <= 4:
            return whole(connection, number)
        connection.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
        return True

    with server(whole, failing) as port:
        found = searched(port, *limit, "step_ms=200", clients=4)

    assert found.status == "failed"
    assert (found.reason or "").startswith("not even ")
    assert (found.reason or "").endswith(" requests a second were held: requests failed")
    assert found.told == {}  # there is no rate to tell of


def test_requests_that_are_never_sent_are_not_held() -> None:
    """Where the limit is longer than a step, no latency is beyond it: what piled up is told by itself."""

    def load() -> Loaded:
        with server(whole, one_at_a_time()) as port:
            return searched(port, "limit_us=600000000", "share_permille=990", "step_ms=500", clients=2)

    found = loaded_until(lambda one: one.status == "ok" and "unsent" in one.steps, load)

    assert found.steps.keys() <= {"held", "unsent"}
    assert found.steps["unsent"] > 0
    assert rate_of(found) < 1.3 * CAPACITY


def test_what_is_within_the_limit_is_held_however_fast() -> None:
    """The range ends at 1.5 times what the clients got, and all of it is held."""
    with server(whole, one_at_a_time()) as port:
        found = searched(port, *WHATEVER, "step_ms=200")

    assert found.status == "ok", found.reason
    assert found.steps == {"held": STEPS}


def test_a_server_that_answers_nothing_is_a_sentence() -> None:
    def silent(connection: socket.socket, number: int) -> bool:
        return True

    with server(whole, silent) as port:
        found = searched(port, "limit_us=10000", "step_ms=100", "timeout_ms=300")

    assert found.status == "failed"
    assert found.reason == "no request was answered within 100 ms"


def first_place(seed: int) -> float:
    """Where in its range a search begins, from 0.3 to 0.7: the second number of splitmix64 (Steele, Lea and
    Flood 2014)."""
    mask = 2**64 - 1
    mixed = (seed + 2 * 0x9E3779B97F4A7C15) & mask
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & mask
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
    return 0.3 + 0.4 * (mixed ^ (mixed >> 31)) / 2**64


def test_searches_of_two_seeds_begin_at_different_places() -> None:
    """A search of one step that is held ends between that rate and the upper end of its range."""
    early, late = (pick(range(1, 50), key=first_place) for pick in (min, max))
    apart = math.log(1.5 / 0.1) * (first_place(late) - first_place(early)) / 2
    assert apart > 0.4

    def rate(seed: int) -> float:
        with server(whole, one_at_a_time()) as port:
            return rate_of(searched(port, *WHATEVER, "step_ms=300", f"seed={seed}", steps=1))

    for _ in range(20):  # a busy host may slow the first load down, by which the range is chosen
        first, other, again = rate(early), rate(late), rate(early)
        if first and again and abs(math.log(first / again)) < 0.1:
            break

    assert abs(math.log(first / again)) < 0.1
    assert math.log(other / first) == pytest.approx(apart, abs=0.2)
